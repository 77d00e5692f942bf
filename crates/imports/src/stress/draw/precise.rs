//! Logarithms and powers, rounded to the nearest double.
//!
//! Commons Math, which cassandra-stress uses, computes logarithms and powers with more digits than
//! a double has, so its result is almost always the nearest double. Ordinary functions are wrong by
//! one bit in one of fourteen cases, which is visible in columns of doubles. In this module, a
//! number is therefore the sum of two doubles. The second double contains the digits after those of
//! the first double.

use std::f64::consts::LN_2;

/// The digits of ln 2 that follow the digits of the double nearest to it.
const LN_2_REST: f64 = 2.319_046_813_846_3e-17;
/// Number of times that the argument of the exponential is halved before its series is summed.
const HALVINGS: i32 = 6;
/// Number of terms of the series. The argument is below 0.006, so its 14th power divided by 14! is
/// below 1e-42.
const TERMS: u32 = 14;

/// A number with about 32 digits.
#[derive(Clone, Copy, Debug)]
struct Long(f64, f64);

impl Long {
    /// Returns the exact sum of two numbers.
    fn sum(a: f64, b: f64) -> Long {
        let sum = a + b;
        let from_b = sum - a;
        Long(sum, (a - (sum - from_b)) + (b - from_b))
    }

    fn plus(self, other: Long) -> Long {
        let high = Long::sum(self.0, other.0);
        Long::sum(high.0, high.1 + self.1 + other.1)
    }

    fn times(self, other: Long) -> Long {
        let product = self.0 * other.0;
        let rest = libm::fma(self.0, other.0, -product);
        Long::sum(product, rest + (self.0 * other.1 + self.1 * other.0))
    }

    fn over(self, divisor: f64) -> Long {
        let first = self.0 / divisor;
        let rest = libm::fma(-first, divisor, self.0) + self.1;
        Long::sum(first, rest / divisor)
    }

    /// Returns e to the power of this number.
    fn exp(self) -> Long {
        let twos = (self.0 / LN_2).round();
        let ln_2 = Long(LN_2, LN_2_REST).times(Long(-twos, 0.0));
        let scale = libm::ldexp(1.0, -HALVINGS);
        let Long(high, low) = self.plus(ln_2);
        let small = Long(high * scale, low * scale);
        // The code sums e^x - 1, so that the squarings lose no digits because of the 1.
        let mut less = Long(0.0, 0.0);
        for term in (1..=TERMS).rev() {
            less = less.plus(Long(1.0, 0.0)).times(small).over(f64::from(term));
        }
        for _ in 0..HALVINGS {
            less = less.times(less).plus(less).plus(less);
        }
        let Long(high, low) = less.plus(Long(1.0, 0.0));
        Long(
            libm::ldexp(high, twos as i32),
            libm::ldexp(low, twos as i32),
        )
    }

    /// Returns the natural logarithm of this number. `guess` is an approximation of the logarithm.
    fn ln(self, guess: f64) -> Long {
        let Long(high, low) = self.times(Long(-guess, 0.0).exp()).plus(Long(-1.0, 0.0));
        let error = high + low;
        Long::sum(guess, error - error * error / 2.0)
    }
}

pub(super) fn ln(x: f64) -> f64 {
    if x > 0.0 && x.is_finite() {
        Long(x, 0.0).ln(libm::log(x)).0
    } else {
        libm::log(x)
    }
}

/// Returns `x` to the power of `y`, for `x` of at least 0.
pub(super) fn pow(x: f64, y: f64) -> f64 {
    let guess = libm::pow(x, y);
    if x <= 0.0 || !guess.is_normal() {
        return guess;
    }
    let Long(high, low) = Long(x, 0.0).ln(libm::log(x)).times(Long(y, 0.0)).exp();
    high + low
}
