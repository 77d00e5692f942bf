//! Sentences on one of several clients, for rules V3, V4, V5, V18 and V20.

use crate::rules::client_evidence::{ClientSeen, ClockStep};
use crate::rules::limits::Limits;
use crate::rules::measurement::{Measurement, Quantity};
use crate::rules::statement::{Statement, percent};

/// V3: states the share by which a worker of the slowest client did less than a worker of the
/// fastest client.
pub fn less_than_fastest(slowest: &str, fastest: &str, share: f64, limit: f64) -> Statement {
    let words = format!(
        "a worker of {slowest} completed {} fewer operations than a worker of {fastest} (limit \
         {}): the clients are unequal",
        percent(share),
        percent(limit)
    );
    let less = Measurement::new(Quantity::LessThanFastest, share).at(slowest);
    Statement::with(words, less.warning_at(limit))
}

pub fn throttled(client: &str, share: f64, limits: [f64; 2]) -> Statement {
    let words = format!(
        "a CPU quota stopped {client} for {} of the time (limit {})",
        percent(share),
        percent(limits[0])
    );
    let throttled = Measurement::new(Quantity::Throttled, share).at(client);
    Statement::with(words, throttled.within(limits))
}

/// V5: states that a number of clients began together. The clocks of the clients are known to
/// within `error_s`.
pub fn began_together(clients: usize, error_s: f64, limit_s: f64) -> Statement {
    let words = format!(
        "{clients} clients learned of the start in time; the error of each clock is at most {:.2} \
         ms (limit {:.0} ms)",
        error_s * 1e3,
        limit_s * 1e3
    );
    let error = Measurement::new(Quantity::ClockError, error_s);
    Statement::with(words, error.warning_at(limit_s))
}

pub fn start_late(client: &ClientSeen, limits: &Limits) -> Statement {
    let words = format!(
        "{} learned of the start line {:.3} s too late (limit {:.2} s)",
        client.name, client.late_s, limits.start_late_s[0]
    );
    let late = Measurement::new(Quantity::StartLate, client.late_s).at(&client.name);
    Statement::with(words, late.within(limits.start_late_s))
}

/// V5: states that the clock with which a client measures moved by `by_s`.
pub fn measuring_clock_moved(client: &str, step: ClockStep) -> Statement {
    let ClockStep { at_s, by_s } = step;
    Statement::with(
        format!(
            "the clock with which {client} measures, or the clock of this machine, moved by \
             {by_s:+.3} s at {at_s:.1} s: a clock jumped, or a machine stood still"
        ),
        Measurement::new(Quantity::ClockStep, by_s).at(client),
    )
}

pub fn clock_error(client: &ClientSeen, limit_s: f64) -> Statement {
    let words = format!(
        "the clock of {} may be off by {:.1} ms (limit {:.0} ms)",
        client.name,
        client.clock_bound_s * 1e3,
        limit_s * 1e3
    );
    let error = Measurement::new(Quantity::ClockError, client.clock_bound_s).at(&client.name);
    Statement::with(words, error.warning_at(limit_s))
}

/// V18: states the share of the window in which the workers of a client waited for a CPU.
pub fn waited(client: &str, share: f64, limits: [f64; 2]) -> Statement {
    let words = format!(
        "the workers of {client} waited for a CPU for {} of the time (limit {})",
        percent(share),
        percent(limits[0])
    );
    let waited = Measurement::new(Quantity::WorkersWaited, share).at(client);
    Statement::with(words, waited.within(limits))
}

pub fn clock_jumped(client: &str, step: ClockStep) -> Statement {
    let ClockStep { at_s, by_s } = step;
    Statement::with(
        format!(
            "the clock of {client} jumped by {by_s:+.3} s at {at_s:.1} s: timestamps do not show \
             the order of writes"
        ),
        Measurement::new(Quantity::ClockStep, by_s).at(client),
    )
}
