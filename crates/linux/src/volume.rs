//! The data volume of a host. It is a sparse image on a loop device, with a file system.
//!
//! Invariants: once the volume is mounted, its image has no name. The loop device releases the
//! image when the last user closes the device. The mount is only visible in the mount namespace of
//! its host. So the mount disappears when that namespace has no more processes, however this
//! program ends. The image is sparse, so cassay first checks that the disk has space for it.
//!
//! An agent that has a volume keeps its device open, whether the volume is mounted or not. Another
//! agent may then mount the volume. Only one agent mounts it at a time. This agent holds the lock
//! of the device until it has unmounted the volume.

pub mod ext4_ioctls;
pub mod loop_device;

use anyhow::{Context, Result};
use loop_device::LoopDevice;
use measure::clock::{self, Deadline};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{FlockOperation, Mode, OFlags, StatVfs, flock, major, minor};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Size of the smallest volume, in bytes. On a smaller volume, Cassandra has no space for a commit
/// log.
pub const BYTES_MIN: u64 = 64 << 20;

/// Time for which a volume may remain busy after its processes have ended.
const BUSY_LIMIT: Duration = Duration::from_secs(5);

const POLL: Duration = Duration::from_millis(10);

/// Remaining size of a device that is removed, in bytes. It is one sector instead of 0, because the
/// kernel treats 0 as no limit.
pub const SECTOR_BYTES: u64 = 512;

/// Alignment of direct reads and writes, both in memory and on the device, in bytes.
pub const BLOCK_BYTES: u64 = 4096;

/// Sizes of a file system: total, used and available bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeUse {
    /// Capacity for files, in bytes. It is less than the size of the device, which also contains
    /// metadata.
    pub total_bytes: u64,
    /// Number of bytes that files use.
    pub used_bytes: u64,
    /// Bytes that can still be written to files.
    pub available_bytes: u64,
}

/// Returns the usage of the file system to which `path` belongs.
///
/// # Errors
/// The path does not exist.
pub fn usage(path: &Path) -> Result<VolumeUse> {
    let stat = rustix::fs::statvfs(path)
        .with_context(|| format!("get the free space at {}", path.display()))?;
    Ok(use_of(&stat))
}

/// Returns the usage of a file system in bytes, from the kernel's values.
pub fn use_of(stat: &StatVfs) -> VolumeUse {
    VolumeUse {
        total_bytes: stat.f_blocks * stat.f_frsize,
        used_bytes: (stat.f_blocks - stat.f_bfree) * stat.f_frsize,
        available_bytes: stat.f_bavail * stat.f_frsize,
    }
}

/// A volume, mounted or not. Dropping this value does not unmount the volume. The mount ends with
/// [`Volume::unmount`], with [`end`], or with the mount namespace of its host.
#[derive(Debug)]
pub struct Volume {
    folder: PathBuf,
    device: LoopDevice,
    /// The image, which has no name. `None` except in the process that created it.
    image: Option<OwnedFd>,
    is_claimed: Arc<AtomicBool>,
}

/// Exclusive right to inject a fault into a volume.
pub struct Claim(Arc<AtomicBool>);

impl Drop for Claim {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Volume {
    /// Creates an image of `bytes` next to `folder`, mounts it on the folder and removes the name
    /// of the image.
    ///
    /// # Errors
    /// A program or a device is missing, or the kernel refuses a request. In this case no volume is
    /// mounted.
    pub fn make(folder: &Path, bytes: u64) -> Result<Volume> {
        anyhow::ensure!(
            bytes >= BYTES_MIN,
            "a volume of {bytes} bytes is too small; the minimum is {BYTES_MIN}"
        );
        let image = image(folder);
        std::fs::create_dir(folder).with_context(|| format!("make {}", folder.display()))?;
        let made = Volume::mounted(&image, folder, bytes);
        match std::fs::remove_file(&image) {
            Err(error) if made.is_ok() => {
                unmount(folder, UnmountFlags::DETACH)
                    .with_context(|| format!("unmount {}", folder.display()))?;
                Err(error).with_context(|| format!("remove the name of {}", image.display()))
            }
            _ => made,
        }
    }

    fn mounted(image: &Path, folder: &Path, bytes: u64) -> Result<Volume> {
        let file = File::options()
            .create_new(true)
            .read(true)
            .write(true)
            .open(image)
            .with_context(|| format!("make {}", image.display()))?;
        file.set_len(bytes)
            .with_context(|| format!("allocate the {bytes} bytes of {}", image.display()))?;
        ext4_ioctls::make(image)?;
        let file = OwnedFd::from(file);
        let volume = Volume {
            folder: folder.to_owned(),
            device: LoopDevice::attach(image, &file)?,
            image: Some(file),
            is_claimed: Arc::default(),
        };
        volume.mount()?;
        Ok(volume)
    }

    /// Opens the volume of another agent, without mounting it. Its mount point is `folder`, and its
    /// device is named `device`.
    ///
    /// # Errors
    /// The volume does not exist.
    pub fn open_another(folder: &Path, device: &str) -> Result<Volume> {
        let found = LoopDevice::open_image(device, &image(folder));
        Ok(Volume {
            folder: folder.to_owned(),
            device: found.with_context(|| format!("lock the volume of {}", folder.display()))?,
            image: None,
            is_claimed: Arc::default(),
        })
    }

    /// Returns the name of the volume's device in `/sys/block`.
    pub fn device(&self) -> &str {
        self.device.name()
    }

    /// Returns the mount point of the volume.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the number of the volume's device in the kernel, such as `7:0`.
    ///
    /// # Errors
    /// The kernel does not report the number.
    pub fn number(&self) -> Result<String> {
        self.device.number()
    }

    /// Returns true if writes bypass the machine's page cache. This is the case unless the file
    /// system below the image does not support direct I/O.
    pub fn is_direct(&self) -> bool {
        self.device.is_direct()
    }

    /// Claims the volume for a fault. A volume can have only one fault, because healing one of two
    /// faults might wait for the other fault, or undo it.
    ///
    /// # Errors
    /// Another fault has claimed the volume.
    pub fn claim(&self) -> Result<Claim> {
        anyhow::ensure!(
            !self.is_claimed.swap(true, Ordering::AcqRel),
            "the volume of {} already has another fault, and a volume can have only one at a time; \
             heal that fault first",
            self.folder.display()
        );
        Ok(Claim(Arc::clone(&self.is_claimed)))
    }

    /// Returns true if a fault has claimed the volume.
    pub fn is_claimed(&self) -> bool {
        self.is_claimed.load(Ordering::Acquire)
    }

    /// Mounts the volume, which replays its journal, unless it is already mounted here.
    ///
    /// # Errors
    /// Another agent has mounted the volume, or the kernel refuses to mount it.
    pub fn mount(&self) -> Result<()> {
        self.mount_within(BUSY_LIMIT)
    }

    /// Mounts the volume within `limit`. During this time, another agent may still unmount it.
    ///
    /// # Errors
    /// The errors of [`Volume::mount`].
    pub fn mount_within(&self, limit: Duration) -> Result<()> {
        if self.is_mounted()? {
            return Ok(());
        }
        let mounted = self.mount_alone(Deadline::after(limit));
        if mounted.is_err() {
            self.unlock()?;
        }
        mounted
    }

    fn mount_alone(&self, deadline: Deadline) -> Result<()> {
        let path = self.device.path();
        // If an agent was killed, its lock disappears before its mount does.
        while !self.lock()? || self.device.is_mounted()? {
            anyhow::ensure!(
                !deadline.passed(),
                "another host has mounted {path}, the volume of {}",
                self.folder.display()
            );
            clock::sleep(POLL);
        }
        // With discard, deleted files return their blocks to the machine's disk.
        let options = Some(c"discard");
        mount(&path, &self.folder, "ext4", MountFlags::NOATIME, options)
            .with_context(|| format!("mount {path} at {}", self.folder.display()))
    }

    /// Unmounts the volume if it is mounted, and drops its pages from the page cache. All processes
    /// that had files of the volume open must have ended.
    ///
    /// # Errors
    /// A process still uses the volume after a few seconds, or the kernel refuses to unmount it.
    pub fn unmount(&self) -> Result<()> {
        let deadline = Deadline::after(BUSY_LIMIT);
        while self.is_mounted()? {
            match unmount(&self.folder, UnmountFlags::empty()) {
                Ok(()) => break,
                Err(Errno::BUSY) if !deadline.passed() => clock::sleep(POLL),
                error => {
                    return error.with_context(|| format!("unmount {}", self.folder.display()));
                }
            }
        }
        self.device.uncache()?;
        self.unlock()
    }

    /// Takes the lock. Returns true if the lock was free.
    fn lock(&self) -> Result<bool> {
        match flock(self.device.open(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error).with_context(|| format!("lock {}", self.device.path())),
        }
    }

    fn unlock(&self) -> Result<()> {
        let unlocked = flock(self.device.open(), FlockOperation::Unlock);
        unlocked.with_context(|| format!("unlock {}", self.device.path()))
    }

    /// Returns true if the volume is mounted here.
    ///
    /// # Errors
    /// The mount point cannot be opened.
    pub fn is_mounted(&self) -> Result<bool> {
        Ok(self.found()?.is_some())
    }

    /// Returns the root directory of the volume, for operations on the whole volume. The result is
    /// never the directory of the file system below the mount point.
    ///
    /// # Errors
    /// The volume is not mounted here.
    pub fn root(&self) -> Result<OwnedFd> {
        let folder = self.folder.display();
        self.found()?.with_context(|| format!("the volume of {folder} is not mounted"))
    }

    /// Returns the root directory of the volume, if the volume is mounted at its mount point.
    fn found(&self) -> Result<Option<OwnedFd>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(&self.folder, flags, Mode::empty())
            .with_context(|| format!("open {}", self.folder.display()))?;
        let stat = rustix::fs::fstat(&root)
            .with_context(|| format!("look at {}", self.folder.display()))?;
        let number = format!("{}:{}", major(stat.st_dev), minor(stat.st_dev));
        Ok((number == self.number()?).then_some(root))
    }

    /// Shuts the file system down, as in a power failure. Unwritten data is lost, and all later
    /// reads fail.
    ///
    /// # Errors
    /// The volume is not mounted, or the kernel refuses to shut it down.
    pub fn shut_down(&self) -> Result<()> {
        let root = self.root()?;
        self.keep_blocks(&root)?;
        let done = ext4_ioctls::shut_down(&root);
        done.with_context(|| format!("shut the file system of {} down", self.folder.display()))
    }

    /// Shuts the file system down and shrinks its device, as if the device were removed. Without
    /// the device, readers of mapped files fail too.
    ///
    /// # Errors
    /// The errors of [`Volume::shut_down`], or the kernel refuses the new size of the device.
    pub fn take_away(&self) -> Result<()> {
        self.shut_down()?;
        self.device.limit_size(Some(SECTOR_BYTES))
    }

    /// Makes reads and writes after the first `bytes` of the device fail from now on.
    ///
    /// # Errors
    /// The volume is not mounted, or the kernel refuses the new size of the device.
    pub fn fail_behind(&self, bytes: u64) -> Result<()> {
        self.keep_blocks(&self.root()?)?;
        self.device.limit_size(Some(bytes))
    }

    /// Makes the volume read-only, as after an error of its device.
    ///
    /// # Errors
    /// The volume is not mounted, or the kernel refuses to abort its journal.
    pub fn abort(&self) -> Result<()> {
        let root = self.root()?;
        self.keep_blocks(&root)?;
        let done = ext4_ioctls::abort(&root);
        done.with_context(|| format!("shut the file system of {} down", self.folder.display()))
    }

    /// Disables the discard of blocks of deleted files until the next mount. After a journal has
    /// aborted, the file system may discard blocks of deleted files that exist again after a replay
    /// of the journal. Of 40 volumes that were shut down during the replacement of files (Linux
    /// 6.18), 6 had zeros instead of a synced file. Without discard, no volume lost data.
    fn keep_blocks(&self, root: &OwnedFd) -> Result<()> {
        let kept = ext4_ioctls::reconfigure(root, "nodiscard");
        kept.with_context(|| format!("record the blocks of {}", self.folder.display()))
    }

    /// Unmounts the volume, restores its device and file system, and mounts it again.
    ///
    /// # Errors
    /// A process uses the volume, or the damage cannot be repaired.
    pub fn renew(&self) -> Result<()> {
        self.unmount()?;
        self.device.limit_size(None)?;
        ext4_ioctls::mend(&self.device.path())?;
        self.mount()
    }

    /// Opens the image of the volume. It bypasses caches if the device does so.
    ///
    /// # Errors
    /// The volume belongs to another agent.
    pub fn image(&self) -> Result<File> {
        let image = self
            .image
            .as_ref()
            .context("the image of this volume belongs to another agent")?;
        let direct = if self.is_direct() {
            OFlags::DIRECT
        } else {
            OFlags::empty()
        };
        let path = format!("/proc/self/fd/{}", image.as_raw_fd());
        let flags = OFlags::RDWR | OFlags::CLOEXEC | direct;
        let open = rustix::fs::open(path, flags, Mode::empty());
        open.map(File::from).context("open the image of the volume")
    }
}

/// Memory for direct reads and writes of whole blocks, which bypass all caches.
pub struct Blocks {
    memory: Vec<u8>,
    first: usize,
    bytes: usize,
}

impl Blocks {
    /// Creates a buffer with this number of bytes, which are all zero.
    pub fn new(bytes: u64) -> Blocks {
        let alignment = BLOCK_BYTES as usize;
        let memory = vec![0; bytes as usize + alignment];
        Blocks {
            first: memory.as_ptr().align_offset(alignment).min(alignment),
            memory,
            bytes: bytes as usize,
        }
    }

    /// Reads `bytes` bytes of `file` from offset `at`.
    ///
    /// # Errors
    /// The file cannot be read, or ends too early.
    pub fn read(file: &File, at: u64, bytes: u64) -> std::io::Result<Blocks> {
        let mut blocks = Blocks::new(bytes);
        file.read_exact_at(blocks.bytes_mut(), at)?;
        Ok(blocks)
    }

    /// Writes the blocks at offset `at` of `file`, and syncs them to the device.
    ///
    /// # Errors
    /// The bytes cannot be written.
    pub fn write(&self, file: &File, at: u64) -> std::io::Result<()> {
        file.write_all_at(self.bytes(), at)?;
        file.sync_data()
    }

    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.first..self.first + self.bytes]
    }

    /// Returns the bytes, which the caller may change.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.first..self.first + self.bytes]
    }
}

/// Thaws the volume at `folder`. This works even if the volume is mounted elsewhere, or is not
/// mounted because the process that froze it was killed. A volume that is not frozen or does not
/// exist is not an error.
///
/// # Errors
/// The kernel refuses to thaw the volume.
pub fn thaw(folder: &Path) -> Result<()> {
    for device in LoopDevice::all_of_image(&image(folder)) {
        // A frozen file system counts as mounted, even without a mount point.
        if !device.is_mounted()? {
            continue;
        }
        let root = ext4_ioctls::open_placeless(&device.path())?;
        let thawed = ext4_ioctls::thaw(&root);
        thawed.with_context(|| format!("thaw the volume of {}", folder.display()))?;
    }
    Ok(())
}

/// Unmounts the volume at `folder` and removes the folder. The contents of the volume are lost.
/// Also removes an empty plain folder at the same path.
///
/// # Errors
/// The kernel refuses to unmount the volume, or to remove its image or the folder.
pub fn end(folder: &Path) -> Result<()> {
    let deadline = Deadline::after(BUSY_LIMIT);
    loop {
        // After the time limit, the volume is detached, and processes that still use it may keep it
        // until they end.
        let flags = if deadline.passed() {
            UnmountFlags::DETACH
        } else {
            UnmountFlags::empty()
        };
        match unmount(folder, flags) {
            Err(Errno::BUSY) if !deadline.passed() => clock::sleep(POLL),
            // With these errors, no volume of cassay is mounted at the folder.
            Ok(()) | Err(Errno::INVAL | Errno::NOENT | Errno::PERM) => break,
            Err(error) => {
                return Err(error).with_context(|| format!("unmount {}", folder.display()));
            }
        }
    }
    match std::fs::remove_file(image(folder)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("remove the image of {}", folder.display()));
        }
        _ => {}
    }
    match rustix::fs::rmdir(folder) {
        Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("remove {}", folder.display())),
    }
}

/// Returns the path that the image of the volume at `folder` has until the volume is mounted.
fn image(folder: &Path) -> PathBuf {
    folder.with_extension("img")
}
