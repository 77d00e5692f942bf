//! What the instrument can do: the same program on a null target on this machine, as fast as it
//! goes. Measured again and again: one second by itself came to 132,000 op/s in the morning and to
//! 970,000 at noon. Three short ones before a program's first trial, and one more before each of
//! its other trials; those around a trial judge it, and their spread says how far they can be
//! trusted.

use super::offer::{self, Offer};
use super::running::Running;
use anyhow::{Context, Result};
use cluster::Dirs;
use load::{Flow, Limit, Schedule};
use std::sync::Arc;
use std::time::Duration;
use study::settings::{NullSpec, Settings, Target};
use workload::{Program, Stage};

/// In flight while the ceiling is measured: enough to keep both sides busy, as in the peers' runs.
const IN_FLIGHT: u32 = 128;
/// The first slice warms up, the rest counts: a tenth of a second is some 10,000 operations.
const SLICE: Duration = Duration::from_millis(100);
const SLICES: u32 = 4;
/// Before the first trial of a program: with fewer there is no spread.
const FIRST_COUNT: usize = 3;
/// The latest that judge a trial: the machine is not what it was an hour ago.
const LATEST_COUNT: usize = 5;

/// The ceilings of one program, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Ceilings(Vec<f64>);

impl Ceilings {
    /// How often it is to be measured before the next trial. Where the client itself is what is
    /// measured, once is enough.
    pub fn due(&self, is_null: bool) -> usize {
        match (self.0.is_empty(), is_null) {
            (true, _) => FIRST_COUNT,
            (false, true) => 0,
            (false, false) => 1,
        }
    }

    /// One more, op/s.
    pub fn push(&mut self, ops_per_s: f64) {
        self.0.push(ops_per_s);
    }

    /// Those that a trial is judged by, op/s.
    pub fn latest(&self) -> Vec<f64> {
        self.0[self.0.len().saturating_sub(LATEST_COUNT)..].to_vec()
    }
}

/// Operations per second of `program` with the client of `settings` on a fresh null target.
pub fn measure(settings: &Settings, program: &Arc<Program>, dirs: &Dirs) -> Result<f64> {
    let target = Target::Null(NullSpec::default());
    let running = Running::start(&target, dirs, &mut |_| {})?;
    let mut session = running.cluster.session()?;
    let schema = program.schema();
    session.execute_schema(&schema.create_keyspace)?;
    for table in &schema.create_tables {
        session.execute_schema(table)?;
    }
    let schedule = Schedule::Closed {
        in_flight: IN_FLIGHT,
    };
    let offer = Offer::of(Stage::Main, schedule, Limit::Duration(SLICE * SLICES));
    let mut config = offer::config(settings, program, &running, &offer);
    config.interval = SLICE;
    let (mut ended, mut seconds) = (0, 0.0);
    load::run(&config, &mut |interval| {
        if interval.index > 0 && !interval.draining {
            ended += interval.ended();
            seconds += interval.seconds();
        }
        Flow::Continue
    })
    .context("measure the client's own ceiling")?;
    running.stop(None)?;
    Ok(if seconds > 0.0 {
        ended as f64 / seconds
    } else {
        0.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_is_measured_before_every_trial_and_the_latest_count() {
        let mut ceilings = Ceilings::default();
        assert_eq!((ceilings.due(false), ceilings.due(true)), (3, 3));
        for ops_per_s in 1..=7 {
            ceilings.push(f64::from(ops_per_s));
            assert_eq!((ceilings.due(false), ceilings.due(true)), (1, 0));
        }
        assert_eq!(ceilings.latest(), [3.0, 4.0, 5.0, 6.0, 7.0]);
    }
}
