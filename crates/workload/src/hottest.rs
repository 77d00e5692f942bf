//! The partition that most operations of a program go to, if one stands out.

use crate::program::{Program, Stage};
use std::collections::HashMap;
use std::sync::Arc;

/// How many operations are looked at: 20 ms, and a partition that gets one of a thousand of them
/// gets a hundred.
const OPERATIONS: u64 = 100_000;

/// The fewest of them that make a partition a hot one. By chance a partition of very many that are
/// all alike gets four or five.
const HITS_MIN: u64 = 30;

/// How much more often it is asked for than one that was asked for at all, at least.
const OVER_MEAN: u64 = 2;

/// The token of the partition that most of the first operations of the main stage go to. None if no
/// partition is asked for more than twice as often as others are on average: what is chosen alike
/// has no hottest one.
///
/// What is chosen follows from the seed, and which partition is the hottest from the distribution:
/// other operations of the program have the same.
pub fn hottest_token(program: &Arc<Program>) -> Option<i64> {
    let mut generator = program.generator(Stage::Main);
    let mut hits: HashMap<i64, u64> = HashMap::new();
    for n in 0..OPERATIONS {
        generator.begin(n);
        if let Some(token) = generator.token() {
            *hits.entry(token).or_default() += 1;
        }
    }
    let asked: u64 = hits.values().sum();
    let partitions = hits.len() as u64;
    // Of two that are equal the one with the lower token, so that it is the same one every time.
    let hottest = hits.into_iter().max_by_key(|(token, hits)| (*hits, std::cmp::Reverse(*token)));
    let (token, most) = hottest?;
    (most >= HITS_MIN && most * partitions > OVER_MEAN * asked).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ParamValue, Spec, compile};

    fn token(distribution: &str, rows: u64, seed: u64) -> Option<i64> {
        let mut spec = Spec::new("standard1", rows, seed);
        let distribution = ParamValue::Text(distribution.to_owned());
        spec.params.insert("distribution".to_owned(), distribution);
        hottest_token(&Arc::new(compile(&spec).unwrap()))
    }

    #[test]
    fn popular_rows_have_a_hottest_one_and_rows_that_are_all_alike_have_none() {
        let zipf = token("zipf(0.99)", 100_000, 1);
        assert!(zipf.is_some());
        assert_eq!(
            zipf,
            token("zipf(0.99)", 100_000, 1),
            "it is the same one again"
        );
        assert_ne!(
            zipf,
            token("zipf(0.99)", 100_000, 2),
            "the seed says which row is popular"
        );
        for rows in [1, 10, 1_000, 1_000_000] {
            assert_eq!(token("uniform", rows, 1), None, "{rows} rows");
        }
    }
}
