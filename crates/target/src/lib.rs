//! The only crate that knows Cassandra as processes on hosts: supply, provisioning, nodes, control,
//! probes; attached and null targets.
//!
//! [`start`] turns a [`Spec`] into a [`Cluster`], whose drop stops all that it started. What a
//! cluster cannot do is in its [`Cluster::capabilities`], so that a plan that asks for more is
//! refused before anything starts. Nothing here prints: progress goes to a `say` callback.

pub mod access;
pub mod capability;
pub mod cluster;
pub mod counts;
pub mod session;
pub mod settle;
pub mod spec;

pub use access::{Access, Credentials, Secret, Tls};
pub use capability::{Ability, Capability};
pub use cluster::{Cluster, NodeDied, NodeInfo, OperationCounts, Settle, SettleOutcome};
pub use session::{QueryResult, Session};
pub use spec::{AttachSpec, Dirs, LocalSpec, SecretSource, Spec, TlsSpec};

/// Starts or attaches to the target of `spec`.
pub fn start(spec: &Spec, dirs: &Dirs, say: &mut dyn FnMut(&str)) -> anyhow::Result<Cluster> {
    let _ = (spec, dirs, say);
    anyhow::bail!("comes with the next commit")
}

/// What `leftovers::clear` found of killed runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// Clusters whose folders were removed.
    pub clusters: usize,
    /// Processes that were still there and were killed.
    pub processes: usize,
}
