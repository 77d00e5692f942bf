//! A slow node: its host has less CPU time, as beside a noisy neighbour. The node answers late, but
//! no other node marks it down.

use crate::behaviour::Fault;
use crate::cluster_under_test::{Agents, ExecutedBy, World};
use crate::observation::{self, Health, Observation, Presence};
use anyhow::Result;
use host::{Injection, Query, QueryAnswer};
use std::time::Duration;
use target_spec::NodeIndex;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, options: &Options) -> Box<dyn Fault> {
    Box::new(Slow {
        node: hit.node(),
        cores: options.cpus.unwrap_or(CORES),
    })
}

/// Default CPU time of the host, in cores. The node then still answers, but is slow at any load.
const CORES: f64 = 0.1;

/// Duration of the CPU test in ms, three periods of the quota.
const WORK_MS: u64 = 300;

/// Maximum CPU time with which the fault counts as present, as a multiple of the quota. The quota
/// is an average, which a few periods may exceed.
const BROKEN_BELOW: f64 = 1.3;

/// Minimum CPU time with which the fault counts as healed, as a multiple of the quota.
const WHOLE_ABOVE: f64 = 1.6;

struct Slow {
    node: NodeIndex,
    cores: f64,
}

impl Slow {
    fn cpu(&self, world: &mut dyn Agents) -> Result<Observation> {
        let cores = match world.see(ExecutedBy::Node(self.node), Query::Cpu(WORK_MS))? {
            QueryAnswer::Cpu(cores) => cores,
            other => return Err(observation::other_answer(&other)),
        };
        Ok(Observation {
            fault: Presence::from(cores <= self.cores * BROKEN_BELOW),
            target: Health::from(cores >= self.cores * WHOLE_ABOVE),
            words: format!(
                "the host of the node has only {cores:.2} cores of CPU time when it needs more \
                 (quota of the fault: {:.2} cores)",
                self.cores
            ),
        })
    }
}

impl Fault for Slow {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let what = Injection::CpuQuota(self.cores);
        world.inject(ExecutedBy::Node(self.node), what, &[], within)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let seen = self.cpu(world);
        let seen = observation::or_unseen("its host", seen);
        // A slow node may answer late, so a client can only confirm that the node is healthy.
        seen.and(|| observation::client(world, self.node, limit))
    }
}
