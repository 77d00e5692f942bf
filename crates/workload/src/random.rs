//! Counter-based randomness. Draw k of operation n is a pure function of (seed, n, k).
//!
//! The generator is splitmix64 (Steele, Lea, Flood 2014). It passes a Weyl sequence through a
//! finalizer that is a bijection of 64 bits. Each operation starts a separate sequence at a mixed
//! position, so a draw never depends on an earlier operation. The generator is not suitable for
//! secrets.

/// 2^64 divided by the golden ratio, rounded to an odd number. It is the Weyl increment of
/// splitmix64.
pub const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Applies the finalizer of splitmix64 (Stafford's variant 13), which is a bijection of 64 bits.
#[inline]
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Returns the seed for one purpose (lane). Different lanes of one seed are independent.
#[inline]
pub fn lane(seed: u64, lane: u64) -> u64 {
    mix(seed ^ mix(lane.wrapping_add(1).wrapping_mul(GOLDEN)))
}

/// The draws of one operation.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    state: u64,
}

impl Draws {
    /// Creates the draws of operation `n` under `seed`, which must be the result of [`lane`].
    #[inline]
    pub fn new(seed: u64, n: u64) -> Draws {
        Draws {
            state: mix(n.wrapping_add(seed)),
        }
    }

    /// Creates the published splitmix64 sequence of `seed`, independent of operations.
    #[inline]
    pub fn sequence(seed: u64) -> Draws {
        Draws { state: seed }
    }

    /// Returns 64 uniform bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// Returns a uniform number in the open interval (0, 1). The number is a multiple of 2^-54, so
    /// it is never 0 and never 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Returns an exactly uniform number in `0..bound`. The function draws again if a product would
    /// favour some values (Lemire 2019). `bound` must not be 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0);
        let mut product = u128::from(self.bits()) * u128::from(bound);
        if (product as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u64) < threshold {
                product = u128::from(self.bits()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_gives_the_published_sequence_of_seed_0() {
        let mut draws = Draws::sequence(0);
        assert_eq!(draws.bits(), 0xE220_A839_7B1D_CDAF);
        assert_eq!(draws.bits(), 0x6E78_9E6A_A1B9_65F4);
        assert_eq!(draws.bits(), 0x06C4_5D18_8009_454F);
    }

    #[test]
    fn a_draw_is_below_its_bound_whatever_the_bound() {
        for bound in [1, 2, 3, 1000, 1 << 63, (1 << 63) + 1, u64::MAX] {
            let mut draws = Draws::new(7, bound);
            for _ in 0..1000 {
                assert!(draws.below(bound) < bound);
            }
        }
    }

    #[test]
    fn a_bound_that_does_not_divide_2_to_64_favours_no_value() {
        // The bound is 3·2^62. If the function never drew again, the lowest third of the residues
        // would occur twice as often. The share of results whose remainder modulo 3 is 0 must be a
        // third.
        let bound = 3 << 62;
        let mut draws = Draws::new(11, 0);
        let hits = (0..300_000).filter(|_| draws.below(bound).is_multiple_of(3)).count();
        assert!(
            (hits as f64 / 300_000.0 - 1.0 / 3.0).abs() < 0.004,
            "{hits}"
        );
    }

    #[test]
    fn the_unit_interval_is_open() {
        let mut draws = Draws::new(3, 3);
        for _ in 0..100_000 {
            let u = draws.unit();
            assert!(u > 0.0 && u < 1.0);
        }
    }
}
