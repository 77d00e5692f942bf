//! Bytes of which a share compresses away: in every pattern of 64 bytes random ones first, then one
//! byte again and again. No codec makes the random ones smaller, every codec those behind them. And how
//! far the rows of a program compress.

use crate::program::{Program, Stage};
use cql::compression::lz4_block_bytes;
use std::sync::Arc;

/// Bytes of the pattern that is divided into random and repeated ones: well above the shortest
/// match of LZ4 (4 bytes), well below its window.
pub(crate) const PATTERN_BYTES: usize = 64;
/// What fills the compressible part.
pub(crate) const FILLER: u8 = b'-';

/// How many of [`PATTERN_BYTES`] are random when `share` of the bytes is compressible.
pub(crate) fn random_bytes(share: f64) -> usize {
    ((1.0 - share) * PATTERN_BYTES as f64).round() as usize
}

/// How much of a value stays random.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern {
    /// Of [`PATTERN_BYTES`].
    random: usize,
}

impl Pattern {
    /// All bytes stay random.
    pub(crate) const RANDOM: Pattern = Pattern {
        random: PATTERN_BYTES,
    };

    /// The pattern of values of which `share` is compressible.
    pub(crate) fn new(share: f64) -> Pattern {
        Pattern {
            random: random_bytes(share),
        }
    }

    /// Puts the filler where random bytes are not to stay. What is shorter than a pattern is divided
    /// in the same proportion, so that small values compress as large ones do.
    #[inline]
    pub(crate) fn apply(self, random: &mut [u8]) {
        if self.random == PATTERN_BYTES {
            return;
        }
        for bytes in random.chunks_mut(PATTERN_BYTES) {
            let stays = (bytes.len() * self.random).div_ceil(PATTERN_BYTES);
            bytes[stays..].fill(FILLER);
        }
    }
}

/// What is compressed to see how far rows compress: a chunk of Cassandra's tables by default.
const CHUNK_BYTES: usize = 16 << 10;
/// Rows that are smaller than they look like (all of their columns unset) end the search for that
/// much.
const ROWS_MAX: u64 = 10_000;

impl Program {
    /// Size of the first rows when compressed by LZ4 ÷ their own, as the load stage binds them. A
    /// table adds timestamps and lengths, which compress well.
    pub fn compressed_share(self: &Arc<Self>) -> f64 {
        let mut generator = self.generator(Stage::Load);
        let mut bytes = Vec::with_capacity(CHUNK_BYTES + generator.values_bytes_max());
        for n in 0..self.rows().min(ROWS_MAX) {
            if bytes.len() >= CHUNK_BYTES {
                break;
            }
            generator.begin(n);
            for entry in 0..generator.entries() {
                generator.append_entry_values(entry, &mut bytes);
            }
        }
        lz4_block_bytes(&bytes) as f64 / bytes.len().max(1) as f64
    }
}
