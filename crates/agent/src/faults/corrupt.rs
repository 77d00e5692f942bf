//! Silent corruption: bytes of a file on disk differ from the bytes that were written.
//!
//! Invariant: injection and healing write only to blocks of this file. For healing, the agent finds
//! the file again, and restores only blocks that still belong to the file and contain the corrupted
//! bytes.

use super::active_faults::Breakable;
use super::volume::uncache;
use crate::host_state::AgentState;
use anyhow::{Context, Result};
use host::process::Identity;
use linux::volume::ext4_ioctls::{self, Extent};
use linux::volume::{BLOCK_BYTES, Blocks};
use rustix::fd::OwnedFd;
use rustix::fs::{Dir, FileType, Mode, OFlags, fstat, openat};
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Maximum number of corrupted bytes, which the agent keeps in memory during the fault.
const BYTES_MAX: u64 = 1 << 20;

/// Bytes of a file that are inverted on disk.
pub(super) struct Rot {
    path: PathBuf,
    at: u64,
    bytes: u64,
    /// Inode number and generation of the file.
    identity: (u64, u32),
    /// Block size of the volume, in bytes.
    block_bytes: u64,
    changed: Vec<DeviceBlocks>,
    became: Option<String>,
}

/// Adjacent blocks on the device, with their bytes before and after the corruption.
struct DeviceBlocks {
    place: Extent,
    before: Blocks,
    after: Blocks,
}

impl Rot {
    pub fn new(path: PathBuf, at: u64, bytes: u64) -> Rot {
        Rot {
            path,
            at,
            bytes,
            identity: (0, 0),
            block_bytes: BLOCK_BYTES,
            changed: Vec::new(),
            became: None,
        }
    }

    /// Returns the byte range of the blocks with corrupted bytes.
    fn blocks(&self) -> Range<u64> {
        let end = (self.at + self.bytes).next_multiple_of(self.block_bytes);
        self.at - self.at % self.block_bytes..end
    }

    /// Returns the locations of the corrupted blocks on the device.
    fn places(&self, file: &OwnedFd) -> Result<Vec<Extent>> {
        let blocks = self.blocks();
        let all = ext4_ioctls::extents(file, blocks.start, blocks.end - blocks.start);
        all.with_context(|| format!("find the bytes of {} on the disk", self.path.display()))
    }

    /// Finds the corrupted file, even under another name. Returns `None` if it no longer exists.
    fn find(&self, here: &AgentState) -> Result<Option<(OwnedFd, PathBuf)>> {
        let open = here.files.admit(&self.path)?.open(OFlags::RDONLY, Mode::empty());
        if let Ok(file) = open
            && ext4_ioctls::identity(&file) == Ok(self.identity)
        {
            return Ok(Some((file, self.path.clone())));
        }
        let volume = here.volume()?;
        Ok(find_below(&volume.root()?, volume.folder(), self.identity))
    }
}

impl Breakable for Rot {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        let volume = here.volume()?;
        let path = self.path.display();
        anyhow::ensure!(
            (1..=BYTES_MAX).contains(&self.bytes),
            "cannot change {} bytes of {path} at once: choose from 1 to {BYTES_MAX} bytes",
            self.bytes
        );
        let file = here
            .files
            .admit(&self.path)?
            .open(OFlags::RDONLY, Mode::empty())
            .with_context(|| format!("open {path}"))?;
        let (stat, root) = (
            fstat(&file).context("read the attributes of the file")?,
            fstat(volume.root()?),
        );
        let size = stat.st_size as u64;
        anyhow::ensure!(
            stat.st_dev == root.context("read the attributes of the volume")?.st_dev,
            "{path} is not on the volume of this host: choose a file on that volume"
        );
        anyhow::ensure!(
            self.at.checked_add(self.bytes).is_some_and(|end| end <= size),
            "{path} has {size} bytes, so it does not contain {} bytes from byte {} on",
            self.bytes,
            self.at
        );
        self.identity = ext4_ioctls::identity(&file).context("identify the file")?;
        self.block_bytes = (stat.st_blksize as u64).max(1);
        uncache(&file)?;
        let image = volume.image()?;
        for place in self.places(&file)? {
            let mut after = read(&image, place)?;
            let from = self.at.max(place.at) - place.at;
            let to = (self.at + self.bytes).min(place.at + place.bytes).saturating_sub(place.at);
            let rotten = after.bytes_mut().get_mut(from as usize..to as usize);
            rotten.unwrap_or_default().iter_mut().for_each(|byte| *byte = !*byte);
            let before = read(&image, place)?;
            self.changed.push(DeviceBlocks {
                place,
                before,
                after,
            });
        }
        for one in &self.changed {
            let written = one.after.write(&image, one.place.place);
            written.with_context(|| format!("change {path} on its disk"))?;
        }
        uncache(&file)
    }

    fn heal(&mut self, here: &AgentState) -> Result<Vec<Identity>> {
        if self.changed.is_empty() {
            return Ok(Vec::new());
        }
        let Some((file, path)) = self.find(here)? else {
            self.became = Some(format!(
                "another program deleted {} in the meantime",
                self.path.display()
            ));
            self.changed.clear();
            return Ok(Vec::new());
        };
        let now = self.places(&file).unwrap_or_default();
        let image = here.volume()?.image()?;
        let mut healed = 0;
        for one in &self.changed {
            let stands = read(&image, one.place)?;
            if now.contains(&one.place) && stands.bytes() == one.after.bytes() {
                one.before.write(&image, one.place.place).context("write the original bytes")?;
                healed += 1;
            }
        }
        uncache(&file)?;
        self.became = Some(if healed == self.changed.len() {
            format!("{} has its original bytes", path.display())
        } else {
            format!(
                "another program wrote to {} in the meantime: {healed} of {} pieces have their \
                 original bytes again, and cassay did not change the other pieces",
                path.display(),
                self.changed.len()
            )
        });
        self.changed.clear();
        Ok(Vec::new())
    }

    fn became(&self) -> Option<String> {
        self.became.clone()
    }
}

fn read(image: &File, place: Extent) -> Result<Blocks> {
    let read = Blocks::read(image, place.place, place.bytes);
    read.with_context(|| format!("read the image of the volume at {}", place.place))
}

/// Finds the file with this identity below a folder. Returns `None` if it no longer exists.
fn find_below(folder: &OwnedFd, path: &Path, identity: (u64, u32)) -> Option<(OwnedFd, PathBuf)> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let entries = Dir::read_from(folder).ok()?;
    // The node may delete a file at any time, so an unreadable file counts as deleted.
    entries.filter_map(Result::ok).find_map(|entry| {
        let name = entry.file_name();
        let path = || path.join(name.to_string_lossy().as_ref());
        let open = || openat(folder, name, flags, Mode::empty()).ok();
        match entry.file_type() {
            FileType::RegularFile if entry.ino() == identity.0 => {
                let file = open()?;
                (ext4_ioctls::identity(&file) == Ok(identity)).then(|| (file, path()))
            }
            FileType::Directory if ![c".", c".."].contains(&name) => {
                find_below(&open()?, &path(), identity)
            }
            _ => None,
        }
    })
}
