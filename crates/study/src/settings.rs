//! A study without mistakes. Every setting has its own type, and is optional only where necessary.
//!
//! The settings are built from a checked [`Tree`] by the rows of the table in [`crate::format`].
//! [`crate::rules`] checks relations that the table cannot express, such as settings that
//! contradict each other.

mod attached;
mod axes;
mod client;
mod data;
pub(crate) mod draft;
mod faults;
mod fill;
mod guard;
mod keyspace_and_tables;
mod kubernetes_keys;
mod own_cassandra;
mod own_table;
mod probes;
mod published_figures;
mod published_releases;
mod recorded_traffic;
mod require;
mod secrets;

pub use self::draft::Draft;
pub(crate) use attached::HostsDraft;
pub use axes::{Axis, ScaleUp};
pub use client::{Client, ClientMachine, ClientPods, Priority, Split};
pub use data::{Data, Load, PageCache, Reset, RestoreMethod, Settle};
pub(crate) use faults::{FAULTS_MAX, FaultDraft, FaultTargets, FaultWhere};
pub use faults::{PlannedHit, StudyFault};
pub use guard::{Guard, GuardLimits, GuardedClusters};
pub use keyspace_and_tables::{Keyspace, Replication};
pub use own_table::{KEYS_DEFAULT, KEYS_MAX, KEYS_PER_S_DEFAULT, OwnTable};
pub use probes::{Import, PERIOD_NS, Probes, Profile, ProfileEvent, ProfileEvery, ProfiledTrials};
pub use published_figures::{Failure, Figure, PublishedFile, Ratio};
pub use published_releases::Registry;
pub use recorded_traffic::{RecordedTraffic, Recordings};
pub use require::{IfInconclusive, Require, Where};
pub(crate) use secrets::{secret_kind, secret_of};

use crate::checked_tree::Tree;
use crate::index::BlockIndex;
use analysis::VariantName;
use analysis::procedure::{Procedure, Role};
use cql::Consistency;
use imports::Tool;
use std::collections::BTreeMap;
use std::path::PathBuf;
use target_spec::{Allow, SecretSource, Target};
use workload::Tuning;

/// A resolved study.
#[derive(Clone, Debug)]
pub struct Study {
    pub name: String,
    /// Question that the study asks, as text.
    pub question: String,
    /// Name and content of the file of published figures. `None` if the study has no such file.
    pub published: Option<(String, PublishedFile)>,
    /// Seed of all random choices.
    pub seed: u64,
    /// The sides of the comparison. A study without variants has a single unnamed side. The first
    /// side is the baseline.
    pub variants: Vec<Variant>,
    /// The axes of the matrix whose cells are the variants, or the settings of a screening. Empty
    /// for other studies.
    pub axes: Vec<Axis>,
    /// The design of the screening whose runs are the variants. In a screening, the axes are the
    /// settings of the screening. The first variant is not one of its runs. `None` for other
    /// studies.
    pub screen: Option<analysis::screening::Design>,
    /// The scale-up of the study. `None` if the study has no scale-up.
    pub scale_up: Option<ScaleUp>,
    /// The demand for which cassay computes the number of nodes. `None` if the study does not
    /// request that.
    pub capacity: Option<Capacity>,
    /// Repetitions of each trial.
    pub repeat: Repeat,
    /// Experiments after the trials that test the cause of a limit. `None` if the study does not
    /// request them.
    pub why: Option<Why>,
    /// Tests after the trials that tune the settings of the screening. `None` if the study does not
    /// request them.
    pub tune: Option<Tune>,
    /// Number of blocks in each addition to the finished run.
    pub added: Vec<usize>,
    /// The primary comparison, which keeps its full error level.
    pub primary: Primary,
    /// Path of the file that contains the study.
    pub source: String,
    /// Text of the study as the user wrote it.
    pub text: String,
    /// Changes that the command line makes to the study.
    pub overrides: Overrides,
    /// Sentences about adapted settings and differences of imports.
    pub notes: Vec<String>,
    /// The files that the workloads of the study name, with their contents when cassay read them.
    /// For recorded traffic, the content is a digest.
    pub inputs: BTreeMap<String, String>,
    /// Recorded traffic that the workloads of the study name.
    pub recordings: Recordings,
}

impl Study {
    /// Returns the maximum number of blocks, including added blocks.
    pub fn blocks(&self) -> usize {
        self.repeat.blocks + self.added.iter().sum::<usize>()
    }

    /// Returns the names of the study's variants, in order.
    pub fn names(&self) -> Vec<&VariantName> {
        self.variants.iter().map(|variant| &variant.name).collect()
    }

    /// Returns the number of variants that are compared with an earlier variant.
    pub fn contenders(&self) -> usize {
        let variants = self.variants.iter().enumerate();
        let compared = variants.filter(|(index, variant)| {
            let mut earlier = self.variants[..*index].iter();
            !variant.is_added && earlier.any(|other| other.step == variant.step)
        });
        compared.count()
    }

    /// Returns the variant without faults with which `variant` is compared, if the study requests
    /// that comparison. It is the first variant that has the same settings except for the faults.
    pub fn without_faults(&self, variant: &Variant) -> Option<&Variant> {
        if !self.repeat.without_faults || variant.settings.faults.is_empty() {
            return None;
        }
        let same = variant.settings.without_faults();
        self.variants.iter().find(|other| {
            other.settings.faults.is_empty() && other.settings.without_faults() == same
        })
    }
}

/// Changes that the command line makes to a study.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Target that replaces the target of the study: `null`, `local` or `attach:HOST[:PORT]`.
    pub target: Option<String>,
    /// Name of the requested scale.
    pub scale: Option<String>,
    /// Arguments of `--set`, each in the form `dotted.path=value`, in order.
    pub set: Vec<String>,
    /// Seed that replaces the seed of the study.
    pub seed: Option<u64>,
    /// Texts of the files that the workloads of the study name. The keys are the names of the
    /// files.
    pub inputs: BTreeMap<String, String>,
    /// Recorded traffic that has already been read. Its digest is among the inputs.
    pub recordings: Recordings,
    /// Folder from which cassay may read other files. `None` if it may not read other files.
    pub files: Option<Folder>,
    /// Registry that cassay queries for releases that are not in its own list.
    pub registry: Registry,
    /// The command that defines the study, such as `cassay stress write n=1M`. `None` if the study
    /// comes from a file.
    pub command: Option<String>,
    /// Permissions that the user grants to the study.
    pub granted: GrantedPermissions,
    /// True if all of these settings come from the record of a run, whose author may be unknown.
    pub recorded: bool,
}

/// Permissions that only the command line can grant to a study. The record of a run cannot grant
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrantedPermissions {
    /// True if the user trusts the author of the study. The study may then run programs, load code,
    /// and read secrets anywhere.
    pub trust: bool,
    /// Sources of the secrets that the study names, by the name of the secret.
    pub secrets: BTreeMap<String, SecretSource>,
    /// Changes that cassay may make to a cluster that it did not start.
    pub allow: Allow,
}

/// Folder from which cassay reads the files of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Path of the folder. Relative names are resolved against this path.
    pub path: PathBuf,
    /// True if names may lead outside the folder. This is false for the names in a study. The study
    /// may come from an unknown author, and the report shows the files that the study reads.
    pub open: bool,
}

/// A side of a comparison.
#[derive(Clone, Debug)]
pub struct Variant {
    pub name: VariantName,
    /// Name of the step, if the variant is a step of an import. `None` for other variants.
    pub step: Option<String>,
    /// Index of the variant's value on each axis of a matrix or screening. Empty for other studies.
    pub cell: Vec<usize>,
    /// True if cassay added the variant so that another variant can be compared with it. The added
    /// variant has the same settings without the faults, and is not a side of the comparison.
    pub is_added: bool,
    pub settings: Settings,
    /// The settings of the variant as a tree, for `plan.json`.
    pub tree: Tree,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The system under test.
    pub target: Target,
    /// Keyspace of the workload's tables.
    pub keyspace: Keyspace,
    /// Workload of the study.
    pub workload: Workload,
    /// Settings of the data that a trial begins with.
    pub data: Data,
    /// The procedure that determines the points to measure. The points of an imported step come
    /// from its command line.
    pub procedure: Procedure,
    /// True if the arrivals of operations at a rate form a Poisson process.
    pub poisson: bool,
    /// Lengths of the warm-up and of the measured window.
    pub window: Window,
    /// Settings of the load generator.
    pub client: Client,
    /// Settings for verifying the responses to reads.
    pub verify: Verify,
    /// Probes that run during a trial. `None` if no probe runs.
    pub probes: Option<Probes>,
    /// Faults that occur during the measured window.
    pub faults: Vec<StudyFault>,
    /// Requirements that the variant must meet.
    pub require: Require,
    /// Limits that end the load to protect its target.
    pub guard: Guard,
    /// Price of the target. `None` if the study does not state a price.
    pub price: Option<Price>,
    /// Settings that differ during loading and settling. `None` if the study has no such settings.
    pub load_phase: Option<Box<Phase>>,
}

/// The target and the keyspace during a part of a trial. The target differs from the variant's
/// target only in settings that a restart of the nodes can change. The keyspace differs only in the
/// options of its tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// The system under test during this part of the trial.
    pub target: Target,
    /// The keyspace during this part of the trial.
    pub keyspace: Keyspace,
}

impl Phase {
    /// Returns true if at least one setting of the phase differs from the settings for the rest of
    /// a trial.
    pub fn differs_from(&self, settings: &Settings) -> bool {
        self.target != settings.target || self.keyspace != settings.keyspace
    }
}

impl Settings {
    /// Returns true if the study uses tables of an attached cluster unchanged. In this case, no
    /// step creates, loads or resets them.
    pub fn takes_as_it_is(&self) -> bool {
        self.data.is_present() && matches!(self.target, Target::Attach(_))
    }

    /// Returns the length of the window of a trial with this role, in ns.
    pub fn window_ns(&self, role: Role) -> u64 {
        self.procedure.window_ns(role, self.window.measure_ns)
    }

    /// Returns the target during loading. A trial that must load data starts with this target.
    pub fn load_target(&self) -> &Target {
        self.load_phase.as_ref().map_or(&self.target, |phase| &phase.target)
    }

    /// Returns these settings without faults and without requirements.
    pub fn without_faults(&self) -> Settings {
        let mut settings = self.clone();
        settings.faults.clear();
        settings.require = Require::default();
        settings
    }

    /// Returns these settings with `rows` rows. Callers use it with the number of rows that a load
    /// in bytes actually wrote.
    pub fn with_rows(&self, rows: u64) -> Settings {
        let mut settings = self.clone();
        settings.data.load_rows = rows;
        settings.data.rows = rows;
        settings.verify.sample = settings.verify.sample.limited_to(rows);
        settings
    }

    /// Returns the keyspace during loading.
    pub fn load_keyspace(&self) -> &Keyspace {
        self.load_phase.as_ref().map_or(&self.keyspace, |phase| &phase.keyspace)
    }
}

/// The operations that clients send to the target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    pub name: String,
    /// Weight of each kind of operation. If the list is empty, the workload's own weights apply.
    pub mix: Vec<(String, f64)>,
    /// Parameters of the workload, as written in the study.
    pub params: Vec<(String, Tree)>,
    /// Changes to kinds of operations, in the order in which they are applied. Later changes take
    /// precedence. `*` means all kinds.
    pub tunings: Vec<(String, Tuning)>,
    /// Path of a workload file. `None` for other workloads.
    pub file: Option<String>,
    /// Command lines of another tool. `None` for other workloads.
    pub import: Option<ImportedCommands>,
    /// An existing table that is used unchanged. `None` for other workloads.
    pub table: Option<OwnTable>,
    /// Traffic that Cassandra has recorded. `None` for other workloads.
    pub recorded: Option<RecordedTraffic>,
}

/// Command lines of another tool that run in sequence, and the selected step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedCommands {
    /// Tool to which the command lines belong.
    pub tool: Tool,
    /// Command lines without the name of the tool. The list contains at least one command line.
    pub commands: Vec<String>,
    /// Index of the selected step among the steps of all command lines.
    pub step: usize,
    /// Number of workers of each client, if every client processes its own part of a command's
    /// range. If the list is empty, all clients process the range together.
    pub range_workers: Vec<u64>,
}

/// Lengths of the warm-up and of the measured window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Length of the warm-up before the measured window.
    pub warmup: Warmup,
    /// Warm-up before the first window after node processes have started, in ns. `None` if the
    /// warm-up before the other windows has the same length.
    pub first_warmup_ns: Option<u64>,
    /// Length of the measured window, in ns.
    pub measure_ns: u64,
    /// Time between the end of the last fault and the end of the window, in ns. `None` if the
    /// window ends after `measure_ns`.
    pub after_faults_ns: Option<u64>,
}

impl Window {
    /// Returns the warm-up before a window. `is_first` is true if the window is the first window
    /// after the node processes have started.
    pub fn warmup_of(&self, is_first: bool) -> Warmup {
        match (self.first_warmup_ns, self.warmup) {
            (Some(first_ns), Warmup::Fixed(ns)) if is_first => Warmup::Fixed(first_ns.max(ns)),
            (Some(first_ns), Warmup::Auto(_)) if is_first => Warmup::Fixed(first_ns),
            (_, warmup) => warmup,
        }
    }
}

/// Length of the warm-up before the measured window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// The warm-up lasts until throughput is steady, but at most for this time, in ns.
    Auto(u64),
    /// The warm-up lasts for a fixed time, in ns.
    Fixed(u64),
}

/// Experiments that test the cause of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Why {
    /// Maximum expected length of all experiments together, in minutes.
    pub minutes: u64,
}

/// Tuning of the settings of a screening.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tune {
    /// Maximum expected length of all tests together, in minutes.
    pub minutes: u64,
    /// Upper bound of p99 with the changed settings, in ms. `None` without a bound.
    pub p99_ms: Option<f64>,
}

/// Maximum expected length of a tuning in minutes, if the study does not state a length.
pub const TUNE_MINUTES: u64 = 60;

impl Default for Tune {
    fn default() -> Tune {
        Tune {
            minutes: TUNE_MINUTES,
            p99_ms: None,
        }
    }
}

/// Maximum expected length of all experiments in minutes, if the study does not state a length.
pub const WHY_MINUTES: u64 = 10;

impl Default for Why {
    fn default() -> Why {
        Why {
            minutes: WHY_MINUTES,
        }
    }
}

/// Repetitions of each trial, and their order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Repeat {
    /// Maximum number of blocks.
    pub blocks: usize,
    /// Number of blocks after which the primary comparison may end the run. `None` if all blocks
    /// are always measured.
    pub first_look: Option<usize>,
    /// True if variants take turns.
    pub interleaved: bool,
    /// Difference that the study should be able to detect, as a share.
    pub detect: Option<f64>,
    /// True if variants with faults are also measured without the faults, in the same blocks.
    pub without_faults: bool,
}

impl Repeat {
    /// Returns true if a block is measured regardless of the results. This is always true
    /// for an added block.
    pub fn is_certain(&self, block: BlockIndex) -> bool {
        let least = self.first_look.unwrap_or(self.blocks);
        block.0 < least || block.0 >= self.blocks
    }
}

/// The primary comparison, which keeps its full error level. All other comparisons are adjusted for
/// multiple testing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Primary {
    /// Metric of the primary comparison.
    pub metric: PrimaryMetric,
    /// Value of the point on the load axis. `None` if cassay chooses the point from the results.
    pub point: Option<f64>,
}

/// Metric of the primary comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrimaryMetric {
    /// The metric is throughput in a closed loop, and p99 at a fixed rate.
    #[default]
    Auto,
    /// The metric has this name in records.
    Named(&'static str),
}

/// Price of a target per hour.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Price {
    /// Amount of money per hour.
    pub per_hour: f64,
    /// Currency of the price. `None` if the study does not state a currency.
    pub currency: Option<String>,
}

/// A demand for which cassay computes the number of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Capacity {
    /// Total demand in operations per second.
    pub ops_per_s: f64,
    /// Upper bound on p99 latency, in ms.
    pub p99_ms: f64,
    /// Number of nodes that may fail at the same time.
    pub failures: u64,
    /// Expected growth of the demand, as a share.
    pub growth: f64,
    /// Load of the busiest node ÷ mean load of a node.
    pub skew: f64,
}

/// Settings for verifying the responses to reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verify {
    /// The client verifies every n-th read of the measured window. `None` if it does not verify
    /// reads.
    pub every_nth: Option<u32>,
    /// Rows that are read back after each trial.
    pub sample: Sample,
    /// Consistency level of reading back. If it is `None`, cassay reads a sample at the level of
    /// the workload's reads. It reads all rows at the weakest level that must return every
    /// acknowledged write.
    pub consistency: Option<Consistency>,
}

/// Rows that are read back after a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// cassay reads back this number of loaded rows.
    Rows(u64),
    /// cassay reads back all rows that were written.
    All,
}

impl Default for Sample {
    fn default() -> Sample {
        Sample::Rows(0)
    }
}

impl Sample {
    /// Returns true if the study requests reading rows back.
    pub fn is_asked(self) -> bool {
        self != Sample::Rows(0)
    }

    /// Returns the number of rows to read back, if `loaded` rows exist.
    pub fn rows(self, loaded: u64) -> u64 {
        match self {
            Sample::Rows(rows) => rows.min(loaded),
            Sample::All => loaded,
        }
    }

    pub(crate) fn limited_to(self, loaded: u64) -> Sample {
        match self {
            Sample::Rows(rows) => Sample::Rows(rows.min(loaded)),
            Sample::All => Sample::All,
        }
    }
}

/// With `reads: sampled`, the client verifies every 16th read. A comparison takes a few µs, so the
/// average cost per read is less than a tenth of an operation. If 1 % of the reads return a wrong
/// row, the client finds one within 2000 reads.
pub(crate) const SAMPLED_NTH: u32 = 16;

/// Number of rows from which operations choose if a study does not load rows and only writes. It is
/// the default population of cassandra-stress.
pub const ROWS_UNLOADED: u64 = 1_000_000;

/// Maximum number of points of a range. The number is limited because each point takes one window.
/// A range without an end stops at this number of points. cassay refuses a range with a stated end
/// that has more points.
pub const LADDER_POINTS_MAX: usize = 32;
