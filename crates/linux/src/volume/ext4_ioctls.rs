//! Operations of ext4: aborting, freezing and shutting down a whole file system, and looking up a
//! file's blocks. Programs of e2fsprogs create and repair the file system.

use anyhow::{Context, Result};
use remote::process::{self, Patience};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, FsPickFlags, MountAttrFlags, fsconfig_create, fsconfig_reconfigure,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, fspick,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time limit of a program. Checking a volume of a TiB takes some minutes.
const LIMIT: Duration = Duration::from_secs(3600);

/// `FIFREEZE` of `linux/fs.h`.
const FREEZE: ioctl::Opcode = 0xC004_5877;
/// `FITHAW` of `linux/fs.h`.
const THAW: ioctl::Opcode = 0xC004_5878;
/// `EXT4_IOC_SHUTDOWN` of `fs/ext4/ext4.h`.
const SHUTDOWN: ioctl::Opcode = 0x8004_587D;
/// `EXT4_GOING_FLAGS_NOLOGFLUSH`. With this flag, the kernel does not even write the journal.
const WITHOUT_JOURNAL: u32 = 2;
/// `FS_IOC_FIEMAP` of `linux/fiemap.h`.
const FIEMAP: ioctl::Opcode = 0xC020_660B;
/// `FS_IOC_GETVERSION` of `linux/fs.h`.
const GET_VERSION: ioctl::Opcode = 0x8008_7601;
/// `FIEMAP_FLAG_SYNC`. With this flag, the kernel writes dirty data before the lookup.
const MAP_SYNCED: u32 = 1;
/// `FIEMAP_EXTENT_UNKNOWN`, `_DELALLOC`, `_ENCODED`, `_DATA_ENCRYPTED`, `_NOT_ALIGNED`,
/// `_DATA_INLINE`, `_DATA_TAIL`, `_UNWRITTEN`. With any of these flags, the blocks do not contain
/// the plain bytes of the file.
const NO_PLAIN_BYTES: u32 = 0x2 | 0x4 | 0x8 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800;

/// Maximum number of extents that one request returns. A range of a few MiB seldom has more.
const EXTENTS: usize = 64;

/// Successful exit codes of e2fsck: 0 for a clean file system, and 1 for a repaired one.
const CHECKED: [i32; 2] = [0, 1];

/// Position of a range of a file on its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Offset of the range in the file, in bytes.
    pub at: u64,
    /// Offset of the range on the device, in bytes.
    pub place: u64,
    /// Length of the range in bytes.
    pub bytes: u64,
}

/// Creates a file system on `image`.
///
/// # Errors
/// The program is missing, or it fails.
pub fn make(image: &Path) -> Result<()> {
    let made = run(&mkfs()?, |command| {
        // `-m 0` reserves no blocks for root, so data can use the whole stated size. The kernel
        // initialises the inode tables later, so a volume of 20 GiB is ready in about 30 ms.
        command
            .args(["-q", "-F", "-m", "0", "-E"])
            .arg("lazy_itable_init=1,lazy_journal_init=1,nodiscard")
            .arg(image);
    });
    let (code, said) = made?;
    anyhow::ensure!(
        code == Some(0),
        "mkfs.ext4 {} failed ({code:?}): {said}",
        image.display()
    );
    Ok(())
}

/// Replays the journal of the unmounted file system on `device`, and repairs all errors. The option
/// is `-y` instead of `-p`, because e2fsck asks about orphans, which are files that were removed
/// while they were open.
///
/// # Errors
/// The program is missing, or it cannot repair an error.
pub(super) fn mend(device: &str) -> Result<()> {
    let (code, said) = run(&program("e2fsck")?, |command| {
        command.args(["-y", device]);
    })?;
    anyhow::ensure!(
        code.is_some_and(|code| CHECKED.contains(&code)),
        "e2fsck -y {device} failed ({code:?}): {said}"
    );
    Ok(())
}

/// Returns the path of the program that creates file systems.
pub fn mkfs() -> Result<PathBuf> {
    program("mkfs.ext4")
}

/// Returns the path of a program of e2fsprogs, which is often outside of a user's search path.
pub fn program(name: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
        .with_context(|| {
            format!(
                "{name} is not installed; it is in the package e2fsprogs (Debian, Ubuntu, Fedora)"
            )
        })
}

fn run(
    program: &Path,
    prepare: impl FnOnce(&mut std::process::Command),
) -> Result<(Option<i32>, String)> {
    let mut command = process::command(program);
    prepare(&mut command);
    // The program also runs after Ctrl-C, since a volume must be cleaned up.
    let patience = Patience {
        limit: LIMIT,
        heeds_interrupt: false,
    };
    let answer = process::ask(command, b"", patience)?;
    let said = [&*answer.output, &*answer.errors].concat();
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    Ok((answer.status.code(), said))
}

/// Opens the root directory of the file system on `device`. The mount has no mount point, and ends
/// when the returned descriptor is closed. If the device is already mounted, operations affect that
/// mounted file system.
///
/// # Errors
/// The device has no file system, or the kernel refuses to mount it.
pub fn open_placeless(device: &str) -> Result<OwnedFd> {
    let mount = || -> Result<OwnedFd, Errno> {
        let context = fsopen("ext4", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(context.as_fd(), "source", device)?;
        fsconfig_create(context.as_fd())?;
        let flags = FsMountFlags::FSMOUNT_CLOEXEC;
        let mount = fsmount(context.as_fd(), flags, MountAttrFlags::empty())?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(&mount, ".", flags, Mode::empty())
    };
    mount().with_context(|| format!("mount {device} without a mount point (Linux 5.2)"))
}

/// Writes dirty data, and blocks all later writes until the file system is thawed.
pub fn freeze(root: &OwnedFd) -> Result<(), Errno> {
    // SAFETY: FIFREEZE ignores its argument.
    let request = unsafe { ioctl::NoArg::<FREEZE>::new() };
    // SAFETY: FIFREEZE ignores its argument.
    unsafe { ioctl::ioctl(root, request) }
}

/// Permits writes again. Returns false if the file system was not frozen.
pub fn thaw(root: &OwnedFd) -> Result<bool, Errno> {
    // SAFETY: FITHAW ignores its argument.
    let request = unsafe { ioctl::NoArg::<THAW>::new() };
    // SAFETY: FITHAW ignores its argument.
    match unsafe { ioctl::ioctl(root, request) } {
        Ok(()) => Ok(true),
        Err(Errno::INVAL) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Shuts the file system down. Afterwards all reads and writes fail, and the kernel writes neither
/// dirty data nor the journal.
pub fn shut_down(root: &OwnedFd) -> Result<(), Errno> {
    // SAFETY: EXT4_IOC_SHUTDOWN reads a u32.
    let request = unsafe { ioctl::Setter::<SHUTDOWN, u32>::new(WITHOUT_JOURNAL) };
    // SAFETY: EXT4_IOC_SHUTDOWN reads a u32.
    unsafe { ioctl::ioctl(root, request) }
}

/// Aborts the journal, which makes the file system read-only, as after an error of its device.
pub fn abort(root: &OwnedFd) -> Result<(), Errno> {
    reconfigure(root, "abort")
}

/// Reconfigures the mount with an additional option. This does not write to the device.
pub(super) fn reconfigure(root: &OwnedFd, option: &str) -> Result<(), Errno> {
    let flags = FsPickFlags::FSPICK_CLOEXEC | FsPickFlags::FSPICK_EMPTY_PATH;
    let context = fspick(root.as_fd(), "", flags)?;
    fsconfig_set_flag(context.as_fd(), option)?;
    fsconfig_reconfigure(context.as_fd())
}

/// Returns the identity of a file. The identity is the number of the file's inode and the inode's
/// generation. The number alone is not enough, because ext4 reuses it after a deletion.
///
/// # Errors
/// The kernel does not report the inode or its generation.
pub fn identity(file: &OwnedFd) -> Result<(u64, u32), Errno> {
    // SAFETY: FS_IOC_GETVERSION writes an int, although the request number states another size.
    let request = unsafe { ioctl::Getter::<GET_VERSION, u32>::new() };
    // SAFETY: FS_IOC_GETVERSION writes an int, for which the request has space.
    let generation = unsafe { ioctl::ioctl(file, request) }?;
    Ok((rustix::fs::fstat(file)?.st_ino, generation))
}

/// `struct fiemap`, with space for some extents.
#[repr(C)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [FiemapExtent; EXTENTS],
}

/// `struct fiemap_extent`, which describes a range of a file.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct FiemapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved_too: [u32; 3],
}

/// Returns the positions on the device of `bytes` bytes of the file, beginning at offset `at`. The
/// positions are in the order of the file.
///
/// # Errors
/// The kernel does not report the positions. Some bytes have no blocks (a hole, or a block that was
/// allocated and never written). The bytes are in more extents than one request returns.
pub fn extents(file: &OwnedFd, at: u64, bytes: u64) -> Result<Vec<Extent>> {
    let mut map = Fiemap {
        start: at,
        length: bytes,
        flags: MAP_SYNCED,
        mapped_extents: 0,
        extent_count: EXTENTS as u32,
        reserved: 0,
        extents: [FiemapExtent::default(); EXTENTS],
    };
    // SAFETY: FS_IOC_FIEMAP reads and writes a struct fiemap with the number of extents that it
    // states.
    let request = unsafe { ioctl::Updater::<FIEMAP, Fiemap>::new(&mut map) };
    // SAFETY: FS_IOC_FIEMAP writes only to `map`, which has space for that number of extents.
    unsafe { ioctl::ioctl(file, request) }.context("get the blocks of the file (FIEMAP)")?;
    let end = at.saturating_add(bytes);
    let mut found = Vec::new();
    let mut reached = at;
    for extent in map.extents.iter().take(map.mapped_extents as usize) {
        let last = extent.logical.saturating_add(extent.length);
        if extent.logical > reached || last <= reached || extent.flags & NO_PLAIN_BYTES != 0 {
            break;
        }
        found.push(Extent {
            at: reached,
            place: extent.physical.saturating_add(reached - extent.logical),
            bytes: last.min(end) - reached,
        });
        reached = last.min(end);
    }
    anyhow::ensure!(
        reached == end,
        "the {bytes} bytes from byte {at} on are in more than {EXTENTS} pieces, or the device \
         stores them in another form: only {} bytes are usable",
        reached - at
    );
    Ok(found)
}
