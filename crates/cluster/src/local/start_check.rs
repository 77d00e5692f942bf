//! Checks whether nodes could start on this machine now, and reports all missing requirements
//! together.

use super::{memory_and_disk, persistent_state};
use crate::dirs::Dirs;
use std::path::{Path, PathBuf};
use supply::java;
use target_spec::{JavaWanted, LocalSpec};

/// Returns all reasons why the nodes cannot start on this machine now: Java, jars, heap, memory,
/// disk. Starts no processes and fetches no files. A start may reveal further problems, such as
/// occupied ports.
pub fn not_startable(spec: &LocalSpec, dirs: &Dirs) -> Vec<String> {
    let mut found = Vec::new();
    let mut note = |asked: anyhow::Result<()>| {
        found.extend(asked.err().map(|why| format!("{why:#}")));
    };
    note(java::find(&JavaWanted::from_spec(spec)).map(drop));
    note(supply::obtainable(
        &dirs.cache,
        (&spec.release, &spec.origin),
    ));
    note(memory_and_disk::check_heap(spec.heap_bytes));
    note(memory_and_disk::check_memory(spec.nodes, spec.heap_bytes));
    note(memory_and_disk::check_disk(
        spec.nodes,
        &nearest(&persistent_state::clusters_folder(dirs)),
    ));
    found
}

/// Returns the free space on the disk for the nodes' data, in bytes. Returns `None` if it is
/// unknown.
pub fn free_disk_bytes(dirs: &Dirs) -> Option<u64> {
    memory_and_disk::free_disk(&nearest(&persistent_state::clusters_folder(dirs))).ok()
}

/// Returns the folder, or its nearest existing ancestor.
fn nearest(folder: &Path) -> PathBuf {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let mut above = absolute.ancestors();
    let there = above.find(|folder| folder.is_dir());
    there.unwrap_or(Path::new("/")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_not_made_yet_is_asked_above() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(nearest(&folder.path().join("a/b")), folder.path());
        assert!(nearest(Path::new("not/there")).is_dir());
    }

    #[test]
    fn all_shortages_are_reported_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let dirs = Dirs {
            cache: folder.path().join("cache"),
            data: folder.path().join("data"),
        };
        let spec = LocalSpec {
            nodes: 1_000_000,
            heap_bytes: 1 << 30,
            ..LocalSpec::default()
        };
        let found = not_startable(&spec, &dirs);
        let says = |what: &str| found.iter().any(|why| why.contains(what));
        assert!(
            says("too little memory") && says("too little disk"),
            "{found:?}"
        );
        assert!(free_disk_bytes(&dirs) > Some(0));
    }
}
