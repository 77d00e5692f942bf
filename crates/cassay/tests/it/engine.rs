//! Tests the engine against the null target. The engine must lose no operation, and its clocks must
//! be right.

use cql::Compression;
use cql::response::ErrorCode;
use load::{Access, Config, Endpoint, Flow, LedgerMode, Limit, Schedule, Summary, VerifyReads};
use measure::{ClientCount, Interval, KindCount, KindInterval, Outcome, clock};
use null_server::NullServer;
use std::sync::Arc;
use std::time::Duration;
use target_spec::{Latency, NullSpec, Reads, Stall};
use workload::{Program, Spec, Stage};

pub fn program(mix: &[(&str, f64)]) -> Arc<Program> {
    let spec = Spec {
        mix: mix.iter().map(|&(kind, weight)| (kind.to_owned(), weight)).collect(),
        ..Spec::new("standard1", 10_000, 1)
    };
    Arc::new(workload::compile(&spec).expect("a good spec"))
}

pub fn config(server: &NullServer, schedule: Schedule, limit: Limit) -> Config {
    Config {
        program: program(&[("write", 1.0)]),
        stage: Stage::Main,
        nodes: vec![Endpoint::from_address(server.address())],
        access: Access::default(),
        schedule,
        rise: Duration::ZERO,
        first_operation: 0,
        limit,
        window: load::Window::Whole,
        in_flight_max: 64,
        release_quantum: load::RELEASE_QUANTUM,
        timeout: Duration::from_secs(60),
        retries_min: 0,
        workers: 1,
        others: load::OtherWorkers::default(),
        cpus: Vec::new(),
        realtime: false,
        connections_per_node: 1,
        interval: Duration::from_millis(100),
        verify_reads: VerifyReads::Off,
        keeps: LedgerMode::Nothing,
        written: None,
    }
}

/// Returns the sum of a run's intervals, the intervals themselves, and the summary.
pub fn run(config: &Config) -> (KindInterval, Vec<Interval>, Summary) {
    let (mut all, mut intervals) = (KindInterval::default(), Vec::new());
    let summary = load::run(config, &mut |interval| {
        interval.kinds.iter().for_each(|kind| all.add(kind));
        intervals.push(interval.clone());
        Flow::Continue
    })
    .expect("the null target takes everything");
    (all, intervals, summary)
}

pub fn null(spec: NullSpec) -> NullServer {
    NullServer::start(&spec).expect("a free port")
}

/// Starts a server that can return to its port. On a machine that runs tests, the kernel may give
/// any port from 32768 on to one of thousands of connections. So the port of this server is lower.
fn null_that_comes_back() -> NullServer {
    let first = 20_000 + (std::process::id() % 10_000) as u16;
    let mut ports = (first..30_000).chain(20_000..first);
    let start = |port| {
        NullServer::start(&NullSpec {
            port,
            ..NullSpec::default()
        })
    };
    ports.find_map(|port| start(port).ok()).expect("a free port")
}

#[test]
fn every_operation_is_counted_once_on_both_sides() {
    let server = null(NullSpec::default());
    for workers in [1, 2] {
        let before = server.counts().executes();
        let mut config = config(
            &server,
            Schedule::Closed { in_flight: 32 },
            Limit::Operations(20_001),
        );
        config.workers = workers;
        config.connections_per_node = 2;
        let (all, _, summary) = run(&config);
        assert_eq!(all.outcomes.get(Outcome::Ok), 20_001);
        assert_eq!(all.latency.count(), 20_001);
        assert_eq!(all.service.count(), 20_001);
        assert_eq!(summary.operations_sent, 20_001);
        assert_eq!(summary.next_operation, 20_001);
        assert_eq!(server.counts().executes() - before, 20_001);
    }
}

#[test]
fn a_fixed_rate_offers_exactly_what_is_due() {
    let server = null(NullSpec::default());
    for schedule in [
        Schedule::Fixed { ops_per_s: 3000.0 },
        Schedule::Poisson { ops_per_s: 3000.0 },
    ] {
        let config = config(&server, schedule, Limit::Duration(Duration::from_secs(1)));
        let (all, intervals, _) = run(&config);
        let never_sent: u64 =
            intervals.iter().map(|i| i.client.counts[ClientCount::DueNeverSent]).sum();
        let due = all.outcomes.total() + never_sent;
        match schedule {
            Schedule::Fixed { .. } => assert_eq!(due, 3000),
            // The limits are four standard deviations of a Poisson count from the mean.
            _ => assert!((2780..=3220).contains(&due), "{due}"),
        }
        let lags: u64 = intervals
            .iter()
            .map(|i| i.client.lag.count() + i.client.counts[ClientCount::Limited])
            .sum();
        assert_eq!(
            lags,
            all.outcomes.total(),
            "the lag of every release is recorded"
        );
    }
}

/// A stall of 200 ms in each second delays a fifth of the due operations. Only the few operations
/// that were in flight at the start of the stall have a long service time.
#[test]
fn a_stall_shows_in_latency_and_not_in_service_time() {
    let stall = Stall {
        every: Duration::from_secs(1),
        length: Duration::from_millis(200),
    };
    let server = null(NullSpec {
        stall: Some(stall),
        ..NullSpec::default()
    });
    let schedule = Schedule::Fixed { ops_per_s: 4000.0 };
    let mut config = config(&server, schedule, Limit::Duration(Duration::from_secs(3)));
    config.in_flight_max = 8;
    let (all, intervals, _) = run(&config);
    let p = |histogram: &measure::Histogram, q| histogram.quantile_ns(q) / clock::MILLISECOND_NS;
    assert!(
        p(&all.latency, 0.99) >= 150,
        "latency p99 {} ms",
        p(&all.latency, 0.99)
    );
    // A slow machine affects both clocks, so the test compares the two clocks with each other.
    assert!(
        2 * p(&all.service, 0.99) <= p(&all.latency, 0.99),
        "service p99 {} ms",
        p(&all.service, 0.99)
    );
    assert!(p(&all.service, 1.0) >= 150, "the few in flight saw it");
    assert!(intervals.iter().map(|i| i.client.counts[ClientCount::Limited]).sum::<u64>() > 500);
    assert!(intervals.iter().map(|i| i.client.counts[ClientCount::Late]).sum::<u64>() > 500);
}

#[test]
fn a_known_latency_is_measured_and_never_shortened() {
    let ns = 5 * clock::MILLISECOND_NS;
    let server = null(NullSpec {
        latency: Latency::Fixed { ns },
        ..NullSpec::default()
    });
    let schedule = Schedule::Closed { in_flight: 16 };
    let (all, intervals, _) = run(&config(&server, schedule, Limit::Operations(1000)));
    // A histogram with three significant digits may return a value that is one thousandth too low.
    assert!(all.service.quantile_ns(0.0) >= ns - ns / 1000);
    // Even a slow machine cannot increase the total latency, because 16 operations in flight spend
    // at most 16 s of latency in a second.
    let took_ns = intervals.last().expect("an interval").end_ns - intervals[0].start_ns;
    let spent_ns = all.latency.mean_ns() * all.latency.count() as f64;
    assert!(
        spent_ns <= 16.0 * took_ns as f64 * 1.001,
        "{spent_ns} ns of latency in {took_ns} ns"
    );
}

#[test]
fn refusals_have_their_own_outcome_and_their_own_series() {
    let errors = vec![
        (ErrorCode::Overloaded, 0.1),
        (ErrorCode::WriteTimeout, 0.05),
    ];
    let server = null(NullSpec {
        errors,
        ..NullSpec::default()
    });
    let schedule = Schedule::Closed { in_flight: 8 };
    let (all, _, summary) = run(&config(&server, schedule, Limit::Operations(10_000)));
    assert_eq!(all.outcomes.total(), 10_000);
    assert_eq!(all.outcomes.errors(), server.counts().refused);
    assert_eq!(all.outcomes.get(Outcome::Overloaded), 1000);
    assert_eq!(all.outcomes.get(Outcome::WriteTimeout), 500);
    assert_eq!(all.errors.count(), 1500);
    assert_eq!(all.latency.count(), 8500);
    let mut seen: Vec<_> = summary.first_errors.iter().map(|first| first.outcome).collect();
    seen.sort_unstable();
    assert_eq!(seen, [Outcome::WriteTimeout, Outcome::Overloaded]);
}

#[test]
fn a_forgotten_statement_is_prepared_again_and_succeeds() {
    let errors = vec![(ErrorCode::Unprepared, 0.01)];
    let server = null(NullSpec {
        errors,
        ..NullSpec::default()
    });
    let schedule = Schedule::Closed { in_flight: 8 };
    let (all, _, _) = run(&config(&server, schedule, Limit::Operations(5_000)));
    assert_eq!(all.outcomes.get(Outcome::Ok), 5_000);
    assert!(
        (50..=55).contains(&all.counts[KindCount::Reprepared]),
        "{}",
        all.counts[KindCount::Reprepared]
    );
}

#[test]
fn an_unanswered_operation_times_out_without_its_late_answer() {
    // Timeout and latency differ so much that the answer does not come before the timeout on a busy
    // machine. The run is longer than an answer takes, so that late answers arrive during the run.
    let ns = 1000 * clock::MILLISECOND_NS;
    let server = null(NullSpec {
        latency: Latency::Fixed { ns },
        ..NullSpec::default()
    });
    let schedule = Schedule::Closed { in_flight: 4 };
    let mut config = config(&server, schedule, Limit::Operations(120));
    config.timeout = Duration::from_millis(40);
    let (all, _, summary) = run(&config);
    assert_eq!(all.outcomes.get(Outcome::ClientTimeout), 120);
    assert_eq!(summary.operations_ended, 120);
    assert!(all.errors.quantile_ns(0.0) >= 39 * clock::MILLISECOND_NS);
}

#[test]
fn compression_and_authentication_change_no_count() {
    let credentials = Some(("ada".to_owned(), "s3cret".to_owned()));
    let reads = Reads::Row { cell_bytes: 34 };
    let server = null(NullSpec {
        credentials: credentials.clone(),
        reads,
        ..NullSpec::default()
    });
    let schedule = Schedule::Closed { in_flight: 16 };
    let mut config = config(&server, schedule, Limit::Operations(6_000));
    config.program = program(&[("write", 1.0), ("read", 1.0)]);
    config.access = Access {
        credentials,
        tls: None,
        compression: Some(Compression::Lz4),
        ..Access::default()
    };
    let (all, intervals, _) = run(&config);
    assert_eq!(all.outcomes.get(Outcome::Ok), 6_000);
    let counts = server.counts();
    assert_eq!((counts.writes, counts.reads), (3_000, 3_000));
    let read: u64 = intervals.iter().map(|i| i.kinds[1].outcomes.total()).sum();
    assert_eq!(read, 3_000);

    config.access.credentials = Some(("ada".to_owned(), "wrong".to_owned()));
    let refusal = load::run(&config, &mut |_| Flow::Continue).expect_err("a wrong password");
    assert!(refusal.to_string().contains("bad credentials"), "{refusal}");
    assert!(
        !refusal.to_string().contains("wrong"),
        "a password in an error: {refusal}"
    );
}

#[test]
fn reads_are_compared_with_what_the_seed_says() {
    for (reads, missing, wrong) in [
        (Reads::Empty, 500, 0),
        (Reads::Row { cell_bytes: 34 }, 0, 500),
    ] {
        let server = null(NullSpec {
            reads,
            ..NullSpec::default()
        });
        let schedule = Schedule::Closed { in_flight: 8 };
        let mut config = config(&server, schedule, Limit::Operations(1_000));
        config.stage = Stage::Verify;
        config.verify_reads = VerifyReads::EveryNth(2);
        let (all, _, _) = run(&config);
        assert_eq!(all.checks.checked, 500);
        assert_eq!(
            (all.checks.missing, all.checks.wrong, all.checks.stale),
            (missing, wrong, 0)
        );
    }
}

/// The server stops in the middle and comes back on the same port. Operations in flight fail. The
/// client drops operations that are due meanwhile, or sends them late. It counts no operation
/// twice.
#[test]
fn a_node_that_leaves_and_returns_costs_operations_but_no_count() {
    let mut server = Some(null_that_comes_back());
    let address = server.as_ref().expect("just started").address();
    let schedule = Schedule::Fixed { ops_per_s: 2000.0 };
    // The limit leaves enough time to reconnect on a machine that is busy with other tests.
    let limit = Limit::Duration(Duration::from_secs(8));
    let mut config = config(server.as_ref().expect("just started"), schedule, limit);
    config.timeout = Duration::from_millis(200);
    let (mut all, mut intervals) = (KindInterval::default(), Vec::new());
    let summary = load::run(&config, &mut |interval| {
        match interval.index {
            5..20 => drop(server.take()),
            // The test tries repeatedly to start the server again, because another test may have
            // taken the port for a moment.
            20.. if server.is_none() => {
                let port = address.port();
                let spec = NullSpec {
                    port,
                    ..NullSpec::default()
                };
                server = NullServer::start(&spec).ok();
            }
            _ => {}
        }
        interval.kinds.iter().for_each(|kind| all.add(kind));
        intervals.push(interval.clone());
        Flow::Continue
    })
    .expect("a lost node does not end a run");
    let client = |count: fn(&Interval) -> u64| intervals.iter().map(count).sum::<u64>();
    let dropped = client(|i| i.client.counts[ClientCount::Dropped]);
    assert_eq!(summary.operations_ended, summary.operations_sent + dropped);
    assert_eq!(all.outcomes.total(), summary.operations_ended);
    assert_eq!(all.outcomes.get(Outcome::NoConnection), dropped);
    assert_eq!(
        all.outcomes.total() + client(|i| i.client.counts[ClientCount::DueNeverSent]),
        16_000
    );
    assert!(
        dropped > 0,
        "more was due while the node was away than can wait"
    );
    assert_eq!(client(|i| i.client.counts[ClientCount::ConnectionsLost]), 1);
    assert!(
        intervals.last().is_some_and(|i| i.client.counts[ClientCount::Connections] == 1),
        "it is open again"
    );
}

#[test]
fn a_caller_can_end_a_run_after_any_interval() {
    let server = null(NullSpec::default());
    let schedule = Schedule::Closed { in_flight: 4 };
    let config = config(&server, schedule, Limit::Unlimited);
    let interval_ns = config.interval.as_nanos() as u64;
    // On a busy machine, intervals are longer and interval numbers may be missing, so the test
    // checks `index >= 1`.
    let (mut told_ns, mut last_ns) = (None, 0);
    load::run(&config, &mut |interval| {
        if !interval.draining {
            last_ns = interval.end_ns;
        }
        if told_ns.is_none() && interval.index >= 1 {
            told_ns = Some(interval.end_ns);
            return Flow::StopAt(interval.end_ns + 2 * interval_ns);
        }
        Flow::Continue
    })
    .expect("the null target takes everything");
    let told_ns = told_ns.expect("it was told");
    // The load may end later than requested, because the worker may receive the new end only after
    // that end has passed.
    assert!(last_ns >= told_ns + 2 * interval_ns);
}

#[test]
fn senseless_settings_are_refused_before_anything_is_sent() {
    let server = null(NullSpec::default());
    let second = Limit::Duration(Duration::from_secs(1));
    let closed = |in_flight| config(&server, Schedule::Closed { in_flight }, second);
    let mut two_workers = closed(1);
    two_workers.workers = 2;
    let mut nowhere = closed(1);
    nowhere.nodes.clear();
    let rate = config(
        &server,
        Schedule::Fixed {
            ops_per_s: f64::NAN,
        },
        second,
    );
    for (config, part) in [
        (closed(0), "must be at least 1"),
        (closed(40_000), "use more workers"),
        (two_workers, "use fewer workers"),
        (nowhere, "no node"),
        (rate, "NaN operations per second"),
    ] {
        let refusal = load::run(&config, &mut |_| Flow::Continue).expect_err(part).to_string();
        assert!(refusal.contains(part), "{refusal}");
    }
}
