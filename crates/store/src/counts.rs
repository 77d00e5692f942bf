//! Counters in the lines of intervals, which leave out what is 0.

use measure::{ClientCount, ClientCounts, KindCount, KindCounts};
use serde::Serializer;

/// Those of a kind that have come to anything. `rows_missing` stands behind `batched` in lines.
pub fn of_kind<S: Serializer>(counts: &KindCounts, to: S) -> Result<S::Ok, S::Error> {
    let mut some: Vec<_> = counts.iter().filter(|(_, count)| *count > 0).collect();
    some.sort_by_key(|(counter, _)| match counter {
        KindCount::RowsMissing => KindCount::Batched as u8,
        counter => *counter as u8,
    });
    to.collect_map(some)
}

/// Those of the client: all of them but what only a drain sends, if that is nothing.
pub fn of_client<S: Serializer>(counts: &ClientCounts, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(counts.iter().filter(|one| *one != (ClientCount::SentInDrain, 0)))
}
