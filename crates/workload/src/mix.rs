//! Determines the kind of operation n, by weight.
//!
//! Operations are divided into windows. Within each whole window, every kind has exactly the share
//! of its weight. The operations of a kind are spread evenly in the window, with a stride near the
//! window's golden section. A hash of the window's number rotates the operations, so a period of
//! the schedule or of the workers cannot coincide with the mix. The window is the smallest one of
//! at most [`WINDOW_EXACT_MAX`] operations in which the weights are whole numbers. If such a window
//! does not exist, the weights are rounded to fractions of [`WINDOW_ROUNDED`].

use crate::random::mix as scramble;

/// Maximum size of a window with whole-number weights, in operations. This size permits weights in
/// parts per thousand.
const WINDOW_EXACT_MAX: u64 = 1000;
/// Size of the window for all other weights, in operations. The share of each kind has an error of
/// at most 1/65536, unless the shares of other kinds are below 1/65536.
const WINDOW_ROUNDED: u64 = 65_536;

/// Maximum number of kinds of a workload. The engine also has this limit, because it stores the
/// state of the kinds in an array.
pub const KINDS_MAX: usize = 64;

/// A compiled mix.
#[derive(Clone, Debug)]
pub struct Mix {
    seed: u64,
    window: u64,
    stride: u64,
    /// `bounds[k]` is the first slot of the window that belongs to a kind after kind k.
    bounds: [u64; KINDS_MAX],
    kinds: usize,
}

/// The kind of an operation, and the number of the operation among the operations of the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Index of the kind in the mix.
    pub kind: usize,
    /// Number of the operation among the operations of this kind. Over every whole window, the
    /// numbers have no gaps or repetitions.
    pub ordinal: u64,
}

impl Mix {
    /// Creates a mix with a weight for each kind. There may be at most [`KINDS_MAX`] weights. They
    /// must be finite and not negative, and at least one must be above 0.
    pub fn new(weights: &[f64], seed: u64) -> Mix {
        assert!(weights.len() <= KINDS_MAX, "{} kinds", weights.len());
        let (window, parts) = whole_numbers(weights);
        let mut bounds = [window; KINDS_MAX];
        let mut end = 0;
        for (bound, part) in bounds.iter_mut().zip(&parts) {
            end += part;
            *bound = end;
        }
        Mix {
            seed,
            window,
            stride: coprime_stride(window),
            bounds,
            kinds: weights.len(),
        }
    }

    /// Returns the number of operations per window.
    #[cfg(test)]
    pub fn window(&self) -> u64 {
        self.window
    }

    /// Returns true if the mix has operations of `kind`. Always returns true for kinds that the mix
    /// does not list.
    pub fn has(&self, kind: usize) -> bool {
        kind >= self.kinds || self.per_window(kind) > 0
    }

    /// Returns the number of operations of `kind` per window.
    pub fn per_window(&self, kind: usize) -> u64 {
        self.bounds[kind] - self.first_slot(kind)
    }

    fn first_slot(&self, kind: usize) -> u64 {
        if kind == 0 { 0 } else { self.bounds[kind - 1] }
    }

    /// Returns the kind of operation `n`.
    #[inline]
    pub fn choose(&self, n: u64) -> Choice {
        let (index, position) = (n / self.window, n % self.window);
        let rotation = scramble(index ^ self.seed) % self.window;
        // Both factors are at most 65,536, so the product cannot overflow.
        let slot = (position * self.stride + rotation) % self.window;
        let kind = self.bounds[..self.kinds].iter().filter(|&&bound| slot >= bound).count();
        let before = index.wrapping_mul(self.per_window(kind));
        Choice {
            kind,
            ordinal: before.wrapping_add(slot - self.first_slot(kind)),
        }
    }

    /// Returns the number of operations of `kind` in all whole windows before operation `n`.
    #[inline]
    pub fn count_before_window(&self, kind: usize, n: u64) -> u64 {
        (n / self.window).wrapping_mul(self.per_window(kind))
    }
}

/// Returns the size of a window, and the number of operations of each kind in the window. The
/// window is the smallest one of at most [`WINDOW_EXACT_MAX`] operations in which these numbers are
/// exact. If such a window does not exist, the numbers are rounded to fractions of
/// [`WINDOW_ROUNDED`].
fn whole_numbers(weights: &[f64]) -> (u64, Vec<u64>) {
    let sum: f64 = weights.iter().sum();
    'window: for window in 1..=WINDOW_EXACT_MAX {
        let mut parts = Vec::with_capacity(weights.len());
        for weight in weights {
            let part = weight / sum * window as f64;
            // A difference of up to a millionth of an operation per window is a rounding error of
            // the division. So the weight counts as a whole number.
            if (part - part.round()).abs() > 1e-6 || (part.round() == 0.0) != (*weight == 0.0) {
                continue 'window;
            }
            parts.push(part.round() as u64);
        }
        if parts.iter().sum::<u64>() == window {
            return (window, parts);
        }
    }
    (WINDOW_ROUNDED, largest_remainders(weights, sum))
}

/// Returns the weights as fractions of [`WINDOW_ROUNDED`]. Rounds each weight down, but to at least
/// 1 unless the weight is 0. If the sum is too small, kinds with the largest remainders receive the
/// rest. If the sum is too large, kinds with the smallest remainders lose operations.
fn largest_remainders(weights: &[f64], sum: f64) -> Vec<u64> {
    let exact: Vec<f64> = weights.iter().map(|w| w / sum * WINDOW_ROUNDED as f64).collect();
    let least = |x: f64| if x > 0.0 { (x as u64).max(1) } else { 0 };
    let mut parts: Vec<u64> = exact.iter().map(|&x| least(x)).collect();
    while parts.iter().sum::<u64>() != WINDOW_ROUNDED {
        let excess = |i: usize| exact[i] - parts[i] as f64;
        let short = parts.iter().sum::<u64>() < WINDOW_ROUNDED;
        let chosen = (0..parts.len())
            .filter(|&i| exact[i] > 0.0 && (short || parts[i] > 1))
            .max_by(|&a, &b| {
                let order = excess(a).total_cmp(&excess(b));
                if short { order } else { order.reverse() }
            })
            .expect("at least one weight is positive");
        if short {
            parts[chosen] += 1
        } else {
            parts[chosen] -= 1
        }
    }
    parts
}

/// Returns a number near `window` divided by the golden ratio that is coprime to `window`. Its
/// multiples modulo the window visit every slot, and consecutive multiples are spread evenly.
fn coprime_stride(window: u64) -> u64 {
    let near = (window as f64 * 0.618_033_988_749_895) as u64;
    (near.max(1)..=window).find(|&stride| gcd(stride, window) == 1).unwrap_or(1)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(mix: &Mix, kinds: usize, operations: u64) -> Vec<f64> {
        let mut counts = vec![0u64; kinds];
        for n in 0..operations {
            counts[mix.choose(n).kind] += 1;
        }
        counts.iter().map(|&c| c as f64 / operations as f64).collect()
    }

    #[test]
    fn the_window_is_the_sum_of_weights_in_lowest_terms() {
        for (weights, window) in [
            (vec![1.0], 1),
            (vec![9.0, 1.0], 10),
            (vec![90.0, 10.0], 10),
            (vec![0.95, 0.05], 20),
            (vec![1.0, 1.0, 0.0], 2),
            (vec![1.0, 2.0, 4.0], 7),
            (vec![0.999, 0.001], 1000),
            (vec![1.0, std::f64::consts::PI], WINDOW_ROUNDED),
            (vec![1.0, 1e-9], WINDOW_ROUNDED),
        ] {
            assert_eq!(Mix::new(&weights, 0).window(), window, "{weights:?}");
        }
    }

    #[test]
    fn every_whole_window_holds_exactly_its_share() {
        for weights in [
            vec![9.0, 1.0],
            vec![1.0, 1.0],
            vec![1.0, 2.0, 4.0],
            vec![501.0, 499.0],
        ] {
            let mix = Mix::new(&weights, 99);
            for window in 0..50 {
                let mut counts = vec![0u64; weights.len()];
                for n in 0..mix.window() {
                    counts[mix.choose(window * mix.window() + n).kind] += 1;
                }
                for (kind, count) in counts.iter().enumerate() {
                    assert_eq!(*count, mix.per_window(kind), "{weights:?}");
                }
            }
        }
    }

    #[test]
    fn the_share_over_a_million_operations_is_within_a_thousandth() {
        for weights in [
            vec![9.0, 1.0],
            vec![1.0, std::f64::consts::PI, 0.01],
            vec![3.0, 1e-7],
        ] {
            let sum: f64 = weights.iter().sum();
            let shares = shares(&Mix::new(&weights, 7), weights.len(), 1_000_000);
            for (weight, share) in weights.iter().zip(shares) {
                assert!((weight / sum - share).abs() < 1e-3, "{weights:?}: {share}");
            }
        }
    }

    #[test]
    fn a_weight_of_0_is_never_chosen_and_a_tiny_one_is() {
        let shares = shares(&Mix::new(&[1.0, 0.0, 1e-9], 7), 3, 200_000);
        assert_eq!(shares[1], 0.0);
        assert!(shares[2] > 0.0);
    }

    #[test]
    fn workers_that_take_every_second_operation_both_get_both_kinds() {
        let mix = Mix::new(&[1.0, 1.0], 3);
        let writes = (0..10_000).filter(|n| mix.choose(n * 2).kind == 0).count();
        assert!((4800..5200).contains(&writes), "{writes}");
    }

    #[test]
    fn ordinals_count_every_operation_of_a_kind_once() {
        let mix = Mix::new(&[7.0, 2.0, 1.0], 5);
        for kind in 0..3 {
            let mut ordinals: Vec<u64> = (0..1000)
                .map(|n| mix.choose(n))
                .filter(|choice| choice.kind == kind)
                .map(|choice| choice.ordinal)
                .collect();
            ordinals.sort_unstable();
            let expected: Vec<u64> = (0..mix.per_window(kind) * 100).collect();
            assert_eq!(ordinals, expected);
        }
    }
}
