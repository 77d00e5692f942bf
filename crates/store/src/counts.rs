//! Serializes the counters in the lines of intervals. Only [`serialize_client`] includes zeros.

use measure::{ClientCount, ClientCounts, KindCount, KindCounts};
use serde::Serializer;

/// Serializes the non-zero counters of a kind of operation. In the lines, `rows_missing` comes
/// directly after `batched`.
pub fn serialize_kind<S: Serializer>(counts: &KindCounts, to: S) -> Result<S::Ok, S::Error> {
    let mut some: Vec<_> = counts.iter().filter(|(_, count)| *count > 0).collect();
    some.sort_by_key(|(counter, _)| match counter {
        KindCount::RowsMissing => KindCount::Batched as u8,
        counter => *counter as u8,
    });
    to.collect_map(some)
}

/// Serializes the non-zero counters of the client.
pub fn serialize_nonzero_client<S: Serializer>(
    counts: &ClientCounts,
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_map(counts.iter().filter(|(_, count)| *count > 0))
}

/// Serializes all counters of the client. A counter that is used only during a drain is omitted if
/// it is zero.
pub fn serialize_client<S: Serializer>(counts: &ClientCounts, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(counts.iter().filter(|one| *one != (ClientCount::SentInDrain, 0)))
}
