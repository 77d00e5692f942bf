//! Records of `trials/*/nodes.json`, which describe the actual hosts and nodes of one trial.
//!
//! The values come from the nodes themselves, after the last restart before the measured window. So
//! reports show the configuration in effect, not only the requested configuration. Sizes are in
//! bytes, and shares are from 0 to 1.

mod machine;

pub use machine::{
    DeviceRecord, DieRecord, L3Record, MachineHostRecord, MachineTopologyRecord, NumaNodeRecord,
    PackageRecord, PartRecord, PlacementRecord, numbers_of,
};

use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// Content of `trials/NN-slug/nodes.json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NodesRecord {
    /// Format number of the record: 1.
    pub format: u32,
    /// Kind of the hosts: `hosts` (simulated hosts on one machine), `machines`, `loopback`,
    /// `attach` or `null`.
    pub isolation: String,
    /// Hosts of the nodes.
    #[serde(default)]
    pub hosts: Vec<HostRecord>,
    /// Nodes of the target.
    #[serde(default)]
    pub nodes: Vec<NodeRecord>,
    /// Every setting that the study requests, with the value that each node reports.
    #[serde(default)]
    pub proofs: Vec<ProofRecord>,
    /// Settings of the hosts that matter to the database. The settings of each host are sorted from
    /// worst to best.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_settings: Vec<HostSettingRecord>,
    /// Topology of the machines on which the hosts run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<MachineTopologyRecord>,
    /// Placement of each node and of the client on these machines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placements: Vec<PlacementRecord>,
    /// Values that cassay could not read. Each entry is a sentence with the reason.
    #[serde(default)]
    pub unseen: Vec<String>,
}

/// A host on which nodes ran.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HostRecord {
    /// Name of the host, such as `host1`. The host of an attached node has the address of the node
    /// as its name.
    pub name: String,
    /// Address of the host.
    #[serde(default)]
    pub address: String,
    /// Name of the machine for ssh. It includes the machine type if the study states one. Absent
    /// for a simulated host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Descriptions of the limits of the host, by name: `cpus`, `cpu_quota`, `cpu_weight`,
    /// `memory`, `link_rate`, `link_delay`. A limit that is not set is absent.
    #[serde(default)]
    pub limits: BTreeMap<String, String>,
    /// Size of the host's data volume, bytes. Absent if the host has no separate volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_bytes: Option<u64>,
    /// Used space on the host's data volume in bytes, read before the measured window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_used_bytes: Option<u64>,
}

measure::word_enum! {
    /// Verdict on a setting of a host, in order from worst to best.
    #[derive(Default, PartialOrd, Ord)]
    pub enum SettingVerdict {
        /// The setting costs performance or stability, or risks a loss of data.
        Warning = "warning",
        /// Another value is recommended, but the difference matters only in some cases.
        Advice = "advice",
        /// cassay could not read the setting.
        Unknown = "unknown" | "not told",
        /// The setting has the recommended value.
        #[default]
        Ok = "ok",
    }
}

/// A setting of a host: of its kernel, of its devices, or of the limits of a node on the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSettingRecord {
    /// Name of the host.
    pub host: String,
    /// Name of the setting, such as `vm.max_map_count`, `limit.nofile` or `heap.size`.
    pub setting: String,
    /// Node or device that has the setting. Empty for the host itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub on: String,
    /// Value of the setting, or the reason why cassay could not read it.
    pub value: String,
    /// Recommended value of the setting.
    pub wanted: String,
    /// Verdict on the setting: `ok`, `advice`, `warning` or `unknown`.
    pub verdict: SettingVerdict,
    /// Reason for the recommendation. Empty if the setting is `ok`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Command that sets the recommended value. Empty if the setting is `ok`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fix: String,
    /// Source of the recommendation. Empty if the setting is `ok`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Check of this setting by Cassandra itself when it starts. Absent if Cassandra does not check
    /// the setting, or if the setting is `ok`.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub start_check: Option<String>,
}

/// A node of the target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeRecord {
    /// Name of the node, such as `node1`. An attached node has its address as its name.
    pub name: String,
    /// Name of the node's host.
    #[serde(default)]
    pub host: String,
    /// Address and port of the node for CQL.
    pub address: String,
    /// Version of Cassandra on the node. Empty if unknown.
    #[serde(default)]
    pub version: String,
    /// Data center of the node.
    #[serde(default)]
    pub datacenter: String,
    /// Rack of the node.
    #[serde(default)]
    pub rack: String,
    /// State of the node as nodetool displays it, such as `UN`. Empty if unknown.
    #[serde(default)]
    pub state: String,
    /// Size of the node's SSTables, bytes. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_bytes: Option<u64>,
    /// Number of tokens of the node.
    #[serde(default)]
    pub tokens: usize,
    /// Share of the keyspace's data that the node stores. The share 1.0 is a whole copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owns: Option<f64>,
    /// Values in the table `system_views.settings`, by name of the setting.
    #[serde(default, deserialize_with = "settings")]
    pub settings: BTreeMap<String, String>,
    /// JVM flags that differ from the defaults, by name.
    #[serde(default)]
    pub flags: BTreeMap<String, String>,
    /// Facts about the JVM: version, vendor, and its view of the machine.
    #[serde(default)]
    pub jvm: BTreeMap<String, String>,
}

/// Deserializes settings. In older lines of the journal, the value is null for settings that could
/// not be read.
fn settings<'de, D>(from: D) -> Result<BTreeMap<String, String>, D::Error>
where
    D: Deserializer<'de>,
{
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// A requested setting, with the value that a node reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProofRecord {
    /// Name of the node.
    pub node: String,
    /// Name of the setting, such as `commitlog_sync`, `-XX:MaxHeapSize` or `cpus`.
    pub key: String,
    /// Value that the study requests.
    pub wanted: String,
    /// Value in effect. It is `not shown` if the node does not report a value.
    pub effective: String,
    /// Source of the value in effect, such as `system_views.settings` or `VM.flags`.
    pub source: String,
    /// True if the node reported the requested value. In older records, which have no `outcome`,
    /// also true if the node reported no value.
    pub holds: bool,
    /// Outcome of the check: `in_effect`, `not_in_effect` or `not_shown`. Absent in older records.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub outcome: Option<ProofOutcome>,
    /// Reason why the node does not report a value. Empty if the node reports a value.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

measure::word_enum! {
    /// Result of checking whether a requested setting is in effect.
    #[derive(PartialOrd, Ord)]
    pub enum ProofOutcome {
        /// The node reported the requested value.
        InEffect = "in_effect",
        /// The node reported another value.
        NotInEffect = "not_in_effect",
        /// The node does not report a value, so it is unknown whether the setting is in effect.
        NotShown = "not_shown",
    }
}

impl ProofRecord {
    /// Text that replaces the value in effect if the node does not report a value.
    pub const NOT_SHOWN: &'static str = "not shown";

    /// Returns the outcome of the check. In older records, the outcome is derived from the other
    /// fields.
    pub fn outcome(&self) -> ProofOutcome {
        match (self.outcome, self.holds) {
            (Some(outcome), _) => outcome,
            (None, false) => ProofOutcome::NotInEffect,
            (None, true) if self.effective != ProofRecord::NOT_SHOWN => ProofOutcome::InEffect,
            (None, true) => ProofOutcome::NotShown,
        }
    }
}

/// Data that a trial began with: the restored snapshot, and the method of restoring it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DataRecord {
    /// Name of the restored snapshot.
    pub snapshot: String,
    /// Method of restoring the snapshot: `online` (import) or `offline` (swap).
    pub how: String,
    /// Duration of the restore on all nodes, s.
    pub seconds: f64,
    /// Number of SSTables on all nodes.
    pub sstables: u64,
    /// Size of the SSTables on all nodes, bytes.
    pub bytes: u64,
    /// Fingerprint of the SSTables of each node. It is equal to the node's fingerprint in the
    /// snapshot.
    #[serde(default)]
    pub fingerprints: BTreeMap<String, String>,
    /// State of the page cache after the restore: `kept` or `dropped`.
    pub page_cache: String,
}

/// A probe, with the cost of its samples.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ProbeRecord {
    /// Name of the probe: `hosts`, `processes`, `jvm`, `cassandra`, `gc_log`, `others`, or the file
    /// of an import. The probe `agent` is the transfer of an agent's readings. The probes that run
    /// in the agent have separate records.
    pub probe: String,
    /// Host or node that the probe sampled. Empty if the probe sampled all of them.
    #[serde(default)]
    pub place: String,
    /// Time between two samples, s.
    pub period_s: f64,
    /// Number of samples that the probe took.
    pub looks: u64,
    /// Number of samples that were skipped because an earlier sample took too long, or because the
    /// machine was busy.
    #[serde(default)]
    pub missed: u64,
    /// Number of values that the probe read.
    pub values: u64,
    /// CPU time that the samples of the probe took in cassay and its agents, s.
    pub cpu_s: f64,
    /// Duration of the longest sample, s.
    pub longest_s: f64,
    /// Error bound of the times of the probe's readings, s. Absent if the times come from the
    /// controller's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_bound_s: Option<f64>,
    /// Problems of the probe. Each problem is listed once.
    #[serde(default)]
    pub problems: Vec<String>,
}

/// A phase of a trial, with the actual times of its start and end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseTimeRecord {
    /// Name of the phase: `target`, `schema`, `load`, `settle`, `snapshot`, `restart`, `restore`,
    /// `warmup`, `measure`, `drain` or `verify`.
    pub name: String,
    /// Start of the phase, s since the trial's start line.
    pub from_s: f64,
    /// End of the phase, s since the trial's start line.
    pub to_s: f64,
}
