//! Distributions of cassandra-stress. They draw the same values as the tool, bit for bit.
//!
//! All except FIXED and SEQ take their random numbers from java.util.Random, with a seed that the
//! caller sets. The continuous distributions are those of Apache Commons Math 3 (uniform, normal,
//! exponential after Ahrens and Dieter 1972, Weibull by its inverse). Their values are truncated to
//! whole numbers and clamped to the bounds.

mod precise;
mod random;

use workload::normal;

use random::JavaRandom;

/// Step between the 51 quantiles from which the mean of a distribution is computed, as in
/// cassandra-stress.
const AVERAGE_STEP: f64 = 0.02;
/// Maximum number of values that are skipped one by one, which takes about 3 ms. If more values are
/// to be skipped, the distribution may continue with any other values.
const SKIPPED_MAX: i64 = 100_000;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Dist {
    shape: Shape,
    min: i64,
    max: i64,
    /// True for the prefix `~`, which maps the largest values to the smallest values and the
    /// reverse.
    inverted: bool,
    random: JavaRandom,
    counter: i64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Fixed,
    Uniform,
    Gaussian {
        mean: f64,
        deviation: f64,
    },
    Exponential {
        mean: f64,
    },
    Extreme {
        shape: f64,
        scale: f64,
    },
    Quantized {
        shape: f64,
        scale: f64,
        quantas: u32,
    },
    Sequence,
}

/// Forms of distributions that the parser accepts, for messages.
const FORMS: &str = "FIXED(v), UNIFORM(a..b), GAUSSIAN(a..b[,stdvrng]) or (a..b,mean,stdev), \
                     EXP(a..b), EXTREME(a..b,shape), QEXTREME(a..b,shape,quantas), SEQ(a..b), each \
                     optionally with ~ before its name";

impl Dist {
    pub(crate) fn fixed(value: i64) -> Dist {
        Dist::new(Shape::Fixed, value, value)
    }

    pub(crate) fn uniform(min: i64, max: i64) -> Dist {
        if min == max {
            Dist::fixed(min)
        } else {
            Dist::new(Shape::Uniform, min, max)
        }
    }

    fn new(shape: Shape, min: i64, max: i64) -> Dist {
        let mut random = JavaRandom::default();
        random.set_seed(0);
        Dist {
            shape,
            min,
            max,
            inverted: false,
            random,
            counter: 0,
        }
    }

    /// Parses a distribution of the form `[~]NAME(arguments)`.
    pub(crate) fn parse(text: &str) -> Result<Dist, String> {
        let wrong = |why: &str| {
            Err(format!(
                "`{text}` is not a distribution: {why}; the forms are {FORMS}"
            ))
        };
        let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (inverted, rest) = match compact.strip_prefix('~') {
            Some(rest) => (true, rest),
            None => (false, compact.as_str()),
        };
        let Some((name, arguments)) = rest.strip_suffix(')').and_then(|r| r.split_once('(')) else {
            return wrong("the form is not NAME(arguments)");
        };
        let arguments: Vec<&str> = arguments.split(',').collect();
        let name = name.to_lowercase();
        if name == "fixed" {
            let [value] = arguments[..] else {
                return wrong("FIXED must have exactly one value");
            };
            return Ok(Dist::fixed(count(value)?));
        }
        let Some((min, max)) = arguments[0].split_once("..") else {
            return wrong("the first argument is not a range a..b");
        };
        let (min, max) = (count(min)?, count(max.trim_start_matches('.'))?);
        if min > max || (min == max && name == "seq") {
            return wrong("the range ends before it begins");
        }
        if max.checked_sub(min).is_none_or(|width| width == i64::MAX) {
            return wrong("the range is wider than 63 bits");
        }
        let numbers: Result<Vec<f64>, _> = arguments[1..].iter().map(|a| number(a)).collect();
        let Some(shape) = shape(&name, (min, max), &numbers?) else {
            return wrong("no distribution has this name and this number of arguments");
        };
        let shape = if min == max { Shape::Fixed } else { shape };
        Ok(Dist {
            inverted,
            ..Dist::new(shape, min, max)
        })
    }

    pub(crate) fn set_seed(&mut self, seed: i64) {
        match self.shape {
            Shape::Fixed => {}
            Shape::Sequence => self.counter = seed,
            _ => self.random.set_seed(seed),
        }
    }

    pub(crate) fn next(&mut self) -> i64 {
        let value = match self.shape {
            Shape::Fixed => self.min,
            Shape::Sequence => {
                // Java's remainder has the sign of the dividend, and a seed may make the counter
                // negative.
                let value = self.counter % (self.max - self.min + 1) + self.min;
                self.counter = self.counter.wrapping_add(1);
                value
            }
            _ => {
                let drawn = self.sample();
                self.held(drawn as i64)
            }
        };
        self.turned(value)
    }

    pub(crate) fn skip(&mut self, count: i64) {
        match self.shape {
            Shape::Fixed => {}
            Shape::Sequence => self.counter = self.counter.wrapping_add(count),
            // Each number between 0 and 1 takes two calls of the generator.
            Shape::Uniform | Shape::Extreme { .. } => self.random.skip(2 * count.max(0) as u64),
            Shape::Quantized { .. } => self.random.skip(4 * count.max(0) as u64),
            // The number of random numbers that a value takes becomes known only when the value is
            // drawn.
            Shape::Gaussian { .. } | Shape::Exponential { .. } => {
                for _ in 0..count % SKIPPED_MAX {
                    self.sample();
                }
            }
        }
    }

    /// Returns the next value without truncating it to a whole number.
    pub(crate) fn next_double(&mut self) -> f64 {
        let value = match self.shape {
            Shape::Fixed | Shape::Sequence => return self.next() as f64,
            Shape::Exponential { .. } | Shape::Extreme { .. } | Shape::Quantized { .. } => {
                let width = (self.max - self.min) as f64;
                self.min as f64 + self.sample().clamp(0.0, width)
            }
            _ => self.sample().clamp(self.min as f64, self.max as f64),
        };
        if self.inverted {
            self.max as f64 - (value - self.min as f64)
        } else {
            value
        }
    }

    /// Draws a value as Commons Math does. If the shape has an offset, does not add the offset.
    fn sample(&mut self) -> f64 {
        match self.shape {
            Shape::Fixed | Shape::Sequence => self.min as f64,
            Shape::Uniform => {
                let u = self.random.unit();
                u * (self.max as f64 + 1.0) + (1.0 - u) * self.min as f64
            }
            Shape::Gaussian { mean, deviation } => deviation * self.random.gaussian() + mean,
            Shape::Exponential { mean } => self.random.exponential() * mean,
            Shape::Extreme { shape, scale } => weibull(self.random.unit(), shape, scale),
            Shape::Quantized {
                shape,
                scale,
                quantas,
            } => {
                // The quantile selects a section of the range. Within this section, every value is
                // equally likely.
                let quantas = f64::from(quantas);
                let part = (self.random.unit() * quantas).floor();
                let width = (self.max - self.min) as f64;
                let bound = |part: f64| weibull(part / quantas, shape, scale).clamp(0.0, width);
                let (low, high) = (bound(part), bound(part + 1.0));
                low + self.random.unit() * (high - low)
            }
        }
    }

    /// Clamps a value to the bounds. For a shape with an offset, the argument excludes the offset,
    /// and the result includes it.
    fn held(&self, value: i64) -> i64 {
        match self.shape {
            Shape::Exponential { .. } | Shape::Extreme { .. } | Shape::Quantized { .. } => {
                value.clamp(0, self.max - self.min) + self.min
            }
            _ => value.clamp(self.min, self.max),
        }
    }

    fn turned(&self, value: i64) -> i64 {
        if self.inverted {
            self.max - (value - self.min)
        } else {
            value
        }
    }

    /// Returns the value at the quantile `p`. If a curve is unbounded, its infinite ends become the
    /// bounds.
    fn at_quantile(&self, p: f64) -> i64 {
        let (min, max) = (self.min as f64, self.max as f64);
        let value = match self.shape {
            Shape::Fixed => min,
            Shape::Sequence => min + p * (max - min),
            Shape::Uniform => min + p * (max + 1.0 - min),
            Shape::Gaussian { .. } if p <= 0.0 => min,
            Shape::Gaussian { .. } if p >= 1.0 => max,
            Shape::Gaussian { mean, deviation } => {
                let bits = (p.clamp(0.0, 1.0) * 9_223_372_036_854_775_807.0) as u64;
                mean + deviation * normal::from_bits(bits)
            }
            Shape::Exponential { mean } => -mean * precise::ln(1.0 - p),
            Shape::Extreme { shape, scale } | Shape::Quantized { shape, scale, .. } => {
                weibull(p, shape, scale)
            }
        };
        self.turned(self.held(value as i64))
    }

    /// Returns the mean as cassandra-stress estimates it. The estimate is the mean of the values at
    /// 51 evenly spaced quantiles.
    pub(crate) fn average(&self) -> i64 {
        let (mut sum, mut count, mut p) = (0.0, 0, 0.0f32);
        while f64::from(p) <= 1.0 {
            sum += self.at_quantile(f64::from(p)) as f64;
            count += 1;
            p = (f64::from(p) + AVERAGE_STEP) as f32;
        }
        (sum / f64::from(count)) as i64
    }

    /// Formats a table of quantiles, one quantile per line.
    pub(crate) fn table(&self) -> String {
        const SHARES: [f64; 11] = [
            0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999,
        ];
        let line = |share: &f64| format!("{:>7} %  {}\n", share * 100.0, self.at_quantile(*share));
        let lines: String = SHARES.iter().map(line).collect();
        format!("  below  value (mean {})\n{lines}", self.average())
    }

    pub(crate) fn max(&self) -> i64 {
        self.max
    }

    pub(crate) fn min(&self) -> i64 {
        self.min
    }

    /// Returns the value that cassandra-stress treats as the largest. For an inverted distribution,
    /// this is the smallest value.
    pub(crate) fn last(&self) -> i64 {
        if self.inverted { self.min } else { self.max }
    }

    /// Returns true if the tool seeds only a part of each value. It seeds the quantum of the value,
    /// but not the position in the quantum.
    pub(crate) fn is_half_seeded(&self) -> bool {
        matches!(self.shape, Shape::Quantized { .. })
    }

    /// Returns true if the distribution has only one value.
    pub(crate) fn is_fixed(&self) -> bool {
        self.shape == Shape::Fixed
    }
}

fn shape(name: &str, (min, max): (i64, i64), numbers: &[f64]) -> Option<Shape> {
    let width = (max - min) as f64;
    let extreme = |shape: f64| {
        let unscaled = weibull(1.0 - (1.0 / width).sqrt(), shape, 1.0);
        width / unscaled
    };
    Some(match (name, numbers) {
        ("uniform", []) => Shape::Uniform,
        ("gaussian" | "gauss" | "normal" | "norm", [mean, deviation]) => Shape::Gaussian {
            mean: *mean,
            deviation: *deviation,
        },
        ("gaussian" | "gauss" | "normal" | "norm", [] | [_]) => Shape::Gaussian {
            mean: (min as f64 + max as f64) / 2.0,
            deviation: width / 2.0 / numbers.first().copied().unwrap_or(3.0),
        },
        ("exp" | "exponential", []) => Shape::Exponential {
            // The mean is the width divided by the quantile of the unit curve. It equals the mean
            // in cassandra-stress to the last bit.
            mean: width / -precise::ln(1.0 - (1.0 - (1.0 / width).sqrt())),
        },
        ("extreme" | "extr" | "weibull", [shape]) => Shape::Extreme {
            shape: *shape,
            scale: extreme(*shape),
        },
        ("qextreme" | "qextr" | "qweibull", [shape, quantas]) if *quantas >= 1.0 => {
            Shape::Quantized {
                shape: *shape,
                scale: extreme(*shape),
                quantas: *quantas as u32,
            }
        }
        ("seq", []) => Shape::Sequence,
        _ => return None,
    })
}

/// Returns the quantile `p` of the Weibull distribution. The quantile is 0 at `p` = 0, and infinite
/// at `p` = 1.
fn weibull(p: f64, shape: f64, scale: f64) -> f64 {
    scale * precise::pow(-precise::ln(1.0 - p), 1.0 / shape)
}

/// Parses a whole number such as `12`, `-3`, `10k`, `5M` or `1B`.
pub(crate) fn count(text: &str) -> Result<i64, String> {
    let wrong = || format!("`{text}` is not a whole number (with an optional suffix k, m or b)");
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'm' | 'M')) => (&text[..at], 1_000_000),
        Some((at, 'b' | 'B')) => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    let number: i64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(factor).ok_or_else(wrong)
}

fn number(text: &str) -> Result<f64, String> {
    let number: Result<f64, _> = text.parse();
    number
        .ok()
        .filter(|number| number.is_finite())
        .ok_or_else(|| format!("`{text}` is not a number"))
}

/// A random share between 0 and 1, which profiles write as `DISTRIBUTION/divisor`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ratio {
    dist: Dist,
    divisor: f64,
}

impl Ratio {
    pub(crate) fn one() -> Ratio {
        Ratio {
            dist: Dist::fixed(1),
            divisor: 1.0,
        }
    }

    pub(crate) fn parse(text: &str) -> Result<Ratio, String> {
        let Some((dist, divisor)) = text.rsplit_once('/') else {
            return Err(format!(
                "`{text}` is not a share: write DISTRIBUTION/divisor"
            ));
        };
        let divisor = divisor.trim();
        let divisor = match count(divisor) {
            Ok(whole) => whole as f64,
            Err(_) => number(divisor)?,
        };
        if divisor <= 0.0 {
            return Err(format!("the divisor of `{text}` must be above 0"));
        }
        Ok(Ratio {
            dist: Dist::parse(dist.trim())?,
            divisor,
        })
    }

    pub(crate) fn set_seed(&mut self, seed: i64) {
        self.dist.set_seed(seed);
    }

    pub(crate) fn next(&mut self) -> f64 {
        (self.dist.next() as f64 / self.divisor).clamp(0.0, 1.0)
    }

    pub(crate) fn max(&self) -> f64 {
        (self.dist.max() as f64 / self.divisor).clamp(0.0, 1.0)
    }

    pub(crate) fn is_one(&self) -> bool {
        self.dist.is_fixed() && self.max() >= 1.0
    }
}

#[cfg(test)]
mod tests;
