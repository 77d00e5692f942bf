//! Rules about the target, its data and the record: V7, V9 to V11, V13, V15 to V17 and V21.

use super::describe::target as describe;
use super::evidence::{Environment, Evidence, NodeStatePeriod, Settle};
use super::limits::Limits;
use super::measurement::Quantity;
use super::rule_outcome::{RuleOutcome, RuleResult, below};
use super::statement::Statement;
use crate::autocorrelation;

/// V7: allowed number of operations of other clients that the server may have counted. Such
/// operations are queries of cassay's control session and of other users' drivers. Without this
/// allowance, a short trial could not pass.
const FOREIGN_OPERATIONS: u64 = 50;

/// Judges rule V7: server and client counted the same number of operations.
pub(super) fn counts_agree(evidence: &Evidence, limits: &Limits) -> RuleResult {
    let counts = match &evidence.server {
        Some(Ok(counts)) => counts,
        Some(Err(why)) => return (RuleOutcome::Unknown, describe::not_compared(why)),
        None => {
            let why = "cassay did not read the server's own counts";
            return (RuleOutcome::Unknown, why.into());
        }
    };
    let mut worst = RuleOutcome::Pass;
    let mut parts = Vec::new();
    for (index, kind) in ["reads", "writes"].into_iter().enumerate() {
        let (server, client) = (counts.server[index], counts.client[index]);
        if server == 0 && client == 0 {
            continue;
        }
        let allowed = counts.uncertain + FOREIGN_OPERATIONS;
        let beyond = server.abs_diff(client).saturating_sub(allowed);
        let share = beyond as f64 / client.max(1) as f64;
        worst = worst.max(below(share, limits.counts_share));
        parts.push(describe::counts_of_kind(
            kind,
            server,
            client,
            limits.counts_share,
        ));
    }
    if parts.is_empty() {
        return (
            RuleOutcome::Unknown,
            "neither the client nor the server counted an operation".into(),
        );
    }
    let kinds = Statement::join(parts, " and ");
    let detail = describe::server_counts(kinds, counts, limits.counts_share[0]);
    (worst, detail)
}

/// Judges rule V9: all compactions had ended before the trial, or the study did not require this.
pub(super) fn settled(evidence: &Evidence) -> RuleResult {
    let (outcome, detail) = match evidence.settle {
        _ if evidence.target_is_null => (RuleOutcome::Pass, "the null target stores no data"),
        Some(Settle::Settled) => (RuleOutcome::Pass, "compactions had ended before the window"),
        Some(Settle::NotAsked) => (RuleOutcome::Pass, "the study requests no settling"),
        Some(Settle::Stalled) => (
            RuleOutcome::Warn,
            "compactions were pending and made no progress",
        ),
        Some(Settle::Timeout) => (
            RuleOutcome::Warn,
            "compactions were still running at the time limit",
        ),
        Some(Settle::Unknown) => (
            RuleOutcome::Unknown,
            "the target does not report whether it has settled",
        ),
        None => (
            RuleOutcome::Unknown,
            "the run did not check whether the target settled",
        ),
    };
    (outcome, detail.into())
}

/// Judges rule V10: the backlog of compactions did not grow. A growing backlog means that the
/// target only postpones work.
pub(super) fn sustainable(evidence: &Evidence) -> RuleResult {
    /// The number of pending compactions may vary by a few, so a small growth is allowed.
    const GROWTH_MIN: f64 = 5.0;
    if evidence.target_is_null {
        return (RuleOutcome::Pass, "the null target defers no work".into());
    }
    let samples = match &evidence.pending_compactions {
        Some(samples) if samples.len() >= 3 => samples,
        Some(_) => {
            return (
                RuleOutcome::Unknown,
                "too few samples of pending compactions".into(),
            );
        }
        None => {
            return (
                RuleOutcome::Unknown,
                "cassay did not read pending compactions".into(),
            );
        }
    };
    let third = samples.len().div_ceil(3);
    let first = autocorrelation::mean(&samples[..third]);
    let last = autocorrelation::mean(&samples[samples.len() - third..]);
    let growth = GROWTH_MIN.max(first * 0.5);
    let outcome = if last - first > growth {
        RuleOutcome::Warn
    } else {
        RuleOutcome::Pass
    };
    let detail = describe::pending_compactions(first, last, first + growth);
    (outcome, detail)
}

/// Judges rule V11: during the whole trial, the nodes and their settings were the same, and no
/// other guest used the CPUs of their hosts.
pub(super) fn environment(evidence: &Evidence, limits: &Limits) -> RuleResult {
    let Some(environment) = &evidence.environment else {
        return (
            RuleOutcome::Unknown,
            "cassay did not compare settings and processes".into(),
        );
    };
    let mut parts = Vec::new();
    let mut outcome = RuleOutcome::Pass;
    if !environment.nodes_restarted.is_empty() {
        outcome = outcome.max(RuleOutcome::Fail);
        parts.push(describe::restarted(&environment.nodes_restarted));
    }
    for (judged, part) in stood_still(evidence, environment) {
        outcome = outcome.max(judged);
        parts.push(part);
    }
    if !environment.not_in_effect.is_empty() {
        outcome = outcome.max(RuleOutcome::Fail);
        parts.push(describe::listed(
            "not in effect",
            &environment.not_in_effect,
            "; ",
        ));
    }
    if !environment.settings_changed.is_empty() {
        outcome = outcome.max(RuleOutcome::Warn);
        parts.push(describe::listed(
            "settings changed",
            &environment.settings_changed,
            ", ",
        ));
    }
    // In a trial with a fault, the fault may have changed the metadata, so such a change does not
    // count.
    if !environment.metadata_changed.is_empty() && evidence.faults.is_empty() {
        outcome = outcome.max(RuleOutcome::Warn);
        let heading = "the cluster's metadata changed";
        parts.push(describe::listed(
            heading,
            &environment.metadata_changed,
            "; ",
        ));
    }
    if environment.steal_share.is_some_and(|steal| steal >= limits.steal_share) {
        outcome = outcome.max(RuleOutcome::Warn);
    }
    // A reason contains only the parts that are against the trial.
    let passed = outcome == RuleOutcome::Pass;
    if passed {
        parts.push("the same processes and settings at the end".into());
    }
    let steal = environment.steal_share.filter(|steal| passed || *steal >= limits.steal_share);
    parts.extend(steal.map(|steal| describe::stolen_cpu(steal, limits.steal_share)));
    for (heading, unseen) in [
        ("not shown", &environment.not_shown),
        ("not judged", &environment.unseen),
    ] {
        if unseen.is_empty() {
            continue;
        }
        // cassay could not read some settings or states, so it cannot exclude a change.
        if outcome == RuleOutcome::Pass {
            outcome = RuleOutcome::Unknown;
        }
        parts.push(describe::listed(heading, unseen, "; "));
    }
    (outcome, Statement::join(parts, "; "))
}

/// Returns a result for each period in which a node did not run although its process existed. In a
/// trial with faults, the list is empty, because faults may stop nodes on purpose.
fn stood_still(evidence: &Evidence, environment: &Environment) -> Vec<RuleResult> {
    if !evidence.faults.is_empty() {
        return Vec::new();
    }
    let describe_all = |periods: &[NodeStatePeriod], judged: RuleOutcome, quantity: Quantity| {
        let all = periods.iter();
        all.map(|period| (judged, describe::stood_still(period, quantity)))
            .collect::<Vec<_>>()
    };
    let stopped = &environment.nodes_stopped;
    let mut all = describe_all(stopped, RuleOutcome::Fail, Quantity::NodeStopped);
    let blocked = &environment.nodes_blocked;
    all.extend(describe_all(
        blocked,
        RuleOutcome::Warn,
        Quantity::NodeBlocked,
    ));
    all
}

/// Judges rule V13: the planned faults were confirmed and healed.
pub(super) fn faults(evidence: &Evidence) -> RuleResult {
    if evidence.faults.is_empty() {
        return (RuleOutcome::Pass, "no fault was planned".into());
    }
    let mut outcome = RuleOutcome::Pass;
    let mut parts = Vec::new();
    for fault in &evidence.faults {
        let (judged, word) = match (fault.confirmed, fault.healed) {
            (Some(false), _) => (RuleOutcome::Fail, "not seen by the probe"),
            (_, false) => (RuleOutcome::Fail, "not healed"),
            (None, true) => (RuleOutcome::Warn, "inconclusive, healed"),
            (Some(true), true) => (RuleOutcome::Pass, "confirmed and healed"),
        };
        outcome = outcome.max(judged);
        parts.push(describe::fault(&fault.kind, word));
    }
    (outcome, Statement::join(parts, ", "))
}

/// Judges rule V15: the record contains everything that is needed to repeat the trial.
pub(super) fn recorded(evidence: &Evidence) -> RuleResult {
    match evidence.not_recorded.as_deref() {
        None => (
            RuleOutcome::Unknown,
            "the run did not check the record".into(),
        ),
        Some([]) => {
            let what = "the record contains the study, the plan with its seed, the version, the \
                 machine and every node's settings";
            (RuleOutcome::Pass, what.into())
        }
        Some(missing) => (RuleOutcome::Warn, describe::not_on_record(missing)),
    }
}

/// Judges rule V16, which compares the size of the data with the memory that can cache it.
pub(super) fn caching(evidence: &Evidence) -> RuleResult {
    match evidence.data_and_memory_bytes {
        _ if evidence.target_is_null => {
            (RuleOutcome::Pass, "the null target caches nothing".into())
        }
        Some((data, memory)) if memory > 0 => {
            let ratio = data as f64 / memory as f64;
            (RuleOutcome::Pass, describe::data_per_memory(ratio))
        }
        _ => (
            RuleOutcome::Unknown,
            "the run did not read the sizes of data and memory".into(),
        ),
    }
}

/// Judges rule V21: the nodes did not have unexpected exceptions.
pub(super) fn exceptions(evidence: &Evidence) -> RuleResult {
    if evidence.target_is_null {
        return (
            RuleOutcome::Pass,
            "the null target has no exceptions".into(),
        );
    }
    let Some(met) = &evidence.exceptions else {
        return (RuleOutcome::Unknown, "no node reports exceptions".into());
    };
    if met.is_empty() {
        return (RuleOutcome::Pass, "no uncaught exception".into());
    }
    let faults = evidence.faults_words();
    let outcome = if faults.is_none() {
        RuleOutcome::Warn
    } else {
        RuleOutcome::Pass
    };
    (outcome, describe::exceptions(met, faults.as_deref()))
}

/// Judges rule V17: the probes used little CPU time.
pub(super) fn probes(evidence: &Evidence, limits: &Limits) -> RuleResult {
    let Some(share) = evidence.probes_cpu_share else {
        return (
            RuleOutcome::Unknown,
            "cassay did not measure the cost of the probes".into(),
        );
    };
    let outcome = if share > limits.probes_cpu_share {
        RuleOutcome::Warn
    } else {
        RuleOutcome::Pass
    };
    (
        outcome,
        describe::probes_cpu(share, limits.probes_cpu_share),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::FaultEvidence;

    #[test]
    fn a_stalled_node_is_named_unless_a_fault_was_injected() {
        let spell = |node: &str, from_s, to_s| NodeStatePeriod {
            node: node.to_owned(),
            from_s,
            to_s,
        };
        let mut evidence = Evidence {
            environment: Some(Environment {
                nodes_blocked: vec![spell("node1", 3.0, 3.4)],
                ..Environment::default()
            }),
            ..Evidence::default()
        };
        let (outcome, detail) = environment(&evidence, &Limits::default());
        assert_eq!(outcome, RuleOutcome::Warn);
        let expected = "node1: threads waited in the kernel (state D), for example for a disk that \
             does not answer or a frozen file system, seen at 3 s of the window";
        assert_eq!(detail.words, expected);
        let seen = evidence.environment.as_mut().unwrap();
        seen.nodes_stopped = vec![spell("node2", 9.6, 29.8)];
        let (outcome, detail) = environment(&evidence, &Limits::default());
        assert_eq!(outcome, RuleOutcome::Fail);
        let expected = "node2: the node's process was stopped (state T), seen from 10 s to 30 s of \
                        the window; node1: threads";
        assert!(detail.words.starts_with(expected), "{detail:?}");
        evidence.faults.push(FaultEvidence {
            kind: "node-pause".to_owned(),
            confirmed: Some(true),
            healed: true,
        });
        let (outcome, _) = environment(&evidence, &Limits::default());
        assert_eq!(outcome, RuleOutcome::Pass);
    }

    /// Another user creates a table, and a node throws an uncaught exception. During a fault, both
    /// events are expected.
    #[test]
    fn metadata_changes_and_exceptions_count_only_without_faults() {
        let mut evidence = Evidence {
            environment: Some(Environment {
                metadata_changed: vec!["epoch 4: SCHEMA_CHANGE".to_owned()],
                ..Environment::default()
            }),
            exceptions: Some(vec!["node1: 1 of X".to_owned()]),
            ..Evidence::default()
        };
        let (outcome, detail) = environment(&evidence, &Limits::default());
        assert_eq!(outcome, RuleOutcome::Warn);
        assert_eq!(
            detail.words,
            "the cluster's metadata changed: epoch 4: SCHEMA_CHANGE"
        );
        let (outcome, detail) = exceptions(&evidence);
        assert_eq!(outcome, RuleOutcome::Warn);
        assert_eq!(detail.words, "uncaught exceptions: node1: 1 of X");
        evidence.faults.push(FaultEvidence {
            kind: "node-leave".to_owned(),
            confirmed: Some(true),
            healed: true,
        });
        let (outcome, _) = environment(&evidence, &Limits::default());
        assert_eq!(outcome, RuleOutcome::Pass);
        let (outcome, detail) = exceptions(&evidence);
        assert_eq!(outcome, RuleOutcome::Pass);
        assert!(
            detail.words.ends_with("in a trial with node-leave: node1: 1 of X"),
            "{detail:?}"
        );
        evidence.exceptions = None;
        assert_eq!(exceptions(&evidence).0, RuleOutcome::Unknown);
    }

    /// If no node reports a setting, the rule must not pass. In an earlier version, the rule
    /// passed.
    #[test]
    fn an_unshown_setting_is_no_pass_and_hides_no_failure() {
        let v11 = |not_in_effect: &[&str]| {
            let evidence = Evidence {
                environment: Some(Environment {
                    not_shown: vec!["-XX:+UseNUMA of node1 (no agent)".to_owned()],
                    not_in_effect: not_in_effect.iter().map(|text| text.to_string()).collect(),
                    ..Environment::default()
                }),
                ..Evidence::default()
            };
            environment(&evidence, &Limits::default())
        };
        let (outcome, detail) = v11(&[]);
        assert_eq!(outcome, RuleOutcome::Unknown);
        let expected = "not shown: -XX:+UseNUMA of node1 (no agent)";
        assert!(detail.words.contains(expected), "{detail:?}");
        assert_eq!(v11(&["heap of node1"]).0, RuleOutcome::Fail);
    }
}
