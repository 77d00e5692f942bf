//! Power loss of a host, and mounting of its volume by another host.

use super::active_faults::Breakable;
use super::processes::{check, restart};
use crate::folders::Bar;
use crate::host_state::AgentState;
use anyhow::{Context, Result};
use host::Restartable;
use host::process::Identity;
use linux::volume::Volume;
use std::path::PathBuf;
use std::time::Duration;
use target_spec::DiskSpec;

/// Time limit for adopted processes to end after SIGTERM, when their own host has power again.
const STOP_LIMIT: Duration = Duration::from_secs(60);

/// Time limit for another host to release the volume, after its processes have ended.
const BACK_LIMIT: Duration = Duration::from_secs(75);

/// Host without power. The undo list needs no entry, because the host's processes end with the
/// agent.
pub(super) struct PowerLoss {
    processes: Vec<Restartable>,
    is_off: bool,
}

impl PowerLoss {
    pub fn new(processes: Vec<Restartable>) -> PowerLoss {
        PowerLoss {
            processes,
            is_off: false,
        }
    }
}

impl Breakable for PowerLoss {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        let volume = here.volume()?;
        check(here, &self.processes)?;
        self.is_off = true;
        here.files.bar(volume.folder(), Bar::Away);
        here.children.kill()?;
        here.group()?.empty()?;
        volume.shut_down()?;
        volume.unmount()
    }

    fn heal(&mut self, here: &AgentState) -> Result<Vec<Identity>> {
        if !std::mem::take(&mut self.is_off) {
            return Ok(Vec::new());
        }
        let volume = here.volume()?;
        // An interrupted injection may leave the volume mounted after its shutdown.
        volume.unmount()?;
        volume.mount_within(BACK_LIMIT)?;
        here.files.bar(volume.folder(), Bar::None);
        restart(here, &self.processes)
    }
}

/// Volume of another host that this host has mounted, and the processes that use it.
pub(super) struct AdoptedVolume {
    device: String,
    folder: PathBuf,
    start: Vec<Restartable>,
    volume: Option<Volume>,
    started: Vec<Identity>,
}

impl AdoptedVolume {
    pub fn new(device: String, folder: PathBuf, start: Vec<Restartable>) -> AdoptedVolume {
        AdoptedVolume {
            device,
            folder,
            start,
            volume: None,
            started: Vec::new(),
        }
    }

    /// Limits I/O to the adopted volume as on the host's own volume.
    fn limit(&self, here: &AgentState, volume: &Volume, disk: Option<DiskSpec>) -> Result<()> {
        let group = here.group()?;
        let own = here
            .device()
            .map(|own| group.limits(Some(own)))
            .transpose()?
            .map(|limits| DiskSpec::from_limits(&limits))
            .transpose()
            .map_err(anyhow::Error::msg)?
            .unwrap_or_default();
        group.limit_disk(&disk.unwrap_or(own), Some(&volume.number()?))
    }
}

impl Breakable for AdoptedVolume {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        anyhow::ensure!(
            here.volume().map_or(true, |own| own.folder() != self.folder),
            "{} is this host's own volume",
            self.folder.display()
        );
        let volume = self.volume.insert(Volume::open_another(&self.folder, &self.device)?);
        volume.mount()?;
        here.files.add(&self.folder);
        let volume = self
            .volume
            .as_ref()
            .context("find the volume that the agent has just mounted")?;
        self.limit(here, volume, None)?;
        for one in &self.start {
            self.started.push(here.start(&one.start)?);
        }
        Ok(())
    }

    fn heal(&mut self, here: &AgentState) -> Result<Vec<Identity>> {
        here.children.end_all(&self.started, STOP_LIMIT)?;
        if let Some(volume) = self.volume.take() {
            here.files.remove(&self.folder);
            volume.unmount()?;
            self.limit(here, &volume, Some(DiskSpec::default()))?;
        }
        Ok(Vec::new())
    }

    fn started(&self) -> Vec<Identity> {
        self.started.clone()
    }
}
