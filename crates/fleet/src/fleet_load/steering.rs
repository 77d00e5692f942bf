//! Sends changes of a running load to several clients in time, each with a time on the client's own
//! clock.
//!
//! Invariant: if a client learns too late of the start of its window or the end of its load, its
//! load differs from that of the others. The controller always detects this.

use super::{FleetLoad, Word};
use crate::client_requests::{HeardAt, Steer};
use crate::clients::SILENCE_S;
use load::Flow;
use measure::clock;
use std::sync::Arc;
use std::time::Duration;

/// Minimum time between sending a change and the change itself, in ns. The controller adds
/// `WAYS_AHEAD` times the largest error bound of a clock offset, which measures the transit time.
/// So the change arrives in time, even on an overloaded machine.
const AHEAD_NS: u64 = clock::SECOND_NS;
const WAYS_AHEAD: u64 = 10;

impl FleetLoad {
    fn soon_ns(&self) -> u64 {
        let ways = self.clocks.iter().filter_map(|clock| clock.offset());
        let way_ns = ways.map(|offset| offset.bound_ns).max().unwrap_or(0);
        clock::now_ns() + AHEAD_NS + WAYS_AHEAD * way_ns
    }

    pub(super) fn steer(&mut self, flow: Flow) {
        match flow {
            Flow::Continue => {}
            Flow::StopAt(at_ns) => self.tell(|line| Steer::StopAt(line(at_ns))),
            Flow::StopNow => {
                let at_ns = self.soon_ns();
                self.tell(|line| Steer::StopAt(line(at_ns)));
            }
            Flow::Measure(count) => {
                let ahead_ns = self.soon_ns().saturating_sub(self.shown_ns).max(1);
                let edge_ns = self.shown_ns + ahead_ns.next_multiple_of(self.interval_ns);
                self.window_from_ns = edge_ns;
                let until_ns = edge_ns + count * self.interval_ns;
                self.tell(|line| Steer::Measure {
                    from_ns: line(edge_ns),
                    until_ns: line(until_ns),
                });
            }
            Flow::Abandon => self.tell(|_| Steer::Abandon),
        }
    }

    /// Sends a change to all clients, without waiting for answers. Times on a client's clock have
    /// the same distance from its start line as the local times from the local one. A client that
    /// does not receive the change counts as silent, and one that receives it too late is reported.
    fn tell(&self, what: impl Fn(&dyn Fn(u64) -> u64) -> Steer) {
        for (number, link) in self.links.iter().enumerate() {
            let said = &self.said[number];
            if said.next.is_none() {
                continue;
            }
            let since = |ns: u64| ns.saturating_sub(self.merging.start_ns);
            let call = what(&|ns| said.theirs_start_ns + since(ns));
            let (link, hearing) = (Arc::clone(link), self.hearing.clone());
            std::thread::spawn(move || {
                let answer = link.call(&call, Duration::from_secs(SILENCE_S));
                if let Some(late_ns) = answer.ok().and_then(|heard| late_ns(call, heard)) {
                    let _ = hearing.send((number, Word::Late(late_ns)));
                }
            });
        }
    }
}

/// Returns the time by which a client learned of a change too late. Returns `None` if it was in
/// time.
fn late_ns(told: Steer, heard: HeardAt) -> Option<u64> {
    let late_ns = heard.at_ns.saturating_sub(told.first_ns()?);
    (late_ns > 0).then_some(late_ns)
}

pub(super) fn too_late(ns: u64) -> String {
    format!(
        "received the message about the start of the window or the end of the load {:.3} s too \
         late, so its load differed from the planned load",
        ns as f64 / 1e9
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only the start of a window counts.
    #[test]
    fn a_client_that_hears_of_a_time_after_it_has_come_is_late() {
        let measure = Steer::Measure {
            from_ns: 500,
            until_ns: 900,
        };
        let late = |told, at_ns| late_ns(told, HeardAt { at_ns });
        assert_eq!((late(measure, 500), late(measure, 507)), (None, Some(7)));
        assert_eq!(
            (late(Steer::StopAt(3), 2), late(Steer::StopAt(3), 4)),
            (None, Some(1))
        );
        assert_eq!(late(Steer::Abandon, 9), None);
        let said = too_late(7_000_000);
        assert!(said.contains("0.007 s too late"), "{said}");
    }
}
