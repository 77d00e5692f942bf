//! Records in the files of a run. Every format has a number; fields are added, never renamed.
//!
//! These types are the form *on disk*. The rest of the program has types of its own and converts,
//! so that old runs stay readable while the code changes. Names of durations contain the unit.
//!
//! Long because it is one format.

pub use crate::acknowledged_writes::{
    DataAgainst, HistoryRecord, MissedRowRecord, ReadBackRecord, RegistersRecord, ViolationRecord,
    read_back_words,
};
pub use crate::added_blocks::AddedRecord;
pub use crate::back_to_normal::{Aftermath, NotMeasured, SeriesEnd, p99_ratio, p99_words, since};
pub use crate::cause::{CauseKind, CauseRecord, NextStepRecord};
pub use crate::comparable_points::compared_value;
pub use crate::cost::{CostComparisonRecord, CostKind, CostRecord, Costs};
pub use crate::curves::{CurveRecord, PeakRecord, WithoutPeak};
pub use crate::effects::{
    AxisRecord, CellRecord, EffectKind, EffectRecord, EffectVerdict, EffectsRecord, LevelRecord,
    WithoutInterval,
};
pub use crate::endurance::{
    ChangeRecord, CourseRecord, CyclesRecord, CyclesState, DriftRecord, EnduranceRecord,
    EnduredRecord, GrowthRecord, HappenedRecord, TurnRecord,
};
pub use crate::event::{JournalEvent, JournalRecord, MachineFacts, left_out, left_out_words};
use crate::file_digests::Sums;
pub use crate::fleet::{
    ClientEndRecord, ClientMachineRecord, ClientSecondRecord, ClockMovedRecord, ClockRecord,
};
pub use crate::limits::{
    ExperimentOutcome, ExperimentRecord, LimitCandidateRecord, LimitEvent, LimitReadingRecord,
    LimitRecord, LimitSpan, NodeCpuRecord, TrialLimitsRecord, limit_name, limit_value,
};
pub use crate::looks::{LookRecord, LooksHow, LooksRecord, RobustRecord};
pub use crate::missing_records::{GapKind, GapRecord};
pub use crate::nodes_record::{
    DataRecord, DeviceRecord, DieRecord, HostRecord, HostSettingRecord, L3Record,
    MachineHostRecord, MachineTopologyRecord, NodeRecord, NodesRecord, NumaNodeRecord,
    PackageRecord, PartRecord, PhaseTimeRecord, PlacementRecord, ProbeRecord, ProofOutcome,
    ProofRecord, SettingVerdict, numbers_of,
};
pub use crate::price_performance::{CapacityRecord, PriceRecord};
pub use crate::published::{
    PublishedFailureRecord, PublishedFigureRecord, PublishedRatioRecord, PublishedRecord,
};
pub use crate::quantiles::QuantilesRecord;
pub use crate::reasons::{MeasurementRecord, ReasonRecord, RuleRecord};
pub use crate::recovery::{
    BaselineRecord, Dip, FaultStretch, Hints, NoticedRecord, RecoveryRecord, RepairNeed,
    ReturnTime, Returns, StretchRecord, WithoutFaultsRecord,
};
pub use crate::requirements::{BesideRecord, RequirementRecord, outcome_of};
pub use crate::resolved_study::{
    CombinationsRecord, Order, OverridesRecord, PlannedFaultRecord, PrimaryRecord, RepeatRecord,
    RequestRecord, ResolvedRecord,
};
pub use crate::scale_up::{
    CoefficientRecord, EfficiencyRecord, ImprovementRecord, ScaleBoundRecord, ScaleFitRecord,
    ScalePeakRecord, ScalePointRecord, ScaleRatioRecord, ScaleUpRecord,
};
pub use crate::screening::{ScreenRecord, ScreenedRecord};
pub use crate::search::{SearchRangeRecord, SearchRecord, SearchStepRecord};
pub use crate::tables_left::RemainsRecord;
pub use crate::time_use::{StepTimeRecord, TimeUseRecord};
pub use analysis::VariantName;
pub use analysis::compare::{Bound, Finding};
pub use analysis::durability::PromiseKind;
pub use analysis::procedure::{Point, Role, SearchOutcome, SearchProcedure, SearchResult};
pub use analysis::recovery::{FaultStep, FaultVerdict};
pub use analysis::require::{RequiredMetric, RequirementResult as RequirementOutcome};
pub use analysis::rules::{
    Quantity, RuleOutcome, Verdict, names as rule_names, title as rule_title,
};
pub use analysis::scale_up::{EfficiencyOf, SaturatedResource};
use measure::{ClientCounts, KindCounts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Format number of every record in this file.
pub const FORMAT: u32 = 1;

/// `plan.json`: the resolved study, written before anything starts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanRecord {
    /// Format number of the record: 1.
    pub format: u32,
    /// Version of cassay that wrote the plan.
    pub cassay: String,
    /// Name of the study. It is a folder name, and is checked when it is read.
    #[serde(deserialize_with = "crate::name::study")]
    pub study: String,
    /// The question, in the user's words.
    pub question: String,
    /// Seed of everything that is random in the run.
    pub seed: u64,
    /// Name of the requested scale. Absent if no scale was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<String>,
    /// Command that repeats this run.
    pub rerun: String,
    /// Expected cost of the run.
    pub estimate: EstimateRecord,
    /// Every planned trial, in order.
    pub trials: Vec<TrialRecord>,
    /// Study with every default filled in, for resuming and for the report.
    pub resolved: ResolvedRecord,
}

/// Expected time, disk space and memory of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EstimateRecord {
    /// Wall time if every trial runs, s.
    pub seconds: f64,
    /// Disk space for the target's data, bytes; 0 for an attached cluster or the null target.
    pub disk_bytes: u64,
    /// Memory for the target, bytes.
    pub memory_bytes: u64,
    /// Trials that run whatever the results are. Absent if all trials do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<MinimumPlanRecord>,
}

/// Part of a run that does not depend on its results.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MinimumPlanRecord {
    /// Number of trials.
    pub trials: usize,
    /// Wall time, s.
    pub seconds: f64,
}

/// `trials/NN-slug/trial.json`: one configuration, measured once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Format number of the record: 1.
    pub format: u32,
    /// Number of the trial, from 0.
    pub index: usize,
    /// Name of the folder under `trials/`, checked when it is read: `00-writes-threads-4`.
    #[serde(deserialize_with = "crate::name::slug")]
    pub slug: String,
    /// Name of the variant.
    pub variant: VariantName,
    /// Load: `{"threads": 28}` or `{"rate": 10000}`; `{}` in a plan if results decide it.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// Purpose of the trial. Absent for a probe, which is the ordinary purpose.
    #[serde(default, skip_serializing_if = "Role::is_probe")]
    pub role: Role,
    /// Number of the block (repetition), from 0.
    pub block: usize,
    /// Phases of the trial, in order.
    pub phases: Vec<PhaseRecord>,
    /// Every setting of the trial, resolved.
    pub settings: serde_json::Value,
}

/// One phase of a trial as planned.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PhaseRecord {
    /// Name: `target`, `schema`, `load`, `settle`, `snapshot`, `restart`, `restore`, `warmup`,
    /// `measure` or `verify`.
    pub name: String,
    /// Work of the phase, in words.
    pub what: String,
    /// Expected length, s.
    pub seconds: f64,
}

/// One line of `intervals.ndjson`: one kind of operation in one interval. The line of kind `client`
/// has the client's own figures instead.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct IntervalRecord {
    /// Start of the interval, s since the trial's start line.
    pub t_s: f64,
    /// Length of the interval, s.
    pub seconds: f64,
    /// Phase: `load`, `warmup`, `measure`, `drain` or `verify`.
    pub phase: String,
    /// Kind of operation, or `client`.
    pub kind: String,
    /// Operations that succeeded. Like all figures of the line, it covers the operations that ended
    /// in the interval, whenever they were due.
    #[serde(default)]
    pub ok: u64,
    /// Operations that failed, by outcome.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// Latency from the intended start, ms. Absent if no operation succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<QuantilesRecord>,
    /// Service time from the send, ms. Absent if no operation succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_ms: Option<QuantilesRecord>,
    /// Latency of failed operations, ms. Absent if no operation failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_ms: Option<QuantilesRecord>,
    /// Counters besides outcomes and times, by name. Zeros are omitted.
    #[serde(flatten, serialize_with = "crate::counts::serialize_kind")]
    pub counts: KindCounts,
    /// Results of verified reads. Absent if no read was verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<VerifyRecord>,
    /// The client's own figures. Only the line of kind `client` has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientIntervalRecord>,
    /// Number of intervals that the line of an overview joins. Absent (0) in `intervals.ndjson`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub joined: u64,
}

/// Returns true for zero. Zero counts are omitted: there is one line per second and kind.
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The client's own figures in one interval.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClientIntervalRecord {
    /// CPU time of the workers per operation that ended, µs.
    pub cpu_us_per_op: f64,
    /// CPU time of the workers, as a share of one core.
    pub cpu_share: f64,
    /// Release lag, p50, µs.
    pub lag_us_p50: f64,
    /// Release lag, p99, µs.
    pub lag_us_p99: f64,
    /// Counters of operations before they were sent, and of connections, by name.
    #[serde(flatten, serialize_with = "crate::counts::serialize_client")]
    pub counts: ClientCounts,
    /// Delay of timers on the client's cores, p99, ms. Absent if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hiccup_ms_p99: Option<f64>,
    /// Largest delay of a timer on the client's cores, ms. Absent if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hiccup_ms_max: Option<f64>,
    /// Time in stalls (timers at least 10 ms late), ms.
    #[serde(default)]
    pub stalled_ms: f64,
    /// Time in which workers were runnable but had no CPU, as a share of one core. Absent if the
    /// kernel does not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_share: Option<f64>,
    /// Longest wait of a worker for a response, ms. It counts where it ended.
    #[serde(default)]
    pub quiet_ms: f64,
}

/// `probes/*.ndjson`: one sample of a probe.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SampleRecord {
    /// Time of the sample, s since the trial's start line.
    pub t_s: f64,
    /// Name of the series, for example `cassandra.compactions_pending`.
    pub name: String,
    /// Node or host; empty for the client.
    #[serde(default)]
    pub place: String,
    /// Unit of the value.
    pub unit: String,
    /// Value of the sample, in that unit.
    pub value: f64,
}

/// `findings.json`: the results of a run, for other programs. Format 1.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FindingsRecord {
    /// Format number of the record: 1.
    pub format: u32,
    /// Name of the study.
    pub study: String,
    /// `valid`, `suspect` or `invalid`: the worst verdict of the trials, or `invalid` if the run
    /// stopped early. Trials in which a search exceeded its result do not count.
    pub verdict: Verdict,
    /// Reasons for the verdict, one sentence each. Empty if the run is valid.
    pub reasons: Vec<String>,
    /// The same reasons with their numbers, in the same order. Empty in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reason_records: Vec<ReasonRecord>,
    /// Answer to the question, one sentence each.
    #[serde(default)]
    pub answer: Vec<String>,
    /// First sentences of the answer if verified data was lost or wrong, or a requirement missed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<String>,
    /// Causes of imprecision that the trials show together. Each comes before its consequences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<CauseRecord>,
    /// Full resources at each knee, peak, difference, fault and drift.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitRecord>,
    /// Proposed next run. Absent if the question is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<NextStepRecord>,
    /// One entry per finished trial.
    pub trials: Vec<TrialFinding>,
    /// Merged blocks of each variant at each point, without invalid trials. If a point has only
    /// invalid trials, these are merged, and its verdict is `invalid`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<PointRecord>,
    /// Searches, one for each variant and block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<SearchRecord>,
    /// Comparisons of long trials with shorter trials.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endured: Vec<EnduredRecord>,
    /// Sweep of each variant: its points in order of load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<SweepRecord>,
    /// Comparisons of variants.
    pub comparisons: Vec<ComparisonRecord>,
    /// Expected number of false findings. Absent if fewer than two comparisons have an interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiplicity: Option<MultiplicityRecord>,
    /// Comparisons of costs. They are no part of `comparisons`, nor of their adjustment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cost_comparisons: Vec<CostComparisonRecord>,
    /// Throughput of variants for their price.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<PriceRecord>,
    /// Number of nodes that the requested capacity needs, by variant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capacities: Vec<CapacityRecord>,
    /// Results of a screening: the settings that have an effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub screens: Vec<ScreenRecord>,
    /// The curve through the points of each variant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<CurveRecord>,
    /// Scale-up of the machine: one record for each arm and load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scale_ups: Vec<ScaleUpRecord>,
    /// Effects of the axes of a matrix, point by point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<EffectsRecord>,
    /// Faults and their effects.
    pub faults: Vec<FaultRecord>,
    /// Comparisons of faults with trials without them, if the study requests that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_faults: Vec<WithoutFaultsRecord>,
    /// Published figures next to the measured figures. Absent if the study names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedRecord>,
    /// Requirements of the study, with their outcomes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<RequirementRecord>,
    /// Tables that cassay created on clusters that it did not start, and left there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remains: Vec<RemainsRecord>,
    /// Use of the run's wall time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_use: Option<TimeUseRecord>,
}

/// `trials/NN-slug/finding.json`: the trial's entry of `findings.json`. It is written when the
/// trial ends, so that an interrupted run has it too, and read as the entry and a
/// `FileDigestRecord`.
#[derive(Clone, Debug, Serialize)]
pub struct TrialFindingRecord {
    /// Format number of the record: 1.
    pub format: u32,
    /// The entry.
    #[serde(flatten)]
    pub finding: TrialFinding,
    /// Checksums of the trial's other files, by path within it. Empty in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Sums::is_empty")]
    pub files: Sums,
}

/// `findings.json` as written: the findings, the version that wrote them, and the checksums of the
/// files that they are based on.
// Read as `FindingsRecord` and a `FileDigestRecord`.
#[derive(Clone, Debug, Serialize)]
pub struct FindingsFileRecord {
    /// The findings.
    #[serde(flatten)]
    pub findings: FindingsRecord,
    /// Version of cassay that wrote the file. Empty in runs of earlier versions.
    #[serde(default)]
    pub cassay: String,
    /// Checksums of the run's complete files, by path within it. Empty in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Sums::is_empty")]
    pub files: Sums,
}

/// Version and checksums beside the findings in the file of a trial or a run. They are read apart
/// from the findings. For a flattened field, serde would generate all readers of findings a second
/// time: half a megabyte of program.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct FileDigestRecord {
    /// Version of cassay that wrote the file. Empty in runs of earlier versions.
    pub cassay: String,
    /// Checksums by path in the folder of the file. Empty in runs of earlier versions.
    pub files: Sums,
}

/// Findings of one trial.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TrialFinding {
    /// Number of the trial.
    pub index: usize,
    /// Start line of the trial, ns since 1970: the zero of the seconds in its records.
    #[serde(default)]
    pub started_unix_ns: u64,
    /// Name of the variant.
    pub variant: VariantName,
    /// Load of the trial.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// Purpose of the trial, as in [`TrialRecord`].
    #[serde(default, skip_serializing_if = "Role::is_probe")]
    pub role: Role,
    /// Number of the block (repetition), from 0.
    #[serde(default)]
    pub block: usize,
    /// Name of the measured phase: `measure`.
    pub phase: String,
    /// `valid`, `suspect` or `invalid`.
    pub verdict: Verdict,
    /// Reasons for the verdict, one sentence each.
    pub reasons: Vec<String>,
    /// The same reasons with their numbers, in the same order. Empty in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reason_records: Vec<ReasonRecord>,
    /// Results of the validity rules, with their numbers.
    #[serde(default)]
    pub rules: Vec<RuleRecord>,
    /// Length of the measured window, s.
    pub seconds: f64,
    /// True if the window is under 30 s: its 95 % intervals then cover the truth less often.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short_window: bool,
    /// Operations that ended per second in the second half of the window, including failed
    /// operations. Operations in flight when the window began are no part of it. Absent in a closed
    /// loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later_ended_per_s: Option<f64>,
    /// Change of throughput over the window, as a share. Absent if it is small or may be chance,
    /// and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<f64>,
    /// Throughput of the best second of the window, op/s. Absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_ops_per_s: Option<f64>,
    /// Operations that ended in the measured window, whatever their outcome.
    pub ops_total: u64,
    /// Failed operations among those that were due in the measured window, by outcome.
    pub errors: BTreeMap<String, u64>,
    /// Operations that were due in the measured window and sent only after it (open loop).
    #[serde(default)]
    pub sent_in_drain: u64,
    /// Operations that were due in the measured window and not sent when the drain stopped sending.
    pub due_never_sent: u64,
    /// Operations sent more than 1 ms late, in the window and its drain.
    #[serde(default)]
    pub late: u64,
    /// Operations given up before they were sent, in the window and its drain.
    #[serde(default)]
    pub dropped: u64,
    /// Warm-up before the window: its length, and how it ended.
    #[serde(default)]
    pub warmup: WarmupRecord,
    /// Figures of all kinds together.
    pub all: SeriesRecord,
    /// Figures by kind of operation.
    pub kinds: BTreeMap<String, SeriesRecord>,
    /// Kinds that are parts of other kinds' operations: sums over kinds leave them out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// Counters beside outcomes and times, by kind, in the window and its drain. Kinds without any
    /// are omitted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, KindCounts>,
    /// The client's own figures.
    pub client: ClientRecord,
    /// Figures of each of several clients. Empty if one process offered the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<ClientEndRecord>,
    /// Part of the machine that nodes started by cassay ran on. Absent if they had all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartRecord>,
    /// Use of the machine that the client runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineRecord>,
    /// Costs of the operations for the target. Unknown costs are absent.
    #[serde(default, skip_serializing_if = "Costs::is_empty")]
    pub costs: Costs,
    /// Resources of the target and the client: in the window, and in parts of it with a fault or a
    /// drift. Empty for the null target, and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<TrialLimitsRecord>,
    /// Results of verified reads.
    pub verify: VerifyRecord,
    /// Results of reading all rows back. Absent if the trial did not do that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_back: Option<ReadBackRecord>,
    /// Judgement of the histories of registers. Absent if the workload has no registers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registers: Option<RegistersRecord>,
    /// The servers' operation counts. Absent if they could not be compared with the client's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerCountsRecord>,
    /// Compactions pending at the window's end, all nodes together. Absent if no probe read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_compactions: Option<f64>,
    /// Load phase. Absent if the trial loaded no data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadRecord>,
    /// Number of the run's start that loaded the trial's data, from 1: a resumed run loads its data
    /// anew. Absent if no data outlives a trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// Snapshot that the trial began with. Absent if it restored none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataRecord>,
    /// Number of SSTables of the workload's tables at the end, by format version (`oa`). Empty for
    /// attached nodes, if they could not be read, and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sstable_formats: BTreeMap<String, u64>,
    /// Missing records of the trial. Empty in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<GapRecord>,
    /// Phases with their actual times, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseTimeRecord>,
    /// Probes that ran, with their cost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbeRecord>,
    /// Faults of the trial and their effects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultRecord>,
    /// Findings in a window of hours. Absent if the procedure is not `endurance`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endurance: Option<EnduranceRecord>,
}

/// Warm-up of a trial.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WarmupRecord {
    /// Length, s.
    pub seconds: f64,
    /// `fixed` (its length was given), `detected` (a steady state was seen), `forced` (the limit
    /// came first) or `warming` (the load ended first).
    #[serde(deserialize_with = "measure::word_or_default")]
    pub steady: WarmupEnd,
}

measure::word_enum! {
    /// End of a warm-up.
    #[derive(Default)]
    pub enum WarmupEnd {
        /// It lasted as long as the study requires.
        #[default]
        Fixed = "fixed",
        /// A steady state was seen.
        Detected = "detected",
        /// The limit came first.
        Forced = "forced",
        /// The load ended first.
        Warming = "warming",
    }
}

/// Throughput and latency of one kind of operation, or of all kinds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SeriesRecord {
    /// Operations that succeeded within the measured window, whenever they were due.
    pub ops: u64,
    /// Throughput: `ops` per second.
    pub ops_per_s: f64,
    /// 95 % confidence interval of the throughput, from batch means. `null` with too few seconds.
    #[serde(default)]
    pub ops_per_s_ci95: Option<[f64; 2]>,
    /// True if that interval rests on one to four incidents: stretches of seconds that stand out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub few_incidents: bool,
    /// Latency from the intended start, of the operations that were due in the measured window.
    /// Covers successes, and lower bounds of those that the client did not follow to their end.
    pub latency_ms: QuantilesRecord,
    /// Service time from the send, of the same operations as far as they were sent.
    pub service_ms: QuantilesRecord,
    /// Latency from the intended start, of failed operations that were due in the measured window.
    #[serde(default)]
    pub error_ms: QuantilesRecord,
}

/// The client's own figures in one trial.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClientRecord {
    /// CPU time of the workers (user and system) per operation, µs.
    pub cpu_us_per_op: f64,
    /// CPU time of the workers, as a share of the cores that they had.
    #[serde(default)]
    pub cpu_share: f64,
    /// Release lag, µs; 0 in a closed loop.
    pub lag_us: LagRecord,
    /// Ceiling: throughput of the same program on the null target on this machine, op/s. The lowest
    /// of `ceilings_ops_per_s`.
    pub ceiling_ops_per_s: f64,
    /// Ceilings measured around this trial, op/s, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ceilings_ops_per_s: Vec<f64>,
    /// True if the workers had real-time priority over other programs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub realtime: bool,
    /// Longest stall of the client (a late timer on its cores), ms. Absent if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall_ms_longest: Option<f64>,
    /// Time in stalls of at least 10 ms, as a share of the window.
    #[serde(default)]
    pub stalled_share: f64,
    /// Time in which workers were runnable but had no CPU, as a share of the cores that they had.
    /// Absent if the kernel does not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_share: Option<f64>,
    /// Longest wait of a worker for a response, ms.
    #[serde(default)]
    pub quiet_ms_longest: f64,
    /// Number of worker threads.
    #[serde(default)]
    pub workers: usize,
    /// Number of connections to all nodes.
    #[serde(default)]
    pub connections: usize,
    /// Peak resident memory of the process, bytes; 0 if unknown.
    #[serde(default)]
    pub memory_bytes: u64,
}

/// Use of the machine that the client runs on: means over the window, as shares of 1. Unreadable
/// values are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineRecord {
    /// Number of CPUs that the client may use: the base of the shares of CPU time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u64>,
    /// CPU time used by neither the nodes nor the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_others: Option<f64>,
    /// CPU time used by the nodes that cassay started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_nodes: Option<f64>,
    /// CPU time used by the client's whole process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_client: Option<f64>,
    /// Time in which the busiest disk worked for other programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_busy_for_others: Option<f64>,
    /// Time in which some task waited for a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure_cpu: Option<f64>,
    /// Time in which some task waited for a disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure_io: Option<f64>,
    /// Time in which all tasks waited for memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure_memory: Option<f64>,
}

/// Release lag, µs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LagRecord {
    /// The median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// Verified reads: responses compared with values generated again from the seed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct VerifyRecord {
    /// Number of rows that were compared.
    pub checked: u64,
    /// Rows that are missing and must exist.
    pub missing: u64,
    /// Missing rows whose write was acknowledged.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// Rows that do not exist, and whose write was never acknowledged. Not an error.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub never_written: u64,
    /// Rows with an old value that should have been overwritten.
    pub stale: u64,
    /// Right rows that a later operation than the first has written. Not an error.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overwritten: u64,
    /// Rows with a value that was never right.
    pub wrong: u64,
    /// Rows that exist again after they were deleted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resurrected: u64,
    /// Rows that do not exist, and were deleted. Not an error.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub deleted: u64,
    /// Right rows without an acknowledged write. Not an error.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unconfirmed: u64,
    /// First rows found missing, stale, resurrected or wrong; at most 10.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed_rows: Vec<MissedRowRecord>,
}

/// The servers' own operation counts over the whole trial, beside the client's.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ServerCountsRecord {
    /// Source of the counts, for example `system_views.coordinator_write_latency`.
    pub source: String,
    /// Writes that the servers coordinated.
    pub writes: u64,
    /// Reads that the servers coordinated.
    pub reads: u64,
    /// Writes that succeeded for the client, in all phases of the trial.
    pub client_writes: u64,
    /// Reads that succeeded for the client, in all phases of the trial.
    pub client_reads: u64,
}

/// The load phase of a trial.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LoadRecord {
    /// Number of rows written.
    pub operations: u64,
    /// Length of the load, s.
    pub seconds: f64,
    /// Failed operations, by outcome. Empty, since a load with failures ends its trial.
    pub errors: BTreeMap<String, u64>,
    /// Number of retries.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u64,
    /// How settling ended: `settled`, `stalled`, `timeout`, `skipped` or `unknown`.
    #[serde(deserialize_with = "measure::word_or_default")]
    pub settle: SettleEnd,
    /// Length of settling, s.
    pub settle_seconds: f64,
}

measure::word_enum! {
    /// End of the wait for flushes and compactions.
    #[derive(Default)]
    pub enum SettleEnd {
        /// No compaction was running or pending.
        Settled = "settled",
        /// Pending compactions no longer made progress.
        Stalled = "stalled",
        /// The limit came first.
        Timeout = "timeout",
        /// There was no wait: the study requests none, or the target cannot report compactions.
        Skipped = "skipped",
        /// The target did not show its pending compactions.
        #[default]
        Unknown = "unknown",
    }
}

/// Metric of the results of searches.
pub const PEAK: &str = "peak";

/// A comparison of two variants.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ComparisonRecord {
    /// `ops_per_s`, `latency_ms.p99`, …; `peak` for the results of searches.
    pub metric: String,
    /// Load of both sides; `{}` for a `peak`.
    #[serde(default, with = "crate::point")]
    pub point: Option<Point>,
    /// Name of the baseline variant.
    pub baseline: VariantName,
    /// Name of the contender variant.
    pub contender: VariantName,
    /// Contender ÷ baseline (ratio of geometric means over blocks).
    pub ratio: f64,
    /// `at_least` or `at_most`, if the ratio is only a bound: values of one side are lower bounds.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub bound: Option<Bound>,
    /// 95 % confidence interval of the ratio, for it alone and over all looks. `null` with fewer
    /// than two blocks a side, before the first look, and if the ratio is a bound.
    pub ci95: Option<[f64; 2]>,
    /// Known end of the 95 % interval, if the ratio is a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95_end: Option<f64>,
    /// `faster`, `slower`, `equivalent` or `inconclusive`; `looks_different` if the variants did
    /// not take turns.
    pub verdict: Finding,
    /// True if it answers the question. All others are adjusted for their number.
    #[serde(default)]
    pub primary: bool,
    /// Number of pairs, or of blocks of the smaller side; 0 in runs of earlier versions.
    #[serde(default)]
    pub blocks: usize,
    /// Number of blocks if every trial were usable; 0 in runs of earlier versions. In a study that
    /// ends when it is answered, the number of blocks begun.
    #[serde(default)]
    pub blocks_planned: usize,
    /// Probability of a ratio at least as far from 1, at any look, if nothing differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// The same, adjusted for the number of comparisons. The verdict uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_adjusted: Option<f64>,
    /// Smallest difference, as a share, that four in five such studies would find.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub could_see: Option<f64>,
    /// Number of blocks that would decide at this spread. Absent if more blocks would not help.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_to_settle: Option<usize>,
    /// Standard deviation between runs, as a share, that the interval allows for. Absent if the two
    /// sides took turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between_runs: Option<f64>,
    /// Looks at it while its blocks came. Absent if there was only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<LooksRecord>,
    /// Ratio without the influence of a block that differs. Absent if no block does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robust: Option<RobustRecord>,
}

/// All blocks of one variant at one point, merged.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PointRecord {
    /// Name of the variant.
    pub variant: VariantName,
    /// Load of the point.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// Worst verdict of the used trials.
    pub verdict: Verdict,
    /// True if the target could not keep up with the offered rate.
    #[serde(default)]
    pub saturated: bool,
    /// Number of used trials.
    pub blocks: usize,
    /// Numbers of the used trials. Empty in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<usize>,
    /// Number of trials that are not used.
    pub left_out: usize,
    /// Throughput: arithmetic mean over the blocks, op/s.
    pub ops_per_s: f64,
    /// 95 % confidence interval of the throughput: of one block its window's, of three or more from
    /// the spread between them. `null` for two blocks.
    #[serde(default)]
    pub ops_per_s_ci95: Option<[f64; 2]>,
    /// Throughput of each block, op/s.
    pub ops_per_s_blocks: Vec<f64>,
    /// True if a window is too short for its interval: see [`TrialFinding::short_window`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short_window: bool,
    /// True if the interval is that of one window, and rests on few incidents.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub few_incidents: bool,
    /// Latency of all operations of all blocks together; never a mean of percentiles.
    pub latency_ms: QuantilesRecord,
    /// Costs of the operations for the target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<CostRecord>,
}

measure::word_enum! {
    /// Reason why a sweep has no knee.
    pub enum WithoutKnee {
        /// Throughput grew to the end.
        Growing = "growing",
        /// The load grows by too little, or the noise is too large.
        Untold = "untold",
    }
}

/// Sweep of one variant.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SweepRecord {
    /// Name of the variant.
    pub variant: VariantName,
    /// Point with the highest throughput, among those that kept up if any did.
    pub best: Option<Point>,
    /// Point with the highest throughput and p99 within the bound. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_within_bound: Option<Point>,
    /// Point with the highest throughput whose p99 is only a lower bound, so that it may exceed the
    /// bound. Absent unless its throughput is above that of `best_within_bound`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untold_within_bound: Option<Point>,
    /// First saturated rate, if all higher rates are also saturated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturated_from: Option<Point>,
    /// Last point before more load brings only more latency. `null` if there is none.
    pub knee: Option<Point>,
    /// Reason for no knee: `growing` (throughput grew to the end) or `untold`.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub without_knee: Option<WithoutKnee>,
}

/// Expected number of false findings of several comparisons if nothing differed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MultiplicityRecord {
    /// Number of comparisons that could have called a difference.
    pub comparisons: usize,
    /// Number of primary comparisons among them.
    pub primary: usize,
    /// Expected number if each comparison were judged by itself.
    pub false_findings_one_by_one: f64,
    /// Upper bound of the expected number as they are judged.
    pub false_findings_expected: f64,
}

/// A fault and its effects.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FaultRecord {
    /// Kind of the fault: `node-stop`, ….
    pub kind: String,
    /// `confirmed`, `mismatch` or `inconclusive`.
    pub verdict: FaultVerdict,
    /// Observations of the fault, in words.
    pub evidence: String,
    /// Number of the trial. Absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<usize>,
    /// Its number in the study's list, from 0. Absent if it was not injected, and in runs of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<usize>,
    /// Target: the name of a node or host, two sides of a network, or all nodes. Absent in runs of
    /// earlier versions.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub place: Option<String>,
    /// Time of the injection, s since the trial's start line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injected_s: Option<f64>,
    /// Time at which its effect was seen, s since the trial's start line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_s: Option<f64>,
    /// Time at which healing began, s since the trial's start line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub healing_s: Option<f64>,
    /// Time at which its target was seen whole again, s since the trial's start line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_s: Option<f64>,
    /// Time from the injection until clients could notice it, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detect_s: Option<f64>,
    /// Share of the throughput that was lost in the worst interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dip: Option<f64>,
    /// Time from the healing until throughput was normal, s; from the injection without a healing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recover_s: Option<f64>,
    /// All measurements of its effects. Absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryRecord>,
}

impl FaultRecord {
    /// Returns its name: `node-kill of node2`.
    pub fn name(&self) -> String {
        match &self.place {
            None => self.kind.clone(),
            Some(place) => format!("{} of {place}", self.kind),
        }
    }
}

/// `faults.ndjson`: one step of a fault.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FaultStepRecord {
    /// Time of the step, s since the trial's start line.
    pub t_s: f64,
    /// Number of the fault in the study's list, from 0.
    pub fault: usize,
    /// Kind of the fault, as in the study: `node-pause`.
    pub kind: String,
    /// Target: the name of a node or host, two sides of a network, or all nodes.
    pub place: String,
    /// `waiting`, `checked`, `injecting`, `acted`, `not-acted`, `back`, `seen`, `unseen`,
    /// `healing`, `whole`, `not-whole` or `restarted`; of tasks `done`, `failed` or `unfinished`.
    pub step: FaultStep,
    /// Observation, in words.
    pub said: String,
}
