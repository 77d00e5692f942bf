//! Predicts, before the first measurement, how many blocks a comparison takes and which answer it
//! has.
//!
//! The simulation uses a fixed sequence of random numbers, so the same design and noise always
//! return the same prediction.

use super::Looks;
use crate::compare::{DIFFERENCE_LEVEL, LEVEL, Metric};

/// Times at which the run evaluates a comparison, and the levels of its decisions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Design {
    /// Schedule of the looks.
    pub looks: Looks,
    /// Number of blocks at the first look, and number of blocks at the last look.
    pub blocks: [usize; 2],
    /// Overall level of the interval, which decides on the finding *equivalent*.
    pub interval: f64,
    /// Overall level of the test, which decides on the finding *different*.
    pub word: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedOutcome {
    /// Average number of blocks until the answer, or until the last look.
    pub blocks: f64,
    /// Share of simulated studies that find a difference.
    pub different: f64,
    /// Share of simulated studies that find equivalence.
    pub equivalent: f64,
}

/// Approximate total number of simulated blocks: the number of studies multiplied by the blocks of
/// each study. A simulation takes a fifth of a second in a build without optimization, and
/// milliseconds in an optimized build.
const DRAWS: usize = 40_000;

impl Design {
    /// Returns the design of a study in which several contenders share the levels.
    pub fn for_study(looks: Looks, blocks: [usize; 2], contenders: usize) -> Design {
        let among = contenders.max(1) as f64;
        Design {
            looks,
            blocks,
            interval: LEVEL / among,
            word: DIFFERENCE_LEVEL / among,
        }
    }

    /// Returns the expected outcome. The ratio of the two trials of a block scatters by `noise`,
    /// and the true ratio is 1 + `effect`.
    pub fn expect(&self, metric: Metric, noise: f64, effect: f64) -> ExpectedOutcome {
        let studies = (DRAWS / self.blocks[1].max(1)).clamp(400, 4000);
        self.simulate(metric, [noise, effect], studies, 1)
    }

    pub(super) fn simulate(
        &self,
        metric: Metric,
        [noise, effect]: [f64; 2],
        studies: usize,
        seed: u64,
    ) -> ExpectedOutcome {
        let [least, most] = self.blocks;
        // For each number of blocks, `reaches` contains two distances in standard errors. The first
        // is the half-width of the interval. The second is the distance from 1 at which the finding
        // is *different*.
        let reach = |level: f64, blocks: usize| {
            let reach = self.looks.reach(level, blocks, blocks as f64 - 1.0);
            reach.unwrap_or(f64::INFINITY)
        };
        let looks = least.max(2)..=most;
        let reaches: Vec<[f64; 2]> = looks
            .map(|blocks| [reach(self.interval, blocks), reach(self.word, blocks)])
            .collect();
        let (margin, effect) = (metric.margin.ln_1p(), effect.ln_1p());
        let mut draws = Draws(seed);
        let (mut blocks_sum, mut counts) = (0usize, [0usize; 2]);
        for _ in 0..studies {
            let (mut count, mut sum, mut squares) = (0usize, 0.0, 0.0);
            while count < most {
                let value = effect + noise * draws.normal();
                count += 1;
                sum += value;
                squares += value * value;
                let Some([interval, word]) = count.checked_sub(least.max(2)).map(|at| reaches[at])
                else {
                    continue;
                };
                let (n, mean) = (count as f64, sum / count as f64);
                let error = ((squares / n - mean * mean).max(0.0) / (n - 1.0)).sqrt();
                if mean.abs() + interval * error <= margin {
                    counts[1] += 1;
                    break;
                }
                if mean.abs() > interval.max(word) * error {
                    counts[0] += 1;
                    break;
                }
            }
            blocks_sum += count;
        }
        let share = |count: usize| count as f64 / studies.max(1) as f64;
        ExpectedOutcome {
            blocks: share(blocks_sum),
            different: share(counts[0]),
            equivalent: share(counts[1]),
        }
    }
}

/// A generator with a fixed sequence (Steele, Lea and Flood 2014, "Fast splittable pseudorandom
/// number generators").
struct Draws(u64);

impl Draws {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a standard normal value (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}
