//! Telling two variants apart.
//!
//! A run is one unit: a million operations of one run are one observation of how that variant does
//! that day. So a comparison takes one number per block and side, works on logarithms (ratios are
//! what carries over to other machines), and gives the ratio of geometric means with a 95 %
//! interval by Student's t. With one block a side there is a ratio and no interval: the variation
//! *between* runs was not observed, and the much smaller variation within a run must not stand in
//! for it; the finding is then [`Finding::Inconclusive`], however large the ratio.

use crate::series;

/// What is compared: which way is better, and how far apart still counts as the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric {
    /// Whether more is better.
    pub higher_is_better: bool,
    /// A ratio within 1/(1 + margin) and 1 + margin is no difference that matters.
    pub margin: f64,
}

impl Metric {
    /// Operations per second: ±3 %, about the day-to-day spread of a quiet machine.
    pub const THROUGHPUT: Metric = Metric {
        higher_is_better: true,
        margin: 0.03,
    };
    /// p99 and other tail latencies: ±10 %, since tails vary more.
    pub const LATENCY: Metric = Metric {
        higher_is_better: false,
        margin: 0.10,
    };
}

/// What a comparison says about the contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The whole interval is on the better side of 1, and not all inside the margin.
    Faster,
    /// The whole interval is on the worse side of 1, and not all inside the margin.
    Slower,
    /// The whole interval is inside the margin: any difference is too small to matter.
    Equivalent,
    /// None of these: more blocks, or longer ones, are needed.
    Inconclusive,
}

impl Finding {
    /// The word in records: `faster`, `slower`, `equivalent`, `inconclusive`.
    pub fn name(self) -> &'static str {
        match self {
            Finding::Faster => "faster",
            Finding::Slower => "slower",
            Finding::Equivalent => "equivalent",
            Finding::Inconclusive => "inconclusive",
        }
    }
}

/// A comparison of two variants.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Contender ÷ baseline, of geometric means.
    pub ratio: f64,
    /// 95 % confidence interval of the ratio; none with one block a side.
    pub ci95: Option<[f64; 2]>,
    /// What it says.
    pub finding: Finding,
    /// Blocks (pairs), or the smaller side's number of runs.
    pub blocks: usize,
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
    let error = (series::variance(&logs) / count).sqrt();
    let interval = (logs.len() > 1).then_some((error, count - 1.0));
    Some(finish(series::mean(&logs), interval, metric, logs.len()))
}

/// Compares runs that do not belong together in pairs (two runs of different days), by Welch's
/// test. None when a side has no positive finite value.
pub fn compare_unpaired(baseline: &[f64], contender: &[f64], metric: Metric) -> Option<Comparison> {
    let logs = |values: &[f64]| -> Vec<f64> {
        values
            .iter()
            .copied()
            .filter(|v| positive(*v))
            .map(f64::ln)
            .collect()
    };
    let (base, cont) = (logs(baseline), logs(contender));
    let blocks = base.len().min(cont.len());
    if blocks == 0 {
        return None;
    }
    let part = |logs: &[f64]| series::variance(logs) / logs.len() as f64;
    let (base_part, cont_part) = (part(&base), part(&cont));
    let sum = base_part + cont_part;
    let interval = (blocks > 1).then(|| {
        // Welch and Satterthwaite's degrees of freedom.
        let freedom = |part: f64, count: usize| part * part / (count - 1) as f64;
        let below = freedom(base_part, base.len()) + freedom(cont_part, cont.len());
        let degrees = if below > 0.0 { sum * sum / below } else { 1.0 };
        (sum.sqrt(), degrees)
    });
    let difference = series::mean(&cont) - series::mean(&base);
    Some(finish(difference, interval, metric, blocks))
}

fn positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

/// From the mean of log-ratios and, if there is one, its standard error and degrees of freedom.
fn finish(
    log_ratio: f64,
    interval: Option<(f64, f64)>,
    metric: Metric,
    blocks: usize,
) -> Comparison {
    let ci95 = interval.map(|(error, freedom)| {
        let half = series::t_quantile(0.975, freedom) * error;
        [(log_ratio - half).exp(), (log_ratio + half).exp()]
    });
    Comparison {
        ratio: log_ratio.exp(),
        ci95,
        finding: ci95.map_or(Finding::Inconclusive, |ci| find(ci, metric)),
        blocks,
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

    #[test]
    fn pairs_give_the_textbook_interval_of_log_ratios() {
        let pairs = [(100.0, 110.0), (200.0, 240.0), (50.0, 57.0)];
        let seen = compare_paired(&pairs, Metric::THROUGHPUT).unwrap();
        let logs = [1.1_f64.ln(), 1.2_f64.ln(), 1.14_f64.ln()];
        let half = 4.302_653 * (series::variance(&logs) / 3.0).sqrt();
        let mean = logs.iter().sum::<f64>() / 3.0;
        let [low, high] = seen.ci95.unwrap();
        assert!((seen.ratio - mean.exp()).abs() < 1e-12);
        assert!((low - (mean - half).exp()).abs() < 1e-6, "{low}");
        assert!((high - (mean + half).exp()).abs() < 1e-6, "{high}");
        assert_eq!((seen.finding, seen.blocks), (Finding::Faster, 3));
    }

    #[test]
    fn pairing_takes_out_what_changes_from_block_to_block() {
        let baseline = [100.0, 150.0, 220.0];
        let contender = [110.5, 164.0, 243.0];
        let pairs: Vec<(f64, f64)> = baseline.into_iter().zip(contender).collect();
        let paired = compare_paired(&pairs, Metric::THROUGHPUT).unwrap();
        let unpaired = compare_unpaired(&baseline, &contender, Metric::THROUGHPUT).unwrap();
        assert_eq!(paired.finding, Finding::Faster);
        assert_eq!(unpaired.finding, Finding::Inconclusive);
        assert!((paired.ratio - unpaired.ratio).abs() < 1e-9);
    }

    #[test]
    fn one_block_a_side_has_a_ratio_and_no_interval() {
        let seen = compare_paired(&[(100.0, 300.0)], Metric::THROUGHPUT).unwrap();
        assert_eq!((seen.ci95, seen.finding), (None, Finding::Inconclusive));
        assert!((seen.ratio - 3.0).abs() < 1e-12);
        let seen = compare_unpaired(&[100.0, 101.0], &[300.0], Metric::THROUGHPUT).unwrap();
        assert_eq!((seen.ci95, seen.blocks), (None, 1));
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
    fn of_equal_variants_about_one_in_twenty_is_called_different() {
        let mut chance = Chance(21);
        let mut noisy = |_| 1000.0 * (0.1 * chance.normal()).exp();
        let rounds = 2000;
        let different = (0..rounds)
            .filter(|_| {
                let pairs: Vec<(f64, f64)> = (0..5).map(|n| (noisy(n), noisy(n))).collect();
                let seen = compare_paired(&pairs, Metric::THROUGHPUT).unwrap();
                matches!(seen.finding, Finding::Faster | Finding::Slower)
            })
            .count();
        let share = different as f64 / f64::from(rounds);
        assert!((0.03..0.065).contains(&share), "{share}");
    }

    proptest! {
        #[test]
        fn changing_sides_turns_ratio_and_finding_round(
            pairs in prop::collection::vec((1.0f64..1e6, 1.0f64..1e6), 2..8)) {
            let turned: Vec<(f64, f64)> = pairs.iter().map(|&(b, c)| (c, b)).collect();
            let there = compare_paired(&pairs, Metric::LATENCY).unwrap();
            let back = compare_paired(&turned, Metric::LATENCY).unwrap();
            prop_assert!((there.ratio * back.ratio - 1.0).abs() < 1e-9);
            let expected = match there.finding {
                Finding::Faster => Finding::Slower,
                Finding::Slower => Finding::Faster,
                same => same,
            };
            prop_assert_eq!(back.finding, expected);
        }
    }
}
