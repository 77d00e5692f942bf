//! The data volume of a host: a sparse image on a loop device, with a file system of its own.
//!
//! What must hold: the image has no name any more once it is mounted, the loop device lets go of it
//! with its last user, and the mount is only seen in the mount namespace of its host. So it is
//! gone when nobody lives in that namespace, however we end. The image is sparse, which is why the
//! space behind it is checked before.

use crate::process::{self, Life};
use anyhow::{Context, Result};
use measure::clock::{self, Deadline};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags, StatVfs};
use rustix::io::Errno;
use rustix::ioctl;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// The smallest volume: below it, ext4 has no journal and Cassandra no room for a commit log.
pub(super) const BYTES_MIN: u64 = 64 << 20;

/// How often a free loop device is asked for, since another program may be faster.
const TRIES_MAX: usize = 64;

/// How long a volume may be busy when its processes have ended.
const BUSY_LIMIT: Duration = Duration::from_secs(5);

const POLL: Duration = Duration::from_millis(10);

/// `LOOP_CTL_GET_FREE` of `linux/loop.h`.
const GET_FREE: ioctl::Opcode = 0x4C82;
/// `LOOP_CONFIGURE`.
const CONFIGURE: ioctl::Opcode = 0x4C0A;

/// `LO_FLAGS_AUTOCLEAR`: the device is free again after its last user.
const AUTOCLEAR: u32 = 4;
/// `LO_FLAGS_DIRECT_IO`: otherwise the page cache holds everything twice, once outside the host.
const DIRECT_IO: u32 = 16;

/// Where `struct loop_info64` has its flags and the name of the image.
const INFO_FLAGS: usize = 52;
const INFO_NAME: usize = 56;
const INFO_NAME_BYTES: usize = 64;

/// Total, used and available bytes of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeUse {
    /// What files can take in all: below the size of the device, which holds tables too.
    pub total_bytes: u64,
    /// What files take.
    pub used_bytes: u64,
    /// What can still be written.
    pub available_bytes: u64,
}

/// The use of the file system that `path` is on.
///
/// # Errors
/// There is no such path.
pub fn usage(path: &Path) -> Result<VolumeUse> {
    let stat = rustix::fs::statvfs(path)
        .with_context(|| format!("ask for the space at {}", path.display()))?;
    Ok(use_of(&stat))
}

/// The same, as the kernel says it.
pub(super) fn use_of(stat: &StatVfs) -> VolumeUse {
    VolumeUse {
        total_bytes: stat.f_blocks * stat.f_frsize,
        used_bytes: (stat.f_blocks - stat.f_bfree) * stat.f_frsize,
        available_bytes: stat.f_bavail * stat.f_frsize,
    }
}

/// A mounted volume. Dropping it leaves it mounted: its end is [`end`] or our own.
#[derive(Debug)]
pub(super) struct Volume {
    device: String,
}

impl Volume {
    /// Makes an image of `bytes` beside `folder`, mounts it there and takes its name away.
    ///
    /// # Errors
    /// A program or a device is missing, or the kernel refuses; nothing is mounted then.
    pub fn make(folder: &Path, bytes: u64) -> Result<Volume> {
        anyhow::ensure!(
            bytes >= BYTES_MIN,
            "a volume of {bytes} bytes is too small; {BYTES_MIN} is the least"
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
        let file = std::fs::OpenOptions::new()
            .create_new(true)
            .read(true)
            .write(true)
            .open(image)
            .with_context(|| format!("make {}", image.display()))?;
        file.set_len(bytes)
            .with_context(|| format!("give {} its {bytes} bytes", image.display()))?;
        format_image(image)?;
        let (device, open) = attach(image, &OwnedFd::from(file))?;
        // Deleted files give their blocks back to the machine's disk: discard.
        let path = format!("/dev/{device}");
        mount(&path, folder, "ext4", MountFlags::NOATIME, Some(c"discard"))
            .with_context(|| format!("mount {path} at {}", folder.display()))?;
        drop(open);
        Ok(Volume { device })
    }

    /// The name of its device below `/sys/block`.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Its number to the kernel: `7:0`.
    ///
    /// # Errors
    /// The kernel does not tell it.
    pub fn number(&self) -> Result<String> {
        let path = format!("/sys/block/{}/dev", self.device);
        let text = std::fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
        Ok(text.trim().to_owned())
    }

    /// Whether what is written goes past the machine's page cache, as it does unless the file
    /// system behind the image cannot do it.
    pub fn is_direct(&self) -> bool {
        let path = format!("/sys/block/{}/loop/dio", self.device);
        std::fs::read_to_string(path).is_ok_and(|text| text.trim() == "1")
    }
}

/// Unmounts the volume at `folder` and removes the folder, which makes all in it vanish; a plain
/// folder in its place is removed if it is empty.
///
/// # Errors
/// The kernel refuses.
pub(super) fn end(folder: &Path) -> Result<()> {
    let deadline = Deadline::after(BUSY_LIMIT);
    loop {
        // Once the limit has passed, the last users may keep it until they end.
        let flags = if deadline.passed() {
            UnmountFlags::DETACH
        } else {
            UnmountFlags::empty()
        };
        match unmount(folder, flags) {
            Err(Errno::BUSY) if !deadline.passed() => clock::sleep(POLL),
            // Not mounted, not by us, or its folder is gone: it has ended before.
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

/// Where the image of the volume at `folder` is until it is mounted.
pub(super) fn image(folder: &Path) -> PathBuf {
    folder.with_extension("img")
}

/// The program that makes file systems, which is often outside of a user's search path.
pub(super) fn mkfs() -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|folder| folder.join("mkfs.ext4"))
        .find(|program| program.is_file())
        .context(
            "mkfs.ext4 is not installed; it is in the package e2fsprogs (Debian, Ubuntu, Fedora)",
        )
}

fn format_image(image: &Path) -> Result<()> {
    let mut command = process::command(&mkfs()?);
    // No blocks kept for root (-m 0), and tables written when they are needed: the stated size is
    // for data, and 20 GiB are ready in some 30 ms.
    command
        .args(["-q", "-F", "-m", "0", "-E"])
        .arg("lazy_itable_init=1,lazy_journal_init=1,nodiscard")
        .arg(image)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let output = process::spawn(command, Life::Ours)?
        .wait_with_output()
        .context("wait for mkfs.ext4")?;
    anyhow::ensure!(
        output.status.success(),
        "mkfs.ext4 {} failed ({}): {}",
        image.display(),
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(())
}

/// `struct loop_config` of `linux/loop.h`.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: [u8; 232],
    reserved: [u64; 8],
}

/// A free loop device with the image behind it: its name, and itself held open, without which it
/// would let go of the image at once.
fn attach(image: &Path, file: &OwnedFd) -> Result<(String, OwnedFd)> {
    let control = open_device("/dev/loop-control")?;
    for _ in 0..TRIES_MAX {
        // SAFETY: the call takes no argument and answers by its result.
        let number =
            unsafe { ioctl::ioctl(&control, GetFree) }.context("ask for a free loop device")?;
        let name = format!("loop{number}");
        let device = open_device(&format!("/dev/{name}"))?;
        let mut info = [0; 232];
        info[INFO_FLAGS..INFO_FLAGS + 4].copy_from_slice(&(AUTOCLEAR | DIRECT_IO).to_ne_bytes());
        // What `losetup` shows: the end of a path that is too long, with a zero behind it.
        let path = image.as_os_str().as_encoded_bytes();
        let shown = &path[path.len().saturating_sub(INFO_NAME_BYTES - 1)..];
        info[INFO_NAME..INFO_NAME + shown.len()].copy_from_slice(shown);
        let config = LoopConfig {
            fd: file.as_raw_fd() as u32,
            block_size: 0,
            info,
            reserved: [0; 8],
        };
        // SAFETY: LOOP_CONFIGURE reads a struct loop_config, whose layout this is.
        let request = unsafe { ioctl::Setter::<CONFIGURE, LoopConfig>::new(config) };
        // SAFETY: the same; the descriptor in it is open.
        match unsafe { ioctl::ioctl(&device, request) } {
            Ok(()) => return Ok((name, device)),
            // Somebody else was faster.
            Err(Errno::BUSY) => {}
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("put {} behind /dev/{name}", image.display()));
            }
        }
    }
    anyhow::bail!("no loop device was free {TRIES_MAX} times; see losetup --list")
}

fn open_device(path: &str) -> Result<OwnedFd> {
    rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .with_context(|| format!("open {path}"))
}

/// Whether loop devices can be had at all, without having one.
pub(super) fn loop_control() -> Result<()> {
    open_device("/dev/loop-control").map(drop)
}

/// The request for a free loop device, which answers by its result.
struct GetFree;

// SAFETY: LOOP_CTL_GET_FREE has no argument: the null pointer is never followed.
unsafe impl ioctl::Ioctl for GetFree {
    type Output = i32;

    const IS_MUTATING: bool = false;

    fn opcode(&self) -> ioctl::Opcode {
        GET_FREE
    }

    fn as_ptr(&mut self) -> *mut core::ffi::c_void {
        core::ptr::null_mut()
    }

    // SAFETY: the pointer is not looked at.
    unsafe fn output_from_ptr(
        number: ioctl::IoctlOutput,
        _: *mut core::ffi::c_void,
    ) -> rustix::io::Result<i32> {
        Ok(number)
    }
}
