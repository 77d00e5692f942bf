//! Tests the rules on other programs, with evidence that is healthy except for one property.

use super::super::RuleOutcome::{Fail, Pass, Unknown, Warn};
use super::super::tests::{after, healthy};
use super::super::{
    ClockMove, CpuUse, Evidence, Limits, MachineUse, Pressure, RuleOutcome, Verdict, Window, judge,
};
use measure::{Interval, IntervalConsumer, SummedInterval};

/// Returns evidence from a laptop with four CPUs and an open browser. The nodes and the client use
/// half of the CPU time.
fn laptop() -> MachineUse {
    MachineUse {
        cpu: Some(CpuUse {
            others: 0.06,
            nodes: 0.35,
            client: 0.15,
            cpus: 4.0,
        }),
        disk_others: Some(0.02),
        pressure: Pressure {
            cpu: Some(0.40),
            io: Some(0.05),
            memory: Some(0.0),
        },
        ..MachineUse::default()
    }
}

fn rule(evidence: &Evidence, limits: &Limits, id: &str) -> (RuleOutcome, String) {
    let judgement = judge(evidence, limits);
    let rule = judgement.rules.into_iter().find(|rule| rule.id == id).unwrap();
    (rule.outcome, rule.detail)
}

/// Returns the outcome of V18 on a laptop after `change`, with the first sentence.
fn v18(change: impl FnOnce(&mut MachineUse, &mut Evidence)) -> (RuleOutcome, String) {
    let (mut machine, mut evidence) = (laptop(), healthy());
    evidence.window.wait_ns = Some(evidence.window.cpu_ns);
    change(&mut machine, &mut evidence);
    evidence.machine = Some(machine);
    let (outcome, detail) = rule(&evidence, &Limits::default(), "V18");
    let first = detail.split([';', ',']).next().unwrap_or_default();
    (outcome, first.to_owned())
}

#[test]
fn a_laptop_in_use_is_suspect_and_invalid_if_something_waits() {
    let cpu = |others| CpuUse {
        others,
        ..laptop().cpu.unwrap()
    };
    assert_eq!(v18(|_, _| {}).0, Pass);
    for (others, expected) in [(0.09, Pass), (0.15, Warn), (0.45, Warn)] {
        let (outcome, first) = v18(|machine, _| machine.cpu = Some(cpu(others)));
        assert_eq!(outcome, expected, "{others}: {first}");
        if expected != Pass {
            assert!(first.starts_with("other programs used"), "{first}");
        }
    }
    let (outcome, first) = v18(|machine, _| {
        machine.cpu = Some(CpuUse {
            nodes: 0.02,
            ..cpu(0.45)
        });
        machine.pressure.cpu = Some(0.95);
    });
    assert_eq!(outcome, Fail, "{first}");
    assert!(
        first.starts_with("at least one task waited for other programs"),
        "{first}"
    );
}

/// Nodes on the client's cores also make the client wait. That waiting is part of the measurement,
/// so the rule does not blame other programs.
#[test]
fn waiting_for_the_nodes_is_not_laid_to_others() {
    let busy = |others: f64, nodes: f64| CpuUse {
        others,
        nodes,
        client: 0.05,
        cpus: 2.0,
    };
    let waited = |evidence: &mut Evidence| evidence.window.wait_ns = Some(6_000_000_000);
    for (others, nodes, expected) in [(0.01, 0.74, Pass), (0.09, 0.60, Warn), (0.09, 0.0, Fail)] {
        let (outcome, first) = v18(|machine, evidence| {
            machine.cpu = Some(busy(others, nodes));
            machine.pressure.cpu = None;
            waited(evidence);
        });
        assert_eq!(outcome, expected, "{others} {nodes}: {first}");
        if expected != Pass {
            assert!(
                first.starts_with("the client's workers waited for other programs"),
                "{first}"
            );
        }
    }
    let (outcome, first) = v18(|machine, _| {
        (machine.cpu, machine.pressure.cpu) = (Some(busy(0.09, 0.15)), Some(0.9));
    });
    assert_eq!(
        (outcome, first.contains("at least one task waited")),
        (Warn, true)
    );
}

#[test]
fn disks_and_memory_warn_and_never_fail() {
    let (outcome, first) = v18(|machine, _| machine.disk_others = Some(0.95));
    assert_eq!((outcome, first.contains("a disk was busy")), (Warn, true));
    let (outcome, first) = v18(|machine, _| machine.pressure.memory = Some(0.5));
    assert_eq!((outcome, first.contains("waited for memory")), (Warn, true));
}

#[test]
fn unreadable_counters_accuse_nothing_and_give_the_reason() {
    let unseen = MachineUse {
        unseen: Some("read /proc/stat: not there".to_owned()),
        ..MachineUse::default()
    };
    let strange = MachineUse {
        has_strange_nodes: true,
        cpu: Some(CpuUse {
            others: 0.9,
            ..CpuUse::default()
        }),
        ..laptop()
    };
    for (machine, says) in [
        (None, "no probe watched"),
        (Some(unseen), "read /proc/stat: not there"),
        (Some(strange), "cassay did not start"),
        (Some(MachineUse::default()), "no reading"),
    ] {
        let evidence = Evidence {
            machine,
            ..healthy()
        };
        let (outcome, detail) = rule(&evidence, &Limits::default(), "V18");
        assert_eq!(outcome, Unknown, "{detail}");
        assert!(detail.contains(says), "{detail}");
    }
}

#[test]
fn a_client_that_was_stopped_is_found_in_closed_loops_too() {
    for (stall_s, together_s, expected) in [
        (0.01, 0.0, Pass),
        (0.09, 0.09, Pass),
        (0.12, 0.12, Warn),
        (1.5, 1.5, Fail),
        (0.02, 0.15, Warn),
        (0.02, 0.6, Fail),
    ] {
        let mut evidence = healthy();
        evidence.window.stall_longest_s = Some(stall_s);
        evidence.window.stalled_s = together_s;
        let (outcome, detail) = rule(&evidence, &Limits::default(), "V4");
        assert_eq!(outcome, expected, "{stall_s} {together_s}: {detail}");
        let shared = Limits {
            shared_machine: true,
            ..Limits::default()
        };
        let (outcome, _) = rule(&evidence, &shared, "V4");
        assert_eq!(outcome, expected.min(Warn));
    }
    let (outcome, detail) = rule(&healthy(), &Limits::default(), "V4");
    assert_eq!(outcome, Pass);
    assert!(detail.contains("timer delays are unknown"), "{detail}");
}

/// The limits for a stall grow with the window, up to a maximum. So a stall of more than two
/// seconds fails in any window.
#[test]
fn the_limits_of_a_stall_follow_the_window() {
    let long = |seconds: f64, stall_s: f64| {
        let mut evidence = healthy();
        evidence.window.seconds = seconds;
        evidence.window.stall_longest_s = Some(stall_s);
        rule(&evidence, &Limits::default(), "V4").0
    };
    let seen = [
        (30.0, 0.2),
        (30.0, 1.2),
        (30.0, 1.6),
        (600.0, 1.2),
        (600.0, 2.1),
    ];
    let outcomes = seen.map(|(seconds, stall_s)| long(seconds, stall_s));
    assert_eq!(outcomes, [Pass, Warn, Fail, Warn, Fail]);
}

#[test]
fn a_silent_target_differs_from_slow_answers_and_absent_clients() {
    let of = |quiet_s: f64, stall_s: f64| {
        let mut evidence = healthy();
        evidence.window.quiet_longest_s = quiet_s;
        evidence.window.stall_longest_s = Some(stall_s);
        rule(&evidence, &Limits::default(), "V19")
    };
    assert_eq!(of(0.15, 0.0).0, Pass);
    let (outcome, detail) = of(1.2, 0.0);
    assert_eq!(outcome, Warn, "{detail}");
    assert!(detail.contains("1.20 s once (limit 0.20 s)"), "{detail}");
    let (outcome, detail) = of(1.2, 1.19);
    assert_eq!((outcome, detail.contains("V4")), (Pass, true), "{detail}");
    // With five pauses in ten seconds, pauses are common, so they are not rare silences.
    let mut often = healthy();
    often.window.quiet_longest_s = 0.30;
    for (times, expected) in [(4, Warn), (5, Pass)] {
        often.window.quiet_s = [vec![0.02; 5], vec![0.16; times - 1], vec![0.30]].concat();
        let (outcome, detail) = rule(&often, &Limits::default(), "V19");
        assert_eq!(outcome, expected, "{detail}");
    }
    let mut slow = healthy();
    // The healthy target responds in about two milliseconds. Here, the silence is four times as
    // long as the median latency.
    slow.window.quiet_longest_s = 4.0 * slow.window.latency_median_s();
    let low = Limits {
        quiet_s: [0.001, 0.001],
        ..Limits::default()
    };
    let (outcome, detail) = rule(&slow, &low, "V19");
    assert_eq!((outcome, detail.contains("take this long")), (Pass, true));
}

/// The drain lasts for seconds and is not part of the window. In an earlier version, the CPU time
/// of the drain counted as part of the window.
#[test]
fn the_drain_has_no_part_in_shares_of_the_window() {
    let mut window = Window::default();
    for (index, draining) in [(0, false), (1, false), (2, true)] {
        let mut interval = Interval {
            draining,
            ..Interval::second(index, Vec::new())
        };
        (interval.client.cpu_ns, interval.client.wait_ns) = (500_000_000, Some(20));
        interval.client.hiccups.cpu_ns = 7;
        interval.client.hiccups.stalled_ns = 3_000_000_000;
        window.push(&SummedInterval::new(interval.into()));
    }
    assert_eq!((window.cpu_ns, window.wait_ns), (1_000_000_000, Some(40)));
    // A stall that is observed in the drain began before the drain, so it counts.
    assert_eq!((window.stalls_cpu_ns, window.stalled_s), (14, 9.0));
}

/// On one day, ceilings measured for one second each on one machine ranged from 132,000 to 970,000
/// op/s.
#[test]
fn a_ceiling_that_varies_is_not_trusted_where_it_decides() {
    // The throughput is 2,000 op/s. So the rule warns at a ceiling of 4,000 op/s or lower, and
    // fails at 2,222 op/s or lower.
    for (ceilings, expected, says) in [
        (
            vec![970_000.0, 132_000.0, 400_000.0],
            Pass,
            "differ by a factor of 7.3",
        ),
        (vec![5_000.0, 4_500.0, 4_400.0], Pass, "the lowest of 3"),
        (vec![4_400.0, 3_900.0], Warn, "the lowest of 2"),
        (vec![2_500.0, 2_100.0], Fail, "the lowest of 2"),
        (vec![9_000.0, 2_100.0], Warn, "is unreliable"),
        (vec![2_100.0, 1_000.0], Fail, "differ by a factor of 2.1"),
        (vec![0.0], Unknown, "did not measure"),
        (vec![9_000.0], Pass, "measured once"),
    ] {
        let evidence = Evidence {
            ceilings_ops_per_s: ceilings.clone(),
            ..healthy()
        };
        let (outcome, detail) = rule(&evidence, &Limits::default(), "V3");
        assert_eq!(outcome, expected, "{ceilings:?}: {detail}");
        assert!(detail.contains(says), "{detail}");
    }
}

#[test]
fn a_client_that_fills_its_own_cores_is_the_limit() {
    // The window is ten seconds long, and the client has one core.
    for (cpu_s, expected) in [(8.0, None), (9.0, Some(Warn)), (9.9, Some(Fail))] {
        let full = |e: &mut Evidence, is_shared: bool| {
            (e.window.cpu_ns, e.shares_cores) = ((cpu_s * 1e9) as u64, is_shared);
        };
        let (verdict, bad) = after(|e| full(e, false));
        assert_eq!(bad.first().map(|rule| rule.1), expected, "{cpu_s}");
        assert_eq!(verdict == Verdict::Valid, expected.is_none());
        // If nodes also use the cores, the client uses only the CPU time that the nodes leave.
        assert_eq!(after(|e| full(e, true)).1, vec![]);
    }
}

#[test]
fn a_clock_that_was_set_is_told_from_one_that_is_kept_right() {
    let of = |moved_s: f64| {
        let over_s = 60.0;
        after(|e| e.clock = Some(ClockMove { moved_s, over_s })).1
    };
    // The limit is 50 ms, plus 1 ms for each of the 60 seconds.
    for kept_right in [0.0, 0.109, -0.109] {
        assert_eq!(of(kept_right), []);
    }
    for set in [0.111, -0.111, 3600.0] {
        assert_eq!(of(set), [("V20", RuleOutcome::Warn)]);
    }
}
