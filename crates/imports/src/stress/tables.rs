//! Parameters of the commands, and of the options for rows, rates and failures: one line per
//! parameter, which serves for parsing, suggestions and explanations.
//!
//! The defaults are those of cassandra-stress 3.11.4. Alternatives that exclude each other share no
//! bit.

use super::params::{KnownParam, known};

/// Command names and aliases, as in the tool.
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
/// In every alternative.
pub(crate) const ANY: u8 = u8::MAX;

/// Parameters of every command.
pub(crate) const COMMON: [KnownParam; 12] = [
    known(
        "err<",
        UNCERTAINTY,
        "0.02",
        "Until the standard error of the mean rate is below this share",
    ),
    known("n>", UNCERTAINTY, "30", "At least so many intervals"),
    known("n<", UNCERTAINTY, "200", "At most so many intervals"),
    known(
        "n=",
        COUNT,
        "",
        "Number of operations; k, m and b are thousands, millions, billions",
    ),
    known(
        "duration=",
        DURATION,
        "",
        "Time to run, such as 90s, 5m or 1h",
    ),
    known("no-warmup", ANY, "", "Measure from the first operation on"),
    known(
        "truncate=",
        ANY,
        "never",
        "Empty the tables: never, once, or always (before each run)",
    ),
    known("cl=", ANY, "LOCAL_ONE", "Consistency level"),
    known(
        "serial-cl=",
        ANY,
        "SERIAL",
        "Serial consistency level of conditional statements",
    ),
    known(
        "keysize=",
        ANY,
        "10",
        "Bytes of a key of the predefined tables",
    ),
    known(
        "add=",
        ANY,
        "fixed(1)",
        "What a counter update adds: a distribution",
    ),
    known("no_warmup", ANY, "", "Old spelling of no-warmup"),
];

/// Additional parameters of `mixed`.
pub(crate) const MIXED: [KnownParam; 2] = [
    known(
        "ratio(",
        ANY,
        "read=1,write=1",
        "Share of each operation: ratio(read=2,write=1)",
    ),
    known(
        "clustering=",
        ANY,
        "gaussian(1..10)",
        "Operations of one kind in a row: a distribution",
    ),
];

/// Additional parameters of `user`.
pub(crate) const USER: [KnownParam; 3] = [
    known(
        "profile=",
        ANY,
        "",
        "The profile's file; several with commas between them",
    ),
    known(
        "ops(",
        ANY,
        "",
        "Share of each operation: ops(insert=2,query1=1)",
    ),
    known(
        "clustering=",
        ANY,
        "gaussian(1..10)",
        "Operations of one kind in a row: a distribution",
    ),
];

/// The first of an option's two alternatives: `seq=`, `names=`, `threads=`.
pub(crate) const FIRST: u8 = 1;
/// The second alternative: `dist=`, `n=`, the ladder of threads.
pub(crate) const SECOND: u8 = 2;

/// `-pop`.
pub(crate) const POP: [KnownParam; 5] = [
    known(
        "seq=",
        FIRST,
        "1..N",
        "Visit all seeds from the first to the last, in order",
    ),
    known(
        "no-wrap",
        FIRST,
        "",
        "End the run when the last seed was visited",
    ),
    known(
        "read-lookback=",
        FIRST,
        "",
        "How far reads look back from the last write: a distribution",
    ),
    known(
        "dist=",
        SECOND,
        "gaussian(1..N)",
        "Draw seeds from a distribution",
    ),
    known(
        "contents=",
        ANY,
        "",
        "Order of rows within a partition: sorted or shuffled",
    ),
];

/// `-insert`.
pub(crate) const INSERT: [KnownParam; 8] = [
    known(
        "revisit=",
        ANY,
        "uniform(1..1M)",
        "How partial partitions are visited again",
    ),
    known(
        "visits=",
        ANY,
        "fixed(1)",
        "In how many visits a partition is written",
    ),
    known("partitions=", ANY, "", "Partitions per operation"),
    known(
        "batchtype=",
        ANY,
        "",
        "How rows are sent together: logged, unlogged or counter",
    ),
    known(
        "select-ratio=",
        ANY,
        "",
        "Share of a partition's rows that a visit writes",
    ),
    known(
        "row-population-ratio=",
        ANY,
        "fixed(1)/1",
        "Share of a row's columns with values",
    ),
    known("cl=", ANY, "", "Consistency level of inserts"),
    known("serial-cl=", ANY, "", "Serial consistency level of inserts"),
];

/// `-col`.
pub(crate) const COL: [KnownParam; 7] = [
    known(
        "names=",
        FIRST,
        "",
        "Names of columns, with commas between them",
    ),
    known("n=", SECOND, "FIXED(5)", "Columns per row: a distribution"),
    known("slice", ANY, "", "Read all columns without naming them"),
    known("super=", ANY, "0", "Super columns; without effect"),
    known(
        "comparator=",
        ANY,
        "AsciiType",
        "Type of column names; without effect",
    ),
    known(
        "timestamp=",
        ANY,
        "",
        "Write every column with this timestamp",
    ),
    known(
        "size=",
        ANY,
        "FIXED(34)",
        "Bytes of a value: a distribution",
    ),
];

/// `-rate`.
pub(crate) const RATE: [KnownParam; 7] = [
    known("threads=", FIRST, "", "So many threads"),
    known(
        "throttle=",
        FIRST,
        "0/s",
        "At most so many operations per second, without a schedule",
    ),
    known("limit=", FIRST, "0/s", "Old spelling of throttle="),
    known(
        "fixed=",
        FIRST,
        "0/s",
        "So many operations per second, each with its due time",
    ),
    known("threads>=", SECOND, "4", "Begin with so many threads"),
    known("threads<=", SECOND, "1000", "End with so many threads"),
    known("auto", SECOND, "", "Stop when more threads no longer help"),
];

/// `-errors`.
pub(crate) const ERRORS: [KnownParam; 8] = [
    known("retries=", ANY, "9", "Tries after the first one"),
    known("ignore", ANY, "", "Go on after an operation has failed"),
    known("fail-fast", ANY, "", "Stop at the first error"),
    known("skip-read-validation", ANY, "", "Do not compare rows read"),
    known(
        "skip-unsupported-columns",
        ANY,
        "",
        "Leave columns of unsupported types out",
    ),
    known(
        "delay-policy=",
        ANY,
        "constant",
        "Wait between tries: constant, linear or exponential",
    ),
    known("min-delay-ms=", ANY, "0", "Shortest wait between tries"),
    known("max-delay-ms=", ANY, "20000", "Longest wait between tries"),
];
