//! A disk with unreadable sectors: from the middle of a data file on, reads and writes fail. After
//! healing, the nodes on the disk are restarted.

use crate::behaviour::Fault;
use crate::cluster_under_test::{ExecutedBy, World};
use crate::observation::{self, Health, Observation, Presence};
use anyhow::{Context, Result};
use host::{Injection, Query, QueryAnswer};
use std::path::PathBuf;
use std::time::Duration;
use target_spec::NodeIndex;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Failing {
        node: hit.node(),
        file: None,
    })
}

/// Error number for a missing file (ENOENT).
const ENOENT: i32 = 2;

/// Number of bytes that an observation reads.
const BYTES: u64 = 4096;

struct Failing {
    node: NodeIndex,
    /// Path of the file, and offset of the first unreadable byte.
    file: Option<(PathBuf, u64)>,
}

impl Failing {
    fn read(&mut self, world: &mut dyn World) -> Result<Observation> {
        let (path, at) = match &self.file {
            Some(file) => file.clone(),
            None => {
                let (path, bytes) = world.data_file(self.node)?;
                let middle = (bytes / 2) / BYTES * BYTES;
                self.file.insert((path, middle)).clone()
            }
        };
        let name = path.file_name().unwrap_or_default().display().to_string();
        let sight = Query::Bytes {
            path,
            at,
            bytes: BYTES,
        };
        match world.see(ExecutedBy::Node(self.node), sight)? {
            // A compaction has removed the file, so the next observation uses another file.
            QueryAnswer::Bytes {
                on_disk: Err(ENOENT),
                ..
            } => {
                self.file = None;
                Ok(Observation {
                    fault: Presence::Absent,
                    target: Health::Impaired,
                    words: format!("{name} no longer exists"),
                })
            }
            QueryAnswer::Bytes { on_disk, .. } => Ok(Observation {
                fault: Presence::from(on_disk.is_err()),
                target: Health::from(on_disk.is_ok()),
                words: match on_disk {
                    Ok(_) => format!("cassay can read {name}"),
                    Err(number) => format!("cassay cannot read {name} (error {number})"),
                },
            }),
            other => Err(observation::other_answer(&other)),
        }
    }
}

impl Fault for Failing {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let (path, at) = self.file.clone().context("cassay did not choose a data file")?;
        let nodes = world.nodes();
        let host = nodes
            .get(self.node)
            .and_then(|node| node.host)
            .context("the node has no separate host")?;
        let (nodes, processes) = observation::restartables(world, host)?;
        let what = Injection::DiskErrors {
            path,
            at,
            processes,
        };
        world.inject(ExecutedBy::Host(host), what, &nodes, within)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let read = self.read(world);
        let read = observation::or_unseen("its disk", read);
        read.and(|| observation::client(world, self.node, limit))
    }
}
