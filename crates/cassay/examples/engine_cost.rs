//! Measures how much CPU time the engine needs for an operation against the null target. This is
//! the CPU time of the engine's worker, including the kernel.
//!
//! ```text
//! cargo run --release -p cassay --example engine_cost -- [seconds] [in flight] [what] [rounds]
//! ```
//! `what` is a named workload, the command line of another tool, or the shape of an operation. The
//! example sends only the writes of a named workload. The shapes are `plain`, `retries` (permitted,
//! but not needed), `stamped` (the client sets the timestamp), `text` (not prepared), `batch10`,
//! `pages3`, `chain2`. The engine's worker runs on CPU 0 and the null target on CPU 1, in one
//! process. Only the best interval counts, because every disturbance on a busy machine adds time.
#![expect(clippy::print_stdout, reason = "the example prints its result")]

use anyhow::{Context, Result, anyhow};
use cql::Consistency;
use cql::response::RawRows;
use cql::template::append_value;
use imports::Tool;
use load::{Access, Config, Endpoint, Flow, LedgerMode, Limit, Schedule, VerifyReads};
use null_server::NullServer;
use std::sync::Arc;
use std::time::Duration;
use target_spec::{NullSpec, Reads};
use workload::Spec;
use workload::{
    BatchKind, Check, Kind, Operation, OperationEncoder, OperationSource, Program, Stage, Statement,
};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: u64| match arguments.get(index) {
        Some(text) => text.parse().with_context(|| format!("read the number `{text}`")),
        None => Ok(default),
    };
    let what = arguments.get(2).map_or("standard1", String::as_str);
    let (seconds, in_flight, rounds) = (number(0, 2)?, number(1, 128)?, number(3, 5)?);
    let server = NullServer::start(&NullSpec {
        cpus: vec![1],
        reads: Reads::Rows {
            rows: 30,
            cell_bytes: 34,
        },
        ..NullSpec::default()
    })?;
    let program = match shape(what) {
        Some(program) => program,
        None => program(what)?,
    };
    let config = Config {
        program: Arc::new(program),
        stage: Stage::Main,
        nodes: vec![Endpoint::from_address(server.address())],
        access: Access::default(),
        schedule: Schedule::Closed {
            in_flight: in_flight as u32,
        },
        rise: Duration::ZERO,
        first_operation: 0,
        limit: Limit::Duration(Duration::from_secs(seconds)),
        window: load::Window::Whole,
        in_flight_max: 64,
        release_quantum: load::RELEASE_QUANTUM,
        timeout: Duration::from_secs(5),
        retries_min: 0,
        workers: 1,
        others: load::OtherWorkers::default(),
        cpus: vec![0],
        realtime: false,
        connections_per_node: 1,
        interval: Duration::from_millis(100),
        verify_reads: VerifyReads::Off,
        keeps: LedgerMode::Nothing,
        written: None,
    };
    for _ in 0..rounds {
        round(&config, what)?;
    }
    Ok(())
}

fn round(config: &Config, what: &str) -> Result<()> {
    let mut best = (f64::INFINITY, 0.0);
    let mut failed = 0;
    load::run(config, &mut |interval| {
        let ended = interval.ended() as f64;
        failed += interval.whole_kinds().map(|kind| kind.outcomes.errors()).sum::<u64>();
        if !interval.draining && interval.index > 1 && ended > 0.0 {
            let ns = interval.client.cpu_ns as f64 / ended;
            if ns < best.0 {
                best = (ns, ended / interval.seconds());
            }
        }
        Flow::Continue
    })?;
    println!(
        "{what}: {:.0} ns of CPU per operation, {:.2} M op/s, {failed} failed",
        best.0,
        best.1 / 1e6
    );
    Ok(())
}

/// Returns the writes of a named workload. If `name` contains a space, `name` is the command line
/// of another tool.
fn program(name: &str) -> Result<Program> {
    if let Some((tool, words)) = name.split_once(' ') {
        return imported(tool, words);
    }
    let spec = Spec {
        mix: vec![("write".to_owned(), 1.0)],
        ..Spec::new(name, 1_000_000, 1)
    };
    workload::compile(&spec).map_err(|problems| anyhow!("{problems:?}"))
}

/// Returns the program of the last step of a tool's command line, such as `stress write n=1M`.
fn imported(name: &str, words: &str) -> Result<Program> {
    let tool = Tool::ALL
        .into_iter()
        .find(|tool| tool.name() == name)
        .with_context(|| format!("{name} is not a tool"))?;
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    let read = |file: &str| std::fs::read_to_string(file).map_err(|error| error.to_string());
    let import = imports::import(tool, &words, 1, &read).map_err(|why| anyhow!("{why}"))?;
    let step = import.steps.last().context("it has no steps")?;
    Ok(Program::clone(&step.program))
}

/// Returns the program of a named shape. The operations of all shapes contain the values of a
/// standard1 write.
fn shape(name: &str) -> Option<Program> {
    const INSERT: &str = "INSERT INTO k.s (key, c0, c1, c2, c3, c4) VALUES (?, ?, ?, ?, ?, ?)";
    let mut kind = Kind::new("write", true);
    let mut statement = Statement {
        idempotent: true,
        ..Statement::new(INSERT, 0, 6, Consistency::LocalOne)
    };
    let mut entries = 1;
    let mut statements = Vec::new();
    match name {
        "plain" => {}
        "retries" => kind.policy.retries = 3,
        "stamped" => statement.client_timestamp = true,
        "text" => statement.prepared = false,
        "batch10" => {
            statement.batch = Some(BatchKind::Unlogged);
            entries = 10;
        }
        "pages3" => {
            let select = "SELECT c0, c1 FROM k.s WHERE key = ? AND c0 = ? AND c1 = ? AND c2 = ? \
                          AND c3 = ? AND c4 = ?";
            statement.cql = select.to_owned();
            statement.returns_rows = true;
            statement.page_size = Some(10);
        }
        "chain2" => {
            statement.then = Some(1);
            statements.push(statement.clone());
            statement.then = None;
        }
        _ => return None,
    }
    statements.push(statement);
    let source = Arc::new(Shape { entries });
    Some(Program::from_source(vec![kind], statements, source))
}

#[derive(Clone, Copy, Debug)]
struct Shape {
    entries: usize,
}

#[derive(Debug)]
struct ShapeCursor {
    entries: usize,
    operation: Operation,
}

impl OperationSource for Shape {
    fn cursor(self: Arc<Self>, _stage: Stage) -> Box<dyn OperationEncoder> {
        Box::new(ShapeCursor {
            entries: self.entries,
            operation: Operation::default(),
        })
    }

    fn row_bytes_estimate(&self) -> u64 {
        180
    }
}

impl OperationEncoder for ShapeCursor {
    fn begin(&mut self, n: u64) -> Operation {
        self.operation = Operation {
            number: n,
            key: n,
            ..Operation::default()
        };
        self.operation
    }

    fn seek(&mut self, operation: Operation) {
        self.operation = operation;
    }

    fn token(&self) -> Option<i64> {
        None
    }

    fn entries(&self) -> usize {
        self.entries
    }

    fn entry_statement(&self, _entry: usize) -> u16 {
        self.operation.statement
    }

    fn append_values(&mut self, _entry: usize, out: &mut Vec<u8>) {
        append_value(out, &self.operation.number.to_be_bytes());
        for _ in 0..5 {
            append_value(out, &[b'x'; 34]);
        }
    }

    fn check(&mut self, _rows: &RawRows) -> Check {
        Check::Right
    }

    fn values_bytes_max(&self) -> usize {
        12 + 5 * 38
    }
}
