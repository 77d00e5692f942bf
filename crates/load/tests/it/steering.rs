//! Tests that the load runs independently of its caller. The caller can wait until any time, and
//! can end the load at any time.

use crate::config;
use crate::program::{kind, program, statement};
use crate::server::{Response, Server};
use load::{Config, Flow, Limit, Load, Next};
use measure::{Outcome, clock};
use std::sync::Arc;
use std::time::Duration;
use workload::Policy;

const MS: u64 = 1_000_000;

/// Returns the configuration of an endless load with intervals of an hour, so that no interval ends
/// during a test.
fn endless(server: &Server) -> Config {
    let insert = statement("INSERT INTO t (k) VALUES (?)", 0);
    let writes = program(vec![kind("write", Policy::default())], vec![insert], &[0]);
    Config {
        limit: Limit::Unlimited,
        interval: Duration::from_secs(3600),
        ..config(&[server], writes, 0)
    }
}

/// In an earlier version, the caller's thread was blocked until an interval had ended, and could
/// not do other work.
#[test]
fn waiting_ends_when_its_time_has_come_and_the_load_goes_on() {
    let server = Server::start(|_| Response::Acknowledges);
    let mut load = Load::start(&endless(&server)).unwrap();
    assert!(matches!(load.next(0), Next::Time));
    assert!(matches!(load.next(load.start_ns() + MS), Next::Time));
    load.steer(Flow::Abandon);
    let mut ended = 0;
    while let Next::Interval(interval) = load.next(u64::MAX) {
        ended += interval.ended();
    }
    assert!(matches!(load.next(0), Next::Over));
    assert_eq!(load.end().unwrap().operations_ended, ended);
}

#[test]
fn a_stop_at_a_time_is_exact_whenever_it_is_heard() {
    let server = Server::start(|_| Response::Acknowledges);
    let mut load = Load::start(&endless(&server)).unwrap();
    let stop_ns = load.start_ns() + 123 * MS + 4567;
    load.steer(Flow::StopAt(stop_ns));
    let Next::Interval(first) = load.next(u64::MAX) else {
        panic!("the stop ends the first interval");
    };
    assert_eq!((first.end_ns, first.draining), (stop_ns, false));
    load.end().unwrap();
}

/// In an earlier version, a silent node delayed the end of a run by the client's timeout. While
/// cassay loads data, this timeout is nearly a minute.
#[test]
fn an_abandoned_run_does_not_wait_for_a_silent_servers_timeout() {
    let server = Server::start(|_| Response::Nothing);
    let config = Config {
        timeout: Duration::from_secs(3600),
        ..endless(&server)
    };
    let mut load = Load::start(&config).unwrap();
    while server.requests().is_empty() {
        assert!(matches!(load.next(clock::now_ns() + MS), Next::Time));
    }
    load.steer(Flow::Abandon);
    let mut lost = 0;
    while let Next::Interval(interval) = load.next(u64::MAX) {
        lost += interval.kinds[0].outcomes.get(Outcome::ConnectionLost);
    }
    assert!(lost > 0);
    assert_eq!(load.end().unwrap().operations_ended, lost);
}

#[test]
fn load_that_is_dropped_has_ended() {
    let server = Server::start(|_| Response::Acknowledges);
    let config = endless(&server);
    drop(Load::start(&config).unwrap());
    let holders = Arc::strong_count(&config.program);
    assert_eq!(holders, 1, "no worker has it any more");
}
