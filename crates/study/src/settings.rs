//! A study without mistakes: every setting has its type, and is optional only where it has to be.
//!
//! The settings are built from a checked [`Tree`] by the rows of the table in [`crate::format`].
//! [`crate::rules`] checks what the table cannot express, such as settings that contradict each
//! other.

mod attached;
mod axes;
mod client;
mod data;
pub(crate) mod draft;
mod faults;
mod fill;
mod guard;
mod keyspace;
mod own_cassandra;
mod own_table;
mod pods;
mod probes;
mod published_figures;
mod recorded_traffic;
mod registry;
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
pub use keyspace::{Keyspace, Replication};
pub use own_table::{KEYS_DEFAULT, KEYS_MAX, KEYS_PER_S_DEFAULT, OwnTable};
pub use probes::{Import, PERIOD_NS, Probes, Profile, ProfileEvent, ProfileEvery, ProfiledTrials};
pub use published_figures::{Failure, Figure, PublishedFile, Ratio};
pub use recorded_traffic::{RecordedTraffic, Recordings};
pub use registry::Registry;
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
    /// Name of the study.
    pub name: String,
    /// Text of the question.
    pub question: String,
    /// The file of published figures with its content.
    pub published: Option<(String, PublishedFile)>,
    /// Seed of all random choices.
    pub seed: u64,
    /// The sides of the comparison. If the study has no variants, it has a single unnamed side. The
    /// first side is the baseline.
    pub variants: Vec<Variant>,
    /// The axes of the matrix whose cells are the variants, or the settings of a screening. Empty
    /// for other studies.
    pub axes: Vec<Axis>,
    /// The design of the screening whose runs are the variants. In a screening, the axes are the
    /// settings of the screening, and the first variant is not one of its runs.
    pub screen: Option<analysis::screening::Design>,
    /// The scale-up in the study, if it has one.
    pub scale_up: Option<ScaleUp>,
    /// The demand for which nodes are planned, if the study requests a plan.
    pub capacity: Option<Capacity>,
    /// Repetitions of each trial.
    pub repeat: Repeat,
    /// Experiments that test the cause of a limit, after the trials. `None` if the study does not
    /// ask for them.
    pub why: Option<Why>,
    /// Numbers of added blocks, one number for each time that blocks were added to a finished run.
    pub added: Vec<usize>,
    /// The comparison that keeps its full error level.
    pub primary: Primary,
    /// Path of the study's text.
    pub source: String,
    /// The text of the study in its original form.
    pub text: String,
    /// Changes from the command line.
    pub overrides: Overrides,
    /// Adapted settings and differences of imports, with a sentence for each.
    pub notes: Vec<String>,
    /// The files that the workloads of the study name, with their contents at the time of reading.
    /// For recorded traffic, a digest.
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

    /// Returns the variant with which a variant with faults is compared, if the study requests that
    /// comparison. It is the first variant with the same settings except for faults.
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
    /// Target that replaces the study's: `null`, `local` or `attach:HOST[:PORT]`.
    pub target: Option<String>,
    /// Name of the requested scale.
    pub scale: Option<String>,
    /// Arguments of `--set`, each in the form `dotted.path=value`, in order.
    pub set: Vec<String>,
    /// Seed that replaces the seed of the study.
    pub seed: Option<u64>,
    /// Texts of the files that the workloads of the study name, by the names of the files.
    pub inputs: BTreeMap<String, String>,
    /// Recorded traffic that was read before. Its digest is among the inputs.
    pub recordings: Recordings,
    /// Folder from which other files are read. `None` if no other file may be read.
    pub files: Option<Folder>,
    /// Registry that is queried for releases that are not in a list of this program.
    pub registry: Registry,
    /// The command that defines the study, if it did not come from a file:
    /// `cassay stress write n=1M`.
    pub command: Option<String>,
    /// Permissions that the user grants to the study.
    pub granted: GrantedPermissions,
    /// True if all of these settings come from the record of a run, whose author may be a stranger.
    pub recorded: bool,
}

/// Permissions that only the command line can give to a study. The record of a run cannot give
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrantedPermissions {
    /// True if the author is trusted. The study may then run programs, load code, and read secrets
    /// anywhere.
    pub trust: bool,
    /// Sources of the secrets that the study names.
    pub secrets: BTreeMap<String, SecretSource>,
    /// Permitted changes to a cluster that cassay did not start.
    pub allow: Allow,
}

/// Folder from which the files of a workload are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Path against which relative names are resolved.
    pub path: PathBuf,
    /// True if names may lead outside the folder. This is false for the names in a study, because
    /// the study can come from a stranger, and the report shows the files that the study reads.
    pub open: bool,
}

/// A side of a comparison.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Name of the variant.
    pub name: VariantName,
    /// Name of the step of an import, if the variant is such a step.
    pub step: Option<String>,
    /// For a matrix or screening, the index of the variant's value on each axis. Otherwise empty.
    pub cell: Vec<usize>,
    /// True if the variant is not a side of the comparison, but was added so that another variant
    /// can be compared with it. The added variant has the same settings without the faults.
    pub is_added: bool,
    /// All settings of the variant.
    pub settings: Settings,
    /// The settings of the variant as a tree, for `plan.json`.
    pub tree: Tree,
}

/// All settings of a variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The system under test.
    pub target: Target,
    /// Keyspace of the workload's tables.
    pub keyspace: Keyspace,
    /// Workload of the study.
    pub workload: Workload,
    /// Settings of the data before a trial.
    pub data: Data,
    /// The procedure that determines the points to measure. For an imported step, the points come
    /// from its command line.
    pub procedure: Procedure,
    /// True if arrivals at a rate are a Poisson process.
    pub poisson: bool,
    /// Lengths of the warm-up and of the measured window.
    pub window: Window,
    /// Load generator of the study.
    pub client: Client,
    /// Checks of the answers.
    pub verify: Verify,
    /// Probes that run during a trial. `None` if no probe runs.
    pub probes: Option<Probes>,
    /// Faults during the measured window.
    pub faults: Vec<StudyFault>,
    /// Requirements of the variant.
    pub require: Require,
    /// Limits that end the load to protect its target.
    pub guard: Guard,
    /// Price of the target. `None` if the study states no price.
    pub price: Option<Price>,
    /// Settings that differ during loading and settling. `None` if none differ.
    pub load_phase: Option<Box<Phase>>,
}

/// The target and the keyspace of a part of a trial. The target differs from the variant's target
/// only in settings that a restart of the nodes can change. The keyspace differs only in the
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
    /// Returns true if tables of an attached cluster are used unchanged. In this case, no step
    /// creates, loads or resets them.
    pub fn takes_as_it_is(&self) -> bool {
        self.data.is_present() && matches!(self.target, Target::Attach(_))
    }

    /// Returns the length of the window of a trial with this role, in ns.
    pub fn window_ns(&self, role: Role) -> u64 {
        self.procedure.window_ns(role, self.window.measure_ns)
    }

    /// Returns the target while data is loaded. If a trial must load data, it starts with this
    /// target.
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

    /// Returns these settings with `rows` rows, which is the number that a load in bytes actually
    /// produced.
    pub fn with_rows(&self, rows: u64) -> Settings {
        let mut settings = self.clone();
        settings.data.load_rows = rows;
        settings.data.rows = rows;
        settings.verify.sample = settings.verify.sample.limited_to(rows);
        settings
    }

    /// Returns the keyspace while data is loaded.
    pub fn load_keyspace(&self) -> &Keyspace {
        self.load_phase.as_ref().map_or(&self.keyspace, |phase| &phase.keyspace)
    }
}

/// The operations that the target gets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// Name of the workload.
    pub name: String,
    /// Weights by kind. If empty, the weights of the workload apply.
    pub mix: Vec<(String, f64)>,
    /// Parameters of the workload as written.
    pub params: Vec<(String, Tree)>,
    /// Changes to kinds, in the order in which they are applied. Later changes take precedence. `*`
    /// means all kinds.
    pub tunings: Vec<(String, Tuning)>,
    /// Path of a workload file.
    pub file: Option<String>,
    /// Command lines of another tool.
    pub import: Option<ImportedCommands>,
    /// An existing table that is used unchanged.
    pub table: Option<OwnTable>,
    /// Traffic that Cassandra has recorded.
    pub recorded: Option<RecordedTraffic>,
}

/// Command lines of another tool, which run in sequence, and one of their steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedCommands {
    /// Tool to which the command lines belong.
    pub tool: Tool,
    /// Command lines of the tool, without the tool's name. The list contains at least one command
    /// line.
    pub commands: Vec<String>,
    /// Index of the step among the steps of all command lines.
    pub step: usize,
    /// The workers of each client, if every client processes its own part of the range of a
    /// command. If empty, all clients process the range together.
    pub range_workers: Vec<u64>,
}

/// Lengths of the warm-up and of the measured window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Time before the measured window.
    pub warmup: Warmup,
    /// Warm-up before the first window on node processes that have just started, in ns. `None` if
    /// it is the same as before the other windows.
    pub first_warmup_ns: Option<u64>,
    /// Length of the measured window, in ns.
    pub measure_ns: u64,
    /// Time between the end of the last fault and the end of the window, in ns. `None` if the
    /// window ends after `measure_ns`.
    pub after_faults_ns: Option<u64>,
}

impl Window {
    /// Returns the warm-up before a window. `is_first` is true if the window is the first one of
    /// its node processes.
    pub fn warmup_of(&self, is_first: bool) -> Warmup {
        match (self.first_warmup_ns, self.warmup) {
            (Some(first_ns), Warmup::Fixed(ns)) if is_first => Warmup::Fixed(first_ns.max(ns)),
            (Some(first_ns), Warmup::Auto(_)) if is_first => Warmup::Fixed(first_ns),
            (_, warmup) => warmup,
        }
    }
}

/// Time before the measured window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// The warm-up lasts until the throughput is steady, but at most this time, in ns.
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

/// Maximum expected length of all experiments if the study does not set one, in minutes.
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
    /// Number of blocks after which the primary comparison may end the run. `None` means that all
    /// blocks are measured.
    pub first_look: Option<usize>,
    /// True if variants take turns.
    pub interleaved: bool,
    /// Difference that the study should be able to detect, as a share.
    pub detect: Option<f64>,
    /// True if variants with faults are also measured without them, in the same blocks.
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

/// The comparison that keeps its full error level. All other comparisons are adjusted for multiple
/// testing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Primary {
    /// Metric of the primary comparison.
    pub metric: PrimaryMetric,
    /// Value of the point on the axis. For `None`, see `summary::compared`.
    pub point: Option<f64>,
}

/// A metric of [`Primary`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrimaryMetric {
    /// The metric is throughput in a closed loop, and p99 at a rate.
    #[default]
    Auto,
    /// The metric with this name in records.
    Named(&'static str),
}

/// Price of a target for an hour.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Price {
    /// Amount for an hour.
    pub per_hour: f64,
    /// Currency of the price, if stated.
    pub currency: Option<String>,
}

/// A demand for which the number of nodes is planned.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Capacity {
    /// Total demand in operations per second.
    pub ops_per_s: f64,
    /// Upper bound on p99 latency, in ms.
    pub p99_ms: f64,
    /// Number of nodes that may fail at the same time.
    pub failures: u64,
    /// Growth in addition to the demand, as a share.
    pub growth: f64,
    /// Load of the busiest node, divided by the mean load of a node.
    pub skew: f64,
}

/// Checks of the answers to reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verify {
    /// Every n-th read of the measured window is compared. `None` means that no read is compared.
    pub every_nth: Option<u32>,
    /// Rows that are read back after each trial.
    pub sample: Sample,
    /// Consistency level of reading back. With `None`, a sample uses the level of the reads in the
    /// workload, and all rows use the weakest level that must see every acknowledged write.
    pub consistency: Option<Consistency>,
}

/// Rows that are read back after a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// This number of loaded rows.
    Rows(u64),
    /// All rows that were written.
    All,
}

impl Default for Sample {
    fn default() -> Sample {
        Sample::Rows(0)
    }
}

impl Sample {
    /// Returns true if rows are read back.
    pub fn is_asked(self) -> bool {
        self != Sample::Rows(0)
    }

    /// Returns the number of rows that are read back, if `loaded` rows exist.
    pub fn rows(self, loaded: u64) -> u64 {
        match self {
            Sample::Rows(rows) => rows.min(loaded),
            Sample::All => loaded,
        }
    }

    /// Returns this setting, limited to the loaded rows.
    pub(crate) fn limited_to(self, loaded: u64) -> Sample {
        match self {
            Sample::Rows(rows) => Sample::Rows(rows.min(loaded)),
            Sample::All => Sample::All,
        }
    }
}

/// With `reads: sampled`, every 16th read is compared. A comparison takes a few µs, so the average
/// per read is less than a tenth of an operation. If 1 % of the reads return a wrong row, one is
/// found within 2000 reads.
pub(crate) const SAMPLED_NTH: u32 = 16;

/// Number of rows to choose from if a study loads no rows and only writes. This is the default
/// population of cassandra-stress.
pub const ROWS_UNLOADED: u64 = 1_000_000;

/// Maximum number of points of a range, since each point takes a window. A range without an end
/// stops at this number of points. cassay refuses a range whose end is beyond this number.
pub const LADDER_POINTS_MAX: usize = 32;
