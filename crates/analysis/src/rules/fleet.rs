//! Rules about several clients: V3, V4, V5, V18 and V20. The worst of the clients decides each
//! rule.
//!
//! Each client is judged as if it were the only client. The rules also check for problems that only
//! several clients can have, such as a late start or unequal work.

use super::client_evidence::{ClientSeen, ClockStep};
use super::describe::fleet as describe;
use super::evidence::Evidence;
use super::limits::Limits;
use super::machine;
use super::rule_outcome::{RuleOutcome, RuleResult, WeighedJudgement, ratio};
use super::statement::Statement;
use std::cmp::Ordering;

/// Judges rule V3: no client limited the result.
pub(super) fn not_the_bottleneck(evidence: &Evidence, limits: &Limits) -> RuleResult {
    if evidence.clients.is_empty() {
        return machine::not_the_bottleneck(evidence, limits).judged();
    }
    let each = each_alone(evidence, |one| machine::not_the_bottleneck(one, limits));
    worst(unequal(evidence, limits).into_iter().chain(each))
}

/// Judges rule V4: every client ran from start to end.
pub(super) fn present(evidence: &Evidence, limits: &Limits) -> RuleResult {
    let lost: Vec<&str> = evidence.clients.iter().filter_map(|one| one.lost.as_deref()).collect();
    if !lost.is_empty() {
        return (RuleOutcome::Fail, lost.join("; ").into());
    }
    if evidence.clients.is_empty() {
        return machine::present(evidence, limits).judged();
    }
    let throttled = evidence.clients.iter().filter_map(|client| throttled(client, limits));
    worst(each_alone(evidence, |one| machine::present(one, limits)).chain(throttled))
}

/// Judges rule V5: all clients began together, and the offsets of their clocks are known.
pub(super) fn together(evidence: &Evidence, limits: &Limits) -> RuleResult {
    if evidence.clients.is_empty() {
        let detail = "one client process has one clock, so it has no start skew";
        return (RuleOutcome::Pass, detail.into());
    }
    let each = evidence.clients.iter().flat_map(|client| not_together(client, limits));
    if let Some(bad) = WeighedJudgement::worst(each) {
        return bad.judged();
    }
    let bound = evidence.clients.iter().map(|one| one.clock_bound_s).fold(0.0, f64::max);
    let clients = evidence.clients.len();
    let detail = describe::began_together(clients, bound, limits.clock_bound_s);
    (RuleOutcome::Pass, detail)
}

fn not_together(client: &ClientSeen, limits: &Limits) -> Vec<WeighedJudgement> {
    let warned = |value: f64, detail| WeighedJudgement {
        outcome: RuleOutcome::Warn,
        over: ratio(value, limits.clock_bound_s),
        detail,
    };
    let moved = farthest(&client.clock_breaks).map(|step| {
        let detail = describe::measuring_clock_moved(&client.name, step);
        warned(step.by_s.abs(), detail)
    });
    let vague = (client.clock_bound_s > limits.clock_bound_s).then(|| {
        let detail = describe::clock_error(client, limits.clock_bound_s);
        warned(client.clock_bound_s, detail)
    });
    let late = describe::start_late(client, limits);
    let late = WeighedJudgement::below(client.late_s, limits.start_late_s, late);
    let all = [Some(late), moved, vague].into_iter().flatten();
    all.filter(|one| one.outcome != RuleOutcome::Pass).collect()
}

fn farthest(steps: &[ClockStep]) -> Option<ClockStep> {
    steps.iter().copied().max_by(|a, b| a.by_s.abs().total_cmp(&b.by_s.abs()))
}

/// Judges rule V18: other programs did not use the machines of the clients. For the machine that
/// runs cassay, the function uses the probes of that machine instead of the waiting times of the
/// workers.
pub(super) fn undisturbed(evidence: &Evidence, limits: &Limits) -> RuleResult {
    let here = machine::undisturbed(evidence, limits);
    let elsewhere = evidence.clients.iter().filter(|client| !client.is_here);
    let waited = elsewhere.filter_map(|client| {
        let wait_s = client.window.wait_ns? as f64 / 1e9;
        let share = wait_s / client.window.seconds.max(1e-9) / client.cores.max(1.0);
        let detail = describe::waited(&client.name, share, limits.others_wait_share);
        Some(WeighedJudgement::below(
            share,
            limits.others_wait_share,
            detail,
        ))
    });
    let Some(elsewhere) = WeighedJudgement::worst(waited) else {
        return here;
    };
    let elsewhere = machine::at_most_warned(elsewhere.judged(), limits);
    match elsewhere.0.cmp(&here.0) {
        Ordering::Greater => elsewhere,
        Ordering::Equal if elsewhere.0 > RuleOutcome::Pass => {
            let both = Statement::join([here.1, elsewhere.1], "; ");
            (elsewhere.0, both)
        }
        Ordering::Equal | Ordering::Less => here,
    }
}

/// Judges rule V20: on machines whose clients set the timestamps of writes, the clocks were not
/// set.
pub(super) fn clock_unset(evidence: &Evidence, limits: &Limits) -> RuleResult {
    let here = machine::clock_unset(evidence, limits);
    let set = evidence.clients.iter().filter_map(|client| {
        let step = farthest(&client.clock_set)?;
        let detail = describe::clock_jumped(&client.name, step);
        Some(WeighedJudgement {
            outcome: RuleOutcome::Warn,
            over: step.by_s.abs(),
            detail,
        })
    });
    match WeighedJudgement::worst(set) {
        Some(set) => (here.0.max(set.outcome), set.detail),
        None => here,
    }
}

fn each_alone(
    evidence: &Evidence,
    judge: impl Fn(&Evidence) -> WeighedJudgement,
) -> impl Iterator<Item = WeighedJudgement> {
    evidence.clients.iter().map(move |client| {
        let alone = Evidence {
            window: client.window.clone(),
            offered: evidence.offered,
            target_is_null: evidence.target_is_null,
            client_cores: client.cores,
            shares_cores: evidence.shares_cores && client.is_here,
            ceilings_ops_per_s: client.ceilings_ops_per_s.clone(),
            ..Evidence::default()
        };
        let judged = judge(&alone);
        WeighedJudgement {
            detail: judged.detail.of_client(&client.name),
            ..judged
        }
    })
}

fn worst(all: impl Iterator<Item = WeighedJudgement>) -> RuleResult {
    let none = || (RuleOutcome::Unknown, "no client took part".into());
    WeighedJudgement::worst(all).map_or_else(none, WeighedJudgement::judged)
}

/// Judges a client to which a quota denied CPU time. Other rules do not detect such a quota.
/// Returns `None` if the denied time is unknown or within the limits.
fn throttled(client: &ClientSeen, limits: &Limits) -> Option<WeighedJudgement> {
    let share = client.throttled_s? / client.window.seconds.max(1e-9);
    let detail = describe::throttled(&client.name, share, limits.silence_share);
    let judged = WeighedJudgement::below(share, limits.silence_share, detail);
    // A good result of one client is omitted here, because the rule reports the good result for all
    // clients together.
    (judged.outcome != RuleOutcome::Pass).then_some(judged)
}

/// Judges unequal work in a closed loop. In a closed loop, each worker does as much as its machine
/// allows. So a client whose workers do much less than others cannot be compared with the other
/// clients. Returns `None` in an open loop, and if the work is equal.
fn unequal(evidence: &Evidence, limits: &Limits) -> Option<WeighedJudgement> {
    if evidence.offered.is_some() {
        return None;
    }
    let per_worker = |client: &ClientSeen| client.window.ops_per_s_mean() / client.cores.max(1.0);
    let by = |a: &&ClientSeen, b: &&ClientSeen| per_worker(a).total_cmp(&per_worker(b));
    let (slowest, fastest) = (
        evidence.clients.iter().min_by(by)?,
        evidence.clients.iter().max_by(by)?,
    );
    let (low, high) = (per_worker(slowest), per_worker(fastest));
    let share = (high > 0.0).then(|| 1.0 - low / high)?;
    (share > limits.clients_spread).then(|| {
        let (slow, fast) = (&slowest.name, &fastest.name);
        let detail = describe::less_than_fastest(slow, fast, share, limits.clients_spread);
        WeighedJudgement {
            outcome: RuleOutcome::Warn,
            over: ratio(share, limits.clients_spread),
            detail,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::healthy;
    use super::super::{Rule, judge};
    use super::*;

    fn step(at_s: f64, by_s: f64) -> ClockStep {
        ClockStep { at_s, by_s }
    }

    fn client(name: &str) -> ClientSeen {
        let alone = healthy();
        ClientSeen {
            name: name.to_owned(),
            window: alone.window,
            cores: 1.0,
            ceilings_ops_per_s: alone.ceilings_ops_per_s,
            clock_bound_s: 0.000_05,
            throttled_s: Some(0.0),
            ..ClientSeen::default()
        }
    }

    fn judged(change: impl Fn(&mut Evidence)) -> Vec<(String, RuleOutcome, String)> {
        let mut evidence = Evidence {
            clients: vec![client("client1 (here)"), client("client2 (db7)")],
            ..healthy()
        };
        change(&mut evidence);
        let rules = judge(&evidence, &Limits::default()).rules.into_iter();
        let bad = rules.filter(|rule| rule.outcome > RuleOutcome::Pass);
        bad.map(
            |Rule {
                 id,
                 outcome,
                 detail,
                 ..
             }| (id.to_owned(), outcome, detail),
        )
        .collect()
    }

    /// Changes the evidence on the second client, and returns the problem that the rules then find.
    fn second(change: impl Fn(&mut ClientSeen)) -> (String, RuleOutcome) {
        let judged = judged(|evidence| change(&mut evidence.clients[1]));
        let [(rule, outcome, detail)] = &judged[..] else {
            panic!("{judged:?}");
        };
        assert!(detail.contains("client2 (db7)"), "{detail}");
        (rule.clone(), *outcome)
    }

    #[test]
    fn clients_that_are_as_they_should_be_are_as_good_as_one() {
        assert_eq!(judged(|_| ()), []);
    }

    #[test]
    fn each_thing_that_can_be_wrong_with_one_client_names_it() {
        use RuleOutcome::{Fail, Warn};
        let said = |rule: &str, outcome| (rule.to_owned(), outcome);
        let lost = second(|one| one.lost = Some("client2 (db7) has ended".to_owned()));
        assert_eq!(lost, said("V4", Fail));
        assert_eq!(second(|one| one.late_s = 0.06), said("V5", Warn));
        assert_eq!(second(|one| one.late_s = 1.5), said("V5", Fail));
        assert_eq!(second(|one| one.clock_bound_s = 0.006), said("V5", Warn));
        assert_eq!(
            second(|one| one.clock_breaks = vec![step(3.0, 0.5)]),
            said("V5", Warn)
        );
        assert_eq!(
            second(|one| one.clock_set = vec![step(3.0, 5.0)]),
            said("V20", Warn)
        );
        assert_eq!(second(|one| one.throttled_s = Some(0.2)), said("V4", Warn));
        let wait = second(|one| one.window.wait_ns = Some(3_000_000_000));
        assert_eq!(wait, said("V18", Fail));
        let stalled = second(|one| {
            (one.window.stall_longest_s, one.window.stalled_s) = (Some(3.0), 3.0);
        });
        assert_eq!(stalled, said("V4", Fail));
        let full = second(|one| one.ceilings_ops_per_s = vec![2100.0]);
        assert_eq!(full, said("V3", Fail));
    }

    /// Checks that the rule names the worse client if two clients are over a limit. The order of
    /// the clients must not matter.
    fn worse_is_named(rule: &str, limits: &Limits, make: impl Fn(&mut ClientSeen, f64)) {
        for (first, second, named) in [
            (1.0, 3.0, "client2 (db7)"),
            (3.0, 1.0, "client1 (here)"),
            (2.0, 2.0, "client1 (here)"),
        ] {
            let mut evidence = Evidence {
                clients: vec![client("client1 (here)"), client("client2 (db7)")],
                ..healthy()
            };
            make(&mut evidence.clients[0], first);
            make(&mut evidence.clients[1], second);
            let rules = judge(&evidence, limits).rules;
            let found = rules.iter().find(|one| one.id == rule).expect("a rule");
            assert!(found.outcome > RuleOutcome::Pass, "{found:?}");
            assert!(
                found.detail.contains(named),
                "{rule} {first} {second}: {}",
                found.detail
            );
        }
    }

    #[test]
    fn the_client_farthest_over_a_limit_is_named() {
        let shared = Limits {
            shared_machine: true,
            ..Limits::default()
        };
        for limits in [Limits::default(), shared] {
            worse_is_named("V4", &limits, |one, by| {
                (one.window.stall_longest_s, one.window.stalled_s) = (Some(by), by);
            });
            worse_is_named("V4", &limits, |one, by| one.throttled_s = Some(by));
            worse_is_named("V3", &limits, |one, by| {
                one.ceilings_ops_per_s = vec![2100.0 / by];
            });
            worse_is_named("V5", &limits, |one, by| one.late_s = by);
            worse_is_named("V5", &limits, |one, by| one.clock_bound_s = by);
            worse_is_named("V5", &limits, |one, by| {
                one.clock_breaks = vec![step(1.0, -by)]
            });
            worse_is_named("V18", &limits, |one, by| {
                one.is_here = false;
                one.window.wait_ns = Some((by * 3e9) as u64);
            });
            worse_is_named("V20", &limits, |one, by| {
                one.clock_set = vec![step(1.0, by)]
            });
        }
    }

    #[test]
    fn clients_must_be_equal_in_a_closed_loop_but_not_at_a_rate() {
        let slow = |one: &mut ClientSeen| one.window.ok_in_time /= 2;
        assert_eq!(second(slow), ("V3".to_owned(), RuleOutcome::Warn));
        let at_a_rate = judged(|evidence| {
            slow(&mut evidence.clients[1]);
            let operations = evidence.window.ended() as f64;
            evidence.offered = Some(super::super::OfferedLoad {
                operations,
                is_random: false,
            });
        });
        assert_eq!(at_a_rate, []);
    }
}
