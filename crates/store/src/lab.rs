//! What stands in `trials/*/nodes.json`: the hosts and nodes of one trial as they really were.
//!
//! Asked from the nodes themselves after the last restart before the measured window, so that the
//! report shows what was in effect, not what was wished for. Sizes are bytes, shares 0 to 1.

mod machine;

pub use machine::{
    DeviceRecord, DieRecord, L3Record, MachineHostRecord, MachineTopologyRecord, NumaNodeRecord,
    PackageRecord, PlacementRecord, numbers_of,
};

use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// `trials/NN-slug/nodes.json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NodesRecord {
    /// [`crate::record::FORMAT`].
    pub format: u32,
    /// `hosts`, `machines`, `loopback`, `attach` or `null`.
    pub isolation: String,
    /// The hosts that nodes live on.
    #[serde(default)]
    pub hosts: Vec<HostRecord>,
    /// The nodes.
    #[serde(default)]
    pub nodes: Vec<NodeRecord>,
    /// Every setting that the study asked for, with what each node says of it.
    #[serde(default)]
    pub proofs: Vec<ProofRecord>,
    /// Settings of the hosts that the database depends on, the worst of each host first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_settings: Vec<HostSettingRecord>,
    /// What the machines of the hosts look like.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<MachineTopologyRecord>,
    /// Where on them the nodes and the client ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placements: Vec<PlacementRecord>,
    /// What could not be seen, a sentence each with the reason.
    #[serde(default)]
    pub unseen: Vec<String>,
}

/// A host.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HostRecord {
    /// `host1`; for an attached node its address.
    pub name: String,
    /// Its address.
    #[serde(default)]
    pub address: String,
    /// The machine that it is, as ssh knows it, with its type where that was said; none of a
    /// stand-in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// What it is limited to, in words by name: `cpus`, `cpu_quota`, `memory`, `link_rate`,
    /// `link_delay`. What is not limited is not here.
    #[serde(default)]
    pub limits: BTreeMap<String, String>,
    /// Size of its data volume; none where it shares the machine's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_bytes: Option<u64>,
    /// In use on the volume when the measured window began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_used_bytes: Option<u64>,
}

measure::word_enum! {
    /// How a setting of a host is to be taken, what is worst first.
    #[derive(Default, PartialOrd, Ord)]
    pub enum SettingVerdict {
        /// It costs performance or stability, or loses something.
        Warning = "warning",
        /// Another value is recommended; it matters for some.
        Advice = "advice",
        /// It could not be seen.
        NotTold = "not told",
        /// As it should be.
        #[default]
        Ok = "ok",
    }
}

/// One setting of a host: of its kernel, its devices, or what a node may use there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSettingRecord {
    /// The host.
    pub host: String,
    /// `vm.max_map_count`, `limit.nofile`, `heap.size`.
    pub setting: String,
    /// The node or the device that has it; empty for the host itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub on: String,
    /// What was found; why nothing was, if it is not told.
    pub value: String,
    /// What is wanted.
    pub wanted: String,
    /// `ok`, `advice`, `warning` or `not told`.
    pub verdict: SettingVerdict,
    /// Why it is wanted; empty where it is so.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The command that sets it so; empty where it is so.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fix: String,
    /// Who wants it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// What Cassandra itself checks of it at its start.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub start_check: Option<String>,
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeRecord {
    /// `node1`, or the address of an attached one.
    pub name: String,
    /// Name of its host.
    #[serde(default)]
    pub host: String,
    /// Address and port of CQL.
    pub address: String,
    /// Version of Cassandra.
    #[serde(default)]
    pub version: String,
    /// Its data center.
    #[serde(default)]
    pub datacenter: String,
    /// Its rack.
    #[serde(default)]
    pub rack: String,
    /// `UN` and the like, as nodetool writes it; empty if nobody could tell.
    #[serde(default)]
    pub state: String,
    /// Data on its disks; none where it is out of sight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_bytes: Option<u64>,
    /// How many tokens it has.
    #[serde(default)]
    pub tokens: usize,
    /// Its share of the keyspace's data: 1.0 is a whole copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owns: Option<f64>,
    /// `system_views.settings`.
    #[serde(default, deserialize_with = "settings")]
    pub settings: BTreeMap<String, String>,
    /// The JVM's flags, by name, where they differ from its defaults.
    #[serde(default)]
    pub flags: BTreeMap<String, String>,
    /// The JVM: version, vendor, what it takes its machine for.
    #[serde(default)]
    pub jvm: BTreeMap<String, String>,
}

/// In older lines of the journal settings that cannot be read are null.
fn settings<'de, D>(from: D) -> Result<BTreeMap<String, String>, D::Error>
where
    D: Deserializer<'de>,
{
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// One setting that was asked for, and what a node says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProofRecord {
    /// The node.
    pub node: String,
    /// The key: `commitlog_sync`, `-XX:MaxHeapSize`, `cpus`.
    pub key: String,
    /// What the study asked for.
    pub wanted: String,
    /// What is in effect; `not shown` where nobody tells.
    pub effective: String,
    /// Where that was read: `system_views.settings`, `VM.flags`.
    pub source: String,
    /// Whether they were seen to be the same. In records without an outcome it is also true where
    /// nothing was shown.
    pub holds: bool,
    /// `in_effect`, `not_in_effect` or `not_shown`; empty in older records.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub outcome: Option<ProofOutcome>,
    /// Why nothing was shown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

measure::word_enum! {
    /// What came of looking whether something that was asked for is in effect.
    #[derive(PartialOrd, Ord)]
    pub enum ProofOutcome {
        /// It was seen.
        InEffect = "in_effect",
        /// Something else was seen.
        NotInEffect = "not_in_effect",
        /// Nobody tells, so it is neither proved nor disproved.
        NotShown = "not_shown",
    }
}

impl ProofRecord {
    /// What stands for the effective value where nobody tells.
    pub const NOT_SHOWN: &'static str = "not shown";

    /// What came of it, of older records too.
    pub fn outcome(&self) -> ProofOutcome {
        match (self.outcome, self.holds) {
            (Some(outcome), _) => outcome,
            (None, false) => ProofOutcome::NotInEffect,
            (None, true) if self.effective != ProofRecord::NOT_SHOWN => ProofOutcome::InEffect,
            (None, true) => ProofOutcome::NotShown,
        }
    }
}

/// The state of the data that a trial began with: how it was made.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DataRecord {
    /// Name of the snapshot that was restored.
    pub snapshot: String,
    /// `online` (import) or `offline` (swap).
    pub how: String,
    /// How long the restore took, all nodes, seconds.
    pub seconds: f64,
    /// SSTables, all nodes.
    pub sstables: u64,
    /// Bytes, all nodes.
    pub bytes: u64,
    /// Fingerprint of the SSTables of each node, equal to the snapshot's.
    #[serde(default)]
    pub fingerprints: BTreeMap<String, String>,
    /// `kept` or `dropped`: the page cache.
    pub page_cache: String,
}

/// What one probe was and cost.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ProbeRecord {
    /// `hosts`, `processes`, `jvm`, `cassandra`, `gc_log`, an import's file; `agent`: taking what
    /// the agent of a host has read, whose own looks stand by their names.
    pub probe: String,
    /// Host or node that it looked at; empty for all.
    #[serde(default)]
    pub place: String,
    /// Seconds between two looks.
    pub period_s: f64,
    /// How often it looked.
    pub looks: u64,
    /// Looks that were left out since an earlier one took too long.
    #[serde(default)]
    pub missed: u64,
    /// Values that it read.
    pub values: u64,
    /// CPU time of ours, seconds.
    pub cpu_s: f64,
    /// Longest look, seconds.
    pub longest_s: f64,
    /// How far the times of its readings may be off, in seconds, where they were read by another
    /// clock than the controller's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_bound_s: Option<f64>,
    /// What went wrong, each once.
    #[serde(default)]
    pub problems: Vec<String>,
}

/// A phase of a trial as it was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseTimeRecord {
    /// `target`, `schema`, `load`, `settle`, `snapshot`, `restart`, `restore`, `warmup`, `measure`,
    /// `drain`, `verify`.
    pub name: String,
    /// Begin, in seconds since the trial's start line.
    pub from_s: f64,
    /// Its end, in seconds since the trial's start line.
    pub to_s: f64,
}
