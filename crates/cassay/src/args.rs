//! The command line, as it is written.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// A performance laboratory for Apache Cassandra: a question as one file, an answer with evidence.
#[derive(Debug, Parser)]
#[command(name = "cassay", version, max_term_width = 100, after_help = EXITS)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
    /// Print data as JSON on stdout
    #[arg(long, global = true)]
    pub json: bool,
    /// Folder of the results
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "CASSAY_RESULTS",
        default_value = "results"
    )]
    pub out: PathBuf,
}

const EXITS: &str = "Exit codes: 0 valid (suspect included), 1 error, 2 usage or mistakes in a \
study, 3 invalid run, 4 a stated requirement missed, 130 interrupted.

Files: jars in $CASSAY_CACHE (default ~/.cache/cassay), clusters while they run in $CASSAY_DATA \
(default ~/.local/state/cassay).";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Say what a study would do, how long and how large: nothing is started
    Plan(StudyArguments),
    /// Run a study and write its report
    Run(StudyArguments),
    /// Go on with an interrupted run
    Resume {
        /// Folder, STUDY/STAMP, STUDY, or `latest`
        #[arg(default_value = "latest")]
        run: String,
    },
    /// List the runs
    List,
    /// Show what a run found
    Show {
        /// Folder, STUDY/STAMP, STUDY, or `latest`
        #[arg(default_value = "latest")]
        run: String,
    },
    /// Compare two runs, point by point
    Compare {
        /// The run that the other is measured against
        baseline: String,
        /// The other
        contender: String,
        /// Write the comparison as a page to this file
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
    },
    /// Write a run's report again and name it
    Report {
        /// Folder, STUDY/STAMP, STUDY, or `latest`
        #[arg(default_value = "latest")]
        run: String,
    },
    /// Start, list and stop clusters that outlive the command
    Target(TargetArguments),
    /// Named workloads
    Workload(WorkloadArguments),
    /// Serve the null target: answers CQL at once and stores nothing
    Null(NullArguments),
}

#[derive(Debug, Args)]
pub struct StudyArguments {
    /// The study file
    pub study: PathBuf,
    /// Another target: `null`, `local` or `attach:HOST[:PORT]`
    #[arg(long)]
    pub target: Option<String>,
    /// One of the study's scales
    #[arg(long, value_name = "NAME")]
    pub scale: Option<String>,
    /// Change one setting, as often as you like
    #[arg(long = "set", value_name = "DOTTED.PATH=VALUE")]
    pub set: Vec<String>,
    /// Another seed
    #[arg(long)]
    pub seed: Option<u64>,
}

#[derive(Debug, Args)]
pub struct TargetArguments {
    #[command(subcommand)]
    pub action: TargetAction,
}

#[derive(Debug, Subcommand)]
pub enum TargetAction {
    /// Start a local cluster that stays until `target down`
    Up {
        /// Version of Apache Cassandra
        #[arg(long, default_value = target::CASSANDRA_VERSION)]
        cassandra: String,
        /// Nodes, 1 to 3
        #[arg(long, default_value_t = 1)]
        nodes: usize,
        /// Heap of each node
        #[arg(long, default_value = "1GiB")]
        heap: String,
        /// Rack of each node, in turn
        #[arg(long, value_delimiter = ',', default_value = "rack1")]
        racks: Vec<String>,
        /// Loopback address of the first node; a free one by default
        #[arg(long)]
        address: Option<std::net::Ipv4Addr>,
        /// A cassandra.yaml setting, as often as you like
        #[arg(long = "yaml", value_name = "KEY=VALUE")]
        yaml: Vec<String>,
    },
    /// List the clusters of cassay on this machine
    Status,
    /// Stop them and remove their data
    Down {
        /// Only this one, by its name in `target status`
        id: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct WorkloadArguments {
    #[command(subcommand)]
    pub action: WorkloadAction,
}

#[derive(Debug, Subcommand)]
pub enum WorkloadAction {
    /// List the named workloads
    List,
    /// Show one: kinds, parameters, tables and statements
    Show {
        /// Its name
        name: String,
    },
}

#[derive(Debug, Args)]
pub struct NullArguments {
    /// Port at 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 9042)]
    pub port: u16,
    /// CPUs: an event loop on each, pinned; by default one that is not pinned
    #[arg(long, value_delimiter = ',')]
    pub cpus: Vec<usize>,
    /// Latency of every answer
    #[arg(long, value_name = "TIME", conflicts_with = "exponential")]
    pub latency: Option<String>,
    /// Exponential latency with this mean
    #[arg(long, value_name = "MEAN")]
    pub exponential: Option<String>,
    /// Answer nothing for LENGTH out of every EVERY: `1s/10s`
    #[arg(long, value_name = "LENGTH/EVERY")]
    pub stall: Option<String>,
    /// Share of operations answered with an error: `overloaded=0.01`
    #[arg(long = "error", value_name = "NAME=SHARE")]
    pub errors: Vec<String>,
    /// Answer reads with one row whose cells are this long
    #[arg(long, value_name = "BYTES")]
    pub row: Option<u32>,
    /// Never sleep: answers some µs sooner at the price of a whole CPU
    #[arg(long)]
    pub spin: bool,
    /// End after this time; by default on Ctrl-C
    #[arg(long = "for", value_name = "TIME")]
    pub length: Option<String>,
}
