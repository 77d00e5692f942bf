//! A node that freezes for moments, again and again, as by long collections of its JVM or on a host
//! whose hypervisor gives its time to others: its process is stopped (SIGSTOP) and goes on
//! (SIGCONT). It answers between, so that nobody marks it down.

use crate::behaviour::Fault;
use crate::observation::{self, Observation};
use crate::world::{Via, World};
use anyhow::Result;
use host::Injection;
use std::time::Duration;
use target::fault::{Hit, Options};

/// For how long it is stopped each time: a collection as nodes have them that are short of memory,
/// and shorter than it takes others to call one down.
const STOPPED: Duration = Duration::from_millis(300);

/// From the beginning of one time to that of the next.
const EVERY: Duration = Duration::from_secs(1);

/// How long it is looked at: longer than it can run without being stopped.
const LOOK: Duration = Duration::from_millis(1200);

/// Between two looks of these: short against [`STOPPED`].
const POLL: Duration = Duration::from_millis(50);

/// What carries it out.
pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Stutter(hit.node()))
}

struct Stutter(usize);

impl Stutter {
    /// What the kernel says of its process in more than a second: stopped, running, or both.
    fn kernel(&self, world: &mut dyn World) -> Observation {
        let until_ns = world.now_ns() + LOOK.as_nanos() as u64;
        let (mut was_stopped, mut has_run) = (false, false);
        while world.now_ns() < until_ns && !(was_stopped && has_run) {
            // `T`: stopped by a signal.
            let state = observation::process(world, self.0, |state| state == Some('T'));
            match state.broken {
                None => return state,
                Some(true) => was_stopped = true,
                Some(false) => has_run = true,
            }
            world.wait(POLL);
        }
        Observation {
            broken: Some(was_stopped && has_run),
            whole: Some(!was_stopped),
            words: match (was_stopped, has_run) {
                (true, true) => "the kernel calls its process stopped, and then not".to_owned(),
                (true, false) => "the kernel calls its process stopped all the time".to_owned(),
                (false, _) => "the kernel never calls its process stopped".to_owned(),
            },
        }
    }
}

impl Fault for Stutter {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let what = Injection::Stutter {
            process: observation::running(world, self.0)?,
            stopped: STOPPED,
            every: EVERY,
        };
        world.inject(Via::Node(self.0), what, &[self.0], within)
    }

    /// It answers clients between: only that it is whole needs an answer.
    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let kernel = self.kernel(world);
        kernel.and(|| observation::client(world, self.0, limit))
    }
}
