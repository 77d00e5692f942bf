//! The resources that were nearest their limits, as readings of each trial and as explanations for
//! the run. The records belong to [`crate::record`].

use crate::child_run::folder_in;
use analysis::VariantName;
use analysis::limits::{Confidence, LimitKind, LimitReading, NodeUse};
use analysis::procedure::Point;
use measure::number::{short, significant};
use serde::{Deserialize, Serialize};

measure::word_enum! {
    /// Part of a trial in which the use of resources was measured.
    #[derive(Default)]
    pub enum LimitSpan {
        /// The whole measured window.
        #[default]
        Window = "window",
        /// The window up to the first fault of the trial.
        BeforeFaults = "before_faults",
        /// The time in which a fault was in effect.
        Fault = "fault",
        /// The first third of a window whose throughput drifted.
        First = "first_third",
        /// The last third of a window whose throughput drifted.
        Last = "last_third",
    }
}

measure::word_enum! {
    /// Event that cassay explains by a full resource.
    #[derive(Default)]
    pub enum LimitEvent {
        /// The load above which more load only increases latency.
        #[default]
        Knee = "knee",
        /// The result of a search.
        Peak = "peak",
        /// The highest load of a sweep without a knee.
        HighestLoad = "highest_load",
        /// The only load of a study, which is a closed loop or was too high for the target.
        OnlyLoad = "only_load",
        /// A difference between two variants.
        Difference = "difference",
        /// A fault of a trial.
        Fault = "fault",
        /// A drift of throughput within a window.
        Drift = "drift",
    }
}

impl LimitEvent {
    /// Returns true if only a resource that became full at the event can explain it.
    pub fn is_change(self) -> bool {
        matches!(
            self,
            LimitEvent::Difference | LimitEvent::Fault | LimitEvent::Drift
        )
    }
}

/// Value of a resource on the node, host, device or thread where the value was nearest its limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitReadingRecord {
    /// Resource, which is a row of the decision table, such as `cpu` or `commit_log_sync`.
    pub kind: LimitKind,
    /// Node, host, device (`host1/vda`) or thread that was measured. Empty for the client.
    #[serde(default)]
    pub place: String,
    /// Value of the resource. Depending on the resource, it is a share (0 to 1), a number, or a
    /// rate per second.
    pub value: f64,
    /// Value at which the resource counts as full.
    pub limit: f64,
    /// True if the value has reached `limit`. For some resources, such as CPU, work must also wait
    /// for the resource.
    pub full: bool,
}

impl From<LimitReading> for LimitReadingRecord {
    fn from(reading: LimitReading) -> LimitReadingRecord {
        LimitReadingRecord {
            kind: reading.kind,
            place: reading.place,
            value: reading.value,
            limit: reading.limit,
            full: reading.is_full,
        }
    }
}

impl From<LimitReadingRecord> for LimitReading {
    fn from(record: LimitReadingRecord) -> LimitReading {
        LimitReading {
            kind: record.kind,
            place: record.place,
            value: record.value,
            limit: record.limit,
            is_full: record.full,
        }
    }
}

/// CPU use of one node in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeCpuRecord {
    /// Name of the node.
    pub node: String,
    /// Number of CPUs that the process of the node kept busy.
    pub used: f64,
    /// Number of CPUs that the node may use.
    pub available: f64,
}

impl From<NodeUse> for NodeCpuRecord {
    fn from(node: NodeUse) -> NodeCpuRecord {
        NodeCpuRecord {
            node: node.node,
            used: node.used,
            available: node.available,
        }
    }
}

impl From<NodeCpuRecord> for NodeUse {
    fn from(record: NodeCpuRecord) -> NodeUse {
        NodeUse {
            node: record.node,
            used: record.used,
            available: record.available,
        }
    }
}

/// Use of resources in the measured window of a trial, or in a part of that window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialLimitsRecord {
    /// Part of the trial that the readings belong to: `window`, `before_faults`, `fault`,
    /// `first_third` or `last_third`.
    pub span: LimitSpan,
    /// Number of the fault within the trial, starting at 1. Absent if `span` is not `fault`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<usize>,
    /// Readings of the resources, with one reading for each resource that the probes observed.
    pub readings: Vec<LimitReadingRecord>,
    /// Resources that the probes did not observe.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unobserved: Vec<LimitKind>,
    /// CPU use of the nodes. Nodes with unknown CPU use are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeCpuRecord>,
}

/// A resource that may have limited the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitCandidateRecord {
    /// Resource, which is a row of the decision table.
    pub kind: LimitKind,
    /// Node, host, device or thread that was measured. Empty for the client.
    #[serde(default)]
    pub place: String,
    /// Value of the resource at the event.
    pub value: f64,
    /// Value at which the resource counts as full.
    pub limit: f64,
    /// Value of the resource at the next lower load, or for the other variant. Absent if this value
    /// is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<f64>,
    /// Degree to which the reading alone supports the statement: `high`, `medium` or `low`.
    pub confidence: Confidence,
    /// Experiment that changed this resource. Absent if the study did not request experiments, or
    /// if an earlier candidate was confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<ExperimentRecord>,
}

measure::word_enum! {
    /// Outcome of an experiment that changed one setting of a resource.
    #[derive(Default)]
    pub enum ExperimentOutcome {
        /// The result changed as predicted, and the confidence interval of the ratio does not
        /// contain 1.
        Confirmed = "confirmed",
        /// The result stayed the same, or changed in the other direction.
        Refuted = "refuted",
        /// The confidence interval includes 1 (no change) as well as a relevant change.
        Inconclusive = "inconclusive",
        /// cassay did not run the experiment.
        #[default]
        NotRun = "not_run",
    }
}

/// An experiment that changed one setting of a resource, to test whether the result at the load
/// changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExperimentRecord {
    /// Outcome of the experiment: `confirmed`, `refuted`, `inconclusive` or `not_run`.
    pub outcome: ExperimentOutcome,
    /// Reason why the experiment did not run or has no result. Empty if the experiment has a
    /// result.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Changed settings. Empty if cassay knows no setting that changes the resource.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangedSettingRecord>,
    /// True if the change enlarges the resource. The result must then improve if the resource
    /// limits the load. If the change does not enlarge the resource, the result must become worse.
    pub enlarges: bool,
    /// Metric of the comparison: `ops_per_s` or `latency_ms.p99`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub metric: String,
    /// Load at which the variants with and without the change ran.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// Ratio of the result with the change to the result without the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// 95 % confidence interval of the ratio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
    /// Number of pairs of trials.
    pub blocks: usize,
    /// Folder of the experiment's run, relative to the folder of this run.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub run: String,
}

/// A setting that an experiment changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChangedSettingRecord {
    /// Dotted path of the setting.
    pub setting: String,
    /// Value of the setting in the run, written as in a study.
    pub from: String,
    /// Value of the setting in the experiment, written as in a study.
    pub to: String,
}

/// Folder of the experiments of a run, in the folder of the run.
pub const EXPERIMENTS_FOLDER: &str = "why";

impl ExperimentRecord {
    /// Returns the folder of the experiment's run, relative to the folder of this run. `None` if
    /// the experiment has no run, or if the record, which may come from an untrusted source,
    /// contains any other path.
    pub fn run_folder(&self) -> Option<&str> {
        folder_in(EXPERIMENTS_FOLDER, &self.run)
    }
}

/// Explanation of one event, with the resources that were full at the time of the event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitRecord {
    /// Event: `knee`, `peak`, `highest_load`, `only_load`, `difference`, `fault` or `drift`.
    pub event: LimitEvent,
    /// Variant at the event. For a difference, this is the slower variant.
    pub variant: VariantName,
    /// Load at which the event occurred.
    #[serde(default, with = "crate::point")]
    pub point: Option<Point>,
    /// The faster variant, if the event is a difference. Absent for other events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<VariantName>,
    /// Number of the trial, if the event is a fault or a drift. Absent for other events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<usize>,
    /// Number of the fault within its trial, starting at 1. Absent if the event is not a fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<usize>,
    /// Full resources, most likely limit first. Empty if no observed resource was full.
    pub candidates: Vec<LimitCandidateRecord>,
    /// Resource that was nearest its limit, if no resource was full. Absent if no resource was
    /// observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<LimitCandidateRecord>,
    /// Resources that the probes could not observe.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unobserved: Vec<LimitKind>,
    /// CPU use of each node at the event.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeCpuRecord>,
    /// Sentence that states the explanation.
    pub says: String,
}

/// Returns the name of a resource for a table.
pub fn limit_name(kind: LimitKind) -> &'static str {
    match kind {
        LimitKind::Client => "client",
        LimitKind::OtherPrograms => "other programs: CPU in use",
        LimitKind::CpuQuota => "CPU quota: throttled periods",
        LimitKind::GarbageCollection => "garbage collection: time stopped",
        LimitKind::DiskRate => "disk: share of its limit",
        LimitKind::DiskQueue => "disk: requests in its queue",
        LimitKind::Network => "network: share of the link's rate",
        LimitKind::CompactionThroughput => "compaction: share of its throughput limit",
        LimitKind::Thread => "busiest thread: share of a CPU",
        LimitKind::Cpu => "CPU in use",
        LimitKind::CommitLogSync => "commit log: wait for its sync",
        LimitKind::CommitLogSegments => "commit log: waits for a segment",
        LimitKind::MemtableSpace => "memtables: waits for space",
        LimitKind::FlushWriters => "flushes that wait",
        LimitKind::Compactors => "compactors at work while compactions wait",
        LimitKind::Safepoints => "safepoints: time to reach them",
        LimitKind::Pause => "longest pause ÷ p99.9",
        LimitKind::PacketLoss => "network: retransmitted segments",
        LimitKind::BetweenNodes => "time between nodes",
        LimitKind::ClientLink => "time outside of the coordinator",
        LimitKind::ReadRepair => "read repairs",
        LimitKind::SstablesPerRead => "SSTables per read (p99)",
        LimitKind::Tombstones => "tombstones per read (p99)",
        LimitKind::Caches => "cache misses",
        LimitKind::Stage => "requests that wait for a read or write thread",
        LimitKind::TransportQueue => "requests that wait for a coordinator thread",
        LimitKind::Shedding => "dropped requests",
    }
}

/// Formats a value or a limit of a resource, with its unit.
pub fn limit_value(kind: LimitKind, value: f64) -> String {
    match kind.row().unit {
        "ratio" => format!("{} %", short(value * 100.0, 2)),
        "/s" => format!("{}/s", significant(value, 2)),
        _ => significant(value, 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_an_experiment_is_inside_its_run() {
        let of = |run: &str| {
            let record = ExperimentRecord {
                run: run.to_owned(),
                ..ExperimentRecord::default()
            };
            record.run_folder().map(str::to_owned)
        };
        assert_eq!(of("why/cpu/s-why/1").as_deref(), Some("why/cpu/s-why/1"));
        for outside in ["", "other/1", "/why/cpu", "why/../../x", "../why"] {
            assert_eq!(of(outside), None, "{outside}");
        }
    }
}
