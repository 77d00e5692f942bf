//! Estimates the memory that nodes need on their machine.

const MIB: u64 = 1 << 20;

/// Memory that an idle 5.0 node uses in addition to its heap, in bytes: code cache, metaspace,
/// threads, buffer pools, tables of the collector. A fresh 5.0.8 with 512 MiB of heap had 778 MiB
/// of anonymous memory and 151 MiB of mapped files.
const OFF_HEAP_BYTES: u64 = 350 * MIB;

/// Divisor by which the size of off-heap structures is computed from the heap. These structures
/// grow with the heap: bloom filters, chunk cache, direct buffers.
const OFF_HEAP_SHARE_OF_HEAP: u64 = 8;

/// Returns the expected memory of `nodes` nodes in bytes, without their page cache. Plans, the
/// check of a host's limit, and the check before the start use the same estimate.
pub fn memory_bytes(nodes: usize, heap_bytes: u64) -> u64 {
    nodes as u64 * (heap_bytes + heap_bytes / OFF_HEAP_SHARE_OF_HEAP + OFF_HEAP_BYTES)
}
