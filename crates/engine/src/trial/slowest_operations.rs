//! Writes the slowest operations of the measured window to disk.

use super::clients::seconds_since;
use super::{State, TrialRun};
use crate::load_run::PhaseResult;
use anyhow::{Context, Result};
use load::SlowOperation;
use store::record::SlowOperationRecord;

/// Outcome of an operation that waited until the end of the drain.
const NEVER_SENT: &str = "never_sent";

impl TrialRun<'_> {
    pub(super) fn keep_slowest(&self, offered: &PhaseResult, state: &State) -> Result<()> {
        let clock = TrialClock {
            start_ns: state.writer.start_ns(),
            start_unix_ns: state.writer.start_unix_ns(),
        };
        let name = |index: u8| {
            let kind = self.program.kinds().get(usize::from(index));
            kind.map(|kind| kind.name.clone()).unwrap_or_default()
        };
        let slowest = offered.summary.slowest.iter();
        let records = slowest.map(|one| record(one, name(one.kind), clock)).collect();
        state.writer.write_slowest(records).context("write the slowest operations")
    }
}

/// Start line of a trial on both clocks, in ns.
#[derive(Clone, Copy)]
struct TrialClock {
    start_ns: u64,
    start_unix_ns: u64,
}

fn record(one: &SlowOperation<String>, kind: String, clock: TrialClock) -> SlowOperationRecord {
    let at_s = |ns: u64| seconds_since(clock.start_ns, ns);
    let since_ns = one.due_ns.saturating_sub(clock.start_ns);
    SlowOperationRecord {
        number: one.number,
        kind,
        node: one.node.clone(),
        due_s: at_s(one.due_ns),
        sent_s: one.sent_ns.map(at_s),
        end_s: at_s(one.end_ns),
        due_unix_ns: clock.start_unix_ns.saturating_add(since_ns),
        latency_ms: one.latency_ns() as f64 / 1e6,
        at_least: one.outcome.is_none_or(measure::Outcome::is_censored),
        outcome: one.outcome.map_or(NEVER_SENT, |outcome| outcome.name()).to_owned(),
        retries: one.retries,
        speculated: one.is_speculated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Outcome;

    #[test]
    fn an_operation_has_its_times_on_both_clocks() {
        let clock = TrialClock {
            start_ns: 5_000_000_000,
            start_unix_ns: 1_767_225_600_000_000_000,
        };
        let one = SlowOperation {
            number: 7,
            kind: 0,
            node: Some("node1".to_owned()),
            due_ns: 7_250_000_000,
            sent_ns: Some(7_251_000_000),
            end_ns: 7_280_000_000,
            outcome: Some(Outcome::Ok),
            retries: 0,
            is_speculated: false,
        };
        let written = record(&one, "read".to_owned(), clock);
        let times = (written.due_s, written.sent_s, written.end_s);
        assert_eq!(times, (2.25, Some(2.251), 2.28));
        assert_eq!(written.due_unix_ns, 1_767_225_602_250_000_000);
        assert_eq!((written.latency_ms, written.at_least), (30.0, false));
        let timed_out = SlowOperation {
            outcome: Some(Outcome::ClientTimeout),
            ..one.clone()
        };
        assert!(record(&timed_out, "read".to_owned(), clock).at_least);
        let unsent = SlowOperation {
            outcome: None,
            sent_ns: None,
            node: None,
            ..one
        };
        let written = record(&unsent, "read".to_owned(), clock);
        assert!(written.at_least && written.sent_s.is_none());
        assert_eq!(written.outcome, "never_sent");
    }
}
