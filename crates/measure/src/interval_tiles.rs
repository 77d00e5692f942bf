//! Merges the intervals of several sources into one sequence. The sources are the workers of a
//! client, or the clients of a run.
//!
//! Invariants: each interval is returned once, in order, and only after every source has completed
//! it. No two returned intervals overlap, so the sum of their lengths is the time that they cover.
//! A source that did not run for 3 s reports one interval of 3 s. The interval then contains the
//! results of all sources in these 3 s, because its results cannot be divided among the seconds.

use crate::Interval;
use std::collections::BTreeMap;

/// Share of an interval that must overlap the interval before it, so that both become one. All
/// sources end their intervals at the same times, so an overlap is usually complete. A smaller
/// overlap occurs at the start of the drain, if one source ended its interval before it learned of
/// the end.
const OVERLAP_SHARE_MIN: f64 = 0.1;

/// Progress of a source: the point up to which it has reported everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceProgress {
    /// Number of the first interval to which the source may still add.
    pub index: u64,
    /// End of the source's last interval, on the monotonic clock in ns.
    pub until_ns: u64,
}

impl SourceProgress {
    /// Progress of a source that has not reported anything.
    pub const NOTHING: SourceProgress = SourceProgress {
        index: 0,
        until_ns: 0,
    };

    /// Returns the progress of a source whose last interval has this number and this end.
    pub fn after(index: u64, end_ns: u64) -> SourceProgress {
        SourceProgress {
            index: index + 1,
            until_ns: end_ns,
        }
    }

    /// Returns the progress that all sources have made. `open` does not contain the sources that
    /// have ended.
    pub fn of_all(open: impl Iterator<Item = SourceProgress>) -> SourceProgress {
        let ended = SourceProgress {
            index: u64::MAX,
            until_ns: u64::MAX,
        };
        open.fold(ended, |least, one| SourceProgress {
            index: least.index.min(one.index),
            until_ns: least.until_ns.min(one.until_ns),
        })
    }
}

/// Intervals that not all sources have completed yet.
#[derive(Debug, Default)]
pub struct IntervalTiles {
    /// Intervals by their number. An interval has no end before the first source completes it.
    pending: BTreeMap<u64, Interval>,
    /// End of the last returned interval.
    until_ns: u64,
}

impl IntervalTiles {
    /// Returns the interval with this number, so that the caller can add results. `empty` makes the
    /// kinds of an interval without results.
    pub fn at(
        &mut self,
        index: u64,
        empty: impl FnOnce() -> Vec<crate::KindInterval>,
    ) -> &mut Interval {
        self.pending.entry(index).or_insert_with(|| Interval {
            index,
            start_ns: u64::MAX,
            end_ns: 0,
            window_from_ns: u64::MAX,
            draining: false,
            kinds: empty(),
            client: Default::default(),
        })
    }

    /// Returns the next interval, if all sources have completed it. `reported` is the progress that
    /// all sources have made.
    pub fn take(&mut self, reported: SourceProgress) -> Option<Interval> {
        loop {
            let first = self.pending.first_entry()?;
            if *first.key() >= reported.index {
                return None;
            }
            // The source that began an interval without an end was lost after its first message
            // about this interval.
            if first.get().end_ns == 0 {
                first.remove();
                continue;
            }
            let (count, end_ns) = self.overlapping();
            if end_ns > reported.until_ns {
                return None;
            }
            let (_, mut tile) = self.pending.pop_first()?;
            for _ in 0..count {
                let (_, other) = self.pending.pop_first()?;
                absorb(&mut tile, &other);
            }
            tile.start_ns = tile.start_ns.max(self.until_ns);
            tile.end_ns = tile.end_ns.max(tile.start_ns);
            self.until_ns = tile.end_ns;
            return Some(tile);
        }
    }

    /// Returns the number of intervals after the first one that become one interval with it, and
    /// the end of this interval.
    fn overlapping(&self) -> (usize, u64) {
        let mut all = self.pending.values();
        let Some(first) = all.next() else {
            return (0, 0);
        };
        let mut end_ns = first.end_ns;
        let mut count = 0;
        for (place, other) in all.enumerate() {
            // An interval without an end starts at the largest possible time.
            let overlap_ns = end_ns.min(other.end_ns).saturating_sub(other.start_ns);
            let length_ns = other.end_ns.saturating_sub(other.start_ns);
            let is_inside = other.start_ns < end_ns && other.end_ns <= end_ns;
            let is_mostly = overlap_ns as f64 > length_ns as f64 * OVERLAP_SHARE_MIN;
            if (is_inside || is_mostly) && other.draining == first.draining {
                end_ns = end_ns.max(other.end_ns);
                count = place + 1;
            }
        }
        (count, end_ns)
    }

    /// Returns true if all intervals have been returned.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }
}

/// Adds a later interval to `tile`, which then covers the time of both.
fn absorb(tile: &mut Interval, other: &Interval) {
    tile.end_ns = tile.end_ns.max(other.end_ns);
    for (sum, kind) in tile.kinds.iter_mut().zip(&other.kinds) {
        sum.is_part |= kind.is_part;
        sum.add(kind);
    }
    tile.client.add(&other.client);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KindInterval, Outcome};

    const SECOND: u64 = 1_000_000_000;

    /// A source that is simulated: the ends of its intervals in seconds, and its number of
    /// operations per second.
    struct Source {
        ends_s: Vec<u64>,
        per_s: u64,
    }

    /// Returns the intervals of these sources, as (start in s, end in s, number of operations). One
    /// source reports after the other, so each interval waits for the last source.
    fn tiles(sources: &[Source]) -> Vec<(u64, u64, u64)> {
        let mut tiles = IntervalTiles::default();
        let mut progress = vec![Some(SourceProgress::NOTHING); sources.len()];
        let mut taken = Vec::new();
        for (number, source) in sources.iter().enumerate() {
            let mut start_s = 0;
            for end_s in &source.ends_s {
                let (start_ns, end_ns) = (start_s * SECOND, end_s * SECOND);
                add(
                    &mut tiles,
                    (start_s, start_ns, end_ns),
                    source.per_s * (end_s - start_s),
                );
                progress[number] = Some(SourceProgress::after(start_s, end_ns));
                start_s = *end_s;
                let all = SourceProgress::of_all(progress.iter().flatten().copied());
                taken.extend(std::iter::from_fn(|| tiles.take(all)));
            }
            progress[number] = None;
        }
        let ended = SourceProgress::of_all(std::iter::empty());
        taken.extend(std::iter::from_fn(|| tiles.take(ended)));
        assert!(tiles.is_empty());
        let short = |one: Interval| (one.start_ns / SECOND, one.end_ns / SECOND, one.ended());
        taken.into_iter().map(short).collect()
    }

    fn add(tiles: &mut IntervalTiles, (index, start_ns, end_ns): (u64, u64, u64), ok: u64) {
        let interval = tiles.at(index, || vec![KindInterval::default()]);
        interval.start_ns = interval.start_ns.min(start_ns);
        interval.end_ns = interval.end_ns.max(end_ns);
        interval.kinds[0].outcomes.add_many(Outcome::Ok, ok);
    }

    fn source(ends_s: &[u64], per_s: u64) -> Source {
        Source {
            ends_s: ends_s.to_vec(),
            per_s,
        }
    }

    /// In one run, a client was stopped for 3 s. An earlier version returned one interval of 3 s
    /// and two further intervals within it, so 12 s of load counted as 14 s.
    #[test]
    fn intervals_do_not_overlap_if_a_source_was_stopped() {
        let steady: Vec<u64> = (1..=12).collect();
        let stopped = [1, 2, 3, 4, 5, 8, 9, 10, 11, 12];
        let [one, other] = [100, 100].map(|per_s| source(&steady, per_s));
        let found = tiles(&[one, other, source(&stopped, 100)]);
        let length: u64 = found.iter().map(|(from, to, _)| to - from).sum();
        let ended: u64 = found.iter().map(|(_, _, ended)| ended).sum();
        assert_eq!((length, ended), (12, 3600));
        assert_eq!(found[5], (5, 8, 900));
        assert!(found.iter().all(|(from, to, ended)| *ended == 300 * (to - from)));
    }

    #[test]
    fn overlaps_of_two_stopped_sources_become_one_interval() {
        let found = tiles(&[source(&[3, 4, 5, 6], 1), source(&[1, 2, 4, 5, 6], 1)]);
        assert_eq!(found, [(0, 4, 8), (4, 5, 2), (5, 6, 2)]);
        let found = tiles(&[source(&[1, 2, 3], 1), source(&[1, 2, 3], 1)]);
        assert_eq!(found, [(0, 1, 2), (1, 2, 2), (2, 3, 2)]);
    }

    #[test]
    fn a_drain_never_becomes_part_of_the_window() {
        let mut tiles = IntervalTiles::default();
        add(&mut tiles, (0, 0, 1000), 5);
        add(&mut tiles, (1, 990, 1500), 2);
        tiles.at(1, Vec::new).draining = true;
        // The other source ended its interval 10 ns after the load stopped.
        add(&mut tiles, (2, 1490, 2500), 1);
        tiles.at(2, Vec::new).draining = true;
        let ended = SourceProgress::of_all(std::iter::empty());
        let spans: Vec<_> = std::iter::from_fn(|| tiles.take(ended))
            .map(|one| (one.start_ns, one.end_ns, one.draining))
            .collect();
        let expected = [(0, 1000, false), (1000, 1500, true), (1500, 2500, true)];
        assert_eq!(spans, expected);
    }

    #[test]
    fn an_interval_waits_for_the_slowest_source() {
        let mut tiles = IntervalTiles::default();
        add(&mut tiles, (0, 0, 3 * SECOND), 1);
        let reported = |until_s: u64| SourceProgress::after(until_s - 1, until_s * SECOND);
        assert!(tiles.take(reported(2)).is_none());
        assert!(tiles.take(reported(3)).is_some());
        // A source was lost after its first message about interval 3.
        tiles.at(3, || vec![KindInterval::default()]);
        add(&mut tiles, (4, 4 * SECOND, 5 * SECOND), 1);
        let index = tiles.take(reported(5)).map(|interval| interval.index);
        assert_eq!((index, tiles.is_empty()), (Some(4), true));
    }
}
