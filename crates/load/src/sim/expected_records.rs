//! Expected contents of the worker's records, and the comparison with the actual contents.
//!
//! The tests sum the histograms of many runs before they compare them, because one histogram is far
//! larger than the records of one run. They compare counts part by part.

use crate::recorder::Part;
use crate::slowest_operations::{SLOWEST_MAX, SlowOperation};
use measure::outcome::OUTCOMES;
use measure::{ClientCount, Histogram, KindCounts, KindInterval, Outcome};

/// Expected counts of a kind in one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub counts: KindCounts,
    /// Number of successful responses to reads for which the worker waited.
    pub reads: i64,
    /// Number of successful responses to writes for which the worker waited.
    pub writes: i64,
}

/// Events that occurred in one or many runs. If an event does not occur for any seed, the
/// simulation does not test it.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    pub expired: u64,
    pub unsent: u64,
    pub dropped: u64,
    pub refused: u64,
    pub retried: u64,
    pub second_won: u64,
    pub late: u64,
    pub forgotten: u64,
    pub lost: u64,
    pub broken_writes: u64,
    pub given_up: u64,
    pub unblocked: u64,
    pub hung_up: u64,
    pub rested: u64,
    pub before_turn: u64,
}

impl Coverage {
    pub fn add(&mut self, other: &Coverage) {
        for (sum, more) in self.each().into_iter().zip(other.clone().each()) {
            *sum.1 += *more.1;
        }
    }

    pub fn each(&mut self) -> [(&'static str, &mut u64); 15] {
        [
            ("tries that timed out", &mut self.expired),
            ("operations that were never sent", &mut self.unsent),
            ("operations without a connection", &mut self.dropped),
            ("operations that cannot be sent", &mut self.refused),
            ("tries after a failed one", &mut self.retried),
            ("second tries that were first", &mut self.second_won),
            ("answers after the timeout", &mut self.late),
            ("forgotten statements", &mut self.forgotten),
            ("tries on a connection that ended", &mut self.lost),
            ("writes that failed", &mut self.broken_writes),
            ("tries that found no connection", &mut self.given_up),
            ("connections given up for late answers", &mut self.unblocked),
            ("tries without a waiting operation", &mut self.hung_up),
            ("sleeps that no answer ends", &mut self.rested),
            (
                "answers that arrived before the turn",
                &mut self.before_turn,
            ),
        ]
    }
}

/// Histograms of a kind: latency, service, errors, censored latency and censored service, and then
/// latency, service and errors of early operations.
type Values = [Histogram; 8];

/// Expected histograms of each kind, summed over many runs.
#[derive(Clone, Debug, Default)]
pub struct ExpectedRecords(Vec<Values>);

impl ExpectedRecords {
    pub fn new(kinds_count: usize) -> ExpectedRecords {
        ExpectedRecords(vec![Values::default(); kinds_count])
    }

    /// Returns the first difference between the expected histograms and the sum of the histograms
    /// in `parts`. Empties the histograms of `parts`.
    pub fn differs(&self, parts: &mut [Box<Part>]) -> Option<String> {
        for (kind, expected) in self.0.iter().enumerate() {
            let mut sums = Values::default();
            for part in parts.iter_mut() {
                let values = values(&mut part.kinds[kind]);
                for (sum, value) in sums.iter_mut().zip(values) {
                    sum.add(value);
                    value.clear();
                }
            }
            for (at, (sum, expected)) in sums.iter().zip(expected).enumerate() {
                if list(sum) != list(expected) {
                    return Some(format!(
                        "kind {kind}, histogram {at}: recorded {:?}, must be {:?}",
                        list(sum),
                        list(expected)
                    ));
                }
            }
        }
        None
    }
}

fn values(kind: &mut KindInterval) -> [&mut Histogram; 8] {
    [
        &mut kind.latency,
        &mut kind.service,
        &mut kind.errors,
        &mut kind.censored.latency,
        &mut kind.censored.service,
        &mut kind.early.latency,
        &mut kind.early.service,
        &mut kind.early.errors,
    ]
}

fn list(histogram: &Histogram) -> Vec<(u64, u64)> {
    let values = histogram.hdr().iter_recorded();
    values
        .map(|value| (value.value_iterated_to(), value.count_at_value()))
        .collect()
}

/// Returns a part with memory for all histograms.
pub fn part_with_room(kinds: &[workload::Kind]) -> Box<Part> {
    let mut part = Part::new(0, kinds);
    for kind in &mut part.kinds {
        for value in values(kind) {
            *value = Histogram::with_room();
        }
    }
    Box::new(part)
}

/// Defect that the oracle deliberately injects in one operation, so that the expectations of the
/// oracle differ from the records of the worker. The comparison must detect the difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedDefect {
    Twice,
    Lost,
    /// The oracle records the operation one nanosecond too late.
    Later,
}

#[derive(Debug)]
pub struct RunRecords {
    pub planted: Option<InjectedDefect>,
    expected: ExpectedRecords,
    counts: Vec<Counts>,
    taken: Vec<Counts>,
    /// Number of outcomes since the last part, by kind and outcome. Operations in the window and
    /// early operations are counted separately.
    outcomes: Vec<[[u64; OUTCOMES.len()]; 2]>,
    /// Number of successes of whole operations, by kind.
    succeeded: Vec<i64>,
    pub dropped: u64,
    taken_dropped: u64,
    pub connections_lost: u64,
    taken_lost: u64,
    /// Latencies of the whole operations of the window, in ns.
    latencies_ns: Vec<u64>,
    unsent: u64,
    taken_unsent: u64,
    end_ns: u64,
    pub is_over: bool,
}

impl RunRecords {
    /// Starts a run, which adds its expected records to those of earlier runs.
    pub fn new(expected: ExpectedRecords) -> RunRecords {
        let kinds = expected.0.len();
        RunRecords {
            planted: None,
            expected,
            counts: vec![Counts::default(); kinds],
            taken: vec![Counts::default(); kinds],
            outcomes: vec![[[0; OUTCOMES.len()]; 2]; kinds],
            succeeded: vec![0; kinds],
            dropped: 0,
            taken_dropped: 0,
            connections_lost: 0,
            taken_lost: 0,
            latencies_ns: Vec::new(),
            unsent: 0,
            taken_unsent: 0,
            end_ns: 0,
            is_over: false,
        }
    }

    pub fn counts(&mut self, kind: u8) -> &mut Counts {
        &mut self.counts[usize::from(kind)]
    }

    pub fn succeed(&mut self, kind: u8, is_early: bool, latency_ns: u64, service_ns: u64) {
        match self.planted.take() {
            None => self.note(kind, is_early, latency_ns, service_ns),
            Some(InjectedDefect::Later) => self.note(kind, is_early, latency_ns + 1, service_ns),
            Some(InjectedDefect::Lost) => {}
            Some(InjectedDefect::Twice) => {
                self.note(kind, is_early, latency_ns, service_ns);
                self.note(kind, is_early, latency_ns, service_ns);
            }
        }
    }

    fn note(&mut self, kind: u8, is_early: bool, latency_ns: u64, service_ns: u64) {
        let kind = usize::from(kind);
        let first = if is_early { 5 } else { 0 };
        self.expected.0[kind][first].record(latency_ns);
        self.expected.0[kind][first + 1].record(service_ns);
        self.outcomes[kind][usize::from(is_early)][Outcome::Ok as usize] += 1;
        self.succeeded[kind] += 1;
    }

    pub fn fail(
        &mut self,
        kind: u8,
        outcome: Outcome,
        is_early: bool,
        latency_ns: u64,
        service_ns: Option<u64>,
    ) {
        let kind = usize::from(kind);
        self.outcomes[kind][usize::from(is_early)][outcome as usize] += 1;
        let values = &mut self.expected.0[kind];
        if is_early {
            values[7].record(latency_ns);
            return;
        }
        values[2].record(latency_ns);
        let nobody_knows = [
            Outcome::ClientTimeout,
            Outcome::ConnectionLost,
            Outcome::NoConnection,
        ];
        if nobody_knows.contains(&outcome) {
            values[3].record(latency_ns);
            if let Some(service_ns) = service_ns {
                values[4].record(service_ns);
            }
        }
    }

    /// Records the latency of a whole operation, which may be among the slowest.
    pub fn ends(&mut self, is_early: bool, latency_ns: u64) {
        if !is_early && latency_ns > 0 {
            self.latencies_ns.push(latency_ns);
        }
    }

    /// Compares the slowest operations that the worker kept with those of the run.
    pub fn compare_slowest(&self, kept: &[SlowOperation]) {
        let mut expected = self.latencies_ns.clone();
        expected.sort_unstable_by(|one, other| other.cmp(one));
        expected.truncate(SLOWEST_MAX);
        let kept: Vec<u64> = kept.iter().map(SlowOperation::latency_ns).collect();
        assert_eq!(kept, expected, "the slowest operations");
    }

    pub fn leave_unsent(&mut self, kind: u8, latency_ns: u64) {
        self.ends(false, latency_ns);
        self.expected.0[usize::from(kind)][3].record(latency_ns);
        self.unsent += 1;
    }

    /// Compares a part with the operations that ended since the previous part. Afterwards the part
    /// contains only its histograms.
    pub fn take(&mut self, part: &mut Part, window_from_ns: u64) {
        if self.end_ns > 0 {
            assert_eq!(part.start_ns, self.end_ns, "slices follow on each other");
        }
        let holds = part.start_ns < window_from_ns && window_from_ns < part.end_ns;
        // A window that begins after the stop does not contain operations, so the drain may span
        // the start of the window.
        assert!(
            !holds || part.draining,
            "a slice spans the start of the window"
        );
        assert!(part.start_ns <= part.end_ns);
        self.end_ns = part.end_ns;
        for (index, kind) in part.kinds.iter_mut().enumerate() {
            let ended = std::mem::replace(&mut self.outcomes[index], [[0; OUTCOMES.len()]; 2]);
            for outcome in OUTCOMES {
                let early = ended[1][outcome as usize];
                let all = early + ended[0][outcome as usize];
                let recorded = (kind.outcomes.get(outcome), kind.early.outcomes.get(outcome));
                assert_eq!(recorded, (all, early), "kind {index}: {outcome:?}");
            }
            add(&mut self.taken[index], kind);
            let mut taken = std::mem::take(kind);
            kind.is_part = taken.is_part;
            for (kept, values) in values(kind).into_iter().zip(values(&mut taken)) {
                std::mem::swap(kept, values);
            }
        }
        self.taken_dropped += part.client.counts[ClientCount::Dropped];
        self.taken_lost += part.client.counts[ClientCount::ConnectionsLost];
        self.taken_unsent += part.client.counts[ClientCount::DueNeverSent];
        part.client.clear();
        part.draining = false;
        self.is_over = std::mem::take(&mut part.last);
    }

    /// Compares the totals that are known only at the end, and returns the expected records of all
    /// runs.
    pub fn end(mut self) -> ExpectedRecords {
        assert!(self.is_over, "no part was the last");
        for (kind, ok) in self.succeeded.iter().enumerate() {
            let of = &mut self.counts[kind];
            // The response that ended an operation counts as the success of the whole operation.
            match kind {
                0 | 2 | 5 | 8 | 9 => of.writes -= ok,
                1 | 3 | 4 => of.reads -= ok,
                _ => {}
            }
        }
        assert_eq!(self.taken, self.counts);
        let taken = (self.taken_dropped, self.taken_lost, self.taken_unsent);
        assert_eq!(taken, (self.dropped, self.connections_lost, self.unsent));
        self.expected
    }
}

fn add(sum: &mut Counts, kind: &KindInterval) {
    sum.counts.add(&kind.counts);
    sum.reads += kind.extra_reads;
    sum.writes += kind.extra_writes;
}
