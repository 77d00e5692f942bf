//! The only crate that talks to one Cassandra node: CQL sessions and TLS, MBeans, virtual tables,
//! logs, data files.
//!
//! A [`Node`] contains the address of a node and cassay's access to the node. Its methods read and
//! change one node. This crate does not start nodes. The crate `cluster` queries all nodes of a
//! cluster, and combines their answers.

mod address_map;
mod before_upgrade;
mod clean;
mod compaction_sample;
pub mod config_file;
mod connect_bundle;
mod contact_point;
pub mod credentials;
pub mod data_file;
pub mod decommission;
mod exceptions_and_metadata;
mod fault_handle;
mod follow_address;
mod joined_nodes;
mod jolokia;
mod live_bytes;
pub mod log_position;
pub mod mbeans;
mod metrics;
mod node;
mod node_files;
mod node_info;
mod node_queries;
mod operation;
mod other_clients;
pub mod owner_commands;
mod permission_gate;
mod pod;
pub mod probe;
pub mod process_tags;
pub mod refused_requests;
mod ring;
mod ring_members;
#[cfg(test)]
mod scripted_server;
mod server_counts;
mod service;
mod session;
pub mod settings;
pub mod snapshot;
pub mod statement_change;
pub mod status;
mod table_comment;
mod table_storage;
mod tls;
mod tls_file;

pub use address_map::{NodeAddressMap, RedirectingConnector};
pub use clean::statements_for;
pub use compaction_sample::CompactionSample;
pub use connect_bundle::{BehindProxy, bundle_host};
pub use contact_point::addresses_of;
pub use credentials::{Access, ClientIdentity, Credentials, SpokenVersion, Tls, TlsMaterial};
pub use data_file::DataFile;
pub use exceptions_and_metadata::{ReportedChanges, SelfReport};
pub use fault_handle::{
    AddedNode, Handles, HostHandle, NodeControl, NodeHandle, OwnNode, RestartMode, UpgradedNode,
};
pub use follow_address::follow;
pub use joined_nodes::joined_nodes;
pub use jolokia::{Bulk, Jolokia};
pub use kubernetes::{Deletion, Isolation, PodSeen};
pub use metrics::{Ask, Metrics, has_metric_tables};
pub use node::Node;
pub use node_files::NodeFiles;
pub use node_info::NodeInfo;
pub use node_queries::{Row, View};
pub use operation::{Operation, UpgradeStep, is_own};
pub use other_clients::{Estimate, OtherClients, OtherConnection};
pub use permission_gate::{GateDecision, Permit, StatementGate, all_marked};
pub use pod::{OperatorHandle, PodHandle};
pub use refused_requests::{LogMarks, ServerLog};
pub use ring::{Replication, Ring};
pub use ring_members::{Member, MemberStatus, Members};
pub use server_counts::{COUNTS_SOURCE, OperationCounts};
pub use service::{NodeService, may};
pub use session::{
    CONTROL_TIMEOUT, DescribedRow, NoPassword, QueryResult, RepeatedQuery, ServerError, Session,
};
pub use settings::{Effect, NodeConfiguration, NodeReport, Proof, SchemaOption};
pub use snapshot::contents::{NodeContents, TableContents};
pub use snapshot::sstables::{Fingerprint, SstableIdentity, TableLayout};
pub use status::{NodeState, Overview};
pub use table_comment::{Mark, MarkedTable, OwnRuns};
pub use table_storage::TableStorage;
pub use tls::{others_may_read, tls_of};

/// Runs the MBean client if an agent started this process as one. Otherwise returns `None` without
/// doing anything.
pub fn answer() -> Option<anyhow::Result<()>> {
    decommission::answer().or_else(owner_commands::answer)
}
