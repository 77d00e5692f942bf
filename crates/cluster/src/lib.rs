//! The only crate that runs Cassandra as processes on hosts, and attaches to other clusters.
//!
//! [`start`] turns a [`Target`] into a [`Cluster`]. Dropping the cluster stops everything that
//! [`start`] has started. If a plan needs a capability that [`capabilities_of`] lacks, cassay
//! refuses the plan before the start. This crate does not print. It reports progress to a `say`
//! callback.

mod attach;
mod capability;
mod cluster;
mod data_use;
mod dirs;
mod effective_settings;
mod expected_capabilities;
mod hosts;
pub mod kept_cluster;
pub mod leftovers;
mod local;
mod log_causes;
mod logs;
pub mod machines;
mod missing_logs;
mod overview;
mod page_cache;
mod placement;
mod probe;
mod profiler;
mod readings;
mod settle;
mod snapshot;
mod target_control;

pub use cluster::Cluster;
pub use data_use::DataUse;
pub use dirs::Dirs;
pub use expected_capabilities::{capabilities_of, capabilities_there};
pub use host::VolumeUse;
pub use local::{
    HostInfo, NodeDied, NodePlace, NodeReports, free_disk_bytes, not_startable, unplaceable,
};
pub use logs::{LogsTaken, LogsUntil};
pub use missing_logs::Gap;
pub use profiler::NodeProfile;
pub use settle::{Settle, SettleOutcome};
pub use snapshot::{
    ComparedTable, Comparison, Export, ExportedNode, ImportResult, NodeSnapshot, RestoreHow,
    RestoreResult, Snapshot,
};
use target_spec::{AttachSpec, Target};

use anyhow::Context;
use null_server::NullServer;

/// Starts a target, or attaches to it. Passes progress messages to `say`, one line at a time.
///
/// # Errors
/// The target is not available. The message contains the reason and a remedy. No process that
/// cassay started remains.
pub fn start(target: &Target, dirs: &Dirs, say: &mut dyn FnMut(&str)) -> anyhow::Result<Cluster> {
    match target {
        Target::Local(spec) => Ok(Cluster::from_local(local::start(spec, dirs, say)?)),
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
