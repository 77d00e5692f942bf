//! A series of any length in constant memory: time bins of equal width, each with summary
//! statistics of its values.
//!
//! The bins begin at second 0. If a value does not fit into the maximum number of bins,
//! neighbouring bins are joined in pairs, which doubles the width of all bins. Invariant: the
//! count, sum, minimum, maximum and the times of the minimum and maximum cover all values that were
//! added. This is true after any joins and for any order of arrival. The mean of a bin hides its
//! peak, so the bin also contains the peak and its time.

/// Summary of the values in one bin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// Time of the first value of the bin, in seconds.
    pub first_s: f64,
    /// Time of the last value of the bin, in seconds.
    pub last_s: f64,
    /// Number of values in the bin, which is at least one.
    pub count: u64,
    pub sum: f64,
    /// Smallest value.
    pub min: f64,
    /// Time of the smallest value, in seconds. If several values are equally small, this is the
    /// earliest time.
    pub min_s: f64,
    /// Largest value.
    pub max: f64,
    /// Time of the largest value, in seconds. If several values are equally large, this is the
    /// earliest time.
    pub max_s: f64,
}

impl Bin {
    fn new(t_s: f64, value: f64) -> Bin {
        Bin {
            first_s: t_s,
            last_s: t_s,
            count: 1,
            sum: value,
            min: value,
            min_s: t_s,
            max: value,
            max_s: t_s,
        }
    }

    /// Returns the arithmetic mean of the values in the bin.
    pub fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }

    fn join(&mut self, other: &Bin) {
        self.first_s = self.first_s.min(other.first_s);
        self.last_s = self.last_s.max(other.last_s);
        self.count += other.count;
        self.sum += other.sum;
        if (other.min, other.min_s) < (self.min, self.min_s) {
            (self.min, self.min_s) = (other.min, other.min_s);
        }
        if (-other.max, other.max_s) < (-self.max, self.max_s) {
            (self.max, self.max_s) = (other.max, other.max_s);
        }
    }
}

/// Series of values in bins of equal width.
#[derive(Clone, Debug, PartialEq)]
pub struct Bins {
    max: usize,
    width_s: f64,
    /// Bins in order of time, up to the last bin with a value. A bin without values is `None`.
    slots: Vec<Option<Bin>>,
}

impl Bins {
    /// Creates a series with at most `max` bins (at least 2). Each bin is initially one second
    /// wide.
    pub fn new(max: usize) -> Bins {
        Bins::with_width(max, 1.0)
    }

    /// Creates a series with at most `max` bins, each initially `width_s` wide, or 1 s wide if
    /// `width_s` is not a valid width.
    pub fn with_width(max: usize, width_s: f64) -> Bins {
        let is_length = width_s.is_finite() && width_s > 0.0;
        Bins {
            max: max.max(2),
            width_s: if is_length { width_s } else { 1.0 },
            slots: Vec::new(),
        }
    }

    /// Adds a value that was read at `t_s` seconds. A value before second 0 goes into the first
    /// bin. Values and times that are not finite are skipped.
    pub fn push(&mut self, t_s: f64, value: f64) {
        if !t_s.is_finite() || !value.is_finite() {
            return;
        }
        while t_s / self.width_s >= self.max as f64 {
            self.double();
        }
        // The index saturates at 0 for values before second 0.
        let slot = (t_s / self.width_s) as usize;
        if slot >= self.slots.len() {
            self.slots.resize(slot + 1, None);
        }
        let new = Bin::new(t_s, value);
        match &mut self.slots[slot] {
            Some(bin) => bin.join(&new),
            empty => *empty = Some(new),
        }
    }

    fn double(&mut self) {
        let half = self.slots.len().div_ceil(2);
        for slot in 0..half {
            let pair = [self.slots.get(2 * slot), self.slots.get(2 * slot + 1)];
            let mut pair = pair.into_iter().flatten().flatten().copied();
            let joined = pair.next().map(|mut bin| {
                pair.for_each(|other| bin.join(&other));
                bin
            });
            self.slots[slot] = joined;
        }
        self.slots.truncate(half);
        self.width_s *= 2.0;
    }

    /// Returns the bins that contain values, in order of time.
    pub fn bins(&self) -> impl Iterator<Item = &Bin> {
        self.slots.iter().flatten()
    }

    /// Returns the bins that contain values, with their numbers. A bin begins at its number
    /// multiplied by [`Bins::width_s`].
    pub fn numbered(&self) -> impl Iterator<Item = (usize, &Bin)> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(slot, bin)| Some((slot, bin.as_ref()?)))
    }

    /// Joins bins until they are at least `width_s` wide, so that all series of a trial have the
    /// same bin edges.
    pub fn widen(&mut self, width_s: f64) {
        while self.width_s < width_s {
            self.double();
        }
    }

    /// Returns the middle of each bin in seconds, and the mean of its values. Bins without values
    /// are omitted.
    pub fn means(&self) -> Vec<(f64, f64)> {
        let middle = |slot: usize| (slot as f64 + 0.5) * self.width_s;
        let means = self.numbered();
        means.map(|(slot, bin)| (middle(slot), bin.mean())).collect()
    }

    /// Returns the current width of a bin, in seconds.
    pub fn width_s(&self) -> f64 {
        self.width_s
    }

    /// Returns the number of values in all bins.
    pub fn count(&self) -> u64 {
        self.bins().map(|bin| bin.count).sum()
    }

    /// Returns true if the series has no values.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fill(max: usize, values: &[(f64, f64)]) -> Bins {
        let mut bins = Bins::new(max);
        values.iter().for_each(|(t_s, value)| bins.push(*t_s, *value));
        bins
    }

    #[test]
    fn bins_merge_when_full_and_the_peak_keeps_its_second() {
        let peak = |t: u32| if t == 4_321 { 99.0 } else { f64::from(t % 2) };
        let values: Vec<(f64, f64)> = (0..86_400).map(|t| (f64::from(t), peak(t))).collect();
        let bins = fill(512, &values);
        assert_eq!(bins.width_s(), 256.0);
        assert_eq!((bins.bins().count(), bins.count()), (338, 86_400));
        let high = bins.bins().find(|bin| bin.max > 1.0).unwrap();
        assert_eq!((high.max, high.max_s), (99.0, 4_321.0));
        assert_eq!((high.first_s, high.last_s), (4_096.0, 4_351.0));
        assert_eq!(bins.means()[0], (128.0, 0.5));
        // Widening gives the bins the width that a longer series would have.
        let mut wider = bins.clone();
        wider.widen(500.0);
        assert_eq!((wider.width_s(), wider.count()), (512.0, 86_400));
        assert_eq!(wider.numbered().nth(8).unwrap().1.max_s, 4_321.0);
    }

    #[test]
    fn a_short_series_is_kept_second_by_second_with_its_gaps() {
        let bins = fill(8, &[(0.5, 1.0), (1.5, 2.0), (6.5, 3.0)]);
        assert_eq!(bins.means(), [(0.5, 1.0), (1.5, 2.0), (6.5, 3.0)]);
        assert_eq!(bins.width_s(), 1.0);
    }

    #[test]
    fn a_point_without_a_place_or_a_value_does_no_harm() {
        let odd = [
            (f64::NAN, 1.0),
            (1.0, f64::NAN),
            (f64::INFINITY, 1.0),
            (-7.0, 5.0),
        ];
        let bins = fill(4, &odd);
        assert_eq!((bins.count(), bins.means()), (1, vec![(0.5, 5.0)]));
        assert!(fill(0, &[]).is_empty());
        assert_eq!(Bins::with_width(4, 0.0).width_s(), 1.0);
        // A time in the far future makes the bins wider, but does not increase their number.
        assert_eq!(fill(4, &[(1.0, 1.0), (1e300, 2.0)]).bins().count(), 2);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_whatever_the_order_and_memory_is_bounded(
            values in prop::collection::vec((0.0f64..1e5, -1e3f64..1e3), 1..300),
            max in 2usize..40,
        ) {
            let bins = fill(max, &values);
            let mut backwards = values.clone();
            backwards.reverse();
            let other = fill(max, &backwards);
            prop_assert!(bins.bins().count() <= max);
            prop_assert_eq!(bins.count(), values.len() as u64);
            let fold = |of: fn(f64, f64) -> f64| values.iter().map(|v| v.1).reduce(of).unwrap();
            let ends = |bins: &Bins| {
                let high = bins.bins().max_by(|a, b| a.max.total_cmp(&b.max)).unwrap();
                let low = bins.bins().min_by(|a, b| a.min.total_cmp(&b.min)).unwrap();
                (low.min, low.min_s, high.max, high.max_s)
            };
            prop_assert_eq!(ends(&bins), ends(&other));
            prop_assert_eq!((ends(&bins).0, ends(&bins).2), (fold(f64::min), fold(f64::max)));
            let sum: f64 = bins.bins().map(|bin| bin.sum).sum();
            let all: f64 = values.iter().map(|v| v.1).sum();
            prop_assert!((sum - all).abs() < 1e-6);
            for bin in bins.bins() {
                prop_assert!(bin.last_s - bin.first_s <= bins.width_s());
                prop_assert!(bin.min <= bin.mean() + 1e-9 && bin.mean() <= bin.max + 1e-9);
            }
        }
    }
}
