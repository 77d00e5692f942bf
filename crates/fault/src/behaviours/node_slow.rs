//! A node that is up and slow: its host has less CPU time, as beside a noisy neighbour. It answers,
//! late; nobody marks it down.

use crate::behaviour::Fault;
use crate::observation::{self, Observation};
use crate::world::{Agents, Via, World};
use anyhow::Result;
use host::{Injection, Query, QueryAnswer};
use std::time::Duration;
use target::fault::{Hit, Options};

/// What carries it out.
pub(crate) fn behaviour(hit: &Hit, options: &Options) -> Box<dyn Fault> {
    Box::new(Slow {
        node: hit.node(),
        cores: options.cpus.unwrap_or(CORES),
    })
}

/// What is left where nothing is said: a node answers with it, and is slow at any load.
const CORES: f64 = 0.1;

/// How long a thread works there to see how much CPU time there is: three periods of the quota.
const WORK_MS: u64 = 300;

/// A quota holds on average; a window of some periods may catch a little more.
const BROKEN_BELOW: f64 = 1.3;

/// What is less than this over the quota may be the quota.
const WHOLE_ABOVE: f64 = 1.6;

struct Slow {
    node: usize,
    cores: f64,
}

impl Slow {
    fn cpu(&self, world: &mut dyn Agents) -> Result<Observation> {
        let cores = match world.see(Via::Node(self.node), Query::Cpu(WORK_MS))? {
            QueryAnswer::Cpu(cores) => cores,
            other => return Err(observation::other_answer(&other)),
        };
        Ok(Observation {
            broken: Some(cores <= self.cores * BROKEN_BELOW),
            whole: Some(cores >= self.cores * WHOLE_ABOVE),
            words: format!(
                "its host gets {cores:.2} cores when it wants more (the quota of the fault: {:.2})",
                self.cores
            ),
        })
    }
}

impl Fault for Slow {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let what = Injection::CpuQuota(self.cores);
        world.inject(Via::Node(self.node), what, &[], within)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let seen = self.cpu(world);
        let seen = observation::or_unseen("its host", seen);
        if seen.whole != Some(true) {
            return seen;
        }
        // Who is slow may answer late: only that it is whole again needs an answer.
        let client = observation::client(world, self.node, limit);
        Observation {
            broken: seen.broken,
            ..Observation::of_two(seen, client)
        }
    }
}
