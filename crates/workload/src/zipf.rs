//! Zipf's law over `1..=count` for any exponent theta ≥ 0. Both the set-up and each draw take
//! constant time.
//!
//! The module uses rejection-inversion after W. Hörmann and G. Derflinger, "Rejection-inversion to
//! generate variates from monotone discrete distributions" (1996). A draw inverts the integral of
//! x^-theta, rounds to the nearest rank, and rejects the small excess. The method does not sum over
//! the ranks, so a domain of 2^63 takes the same time as a domain of 2. On average, a draw takes
//! fewer than about 1.1 rounds. Above 2^53, the result is rounded to a representable double.

use crate::random::Draws;

/// A distribution of the ranks 1..=count with a probability proportional to rank^-theta.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Zipf {
    count: u64,
    theta: f64,
    /// The integral of the weights up to 1.5, minus the whole weight of rank 1.
    area_low: f64,
    /// The integral of the weights up to count + 0.5.
    area_high: f64,
    /// Maximum difference between a rank and x at which a draw accepts the rank without evaluating
    /// the integral.
    accept: f64,
}

impl Zipf {
    /// Creates a distribution. `count` must be at least 1. `theta` must be finite and at least
    /// zero.
    pub(crate) fn new(count: u64, theta: f64) -> Zipf {
        assert!(
            count >= 1 && theta.is_finite() && theta >= 0.0,
            "zipf({count}, {theta})"
        );
        Zipf {
            count,
            theta,
            area_low: integral(1.5, theta) - 1.0,
            area_high: integral(count as f64 + 0.5, theta),
            accept: 2.0 - integral_inverse(integral(2.5, theta) - weight(2.0, theta), theta),
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Draws a rank in `1..=count`. Rank 1 is the most popular.
    #[inline]
    pub(crate) fn draw(&self, draws: &mut Draws) -> u64 {
        if self.count == 1 {
            return 1;
        }
        loop {
            let area = self.area_high + draws.unit() * (self.area_low - self.area_high);
            let x = integral_inverse(area, self.theta);
            // The conversion saturates, so the rank is inside the domain even if x is huge or
            // undefined.
            let rank = ((x + 0.5) as u64).clamp(1, self.count);
            let k = rank as f64;
            if k - x <= self.accept || area >= integral(k + 0.5, self.theta) - weight(k, self.theta)
            {
                return rank;
            }
        }
    }
}

/// Returns the unnormalized probability of rank `x`, which is x^-theta.
fn weight(x: f64, theta: f64) -> f64 {
    libm::exp(-theta * libm::log(x))
}

/// Returns the integral of t^-theta from 1 to x: (x^(1-theta) - 1) / (1 - theta), or ln x if theta
/// is 1.
fn integral(x: f64, theta: f64) -> f64 {
    let log = libm::log(x);
    log * expm1_over((1.0 - theta) * log)
}

/// Returns the x for which [`integral`] is `area`.
fn integral_inverse(area: f64, theta: f64) -> f64 {
    // Rounding may reduce the argument of the logarithm to less than its pole.
    let t = (area * (1.0 - theta)).max(-1.0);
    libm::exp(area * log1p_over(t))
}

/// Returns (e^t - 1) / t. At t = 0, where the quotient is undefined, returns its limit.
fn expm1_over(t: f64) -> f64 {
    if t.abs() > 1e-8 {
        libm::expm1(t) / t
    } else {
        1.0 + t * 0.5
    }
}

/// Returns ln(1 + t) / t. At t = 0, where the quotient is undefined, returns its limit.
fn log1p_over(t: f64) -> f64 {
    if t.abs() > 1e-8 {
        libm::log1p(t) / t
    } else {
        1.0 - t * 0.5
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns Pearson's statistic of `draws` draws against the exact law, and the degrees of
    /// freedom. Ranks whose expected number of draws is under 10 are pooled.
    fn chi_square(count: u64, theta: f64, draws: u64) -> (f64, f64) {
        let zipf = Zipf::new(count, theta);
        let weights: Vec<f64> = (1..=count).map(|k| (k as f64).powf(-theta)).collect();
        let total: f64 = weights.iter().sum();
        let mut seen = vec![0u64; count as usize];
        for n in 0..draws {
            seen[zipf.draw(&mut Draws::new(0xCA55A, n)) as usize - 1] += 1;
        }
        let (mut statistic, mut cells, mut pooled) = (0.0, 0.0, (0.0, 0.0));
        for (weight, seen) in weights.iter().zip(&seen) {
            let expected = weight / total * draws as f64;
            if expected < 10.0 {
                pooled = (pooled.0 + expected, pooled.1 + *seen as f64);
            } else {
                statistic += (*seen as f64 - expected).powi(2) / expected;
                cells += 1.0;
            }
        }
        if pooled.0 >= 10.0 {
            statistic += (pooled.1 - pooled.0).powi(2) / pooled.0;
            cells += 1.0;
        }
        (statistic, cells - 1.0)
    }

    #[test]
    fn draws_follow_the_exact_law_below_at_and_above_theta_1() {
        for count in [2, 3, 10, 1000] {
            for theta in [0.0, 0.3, 0.5, 0.99, 1.0, 1.0 + 1e-12, 1.2, 2.0, 5.0] {
                let (statistic, freedom) = chi_square(count, theta, 200_000);
                // The bound is Wilson and Hilferty's normal approximation of chi-square. With at
                // least two degrees of freedom, 4.5 sigma corresponds to less than one false alarm
                // in 100,000 tests.
                let spread = (2.0 / (9.0 * freedom.max(1.0))).sqrt();
                let cube = (statistic / freedom.max(1.0)).cbrt();
                let sigma = (cube - (1.0 - spread * spread)) / spread;
                assert!(
                    sigma < 4.5,
                    "zipf({count}, {theta}): {statistic} on {freedom}"
                );
            }
        }
    }

    #[test]
    fn the_test_above_can_tell_thetas_apart() {
        let zipf = Zipf::new(1000, 0.9);
        let hits = |zipf: &Zipf| {
            (0..200_000).filter(|&n| zipf.draw(&mut Draws::new(1, n)) == 1).count() as f64
        };
        assert!(hits(&Zipf::new(1000, 0.99)) > hits(&zipf) * 1.2);
    }

    #[test]
    fn a_single_rank_is_always_1() {
        for theta in [0.0, 1.0, 1e6] {
            assert_eq!(Zipf::new(1, theta).draw(&mut Draws::new(0, 0)), 1);
        }
    }

    #[test]
    fn an_enormous_theta_always_gives_rank_1_and_ends() {
        let zipf = Zipf::new(1_000_000, 1e6);
        assert!((0..1000).all(|n| zipf.draw(&mut Draws::new(9, n)) == 1));
    }

    proptest! {
        #[test]
        fn every_draw_is_in_range(
            count in prop_oneof![1u64..100, Just(1 << 31), Just(1 << 53), Just(1 << 63)],
            theta in prop_oneof![0.0..3.0f64, Just(1.0)],
            n in any::<u64>(),
        ) {
            let rank = Zipf::new(count, theta).draw(&mut Draws::new(5, n));
            prop_assert!((1..=count).contains(&rank));
        }
    }
}
