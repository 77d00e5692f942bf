//! The files of a machine, in a folder or in an archive in memory. The module reads only regular
//! files, each up to a limit, so that a pipe or an endless file cannot block a reader.

use foreign::FileKind;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use crate::error::ReadError;

/// Maximum size of a file in bytes. A file of /sys has at most one memory page, and /proc/cpuinfo
/// of 8192 CPUs has several megabytes.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// Maximum unpacked size of an archive in bytes. The /sys of the largest machine is far smaller.
const ARCHIVE_BYTES_MAX: u64 = 512 << 20;
/// Maximum number of files in an archive. The /sys of the largest machine has far fewer.
const ARCHIVE_FILES_MAX: usize = 2_000_000;
/// Maximum number of symbolic links that are followed, as in the kernel.
const LINKS_MAX: usize = 40;

/// Maximum length of an entry's name, and of a link's target, in bytes. It is PATH_MAX.
const NAME_BYTES_MAX: usize = 4096;
/// Maximum number of folders above an entry. Each folder is stored with its whole name, so the
/// depth must be limited. The deepest entry of /sys has about 20 folders above it.
const NAME_PARTS_MAX: usize = 64;
/// Maximum size of a file of /sys in bytes. These files usually have at most one memory page, but
/// lists of CPUs may be slightly longer.
const SYS_FILE_BYTES_MAX: usize = 64 << 10;
/// Maximum total size of all names in bytes, where each name includes the folders above it.
const NAMES_BYTES_MAX: usize = 256 << 20;

/// Files below a root. Paths are relative to the root and use `/`.
pub(crate) enum Tree {
    Folder(PathBuf),
    Archive(Archive),
}

#[derive(Default)]
pub(crate) struct Archive {
    /// Names in each folder, so that listing a folder does not scan all files.
    folders: BTreeMap<String, BTreeSet<String>>,
    files: BTreeMap<String, Vec<u8>>,
    links: BTreeMap<String, String>,
    /// Total size of the names of all folders and of their entries, in bytes.
    names_bytes: usize,
}

/// Advice to the user for an archive that contains too much data.
const PACK_HINT: &str = "pack only sys/devices/system, sys/class, sys/block and proc";

impl Tree {
    /// Unpacks an archive (tar, also compressed by gzip or bzip2) into a tree.
    pub fn unpack(bytes: &[u8], place: &str) -> Result<Tree, ReadError> {
        let reader: Box<dyn Read + '_> = match bytes {
            [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(bytes)),
            [b'B', b'Z', b'h', ..] => Box::new(bzip2::read::MultiBzDecoder::new(bytes)),
            _ => Box::new(Cursor::new(bytes)),
        };
        let broken = |error: std::io::Error| {
            ReadError::new(
                place,
                format!("cassay cannot unpack the archive: {error}"),
                "use a complete tar, .tar.gz or .tar.bz2, or name the unpacked folder",
            )
        };
        let mut archive = Archive::default();
        let mut packed = tar::Archive::new(reader.take(ARCHIVE_BYTES_MAX));
        let mut count = 0;
        // This loop counts the size again, because a sparse file is larger than its packed form.
        let mut left = ARCHIVE_BYTES_MAX;
        for entry in packed.entries().map_err(broken)? {
            let mut entry = entry.map_err(broken)?;
            count += 1;
            if count > ARCHIVE_FILES_MAX {
                let what = format!("the archive has more than {ARCHIVE_FILES_MAX} files");
                return Err(ReadError::new(place, what, PACK_HINT));
            }
            let name = entry_name(&entry.path_bytes(), place)?;
            if archive.names_bytes > NAMES_BYTES_MAX {
                let what = format!(
                    "the names of the archive have more than {NAMES_BYTES_MAX} bytes in total"
                );
                return Err(ReadError::new(place, what, PACK_HINT));
            }
            match entry.header().entry_type() {
                tar::EntryType::Symlink => {
                    let target = entry.link_name_bytes().unwrap_or_default();
                    within_path(&target, place)?;
                    let target = String::from_utf8_lossy(&target).into_owned();
                    archive.enter(&name);
                    archive.links.insert(name, target);
                }
                tar::EntryType::Directory => archive.enter(&name),
                tar::EntryType::Regular | tar::EntryType::Continuous => {
                    let mut content = Vec::new();
                    let mut limited = entry.by_ref().take(FILE_BYTES_MAX.min(left));
                    left -= limited.read_to_end(&mut content).map_err(broken)? as u64;
                    archive.enter(&name);
                    archive.files.insert(name, content);
                }
                tar::EntryType::Link => {
                    let target = entry_name(&entry.link_name_bytes().unwrap_or_default(), place)?;
                    archive.enter(&name);
                    archive.links.insert(name, format!("/{target}"));
                }
                _ => {}
            }
        }
        Ok(Tree::Archive(archive))
    }

    pub fn from_files(files: impl Iterator<Item = (String, Vec<u8>)>) -> Tree {
        let mut archive = Archive::default();
        for (name, content) in files {
            archive.enter(&name);
            archive.files.insert(name, content);
        }
        Tree::Archive(archive)
    }

    /// Returns the text of a file of /sys. Returns `None` if the file cannot be read, or is longer
    /// than [`SYS_FILE_BYTES_MAX`]. The function does not read such a file, because thousands of
    /// links may lead to it.
    pub fn read_short(&self, path: &str) -> Option<String> {
        let bytes = match self {
            Tree::Folder(root) => {
                let path = root.join(path);
                let meta = fs::metadata(&path).ok()?;
                // In a real /sys, the length of a file is reported as a page or 0.
                if meta.len() > SYS_FILE_BYTES_MAX as u64 {
                    return None;
                }
                read_plain(&path)?
            }
            Tree::Archive(archive) => {
                let bytes = archive.files.get(&archive.resolve(path)?)?;
                if bytes.len() > SYS_FILE_BYTES_MAX {
                    return None;
                }
                bytes.clone()
            }
        };
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the text of a file. Returns `None` if the file does not exist or cannot be read.
    pub fn read(&self, path: &str) -> Option<String> {
        let bytes = match self {
            Tree::Folder(root) => read_plain(&root.join(path))?,
            Tree::Archive(archive) => archive.files.get(&archive.resolve(path)?)?.clone(),
        };
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the names in a folder, in order. The list is empty if the folder does not exist.
    pub fn list(&self, path: &str) -> Vec<String> {
        match self {
            Tree::Folder(root) => {
                let Ok(entries) = fs::read_dir(root.join(path)) else {
                    return Vec::new();
                };
                let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
                let mut names: Vec<String> = names.take(ARCHIVE_FILES_MAX).collect();
                names.sort();
                names
            }
            Tree::Archive(archive) => {
                let folder = archive.resolve(path);
                let names = folder.and_then(|folder| archive.folders.get(&folder));
                names.into_iter().flatten().cloned().collect()
            }
        }
    }

    /// Resolves the symbolic links of a path, relative to the root. Returns `None` if the target
    /// does not exist or is outside of the root.
    fn real(&self, path: &str) -> Option<String> {
        match self {
            Tree::Folder(root) => {
                let real = root
                    .join(path)
                    .canonicalize()
                    .ok()?
                    .strip_prefix(root.canonicalize().ok()?)
                    .ok()?
                    .to_owned();
                real.into_os_string().into_string().ok()
            }
            Tree::Archive(archive) => archive.resolve(path),
        }
    }

    /// Returns the text of the file `name` in the folder to which `path` leads. If that folder has
    /// no such file, uses the nearest folder above it that has one. Also returns the resolved
    /// `path`.
    pub fn read_above(&self, path: &str, name: &str) -> Option<(String, String)> {
        let real = self.real(path)?;
        let mut folder = real.as_str();
        loop {
            if let Some(text) = self.read(&format!("{folder}/{name}")) {
                return Some((text, real));
            }
            folder = folder.rsplit_once('/')?.0;
        }
    }

    pub fn has_folder(&self, path: &str) -> bool {
        match self {
            Tree::Folder(root) => root.join(path).is_dir(),
            Tree::Archive(archive) => {
                let folder = archive.resolve(path);
                folder.is_some_and(|folder| archive.folders.contains_key(&folder))
            }
        }
    }
}

impl Archive {
    /// Adds `name` to the entries of its folder, and adds the folders above it.
    fn enter(&mut self, name: &str) {
        let mut name = name;
        while !name.is_empty() {
            let (folder, last) = name.rsplit_once('/').unwrap_or(("", name));
            let is_new = self.folders.entry(folder.to_owned()).or_default().insert(last.to_owned());
            if !is_new {
                return;
            }
            self.names_bytes += folder.len() + last.len();
            name = folder;
        }
    }

    /// Returns the path with its symbolic links resolved. Returns `None` if the links lead outside
    /// of the root or form a cycle.
    fn resolve(&self, path: &str) -> Option<String> {
        let mut rest: Vec<String> = parts(path).rev().map(str::to_owned).collect();
        let mut at: Vec<String> = Vec::new();
        let mut followed = 0;
        while let Some(part) = rest.pop() {
            if part == ".." {
                at.pop()?;
                continue;
            }
            at.push(part);
            let name = at.join("/");
            if let Some(target) = self.links.get(&name) {
                followed += 1;
                if followed > LINKS_MAX || target.len() > NAME_BYTES_MAX {
                    return None;
                }
                if target.starts_with('/') {
                    at.clear()
                } else {
                    _ = at.pop()
                }
                rest.extend(parts(target).rev().map(str::to_owned));
            }
        }
        Some(at.join("/"))
    }
}

fn parts(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".")
}

fn clean(path: &[u8]) -> String {
    let text = String::from_utf8_lossy(path);
    parts(&text).collect::<Vec<_>>().join("/")
}

/// Returns the name of an entry, if the name is within the limits.
fn entry_name(path: &[u8], place: &str) -> Result<String, ReadError> {
    within_path(path, place)?;
    let name = clean(path);
    let count = parts(&name).count();
    if count > NAME_PARTS_MAX {
        let what =
            format!("a name in the archive has {count} folders; the maximum is {NAME_PARTS_MAX}");
        return Err(ReadError::new(place, what, PACK_HINT));
    }
    Ok(name)
}

fn within_path(path: &[u8], place: &str) -> Result<(), ReadError> {
    if path.len() <= NAME_BYTES_MAX {
        return Ok(());
    }
    let what = format!(
        "a name in the archive has {} bytes; the maximum is {NAME_BYTES_MAX}",
        path.len()
    );
    Err(ReadError::new(place, what, PACK_HINT))
}

/// Reads a regular file of at most [`FILE_BYTES_MAX`]. Returns `None` for other files.
pub(crate) fn read_plain(path: &Path) -> Option<Vec<u8>> {
    foreign::read(FileKind::MachinePart, path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_system_has_are_refused() {
        assert!(entry_name(&b"a/".repeat(NAME_PARTS_MAX), "m").is_ok());
        for path in [
            b"a/".repeat(NAME_PARTS_MAX + 1),
            vec![b'a'; NAME_BYTES_MAX + 1],
        ] {
            let error = entry_name(&path, "m").unwrap_err();
            assert!(error.what.contains("the maximum is"), "{error}");
        }
    }
}
