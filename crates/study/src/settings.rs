//! A study whose mistakes are gone: every setting has its type, nothing is optional without need.
//!
//! Made of a checked [`Tree`] by the rows of the table in [`crate::format`]; what the table cannot
//! say (settings that contradict each other) is judged in [`crate::rules`].

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
mod published;
mod recorded;
mod registry;
mod require;
mod secrets;

pub use self::draft::Draft;
pub(crate) use attached::HostsDraft;
pub use axes::{Axis, ScaleUp};
pub use client::{Client, ClientPods, Machine, Priority, Split};
pub use data::{Data, Load, PageCache, Reset, RestoreMethod, Settle};
pub use faults::Fault;
pub(crate) use faults::{FAULTS_MAX, FaultDraft, FaultTargets, FaultWhere};
pub use guard::{Guard, GuardLimits, Guarded};
pub use keyspace::{Keyspace, Replication};
pub use own_table::{KEYS_DEFAULT, KEYS_MAX, KEYS_PER_S_DEFAULT, OwnTable};
pub use probes::{Import, PERIOD_NS, Probes};
pub use published::{Failure, Figure, Published, Ratio};
pub use recorded::{Recorded, Recordings};
pub use registry::Registry;
pub use require::{Require, Untold, Where};
pub(crate) use secrets::{secret_kind, secret_of};

use crate::tree::Tree;
use analysis::VariantName;
use analysis::procedure::{Procedure, Role};
use cql::Consistency;
use imports::Tool;
use std::collections::BTreeMap;
use std::path::PathBuf;
use target::{Allow, SecretSource, Target};
use workload::Tuning;

/// A study, resolved.
#[derive(Clone, Debug)]
pub struct Study {
    /// Its name.
    pub name: String,
    /// The question, in words.
    pub question: String,
    /// The file of published figures, and what is in it.
    pub published: Option<(String, Published)>,
    /// Seed of all that is random.
    pub seed: u64,
    /// The sides of the comparison; one without a name if the study has none. The first is the
    /// baseline.
    pub variants: Vec<Variant>,
    /// The axes of the matrix that the variants are the cells of, or the settings of a screening;
    /// else empty.
    pub axes: Vec<Axis>,
    /// The design of the screening that the variants are the runs of; then the axes are its
    /// settings, and the first variant is none of its runs.
    pub screen: Option<analysis::screen::Design>,
    /// What it makes of more and more of its machine; none: that is not asked.
    pub scale_up: Option<ScaleUp>,
    /// The demand that nodes are planned for; none: it is not asked.
    pub capacity: Option<Capacity>,
    /// How often each trial is repeated.
    pub repeat: Repeat,
    /// Blocks that were added to a run which had come to its end, each time so many.
    pub added: Vec<usize>,
    /// What the question is about.
    pub primary: Primary,
    /// What the study's text is called: its path.
    pub source: String,
    /// The study's text as it was written.
    pub text: String,
    /// What the command line changed.
    pub overrides: Overrides,
    /// What was adapted, and what imports do differently here: a sentence each.
    pub notes: Vec<String>,
    /// The files that its workloads name, with their contents as they were read; of recorded
    /// traffic a digest.
    pub inputs: BTreeMap<String, String>,
    /// The recorded traffic that its workloads name.
    pub recordings: Recordings,
}

impl Study {
    /// How often everything is measured at most, with what was added.
    pub fn blocks(&self) -> usize {
        self.repeat.blocks + self.added.iter().sum::<usize>()
    }

    /// The names of its variants, in order.
    pub fn names(&self) -> Vec<&VariantName> {
        self.variants.iter().map(|variant| &variant.name).collect()
    }

    /// How many variants are compared with another.
    pub fn contenders(&self) -> usize {
        let variants = self.variants.iter().enumerate();
        let compared = variants.filter(|(index, variant)| {
            let mut earlier = self.variants[..*index].iter();
            !variant.is_added && earlier.any(|other| other.step == variant.step)
        });
        compared.count()
    }

    /// What a variant with faults is measured against, if the study asks for that: the first one
    /// that is the same but for them.
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

/// What the command line changes in a study.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `null`, `local` or `attach:HOST[:PORT]`, instead of the study's target.
    pub target: Option<String>,
    /// Name of the scale.
    pub scale: Option<String>,
    /// `dotted.path=value`, in order.
    pub set: Vec<String>,
    /// Seed, instead of the study's.
    pub seed: Option<u64>,
    /// Files that the study's workloads name, by the names they give.
    pub inputs: BTreeMap<String, String>,
    /// Recorded traffic that was read before, of which a digest is among the files.
    pub recordings: Recordings,
    /// Where other files are read from; none: nowhere.
    pub files: Option<Folder>,
    /// Who is asked for releases that no list here has.
    pub registry: Registry,
    /// The command that made the study, where it was no file: `cassay stress write n=1M`.
    pub command: Option<String>,
    /// What the study is granted.
    pub granted: Granted,
    /// Whether all this is read from a run's record, which may be a stranger's like its study.
    pub recorded: bool,
}

/// What only the command line can grant a study, and no record of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// Whether the study may do what only its author's word makes harmless: run programs, load
    /// code, read secrets anywhere.
    pub trust: bool,
    /// Where the secrets are that the study has names for.
    pub secrets: BTreeMap<String, SecretSource>,
    /// What may be done to a cluster that cassay did not start.
    pub allow: Allow,
}

/// Where the files that a workload names are read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// The folder that relative names begin in.
    pub path: PathBuf,
    /// Whether names may lead out of it. Those of a study may not: it can come from a stranger,
    /// and what it reads is shown in the report.
    pub open: bool,
}

/// One side of a comparison.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Its name.
    pub name: VariantName,
    /// The step of an import that it is, by the step's name.
    pub step: Option<String>,
    /// Of a matrix or screening, the number of its value on each axis; else empty.
    pub cell: Vec<usize>,
    /// Whether it is no side of the comparison, but what another one is measured against: the same
    /// without its faults.
    pub is_added: bool,
    /// All its settings.
    pub settings: Settings,
    /// The same as a tree, for `plan.json`.
    pub tree: Tree,
}

/// Every setting of one variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The system under test.
    pub target: Target,
    /// The keyspace.
    pub keyspace: Keyspace,
    /// What is asked of the target.
    pub workload: Workload,
    /// The state of the data.
    pub data: Data,
    /// Where is measured. That of an imported step comes from its command line.
    pub procedure: Procedure,
    /// Whether arrivals of a rate are a Poisson process.
    pub poisson: bool,
    /// How long is measured.
    pub window: Window,
    /// The instrument.
    pub client: Client,
    /// Whether answers are right.
    pub verify: Verify,
    /// What else is read while a trial runs; none: nothing.
    pub probes: Option<Probes>,
    /// What is broken on purpose while load is measured.
    pub faults: Vec<Fault>,
    /// What is required of it.
    pub require: Require,
    /// When the load is ended because of what it does to its target.
    pub guard: Guard,
    /// What an hour of its target costs; none: it is not said.
    pub price: Option<Price>,
    /// What is different while the data is loaded and settled; none: nothing.
    pub load_phase: Option<Box<Phase>>,
}

/// The target and the keyspace of a part of a trial. Of the target only what a restart of the nodes
/// can change differs from the variant's, of the keyspace only the options of its tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// The system under test.
    pub target: Target,
    /// The keyspace.
    pub keyspace: Keyspace,
}

impl Phase {
    /// Whether anything in it is not as the settings have it for the rest of a trial.
    pub fn differs_from(&self, settings: &Settings) -> bool {
        self.target != settings.target || self.keyspace != settings.keyspace
    }
}

impl Settings {
    /// Whether tables of a cluster that is not ours are taken as they are: nothing makes, loads or
    /// resets them.
    pub fn takes_as_it_is(&self) -> bool {
        self.data.is_present() && matches!(self.target, Target::Attach(_))
    }

    /// How long the window of a trial is that is measured for this, ns.
    pub fn window_ns(&self, role: Role) -> u64 {
        self.procedure.window_ns(role, self.window.measure_ns)
    }

    /// The target while data is loaded: the one to start with when data has to be loaded.
    pub fn load_target(&self) -> &Target {
        self.load_phase.as_ref().map_or(&self.target, |phase| &phase.target)
    }

    /// The same with nothing broken, and with nothing required of it.
    pub fn without_faults(&self) -> Settings {
        let mut settings = self.clone();
        settings.faults.clear();
        settings.require = Require::default();
        settings
    }

    /// The same with so many rows: what a load of an amount of bytes came to.
    pub fn with_rows(&self, rows: u64) -> Settings {
        let mut settings = self.clone();
        settings.data.load_rows = rows;
        settings.data.rows = rows;
        settings.verify.sample = settings.verify.sample.of_at_most(rows);
        settings
    }

    /// The keyspace while data is loaded.
    pub fn load_keyspace(&self) -> &Keyspace {
        self.load_phase.as_ref().map_or(&self.keyspace, |phase| &phase.keyspace)
    }
}

/// What is asked of the target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// Name of the workload.
    pub name: String,
    /// Weights by kind; empty: the workload's own.
    pub mix: Vec<(String, f64)>,
    /// The parameters as they were written.
    pub params: Vec<(String, Tree)>,
    /// What is changed about kinds, under `*` about all of them; later ones win.
    pub tunings: Vec<(String, Tuning)>,
    /// Path of an own workload file.
    pub file: Option<String>,
    /// Command lines of another tool.
    pub import: Option<Imported>,
    /// A table that is there, and read as it is.
    pub table: Option<OwnTable>,
    /// Traffic that Cassandra has recorded.
    pub recorded: Option<Recorded>,
}

/// Command lines of another tool, one after the other, and which of their steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The tool.
    pub tool: Tool,
    /// Its command lines, without its own name; at least one.
    pub commands: Vec<String>,
    /// Number of the step among those of all of them, from 0.
    pub step: usize,
    /// The workers of each client, where each walks a part of a command's range of its own; empty:
    /// all walk through it together.
    pub range_workers: Vec<u64>,
}

/// How long is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Time before the measured window.
    pub warmup: Warmup,
    /// Length of the measured window, ns.
    pub measure_ns: u64,
}

/// Time before the measured window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// Until steady, at most this long, ns.
    Auto(u64),
    /// This long, ns.
    Fixed(u64),
}

/// How often each trial is repeated, and in which order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Repeat {
    /// How often everything is measured, at most.
    pub blocks: usize,
    /// From how many blocks on the primary comparison may end it; none: all are measured.
    pub first_look: Option<usize>,
    /// Whether variants take turns.
    pub interleaved: bool,
    /// The difference that the study is to find, as a share.
    pub detect: Option<f64>,
    /// Whether what has faults is measured without them too, in the same blocks.
    pub without_faults: bool,
}

impl Repeat {
    /// Whether a block, from 0, is measured whatever is found: one that was added is.
    pub fn is_certain(&self, block: usize) -> bool {
        let least = self.first_look.unwrap_or(self.blocks);
        block < least || block >= self.blocks
    }
}

/// The one comparison that keeps its whole level; all others are adjusted for their number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Primary {
    /// Of which metric.
    pub metric: PrimaryMetric,
    /// At which value of the axis; none: see `summary::compared`.
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

/// What an hour of a target costs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Price {
    /// How much.
    pub per_hour: f64,
    /// Of what; empty: it is not said.
    pub currency: Option<String>,
}

/// A demand that nodes are planned for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Capacity {
    /// Operations per second in all.
    pub ops_per_s: f64,
    /// The most that p99 may be, ms.
    pub p99_ms: f64,
    /// Nodes that may be lost together.
    pub failures: u64,
    /// Growth on top, as a share.
    pub growth: f64,
    /// Load of the busiest node ÷ mean load of a node.
    pub skew: f64,
}

/// Whether answers are right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verify {
    /// Every n-th read of the measured window is compared; none: no read.
    pub every_nth: Option<u32>,
    /// Rows read back after each trial.
    pub sample: Sample,
    /// At which level; none: that of the workload's reads for a sample, and for all rows the
    /// weakest that must see what was acknowledged.
    pub consistency: Option<Consistency>,
}

/// Rows that are read back after a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// So many of those that were loaded.
    Rows(u64),
    /// All that were written.
    All,
}

impl Default for Sample {
    fn default() -> Sample {
        Sample::Rows(0)
    }
}

impl Sample {
    /// Whether any row is read back.
    pub fn is_asked(self) -> bool {
        self != Sample::Rows(0)
    }

    /// How many, where `loaded` are there.
    pub fn rows(self, loaded: u64) -> u64 {
        match self {
            Sample::Rows(rows) => rows.min(loaded),
            Sample::All => loaded,
        }
    }

    /// The same, but of no more rows than are loaded.
    pub(crate) fn of_at_most(self, loaded: u64) -> Sample {
        match self {
            Sample::Rows(rows) => Sample::Rows(rows.min(loaded)),
            Sample::All => Sample::All,
        }
    }
}

/// Every 16th read is compared with `reads: sampled`: at a few µs a comparison it stays below a
/// tenth of the cost of an operation, and a wrong row in 1 % of the reads is seen within 2000.
pub(crate) const SAMPLED_NTH: u32 = 16;

/// Rows to choose among when a study loads nothing and only writes: cassandra-stress's default
/// population.
pub const ROWS_UNLOADED: u64 = 1_000_000;

/// A range has this many points at most, since each takes a window: one without an end stops there,
/// one with an end is refused.
pub const LADDER_POINTS_MAX: usize = 32;
