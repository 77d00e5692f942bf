//! Tracks the phases of a trial: which phases of the plan have begun, and when each began and
//! ended.

use measure::clock;
use store::record::PhaseTimeRecord;
use study::plan::{Phase, PhaseKind};

/// Phases of a trial so far, with times of the monotonic clock.
#[derive(Debug)]
pub struct Timeline {
    start_ns: u64,
    phases: Vec<(&'static str, u64, Option<u64>)>,
    /// Index of the first phase of the plan that may still begin.
    next: usize,
}

/// A span of time. The user of the span decides which clock the times refer to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSpan {
    /// Start of the span, in ns.
    pub from_ns: u64,
    /// End of the span, in ns.
    pub to_ns: u64,
}

impl Timeline {
    /// Returns a timeline without phases. `start_ns` is the start line of the trial.
    pub fn new(start_ns: u64) -> Timeline {
        Timeline {
            start_ns,
            phases: Vec::new(),
            next: 0,
        }
    }

    /// Returns the next of the `planned` phases with this `kind`, and the phases after it. If a
    /// kind occurs more often than planned, as in a further round of loading, returns the
    /// description of the previous phase of this kind. An unplanned phase has no description.
    pub fn advance<'p>(
        &mut self,
        kind: PhaseKind,
        planned: &'p [Phase],
    ) -> (Option<&'p Phase>, &'p [Phase]) {
        let (begun, left) = planned.split_at(self.next.min(planned.len()));
        let Some(at) = left.iter().position(|phase| phase.kind == kind) else {
            return (begun.iter().rev().find(|phase| phase.kind == kind), left);
        };
        self.next += at + 1;
        (Some(&left[at]), &left[at + 1..])
    }

    /// Begins a phase, which ends the previous one.
    pub fn begin(&mut self, name: &'static str, at_ns: u64) {
        self.end_at(at_ns);
        self.phases.push((name, at_ns, None));
    }

    /// Ends the measured window, if it was active. Afterwards, the client waits until the
    /// operations that were due in the window have ended.
    pub fn begin_drain(&mut self, at_ns: u64) {
        if let Some(("measure", _, None)) = self.phases.last() {
            self.begin("drain", at_ns);
        }
    }

    /// Ends the last phase.
    pub fn end(&mut self) {
        self.end_at(clock::now_ns());
    }

    fn end_at(&mut self, at_ns: u64) {
        if let Some((_, _, end @ None)) = self.phases.last_mut() {
            *end = Some(at_ns);
        }
    }

    pub fn last(&self, name: &str) -> Option<TimeSpan> {
        let found = self.phases.iter().rev().find(|(known, _, _)| *known == name);
        found.map(|(_, from, to)| TimeSpan {
            from_ns: *from,
            to_ns: to.unwrap_or_else(clock::now_ns),
        })
    }

    /// Returns the records of the phases for the finding.
    pub fn records(&self) -> Vec<PhaseTimeRecord> {
        let since_start_s = |ns: u64| ns.saturating_sub(self.start_ns) as f64 / 1e9;
        let record = |(name, from, to): &(&'static str, u64, Option<u64>)| PhaseTimeRecord {
            name: (*name).to_owned(),
            from_s: since_start_s(*from),
            to_s: since_start_s(to.unwrap_or_else(clock::now_ns)),
        };
        self.phases.iter().map(record).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::plan::PhaseWork;

    #[test]
    fn a_phase_ends_where_the_next_begins() {
        let mut timeline = Timeline::new(1_000_000_000);
        timeline.begin("load", 2_000_000_000);
        timeline.begin("measure", 5_000_000_000);
        timeline.end_at(6_000_000_000);
        timeline.end();
        let records = timeline.records();
        let spans: Vec<_> = records.iter().map(|r| (r.from_s, r.to_s)).collect();
        assert_eq!(spans, [(1.0, 4.0), (4.0, 5.0)]);
        assert_eq!(
            timeline.last("measure"),
            Some(TimeSpan {
                from_ns: 5_000_000_000,
                to_ns: 6_000_000_000,
            })
        );
        assert_eq!(timeline.last("verify"), None);
    }

    /// An earlier version gave the second restart of a trial the description of the first restart,
    /// so the time of the first restart counted twice.
    #[test]
    fn the_second_phase_of_a_kind_has_words_and_time_of_its_own() {
        let phase = |kind, what: &str, seconds| Phase {
            kind,
            work: PhaseWork::Said(what.to_owned()),
            seconds,
        };
        let planned = [
            phase(PhaseKind::Restart, "for loading", 20.0),
            phase(PhaseKind::Load, "rows", 5.0),
            phase(PhaseKind::Restart, "for measuring", 40.0),
            phase(PhaseKind::Measure, "a window", 10.0),
        ];
        let mut timeline = Timeline::new(0);
        let mut begin = |kind| {
            let (planned, after) = timeline.advance(kind, &planned);
            let words = planned.map(|phase| phase.work.to_string());
            (words, after.iter().map(|phase| phase.seconds).sum::<f64>())
        };
        assert_eq!(
            begin(PhaseKind::Restart),
            (Some("for loading".to_owned()), 55.0)
        );
        assert_eq!(begin(PhaseKind::Settle), (None, 55.0), "not planned");
        assert_eq!(begin(PhaseKind::Load), (Some("rows".to_owned()), 50.0));
        assert_eq!(
            begin(PhaseKind::Load),
            (Some("rows".to_owned()), 50.0),
            "a second round"
        );
        assert_eq!(
            begin(PhaseKind::Restart),
            (Some("for measuring".to_owned()), 10.0)
        );
        assert_eq!(
            begin(PhaseKind::Measure),
            (Some("a window".to_owned()), 0.0)
        );
    }
}
