//! A node that repeatedly freezes for short times, as with long garbage collections or CPU steal.
//! Its process is stopped (SIGSTOP) and continued (SIGCONT). The node answers between the stops, so
//! no other node marks it down.

use crate::behaviour::Fault;
use crate::cluster_under_test::{ExecutedBy, World};
use crate::observation::{self, Health, Observation, Presence};
use anyhow::Result;
use host::Injection;
use std::time::Duration;
use target_spec::NodeIndex;
use target_spec::fault::{Hit, Options};

/// Duration of each stop: as long as a garbage collection on a node with too little memory, but too
/// short for the failure detector.
const STOPPED: Duration = Duration::from_millis(300);

/// Interval between the starts of two stops.
const EVERY: Duration = Duration::from_secs(1);

/// Duration of an observation, longer than [`EVERY`], so that it contains a stop.
const LOOK: Duration = Duration::from_millis(1200);

/// Interval between two checks of the process state, short compared with [`STOPPED`].
const POLL: Duration = Duration::from_millis(50);

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Stutter(hit.node()))
}

struct Stutter(NodeIndex);

impl Stutter {
    /// Observes whether the process is stopped, runs, or alternates between these states.
    fn kernel(&self, world: &mut dyn World) -> Observation {
        let until_ns = world.now_ns() + LOOK.as_nanos() as u64;
        let (mut was_stopped, mut has_run) = (false, false);
        while world.now_ns() < until_ns && !(was_stopped && has_run) {
            // State `T`: stopped by a signal.
            let state = observation::process(world, self.0, |state| state == Some('T'));
            match state.fault {
                Presence::Unknown => return state,
                Presence::Present => was_stopped = true,
                Presence::Absent => has_run = true,
            }
            world.wait(POLL);
        }
        Observation {
            fault: Presence::from(was_stopped && has_run),
            target: Health::from(!was_stopped),
            words: match (was_stopped, has_run) {
                (true, true) => "the kernel reported the node's process as stopped, and then as \
                                 running"
                    .to_owned(),
                (true, false) => "the kernel reported the node's process as stopped for the whole \
                                  time"
                    .to_owned(),
                (false, _) => "the kernel never reported the node's process as stopped".to_owned(),
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
        world.inject(ExecutedBy::Node(self.0), what, &[self.0], within)
    }

    /// The node answers between the stops, so a client can only confirm that the node is healthy.
    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let kernel = self.kernel(world);
        kernel.and(|| observation::client(world, self.0, limit))
    }
}
