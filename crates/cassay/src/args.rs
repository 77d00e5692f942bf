//! The command line.
//!
//! Long because it lists every command with its options, in the order of the help.

mod authoring;
mod bisect;
mod examples;
mod hosts;
mod publish;
mod secret_values;
mod serve;
mod ssh;
mod studies;
mod supply;
mod then;
mod topology;
mod workload;

pub use authoring::{
    CompletionsArgs, DeleteArgs, ExplainArgs, ManArgs, NewArgs, SchemaArgs, SchemaOf, Shell,
};
pub use bisect::BisectArgs;
pub use examples::command;
pub use hosts::{HostsCommand, InsideArgs, KubernetesCommand, RbacArgs};
pub use publish::PublishArgs;
pub use secret_values::unseen;
pub use serve::{ServeArgs, WatchArgs};
pub use ssh::{BrokenArgs, CleanArgs, Elsewhere, MachineAt, SshArgs, WayInArgs};
pub use studies::{CopyArgs, DemoArgs, DemoTarget, PlanArgs, StudiesCommand};
pub use supply::{FetchArgs, SupplyCommand, SupplyExportArgs, SupplyImportArgs};
pub use then::ThenArgs;
pub use topology::{
    ApplyArgs, ExportArgs, MachineArgs, PlacementArgs, PlacingArgs, ReadArgs, TopologyCommand,
};
pub use workload::{CheckArgs, RecordedArgs, TwinArgs, WorkloadCommand};

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use study::settings::GrantedPermissions;
use target_spec::{Allow, ContactPoint, SecretSource};
use versions::Release;

const ABOUT: &str =
    "A performance laboratory for Apache Cassandra: a study in one file, its answer in a report.";

/// Version and commit of the program, as written to the records of runs and to pages. See
/// `build.rs`.
pub const VERSION: &str = env!("CASSAY_VERSION");

/// Version, commit and build platform, as shown to users.
const DESCRIBED: &str = env!("CASSAY_DESCRIBED");

const AFTER: &str = "\
Folders: CASSAY_CACHE for jars (default ~/.cache/cassay), CASSAY_DATA for running clusters \
(default ~/.local/state/cassay).

CASSAY_SHARED_MACHINE=1 declares that other users share this machine. A trial that they disturb \
(rules V4 and V18) is then suspect instead of invalid.";

/// Returns the end of the help: exit codes and environment variables.
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

/// Options that every command accepts.
#[derive(Debug, ClapArgs)]
pub struct Common {
    /// Print data as JSON on stdout.
    #[arg(long, global = true)]
    pub json: bool,
    /// Folder of all results.
    #[arg(long, global = true, value_name = "FOLDER", default_value = "results")]
    pub out: PathBuf,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure one Cassandra node on this machine, and print the path of the report.
    ///
    /// Writes the study to first-look.yaml and the results to `results`. Requires Java 17 and takes
    /// a few minutes. With --target null, the command requires no Java and takes one minute.
    Demo(DemoArgs),
    /// Write a study from a template. Asks a few questions, then writes a file with comments.
    New(NewArgs),
    /// List or copy the studies and workload files that the program contains.
    #[command(subcommand)]
    Studies(StudiesCommand),
    /// Show every trial of a study with its duration, disk use and client machines. Starts no
    /// trial.
    Plan(PlanArgs),
    /// Run a study.
    Run(RunArgs),
    /// Find the first build in a list that performs worse than a known good build. In each step,
    /// cassay runs the study to compare one build with the good build.
    Bisect(BisectArgs),
    /// Continue an interrupted run, repeat trials with damaged files, or add blocks.
    Resume(ResumeArgs),
    /// Measure, in blocks, every combination of the factors that a screening selected.
    Confirm(ConfirmArgs),
    /// List all runs.
    List,
    /// Name a run, so that you can compare later runs with it. Without a name, list all names.
    Tag(TagArgs),
    /// Delete runs from the results folder.
    ///
    /// Lists the runs first and asks for confirmation. --older-than keeps runs that have a tag.
    Delete(DeleteArgs),
    /// Show the results of a run.
    Show(ShowArgs),
    /// Show a run that is running elsewhere, until it ends. Ctrl-C ends only the view.
    Watch(WatchArgs),
    /// Show the runs in a browser: their list, reports, comparisons, and running runs.
    ///
    /// The server only reads. It listens on a loopback address, unless --listen names another
    /// address. It also has metrics in the format of OpenMetrics, at the address /metrics.
    Serve(ServeArgs),
    /// Show the results of a study over all its runs, when the results changed, and which settings
    /// changed with them.
    History(HistoryArgs),
    /// Compare runs with a baseline run, point by point.
    Compare(CompareArgs),
    /// Write the report of a run as one HTML file.
    Report(ReportArgs),
    /// Write the pages of runs for a web server, without private data: addresses, names of hosts
    /// and users, paths, comments.
    ///
    /// Lists the replacements first and asks for confirmation. Then reads the written files again,
    /// and deletes them if they contain a private string.
    Publish(PublishArgs),
    /// Write the tables (see docs/tables.md) and figures of a run for other programs.
    Export(ExportRunArgs),
    /// Add the time series of another tool to a finished run, aligned by wall-clock time. The input
    /// is output of `esxtop -b`, or samples in Prometheus's text format.
    Import(ImportFileArgs),
    /// Start, inspect and stop local clusters that keep running when the command ends.
    #[command(subcommand)]
    Target(TargetCommand),
    /// Drop the tables that earlier runs left on a cluster that cassay did not start.
    ///
    /// Lists the tables first and asks for confirmation. Drops only tables of runs in the results
    /// folder, and tables that --allow names.
    Clean(CleanArgs),
    /// Save, restore and move the data of a kept cluster.
    #[command(subcommand)]
    Snapshot(SnapshotCommand),
    /// List, test and inject faults on a running cluster.
    #[command(subcommand)]
    Fault(FaultCommand),
    /// Download, list, export and import the jars that cassay starts nodes from.
    #[command(subcommand)]
    Supply(SupplyCommand),
    /// Check host settings that affect Cassandra. For each setting, shows the recommended value,
    /// the reason, and the command that sets this value. Changes no settings.
    ///
    /// A setting with a warning costs performance or stability. Advice applies only to some
    /// workloads. cassay also lists the settings that it cannot read, with the reason.
    Doctor(DoctorArgs),
    /// Check, benchmark and clean the machines that nodes will run on.
    #[command(subcommand)]
    Hosts(HostsCommand),
    /// Run a study inside a Kubernetes cluster, or print the role that such a run needs.
    #[command(subcommand)]
    Kubernetes(KubernetesCommand),
    /// Show the CPUs and memory of a machine. Plan, export and apply the placement of nodes.
    #[command(subcommand)]
    Topology(TopologyCommand),
    /// Explain a rule, a key of a study, a figure, a term, a fault or an exit code.
    Explain(ExplainArgs),
    /// Print the JSON Schema of studies, findings, plans or intervals.
    Schema(SchemaArgs),
    /// Print the completion script of a shell.
    Completions(CompletionsArgs),
    /// Write the manual pages.
    Man(ManArgs),
    /// Start a server that answers CQL requests immediately, to measure a client. Ctrl-C stops the
    /// server.
    Null(NullArgs),
    /// List, show, check and sample workloads.
    #[command(subcommand)]
    Workload(WorkloadCommand),
    /// Run a cassandra-stress command line.
    Stress(ImportArgs),
    /// Run a NoSQLBench workload file: FILE [SCENARIO] NAME=VALUE….
    Nb(ImportArgs),
    /// Run a YCSB command line: load|run -P FILE -p NAME=VALUE -threads N -target OPS.
    Ycsb(ImportArgs),
    /// Run a cassandra-easy-stress command line: run WORKLOAD --rate N -d TIME -r SHARE.
    Easy(ImportArgs),
}

#[derive(Debug, ClapArgs)]
pub struct StudyArgs {
    /// Study file.
    pub study: PathBuf,
    /// Use this target instead of the target in the study: null, local or attach:HOST[:PORT].
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,
    /// Use this scale, which the study defines under `scales`.
    #[arg(long, value_name = "NAME")]
    pub scale: Option<String>,
    /// Change one setting of the study. Repeatable.
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Run the hosts of a local target on remote machines, over ssh. The file contains a list
    /// `machines` with one `{ssh: HOST, folder: PATH}` for each machine.
    #[arg(long, value_name = "FILE")]
    pub machines: Option<PathBuf>,
    /// Use this seed instead of the seed in the study.
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

/// Progress display of a run, and its summary files for pipelines.
#[derive(Clone, Debug, Default, ClapArgs)]
pub struct ShownArgs {
    #[command(flatten)]
    pub view: ViewArgs,
    #[command(flatten)]
    pub summaries: SummaryArgs,
    #[command(flatten)]
    pub then: ThenArgs,
}

/// Progress display of a run.
#[derive(Clone, Copy, Debug, Default, ClapArgs)]
pub struct ViewArgs {
    /// Progress display: full (full screen), line (one line that cassay updates), plain (lines that
    /// cassay appends) or auto. Without a terminal, the display is always plain.
    #[arg(
        long,
        value_name = "MODE",
        value_enum,
        default_value = "auto",
        hide_possible_values = true
    )]
    pub view: ViewMode,
}

/// Progress display of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ViewMode {
    /// Full screen if the terminal has at least 60 columns and 16 rows and CI is not set.
    #[default]
    Auto,
    /// Full screen.
    Full,
    /// One line that cassay updates.
    Line,
    /// Lines that cassay appends, for log files.
    Plain,
}

/// Summary files for pipelines, in addition to the report.
#[derive(Clone, Debug, Default, ClapArgs)]
pub struct SummaryArgs {
    /// Write trials and requirements to this file as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write a Markdown summary to this file, for a pull request.
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
}

/// Permissions of a study. By default, a study is only data: it runs no programs and reads no files
/// outside its folder.
#[derive(Clone, Debug, Default, ClapArgs)]
pub struct TrustArgs {
    /// Let the study run programs, load code, read files outside its folder and contact other
    /// addresses. Use this option only if you trust the author of the study.
    #[arg(long)]
    pub trust: bool,
    /// Source of a secret that the study names: NAME=file:PATH or NAME=env:VARIABLE. Repeatable.
    #[arg(long, value_name = "NAME=SOURCE", value_parser = secret)]
    pub secret: Vec<(String, SecretSource)>,
    #[command(flatten)]
    pub allow: AllowArgs,
}

/// Permissions to change a cluster that cassay did not start.
#[derive(Clone, Debug, Default, ClapArgs)]
pub struct AllowArgs {
    /// Allow changes to a cluster that cassay did not start. Reads, and changes to objects that the
    /// run itself created, need no permission. Repeatable, or separated by commas.
    ///
    /// For data, write ACT=KEYSPACE[.TABLE], where ACT is create, write, alter, truncate or drop.
    ///
    /// For nodes on machines of `target.attach.hosts`, write restart (stop and start nodes), signal
    /// (pause and kill nodes) or network (drop packets and reset connections). For pods of
    /// `target.attach.kubernetes`, write pods (delete and evict pods, and cordon their machines).
    #[arg(long, value_name = "ACT[=NAME]", value_parser = Allow::parse)]
    pub allow: Vec<Allow>,
}

impl AllowArgs {
    /// Returns all permissions, merged into one value.
    pub fn joined(&self) -> Allow {
        let mut all = Allow::default();
        for one in &self.allow {
            all.join(one.clone());
        }
        all
    }
}

impl TrustArgs {
    /// Returns the permissions. If two secrets have the same name, the last secret takes
    /// precedence.
    pub fn granted(&self) -> GrantedPermissions {
        GrantedPermissions {
            trust: self.trust,
            secrets: self.secret.iter().cloned().collect(),
            allow: self.allow.joined(),
        }
    }
}

fn secret(text: &str) -> Result<(String, SecretSource), String> {
    let parts = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, place) = parts.ok_or("write NAME=file:PATH or NAME=env:VARIABLE")?;
    Ok((name.to_owned(), secret_source(place, "secret")?))
}

/// Parses the source of a secret. The message does not show the text, because the text may be the
/// secret itself. `what` is the kind of secret.
fn secret_source(text: &str, what: &str) -> Result<SecretSource, String> {
    match text.split_once(':') {
        Some(("file", path)) if !path.is_empty() => Ok(SecretSource::File(path.into())),
        Some(("env", variable)) if !variable.is_empty() => {
            Ok(SecretSource::Env(variable.to_owned()))
        }
        _ => Err(format!(
            "write the source of the {what}, file:PATH or env:VARIABLE, never the {what} itself"
        )),
    }
}

#[derive(Debug, ClapArgs)]
pub struct ResumeArgs {
    #[command(flatten)]
    pub name: RunName,
    /// Add this many blocks to a finished run that was inconclusive. The new intervals are slightly
    /// wider, because they allow for repeated looks at the results.
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
    /// Show the plan without starting a trial.
    #[arg(long)]
    pub plan: bool,
    #[command(flatten)]
    pub trust: TrustArgs,
    #[command(flatten)]
    pub shown: ShownArgs,
}

/// Command line of another tool. cassay's own options may appear anywhere in the command line.
#[derive(Debug, ClapArgs)]
pub struct ImportArgs {
    #[command(flatten)]
    pub options: ImportOptions,
    /// Arguments of the tool, unchanged.
    #[arg(value_name = "ARGUMENT", required = true)]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

/// cassay's own options among the words of an imported command line.
#[derive(Clone, Debug, Default, ClapArgs)]
pub struct ImportOptions {
    /// Use this target instead of the target on the command line: null, local or
    /// attach:HOST[:PORT].
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,
    /// Print in the tool's own output format. This option does not change the results folder.
    #[arg(long)]
    pub compat: bool,
    /// Show the plan, and the options that cassay refuses or treats differently from the tool.
    /// Sends no operations.
    #[arg(long)]
    pub check: bool,
    /// Print the first N operations of each step, as statements with their values. Sends no
    /// operations.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub sample: Option<u64>,
    /// Change one setting of the study that cassay writes from the command line. Repeatable.
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Seed of all random values.
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
    /// Show only the trials. Each trial has its figures and all reasons for its verdict.
    #[arg(long)]
    pub trials: bool,
}

#[derive(Debug, ClapArgs)]
pub struct RunName {
    /// Name of the run: a folder, `latest`, a study (its newest run), `study/stamp`, or the
    /// beginning of such a name.
    #[arg(default_value = "latest")]
    pub run: String,
}

#[derive(Debug, ClapArgs)]
pub struct HistoryArgs {
    /// Name of the study, which is also the name of its folder of runs.
    pub study: String,
    /// Exit with code 4 if the results became worse and stayed worse.
    #[arg(long)]
    pub fail_on_regression: bool,
    /// Write an HTML page to this file, and its figure as SVG to the same folder.
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    /// Fail only on changes since the run with this stamp.
    #[arg(long, value_name = "STAMP", requires = "fail_on_regression")]
    pub since: Option<String>,
    /// Write the time series of the results to a folder, in the format of another tool. The only
    /// format is `otava`, for Apache Otava.
    #[arg(long, num_args = 2, value_names = ["FORMAT", "FOLDER"])]
    pub export: Option<Vec<String>>,
}

#[derive(Debug, ClapArgs)]
pub struct CompareArgs {
    /// Baseline run.
    pub baseline: String,
    /// Runs to compare with the baseline.
    #[arg(required = true, value_name = "CONTENDER")]
    pub contenders: Vec<String>,
    /// Write an HTML page to this file, and its figure as SVG to the same folder.
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    /// Exit with code 4 if a contender appears slower at any point.
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
    /// Output folder. Default: `export` in the run's folder.
    #[arg(long, value_name = "FOLDER")]
    pub to: Option<PathBuf>,
    /// Write the tables as CSV.
    #[arg(long, group = "what")]
    pub csv: bool,
    /// Write the tables as Apache Parquet.
    #[arg(long, group = "what")]
    pub parquet: bool,
    /// Write the figures as svg, png or both (svg,png). The figures are the first screen, the
    /// results by load, the distributions, and the time course of each trial.
    #[arg(
        long,
        group = "what",
        value_name = "FORMATS",
        value_enum,
        value_delimiter = ',',
        hide_possible_values = true
    )]
    pub figures: Vec<FigureFormat>,
    /// Write a Grafana dashboard for the metrics of `cassay serve`, and the phases, faults and
    /// verdicts of the run as Grafana annotations.
    #[arg(long, group = "what")]
    pub grafana: bool,
    /// Write every probe reading of a long run instead of summaries of time spans.
    #[arg(long)]
    pub every_reading: bool,
}

/// File format of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FigureFormat {
    /// Self-contained vector image on a light background.
    Svg,
    /// Bitmap of the SVG image, with 2 pixels per unit.
    Png,
}

#[derive(Debug, ClapArgs)]
pub struct ImportFileArgs {
    /// Name of the run: a folder, `latest`, a study (its newest run), `study/stamp`, or the
    /// beginning of such a name.
    pub run: String,
    /// File to read, or a folder of scraped files.
    pub file: PathBuf,
    /// Import only columns or metrics whose names contain this text, in which `*` matches any text.
    /// Repeatable.
    #[arg(long, value_name = "NAME")]
    pub column: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub enum TargetCommand {
    /// Start a local cluster that keeps running when this command ends.
    Up(Box<UpArgs>),
    /// Show the state of the nodes of local clusters, or of another cluster.
    ///
    /// The state of a node is Up or Down, followed by Normal, Joining, Leaving or Moving, as in
    /// nodetool. Ownership includes replicas: 100 % is one full copy of the keyspace.
    Status(StatusArgs),
    /// List the capabilities of a target, and how to get the missing capabilities.
    #[command(alias = "abilities")]
    Capabilities(CapabilitiesArgs),
    /// Stop one kept cluster or all kept clusters, and delete their data.
    Down {
        /// Name of the cluster, as shown by `target status`.
        #[arg(value_name = "CLUSTER")]
        id: Option<String>,
    },
}

#[derive(Debug, ClapArgs)]
pub struct CapabilitiesArgs {
    /// Check another cluster (attach:) or another machine (ssh:) instead of this machine. For ssh:,
    /// cassay copies itself to your cache on the machine and reports the capabilities of simulated
    /// hosts.
    #[arg(long, value_name = "attach:HOST[:PORT]|ssh:HOST", value_parser = ssh::elsewhere)]
    pub target: Option<Elsewhere>,
    #[command(flatten)]
    pub ssh: SshArgs,
}

#[derive(Debug, ClapArgs)]
pub struct DoctorArgs {
    /// Hosts to check: the hosts of a kept cluster, this machine, machines over ssh, or machines of
    /// an attached cluster, which --set names. Over ssh, cassay copies itself to your cache on the
    /// machine. Default: a kept cluster if one exists, otherwise this machine.
    #[arg(long, value_name = "kept|local|ssh:HOST[,HOST...]|attach:HOST[:PORT]",
          value_parser = ssh::examined)]
    pub target: Option<MachineAt>,
    #[command(flatten)]
    pub ssh: SshArgs,
    #[command(flatten)]
    pub way_in: WayInArgs,
    #[command(flatten)]
    pub cluster: ClusterName,
    /// Show all settings, including correct settings.
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, ClapArgs)]
pub struct StatusArgs {
    /// Show the ownership of this keyspace. Default: all keyspaces except Cassandra's own.
    #[arg(long, value_name = "NAME")]
    pub keyspace: Option<String>,
    /// Show another cluster instead of the clusters on this machine.
    #[arg(long, value_name = "attach:HOST[:PORT]", value_parser = contact_point)]
    pub target: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum SnapshotCommand {
    /// Snapshot a keyspace. Flushes the tables and creates hard links to their files.
    Create(SnapshotCreateArgs),
    /// List the snapshots.
    List(ClusterName),
    /// Restore a snapshot. The cluster loses all writes since the snapshot.
    Restore(SnapshotRestoreArgs),
    /// Read all files of a snapshot and compare their checksums.
    Verify(SnapshotName),
    /// Delete a snapshot.
    Remove(SnapshotName),
    /// Copy a snapshot to a folder on this machine. You can move this folder with any tool.
    Export(SnapshotExportArgs),
    /// Copy an exported snapshot into a kept cluster. Then load it with `snapshot restore`.
    Import(SnapshotImportArgs),
}

#[derive(Debug, ClapArgs)]
pub struct SnapshotExportArgs {
    #[command(flatten)]
    pub snapshot: SnapshotName,
    /// Output folder, which must not exist.
    #[arg(long, value_name = "FOLDER")]
    pub to: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub struct SnapshotImportArgs {
    /// Folder of the exported snapshot.
    #[arg(value_name = "FOLDER")]
    pub from: PathBuf,
    #[command(flatten)]
    pub cluster: ClusterName,
    /// Give the snapshot another name.
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct SnapshotCreateArgs {
    #[command(flatten)]
    pub snapshot: SnapshotName,
    /// Keyspace of the snapshot.
    #[arg(long)]
    pub keyspace: String,
    /// Tables to include in the snapshot. Default: all tables of the keyspace.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub tables: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub struct SnapshotRestoreArgs {
    #[command(flatten)]
    pub snapshot: SnapshotName,
    /// Stop the nodes and replace their files. Default: truncate the tables of running nodes and
    /// import the files.
    #[arg(long)]
    pub offline: bool,
}

#[derive(Debug, ClapArgs)]
pub struct SnapshotName {
    /// Name of the snapshot.
    #[arg(value_name = "SNAPSHOT")]
    pub name: String,
    #[command(flatten)]
    pub cluster: ClusterName,
}

#[derive(Debug, ClapArgs)]
pub struct ClusterName {
    /// Kept cluster, as shown by `target status`. Required if several clusters run.
    #[arg(long, value_name = "CLUSTER")]
    pub cluster: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum FaultCommand {
    /// List all faults, and show which faults a kept cluster supports. Without a kept cluster,
    /// cassay shows the faults that hosts on this machine support.
    List(ClusterName),
    /// Test faults on an idle cluster. Injects, observes, heals and checks each fault.
    Test(FaultTestArgs),
    /// Inject one fault for a limited time. Ctrl-C heals the fault at once. If this command is
    /// killed, the agents of the hosts heal the fault at the end of that time.
    Run(Box<FaultRunArgs>),
}

#[derive(Debug, ClapArgs)]
pub struct FaultTestArgs {
    /// Faults to test. Default: all faults that the cluster supports.
    #[arg(value_name = "FAULT", value_parser = fault_kind)]
    pub kinds: Vec<target_spec::fault::FaultKind>,
    #[command(flatten)]
    pub at: BrokenArgs,
}

#[derive(Debug, ClapArgs)]
pub struct FaultRunArgs {
    /// Fault to inject, as shown by `cassay fault list`.
    #[arg(value_name = "FAULT", value_parser = fault_kind)]
    pub kind: target_spec::fault::FaultKind,
    /// Number of the node, from 1.
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["host", "hosts"])]
    pub node: Option<usize>,
    /// Number of the host, from 1.
    #[arg(long, value_name = "NUMBER", conflicts_with = "hosts")]
    pub host: Option<usize>,
    /// Numbers of the hosts to cut off, such as 1,2.
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    pub hosts: Vec<usize>,
    /// Numbers of the hosts from which the fault cuts off --hosts. Default: all other hosts.
    #[arg(
        long,
        value_name = "NUMBERS",
        value_delimiter = ',',
        requires = "hosts"
    )]
    pub from: Vec<usize>,
    /// Duration of the fault, or time limit for a fault that ends by itself.
    #[arg(long = "for", value_name = "TIME", default_value = "30s",
          value_parser = study::units::parse_duration_ns)]
    pub for_ns: u64,
    #[command(flatten)]
    pub knobs: FaultKnobs,
    #[command(flatten)]
    pub at: BrokenArgs,
}

/// Options of some faults.
#[derive(Debug, ClapArgs)]
pub struct FaultKnobs {
    /// CPU time left to a slow node's host, in cores.
    #[arg(long, value_name = "CORES", value_parser = cores)]
    pub cpus: Option<f64>,
    /// Reads per second of a slow disk.
    #[arg(long, value_name = "COUNT")]
    pub read_iops: Option<u64>,
    /// Writes per second of a slow disk.
    #[arg(long, value_name = "COUNT")]
    pub write_iops: Option<u64>,
    /// Free space left on a full disk.
    #[arg(long, value_name = "SIZE", value_parser = study::units::parse_bytes)]
    pub leave: Option<u64>,
    /// Share of packets to drop, such as 10%.
    #[arg(long, value_name = "SHARE", value_parser = study::units::parse_share)]
    pub loss: Option<f64>,
    /// Bandwidth of a slow link.
    #[arg(long, value_name = "RATE", value_parser = study::units::parse_bit_rate)]
    pub rate: Option<u64>,
    /// One-way delay that the fault adds to packets.
    #[arg(long, value_name = "TIME", value_parser = study::units::parse_duration_ns)]
    pub delay: Option<u64>,
    /// Time by which the fault moves the clock.
    #[arg(long, value_name = "TIME", value_parser = study::units::parse_duration_ns)]
    pub by: Option<u64>,
    /// Delay until the nodes of a stopped host start on another host.
    #[arg(long, value_name = "TIME", value_parser = study::units::parse_duration_ns)]
    pub ha_after: Option<u64>,
    /// Number of the host on which the nodes of a stopped host start, from 1. Default: the next
    /// host.
    #[arg(long, value_name = "NUMBER", requires = "ha_after")]
    pub ha_on: Option<NonZeroUsize>,
    /// Setting of cassandra.yaml that a rolling change applies, such as concurrent_reads=64. Write
    /// structured values as JSON. Repeatable.
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub yaml: Vec<(String, serde_json::Value)>,
}

fn fault_kind(text: &str) -> Result<target_spec::fault::FaultKind, String> {
    target_spec::fault::FaultKind::find(text).ok_or_else(|| {
        let names = target_spec::fault::FaultName::ALL.map(target_spec::fault::FaultName::name);
        let hint = yaml::did_you_mean(text, names).unwrap_or_default();
        format!("no kind of fault has this name: `cassay fault list` lists all kinds. {hint}")
    })
}

#[derive(Debug, ClapArgs)]
#[command(group(clap::ArgGroup::new("on_hosts").multiple(true).args(["hosts", "machines"])))]
pub struct UpArgs {
    /// Number of nodes. Default: 1. With --hosts or --machines, the default is one node per host.
    #[arg(long, value_name = "COUNT")]
    pub nodes: Option<usize>,
    /// Version of Cassandra: a release, or a line such as 4.1. Default: 5.0.9, or with --like, the
    /// version of the snapshot's cluster.
    #[arg(long, value_name = "VERSION", value_parser = supply::release)]
    pub cassandra: Option<Release>,
    /// Major version of Java for the nodes, which must be installed. Default: 17 if it is
    /// installed, otherwise a version that Cassandra supports.
    #[arg(long, value_name = "MAJOR")]
    pub java: Option<u32>,
    /// Match the cluster of an exported snapshot in number of nodes, tokens, racks, data center and
    /// version of Cassandra.
    #[arg(long, value_name = "EXPORT", conflicts_with_all = ["nodes", "nodes_per_host"])]
    pub like: Option<PathBuf>,
    /// Heap of each node.
    #[arg(long, value_name = "SIZE", default_value = "1GiB",
          value_parser = study::units::parse_bytes)]
    pub heap: u64,
    /// Garbage collector of each node: g1, zgc, shenandoah or parallel.
    #[arg(long, value_name = "COLLECTOR", value_parser = collector)]
    pub gc: Option<target_spec::Collector>,
    /// Setting of cassandra.yaml, such as concurrent_reads=64. Write structured values as JSON.
    /// Repeatable. These settings do not require --trust, so check settings that you copy from
    /// others.
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub yaml: Vec<(String, serde_json::Value)>,
    /// JVM option of each node, added after cassay's own options, so that it takes precedence.
    /// Repeatable. These options do not require --trust, but can run programs, so check options
    /// that you copy from others.
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    pub jvm: Vec<String>,
    /// Share class data: nodes map the server's classes from an archive, so they start faster.
    #[arg(long)]
    pub class_sharing: bool,
    /// Maximum time to wait until all nodes answer.
    #[arg(long, value_name = "TIME", default_value = "3m",
          value_parser = study::units::parse_duration_ns)]
    pub start_timeout: u64,
    /// Require a password from clients. cassay writes the password to a file in the cluster's
    /// folder, and only you can read this file. Without this option, every user of this machine can
    /// connect.
    #[arg(long)]
    pub authentication: bool,
    /// Put the nodes on this many hosts, each in its own rack. If cassay runs as root and the
    /// machine supports it, each host gets a network, limits and a volume. Otherwise, each host
    /// gets only addresses.
    #[arg(long, value_name = "COUNT")]
    pub hosts: Option<usize>,
    /// Run the nodes on remote machines, over ssh. The file contains a list `machines` with one
    /// `{ssh: HOST, folder: PATH}` for each machine. cassay uses the first --hosts machines, or all
    /// machines.
    #[arg(long, value_name = "FILE")]
    pub machines: Option<PathBuf>,
    /// Number of nodes on each host.
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

/// Resource limits of each host.
#[derive(Debug, ClapArgs)]
pub struct HostArgs {
    /// Isolation of hosts: auto, hosts (fails if the machine does not support this isolation) or
    /// loopback.
    #[arg(long, value_name = "auto|hosts|loopback", requires = "on_hosts", default_value = "auto",
          value_parser = isolation)]
    pub isolation: target_spec::Isolation,
    /// CPUs that each host may use, such as 0,1.
    #[arg(
        long,
        value_name = "NUMBERS",
        requires = "on_hosts",
        value_delimiter = ','
    )]
    pub host_cpus: Option<Vec<usize>>,
    /// CPU time of each host, in cores, such as 1.5.
    #[arg(long, value_name = "CORES", requires = "on_hosts", value_parser = cores)]
    pub host_quota: Option<f64>,
    /// Memory limit of each host, such as 3GiB. The limit includes the page cache.
    #[arg(long, value_name = "SIZE", requires = "on_hosts",
          value_parser = study::units::parse_bytes)]
    pub host_memory: Option<u64>,
    /// Size of the data volume of each host, such as 20GiB.
    #[arg(long, value_name = "SIZE", requires = "on_hosts",
          value_parser = study::units::parse_bytes)]
    pub host_volume: Option<u64>,
    /// Bandwidth of each host's link, such as 1Gbit/s.
    #[arg(long, value_name = "RATE", requires = "on_hosts",
          value_parser = study::units::parse_bit_rate)]
    pub link_rate: Option<u64>,
    /// One-way delay of each host's link, such as 1ms.
    #[arg(long, value_name = "TIME", requires = "on_hosts",
          value_parser = study::units::parse_duration_ns)]
    pub link_delay: Option<u64>,
}

fn isolation(text: &str) -> Result<target_spec::Isolation, String> {
    target_spec::Isolation::from_name(text)
        .ok_or_else(|| "write auto, hosts or loopback".to_string())
}

fn collector(text: &str) -> Result<target_spec::Collector, String> {
    let known = || target_spec::Collector::ALL.map(target_spec::Collector::name).join(", ");
    target_spec::Collector::from_name(text).ok_or_else(|| format!("write one of {}", known()))
}

/// Parses a key of cassandra.yaml with its value, which is JSON or else plain text.
fn setting(text: &str) -> Result<(String, serde_json::Value), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    let (key, value) = (key.trim(), value.trim());
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if key.is_empty() || !key.chars().all(is_plain) {
        return Err(format!("`{key}` is not a key of cassandra.yaml"));
    }
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    Ok((key.to_owned(), value))
}

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
    /// Port to listen on. 0 selects a free port.
    #[arg(long, default_value_t = 9042)]
    pub port: u16,
    /// Address to listen on. Clients on other machines need an address that they can reach. Anyone
    /// who can reach the address can connect.
    #[arg(long, default_value_t = std::net::Ipv4Addr::LOCALHOST)]
    pub address: std::net::Ipv4Addr,
    /// Latency added to every answer.
    #[arg(long, value_name = "TIME", value_parser = study::units::parse_duration_ns)]
    pub latency: Option<u64>,
    /// Make --latency the mean of an exponential distribution.
    #[arg(long, requires = "latency")]
    pub exponential: bool,
    /// Length of each stall. Requires --stall-every.
    #[arg(long, value_name = "TIME", requires = "stall_every",
          value_parser = study::units::parse_duration_ns)]
    pub stall: Option<u64>,
    /// Time from the start of one stall to the start of the next.
    #[arg(long, value_name = "TIME", requires = "stall",
          value_parser = study::units::parse_duration_ns)]
    pub stall_every: Option<u64>,
    /// Answer this share of operations with an error, such as overloaded=0.01. Repeatable.
    #[arg(long, value_name = "NAME=SHARE", value_parser = error_share)]
    pub error: Vec<(String, f64)>,
    /// Number of the CPU to pin the server to.
    #[arg(long)]
    pub cpu: Option<usize>,
}

#[derive(Debug, ClapArgs)]
pub struct TagArgs {
    /// Name for the run, which consists of letters, digits, `-`, `_` and `.`. If another run has
    /// this name, cassay removes the name from that run.
    #[arg(value_name = "TAG")]
    pub name: Option<String>,
    /// Run to name: a folder, latest, a study (its newest run), study/stamp, or the beginning of
    /// such a name.
    #[arg(default_value = "latest", requires = "name")]
    pub run: String,
    /// Remove the name from the run that has it.
    #[arg(long, requires = "name")]
    pub remove: bool,
}

fn target_setting(text: &str) -> Result<String, String> {
    let is_one = text.starts_with("target.") && text.contains('=');
    let found = is_one.then(|| text.to_owned());
    found.ok_or_else(|| "write target.PATH=VALUE".to_owned())
}

fn contact_point(text: &str) -> Result<String, String> {
    match text.strip_prefix("attach:") {
        Some(point) if !point.is_empty() => match point.parse::<ContactPoint>() {
            Ok(_) => Ok(point.to_owned()),
            Err(why) => Err(format!("the contact point {why}")),
        },
        _ => Err("write attach:HOST or attach:HOST:PORT".to_owned()),
    }
}

fn error_share(text: &str) -> Result<(String, f64), String> {
    let (name, share) = text.split_once('=').ok_or("write NAME=SHARE")?;
    let share = study::units::parse_number(share)?;
    if (0.0..=1.0).contains(&share) {
        Ok((name.to_owned(), share))
    } else {
        Err("a share must be from 0 to 1".to_owned())
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
        for bad in ["db1", "attach:", "local", "attach:db1:99999"] {
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
