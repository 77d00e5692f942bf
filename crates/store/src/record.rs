//! What stands in the files of a run. Every format has a number; a field is added, never renamed.
//!
//! These types are what is *on disk*: the rest of the program has its own and converts, so that
//! old runs stay readable while the code moves on. Durations carry their unit in the name.
//!
//! Long because it is one format.

pub use crate::accounts::{
    DataAgainst, HistoryRecord, MissedRowRecord, ReadBackRecord, RegistersRecord, ViolationRecord,
    read_back_words,
};
pub use crate::added::AddedRecord;
pub use crate::aftermath::{Aftermath, NotMeasured, SeriesEnd, p99_ratio, p99_words, since};
pub use crate::cause::{CauseKind, CauseRecord, NextStepRecord};
pub use crate::compared::compared_value;
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
pub use crate::fleet::{
    ClientEndRecord, ClientMachineRecord, ClientSecondRecord, ClockMovedRecord, ClockRecord,
};
pub use crate::gap::{GapKind, GapRecord};
pub use crate::lab::{
    DataRecord, DeviceRecord, DieRecord, HostRecord, HostSettingRecord, L3Record,
    MachineHostRecord, MachineTopologyRecord, NodeRecord, NodesRecord, NumaNodeRecord,
    PackageRecord, PhaseTimeRecord, PlacementRecord, ProbeRecord, ProofOutcome, ProofRecord,
    SettingVerdict, numbers_of,
};
pub use crate::looks::{LookRecord, LooksHow, LooksRecord, RobustRecord};
pub use crate::price_performance::{CapacityRecord, PriceRecord};
pub use crate::published::{
    PublishedFailureRecord, PublishedFigureRecord, PublishedRatioRecord, PublishedRecord,
};
pub use crate::quantiles::QuantilesRecord;
pub use crate::recovery::{
    BackRecord, DipRecord, FaultStretch, HintsRecord, NoticedRecord, RecoveryRecord, RepairNeed,
    ReturnsRecord, StretchRecord, UsualRecord, WithoutFaultsRecord,
};
pub use crate::remains::RemainsRecord;
pub use crate::required::{BesideRecord, RequirementRecord, outcome_of};
pub use crate::resolved::{
    CombinationsRecord, Order, OverridesRecord, PlannedFaultRecord, PrimaryRecord, RepeatRecord,
    RequestRecord, ResolvedRecord,
};
pub use crate::scale_up::{
    CoefficientRecord, EfficiencyRecord, ImprovementRecord, ScaleBoundRecord, ScaleFitRecord,
    ScalePeakRecord, ScalePointRecord, ScaleRatioRecord, ScaleUpRecord,
};
pub use crate::screen::{ScreenRecord, ScreenedRecord};
pub use crate::search::{SearchRangeRecord, SearchRecord, SearchStepRecord};
use crate::sums::Sums;
pub use crate::time_use::{StepTimeRecord, TimeUseRecord};
pub use analysis::VariantName;
pub use analysis::compare::{Bound, Finding};
pub use analysis::durability::Promised;
pub use analysis::procedure::{Point, Role, SearchOutcome, SearchProcedure, SearchResult};
pub use analysis::recovery::{FaultStep, FaultVerdict};
pub use analysis::require::{Outcome as RequirementOutcome, RequiredMetric};
pub use analysis::rules::{Outcome, Verdict, names as rule_names, title as rule_title};
pub use analysis::scale_up::{EfficiencyOf, Fills};
use measure::{ClientCounts, KindCounts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Format number of every record defined here.
pub const FORMAT: u32 = 1;

/// `plan.json`: the study spelled out, written before anything starts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanRecord {
    /// [`FORMAT`].
    pub format: u32,
    /// Version of cassay that made it.
    pub cassay: String,
    /// Name of the study: a folder name, checked when read.
    #[serde(deserialize_with = "crate::name::study")]
    pub study: String,
    /// The question, in the user's words.
    pub question: String,
    /// Seed of all that is random.
    pub seed: u64,
    /// Name of the scale, if one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<String>,
    /// The command that makes this run again.
    pub rerun: String,
    /// What the run is expected to take.
    pub estimate: EstimateRecord,
    /// Every trial, in order.
    pub trials: Vec<TrialRecord>,
    /// The study with every default filled in, for resuming and for the report.
    pub resolved: ResolvedRecord,
}

/// What a run is expected to take.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EstimateRecord {
    /// Wall time if every trial is run, in seconds.
    pub seconds: f64,
    /// Disk space for the target's data, in bytes.
    pub disk_bytes: u64,
    /// Memory for the target, in bytes.
    pub memory_bytes: u64,
    /// What is run whatever is found, where a procedure decides over the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<LeastRecord>,
}

/// The part of a run that does not depend on what is found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LeastRecord {
    /// The number of trials.
    pub trials: usize,
    /// Wall time, in seconds.
    pub seconds: f64,
}

/// `trials/NN-slug/trial.json`: one configuration, to be run once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrialRecord {
    /// [`FORMAT`].
    pub format: u32,
    /// Number of the trial, from 0.
    pub index: usize,
    /// Folder name under `trials/`, checked when read: `00-writes-threads-4`.
    #[serde(deserialize_with = "crate::name::slug")]
    pub slug: String,
    /// Name of the variant.
    pub variant: VariantName,
    /// Where on the axes: `{"threads": 28}`, `{"rate": 10000}`.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// What it is for; absent of a probe.
    #[serde(default, skip_serializing_if = "Role::is_probe")]
    pub role: Role,
    /// Number of the block (repetition), from 0.
    pub block: usize,
    /// Phases in order, each with its settings.
    pub phases: Vec<PhaseRecord>,
    /// Every setting of the trial, resolved.
    pub settings: serde_json::Value,
}

/// One phase of a trial as planned.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PhaseRecord {
    /// `target`, `schema`, `load`, `settle`, `snapshot`, `restart`, `restore`, `warmup`,
    /// `measure`, `verify`.
    pub name: String,
    /// What it does, in words.
    pub what: String,
    /// Expected length in seconds.
    pub seconds: f64,
}

/// One line of `intervals.ndjson`: one interval of one kind; kind `client` carries the
/// instrument's own figures instead.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct IntervalRecord {
    /// Begin, in seconds since the trial's start line.
    pub t_s: f64,
    /// Length in seconds.
    pub seconds: f64,
    /// `load`, `warmup`, `measure`, `drain` or `verify`.
    pub phase: String,
    /// Kind of operation, or `client`.
    pub kind: String,
    /// Successful operations that ended in the interval, whenever they were due; so it is with all
    /// figures of the line.
    #[serde(default)]
    pub ok: u64,
    /// Failed operations by outcome.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// Latency from the intended start, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<QuantilesRecord>,
    /// Service time from the send, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_ms: Option<QuantilesRecord>,
    /// Latency of failed operations, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_ms: Option<QuantilesRecord>,
    /// What else came of the operations, by name: what is 0 is left out.
    #[serde(flatten, serialize_with = "crate::counts::of_kind")]
    pub counts: KindCounts,
    /// Verified reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<VerifyRecord>,
    /// The instrument's figures (kind `client` only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientIntervalRecord>,
    /// How many intervals the line stands for, if it is one of an overview; 0 on disk, where it is
    /// one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub joined: u64,
}

/// Zero counts are left out of the lines: there is one line a second and kind.
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The instrument in one interval.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClientIntervalRecord {
    /// CPU time per operation, µs.
    pub cpu_us_per_op: f64,
    /// CPU used, as a share of one core.
    pub cpu_share: f64,
    /// Release lag p50, µs.
    pub lag_us_p50: f64,
    /// Release lag p99, µs.
    pub lag_us_p99: f64,
    /// What happened to operations before they were sent, and to connections, by name.
    #[serde(flatten, serialize_with = "crate::counts::of_client")]
    pub counts: ClientCounts,
    /// How late timers on the client's cores were: p99, ms. Absent if nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hiccup_ms_p99: Option<f64>,
    /// The same, the largest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hiccup_ms_max: Option<f64>,
    /// Time in stalls (timers over 10 ms late), ms.
    #[serde(default)]
    pub stalled_ms: f64,
    /// Time in which workers could have run and had no CPU, as a share of one core. Absent where
    /// the kernel does not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_share: Option<f64>,
    /// Longest time in which answers were awaited and none came, ms; where it ended.
    #[serde(default)]
    pub quiet_ms: f64,
}

/// `probes/*.ndjson`: one sample.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SampleRecord {
    /// Seconds since the trial's start line.
    pub t_s: f64,
    /// Name of the series, for example `cassandra.compactions_pending`.
    pub name: String,
    /// Node or host; empty for the client.
    #[serde(default)]
    pub place: String,
    /// Unit of the value.
    pub unit: String,
    /// The value.
    pub value: f64,
}

/// `findings.json`: what other programs read. Format 1.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FindingsRecord {
    /// [`FORMAT`].
    pub format: u32,
    /// Name of the study.
    pub study: String,
    /// `valid`, `suspect` or `invalid`: the worst of the trials' verdicts.
    pub verdict: Verdict,
    /// Why, one sentence each; empty when valid.
    pub reasons: Vec<String>,
    /// The answer to the question, one sentence each.
    #[serde(default)]
    pub answer: Vec<String>,
    /// Its first sentences, if verified data was lost or wrong, or a requirement was missed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<String>,
    /// Why the trials together say less than they were to say, causes first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<CauseRecord>,
    /// What to run next; none where the question has its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<NextStepRecord>,
    /// One entry per finished trial.
    pub trials: Vec<TrialFinding>,
    /// The blocks of each variant at each point together, without invalid trials; of a point that
    /// has none but invalid ones those, with the verdict `invalid`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<PointRecord>,
    /// What was searched for, and by which way it was found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<SearchRecord>,
    /// What long trials did beside shorter ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endured: Vec<EnduredRecord>,
    /// What the points of each variant show as a ladder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<SweepRecord>,
    /// Comparisons of variants.
    pub comparisons: Vec<ComparisonRecord>,
    /// How many false findings to expect of them; none of one or no comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiplicity: Option<MultiplicityRecord>,
    /// What variants cost beside each other: no part of `comparisons`, nor of their adjustment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cost_comparisons: Vec<CostComparisonRecord>,
    /// What variants do for their price.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<PriceRecord>,
    /// How many nodes a demand takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capacities: Vec<CapacityRecord>,
    /// Which settings of a screening do anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub screens: Vec<ScreenRecord>,
    /// The curve through the points of each variant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<CurveRecord>,
    /// What the machine makes of more of its units: one for each arm and load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scale_ups: Vec<ScaleUpRecord>,
    /// What the axes of a matrix do, point by point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<EffectsRecord>,
    /// Faults and what they did.
    pub faults: Vec<FaultRecord>,
    /// The same against trials without faults, where the study asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_faults: Vec<WithoutFaultsRecord>,
    /// What others have published, beside what was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedRecord>,
    /// What the study requires, and what came of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<RequirementRecord>,
    /// Tables that cassay made on clusters that it did not start, and left there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remains: Vec<RemainsRecord>,
    /// Where the time of the run went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_use: Option<TimeUseRecord>,
}

/// `trials/NN-slug/finding.json`: the trial's entry of `findings.json`, written when it ends, so
/// that an interrupted run has it too. Read as its entry and a `SealRecord`.
#[derive(Clone, Debug, Serialize)]
pub struct TrialFindingRecord {
    /// [`FORMAT`].
    pub format: u32,
    /// The entry.
    #[serde(flatten)]
    pub finding: TrialFinding,
    /// Every other file of the trial as it was then, by its path in the trial's folder. Empty in
    /// runs of earlier versions.
    #[serde(default, skip_serializing_if = "Sums::is_empty")]
    pub files: Sums,
}

/// `findings.json` as it is written: the findings, by whom, and what the files are that they
/// stand on.
// Read as `FindingsRecord` and a `SealRecord`.
#[derive(Clone, Debug, Serialize)]
pub struct FindingsFileRecord {
    /// The findings.
    #[serde(flatten)]
    pub findings: FindingsRecord,
    /// Version of cassay that wrote them; empty in runs of earlier versions.
    #[serde(default)]
    pub cassay: String,
    /// Every file of the run that has come to its end, by its path in the run's folder. Empty in
    /// runs of earlier versions.
    #[serde(default, skip_serializing_if = "Sums::is_empty")]
    pub files: Sums,
}

/// What stands beside the findings of a trial or a run in their file. Reading it apart from them
/// takes half a megabyte less of program than a flattened field, for which serde makes readers of
/// everything in the findings once more.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct SealRecord {
    /// Version of cassay that wrote the file; empty in runs of earlier versions.
    pub cassay: String,
    /// What files were, by their path in the folder of the file. Empty in runs of earlier
    /// versions.
    pub files: Sums,
}

/// The part of a machine that nodes had.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartRecord {
    /// What it is counted in: `cores`, `l3`, `numa` or `sockets`.
    pub unit: String,
    /// Units on each socket that had some, in order.
    pub split: Vec<u32>,
    /// Units that fill one socket of the machine.
    pub units_per_socket: u32,
    /// Sockets of the machine.
    pub sockets: u32,
    /// Whether the client ran on the CPUs of nodes, since none was left for it.
    #[serde(default)]
    pub client_shares: bool,
}

/// What one trial found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TrialFinding {
    /// Number of the trial.
    pub index: usize,
    /// The start line, in nanoseconds since 1970: where the seconds of its records count from.
    #[serde(default)]
    pub started_unix_ns: u64,
    /// Name of the variant.
    pub variant: VariantName,
    /// Where on the axes.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// As in [`TrialRecord`].
    #[serde(default, skip_serializing_if = "Role::is_probe")]
    pub role: Role,
    /// Number of the block (repetition).
    #[serde(default)]
    pub block: usize,
    /// `measure`.
    pub phase: String,
    /// `valid`, `suspect` or `invalid`.
    pub verdict: Verdict,
    /// Why, one sentence each.
    pub reasons: Vec<String>,
    /// The rules that were judged, with their numbers.
    #[serde(default)]
    pub rules: Vec<RuleRecord>,
    /// Length of the measured window, in seconds.
    pub seconds: f64,
    /// Whether that is too short for the 95 % intervals of the window to hold what they promise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short_window: bool,
    /// Operations that ended per second in the second half of the window, where a rate was offered:
    /// what was under way when it began is no part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later_ended_per_s: Option<f64>,
    /// Change of throughput over the window, as a share; absent where it is small, or chance, and
    /// in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<f64>,
    /// Throughput of the best second of the window; absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_ops_per_s: Option<f64>,
    /// Operations that ended in the measured window, whatever their outcome.
    pub ops_total: u64,
    /// Failed operations of those that were due in the measured window, by outcome.
    pub errors: BTreeMap<String, u64>,
    /// Operations that were due in the measured window and sent only after it (open loop).
    #[serde(default)]
    pub sent_in_drain: u64,
    /// Operations that were due in the measured window and not sent when the drain gave up sending.
    pub due_never_sent: u64,
    /// Sent more than 1 ms late.
    #[serde(default)]
    pub late: u64,
    /// Given up before they were sent.
    #[serde(default)]
    pub dropped: u64,
    /// Length of the warm-up that came before, in seconds, and how it ended.
    #[serde(default)]
    pub warmup: WarmupRecord,
    /// All kinds together.
    pub all: SeriesRecord,
    /// By kind of operation.
    pub kinds: BTreeMap<String, SeriesRecord>,
    /// Those of the kinds that are part of operations of other kinds: in no sum over kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// What operations came to besides time, in the measured window and its drain, by kind; kinds
    /// with nothing of the sort are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, KindCounts>,
    /// The instrument.
    pub client: ClientRecord,
    /// Each client of several; empty where one process offered the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<ClientEndRecord>,
    /// The part of their machine that nodes of ours had; absent where they had all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartRecord>,
    /// Who used the machine that the client runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineRecord>,
    /// What the operations cost the target; what is not known is absent.
    #[serde(default, skip_serializing_if = "Costs::is_empty")]
    pub costs: Costs,
    /// Verified reads.
    pub verify: VerifyRecord,
    /// What became of every acknowledged write, where all rows were read back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_back: Option<ReadBackRecord>,
    /// Whether registers were one register to all, where they have histories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registers: Option<RegistersRecord>,
    /// What the server counted, beside what the client counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerCountsRecord>,
    /// Compactions that were pending at the end of the window, on all nodes together; none if
    /// nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_compactions: Option<f64>,
    /// The load phase, if the trial loaded data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadRecord>,
    /// Which start of the run has made the data that the trial stands on, from 1: after an
    /// interruption, data is loaded anew. None where no data outlives a trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// The snapshot that the trial began with, if it restored one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataRecord>,
    /// How many SSTables the workload's tables had on nodes of ours when all was done, by the
    /// letters of their format; empty where nobody looked, and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sstable_formats: BTreeMap<String, u64>,
    /// What should be on record of it and is not; empty in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<GapRecord>,
    /// The phases as they were, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseTimeRecord>,
    /// The probes that ran, with their cost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbeRecord>,
    /// What was broken on purpose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultRecord>,
    /// What the window showed of a trial for hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endurance: Option<EnduranceRecord>,
}

/// How warm-up went.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WarmupRecord {
    /// Length in seconds.
    pub seconds: f64,
    /// `fixed`, `detected` (a steady state was seen) or `forced` (the limit came first).
    #[serde(deserialize_with = "measure::word_or_default")]
    pub steady: WarmupEnd,
}

measure::word_enum! {
    /// How a warm-up ended.
    #[derive(Default)]
    pub enum WarmupEnd {
        /// After the length that it was given.
        #[default]
        Fixed = "fixed",
        /// A steady state was seen.
        Detected = "detected",
        /// The limit came first.
        Forced = "forced",
        /// It had not ended when the load did.
        Warming = "warming",
    }
}

/// One validity rule and how it was judged.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RuleRecord {
    /// `V1` to `V21`.
    pub rule: String,
    /// `pass`, `warn`, `fail` or `unknown`.
    pub result: Outcome,
    /// What was seen and what the limit is.
    pub detail: String,
}

/// Throughput and latency of one kind, or of all.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SeriesRecord {
    /// Operations that succeeded within the measured window's time, whenever they were due.
    pub ops: u64,
    /// The same, per second.
    pub ops_per_s: f64,
    /// 95 % confidence interval of it, from batch means.
    #[serde(default)]
    pub ops_per_s_ci95: Option<[f64; 2]>,
    /// Whether that interval rests on fewer than five incidents: stretches of seconds that stand
    /// out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub few_incidents: bool,
    /// From the intended start, of the operations that were due in the measured window and
    /// succeeded, or that nobody followed to their end.
    pub latency_ms: QuantilesRecord,
    /// From the send, of the same operations as far as they were sent.
    pub service_ms: QuantilesRecord,
    /// Of those that were due in the measured window and failed, from the intended start.
    #[serde(default)]
    pub error_ms: QuantilesRecord,
}

/// The instrument in one trial.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClientRecord {
    /// CPU time (user and system, all worker threads) per operation, µs.
    pub cpu_us_per_op: f64,
    /// CPU used, as a share of the cores that the workers had.
    #[serde(default)]
    pub cpu_share: f64,
    /// Release lag, µs; zeros in a closed loop.
    pub lag_us: LagRecord,
    /// What the same program reaches on the null target on this machine, op/s: the lowest of
    /// `ceilings_ops_per_s`.
    pub ceiling_ops_per_s: f64,
    /// The same, each time that it was measured around this trial, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ceilings_ops_per_s: Vec<f64>,
    /// Whether the workers went before other programs that wanted their CPUs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub realtime: bool,
    /// The longest stall of the client (a late timer on its cores), ms. Absent if nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall_ms_longest: Option<f64>,
    /// Time in stalls of over 10 ms, as a share of the window.
    #[serde(default)]
    pub stalled_share: f64,
    /// Time in which the workers waited for a CPU, as a share of the cores that they had. Absent
    /// where the kernel does not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_share: Option<f64>,
    /// Longest time in which answers were awaited and none came, ms.
    #[serde(default)]
    pub quiet_ms_longest: f64,
    /// Worker threads.
    #[serde(default)]
    pub workers: usize,
    /// Connections, all nodes.
    #[serde(default)]
    pub connections: usize,
    /// Peak resident memory of the process, bytes.
    #[serde(default)]
    pub memory_bytes: u64,
}

/// Who used the machine that the client runs on: means over the window, as shares of 1. What could
/// not be read is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineRecord {
    /// CPUs that the client may use: what shares of CPU time are of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u64>,
    /// CPU time used by neither the nodes nor the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_others: Option<f64>,
    /// CPU time used by the nodes that we started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_nodes: Option<f64>,
    /// CPU time used by the client's whole process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_client: Option<f64>,
    /// Time in which the busiest disk was busy for others.
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

/// Verified reads: answers compared with values made again from the seed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct VerifyRecord {
    /// The number of rows that were compared.
    pub checked: u64,
    /// No row where one must be.
    pub missing: u64,
    /// Of the missing, those whose write was acknowledged.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// Not there, and its write was never acknowledged; not an error.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub never_written: u64,
    /// Right once, should have been overwritten.
    pub stale: u64,
    /// Right, and written by a later operation than the first; not an error.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overwritten: u64,
    /// Never right.
    pub wrong: u64,
    /// Deleted, and there again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resurrected: u64,
    /// Not there, and deleted; not an error.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub deleted: u64,
    /// There, though no write was acknowledged; not an error.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unconfirmed: u64,
    /// The first rows that were found to be missing, stale, resurrected or wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed_rows: Vec<MissedRowRecord>,
}

/// The server's own operation counts over the whole trial, beside the client's.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ServerCountsRecord {
    /// Where they come from, for example `system_views.coordinator_write_latency`.
    pub source: String,
    /// Writes that the server coordinated.
    pub writes: u64,
    /// Reads that the server coordinated.
    pub reads: u64,
    /// Writes that the client sent and had answered (load, warm-up, measure and drain).
    pub client_writes: u64,
    /// Reads that the client sent and had answered.
    pub client_reads: u64,
}

/// The load phase of a trial.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LoadRecord {
    /// Rows written.
    pub operations: u64,
    /// Length in seconds.
    pub seconds: f64,
    /// Failed operations, by outcome.
    pub errors: BTreeMap<String, u64>,
    /// Writes that were tried again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u64,
    /// How settling ended: `settled`, `stalled`, `timeout`, `skipped`, `unknown`.
    #[serde(deserialize_with = "measure::word_or_default")]
    pub settle: Settled,
    /// Length of settling in seconds.
    pub settle_seconds: f64,
}

measure::word_enum! {
    /// How waiting for data at rest ended.
    #[derive(Default)]
    pub enum Settled {
        /// It was at rest.
        Settled = "settled",
        /// Compactions no longer made progress.
        Stalled = "stalled",
        /// The limit came first.
        Timeout = "timeout",
        /// Nobody waited.
        Skipped = "skipped",
        /// The target cannot tell.
        #[default]
        Unknown = "unknown",
    }
}

/// The metric of what searches have found.
pub const PEAK: &str = "peak";

/// A comparison of two variants.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ComparisonRecord {
    /// `ops_per_s`, `latency_ms.p99`, …; `peak` is what searches have found.
    pub metric: String,
    /// Where on the axes; nowhere for a `peak`.
    #[serde(default, with = "crate::point")]
    pub point: Option<Point>,
    /// Name of the baseline variant.
    pub baseline: VariantName,
    /// Name of the contender variant.
    pub contender: VariantName,
    /// Contender ÷ baseline (ratio of geometric means over blocks).
    pub ratio: f64,
    /// `at_least` or `at_most`, if the ratio is only that: of one side are only lower bounds known.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub bound: Option<Bound>,
    /// 95 % confidence interval of the ratio, for it alone and over all looks; none with fewer than
    /// two blocks a side, before the first look, and of a ratio that is a bound.
    pub ci95: Option<[f64; 2]>,
    /// Of a ratio that is a bound, the end of such an interval that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95_end: Option<f64>,
    /// `faster`, `slower`, `equivalent` or `inconclusive`; `looks_different` of what was not
    /// interleaved.
    pub verdict: Finding,
    /// Whether it is what the question is about: others are adjusted for their number.
    #[serde(default)]
    pub primary: bool,
    /// Pairs, or blocks of the smaller side; 0 in runs of earlier versions.
    #[serde(default)]
    pub blocks: usize,
    /// As many as there would be, had every trial been usable; 0 in runs of earlier versions. Of a
    /// study that ends when it is answered, those that were begun.
    #[serde(default)]
    pub blocks_planned: usize,
    /// Probability of such a ratio, at any look, if nothing differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// The same, adjusted for the number of comparisons: what the verdict goes by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_adjusted: Option<f64>,
    /// The smallest difference, as a share, that four of five such studies would find.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub could_see: Option<f64>,
    /// How many blocks decide it at this spread, whatever the difference is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_to_settle: Option<usize>,
    /// Standard deviation from run to run, as a share, that the interval allows for; none where
    /// the two sides took turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between_runs: Option<f64>,
    /// How it was looked at while its blocks came; none of one that was looked at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<LooksRecord>,
    /// What stands beside the ratio; none where no block differs from the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robust: Option<RobustRecord>,
}

/// The blocks of one variant at one point together.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PointRecord {
    /// Name of the variant.
    pub variant: VariantName,
    /// Where on the axes.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// The worst verdict of the trials that are used.
    pub verdict: Verdict,
    /// Whether less was done than was offered because the target could not do more (at a rate).
    #[serde(default)]
    pub saturated: bool,
    /// Trials that are used.
    pub blocks: usize,
    /// Their numbers; empty in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<usize>,
    /// Trials that are not.
    pub left_out: usize,
    /// Arithmetic mean over the blocks.
    pub ops_per_s: f64,
    /// Its 95 % confidence interval: of several blocks from the spread between them.
    #[serde(default)]
    pub ops_per_s_ci95: Option<[f64; 2]>,
    /// Block by block.
    pub ops_per_s_blocks: Vec<f64>,
    /// Whether a window is too short for its interval: see [`TrialFinding::short_window`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short_window: bool,
    /// Whether the interval is that of one window, and rests on few incidents.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub few_incidents: bool,
    /// Of all operations of all blocks together; never a mean of percentiles.
    pub latency_ms: QuantilesRecord,
    /// What the operations cost the target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<CostRecord>,
}

measure::word_enum! {
    /// Why a ladder has no knee.
    pub enum WithoutKnee {
        /// Throughput grew to the end.
        Growing = "growing",
        /// It cannot be told.
        Untold = "untold",
    }
}

/// What the points of one variant show as a ladder.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SweepRecord {
    /// Name of the variant.
    pub variant: VariantName,
    /// The highest throughput.
    pub best: Option<Point>,
    /// The highest throughput within the bound of p99, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_within_bound: Option<Point>,
    /// The highest throughput of points of which nobody knows whether they are within the bound,
    /// since their p99 is only a lower bound; if it is above that of `best_within_bound`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untold_within_bound: Option<Point>,
    /// The first rate that was not kept up with, nor any beyond it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturated_from: Option<Point>,
    /// The last point beyond which more load brings only more latency.
    pub knee: Option<Point>,
    /// Why there is no knee: `growing` (throughput grew to the end) or `untold`.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub without_knee: Option<WithoutKnee>,
}

/// How many false findings to expect of many comparisons if nothing differs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MultiplicityRecord {
    /// Comparisons that could have called a difference.
    pub comparisons: usize,
    /// Of them, the primary ones.
    pub primary: usize,
    /// False findings to expect if each were judged by itself.
    pub false_findings_one_by_one: f64,
    /// At most to expect as they are judged.
    pub false_findings_expected: f64,
}

/// A fault and what it did.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FaultRecord {
    /// `node-stop`, …
    pub kind: String,
    /// `confirmed`, `mismatch` or `inconclusive`.
    pub verdict: FaultVerdict,
    /// What was seen.
    pub evidence: String,
    /// Number of the trial; none in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<usize>,
    /// Its number in the study's list, from 0; none in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<usize>,
    /// What was broken: the name of a node or host, two sides of a network, or all nodes; none in
    /// runs of earlier versions.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub place: Option<String>,
    /// When it was injected, in seconds since the trial's start line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injected_s: Option<f64>,
    /// When its effect was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_s: Option<f64>,
    /// When healing began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub healing_s: Option<f64>,
    /// When it was seen whole again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_s: Option<f64>,
    /// Seconds until the client noticed, from the injection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detect_s: Option<f64>,
    /// Share of the throughput that was lost at the worst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dip: Option<f64>,
    /// Seconds until throughput was back, from the healing; from the injection where it was never
    /// healed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recover_s: Option<f64>,
    /// All that was measured of it; none in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryRecord>,
}

impl FaultRecord {
    /// What it is called: `node-kill of node2`.
    pub fn name(&self) -> String {
        match &self.place {
            None => self.kind.clone(),
            Some(place) => format!("{} of {place}", self.kind),
        }
    }
}

/// `faults.ndjson`: one thing of the course of a fault.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FaultStepRecord {
    /// Seconds since the trial's start line.
    pub t_s: f64,
    /// Number of the fault in the study's list, from 0.
    pub fault: usize,
    /// As in the study: `node-pause`.
    pub kind: String,
    /// What was broken: the name of a node or host, two sides of a network, or all nodes.
    pub place: String,
    /// `waiting`, `checked`, `injecting`, `acted`, `seen`, `unseen`, `healing`, `whole`,
    /// `not-whole`, and of tasks `done`, `failed` or `unfinished`.
    pub step: FaultStep,
    /// What was seen.
    pub said: String,
}
