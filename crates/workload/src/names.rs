//! The named workloads: what they are, their kinds and parameters. The source of error messages,
//! did-you-mean hints and the generated reference.

/// A named workload.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// What a study writes after `use:`.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub what: &'static str,
    /// The keyspace when the study names none.
    pub keyspace: &'static str,
    /// The kinds of operation that a mix can weigh.
    pub kinds: &'static [&'static str],
    /// The mix when the study states none: weight per kind.
    pub mix: &'static [(&'static str, f64)],
    /// Parameters: name, default, meaning.
    pub params: &'static [(&'static str, &'static str, &'static str)],
}

/// All named workloads.
pub fn names() -> &'static [Named] {
    &NAMES
}

static NAMES: [Named; 1] = [Named {
    name: "standard1",
    what: "cassandra-stress's default table: blob columns under a blob key, keys and columns bit \
           for bit, so that either tool reads what the other wrote. Row 0 is cassandra-stress's \
           seed 1.",
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
        (
            "distribution",
            "uniform",
            "how the main stage chooses rows: uniform, sequence, gaussian, exponential, \
             zipf(theta), latest(theta) or fixed(row), each with an optional range of rows as in \
             uniform(0..999). cassandra-stress itself takes gaussian for reads and mixes, and \
             sequence for pure writes",
        ),
    ],
}];
