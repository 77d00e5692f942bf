//! Finds the partition with the most operations of a program, if it gets clearly more operations
//! than the other partitions.

use crate::program::{Program, Stage};
use std::collections::HashMap;
use std::sync::Arc;

/// Number of operations that the function examines. The examination takes 20 ms. A partition with a
/// thousandth of all operations gets about a hundred of the examined operations.
const OPERATIONS: u64 = 100_000;

/// Minimum number of operations of a hot partition. With very many equal partitions, some
/// partitions get four or five operations by chance.
const HITS_MIN: u64 = 30;

/// Minimum ratio of the operations of a hot partition to the mean over all partitions that get
/// operations.
const OVER_MEAN: u64 = 2;

/// Returns the token of the partition that gets the most operations among the first operations of
/// the main stage. Returns `None` unless that partition gets at least 30 operations and more than
/// twice the mean. Operations that are spread uniformly do not have a hottest partition.
///
/// Later operations have the same hottest partition, because the seed and the distribution
/// determine it for all operations.
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
    // If several partitions have the same number of operations, the function chooses the one with
    // the lowest token. The result is therefore always the same.
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
    fn popular_rows_have_a_hottest_one_and_uniform_rows_have_none() {
        let zipf = token("zipf(0.99)", 100_000, 1);
        assert!(zipf.is_some());
        assert_eq!(
            zipf,
            token("zipf(0.99)", 100_000, 1),
            "the same seed has the same hottest row"
        );
        assert_ne!(
            zipf,
            token("zipf(0.99)", 100_000, 2),
            "the seed determines the hottest row"
        );
        for rows in [1, 10, 1_000, 1_000_000] {
            assert_eq!(token("uniform", rows, 1), None, "{rows} rows");
        }
    }
}
