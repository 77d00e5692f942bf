//! When warm-up is over.
//!
//! Fed with one value of throughput and of p99 a second, it looks for a *trend* (Theil and Sen's
//! slope, Mann and Kendall's test): a test of variance alone does not see drift. Over the last
//! window of seconds the drift must be small, or not to be told from noise; over the last two
//! windows, where noise matters less, there must be no clear drift of twice that size. A series so
//! noisy that one window cannot show its drift has to fill two.

use crate::series;

/// When to look and when to give up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyLimits {
    /// Seconds before which nothing is steady: a JVM's just-in-time compiler needs about ten for a
    /// hot path.
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
        let window = self.limits.window_s;
        let some = series::median(last(&self.ops_per_s, window)) > 0.0;
        some && is_flat(&self.ops_per_s, window, self.limits.throughput_drift)
            && is_flat(&self.p99_ms, window, self.limits.p99_drift)
    }
}

fn last(values: &[f64], count: usize) -> &[f64] {
    &values[values.len().saturating_sub(count)..]
}

fn is_flat(values: &[f64], window: usize, drift: f64) -> bool {
    let recent = trend(last(values, window));
    let small = recent.drift.abs() <= drift;
    let lost_in_noise = !recent.is_significant() && values.len() >= 2 * window;
    let longer = trend(last(values, 2 * window));
    (small || lost_in_noise) && !longer.matters(2.0 * drift)
}

/// A trend of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Change over the series by Theil and Sen's slope, as a share of its median.
    pub drift: f64,
    /// Mann and Kendall's z: within ±1.645 the trend may be chance.
    pub z: f64,
    /// Values in the series.
    pub count: usize,
}

impl Trend {
    /// Whether it is more than chance.
    pub fn is_significant(self) -> bool {
        self.z.abs() > Z_SIGNIFICANT
    }

    /// Whether it is more than chance and more than `drift`.
    pub fn matters(self, drift: f64) -> bool {
        self.is_significant() && self.drift.abs() > drift
    }

    /// Whether it is more than `drift` by size, and of too few values for a test to tell: of six
    /// in a line, a rise of 94 % with two of fifteen pairs falling is "no more than chance".
    pub fn is_untold(self, drift: f64) -> bool {
        !self.is_significant() && self.drift.abs() > drift && self.count < VALUES_TO_TELL
    }
}

/// Two-sided 10 %: in warm-up, a trend overlooked costs more than a second too many.
const Z_SIGNIFICANT: f64 = 1.645;
/// From so many values on the normal distribution of S holds, and a trend as large as the scatter
/// is seen (Kendall 1975 and Gilbert 1987 give 10).
pub const VALUES_TO_TELL: usize = 10;

/// The trend of a series of equally spaced values. O(n²): for up to a few thousand values. Takes
/// the values as independent: for a detector that had better see a trend too many.
pub fn trend(values: &[f64]) -> Trend {
    tested(values, |_, _| 1.0)
}

/// The trend of a series whose values follow each other. What is called a trend by [`trend`] is
/// often a slow swing: of AR(1) series of 60 values with a correlation of 0.6, in two of five (13 %
/// here).
/// The variance is corrected by the autocorrelation of the ranks around the trend (Hamed and Rao
/// 1998, "A modified Mann-Kendall trend test for autocorrelated data").
pub fn trend_of_correlated(values: &[f64]) -> Trend {
    tested(values, hamed_rao)
}

fn tested(values: &[f64], widening: fn(&[f64], f64) -> f64) -> Trend {
    let count = values.len();
    let mut slopes = Vec::with_capacity(count * count.saturating_sub(1) / 2);
    let mut sum = 0.0;
    for (i, a) in values.iter().enumerate() {
        for (gap, b) in values[i + 1..].iter().enumerate() {
            slopes.push((b - a) / (gap + 1) as f64);
            sum += if b == a { 0.0 } else { (b - a).signum() };
        }
    }
    let slope = series::median(&slopes);
    let variance = variance_of_s(values) * widening(values, slope);
    let middle = series::median(values).abs();
    let change = slope * (count as f64 - 1.0);
    Trend {
        drift: if middle > 0.0 { change / middle } else { 0.0 },
        // The usual correction for continuity: one step towards zero.
        z: if variance > 0.0 {
            (sum - f64::signum(sum) * f64::from(sum != 0.0)) / variance.sqrt()
        } else {
            0.0
        },
        count,
    }
}

/// Variance of Kendall's S under no trend; equal values make it smaller.
fn variance_of_s(values: &[f64]) -> f64 {
    let term = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties = sorted
        .chunk_by(|a, b| a == b)
        .map(|tied| term(tied.len() as f64));
    (term(values.len() as f64) - ties.sum::<f64>()) / 18.0
}

/// By how much the autocorrelation of the ranks around the trend widens the variance of S; never
/// below 1. The correlation of far lags is taken from that of neighbours, as of an AR(1) series:
/// one by one they are estimated from too few pairs, and leaving out those that may be chance, as
/// the paper does, leaves 18 % false trends instead of 10 % at 60 values and a correlation of 0.3.
fn hamed_rao(values: &[f64], slope: f64) -> f64 {
    let count = values.len();
    if count < VALUES_TO_TELL {
        return 1.0;
    }
    let flat = values.iter().enumerate();
    let flat: Vec<f64> = flat.map(|(at, value)| value - slope * at as f64).collect();
    let n = count as f64;
    // A fitted line takes as much correlation out as a mean does, once more.
    let raw = series::autocorrelation(&ranks(&flat), 1) + 1.0 / n;
    let rho = series::unbiased(raw, count);
    let sum = (1..count).map(|lag| {
        let left = n - lag as f64;
        left * (left - 1.0) * (left - 2.0) * rho.powi(lag as i32)
    });
    1.0 + 2.0 / (n * (n - 1.0) * (n - 2.0)) * sum.sum::<f64>()
}

/// Ranks from 1, equal values having their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for tied in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = before as f64 + (tied.len() as f64 + 1.0) / 2.0;
        tied.iter().for_each(|at| ranks[*at] = rank);
        before += tied.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Chance;

    /// Feeds seconds until the detector stops; returns how, and after how many.
    fn feed(mut second: impl FnMut(f64) -> (f64, f64)) -> (SteadyState, usize) {
        let mut steady = Steady::new(SteadyLimits::default());
        for t in 1.. {
            let (ops_per_s, p99_ms) = second(t as f64);
            match steady.push(ops_per_s, p99_ms) {
                SteadyState::Warming => {}
                state => return (state, t),
            }
        }
        unreachable!("the limit ends it")
    }

    #[test]
    fn a_flat_series_is_steady_at_the_minimum() {
        assert_eq!(feed(|_| (1000.0, 2.0)), (SteadyState::Detected, 10));
    }

    #[test]
    fn noise_without_trend_is_steady_soon() {
        for seed in 0..50 {
            let mut chance = Chance::new(seed);
            let (state, seconds) = feed(|_| {
                let (rate, tail) = (chance.normal(), chance.normal());
                (1000.0 * (1.0 + 0.05 * rate), 5.0 * (0.2 * tail).exp())
            });
            assert_eq!(state, SteadyState::Detected, "seed {seed}");
            assert!(seconds <= 35, "seed {seed}: {seconds} s");
        }
    }

    #[test]
    fn a_ramp_as_of_a_compiler_warming_up_is_waited_for() {
        for seed in 0..50 {
            let mut chance = Chance::new(seed);
            let level = |t: f64| 1.0 - 0.7 * (-t / 6.0).exp();
            let (state, seconds) = feed(|t| {
                let rate = level(t) * (1.0 + 0.02 * chance.normal());
                (50_000.0 * rate, 4.0 / rate)
            });
            assert_eq!(state, SteadyState::Detected, "seed {seed}");
            assert!(
                level(seconds as f64) > 0.97,
                "seed {seed}: steady after {seconds} s"
            );
        }
    }

    #[test]
    fn lasting_drift_of_throughput_or_p99_is_not_called_steady() {
        for seed in 0..50 {
            let mut chance = Chance::new(seed);
            let falling = feed(|t| (1000.0 * (1.0 - 0.01 * t + 0.01 * chance.normal()), 5.0));
            assert_eq!(falling, (SteadyState::Forced, 60), "seed {seed}");
            let slower = feed(|t| (1000.0, 5.0 * (0.03 * t + 0.05 * chance.normal()).exp()));
            assert_eq!(slower, (SteadyState::Forced, 60), "seed {seed}");
        }
    }

    #[test]
    fn nothing_is_not_steady() {
        assert_eq!(feed(|_| (0.0, 0.0)), (SteadyState::Forced, 60));
    }

    #[test]
    fn a_known_trend_is_measured() {
        let line: Vec<f64> = (0..11).map(|n| 100.0 + f64::from(n)).collect();
        let seen = trend(&line);
        assert!((seen.drift - 10.0 / 105.0).abs() < 1e-12);
        // 55 rising pairs of 55; variance 11 · 10 · 27 / 18 = 165.
        assert!((seen.z - 54.0 / 165.0_f64.sqrt()).abs() < 1e-12);
        let none = |count| Trend {
            drift: 0.0,
            z: 0.0,
            count,
        };
        assert_eq!(trend(&[]), none(0));
        assert_eq!(trend(&[3.0; 9]), none(9));
    }

    #[test]
    fn a_spike_does_not_move_the_trend_and_equal_values_count() {
        let spiked = [
            1000.0, 1003.0, 1001.0, 1008.0, 1010.0, 1150.0, 1013.0, 1018.0, 1016.0, 1024.0, 1025.0,
            1027.0,
        ];
        let seen = trend(&spiked);
        assert!((seen.z - 3.36).abs() < 0.005, "{}", seen.z);
        assert!((seen.drift - 2.5 * 11.0 / 1014.5).abs() < 1e-12);
        // Gilbert 1987: ties of 2, 3 and 2 among 10: (10·9·25 − 2·1·9 − 3·2·11 − 2·1·9) / 18.
        let tied = [1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 4.0, 5.0, 6.0];
        assert!((variance_of_s(&tied) - (2250.0 - 18.0 - 66.0 - 18.0) / 18.0).abs() < 1e-9);
        assert_eq!(ranks(&[5.0, 1.0, 5.0, 9.0]), [2.5, 1.0, 2.5, 4.0]);
    }

    #[test]
    fn swings_of_a_correlated_series_are_rarely_called_a_trend() {
        let mut chance = Chance::new(31);
        for (count, phi, most) in [(30, 0.0, 0.12), (60, 0.3, 0.13), (60, 0.6, 0.15)] {
            let series = 1000;
            let mut called = [0; 2];
            for _ in 0..series {
                let values = chance.autocorrelated(count, phi);
                called[0] += u32::from(trend(&values).is_significant());
                called[1] += u32::from(trend_of_correlated(&values).is_significant());
            }
            let [taken, corrected] = called.map(|n| f64::from(n) / f64::from(series));
            println!("n {count} phi {phi}: {taken:.3}, corrected {corrected:.3}");
            assert!(corrected <= most, "n {count} phi {phi}: {corrected}");
            assert!(phi < 0.5 || taken > 0.25, "n {count} phi {phi}: {taken}");
        }
    }

    #[test]
    fn a_true_drift_is_seen_through_correlation() {
        let mut chance = Chance::new(32);
        let drifting = |chance: &mut Chance| -> Vec<f64> {
            let noise = chance.autocorrelated(60, 0.3);
            let value =
                |(at, noise): (usize, f64)| 1000.0 * (1.0 - 0.004 * at as f64 + 0.03 * noise);
            noise.into_iter().enumerate().map(value).collect()
        };
        let seen = (0..200).filter(|_| {
            let values = drifting(&mut chance);
            trend_of_correlated(&values).matters(0.10)
        });
        assert!(seen.count() >= 190);
    }

    #[test]
    fn six_values_cannot_tell_a_drift_from_chance() {
        // As it was seen: "drifted by 94 %, no more than chance".
        let six = [100.0, 60.0, 140.0, 150.0, 80.0, 190.0];
        let seen = trend_of_correlated(&six);
        assert!(!seen.is_significant() && seen.drift > 0.5, "{seen:?}");
        assert!(seen.is_untold(0.10));
        // Ten in which it is chance, and six that do not drift, are no such case.
        let ten = [
            100.0, 60.0, 140.0, 150.0, 80.0, 190.0, 100.0, 60.0, 140.0, 150.0,
        ];
        assert!(!trend_of_correlated(&ten).is_untold(0.10));
        assert!(!trend_of_correlated(&[100.0, 101.0, 99.0]).is_untold(0.10));
    }
}
