//! Managed clusters: Cassandra nodes that cassay starts, on simulated hosts, remote machines or
//! loopback addresses.
//!
//! A cluster has one folder with a state file, see [`state`]. Its nodes end with this process,
//! however it ends, unless the cluster is kept. The central type is in [`nodes`]. Operations are in
//! separate files, which depend on that type and not vice versa.

mod added_node;
mod classes;
mod classes_there;
mod compare;
mod handles;
mod host_info;
mod host_layout;
mod java_options;
mod jvm;
mod machines;
pub(crate) mod marks;
pub(crate) mod node;
mod nodes;
pub(crate) mod place;
mod placement;
mod ports;
mod program;
mod proof;
mod ready;
mod record;
mod reopen;
mod restart;
pub(crate) mod roles;
pub(crate) mod room;
mod settings;
mod start;
mod startable;
pub(crate) mod state;
mod upgrade;

pub use host_info::HostInfo;
pub(crate) use node::LocalNode;
pub(crate) use nodes::Nodes;
pub use placement::unplaceable;
pub use proof::{Effect, NodeConfiguration, NodePlace, Observed, Proof, SchemaOption};
#[cfg(test)]
pub(crate) use settings::ring as ring_of_test;
pub(crate) use settings::{changed, properties};
pub(crate) use start::start;
pub use startable::{free_disk_bytes, not_startable};
