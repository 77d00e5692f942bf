//! A slow disk: the host's volume has a low I/O limit. Writes wait in memory, and syncs and reads
//! take long.

use crate::behaviour::Fault;
use crate::cluster_under_test::{Agents, ExecutedBy, World};
use crate::observation::{self, Health, Observation, Presence};
use anyhow::Result;
use host::{DiskWork, Injection};
use std::time::Duration;
use target_spec::fault::{Hit, Options};
use target_spec::{DiskSpec, HostIndex};

pub(crate) fn behaviour(hit: &Hit, options: &Options) -> Box<dyn Fault> {
    Box::new(Slow {
        host: hit.host(),
        disk: options.disk,
        usual: None,
    })
}

/// Minimum ratio of the duration of a disk test to its duration before the fault, if the disk
/// counts as slow.
const SLOWER: f64 = 3.0;

/// Minimum duration of a disk test on a slow disk. On a busy disk without the fault, a test may
/// take some milliseconds.
const LEAST: Duration = Duration::from_millis(20);

const LIMIT: Duration = Duration::from_secs(10);

struct Slow {
    host: HostIndex,
    disk: DiskSpec,
    /// Duration of a disk test before the fault. `None` if the disk was already slow.
    usual: Option<Duration>,
}

impl Slow {
    fn took(&mut self, world: &mut dyn Agents) -> Result<Observation> {
        let (work, takes) = DiskWork::showing(&self.disk);
        let tried = observation::try_disk(world, self.host, work, LIMIT)?;
        let (Some(write), Some(read)) = (tried.write_took(LIMIT), tried.read_took(LIMIT)) else {
            return Ok(Observation {
                fault: Presence::Absent,
                target: Health::Impaired,
                words: tried.words(),
            });
        };
        let took = if self.disk.limits_writes() {
            write
        } else {
            read
        };
        // Such a disk is slow by itself, or an earlier fault still limits it, so the duration is
        // not normal.
        let limited = LEAST.max(takes / 2);
        if self.usual.is_none() && took < limited {
            self.usual = Some(took);
        }
        let usual = self.usual.unwrap_or_default();
        let slow = usual.mul_f64(SLOWER).max(limited);
        Ok(Observation {
            fault: Presence::from(took >= slow),
            target: Health::from(took < slow),
            words: tried.words(),
        })
    }
}

impl Fault for Slow {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        world.inject(
            ExecutedBy::Host(self.host),
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
