//! Ends the load if it is too high for a target with other users.
//!
//! Invariant: if the values of a second exceed a limit, the load ends at the end of that second. A
//! single slow or failed operation never ends the load, because the share of slow or failed
//! operations is meaningless for a few operations.

use super::running_target::Running;
use anyhow::Result;
use cassandra::OtherClients;
use measure::number::counted;
use measure::{ClientCount, Outcome, SummedInterval, clock};
use std::time::Duration;
use study::settings::{Guard, GuardLimits, GuardedClusters, Settings};

/// Time for which cassay counts the requests of other clients. One second suffices to distinguish
/// an idle client from a busy one.
const COUNTING_TIME: Duration = Duration::from_secs(1);

/// Checks each second of the load against the limits.
#[derive(Clone, Debug)]
pub struct Watch {
    limits: GuardLimits,
    /// Number of operations in flight at the end of the previous second.
    awaited: u64,
}

impl Watch {
    /// Begins the checks at the start line.
    pub fn new(limits: GuardLimits) -> Watch {
        Watch { limits, awaited: 0 }
    }

    /// Returns the reason why the load must end, if a limit is exceeded.
    pub fn see(&mut self, summed: &SummedInterval) -> Option<String> {
        let awaited_before = std::mem::replace(
            &mut self.awaited,
            summed.interval.client.counts[ClientCount::InFlight],
        );
        if summed.interval.draining {
            return None;
        }
        let (all, limits) = (&summed.all, &self.limits);
        let (ended, failed) = (all.outcomes.total(), all.outcomes.errors());
        let share = |count: u64| count as f64 / ended.max(1) as f64;
        if failed > 1 && share(failed) > limits.error_rate {
            return Some(format!(
                "{failed} of {ended} operations failed in one second: {:.3} % (limit {} %)",
                share(failed) * 100.0,
                limits.error_rate * 100.0
            ));
        }
        let answered = all.outcomes.get(Outcome::Ok);
        let mut service = all.service.clone();
        service.add(&all.early.service);
        let slow = service.count_above(limits.p99_ns());
        if slow > 1 && slow as f64 > 0.01 * answered as f64 {
            return Some(format!(
                "more than 1 % of the operations in one second ({slow} of {answered}) took longer \
                 than {} ms",
                limits.p99_ms
            ));
        }
        // By Little's law, the average time of an operation is the number of operations in flight
        // divided by the throughput.
        let seconds = summed.interval.seconds();
        let in_limit = ended as f64 / seconds * limits.p99_ms / 1e3;
        let awaited = self.awaited;
        let silent = ended == 0 && awaited_before.min(awaited) > 0;
        let is_silent = silent && seconds * 1e3 >= limits.p99_ms;
        if is_silent || (awaited > 1 && awaited as f64 > in_limit.max(1.0) && !silent) {
            return Some(format!(
                "{awaited} operations were in flight at the end of a second in which {ended} \
                 operations ended, so operations take longer than {} ms",
                limits.p99_ms
            ));
        }
        None
    }
}

/// State of a target's other clients, if the guard depends on them.
#[derive(Clone, Debug)]
pub enum GuardState {
    /// cassay has not looked for other clients. The study sets the guard regardless of them, or the
    /// target is a local cluster or a null target.
    Unasked,
    /// Connections of other clients. The list is empty if the target has no other clients.
    Others(OtherClients),
    /// The target does not show its other clients.
    Hidden,
}

impl GuardState {
    /// Looks for other clients of a target, if the guard depends on them.
    ///
    /// # Errors
    /// A node does not answer.
    pub fn look(guard: &Guard, running: &Running) -> Result<GuardState> {
        if guard.when != GuardedClusters::Auto
            || !running.cluster.is_attached()
            || running.is_null()
        {
            return Ok(GuardState::Unasked);
        }
        if running.cluster.is_null_server()? {
            return Ok(GuardState::Unasked);
        }
        Ok(match running.cluster.other_clients()? {
            Some(others) => GuardState::Others(others),
            None => GuardState::Hidden,
        })
    }

    /// Returns true if the guard is on. If the target does not report its clients, cassay assumes
    /// that other clients exist.
    pub fn is_guarded(&self, guard: &Guard) -> bool {
        match self {
            GuardState::Unasked => guard.when == GuardedClusters::Always,
            GuardState::Others(others) => !others.0.is_empty(),
            GuardState::Hidden => true,
        }
    }
}

/// Returns the guard for a trial on its target, or `None` if the guard is off.
///
/// # Errors
/// A node does not report its other clients.
pub fn for_trial(settings: &Settings, running: &Running) -> Result<Option<Guard>> {
    let guard = settings.guard;
    let seen = GuardState::look(&guard, running)?;
    Ok(seen.is_guarded(&guard).then_some(guard))
}

/// Returns the time that the load takes to ramp up to its full rate. Zero without a guard.
pub fn rise(guard: Option<&Guard>) -> Duration {
    guard.map_or(Duration::ZERO, |guard| Duration::from_nanos(guard.rise_ns))
}

/// Describes which other clients use a target, the load that they send now, and the effect of the
/// guard. Returns `None` if the guard is off and does not depend on other clients.
///
/// # Errors
/// A node does not answer.
pub fn describe(guard: &Guard, running: &Running) -> Result<Option<String>> {
    let before = GuardState::look(guard, running)?;
    let there = match &before {
        GuardState::Unasked => None,
        GuardState::Hidden => Some("the target does not report its other clients".to_owned()),
        GuardState::Others(others) if others.0.is_empty() => {
            Some("the target has no other clients now".to_owned())
        }
        GuardState::Others(others) => {
            let since = clock::now_ns();
            clock::sleep(COUNTING_TIME);
            let now = running.cluster.other_clients()?.unwrap_or_default();
            let seconds = (clock::now_ns() - since) as f64 / 1e9;
            Some(others_words(others, now.requests_per_s(others, seconds)))
        }
    };
    let does = before.is_guarded(guard).then(|| guard.words());
    let said: Vec<String> = there.into_iter().chain(does).collect();
    Ok((!said.is_empty()).then(|| said.join(": ")))
}

fn others_words(others: &OtherClients, requests_per_s: f64) -> String {
    let drivers = others.drivers().into_iter().map(|(driver, count)| {
        let driver = if driver.is_empty() { "no name" } else { driver };
        format!("{driver} {count}")
    });
    let (count, drivers): (usize, Vec<String>) = (others.0.len(), drivers.collect());
    format!(
        "other clients have {} to the target ({}), and send {requests_per_s:.0} requests/s now",
        counted(count, "connection"),
        drivers.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{Interval, KindInterval};

    const LIMITS: GuardLimits = GuardLimits {
        p99_ms: 500.0,
        error_rate: 0.01,
    };

    /// Builds the counts of one second. Each pair in `answered` contains a number of operations and
    /// their latency in ms. `failed` is the number of failed operations, and `awaited` is the
    /// number of operations in flight at the end of the second.
    fn second(answered: &[(u64, u64)], failed: u64, awaited: u64) -> SummedInterval {
        let mut kind = KindInterval::default();
        for (count, ms) in answered {
            kind.succeed(false, ms * 1_000_000, ms * 1_000_000, *count);
        }
        for _ in 0..failed {
            kind.fail(false, Outcome::WriteTimeout, 2_000_000_000, None);
        }
        let mut interval = Interval::second(0, vec![kind]);
        interval.client.counts[ClientCount::InFlight] = awaited;
        SummedInterval::new(interval.into())
    }

    fn why(seconds: &[SummedInterval]) -> Option<String> {
        let mut watch = Watch::new(LIMITS);
        let mut all = seconds.iter();
        all.find_map(|second| watch.see(second))
    }

    #[test]
    fn a_load_within_its_limits_goes_on() {
        let calm = [
            second(&[(1000, 1)], 0, 3),
            second(&[(990, 1), (10, 900)], 10, 3),
            // One slow or failed operation among a few operations.
            second(&[(1, 900)], 0, 1),
            second(&[(1, 1)], 1, 1),
            second(&[], 1, 0),
            // The load is one operation every two seconds, and one operation is in flight.
            second(&[], 0, 1),
            second(&[(1, 1)], 0, 0),
            // A closed loop with 100 operations in flight, each of which takes 400 ms.
            second(&[(250, 400)], 0, 100),
        ];
        assert_eq!(why(&calm), None);
    }

    #[test]
    fn more_than_a_hundredth_that_is_slow_ends_it() {
        let slow = why(&[second(&[(988, 1), (12, 900)], 0, 3)]);
        assert_eq!(
            slow.as_deref(),
            Some(
                "more than 1 % of the operations in one second (12 of 1000) took longer than 500 ms"
            )
        );
    }

    #[test]
    fn more_errors_than_may_be_end_it() {
        let failed = why(&[second(&[(980, 1)], 20, 3)]);
        assert_eq!(
            failed.as_deref(),
            Some("20 of 1000 operations failed in one second: 2.000 % (limit 1 %)")
        );
    }

    /// The server does not answer at all, so no operation has been recorded as slow or failed.
    #[test]
    fn silence_ends_it_before_anything_has_timed_out() {
        let silent = why(&[second(&[(1000, 1)], 0, 4), second(&[], 0, 4)]);
        let words = "4 operations were in flight at the end of a second in which 0 operations \
             ended, so operations take longer than 500 ms";
        assert_eq!(silent.as_deref(), Some(words));
        let one = why(&[second(&[(1000, 1)], 0, 1), second(&[], 0, 1)]);
        assert!(one.is_some(), "a closed loop of one");
        let of_three = why(&[second(&[(600, 1)], 0, 400)]);
        assert!(of_three.is_some(), "one node of three is silent");
    }
}
