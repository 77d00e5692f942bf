//! What is required of a variant.

/// What is required of a variant; nothing by default.
#[derive(Clone, Debug, PartialEq)]
pub struct Require {
    /// Most latency of all operations, ms: median.
    pub p50_ms: Option<f64>,
    /// 95th percentile.
    pub p95_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// 99.9th percentile.
    pub p999_ms: Option<f64>,
    /// Most failed operations, as a share of all.
    pub error_rate: Option<f64>,
    /// Least throughput.
    pub ops_per_s: Option<f64>,
    /// How good a contender is at least beside the baseline, in the primary comparison: 0.97 is at
    /// most 3 % worse, be it throughput or latency.
    pub ratio: Option<f64>,
    /// The run that it may not be worse than, by name: `latest`, a tag, or a study and stamp.
    pub not_worse_than: Option<String>,
    /// By which share it may be worse.
    pub worse_by: f64,
    /// Where it holds.
    pub at: Where,
    /// What counts as missed of what cannot be told.
    pub untold: Untold,
}

/// By which share a run may be worse than an earlier one unless a study says so: what runs of one
/// machine differ by without a reason.
pub const WORSE_BY_DEFAULT: f64 = 0.05;

impl Default for Require {
    fn default() -> Require {
        Require {
            p50_ms: None,
            p95_ms: None,
            p99_ms: None,
            p999_ms: None,
            error_rate: None,
            ops_per_s: None,
            ratio: None,
            not_worse_than: None,
            worse_by: WORSE_BY_DEFAULT,
            at: Where::default(),
            untold: Untold::default(),
        }
    }
}

/// What comes of a requirement that its interval neither meets nor misses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Untold {
    /// It is missed where the number itself is beyond the limit, and else passes with a warning.
    #[default]
    Estimate,
    /// It passes with a warning.
    Pass,
    /// It is missed.
    Miss,
}

/// At which points something is required.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Where {
    /// At every point where they are all known beforehand, else at the best.
    #[default]
    Auto,
    /// At every point that was measured.
    Every,
    /// At the point that the answer names.
    Best,
    /// At the points with these values.
    Values(Vec<u64>),
}

impl Require {
    /// Whether anything is required at points: all but the ratio, which is of two variants.
    pub fn has_limits(&self) -> bool {
        let latency = [self.p50_ms, self.p95_ms, self.p99_ms, self.p999_ms];
        let others = [self.error_rate, self.ops_per_s];
        latency.iter().chain(&others).any(Option::is_some)
    }

    /// A point more.
    pub(crate) fn at_value(&mut self, value: u64) {
        match &mut self.at {
            Where::Values(values) => values.push(value),
            at => *at = Where::Values(vec![value]),
        }
    }
}
