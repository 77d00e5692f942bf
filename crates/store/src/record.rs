//! Records in the files of a run. Every format has a number. Later versions add fields, but never
//! rename them.
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
pub use crate::back_to_normal::{
    Aftermath, NotMeasured, SeriesEnd, p99_ratio, p99_words, since, unknown_effect,
};
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
    ChangedSettingRecord, EXPERIMENTS_FOLDER, ExperimentOutcome, ExperimentRecord,
    LimitCandidateRecord, LimitEvent, LimitReadingRecord, LimitRecord, LimitSpan, NodeCpuRecord,
    TrialLimitsRecord, limit_name, limit_value,
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
    CallTreeRecord, FrameDifferenceRecord, PROFILES_FOLDER, ProfileDifferenceRecord, ProfileUnit,
    ProfilerCostRecord, ProfilesRecord, VariantProfileRecord, frame_label,
};
pub use crate::published::{
    PublishedFailureRecord, PublishedFigureRecord, PublishedRatioRecord, PublishedRecord,
};
pub use crate::quantiles::QuantilesRecord;
pub use crate::reason_words::{DRIFTED, NOT_STEADY, short_words};
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
pub use crate::slowest_operations::SlowOperationRecord;
pub use crate::tables_left::RemainsRecord;
pub use crate::tail::{TailEventKind, TailEventsRecord, TailRecord};
pub use crate::time_use::{StepTimeRecord, TimeUseRecord};
pub use crate::tuning::{
    TUNING_FOLDER, TunedSettingRecord, TuningOutcome, TuningRecord, TuningResultRecord,
    TuningTestRecord, tuned_names,
};
pub use analysis::VariantName;
pub use analysis::compare::{Bound, Finding};
pub use analysis::durability::PromiseKind;
pub use analysis::procedure::{Point, Role, SearchOutcome, SearchProcedure, SearchResult};
pub use analysis::recovery::{FaultStep, FaultVerdict};
pub use analysis::requirements::{RequiredMetric, RequirementResult as RequirementOutcome};
pub use analysis::rules::{
    Quantity, RuleOutcome, Verdict, names as rule_names, title as rule_title,
};
pub use analysis::scale_up::{EfficiencyOf, SaturatedResource};
use measure::{ClientCounts, KindCounts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Format number of every record in this file.
pub const FORMAT: u32 = 1;

/// `plan.json`: the resolved study, which cassay writes before anything starts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanRecord {
    /// Format number of the record: 1.
    pub format: u32,
    /// Version of cassay that wrote the plan.
    pub cassay: String,
    /// Name of the study and of its folder. cassay checks the name when it reads the plan.
    #[serde(deserialize_with = "crate::name::study")]
    pub study: String,
    /// Question of the study, in the user's words.
    pub question: String,
    /// Seed of all random decisions in the run.
    pub seed: u64,
    /// Name of the requested scale. Absent if the user did not request a scale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<String>,
    /// Command that repeats this run.
    pub rerun: String,
    /// Expected time, disk space and memory of the run.
    pub estimate: EstimateRecord,
    /// All planned trials, in the order in which they run.
    pub trials: Vec<TrialRecord>,
    /// Study with every default filled in. `resume` and the report use it.
    pub resolved: ResolvedRecord,
}

/// Expected time, disk space and memory of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EstimateRecord {
    /// Wall time in seconds if every trial runs.
    pub seconds: f64,
    /// Disk space for the target's data, bytes. 0 for an attached cluster or the null target.
    pub disk_bytes: u64,
    /// Memory for the target, bytes.
    pub memory_bytes: u64,
    /// Trials that always run, regardless of the results. Absent if all trials always run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<MinimumPlanRecord>,
}

/// Part of a plan that always runs, regardless of the results.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MinimumPlanRecord {
    /// Number of trials that always run.
    pub trials: usize,
    /// Wall time of this part of the plan, s.
    pub seconds: f64,
}

/// `trials/NN-slug/trial.json`: one configuration, measured once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Format number of the record: 1.
    pub format: u32,
    /// Number of the trial, starting at 0.
    pub index: usize,
    /// Name of the trial's folder under `trials/`, such as `00-writes-threads-4`. cassay checks the
    /// name when it reads the record.
    #[serde(deserialize_with = "crate::name::slug")]
    pub slug: String,
    /// Name of the variant.
    pub variant: VariantName,
    /// Load of the trial: `{"threads": 28}` or `{"rate": 10000}`. In a plan, it is `{}` if earlier
    /// results determine the load.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// Purpose of the trial. Absent for the most common purpose, which is a probe.
    #[serde(default, skip_serializing_if = "Role::is_probe")]
    pub role: Role,
    /// Number of the block (repetition), starting at 0.
    pub block: usize,
    /// Planned phases of the trial, in order.
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

/// One line of `intervals.ndjson`, which describes one kind of operation in one interval. The line
/// of kind `client` contains the client's own figures instead.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct IntervalRecord {
    /// Start of the interval, s since the trial's start line.
    pub t_s: f64,
    /// Length of the interval, s.
    pub seconds: f64,
    /// Phase of the trial that the interval belongs to: `load`, `warmup`, `measure`, `drain` or
    /// `verify`.
    pub phase: String,
    /// Kind of operation, or `client`.
    pub kind: String,
    /// Number of operations that succeeded. All figures of the line are about operations that ended
    /// in the interval, even if they were due in an earlier interval.
    #[serde(default)]
    pub ok: u64,
    /// Number of operations that failed, by outcome.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// Latency from the intended start of operations, ms. Absent if no operation succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<QuantilesRecord>,
    /// Service time from the send of operations, ms. Absent if no operation succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_ms: Option<QuantilesRecord>,
    /// Latency of failed operations, ms. Absent if no operation failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_ms: Option<QuantilesRecord>,
    /// Counters other than outcomes and times, by name. Zeros are omitted.
    #[serde(flatten, serialize_with = "crate::counts::serialize_kind")]
    pub counts: KindCounts,
    /// Results of verified reads. Absent if no read was verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<VerifyRecord>,
    /// Figures of the client itself. Present only in the line of kind `client`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientIntervalRecord>,
    /// Number of intervals that a line of an overview combines. Absent (0) in `intervals.ndjson`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub joined: u64,
}

/// Returns true if the count is zero. To keep files small, zeros are not written, because a file
/// has one line for each second and kind.
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
    /// Median of the release lag (p50), µs.
    pub lag_us_p50: f64,
    /// 99th percentile of the release lag, µs.
    pub lag_us_p99: f64,
    /// Counters of connections and of operations that were not yet sent, by name.
    #[serde(flatten, serialize_with = "crate::counts::serialize_client")]
    pub counts: ClientCounts,
    /// 99th percentile of the delay of timers on the client's cores, ms. Absent if these delays
    /// were not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hiccup_ms_p99: Option<f64>,
    /// Largest delay of a timer on the client's cores, ms. Absent if these delays were not
    /// measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hiccup_ms_max: Option<f64>,
    /// Time that the client spent in stalls (timers at least 10 ms late), ms.
    #[serde(default)]
    pub stalled_ms: f64,
    /// Time in which workers were runnable but had no CPU, as a share of one core. Absent if the
    /// kernel does not measure this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_share: Option<f64>,
    /// Longest wait of a worker for a response, ms. A wait belongs to the interval in which it
    /// ended.
    #[serde(default)]
    pub quiet_ms: f64,
}

/// A line of `probes/*.ndjson`, which is one sample of a probe.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SampleRecord {
    /// Time of the sample, s since the trial's start line.
    pub t_s: f64,
    /// Name of the series, for example `cassandra.compactions_pending`.
    pub name: String,
    /// Node or host that the probe sampled. Empty for the client.
    #[serde(default)]
    pub place: String,
    /// Unit of the value.
    pub unit: String,
    /// Value of the sample, in `unit`.
    pub value: f64,
}

/// `findings.json`: the results of a run, in a form for other programs. The format number is 1.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FindingsRecord {
    /// Format number of the record: 1.
    pub format: u32,
    /// Name of the study.
    pub study: String,
    /// Verdict on the run: `valid`, `suspect` or `invalid`. It is the worst verdict of the trials,
    /// without trials of a search at loads above its result. A run that stopped early is `invalid`.
    pub verdict: Verdict,
    /// Reasons for the verdict. Each reason is one sentence. Empty if the run is valid.
    pub reasons: Vec<String>,
    /// Reasons for the verdict as data, in the order of the sentences in `reasons`. Empty in older
    /// runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reason_records: Vec<ReasonRecord>,
    /// Sentences that answer the question of the study.
    #[serde(default)]
    pub answer: Vec<String>,
    /// First sentences of the answer, if verified data was lost or wrong, or if the run missed a
    /// requirement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<String>,
    /// Causes of imprecision that several trials show. A cause comes before its consequences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<CauseRecord>,
    /// Resources that were full at each knee, peak, difference, fault and drift.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitRecord>,
    /// Events that explain the slowest operations of each usable trial. Empty in runs of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tails: Vec<TailRecord>,
    /// Proposed next run. Absent if this run answers the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<NextStepRecord>,
    /// Findings of the finished trials, with one entry for each trial.
    pub trials: Vec<TrialFinding>,
    /// Results of each variant at each point, merged over its blocks. Invalid trials are left out.
    /// If a point has only invalid trials, these are merged, and the verdict on the point is
    /// `invalid`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<PointRecord>,
    /// Searches, one for each variant and block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<SearchRecord>,
    /// Comparisons of long trials with shorter trials.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endured: Vec<EnduredRecord>,
    /// Sweep of each variant, which consists of its points in order of load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<SweepRecord>,
    /// Comparisons of variants with their baselines.
    pub comparisons: Vec<ComparisonRecord>,
    /// Expected number of false findings. Absent if fewer than two comparisons have an interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiplicity: Option<MultiplicityRecord>,
    /// Comparisons of costs. They are not in `comparisons`, and the adjustment of `comparisons`
    /// does not include them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cost_comparisons: Vec<CostComparisonRecord>,
    /// Throughput of variants in relation to its price.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<PriceRecord>,
    /// Number of nodes that each variant needs for the requested capacity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capacities: Vec<CapacityRecord>,
    /// Results of a screening, which identifies the settings that have an effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub screens: Vec<ScreenRecord>,
    /// Tuning of the settings of a screening. Absent if the study does not request it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuning: Option<TuningRecord>,
    /// Curve of each variant through its points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<CurveRecord>,
    /// Scale-up of the machine. The list has one record for each arm and load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scale_ups: Vec<ScaleUpRecord>,
    /// Effects of the axes of a matrix. The list has one record for each point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<EffectsRecord>,
    /// Faults and their effects.
    pub faults: Vec<FaultRecord>,
    /// Comparisons of trials with a fault to trials without faults. Present only if the study
    /// requests them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_faults: Vec<WithoutFaultsRecord>,
    /// CPU profiles of the variants, and the frames in which they differ. Absent without profiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profiles: Option<ProfilesRecord>,
    /// Published figures next to the measured figures. Absent if the study does not cite a
    /// publication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedRecord>,
    /// Requirements of the study, each with its outcome.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<RequirementRecord>,
    /// Tables that cassay created but did not drop, on clusters that it did not start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remains: Vec<RemainsRecord>,
    /// Record of how the run used its wall time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_use: Option<TimeUseRecord>,
}

/// `trials/NN-slug/finding.json`: the trial's entry of `findings.json`. cassay writes this file
/// when the trial ends, so that an interrupted run also contains the entry. Readers read the file
/// as a [`TrialFinding`] and a [`FileDigestRecord`].
#[derive(Clone, Debug, Serialize)]
pub struct TrialFindingRecord {
    /// Format number of the record: 1.
    pub format: u32,
    /// Finding of the trial, as in `findings.json`.
    #[serde(flatten)]
    pub finding: TrialFinding,
    /// Checksums of the trial's other files. The keys are paths in the trial's folder. Empty in
    /// runs of earlier versions.
    #[serde(default, skip_serializing_if = "Sums::is_empty")]
    pub files: Sums,
}

/// `findings.json` as cassay writes it: the findings, the version of cassay that wrote them, and
/// the checksums of the files from which they were computed.
// Readers read this file as a `FindingsRecord` and a `FileDigestRecord`.
#[derive(Clone, Debug, Serialize)]
pub struct FindingsFileRecord {
    /// The findings of the run.
    #[serde(flatten)]
    pub findings: FindingsRecord,
    /// Version of cassay that wrote the file. Empty in runs of earlier versions.
    #[serde(default)]
    pub cassay: String,
    /// Checksums of the run's complete files. The keys are paths in the run's folder. Empty in runs
    /// of earlier versions.
    #[serde(default, skip_serializing_if = "Sums::is_empty")]
    pub files: Sums,
}

/// Version and checksums in the findings file of a trial or a run. This record is read separately.
/// If it were a flattened field, serde would generate all readers of findings twice, which would
/// add half a megabyte to the program.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct FileDigestRecord {
    /// Version of cassay that wrote the file. Empty in runs of earlier versions.
    pub cassay: String,
    /// Checksums of files. The keys are paths in the folder of the findings file. Empty in runs of
    /// earlier versions.
    pub files: Sums,
}

/// Findings of one trial.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TrialFinding {
    /// Number of the trial.
    pub index: usize,
    /// Start line of the trial, ns since 1970. The seconds in the trial's records count from this
    /// time.
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
    /// Name of the measured phase. It is always `measure`.
    pub phase: String,
    /// Verdict on the trial: `valid`, `suspect` or `invalid`.
    pub verdict: Verdict,
    /// Reasons for the verdict. Each reason is one sentence.
    pub reasons: Vec<String>,
    /// Reasons for the verdict as data, in the order of the sentences in `reasons`. Empty in older
    /// runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reason_records: Vec<ReasonRecord>,
    /// Results of the validity rules, with their numbers.
    #[serde(default)]
    pub rules: Vec<RuleRecord>,
    /// Length of the measured window, s.
    pub seconds: f64,
    /// True if the window is shorter than 30 s. Then its 95 % confidence intervals contain the true
    /// value in fewer than 95 % of cases.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short_window: bool,
    /// Number of operations that ended per second in the second half of the window, including
    /// failures. Operations that were in flight when the window began are left out. Absent in a
    /// closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later_ended_per_s: Option<f64>,
    /// Change of throughput over the window, as a share. Absent if the change is small or may be
    /// due to chance, and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<f64>,
    /// Throughput of the best second of the window, op/s. Absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_ops_per_s: Option<f64>,
    /// Number of operations that ended in the measured window, regardless of their outcome.
    pub ops_total: u64,
    /// Number of failed operations that were due in the measured window, by outcome.
    pub errors: BTreeMap<String, u64>,
    /// Number of operations of an open loop that were due in the measured window but sent only
    /// after the window.
    #[serde(default)]
    pub sent_in_drain: u64,
    /// Number of operations that were due in the measured window but had not been sent when the
    /// drain stopped sending.
    pub due_never_sent: u64,
    /// Number of operations that were sent more than 1 ms late, in the window and its drain.
    #[serde(default)]
    pub late: u64,
    /// Number of operations that the client gave up before it sent them, in the window and its
    /// drain.
    #[serde(default)]
    pub dropped: u64,
    /// Warm-up before the window.
    #[serde(default)]
    pub warmup: WarmupRecord,
    /// Figures of all kinds of operations together.
    pub all: SeriesRecord,
    /// Figures by kind of operation.
    pub kinds: BTreeMap<String, SeriesRecord>,
    /// Kinds whose operations are parts of other operations. Sums over kinds leave them out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// Counters other than outcomes and times, by kind of operation, for the window and its drain.
    /// Kinds without such counters are omitted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, KindCounts>,
    /// Figures of the client itself.
    pub client: ClientRecord,
    /// Figures of each client, if the run used several clients. Empty if one process generated the
    /// load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<ClientEndRecord>,
    /// Part of the machine on which nodes started by cassay ran. Absent if they used the whole
    /// machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartRecord>,
    /// Use of the machine on which the client runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineRecord>,
    /// Costs of the operations for the target. Unknown costs are absent.
    #[serde(default, skip_serializing_if = "Costs::is_empty")]
    pub costs: Costs,
    /// Resources of the target and the client in the window, and in the parts of the window with a
    /// fault or a drift. Empty for the null target, and in runs of earlier versions.
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
    /// Operation counts of the servers. Absent if cassay could not compare them with the client's
    /// counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerCountsRecord>,
    /// Number of compactions pending on all nodes at the end of the window. Absent if no probe read
    /// pending compactions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_compactions: Option<f64>,
    /// Load phase of the trial. Absent if the trial loaded no data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadRecord>,
    /// Number of the run's start (1 for the first) in which the trial's data was loaded. A resumed
    /// run loads the data again. Absent if the study does not keep data after a trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// Snapshot that the trial began with. Absent if the trial did not restore a snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataRecord>,
    /// Number of SSTables of the workload's tables at the end of the trial, by format version
    /// (`oa`). Empty for attached nodes, if the files could not be read, and in runs of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sstable_formats: BTreeMap<String, u64>,
    /// Records that are missing from the trial. Empty in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<GapRecord>,
    /// Phases with their actual times, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseTimeRecord>,
    /// Probes that ran, each with its cost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbeRecord>,
    /// Faults of the trial and their effects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultRecord>,
    /// Findings about a window of several hours. Absent if the procedure is not `endurance`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endurance: Option<EnduranceRecord>,
}

/// Warm-up of a trial.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WarmupRecord {
    /// Length of the warm-up, s.
    pub seconds: f64,
    /// Reason for the end of the warm-up: `fixed` (the study states the length), `detected` (cassay
    /// detected a steady state), `forced` (the time limit was reached first) or `warming` (the load
    /// ended first).
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
        /// The time limit was reached before cassay detected a steady state.
        Forced = "forced",
        /// The load ended before cassay detected a steady state.
        Warming = "warming",
    }
}

/// Throughput and latency of one kind of operation, or of all kinds together.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SeriesRecord {
    /// Number of operations that succeeded within the measured window, even if they were due before
    /// the window.
    pub ops: u64,
    /// Throughput, which is `ops` per second.
    pub ops_per_s: f64,
    /// 95 % confidence interval of the throughput, computed from batch means. `null` if the window
    /// has too few seconds.
    #[serde(default)]
    pub ops_per_s_ci95: Option<[f64; 2]>,
    /// True if the confidence interval of the throughput depends on only one to four incidents.
    /// Incidents are periods that differ clearly from the rest of the window.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub few_incidents: bool,
    /// Latency from the intended start, for operations that were due in the measured window. The
    /// values are those of successful operations, and lower bounds for operations that the client
    /// gave up.
    pub latency_ms: QuantilesRecord,
    /// Service time from the send, for operations that were due in the measured window and were
    /// sent.
    pub service_ms: QuantilesRecord,
    /// Latency from the intended start, for failed operations that were due in the measured window.
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
    /// Ceiling of the client in op/s: throughput of the same program on the null target on this
    /// machine. It is the lowest of `ceilings_ops_per_s`.
    pub ceiling_ops_per_s: f64,
    /// Ceilings of the client that were measured around this trial, op/s, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ceilings_ops_per_s: Vec<f64>,
    /// True if the workers had real-time priority over other programs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub realtime: bool,
    /// Longest stall of the client (a late timer on its cores), ms. Absent if stalls were not
    /// measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall_ms_longest: Option<f64>,
    /// Time that the client spent in stalls of at least 10 ms, as a share of the window.
    #[serde(default)]
    pub stalled_share: f64,
    /// Time in which workers were runnable but had no CPU, as a share of the time of their cores.
    /// Absent if the kernel does not measure this time.
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
    /// Peak resident memory of the client process, bytes. 0 if unknown.
    #[serde(default)]
    pub memory_bytes: u64,
}

/// Use of the machine on which the client runs, as means over the window. Shares are from 0 to 1.
/// Values that could not be read are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineRecord {
    /// Number of CPUs that the client may use. Shares of CPU time are relative to these CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u64>,
    /// CPU time that programs other than the nodes and the client used, as a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_others: Option<f64>,
    /// CPU time that the nodes started by cassay used, as a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_nodes: Option<f64>,
    /// CPU time that the client's whole process used, as a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_client: Option<f64>,
    /// Time in which the busiest disk worked for programs other than the nodes and the client, as a
    /// share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_busy_for_others: Option<f64>,
    /// Share of time in which at least one task waited for a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure_cpu: Option<f64>,
    /// Share of time in which at least one task waited for a disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure_io: Option<f64>,
    /// Share of time in which all tasks waited for memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure_memory: Option<f64>,
}

/// Quantiles of the release lag, µs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LagRecord {
    /// Median of the release lag, µs.
    pub p50: f64,
    /// 99th percentile of the release lag, µs.
    pub p99: f64,
}

/// Results of verified reads. The client compares each response with the value that it generates
/// again from the seed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct VerifyRecord {
    /// Number of rows whose values the client compared.
    pub checked: u64,
    /// Number of rows that are missing although they must exist.
    pub missing: u64,
    /// Number of rows that are missing although their write was acknowledged.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// Number of rows that are missing because their write was never acknowledged. These rows are
    /// not errors.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub never_written: u64,
    /// Number of rows with an old value that should have been overwritten.
    pub stale: u64,
    /// Number of correct rows whose value a later operation than the first one wrote. These rows
    /// are not errors.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overwritten: u64,
    /// Number of rows with a value that no operation wrote.
    pub wrong: u64,
    /// Number of rows that exist again after they were deleted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resurrected: u64,
    /// Number of rows that do not exist because they were deleted. These rows are not errors.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub deleted: u64,
    /// Number of correct rows whose write was not acknowledged. These rows are not errors.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unconfirmed: u64,
    /// The first rows that were found missing, stale, resurrected or wrong. The list contains at
    /// most 10 rows.
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
    /// Number of rows that the load phase wrote.
    pub operations: u64,
    /// Length of the load phase, s.
    pub seconds: f64,
    /// Number of failed operations, by outcome. Always empty, because a trial ends if an operation
    /// of the load phase fails.
    pub errors: BTreeMap<String, u64>,
    /// Number of retries in the load phase.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u64,
    /// Result of waiting for flushes and compactions: `settled`, `stalled`, `timeout`, `skipped` or
    /// `unknown`.
    #[serde(deserialize_with = "measure::word_or_default")]
    pub settle: SettleEnd,
    /// Duration of the wait for flushes and compactions, s.
    pub settle_seconds: f64,
}

measure::word_enum! {
    /// Result of waiting for flushes and compactions after a load.
    #[derive(Default)]
    pub enum SettleEnd {
        /// The target had finished all compactions.
        Settled = "settled",
        /// The number of pending compactions stopped falling.
        Stalled = "stalled",
        /// The time limit was reached before the compactions had finished.
        Timeout = "timeout",
        /// cassay did not wait, because the study does not request it or because the target cannot
        /// report compactions.
        Skipped = "skipped",
        /// The target did not report its pending compactions.
        #[default]
        Unknown = "unknown",
    }
}

/// Name of the metric for the results of searches.
pub const PEAK: &str = "peak";

/// A comparison of two variants.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ComparisonRecord {
    /// Name of the metric: `ops_per_s`, `latency_ms.p99`, …; `peak` for the results of searches.
    pub metric: String,
    /// Load of both variants. `{}` if the metric is `peak`.
    #[serde(default, with = "crate::point")]
    pub point: Option<Point>,
    /// Name of the baseline variant.
    pub baseline: VariantName,
    /// Name of the contender variant.
    pub contender: VariantName,
    /// Ratio contender ÷ baseline, computed from geometric means over the blocks.
    pub ratio: f64,
    /// Direction of the bound, `at_least` or `at_most`, if values of one variant are lower bounds.
    /// Absent if the ratio is exact.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub bound: Option<Bound>,
    /// 95 % confidence interval of the ratio over all looks, without adjustment for other
    /// comparisons. `null` if a variant has fewer than two blocks, before the first look, or if the
    /// ratio is a bound.
    pub ci95: Option<[f64; 2]>,
    /// The end of the 95 % confidence interval that is known, if the ratio is only a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95_end: Option<f64>,
    /// Verdict of the comparison: `faster`, `slower`, `equivalent` or `inconclusive`. It is
    /// `looks_different` if the variants were not interleaved.
    pub verdict: Finding,
    /// True if this comparison answers the question of the study. cassay adjusts all other
    /// comparisons for their number.
    #[serde(default)]
    pub primary: bool,
    /// Number of pairs of blocks, or the number of blocks of the variant with fewer blocks. 0 in
    /// runs of earlier versions.
    #[serde(default)]
    pub blocks: usize,
    /// Number of blocks that the comparison would have if every trial had been usable. In a study
    /// that stops once it has an answer, it is the number of blocks that were begun. 0 in runs of
    /// earlier versions.
    #[serde(default)]
    pub blocks_planned: usize,
    /// Probability (p-value) of a ratio at least this far from 1 at any look, if the variants were
    /// equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// The probability `p`, adjusted for the number of comparisons. The verdict uses this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_adjusted: Option<f64>,
    /// Smallest difference that four out of five such studies would detect, as a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub could_see: Option<f64>,
    /// Number of blocks with which the verdict would be decided at this scatter. Absent if more
    /// blocks would not help.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_to_settle: Option<usize>,
    /// Assumed standard deviation between runs, as a share. Absent if the variants were
    /// interleaved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between_runs: Option<f64>,
    /// Looks at the comparison while its blocks were measured. Absent if cassay looked only once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<LooksRecord>,
    /// Ratio without the influence of one outlying block. Absent if no block is an outlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robust: Option<RobustRecord>,
}

/// Results of one variant at one point, merged over all blocks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PointRecord {
    /// Name of the variant.
    pub variant: VariantName,
    /// Load of the point.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// Worst verdict among the trials whose results are merged.
    pub verdict: Verdict,
    /// True if the target could not keep up with the offered rate.
    #[serde(default)]
    pub saturated: bool,
    /// Number of trials whose results are merged.
    pub blocks: usize,
    /// Numbers of the trials whose results are merged. Empty in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<usize>,
    /// Number of trials at this point that are left out.
    pub left_out: usize,
    /// Throughput, as the arithmetic mean over the blocks, op/s.
    pub ops_per_s: f64,
    /// 95 % confidence interval of the throughput. For one block, it is the interval of the window.
    /// For three or more blocks, it is computed from the scatter between the blocks. `null` for two
    /// blocks.
    #[serde(default)]
    pub ops_per_s_ci95: Option<[f64; 2]>,
    /// Throughput of each block, op/s.
    pub ops_per_s_blocks: Vec<f64>,
    /// True if the window of a trial is too short for its interval. See
    /// [`TrialFinding::short_window`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short_window: bool,
    /// True if the confidence interval is the interval of a single window and depends on few
    /// incidents.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub few_incidents: bool,
    /// Latency of all operations of all blocks, from merged histograms. It is never a mean of
    /// percentiles.
    pub latency_ms: QuantilesRecord,
    /// Costs of the operations for the target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<CostRecord>,
}

measure::word_enum! {
    /// Reason why a sweep has no knee.
    pub enum WithoutKnee {
        /// Throughput grew up to the last point of the sweep.
        Growing = "growing",
        /// The loads are too close together, or the noise is too large, to find a knee.
        Inconclusive = "inconclusive" | "untold",
    }
}

/// Results of the sweep of one variant.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SweepRecord {
    /// Name of the variant.
    pub variant: VariantName,
    /// Point with the highest throughput. A saturated point is the best point only if the target
    /// did not keep up at any point.
    pub best: Option<Point>,
    /// Point with the highest throughput whose p99 is within the bound. Absent if no point is
    /// within the bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_within_bound: Option<Point>,
    /// Point with the highest throughput whose p99 is only a lower bound and may exceed the bound.
    /// Absent unless its throughput is above that of `best_within_bound`.
    #[serde(
        default,
        alias = "untold_within_bound",
        skip_serializing_if = "Option::is_none"
    )]
    pub inconclusive_within_bound: Option<Point>,
    /// Lowest rate from which all points are saturated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturated_from: Option<Point>,
    /// Knee of the sweep: the last point before more load increases only latency. `null` if the
    /// sweep has no knee.
    pub knee: Option<Point>,
    /// Reason why the sweep has no knee: `growing` (throughput grew up to the last point) or
    /// `inconclusive`.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub without_knee: Option<WithoutKnee>,
}

/// Expected number of false findings among several comparisons if the variants did not differ.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MultiplicityRecord {
    /// Number of comparisons that could have found a difference.
    pub comparisons: usize,
    /// Number of primary comparisons among those that could have found a difference.
    pub primary: usize,
    /// Expected number of false findings if each comparison were judged alone.
    pub false_findings_one_by_one: f64,
    /// Upper bound of the expected number of false findings with the adjustment that was used.
    pub false_findings_expected: f64,
}

/// A fault and its effects.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FaultRecord {
    /// Kind of the fault, such as `node-stop`.
    pub kind: String,
    /// Verdict on the fault itself: `confirmed`, `mismatch` or `inconclusive`. It states whether
    /// cassay observed the fault.
    pub verdict: FaultVerdict,
    /// Description of the observations on which the verdict is based.
    pub evidence: String,
    /// Number of the trial in which the fault was injected. Absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<usize>,
    /// Number of the fault in the study's list, starting at 0. Absent if the fault was not
    /// injected, and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<usize>,
    /// Target of the fault: the name of a node or host, the two sides of a network partition, or
    /// all nodes. Absent in runs of earlier versions.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub place: Option<String>,
    /// Time of the injection, s since the trial's start line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injected_s: Option<f64>,
    /// Time at which cassay first observed the effect of the fault, s since the trial's start line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_s: Option<f64>,
    /// Time at which healing began, s since the trial's start line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub healing_s: Option<f64>,
    /// Time at which cassay observed all nodes of the target up again, s since the trial's start
    /// line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_s: Option<f64>,
    /// Time from the injection until clients could notice the fault, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detect_s: Option<f64>,
    /// Largest loss of throughput in an interval, as a share of the level before the fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dip: Option<f64>,
    /// Time from the healing until throughput was normal, s. If the fault was not healed, the time
    /// from the injection.
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

/// A line of `faults.ndjson`, which describes one step of a fault.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FaultStepRecord {
    /// Time of the step, s since the trial's start line.
    pub t_s: f64,
    /// Number of the fault in the study's list, starting at 0.
    pub fault: usize,
    /// Kind of the fault, as in the study, such as `node-pause`.
    pub kind: String,
    /// Target of the fault: the name of a node or host, the two sides of a network partition, or
    /// all nodes.
    pub place: String,
    /// Name of the step: `waiting`, `checked`, `injecting`, `acted`, `not-acted`, `back`, `seen`,
    /// `unseen`, `healing`, `whole`, `not-whole` or `restarted`; for tasks, `done`, `failed` or
    /// `unfinished`.
    pub step: FaultStep,
    /// Description of the observation in this step.
    pub said: String,
}
