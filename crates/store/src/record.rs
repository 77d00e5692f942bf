//! Records in the files of a run. Every format has a number; fields are added, never renamed.
//!
//! These types have the form of the files. The rest of the program uses separate types and converts
//! them, so that old runs stay readable while the code changes. Names of durations contain the
//! unit.
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
pub use crate::profile_findings::{
    CallTreeRecord, FrameDifferenceRecord, ProfileDifferenceRecord, ProfileUnit,
    ProfilerCostRecord, ProfilesRecord, VariantProfileRecord, frame_label,
};
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
    /// Name of the study. It is the name of a folder, and cassay checks it when it reads the plan.
    #[serde(deserialize_with = "crate::name::study")]
    pub study: String,
    /// Question of the study, in the user's words.
    pub question: String,
    /// Seed of all random decisions in the run.
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
    /// Study with every default filled in, for resuming the run and for the report.
    pub resolved: ResolvedRecord,
}

/// Expected time, disk space and memory of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EstimateRecord {
    /// Wall time in seconds if every trial runs.
    pub seconds: f64,
    /// Disk space for the target's data, bytes; 0 for an attached cluster or the null target.
    pub disk_bytes: u64,
    /// Memory for the target, bytes.
    pub memory_bytes: u64,
    /// Trials that always run, regardless of the results. Absent if all trials do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<MinimumPlanRecord>,
}

/// Part of a run that does not depend on its results.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MinimumPlanRecord {
    /// Number of trials.
    pub trials: usize,
    /// Wall time of this part, s.
    pub seconds: f64,
}

/// `trials/NN-slug/trial.json`: one configuration, measured once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Format number of the record: 1.
    pub format: u32,
    /// Number of the trial, starting at 0.
    pub index: usize,
    /// Name of the trial's folder under `trials/`, such as `00-writes-threads-4`. cassay checks it.
    #[serde(deserialize_with = "crate::name::slug")]
    pub slug: String,
    /// Name of the variant.
    pub variant: VariantName,
    /// Load: `{"threads": 28}` or `{"rate": 10000}`; `{}` in a plan if results decide it.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// Purpose of the trial. Absent for a probe, which is the most common purpose.
    #[serde(default, skip_serializing_if = "Role::is_probe")]
    pub role: Role,
    /// Number of the block (repetition), starting at 0.
    pub block: usize,
    /// Phases of the trial, in order.
    pub phases: Vec<PhaseRecord>,
    /// Settings of the trial, with every default filled in.
    pub settings: serde_json::Value,
}

/// One planned phase of a trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PhaseRecord {
    /// Name of the phase: `target`, `schema`, `load`, `settle`, `snapshot`, `restart`, `restore`,
    /// `warmup`, `measure` or `verify`.
    pub name: String,
    /// Description of the work in the phase.
    pub what: String,
    /// Expected length of the phase, s.
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
    /// Phase of the interval: `load`, `warmup`, `measure`, `drain` or `verify`.
    pub phase: String,
    /// Kind of operation, or `client`.
    pub kind: String,
    /// Number of operations that succeeded. Like all figures of the line, it covers the operations
    /// that ended in the interval, whenever they were due.
    #[serde(default)]
    pub ok: u64,
    /// Number of operations that failed, by outcome.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// Latency since the intended start, ms. Absent if no operation succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<QuantilesRecord>,
    /// Service time since the send, ms. Absent if no operation succeeded.
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
    /// Figures of the client itself. Only the line of kind `client` has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientIntervalRecord>,
    /// Number of intervals that the line of an overview joins. Absent (0) in `intervals.ndjson`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub joined: u64,
}

/// Returns true for zero, which is not written, because there is one line per second and kind.
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Figures of the client itself in one interval.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClientIntervalRecord {
    /// CPU time of the workers per operation that ended, µs.
    pub cpu_us_per_op: f64,
    /// CPU time of the workers, as a share of one core.
    pub cpu_share: f64,
    /// Median of the release lag, µs.
    pub lag_us_p50: f64,
    /// p99 of the release lag, µs.
    pub lag_us_p99: f64,
    /// Counters of operations before they were sent, and counters of connections, by name.
    #[serde(flatten, serialize_with = "crate::counts::serialize_client")]
    pub counts: ClientCounts,
    /// p99 of the delay of timers on the client's cores, ms. Absent if it was not measured.
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
    /// Longest wait of a worker for a response, ms. It counts in the interval in which it ended.
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
    /// Node or host that was sampled; empty for the client.
    #[serde(default)]
    pub place: String,
    /// Unit of the value.
    pub unit: String,
    /// Value of the sample, in its unit.
    pub value: f64,
}

/// `findings.json`: the results of a run, for other programs. Format 1.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FindingsRecord {
    /// Format number of the record: 1.
    pub format: u32,
    /// Name of the study.
    pub study: String,
    /// Verdict on the run: `valid`, `suspect` or `invalid`. It is the worst verdict of the trials,
    /// except those in which a search exceeded its result. A run that stopped early is `invalid`.
    pub verdict: Verdict,
    /// Reasons for the verdict, one sentence each. Empty if the run is valid.
    pub reasons: Vec<String>,
    /// Reasons for the verdict as data, in the order of the sentences. Empty in older runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reason_records: Vec<ReasonRecord>,
    /// Answer to the question of the study, one sentence each.
    #[serde(default)]
    pub answer: Vec<String>,
    /// First sentences of the answer if verified data was lost or wrong, or a requirement missed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<String>,
    /// Causes of imprecision that several trials show. Each cause comes before its consequences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<CauseRecord>,
    /// Full resources at each knee, peak, difference, fault and drift.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitRecord>,
    /// Proposed next run. Absent if the run answers the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<NextStepRecord>,
    /// One entry per finished trial.
    pub trials: Vec<TrialFinding>,
    /// Merged blocks of each variant at each point, without invalid trials. A point that has only
    /// invalid trials merges these, and its verdict is `invalid`.
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
    /// Comparisons of costs. They are not part of `comparisons`, nor of their adjustment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cost_comparisons: Vec<CostComparisonRecord>,
    /// Throughput of variants in relation to its price.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<PriceRecord>,
    /// Number of nodes that the requested capacity needs, by variant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capacities: Vec<CapacityRecord>,
    /// Results of a screening, which show the settings that have an effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub screens: Vec<ScreenRecord>,
    /// Curve through the points of each variant.
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
    /// Comparisons of trials with a fault with trials without faults, if the study requests them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_faults: Vec<WithoutFaultsRecord>,
    /// CPU profiles of the variants, and the frames in which they differ. Absent without profiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profiles: Option<ProfilesRecord>,
    /// Published figures next to the measured figures. Absent if the study names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedRecord>,
    /// Requirements of the study, with their outcomes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<RequirementRecord>,
    /// Tables that cassay created and left on clusters that it did not start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remains: Vec<RemainsRecord>,
    /// Use of the run's wall time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_use: Option<TimeUseRecord>,
}

/// `trials/NN-slug/finding.json`: the trial's entry of `findings.json`. It is written when the
/// trial ends, so that an interrupted run has it too. Readers read it as the entry and a
/// `FileDigestRecord`.
#[derive(Clone, Debug, Serialize)]
pub struct TrialFindingRecord {
    /// Format number of the record: 1.
    pub format: u32,
    /// Entry of the trial in `findings.json`.
    #[serde(flatten)]
    pub finding: TrialFinding,
    /// Checksums of the trial's other files, by path in the trial's folder. Empty in runs of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Sums::is_empty")]
    pub files: Sums,
}

/// `findings.json` in the form in which it is written: the findings, the version that wrote them,
/// and the checksums of the files that they are based on.
// Readers read the file as `FindingsRecord` and a `FileDigestRecord`.
#[derive(Clone, Debug, Serialize)]
pub struct FindingsFileRecord {
    /// The findings.
    #[serde(flatten)]
    pub findings: FindingsRecord,
    /// Version of cassay that wrote the file. Empty in runs of earlier versions.
    #[serde(default)]
    pub cassay: String,
    /// Checksums of the run's complete files, by path in the run's folder. Empty in runs of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Sums::is_empty")]
    pub files: Sums,
}

/// Version and checksums in the findings file of a trial or a run. They are read separately. With a
/// flattened field, serde would generate all readers of findings twice, which adds half a megabyte
/// to the program.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct FileDigestRecord {
    /// Version of cassay that wrote the file. Empty in runs of earlier versions.
    pub cassay: String,
    /// Checksums by path in the folder of the findings file. Empty in runs of earlier versions.
    pub files: Sums,
}

/// Findings of one trial.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TrialFinding {
    /// Number of the trial.
    pub index: usize,
    /// Start line of the trial, ns since 1970. Seconds in the trial's records count from this time.
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
    /// Number of the block (repetition), starting at 0.
    #[serde(default)]
    pub block: usize,
    /// Name of the measured phase, which is `measure`.
    pub phase: String,
    /// Verdict on the trial: `valid`, `suspect` or `invalid`.
    pub verdict: Verdict,
    /// Reasons for the verdict, one sentence each.
    pub reasons: Vec<String>,
    /// Reasons for the verdict as data, in the order of the sentences. Empty in older runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reason_records: Vec<ReasonRecord>,
    /// Results of the validity rules, with their numbers.
    #[serde(default)]
    pub rules: Vec<RuleRecord>,
    /// Length of the measured window, s.
    pub seconds: f64,
    /// True if the window is shorter than 30 s, so that its 95 % intervals contain the true value
    /// less often.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short_window: bool,
    /// Operations that ended per second in the second half of the window, including failures. It
    /// does not count operations in flight when the window began. Absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later_ended_per_s: Option<f64>,
    /// Change of throughput over the window, as a share. Absent if it is small or may be due to
    /// chance, and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<f64>,
    /// Throughput of the best second of the window, op/s. Absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_ops_per_s: Option<f64>,
    /// Number of operations that ended in the measured window, whatever their outcome.
    pub ops_total: u64,
    /// Failed operations that were due in the measured window, by outcome.
    pub errors: BTreeMap<String, u64>,
    /// Number of operations due in the measured window but sent only after it (open loop).
    #[serde(default)]
    pub sent_in_drain: u64,
    /// Number of operations that were due in the measured window but not sent before the drain
    /// stopped sending.
    pub due_never_sent: u64,
    /// Number of operations sent more than 1 ms late, in the window and its drain.
    #[serde(default)]
    pub late: u64,
    /// Number of operations given up before they were sent, in the window and its drain.
    #[serde(default)]
    pub dropped: u64,
    /// Warm-up before the window, with its length and the reason for its end.
    #[serde(default)]
    pub warmup: WarmupRecord,
    /// Figures of all kinds of operations together.
    pub all: SeriesRecord,
    /// Figures by kind of operation.
    pub kinds: BTreeMap<String, SeriesRecord>,
    /// Kinds that are parts of other kinds' operations, so that sums over kinds leave them out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// Counters besides outcomes and times, by kind, in the window and its drain. Kinds without
    /// such counters are omitted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, KindCounts>,
    /// Figures of the client itself.
    pub client: ClientRecord,
    /// Figures of each client if there are several. Empty if one process offered the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<ClientEndRecord>,
    /// Part of the machine on which nodes started by cassay ran. Absent if they used all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartRecord>,
    /// Use of the machine that the client runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineRecord>,
    /// Costs of the operations for the target. Unknown costs are absent.
    #[serde(default, skip_serializing_if = "Costs::is_empty")]
    pub costs: Costs,
    /// Resources of the target and the client, in the window and in parts of it with a fault or a
    /// drift. Empty for the null target, and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<TrialLimitsRecord>,
    /// Results of verified reads.
    pub verify: VerifyRecord,
    /// Results of reading all rows back. Absent if the trial did not read all rows back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_back: Option<ReadBackRecord>,
    /// Judgement of the histories of registers. Absent if the workload has no registers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registers: Option<RegistersRecord>,
    /// Operation counts of the servers. Absent if they could not be compared with the client's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerCountsRecord>,
    /// Compactions pending on all nodes at the end of the window. Absent if no probe read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_compactions: Option<f64>,
    /// Load phase. Absent if the trial loaded no data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadRecord>,
    /// Number of the start of the run that loaded the trial's data, from 1. A resumed run loads the
    /// data again. Absent if no data outlives a trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// Snapshot that the trial began with. Absent if it restored none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataRecord>,
    /// Number of SSTables of the workload's tables at the end, by format version (`oa`). Empty for
    /// attached nodes, if unreadable, and in runs of earlier versions.
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
    /// Length of the warm-up, s.
    pub seconds: f64,
    /// End of the warm-up: `fixed` (its length was given), `detected` (a steady state was
    /// detected), `forced` (the time limit was reached first) or `warming` (the load ended first).
    #[serde(deserialize_with = "measure::word_or_default")]
    pub steady: WarmupEnd,
}

measure::word_enum! {
    /// Reason for the end of a warm-up.
    #[derive(Default)]
    pub enum WarmupEnd {
        /// The warm-up lasted as long as the study requires.
        #[default]
        Fixed = "fixed",
        /// cassay detected a steady state.
        Detected = "detected",
        /// The time limit was reached first.
        Forced = "forced",
        /// The load ended first.
        Warming = "warming",
    }
}

/// Throughput and latency of one kind of operation, or of all kinds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SeriesRecord {
    /// Number of operations that succeeded within the measured window, whenever they were due.
    pub ops: u64,
    /// Throughput: `ops` per second.
    pub ops_per_s: f64,
    /// 95 % confidence interval of the throughput, from batch means. `null` with too few seconds.
    #[serde(default)]
    pub ops_per_s_ci95: Option<[f64; 2]>,
    /// True if the interval of the throughput depends on one to four incidents, which are periods
    /// that stand out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub few_incidents: bool,
    /// Latency since the intended start, of the operations that were due in the measured window. It
    /// covers successes, and lower bounds of operations that the client stopped following.
    pub latency_ms: QuantilesRecord,
    /// Service time since the send, of the operations due in the measured window that were sent.
    pub service_ms: QuantilesRecord,
    /// Latency since the intended start, of failed operations that were due in the measured window.
    #[serde(default)]
    pub error_ms: QuantilesRecord,
}

/// Figures of the client itself in one trial.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClientRecord {
    /// CPU time of the workers (user and system) per operation, µs.
    pub cpu_us_per_op: f64,
    /// CPU time of the workers, as a share of the time of their cores.
    #[serde(default)]
    pub cpu_share: f64,
    /// Release lag, µs; 0 in a closed loop.
    pub lag_us: LagRecord,
    /// Ceiling: throughput of the same program on the null target on this machine, op/s. It is the
    /// lowest of `ceilings_ops_per_s`.
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
    /// Time in which workers were runnable but had no CPU, as a share of the time of their cores.
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

/// Use of the machine on which the client runs, as means over the window. Shares are of 1.
/// Unreadable values are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineRecord {
    /// Number of CPUs that the client may use. Shares of CPU time are relative to these CPUs.
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
    /// Time in which the busiest disk worked for programs other than the nodes and the client.
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

/// Results of verified reads, whose responses were compared with values generated again from the
/// seed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct VerifyRecord {
    /// Number of rows that were compared.
    pub checked: u64,
    /// Number of rows that are missing although they must exist.
    pub missing: u64,
    /// Number of missing rows whose write was acknowledged.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// Number of missing rows whose write was never acknowledged. They are not errors.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub never_written: u64,
    /// Number of rows with an old value that should have been overwritten.
    pub stale: u64,
    /// Number of right rows that an operation later than the first one wrote. They are not errors.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overwritten: u64,
    /// Number of rows with a value that was never written.
    pub wrong: u64,
    /// Number of rows that exist again after they were deleted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resurrected: u64,
    /// Number of rows that do not exist because they were deleted. They are not errors.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub deleted: u64,
    /// Number of right rows without an acknowledged write. They are not errors.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unconfirmed: u64,
    /// First rows found missing, stale, resurrected or wrong; at most 10 rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed_rows: Vec<MissedRowRecord>,
}

/// Operation counts of the servers over the whole trial, next to the client's counts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ServerCountsRecord {
    /// Source of the counts, for example `system_views.coordinator_write_latency`.
    pub source: String,
    /// Number of writes that the servers coordinated.
    pub writes: u64,
    /// Number of reads that the servers coordinated.
    pub reads: u64,
    /// Number of writes that succeeded for the client, in all phases of the trial.
    pub client_writes: u64,
    /// Number of reads that succeeded for the client, in all phases of the trial.
    pub client_reads: u64,
}

/// The load phase of a trial.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LoadRecord {
    /// Number of rows written.
    pub operations: u64,
    /// Length of the load, s.
    pub seconds: f64,
    /// Failed operations, by outcome. Always empty, because a load with failures ends its trial.
    pub errors: BTreeMap<String, u64>,
    /// Number of retries.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u64,
    /// End of settling: `settled`, `stalled`, `timeout`, `skipped` or `unknown`.
    #[serde(deserialize_with = "measure::word_or_default")]
    pub settle: SettleEnd,
    /// Duration of settling, s.
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
        /// The time limit was reached first.
        Timeout = "timeout",
        /// There was no wait: the study requests none, or the target cannot report compactions.
        Skipped = "skipped",
        /// The target did not report its pending compactions.
        #[default]
        Unknown = "unknown",
    }
}

/// Name of the metric of search results.
pub const PEAK: &str = "peak";

/// A comparison of two variants.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ComparisonRecord {
    /// Metric: `ops_per_s`, `latency_ms.p99`, …; `peak` for the results of searches.
    pub metric: String,
    /// Load of both variants; `{}` for a `peak`.
    #[serde(default, with = "crate::point")]
    pub point: Option<Point>,
    /// Name of the baseline variant.
    pub baseline: VariantName,
    /// Name of the contender variant.
    pub contender: VariantName,
    /// Contender ÷ baseline (ratio of geometric means over blocks).
    pub ratio: f64,
    /// Direction of the bound, `at_least` or `at_most`, if values of one side are lower bounds.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub bound: Option<Bound>,
    /// 95 % confidence interval of the ratio over all looks, without adjustment for other
    /// comparisons. `null` with fewer than two blocks a side, before the first look, and if the
    /// ratio is a bound.
    pub ci95: Option<[f64; 2]>,
    /// Known end of the 95 % interval, if the ratio is only a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95_end: Option<f64>,
    /// Finding: `faster`, `slower`, `equivalent` or `inconclusive`; `looks_different` if the
    /// variants were not interleaved.
    pub verdict: Finding,
    /// True if this comparison answers the question. All others are adjusted for their number.
    #[serde(default)]
    pub primary: bool,
    /// Number of pairs, or number of blocks of the smaller side; 0 in runs of earlier versions.
    #[serde(default)]
    pub blocks: usize,
    /// Number of blocks if every trial had been usable; 0 in runs of earlier versions. In a study
    /// that ends with its answer, the number of blocks that were begun.
    #[serde(default)]
    pub blocks_planned: usize,
    /// Probability of a ratio at least as far from 1, at any look, if the variants are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// The probability `p`, adjusted for the number of comparisons. The verdict uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_adjusted: Option<f64>,
    /// Smallest difference, as a share, that four in five such studies would detect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub could_see: Option<f64>,
    /// Number of blocks that would decide at this scatter. Absent if more blocks would not help.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_to_settle: Option<usize>,
    /// Assumed standard deviation between runs, as a share. Absent if the variants were
    /// interleaved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between_runs: Option<f64>,
    /// Looks at the comparison while its blocks were measured. Absent if there was only one look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<LooksRecord>,
    /// Ratio without the influence of one block that differs. Absent if no block differs.
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
    /// Worst verdict of the trials that are used.
    pub verdict: Verdict,
    /// True if the target could not keep up with the offered rate.
    #[serde(default)]
    pub saturated: bool,
    /// Number of trials that are used.
    pub blocks: usize,
    /// Numbers of the trials that are used. Empty in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<usize>,
    /// Number of trials that are not used.
    pub left_out: usize,
    /// Throughput: arithmetic mean over the blocks, op/s.
    pub ops_per_s: f64,
    /// 95 % confidence interval of the throughput. With one block it is that of the window, with
    /// three or more it comes from the spread between them. `null` for two blocks.
    #[serde(default)]
    pub ops_per_s_ci95: Option<[f64; 2]>,
    /// Throughput of each block, op/s.
    pub ops_per_s_blocks: Vec<f64>,
    /// True if a window is too short for its interval. See [`TrialFinding::short_window`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short_window: bool,
    /// True if the interval is that of one window, and depends on few incidents.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub few_incidents: bool,
    /// Latency of all operations of all blocks, merged. It is never a mean of percentiles.
    pub latency_ms: QuantilesRecord,
    /// Costs of the operations for the target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<CostRecord>,
}

measure::word_enum! {
    /// Reason why a sweep has no knee.
    pub enum WithoutKnee {
        /// Throughput grew up to the last point.
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
    /// Point with the highest throughput. Saturated points count only if no point kept up.
    pub best: Option<Point>,
    /// Point with the highest throughput whose p99 is within the bound. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_within_bound: Option<Point>,
    /// Point with the highest throughput whose p99 is only a lower bound and may exceed the bound.
    /// Absent unless its throughput is above that of `best_within_bound`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untold_within_bound: Option<Point>,
    /// First saturated rate, if all higher rates are also saturated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturated_from: Option<Point>,
    /// Last point before more load increases only latency. `null` if there is none.
    pub knee: Option<Point>,
    /// Reason why there is no knee: `growing` (throughput grew to the end) or `untold`.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub without_knee: Option<WithoutKnee>,
}

/// Expected number of false findings of several comparisons if the variants did not differ.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MultiplicityRecord {
    /// Number of comparisons that could have found a difference.
    pub comparisons: usize,
    /// Number of primary comparisons among those that could have found a difference.
    pub primary: usize,
    /// Expected number if each comparison were judged alone.
    pub false_findings_one_by_one: f64,
    /// Upper bound of the expected number with the adjustment that was used.
    pub false_findings_expected: f64,
}

/// A fault and its effects.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FaultRecord {
    /// Kind of the fault, such as `node-stop`.
    pub kind: String,
    /// Result of observing the fault: `confirmed`, `mismatch` or `inconclusive`.
    pub verdict: FaultVerdict,
    /// Observations of the fault, in words.
    pub evidence: String,
    /// Number of the trial in which the fault was injected. Absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<usize>,
    /// Number of the fault in the study's list, starting at 0. Absent if it was not injected, and
    /// in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<usize>,
    /// Target of the fault: the name of a node or host, two sides of a network, or all nodes.
    /// Absent in runs of earlier versions.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub place: Option<String>,
    /// Time of the injection, s since the trial's start line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injected_s: Option<f64>,
    /// Time at which cassay observed the effect of the fault, s since the trial's start line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_s: Option<f64>,
    /// Time at which healing began, s since the trial's start line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub healing_s: Option<f64>,
    /// Time at which cassay observed the target whole again, s since the trial's start line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_s: Option<f64>,
    /// Time from the injection until clients could notice the fault, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detect_s: Option<f64>,
    /// Share of the throughput that was lost in the worst interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dip: Option<f64>,
    /// Time from the healing until throughput was normal, s. If the fault was not healed, the time
    /// counts from the injection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recover_s: Option<f64>,
    /// All measured effects of the fault. Absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryRecord>,
}

impl FaultRecord {
    /// Returns the name of the fault, such as `node-kill of node2`.
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
    /// Number of the fault in the study's list, starting at 0.
    pub fault: usize,
    /// Kind of the fault, as in the study, such as `node-pause`.
    pub kind: String,
    /// Target of the fault: the name of a node or host, two sides of a network, or all nodes.
    pub place: String,
    /// Step: `waiting`, `checked`, `injecting`, `acted`, `not-acted`, `back`, `seen`, `unseen`,
    /// `healing`, `whole`, `not-whole` or `restarted`; for tasks, `done`, `failed` or `unfinished`.
    pub step: FaultStep,
    /// Observation, in words.
    pub said: String,
}
