//! Checks memory and disk space before the start. If a machine swapped, or the kernel killed a
//! node, the run would be useless.

use anyhow::{Context, Result, bail};
use host::memory;
use measure::number::counted;
use std::path::Path;
use target_spec::memory_bytes;

const MIB: u64 = 1 << 20;

/// Minimum heap size for a start of the server, in bytes.
pub(crate) const HEAP_BYTES_MIN: u64 = 256 * MIB;

/// Free disk space that a node needs for commit log segments, system tables, logs and a little
/// data, in bytes.
const DISK_BYTES_PER_NODE: u64 = 1 << 30;

/// Checks that a cluster fits on this machine.
///
/// # Errors
/// The heap is too small, or too little memory or disk space is free. The message contains the
/// required and the available size.
pub(crate) fn check(nodes: usize, heap_bytes: u64, data: &Path) -> Result<()> {
    check_heap(heap_bytes)?;
    check_memory(nodes, heap_bytes)?;
    check_disk(nodes, data)
}

/// Checks that nodes fit on a machine with `memory` available bytes, and `disk` free bytes on the
/// disk of `data`.
///
/// # Errors
/// The nodes do not fit. The message contains the required and the free size, and a remedy.
pub(super) fn fits(
    nodes: usize,
    heap_bytes: u64,
    memory: u64,
    (disk, data): (u64, &Path),
) -> Result<()> {
    check_heap(heap_bytes)?;
    fits_memory(nodes, heap_bytes, memory)?;
    fits_disk(nodes, disk, data)
}

/// # Errors
/// `heap_bytes` is less than [`HEAP_BYTES_MIN`].
pub(super) fn check_heap(heap_bytes: u64) -> Result<()> {
    if heap_bytes < HEAP_BYTES_MIN {
        bail!(
            "a heap of {} MiB is too small: Cassandra needs a heap of at least {} MiB",
            heap_bytes / MIB,
            HEAP_BYTES_MIN / MIB
        );
    }
    Ok(())
}

/// # Errors
/// The nodes need more memory, or the available memory is unknown.
pub(super) fn check_memory(nodes: usize, heap_bytes: u64) -> Result<()> {
    fits_memory(nodes, heap_bytes, memory::available_bytes()?)
}

/// Checks the disk space that nodes need before they have data.
///
/// # Errors
/// The nodes need more space, or the free space is unknown.
pub(super) fn check_disk(nodes: usize, data: &Path) -> Result<()> {
    fits_disk(nodes, free_disk(data)?, data)
}

/// Returns the number of free bytes on the disk of `data` for ordinary users.
pub(super) fn free_disk(data: &Path) -> Result<u64> {
    let disk = rustix::fs::statvfs(data)
        .with_context(|| format!("get the free space of {}", data.display()))?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Checks that the free memory suffices for a larger heap of running nodes.
///
/// # Errors
/// Too little memory is free for the increase, or the available memory is unknown.
pub(crate) fn check_growth(nodes: usize, from_bytes: u64, to_bytes: u64) -> Result<()> {
    let used = memory_bytes(nodes, from_bytes);
    fits_memory(
        nodes,
        to_bytes,
        memory::available_bytes()?.saturating_add(used),
    )
}

/// Returns the total size of a node's commit log segments in MiB, which cassay sets explicitly
/// because the server's default depends on the disk. As in the server's rule, the size is at most 8
/// GiB, and at most a quarter of the disk. The nodes on a disk share this quarter.
pub(crate) fn commitlog_total_mib(disk_bytes: u64, nodes: usize) -> u64 {
    COMMITLOG_TOTAL_MIB.min(disk_bytes / MIB / 4 / nodes.max(1) as u64)
}

/// `commitlog_total_space` in Apache's `cassandra.yaml` for large disks, in MiB.
const COMMITLOG_TOTAL_MIB: u64 = 8192;

/// Checks that nodes fit into `free` bytes of memory.
pub(super) fn fits_memory(nodes: usize, heap_bytes: u64, free: u64) -> Result<()> {
    let need = memory_bytes(nodes, heap_bytes);
    if need <= free {
        return Ok(());
    }
    bail!(
        "too little memory: {} with a heap of {} MiB need about {} MiB, but {} MiB are \
         available\nhint: use a smaller heap (at least {} MiB) or fewer nodes, or stop another \
         program",
        counted(nodes, "node"),
        heap_bytes / MIB,
        need / MIB,
        free / MIB,
        HEAP_BYTES_MIN / MIB
    )
}

pub(crate) fn fits_disk(nodes: usize, free: u64, data: &Path) -> Result<()> {
    let need = nodes as u64 * DISK_BYTES_PER_NODE;
    if need <= free {
        return Ok(());
    }
    bail!(
        "too little disk space: a node without data needs at least {} MiB, but {} has only {} MiB \
         free for {}\nhint: free some space, or move cassay's data folder (CASSAY_DATA)",
        DISK_BYTES_PER_NODE / MIB,
        data.display(),
        free / MIB,
        counted(nodes, "node")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_do_not_fit_are_refused_with_both_numbers() {
        let data = Path::new("/data");
        fits_memory(1, 512 * MIB, memory_bytes(1, 512 * MIB)).unwrap();
        let error = fits_memory(3, 512 * MIB, 1024 * MIB).unwrap_err().to_string();
        assert!(
            error.contains("3 nodes with a heap of 512 MiB need about"),
            "{error}"
        );
        assert!(error.contains("1024 MiB are available"), "{error}");
        fits_disk(3, 3 << 30, data).unwrap();
        let error = fits_disk(3, 2 << 30, data).unwrap_err().to_string();
        assert!(error.contains("/data has only 2048 MiB free"), "{error}");
        let error = check(1, 100 * MIB, data).unwrap_err().to_string();
        assert!(error.contains("100 MiB is too small"), "{error}");
    }
}
