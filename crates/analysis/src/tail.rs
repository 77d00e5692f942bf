//! Matches the slowest operations of a window with events, and decides whether chance can explain
//! the matches.
//!
//! An operation matches events if it spent at least half of its time in them. For events at random
//! times, the probability of a match is about the share of the window that the events cover,
//! however long the events are.
//!
//! Slow operations come in groups, because one stall slows many of them. A test that counted
//! operations as independent would find far too many explanations. So [`judge`] moves all events by
//! the same time, for many different times. An event that leaves the window at its end enters the
//! window at its start. The operations keep their groups, and the events their distances. The
//! p-value is the share of these positions with at least as many matches as the true position. This
//! is a test by random rotation, as for point processes (Lotwick and Silverman, 1982, doi
//! 10.1111/j.2517-6161.1982.tb01221.x).

/// Number of positions of the events, including the true one. The smallest p-value is then 0.001.
const POSITIONS: usize = 1_000;

/// Period from a start to an end, in seconds.
pub type Period = [f64; 2];

/// Result for one series of events.
#[derive(Clone, Debug, PartialEq)]
pub struct TailMatch {
    /// Indices of the operations that spent at least half of their time in the events, in
    /// ascending order.
    pub matched: Vec<usize>,
    /// Number of events in which at least one of these operations spent time.
    pub events: usize,
    /// Number of events between the start of the window and the end of the last operation.
    pub events_in_window: usize,
    /// Share of this time that the events cover, from 0 to 1.
    pub covered: f64,
    /// Mean number of matched operations over all positions of the events.
    pub expected: f64,
    /// Share of positions with at least as many matched operations as the true one.
    pub chance: f64,
}

/// Matches operations with the events of one series. `operations` are the times from the due time
/// to the end. Operations are due in `window`, and may end after it. Events may overlap, and may be
/// outside the window.
pub fn judge(window: Period, operations: &[Period], events: &[Period]) -> TailMatch {
    let ends = operations.iter().map(|operation| operation[1]);
    let whole = [window[0], ends.fold(window[1], f64::max)];
    let clipped: Vec<Period> = events
        .iter()
        .map(|event| [event[0].max(whole[0]), event[1].min(whole[1])])
        .filter(|event| event[1] > event[0])
        .collect();
    let cover = Cover::new(whole, &clipped);
    let matched: Vec<usize> = (0..operations.len())
        .filter(|index| cover.matches(operations[*index], 0.0))
        .collect();
    let touches = |event: &&Period| {
        let inside = |index: &usize| {
            let operation = operations[*index];
            operation[0] < event[1] && event[0] < operation[1]
        };
        matched.iter().any(inside)
    };
    let count_at = |position: usize| {
        let by_s = cover.length_s() * position as f64 / POSITIONS as f64;
        operations.iter().filter(|operation| cover.matches(**operation, by_s)).count()
    };
    let counts: Vec<usize> = (0..POSITIONS).map(count_at).collect();
    let as_many = counts.iter().filter(|count| **count >= matched.len()).count();
    TailMatch {
        events: clipped.iter().filter(touches).count(),
        events_in_window: clipped.len(),
        covered: cover.share(),
        expected: counts.iter().sum::<usize>() as f64 / POSITIONS as f64,
        chance: as_many as f64 / POSITIONS as f64,
        matched,
    }
}

/// Returns the probability of at least `count` successes in `trials` independent trials, each with
/// probability `share`. The function is for properties of operations that have no time, such as
/// retries.
pub fn chance_of_share(count: usize, trials: usize, share: f64) -> f64 {
    use statrs::distribution::{Binomial, DiscreteCDF};
    let Some(below) = count.checked_sub(1) else {
        return 1.0;
    };
    Binomial::new(share.clamp(0.0, 1.0), trials as u64).map_or(1.0, |one| one.sf(below as u64))
}

/// Time that events cover, as a function on a circle.
struct Cover {
    whole: Period,
    /// Disjoint periods in ascending order, with the covered time before each of them.
    merged: Vec<(Period, f64)>,
    covered_s: f64,
}

impl Cover {
    /// Merges the events, which must be within `whole`.
    fn new(whole: Period, events: &[Period]) -> Cover {
        let mut sorted = events.to_vec();
        sorted.sort_by(|one, other| one[0].total_cmp(&other[0]));
        let mut merged: Vec<(Period, f64)> = Vec::new();
        let mut covered_s = 0.0;
        for event in sorted {
            match merged.last_mut() {
                Some((last, _)) if event[0] <= last[1] => {
                    covered_s += (event[1] - last[1]).max(0.0);
                    last[1] = last[1].max(event[1]);
                }
                _ => {
                    merged.push((event, covered_s));
                    covered_s += event[1] - event[0];
                }
            }
        }
        Cover {
            whole,
            merged,
            covered_s,
        }
    }

    fn length_s(&self) -> f64 {
        self.whole[1] - self.whole[0]
    }

    fn share(&self) -> f64 {
        if self.length_s() > 0.0 {
            self.covered_s / self.length_s()
        } else {
            0.0
        }
    }

    /// Returns true if an operation spends at least half of its time in the events, after all
    /// events have moved `by_s` later.
    fn matches(&self, operation: Period, by_s: f64) -> bool {
        let length_s = operation[1] - operation[0];
        let inside_s = self.before(operation[1] - by_s) - self.before(operation[0] - by_s);
        length_s > 0.0 && 2.0 * inside_s >= length_s
    }

    /// Returns the covered time from the start of the circle to a time. The time may be up to one
    /// revolution before the start, and the result is then negative.
    fn before(&self, time_s: f64) -> f64 {
        let since_s = time_s - self.whole[0];
        if since_s < 0.0 {
            return self.within(since_s + self.length_s()) - self.covered_s;
        }
        self.within(since_s)
    }

    fn within(&self, since_s: f64) -> f64 {
        let time_s = self.whole[0] + since_s;
        let after = self.merged.partition_point(|(period, _)| period[0] < time_s);
        let Some((period, before_s)) = after.checked_sub(1).map(|index| self.merged[index]) else {
            return 0.0;
        };
        before_s + time_s.min(period[1]) - period[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Period = [10.0, 70.0];

    /// Returns `count` operations that are due evenly in a stall and end with it.
    fn stuck(count: usize, from_s: f64, to_s: f64) -> Vec<Period> {
        let due = |index: usize| from_s + (to_s - from_s) * index as f64 / count as f64;
        (0..count).map(|index| [due(index), to_s]).collect()
    }

    #[test]
    fn operations_of_three_pauses_are_explained_by_these_pauses() {
        let mut operations = stuck(30, 15.0, 15.03);
        operations.extend(stuck(41, 31.0, 31.04));
        operations.extend(stuck(9, 60.0, 60.03));
        operations.extend(stuck(20, 45.0, 45.03));
        let pauses = [[15.0, 15.03], [31.0, 31.04], [50.0, 50.04], [60.0, 60.03]];
        let found = judge(WINDOW, &operations, &pauses);
        assert_eq!((found.matched.len(), found.events), (80, 3));
        assert_eq!(found.events_in_window, 4);
        assert!(
            (found.covered - 0.14 / 60.0).abs() < 1e-9,
            "{}",
            found.covered
        );
        assert!(found.chance <= 0.001, "{}", found.chance);
        assert!(found.expected < 1.0, "{}", found.expected);
    }

    /// All slow operations belong to one stall, and one event covers it. If operations counted as
    /// independent, the probability would be 0.1 to the power of 100.
    #[test]
    fn one_stall_in_one_long_event_may_be_chance() {
        let operations = stuck(100, 30.0, 30.05);
        let found = judge(WINDOW, &operations, &[[28.0, 34.0]]);
        assert_eq!(found.matched.len(), 100);
        assert!((0.09..0.11).contains(&found.chance), "{}", found.chance);
    }

    #[test]
    fn one_stall_in_one_short_event_is_not_chance() {
        let operations = stuck(100, 30.0, 30.2);
        let found = judge(WINDOW, &operations, &[[30.0, 30.2]]);
        assert_eq!(found.matched.len(), 100);
        assert!(found.chance < 0.01, "{}", found.chance);
    }

    #[test]
    fn an_event_much_shorter_than_an_operation_does_not_match_it() {
        let found = judge(WINDOW, &[[20.0, 22.0]], &[[21.0, 21.1]]);
        assert_eq!((found.matched.len(), found.events), (0, 0));
        assert_eq!(found.chance, 1.0);
    }

    #[test]
    fn frequent_events_match_by_their_share_and_explain_nothing() {
        // Events cover 60 % of the time. The operations are at random moments.
        let events: Vec<Period> =
            (0..600).map(|n| 10.0 + f64::from(n) * 0.1).map(|s| [s, s + 0.06]).collect();
        let operations: Vec<Period> = (0..100)
            .map(|n| 10.0 + (f64::from(n) * 37.123) % 59.0)
            .map(|due_s| [due_s, due_s + 0.01])
            .collect();
        let found = judge(WINDOW, &operations, &events);
        assert!(
            (45..75).contains(&found.matched.len()),
            "{}",
            found.matched.len()
        );
        assert!(found.chance > 0.05, "{}", found.chance);
        assert!((found.expected - 60.0).abs() < 3.0, "{}", found.expected);
    }

    #[test]
    fn events_outside_the_window_or_told_twice_count_no_more() {
        let events = [[0.0, 9.0], [69.0, 90.0], [20.0, 21.0], [20.5, 21.0]];
        let found = judge(WINDOW, &[[68.0, 72.0]], &events);
        // An operation at the end of the window ends in the drain, where the event continues.
        assert_eq!(found.matched, [0]);
        assert!(
            (found.covered - 4.0 / 62.0).abs() < 1e-9,
            "{}",
            found.covered
        );
        let none = judge(WINDOW, &[], &[]);
        assert_eq!((none.matched.len(), none.chance), (0, 1.0));
    }

    #[test]
    fn events_that_leave_at_the_end_enter_at_the_start() {
        let cover = Cover::new([0.0, 10.0], &[[8.0, 9.0]]);
        assert!(cover.matches([8.0, 9.0], 0.0));
        assert!(cover.matches([1.0, 2.0], 3.0));
        assert!(!cover.matches([2.0, 3.0], 3.0));
    }

    #[test]
    fn a_share_of_retries_has_the_probability_of_the_binomial() {
        assert_eq!(chance_of_share(0, 100, 0.01), 1.0);
        let one = chance_of_share(1, 2, 0.5);
        assert!((one - 0.75).abs() < 1e-12, "{one}");
        assert!(chance_of_share(50, 100, 0.01) < 1e-12);
    }
}
