//! What nodes are expected to need of their machine's memory.

const MIB: u64 = 1 << 20;

/// What a 5.0 node needs beyond its heap, at rest: code cache, metaspace, threads, buffer pools,
/// the collector's own tables. A fresh 5.0.8 with 512 MiB of heap was seen to have 778 MiB of
/// anonymous memory and 151 MiB of files.
const OFF_HEAP_BYTES: u64 = 350 * MIB;

/// Off-heap structures that grow with the heap: bloom filters, chunk cache, direct buffers.
const OFF_HEAP_SHARE_OF_HEAP: u64 = 8;

/// Memory that `nodes` nodes are expected to need, in bytes, without their page cache. The only
/// reckoning of it: what a plan expects, what a host's limit must hold, and what is refused at the
/// start are this.
pub fn memory_bytes(nodes: usize, heap_bytes: u64) -> u64 {
    nodes as u64 * (heap_bytes + heap_bytes / OFF_HEAP_SHARE_OF_HEAP + OFF_HEAP_BYTES)
}
