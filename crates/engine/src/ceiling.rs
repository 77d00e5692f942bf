//! What the instrument can do: the same program on a null target on this machine, as fast as it
//! goes. Measured again and again: one second by itself came to 132,000 op/s in the morning and to
//! 970,000 at noon. Three short ones before a program's first trial, and one more before each of
//! its other trials; those around a trial judge it, and their spread says how far they can be
//! trusted.

use super::offer::{self, Offer};
use super::running::Running;
use anyhow::{Context, Result};
use cluster::Dirs;
use fleet::Clients;
use load::{Flow, Limit, Schedule};
use measure::Interval;
use std::sync::Arc;
use std::time::Duration;
use study::settings::Settings;
use target::{NullSpec, Target};
use workload::{Program, Stage};

/// In flight while the ceiling is measured: enough to keep both sides busy, as in the peers' runs.
const IN_FLIGHT: u32 = 128;
/// The first slice warms up, the rest counts: a tenth of a second is some 10,000 operations.
const SLICE: Duration = Duration::from_millis(100);
/// Whole slices that are counted.
const SLICES: u32 = 3;
/// When it is given up: client or null target were kept waiting for the machine all the time.
const AT_MOST: Duration = Duration::from_secs(5);
/// Before the first trial of a program: with fewer there is no spread.
const FIRST_COUNT: usize = 3;
/// The latest that judge a trial: the machine is not what it was an hour ago.
const LATEST_COUNT: usize = 5;

/// What was measured once: op/s.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ceiling {
    /// Of all clients together.
    pub ops_per_s: f64,
    /// Of each of several.
    pub clients: Vec<f64>,
}

/// The ceilings of one program, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Ceilings {
    measured: Vec<Ceiling>,
    /// Whether it was seen that it cannot be measured.
    is_refused: bool,
}

impl Ceilings {
    /// How often it is to be measured before the next trial. Where the client itself is what is
    /// measured, once is enough.
    pub fn due(&self, is_null: bool) -> usize {
        match (self.measured.is_empty(), is_null) {
            _ if self.is_refused => 0,
            (true, _) => FIRST_COUNT,
            (false, true) => 0,
            (false, false) => 1,
        }
    }

    /// Measures so often, each time by `measure`, op/s if there was time; a sentence if it cannot
    /// be done. The null target knows less CQL than Cassandra: what it refuses says nothing of the
    /// target that is measured.
    pub fn measure(
        &mut self,
        times: usize,
        measure: &dyn Fn() -> Result<Option<Ceiling>>,
    ) -> Option<String> {
        for _ in 0..times {
            match measure() {
                Ok(ceiling) => self.measured.extend(ceiling),
                Err(error) => {
                    self.is_refused = true;
                    let why = error.root_cause().to_string();
                    let why = why.split_once(" answered ").map_or(&*why, |(_, why)| why);
                    return Some(format!(
                        "note: what the client itself can do was not measured: the null target \
                         does not take this workload ({why})"
                    ));
                }
            }
        }
        None
    }

    /// Those that a trial is judged by.
    pub fn latest(&self) -> Vec<Ceiling> {
        let first = self.measured.len().saturating_sub(LATEST_COUNT);
        self.measured[first..].to_vec()
    }
}

/// What was counted of a measurement. On a machine that has other work the first slice may last as
/// long as all should, and another may see nothing end: that says nothing about the client, so it
/// goes on until there are enough slices that do.
#[derive(Debug, Default)]
struct Counted {
    slices: u32,
    ended: u64,
    seconds: f64,
}

impl Counted {
    fn note(&mut self, interval: &Interval) -> Flow {
        let ended = interval.ended();
        if interval.index > 0 && !interval.draining && ended > 0 {
            self.slices += 1;
            self.ended += ended;
            self.seconds += interval.seconds();
        }
        if self.slices >= SLICES {
            Flow::StopNow
        } else {
            Flow::Continue
        }
    }

    /// op/s; `None`: nothing was measured.
    fn ops_per_s(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.ended as f64 / self.seconds)
    }
}

/// Those of several clients, at the same time; `None` if a machine left one of them no time.
pub fn of_clients(clients: &Clients) -> Result<Option<Ceiling>> {
    let each: Option<Vec<f64>> = clients.ceilings()?.into_iter().collect();
    Ok(each.map(|clients| Ceiling {
        ops_per_s: clients.iter().sum(),
        clients,
    }))
}

/// Operations per second of `program` with the client of `settings` on a fresh null target; `None`
/// if the machine left it no time.
pub fn measure(settings: &Settings, program: &Arc<Program>, dirs: &Dirs) -> Result<Option<f64>> {
    let target = Target::Null(NullSpec::default());
    let running = Running::start(&target, dirs, &mut |_| {})?;
    let mut session = running.cluster.session()?;
    let schema = program.schema();
    if !schema.create_keyspace.is_empty() {
        session.execute_schema(&schema.create_keyspace)?;
    }
    for table in &schema.create_tables {
        session.execute_schema(table)?;
    }
    let schedule = Schedule::Closed {
        in_flight: IN_FLIGHT,
    };
    let offer = Offer::of(Stage::Main, schedule, Limit::Duration(AT_MOST));
    let mut config = offer::config(settings, program, &running, &offer, Duration::ZERO);
    config.interval = SLICE;
    let mut counted = Counted::default();
    load::run(&config, &mut |interval| counted.note(interval))
        .context("measure the client's own ceiling")?;
    running.stop(None).1?;
    Ok(counted.ops_per_s())
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::KindInterval;

    /// The intervals of a measurement with a slice of one second, and how far it went.
    fn counted(intervals: &[Interval]) -> (usize, Option<f64>) {
        let mut counted = Counted::default();
        let goes_on = |interval: &&Interval| counted.note(interval) == Flow::Continue;
        let before_stop = intervals.iter().take_while(goes_on).count();
        (before_stop, counted.ops_per_s())
    }

    fn second(index: u64, ended: u64) -> Interval {
        let mut kind = KindInterval::default();
        kind.succeed(false, 1, 1, ended);
        Interval::second(index, vec![kind])
    }

    #[test]
    fn slices_after_the_first_are_counted_until_there_are_enough_that_say_something() {
        let undisturbed =
            [(0, 5), (1, 10), (2, 20), (3, 30), (4, 99)].map(|(index, ended)| second(index, ended));
        let drain = |index: u64| Interval {
            draining: true,
            ..second(index, 7)
        };
        assert_eq!(counted(&undisturbed), (3, Some(20.0)));
        // Nothing ended in some: kept waiting by other work.
        let stalled = [(0, 5), (1, 10), (2, 0), (3, 20), (4, 0), (5, 30)]
            .map(|(index, ended)| second(index, ended));
        assert_eq!(counted(&stalled), (5, Some(20.0)));
        // The first lasted as long as all should have.
        let late = [second(0, 400), second(5, 10), second(6, 20), second(7, 30)];
        assert_eq!(counted(&late), (3, Some(20.0)));
        // It had no time at all.
        assert_eq!(counted(&[second(0, 400), drain(5)]), (2, None));
        assert_eq!(counted(&[second(0, 0), second(1, 0), drain(2)]), (3, None));
    }

    fn alone(ops_per_s: f64) -> Ceiling {
        Ceiling {
            ops_per_s,
            clients: Vec::new(),
        }
    }

    #[test]
    fn a_ceiling_is_measured_before_every_trial_and_the_latest_count() {
        let mut ceilings = Ceilings::default();
        assert_eq!((ceilings.due(false), ceilings.due(true)), (3, 3));
        for ops_per_s in 1..=7 {
            let said = ceilings.measure(1, &|| Ok(Some(alone(f64::from(ops_per_s)))));
            assert_eq!(said, None);
            assert_eq!((ceilings.due(false), ceilings.due(true)), (1, 0));
        }
        assert_eq!(ceilings.latest(), [3.0, 4.0, 5.0, 6.0, 7.0].map(alone));
    }

    #[test]
    fn what_the_null_target_refuses_is_said_once_and_without_its_address() {
        let mut ceilings = Ceilings::default();
        let refuse = || {
            Err(anyhow::anyhow!(
                "127.0.0.1:4 answered invalid: no index here"
            ))
        };
        let said = ceilings.measure(ceilings.due(false), &refuse).unwrap();
        assert!(
            said.ends_with("does not take this workload (invalid: no index here)"),
            "{said}"
        );
        assert_eq!((ceilings.due(false), ceilings.latest()), (0, Vec::new()));
    }
}
