//! The only crate that knows how to talk to one Cassandra node: CQL sessions and TLS, MBeans, virtual
//! tables, logs, data files.
//!
//! A [`Node`] has the address of a node and cassay's access to it. Its methods read and change one
//! node. This crate starts no node, and knows no cluster as a whole: `cluster` asks each node, and
//! adds the answers up.

mod address_map;
mod clean;
mod connect_bundle;
mod contact_point;
pub mod credentials;
mod follow_address;
mod joined_nodes;
mod jolokia;
pub mod mbeans;
mod metrics;
mod node;
mod node_info;
mod permission_gate;
mod session;
pub mod statement_change;
mod table_comment;
mod tls;
mod tls_file;

pub use address_map::{NodeAddressMap, RedirectingConnector};
pub use clean::statements_for;
pub use connect_bundle::{BehindProxy, bundle_host};
pub use contact_point::addresses_of;
pub use credentials::{Access, ClientIdentity, Credentials, SpokenVersion, Tls, TlsMaterial};
pub use follow_address::follow;
pub use joined_nodes::joined_nodes;
pub use jolokia::{Bulk, Jolokia};
pub use metrics::{Ask, Metrics, has_metric_tables};
pub use node::Node;
pub use node_info::NodeInfo;
pub use permission_gate::{GateDecision, Permit, StatementGate, all_marked};
pub use session::{
    CONTROL_TIMEOUT, DescribedRow, NoPassword, QueryResult, RepeatedQuery, ServerError, Session,
};
pub use table_comment::{Mark, MarkedTable, OwnRuns};
pub use tls::{others_may_read, tls_of};
