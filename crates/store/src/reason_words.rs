//! Describes the reason of a rule in a few words, by the quantity that is beyond its limit.
//!
//! Invariant: no words name a cause that the measured numbers do not show. A rule with several
//! causes has general words for records without numbers.

use crate::reasons::MeasurementRecord;
use analysis::rules::Quantity::{self, *};

/// General words for each rule. They describe a rule with only one cause, a part of a rule without
/// numbers, and runs of earlier versions.
const OF_RULES: [(&str, &str); 21] = [
    ("V1", "Requests were not sent on time"),
    ("V2", "Latency and service time disagree"),
    ("V3", "The client was near its own limit"),
    ("V4", "A client stalled, or did not run to the end"),
    ("V5", "Clients did not start together"),
    ("V6", "Histograms lack some operations"),
    ("V7", "The counts of server and client differ"),
    ("V8", "Operations failed"),
    ("V9", "The data was not settled"),
    ("V10", "Compactions fell behind"),
    ("V11", "The nodes or their settings changed"),
    ("V12", NOT_STEADY),
    ("V13", "A fault was not confirmed, or not healed"),
    ("V14", "Reads returned data that differs from the writes"),
    ("V15", "The run's records are not sufficient to repeat it"),
    ("V16", "The records omit the ratio of data to memory"),
    ("V17", "Probes cost too much"),
    ("V18", "Other programs used the machine"),
    ("V19", "The target did not answer for some time"),
    ("V20", "A wall clock was set during the window"),
    ("V21", "Nodes had uncaught exceptions"),
];

/// Words for one quantity of a rule with several causes.
const OF_QUANTITIES: [(&str, Quantity, &str); 19] = [
    ("V1", SentInWindow, "The client did not send all requests"),
    ("V1", SentLate, "The client sent requests late"),
    (
        "V1",
        WaitedForSlot,
        "Requests waited for a free slot in flight",
    ),
    ("V3", CeilingSpread, "The ceilings of the clients differ"),
    (
        "V3",
        LessThanFastest,
        "A client achieved less than the fastest client",
    ),
    ("V4", StallLongest, "The client itself was stalled"),
    ("V4", Stalled, "The client itself was stalled"),
    ("V4", Throttled, "A quota denied CPU time to the client"),
    ("V5", ClockError, "The clocks of the clients disagree"),
    ("V5", ClockStep, "The clocks of the clients disagree"),
    ("V6", OverAnHour, "Some latencies exceeded an hour"),
    (
        "V6",
        DifferentLatencies,
        "The latencies have few different values",
    ),
    ("V11", RestartedNodes, "Nodes restarted"),
    ("V11", NodeStopped, "The process of a node was stopped"),
    ("V11", NodeBlocked, "Threads of a node were blocked"),
    ("V11", StolenCpu, "The hypervisor took CPU time"),
    ("V12", WindowLength, "The window was too short"),
    (
        "V12",
        Successes,
        "The window had too few operations for p99",
    ),
    ("V12", ThroughputDrift, DRIFTED),
];

/// Words for a window whose throughput changed.
pub const DRIFTED: &str = "Throughput drifted over the window";

/// Words for a window whose throughput may have changed.
pub const NOT_STEADY: &str = "The window was not steady, or it was too short";

/// Words for a window in which the target, and not the client, limited the requests.
const NOT_KEPT_UP: &str = "The target did not keep up with the rate";

/// Describes the reason of a rule in a few words. The first number beyond its limit decides. If no
/// number is beyond its limit, the first number that has no limit but specific words decides.
pub fn short_words(rule: &str, measured: &[MeasurementRecord]) -> &'static str {
    let of_number = |one: &MeasurementRecord| {
        // For this quantity, only the number for a target that does not keep up lacks a limit at
        // which the rule fails.
        if one.quantity == SentInWindow && one.fail_limit.is_none() {
            return Some(NOT_KEPT_UP);
        }
        let mut all = OF_QUANTITIES.iter();
        let words = all.find(|(of, quantity, _)| *of == rule && *quantity == one.quantity);
        words.map(|(.., words)| *words)
    };
    let beyond = measured.iter().find(|one| one.is_beyond_limit());
    let without_limit = || measured.iter().filter(|one| one.limit.is_none());
    let found = match beyond {
        Some(one) => of_number(one),
        None => without_limit().find_map(of_number),
    };
    let general = || OF_RULES.iter().find(|(of, _)| *of == rule).map(|(_, words)| *words);
    found.or_else(general).unwrap_or("A rule is violated")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(quantity: Quantity, value: f64, limits: [Option<f64>; 2]) -> MeasurementRecord {
        MeasurementRecord {
            quantity,
            value,
            limit: limits[0],
            fail_limit: limits[1],
            minimum: quantity.has_minimum(),
            unit: quantity.unit().to_owned(),
            place: None,
        }
    }

    /// In an earlier version, each rule had fixed words. They said that nodes had changed when the
    /// hypervisor had taken CPU time, and that the client was late when the target was slow.
    #[test]
    fn the_words_name_the_quantity_beyond_its_limit() {
        let stolen = number(StolenCpu, 0.04, [Some(0.02), None]);
        assert_eq!(
            short_words("V11", &[stolen]),
            "The hypervisor took CPU time"
        );
        assert_eq!(
            short_words("V11", &[]),
            "The nodes or their settings changed"
        );
        let slow = number(SentInWindow, 0.72, [Some(0.99), None]);
        let after = number(SentAfterWindow, 675.0, [None, None]);
        let late = number(SentLate, 0.12, [Some(0.01), Some(0.1)]);
        assert_eq!(
            short_words("V1", &[slow, after.clone()]),
            "The target did not keep up with the rate"
        );
        assert_eq!(
            short_words("V1", &[late, after]),
            "The client sent requests late"
        );
        let sent = number(SentInWindow, 1.0, [Some(0.99), Some(0.99)]);
        let waited = number(WaitedForSlot, 60.0, [None, None]);
        assert_eq!(
            short_words("V1", &[sent, waited]),
            "Requests waited for a free slot in flight"
        );
        let short = number(WindowLength, 3.0, [Some(5.0), None]);
        assert_eq!(short_words("V12", &[short]), "The window was too short");
        let ended = number(WindowLength, 3.0, [None, None]);
        assert_eq!(short_words("V12", &[ended]), "The window was too short");
    }

    #[test]
    fn every_rule_has_few_words() {
        let mut rules: Vec<&str> = OF_RULES.iter().map(|(rule, _)| *rule).collect();
        let mut names: Vec<&str> = analysis::rules::names().collect();
        rules.sort_unstable();
        names.sort_unstable();
        assert_eq!(rules, names);
        let words = OF_RULES.iter().map(|(_, words)| words);
        for words in words.chain(OF_QUANTITIES.iter().map(|(.., words)| words)) {
            assert!(words.split(' ').count() <= 10, "{words}");
        }
    }
}
