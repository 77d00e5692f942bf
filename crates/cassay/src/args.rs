//! The command line.
//!
//! Long because every command and its options stand side by side, as the help shows them.

mod authoring;
mod bisect;
mod examples;
mod hosts;
mod secret_values;
mod ssh;
mod studies;
mod supply;
mod topology;
mod workload;

pub use authoring::{
    CompletionsArgs, DeleteArgs, ExplainArgs, ManArgs, NewArgs, SchemaArgs, SchemaOf, Shell,
};
pub use bisect::BisectArgs;
pub use examples::command;
pub use hosts::{HostsCommand, InsideArgs, KubernetesCommand, RbacArgs};
pub use secret_values::unseen;
pub use ssh::{BrokenArgs, CleanArgs, Elsewhere, MachineAt, SshArgs, WayInArgs};
pub use studies::{CopyArgs, DemoArgs, DemoTarget, PlanArgs, StudiesCommand};
pub use supply::{FetchArgs, SupplyCommand, SupplyExportArgs, SupplyImportArgs};
pub use topology::{
    ApplyArgs, ExportArgs, MachineArgs, PlacementArgs, PlacingArgs, ReadArgs, TopologyCommand,
};
pub use workload::{CheckArgs, RecordedArgs, TwinArgs, WorkloadCommand};

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use study::settings::Granted;
use target_spec::{Allow, SecretSource};
use versions::Release;

const ABOUT: &str =
    "A performance laboratory for Apache Cassandra: a study in one file, its answer in a report.";

/// Version and commit, as records of runs and pages have it: see `build.rs`.
pub const VERSION: &str = env!("CASSAY_VERSION");

/// The same for people, with what it was built for.
const DESCRIBED: &str = env!("CASSAY_DESCRIBED");

const AFTER: &str = "\
Folders: CASSAY_CACHE for jars (default ~/.cache/cassay), CASSAY_DATA for clusters that run \
(default ~/.local/state/cassay).

CASSAY_SHARED_MACHINE=1 says that others use this machine too: what they do to a trial (rules V4 \
and V18) makes it suspect, and no more invalid.";

/// What the help ends with.
fn after() -> String {
    let codes = crate::exit::Exit::ALL.map(|exit| format!("{} {}", exit.code(), exit.what()));
    format!("Exit codes: {}.\n\n{AFTER}", codes.join(", "))
}

/// A performance laboratory for Apache Cassandra.
#[derive(Debug, Parser)]
#[command(name = "cassay", version = DESCRIBED, about = ABOUT, after_help = after())]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// What every command understands.
#[derive(Debug, ClapArgs)]
pub struct Common {
    /// Print data as JSON on stdout.
    #[arg(long, global = true)]
    pub json: bool,
    /// Folder of all results.
    #[arg(long, global = true, value_name = "DIR", default_value = "results")]
    pub out: PathBuf,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a first look of one Cassandra on this machine, and say where its report is.
    ///
    /// The study is written as first-look.yaml, results go to `results`. It takes Java 17 and a few
    /// minutes; with --target null neither.
    Demo(DemoArgs),
    /// Write a study from a template: a few questions, and a file with comments.
    New(NewArgs),
    /// List the studies and workload files that are in the program, and write them as files.
    #[command(subcommand)]
    Studies(StudiesCommand),
    /// Show every trial of a study, what it will take, and how many client machines; start nothing.
    Plan(PlanArgs),
    /// Run a study.
    Run(RunArgs),
    /// Find the first of a row of builds that is worse than the first one: each step is a study of
    /// its own, which compares a build with the good one.
    Bisect(BisectArgs),
    /// Take an interrupted run up again where it was; do trials again whose files are damaged; add
    /// blocks to a run.
    Resume(ResumeArgs),
    /// Measure what a screening chose: every combination of it, in blocks.
    Confirm(ConfirmArgs),
    /// List all runs.
    List,
    /// Give a run a name, to compare later ones with; without one, list all names.
    Tag(TagArgs),
    /// Delete runs from the results folder.
    ///
    /// Lists them first, and asks. With --older-than, runs that have a tag are kept.
    Delete(DeleteArgs),
    /// Show a run.
    Show(ShowArgs),
    /// Show a study over its runs: where it has changed, and what changed with it.
    History(HistoryArgs),
    /// Compare runs with the first of them, point by point.
    Compare(CompareArgs),
    /// Write the report of a run as one HTML file.
    Report(ReportArgs),
    /// Write the tables and figures of a run for other programs; docs/tables.md says what each
    /// table holds.
    Export(ExportRunArgs),
    /// Lay a file of another tool beside a run that has ended, by the time of the wall: what
    /// `esxtop -b` has written, or samples in Prometheus's text format.
    Import(ImportFileArgs),
    /// Start, look at and stop local clusters that outlive the command.
    #[command(subcommand)]
    Target(TargetCommand),
    /// Drop the tables that earlier runs have left on a cluster that cassay did not start.
    ///
    /// Lists them first, and asks. Only tables of runs in the results folder are dropped, and those
    /// that --allow names.
    Clean(CleanArgs),
    /// Put the data of a kept cluster away, and bring it back.
    #[command(subcommand)]
    Snapshot(SnapshotCommand),
    /// Break something of a kept cluster, see that it is broken, and make it whole.
    #[command(subcommand)]
    Fault(FaultCommand),
    /// Fetch the jars that nodes are started from, carry them to machines without a network, and
    /// say what is there.
    #[command(subcommand)]
    Supply(SupplyCommand),
    /// Look at the settings of hosts that Cassandra depends on, each with what is wanted, why, and
    /// the command that sets it so. Changes nothing.
    ///
    /// A warning costs performance or stability; advice matters for some. What cannot be seen says
    /// why.
    Doctor(DoctorArgs),
    /// Look at machines that nodes are to be put on, measure them, and clear them.
    #[command(subcommand)]
    Hosts(HostsCommand),
    /// Run a study within a Kubernetes cluster, and say what is needed there.
    #[command(subcommand)]
    Kubernetes(KubernetesCommand),
    /// Show what machines look like, plan where nodes go on them, and write plans for whoever
    /// carries them out.
    #[command(subcommand)]
    Topology(TopologyCommand),
    /// Say what a rule, a key of a study, a figure, a word, a kind of fault or an exit code means.
    Explain(ExplainArgs),
    /// Print the JSON Schema of studies, findings, plans or intervals.
    Schema(SchemaArgs),
    /// Print the completions of a shell.
    Completions(CompletionsArgs),
    /// Write the manual pages.
    Man(ManArgs),
    /// Serve CQL and answer at once, until Ctrl-C: measures a client.
    Null(NullArgs),
    /// List, show, check and sample workloads.
    #[command(subcommand)]
    Workload(WorkloadCommand),
    /// Run a command line of cassandra-stress.
    Stress(ImportArgs),
    /// Run a workload file of NoSQLBench: FILE [SCENARIO] NAME=VALUE….
    Nb(ImportArgs),
    /// Run a command line of YCSB: load|run -P FILE -p NAME=VALUE -threads N -target OPS.
    Ycsb(ImportArgs),
    /// Run a command line of cassandra-easy-stress: run WORKLOAD --rate N -d TIME -r SHARE.
    Easy(ImportArgs),
}

#[derive(Debug, ClapArgs)]
pub struct StudyArgs {
    /// The study file.
    pub study: PathBuf,
    /// Another target than the study's: null, local or attach:HOST[:PORT].
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,
    /// Another size of the same question, by its name in the study.
    #[arg(long, value_name = "NAME")]
    pub scale: Option<String>,
    /// Change one setting; may be given again.
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Put the hosts of a local target on machines that ssh finds: a file with a list `machines`,
    /// each `{ssh: HOST, folder: PATH}`.
    #[arg(long, value_name = "FILE")]
    pub machines: Option<PathBuf>,
    /// Another seed than the study's.
    #[arg(long)]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub trust: TrustArgs,
}

#[derive(Debug, ClapArgs)]
pub struct RunArgs {
    #[command(flatten)]
    pub study: StudyArgs,
    #[command(flatten)]
    pub shown: ShownArgs,
}

/// How a run is shown while it goes on, and what it writes for pipelines.
#[derive(Clone, Debug, Default, ClapArgs)]
pub struct ShownArgs {
    #[command(flatten)]
    pub view: ViewArgs,
    #[command(flatten)]
    pub summaries: SummaryArgs,
}

/// How a run is shown while it goes on.
#[derive(Clone, Copy, Debug, Default, ClapArgs)]
pub struct ViewArgs {
    /// How the run is shown while it goes on: full (a screen), line (one that moves), plain (lines
    /// that stay) or auto; plain where there is no terminal.
    #[arg(
        long,
        value_name = "HOW",
        value_enum,
        default_value = "auto",
        hide_possible_values = true
    )]
    pub view: ViewMode,
}

/// How a run is shown while it goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ViewMode {
    /// A full screen where there is one of at least 60 columns and 16 rows, and CI is not set.
    #[default]
    Auto,
    /// A full screen.
    Full,
    /// One line that moves.
    Line,
    /// Lines that stay, as where nobody looks.
    Plain,
}

/// What pipelines read, beside the report.
#[derive(Clone, Debug, Default, ClapArgs)]
pub struct SummaryArgs {
    /// Write trials and requirements as JUnit XML to this file.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write a summary in Markdown to this file, for a pull request.
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
}

/// What a study is trusted with. By itself it is data: it runs no program and reads no file outside
/// its folder.
#[derive(Clone, Debug, Default, ClapArgs)]
pub struct TrustArgs {
    /// Let the study run programs, load code, read other files and ask other addresses: only for
    /// studies whose author you trust.
    #[arg(long)]
    pub trust: bool,
    /// Where a secret is that the study has a name for: NAME=file:PATH or NAME=env:VARIABLE; may be
    /// given again.
    #[arg(long, value_name = "NAME=WHERE", value_parser = secret)]
    pub secret: Vec<(String, SecretSource)>,
    #[command(flatten)]
    pub allow: AllowArgs,
}

/// What may be done to a cluster that cassay did not start.
#[derive(Clone, Debug, Default, ClapArgs)]
pub struct AllowArgs {
    /// What may be done to a cluster that cassay did not start, beside reading:
    /// ACT=KEYSPACE[.TABLE] with commas between them, ACT one of create, write, alter, truncate and
    /// drop. What the run itself has made needs no leave. Of its nodes, where
    /// `target.attach.hosts` names their machines: restart, which stops and starts them, signal,
    /// which pauses and kills, and network, which loses their packets and connections; where
    /// `target.attach.kubernetes` finds their pods: pods, which deletes and evicts them. May be
    /// given again.
    #[arg(long, value_name = "ACT[=NAME]", value_parser = Allow::parse)]
    pub allow: Vec<Allow>,
}

impl AllowArgs {
    /// All of it together.
    pub fn joined(&self) -> Allow {
        let mut all = Allow::default();
        for one in &self.allow {
            all.join(one.clone());
        }
        all
    }
}

impl TrustArgs {
    /// What a study is granted by them; of two secrets with one name the last.
    pub fn granted(&self) -> Granted {
        Granted {
            trust: self.trust,
            secrets: self.secret.iter().cloned().collect(),
            allow: self.allow.joined(),
        }
    }
}

fn secret(text: &str) -> Result<(String, SecretSource), String> {
    let parts = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, place) = parts.ok_or("write NAME=file:PATH or NAME=env:VARIABLE")?;
    let secret = match place.split_once(':') {
        Some(("file", path)) if !path.is_empty() => SecretSource::File(path.into()),
        Some(("env", variable)) if !variable.is_empty() => SecretSource::Env(variable.to_owned()),
        // What stands there may be the secret itself.
        _ => return Err("a secret is file:PATH or env:VARIABLE, never the secret itself".into()),
    };
    Ok((name.to_owned(), secret))
}

#[derive(Debug, ClapArgs)]
pub struct ResumeArgs {
    #[command(flatten)]
    pub name: RunName,
    /// Add so many blocks to a run that has come to its end without an answer. Its intervals are
    /// then such as hold whenever one looks, and a little longer.
    #[arg(long, value_name = "BLOCKS", value_parser = clap::value_parser!(u16).range(1..=50))]
    pub more: Option<u16>,
    #[command(flatten)]
    pub trust: TrustArgs,
    #[command(flatten)]
    pub shown: ShownArgs,
}

#[derive(Debug, ClapArgs)]
pub struct ConfirmArgs {
    #[command(flatten)]
    pub name: RunName,
    /// Show what it would do; start nothing.
    #[arg(long)]
    pub plan: bool,
    #[command(flatten)]
    pub trust: TrustArgs,
    #[command(flatten)]
    pub shown: ShownArgs,
}

/// A command line of another tool. Our own options may stand anywhere in it.
#[derive(Debug, ClapArgs)]
pub struct ImportArgs {
    #[command(flatten)]
    pub options: ImportOptions,
    /// The tool's own words, as they are.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub words: Vec<String>,
}

/// Our own options of an imported command line.
#[derive(Clone, Debug, Default, ClapArgs)]
pub struct ImportOptions {
    /// Another target than the words': null, local or attach:HOST[:PORT].
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,
    /// Print what the tool itself would print; the run's folder is the same.
    #[arg(long)]
    pub compat: bool,
    /// Show the plan, and what is refused or done differently than the tool does it; run nothing.
    #[arg(long)]
    pub check: bool,
    /// Print the first operations of each step, statements with their values; send nothing.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub sample: Option<u64>,
    /// Change one setting of the study that is made of the words; may be given again.
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Seed of all that is drawn.
    #[arg(long)]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub allow: AllowArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

#[derive(Debug, ClapArgs)]
pub struct ShowArgs {
    #[command(flatten)]
    pub name: RunName,
    /// Show every trial with its figures and all reasons of its verdict, and nothing else.
    #[arg(long)]
    pub trials: bool,
}

#[derive(Debug, ClapArgs)]
pub struct RunName {
    /// A run: its folder, `latest`, a study, `study/stamp`, or the beginning of one.
    #[arg(default_value = "latest")]
    pub run: String,
}

#[derive(Debug, ClapArgs)]
pub struct HistoryArgs {
    /// Name of the study: the folder of its runs.
    pub study: String,
    /// Exit with 4 if a change for the worse still holds.
    #[arg(long)]
    pub fail_on_regression: bool,
    /// Write it as a page to this file, and its figure beside it as SVG.
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    /// Only a change since the run with this stamp: earlier ones are known.
    #[arg(long, value_name = "STAMP", requires = "fail_on_regression")]
    pub since: Option<String>,
    /// Write the series for another tool into a folder: `otava` for Apache Otava.
    #[arg(long, num_args = 2, value_names = ["FORMAT", "DIR"])]
    pub export: Option<Vec<String>>,
}

#[derive(Debug, ClapArgs)]
pub struct CompareArgs {
    /// The run to compare with.
    pub baseline: String,
    /// The runs that are compared with it.
    #[arg(required = true, value_name = "CONTENDER")]
    pub contenders: Vec<String>,
    /// Write it as a page to this file, and its figure beside it as SVG.
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    /// Exit with 4 if a contender looks slower at any point.
    #[arg(long)]
    pub require_not_slower: bool,
}

#[derive(Debug, ClapArgs)]
pub struct ReportArgs {
    #[command(flatten)]
    pub name: RunName,
    /// Write the report to this file instead of the run's folder.
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    #[command(flatten)]
    pub summaries: SummaryArgs,
}

#[derive(Debug, ClapArgs)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
pub struct ExportRunArgs {
    #[command(flatten)]
    pub name: RunName,
    /// The folder that the files go into, instead of `export` in the run's.
    #[arg(long, value_name = "FOLDER")]
    pub to: Option<PathBuf>,
    /// Write the tables as comma-separated values.
    #[arg(long, group = "what")]
    pub csv: bool,
    /// Write the tables as Apache Parquet.
    #[arg(long, group = "what")]
    pub parquet: bool,
    /// Write the figures as svg or png, or both with a comma: the first screen's, by load,
    /// distributions, and each trial's course.
    #[arg(
        long,
        group = "what",
        value_name = "FORMATS",
        value_enum,
        value_delimiter = ',',
        hide_possible_values = true
    )]
    pub figures: Vec<FigureFormat>,
    /// Write every reading of the probes of a long run too, which otherwise are stretches of time.
    #[arg(long)]
    pub every_reading: bool,
}

/// How a figure is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FigureFormat {
    /// A drawing that stands alone, on a light ground.
    Svg,
    /// A picture of it, with two pixels for each of the drawing.
    Png,
}

#[derive(Debug, ClapArgs)]
pub struct ImportFileArgs {
    /// A run: its folder, `latest`, a study, `study/stamp`, or the beginning of one.
    pub run: String,
    /// The file, or a folder of scrapes.
    pub file: PathBuf,
    /// Columns or metrics whose names contain this, pieces between `*`; may be given again.
    #[arg(long, value_name = "NAME")]
    pub column: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub enum TargetCommand {
    /// Start a local cluster that goes on when this command ends.
    Up(Box<UpArgs>),
    /// Show how the nodes of local clusters are, or of another one.
    ///
    /// State is Up or Down, then Normal, Joining, Leaving or Moving, as nodetool writes it. Owned
    /// shares count copies: 100 % is one whole copy of the keyspace.
    Status(StatusArgs),
    /// List what a target can do, and what would bring the rest.
    Abilities(AbilitiesArgs),
    /// Stop kept clusters and remove their data: one, or all.
    Down {
        /// Name of the cluster, as `target status` shows it.
        id: Option<String>,
    },
}

#[derive(Debug, ClapArgs)]
pub struct AbilitiesArgs {
    /// A cluster that somebody else runs, instead of one of ours on this machine. Or another
    /// machine: what stand-in hosts could have there, asked over ssh by this program, which is put
    /// into your cache there.
    #[arg(long, value_name = "attach:HOST[:PORT]|ssh:HOST", value_parser = ssh::elsewhere)]
    pub target: Option<Elsewhere>,
    #[command(flatten)]
    pub ssh: SshArgs,
}

#[derive(Debug, ClapArgs)]
pub struct DoctorArgs {
    /// The hosts of a kept cluster, this machine, others that ssh finds, asked by this program,
    /// which is put into your cache there, or those of a cluster that is attached to, which --set
    /// names. Without it: of a kept cluster if there is one, else this machine.
    #[arg(long, value_name = "kept|local|ssh:HOST[,HOST...]|attach:HOST[:PORT]",
          value_parser = ssh::examined)]
    pub target: Option<MachineAt>,
    #[command(flatten)]
    pub ssh: SshArgs,
    #[command(flatten)]
    pub way_in: WayInArgs,
    #[command(flatten)]
    pub cluster: ClusterName,
    /// Show all settings, also those that are as they should be.
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, ClapArgs)]
pub struct StatusArgs {
    /// Show who owns this keyspace; all but Cassandra's own when absent.
    #[arg(long, value_name = "NAME")]
    pub keyspace: Option<String>,
    /// A cluster that somebody else runs, instead of those on this machine.
    #[arg(long, value_name = "attach:HOST[:PORT]", value_parser = contact_point)]
    pub target: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum SnapshotCommand {
    /// Put the data of a keyspace away: flushes, and links its files.
    Create(SnapshotCreateArgs),
    /// List what was put away.
    List(ClusterName),
    /// Bring data back to what it was; what was written since is gone.
    Restore(SnapshotRestoreArgs),
    /// Read all files of a snapshot and compare them with what was put away.
    Verify(SnapshotName),
    /// Remove a snapshot.
    Remove(SnapshotName),
    /// Bring a snapshot out of its cluster, to a folder on this machine that any tool moves.
    Export(SnapshotExportArgs),
    /// Bring an exported snapshot into a kept cluster, where `snapshot restore` makes it the data.
    Import(SnapshotImportArgs),
}

#[derive(Debug, ClapArgs)]
pub struct SnapshotExportArgs {
    #[command(flatten)]
    pub snapshot: SnapshotName,
    /// The folder, which is made; what is there is never overwritten.
    #[arg(long, value_name = "FOLDER")]
    pub to: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub struct SnapshotImportArgs {
    /// The folder of the export.
    pub from: PathBuf,
    #[command(flatten)]
    pub cluster: ClusterName,
    /// Another name for the snapshot.
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct SnapshotCreateArgs {
    #[command(flatten)]
    pub snapshot: SnapshotName,
    /// The keyspace.
    #[arg(long)]
    pub keyspace: String,
    /// Some of its tables; all of them without this.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub tables: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub struct SnapshotRestoreArgs {
    #[command(flatten)]
    pub snapshot: SnapshotName,
    /// Swap the files while the nodes are down, instead of TRUNCATE and import while they run.
    #[arg(long)]
    pub offline: bool,
}

#[derive(Debug, ClapArgs)]
pub struct SnapshotName {
    /// Name of the snapshot.
    pub name: String,
    #[command(flatten)]
    pub cluster: ClusterName,
}

#[derive(Debug, ClapArgs)]
pub struct ClusterName {
    /// A kept cluster, as `target status` shows it; needed where there are several.
    #[arg(long, value_name = "ID")]
    pub cluster: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum FaultCommand {
    /// List all kinds, and which of them a kept cluster can have; without one, hosts of this
    /// machine.
    List(ClusterName),
    /// Try kinds on a kept cluster that nobody uses: each is injected, seen, healed, and all is
    /// seen whole.
    Test(FaultTestArgs),
    /// Break one thing of a kept cluster for a while. Ctrl-C heals it at once; if this command is
    /// killed, the agents of the hosts heal it in time.
    Run(Box<FaultRunArgs>),
}

#[derive(Debug, ClapArgs)]
pub struct FaultTestArgs {
    /// These kinds; all that the cluster can have without any.
    #[arg(value_name = "KIND", value_parser = fault_kind)]
    pub kinds: Vec<target_spec::fault::Kind>,
    #[command(flatten)]
    pub at: BrokenArgs,
}

#[derive(Debug, ClapArgs)]
pub struct FaultRunArgs {
    /// How it is broken: see `cassay fault list`.
    #[arg(value_name = "KIND", value_parser = fault_kind)]
    pub kind: target_spec::fault::Kind,
    /// Number of the node, from 1.
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["host", "hosts"])]
    pub node: Option<usize>,
    /// Number of the host, from 1.
    #[arg(long, value_name = "NUMBER", conflicts_with = "hosts")]
    pub host: Option<usize>,
    /// Numbers of hosts that are cut from others: 1,2.
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    pub hosts: Vec<usize>,
    /// Those from which they are cut; all others without it.
    #[arg(
        long,
        value_name = "NUMBERS",
        value_delimiter = ',',
        requires = "hosts"
    )]
    pub from: Vec<usize>,
    /// For how long; of what is over by itself, how long it may take.
    #[arg(long = "for", value_name = "TIME", default_value = "30s",
          value_parser = study::units::parse_duration_ns)]
    pub for_ns: u64,
    #[command(flatten)]
    pub knobs: FaultKnobs,
    #[command(flatten)]
    pub at: BrokenArgs,
}

/// What can be said of some kinds.
#[derive(Debug, ClapArgs)]
pub struct FaultKnobs {
    /// CPU time that is left to a slow node's host, in cores.
    #[arg(long, value_name = "CORES", value_parser = cores)]
    pub cpus: Option<f64>,
    /// Reads per second of a slow disk.
    #[arg(long, value_name = "COUNT")]
    pub read_iops: Option<u64>,
    /// Writes per second of a slow disk.
    #[arg(long, value_name = "COUNT")]
    pub write_iops: Option<u64>,
    /// What is left free of a full disk.
    #[arg(long, value_name = "SIZE", value_parser = study::units::parse_bytes)]
    pub leave: Option<u64>,
    /// The share of packets that is lost: 10%.
    #[arg(long, value_name = "SHARE", value_parser = study::units::parse_share)]
    pub loss: Option<f64>,
    /// What a slow link carries.
    #[arg(long, value_name = "RATE", value_parser = study::units::parse_bit_rate)]
    pub rate: Option<u64>,
    /// How much later packets arrive, one way.
    #[arg(long, value_name = "TIME", value_parser = study::units::parse_duration_ns)]
    pub delay: Option<u64>,
    /// How far a clock is off.
    #[arg(long, value_name = "TIME", value_parser = study::units::parse_duration_ns)]
    pub by: Option<u64>,
    /// After how long the nodes of a host that is off are started on another one.
    #[arg(long, value_name = "TIME", value_parser = study::units::parse_duration_ns)]
    pub ha_after: Option<u64>,
    /// Number of that other host, from 1 on; without it the next one.
    #[arg(long, value_name = "NUMBER", requires = "ha_after")]
    pub ha_on: Option<NonZeroUsize>,
    /// Setting of cassandra.yaml that a rolling change gives the nodes, a structure as JSON:
    /// concurrent_reads=64; may be given again.
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub yaml: Vec<(String, serde_json::Value)>,
}

/// The word for a kind of fault.
fn fault_kind(text: &str) -> Result<target_spec::fault::Kind, String> {
    target_spec::fault::Kind::of(text).ok_or_else(|| {
        let names = target_spec::fault::FaultName::ALL.map(target_spec::fault::FaultName::name);
        let hint = yaml::did_you_mean(text, names).unwrap_or_default();
        format!("there is no such kind: see `cassay fault list`; {hint}")
    })
}

#[derive(Debug, ClapArgs)]
#[command(group(clap::ArgGroup::new("on_hosts").multiple(true).args(["hosts", "machines"])))]
pub struct UpArgs {
    /// Number of nodes; with --hosts, one per host when absent.
    #[arg(long)]
    pub nodes: Option<usize>,
    /// Version of Cassandra: a release, or a line, as 4.1. Without it, 5.0.9, or that of --like.
    #[arg(long, value_name = "VERSION", value_parser = supply::release)]
    pub cassandra: Option<Release>,
    /// Major version of the Java that nodes run on, of those that are installed. Without it, 17 or
    /// one that fits.
    #[arg(long, value_name = "MAJOR")]
    pub java: Option<u32>,
    /// Make the cluster one that an exported snapshot fits: as many nodes, with their tokens, racks
    /// and data center, and the version of Cassandra.
    #[arg(long, value_name = "EXPORT", conflicts_with_all = ["nodes", "nodes_per_host"])]
    pub like: Option<PathBuf>,
    /// Heap of each node.
    #[arg(long, default_value = "1GiB", value_parser = study::units::parse_bytes)]
    pub heap: u64,
    /// Garbage collector of each node: g1, zgc, shenandoah or parallel.
    #[arg(long, value_name = "WORD", value_parser = collector)]
    pub gc: Option<target_spec::Collector>,
    /// Setting of cassandra.yaml, a structure as JSON: concurrent_reads=64; may be given again. It
    /// is your own word and needs no --trust, so look at what you copy from others.
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub yaml: Vec<(String, serde_json::Value)>,
    /// Option of each node's JVM, after cassay's own, so that it wins; may be given again. It is
    /// your own word and needs no --trust: such an option can run programs.
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    pub jvm: Vec<String>,
    /// Map the server's classes from an archive that is made once: nodes start sooner.
    #[arg(long)]
    pub class_sharing: bool,
    /// How long all nodes together may take until they answer.
    #[arg(long, value_name = "TIME", default_value = "3m",
          value_parser = study::units::parse_duration_ns)]
    pub start_timeout: u64,
    /// Ask clients for a password, which is made for this cluster and kept in a file of its folder
    /// that only you can read; without it, every user of this machine can connect.
    #[arg(long)]
    pub authentication: bool,
    /// Put the nodes on so many hosts, each in a rack of its own: with a network, limits and a
    /// volume each where this machine allows it (as root), otherwise only addresses.
    #[arg(long, value_name = "COUNT")]
    pub hosts: Option<usize>,
    /// Put the nodes on machines that ssh finds: a file with a list `machines`, each `{ssh: HOST,
    /// folder: PATH}`; the first --hosts of them, or all.
    #[arg(long, value_name = "FILE")]
    pub machines: Option<PathBuf>,
    /// Nodes on each host.
    #[arg(
        long,
        value_name = "COUNT",
        requires = "on_hosts",
        conflicts_with = "nodes"
    )]
    pub nodes_per_host: Option<usize>,
    #[command(flatten)]
    pub host: HostArgs,
    #[command(flatten)]
    pub placing: PlacingArgs,
}

/// What each host is limited to.
#[derive(Debug, ClapArgs)]
pub struct HostArgs {
    /// How far hosts are kept apart: auto, hosts (refused where it cannot be had) or loopback.
    #[arg(long, value_name = "WORD", requires = "on_hosts", default_value = "auto",
          value_parser = isolation)]
    pub isolation: target_spec::Isolation,
    /// CPUs that each host may use: 0,1.
    #[arg(
        long,
        value_name = "NUMBERS",
        requires = "on_hosts",
        value_delimiter = ','
    )]
    pub host_cpus: Option<Vec<usize>>,
    /// CPU time of each host, in cores: 1.5.
    #[arg(long, value_name = "CORES", requires = "on_hosts", value_parser = cores)]
    pub host_quota: Option<f64>,
    /// Memory of each host, page cache included: 3GiB.
    #[arg(long, value_name = "SIZE", requires = "on_hosts",
          value_parser = study::units::parse_bytes)]
    pub host_memory: Option<u64>,
    /// Data volume of each host: 20GiB.
    #[arg(long, value_name = "SIZE", requires = "on_hosts",
          value_parser = study::units::parse_bytes)]
    pub host_volume: Option<u64>,
    /// Speed of each host's link: 1Gbit/s.
    #[arg(long, value_name = "RATE", requires = "on_hosts",
          value_parser = study::units::parse_bit_rate)]
    pub link_rate: Option<u64>,
    /// Delay of each host's link, one way: 1ms.
    #[arg(long, value_name = "TIME", requires = "on_hosts",
          value_parser = study::units::parse_duration_ns)]
    pub link_delay: Option<u64>,
}

/// The word for an isolation.
fn isolation(text: &str) -> Result<target_spec::Isolation, String> {
    target_spec::Isolation::of_name(text).ok_or_else(|| "it is auto, hosts or loopback".to_string())
}

/// The word for a collector.
fn collector(text: &str) -> Result<target_spec::Collector, String> {
    let known = || target_spec::Collector::ALL.map(target_spec::Collector::name).join(", ");
    target_spec::Collector::of_name(text).ok_or_else(|| format!("it is one of {}", known()))
}

/// A key of cassandra.yaml with its value: JSON, or else a plain text.
fn setting(text: &str) -> Result<(String, serde_json::Value), String> {
    let (key, value) = text.split_once('=').ok_or("it is KEY=VALUE")?;
    let (key, value) = (key.trim(), value.trim());
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if key.is_empty() || !key.chars().all(is_plain) {
        return Err(format!("`{key}` is not a key of cassandra.yaml"));
    }
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    Ok((key.to_owned(), value))
}

/// A number of cores above 0.
fn cores(text: &str) -> Result<f64, String> {
    let cores = study::units::parse_number(text)?;
    if cores > 0.0 {
        Ok(cores)
    } else {
        Err("a host needs more than 0 cores".to_string())
    }
}

#[derive(Debug, ClapArgs)]
pub struct NullArgs {
    /// Port; 0 takes a free one.
    #[arg(long, default_value_t = 9042)]
    pub port: u16,
    /// The address of this machine that it listens on: for clients on other machines, one that they
    /// reach. Whoever reaches it may ask.
    #[arg(long, default_value_t = std::net::Ipv4Addr::LOCALHOST)]
    pub address: std::net::Ipv4Addr,
    /// Latency added to every answer.
    #[arg(long, value_name = "TIME", value_parser = study::units::parse_duration_ns)]
    pub latency: Option<u64>,
    /// Make --latency the mean of an exponential distribution.
    #[arg(long, requires = "latency")]
    pub exponential: bool,
    /// Stall for this long …
    #[arg(long, value_name = "TIME", requires = "stall_every",
          value_parser = study::units::parse_duration_ns)]
    pub stall: Option<u64>,
    /// … again and again, from begin to begin.
    #[arg(long, value_name = "TIME", requires = "stall",
          value_parser = study::units::parse_duration_ns)]
    pub stall_every: Option<u64>,
    /// Answer this share of the operations with an error: overloaded=0.01; may be given again.
    #[arg(long, value_name = "NAME=SHARE", value_parser = error_share)]
    pub error: Vec<(String, f64)>,
    /// Number of the CPU that it is pinned to.
    #[arg(long)]
    pub cpu: Option<usize>,
}

#[derive(Debug, ClapArgs)]
pub struct TagArgs {
    /// The name: letters, digits, `-`, `_` and `.`. A run that had it has it no more.
    pub name: Option<String>,
    /// The run: a path, latest, a study (its newest run), study/stamp, or the beginning of one.
    #[arg(default_value = "latest", requires = "name")]
    pub run: String,
    /// Take the name away.
    #[arg(long, requires = "name")]
    pub remove: bool,
}

/// A setting of the target.
fn target_setting(text: &str) -> Result<String, String> {
    let is_one = text.starts_with("target.") && text.contains('=');
    let found = is_one.then(|| text.to_owned());
    found.ok_or_else(|| "write target.PATH=VALUE".to_owned())
}

/// The contact point of `attach:HOST[:PORT]`.
fn contact_point(text: &str) -> Result<String, String> {
    match text.strip_prefix("attach:") {
        Some(point) if !point.is_empty() => Ok(point.to_owned()),
        _ => Err("write attach:HOST or attach:HOST:PORT".to_owned()),
    }
}

fn error_share(text: &str) -> Result<(String, f64), String> {
    let (name, share) = text.split_once('=').ok_or("write NAME=SHARE")?;
    let share = study::units::parse_number(share)?;
    if (0.0..=1.0).contains(&share) {
        Ok((name.to_owned(), share))
    } else {
        Err("a share is between 0 and 1".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_contact_point_says_that_it_is_attached_to() {
        assert_eq!(contact_point("attach:db1:9042"), Ok("db1:9042".into()));
        for bad in ["db1", "attach:", "local"] {
            assert!(contact_point(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_secret_on_the_command_line_is_a_place_and_never_the_secret() {
        let file = SecretSource::File("p".into());
        assert_eq!(secret("db=file:p"), Ok(("db".to_owned(), file)));
        let variable = SecretSource::Env("P".to_owned());
        assert_eq!(secret("db=env:P"), Ok(("db".to_owned(), variable)));
        for bad in [
            "db",
            "=file:p",
            "db=hunter2",
            "db=file:",
            "db=env:",
            "db=text:hunter2",
        ] {
            let why = secret(bad).expect_err(bad);
            assert!(!why.contains("hunter2"), "{why}");
        }
    }

    #[test]
    fn a_check_asks_a_server_and_sets_nothing_but_the_way_to_it() {
        for good in ["local", "attach:db1", "attach:db1:9042"] {
            assert_eq!(workload::server(good), Ok(good.to_owned()));
        }
        for bad in ["null", "db1", "attach:"] {
            assert!(workload::server(bad).is_err(), "{bad}");
        }
        assert!(target_setting("target.attach.user=u").is_ok());
        for bad in ["target.attach.user", "window.measure=1s", "target=null"] {
            assert!(target_setting(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn shares_of_errors_are_checked() {
        assert_eq!(
            error_share("overloaded=0.5"),
            Ok(("overloaded".into(), 0.5))
        );
        for bad in ["overloaded", "overloaded=2", "overloaded=x"] {
            assert!(error_share(bad).is_err(), "{bad}");
        }
    }
}
