//! Distributions with the method of NoSQLBench's virtdata library. The hash of the input selects a
//! position in a table of the inverse cumulative distribution. The result is interpolated linearly
//! between the nearest points of the table.

use crate::normal;
use crate::virtdata::hash;

const POINTS: usize = 1000;
/// 2^63 as a float. Java's largest `long` has this value after its conversion to a float.
const LONG_MAX: f64 = 9_223_372_036_854_775_808.0;

/// A distribution in the form of a table of its inverse cumulative distribution.
#[derive(Clone, Debug)]
pub struct Curve {
    hashed: bool,
    table: Vec<f64>,
    scale: f64,
}

impl Curve {
    /// Tabulates `quantile`, the inverse of a cumulative distribution. An infinite point gets the
    /// value of its neighbour. virtdata instead clamps such a point to ±2^63, which makes one value
    /// in a thousand useless.
    pub fn new(hashed: bool, quantile: impl Fn(f64) -> f64) -> Curve {
        let mut table: Vec<f64> =
            (0..POINTS).map(|point| quantile(point as f64 / POINTS as f64)).collect();
        let first = table.iter().position(|v| v.is_finite()).unwrap_or(0);
        let value = table[first];
        table[..first].fill(value);
        // Only the largest hash reaches the last point. The additional point after it has a weight
        // of 0.
        table.push(table[POINTS - 1]);
        Curve {
            hashed,
            table,
            scale: (1.0 / LONG_MAX) * (POINTS - 1) as f64,
        }
    }

    /// Returns the value for the number `input`.
    #[inline]
    pub fn sample(&self, input: i64) -> f64 {
        let input = if self.hashed {
            hash(input as u64) as i64
        } else {
            input.max(0)
        };
        let place = self.scale * input as f64;
        let left = (place as usize).min(POINTS - 1);
        let share = place - left as f64;
        self.table[left] * (1.0 - share) + self.table[left + 1] * share
    }
}

/// NoSQLBench's function `Uniform(lower,upper) -> int`, for workloads that do not use recipes.
#[derive(Clone, Debug)]
pub struct UniformInt(Curve);

impl UniformInt {
    /// Creates a distribution of integers from `lower` to `upper`.
    pub fn new(lower: i32, upper: i32) -> UniformInt {
        UniformInt(Curve::new(true, |p| uniform_quantile(lower, upper, p)))
    }

    #[inline]
    pub fn number(&self, cycle: u64) -> i32 {
        self.0.sample(cycle as i64) as i32
    }
}

/// Returns the quantile of a normal distribution.
pub fn normal_quantile(mean: f64, deviation: f64, p: f64) -> f64 {
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    mean + deviation * normal::from_bits((p * LONG_MAX) as u64)
}

/// Returns the smallest value of a discrete uniform distribution at which the cumulative
/// probability reaches `p`.
pub fn uniform_quantile(lower: i32, upper: i32, p: f64) -> f64 {
    let count = f64::from(upper) - f64::from(lower) + 1.0;
    let reaches = |steps: f64| (steps + 1.0) / count >= p;
    let mut steps = (p * count - 1.0).ceil().clamp(0.0, count - 1.0);
    while steps > 0.0 && reaches(steps - 1.0) {
        steps -= 1.0;
    }
    while !reaches(steps) && steps < count - 1.0 {
        steps += 1.0;
    }
    f64::from(lower) + steps
}

/// Returns a function of a probability `p` for a zipf distribution over `1..=count`. The function
/// returns the smallest rank at which the cumulative probability reaches `p`.
pub fn zipf_table(count: i32, exponent: f64) -> impl Fn(f64) -> f64 {
    let mut sum = 0.0;
    let mut cumulative = Vec::with_capacity(count as usize);
    for rank in 1..=count {
        sum += 1.0 / libm::pow(f64::from(rank), exponent);
        cumulative.push(sum);
    }
    move |p| {
        let below = cumulative.partition_point(|c| c / sum < p);
        (below.min(cumulative.len() - 1) + 1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cycle_gives_a_finite_value_despite_infinite_ends() {
        let curve = Curve::new(true, |p| normal_quantile(0.0, 5.0, p));
        for cycle in 0..100_000 {
            let value = curve.sample(cycle);
            assert!(value.abs() < 5.0 * 3.2, "{cycle}: {value}");
        }
        assert!(Curve::new(false, |p| normal_quantile(0.0, 1.0, p)).sample(0) < -3.0);
    }

    #[test]
    fn discrete_uniform_quantiles_are_the_least_that_suffice() {
        for (lower, upper, p, expected) in [
            (0, 9, 0.0, 0.0),
            (0, 9, 0.1, 0.0),
            (0, 9, 0.101, 1.0),
            (0, 9, 0.999, 9.0),
            (5, 5, 0.5, 5.0),
            (-10, 10, 0.5, 0.0),
        ] {
            assert_eq!(uniform_quantile(lower, upper, p), expected, "{p}");
        }
    }

    #[test]
    fn zipf_prefers_the_first_ranks() {
        let quantile = zipf_table(100, 1.0);
        assert_eq!(quantile(0.0), 1.0);
        // The sum of 1/k up to 100 is 5.187, so the first rank has a probability of 19 %.
        assert_eq!((quantile(0.19), quantile(0.2)), (1.0, 2.0));
        assert_eq!(quantile(1.0), 100.0);
    }
}
