//! Estimates the offset of another machine's monotonic clock from exchanges over the link.
//!
//! An exchange has four times: sent (here), read and answered (on the other machine), and received
//! (here). The other clock is ahead by at most `read - sent` and by at least `answered - received`.
//! So the error is at most half of the round trip, for any delays. The module intersects the
//! intervals of many exchanges, so the fastest exchange determines the result, as in NTP's clock
//! filter (RFC 5905, section 10). A mean would include the delays of a busy machine.

use crate::{Call, Link, Serve};
use anyhow::Result;
use measure::clock;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Time in which two clocks drift apart by at most one nanosecond, in nanoseconds. The bounds of
/// old estimates widen at this rate. A quartz clock is accurate to 100 ppm, and two clocks may be
/// wrong in opposite directions.
const DRIFT_NS: u64 = 5000;

/// Call that reads the agent's monotonic clock twice: at the arrival of the call, and before the
/// answer.
#[derive(Serialize, Deserialize)]
pub struct ReadClock;

impl Call for ReadClock {
    const NAME: &'static str = "read-its-clock";
    type Answer = [u64; 2];
}

impl<S> Serve<S> for ReadClock {
    fn serve(self, _: &S) -> Result<[u64; 2]> {
        Ok([clock::now_ns(), clock::now_ns()])
    }
}

/// Offset of another machine's clock from this machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// Time by which the other clock is ahead, in nanoseconds.
    pub ahead_ns: i64,
    /// Bound on the error of the offset, in nanoseconds.
    pub bound_ns: u64,
}

impl Offset {
    /// Converts a time of the other machine's clock to this machine's clock.
    pub fn ours(self, theirs_ns: u64) -> u64 {
        theirs_ns.saturating_add_signed(self.ahead_ns.saturating_neg())
    }

    /// Converts a time of this machine's clock to the other machine's clock.
    pub fn theirs(self, ours_ns: u64) -> u64 {
        ours_ns.saturating_add_signed(self.ahead_ns)
    }
}

/// Current estimate of the offset of another machine's clock.
#[derive(Clone, Debug, Default)]
pub struct ClockOffset {
    known: Option<KnownOffset>,
    breaks: u64,
}

/// Bounds of the other clock's offset at one time of this machine's clock.
#[derive(Clone, Copy, Debug)]
struct KnownOffset {
    low_ns: i64,
    high_ns: i64,
    at_ns: u64,
}

impl ClockOffset {
    /// Reads the agent's clock over `link`, and adds this exchange to the estimate.
    ///
    /// # Errors
    /// The agent has ended, or does not answer within `limit`.
    pub fn ask(&mut self, link: &Link, limit: Duration) -> Result<()> {
        let sent_ns = clock::now_ns();
        let [read_ns, answered_ns] = link.call(&ReadClock, limit)?;
        self.add([sent_ns, read_ns, answered_ns, clock::now_ns()]);
        Ok(())
    }

    /// Adds the four times of an exchange: sent, read, answered, received. If the exchange
    /// contradicts earlier ones, a clock was set or stopped. The function then drops the earlier
    /// bounds and counts a break.
    pub fn add(&mut self, [sent_ns, read_ns, answered_ns, received_ns]: [u64; 4]) {
        let new = KnownOffset {
            low_ns: answered_ns.wrapping_sub(received_ns) as i64,
            high_ns: read_ns.wrapping_sub(sent_ns) as i64,
            at_ns: sent_ns,
        };
        let both = self.known.map_or(new, |before| {
            let age_ns = received_ns.saturating_sub(before.at_ns);
            let drift_ns = (age_ns / DRIFT_NS) as i64 + 1;
            KnownOffset {
                low_ns: new.low_ns.max(before.low_ns.saturating_sub(drift_ns)),
                high_ns: new.high_ns.min(before.high_ns.saturating_add(drift_ns)),
                ..new
            }
        });
        let agree = both.low_ns <= both.high_ns;
        self.breaks += u64::from(!agree);
        self.known = Some(if agree { both } else { new });
    }

    pub fn offset(&self) -> Option<Offset> {
        let KnownOffset {
            low_ns, high_ns, ..
        } = self.known?;
        let width_ns = high_ns.saturating_sub(low_ns).max(0);
        Some(Offset {
            ahead_ns: low_ns + width_ns / 2,
            bound_ns: width_ns.unsigned_abs().div_ceil(2),
        })
    }

    /// Returns the number of times that a clock was set or stopped.
    pub fn breaks(&self) -> u64 {
        self.breaks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND_NS: u64 = clock::SECOND_NS;

    #[test]
    fn an_exchange_bounds_the_offset_by_half_its_round_trip() {
        // Times of the exchange, offset, and bound of the offset's error.
        for (times, ahead_ns, bound_ns) in [
            ([0, 15, 25, 20], 10, 5),
            // The whole delay is in one direction, and the other clock is 1000 s ahead.
            (
                [100, 1_000_000_000_140, 1_000_000_000_140, 140],
                1_000_000_000_020,
                20,
            ),
            // The other machine started later.
            ([5000, 1010, 1030, 5060], -4010, 20),
            ([7, 7, 7, 7], 0, 0),
        ] {
            let mut theirs = ClockOffset::default();
            assert_eq!(theirs.offset(), None);
            theirs.add(times);
            let offset = theirs.offset().unwrap();
            assert_eq!((offset.ahead_ns, offset.bound_ns), (ahead_ns, bound_ns));
        }
        let offset = Offset {
            ahead_ns: 40,
            bound_ns: 0,
        };
        assert_eq!((offset.ours(100), offset.ours(7)), (60, 0));
        assert_eq!(offset.theirs(60), 100);
    }

    #[test]
    fn a_clock_that_was_set_is_noticed_and_believed_from_then_on() {
        let mut theirs = ClockOffset::default();
        theirs.add([0, 10, 10, 20]);
        theirs.add([
            SECOND_NS,
            SECOND_NS + 5010,
            SECOND_NS + 5010,
            SECOND_NS + 20,
        ]);
        assert_eq!(
            (theirs.breaks(), theirs.offset().unwrap().ahead_ns),
            (0, 5000)
        );
        let late = 2 * SECOND_NS;
        theirs.add([late, late + SECOND_NS, late + SECOND_NS, late + 20]);
        assert_eq!(theirs.breaks(), 1);
        assert_eq!(theirs.offset().unwrap().ahead_ns, SECOND_NS as i64 - 10);
    }

    proptest! {
        #[test]
        fn the_truth_lies_within_the_bound(
            ahead_ns in -1_000_000_000_000_i64..1_000_000_000_000,
            drift in -200_i64..=200,
            delays in prop::collection::vec(
                (0_u64..3_000_000_000, 0_u64..50_000_000, 0_u64..9_000, 0_u64..50_000_000), 1..60),
        ) {
            let begin_ns = 2_000_000_000_000_u64;
            let mut now_ns = begin_ns;
            let ahead_at = |ours_ns: u64| {
                let drifted = i128::from(ours_ns - begin_ns) * i128::from(drift) / 1_000_000;
                ahead_ns + drifted as i64
            };
            let theirs_at = |ours_ns: u64| ours_ns.strict_add_signed(ahead_at(ours_ns));
            let mut theirs = ClockOffset::default();
            for (pause, there, within, back) in delays {
                let sent_ns = now_ns + pause;
                let read_ns = sent_ns + there;
                now_ns = read_ns + within + back;
                theirs.add([sent_ns, theirs_at(read_ns), theirs_at(read_ns + within), now_ns]);
                let offset = theirs.offset().unwrap();
                let error_ns = offset.ahead_ns.abs_diff(ahead_at(now_ns));
                // Maximum drift since the exchange, plus rounding.
                let within_ns = (now_ns - sent_ns) / DRIFT_NS + 2;
                prop_assert!(error_ns <= offset.bound_ns + within_ns, "{error_ns} {offset:?}");
            }
            prop_assert_eq!(theirs.breaks(), 0);
        }

        #[test]
        fn any_times_are_taken_without_a_panic(times in prop::array::uniform8(any::<u64>())) {
            let mut theirs = ClockOffset::default();
            for four in times.chunks(4) {
                theirs.add([four[0], four[1], four[2], four[3]]);
                let offset = theirs.offset().unwrap();
                let _ = offset.ours(times[0]);
            }
        }
    }
}
