//! Requirements of a variant.

/// Requirements of a variant. By default, a variant has no requirements.
#[derive(Clone, Debug, PartialEq)]
pub struct Require {
    /// Upper bound on the median latency of all operations, in ms.
    pub p50_ms: Option<f64>,
    /// Upper bound on the 95th percentile of latency, in ms.
    pub p95_ms: Option<f64>,
    /// Upper bound on the 99th percentile of latency, in ms.
    pub p99_ms: Option<f64>,
    /// Upper bound on the 99.9th percentile of latency, in ms.
    pub p999_ms: Option<f64>,
    /// Maximum share of failed operations.
    pub error_rate: Option<f64>,
    /// Minimum throughput, in op/s.
    pub ops_per_s: Option<f64>,
    /// Minimum ratio of a contender to the baseline in the primary comparison. The value 0.97 means
    /// at most 3 % worse, for throughput as well as for latency.
    pub ratio: Option<f64>,
    /// Name of the earlier run that this run must not be worse than: `latest`, a tag, or a study
    /// and stamp.
    pub not_worse_than: Option<String>,
    /// Share by which this run may be worse than the earlier run.
    pub worse_by: f64,
    /// Points at which the requirements apply.
    pub at: Where,
    /// Outcome of a requirement if the confidence interval contains the limit.
    pub inconclusive: IfInconclusive,
}

/// Default share by which a run may be worse than an earlier run. Runs on the same machine differ
/// by this share even if nothing has changed.
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
            inconclusive: IfInconclusive::default(),
        }
    }
}

/// Outcome of a requirement if the confidence interval contains the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfInconclusive {
    /// The requirement is missed if the measured value itself is beyond the limit. Otherwise, it is
    /// met with a warning.
    #[default]
    Estimate,
    /// The requirement is met with a warning.
    Pass,
    /// The requirement is missed.
    Miss,
}

/// Points at which requirements apply.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Where {
    /// Requirements apply at every point if all points are known in advance. Otherwise, they apply
    /// at the best point.
    #[default]
    Auto,
    /// Requirements apply at every measured point.
    Every,
    /// Requirements apply at the point that the answer of the study names.
    Best,
    /// Requirements apply at the points that have these values on the load axis.
    Values(Vec<u64>),
}

impl Require {
    /// Returns true if at least one requirement applies at points. The ratio between two variants
    /// does not apply at points.
    pub fn has_limits(&self) -> bool {
        let latency = [self.p50_ms, self.p95_ms, self.p99_ms, self.p999_ms];
        let others = [self.error_rate, self.ops_per_s];
        latency.iter().chain(&others).any(Option::is_some)
    }

    pub(crate) fn at_value(&mut self, value: u64) {
        match &mut self.at {
            Where::Values(values) => values.push(value),
            at => *at = Where::Values(vec![value]),
        }
    }
}
