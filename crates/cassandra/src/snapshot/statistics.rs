//! Parses the numbers of partitions and rows in `Statistics.db`, and the uncompressed size in
//! `CompressionInfo.db`.
//!
//! The layouts are those of Cassandra 4.0 to 6.0 (classes MetadataSerializer, StatsMetadata and
//! CompressionMetadata), with big-endian numbers. Invariant: the input may contain arbitrary bytes.
//! For invalid input, functions return `None` and never panic.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Includes deleted partitions.
    pub partitions: u64,
    /// Number of rows in this SSTable. A row in several SSTables counts in each of them. `None` if
    /// the file contains earlier data that can only be parsed with the table's column types, such
    /// as clustering bounds in `oa` and `da`.
    pub rows: Option<u64>,
}

/// Number of the component with the counts, in the table of contents of `Statistics.db`.
const STATS: u32 = 2;

/// Maximum number of elements of a list. Histograms have about 150 buckets.
const ITEMS_MAX: u32 = 1 << 16;

/// Parses a `Statistics.db` of a format such as `nb`. Returns `None` for invalid bytes.
pub fn counts(format: &str, bytes: &[u8]) -> Option<Counts> {
    let mut contents = Reader(bytes);
    let components = contents.count()?;
    if has_checksums(format) {
        contents.skip(4)?;
    }
    let mut at = None;
    for _ in 0..components {
        let (kind, position) = (contents.u32()?, contents.u32()?);
        if kind == STATS {
            at = Some(position);
        }
    }
    let mut stats = Reader(bytes.get(usize::try_from(at?).ok()?..)?);
    let partitions = stats.histogram()?;
    stats.histogram()?;
    // Commit log positions, timestamps, deletion times, TTLs, and compression ratio.
    stats.skip(12 + 16 + 8 + 8 + 8)?;
    let rows = stats.rows(format);
    Some(Counts { partitions, rows })
}

/// Returns the uncompressed size in bytes from a `CompressionInfo.db`. Returns `None` for invalid
/// bytes.
pub fn uncompressed_bytes(bytes: &[u8]) -> Option<u64> {
    let mut info = Reader(bytes);
    info.short_text()?;
    for _ in 0..info.count()? {
        info.short_text()?;
        info.short_text()?;
    }
    // Chunk length and maximum compressed length.
    info.skip(8)?;
    info.u64()
}

/// Returns true for formats since 4.0, which have checksums.
fn has_checksums(format: &str) -> bool {
    format >= "na" || is_trie(format)
}

/// Returns true for formats with trie indexes (`da`, `ea`), which exist since 5.0.
fn is_trie(format: &str) -> bool {
    versions::is_trie(format)
}

/// Returns true for formats since 5.0, with unsigned times and typed clustering bounds.
fn is_of_5(format: &str) -> bool {
    format >= "oa" || is_trie(format)
}

/// Bytes that are not parsed yet.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        self.take(count).map(drop)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_be_bytes)
    }

    fn count(&mut self) -> Option<u32> {
        self.u32().filter(|count| *count <= ITEMS_MAX)
    }

    fn short_text(&mut self) -> Option<()> {
        let length = self.u16()?;
        self.skip(length.into())
    }

    /// Returns the total count of a histogram, whose buckets consist of a bound and a count.
    fn histogram(&mut self) -> Option<u64> {
        let mut sum: u64 = 0;
        for _ in 0..self.count()? {
            self.skip(8)?;
            sum = sum.checked_add(self.u64()?)?;
        }
        Some(sum)
    }

    /// Parses the fields from the histogram of tombstones up to the number of rows.
    fn rows(&mut self, format: &str) -> Option<u64> {
        self.skip(4)?;
        let tombstone = if is_of_5(format) { 8 + 4 } else { 8 + 8 };
        let tombstones = usize::try_from(self.count()?).ok()?;
        self.skip(tombstones.checked_mul(tombstone)?)?;
        // Level and repair time.
        self.skip(4 + 8)?;
        if is_of_5(format) {
            self.no_clustering()?;
        } else {
            for _ in 0..2 {
                for _ in 0..self.count()? {
                    self.short_text()?;
                }
            }
        }
        // Flag of counter shards and number of columns set.
        self.skip(1 + 8)?;
        self.u64()
    }

    /// Skips the clustering bounds of a table without clustering columns: no types, and two bounds
    /// without values.
    fn no_clustering(&mut self) -> Option<()> {
        let types = self.u8()?;
        for _ in 0..2 {
            self.skip(1)?;
            if self.u16()? != 0 {
                return None;
            }
        }
        (types == 0).then_some(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn histogram(counts: &[u64]) -> Vec<u8> {
        let mut bytes = (counts.len() as u32).to_be_bytes().to_vec();
        for (bound, count) in counts.iter().enumerate() {
            bytes.extend((bound as u64).to_be_bytes());
            bytes.extend(count.to_be_bytes());
        }
        bytes
    }

    /// Returns a `Statistics.db` with only the data that this module reads.
    pub(in crate::snapshot) fn statistics(format: &str, partitions: u64, rows: u64) -> Vec<u8> {
        let mut stats = [histogram(&[partitions - 1, 1]), histogram(&[5])].concat();
        stats.extend([7; 12 + 16 + 8 + 8 + 8]);
        let is_new = is_of_5(format);
        stats.extend(100u32.to_be_bytes());
        stats.extend(1u32.to_be_bytes());
        stats.extend(vec![7; if is_new { 12 } else { 16 }]);
        stats.extend([0; 4 + 8]);
        if is_new {
            stats.extend([0, 1, 0, 0, 6, 0, 0]);
        } else {
            stats.extend([0, 0, 0, 1, 0, 2, 9, 9, 0, 0, 0, 0]);
        }
        stats.extend([0; 1 + 8]);
        stats.extend(rows.to_be_bytes());
        let mut bytes = 2u32.to_be_bytes().to_vec();
        if has_checksums(format) {
            bytes.extend([7; 4]);
        }
        let begin = bytes.len() as u32 + 16;
        for (kind, position) in [(0, begin), (STATS, begin + 3)] {
            bytes.extend(u32::to_be_bytes(kind));
            bytes.extend(u32::to_be_bytes(position));
        }
        bytes.extend([1, 2, 3]);
        [bytes, stats].concat()
    }

    pub(in crate::snapshot) fn compression(uncompressed: u64) -> Vec<u8> {
        let mut bytes = b"\0\x0dLZ4Compressor\0\0\0\x01\0\x01k\0\x01v".to_vec();
        bytes.extend([0, 0, 0x40, 0, 0x7f, 0xff, 0xff, 0xff]);
        bytes.extend(uncompressed.to_be_bytes());
        [bytes, vec![0; 12]].concat()
    }

    #[test]
    fn partitions_and_rows_are_read_in_every_format() {
        for format in ["md", "na", "nb", "oa", "da"] {
            let found = counts(format, &statistics(format, 12, 34)).expect(format);
            assert_eq!((found.partitions, found.rows), (12, Some(34)), "{format}");
        }
        assert_eq!(uncompressed_bytes(&compression(1234)), Some(1234));
    }

    #[test]
    fn rows_behind_clustering_columns_of_new_formats_are_unknown() {
        let mut bytes = statistics("oa", 12, 34);
        let types = bytes.len() - 8 - 9 - 7;
        assert_eq!(bytes[types], 0);
        bytes[types] = 1;
        let found = counts("oa", &bytes).unwrap();
        assert_eq!((found.partitions, found.rows), (12, None));
    }

    #[test]
    fn damaged_statistics_cause_no_panic() {
        for format in ["nb", "oa"] {
            let whole = statistics(format, 12, 34);
            let until_partitions = whole.len() - 8 - 9;
            for end in 0..whole.len() {
                let found = counts(format, &whole[..end]);
                assert_eq!(found.and_then(|found| found.rows), None, "{format} {end}");
                assert!(found.is_none() || end > until_partitions / 2);
                let mut other = whole.clone();
                other[end] = 0xff;
                let _ = counts(format, &other);
            }
        }
        let info = compression(1234);
        for end in 0..info.len() - 12 {
            assert_eq!(uncompressed_bytes(&info[..end]), None, "{end}");
            let mut other = info.clone();
            other[end] = 0xff;
            let _ = uncompressed_bytes(&other);
        }
    }
}
