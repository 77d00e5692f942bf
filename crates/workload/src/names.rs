//! The named workloads with their descriptions, kinds and parameters. cassay uses them in error
//! messages, in suggestions for misspelt names and in the generated reference.

use crate::workload_parts::NamedWorkload;
use crate::{counters, iot, keyvalue, kv, registers, standard1, tabular};

pub fn names() -> &'static [NamedWorkload] {
    &NAMES
}

const ROWS_MEANING: &str = "distribution of the main stage's rows: uniform, sequence, gaussian, \
                            exponential, zipf(theta), latest(theta) or fixed(row). All but fixed \
                            take an optional range of rows first, as in uniform(0..999). With \
                            latest, the rows follow the inserts of a mix, window by window. All \
                            others choose from the loaded rows";

const COMPRESSIBLE_MEANING: &str = "share of the values' bytes that compression removes, from 0 to \
                                    1. With 0, the bytes are random, and no compressor reduces \
                                    their size; with 0.7, about a third of the size remains";

/// A parameter, with its name, default and meaning.
type Param = (&'static str, &'static str, &'static str);

const IOT_PARAMS: &[Param] = &[
    (
        "sources",
        "10000",
        "number of machines, which report one after the other",
    ),
    (
        "stations",
        "100",
        "number of stations that the machines belong to",
    ),
    (
        "timespeed",
        "100",
        "milliseconds between two consecutive readings of the same machine",
    ),
    ("expiry_minutes", "60", "minutes per compaction window"),
    ("limit", "10", "maximum number of rows per read"),
    ("table", "iot", "name of the table"),
    (
        "compression",
        "LZ4Compressor",
        "compressor class of the table",
    ),
    (
        "words_file",
        "cassay's own list",
        "content of a file with one sensor name per line",
    ),
    (
        "text_file",
        "cassay's own text",
        "content of an ASCII file; cassay takes extracts of this text as values",
    ),
];

static NAMES: [NamedWorkload; 8] = [
    NamedWorkload {
        name: standard1::NAME,
        what: "cassandra-stress's default table: blob columns under a blob key. Keys and columns \
               match bit for bit, so that each tool can read the other's rows. Row 0 is \
               cassandra-stress's seed 1. By default, cassandra-stress chooses rows by gaussian \
               for reads and mixes, and by sequence for pure writes.",
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
    NamedWorkload {
        name: iot::NAME,
        what: "NoSQLBench's cql-iot: sensor readings, clustered by time within machine and sensor. \
             Operation n of load and of main is NoSQLBench's cycle n. Machines, stations and times \
             match bit for bit. Sensor names and texts are cassay's own unless the study names \
             files. Sensor values come from the exact normal curve.",
        keyspace: "baselines",
        kinds: &["write", "read"],
        mix: &[("write", 9.0), ("read", 1.0)],
        params: IOT_PARAMS,
    },
    NamedWorkload {
        name: iot::NAME_TIMESERIES,
        what: "The same workload as cql-iot, under its name in newer releases of NoSQLBench.",
        keyspace: "baselines",
        kinds: &["write", "read"],
        mix: &[("write", 9.0), ("read", 1.0)],
        params: IOT_PARAMS,
    },
    NamedWorkload {
        name: keyvalue::NAME,
        what: "NoSQLBench's cql-keyvalue: a text value per text key. Row n is the row of cycle n \
             of its rampup, byte for byte. The number of keys (its keycount) is the number of \
             rows. An overwrite writes the same value again, so that cassay can verify every read. \
             NoSQLBench's main phase instead writes values that depend on the cycle.",
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
    NamedWorkload {
        name: tabular::NAME,
        what: "NoSQLBench's cql-tabular: rows of text in partitions, loaded one after another. A \
             read requests the first 1 to 10 rows of a partition. Row n is the row of cycle n of \
             its rampup. The text is cassay's own unless the study names a file. An overwrite \
             writes the same data again, so that cassay can verify every read. NoSQLBench's main \
             phase instead writes data that depends on the cycle.",
        keyspace: "baselines",
        kinds: &["write", "read"],
        mix: &[("write", 5.0), ("read", 5.0)],
        params: &[
            ("partsize", "1000000", "rows per partition"),
            ("table", "tabular", "name of the table"),
            ("distribution", "uniform", ROWS_MEANING),
            (
                "text_file",
                "cassay's own text",
                "content of an ASCII file; cassay takes extracts of this text as values",
            ),
        ],
    },
    NamedWorkload {
        name: kv::NAME,
        what: "One blob value per key. Each value names the operation and epoch that wrote it, so \
             that cassay can classify every read as correct, stale or wrong. Kind `write` \
             overwrites rows, `insert` adds rows beyond the loaded rows, and `delete` removes \
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
    NamedWorkload {
        name: counters::NAME,
        what: "One counter per key. With `verify: {sample: all}`, cassay compares each counter \
             with the sum of its acknowledged additions, and allows for additions with an unknown \
             outcome. An addition is not idempotent: cassay retries it only if the first attempt \
             certainly had no effect.",
        keyspace: "cassay",
        kinds: &["add", "read"],
        mix: &[("add", 1.0), ("read", 1.0)],
        params: &[
            (
                "amount",
                "1",
                "maximum amount that an operation adds; the minimum is 1",
            ),
            (
                "takes_percent",
                "0",
                "percentage of additions that subtract instead",
            ),
            ("distribution", "uniform", ROWS_MEANING),
        ],
    },
    NamedWorkload {
        name: registers::NAME,
        what: "One number per key, which lightweight transactions read (at SERIAL), write (IF \
             EXISTS) and swap (IF value = …). With `verify: {sample: all}`, cassay stores requests \
             and answers in `history.ndjson`, and checks each register for linearizability. Few \
             keys at a low rate result in a long history of each key.",
        keyspace: "cassay",
        kinds: &["write", "read", "swap"],
        mix: &[("write", 1.0), ("read", 2.0), ("swap", 1.0)],
        params: &[
            (
                "values",
                "5",
                "number n of distinct values: about one in n swaps finds the value that it expects",
            ),
            ("distribution", "uniform", ROWS_MEANING),
        ],
    },
];
