//! What the instrument can do: the same program on a null target on this machine, as fast as it
//! goes. Measured once per program and kept for the run; a trial near it is suspect.

use super::offer::{self, Offer};
use super::running::Running;
use crate::settings::{Null, Settings, Target};
use anyhow::{Context, Result};
use load::{Flow, Limit, Schedule, VerifyReads, Window};
use std::sync::Arc;
use std::time::Duration;
use target::Dirs;
use workload::{Program, Stage};

/// In flight while the ceiling is measured: enough to keep both sides busy, as in the peers' runs.
const IN_FLIGHT: u32 = 128;
/// The first slice warms up, the rest counts; a second in all is enough for two digits.
const SLICE: Duration = Duration::from_millis(250);
const SLICES: u32 = 4;

/// Operations per second of `program` with the client of `settings` on a fresh null target.
pub fn measure(settings: &Settings, program: &Arc<Program>, dirs: &Dirs) -> Result<f64> {
    let target = Target::Null(Null::default());
    let running = Running::start(&target, dirs, &mut |_| {})?;
    let mut session = running.cluster.session()?;
    let schema = program.schema();
    session.execute_schema(&schema.create_keyspace)?;
    for table in &schema.create_tables {
        session.execute_schema(table)?;
    }
    let offer = Offer {
        stage: Stage::Main,
        schedule: Schedule::Closed {
            in_flight: IN_FLIGHT,
        },
        limit: Limit::Duration(SLICE * SLICES),
        window: Window::Whole,
        first_operation: 0,
        verify: VerifyReads::Off,
        keeps_ledger: false,
        written: None,
    };
    let access = running.access(settings.client.compression);
    let mut config = offer::config(settings, program, running.nodes(), access, &offer);
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
