//! Reads bytes of a file through the page cache, and directly from disk.

use crate::host_state::AgentState;
use anyhow::{Result, ensure};
use host::Bytes;
use host::QueryAnswer;
use linux::volume::{BLOCK_BYTES, Blocks};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Maximum number of bytes, so that both copies fit into one message.
const BYTES_MAX: u64 = 256 << 10;

pub(super) fn look(here: &AgentState, path: &Path, at: u64, bytes: u64) -> Result<QueryAnswer> {
    ensure!(
        bytes <= BYTES_MAX && at.checked_add(bytes).is_some(),
        "cannot read {bytes} bytes of {} from byte {at} on: one read returns at most {BYTES_MAX} \
         bytes",
        path.display()
    );
    let read = |flags: OFlags| {
        let file = here.files.admit(path)?.open(flags, Mode::empty());
        let read = file.map_err(Into::into).and_then(|file| read(&File::from(file), at, bytes));
        anyhow::Ok(read.map(Bytes).map_err(|error| {
            let unknown = Errno::IO.raw_os_error();
            error.raw_os_error().unwrap_or(unknown)
        }))
    };
    // Reading through the page cache would leave pages in the cache.
    let on_disk = read(OFlags::RDONLY | OFlags::DIRECT)?;
    let cached = read(OFlags::RDONLY)?;
    Ok(QueryAnswer::Bytes { cached, on_disk })
}

/// Returns the requested bytes within the file. Reads whole blocks.
fn read(file: &File, at: u64, bytes: u64) -> std::io::Result<Vec<u8>> {
    let first = at - at % BLOCK_BYTES;
    let mut blocks = Blocks::new((at + bytes).next_multiple_of(BLOCK_BYTES) - first);
    let mut count = 0;
    while let Some(rest) = blocks.bytes_mut().get_mut(count..).filter(|rest| !rest.is_empty()) {
        let read = file.read_at(rest, first + count as u64)?;
        count += read;
        // After a partial block, the kernel refuses a further direct read at an unaligned offset.
        if read == 0 || !(count as u64).is_multiple_of(BLOCK_BYTES) {
            break;
        }
    }
    let from = (at - first) as usize;
    let to = (from + bytes as usize).min(count);
    Ok(blocks.bytes().get(from..to).unwrap_or_default().to_vec())
}
