//! Faults of a volume, which fails, hangs or is full.

use super::active_faults::Breakable;
use super::processes::{check, restart};
use crate::folders::Bar;
use crate::host_state::AgentState;
use anyhow::{Context, Result, ensure};
use host::Restartable;
use host::process::Identity;
use host::undo::Undo;
use linux::volume::{self, Claim, ext4_ioctls};
use rustix::fd::OwnedFd;
use rustix::fs::{Advice, FallocateFlags, Mode, OFlags, fadvise, fallocate, ftruncate};
use rustix::io::Errno;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

/// File that fills the disk, beside the folders of the nodes.
const FILLER: &str = ".cassay-filler";

/// Maximum number of adjustments of the free space. Other processes write and delete files at the
/// same time.
const TURNS_MAX: usize = 32;

/// Tolerance of the free space, in bytes. The file system needs space for its metadata.
const NEAR_BYTES: u64 = 64 << 10;

/// Fault that claims the host's volume, which can have only one such fault at a time.
pub(super) struct Alone<B> {
    what: B,
    is_begun: bool,
    /// Claim on a volume that this agent has created. `None` for a file system that was already
    /// mounted.
    claim: Option<Claim>,
}

impl<B> Alone<B> {
    pub fn with(what: B) -> Alone<B> {
        Alone {
            what,
            is_begun: false,
            claim: None,
        }
    }
}

impl<B: Breakable> Breakable for Alone<B> {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        self.claim = here.volume.get().map(|volume| volume.claim()).transpose()?;
        self.is_begun = true;
        self.what.inject(here)
    }

    fn heal(&mut self, here: &AgentState) -> Result<Vec<Identity>> {
        if self.is_begun {
            self.what.heal(here)
        } else {
            Ok(Vec::new())
        }
    }

    fn became(&self) -> Option<String> {
        self.what.became()
    }
}

pub(super) enum DiskFailure {
    Removed,
    ReadOnly,
    /// The disk fails from the given byte of a file onwards.
    From(PathBuf, u64),
}

/// Failing disk whose processes continue. The undo list needs no entry, because the fault ends with
/// the agent.
pub(super) struct Failing {
    how: DiskFailure,
    processes: Vec<Restartable>,
    is_broken: bool,
}

impl Failing {
    pub fn by(how: DiskFailure, processes: Vec<Restartable>) -> Failing {
        Failing {
            how,
            processes,
            is_broken: false,
        }
    }
}

impl Breakable for Failing {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        let volume = here.volume()?;
        check(here, &self.processes)?;
        let place = match &self.how {
            DiskFailure::From(path, at) => Some(place(here, path, *at)?),
            DiskFailure::Removed | DiskFailure::ReadOnly => None,
        };
        self.is_broken = true;
        match (&self.how, place) {
            (DiskFailure::Removed, _) => volume.take_away(),
            (_, Some(place)) => volume.fail_behind(place),
            (_, None) => volume.abort(),
        }
    }

    fn heal(&mut self, here: &AgentState) -> Result<Vec<Identity>> {
        if !std::mem::take(&mut self.is_broken) {
            return Ok(Vec::new());
        }
        let volume = here.volume()?;
        // Open files would keep the volume mounted.
        let processes: Vec<Identity> = self.processes.iter().map(|one| one.process).collect();
        here.files.bar(volume.folder(), Bar::Away);
        here.children.end_all(&processes, Duration::ZERO)?;
        if volume.unmount().is_err() {
            // Other processes keep the volume mounted although they cannot use it.
            here.group()?.empty()?;
        }
        volume.renew()?;
        here.files.bar(volume.folder(), Bar::None);
        restart(here, &self.processes)
    }
}

/// Returns the location of byte `at` of a file on the volume's device. Also drops the file from the
/// page cache.
fn place(here: &AgentState, path: &std::path::Path, at: u64) -> Result<u64> {
    let file = here
        .files
        .admit(path)?
        .open(OFlags::RDONLY, Mode::empty())
        .with_context(|| format!("open {}", path.display()))?;
    let found = ext4_ioctls::extents(&file, at, 1).with_context(|| {
        format!(
            "find the position of byte {at} of {} on the disk",
            path.display()
        )
    })?;
    let place = found
        .first()
        .context("the byte is in a hole of the file, or not yet written to the disk")?
        .place;
    uncache(&file)?;
    // The kernel limits a device in sectors.
    Ok(place - place % volume::SECTOR_BYTES)
}

/// Drops a file from the page cache, except pages that a process has mapped.
pub(super) fn uncache(file: &OwnedFd) -> Result<()> {
    rustix::fs::fdatasync(file).context("write unsynced data of the file to the disk")?;
    let to_the_end: Option<NonZeroU64> = None;
    fadvise(file, 0, to_the_end, Advice::DontNeed).context("drop the file from the page cache")
}

/// Volume on which every write blocks.
#[derive(Default)]
pub(super) struct StalledVolume {
    is_told: bool,
    is_frozen: bool,
}

impl Breakable for StalledVolume {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        let volume = here.volume()?;
        let root = volume.root()?;
        self.is_told = true;
        here.undo.add(Undo::Thaw(volume.folder().to_owned()))?;
        ext4_ioctls::freeze(&root)
            .with_context(|| format!("freeze {}", volume.folder().display()))?;
        self.is_frozen = true;
        here.files.bar(volume.folder(), Bar::Frozen);
        Ok(())
    }

    fn heal(&mut self, here: &AgentState) -> Result<Vec<Identity>> {
        let volume = here.volume()?;
        if std::mem::take(&mut self.is_frozen) {
            ext4_ioctls::thaw(&volume.root()?).context("thaw the volume")?;
            here.files.bar(volume.folder(), Bar::None);
        }
        if std::mem::take(&mut self.is_told) {
            here.undo.forget(&Undo::Thaw(volume.folder().to_owned()))?;
        }
        Ok(Vec::new())
    }
}

/// Volume on which a file leaves only limited free space.
pub(super) struct Full {
    leave_bytes: u64,
    is_filled: bool,
}

impl Full {
    pub fn but(leave_bytes: u64) -> Full {
        Full {
            leave_bytes,
            is_filled: false,
        }
    }
}

impl Breakable for Full {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        // Other hosts must not use this disk, because the space may become free only when the
        // volume is removed.
        let root = own_disk(here)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&root, FILLER, flags, Mode::from_raw_mode(0o600))
            .context("create a file that fills the disk (is the disk full already?)")?;
        self.is_filled = true;
        fill(&file, self.leave_bytes).with_context(|| {
            format!(
                "reduce the free space of the host's disk to {} bytes",
                self.leave_bytes
            )
        })
    }

    fn heal(&mut self, here: &AgentState) -> Result<Vec<Identity>> {
        if std::mem::take(&mut self.is_filled) {
            let root = own_disk(here)?;
            match rustix::fs::unlinkat(root, FILLER, rustix::fs::AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                error => error.context("remove the file that fills the disk")?,
            }
        }
        Ok(Vec::new())
    }
}

/// Returns the root of the host's own disk: its volume, or a file system that was already mounted
/// for its data, as in a pod.
fn own_disk(here: &AgentState) -> Result<OwnedFd> {
    if let Some(volume) = here.volume.get() {
        return volume.root();
    }
    let data = here
        .data
        .get()
        .context("this host has no data folder yet: start a node on it first")?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(data, flags, Mode::empty())
        .with_context(|| format!("open {}", data.display()))?;
    let of_data =
        rustix::fs::fstat(&root).context("read the attributes of the host's data folder")?;
    let of_system =
        rustix::fs::stat("/").context("read the attributes of the host's system disk")?;
    ensure!(
        of_data.st_dev != of_system.st_dev,
        "{} is on the system disk, which other programs use: add a separate volume to the host",
        data.display()
    );
    Ok(root)
}

/// Grows or shrinks `file` so that `leave` bytes of the disk remain free.
fn fill(file: &OwnedFd, leave: u64) -> Result<()> {
    let available = || -> Result<u64> {
        let stat = rustix::fs::fstatvfs(file).context("get the free space")?;
        Ok(volume::use_of(&stat).available_bytes)
    };
    let mut taken = 0;
    // Upper bound of the size that the file system accepts. Its metadata also needs space.
    let mut most = u64::MAX;
    for _ in 0..TURNS_MAX {
        let available = available()?;
        if available.abs_diff(leave) < NEAR_BYTES {
            return Ok(());
        }
        if available < leave {
            taken = leave_of(taken, leave - available)?;
            ftruncate(file, taken).context("free the space again")?;
            continue;
        }
        let wanted = (available - leave).min(most);
        match fallocate(file, FallocateFlags::empty(), taken, wanted) {
            Ok(()) => taken += wanted,
            Err(Errno::NOSPC) => most = wanted / 2,
            Err(error) => return Err(error).context("occupy the space"),
        }
        if most < NEAR_BYTES {
            return Ok(());
        }
    }
    anyhow::bail!(
        "{} bytes remain free on the disk, because other programs write and delete files there",
        available()?
    )
}

fn leave_of(taken: u64, back: u64) -> Result<u64> {
    let left = taken.checked_sub(back);
    left.context("the disk already has less free space than the fault should leave")
}
