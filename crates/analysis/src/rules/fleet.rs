//! Rules about several clients: V3, V4, V5, V18 and V20, each judged by the worst of them.
//!
//! What a client saw of itself is judged as if it were the only one; what only several can be, late
//! for their common start or unequal, comes to that.

use super::client_seen::ClientSeen;
use super::evidence::Evidence;
use super::limits::Limits;
use super::machine;
use super::outcome::{Outcome, below, percent};

type Judged = (Outcome, String);

/// V3: no client was what limited the result.
pub(super) fn not_the_bottleneck(evidence: &Evidence, limits: &Limits) -> Judged {
    if evidence.clients.is_empty() {
        return machine::not_the_bottleneck(evidence, limits);
    }
    let each = worst(evidence, |one| machine::not_the_bottleneck(one, limits));
    match unequal(evidence, limits) {
        Some(unequal) if unequal.0 >= each.0 => unequal,
        _ => each,
    }
}

/// V4: every client was there from start to end.
pub(super) fn present(evidence: &Evidence, limits: &Limits) -> Judged {
    let lost: Vec<&str> = evidence.clients.iter().filter_map(|one| one.lost.as_deref()).collect();
    if !lost.is_empty() {
        return (Outcome::Fail, lost.join("; "));
    }
    if evidence.clients.is_empty() {
        return machine::present(evidence, limits);
    }
    let each = worst(evidence, |one| machine::present(one, limits));
    match throttled(evidence, limits) {
        Some(throttled) if throttled.0 > each.0 => throttled,
        _ => each,
    }
}

/// V5: all clients began on one line, and it is known how their clocks stand.
pub(super) fn together(evidence: &Evidence, limits: &Limits) -> Judged {
    if evidence.clients.is_empty() {
        let detail = "one client process: one clock, no start skew";
        return (Outcome::Pass, detail.to_owned());
    }
    let each = evidence.clients.iter().map(|client| one_together(client, limits));
    let worst = each.reduce(|worst, one| if one.0 > worst.0 { one } else { worst });
    match worst {
        Some((Outcome::Pass, _)) | None => {
            let most = |of: fn(&ClientSeen) -> f64| {
                evidence.clients.iter().map(of).fold(0.0, f64::max) * 1e3
            };
            let detail = format!(
                "{} clients, told of their start in time; their clocks are known to {:.2} ms \
                 (limit {:.0} ms)",
                evidence.clients.len(),
                most(|one| one.clock_bound_s),
                limits.clock_bound_s * 1e3
            );
            (Outcome::Pass, detail)
        }
        Some(bad) => bad,
    }
}

fn one_together(client: &ClientSeen, limits: &Limits) -> Judged {
    let name = &client.name;
    let started = below(client.late_s, limits.start_late_s);
    if started != Outcome::Pass {
        let detail = format!(
            "{name} was told of the start line {:.3} s too late (limit {:.2} s)",
            client.late_s, limits.start_late_s[0]
        );
        return (started, detail);
    }
    if let Some((at_s, by_s)) = client.clock_breaks.first() {
        let detail = format!(
            "the clock by which {name} measures, or ours, moved by {by_s:+.3} s at {at_s:.1} s: it \
             was set, or a machine stood still"
        );
        return (Outcome::Warn, detail);
    }
    if client.clock_bound_s > limits.clock_bound_s {
        let detail = format!(
            "the clock of {name} is only known to {:.1} ms (limit {:.0} ms)",
            client.clock_bound_s * 1e3,
            limits.clock_bound_s * 1e3
        );
        return (Outcome::Warn, detail);
    }
    (Outcome::Pass, String::new())
}

/// V18: nobody else used the clients' machines. What runs beside them on this one is known better.
pub(super) fn undisturbed(evidence: &Evidence, limits: &Limits) -> Judged {
    let here = machine::undisturbed(evidence, limits);
    let elsewhere = evidence.clients.iter().filter(|client| !client.is_here);
    let waited = elsewhere.filter_map(|client| {
        let wait_s = client.window.wait_ns? as f64 / 1e9;
        let share = wait_s / client.window.seconds.max(1e-9) / client.cores.max(1.0);
        let outcome = machine::at_most_warned(below(share, limits.others_wait_share), limits);
        let detail = format!(
            "the workers of {} waited for a CPU {} of the time (limit {})",
            client.name,
            percent(share),
            percent(limits.others_wait_share[0])
        );
        Some((outcome, detail))
    });
    let worst = waited.reduce(|worst, one| if one.0 > worst.0 { one } else { worst });
    match worst {
        Some(elsewhere) if elsewhere.0 > here.0 => elsewhere,
        _ => here,
    }
}

/// V20: nobody set the clock of a machine whose client gives writes their times.
pub(super) fn clock_unset(evidence: &Evidence, limits: &Limits) -> Judged {
    let here = machine::clock_unset(evidence, limits);
    let set = evidence.clients.iter().find_map(|client| {
        let (at_s, by_s) = client.clock_set.first()?;
        Some(format!(
            "the clock of {} was set by {by_s:+.3} s at {at_s:.1} s: the order of writes by their \
             timestamps is not that in which they came",
            client.name
        ))
    });
    match set {
        Some(detail) => (here.0.max(Outcome::Warn), detail),
        None => here,
    }
}

/// The worst of all clients, each judged as if it were the only one.
fn worst(evidence: &Evidence, judge: impl Fn(&Evidence) -> Judged) -> Judged {
    let each = evidence.clients.iter().map(|client| {
        let alone = Evidence {
            window: client.window.clone(),
            offered: evidence.offered,
            target_is_null: evidence.target_is_null,
            client_cores: client.cores,
            shares_cores: evidence.shares_cores && client.is_here,
            ceilings_ops_per_s: client.ceilings_ops_per_s.clone(),
            ..Evidence::default()
        };
        let (outcome, detail) = judge(&alone);
        (outcome, format!("{}: {detail}", client.name))
    });
    let worst = each.reduce(|worst, one| if one.0 > worst.0 { one } else { worst });
    worst.unwrap_or((Outcome::Unknown, "no client was there".to_owned()))
}

/// A client that was kept from its CPUs by a quota, which no other rule sees.
fn throttled(evidence: &Evidence, limits: &Limits) -> Option<Judged> {
    let share = |client: &ClientSeen| {
        let seconds = client.window.seconds.max(1e-9);
        client.throttled_s.map(|throttled_s| throttled_s / seconds)
    };
    let shares = evidence.clients.iter().filter_map(|one| Some((share(one)?, one)));
    let (share, client) = shares.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let detail = format!(
        "{} was kept from its CPUs by a quota for {} of the time (limit {})",
        client.name,
        percent(share),
        percent(limits.silence_share[0])
    );
    Some((below(share, limits.silence_share), detail))
}

/// In a closed loop each worker does what its machine lets it do: one that does much less than
/// others is another client than they are.
fn unequal(evidence: &Evidence, limits: &Limits) -> Option<Judged> {
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
        let detail = format!(
            "a worker of {} did {} less than one of {} (limit {}): the clients are not equal",
            slowest.name,
            percent(share),
            fastest.name,
            percent(limits.clients_spread)
        );
        (Outcome::Warn, detail)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::healthy;
    use super::super::{Rule, judge};
    use super::*;

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

    fn judged(change: impl Fn(&mut Evidence)) -> Vec<(String, Outcome, String)> {
        let mut evidence = Evidence {
            clients: vec![client("client1 (here)"), client("client2 (db7)")],
            ..healthy()
        };
        change(&mut evidence);
        let rules = judge(&evidence, &Limits::default()).rules.into_iter();
        let bad = rules.filter(|rule| rule.outcome > Outcome::Pass);
        bad.map(
            |Rule {
                 id,
                 outcome,
                 detail,
             }| (id.to_owned(), outcome, detail),
        )
        .collect()
    }

    /// What is wrong with the second client.
    fn second(change: impl Fn(&mut ClientSeen)) -> (String, Outcome) {
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
        use Outcome::{Fail, Warn};
        let said = |rule: &str, outcome| (rule.to_owned(), outcome);
        let lost = second(|one| one.lost = Some("client2 (db7) has ended".to_owned()));
        assert_eq!(lost, said("V4", Fail));
        assert_eq!(second(|one| one.late_s = 0.06), said("V5", Warn));
        assert_eq!(second(|one| one.late_s = 1.5), said("V5", Fail));
        assert_eq!(second(|one| one.clock_bound_s = 0.006), said("V5", Warn));
        assert_eq!(
            second(|one| one.clock_breaks = vec![(3.0, 0.5)]),
            said("V5", Warn)
        );
        assert_eq!(
            second(|one| one.clock_set = vec![(3.0, 5.0)]),
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

    #[test]
    fn in_a_closed_loop_clients_must_be_equal_and_at_a_rate_they_need_not() {
        let slow = |one: &mut ClientSeen| one.window.ok_in_time /= 2;
        assert_eq!(second(slow), ("V3".to_owned(), Outcome::Warn));
        let at_a_rate = judged(|evidence| {
            slow(&mut evidence.clients[1]);
            let operations = evidence.window.ended() as f64;
            evidence.offered = Some(super::super::Offered {
                operations,
                is_random: false,
            });
        });
        assert_eq!(at_a_rate, []);
    }
}
