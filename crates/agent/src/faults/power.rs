//! A host without power, and its volume brought up by another one meanwhile.

use super::processes::{check, restart};
use super::state::Breakable;
use crate::folders::Bar;
use crate::state::AgentState;
use anyhow::{Context, Result};
use host::Restartable;
use host::process::Identity;
use kernel::volume::Volume;
use std::path::PathBuf;
use std::time::Duration;
use target::DiskSpec;

/// How long processes may take that are asked to end, since their host is there again.
const STOP_LIMIT: Duration = Duration::from_secs(60);

/// How long a volume is waited for that another host has: it may be asking its processes to end.
const BACK_LIMIT: Duration = Duration::from_secs(75);

/// A host without power. What is gone with the agent needs no guard.
pub(super) struct Off {
    processes: Vec<Restartable>,
    is_off: bool,
}

impl Off {
    pub fn of(processes: Vec<Restartable>) -> Off {
        Off {
            processes,
            is_off: false,
        }
    }
}

impl Breakable for Off {
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
        // What was only half done leaves it mounted, and perhaps shut down.
        volume.unmount()?;
        volume.mount_within(BACK_LIMIT)?;
        here.files.bar(volume.folder(), Bar::None);
        restart(here, &self.processes)
    }
}

/// The volume of another host, and what runs from it.
pub(super) struct Adopted {
    device: String,
    folder: PathBuf,
    start: Vec<Restartable>,
    volume: Option<Volume>,
    started: Vec<Identity>,
}

impl Adopted {
    pub fn of(device: String, folder: PathBuf, start: Vec<Restartable>) -> Adopted {
        Adopted {
            device,
            folder,
            start,
            volume: None,
            started: Vec::new(),
        }
    }

    /// Does no more for this host than its own does.
    fn limit(&self, here: &AgentState, volume: &Volume, disk: Option<DiskSpec>) -> Result<()> {
        let group = here.group()?;
        let own = here
            .device()
            .map(|own| group.limits(Some(own)))
            .transpose()?
            .map(|limits| DiskSpec::of(&limits))
            .unwrap_or_default();
        group.limit_disk(&disk.unwrap_or(own), Some(&volume.number()?))
    }
}

impl Breakable for Adopted {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        anyhow::ensure!(
            here.volume().map_or(true, |own| own.folder() != self.folder),
            "{} is this host's own volume",
            self.folder.display()
        );
        let volume = self.volume.insert(Volume::of_another(&self.folder, &self.device)?);
        volume.mount()?;
        here.files.add(&self.folder);
        let volume = self.volume.as_ref().context("it was just mounted")?;
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
