//! Places of a series as they are packed: four 32-bit floats each, little-endian, in base64.
//!
//! Numbers in decimal digits would be twice as long and be read ten times as slowly; a report of
//! 200 trials reads some ten million.

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use measure::{Bin, Bins};

/// What was read in one stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Place {
    /// How many values; 0 for none, and then nothing else counts.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// The smallest and the largest, in the order in which they came.
    pub ends: [f64; 2],
}

/// Floats of a place.
const FLOATS: usize = 4;
/// Bytes of a float.
const FLOAT_BYTES: usize = 4;

impl Place {
    fn of(bin: &Bin) -> Place {
        let ends = if bin.min_s <= bin.max_s {
            [bin.min, bin.max]
        } else {
            [bin.max, bin.min]
        };
        Place {
            count: bin.count,
            mean: bin.mean(),
            ends,
        }
    }

    /// Sum of the values.
    pub fn sum(&self) -> f64 {
        self.mean * self.count as f64
    }

    /// The smallest value.
    pub fn min(&self) -> f64 {
        self.ends[0].min(self.ends[1])
    }

    /// The largest value.
    pub fn max(&self) -> f64 {
        self.ends[0].max(self.ends[1])
    }

    /// Neighbours as one.
    pub(super) fn joined(places: &[Place]) -> Place {
        let mut places = places.iter().filter(|place| place.count > 0);
        let Some(first) = places.next() else {
            return Place::default();
        };
        places.fold(*first, |all, next| {
            let count = all.count.saturating_add(next.count);
            let (low, high) = (all.min().min(next.min()), all.max().max(next.max()));
            let ends = [all.ends[0], all.ends[1], next.ends[0], next.ends[1]];
            // The one of the two that came first.
            let is_low_first = ends.iter().find(|end| **end == low || **end == high) == Some(&low);
            Place {
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

/// The bins of a series, packed.
pub(super) fn pack(bins: &Bins) -> String {
    let mut bytes = Vec::new();
    for (slot, bin) in bins.numbered() {
        bytes.resize(slot * FLOATS * FLOAT_BYTES, 0);
        let Place { count, mean, ends } = Place::of(bin);
        for value in [count as f64, mean, ends[0], ends[1]] {
            bytes.extend((value as f32).to_le_bytes());
        }
    }
    BASE64.encode(bytes)
}

/// The same back.
pub(super) fn unpack(packed: &str) -> Result<Vec<Place>> {
    let bytes = BASE64.decode(packed).context("they are not base64")?;
    let (places, rest) = bytes.as_chunks::<{ FLOATS * FLOAT_BYTES }>();
    if !rest.is_empty() {
        bail!("{} bytes are no whole number of places", bytes.len());
    }
    let place = |place: &[u8; FLOATS * FLOAT_BYTES]| {
        let (floats, _) = place.as_chunks::<FLOAT_BYTES>();
        let float = |at: usize| f64::from(f32::from_le_bytes(floats[at]));
        let is_number = (0..FLOATS).all(|at| float(at).is_finite());
        if is_number {
            Place {
                count: float(0) as u64,
                mean: float(1),
                ends: [float(2), float(3)],
            }
        } else {
            Place::default()
        }
    };
    Ok(places.iter().map(place).collect())
}
