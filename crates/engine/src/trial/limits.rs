//! Reads how near each resource was to its limit: in the window, and in the parts of it with a
//! fault or a drift.

use super::{State, TrialRun};
use crate::running_target::Running;
use analysis::limits::{ClientLoad, LimitReading, NodeUse, TrialFacts, observe};
use analysis::rules::{Judgement, Quantity};
use measure::Known;
use store::record::{
    FaultRecord, LimitReadingRecord, LimitSpan, NodeCpuRecord, TrialFinding, TrialLimitsRecord,
};

/// Shortest part of a window that is read on its own, ns: a probe reads once a second.
const PART_NS_MIN: u64 = 3_000_000_000;

/// A part of a trial.
struct Part {
    span: LimitSpan,
    /// Number of the fault, from 1.
    fault: Option<usize>,
    /// Start and end on the monotonic clock.
    ns: (u64, u64),
}

impl TrialRun<'_> {
    /// Returns the readings of every part. Empty for the null target, which has no resources.
    pub(super) fn limits(
        &self,
        running: Option<&Running>,
        state: &State,
        judgement: &Judgement,
        finding: &TrialFinding,
    ) -> Vec<TrialLimitsRecord> {
        let window_ns = state.timeline.last("measure");
        let is_null = running.is_some_and(Running::is_null);
        let Some(window_ns) = window_ns.filter(|_| !is_null) else {
            return Vec::new();
        };
        let facts = TrialFacts {
            nodes: state.node_facts.clone(),
            client: client_loads(judgement),
            service_mean_ms: exact(finding.all.service_ms.mean),
            p999_ms: exact(finding.all.latency_ms.p999),
            ..TrialFacts::default()
        };
        let start_ns = state.writer.start_ns();
        let parts = parts(window_ns, start_ns, &finding.faults, finding.drift);
        parts.into_iter().map(|part| record(&part, state, &facts)).collect()
    }
}

/// Returns a positive time that is not only a lower bound.
fn exact(ms: Known) -> Option<f64> {
    (!ms.is_at_least() && ms.least() > 0.0).then(|| ms.least())
}

fn record(part: &Part, state: &State, facts: &TrialFacts) -> TrialLimitsRecord {
    let series = state.gather.for_limits(part.ns);
    let is_whole = part.span == LimitSpan::Window;
    let seen = observe(
        &series,
        &TrialFacts {
            window_s: (part.ns.1 - part.ns.0) as f64 / 1e9,
            // The client is judged for the window, and its times are those of the window.
            client: facts.client.iter().filter(|_| is_whole).copied().collect(),
            service_mean_ms: facts.service_mean_ms.filter(|_| is_whole),
            p999_ms: facts.p999_ms.filter(|_| is_whole),
            nodes: facts.nodes.clone(),
        },
    );
    TrialLimitsRecord {
        span: part.span,
        fault: part.fault,
        readings: seen.readings.into_iter().map(reading_record).collect(),
        unobserved: seen.unobserved,
        nodes: seen.nodes.into_iter().map(node_record).collect(),
    }
}

fn reading_record(reading: LimitReading) -> LimitReadingRecord {
    LimitReadingRecord {
        kind: reading.kind,
        place: reading.place,
        value: reading.value,
        limit: reading.limit,
        full: reading.is_full,
    }
}

fn node_record(node: NodeUse) -> NodeCpuRecord {
    NodeCpuRecord {
        node: node.node,
        used: node.used,
        available: node.available,
    }
}

/// Returns the window and its parts. `start_ns` is the zero of the faults' times.
fn parts(
    window_ns: (u64, u64),
    start_ns: u64,
    faults: &[FaultRecord],
    drift: Option<f64>,
) -> Vec<Part> {
    let part = |span, fault, ns| Part { span, fault, ns };
    let at_ns = |at_s: f64| start_ns + (at_s.max(0.0) * 1e9) as u64;
    let mut parts = vec![part(LimitSpan::Window, None, window_ns)];
    let injected = faults.iter().filter_map(|fault| fault.injected_s);
    if let Some(first) = injected.reduce(f64::min) {
        let before_ns = (window_ns.0, at_ns(first).min(window_ns.1));
        parts.push(part(LimitSpan::BeforeFaults, None, before_ns));
    }
    for (index, fault) in faults.iter().enumerate() {
        if let Some(from_s) = fault.injected_s {
            let to_ns = fault.healing_s.map_or(window_ns.1, at_ns).min(window_ns.1);
            let number = fault.number.unwrap_or(index) + 1;
            parts.push(part(LimitSpan::Fault, Some(number), (at_ns(from_s), to_ns)));
        }
    }
    if drift.is_some() && faults.is_empty() {
        let third_ns = (window_ns.1 - window_ns.0) / 3;
        let first_ns = (window_ns.0, window_ns.0 + third_ns);
        let last_ns = (window_ns.1 - third_ns, window_ns.1);
        parts.push(part(LimitSpan::First, None, first_ns));
        parts.push(part(LimitSpan::Last, None, last_ns));
    }
    let is_long = |part: &Part| {
        part.span == LimitSpan::Window || part.ns.1 >= part.ns.0.saturating_add(PART_NS_MIN)
    };
    parts.retain(is_long);
    parts
}

/// Returns the loads of the client by which rule V3 judges it.
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
        parts
            .iter()
            .map(|one| (one.span, seconds(one.ns.0), seconds(one.ns.1)))
            .collect()
    }

    #[test]
    fn parts_are_within_the_window_and_long_enough() {
        let s = 1_000_000_000;
        let window = (110 * s, 140 * s);
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
