//! Silent data corruption: bytes of a data file change, and the disk reports no error. Cassandra
//! rejects the data because of its checksums, and a repair must restore the data.

use crate::behaviour::Fault;
use crate::cluster_under_test::{Agents, ExecutedBy, World};
use crate::observation::{self, Health, Observation, Presence};
use anyhow::{Context, Result};
use host::{Injection, Query, QueryAnswer};
use std::path::PathBuf;
use std::time::Duration;
use target_spec::NodeIndex;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Rot {
        node: hit.node(),
        file: None,
    })
}

const BYTES: u64 = 4096;

struct Rot {
    node: NodeIndex,
    /// Path of the file, offset of the corrupted block, and original bytes of the block.
    file: Option<(PathBuf, u64, Vec<u8>)>,
}

impl Rot {
    fn read(&self, world: &mut dyn Agents, path: PathBuf, at: u64) -> Result<Vec<u8>> {
        let sight = Query::Bytes {
            path: path.clone(),
            at,
            bytes: BYTES,
        };
        match world.see(ExecutedBy::Node(self.node), sight)? {
            QueryAnswer::Bytes { on_disk, .. } => match on_disk {
                Ok(bytes) => Ok(bytes.0),
                Err(number) => {
                    let error = std::io::Error::from_raw_os_error(number);
                    anyhow::bail!(
                        "cannot read {BYTES} bytes at {at} of {}: {error}",
                        path.display()
                    )
                }
            },
            other => Err(observation::other_answer(&other)),
        }
    }

    fn compared(&mut self, world: &mut dyn World) -> Result<Observation> {
        let (path, at, before) = match &self.file {
            Some(file) => file.clone(),
            None => {
                let (path, bytes) = world.data_file(self.node)?;
                let at = (bytes / 2) / BYTES * BYTES;
                let stood = self.read(world, path.clone(), at)?;
                self.file.insert((path, at, stood)).clone()
            }
        };
        let name = path.file_name().unwrap_or_default().display().to_string();
        let is_other = self.read(world, path, at)? != before;
        Ok(Observation {
            fault: Presence::from(is_other),
            target: Health::from(!is_other),
            words: if is_other {
                format!(
                    "{BYTES} bytes of {name} from byte {at} on differ from their earlier content"
                )
            } else {
                format!("{name} is unchanged")
            },
        })
    }
}

impl Fault for Rot {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let (path, at, _) = self.file.clone().context("cassay did not choose a data file")?;
        let what = Injection::DiskCorrupt {
            path,
            at,
            bytes: BYTES,
        };
        world.inject(ExecutedBy::Node(self.node), what, &[], within)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let compared = self.compared(world);
        let compared = observation::or_unseen("its disk", compared);
        compared.and(|| observation::client(world, self.node, limit))
    }
}
