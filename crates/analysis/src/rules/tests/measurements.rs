//! Tests that the numbers of each rule are the numbers in its sentence.

use super::*;
use crate::durability::Promise;
use crate::rules::Quantity::*;

/// A rule, a quantity, a change of healthy evidence, and the expected words for the value and the
/// limit.
type NumberCase = (&'static str, Quantity, Change, [&'static str; 2]);

fn case(
    rule: &'static str,
    quantity: Quantity,
    words: [&'static str; 2],
    change: impl FnOnce(&mut Evidence) + 'static,
) -> NumberCase {
    (rule, quantity, Box::new(change), words)
}

fn offer(evidence: &mut Evidence, operations: f64) {
    evidence.offered = Some(OfferedLoad {
        operations,
        is_random: false,
    });
}

fn with_clients(evidence: &mut Evidence, change: impl FnOnce(&mut ClientSeen)) {
    let client = |name: &str| ClientSeen {
        name: name.to_owned(),
        window: evidence.window.clone(),
        cores: 1.0,
        ceilings_ops_per_s: evidence.ceilings_ops_per_s.clone(),
        clock_bound_s: 0.000_05,
        throttled_s: Some(0.0),
        ..ClientSeen::default()
    };
    evidence.clients = vec![client("client1"), client("client2")];
    change(&mut evidence.clients[1]);
}

fn client_cases() -> Vec<NumberCase> {
    vec![
        case("V1", SentInWindow, ["95 %", "minimum 99 %"], |e| {
            offer(e, 21_000.0);
        }),
        case("V1", SentInWindow, ["91 %", "minimum 99 %"], |e| {
            offer(e, 22_000.0);
            let client = &mut e.window.client;
            (client[Late], client[Limited], client[DueNeverSent]) = (100, 100, 2000);
        }),
        case("V1", SentLate, ["2.0 %", "limit 1.0 %"], |e| {
            offer(e, 20_000.0);
            e.window.client[Late] = 400;
        }),
        case("V3", ClientCpu, ["80 %", "limit 70 %"], |e| {
            offer(e, 20_000.0);
            e.window.cpu_ns = 8 * SECOND;
        }),
        case("V3", ClientCpu, ["90 %", "limit 85 %"], |e| {
            (e.shares_cores, e.window.cpu_ns) = (false, 9 * SECOND);
        }),
        case("V3", OfCeiling, ["51 %", "limit 50 %"], |e| {
            e.ceilings_ops_per_s = vec![3900.0];
        }),
        case("V3", CeilingSpread, ["a factor of 4.3", "limit 1.5"], |e| {
            e.ceilings_ops_per_s = vec![9000.0, 2100.0];
        }),
        case("V3", LessThanFastest, ["50 %", "limit 20 %"], |e| {
            with_clients(e, |client| client.window.ok_in_time /= 2);
        }),
        case("V4", StallLongest, ["0.12 s", "limit 0.10 s"], |e| {
            e.window.stall_longest_s = Some(0.12);
        }),
        case("V4", Stalled, ["0.15 s", "limit 0.10 s"], |e| {
            (e.window.stall_longest_s, e.window.stalled_s) = (Some(0.02), 0.15);
        }),
        case("V4", Throttled, ["2.0 %", "limit 1.0 %"], |e| {
            with_clients(e, |client| client.throttled_s = Some(0.2));
        }),
        case("V5", StartLate, ["0.060 s", "limit 0.05 s"], |e| {
            with_clients(e, |client| client.late_s = 0.06);
        }),
        case("V5", ClockError, ["6.0 ms", "limit 5 ms"], |e| {
            with_clients(e, |client| client.clock_bound_s = 0.006);
        }),
        case("V8", FailedOperations, ["1.5 %", "limit 1.0 %"], |e| {
            e.window = window(&[(Outcome::Overloaded, 30)]);
        }),
        case(
            "V8",
            ClientTimeouts,
            ["10 client", "a single client"],
            |e| {
                e.window = window(&[(Outcome::ClientTimeout, 1)]);
            },
        ),
        case("V12", WindowLength, ["10.0 s", "minimum 60 s"], |e| {
            e.planned_s = 60.0;
        }),
        case(
            "V12",
            Successes,
            ["9,990 latencies", "at least 10,000"],
            |e| {
                e.window.ok = 9990;
            },
        ),
        case("V12", ThroughputDrift, ["31 %", "limit 10 %"], |e| {
            e.window.ops_per_s = (0..10).map(|n| 1000.0 - 30.0 * f64::from(n)).collect();
        }),
    ]
}

fn machine_cases() -> Vec<NumberCase> {
    let machine = |others: f64, nodes: f64, client: f64, cpus: f64| MachineUse {
        cpu: Some(CpuUse {
            others,
            nodes,
            client,
            cpus,
        }),
        ..MachineUse::default()
    };
    vec![
        case("V18", OthersCpu, ["15 %", "limit 10 %"], move |e| {
            e.machine = Some(machine(0.15, 0.35, 0.15, 4.0));
        }),
        case("V18", WorkersWaited, ["60 %", "limit 5.0 %"], move |e| {
            e.machine = Some(machine(0.09, 0.0, 0.05, 2.0));
            e.window.wait_ns = Some(6 * SECOND);
        }),
        case("V18", WorkersWaited, ["8.0 %", "limit 5.0 %"], |e| {
            with_clients(e, |client| client.window.wait_ns = Some(SECOND / 10 * 8));
        }),
        case("V18", TasksWaited, ["72 %", "limit 20 %"], move |e| {
            let mut machine = machine(0.45, 0.02, 0.15, 4.0);
            machine.pressure.cpu = Some(0.95);
            e.machine = Some(machine);
        }),
        case("V18", DiskOfOthers, ["95 %", "limit 10 %"], |e| {
            e.machine = Some(MachineUse {
                disk_others: Some(0.95),
                ..MachineUse::default()
            });
        }),
        case("V18", MemoryWaited, ["50 %", "limit 5.0 %"], |e| {
            e.machine.get_or_insert_default().pressure.memory = Some(0.5);
        }),
        case("V19", QuietLongest, ["1.20 s", "limit 0.20 s"], |e| {
            e.window.quiet_longest_s = 1.2;
        }),
        case("V20", ClockMoved, ["-0.500 s", "limit 0.110 s"], |e| {
            e.clock = Some(ClockMove {
                moved_s: -0.5,
                over_s: 60.0,
            });
        }),
    ]
}

fn target_cases() -> Vec<NumberCase> {
    vec![
        case("V7", CountDifference, ["0.50 %", "limit 0.10 %"], |e| {
            set_server(e, 20_100);
        }),
        case("V10", PendingAtEnd, ["24.5 in", "limit 9.5"], |e| {
            e.pending_compactions = Some((0..30).map(f64::from).collect());
        }),
        case("V11", StolenCpu, ["5.0 %", "limit 2.0 %"], |e| {
            e.environment.get_or_insert_default().steal_share = Some(0.05);
        }),
        case("V17", ProbesCpu, ["20 %", "limit 5.0 %"], |e| {
            e.probes_cpu_share = Some(0.2);
        }),
    ]
}

fn data_cases() -> Vec<NumberCase> {
    let none = "limit 0";
    let checks = |e: &mut Evidence, change: fn(&mut CheckCounts)| change(&mut e.checks);
    let rows = |e: &mut Evidence, change: fn(&mut CheckCounts)| {
        change(&mut e.read_back.get_or_insert_default().checks);
    };
    let registers = Registers {
        checked: 8,
        violated: 3,
        undecided: 0,
    };
    vec![
        case("V14", MissingReads, ["3 missing", none], move |e| {
            checks(e, |counts| counts.missing = 3);
        }),
        case("V14", StaleReads, ["3 stale", none], move |e| {
            checks(e, |counts| counts.stale = 3);
        }),
        case("V14", WrongReads, ["3 wrong", none], move |e| {
            checks(e, |counts| counts.wrong = 3);
        }),
        case("V14", ResurrectedReads, ["3 deleted", none], move |e| {
            checks(e, |counts| counts.resurrected = 3);
        }),
        case("V14", ReadsOfNothing, ["2.0 %", "limit 1.0 %"], |e| {
            e.found = Some(PresentRows {
                reads: 5000,
                nothing: 100,
            });
        }),
        case("V14", LostRows, ["3 lost", none], move |e| {
            rows(e, |counts| counts.missing = 3);
        }),
        case("V14", LostRows, ["3 lost", "must not happen"], move |e| {
            e.promise = Some(Promise::Kept("two meet".to_owned()));
            rows(e, |counts| counts.missing = 3);
        }),
        case("V14", StaleRows, ["3 stale", none], move |e| {
            rows(e, |counts| counts.stale = 3);
        }),
        case("V14", ResurrectedRows, ["3 deleted", none], move |e| {
            rows(e, |counts| counts.resurrected = 3);
        }),
        case("V14", LowCounters, ["3 counters", none], move |e| {
            rows(e, |counts| counts.too_low = 3);
        }),
        case("V14", ViolatedRegisters, ["3 not", none], move |e| {
            e.registers = Some(registers);
        }),
    ]
}

/// Returns the number in a text, in the unit of the quantity, and half of the value of its last
/// digit.
fn number(words: &str) -> (f64, f64) {
    let written = match words {
        "a single client" => "1",
        "must not happen" => "0",
        words => words,
    };
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    let digits: String = written.chars().filter(|c| is_part(*c)).collect();
    let decimals = digits.split_once('.').map_or(0, |(_, after)| after.len());
    let scale = match written {
        share if share.ends_with('%') => 0.01,
        time if time.ends_with(" ms") => 0.001,
        _ => 1.0,
    };
    let half = 0.5 * 0.1f64.powi(decimals as i32);
    (digits.parse::<f64>().unwrap() * scale, half * scale * 1.001)
}

#[test]
fn values_and_limits_are_the_numbers_of_the_sentence() {
    let cases = client_cases()
        .into_iter()
        .chain(machine_cases())
        .chain(target_cases())
        .chain(data_cases());
    let (mut tried, mut limited) = (Vec::new(), Vec::new());
    for (id, quantity, change, words) in cases {
        let mut evidence = healthy();
        change(&mut evidence);
        let judgement = judge(&evidence, &Limits::default());
        let rule = judgement.rules.iter().find(|rule| rule.id == id).unwrap();
        let mut measured = rule.measured.iter();
        let one = measured.find(|one| one.quantity == quantity).unwrap_or_else(|| {
            panic!("{quantity} is not in {rule:?}");
        });
        let limit = one.limit.unwrap_or_else(|| panic!("{quantity} has no limit"));
        for (part, value) in words.into_iter().zip([one.value.abs(), limit]) {
            let (written, half) = number(part);
            assert!(rule.detail.contains(part), "{part}: {}", rule.detail);
            assert!((value - written).abs() <= half, "{part}: {value}");
        }
        assert!(one.is_beyond_limit(), "{one:?}");
        assert!(rule.measured[0].is_beyond_limit(), "{rule:?}");
        tried.push(quantity);
        let all = judgement.rules.iter().flat_map(|rule| &rule.measured);
        limited.extend(all.filter(|one| one.limit.is_some()).map(|one| one.quantity));
    }
    for quantity in limited {
        assert!(
            tried.contains(&quantity),
            "{quantity} has a limit and no case"
        );
    }
}

#[test]
fn a_number_of_one_client_names_it_and_others_have_no_place() {
    let mut evidence = healthy();
    with_clients(&mut evidence, |client| {
        client.window.stall_longest_s = Some(3.0);
    });
    let judgement = judge(&evidence, &Limits::default());
    let reasons = judgement.reasons();
    assert_eq!((reasons.len(), reasons[0].id), (1, "V4"), "{reasons:?}");
    let places: Vec<_> = reasons[0].measured.iter().map(|one| one.place.as_deref()).collect();
    assert_eq!(places[0], Some("client2"), "{places:?}");
    for rule in &judge(&healthy(), &Limits::default()).rules {
        let has_place = rule.measured.iter().any(|one| one.place.is_some());
        // With one client, only rule V7 names a place, because it judges reads and writes
        // separately.
        assert_eq!(has_place, rule.id == "V7", "{rule:?}");
    }
}

/// On a machine that is declared as shared, other programs cannot make a trial fail.
#[test]
fn a_limit_to_fail_is_left_out_where_a_rule_only_warns() {
    let mut evidence = healthy();
    evidence.window.stall_longest_s = Some(3.0);
    let fail_limit = |is_shared: bool| {
        let limits = Limits {
            shared_machine: is_shared,
            ..Limits::default()
        };
        let rules = judge(&evidence, &limits).rules;
        rules.iter().find(|rule| rule.id == "V4").unwrap().measured[0].fail_limit
    };
    assert_eq!((fail_limit(false), fail_limit(true)), (Some(0.5), None));
}

#[test]
fn each_quantity_has_one_name_and_a_unit() {
    for (index, quantity) in Quantity::ALL.into_iter().enumerate() {
        assert!(!quantity.unit().is_empty());
        let first = Quantity::ALL.iter().position(|one| one.name() == quantity.name());
        assert_eq!(first, Some(index), "{quantity}");
    }
}
