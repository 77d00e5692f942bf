//! Lengths of a node's log files at one moment, from which a later reader finds new lines.

use host::{Agent, Entry, FileId};
use std::path::Path;

/// Suffixes of compressed logs, which cassay skips. cassay has already read their content before
/// the rotation, or it cannot read the compressed content.
const PACKED: [&str; 3] = [".zip", ".gz", ".xz"];

#[derive(Clone, Debug, Default)]
pub struct Marks(Vec<(FileId, u64)>);

impl Marks {
    /// Reads the current lengths. Treats an unreadable folder as empty.
    pub fn read(agent: &Agent, folder: &Path) -> Marks {
        let entries = agent.list(folder, None).ok().flatten().unwrap_or_default();
        Marks(entries.iter().map(|entry| (entry.id, entry.bytes)).collect())
    }

    /// Returns the offset of new content in a file, or `None` without new content. The content of a
    /// truncated, replaced or new file is new from its start.
    pub fn new_from(&self, entry: &Entry) -> Option<u64> {
        let known = self.0.iter().find(|(id, _)| is_same(id, entry)).map(|(_, bytes)| *bytes);
        let from = known.filter(|bytes| *bytes <= entry.bytes).unwrap_or(0);
        (from < entry.bytes).then_some(from)
    }

    /// Records the length of a file up to which cassay has copied the file.
    pub fn set(&mut self, entry: &Entry, bytes: u64) {
        self.0.retain(|(id, _)| !is_same(id, entry));
        self.0.push((entry.id, bytes));
    }

    /// Forgets files that no longer exist, because new files may reuse their inodes.
    pub fn keep(&mut self, entries: &[Entry]) {
        self.0.retain(|(id, _)| entries.iter().any(|entry| is_same(id, entry)));
    }
}

fn is_same(id: &FileId, entry: &Entry) -> bool {
    (id.device, id.inode) == (entry.id.device, entry.id.inode)
}

/// Returns true if cassay keeps this file of an attached node's log folder.
pub fn is_log(entry: &Entry) -> bool {
    let is_packed = PACKED.iter().any(|end| entry.name.ends_with(end));
    !entry.is_folder && entry.name.contains("log") && !is_packed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, inode: u64, bytes: u64) -> Entry {
        Entry {
            name: name.to_owned(),
            is_folder: false,
            bytes,
            id: FileId {
                device: 1,
                inode,
                changed_ns: 0,
            },
            text: None,
        }
    }

    #[test]
    fn only_what_came_since_is_new_whatever_a_file_is_called_now() {
        let mut marks = Marks(vec![(entry("", 7, 0).id, 100), (entry("", 8, 0).id, 50)]);
        assert_eq!(marks.new_from(&entry("system.log", 7, 100)), None);
        assert_eq!(marks.new_from(&entry("system.log", 7, 130)), Some(100));
        assert_eq!(marks.new_from(&entry("system.log.1", 7, 130)), Some(100));
        assert_eq!(marks.new_from(&entry("system.log", 9, 30)), Some(0));
        assert_eq!(
            marks.new_from(&entry("debug.log", 8, 20)),
            Some(0),
            "the log was truncated"
        );
        marks.set(&entry("system.log", 7, 130), 120);
        assert_eq!(marks.new_from(&entry("system.log", 7, 130)), Some(120));
        marks.keep(&[entry("debug.log", 8, 50)]);
        assert_eq!(
            marks.new_from(&entry("other.log", 7, 200)),
            Some(0),
            "another file reuses the inode"
        );
    }

    #[test]
    fn a_packed_file_is_no_log() {
        for (name, expected) in [
            ("system.log", true),
            ("gc.log.0", true),
            ("debug.log.1.zip", false),
            ("core", false),
        ] {
            assert_eq!(is_log(&entry(name, 1, 1)), expected, "{name}");
        }
    }
}
