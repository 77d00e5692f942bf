//! Tests the screens and lines that cassay shows for invented events.

use super::*;
use engine::{CpuShares, FaultStage, HostCpu, HostNow, PlannedFault, Progress};
use expect_test::{ExpectFile, expect_file};
use fleet::{ClientNow, SecondNow};
use measure::clock::SECOND_NS;
use measure::{Interval, KindInterval, Known, Outcome};
use store::record::{TrialFinding, Verdict};

/// Shows the events of a run of three trials, up to one second after the run created its folder.
fn begun_run(state: &mut RunState) {
    let names = [
        "writes, 8 threads",
        "writes, 32 threads",
        "mixed reads and writes, 128 threads",
    ];
    let started = Event::RunStarted {
        path: "results/first-look/20260102T140000Z".into(),
        study: "first-look".to_owned(),
        names: names.map(str::to_owned).into(),
        left: (3, 3),
        finished: Vec::new(),
        seconds: (180.0, 180.0),
    };
    state.event(&started, SECOND_NS);
}

fn trial(state: &mut RunState, index: usize, name: &str, now_ns: u64) {
    let started = Event::TrialStarted {
        index,
        trials: 3,
        name: name.to_owned(),
        seconds_after: 60.0,
    };
    state.event(&started, now_ns);
}

fn phase(state: &mut RunState, phase: &'static str, now_ns: u64) {
    let started = Event::PhaseStarted {
        phase,
        what: "2 nodes of Cassandra 5.0.5".to_owned(),
        seconds: 120.0,
        seconds_after: 10.0,
    };
    state.event(&started, now_ns);
}

fn second(state: &mut RunState, index: u64, ops_per_s: f64, p99_ms: f64, timeouts: u64) {
    let mut kind = KindInterval::default();
    kind.outcomes.add_many(Outcome::ClientTimeout, timeouts);
    let interval = Interval::second(index, vec![kind]);
    let event = Event::Interval {
        progress: Progress {
            seconds: index as f64 + 1.0,
            operations: 30_000 * (index + 1),
            ops_per_s,
            p99_ms,
            errors: state.errors.values().sum::<u64>() + timeouts,
            of: None,
        },
        phase: "measure",
        interval: Arc::new(interval),
    };
    state.event(&event, (100 + index) * SECOND_NS);
}

fn finding(verdict: Verdict) -> TrialFinding {
    let mut finding = TrialFinding {
        verdict,
        ..TrialFinding::default()
    };
    finding.all.ops_per_s = 53_210.4;
    finding.all.latency_ms.p50 = 1.234.into();
    finding.all.latency_ms.p99 = Known::AtLeast(12.34);
    finding.errors.insert("overloaded".into(), 3);
    finding
}

/// Returns the state during the second trial: a node was killed 12 s ago, and another fault is
/// planned.
fn in_the_middle() -> RunState {
    let mut state = RunState::default();
    begun_run(&mut state);
    state.event(
        &Event::Said("note: other programs use 12 % of the CPUs".to_owned()),
        SECOND_NS,
    );
    trial(&mut state, 0, "writes, 8 threads", 2 * SECOND_NS);
    let nodes = ["cassay1", "cassay2"].map(str::to_owned).into();
    state.event(&Event::TargetReady(nodes), 20 * SECOND_NS);
    let finished = Event::TrialFinished {
        index: 0,
        name: "writes, 8 threads".to_owned(),
        finding: Box::new(finding(Verdict::Suspect)),
    };
    state.event(&finished, 90 * SECOND_NS);
    trial(&mut state, 1, "writes, 32 threads", 90 * SECOND_NS);
    let fault = |kind: &str, place: &str, at_s, takes_away: &[&str]| PlannedFault {
        kind: kind.to_owned(),
        place: place.to_owned(),
        at_s,
        for_s: 30.0,
        takes_away: takes_away.iter().map(|name| (*name).to_owned()).collect(),
    };
    let faults = vec![
        fault("node-kill", "cassay2", 68.0, &["cassay2"]),
        fault("net-loss", "host1", 110.0, &[]),
    ];
    state.event(&Event::FaultsPlanned(faults), 100 * SECOND_NS);
    phase(&mut state, "measure", 100 * SECOND_NS);
    for index in 0..80 {
        let wave = ((index as f64) / 9.0).sin();
        let (ops_per_s, p99_ms, timeouts) = if index < 68 {
            (33_000.0 + 4_000.0 * wave, 4.0 + wave, 0)
        } else {
            (15_000.0, 42.5, 2)
        };
        second(&mut state, index, ops_per_s, p99_ms, timeouts);
    }
    state.event(
        &Event::FaultReached(0, FaultStage::Injecting),
        167 * SECOND_NS,
    );
    state.event(
        &Event::FaultReached(0, FaultStage::Holding),
        168 * SECOND_NS,
    );
    let shares = CpuShares {
        nodes: 61.2,
        client: 14.0,
        others: 1.6,
    };
    state.event(&Event::CpuUsed(shares), 180 * SECOND_NS);
    state
}

fn now(seconds: u64) -> Now {
    Now {
        ns: seconds * SECOND_NS,
        local: "2026-01-02T14:03:00[UTC]".parse().unwrap(),
        is_ending: false,
        has_help: false,
    }
}

fn picture(state: &RunState, columns: usize, rows: usize, now: &Now) -> String {
    let lines = full_screen::view(state, terminal::Size { columns, rows }, now);
    assert_eq!(lines.len(), rows);
    assert!(lines.iter().all(|line| line.width() == columns));
    lines.iter().map(|line| line.plain().trim_end().to_owned() + "\n").collect()
}

fn snapshot(name: &str) -> ExpectFile {
    expect_file![format!("snapshots/{name}.txt")]
}

#[test]
fn each_size_shows_what_matters_and_as_much_more_as_fits() {
    let state = in_the_middle();
    for (columns, rows) in [(60, 16), (80, 24), (120, 40), (200, 50)] {
        snapshot(&format!("{columns}x{rows}")).assert_eq(&picture(
            &state,
            columns,
            rows,
            &now(180),
        ));
    }
}

fn client(number: usize, p99_ms: f64, late: u64) -> ClientNow {
    ClientNow {
        name: format!("client{number}"),
        place: format!("load{number}.example.net"),
        second: Some(SecondNow {
            ok_per_s: 10_000.0 + number as f64,
            errors: 0,
            p99_ms,
            late,
            cpu_share: 0.456,
        }),
        silent_s: 0.2,
        clock_bound_ms: Some(0.0512),
        is_lost: false,
    }
}

fn host(name: &str, node: &str, cpu: HostCpu, disk: Option<(f64, f64)>) -> HostNow {
    HostNow {
        name: name.to_owned(),
        nodes: vec![node.to_owned()],
        cpu: Some(cpu),
        disk_bytes_per_s: disk.map(|(bytes, _)| bytes),
        disk_busy: disk.map(|(_, busy)| busy),
    }
}

/// Returns the state of [`in_the_middle`] with two hosts and two clients. One of the clients is
/// behind its schedule.
fn with_machines() -> RunState {
    let mut state = in_the_middle();
    let clients = vec![client(1, 4.5, 0), client(2, 40.0, 1234)];
    state.event(&Event::ClientsNow(clients), 180 * SECOND_NS);
    let hosts = vec![
        host(
            "host1",
            "cassay1",
            HostCpu::Cores(1.94),
            Some((48.3e6, 71.2)),
        ),
        host("host2", "cassay2", HostCpu::OfMachine(12.4), None),
    ];
    state.event(&Event::HostsNow(hosts), 180 * SECOND_NS);
    state
}

#[test]
fn clients_and_hosts_have_a_line_each_as_far_as_there_is_room() {
    let state = with_machines();
    for (columns, rows) in [(60, 16), (80, 24), (120, 40)] {
        let name = format!("machines-{columns}x{rows}");
        snapshot(&name).assert_eq(&picture(&state, columns, rows, &now(180)));
    }
    for columns in [1, 5, 10, 20, 60] {
        for rows in [1, 2, 5, 16] {
            picture(&state, columns, rows, &now(180));
        }
    }
}

#[test]
fn of_a_hundred_clients_the_worst_are_shown_first() {
    let mut state = in_the_middle();
    let mut clients: Vec<ClientNow> =
        (1..=100).map(|number| client(number, number as f64, 0)).collect();
    clients[10] = client(11, 1.0, 77);
    clients[20].silent_s = 3.2;
    clients[30].is_lost = true;
    state.event(&Event::ClientsNow(clients), 180 * SECOND_NS);
    let shown = picture(&state, 120, 40, &now(180));
    let of = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text}: {shown}"));
    let order = [
        "client31 (load31.example.net)",
        "client21 (load21.example.net)",
        "client11 (load11.example.net)",
        "client100 (load100.example.net)",
        "client99 (load99.example.net)",
    ];
    assert!(order.map(of).is_sorted(), "{shown}");
    assert!(
        shown.contains("lost") && shown.contains("no message for 3 s"),
        "{shown}"
    );
    let lines = shown.lines().filter(|line| line.trim_start().starts_with("client")).count();
    assert!(
        shown.contains(&format!("and {} more", 100 - lines)),
        "{shown}"
    );
    // The clients have ended together with their load, so the display receives an empty list.
    state.event(&Event::ClientsNow(Vec::new()), 181 * SECOND_NS);
    assert_eq!(
        picture(&state, 120, 40, &now(180)),
        picture(&in_the_middle(), 120, 40, &now(180))
    );
}

#[test]
fn the_screen_says_when_nothing_is_measured_yet_or_it_stops() {
    let mut state = RunState::default();
    picture(&state, 80, 24, &now(1));
    begun_run(&mut state);
    trial(&mut state, 0, "writes, 8 threads", SECOND_NS);
    phase(&mut state, "target", SECOND_NS);
    snapshot("starting").assert_eq(&picture(&state, 80, 24, &now(5)));
    let ending = Now {
        is_ending: true,
        ..now(5)
    };
    let stopping = picture(&state, 80, 24, &ending);
    assert!(
        stopping.contains("stopping all processes that cassay started"),
        "{stopping}"
    );
    let helping = Now {
        has_help: true,
        ..now(5)
    };
    assert!(
        picture(&state, 80, 24, &helping).contains("the run continues, and cassay prints lines")
    );
}

#[test]
fn no_size_makes_a_picture_impossible() {
    let state = in_the_middle();
    for columns in [1, 5, 10, 20, 60] {
        for rows in [1, 2, 5, 16] {
            picture(&state, columns, rows, &now(180));
        }
    }
}

#[test]
fn of_a_hundred_trials_those_around_the_current_one_are_shown() {
    let mut state = RunState::default();
    let names: Vec<String> = (1..=100).map(|number| format!("trial {number}")).collect();
    let started = Event::RunStarted {
        path: "results/long".into(),
        study: "long".to_owned(),
        names,
        left: (60, 60),
        finished: (0..40).collect(),
        seconds: (60.0, 60.0),
    };
    state.event(&started, 0);
    trial(&mut state, 40, "trial 41", SECOND_NS);
    let shown = picture(&state, 80, 24, &now(2));
    let expected = [
        "finished by an earlier attempt",
        "trial 41          now",
        "trial 43",
        "40 of 100",
    ];
    assert!(expected.iter().all(|text| shown.contains(text)), "{shown}");
    assert!(!shown.contains("trial 44"), "{shown}");
}

#[test]
fn a_node_that_a_fault_took_away_is_back_after_the_fault() {
    let mut state = in_the_middle();
    assert!(picture(&state, 80, 24, &now(180)).contains("cassay2 lost (node-kill)"));
    state.event(&Event::FaultReached(0, FaultStage::Over), 199 * SECOND_NS);
    let shown = picture(&state, 80, 24, &now(200));
    assert!(
        shown.contains("cassay1, cassay2 up") && shown.contains("1 of 2 over"),
        "{shown}"
    );
    state.event(
        &Event::NodesDied(vec!["cassay1".to_owned()]),
        200 * SECOND_NS,
    );
    let shown = picture(&state, 80, 24, &now(200));
    assert!(shown.contains("cassay1 has ended"), "{shown}");
}

#[test]
fn the_time_left_of_a_load_is_estimated_from_its_progress() {
    let mut state = RunState::default();
    (state.phase.seconds, state.rest_s) = (2.0, 60.0);
    let progress = Progress {
        seconds: 10.0,
        operations: 1_000,
        of: Some(4_000),
        ..Progress::default()
    };
    state.phase.progress = Some(progress);
    let line = still(&state, 10 * SECOND_NS);
    assert!(line.contains("1 min 30 s left"), "{line}");
}

#[test]
fn the_moving_line_shortens_the_name_first_and_no_number() {
    let mut state = in_the_middle();
    state.trials[1].name = "zstd with chunks of 64 KiB, 32 threads, block 3".to_owned();
    let figures = "15,000 op/s · p99 42.5 ms · 24 errors · 1 min 50 s left";
    for (columns, begin) in [
        (
            160,
            "2/3 zstd with chunks of 64 KiB, 32 threads, block 3 · measure 80 s · ",
        ),
        (100, "2/3 zstd with c…ds, block 3 · measure 80 s · "),
        (79, "2/3 zstd wit… block 3 · "),
    ] {
        let line = moving(&state, columns, 180 * SECOND_NS);
        assert!(line.width() <= columns);
        assert_eq!(line.plain(), format!("{begin}{figures}"));
    }
}

#[test]
fn a_finished_trial_is_one_line() {
    let reasons = vec!["V12: drift".into(), "V3: near the ceiling".into()];
    let finding = TrialFinding {
        reasons,
        ..finding(Verdict::Suspect)
    };
    assert_eq!(
        finished("writes, 8 threads", &finding),
        "  writes, 8 threads: 53,210 op/s · p50 1.23 ms · p99 ≥ 12.3 ms · 3 errors · suspect \
         (V12: drift)"
    );
}

#[test]
fn finished_trials_stand_below_each_other() {
    let name = "mixed reads and writes, 128 threads";
    let figures = TrialFigures {
        cause: Some("the clock was set"),
        ..TrialFigures::new(&finding(Verdict::Invalid))
    };
    let shown = |columns: usize| {
        let line = FigureColumns::for_lines(columns, [name].into_iter()).finished(name, &figures);
        assert!(line.width() <= columns);
        line.plain()
    };
    assert_eq!(
        shown(80),
        "  mixed rea…8 threads   53,210 op/s  p50  1.23  p99 ≥ 12.3 ms  3 errors  invalid"
    );
    assert_eq!(
        shown(130),
        "  mixed reads and writes, 128 threads   53,210 op/s  p50  1.23  p99 ≥ 12.3 ms  3 errors  \
         invalid: the clock was set"
    );
}
