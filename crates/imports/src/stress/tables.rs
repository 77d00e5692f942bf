//! Parameters of the commands, and of the options for rows, rates and failures. Each row describes
//! one parameter, and serves for parsing, suggestions and explanations.
//!
//! The defaults are those of cassandra-stress 3.11.4. Alternatives that exclude each other have no
//! bit in common.

use super::params::{KnownParam, new};

/// Command names and aliases, as in cassandra-stress.
pub(crate) const VERBS: [(&str, &[&str]); 6] = [
    ("read", &[]),
    ("write", &["insert"]),
    ("mixed", &[]),
    (
        "counter_write",
        &["counterwrite", "counter_add", "counteradd"],
    ),
    (
        "counter_read",
        &["counterread", "counter_get", "counterget"],
    ),
    ("user", &[]),
];

const UNCERTAINTY: u8 = 1;
const COUNT: u8 = 2;
const DURATION: u8 = 4;
/// All bits, for a parameter that may occur in all alternatives of its option.
pub(crate) const ANY: u8 = u8::MAX;

/// Parameters of every command.
pub(crate) const COMMON: [KnownParam; 12] = [
    new(
        "err<",
        UNCERTAINTY,
        "0.02",
        "Until the standard error of the mean rate is below this share",
    ),
    new("n>", UNCERTAINTY, "30", "Minimum number of intervals"),
    new("n<", UNCERTAINTY, "200", "Maximum number of intervals"),
    new(
        "n=",
        COUNT,
        "",
        "Number of operations; k, m and b are thousands, millions, billions",
    ),
    new(
        "duration=",
        DURATION,
        "",
        "Time to run, such as 90s, 5m or 1h",
    ),
    new(
        "no-warmup",
        ANY,
        "",
        "Measure from the first operation on, without warm-up",
    ),
    new(
        "truncate=",
        ANY,
        "never",
        "Empty the tables: never, once, or always (before each run)",
    ),
    new("cl=", ANY, "LOCAL_ONE", "Consistency level"),
    new(
        "serial-cl=",
        ANY,
        "SERIAL",
        "Serial consistency level of conditional statements",
    ),
    new(
        "keysize=",
        ANY,
        "10",
        "Bytes of a key of the predefined tables",
    ),
    new(
        "add=",
        ANY,
        "fixed(1)",
        "Distribution of the amounts that counter updates add",
    ),
    new("no_warmup", ANY, "", "Old spelling of no-warmup"),
];

/// Additional parameters of `mixed`.
pub(crate) const MIXED: [KnownParam; 2] = [
    new(
        "ratio(",
        ANY,
        "read=1,write=1",
        "Share of each operation: ratio(read=2,write=1)",
    ),
    new(
        "clustering=",
        ANY,
        "gaussian(1..10)",
        "Distribution of the number of consecutive operations of one kind",
    ),
];

/// Additional parameters of `user`.
pub(crate) const USER: [KnownParam; 3] = [
    new(
        "profile=",
        ANY,
        "",
        "File of the profile, or several files with commas between them",
    ),
    new(
        "ops(",
        ANY,
        "",
        "Share of each operation: ops(insert=2,query1=1)",
    ),
    new(
        "clustering=",
        ANY,
        "gaussian(1..10)",
        "Distribution of the number of consecutive operations of one kind",
    ),
];

/// The first of an option's two alternatives, for example `seq=`, `names=` or `threads=`.
pub(crate) const FIRST: u8 = 1;
/// The second of an option's two alternatives, for example `dist=`, `n=` or the ladder of threads.
pub(crate) const SECOND: u8 = 2;

pub(crate) const POP: [KnownParam; 5] = [
    new(
        "seq=",
        FIRST,
        "1..N",
        "Visit all seeds from the first to the last, in order",
    ),
    new(
        "no-wrap",
        FIRST,
        "",
        "End the run after the visit of the last seed",
    ),
    new(
        "read-lookback=",
        FIRST,
        "",
        "Distance of reads from the last write: a distribution",
    ),
    new(
        "dist=",
        SECOND,
        "gaussian(1..N)",
        "Draw seeds from a distribution",
    ),
    new(
        "contents=",
        ANY,
        "",
        "Order of rows within a partition: sorted or shuffled",
    ),
];

pub(crate) const INSERT: [KnownParam; 8] = [
    new(
        "revisit=",
        ANY,
        "uniform(1..1M)",
        "Order in which partial partitions are visited again",
    ),
    new(
        "visits=",
        ANY,
        "fixed(1)",
        "Number of visits in which a partition is written",
    ),
    new("partitions=", ANY, "", "Partitions per operation"),
    new(
        "batchtype=",
        ANY,
        "",
        "Kind of batch for the rows of a visit: logged, unlogged or counter",
    ),
    new(
        "select-ratio=",
        ANY,
        "",
        "Share of a partition's rows that a visit writes",
    ),
    new(
        "row-population-ratio=",
        ANY,
        "fixed(1)/1",
        "Share of a row's columns with values",
    ),
    new("cl=", ANY, "", "Consistency level of inserts"),
    new("serial-cl=", ANY, "", "Serial consistency level of inserts"),
];

pub(crate) const COL: [KnownParam; 7] = [
    new(
        "names=",
        FIRST,
        "",
        "Names of columns, with commas between them",
    ),
    new("n=", SECOND, "FIXED(5)", "Columns per row: a distribution"),
    new("slice", ANY, "", "Read all columns without naming them"),
    new("super=", ANY, "0", "Super columns; without effect"),
    new(
        "comparator=",
        ANY,
        "AsciiType",
        "Type of column names; without effect",
    ),
    new(
        "timestamp=",
        ANY,
        "",
        "Write every column with this timestamp",
    ),
    new(
        "size=",
        ANY,
        "FIXED(34)",
        "Bytes of a value: a distribution",
    ),
];

pub(crate) const RATE: [KnownParam; 7] = [
    new("threads=", FIRST, "", "Number of threads"),
    new(
        "throttle=",
        FIRST,
        "0/s",
        "Maximum rate, in operations per second, without a schedule",
    ),
    new("limit=", FIRST, "0/s", "Old spelling of throttle="),
    new(
        "fixed=",
        FIRST,
        "0/s",
        "Operations per second, each with its due time",
    ),
    new("threads>=", SECOND, "4", "Number of threads at the start"),
    new("threads<=", SECOND, "1000", "Number of threads at the end"),
    new(
        "auto",
        SECOND,
        "",
        "Stop when more threads no longer increase throughput",
    ),
];

pub(crate) const ERRORS: [KnownParam; 8] = [
    new("retries=", ANY, "9", "Number of attempts after the first"),
    new("ignore", ANY, "", "Continue after a failed operation"),
    new("fail-fast", ANY, "", "Stop at the first error"),
    new("skip-read-validation", ANY, "", "Do not compare rows read"),
    new(
        "skip-unsupported-columns",
        ANY,
        "",
        "Omit columns of unsupported types",
    ),
    new(
        "delay-policy=",
        ANY,
        "constant",
        "Wait between attempts: constant, linear or exponential",
    ),
    new("min-delay-ms=", ANY, "0", "Shortest wait between attempts"),
    new(
        "max-delay-ms=",
        ANY,
        "20000",
        "Longest wait between attempts",
    ),
];
