//! A loop device. The module attaches an image to it, and can make the device shorter than the
//! image.
//!
//! Invariant: the device releases its image when the last user closes the device. So this module
//! keeps the device open as long as the image is needed.

use anyhow::{Context, Result};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl;
use std::path::Path;

/// Maximum number of attempts to get a free loop device. Another program may take it first.
const TRIES_MAX: usize = 64;

/// `LOOP_CTL_GET_FREE` of `linux/loop.h`.
const GET_FREE: ioctl::Opcode = 0x4C82;
/// `LOOP_CONFIGURE` of `linux/loop.h`.
const CONFIGURE: ioctl::Opcode = 0x4C0A;
/// `LOOP_SET_STATUS64` of `linux/loop.h`.
const SET_STATUS: ioctl::Opcode = 0x4C04;
/// `LOOP_GET_STATUS64` of `linux/loop.h`.
const GET_STATUS: ioctl::Opcode = 0x4C05;

/// `BLKFLSBUF` of `linux/fs.h`.
const FLUSH: ioctl::Opcode = 0x1261;

/// `LO_FLAGS_AUTOCLEAR`. With this flag, the device becomes free again after its last user has
/// closed it.
const AUTOCLEAR: u32 = 4;
/// `LO_FLAGS_DIRECT_IO`. Without this flag, the page cache would contain all data twice, once
/// outside the host.
const DIRECT_IO: u32 = 16;

/// `struct loop_info64`. The following constants are the offsets of its size limit, its flags and
/// the name of the image, and the maximum length of that name.
type Info = [u8; 232];
const INFO_SIZE_LIMIT: usize = 32;
const INFO_FLAGS: usize = 52;
const INFO_NAME: usize = 56;
const INFO_NAME_BYTES: usize = 64;

/// Suffix that the kernel adds to the path of a deleted file.
const NAMELESS: &str = " (deleted)";

/// A loop device that is kept open.
#[derive(Debug)]
pub struct LoopDevice {
    name: String,
    open: OwnedFd,
}

impl LoopDevice {
    /// Attaches `file`, which has the path `image`, to a free loop device.
    ///
    /// # Errors
    /// No device is free, or the kernel refuses to attach the file.
    pub fn attach(image: &Path, file: &OwnedFd) -> Result<LoopDevice> {
        let control = open_device("/dev/loop-control")?;
        for _ in 0..TRIES_MAX {
            // SAFETY: the call has no argument and returns the number as its result.
            let number =
                unsafe { ioctl::ioctl(&control, GetFree) }.context("get a free loop device")?;
            let name = format!("loop{number}");
            let open = open_device(&format!("/dev/{name}"))?;
            let config = LoopConfig::new(image, file);
            // SAFETY: LOOP_CONFIGURE reads a struct loop_config, which has the layout of
            // `LoopConfig`.
            let request = unsafe { ioctl::Setter::<CONFIGURE, LoopConfig>::new(config) };
            // SAFETY: the pointer is valid as above, and the descriptor in the structure is open.
            match unsafe { ioctl::ioctl(&open, request) } {
                Ok(()) => return Ok(LoopDevice { name, open }),
                // Another program has taken the device first.
                Err(Errno::BUSY) => {}
                Err(error) => {
                    return Err(error)
                        .with_context(|| format!("attach {} to /dev/{name}", image.display()));
                }
            }
        }
        anyhow::bail!("no loop device was free in {TRIES_MAX} attempts; see `losetup --list`")
    }

    /// Opens the device named `name`, if its backing file is the deleted `image`.
    ///
    /// # Errors
    /// The backing file of the device is not, or no longer, this image.
    pub fn open_image(name: &str, image: &Path) -> Result<LoopDevice> {
        let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
        anyhow::ensure!(
            name.strip_prefix("loop").is_some_and(is_number),
            "{name:?} is not the name of a loop device"
        );
        let open = open_device(&format!("/dev/{name}"))?;
        // This check comes after opening the device, because the image of an open device can no
        // longer change.
        let found = backing(name);
        anyhow::ensure!(
            found.as_deref().is_some_and(|found| is_backing(found, image)),
            "/dev/{name} is attached to {}, not to {}",
            found.as_deref().unwrap_or("nothing"),
            image.display()
        );
        let name = name.to_owned();
        Ok(LoopDevice { name, open })
    }

    /// Returns all devices whose backing file is the deleted `image`.
    pub fn all_of_image(image: &Path) -> Vec<LoopDevice> {
        let entries = std::fs::read_dir("/sys/block").into_iter().flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let has_image = |name: &String| backing(name).is_some_and(|one| is_backing(&one, image));
        names
            .filter(has_image)
            .filter_map(|name| LoopDevice::open_image(&name, image).ok())
            .collect()
    }

    /// Returns the name of the device in `/sys/block`.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn path(&self) -> String {
        format!("/dev/{}", self.name)
    }

    /// Returns the open descriptor of the device.
    pub fn open(&self) -> &OwnedFd {
        &self.open
    }

    /// Returns the number of the device in the kernel, such as `7:0`.
    ///
    /// # Errors
    /// The kernel does not report the number.
    pub fn number(&self) -> Result<String> {
        let path = format!("/sys/block/{}/dev", self.name);
        let text = std::fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
        Ok(text.trim().to_owned())
    }

    /// Returns true if the device bypasses the page cache for its image.
    pub fn is_direct(&self) -> bool {
        let path = format!("/sys/block/{}/loop/dio", self.name);
        std::fs::read_to_string(path).is_ok_and(|text| text.trim() == "1")
    }

    /// Returns true if a file system on the device is mounted, in any namespace.
    pub fn is_mounted(&self) -> Result<bool> {
        let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
        match rustix::fs::open(self.path(), flags, Mode::empty()) {
            Ok(_) => Ok(false),
            Err(Errno::BUSY) => Ok(true),
            Err(error) => Err(error).with_context(|| format!("open {}", self.path())),
        }
    }

    /// Drops the pages of the device from the page cache, as its last close would. A later mount
    /// then sees the content of the image, without data that was still unwritten at the shutdown.
    ///
    /// # Errors
    /// The kernel refuses to drop the pages.
    pub fn uncache(&self) -> Result<()> {
        // SAFETY: BLKFLSBUF ignores its argument.
        let request = unsafe { ioctl::NoArg::<FLUSH>::new() };
        // SAFETY: BLKFLSBUF ignores its argument.
        let flushed = unsafe { ioctl::ioctl(&self.open, request) };
        flushed.with_context(|| format!("drop {} from the page cache", self.path()))
    }

    /// Makes every read and write after the first `bytes` of the device fail from now on (EIO).
    /// `None` restores the size of the image.
    ///
    /// # Errors
    /// The kernel refuses the new size.
    pub fn limit_size(&self, bytes: Option<u64>) -> Result<()> {
        let mut info: Info = [0; 232];
        // SAFETY: LOOP_GET_STATUS64 writes a struct loop_info64, which has the size of `Info`.
        let request = unsafe { ioctl::Updater::<GET_STATUS, Info>::new(&mut info) };
        // SAFETY: LOOP_GET_STATUS64 writes only to `info`.
        let read = unsafe { ioctl::ioctl(&self.open, request) };
        read.with_context(|| format!("get the size of {}", self.path()))?;
        // The kernel treats 0 as no limit.
        let bytes = bytes.unwrap_or(0);
        info[INFO_SIZE_LIMIT..INFO_SIZE_LIMIT + 8].copy_from_slice(&bytes.to_ne_bytes());
        // SAFETY: LOOP_SET_STATUS64 reads a struct loop_info64, which the kernel has just written.
        let request = unsafe { ioctl::Setter::<SET_STATUS, Info>::new(info) };
        // SAFETY: LOOP_SET_STATUS64 only reads a struct loop_info64.
        let set = unsafe { ioctl::ioctl(&self.open, request) };
        set.with_context(|| format!("limit the size of {} to {bytes}", self.path()))
    }
}

fn backing(name: &str) -> Option<String> {
    let text = std::fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).ok()?;
    Some(text.trim_end_matches('\n').to_owned())
}

/// Returns true if `found` is the deleted `image`. The kernel reports a path without symbolic
/// links.
fn is_backing(found: &str, image: &Path) -> bool {
    let folder = image.parent().and_then(|folder| folder.canonicalize().ok());
    let real = folder.zip(image.file_name()).map(|(folder, name)| folder.join(name));
    let image = real.unwrap_or_else(|| image.to_owned());
    found.strip_suffix(NAMELESS).map(Path::new) == Some(&*image)
}

/// `struct loop_config` of `linux/loop.h`.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

impl LoopConfig {
    fn new(image: &Path, file: &OwnedFd) -> LoopConfig {
        let mut info: Info = [0; 232];
        info[INFO_FLAGS..INFO_FLAGS + 4].copy_from_slice(&(AUTOCLEAR | DIRECT_IO).to_ne_bytes());
        // The name that `losetup` shows. If the path is too long, only its end is stored. A zero
        // byte follows.
        let path = image.as_os_str().as_encoded_bytes();
        let shown = &path[path.len().saturating_sub(INFO_NAME_BYTES - 1)..];
        info[INFO_NAME..INFO_NAME + shown.len()].copy_from_slice(shown);
        LoopConfig {
            fd: file.as_raw_fd() as u32,
            block_size: 0,
            info,
            reserved: [0; 8],
        }
    }
}

fn open_device(path: &str) -> Result<OwnedFd> {
    rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .with_context(|| format!("open {path}"))
}

/// Checks that loop devices are available, without taking one.
pub fn control() -> Result<()> {
    open_device("/dev/loop-control").map(drop)
}

/// Request for a free loop device. The call returns the number of the device.
struct GetFree;

// SAFETY: LOOP_CTL_GET_FREE has no argument, so the kernel never follows the null pointer.
unsafe impl ioctl::Ioctl for GetFree {
    type Output = i32;

    const IS_MUTATING: bool = false;

    fn opcode(&self) -> ioctl::Opcode {
        GET_FREE
    }

    fn as_ptr(&mut self) -> *mut core::ffi::c_void {
        core::ptr::null_mut()
    }

    // SAFETY: the kernel ignores the pointer.
    unsafe fn output_from_ptr(
        number: ioctl::IoctlOutput,
        _: *mut core::ffi::c_void,
    ) -> rustix::io::Result<i32> {
        Ok(number)
    }
}
