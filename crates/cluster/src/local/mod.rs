//! Managed clusters: Cassandra nodes that cassay starts, on simulated hosts, remote machines or
//! loopback addresses.
//! A cluster has one folder with a state file, see [`persistent_state`]. Unless the cluster is
//! kept, its nodes end with this process in every case. [`nodes`] contains the central type.

mod added_node;
pub(crate) mod assign_hosts;
mod class_archive;
mod control;
mod fault_handles;
mod host_info;
mod host_layout;
mod java_options;
mod jvm;
mod machines;
pub(crate) mod memory_and_disk;
pub(crate) mod node_process;
mod nodes;
pub(crate) mod persistent_state;
mod placement;
mod ports;
mod program;
mod ready;
mod remote_class_archive;
mod reopen;
mod restart;
pub(crate) mod roles;
mod settings;
mod settings_check;
mod start;
mod start_check;
mod upgrade;

pub use host_info::HostInfo;
pub(crate) use node_process::LocalNode;
pub use node_process::NodeDied;
pub(crate) use nodes::Nodes;
pub use placement::unplaceable;
pub(crate) use placement::{Layout, PartUsed};
#[cfg(test)]
pub(crate) use settings::ring as ring_of_test;
pub use settings_check::{NodePlace, NodeReports};
pub(crate) use start::start;
pub use start_check::{free_disk_bytes, not_startable};
