//! Volume faults that this machine permits. The module tries the faults on a volume in memory. This
//! volume has no mount point, and disappears when its descriptors are closed.
//!
//! The trial does not freeze the volume, because a freeze would persist if the process were killed
//! during it.

use super::status;
use crate::volume::loop_device::LoopDevice;
use crate::volume::{BLOCK_BYTES, SECTOR_BYTES, ext4_ioctls};
use anyhow::{Context, Result};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{MemfdFlags, Mode, OFlags, ftruncate, memfd_create};
use std::path::PathBuf;
use target_spec::{Capability, CapabilityStatus};

/// Size of the smallest file system on which ext4 has a journal, in bytes. The trial aborts the
/// journal, which has no effect on a smaller file system.
const BYTES: u64 = 8 << 20;

const NEEDS: &str = "faults of volumes have the same requirements as volumes";

pub(super) fn capabilities() -> Vec<CapabilityStatus> {
    let (device, root) = match trial() {
        Ok(trial) => trial,
        Err(error) => {
            let none = |what| status(what, Err(anyhow::anyhow!("{NEEDS}: {error:#}")));
            return ALL.map(none).into();
        }
    };
    let mended = ext4_ioctls::program("e2fsck").map(|_| ());
    let mended = |found: Result<String>| match &mended {
        Ok(()) => found,
        Err(error) => Err(anyhow::anyhow!("{error:#}")),
    };
    // The order of the trials is such that no trial disturbs the next.
    let found = [
        corrupt(&root),
        stalled(&root),
        mended(read_only(&root)),
        mended(errors(&device)),
        mended(off(&root)),
    ];
    let pairs = ALL.into_iter().zip(found);
    pairs.map(|(what, found)| status(what, found)).collect()
}

const ALL: [Capability; 5] = [
    Capability::VolumeCorrupt,
    Capability::VolumeStalled,
    Capability::VolumeReadOnly,
    Capability::VolumeErrors,
    Capability::VolumeOff,
];

/// Creates a volume in memory. Returns its device and its root directory.
fn trial() -> Result<(LoopDevice, OwnedFd)> {
    let memory = memfd_create("cassay-trial", MemfdFlags::CLOEXEC).context("allocate memory")?;
    ftruncate(&memory, BYTES).context("set the size of the memory")?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), memory.as_raw_fd());
    let path = PathBuf::from(path);
    ext4_ioctls::make(&path)?;
    let device = LoopDevice::attach(&path, &memory)?;
    let root = ext4_ioctls::open_placeless(&device.path())?;
    Ok((device, root))
}

fn corrupt(root: &OwnedFd) -> Result<String> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = rustix::fs::openat(root, ".", flags, Mode::from_raw_mode(0o600))
        .context("create a file without a name")?;
    let bytes = [1; BLOCK_BYTES as usize];
    rustix::io::pwrite(&file, &bytes, 0).context("write the file")?;
    ext4_ioctls::extents(&file, 0, BLOCK_BYTES)?;
    Ok("cassay changes bytes of a file in the image behind the loop device".to_owned())
}

fn stalled(root: &OwnedFd) -> Result<String> {
    let thawed = ext4_ioctls::thaw(root).context("thaw a volume (CAP_SYS_ADMIN)")?;
    anyhow::ensure!(!thawed, "the kernel thawed a volume that was never frozen");
    Ok("cassay freezes the whole file system: writes wait, reads continue".to_owned())
}

fn read_only(root: &OwnedFd) -> Result<String> {
    ext4_ioctls::abort(root).context("abort the journal of the volume (mount option abort)")?;
    Ok("cassay aborts the journal of the file system, as a disk error does".to_owned())
}

fn errors(device: &LoopDevice) -> Result<String> {
    device.limit_size(Some(SECTOR_BYTES))?;
    Ok(
        "a shortened loop device makes all blocks from a position to the end fail; device-mapper \
         could make single blocks fail"
            .to_owned(),
    )
}

fn off(root: &OwnedFd) -> Result<String> {
    ext4_ioctls::shut_down(root).context("shut the volume down (EXT4_IOC_SHUTDOWN, Linux 4.10)")?;
    Ok("cassay shuts the file system down without writing its journal".to_owned())
}
