//! Bisects a row of builds to find the first one that is worse. [`next`] returns the build to
//! compare next, and finally the result of all comparisons.
//!
//! Every build is compared with the first build of the row, which counts as good. The search starts
//! only if the last build is worse than the first. A build counts as good if its ratio is nearer to
//! 1 than to the ratio of the last build, and otherwise as bad. The distances are on a logarithmic
//! scale. So a small difference of all builds, or an unlucky run, does not mislead the search. If
//! the interval of a build contains the middle between the two ratios, the comparison is undecided.

use crate::autocorrelation::NORMAL_975;
use std::fmt;

/// Maximum number of times that a build is compared if the result remains undecided.
pub const ATTEMPTS: usize = 3;

/// Result of a comparison, as the ratio of the compared build to the good build.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// Ratio of geometric means, above 0.
    pub ratio: f64,
    /// 95 % confidence interval of the ratio.
    pub ci95: [f64; 2],
}

impl Effect {
    /// Creates an effect. Returns `None` unless all three values are positive and finite, because
    /// the search uses their logarithms.
    pub fn new(ratio: f64, ci95: [f64; 2]) -> Option<Effect> {
        let is_usable = |value: f64| value.ln().is_finite();
        (is_usable(ratio) && ci95.into_iter().all(is_usable)).then_some(Effect { ratio, ci95 })
    }

    /// Pools several effects, each weighted by its precision (the inverse of its variance, on the
    /// logarithmic scale). An effect without an error outweighs all others, so the last one is
    /// returned. Returns `None` if `all` is empty.
    pub fn pooled(all: &[Effect]) -> Option<Effect> {
        let mut sums = (0.0, 0.0);
        let mut exact = None;
        for effect in all {
            let [low, high] = effect.ci95.map(f64::ln);
            let error = (high - low) / (2.0 * NORMAL_975);
            let weight = 1.0 / (error * error);
            if weight.is_finite() {
                sums = (sums.0 + weight, sums.1 + weight * effect.ratio.ln());
            } else {
                exact = Some(*effect);
            }
        }
        let (weight, weighted) = sums;
        exact.or_else(|| {
            (weight > 0.0).then(|| {
                let (middle, half) = (weighted / weight, NORMAL_975 / weight.sqrt());
                let ci95 = [(middle - half).exp(), (middle + half).exp()];
                Effect {
                    ratio: middle.exp(),
                    ci95,
                }
            })
        })
    }

    fn may_be_none(self) -> bool {
        let [low, high] = self.ci95;
        low <= 1.0 && high >= 1.0
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        let [low, high] = self.ci95.map(percent);
        write!(f, "{:+.1} % [{low:+.1}, {high:+.1}]", percent(self.ratio))
    }
}

/// Facts that the bisection uses about one build.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeenBuild {
    /// Results of comparing the build with the first build of the row.
    pub effects: Vec<Effect>,
    /// True if the build cannot be compared: it does not build, does not start, or loses its rows.
    pub is_skipped: bool,
}

/// Next step of the bisection, or its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Compare a build with the first build of the row.
    Compare {
        /// Index of the build in the row, starting at 0.
        build: usize,
        /// Number of earlier comparisons of the build.
        before: usize,
    },
    /// The first worse build is known.
    Found {
        /// Index of the build in the row, starting at 0.
        build: usize,
        /// Effect of the build, compared with the first build of the row.
        effect: Effect,
    },
    /// The first worse build is `bad`, or one of the builds between `good` and `bad`. The builds
    /// between them cannot be compared.
    Between {
        /// Last build that is known to be good.
        good: usize,
        /// First build that is known to be bad.
        bad: usize,
        /// Effect of `bad` compared with the first build of the row.
        effect: Effect,
    },
    /// The comparisons do not show that the last build is worse than the first build.
    NotWorse {
        /// Effect of the last build, compared with the first build.
        effect: Effect,
    },
    /// One build is neither clearly good nor clearly bad.
    Unclear {
        /// Last build that is known to be good.
        good: usize,
        /// Build that is neither clearly good nor clearly bad.
        build: usize,
        /// Effect of the unclear build, compared with the first build.
        effect: Effect,
        /// First build that is known to be bad.
        bad: usize,
    },
}

/// Returns the next step for a row of at least two builds. `seen` contains the comparisons of each
/// build with the first build. `higher_is_better` is the direction of the metric.
pub fn next(seen: &[SeenBuild], higher_is_better: bool) -> Next {
    let last = seen.len().saturating_sub(1);
    let attempts = |build: usize| seen[build].effects.len();
    let compare = |build: usize| Next::Compare {
        build,
        before: attempts(build),
    };
    let Some(whole) = Effect::pooled(&seen[last].effects) else {
        return compare(last);
    };
    let is_worse = (whole.ratio < 1.0) == higher_is_better;
    if whole.may_be_none() || !is_worse {
        let is_open = whole.may_be_none() && attempts(last) < ATTEMPTS;
        return if is_open {
            compare(last)
        } else {
            Next::NotWorse { effect: whole }
        };
    }
    let (mut good, mut bad) = (0, last);
    while let Some(build) = between(seen, good, bad) {
        let Some(effect) = Effect::pooled(&seen[build].effects) else {
            return compare(build);
        };
        match side(effect, whole) {
            Some(Side::Good) => good = build,
            Some(Side::Bad) => bad = build,
            None if attempts(build) < ATTEMPTS => return compare(build),
            None => {
                return Next::Unclear {
                    good,
                    build,
                    effect,
                    bad,
                };
            }
        }
    }
    // The last build has an effect, and so does every build that was judged to be bad, so the
    // fallback is never needed.
    let effect = Effect::pooled(&seen[bad].effects).unwrap_or(whole);
    if bad - good > 1 {
        return Next::Between { good, bad, effect };
    }
    Next::Found { build: bad, effect }
}

/// Returns the comparable build that is nearest to the middle between the builds `good` and `bad`.
/// Returns `None` if the range between `good` and `bad` contains no comparable build.
fn between(seen: &[SeenBuild], good: usize, bad: usize) -> Option<usize> {
    let middle = good.midpoint(bad);
    let can = (good + 1..bad).filter(|build| !seen[*build].is_skipped);
    can.min_by_key(|build| build.abs_diff(middle))
}

enum Side {
    Good,
    Bad,
}

/// Returns the end of the row, good or bad, whose ratio is nearer to the ratio of a build. Returns
/// `None` if the interval of the build contains the middle.
fn side(effect: Effect, whole: Effect) -> Option<Side> {
    let middle = whole.ratio.ln() / 2.0;
    let [low, high] = effect.ci95.map(f64::ln);
    let (below, above) = (high < middle, low > middle);
    match (below, above, middle < 0.0) {
        (true, _, true) | (_, true, false) => Some(Side::Bad),
        (_, true, true) | (true, _, false) => Some(Side::Good),
        (false, false, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_series::Chance;

    /// Simulates a comparison of `pairs` pairs of trials with a build whose true ratio is `ratio`.
    fn compared(chance: &mut Chance, ratio: f64, noise: f64, pairs: f64) -> Effect {
        let error = noise * (2.0 / pairs).sqrt();
        let middle = ratio.ln() + error * chance.normal();
        Effect {
            ratio: middle.exp(),
            ci95: [
                (middle - NORMAL_975 * error).exp(),
                (middle + NORMAL_975 * error).exp(),
            ],
        }
    }

    fn build(effects: &[Effect]) -> SeenBuild {
        SeenBuild {
            effects: effects.to_vec(),
            is_skipped: false,
        }
    }

    /// Bisects a row in which the build `first` and all later builds are slower. Returns the result
    /// and the number of comparisons.
    fn course(seed: u64, count: usize, first: usize, (ratio, noise): (f64, f64)) -> (Next, usize) {
        let mut chance = Chance::new(seed);
        let mut seen = vec![SeenBuild::default(); count];
        let mut comparisons = 0;
        loop {
            match next(&seen, true) {
                Next::Compare { build, before } => {
                    assert_eq!(before, seen[build].effects.len());
                    let truth = if build >= first { ratio } else { 1.0 };
                    let pairs = 4.0 * (1 << before) as f64;
                    seen[build].effects.push(compared(&mut chance, truth, noise, pairs));
                    comparisons += 1;
                }
                end => return (end, comparisons),
            }
        }
    }

    #[test]
    fn a_slower_one_of_eight_is_found_in_log2_steps() {
        for first in 1..8 {
            let (end, comparisons) = course(first as u64, 8, first, (0.8, 0.01));
            assert!(
                matches!(end, Next::Found { build, .. } if build == first),
                "{first}: {end:?}"
            );
            assert!(comparisons <= 4, "{first}: {comparisons}");
        }
    }

    /// From one build on, the throughput is 10 % lower, and runs of the same build differ by 4 %.
    /// The interval of four pairs extends 5.5 % to each side, so four pairs detect the slower
    /// build.
    #[test]
    fn a_change_within_noise_is_found_in_9_of_10_rows() {
        let (mut right, mut wrong, mut comparisons) = (0, 0, 0);
        for seed in 0..700 {
            let first = 1 + seed as usize % 7;
            let (end, taken) = course(seed, 8, first, (0.9, 0.04));
            comparisons += taken;
            match end {
                Next::Found { build, .. } if build == first => right += 1,
                Next::Found { .. } => wrong += 1,
                _ => {}
            }
        }
        assert!(right >= 630, "{right} of 700");
        assert!(wrong <= 21, "{wrong} of 700");
        assert!(comparisons < 700 * 8, "{comparisons}");
    }

    #[test]
    fn a_build_is_called_not_worse_within_the_allowed_looks() {
        let mut none = 0;
        for seed in 0..200 {
            let (end, taken) = course(seed, 8, 8, (1.0, 0.02));
            none += usize::from(matches!(end, Next::NotWorse { .. }));
            assert!(taken <= ATTEMPTS || !matches!(end, Next::NotWorse { .. }));
        }
        assert!(none >= 180, "{none} of 200");
        let better = [
            build(&[]),
            build(&[Effect {
                ratio: 1.2,
                ci95: [1.1, 1.3],
            }]),
        ];
        assert!(matches!(next(&better, true), Next::NotWorse { .. }));
        // For a latency, higher is worse.
        assert!(matches!(next(&better, false), Next::Found { build: 1, .. }));
    }

    #[test]
    fn an_undecided_middle_is_measured_again_and_then_left_open() {
        let effect = |ratio: f64| Effect {
            ratio,
            ci95: [ratio * 0.98, ratio * 1.02],
        };
        let mut seen = [build(&[]), build(&[effect(0.9)]), build(&[effect(0.81)])];
        assert_eq!(
            next(&seen, true),
            Next::Compare {
                build: 1,
                before: 1
            }
        );
        seen[1] = build(&[effect(0.9); ATTEMPTS]);
        let Next::Unclear {
            good: 0,
            build: 1,
            bad: 2,
            ..
        } = next(&seen, true)
        else {
            panic!("{:?}", next(&seen, true));
        };
    }

    #[test]
    fn incomparable_rows_are_skipped_and_named_if_they_matter() {
        let effect = |ratio: f64| Effect {
            ratio,
            ci95: [ratio * 0.99, ratio * 1.01],
        };
        let end_of = |broken: &[usize], first: usize| {
            let mut seen = vec![SeenBuild::default(); 8];
            loop {
                match next(&seen, true) {
                    Next::Compare { build, .. } if broken.contains(&build) => {
                        assert!(!seen[build].is_skipped, "this build is already skipped");
                        seen[build].is_skipped = true;
                    }
                    Next::Compare { build, .. } => {
                        let ratio = if build >= first { 0.8 } else { 1.0 };
                        seen[build].effects.push(effect(ratio));
                    }
                    end => return end,
                }
            }
        };
        let found = |end: Next, first: usize| {
            assert!(
                matches!(end, Next::Found { build, .. } if build == first),
                "{end:?}"
            );
        };
        found(end_of(&[3], 6), 6);
        found(end_of(&[3], 2), 2);
        found(end_of(&[1, 2, 3], 5), 5);
        let Next::Between {
            good: 2, bad: 5, ..
        } = end_of(&[3, 4], 4)
        else {
            panic!("{:?}", end_of(&[3, 4], 4));
        };
        let Next::Between {
            good: 0, bad: 7, ..
        } = end_of(&[1, 2, 3, 4, 5, 6], 4)
        else {
            panic!("{:?}", end_of(&[1, 2, 3, 4, 5, 6], 4));
        };
    }

    #[test]
    fn comparisons_of_one_pair_are_pooled_by_precision() {
        let one = Effect {
            ratio: 0.9,
            ci95: [0.8, 1.0125],
        };
        assert_eq!(Effect::pooled(&[]), None);
        let both = Effect::pooled(&[one, one]).unwrap();
        assert!((both.ratio - 0.9).abs() < 1e-9);
        let width = |effect: Effect| (effect.ci95[1] / effect.ci95[0]).ln();
        assert!((width(one) / width(both) - 2f64.sqrt()).abs() < 1e-6);
        assert_eq!(both.to_string(), "-10.0 % [-17.2, -2.2]");
        let exact = Effect {
            ratio: 0.9,
            ci95: [0.9, 0.9],
        };
        for all in [
            vec![exact],
            vec![one, exact],
            vec![exact, exact],
            vec![exact, one],
        ] {
            assert_eq!(Effect::pooled(&all), Some(exact), "{all:?}");
        }
    }
    #[test]
    fn a_search_ends_although_effects_have_no_error() {
        let exact = |ratio: f64| Effect::new(ratio, [ratio, ratio]).unwrap();
        let mut seen = vec![SeenBuild::default(); 8];
        for comparison in 0.. {
            let Next::Compare { build, .. } = next(&seen, true) else {
                assert!(matches!(next(&seen, true), Next::Found { build: 5, .. }));
                return;
            };
            assert!(comparison < 8 * ATTEMPTS, "the search does not end");
            seen[build].effects.push(exact(if build >= 5 { 0.8 } else { 1.0 }));
        }
    }

    #[test]
    fn an_effect_without_finite_logarithms_is_refused() {
        for (ratio, ci95) in [(0.0, [0.0, 1.0]), (f64::NAN, [0.9, 1.1]), (1.0, [0.0, 2.0])] {
            assert_eq!(Effect::new(ratio, ci95), None, "{ratio} {ci95:?}");
        }
    }
}
