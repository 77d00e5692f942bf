//! A cluster of our own: Cassandra nodes on this machine, on hosts of their own or on loopback
//! addresses.
//!
//! Nodes live in one folder with a written state, see [`state`]; they end with us, however we end,
//! unless the cluster was made to be kept. What they are is in [`nodes`]; what is done with them
//! stands in files beside that, which know of it and not the other way round.

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
