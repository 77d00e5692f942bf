//! Bytes of which a share compresses away: in every pattern of 64 bytes random ones first, then one
//! byte again and again. No codec makes the random ones smaller, every codec those behind them.

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

    /// Puts the filler where random bytes are not to stay. What is shorter than a pattern is
    /// divided in the same proportion, so that small values compress as large ones do.
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
