//! `cargo xtask peers`: cassay and its peers on the same work, written to `docs/performance.md`.
//!
//! 1. install the peers outside of the tree (`install`), build cassay and the null server;
//! 2. start a server: the null target, or a real Cassandra;
//! 3. case by case, in rounds, run every tool, one at a time, in an order that turns (`tools`),
//!    while its processor time and memory are sampled (`sample`);
//! 4. write the medians and ranges with machine, versions and command into the document (`table`).
//!
//! Whatever was started is stopped when its guard is dropped. A run of a tool that fails is
//! reported and left out; the others count.

mod install;
pub mod sample;
mod table;
mod tools;

use crate::tree;
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use sample::Server;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use table::Cell;
use tools::Tool;

/// The arguments of `cargo xtask peers`.
#[derive(clap::Args)]
pub struct Options {
    /// How long each run measures
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(5..))]
    seconds: u32,
    /// How often each tool runs each case
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Only against this server
    #[arg(long)]
    only: Option<Place>,
    /// Only these tools
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "cassay,cassay-batched,latte,cassandra-stress"
    )]
    tools: Vec<Tool>,
    /// A Cassandra that is running already; otherwise `cassay target up` starts one
    #[arg(long, value_name = "ADDRESS")]
    cassandra: Option<SocketAddr>,
    /// Prints the tables and leaves the document alone
    #[arg(long)]
    no_write: bool,
}

/// What the tools run against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Place {
    /// The null target: client on CPU 0, server on CPU 1.
    Null,
    /// A real Cassandra: client and node share the CPUs.
    Cassandra,
}

/// What every tool does in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Against what.
    pub place: Place,
    /// Whether it reads; otherwise it writes.
    pub is_read: bool,
    /// When operations are sent.
    pub load: Load,
}

/// When operations are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// As soon as one of so many is answered.
    Closed(u32),
    /// So many per second, whatever the server does.
    Rate(u32),
}

/// Operations in flight in a closed loop, and at most at a fixed rate.
pub const IN_FLIGHT: u32 = 128;
/// Rows that are written before Cassandra is read, and that writes go round in.
pub const ROWS: u64 = 200_000;

const fn case(place: Place, is_read: bool, load: Load) -> Case {
    Case {
        place,
        is_read,
        load,
    }
}

/// All cases in the order in which they are run. A single Cassandra on two shared CPUs does not
/// take 50 k/s of every tool, so that there its fixed rate is the lower one only. It is read before
/// it is written to: every row is then in one SSTable, whichever statement wrote it. Overwritten
/// rows are not comparable, since a read may stop at the newest SSTable where INSERT wrote the row,
/// and not where UPDATE did.
const CASES: [Case; 7] = [
    case(Place::Null, false, Load::Closed(IN_FLIGHT)),
    case(Place::Null, true, Load::Closed(IN_FLIGHT)),
    case(Place::Null, false, Load::Rate(10_000)),
    case(Place::Null, false, Load::Rate(50_000)),
    case(Place::Cassandra, true, Load::Closed(IN_FLIGHT)),
    case(Place::Cassandra, false, Load::Closed(IN_FLIGHT)),
    case(Place::Cassandra, false, Load::Rate(10_000)),
];

impl Place {
    /// As it is called in options and in the document.
    pub fn name(self) -> &'static str {
        match self {
            Place::Null => "null",
            Place::Cassandra => "cassandra",
        }
    }
}

impl Case {
    /// As it is called in the table.
    pub fn name(self) -> String {
        let kind = if self.is_read { "reads" } else { "writes" };
        match self.load {
            Load::Closed(in_flight) => format!("{kind}, {in_flight} in flight"),
            Load::Rate(rate) => format!("{kind}, {} k/s", rate / 1000),
        }
    }
}

/// Where things are.
pub struct Places {
    /// Outside of the tree: installed peers.
    pub peers: PathBuf,
    /// Reports and studies of this bench; emptied at the beginning.
    pub scratch: PathBuf,
}

/// Runs the bench.
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
    for place in [Place::Null, Place::Cassandra] {
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
    for place in [Place::Null, Place::Cassandra] {
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

/// All rounds against one server.
fn measure(place: Place, options: &Options, places: &Places, cells: &mut Vec<Cell>) -> Result<()> {
    let server = match (place, options.cassandra) {
        (Place::Null, _) => Server::null()?,
        (Place::Cassandra, Some(address)) => Server::attached(address),
        (Place::Cassandra, None) => Server::cassandra()?,
    };
    let stress_too = options.tools.contains(&Tool::CassandraStress);
    for tool in &options.tools {
        // The rows of cassandra-stress are cassay's too: once is enough.
        if stress_too && matches!(tool, Tool::Cassay | Tool::CassayBatched) {
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

/// All rounds of a case. On Cassandra there is one more before them, which does not count: while
/// the JVM compiles and the compactions after loading end, whoever comes first is at a
/// disadvantage.
fn measure_case(
    case: Case,
    server: &Server,
    options: &Options,
    places: &Places,
    cells: &mut Vec<Cell>,
) {
    let takes = options.tools.iter().copied();
    let tools: Vec<Tool> = takes.filter(|tool| tool.takes(case)).collect();
    let unmeasured = usize::from(case.place == Place::Cassandra);
    let window = Duration::from_secs(options.seconds.into());
    for round in 0..unmeasured + options.rounds as usize {
        for turn in 0..tools.len() {
            // Every tool is first as often as any other.
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
