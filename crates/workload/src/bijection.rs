//! A keyed permutation of `0..count`, which scatters popular ranks over the rows without
//! collisions.
//!
//! On b-bit integers, "multiply by an odd number, add" and "xor with itself shifted right" are both
//! bijections. Three rounds of both steps mix all bits. A result outside the domain is permuted
//! again (cycle walking), so that the whole function remains a bijection. Since b is the smallest
//! width that can represent the domain, fewer than two passes are necessary on average.

use crate::random::{GOLDEN, lane};

/// A permutation of `0..count`, determined by its seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bijection {
    count: u64,
    mask: u64,
    shift: u32,
    factors: [u64; 3],
    addends: [u64; 3],
}

impl Bijection {
    /// Creates a permutation. `count` must not be 0.
    pub(crate) fn new(count: u64, seed: u64) -> Bijection {
        assert!(count > 0, "a permutation of no elements");
        let bits = (64 - (count - 1).leading_zeros()).max(1);
        Bijection {
            count,
            mask: if bits == 64 {
                u64::MAX
            } else {
                (1 << bits) - 1
            },
            shift: bits.div_ceil(2),
            factors: [0, 1, 2].map(|round| lane(seed, round) | 1),
            addends: [3, 4, 5].map(|round| lane(seed, round) ^ GOLDEN),
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the image of `index`, which must be below `count`.
    #[inline]
    pub(crate) fn apply(&self, index: u64) -> u64 {
        debug_assert!(index < self.count);
        let mut x = index;
        loop {
            for (factor, addend) in self.factors.iter().zip(&self.addends) {
                x = x.wrapping_mul(*factor).wrapping_add(*addend) & self.mask;
                x ^= x >> self.shift;
            }
            if x < self.count {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_domain_is_permuted(count in 1u64..3000, seed in any::<u64>()) {
            let bijection = Bijection::new(count, seed);
            let mut seen = vec![false; count as usize];
            for index in 0..count {
                let at = bijection.apply(index) as usize;
                prop_assert!(!seen[at], "{index} collides at {at}");
                seen[at] = true;
            }
        }

        #[test]
        fn the_largest_domains_stay_in_range(index in any::<u64>(), seed in any::<u64>()) {
            for count in [1u64 << 63, (1 << 63) + 1, u64::MAX] {
                let bijection = Bijection::new(count, seed);
                prop_assert!(bijection.apply(index % count) < count);
            }
        }
    }

    #[test]
    fn neighbours_are_scattered() {
        // The mean distance between two uniform points on 0..n is n/3. The mean distance between
        // the images of neighbours must be close to n/3.
        let count = 1_000_000u64;
        let bijection = Bijection::new(count, 42);
        let total: u64 =
            (0..10_000).map(|i| bijection.apply(i).abs_diff(bijection.apply(i + 1))).sum();
        let mean = total as f64 / 10_000.0 / count as f64;
        assert!((0.28..0.39).contains(&mean), "{mean}");
    }

    #[test]
    fn seeds_give_different_permutations() {
        let [a, b] = [1, 2].map(|seed| Bijection::new(1000, seed));
        let same = (0..1000).filter(|&i| a.apply(i) == b.apply(i)).count();
        assert!(same < 20, "{same}");
    }
}
