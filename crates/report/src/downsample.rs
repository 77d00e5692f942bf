//! Downsamples time series and keeps their peaks. Each bucket of time keeps its smallest and its
//! largest value, in the order in which they occurred.
//!
//! A mean, or every n-th value, would hide a single second in which the disk was busy. The measured
//! window gets [`WINDOW_SHARE`] of the buckets, even if it is short compared with the load phase.

/// Minimum share of the buckets that divide the measured window.
const WINDOW_SHARE: f64 = 0.6;
/// Maximum distance between two readings that a line connects, as a multiple of the typical
/// distance. A larger distance leaves a gap, because readings are missing.
const GAP_LOOKS: f64 = 5.0;

/// Buckets that divide the time axis of one trial.
#[derive(Clone, Debug)]
pub struct Buckets {
    /// Borders of the buckets in seconds, in ascending order. Their number exceeds the number of
    /// buckets by one.
    borders: Vec<f64>,
}

/// Positions and values of a line. A value of `None` leaves a gap in the line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThinnedSeries {
    /// Positions on the time axis, in seconds.
    pub x: Vec<f64>,
    pub y: Vec<Option<f64>>,
    pub thinned: bool,
}

impl Buckets {
    /// Divides `span` into about `count` buckets, but at least about 4. `span` and the measured
    /// `window` each consist of a start and an end in seconds.
    pub fn new(span: [f64; 2], window: Option<[f64; 2]>, count: usize) -> Buckets {
        let [from, to] = span;
        let count = count.max(4) as f64;
        let Some([begin, end]) = window else {
            return Buckets {
                borders: even(&[(from, to, count)]),
            };
        };
        let (begin, end) = (begin.clamp(from, to), end.clamp(from, to));
        let rest = (begin - from) + (to - end);
        if rest <= 0.0 {
            return Buckets {
                borders: even(&[(from, to, count)]),
            };
        }
        // A window that covers most of the trial has an even larger share of the buckets.
        let share = ((end - begin) / (to - from)).max(WINDOW_SHARE);
        let outside = |length: f64| count * (1.0 - share) * length / rest;
        let parts = [
            (from, begin, outside(begin - from)),
            (begin, end, count * share),
            (end, to, outside(to - end)),
        ];
        Buckets {
            borders: even(&parts),
        }
    }

    pub fn count(&self) -> usize {
        self.borders.len().saturating_sub(1)
    }

    fn bucket(&self, t_s: f64) -> usize {
        let above = self.borders.partition_point(|border| *border <= t_s);
        above.saturating_sub(1).min(self.count().saturating_sub(1))
    }

    /// Returns the position of the first or second value of a bucket, at a quarter or at three
    /// quarters of the bucket's width.
    fn place(&self, bucket: usize, second: bool) -> f64 {
        let (from, to) = (self.borders[bucket], self.borders[bucket + 1]);
        from + (to - from) * if second { 0.75 } else { 0.25 }
    }

    /// Downsamples a series, whose values are in order of time. Each value is a pair of a time in
    /// seconds and a number. A series with at most two values per bucket keeps all values.
    pub fn thin(&self, values: &[(f64, f64)]) -> ThinnedSeries {
        if values.len() <= 2 * self.count() {
            return whole(values);
        }
        let mut found: Vec<Option<Extremes>> = vec![None; self.count()];
        for (index, (t_s, value)) in values.iter().enumerate() {
            let bucket = &mut found[self.bucket(*t_s)];
            match bucket {
                Some(extremes) => extremes.add(index, *value),
                None => *bucket = Some(Extremes::new(index, *value)),
            }
        }
        let mut thinned = ThinnedSeries {
            thinned: true,
            ..ThinnedSeries::default()
        };
        for (bucket, extremes) in found.iter().enumerate() {
            let pair = extremes.as_ref().map(Extremes::in_order);
            for second in [false, true] {
                thinned.x.push(self.place(bucket, second));
                thinned.y.push(pair.map(|pair| pair[usize::from(second)].1));
            }
        }
        thinned.bridge();
        thinned
    }

    /// Returns the indexes of the readings that stacked series keep. In each bucket, these are the
    /// readings with the smallest and the largest `total`. If there are at most two readings per
    /// bucket, returns all indexes.
    pub fn looks(&self, total: &[(f64, f64)]) -> Vec<usize> {
        if total.len() <= 2 * self.count() {
            return (0..total.len()).collect();
        }
        let mut found: Vec<Option<Extremes>> = vec![None; self.count()];
        for (index, (t_s, value)) in total.iter().enumerate() {
            let bucket = &mut found[self.bucket(*t_s)];
            match bucket {
                Some(extremes) => extremes.add(index, *value),
                None => *bucket = Some(Extremes::new(index, *value)),
            }
        }
        let mut kept: Vec<usize> = Vec::with_capacity(2 * self.count());
        for extremes in found.iter().flatten() {
            kept.extend(extremes.in_order().map(|(index, _)| index));
        }
        kept.dedup();
        kept
    }
}

/// Returns the borders of buckets. Each item of `parts` contains a period's start, its end and its
/// number of buckets, which is rounded to a whole number.
fn even(parts: &[(f64, f64, f64)]) -> Vec<f64> {
    let mut borders = Vec::new();
    for (from, to, count) in parts {
        if to <= from {
            continue;
        }
        let count = count.round().max(1.0) as usize;
        let border = |i: usize| from + (to - from) * i as f64 / count as f64;
        borders.pop();
        borders.extend((0..=count).map(border));
    }
    borders
}

#[derive(Clone, Debug)]
struct Extremes {
    low: (usize, f64),
    high: (usize, f64),
}

impl Extremes {
    fn new(index: usize, value: f64) -> Extremes {
        Extremes {
            low: (index, value),
            high: (index, value),
        }
    }

    fn add(&mut self, index: usize, value: f64) {
        if value < self.low.1 {
            self.low = (index, value);
        }
        if value > self.high.1 {
            self.high = (index, value);
        }
    }

    fn in_order(&self) -> [(usize, f64); 2] {
        if self.low.0 <= self.high.0 {
            [self.low, self.high]
        } else {
            [self.high, self.low]
        }
    }
}

impl ThinnedSeries {
    /// Fills each single empty bucket with the previous value. Such a bucket may be empty by
    /// chance, so it must not leave a gap.
    fn bridge(&mut self) {
        for at in (2..self.y.len().saturating_sub(2)).step_by(2) {
            if self.y[at].is_none() && self.y[at + 2].is_some() {
                self.y[at] = self.y[at - 1];
                self.y[at + 1] = self.y[at - 1];
            }
        }
    }
}

/// Returns all values of a series, with a gap wherever readings are missing.
fn whole(values: &[(f64, f64)]) -> ThinnedSeries {
    let mut steps: Vec<f64> = values.windows(2).map(|w| w[1].0 - w[0].0).collect();
    steps.sort_by(f64::total_cmp);
    let usual = steps.get(steps.len() / 2).copied().unwrap_or(0.0);
    let mut all = ThinnedSeries::default();
    let mut last: Option<f64> = None;
    for (t_s, value) in values {
        if let Some(last) = last.filter(|last| usual > 0.0 && t_s - last > GAP_LOOKS * usual) {
            all.x.push(last + usual);
            all.y.push(None);
        }
        all.x.push(*t_s);
        all.y.push(Some(*value));
        last = Some(*t_s);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(count: usize, peak: usize) -> Vec<(f64, f64)> {
        let value = |i: usize| (i as f64, if i == peak { 99.0 } else { (i % 3) as f64 });
        (0..count).map(value).collect()
    }

    #[test]
    fn a_peak_of_one_look_survives_wherever_it_is() {
        let buckets = Buckets::new([0.0, 10_000.0], Some([9_000.0, 9_600.0]), 100);
        for peak in [0, 1, 4_999, 9_333, 9_999] {
            let thinned = buckets.thin(&series(10_000, peak));
            assert!(thinned.thinned && thinned.x.len() <= 2 * buckets.count());
            assert!(thinned.y.contains(&Some(99.0)), "{peak}");
            assert!(thinned.y.contains(&Some(0.0)), "{peak}");
        }
    }

    #[test]
    fn the_measured_window_gets_most_of_the_buckets_however_short() {
        let buckets = Buckets::new([0.0, 10_000.0], Some([9_000.0, 9_600.0]), 100);
        let inside = |t: &&f64| (9_000.0..9_600.0).contains(*t);
        assert_eq!(buckets.borders.iter().filter(inside).count(), 60);
        assert!((95..=105).contains(&buckets.count()), "{}", buckets.count());
    }

    #[test]
    fn places_are_ascending_and_the_same_for_all_long_series() {
        let buckets = Buckets::new([0.0, 1_000.0], None, 50);
        let (a, b) = (
            buckets.thin(&series(1_000, 3)),
            buckets.thin(&series(900, 700)),
        );
        assert_eq!(a.x, b.x);
        assert!(a.x.windows(2).all(|w| w[0] < w[1]));
        assert_eq!(b.y.last(), Some(&None));
    }

    #[test]
    fn a_short_series_stays_whole_and_missing_looks_leave_a_gap() {
        let buckets = Buckets::new([0.0, 100.0], None, 50);
        let values: Vec<(f64, f64)> = [0, 1, 2, 3, 60, 61].map(|t| (f64::from(t), 1.0)).to_vec();
        let thinned = buckets.thin(&values);
        assert!(!thinned.thinned);
        assert_eq!(thinned.y.iter().filter(|y| y.is_none()).count(), 1);
        assert_eq!(thinned.x.len(), 7);
    }

    #[test]
    fn looks_are_kept_by_their_total() {
        let buckets = Buckets::new([0.0, 1_000.0], None, 10);
        let kept = buckets.looks(&series(1_000, 555));
        assert!(kept.contains(&555) && kept.len() <= 20, "{kept:?}");
        assert!(kept.windows(2).all(|w| w[0] < w[1]));
    }
}
