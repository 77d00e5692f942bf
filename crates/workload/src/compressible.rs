//! Generates bytes of which a given share is compressible. Every pattern of 64 bytes begins with
//! random bytes, and ends with repetitions of one byte. No codec can compress the random bytes, and
//! every codec can compress the repeated bytes.

/// Size of a pattern, in bytes. The size is far above the shortest match of LZ4 (4 bytes), and far
/// below LZ4's window.
pub(crate) const PATTERN_BYTES: usize = 64;
/// Byte in the compressible part.
pub(crate) const FILLER: u8 = b'-';

/// Returns the number of random bytes among [`PATTERN_BYTES`] when `share` of the bytes is
/// compressible.
pub(crate) fn random_bytes(share: f64) -> usize {
    ((1.0 - share) * PATTERN_BYTES as f64).round() as usize
}

/// Division of a value into random and compressible bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern {
    /// Number of random bytes among [`PATTERN_BYTES`].
    random: usize,
}

impl Pattern {
    /// The pattern that leaves all bytes random.
    pub(crate) const RANDOM: Pattern = Pattern {
        random: PATTERN_BYTES,
    };

    pub(crate) fn new(share: f64) -> Pattern {
        Pattern {
            random: random_bytes(share),
        }
    }

    /// Replaces the compressible share of the bytes by the filler. Divides a value that is shorter
    /// than a pattern in the same proportion, so that small values compress like large values.
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
