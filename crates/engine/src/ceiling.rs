//! Measures the ceiling of a client: the throughput of the measured program against a null target
//! on the client's machine.
//!
//! The engine measures the ceiling repeatedly, because single measurements of one second ranged
//! from 132,000 op/s in the morning to 970,000 op/s at noon. It makes three short measurements
//! before the first trial of a program, and one before each later trial. The rules compare a trial
//! with the measurements around it. The spread of these measurements shows how reliable they are.

use super::load_run::{self, Offer};
use super::running_target::Running;
use anyhow::{Context, Result};
use cluster::Dirs;
use fleet::Clients;
use load::{Flow, Limit, Schedule};
use measure::Interval;
use std::sync::Arc;
use std::time::Duration;
use study::settings::Settings;
use target_spec::{NullSpec, Target};
use workload::{Program, Stage};

/// Number of operations in flight, which is high enough to keep the client and the target busy.
const IN_FLIGHT: u32 = 128;
/// Length of a slice, in which about 10,000 operations end. The first slice is the warm-up, and
/// does not count.
const SLICE: Duration = Duration::from_millis(100);
/// Number of usable slices after the warm-up from which the ceiling is computed.
const SLICES: u32 = 3;
/// Maximum time of a measurement. If a measurement takes longer, the client or the null target had
/// too little CPU time all along.
const AT_MOST: Duration = Duration::from_secs(5);
/// Number of measurements before the first trial of a program. Fewer measurements would not show
/// the spread.
const FIRST_COUNT: usize = 3;
/// Number of measurements with which the rules compare a trial. Older measurements are ignored,
/// because they describe another state of the machine.
const LATEST_COUNT: usize = 5;

/// One measured ceiling, in op/s.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ceiling {
    /// Throughput of all clients together, in op/s.
    pub ops_per_s: f64,
    /// Throughput of each client in op/s, if there are several clients.
    pub clients: Vec<f64>,
}

/// Ceilings of one program, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Ceilings {
    measured: Vec<Ceiling>,
    /// True after a measurement has failed, because the null target does not support the program.
    /// The engine then does not measure again.
    is_refused: bool,
}

impl Ceilings {
    /// Returns the number of measurements that are due before the next trial. If the target of the
    /// study is a null target, the first measurements are enough, because each trial then measures
    /// the client.
    pub fn due(&self, is_null: bool) -> usize {
        match (self.measured.is_empty(), is_null) {
            _ if self.is_refused => 0,
            (true, _) => FIRST_COUNT,
            (false, true) => 0,
            (false, false) => 1,
        }
    }

    /// Calls `measure` up to `times` times, and stores the ceilings. `measure` returns `None` if
    /// the client had no CPU time. After the first failed measurement, returns a note for the user
    /// instead of an error. The null target supports less CQL than Cassandra, so the measured
    /// target may still accept a statement that the null target refuses.
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
                        "note: cassay could not measure the ceiling of the client: the null target \
                         does not accept this workload ({why})"
                    ));
                }
            }
        }
        None
    }

    /// Returns the ceilings with which the rules compare a trial.
    pub fn latest(&self) -> Vec<Ceiling> {
        let first = self.measured.len().saturating_sub(LATEST_COUNT);
        self.measured[first..].to_vec()
    }
}

/// Counts of one measurement. On a busy machine, the first slice may last as long as all slices
/// should, so that no operation ends in a later slice. Such a delay does not describe the client,
/// so the measurement continues until it has enough usable slices.
#[derive(Debug, Default)]
struct SliceCount {
    slices: u32,
    ended: u64,
    seconds: f64,
}

impl SliceCount {
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

    /// Returns the throughput in op/s, or `None` if no slice was usable.
    fn ops_per_s(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.ended as f64 / self.seconds)
    }
}

/// Measures the ceilings of several clients at the same time. Returns `None` if one of the clients
/// had no CPU time on its machine.
pub fn measure_clients(clients: &Clients) -> Result<Option<Ceiling>> {
    let each: Option<Vec<f64>> = clients.ceilings()?.into_iter().collect();
    Ok(each.map(|clients| Ceiling {
        ops_per_s: clients.iter().sum(),
        clients,
    }))
}

/// Measures the throughput of `program` in op/s, with the client of `settings`, on a fresh null
/// target. Returns `None` if the client had no CPU time on this machine.
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
    let offer = Offer::measured(Stage::Main, schedule, Limit::Duration(AT_MOST));
    let mut config = load_run::config(settings, program, &running, &offer, Duration::ZERO);
    config.interval = SLICE;
    let mut counted = SliceCount::default();
    load::run(&config, &mut |interval| counted.note(interval))
        .context("measure the client's own ceiling")?;
    running.stop(None).1?;
    Ok(counted.ops_per_s())
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::KindInterval;

    /// Counts the intervals of a measurement. Returns the number of intervals before the interval
    /// that ends the measurement, and the throughput in op/s.
    fn counted(intervals: &[Interval]) -> (usize, Option<f64>) {
        let mut counted = SliceCount::default();
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
    fn slices_are_counted_until_enough_of_them_are_informative() {
        let undisturbed =
            [(0, 5), (1, 10), (2, 20), (3, 30), (4, 99)].map(|(index, ended)| second(index, ended));
        let drain = |index: u64| Interval {
            draining: true,
            ..second(index, 7)
        };
        assert_eq!(counted(&undisturbed), (3, Some(20.0)));
        // In some slices, no operation ended, because other programs kept the client waiting.
        let stalled = [(0, 5), (1, 10), (2, 0), (3, 20), (4, 0), (5, 30)]
            .map(|(index, ended)| second(index, ended));
        assert_eq!(counted(&stalled), (5, Some(20.0)));
        // The first slice lasted as long as all slices together should have lasted.
        let late = [second(0, 400), second(5, 10), second(6, 20), second(7, 30)];
        assert_eq!(counted(&late), (3, Some(20.0)));
        // The client had no CPU time after the first slice.
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
    fn a_ceiling_is_measured_before_every_trial_and_the_last_counts() {
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
    fn refusals_of_the_null_target_are_given_once_without_address() {
        let mut ceilings = Ceilings::default();
        let refuse = || {
            Err(anyhow::anyhow!(
                "127.0.0.1:4 answered invalid: no index here"
            ))
        };
        let said = ceilings.measure(ceilings.due(false), &refuse).unwrap();
        assert!(
            said.ends_with("does not accept this workload (invalid: no index here)"),
            "{said}"
        );
        assert_eq!((ceilings.due(false), ceilings.latest()), (0, Vec::new()));
    }
}
