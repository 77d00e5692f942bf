//! The named workloads with their descriptions, kinds and parameters: the source of error messages,
//! did-you-mean hints and the generated reference.

use crate::workload_parts::Named;
use crate::{counters, iot, keyvalue, kv, registers, standard1, tabular};

/// Returns all named workloads.
pub fn names() -> &'static [Named] {
    &NAMES
}

const ROWS_MEANING: &str = "how the main stage chooses rows: uniform, sequence, gaussian, \
    exponential, zipf(theta), latest(theta) or fixed(row), each with an optional range of rows \
    first, as in uniform(0..999). latest follows the inserts of a mix, window by window; the \
    others choose from the loaded rows";

const COMPRESSIBLE_MEANING: &str = "the share of the values' bytes that compresses away, 0 to 1: \
    of 0, random bytes, no compressor leaves less; of 0.7 it leaves about a third";

/// A parameter: name, default, meaning.
type Param = (&'static str, &'static str, &'static str);

const IOT_PARAMS: &[Param] = &[
    ("sources", "10000", "machines that report, in turn"),
    ("stations", "100", "stations that the machines belong to"),
    (
        "timespeed",
        "100",
        "milliseconds of the readings' time per round of all machines",
    ),
    ("expiry_minutes", "60", "minutes per compaction window"),
    ("limit", "10", "rows that a read asks for at most"),
    ("table", "iot", "name of the table"),
    (
        "compression",
        "LZ4Compressor",
        "compressor class of the table",
    ),
    (
        "words_file",
        "our own list",
        "sensor names, one per line; the content of the file",
    ),
    (
        "text_file",
        "our own text",
        "ASCII text to cut data from; the content of the file",
    ),
];

static NAMES: [Named; 8] = [
    Named {
        name: standard1::NAME,
        what: "cassandra-stress's default table: blob columns under a blob key, keys and columns \
               bit for bit, so that either tool reads what the other wrote. Row 0 is \
               cassandra-stress's seed 1. cassandra-stress itself chooses rows by gaussian for \
               reads and mixes, and by sequence for pure writes.",
        keyspace: "keyspace1",
        kinds: &["write", "read"],
        mix: &[("write", 1.0), ("read", 1.0)],
        params: &[
            (
                "columns",
                "5",
                "value columns C0, C1, … (cassandra-stress: -col n=)",
            ),
            (
                "column_size",
                "34",
                "bytes per column (cassandra-stress: -col size=)",
            ),
            (
                "key_size",
                "10",
                "bytes of the key (cassandra-stress: keysize=)",
            ),
            ("compressible", "0", COMPRESSIBLE_MEANING),
            ("distribution", "uniform", ROWS_MEANING),
        ],
    },
    Named {
        name: iot::NAME,
        what: "NoSQLBench's cql-iot: readings of sensors, clustered by time within machine and \
               sensor. Operation n of load and of main is NoSQLBench's cycle n; machines, \
               stations and times are the same bit for bit. Sensor names and texts are our own \
               unless the files are given, and sensor values come from the exact normal curve.",
        keyspace: "baselines",
        kinds: &["write", "read"],
        mix: &[("write", 9.0), ("read", 1.0)],
        params: IOT_PARAMS,
    },
    Named {
        name: iot::NAME_TIMESERIES,
        what: "the name under which newer releases of NoSQLBench have cql-iot; the same in all.",
        keyspace: "baselines",
        kinds: &["write", "read"],
        mix: &[("write", 9.0), ("read", 1.0)],
        params: IOT_PARAMS,
    },
    Named {
        name: keyvalue::NAME,
        what: "NoSQLBench's cql-keyvalue: a text value per text key. Row n is what cycle n of its \
               rampup writes, byte for byte; the number of keys (its keycount) is that of the \
               rows. Overwriting a row writes the same value again, so that every read can be \
               verified; NoSQLBench's main phase writes values of the cycle.",
        keyspace: "baselines",
        kinds: &["write", "read"],
        mix: &[("write", 5.0), ("read", 5.0)],
        params: &[
            (
                "valuecount",
                "1000000000",
                "values are below this number, as text",
            ),
            ("table", "keyvalue", "name of the table"),
            ("distribution", "uniform", ROWS_MEANING),
        ],
    },
    Named {
        name: tabular::NAME,
        what: "NoSQLBench's cql-tabular: rows of text in partitions that are loaded one after \
               another; a read asks for the first 1 to 10 rows of a partition. Row n is what cycle \
               n of its rampup writes; the text is our own unless the file is given. Overwriting \
               a row writes the same data again, so that every read can be verified; \
               NoSQLBench's main phase writes data of the cycle.",
        keyspace: "baselines",
        kinds: &["write", "read"],
        mix: &[("write", 5.0), ("read", 5.0)],
        params: &[
            ("partsize", "1000000", "rows per partition"),
            ("table", "tabular", "name of the table"),
            ("distribution", "uniform", ROWS_MEANING),
            (
                "text_file",
                "our own text",
                "ASCII text to cut data from; the content of the file",
            ),
        ],
    },
    Named {
        name: kv::NAME,
        what: "one blob value per key. A value says which operation of which epoch wrote it, so \
               that a read is known to be right, stale or wrong, whichever client wrote last. \
               write overwrites rows, insert adds rows beyond the loaded ones, delete removes \
               rows.",
        keyspace: "cassay",
        kinds: &["write", "read", "insert", "delete"],
        mix: &[("write", 1.0), ("read", 1.0)],
        params: &[
            ("key_type", "text", "text (16 hexadecimal digits) or bigint"),
            (
                "value_size",
                "100",
                "bytes per value, at least 32: a number, or a distribution with a range, as in \
                 uniform(100..2000)",
            ),
            ("compressible", "0", COMPRESSIBLE_MEANING),
            ("distribution", "uniform", ROWS_MEANING),
        ],
    },
    Named {
        name: counters::NAME,
        what: "one counter per key. With `verify: {sample: all}` each is compared with what was \
               added to it: at least what was acknowledged, at most what was sent. An addition is \
               not idempotent, and tried again only where it has certainly not been done.",
        keyspace: "cassay",
        kinds: &["add", "read"],
        mix: &[("add", 1.0), ("read", 1.0)],
        params: &[
            ("amount", "1", "the most that an operation adds: 1 to this"),
            (
                "takes_percent",
                "0",
                "percentage of the operations that subtract what others add",
            ),
            ("distribution", "uniform", ROWS_MEANING),
        ],
    },
    Named {
        name: registers::NAME,
        what: "one number per key, which lightweight transactions read (at SERIAL), write (IF \
               EXISTS) and swap (IF value = …). With `verify: {sample: all}` what was asked and \
               answered is kept in `history.ndjson`, and each register is checked for \
               linearizability. Few keys at a low rate make long histories of each.",
        keyspace: "cassay",
        kinds: &["write", "read", "swap"],
        mix: &[("write", 1.0), ("read", 2.0), ("swap", 1.0)],
        params: &[
            (
                "values",
                "5",
                "different numbers: one of as many swaps finds the one that it asks for",
            ),
            ("distribution", "uniform", ROWS_MEANING),
        ],
    },
];
