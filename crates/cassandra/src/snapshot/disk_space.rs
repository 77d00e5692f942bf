//! Checks the free space of every volume before a restore removes anything.
//!
//! Imports create links, which need no space. But TRUNCATE flushes memtables before it drops them,
//! and the server's own tables and commit log grow. On a full volume, TRUNCATE fails halfway: the
//! node shuts down, and some replicas are empty.

use crate::mbeans;
use crate::node_files::NodeFiles;
use anyhow::{Result, bail};
use host::VolumeUse;
use measure::number::bytes;

const MIB: u64 = 1 << 20;

/// Required space in addition to the memtables, in bytes: two commit log segments of 32 MiB (the
/// current and the next one), and writes to the server's own tables.
const HEADROOM_BYTES: u64 = 80 * MIB;

/// Checks that a node's volume has enough space for TRUNCATE.
///
/// # Errors
/// The volume is too small. The message contains the required and the available size, and a remedy.
pub fn check(place: &NodeFiles<'_>) -> Result<()> {
    // Without the size of the memtables, the check requires only the additional space.
    let memtables = mbeans::memtables_bytes(place.agent()?).unwrap_or(0);
    judge(place, &place.host.space(place.folder)?, memtables)
}

fn judge(place: &NodeFiles<'_>, volume: &VolumeUse, memtables: u64) -> Result<()> {
    let need = memtables.saturating_add(HEADROOM_BYTES);
    if volume.available_bytes >= need {
        return Ok(());
    }
    bail!(
        "only {} of {} are free at {}, but TRUNCATE needs about {} to flush the memtables. cassay \
         changed nothing\nhint: use a larger volume, or restore offline (`snapshot restore \
         --offline`, `data.restore: offline`), which removes the old files first",
        bytes(volume.available_bytes),
        bytes(volume.total_bytes),
        place.folder.display(),
        bytes(need)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_volume_is_refused_with_both_sizes_and_a_remedy() {
        let root = tempfile::tempdir().unwrap();
        let host = agent::in_thread(root.path()).unwrap();
        let place = NodeFiles::for_test(&host, std::path::Path::new("/v/host1/node1"));
        let volume = |available_bytes| VolumeUse {
            total_bytes: 1024 * MIB,
            used_bytes: 1024 * MIB - available_bytes,
            available_bytes,
        };
        judge(&place, &volume(100 * MIB), 20 * MIB).unwrap();
        let error = judge(&place, &volume(99 * MIB), 20 * MIB).unwrap_err().to_string();
        for part in [
            "99 MiB of 1 GiB",
            "/v/host1/node1",
            "100 MiB",
            "cassay changed nothing",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
        assert!(judge(&place, &volume(1024 * MIB), u64::MAX).is_err());
    }
}
