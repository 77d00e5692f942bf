//! A disk that is up and slow: the host's volume does little in a second. What is written waits in
//! memory, and what has to be synced or read is late.

use crate::behaviour::Fault;
use crate::observation::{self, Observation};
use crate::world::{Agents, Via, World};
use anyhow::Result;
use host::{DiskWork, Injection};
use std::time::Duration;
use target::DiskSpec;
use target::fault::{Hit, Options};

/// What carries it out.
pub(crate) fn behaviour(hit: &Hit, options: &Options) -> Box<dyn Fault> {
    Box::new(Slow {
        host: hit.node(),
        disk: options.disk,
        usual: None,
    })
}

/// How much longer than before a disk takes that is slow.
const SLOWER: f64 = 3.0;

/// The least that a slow disk takes: a busy one may take some milliseconds.
const LEAST: Duration = Duration::from_millis(20);

/// How long one try is waited for.
const LIMIT: Duration = Duration::from_secs(10);

struct Slow {
    host: usize,
    disk: DiskSpec,
    /// How long the disk took before.
    usual: Option<Duration>,
}

impl Slow {
    fn took(&mut self, world: &mut dyn Agents) -> Result<Observation> {
        let (work, takes) = DiskWork::showing(&self.disk);
        let tried = observation::try_disk(world, self.host, work, LIMIT)?;
        let (Some(write), Some(read)) = (tried.write_took(LIMIT), tried.read_took(LIMIT)) else {
            return Ok(Observation {
                broken: Some(false),
                whole: Some(false),
                words: tried.words(),
            });
        };
        let took = if self.disk.limits_writes() {
            write
        } else {
            read
        };
        // One that is as slow before is so by itself, or still limited by what came before.
        let limited = LEAST.max(takes / 2);
        if self.usual.is_none() && took < limited {
            self.usual = Some(took);
        }
        let usual = self.usual.unwrap_or_default();
        let slow = usual.mul_f64(SLOWER).max(limited);
        Ok(Observation {
            broken: Some(took >= slow),
            whole: Some(took < slow),
            words: tried.words(),
        })
    }
}

impl Fault for Slow {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        world.inject(
            Via::Host(self.host),
            Injection::Disk(self.disk),
            &[],
            within,
        )
    }

    fn look(&mut self, world: &mut dyn World, _: Duration) -> Observation {
        let took = self.took(world);
        observation::or_unseen("its disk", took)
    }
}
