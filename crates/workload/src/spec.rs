//! A study's settings for its workload, and mistakes in them.

use std::collections::BTreeMap;

/// Settings of a workload in a study. The study has checked the syntax, but [`crate::compile`] has
/// not yet checked the settings.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Name of the workload, which must be one of [`crate::names`].
    pub use_: String,
    /// Keyspace of the workload's tables. If this is `None`, the workload's default keyspace
    /// applies.
    pub keyspace: Option<String>,
    /// Replication of the keyspace.
    pub replication: Replication,
    /// Weight of each kind of operation in the main stage. With an empty list, the workload's
    /// default mix applies.
    pub mix: Vec<(String, f64)>,
    /// The parameters that are specific to the workload.
    pub params: BTreeMap<String, ParamValue>,
    /// Seed of the workload. Every random choice is a function of the seed and the operation's
    /// number.
    pub seed: u64,
    /// Number of rows that the load stage writes. The main stage chooses from these rows.
    pub rows: u64,
    /// Generation of the data. Values of an earlier epoch are stale. Only the workload `kv` writes
    /// the epoch into its values.
    pub epoch: u64,
}

impl Spec {
    /// Creates the settings of a workload with defaults. The defaults are the workload's own
    /// keyspace, mix and parameters, one replica of every row, and the first epoch.
    pub fn new(use_: &str, rows: u64, seed: u64) -> Spec {
        Spec {
            use_: use_.to_owned(),
            keyspace: None,
            replication: Replication::default(),
            mix: Vec::new(),
            params: BTreeMap::new(),
            seed,
            rows,
            epoch: 0,
        }
    }
}

/// The replication of the keyspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replication {
    /// `SimpleStrategy` with one factor for the whole cluster.
    Simple {
        /// Number of replicas of every row in the cluster.
        factor: u32,
    },
    /// `NetworkTopologyStrategy` with the number of replicas of every row in each data center.
    NetworkTopology(Vec<(String, u32)>),
}

impl Default for Replication {
    fn default() -> Replication {
        Replication::Simple { factor: 1 }
    }
}

impl Replication {
    /// Adds a data center with this number of replicas of every row. Replaces `SimpleStrategy`.
    pub fn push(&mut self, datacenter: &str, factor: u32) {
        let added = (datacenter.to_owned(), factor);
        match self {
            Replication::Simple { .. } => *self = Replication::NetworkTopology(vec![added]),
            Replication::NetworkTopology(all) => all.push(added),
        }
    }

    /// Returns the number of replicas of each row in all data centers together.
    pub fn copies(&self) -> u64 {
        match self {
            Replication::Simple { factor } => u64::from(*factor),
            Replication::NetworkTopology(all) => all.iter().map(|(_, n)| u64::from(*n)).sum(),
        }
    }
}

/// The value of a parameter in the study's file.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamValue {
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// Any other value. A whole number followed by k, M or G is also accepted as a number.
    Text(String),
}

/// A mistake in a [`Spec`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path of the mistake within the workload's section, for example `["params", "sources"]`.
    pub path: Vec<String>,
    /// Description of the mistake, with the value and the limit.
    pub message: String,
    /// A hint that tells the user how to correct the mistake.
    pub hint: Option<String>,
    /// True if the last part of the path is an unknown name. Otherwise, the value at the path is
    /// wrong.
    pub is_unknown_name: bool,
}
