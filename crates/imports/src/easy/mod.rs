//! Imports cassandra-easy-stress (formerly easy-cass-stress and tlp-stress). This module converts a
//! command line to the steps of the tool's KeyValue workload.
//!
//! Table, statements, keys, key distribution, lengths of values and rate are those of the tool as
//! released by Apache. The tool makes some random choices per thread. In cassay, these choices are
//! a function of the seed and the operation's number.

mod operations;
mod options;
mod table;

use core::time::Duration;
use std::sync::Arc;

use crate::import_result::{Connection, Import, ImportStep, Offer, Secret, StepLimit};
use cql::Consistency;
use operations::{DELETION, Keys, MUTATION, SELECT, Source};
use options::Options;
pub(crate) use options::SECRET;
use workload::{Kind, Program, Schema, Stage, Statement};
use yaml::Diagnostics;

/// Maximum number of threads. The numbers of a thread and of a key must fit together into one
/// 64-bit number.
const THREADS_MAX: u64 = 1 << 12;
const PARTITIONS_MAX: u64 = 1 << 48;
const OPERATIONS_MAX: u64 = 1 << 48;
/// Default number of operations of a thread. It applies if the command line states neither a number
/// nor a duration.
const ITERATIONS: u64 = 1_000_000;
const RATE: u64 = 5000;
const RATE_MAX: u64 = 1_000_000_000;
/// Maximum number of operations in flight. In the tool, only the connections limit this number.
const IN_FLIGHT_MAX: u32 = 32_768;
/// Timeout of a request. The tool always has this timeout, regardless of its options.
const TIMEOUT: Duration = Duration::from_secs(30);
const ID_BYTES_MAX: usize = 200;

/// Imports a command line of cassandra-easy-stress. Every random choice is a function of `seed`.
///
/// # Errors
/// Every mistake in the words, with its position.
pub(crate) fn import(words: &[String], seed: u64) -> Result<Import, Diagnostics> {
    let mut options = Options::parse(words);
    table::check_workload(&mut options);
    let source = source(&mut options, seed);
    let rate = options.count("--rate", RATE, 1..=RATE_MAX);
    let steps = steps(&mut options, &source, rate);
    let connection = connection(&mut options);
    options.out.into_result()?;
    let mut notes = notes(&source, rate);
    if !options.idle.is_empty() {
        let idle = options.idle.join(", ");
        notes.push(format!("these options have no effect in cassay: {idle}"));
    }
    Ok(Import {
        steps,
        notes,
        connection,
    })
}

fn source(options: &mut Options, seed: u64) -> Source {
    let keys = |name: &str| match name {
        "random" => Some(Keys::Random),
        "normal" => Some(Keys::Normal),
        "sequence" => Some(Keys::Sequence),
        _ => None,
    };
    let of = ("random, normal or sequence", keys);
    let keys = options.value("--partitiongenerator", Keys::Random, of);
    // A normal distribution over one partition has a standard deviation of 0.
    let least = if keys == Keys::Normal { 2 } else { 1 };
    let reads = options.share("--readrate", 0.5);
    let deletes = options.share("--deleterate", 0.0);
    if reads + deletes > 1.0 {
        let what = format!("at most 1 minus the share of --readrate, {reads}");
        options.wrong_value("--deleterate", &what);
    }
    let id = |text: &str| (text.len() <= ID_BYTES_MAX).then(|| text.to_owned());
    let of = (&format!("a string of up to {ID_BYTES_MAX} bytes")[..], id);
    Source {
        seed,
        id: options.value("--id", "001".to_owned(), of),
        threads: options.count("--threads", 1, 1..=THREADS_MAX),
        partitions: options.count("--partitions", 1_000_000, least..=PARTITIONS_MAX),
        keys,
        populated: options.count("--populate", 0, 0..=OPERATIONS_MAX),
        reads,
        deletes,
        expires: options.text("--ttl").is_some_and(|ttl| ttl != "0"),
        lengths: table::lengths(options),
    }
}

/// Returns the length of the run. `--iterations` is the number of operations of each thread.
fn length(options: &mut Options, threads: u64) -> StepLimit {
    let seconds = options.seconds("--duration");
    let iterations = options.count("--iterations", ITERATIONS, 1..=OPERATIONS_MAX);
    if seconds.is_some() && options.text("--iterations").is_some() {
        options.wrong_value("--iterations", "omit if --duration is set");
    }
    match seconds {
        Some(seconds) => StepLimit::Duration(Duration::from_secs(seconds)),
        None => StepLimit::Operations(iterations * threads),
    }
}

fn statements(keyspace: &str, options: &mut Options, source: &Source) -> Vec<Statement> {
    let table = format!("\"{keyspace}\".{}", table::TABLE);
    let of = ("a level such as LOCAL_ONE or QUORUM", |text: &str| {
        text.parse().ok()
    });
    let level = options.value("--cl", Consistency::LocalOne, of);
    let texts = [
        (SELECT, format!("SELECT * from {table} WHERE key = ?")),
        (
            MUTATION,
            format!("INSERT INTO {table} (key, value) VALUES (?, ?)"),
        ),
        (DELETION, format!("DELETE from {table} WHERE key = ?")),
    ];
    let statement = |(kind, cql): (u8, String)| Statement {
        idempotent: true,
        returns_rows: kind == SELECT,
        verifies: kind == SELECT && source.verifies(),
        finds: kind == SELECT && source.finds(),
        ..Statement::new(&cql, kind, cql.matches('?').count() as u16, level)
    };
    texts.into_iter().map(statement).collect()
}

/// Returns the run and, if the command line requests it, the populating step before the run.
fn steps(options: &mut Options, source: &Source, rate: u64) -> Vec<ImportStep> {
    let keyspace = table::keyspace(options);
    let schema = table::schema(&keyspace, options);
    let statements = statements(&keyspace, options, source);
    let length = length(options, source.threads);
    let mut before = before(&keyspace, &schema, options);
    let kinds =
        [("select", false), ("mutation", true), ("deletion", true)].map(|(name, is_write)| {
            let mut kind = Kind::new(name, is_write);
            kind.policy.timeout = Some(TIMEOUT);
            kind
        });
    let populated = source.populated * source.threads;
    let tables = (keyspace, vec![table::TABLE.to_owned()]);
    let program = Program::from_source(kinds.into(), statements, Arc::new(source.clone()))
        .with_tables("easy", tables, schema, populated);
    let program = Arc::new(program);
    let mut step = |name: &str, stage, limit| ImportStep {
        name: name.to_owned(),
        program: Arc::clone(&program),
        stage,
        before: std::mem::take(&mut before),
        first_operation: 0,
        limit,
        offer: Offer::Rate {
            per_second: rate as f64,
            threads: IN_FLIGHT_MAX,
            hides_wait: false,
        },
        warmup_operations: 0,
        truncate: Vec::new(),
        truncates_always: false,
    };
    let populating = StepLimit::Operations(populated);
    let populate = (populated > 0).then(|| step("populate", Stage::Load, populating));
    populate.into_iter().chain([step("run", Stage::Main, length)]).collect()
}

/// Returns the statements to execute before the first step, in the same order as in the tool.
fn before(keyspace: &str, schema: &Schema, options: &mut Options) -> Vec<String> {
    let mut before = Vec::new();
    if options.text("--no-schema").is_none() {
        if options.text("--drop").is_some() {
            before.push(schema.drop_keyspace.clone());
        }
        before.push(schema.create_keyspace.clone());
        before.extend(schema.create_tables.iter().cloned());
    }
    if !options.cql.is_empty() {
        // The session of the tool executes USE with the tool's keyspace.
        before.push(format!("USE \"{keyspace}\""));
        before.append(&mut options.cql);
    }
    before
}

fn notes(source: &Source, rate: u64) -> Vec<String> {
    let mut notes = vec![
        format!(
            "cassay offers the full rate of {rate} per second from the start. The tool begins with \
             a tenth of the rate, and reaches the full rate within 50 s"
        ),
        "latency counts from the due time of an operation, and cassay drops no operation. In the \
         tool, latency counts from the time at which the generator creates an operation, even if \
         that is late. The tool's queue contains up to 10000 operations, and the tool drops \
         further operations"
            .to_owned(),
        "values are functions of the seed, key and writing operation, so that cassay can verify \
         reads; the tool's values are random"
            .to_owned(),
    ];
    if source.threads > 1 {
        notes.push(format!(
            "each of {} threads has its own keys, and --partitions, --iterations and --populate \
             apply to each thread, as in the tool. cassay assigns operations to the keys one after \
             the other",
            source.threads
        ));
    }
    notes
}

fn connection(options: &mut Options) -> Connection {
    let port = options.count("--port", 9042, 1..=65_535) as u16;
    let connections = options.count("--max-connections", 1, 1..=1024) as u32;
    let said = |name: &str| options.text(name).map(str::to_owned);
    let (username, password) = (said("--username"), said("--password"));
    // If the command line states only the user name or only the password, the other value is the
    // tool's default.
    let named = username.is_some() || password.is_some();
    let or_default = |text: Option<String>| {
        let default = || named.then(|| "cassandra".to_owned());
        text.or_else(default)
    };
    Connection {
        nodes: vec![said("--host").unwrap_or_else(|| "127.0.0.1".to_owned())],
        port: Some(port),
        username: or_default(username),
        password: or_default(password).map(Secret::new),
        tls: said("--ssl").map(|_| true),
        connections_per_node: said("--max-connections").map(|_| connections),
        datacenter: said("--dc"),
        ..Connection::default()
    }
}

#[cfg(test)]
mod tests;
