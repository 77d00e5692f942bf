//! Packs the bins of a series. Each bin becomes four little-endian 32-bit floats, encoded in
//! base64.
//!
//! Decimal digits would take twice the space, and ten times the time to read. A report of 200
//! trials reads about ten million numbers.

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use measure::{Bin, Bins};

/// Summary of the values in one bin of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OverviewBin {
    /// Number of values. If it is 0, the other fields have no meaning.
    pub count: u64,
    /// Mean of the values.
    pub mean: f64,
    /// Smallest and largest value of the bin. The value that occurred first comes first.
    pub ends: [f64; 2],
}

/// Number of floats in a packed bin.
const FLOATS: usize = 4;
const FLOAT_BYTES: usize = 4;

impl OverviewBin {
    fn from_bin(bin: &Bin) -> OverviewBin {
        let ends = if bin.min_s <= bin.max_s {
            [bin.min, bin.max]
        } else {
            [bin.max, bin.min]
        };
        OverviewBin {
            count: bin.count,
            mean: bin.mean(),
            ends,
        }
    }

    /// Returns the sum of the values.
    pub fn sum(&self) -> f64 {
        self.mean * self.count as f64
    }

    /// Returns the smallest value.
    pub fn min(&self) -> f64 {
        self.ends[0].min(self.ends[1])
    }

    /// Returns the largest value.
    pub fn max(&self) -> f64 {
        self.ends[0].max(self.ends[1])
    }

    pub(super) fn joined(places: &[OverviewBin]) -> OverviewBin {
        let mut places = places.iter().filter(|place| place.count > 0);
        let Some(first) = places.next() else {
            return OverviewBin::default();
        };
        places.fold(*first, |all, next| {
            let count = all.count.saturating_add(next.count);
            let (low, high) = (all.min().min(next.min()), all.max().max(next.max()));
            let ends = [all.ends[0], all.ends[1], next.ends[0], next.ends[1]];
            // The extreme that occurred first also comes first in `ends`.
            let is_low_first = ends.iter().find(|end| **end == low || **end == high) == Some(&low);
            OverviewBin {
                count,
                mean: (all.sum() + next.sum()) / count as f64,
                ends: if is_low_first {
                    [low, high]
                } else {
                    [high, low]
                },
            }
        })
    }
}

pub(super) fn pack(bins: &Bins) -> String {
    let mut bytes = Vec::new();
    for (slot, bin) in bins.numbered() {
        bytes.resize(slot * FLOATS * FLOAT_BYTES, 0);
        let OverviewBin { count, mean, ends } = OverviewBin::from_bin(bin);
        for value in [count as f64, mean, ends[0], ends[1]] {
            bytes.extend((value as f32).to_le_bytes());
        }
    }
    BASE64.encode(bytes)
}

/// Unpacks the bins of a series. A bin with a number that is not finite becomes an empty bin.
pub(super) fn unpack(packed: &str) -> Result<Vec<OverviewBin>> {
    let bytes = BASE64.decode(packed).context("the bins are not base64")?;
    let (places, rest) = bytes.as_chunks::<{ FLOATS * FLOAT_BYTES }>();
    if !rest.is_empty() {
        bail!("{} bytes are not a whole number of bins", bytes.len());
    }
    let place = |place: &[u8; FLOATS * FLOAT_BYTES]| {
        let (floats, _) = place.as_chunks::<FLOAT_BYTES>();
        let float = |at: usize| f64::from(f32::from_le_bytes(floats[at]));
        let is_number = (0..FLOATS).all(|at| float(at).is_finite());
        if is_number {
            OverviewBin {
                count: float(0) as u64,
                mean: float(1),
                ends: [float(2), float(3)],
            }
        } else {
            OverviewBin::default()
        }
    };
    Ok(places.iter().map(place).collect())
}
