//! Reads from the kernel which file system is mounted at a folder.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountedFileSystem {
    /// Source of the mount, such as `/dev/loop3`.
    pub source: String,
    /// Type of the file system, such as `ext4`.
    pub kind: String,
    /// True if the file system was mounted read-only, or became read-only after an error.
    pub is_read_only: bool,
    /// True if the file system was shut down, so that reads and writes are no longer possible.
    pub is_shut_down: bool,
}

/// Returns the mount at `folder` in this process's view. Returns `None` if no file system is
/// mounted there.
pub fn mount_at(folder: &Path) -> Result<Option<MountedFileSystem>> {
    let path = "/proc/self/mountinfo";
    let text = std::fs::read_to_string(path).with_context(|| format!("read {path}"))?;
    // The last mount hides the earlier mounts.
    let found = text.lines().rev().find_map(|line| parse_line(line, folder));
    Ok(found)
}

/// Parses a line of `/proc/PID/mountinfo`. Returns `None` if the line describes another folder.
fn parse_line(line: &str, folder: &Path) -> Option<MountedFileSystem> {
    let (mount, system) = line.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(4);
    let place = unescaped(mount.next()?);
    let own = mount.next()?;
    let mut system = system.split(' ');
    let (kind, source) = (system.next()?, system.next()?);
    let all = system.next().unwrap_or_default();
    let has = |options: &str, names: &[&str]| options.split(',').any(|one| names.contains(&one));
    (Path::new(&place) == folder).then(|| MountedFileSystem {
        source: unescaped(source),
        kind: kind.to_owned(),
        // Since Linux 6.14, a separate word marks a file system that became read-only after an
        // error.
        is_read_only: has(own, &["ro"]) || has(all, &["ro", "emergency_ro"]),
        is_shut_down: has(all, &["shutdown"]),
    })
}

/// Decodes octal escapes. The kernel writes blanks, tabs, line feeds and backslashes in forms such
/// as `\040`.
pub(crate) fn unescaped(word: &str) -> String {
    let mut parts = word.split('\\');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let number = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match number {
            Some(byte) => {
                text.push(char::from(byte));
                text.push_str(&part[3..]);
            }
            None => {
                text.push('\\');
                text.push_str(part);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_line_is_read_with_any_folder_name_and_options() {
        let line = |folder: &str, own: &str, all: &str| {
            format!("61 29 7:3 / {folder} {own} shared:1 master:2 - ext4 /dev/loop3 {all}")
        };
        let at = |line: &str, folder: &str| parse_line(line, Path::new(folder));
        let usual = at(&line("/a", "rw,noatime", "rw,discard"), "/a").unwrap();
        assert_eq!((&*usual.source, &*usual.kind), ("/dev/loop3", "ext4"));
        assert!(!usual.is_read_only && !usual.is_shut_down);
        for (own, all) in [
            ("ro,noatime", "rw"),
            ("rw", "ro,discard"),
            ("rw", "rw,abort,emergency_ro"),
        ] {
            assert!(
                at(&line("/a", own, all), "/a").unwrap().is_read_only,
                "{all}"
            );
        }
        assert!(at(&line("/a", "rw", "rw,shutdown"), "/a").unwrap().is_shut_down);
        assert!(at(&line("/a\\040b\\134", "rw", "rw"), "/a b\\").is_some());
        assert!(at(&line("/a", "rw", "rw"), "/").is_none());
        for cut in ["", "61 29", "61 29 7:3 / /a rw - ext4", " - "] {
            assert_eq!(at(cut, "/a"), None, "{cut}");
        }
        assert_eq!(unescaped("\\"), "\\");
        assert_eq!(unescaped("\\9é1"), "\\9é1");
    }

    #[test]
    fn the_root_is_mounted_and_a_new_folder_is_not() {
        let folder = tempfile::tempdir().unwrap();
        assert!(mount_at(Path::new("/proc")).unwrap().is_some());
        assert_eq!(mount_at(folder.path()).unwrap(), None);
    }
}
