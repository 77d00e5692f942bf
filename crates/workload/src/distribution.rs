//! How numbers are chosen from a range: rows by the main stage, sizes of values.
//!
//! Written `name`, `name(first..last)`, `name(shape)` or `name(first..last, shape)`; both ends of
//! a range belong to it, and bounds may end in k, M or G. Without a range, a distribution of rows
//! covers all of them.

use crate::bijection::Bijection;
use crate::normal;
use crate::params::whole_number;
use crate::random::Draws;
use crate::zipf::Zipf;

/// The exponent of `zipf` and `latest` when none is written: YCSB's.
const THETA_DEFAULT: f64 = 0.99;
/// Standard deviations between the middle and either end of `gaussian`: cassandra-stress's.
const GAUSSIAN_REACH_DEFAULT: f64 = 3.0;

const GRAMMAR: &str = "write fixed(n), sequence, uniform, gaussian, exponential, zipf(theta) or \
                       latest(theta), with an optional range first: uniform(100..2000)";

/// A distribution as it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Written {
    pub(crate) shape: Shape,
    /// First and last value.
    pub(crate) range: Option<(u64, u64)>,
}

/// The shape of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    /// One value, always.
    Fixed,
    /// Operation n takes value n, modulo the size of the range.
    Sequence,
    /// Every value alike.
    Uniform,
    /// A normal curve in the middle of the range; `reach` standard deviations to either end, what
    /// lies beyond goes to the end itself.
    Gaussian { reach: f64 },
    /// Falling from the first value on, `reach` means long, cut off at the last value. Without a
    /// reach, half the logarithm of the size of the range, which is what cassandra-stress uses.
    Exponential { reach: Option<f64> },
    /// Probability proportional to rank^-theta.
    Zipf { theta: f64 },
    /// As zipf, with the newest row the most popular.
    Latest { theta: f64 },
}

/// Parses a distribution; the error says what is wrong and how to write it.
pub(crate) fn parse(text: &str) -> Result<Written, String> {
    let text = text.trim();
    let (name, arguments) = match text.split_once('(') {
        None => (text, ""),
        Some((name, rest)) => match rest.strip_suffix(')') {
            Some(arguments) => (name, arguments),
            None => {
                return Err(format!(
                    "\"{text}\" lacks its closing parenthesis; {GRAMMAR}"
                ));
            }
        },
    };
    let mut arguments: Vec<&str> = arguments.split(',').map(str::trim).collect();
    arguments.retain(|argument| !argument.is_empty());
    let name = name.trim().to_ascii_lowercase();
    if name == "fixed" {
        let [value] = arguments[..] else {
            return Err(format!("\"{text}\" needs one value, as in fixed(100)"));
        };
        let value = whole_number(value).ok_or_else(|| format!("\"{value}\" is no number"))?;
        return Ok(Written {
            shape: Shape::Fixed,
            range: Some((value, value)),
        });
    }
    let range = match arguments.first() {
        Some(first) if first.contains("..") => Some(parse_range(arguments.remove(0))?),
        _ => None,
    };
    let mut number = None;
    if !arguments.is_empty() {
        let written = arguments.remove(0);
        let parsed: Option<f64> = written.parse().ok().filter(|x: &f64| x.is_finite());
        number = Some(parsed.ok_or_else(|| format!("\"{written}\" is no number; {GRAMMAR}"))?);
    }
    if !arguments.is_empty() {
        return Err(format!(
            "\"{text}\" has more arguments than {name} takes; {GRAMMAR}"
        ));
    }
    Ok(Written {
        shape: parse_shape(text, &name, number)?,
        range,
    })
}

fn parse_shape(text: &str, name: &str, number: Option<f64>) -> Result<Shape, String> {
    let positive = |number: f64| {
        let message = format!("\"{text}\": {number} must be above 0");
        if number > 0.0 {
            Ok(number)
        } else {
            Err(message)
        }
    };
    let theta = |number: Option<f64>| match number.unwrap_or(THETA_DEFAULT) {
        theta if theta >= 0.0 => Ok(theta),
        theta => Err(format!(
            "\"{text}\": theta is {theta}, it must be at least 0"
        )),
    };
    match name {
        "sequence" | "uniform" if number.is_some() => Err(format!(
            "\"{text}\": {name} takes no number besides its range"
        )),
        "sequence" => Ok(Shape::Sequence),
        "uniform" => Ok(Shape::Uniform),
        "gaussian" => Ok(Shape::Gaussian {
            reach: positive(number.unwrap_or(GAUSSIAN_REACH_DEFAULT))?,
        }),
        "exponential" => Ok(Shape::Exponential {
            reach: number.map(positive).transpose()?,
        }),
        "zipf" => Ok(Shape::Zipf {
            theta: theta(number)?,
        }),
        "latest" => Ok(Shape::Latest {
            theta: theta(number)?,
        }),
        _ => Err(format!("\"{name}\" is no distribution; {GRAMMAR}")),
    }
}

fn parse_range(text: &str) -> Result<(u64, u64), String> {
    let wrong = || format!("\"{text}\" is no range; write it as 100..2000");
    let (first, last) = text.split_once("..").ok_or_else(wrong)?;
    let first = whole_number(first.trim()).ok_or_else(wrong)?;
    let last = whole_number(last.trim()).ok_or_else(wrong)?;
    if first > last {
        return Err(format!("\"{text}\" ends before it begins"));
    }
    Ok((first, last))
}

/// A distribution over a known range. Drawing is pure in (operation, draws); the state of
/// `latest` is only a cache of its set-up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampler {
    first: u64,
    count: u64,
    form: Form,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Fixed,
    Sequence,
    Uniform,
    Gaussian {
        deviation: f64,
    },
    Exponential {
        reach: f64,
        mass: f64,
    },
    Zipf {
        zipf: Zipf,
        scramble: Option<Bijection>,
    },
    Latest {
        theta: f64,
        cached: Zipf,
    },
}

impl Sampler {
    /// Covers `range` (both ends included), which the written range replaces if there is one.
    /// With a `scramble` seed the popular values of zipf are scattered over the range.
    pub(crate) fn new(written: Written, range: (u64, u64), scramble: Option<u64>) -> Sampler {
        let (first, last) = written.range.unwrap_or(range);
        assert!(first <= last && last - first < u64::MAX, "{first}..{last}");
        let count = last - first + 1;
        let form = match written.shape {
            Shape::Fixed => Form::Fixed,
            Shape::Sequence => Form::Sequence,
            Shape::Uniform => Form::Uniform,
            Shape::Gaussian { reach } => Form::Gaussian {
                deviation: count as f64 * 0.5 / reach,
            },
            Shape::Exponential { reach } => {
                // A range of a few values has a logarithm below 1; a reach of 1 still falls.
                let reach = reach.unwrap_or((libm::log(count as f64) * 0.5).max(1.0));
                Form::Exponential {
                    reach,
                    mass: libm::expm1(-reach),
                }
            }
            Shape::Zipf { theta } => Form::Zipf {
                zipf: Zipf::new(count, theta),
                scramble: scramble.map(|seed| Bijection::new(count, seed)),
            },
            Shape::Latest { theta } => Form::Latest {
                theta,
                cached: Zipf::new(count, theta),
            },
        };
        Sampler { first, count, form }
    }

    /// The smallest and the largest value, as long as no row is added.
    pub(crate) fn range(&self) -> (u64, u64) {
        (self.first, self.first + (self.count - 1))
    }

    /// One value for operation `n`. `added` is how many values have been appended to the range
    /// so far; only `latest` looks at it.
    #[inline]
    pub(crate) fn draw(&mut self, n: u64, added: u64, draws: &mut Draws) -> u64 {
        let offset = match &mut self.form {
            Form::Fixed => 0,
            Form::Sequence => n % self.count,
            Form::Uniform => draws.below(self.count),
            Form::Gaussian { deviation } => {
                let x = self.count as f64 * 0.5 + normal::from_bits(draws.bits()) * *deviation;
                // The conversion saturates at 0.
                (x as u64).min(self.count - 1)
            }
            Form::Exponential { reach, mass } => {
                let x = -libm::log1p(draws.unit() * *mass) / *reach * self.count as f64;
                (x as u64).min(self.count - 1)
            }
            Form::Zipf { zipf, scramble } => {
                let rank = zipf.draw(draws) - 1;
                scramble.map_or(rank, |bijection| bijection.apply(rank))
            }
            Form::Latest { theta, cached } => {
                let rows = self.count.saturating_add(added);
                if cached.count() != rows {
                    *cached = Zipf::new(rows, *theta);
                }
                rows - cached.draw(draws)
            }
        };
        self.first + offset
    }
}
