//! Determines how near each resource was to its limit. The periods are the whole window, and the
//! parts of the window with a fault or a drift.

use super::{State, TrialRun};
use crate::phase_times::TimeSpan;
use crate::running_target::Running;
use analysis::limits::{ClientLoad, TrialFacts, observe};
use analysis::rules::{Judgement, Quantity, RuleOutcome};
use measure::Known;
use store::record::{
    FaultRecord, LimitReadingRecord, LimitSpan, NodeCpuRecord, TrialFinding, TrialLimitsRecord,
};

/// Minimum length of a part of the window, in ns. Shorter parts are not examined, because a probe
/// reads only once a second.
const PART_NS_MIN: u64 = 3_000_000_000;

struct Part {
    span: LimitSpan,
    /// Number of the fault in this part, starting at 1.
    fault: Option<usize>,
    /// Start and end of the part on the monotonic clock.
    time: TimeSpan,
}

impl TrialRun<'_> {
    /// Returns the readings for every part of the window. The list is empty for the null target,
    /// which has no resources.
    pub(super) fn limits(
        &self,
        running: Option<&Running>,
        state: &State,
        judgement: &Judgement,
        finding: &TrialFinding,
    ) -> Vec<TrialLimitsRecord> {
        let window = state.timeline.last("measure");
        let is_null = running.is_some_and(Running::is_null);
        let Some(window) = window.filter(|_| !is_null) else {
            return Vec::new();
        };
        let facts = TrialFacts {
            nodes: state.node_facts.clone(),
            client: client_loads(judgement),
            service_mean_ms: exact(finding.all.service_ms.mean),
            p999_ms: exact(finding.all.latency_ms.p999),
            are_others_unknown: are_others_unknown(judgement),
            ..TrialFacts::default()
        };
        let start_ns = state.writer.start_ns();
        let parts = parts(window, start_ns, &finding.faults, finding.drift);
        parts.into_iter().map(|part| record(&part, state, &facts)).collect()
    }
}

/// Returns the time if it is positive and exact. A lower bound is not exact.
fn exact(ms: Known) -> Option<f64> {
    (!ms.is_at_least() && ms.least() > 0.0).then(|| ms.least())
}

fn record(part: &Part, state: &State, facts: &TrialFacts) -> TrialLimitsRecord {
    let series = state.gather.for_limits(part.time);
    let is_whole = part.span == LimitSpan::Window;
    let seen = observe(
        &series,
        &TrialFacts {
            window_s: (part.time.to_ns - part.time.from_ns) as f64 / 1e9,
            // The load of the client and the latencies are known only for the whole window, so
            // other parts contain neither.
            client: facts.client.iter().filter(|_| is_whole).copied().collect(),
            service_mean_ms: facts.service_mean_ms.filter(|_| is_whole),
            p999_ms: facts.p999_ms.filter(|_| is_whole),
            nodes: facts.nodes.clone(),
            are_others_unknown: facts.are_others_unknown,
        },
    );
    TrialLimitsRecord {
        span: part.span,
        fault: part.fault,
        readings: seen.readings.into_iter().map(LimitReadingRecord::from).collect(),
        unobserved: seen.unobserved,
        nodes: seen.nodes.into_iter().map(NodeCpuRecord::from).collect(),
    }
}

/// Returns the whole window and its parts. The times of the faults are relative to `start_ns`.
fn parts(window: TimeSpan, start_ns: u64, faults: &[FaultRecord], drift: Option<f64>) -> Vec<Part> {
    let part = |span, fault, (from_ns, to_ns)| Part {
        span,
        fault,
        time: TimeSpan { from_ns, to_ns },
    };
    let TimeSpan { from_ns, to_ns } = window;
    let at_ns = |at_s: f64| start_ns + (at_s.max(0.0) * 1e9) as u64;
    let mut parts = vec![part(LimitSpan::Window, None, (from_ns, to_ns))];
    let injected = faults.iter().filter_map(|fault| fault.injected_s);
    if let Some(first) = injected.reduce(f64::min) {
        let before_ns = (from_ns, at_ns(first).min(to_ns));
        parts.push(part(LimitSpan::BeforeFaults, None, before_ns));
    }
    for (index, fault) in faults.iter().enumerate() {
        if let Some(from_s) = fault.injected_s {
            let end_ns = fault.healing_s.map_or(to_ns, at_ns).min(to_ns);
            let number = fault.number.unwrap_or(index) + 1;
            parts.push(part(
                LimitSpan::Fault,
                Some(number),
                (at_ns(from_s), end_ns),
            ));
        }
    }
    if drift.is_some() && faults.is_empty() {
        let third_ns = (to_ns - from_ns) / 3;
        parts.push(part(LimitSpan::First, None, (from_ns, from_ns + third_ns)));
        parts.push(part(LimitSpan::Last, None, (to_ns - third_ns, to_ns)));
    }
    let is_long = |part: &Part| {
        let time = part.time;
        part.span == LimitSpan::Window || time.to_ns >= time.from_ns.saturating_add(PART_NS_MIN)
    };
    parts.retain(is_long);
    parts
}

/// Returns true if rule V18 could not judge other programs, for example because nodes that cassay
/// did not start run on the same machine.
fn are_others_unknown(judgement: &Judgement) -> bool {
    let mut rules = judgement.rules.iter();
    rules.any(|rule| rule.id == "V18" && rule.outcome == RuleOutcome::Unknown)
}

/// Returns the loads of the client that rule V3 judges.
fn client_loads(judgement: &Judgement) -> Vec<ClientLoad> {
    let measured = judgement.rules.iter().filter(|rule| rule.id == "V3");
    let loads = measured
        .flat_map(|rule| &rule.measured)
        .filter(|one| matches!(one.quantity, Quantity::ClientCpu | Quantity::OfCeiling));
    loads
        .filter_map(|one| {
            Some(ClientLoad {
                value: one.value,
                limit: one.fail_limit.or(one.limit)?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(injected_s: f64, healing_s: Option<f64>) -> FaultRecord {
        FaultRecord {
            injected_s: Some(injected_s),
            healing_s,
            ..FaultRecord::default()
        }
    }

    fn spans(parts: &[Part]) -> Vec<(LimitSpan, u64, u64)> {
        let seconds = |ns: u64| ns / 1_000_000_000;
        let of = |one: &Part| {
            let TimeSpan { from_ns, to_ns } = one.time;
            (one.span, seconds(from_ns), seconds(to_ns))
        };
        parts.iter().map(of).collect()
    }

    #[test]
    fn parts_are_within_the_window_and_long_enough() {
        let s = 1_000_000_000;
        let window = TimeSpan {
            from_ns: 110 * s,
            to_ns: 140 * s,
        };
        let faults = [
            fault(20.0, Some(30.0)),
            fault(32.0, Some(33.0)),
            fault(35.0, None),
        ];
        assert_eq!(
            spans(&parts(window, 100 * s, &faults, Some(0.2))),
            [
                (LimitSpan::Window, 110, 140),
                (LimitSpan::BeforeFaults, 110, 120),
                (LimitSpan::Fault, 120, 130),
                (LimitSpan::Fault, 135, 140),
            ]
        );
        assert_eq!(
            spans(&parts(window, 100 * s, &[], Some(0.2))),
            [
                (LimitSpan::Window, 110, 140),
                (LimitSpan::First, 110, 120),
                (LimitSpan::Last, 130, 140),
            ]
        );
        assert_eq!(parts(window, 100 * s, &[], None).len(), 1);
    }
}
