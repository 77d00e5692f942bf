//! Telling two variants apart.
//!
//! A run is one unit: a million operations of one run are one observation of how that variant does
//! that day. So a comparison takes one number per block and side, works on logarithms (ratios are
//! what carries over to other machines), and gives the ratio of geometric means with a 95 %
//! interval by Student's t. With one block a side there is a ratio and no interval: the variation
//! *between* runs was not observed, and the much smaller variation within a run must not stand in
//! for it; the finding is then [`Finding::Inconclusive`], however large the ratio.
//!
//! Only trials that took turns are pairs. What ran one after the other differs by all that changed
//! meanwhile, which its own blocks cannot show: equal runs were called different in 13 to 23 % of
//! cases by Welch's test. Such an interval is widened by a stated variance between runs
//! ([`Metric::between_runs`]) and never says more than [`Finding::LooksDifferent`].

use crate::series;

/// What is compared: which way is better, and how far apart still counts as the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric {
    /// Whether more is better.
    pub higher_is_better: bool,
    /// A ratio within 1/(1 + margin) and 1 + margin is no difference that matters.
    pub margin: f64,
    /// Standard deviation, as a share, of one run from the next of the same study on the same
    /// machine, at least; only for runs that were not interleaved. Of three equal runs that were
    /// published (1 h, 1 h and 24 h on one cluster) the throughputs lie 3.7 % apart, a deviation
    /// of 2.2 %, and the mean read latencies 23 %, one of 12 % (range ÷ 1.69 for three values).
    pub between_runs: f64,
}

impl Metric {
    /// Operations per second: ±3 %, about the day-to-day spread of a quiet machine.
    pub const THROUGHPUT: Metric = Metric {
        higher_is_better: true,
        margin: 0.03,
        between_runs: 0.03,
    };
    /// p99 and other tail latencies: ±10 %, since tails vary more.
    pub const LATENCY: Metric = Metric {
        higher_is_better: false,
        margin: 0.10,
        between_runs: 0.12,
    };
}

/// What a comparison says about the contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The whole interval is on the better side of 1, and not all inside the margin.
    Faster,
    /// The whole interval is on the worse side of 1, and not all inside the margin.
    Slower,
    /// Either of these, of runs that were not interleaved: it may be the machine.
    LooksDifferent,
    /// The whole interval is inside the margin: any difference is too small to matter.
    Equivalent,
    /// None of these: more blocks, or longer ones, are needed.
    Inconclusive,
}

impl Finding {
    /// The word in records: `faster`, `slower`, `looks_different`, `equivalent`, `inconclusive`.
    pub fn name(self) -> &'static str {
        match self {
            Finding::Faster => "faster",
            Finding::Slower => "slower",
            Finding::LooksDifferent => "looks_different",
            Finding::Equivalent => "equivalent",
            Finding::Inconclusive => "inconclusive",
        }
    }

    /// Whether it says that the two differ.
    pub fn is_difference(self) -> bool {
        matches!(
            self,
            Finding::Faster | Finding::Slower | Finding::LooksDifferent
        )
    }
}

/// The level of a comparison that stands alone.
pub const LEVEL: f64 = 0.05;
/// With which probability a difference of the size of [`Comparison::could_see`] is seen.
pub const POWER: f64 = 0.80;
/// More blocks than this settle nothing: the machine has to become quieter.
pub const BLOCKS_TO_SETTLE_MAX: usize = 1000;

/// A comparison of two variants. What it says depends on how many others there are: see
/// [`crate::multiple`].
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Contender ÷ baseline, of geometric means.
    pub ratio: f64,
    /// Blocks (pairs), or the smaller side's number of runs.
    pub blocks: usize,
    /// The standard deviation between runs that the interval was widened by, as a share; none of
    /// pairs.
    pub between_runs: Option<f64>,
    metric: Metric,
    /// Of the logarithm of the ratio; none with one block a side.
    error: Option<LogError>,
}

/// The error of a logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LogError {
    standard_error: f64,
    freedom: f64,
}

/// Compares pairs of one block each: (baseline, contender), run close to each other. Pairing takes
/// out what changes from block to block. None when no pair has two positive finite values.
pub fn compare_paired(pairs: &[(f64, f64)], metric: Metric) -> Option<Comparison> {
    let usable = pairs.iter().filter(|(b, c)| positive(*b) && positive(*c));
    let logs: Vec<f64> = usable
        .map(|(baseline, contender)| (contender / baseline).ln())
        .collect();
    if logs.is_empty() {
        return None;
    }
    let count = logs.len() as f64;
    Some(Comparison {
        ratio: series::mean(&logs).exp(),
        blocks: logs.len(),
        between_runs: None,
        metric,
        error: (logs.len() > 1).then(|| LogError {
            standard_error: (series::variance(&logs) / count).sqrt(),
            freedom: count - 1.0,
        }),
    })
}

/// Compares runs that did not take turns: of different days, or one variant after the other.
/// Welch's interval, widened by the variance between runs: that of the metric, or that between
/// the blocks of the runs if it is larger, since a run differs from the next at least as much as
/// its blocks do from each other. None when a side has no positive finite value.
pub fn compare_unpaired(baseline: &[f64], contender: &[f64], metric: Metric) -> Option<Comparison> {
    let (base, cont) = (logs_of(baseline), logs_of(contender));
    let blocks = base.len().min(cont.len());
    if blocks == 0 {
        return None;
    }
    let counts = [base.len() as f64, cont.len() as f64];
    let variances = [series::variance(&base), series::variance(&cont)];
    let within_freedom = counts[0] + counts[1] - 2.0;
    let within = (0..2).map(|side| variances[side] * (counts[side] - 1.0));
    let within = within.sum::<f64>() / within_freedom.max(1.0);
    let floor = metric.between_runs * metric.between_runs;
    let between = within.max(floor);
    let parts = [variances[0] / counts[0], variances[1] / counts[1]];
    let sum = parts[0] + parts[1] + 2.0 * between;
    // Welch and Satterthwaite's degrees of freedom, but at most those of the blocks: which of the
    // two variances is larger is told by them alone. Of two blocks a side 7 % of equal runs looked
    // different without that.
    let mut below: f64 = (0..2)
        .map(|side| parts[side] * parts[side] / (counts[side] - 1.0).max(1.0))
        .sum();
    if within > floor {
        below += 4.0 * between * between / within_freedom.max(1.0);
    }
    let freedom = if below > 0.0 { sum * sum / below } else { 1e6 };
    let freedom = freedom.min(within_freedom.max(1.0));
    Some(Comparison {
        ratio: (series::mean(&cont) - series::mean(&base)).exp(),
        blocks,
        between_runs: Some(between.sqrt()),
        metric,
        error: (blocks > 1).then(|| LogError {
            standard_error: sum.sqrt(),
            freedom,
        }),
    })
}

fn positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

fn logs_of(values: &[f64]) -> Vec<f64> {
    let usable = values.iter().copied().filter(|v| positive(*v));
    usable.map(f64::ln).collect()
}

impl Comparison {
    /// 95 % confidence interval of the ratio, for it alone; none with one block a side.
    pub fn ci95(&self) -> Option<[f64; 2]> {
        let half = self.error?.half(LEVEL);
        Some([self.ratio * (-half).exp(), self.ratio * half.exp()])
    }

    /// Probability of a ratio at least as far from 1 if the variants are equal; none with one
    /// block a side.
    pub fn p(&self) -> Option<f64> {
        let error = self.error?;
        let distance = self.ratio.ln().abs();
        if error.standard_error == 0.0 {
            return Some(if distance == 0.0 { 1.0 } else { 0.0 });
        }
        let t = distance / error.standard_error;
        Some(2.0 * series::t_above(t, error.freedom))
    }

    /// What it says, given `p`: its own, or one adjusted for the others.
    pub fn finding(&self, p: Option<f64>) -> Finding {
        let (Some(ci), Some(p)) = (self.ci95(), p) else {
            return Finding::Inconclusive;
        };
        match find(ci, self.metric) {
            found if found.is_difference() && p > LEVEL => Finding::Inconclusive,
            found if found.is_difference() && self.between_runs.is_some() => {
                Finding::LooksDifferent
            }
            found => found,
        }
    }

    /// The smallest difference that it could have seen, as a share: one of this size is found at
    /// `level` in four of five studies like this one. None with one block a side.
    pub fn could_see(&self, level: f64) -> Option<f64> {
        let error = self.error?;
        let power = series::t_quantile(POWER, error.freedom) * error.standard_error;
        Some((error.half(level) + power).exp() - 1.0)
    }

    /// How many blocks decide it at `level` whatever the difference is, if blocks go on to vary as
    /// they did: so many that half the interval at `level`, and half the one of 95 %, fit into the
    /// margin. Then a ratio is either further from 1 than the one, or so near that the other lies
    /// within the margin. None with one block, when the runs did not take turns (more of the same
    /// would not help), and above [`BLOCKS_TO_SETTLE_MAX`].
    pub fn blocks_to_settle(&self, level: f64) -> Option<usize> {
        let error = self.error.filter(|_| self.between_runs.is_none())?;
        let deviation = error.standard_error * (self.blocks as f64).sqrt();
        let margin = (1.0 + self.metric.margin).ln();
        let settles = |blocks: usize| {
            let error = LogError {
                standard_error: deviation / (blocks as f64).sqrt(),
                freedom: blocks as f64 - 1.0,
            };
            error.half(level) + error.half(LEVEL) <= margin
        };
        let candidates: Vec<usize> = (2..=BLOCKS_TO_SETTLE_MAX).collect();
        let first = candidates.partition_point(|blocks| !settles(*blocks));
        candidates.get(first).copied()
    }
}

impl LogError {
    /// Half the two-sided interval.
    fn half(self, level: f64) -> f64 {
        series::t_quantile(1.0 - level / 2.0, self.freedom) * self.standard_error
    }
}

fn find([low, high]: [f64; 2], metric: Metric) -> Finding {
    let bound = 1.0 + metric.margin;
    if low >= 1.0 / bound && high <= bound {
        Finding::Equivalent
    } else if low <= 1.0 && 1.0 <= high {
        Finding::Inconclusive
    } else if (low > 1.0) == metric.higher_is_better {
        Finding::Faster
    } else {
        Finding::Slower
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Chance;
    use proptest::prelude::*;

    #[test]
    fn findings_follow_from_interval_margin_and_direction() {
        use Finding::{Equivalent, Faster, Inconclusive, Slower};
        for (ci, throughput, latency) in [
            ([1.10, 1.30], Faster, Slower),
            ([0.70, 0.85], Slower, Faster),
            ([0.98, 1.02], Equivalent, Equivalent),
            // Away from 1, and too little to matter.
            ([1.005, 1.02], Equivalent, Equivalent),
            // The margin is symmetric in ratios: 0.90 is below 1/1.1.
            ([0.90, 1.08], Inconclusive, Inconclusive),
            ([0.95, 1.05], Inconclusive, Equivalent),
            ([1.01, 1.20], Faster, Slower),
        ] {
            assert_eq!(find(ci, Metric::THROUGHPUT), throughput, "{ci:?}");
            assert_eq!(find(ci, Metric::LATENCY), latency, "{ci:?}");
        }
    }

    /// What it says when it stands alone.
    fn alone(seen: &Comparison) -> Finding {
        seen.finding(seen.p())
    }

    #[test]
    fn pairs_give_the_textbook_interval_of_log_ratios() {
        let pairs = [(100.0, 110.0), (200.0, 240.0), (50.0, 57.0)];
        let seen = compare_paired(&pairs, Metric::THROUGHPUT).unwrap();
        let logs = [1.1_f64.ln(), 1.2_f64.ln(), 1.14_f64.ln()];
        let half = 4.302_653 * (series::variance(&logs) / 3.0).sqrt();
        let mean = logs.iter().sum::<f64>() / 3.0;
        let [low, high] = seen.ci95().unwrap();
        assert!((seen.ratio - mean.exp()).abs() < 1e-12);
        assert!((low - (mean - half).exp()).abs() < 1e-6, "{low}");
        assert!((high - (mean + half).exp()).abs() < 1e-6, "{high}");
        assert_eq!((alone(&seen), seen.blocks), (Finding::Faster, 3));
    }

    #[test]
    fn p_is_that_of_the_t_test() {
        // t = 3.182 with 3 degrees of freedom is the two-sided 5 % point.
        let mut seen = compare_paired(&[(1.0, 1.1), (1.0, 1.2)], Metric::THROUGHPUT).unwrap();
        seen.error = Some(LogError {
            standard_error: seen.ratio.ln() / 3.182_446,
            freedom: 3.0,
        });
        assert!((seen.p().unwrap() - 0.05).abs() < 1e-6);
        let [low, _] = seen.ci95().unwrap();
        assert!((low - 1.0).abs() < 1e-6, "the interval ends where p is 5 %");
    }

    #[test]
    fn pairing_takes_out_what_changes_from_block_to_block() {
        let baseline = [100.0, 150.0, 220.0];
        let contender = [110.5, 164.0, 243.0];
        let pairs: Vec<(f64, f64)> = baseline.into_iter().zip(contender).collect();
        let paired = compare_paired(&pairs, Metric::THROUGHPUT).unwrap();
        let unpaired = compare_unpaired(&baseline, &contender, Metric::THROUGHPUT).unwrap();
        assert_eq!(alone(&paired), Finding::Faster);
        assert_eq!(alone(&unpaired), Finding::Inconclusive);
        assert!((paired.ratio - unpaired.ratio).abs() < 1e-9);
    }

    #[test]
    fn runs_that_did_not_take_turns_look_different_at_most() {
        let seen = compare_unpaired(&[100.0, 101.0], &[300.0, 301.0], Metric::THROUGHPUT).unwrap();
        assert_eq!(alone(&seen), Finding::LooksDifferent);
        assert_eq!(seen.between_runs, Some(0.03));
        assert_eq!(
            seen.blocks_to_settle(LEVEL),
            None,
            "more of the same would not help"
        );
        // 5 % between two runs with quiet blocks is less than runs differ by themselves.
        let quiet = compare_unpaired(&[100.0; 5], &[105.0; 5], Metric::THROUGHPUT).unwrap();
        assert_eq!(alone(&quiet), Finding::Inconclusive);
        let [low, high] = quiet.ci95().unwrap();
        // Student's t of eight degrees of freedom.
        let half = 2.306_004 * (2.0_f64 * 0.03 * 0.03).sqrt();
        assert!((high / low - (2.0 * half).exp()).abs() < 1e-4);
    }

    /// Runs of several blocks that differ from each other by four fifths of what blocks differ by:
    /// as much as makes Welch's test call 13 to 23 % of equal runs different, as was seen.
    fn equal_runs(chance: &mut Chance, rounds: u32, blocks: usize, noise: f64) -> f64 {
        let mut run = || -> Vec<f64> {
            let level = 0.8 * noise * chance.normal();
            (0..blocks)
                .map(|_| 1000.0 * (level + noise * chance.normal()).exp())
                .collect()
        };
        let called = (0..rounds).filter(|_| {
            let seen = compare_unpaired(&run(), &run(), Metric::THROUGHPUT).unwrap();
            alone(&seen).is_difference()
        });
        called.count() as f64 / f64::from(rounds)
    }

    #[test]
    fn of_equal_runs_at_most_one_in_twenty_looks_different() {
        let mut chance = Chance(61);
        for blocks in [2, 3, 5] {
            for noise in [0.01, 0.02, 0.05, 0.10] {
                let called = equal_runs(&mut chance, 4000, blocks, noise);
                println!("{blocks} blocks, noise {noise}: {called:.3}");
                assert!(called <= 0.05, "{blocks} blocks, noise {noise}: {called}");
            }
        }
    }

    #[test]
    fn one_block_a_side_has_a_ratio_and_no_interval() {
        let seen = compare_paired(&[(100.0, 300.0)], Metric::THROUGHPUT).unwrap();
        assert_eq!((seen.ci95(), alone(&seen)), (None, Finding::Inconclusive));
        assert_eq!(
            (seen.could_see(LEVEL), seen.blocks_to_settle(LEVEL)),
            (None, None)
        );
        assert!((seen.ratio - 3.0).abs() < 1e-12);
        let seen = compare_unpaired(&[100.0, 101.0], &[300.0], Metric::THROUGHPUT).unwrap();
        assert_eq!((seen.ci95(), seen.blocks), (None, 1));
    }

    #[test]
    fn values_that_have_no_logarithm_are_left_out() {
        assert_eq!(
            compare_paired(&[(0.0, 5.0), (5.0, f64::NAN)], Metric::LATENCY),
            None
        );
        assert_eq!(compare_unpaired(&[], &[1.0], Metric::LATENCY), None);
        let pairs = [(0.0, 5.0), (2.0, 4.0)];
        assert_eq!(compare_paired(&pairs, Metric::LATENCY).unwrap().blocks, 1);
    }

    #[test]
    fn what_it_could_have_seen_is_seen_in_four_of_five() {
        let mut chance = Chance(8);
        let noise = 0.02;
        let pairs = |chance: &mut Chance, effect: f64| -> Vec<(f64, f64)> {
            let ratio = |chance: &mut Chance| (effect + noise * chance.normal()).exp();
            (0..10).map(|_| (1000.0, 1000.0 * ratio(chance))).collect()
        };
        // The size is itself estimated: take that of the true spread.
        let error = LogError {
            standard_error: noise / 10.0_f64.sqrt(),
            freedom: 9.0,
        };
        let mut known = compare_paired(&[(1.0, 1.0)], Metric::THROUGHPUT).unwrap();
        known.error = Some(error);
        let size = known.could_see(LEVEL).unwrap();
        let rounds = 2000;
        let found = (0..rounds)
            .filter(|_| {
                let made = pairs(&mut chance, (1.0 + size).ln());
                let seen = compare_paired(&made, Metric::THROUGHPUT).unwrap();
                seen.p().unwrap() <= LEVEL
            })
            .count();
        let share = found as f64 / f64::from(rounds);
        assert!((0.76..0.86).contains(&share), "{share}");
    }

    #[test]
    fn so_many_blocks_settle_it_whatever_the_difference() {
        let seen = compare_paired(
            &[(100.0, 97.0), (100.0, 103.5), (100.0, 101.0)],
            Metric::THROUGHPUT,
        )
        .unwrap();
        assert_eq!(alone(&seen), Finding::Inconclusive);
        let blocks = seen.blocks_to_settle(LEVEL).unwrap();
        let deviation = seen.error.unwrap().standard_error * 3.0_f64.sqrt();
        for percent in -60..=60 {
            let settled = Comparison {
                ratio: (f64::from(percent) / 1000.0).exp(),
                blocks,
                error: Some(LogError {
                    standard_error: deviation / (blocks as f64).sqrt(),
                    freedom: blocks as f64 - 1.0,
                }),
                ..seen.clone()
            };
            assert_ne!(alone(&settled), Finding::Inconclusive, "{percent}");
        }
        let wild = compare_paired(&[(1.0, 9.0), (9.0, 1.0)], Metric::THROUGHPUT).unwrap();
        assert_eq!(wild.blocks_to_settle(LEVEL), None);
    }

    proptest! {
        #[test]
        fn changing_sides_turns_ratio_and_finding_round(
            pairs in prop::collection::vec((1.0f64..1e6, 1.0f64..1e6), 2..8)) {
            let turned: Vec<(f64, f64)> = pairs.iter().map(|&(b, c)| (c, b)).collect();
            let there = compare_paired(&pairs, Metric::LATENCY).unwrap();
            let back = compare_paired(&turned, Metric::LATENCY).unwrap();
            prop_assert!((there.ratio * back.ratio - 1.0).abs() < 1e-9);
            let expected = match alone(&there) {
                Finding::Faster => Finding::Slower,
                Finding::Slower => Finding::Faster,
                same => same,
            };
            prop_assert_eq!(alone(&back), expected);
        }
    }
}
