//! Rules about the target, its data and the record: V7, V9 to V11, V13 to V17.

use super::evidence::{Environment, Evidence, NodeStatePeriod, Settle};
use super::limits::Limits;
use super::rule_outcome::{RuleOutcome, below, percent};
use crate::autocorrelation;

type RuleResult = (RuleOutcome, String);

/// V7: operations of other clients that the server may have counted: the control session's own
/// queries and the drivers of other users. Without it a short trial could not pass.
const FOREIGN_OPERATIONS: u64 = 50;

/// V7: the server counted what the client counted.
pub(super) fn counts_agree(evidence: &Evidence, limits: &Limits) -> RuleResult {
    let counts = match &evidence.server {
        Some(Ok(counts)) => counts,
        Some(Err(why)) => return (RuleOutcome::Unknown, format!("not compared: {why}")),
        None => {
            let why = "the server's own counts were not read";
            return (RuleOutcome::Unknown, why.to_owned());
        }
    };
    let mut worst = RuleOutcome::Pass;
    let mut parts = Vec::new();
    for (index, name) in ["reads", "writes"].into_iter().enumerate() {
        let (server, client) = (counts.server[index], counts.client[index]);
        if server == 0 && client == 0 {
            continue;
        }
        let allowed = counts.uncertain + FOREIGN_OPERATIONS;
        let beyond = server.abs_diff(client).saturating_sub(allowed);
        let share = beyond as f64 / client.max(1) as f64;
        worst = worst.max(below(share, limits.counts_share));
        let difference = (server as f64 - client as f64) / client.max(1) as f64;
        parts.push(format!(
            "{server} {name} for the client's {client} ({})",
            percent(difference)
        ));
    }
    if parts.is_empty() {
        return (
            RuleOutcome::Unknown,
            "neither side counted an operation".to_owned(),
        );
    }
    let detail = format!(
        "the server counted {} (limit {}, {} uncertain left out; from {})",
        parts.join(" and "),
        percent(limits.counts_share[0]),
        counts.uncertain,
        counts.source
    );
    (worst, detail)
}

/// V9: the data was at rest, or the study did not ask for that.
pub(super) fn settled(evidence: &Evidence) -> RuleResult {
    let (outcome, detail) = match evidence.settle {
        _ if evidence.target_is_null => (RuleOutcome::Pass, "null target: it holds no data"),
        Some(Settle::Settled) => (RuleOutcome::Pass, "compactions had ended before the window"),
        Some(Settle::NotAsked) => (RuleOutcome::Pass, "the study asks for no settling"),
        Some(Settle::Stalled) => (
            RuleOutcome::Warn,
            "compactions were pending and made no progress",
        ),
        Some(Settle::Timeout) => (
            RuleOutcome::Warn,
            "compactions were still running at the limit",
        ),
        Some(Settle::Unknown) => (
            RuleOutcome::Unknown,
            "the target cannot say whether it settled",
        ),
        None => (
            RuleOutcome::Unknown,
            "the run did not check whether the target settled",
        ),
    };
    (outcome, detail.to_owned())
}

/// V10: a backlog that grows is work put off, not done.
pub(super) fn sustainable(evidence: &Evidence) -> RuleResult {
    /// A few pending compactions come and go.
    const GROWTH_MIN: f64 = 5.0;
    if evidence.target_is_null {
        return (
            RuleOutcome::Pass,
            "null target: it puts no work off".to_owned(),
        );
    }
    let samples = match &evidence.pending_compactions {
        Some(samples) if samples.len() >= 3 => samples,
        Some(_) => {
            return (
                RuleOutcome::Unknown,
                "too few samples of pending compactions".to_owned(),
            );
        }
        None => {
            return (
                RuleOutcome::Unknown,
                "pending compactions were not read".to_owned(),
            );
        }
    };
    let third = samples.len().div_ceil(3);
    let first = autocorrelation::mean(&samples[..third]);
    let last = autocorrelation::mean(&samples[samples.len() - third..]);
    let grows = last - first > GROWTH_MIN.max(first * 0.5);
    let detail = format!(
        "pending compactions: {first:.1} in the first third, {last:.1} in the last (limit {:.1})",
        first + GROWTH_MIN.max(first * 0.5)
    );
    (
        if grows {
            RuleOutcome::Warn
        } else {
            RuleOutcome::Pass
        },
        detail,
    )
}

/// V11: the same nodes with the same settings, on machines of their own.
pub(super) fn environment(evidence: &Evidence, limits: &Limits) -> RuleResult {
    let Some(environment) = &evidence.environment else {
        return (
            RuleOutcome::Unknown,
            "settings and processes were not compared".to_owned(),
        );
    };
    let mut parts = Vec::new();
    let mut outcome = RuleOutcome::Pass;
    if !environment.nodes_restarted.is_empty() {
        outcome = outcome.max(RuleOutcome::Fail);
        parts.push(format!(
            "restarted: {}",
            environment.nodes_restarted.join(", ")
        ));
    }
    for (judged, part) in stood_still(evidence, environment) {
        outcome = outcome.max(judged);
        parts.push(part);
    }
    if !environment.not_in_effect.is_empty() {
        outcome = outcome.max(RuleOutcome::Fail);
        parts.push(format!(
            "not in effect: {}",
            environment.not_in_effect.join("; ")
        ));
    }
    if !environment.settings_changed.is_empty() {
        outcome = outcome.max(RuleOutcome::Warn);
        parts.push(format!(
            "settings changed: {}",
            environment.settings_changed.join(", ")
        ));
    }
    // A fault may be a change of the metadata.
    if !environment.metadata_changed.is_empty() && evidence.faults.is_empty() {
        outcome = outcome.max(RuleOutcome::Warn);
        parts.push(format!(
            "the cluster's metadata changed: {}",
            environment.metadata_changed.join("; ")
        ));
    }
    if parts.is_empty() {
        parts.push("the same processes and settings at the end".to_owned());
    }
    if let Some(steal) = environment.steal_share {
        if steal >= limits.steal_share {
            outcome = outcome.max(RuleOutcome::Warn);
        }
        let limit = percent(limits.steal_share);
        parts.push(format!(
            "{} of the CPU time stolen (limit {limit})",
            percent(steal)
        ));
    }
    for (what, unseen) in [
        ("not shown", &environment.not_shown),
        ("cannot be judged", &environment.unseen),
    ] {
        if unseen.is_empty() {
            continue;
        }
        // The settings could not be read, which accuses of nothing and proves nothing.
        if outcome == RuleOutcome::Pass {
            outcome = RuleOutcome::Unknown;
        }
        parts.push(format!("{what}: {}", unseen.join("; ")));
    }
    (outcome, parts.join("; "))
}

/// Returns the nodes that did not run though their processes existed. Faults stop nodes on purpose.
fn stood_still(evidence: &Evidence, environment: &Environment) -> Vec<(RuleOutcome, String)> {
    if !evidence.faults.is_empty() {
        return Vec::new();
    }
    let stopped = "its process was stopped (state T)";
    let blocked = "threads waited within the kernel (state D), as for a disk that does not answer \
                   or a frozen file system";
    let told = |spells: &[NodeStatePeriod], judged: RuleOutcome, what: &str| {
        let told = |spell: &NodeStatePeriod| {
            let [from_s, to_s] = [spell.from_s, spell.to_s].map(|s| format!("{s:.0} s"));
            let when = if from_s == to_s {
                format!("at {from_s}")
            } else {
                format!("from {from_s} to {to_s}")
            };
            (
                judged,
                format!("{}: {what}, seen {when} of the window", spell.node),
            )
        };
        spells.iter().map(told).collect::<Vec<_>>()
    };
    let mut all = told(&environment.nodes_stopped, RuleOutcome::Fail, stopped);
    all.extend(told(&environment.nodes_blocked, RuleOutcome::Warn, blocked));
    all
}

/// V13: the planned faults were injected, and their targets are whole again.
pub(super) fn faults(evidence: &Evidence) -> RuleResult {
    if evidence.faults.is_empty() {
        return (RuleOutcome::Pass, "no fault was planned".to_owned());
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
        parts.push(format!("{} {word}", fault.kind));
    }
    (outcome, parts.join(", "))
}

/// V15: everything needed to repeat the trial is on record.
pub(super) fn recorded(evidence: &Evidence) -> RuleResult {
    let detail = match evidence.not_recorded.as_deref() {
        None => {
            return (
                RuleOutcome::Unknown,
                "the run did not check the record".to_owned(),
            );
        }
        Some([]) => {
            let what = "study, plan with its seed, version, machine and every node's settings can \
                        be read back";
            what.to_owned()
        }
        Some(missing) => {
            return (
                RuleOutcome::Warn,
                format!("not on record: {}", missing.join(", ")),
            );
        }
    };
    (RuleOutcome::Pass, detail)
}

/// V16: how the data compares with the memory that can cache it.
pub(super) fn caching(evidence: &Evidence) -> RuleResult {
    match evidence.data_and_memory_bytes {
        _ if evidence.target_is_null => (
            RuleOutcome::Pass,
            "null target: it caches nothing".to_owned(),
        ),
        Some((data, memory)) if memory > 0 => {
            let ratio = data as f64 / memory as f64;
            let what = if ratio < 1.0 {
                "the node can cache all of it"
            } else {
                "the node cannot cache all of it"
            };
            let detail = format!("the data is {ratio:.2} times the memory of a node: {what}");
            (RuleOutcome::Pass, detail)
        }
        _ => (
            RuleOutcome::Unknown,
            "the run did not read the sizes of data and memory".to_owned(),
        ),
    }
}

/// V21: no node had an unexpected exception.
pub(super) fn exceptions(evidence: &Evidence) -> RuleResult {
    if evidence.target_is_null {
        return (RuleOutcome::Pass, "null target: it has none".to_owned());
    }
    let Some(met) = &evidence.exceptions else {
        return (
            RuleOutcome::Unknown,
            "no node reports exceptions".to_owned(),
        );
    };
    if met.is_empty() {
        return (RuleOutcome::Pass, "no uncaught exception".to_owned());
    }
    let met = met.join("; ");
    match evidence.faults_words() {
        None => (RuleOutcome::Warn, format!("uncaught exceptions: {met}")),
        Some(kinds) => (
            RuleOutcome::Pass,
            format!("uncaught exceptions in a trial with {kinds}: {met}"),
        ),
    }
}

/// V17: the probes cost little.
pub(super) fn probes(evidence: &Evidence, limits: &Limits) -> RuleResult {
    let Some(share) = evidence.probes_cpu_share else {
        return (
            RuleOutcome::Unknown,
            "the probes' own cost was not measured".to_owned(),
        );
    };
    let over = share > limits.probes_cpu_share;
    let limit = percent(limits.probes_cpu_share);
    let detail = format!("probes used {} of a core (limit {limit})", percent(share));
    (
        if over {
            RuleOutcome::Warn
        } else {
            RuleOutcome::Pass
        },
        detail,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::FaultEvidence;

    /// A process that is stopped is the same process.
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
        let expected = "node1: threads waited within the kernel (state D), as for a disk that does \
                        not answer or a frozen file system, seen at 3 s of the window";
        assert_eq!(detail, expected);
        let seen = evidence.environment.as_mut().unwrap();
        seen.nodes_stopped = vec![spell("node2", 9.6, 29.8)];
        let (outcome, detail) = environment(&evidence, &Limits::default());
        assert_eq!(outcome, RuleOutcome::Fail);
        let expected = "node2: its process was stopped (state T), seen from 10 s to 30 s of the \
                        window; node1: threads";
        assert!(detail.starts_with(expected), "{detail}");
        evidence.faults.push(FaultEvidence {
            kind: "node-pause".to_owned(),
            confirmed: Some(true),
            healed: true,
        });
        let (outcome, _) = environment(&evidence, &Limits::default());
        assert_eq!(outcome, RuleOutcome::Pass);
    }

    /// Another user creates a table, and a node throws an uncaught exception; both are expected
    /// during a fault.
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
            detail,
            "the cluster's metadata changed: epoch 4: SCHEMA_CHANGE"
        );
        let (outcome, detail) = exceptions(&evidence);
        assert_eq!(outcome, RuleOutcome::Warn);
        assert_eq!(detail, "uncaught exceptions: node1: 1 of X");
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
            detail.ends_with("in a trial with node-leave: node1: 1 of X"),
            "{detail}"
        );
        evidence.exceptions = None;
        assert_eq!(exceptions(&evidence).0, RuleOutcome::Unknown);
    }

    /// Nothing was shown, and the rule passed.
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
        assert!(detail.contains(expected), "{detail}");
        assert_eq!(v11(&["heap of node1"]).0, RuleOutcome::Fail);
    }
}
