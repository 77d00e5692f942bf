//! What ext4 can be asked beside files: to stop, to wait, to shut down, and where a file's blocks
//! are. Programs of e2fsprogs make it and mend it.

use anyhow::{Context, Result};
use reach::process::{self, Patience};
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

/// How long a tool may take: checking a volume of a TiB takes some minutes.
const LIMIT: Duration = Duration::from_secs(3600);

/// `FIFREEZE` of `linux/fs.h`.
const FREEZE: ioctl::Opcode = 0xC004_5877;
/// `FITHAW`.
const THAW: ioctl::Opcode = 0xC004_5878;
/// `EXT4_IOC_SHUTDOWN` of `fs/ext4/ext4.h`.
const SHUTDOWN: ioctl::Opcode = 0x8004_587D;
/// `EXT4_GOING_FLAGS_NOLOGFLUSH`: not even the journal is written out.
const WITHOUT_JOURNAL: u32 = 2;
/// `FS_IOC_FIEMAP` of `linux/fiemap.h`.
const FIEMAP: ioctl::Opcode = 0xC020_660B;
/// `FS_IOC_GETVERSION` of `linux/fs.h`.
const GET_VERSION: ioctl::Opcode = 0x8008_7601;
/// `FIEMAP_FLAG_SYNC`: what is not written yet is, before it is looked for.
const MAP_SYNCED: u32 = 1;
/// `FIEMAP_EXTENT_UNKNOWN`, `_DELALLOC`, `_ENCODED`, `_DATA_ENCRYPTED`, `_NOT_ALIGNED`,
/// `_DATA_INLINE`, `_DATA_TAIL`, `_UNWRITTEN`: what stands there is not the file's bytes.
const NO_PLAIN_BYTES: u32 = 0x2 | 0x4 | 0x8 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800;

/// The extents that one question asks for: of a range of a few MiB there are seldom more.
const EXTENTS: usize = 64;

/// What e2fsck exits with when all is well, and when it has mended something.
const CHECKED: [i32; 2] = [0, 1];

/// Where a piece of a file stands on its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// In the file.
    pub at: u64,
    /// On the device.
    pub place: u64,
    /// How many there are.
    pub bytes: u64,
}

/// Makes a file system on `image`.
///
/// # Errors
/// The program is not there, or it fails.
pub fn make(image: &Path) -> Result<()> {
    let made = run(&mkfs()?, |command| {
        // No blocks kept for root (-m 0), and tables written when they are needed: the stated size
        // is for data, and 20 GiB are ready in some 30 ms.
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

/// Replays the journal of the file system on `device`, which is not mounted, and mends all that is
/// wrong: files that were removed while they were open are, to e2fsck, orphans of a list that it
/// asks about (so `-y`, and not `-p`).
///
/// # Errors
/// The program is not there, or something is left that it cannot mend.
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

/// The program that makes file systems.
pub fn mkfs() -> Result<PathBuf> {
    program("mkfs.ext4")
}

/// A program of e2fsprogs, which is often outside of a user's search path.
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

/// What a program ends with, and all that it says.
fn run(
    program: &Path,
    prepare: impl FnOnce(&mut std::process::Command),
) -> Result<(Option<i32>, String)> {
    let mut command = process::command(program);
    prepare(&mut command);
    // A volume is cleared up after Ctrl-C as well.
    let patience = Patience {
        limit: LIMIT,
        heeds_interrupt: false,
    };
    let answer = process::ask(command, b"", patience)?;
    let said = [&*answer.output, &*answer.errors].concat();
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    Ok((answer.status.code(), said))
}

/// The root of the file system on `device`, by a mount that has no place and ends with what is
/// returned. Where it is mounted already, this is the same file system.
///
/// # Errors
/// There is none, or the kernel refuses.
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
    mount().with_context(|| format!("mount {device} at no place (Linux 5.2)"))
}

/// Every write waits from now on. What is dirty is written before.
pub fn freeze(root: &OwnedFd) -> Result<(), Errno> {
    // SAFETY: FIFREEZE looks at no argument.
    let request = unsafe { ioctl::NoArg::<FREEZE>::new() };
    // SAFETY: the same.
    unsafe { ioctl::ioctl(root, request) }
}

/// Writes go on; false if none had to wait.
pub fn thaw(root: &OwnedFd) -> Result<bool, Errno> {
    // SAFETY: FITHAW looks at no argument.
    let request = unsafe { ioctl::NoArg::<THAW>::new() };
    // SAFETY: the same.
    match unsafe { ioctl::ioctl(root, request) } {
        Ok(()) => Ok(true),
        Err(Errno::INVAL) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Nothing is read or written any more, not even what is dirty or in the journal.
pub fn shut_down(root: &OwnedFd) -> Result<(), Errno> {
    // SAFETY: EXT4_IOC_SHUTDOWN reads a u32.
    let request = unsafe { ioctl::Setter::<SHUTDOWN, u32>::new(WITHOUT_JOURNAL) };
    // SAFETY: the same.
    unsafe { ioctl::ioctl(root, request) }
}

/// Goes read-only as after an error of its device: the journal ends where it is.
pub fn abort(root: &OwnedFd) -> Result<(), Errno> {
    reconfigure(root, "abort")
}

/// Mounts it anew with one option more. Nothing is written by that.
pub(super) fn reconfigure(root: &OwnedFd, option: &str) -> Result<(), Errno> {
    let flags = FsPickFlags::FSPICK_CLOEXEC | FsPickFlags::FSPICK_EMPTY_PATH;
    let context = fspick(root.as_fd(), "", flags)?;
    fsconfig_set_flag(context.as_fd(), option)?;
    fsconfig_reconfigure(context.as_fd())
}

/// Which file this is: the number of its inode, which another file gets when it is deleted, and the
/// generation of that.
///
/// # Errors
/// The kernel does not tell.
pub fn identity(file: &OwnedFd) -> Result<(u64, u32), Errno> {
    // SAFETY: FS_IOC_GETVERSION writes an int, whatever the size in its number says.
    let request = unsafe { ioctl::Getter::<GET_VERSION, u32>::new() };
    // SAFETY: the same.
    let generation = unsafe { ioctl::ioctl(file, request) }?;
    Ok((rustix::fs::fstat(file)?.st_ino, generation))
}

/// `struct fiemap`, with room for some extents.
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

/// `struct fiemap_extent`.
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

/// Where the bytes from `at` on stand that a file has on its device, in its order.
///
/// # Errors
/// The kernel does not tell; or some of them stand nowhere by themselves (a hole, what was
/// allocated and never written), or in more pieces than are looked at.
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
    // SAFETY: FS_IOC_FIEMAP reads and writes a struct fiemap with as many extents as it says.
    let request = unsafe { ioctl::Updater::<FIEMAP, Fiemap>::new(&mut map) };
    // SAFETY: the same.
    unsafe { ioctl::ioctl(file, request) }.context("ask where its blocks are (FIEMAP)")?;
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
        "of the {bytes} bytes at {at} only {} stand on the device as they are, in its first \
         {EXTENTS} pieces",
        reached - at
    );
    Ok(found)
}
