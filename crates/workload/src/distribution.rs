//! Distributions over a range. They choose the rows of the main stage, and the sizes of values.
//!
//! A distribution is written as `name`, `name(first..last)`, `name(shape)`, `name(first..last,
//! shape)` or only a number. Both ends of a range are included, and bounds may end in k, M or G.
//! Without a range, a distribution of rows covers all rows.

use crate::bijection::Bijection;
use crate::normal;
use crate::params::whole_number;
use crate::random::Draws;
use crate::zipf::Zipf;

/// Default exponent of `zipf` and `latest`. YCSB has the same default.
const THETA_DEFAULT: f64 = 0.99;
/// Default number of standard deviations from the middle to either end of `gaussian`.
/// cassandra-stress has the same default.
const GAUSSIAN_REACH_DEFAULT: f64 = 3.0;

pub(crate) const NAMES: [&str; 7] = [
    "fixed",
    "sequence",
    "uniform",
    "gaussian",
    "exponential",
    "zipf",
    "latest",
];

const GRAMMAR: &str = "write fixed(n), sequence, uniform, gaussian, exponential, zipf(theta) or \
                       latest(theta), with an optional range first: uniform(100..2000)";

/// A distribution in its written form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DistributionText {
    pub(crate) shape: Shape,
    /// First and last value of the range, both included. `None` if the text states no range.
    pub(crate) range: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    Fixed,
    /// Operation n gets the value at position n modulo the size of the range.
    Sequence,
    Uniform,
    /// A normal distribution around the middle of the range, with `reach` standard deviations from
    /// the middle to either end. A value beyond an end becomes that end.
    Gaussian {
        reach: f64,
    },
    /// An exponential distribution that decreases from the first value and is cut off at the last
    /// value. The range covers `reach` means. The default reach is half the logarithm of the size
    /// of the range, as in cassandra-stress.
    Exponential {
        reach: Option<f64>,
    },
    /// Probability proportional to rank^-theta.
    Zipf {
        theta: f64,
    },
    /// Like `zipf`, but the popularity of a row depends on its age. The newest row is the most
    /// popular.
    Latest {
        theta: f64,
    },
}

/// Parses a distribution. The error describes the mistake and the grammar.
pub(crate) fn parse(text: &str) -> Result<DistributionText, String> {
    let text = text.trim();
    if let Some(value) = whole_number(text) {
        return Ok(DistributionText {
            shape: Shape::Fixed,
            range: Some((value, value)),
        });
    }
    let (name, arguments) = match text.split_once('(') {
        None => (text, ""),
        Some((name, rest)) => match rest.strip_suffix(')') {
            Some(arguments) => (name, arguments),
            None => {
                return Err(format!("\"{text}\" has no closing parenthesis; {GRAMMAR}"));
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
        let value = whole_number(value).ok_or_else(|| format!("\"{value}\" is not a number"))?;
        return Ok(DistributionText {
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
        number = Some(parsed.ok_or_else(|| format!("\"{written}\" is not a number; {GRAMMAR}"))?);
    }
    if !arguments.is_empty() {
        return Err(format!(
            "\"{text}\" has too many arguments for {name}; {GRAMMAR}"
        ));
    }
    Ok(DistributionText {
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
            "\"{text}\": theta is {theta}; it must be at least 0"
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
        _ => Err(format!("\"{name}\" is not a distribution; {GRAMMAR}")),
    }
}

fn parse_range(text: &str) -> Result<(u64, u64), String> {
    let wrong = || format!("\"{text}\" is not a range; write it as 100..2000");
    let (first, last) = text.split_once("..").ok_or_else(wrong)?;
    let first = whole_number(first.trim()).ok_or_else(wrong)?;
    let last = whole_number(last.trim()).ok_or_else(wrong)?;
    if first > last {
        return Err(format!("\"{text}\" ends before it begins"));
    }
    Ok((first, last))
}

/// A distribution over a known range. A draw depends only on the arguments of [`Sampler::draw`],
/// because the state of `latest` is only a cache.
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
    /// Creates a sampler over `range` (both ends included). If the text contains a range, the
    /// sampler uses that range instead. With a `scramble` seed, the popular values of zipf are
    /// scattered over the range.
    pub(crate) fn new(
        written: DistributionText,
        range: (u64, u64),
        scramble: Option<u64>,
    ) -> Sampler {
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
                // For a range of only a few values, the logarithm is below 1. The code sets the
                // reach to at least 1, so that the distribution decreases even then.
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

    /// Returns the smallest and the largest value, without values that were appended to the range.
    pub(crate) fn range(&self) -> (u64, u64) {
        (self.first, self.first + (self.count - 1))
    }

    /// Draws a value for operation `n`. `added` is the number of values that have been appended to
    /// the range, which only `latest` uses.
    #[inline]
    pub(crate) fn draw(&mut self, n: u64, added: u64, draws: &mut Draws) -> u64 {
        let offset = match &mut self.form {
            Form::Fixed => 0,
            Form::Sequence => n % self.count,
            Form::Uniform => draws.below(self.count),
            Form::Gaussian { deviation } => {
                let x = self.count as f64 * 0.5 + normal::from_bits(draws.bits()) * *deviation;
                // The conversion maps a negative number to 0.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EVERY: [&str; 8] = [
        "sequence",
        "uniform",
        "gaussian",
        "gaussian(1)",
        "exponential",
        "exponential(20)",
        "zipf(1)",
        "latest(0.5)",
    ];

    fn sampler(text: &str, range: (u64, u64)) -> Sampler {
        Sampler::new(parse(text).unwrap(), range, Some(77))
    }

    fn draws(sampler: &mut Sampler, count: u64) -> Vec<u64> {
        (0..count).map(|n| sampler.draw(n, 0, &mut Draws::new(0xD15, n))).collect()
    }

    /// Returns Kolmogorov's statistic. This is a distance, times the square root of the number of
    /// draws. The distance is the largest one between the empirical distribution of 200,000 draws
    /// over 0..count and the exact distribution. For discrete values, the statistic is smaller than
    /// the tabulated value, so the test is conservative.
    fn kolmogorov(text: &str, count: u64, below: impl Fn(f64) -> f64) -> f64 {
        const DRAWS: u64 = 200_000;
        let mut counts = vec![0u64; count as usize];
        for value in draws(&mut sampler(text, (0, count - 1)), DRAWS) {
            counts[value as usize] += 1;
        }
        let (mut sum, mut distance) = (0u64, 0f64);
        for (value, count) in counts.iter().enumerate() {
            sum += count;
            let exact = below(value as f64 + 1.0);
            distance = distance.max((sum as f64 / DRAWS as f64 - exact).abs());
        }
        distance * (DRAWS as f64).sqrt()
    }

    /// Upper limit of Kolmogorov's statistic. The statistic of correct draws exceeds this limit in
    /// one of 100,000 runs.
    const KOLMOGOROV_MAX: f64 = 2.47;

    #[test]
    fn uniform_draws_are_uniform() {
        for count in [1, 2, 3, 1000] {
            let statistic = kolmogorov("uniform", count, |x| x / count as f64);
            assert!(statistic < KOLMOGOROV_MAX, "{count}: {statistic}");
        }
    }

    #[test]
    fn gaussian_draws_follow_the_normal_curve_and_end_in_the_ends() {
        for (text, reach) in [
            ("gaussian", 3.0),
            ("gaussian(1)", 1.0),
            ("gaussian(5.5)", 5.5),
        ] {
            for count in [2, 3, 1000] {
                let half = count as f64 / 2.0;
                let statistic = kolmogorov(text, count, |x| {
                    let inside = normal::cumulative((x - half) / (half / reach));
                    if x >= count as f64 { 1.0 } else { inside }
                });
                assert!(statistic < KOLMOGOROV_MAX, "{text} of {count}: {statistic}");
            }
        }
    }

    #[test]
    fn exponential_draws_follow_the_truncated_exponential() {
        let default = 0.5 * 1000f64.ln();
        for (text, reach) in [("exponential", default), ("exponential(2)", 2.0)] {
            let statistic = kolmogorov(text, 1000, |x| {
                (1.0 - (-reach * x / 1000.0).exp()) / (1.0 - (-reach).exp())
            });
            assert!(statistic < KOLMOGOROV_MAX, "{text}: {statistic}");
        }
    }

    #[test]
    fn the_tests_above_can_tell_reaches_apart() {
        let statistic = kolmogorov("gaussian(3.1)", 1000, |x| {
            normal::cumulative((x - 500.0) / (500.0 / 3.0))
        });
        assert!(statistic > KOLMOGOROV_MAX, "{statistic}");
    }

    #[test]
    fn a_sequence_counts_and_wraps_and_fixed_stays() {
        assert_eq!(
            draws(&mut sampler("sequence(5..7)", (0, 9)), 5),
            [5, 6, 7, 5, 6]
        );
        assert_eq!(draws(&mut sampler("fixed(4)", (0, 9)), 2), [4, 4]);
        assert_eq!(draws(&mut sampler("4k", (0, 9)), 2), [4000, 4000]);
    }

    #[test]
    fn latest_mirrors_zipf_onto_the_newest_row_and_follows_inserts() {
        let mut latest = sampler("latest(1.1)", (0, 99));
        for n in 0..1000 {
            let rank = Zipf::new(100 + n, 1.1).draw(&mut Draws::new(1, n));
            assert_eq!(latest.draw(n, n, &mut Draws::new(1, n)), 100 + n - rank);
        }
    }

    #[test]
    fn unscrambled_zipf_makes_the_first_value_the_most_popular() {
        let mut plain = Sampler::new(parse("zipf(10..500, 2)").unwrap(), (0, 0), None);
        let hits = draws(&mut plain, 10_000).iter().filter(|&&value| value == 10).count();
        // The exact share is 6 / pi^2 of the draws, and slightly more over a finite range.
        assert!((hits as f64 / 10_000.0 - 0.6086).abs() < 0.02, "{hits}");
    }

    proptest! {
        #[test]
        fn draws_stay_in_range_on_every_domain(
            text in prop::sample::select(&EVERY[..]),
            first in prop_oneof![Just(0u64), 0..1000u64, Just(1 << 62)],
            count in prop_oneof![1..4u64, 1..100_000u64, Just(1 << 53), Just(1 << 63)],
            n in any::<u64>(),
        ) {
            let mut sampler = sampler(text, (first, first + (count - 1)));
            let value = sampler.draw(n, 0, &mut Draws::new(3, n));
            prop_assert!(value >= first && value - first < count, "{text}: {value}");
        }

        #[test]
        fn parsing_never_panics_and_what_it_takes_can_be_drawn(text in "[a-z]{3,11}[(.,0-9kM)]*") {
            if let Ok(written) = parse(&text) {
                let mut sampler = Sampler::new(written, (0, 9), Some(1));
                sampler.draw(1, 0, &mut Draws::new(0, 0));
            }
        }
    }

    #[test]
    fn a_distribution_is_parsed_as_its_text_says() {
        let zipf = |theta| Shape::Zipf { theta };
        for (text, shape, range) in [
            ("uniform", Shape::Uniform, None),
            (" Uniform ( 1 .. 2k ) ", Shape::Uniform, Some((1, 2000))),
            ("zipf", zipf(0.99), None),
            ("zipf(0)", zipf(0.0), None),
            ("zipf(1..1M, 1.5)", zipf(1.5), Some((1, 1_000_000))),
            (
                "gaussian(0..9)",
                Shape::Gaussian { reach: 3.0 },
                Some((0, 9)),
            ),
            (
                "exponential(4.5)",
                Shape::Exponential { reach: Some(4.5) },
                None,
            ),
            ("latest", Shape::Latest { theta: 0.99 }, None),
            ("fixed(7)", Shape::Fixed, Some((7, 7))),
            ("1b", Shape::Fixed, Some((1_000_000_000, 1_000_000_000))),
        ] {
            assert_eq!(parse(text), Ok(DistributionText { shape, range }), "{text}");
        }
    }
}
