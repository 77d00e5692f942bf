//! The only crate that knows Cassandra as processes on hosts: provisioning, nodes, control, probes;
//! attached targets.
//!
//! [`start`] turns a [`Target`] into a [`Cluster`], whose drop stops all that it started. What a
//! cluster cannot do is in its [`Cluster::capabilities`], so that a plan that asks for more is
//! refused before anything starts. Nothing here prints: progress goes to a `say` callback.

mod abilities;
mod access;
mod attach;
mod before_upgrade;
mod capability;
mod cause;
mod clean;
mod clients;
mod cluster;
mod counts;
mod data_file;
mod data_use;
mod decommission;
mod dirs;
mod door;
mod gaps;
mod handle;
mod jolokia;
pub mod kept;
pub mod leftovers;
mod local;
mod log_marks;
mod logs;
pub mod machines;
mod mark;
mod mbeans;
mod members;
mod metrics;
mod moves;
mod node;
mod node_files;
mod operation;
mod order;
mod page_cache;
mod pod;
pub mod probe;
mod ring;
mod service;
mod session;
mod settle;
mod snapshot;
mod statement_change;
mod status;
mod table_storage;
mod told;
mod views;

pub use abilities::{abilities_of, abilities_there};
pub use access::{Access, ClientIdentity, Credentials, SpokenVersion, Tls, TlsMaterial};
pub use attach::bundle_host;
pub use cause::LogMarks;
pub use clients::{Estimate, OtherClients, OtherConnection};
pub use cluster::Cluster;
pub use counts::OperationCounts;
pub use data_file::DataFile;
pub use data_use::DataUse;
pub use dirs::Dirs;
pub use door::Permit;
pub use gaps::Gap;
pub use handle::{AddedNode, Handles, HostHandle, NodeControl, NodeHandle, OwnNode, RestartMode};
pub use host::VolumeUse;
pub use mark::{Mark, MarkedTable, OwnRuns};
// Types for faults that break pods.
pub use kubernetes::{Deletion, Isolation, PodSeen};
pub use local::{
    Effect, HostInfo, NodeConfiguration, NodePlace, Observed, Proof, SchemaOption, free_disk_bytes,
    not_startable, unplaceable,
};
pub use logs::{LogsTaken, LogsUntil};
pub use members::{Member, MemberStatus, Members};
pub use moves::{Led, Moves};
pub use node::{NodeDied, NodeInfo};
pub use operation::{Operation, UpgradeStep, is_own};
pub use pod::{OperatorHandle, PodHandle};
pub use ring::{Replication, Ring};
pub use service::NodeService;
pub use session::{DescribedRow, QueryResult, ServerError, Session};
pub use settle::{Settle, SettleOutcome};
pub use snapshot::{
    ComparedTable, Comparison, Export, ExportedNode, Fingerprint, Imported, NodeContents,
    NodeSnapshot, RestoreHow, Restored, Snapshot, SstableIdentity, TableContents, TableLayout,
};
pub use status::{NodeState, Overview};
pub use table_storage::TableStorage;
use target::{AttachSpec, Target};
pub use told::{ReportedChanges, SelfReport};
pub use views::{Row, View};

use anyhow::Context;
use null::NullServer;

/// Runs the MBean client if an agent started this program for that. Returns `None` otherwise.
pub fn answer() -> Option<anyhow::Result<()>> {
    decommission::answer().or_else(order::answer)
}

/// Starts a target, or attaches to it. Progress goes to `say`, one line at a time.
///
/// # Errors
/// The target is not available. The message says why and what to do. Nothing is left running.
pub fn start(target: &Target, dirs: &Dirs, say: &mut dyn FnMut(&str)) -> anyhow::Result<Cluster> {
    match target {
        Target::Local(spec) => Ok(Cluster::of_local(local::start(spec, dirs, say)?)),
        Target::Attach(spec) => attach::attach(spec, say),
        Target::Null(spec) => {
            let server = NullServer::start(spec).context("start the null target")?;
            let spec = AttachSpec {
                contact_points: vec![server.address().to_string()],
                ..AttachSpec::default()
            };
            Ok(attach::attach(&spec, say)?.with_null(server))
        }
    }
}
