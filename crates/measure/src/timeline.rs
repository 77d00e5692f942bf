//! Series of samples over time, as probes read them.

/// One sample of one series.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// When, monotonic clock.
    pub at_ns: u64,
    /// Value, in the series' unit.
    pub value: f64,
}

/// A named series with its unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What is sampled, for example `cassandra.compactions_pending`.
    pub name: String,
    /// Where: a node or host name; empty for the client.
    pub place: String,
    /// Unit of the values: `count`, `bytes`, `ms`, …
    pub unit: &'static str,
    /// Samples, in order of time.
    pub samples: Vec<Sample>,
}
