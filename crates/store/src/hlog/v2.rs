//! Decodes a histogram in a log (HdrHistogram's V2, compressed by zlib), bucket by bucket.
//!
//! A histogram begins with a cookie and a length. The compressed content has a header of 40 bytes,
//! followed by the counts as zigzag numbers with seven bits per byte. A negative number -n
//! represents n empty buckets. The library decodes histograms with another layout or other bounds.

use crate::histogram_buckets::BucketCount;
use flate2::{Decompress, FlushDecompress, Status};

/// Cookie at the beginning of a compressed histogram. The cookie of the decompressed content
/// follows.
const PACKED: u32 = 0x1c84_9314;
const PLAIN: u32 = 0x1c84_9313;
/// Number of bytes before the compressed content.
const OUTER_BYTES: usize = 8;
/// Size in bytes of the header, which contains the cookie, length, offset, digits, lowest and
/// highest value, and ratio.
const HEADER_BYTES: usize = 40;
/// Maximum number of bytes of the decompressed content. A full histogram with cassay's bounds is
/// smaller, because it has 45,056 buckets of at most 9 bytes.
const BYTES_MAX: usize = 1 << 19;
/// Maximum number of buckets. A histogram of 64-bit values with three significant digits has fewer
/// buckets.
const BUCKETS_MAX: u64 = 64 << 10;

/// Buffers for decoding, which are reused for every histogram.
pub struct V2Room {
    inflate: Decompress,
    bytes: Vec<u8>,
    held: Vec<BucketCount>,
}

impl Default for V2Room {
    fn default() -> V2Room {
        V2Room {
            inflate: Decompress::new(true),
            bytes: vec![0; BYTES_MAX],
            held: Vec::new(),
        }
    }
}

impl V2Room {
    /// Decodes a histogram and returns the buckets that contain values, in ascending order. `None`
    /// if the library has to decode the histogram.
    pub(super) fn buckets(&mut self, encoded: &[u8]) -> Option<&[BucketCount]> {
        let (outer, packed) = encoded.split_at_checked(OUTER_BYTES)?;
        if number(outer, 0)? != PACKED {
            return None;
        }
        self.inflate.reset(true);
        // The content is decompressed into a slice. With a vector, the spare capacity would be
        // zeroed for every histogram.
        let done = self.inflate.decompress(packed, &mut self.bytes, FlushDecompress::Finish);
        if !matches!(done, Ok(Status::StreamEnd)) {
            return None;
        }
        let unpacked = self.bytes.get(..usize::try_from(self.inflate.total_out()).ok()?)?;
        let (header, counts) = unpacked.split_at_checked(HEADER_BYTES)?;
        let is_ours = number(header, 0)? == PLAIN
            && number(header, 4)? as usize == counts.len()
            && number(header, 8)? == 0
            && number(header, 12)? == u32::from(measure::histogram::SIGNIFICANT_DIGITS)
            && [number(header, 16)?, number(header, 20)?] == [0, 1];
        if !is_ours {
            return None;
        }
        counted(counts, &mut self.held)?;
        Some(&self.held)
    }
}

/// Returns the big-endian number at the position `at`.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*four))
}

fn counted(bytes: &[u8], held: &mut Vec<BucketCount>) -> Option<()> {
    held.clear();
    held.reserve(bytes.len());
    let (mut bucket, mut total, mut bytes) = (0u64, 0u64, bytes.iter());
    while let Some(value) = zigzag(&mut bytes)? {
        if value < 0 {
            bucket = bucket.checked_add(value.unsigned_abs())?;
            continue;
        }
        if bucket >= BUCKETS_MAX {
            return None;
        }
        if value > 0 {
            total = total.checked_add(value.unsigned_abs())?;
            held.push((bucket as u32, value.unsigned_abs()));
        }
        bucket += 1;
    }
    // The sum over several kinds of operations must also fit into 64 bits, so the limit of the
    // total of one histogram is smaller.
    (total < u64::MAX / 1024).then_some(())
}

/// Returns the next zigzag number. The inner option is `None` at the end of the data. The outer
/// option is `None` if the data is truncated.
fn zigzag(bytes: &mut std::slice::Iter<'_, u8>) -> Option<Option<i64>> {
    let Some(first) = bytes.next() else {
        return Some(None);
    };
    let (mut value, mut byte, mut shift) = (u64::from(first & 0x7f), *first, 7);
    while byte & 0x80 != 0 {
        byte = *bytes.next()?;
        // The ninth byte contains eight bits of the number instead of seven.
        if shift == 56 {
            value |= u64::from(byte) << shift;
            break;
        }
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
    }
    Some(Some((value >> 1) as i64 ^ -((value & 1) as i64)))
}
