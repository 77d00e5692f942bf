//! Sizes of values, drawn from a distribution or from a list of sizes.

use super::expr::{Expr, Form, Wrong};
use crate::distribution::{self, DistributionText, Sampler, Shape};
use crate::params::whole_number;
use crate::random::Draws;
use std::sync::Arc;

/// Name of the function that chooses one of several sizes from a list.
pub(super) const ONE_OF: &str = "one_of";

#[derive(Clone, Debug)]
pub(super) enum Sizes {
    Drawn(Sampler),
    /// A list of equally likely sizes. It has at least one size.
    OneOf(Arc<[u64]>),
}

impl Sizes {
    /// Parses a size. It is a number, a range, a distribution with a range, or `one_of(3, 8, 20)`.
    pub(super) fn read(expr: &Expr, limits: (u64, u64)) -> Result<Sizes, Wrong> {
        if expr.name() != ONE_OF {
            return sampler(expr, limits).map(Sizes::Drawn);
        }
        let one = |value: &Expr| {
            let size = whole_number(&value.text);
            let size = size.filter(|size| (limits.0..=limits.1).contains(size));
            size.ok_or_else(|| {
                let message = format!(
                    "`{}` is not a size from {} to {}",
                    value.text, limits.0, limits.1
                );
                Wrong::new(value.at, message)
            })
        };
        let arguments = expr.arguments().iter();
        let sizes: Vec<u64> =
            arguments.map(|argument| one(&argument.value)).collect::<Result<_, Wrong>>()?;
        if sizes.is_empty() {
            let message = format!("{ONE_OF} has no size to choose from");
            return Err(Wrong::new(expr.at, message).hint("one_of(3, 8, 20)"));
        }
        Ok(Sizes::OneOf(sizes.into()))
    }

    #[inline]
    pub(super) fn draw(&self, n: u64, draws: &mut Draws) -> u64 {
        match self {
            Sizes::Drawn(sampler) => {
                let mut sampler = *sampler;
                sampler.draw(n, 0, draws)
            }
            Sizes::OneOf(sizes) => {
                let place = (draws.unit() * sizes.len() as f64) as usize;
                sizes[place.min(sizes.len() - 1)]
            }
        }
    }

    pub(super) fn range(&self) -> (u64, u64) {
        match self {
            Sizes::Drawn(sampler) => sampler.range(),
            Sizes::OneOf(sizes) => {
                let least = sizes.iter().min().copied().unwrap_or(0);
                (least, sizes.iter().max().copied().unwrap_or(0))
            }
        }
    }
}

/// Parses a distribution with a range.
pub(super) fn sampler(expr: &Expr, limits: (u64, u64)) -> Result<Sampler, Wrong> {
    // A range without the name of a distribution is a uniform distribution.
    let text = if matches!(expr.form, Form::Number) && expr.text.contains("..") {
        format!("uniform({})", expr.text)
    } else {
        expr.text.clone()
    };
    let written: DistributionText =
        distribution::parse(&text).map_err(|message| Wrong::new(expr.at, message))?;
    let Some((first, last)) = written.range else {
        let message = format!("`{}` requires a range, as in uniform(1..100)", expr.text);
        return Err(Wrong::new(expr.at, message));
    };
    if matches!(written.shape, Shape::Latest { .. }) {
        let message = "latest selects rows, and does not generate values";
        return Err(Wrong::new(expr.at, message).hint("zipf(1..100, 0.99)"));
    }
    if first < limits.0 || last > limits.1 {
        let message = format!(
            "`{}` goes from {first} to {last}; the allowed range is {} to {}",
            expr.text, limits.0, limits.1
        );
        return Err(Wrong::new(expr.at, message));
    }
    Ok(Sampler::new(written, (first, last), None))
}
