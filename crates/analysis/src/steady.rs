//! When warm-up is over.
//!
//! Fed with one value of throughput and of p99 a second, it says *steady* when, over the last
//! window of seconds, neither has a trend that matters, and the start-up transient of the whole
//! series ends before that window. A trend is looked for as such (Mann and Kendall's test, Theil
//! and Sen's slope), since a test of variance alone does not see drift; the transient is found by
//! MSER (White 1997: the truncation that minimises the standard error of what is left).

use crate::series;

/// When to look and when to give up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyLimits {
    /// Seconds before which nothing is steady.
    pub min_s: usize,
    /// Seconds after which waiting is given up.
    pub max_s: usize,
    /// Seconds of the window that must be without trend.
    pub window_s: usize,
    /// Drift of throughput over the window, as a share of its median, that does not matter.
    pub throughput_drift: f64,
    /// The same for p99.
    pub p99_drift: f64,
}

impl Default for SteadyLimits {
    fn default() -> Self {
        SteadyLimits {
            min_s: 10,
            max_s: 60,
            window_s: 10,
            // The margins within which a comparison calls two results equivalent.
            throughput_drift: 0.03,
            p99_drift: 0.10,
        }
    }
}

/// What the detector says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteadyState {
    /// Go on.
    Warming,
    /// A steady state was seen.
    Detected,
    /// The limit came first.
    Forced,
}

impl SteadyState {
    /// The word in records: `warming`, `detected`, `forced`.
    pub fn name(self) -> &'static str {
        match self {
            SteadyState::Warming => "warming",
            SteadyState::Detected => "detected",
            SteadyState::Forced => "forced",
        }
    }
}

/// The detector of one warm-up.
#[derive(Clone, Debug)]
pub struct Steady {
    limits: SteadyLimits,
    ops_per_s: Vec<f64>,
    p99_ms: Vec<f64>,
}

impl Steady {
    /// A detector that has seen nothing.
    pub fn new(limits: SteadyLimits) -> Steady {
        Steady {
            limits,
            ops_per_s: Vec::new(),
            p99_ms: Vec::new(),
        }
    }

    /// Takes one second; says whether warm-up is over.
    pub fn push(&mut self, ops_per_s: f64, p99_ms: f64) -> SteadyState {
        self.ops_per_s.push(ops_per_s);
        self.p99_ms.push(p99_ms);
        let seconds = self.ops_per_s.len();
        if seconds >= self.limits.min_s.max(self.limits.window_s) && self.is_steady() {
            SteadyState::Detected
        } else if seconds >= self.limits.max_s {
            SteadyState::Forced
        } else {
            SteadyState::Warming
        }
    }

    fn is_steady(&self) -> bool {
        let from = self.ops_per_s.len() - self.limits.window_s.min(self.ops_per_s.len());
        let recent = &self.ops_per_s[from..];
        series::median(recent) > 0.0
            && !trend(recent).matters(self.limits.throughput_drift)
            && !trend(&self.p99_ms[from..]).matters(self.limits.p99_drift)
            && truncation(&self.ops_per_s) <= from
    }
}

/// A trend of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Change over the series by Theil and Sen's slope, as a share of its median.
    pub drift: f64,
    /// Mann and Kendall's z: within ±1.96 the trend may be chance.
    pub z: f64,
}

impl Trend {
    /// Whether it is more than chance and more than `drift`.
    pub fn matters(self, drift: f64) -> bool {
        self.z.abs() > Z_SIGNIFICANT && self.drift.abs() > drift
    }
}

/// Two-sided 10 %: in warm-up, a trend overlooked costs more than a second too many.
const Z_SIGNIFICANT: f64 = 1.645;

/// The trend of a series of equally spaced values. O(n²): for up to a few thousand values.
pub fn trend(values: &[f64]) -> Trend {
    let count = values.len();
    let mut slopes = Vec::with_capacity(count * count.saturating_sub(1) / 2);
    let mut sum = 0.0;
    for (i, a) in values.iter().enumerate() {
        for (gap, b) in values[i + 1..].iter().enumerate() {
            slopes.push((b - a) / (gap + 1) as f64);
            sum += if b == a { 0.0 } else { (b - a).signum() };
        }
    }
    let n = count as f64;
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let middle = series::median(values).abs();
    let change = series::median(&slopes) * (n - 1.0);
    Trend {
        drift: if middle > 0.0 { change / middle } else { 0.0 },
        // The usual correction for continuity: one step towards zero.
        z: if deviation > 0.0 {
            (sum - f64::signum(sum) * f64::from(sum != 0.0)) / deviation
        } else {
            0.0
        },
    }
}

/// MSER: how many values to leave out at the beginning, at most half of them.
pub fn truncation(values: &[f64]) -> usize {
    let mut best = (f64::INFINITY, 0);
    for cut in 0..=values.len() / 2 {
        let rest = &values[cut..];
        let count = rest.len() as f64;
        if rest.len() < 2 {
            break;
        }
        let error = series::variance(rest) * (count - 1.0) / (count * count);
        if error < best.0 {
            best = (error, cut);
        }
    }
    best.1
}
