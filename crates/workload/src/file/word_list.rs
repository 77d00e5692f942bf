//! Values that a generator chooses from a list.

use super::expr::{Expr, Form, Wrong, split};
use super::literal;
use super::value_generators::Gen;
use crate::distribution::{self, DistributionText, Sampler, Shape};
use crate::params::whole_number;
use cql::value::CqlType;

/// Maximum sum of the words' shares.
const SHARES_MAX: u64 = 10_000;

/// Converts `words(a, 'b c', by=zipf)` or `words(a, b, shares='3 1')` to a generator that chooses
/// between constants of the column's type.
pub(super) fn words(expr: &Expr, typ: &CqlType) -> Result<Gen, Wrong> {
    let (positional, named) = split(expr, &["by", "shares"])?;
    let words = positional
        .iter()
        .map(|word| literal::bytes(word, typ))
        .collect::<Result<Vec<_>, _>>()?;
    if words.is_empty() {
        return Err(Wrong::new(
            expr.at,
            "the list contains no words to choose from",
        ));
    }
    let words = match (named[1], named[0]) {
        (None, _) => words,
        (Some(shares), None) => repeated(words, shares)?,
        (Some(_), Some(by)) => {
            let message = "choose words by a distribution or by shares, not by both";
            return Err(Wrong::new(by.at, message));
        }
    };
    let pick = choice(named[0], words.len() as u64)?;
    Ok(Gen::Words { words, pick })
}

/// Repeats each word according to its share. `shares` contains one whole number for each word.
fn repeated(words: Vec<Vec<u8>>, shares: &Expr) -> Result<Vec<Vec<u8>>, Wrong> {
    let text = match &shares.form {
        Form::Text(text) => text,
        _ => &shares.text,
    };
    let counts: Option<Vec<u64>> = text.split_whitespace().map(whole_number).collect();
    let counts = counts.filter(|counts| {
        let sum = counts.iter().try_fold(0u64, |sum, count| sum.checked_add(*count));
        counts.len() == words.len() && sum.is_some_and(|sum| (1..=SHARES_MAX).contains(&sum))
    });
    let Some(counts) = counts else {
        let message = format!(
            "`{text}` must be one whole number for each of {} words, with a sum from 1 to \
             {SHARES_MAX}",
            words.len()
        );
        return Err(Wrong::new(shares.at, message).hint("words(a, b, shares='3 1')"));
    };
    let repeated = words.into_iter().zip(counts);
    Ok(repeated
        .flat_map(|(word, count)| std::iter::repeat_n(word, count as usize))
        .collect())
}

/// Returns the distribution from which the positions of words are drawn. `count` is the number of
/// words.
fn choice(by: Option<&Expr>, count: u64) -> Result<Sampler, Wrong> {
    let written = match by {
        None => DistributionText {
            shape: Shape::Uniform,
            range: None,
        },
        Some(by) => distribution::parse(&by.text).map_err(|message| Wrong::new(by.at, message))?,
    };
    if written.range.is_some() || matches!(written.shape, Shape::Latest { .. }) {
        let at = by.map_or(0, |by| by.at);
        let message = "choose words by a distribution without a range";
        return Err(Wrong::new(at, message).hint("uniform, zipf, zipf(1.2) or sequence"));
    }
    Ok(Sampler::new(written, (0, count - 1), None))
}
