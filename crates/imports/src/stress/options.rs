//! Parses cassandra-stress's options: rows, rates, schema, and treatment of failures.
//! [`connection`] parses the nodes to contact, and [`output`] parses the output.
//!
//! An absent option has the tool's default. If the defaults of the versions differ, it is the
//! default of 3.11.4. An option without effect in cassay always leads to a note.

mod connection;
mod output;
mod schema;

pub use connection::{Connect, Style};
pub(crate) use connection::{JMX, MODE, NODE, PORT, TRANSPORT};
pub(crate) use output::{GRAPH, LOG, REPORTING, TOKEN_RANGE};
pub use output::{Output, Verbosity};
pub(crate) use schema::SCHEMA;
pub use schema::SchemaOptions;

use yaml::{Diagnostics, Place};

use super::argument_values::{self, WrittenDistribution};
use super::command::{Groups, Limit, Verb};
use super::params::{KnownParam, Params};
use super::tables::{COL, ERRORS, INSERT, POP, RATE, SECOND};
use cql::Consistency;
use workload::BatchKind;

pub(crate) const NAMES: [&str; 17] = [
    "-pop",
    "-insert",
    "-col",
    "-rate",
    "-mode",
    "-errors",
    "-schema",
    "-node",
    "-log",
    "-transport",
    "-port",
    "-sendto",
    "-graph",
    "-tokenrange",
    "-credentials-file",
    "-jmx",
    "-reporting",
];

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Seeds to visit, and the order of rows.
    pub population: Population,
    /// Rows per seed, and the form in which the client sends them.
    pub insert: Insert,
    /// Columns of a predefined row.
    pub columns: Columns,
    /// Load that the run applies.
    pub rate: Rate,
    /// Treatment of failed operations.
    pub errors: Errors,
    /// The predefined keyspace, and the options of its tables.
    pub schema: SchemaOptions,
    /// Nodes to contact, and the login.
    pub connect: Connect,
    /// Output that the command line requests.
    pub output: Output,
}

/// Seeds to visit, and the order in which the rows of a partition are generated.
#[derive(Clone, Debug, PartialEq)]
pub struct Population {
    /// Source of the seeds.
    pub seeds: Seeds,
    /// The order of rows within a partition.
    pub order: Order,
}

/// Source of the seeds.
#[derive(Clone, Debug, PartialEq)]
pub enum Seeds {
    /// Seeds that are visited in sequence.
    Sequence {
        /// First seed of the sequence.
        first: u64,
        /// Last seed of the sequence.
        last: u64,
        /// True if the run starts again with the first seed after the last seed. Otherwise the run
        /// ends after the last seed.
        wrap: bool,
        /// Number of seeds between the last written seed and the seed of a read. `None` if reads do
        /// not look back.
        lookback: Option<WrittenDistribution>,
    },
    Drawn(WrittenDistribution),
}

/// The order of rows within a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The rows are in the order in which they were generated.
    Arbitrary,
    /// The rows are sorted by their clustering columns.
    Sorted,
    /// The rows are in a shuffled order.
    Shuffled,
}

/// Rows per seed, and the form in which the client sends them. If an option is absent, the profile
/// decides.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// Distribution of the visits to partitions that are not fully written yet. It has no effect in
    /// cassay.
    pub revisit: WrittenDistribution,
    /// Number of visits in which a partition is written.
    pub visits: WrittenDistribution,
    /// Number of partitions per operation.
    pub partitions: Option<WrittenDistribution>,
    /// Kind of batch in which the client sends rows.
    pub batch: Option<BatchKind>,
    /// Share of a partition's rows that a visit writes.
    pub select: Option<WrittenDistribution>,
    /// Share of a row's columns that have values.
    pub row_population: Option<WrittenDistribution>,
    /// The consistency level of inserts.
    pub consistency: Option<Consistency>,
    /// The serial consistency level of inserts.
    pub serial_consistency: Option<Consistency>,
}

/// Columns of a predefined row.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    /// Names of the columns, in byte order.
    pub names: Vec<String>,
    /// Size of a value, in bytes.
    pub size: WrittenDistribution,
    /// Distribution of the number of columns per row. The number may be constant.
    pub count: WrittenDistribution,
    /// True if reads do not name the columns.
    pub slice: bool,
    /// Timestamp of every write, in µs since 1970.
    pub timestamp: Option<i64>,
}

/// Load that the run applies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// A constant number of threads.
    Threads {
        /// Number of operations in flight.
        threads: u32,
        /// Limit of the rate.
        pace: Pace,
    },
    /// A number of threads that increases.
    Ladder {
        /// Initial number of threads.
        from: u32,
        /// Maximum number of threads.
        to: u32,
        /// True if the ladder ends when more threads no longer increase the rate.
        auto: bool,
    },
}

/// A limit of the rate, in operations per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// The rate is not limited, so the client sends operations as fast as answers arrive.
    Free,
    /// The client sends operations at most at this rate. Latency is measured from the send.
    Throttle(u64),
    /// The client sends operations at exactly this rate. Latency is measured from the time at which
    /// each operation was due.
    Fixed(u64),
}

/// Treatment of failed operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    /// Number of retries. `None` if the command line does not state it.
    pub retries: Option<u8>,
    /// True if the command line requests that the run continues after an operation has failed. In
    /// cassay, the run always continues.
    pub ignore: bool,
    /// True if the run does not check the rows that reads return.
    pub skip_read_validation: bool,
    /// True if the command line requests that columns are omitted whose types the tool cannot
    /// generate. cassay writes these columns.
    pub skip_unsupported_columns: bool,
}

/// Maximum number of threads. Each operation in flight needs a slot, and a higher number is
/// probably a typing error.
const THREADS_MAX: u64 = 100_000;
/// Maximum number of columns. Even with the largest values, 1000 columns still fit in a mutation.
const COLUMNS_MAX: i64 = 1000;

/// Parses all options. The defaults of seeds and threads depend on `limit`, which is the limit of
/// the command.
pub(crate) fn read(
    groups: &mut Groups,
    verb: &Verb,
    limit: Limit,
    notes: &mut Vec<String>,
    d: &mut Diagnostics,
) -> Options {
    if let Some((option, _)) = groups.take("-sendto").or_else(|| groups.take("-send-to")) {
        let hint = "start the same command on that machine; a study can use several clients";
        let message = "`-sendto` requires a stress daemon, which cassay does not have";
        d.add(&option.place(), message, Some(hint.to_owned()));
    }
    Options {
        population: population(groups, verb, limit, d),
        insert: insert(groups, notes, d),
        columns: columns(groups, notes, d),
        rate: rate(groups, verb, limit, d),
        errors: errors(groups, notes, d),
        schema: schema::read(groups, verb, d),
        connect: connection::read(groups, notes, d),
        output: output::read(groups, notes, d),
    }
}

/// Returns the parameters of an option. Returns `None` if the option is absent.
fn params<'a>(
    name: &'a str,
    groups: &mut Groups,
    table: &[KnownParam],
    d: &mut Diagnostics,
) -> Option<Params<'a>> {
    let (option, words) = groups.take(name)?;
    Some(Params::read(name, option.place(), words, table, false, d))
}

/// Returns the parameters of an option, like [`params`]. If the option is absent, returns
/// parameters without values.
fn params_or_none<'a>(
    name: &'a str,
    groups: &mut Groups,
    table: &[KnownParam],
    d: &mut Diagnostics,
) -> Params<'a> {
    params(name, groups, table, d)
        .unwrap_or_else(|| Params::read(name, Place::default(), &[], &[], false, d))
}

/// Returns the default number of seeds. This is the number of operations, or a million if the
/// command line does not state that number.
fn seeds_default(limit: Limit) -> u64 {
    match limit {
        Limit::Operations(count) if count > 0 => count,
        _ => 1_000_000,
    }
}

fn population(groups: &mut Groups, verb: &Verb, limit: Limit, d: &mut Diagnostics) -> Population {
    let seeds = seeds_default(limit);
    let sequence = |first, last, wrap, lookback| Seeds::Sequence {
        first,
        last,
        wrap,
        lookback,
    };
    let drawn = || {
        Seeds::Drawn(WrittenDistribution::default_of(format!(
            "gaussian(1..{seeds})"
        )))
    };
    let Some(params) = params("-pop", groups, &POP, d) else {
        let seeds = if verb.only_inserts() {
            sequence(1, seeds, true, None)
        } else {
            drawn()
        };
        let order = Order::Arbitrary;
        return Population { seeds, order };
    };
    let order = |text: &str| match text.to_ascii_lowercase().as_str() {
        "sorted" => Ok(Order::Sorted),
        "shuffled" => Ok(Order::Shuffled),
        _ => Err(format!("`{text}` is not one of sorted, shuffled")),
    };
    let order = params.value("contents=", d, order).unwrap_or(Order::Arbitrary);
    if params.groups & SECOND == 0 && !params.has("seq=") {
        let message = "`no-wrap` and `read-lookback=` need `seq=`";
        d.add(&params.place, message, Some(format!("add seq=1..{seeds}")));
    }
    let seeds = if params.has("seq=") {
        let lookback = params.distribution("read-lookback=", d);
        let range = params.value("seq=", d, argument_values::seeds).unwrap_or((1, seeds));
        sequence(range.0, range.1, !params.has("no-wrap"), lookback)
    } else {
        params.distribution("dist=", d).map_or_else(drawn, Seeds::Drawn)
    };
    Population { seeds, order }
}

fn insert(groups: &mut Groups, notes: &mut Vec<String>, d: &mut Diagnostics) -> Insert {
    let params = params_or_none("-insert", groups, &INSERT, d);
    if params.has("revisit=") {
        let note = "`-insert revisit=` has no effect: the visits of a partition follow each other.";
        notes.push(note.to_owned());
    }
    let batch = |text: &str| {
        let kind = BatchKind::from_name(text);
        kind.ok_or_else(|| format!("`{text}` is not one of logged, unlogged, counter"))
    };
    let or = |spelled: Option<WrittenDistribution>, default: &str| {
        spelled.unwrap_or_else(|| WrittenDistribution::default_of(default))
    };
    Insert {
        revisit: or(params.distribution("revisit=", d), "uniform(1..1M)"),
        visits: or(params.distribution("visits=", d), "fixed(1)"),
        partitions: params.distribution("partitions=", d),
        batch: params.value("batchtype=", d, batch),
        select: params.ratio("select-ratio=", d),
        row_population: params.ratio("row-population-ratio=", d),
        consistency: params.value("cl=", d, argument_values::consistency),
        serial_consistency: params.value("serial-cl=", d, argument_values::serial_consistency),
    }
}

fn columns(groups: &mut Groups, notes: &mut Vec<String>, d: &mut Diagnostics) -> Columns {
    let params = params_or_none("-col", groups, &COL, d);
    let or = |spelled: Option<WrittenDistribution>, default: &str| {
        spelled.unwrap_or_else(|| WrittenDistribution::default_of(default))
    };
    for form in ["super=", "comparator="] {
        if params.has(form) {
            notes.push(format!(
                "`-col {form}` has no effect: only Thrift supported it."
            ));
        }
    }
    let count = or(params.distribution("n=", d), "FIXED(5)");
    let most = |text: &str| match argument_values::largest(text) {
        most @ 1..=COLUMNS_MAX => Ok(most),
        most => Err(format!(
            "the number of columns is {most}; it must be from 1 to {COLUMNS_MAX}"
        )),
    };
    let most = params.value("n=", d, most).unwrap_or(5);
    let (names, count) = match params.value("names=", d, argument_values::names) {
        Some(names) => {
            let count = WrittenDistribution::default_of(format!("FIXED({})", names.len()));
            (names, count)
        }
        None => {
            let mut names: Vec<String> = (0..most).map(|column| format!("C{column}")).collect();
            names.sort_unstable();
            (names, count)
        }
    };
    let timestamp =
        |text: &str| argument_values::number(text, (0, i64::MAX as u64)).map(|t| t as i64);
    Columns {
        names,
        count,
        size: or(params.distribution("size=", d), "FIXED(34)"),
        slice: params.has("slice"),
        timestamp: params.value("timestamp=", d, timestamp),
    }
}

fn rate(groups: &mut Groups, verb: &Verb, limit: Limit, d: &mut Diagnostics) -> Rate {
    let Some(params) = params("-rate", groups, &RATE, d) else {
        let counted = matches!(limit, Limit::Operations(count) if count > 0);
        return if counted && matches!(verb, Verb::Write | Verb::CounterWrite) {
            Rate::Threads {
                threads: 200,
                pace: Pace::Free,
            }
        } else {
            Rate::Ladder {
                from: 4,
                to: 1000,
                auto: true,
            }
        };
    };
    let threads = |text: &str| argument_values::number(text, (1, THREADS_MAX)).map(|n| n as u32);
    if params.groups & SECOND == 0 {
        if !params.has("threads=") {
            let hint = Some("add for example threads=50".to_owned());
            d.add(&params.place, "a rate requires `threads=`", hint);
        }
        return Rate::Threads {
            threads: params.value("threads=", d, threads).unwrap_or(1),
            pace: pace(&params, d),
        };
    }
    let from = params.value("threads>=", d, threads).unwrap_or(4);
    let to = params.value("threads<=", d, threads).unwrap_or(1000);
    if from > to {
        let message = format!("`threads>={from}` begins above `threads<={to}`");
        d.add(
            &params.place_of("threads>="),
            message,
            Some("lower `threads>=`".to_owned()),
        );
    }
    let auto = params.has("auto");
    Rate::Ladder { from, to, auto }
}

fn pace(params: &Params, d: &mut Diagnostics) -> Pace {
    let throttle = params
        .value("throttle=", d, argument_values::rate)
        .or(params.value("limit=", d, argument_values::rate))
        .unwrap_or(0);
    let fixed = params.value("fixed=", d, argument_values::rate).unwrap_or(0);
    match (throttle, fixed) {
        (0, 0) => Pace::Free,
        (throttle, 0) => Pace::Throttle(throttle),
        (0, fixed) => Pace::Fixed(fixed),
        _ => {
            let message = "`throttle=` and `fixed=` exclude each other";
            let hint = "use `fixed=`, which counts latency from the due time of each operation";
            d.add(&params.place_of("fixed="), message, Some(hint.to_owned()));
            Pace::Free
        }
    }
}

fn errors(groups: &mut Groups, notes: &mut Vec<String>, d: &mut Diagnostics) -> Errors {
    let params = params_or_none("-errors", groups, &ERRORS, d);
    let retries = |text: &str| argument_values::number(text, (0, u64::from(u32::MAX)));
    let wanted = params.value("retries=", d, retries);
    if let Some(more @ 256..) = wanted {
        notes.push(format!(
            "`-errors retries={more}`: cassay retries an operation at most {} times.",
            u8::MAX
        ));
    }
    let errors = Errors {
        retries: wanted.map(|wanted| u8::try_from(wanted).unwrap_or(u8::MAX)),
        ignore: params.has("ignore"),
        skip_read_validation: params.has("skip-read-validation"),
        skip_unsupported_columns: params.has("skip-unsupported-columns"),
    };
    if errors.ignore && params.has("fail-fast") {
        let hint = Some("remove one of the two options".to_owned());
        let message = "`ignore` and `fail-fast` exclude each other";
        d.add(&params.place_of("fail-fast"), message, hint);
    }
    if !params.has("retries=") {
        let note = "The tool retries a failed operation 9 times, and shows only the sum of the \
             attempts. cassay counts each failure, unless `-errors retries=` is set.";
        notes.push(note.to_owned());
    }
    let no_stop = "cassay counts failed operations, and never ends the run because of them";
    let all_columns = "cassay supports columns of every type";
    for (form, instead) in [
        ("ignore", no_stop),
        ("fail-fast", no_stop),
        ("skip-unsupported-columns", all_columns),
    ] {
        if params.has(form) {
            notes.push(format!("`-errors {form}` has no effect: {instead}."));
        }
    }
    for form in ["delay-policy=", "min-delay-ms=", "max-delay-ms="] {
        if params.has(form) {
            notes.push(format!(
                "`-errors {form}` has no effect: cassay starts each attempt immediately."
            ));
        }
    }
    errors
}
