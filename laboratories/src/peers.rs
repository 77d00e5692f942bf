//! `cargo xtask peers`: runs cassay and its peers on the same work, and writes the results to
//! `docs/performance.md`.
//!
//! 1. Installs the peers outside of the tree (`install`), and builds cassay and the null server.
//! 2. Starts a server, which is the null target or a real Cassandra.
//! 3. For each case, runs every tool in several rounds, one at a time and in rotating order
//!    (`tools`). Samples the processor time and the memory of the tool during the run (`sample`).
//! 4. Writes medians and ranges with machine, versions and command into the document (`table`).
//!
//! All started processes are stopped when their guard is dropped. A failed run of a tool is
//! reported and omitted, and the other runs count.

mod install;
pub mod sample;
mod studies;
mod table;
mod tools;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use sample::Server;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use table::Cell;
use tools::Tool;
use xtask::tree;

/// Options of `cargo xtask peers`.
#[derive(clap::Args)]
pub struct Options {
    /// Measured time of each run, seconds
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(5..))]
    seconds: u32,
    /// Number of runs of each tool in each case
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Only this server
    #[arg(long)]
    only: Option<PeerServer>,
    /// Only these tools
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "cassay,cassay-batched,cassay-latte-table,latte,latte-scylla,\
                         cassandra-stress"
    )]
    tools: Vec<Tool>,
    /// Address of a running Cassandra; by default `cassay target up` starts one
    #[arg(long, value_name = "ADDRESS")]
    cassandra: Option<SocketAddr>,
    /// Print the tables, and do not change the document
    #[arg(long)]
    no_write: bool,
}

/// Kind of server against which the tools run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PeerServer {
    /// The null target, with the client on CPU 0 and the server on CPU 1.
    Null,
    /// A real Cassandra. The client and the node share the CPUs.
    Cassandra,
}

/// Operations that every tool executes in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Server under test.
    pub place: PeerServer,
    pub is_read: bool,
    /// Schedule of the operations.
    pub load: Load,
}

/// Schedule of the operations of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// A closed loop with this number of operations in flight.
    Closed(u32),
    /// A fixed rate in operations per second, independent of the server.
    Rate(u32),
}

/// Number of operations in flight in a closed loop. At a fixed rate, it is the maximum number of
/// operations in flight.
pub const IN_FLIGHT: u32 = 128;
/// Number of rows that are written to Cassandra before the cases that read. The cases that write
/// overwrite these rows.
pub const ROWS: u64 = 200_000;

const fn case(place: PeerServer, is_read: bool, load: Load) -> Case {
    Case {
        place,
        is_read,
        load,
    }
}

/// All cases in order. A single Cassandra on two shared CPUs does not reach 50 k/s with every tool,
/// so its only fixed rate is the lower rate. Rows of Cassandra are read before they are
/// overwritten, so that every row is in one SSTable, regardless of the statement that wrote the
/// row. Overwritten rows are not comparable, because a read may stop at the newest SSTable if
/// INSERT wrote the row, but not if UPDATE did.
const CASES: [Case; 7] = [
    case(PeerServer::Null, false, Load::Closed(IN_FLIGHT)),
    case(PeerServer::Null, true, Load::Closed(IN_FLIGHT)),
    case(PeerServer::Null, false, Load::Rate(10_000)),
    case(PeerServer::Null, false, Load::Rate(50_000)),
    case(PeerServer::Cassandra, true, Load::Closed(IN_FLIGHT)),
    case(PeerServer::Cassandra, false, Load::Closed(IN_FLIGHT)),
    case(PeerServer::Cassandra, false, Load::Rate(10_000)),
];

/// Returns the fixed rates of the cases on the null target, in requests per second.
fn rates() -> impl Iterator<Item = u32> {
    let rate = |case: &Case| match case.load {
        Load::Rate(rate) => Some(rate),
        Load::Closed(_) => None,
    };
    CASES.iter().filter(|case| case.place == PeerServer::Null).filter_map(rate)
}

impl PeerServer {
    /// Returns the name of the server in options and in the document.
    pub fn name(self) -> &'static str {
        match self {
            PeerServer::Null => "null",
            PeerServer::Cassandra => "cassandra",
        }
    }
}

impl Case {
    /// Returns the name of the case in the table.
    pub fn name(self) -> String {
        let kind = if self.is_read { "reads" } else { "writes" };
        match self.load {
            Load::Closed(in_flight) => format!("{kind}, {in_flight} in flight"),
            Load::Rate(rate) => format!("{kind}, {} k/s", rate / 1000),
        }
    }
}

/// Folders that this benchmark uses.
pub struct Places {
    /// Folder of the installed peers, which is outside of the tree.
    pub peers: PathBuf,
    /// Folder for reports and studies of this benchmark. The benchmark empties it at the start.
    pub scratch: PathBuf,
}

/// Runs the benchmark.
pub fn run(options: &Options) -> Result<()> {
    let home = std::env::var_os("HOME").context("find the home folder: HOME is not set")?;
    let places = Places {
        peers: PathBuf::from(home).join(".cache/cassay/peers"),
        scratch: std::env::temp_dir().join(format!("cassay-peers-{}", std::process::id())),
    };
    std::fs::create_dir_all(&places.scratch)
        .with_context(|| format!("create {}", places.scratch.display()))?;
    install::all(&options.tools, &places)?;
    let mut cells = Vec::new();
    for place in [PeerServer::Null, PeerServer::Cassandra] {
        if options.only.is_none_or(|only| only == place) {
            measure(place, options, &places, &mut cells)?;
        }
    }
    std::fs::remove_dir_all(&places.scratch)
        .with_context(|| format!("remove {}", places.scratch.display()))?;
    if cells.is_empty() {
        bail!("no run succeeded; the reasons are above");
    }
    let path = tree::root().join("docs/performance.md");
    let mut document =
        std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    for place in [PeerServer::Null, PeerServer::Cassandra] {
        if cells.iter().any(|cell| cell.case.place == place) {
            let section = table::section(place, &cells, options.seconds, options.rounds);
            document = table::replace(&document, place, &section)?;
            println!("{section}");
        }
    }
    if options.no_write {
        return Ok(());
    }
    std::fs::write(&path, document).with_context(|| format!("write {}", path.display()))
}

fn measure(
    place: PeerServer,
    options: &Options,
    places: &Places,
    cells: &mut Vec<Cell>,
) -> Result<()> {
    let server = match (place, options.cassandra) {
        (PeerServer::Null, _) => Server::null()?,
        (PeerServer::Cassandra, Some(address)) => Server::attached(address),
        (PeerServer::Cassandra, None) => Server::cassandra()?,
    };
    let has = |tool| options.tools.contains(&tool);
    for tool in &options.tools {
        // These tools of cassay read the rows of another tool. If that tool also takes part, it
        // writes the rows, and they are written only once.
        let are_written_by_another = match tool {
            Tool::Cassay | Tool::CassayBatched => has(Tool::CassandraStress),
            Tool::CassayLatteTable => has(Tool::Latte),
            Tool::Latte | Tool::LatteScylla | Tool::CassandraStress => false,
        };
        if are_written_by_another {
            continue;
        }
        tool.populate(place, &server, places)
            .with_context(|| format!("write the rows that {} reads", tool.name()))?;
    }
    for case in CASES.iter().filter(|case| case.place == place) {
        measure_case(*case, &server, options, places, cells);
    }
    server.stop()
}

/// Runs all rounds of a case. On Cassandra, an additional first round does not count. During this
/// round, the JVM compiles, and the compactions after the loading end. Without it, the first tool
/// would have a disadvantage.
fn measure_case(
    case: Case,
    server: &Server,
    options: &Options,
    places: &Places,
    cells: &mut Vec<Cell>,
) {
    let takes = options.tools.iter().copied();
    let tools: Vec<Tool> = takes.filter(|tool| tool.takes(case)).collect();
    let unmeasured = usize::from(case.place == PeerServer::Cassandra);
    let window = Duration::from_secs(options.seconds.into());
    for round in 0..unmeasured + options.rounds as usize {
        for turn in 0..tools.len() {
            // The order rotates, so that every tool comes first equally often.
            let tool = tools[(turn + round) % tools.len()];
            match tools::run(tool, case, server, window, places) {
                Ok(_) if round < unmeasured => println!("{} {}: warm", tool.name(), case.name()),
                Ok(run) => {
                    println!("{}", table::line(tool, case, &run));
                    cells.push(Cell { tool, case, run });
                }
                Err(error) => println!("{} {}: {error:#}", tool.name(), case.name()),
            }
        }
    }
}
