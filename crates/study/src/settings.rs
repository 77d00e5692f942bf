//! A study without mistakes: every setting has its type, and is optional only where it has to be.
//!
//! It is built from a checked [`Tree`] by the rows of the table in [`crate::format`].
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
pub use faults::StudyFault;
pub(crate) use faults::{FAULTS_MAX, FaultDraft, FaultTargets, FaultWhere};
pub use guard::{Guard, GuardLimits, GuardedClusters};
pub use keyspace::{Keyspace, Replication};
pub use own_table::{KEYS_DEFAULT, KEYS_MAX, KEYS_PER_S_DEFAULT, OwnTable};
pub use probes::{Import, PERIOD_NS, Probes};
pub use published_figures::{Failure, Figure, PublishedFile, Ratio};
pub use recorded_traffic::{RecordedTraffic, Recordings};
pub use registry::Registry;
pub use require::{IfInconclusive, Require, Where};
pub(crate) use secrets::{secret_kind, secret_of};

use crate::checked_tree::Tree;
use analysis::VariantName;
use analysis::procedure::{Procedure, Role};
use cql::Consistency;
use imports::Tool;
use std::collections::BTreeMap;
use std::path::PathBuf;
use target_spec::{Allow, SecretSource, Target};
use workload::Tuning;

/// A study, resolved.
#[derive(Clone, Debug)]
pub struct Study {
    /// Name of the study.
    pub name: String,
    /// The question, in words.
    pub question: String,
    /// The file of published figures, and its content.
    pub published: Option<(String, PublishedFile)>,
    /// Seed of all random choices.
    pub seed: u64,
    /// The sides of the comparison; a single unnamed one if the study has none. The first is the
    /// baseline.
    pub variants: Vec<Variant>,
    /// The axes of the matrix whose cells are the variants, or the settings of a screening;
    /// otherwise empty.
    pub axes: Vec<Axis>,
    /// The design of the screening whose runs are the variants. Then the axes are its settings, and
    /// the first variant is not one of its runs.
    pub screen: Option<analysis::screening::Design>,
    /// The scale-up that the study asks about, if any.
    pub scale_up: Option<ScaleUp>,
    /// The demand for which nodes are planned, if the study asks for it.
    pub capacity: Option<Capacity>,
    /// Repetitions of each trial.
    pub repeat: Repeat,
    /// Numbers of blocks, one for each time that blocks were added to a finished run.
    pub added: Vec<usize>,
    /// The primary comparison.
    pub primary: Primary,
    /// Path of the study's text.
    pub source: String,
    /// The study's text as written.
    pub text: String,
    /// Changes from the command line.
    pub overrides: Overrides,
    /// Adapted settings and differences of imports, a sentence each.
    pub notes: Vec<String>,
    /// The files that its workloads name, with their contents as they were read; for recorded
    /// traffic a digest.
    pub inputs: BTreeMap<String, String>,
    /// Recorded traffic that its workloads name.
    pub recordings: Recordings,
}

impl Study {
    /// Returns the maximum number of blocks, including added ones.
    pub fn blocks(&self) -> usize {
        self.repeat.blocks + self.added.iter().sum::<usize>()
    }

    /// Returns the names of its variants, in order.
    pub fn names(&self) -> Vec<&VariantName> {
        self.variants.iter().map(|variant| &variant.name).collect()
    }

    /// Returns the number of variants that are compared with an earlier one.
    pub fn contenders(&self) -> usize {
        let variants = self.variants.iter().enumerate();
        let compared = variants.filter(|(index, variant)| {
            let mut earlier = self.variants[..*index].iter();
            !variant.is_added && earlier.any(|other| other.step == variant.step)
        });
        compared.count()
    }

    /// Returns the variant that a variant with faults is compared with, if the study asks for that:
    /// the first one with the same settings except for faults.
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

/// Changes of the command line to a study.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `null`, `local` or `attach:HOST[:PORT]`, instead of the study's target.
    pub target: Option<String>,
    /// Name of the requested scale.
    pub scale: Option<String>,
    /// Arguments of `--set`, `dotted.path=value`, in order.
    pub set: Vec<String>,
    /// Seed that replaces the study's.
    pub seed: Option<u64>,
    /// Texts of files that the study's workloads name, by these names.
    pub inputs: BTreeMap<String, String>,
    /// Recorded traffic that was read before; its digest is among the files.
    pub recordings: Recordings,
    /// Folder that other files are read from; `None` if no other file may be read.
    pub files: Option<Folder>,
    /// Registry that is asked for releases that are in no list of this program.
    pub registry: Registry,
    /// The command that made the study, if it was not a file: `cassay stress write n=1M`.
    pub command: Option<String>,
    /// Permissions of the study.
    pub granted: GrantedPermissions,
    /// True if all this is read from a run's record, which may be a stranger's, like its study.
    pub recorded: bool,
}

/// Permissions that only the command line can give to a study, and no record of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrantedPermissions {
    /// True if the author is trusted: the study may run programs, load code, and read secrets
    /// anywhere.
    pub trust: bool,
    /// Sources of the secrets that the study has names for.
    pub secrets: BTreeMap<String, SecretSource>,
    /// Permitted changes to a cluster that cassay did not start.
    pub allow: Allow,
}

/// Folder that the files of a workload are read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Path that relative names are resolved against.
    pub path: PathBuf,
    /// True if names may lead out of it. A study's names may not: it can come from a stranger, and
    /// the report shows what it reads.
    pub open: bool,
}

/// One side of a comparison.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Name of the variant.
    pub name: VariantName,
    /// Name of the import's step that it is, if any.
    pub step: Option<String>,
    /// For a matrix or screening, the index of its value on each axis; otherwise empty.
    pub cell: Vec<usize>,
    /// True if it is not a side of the comparison, but was added to compare another one with: the
    /// same without its faults.
    pub is_added: bool,
    /// All its settings.
    pub settings: Settings,
    /// The same settings as a tree, for `plan.json`.
    pub tree: Tree,
}

/// Every setting of one variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The system under test.
    pub target: Target,
    /// The keyspace.
    pub keyspace: Keyspace,
    /// The workload.
    pub workload: Workload,
    /// The state of the data.
    pub data: Data,
    /// The points to measure. For an imported step they come from its command line.
    pub procedure: Procedure,
    /// True if arrivals at a rate are a Poisson process.
    pub poisson: bool,
    /// Lengths of warm-up and window.
    pub window: Window,
    /// The instrument.
    pub client: Client,
    /// Checks of the answers.
    pub verify: Verify,
    /// Probes that run during a trial; `None` if there are none.
    pub probes: Option<Probes>,
    /// Faults during the measured window.
    pub faults: Vec<StudyFault>,
    /// Requirements of the variant.
    pub require: Require,
    /// Limits at which the load ends to protect its target.
    pub guard: Guard,
    /// Price of the target; `None` if the study has none.
    pub price: Option<Price>,
    /// Settings that differ while the data is loaded and settled; `None` if none differ.
    pub load_phase: Option<Box<Phase>>,
}

/// The target and the keyspace of a part of a trial. The target differs from the variant's only in
/// what a restart of the nodes can change, the keyspace only in the options of its tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// The system under test.
    pub target: Target,
    /// The keyspace.
    pub keyspace: Keyspace,
}

impl Phase {
    /// Returns true if anything in it differs from the settings for the rest of a trial.
    pub fn differs_from(&self, settings: &Settings) -> bool {
        self.target != settings.target || self.keyspace != settings.keyspace
    }
}

impl Settings {
    /// Returns true if tables of an attached cluster are used unchanged: no step creates, loads or
    /// resets them.
    pub fn takes_as_it_is(&self) -> bool {
        self.data.is_present() && matches!(self.target, Target::Attach(_))
    }

    /// Returns the length of the window of a trial with this role, ns.
    pub fn window_ns(&self, role: Role) -> u64 {
        self.procedure.window_ns(role, self.window.measure_ns)
    }

    /// Returns the target while data is loaded. A trial starts with it if data has to be loaded.
    pub fn load_target(&self) -> &Target {
        self.load_phase.as_ref().map_or(&self.target, |phase| &phase.target)
    }

    /// Returns the same settings without faults and without requirements.
    pub fn without_faults(&self) -> Settings {
        let mut settings = self.clone();
        settings.faults.clear();
        settings.require = Require::default();
        settings
    }

    /// Returns the same settings with `rows` rows, the actual result of a load given in bytes.
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
    /// Weights by kind; if empty, the workload's own.
    pub mix: Vec<(String, f64)>,
    /// Its parameters, as written.
    pub params: Vec<(String, Tree)>,
    /// Changes to kinds, in order of precedence: later ones win. `*` stands for all kinds.
    pub tunings: Vec<(String, Tuning)>,
    /// Path of a workload file.
    pub file: Option<String>,
    /// Command lines of another tool.
    pub import: Option<ImportedCommands>,
    /// An existing table that is read as it is.
    pub table: Option<OwnTable>,
    /// Traffic that Cassandra has recorded.
    pub recorded: Option<RecordedTraffic>,
}

/// Command lines of another tool, which run in sequence, and one of their steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedCommands {
    /// The tool.
    pub tool: Tool,
    /// Its command lines, without the tool's name; at least one.
    pub commands: Vec<String>,
    /// Index of the step among all steps.
    pub step: usize,
    /// The workers of each client, if each walks through its own part of a command's range. Empty
    /// if all walk through the range together.
    pub range_workers: Vec<u64>,
}

/// Lengths of warm-up and window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Time before the measured window.
    pub warmup: Warmup,
    /// Warm-up before the first window on node processes that have just started, ns; `None` if it
    /// is the same as before the others.
    pub first_warmup_ns: Option<u64>,
    /// Length of the measured window, ns.
    pub measure_ns: u64,
    /// Time that the window goes on after the end of its last fault, ns. `None` if it ends after
    /// `measure_ns`.
    pub after_faults_ns: Option<u64>,
}

impl Window {
    /// Returns the warm-up before a window; `is_first` if it is the first on its node processes.
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
    /// Until steady, at most this long, ns.
    Auto(u64),
    /// This long, ns.
    Fixed(u64),
}

/// Repetitions of each trial, and their order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Repeat {
    /// Maximum number of blocks.
    pub blocks: usize,
    /// Number of blocks after which the primary comparison may end the run; `None`: all are
    /// measured.
    pub first_look: Option<usize>,
    /// True if variants take turns.
    pub interleaved: bool,
    /// The difference that the study should detect, as a share.
    pub detect: Option<f64>,
    /// True if variants with faults are also measured without them, in the same blocks.
    pub without_faults: bool,
}

impl Repeat {
    /// Returns true if a block, from 0, is measured whatever the results are; an added block always
    /// is.
    pub fn is_certain(&self, block: usize) -> bool {
        let least = self.first_look.unwrap_or(self.blocks);
        block < least || block >= self.blocks
    }
}

/// The comparison that keeps its full level; all others are adjusted for multiple testing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Primary {
    /// Its metric.
    pub metric: PrimaryMetric,
    /// Its value on the axis; `None`: see `summary::compared`.
    pub point: Option<f64>,
}

/// A metric of [`Primary`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrimaryMetric {
    /// Throughput in a closed loop, p99 at a rate.
    #[default]
    Auto,
    /// By its name in records.
    Named(&'static str),
}

/// Price of a target for an hour.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Price {
    /// Amount for an hour.
    pub per_hour: f64,
    /// Currency, if stated.
    pub currency: Option<String>,
}

/// A demand for which nodes are planned.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Capacity {
    /// Operations per second in total.
    pub ops_per_s: f64,
    /// Upper bound on p99 latency, ms.
    pub p99_ms: f64,
    /// Number of nodes that may fail together.
    pub failures: u64,
    /// Growth on top of the demand, as a share.
    pub growth: f64,
    /// Load of the busiest node ÷ mean load of a node.
    pub skew: f64,
}

/// Checks of the answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verify {
    /// Every n-th read of the measured window is compared; `None`: no read is.
    pub every_nth: Option<u32>,
    /// Rows read back after each trial.
    pub sample: Sample,
    /// Consistency level; `None`: for a sample the level of the workload's reads, and for all rows
    /// the weakest that must see every acknowledged write.
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
    /// Returns true if any row is read back.
    pub fn is_asked(self) -> bool {
        self != Sample::Rows(0)
    }

    /// Returns the number of rows, if `loaded` rows are there.
    pub fn rows(self, loaded: u64) -> u64 {
        match self {
            Sample::Rows(rows) => rows.min(loaded),
            Sample::All => loaded,
        }
    }

    /// Returns the same, limited to the loaded rows.
    pub(crate) fn limited_to(self, loaded: u64) -> Sample {
        match self {
            Sample::Rows(rows) => Sample::Rows(rows.min(loaded)),
            Sample::All => Sample::All,
        }
    }
}

/// With `reads: sampled` every 16th read is compared. At a few µs each this costs less than a tenth
/// of an operation, and a wrong row in 1 % of the reads is seen within 2000.
pub(crate) const SAMPLED_NTH: u32 = 16;

/// Number of rows to choose from if a study loads nothing and only writes: cassandra-stress's
/// default population.
pub const ROWS_UNLOADED: u64 = 1_000_000;

/// Maximum number of points of a range, since each takes a window. A range without an end stops
/// there; one with a later end is refused.
pub const LADDER_POINTS_MAX: usize = 32;
