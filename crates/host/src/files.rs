//! Files of a host, through the host's agent.
//!
//! Invariants: paths are those of the host, and below a folder that the controller has permitted.
//! The module splits every request into messages of limited size, for files of any number and size.

use crate::agent::Agent;
use crate::calls::calls;
use anyhow::{Context, Result};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use linux::volume::VolumeUse;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum number of bytes of a file, or of names, in one message. As base64, this is 700 kB, and
/// the limit of a message is 1 MiB.
pub const PIECE_BYTES: usize = 512 << 10;

/// Maximum number of bytes that one answer adds to checksums. Any disk reads this number of bytes
/// within a minute, so an agent without a controller ends at most a minute late.
pub const SUM_BYTES: u64 = 64 << 20;

/// Time limit of a change. It is long, because removing a large tree makes a volume discard the
/// blocks of the files.
const CHANGE_LIMIT: Duration = Duration::from_secs(600);

calls! {
    Change = "change-files" -> ();
    List = "list-a-folder" -> Option<Page>;
    Get = "read-a-file" -> Option<Piece>;
    Sum = "sum-files-up" -> Sums;
    Space = "tell-the-room-of-a-volume" -> VolumeUse;
    DeviceBytes = "tell-the-size-of-a-device" -> Option<u64>;
    EvictTree = "drop-files-from-the-page-cache" -> ();
}

/// Performs changes of files in order, and stops at the first failure.
#[derive(Serialize, Deserialize)]
pub struct Change(pub Vec<FileStep>);

/// Lists the entries of a folder whose names come after a given name.
#[derive(Serialize, Deserialize)]
pub struct List {
    pub folder: PathBuf,
    /// Name after which the list begins. With `None`, the list begins with the first name.
    pub after: Option<String>,
    /// Suffix of the names of files whose text the answer also contains.
    pub text_of: Option<String>,
}

/// Some consecutive entries of a folder.
#[derive(Serialize, Deserialize)]
pub struct Page {
    /// Entries in the order of their names.
    pub entries: Vec<Entry>,
    /// True if the folder has no further entries.
    pub is_last: bool,
}

/// Reads a piece of a file.
#[derive(Serialize, Deserialize)]
pub struct Get {
    pub path: PathBuf,
    /// Beginning of the piece.
    pub from: From,
}

/// Computes the CRC-32 of files in a folder.
#[derive(Serialize, Deserialize)]
pub struct Sum {
    pub folder: PathBuf,
    /// Names of the files, in order.
    pub names: Vec<String>,
    /// Progress of the checksum of the first file.
    pub begun: PartialChecksum,
}

/// Progress of the checksum of a file.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub struct PartialChecksum {
    /// Checksum of the bytes that have been read.
    pub crc: u32,
    /// Number of bytes that have been read.
    pub bytes: u64,
}

/// Result of computing checksums.
#[derive(Serialize, Deserialize)]
pub struct Sums {
    /// Checksums of those files that were read completely, in the order of the request.
    pub whole: Vec<u32>,
    /// Progress of the checksum of the next file.
    pub begun: PartialChecksum,
}

/// Requests the space usage of the file system that contains a path.
#[derive(Serialize, Deserialize)]
pub struct Space(pub PathBuf);

/// Requests the size of the block device that contains a path.
#[derive(Serialize, Deserialize)]
pub struct DeviceBytes(pub PathBuf);

/// Syncs the files of a tree, and then drops them from the page cache.
#[derive(Serialize, Deserialize)]
pub struct EvictTree(pub PathBuf);

/// A change to the files of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileStep {
    /// Creates a folder and its parents.
    Folder(PathBuf),
    Write {
        path: PathBuf,
        /// Content of the file.
        bytes: Bytes,
        /// True if only the owner of the file can read the file.
        is_private: bool,
    },
    /// Appends bytes to a file.
    Append {
        path: PathBuf,
        /// Bytes that are appended.
        bytes: Bytes,
    },
    /// Creates a folder with hard links to files of another folder.
    Link {
        /// Folder that contains the files to link.
        from: PathBuf,
        /// Folder in which the links are created.
        to: PathBuf,
        /// Names of the files, which are the same in both folders.
        names: Vec<String>,
    },
    /// Creates a tree with hard links to all files of another tree.
    LinkTree {
        /// Root of the tree with the files.
        from: PathBuf,
        /// Root of the tree with the links, which must not be below `from`.
        to: PathBuf,
    },
    /// Renames a file or a tree.
    Rename {
        /// Path before the renaming.
        from: PathBuf,
        /// Path after the renaming.
        to: PathBuf,
    },
    /// Removes the contents of a folder, if the folder exists.
    Clear {
        folder: PathBuf,
        /// Names of the subfolders to keep.
        but: Vec<String>,
    },
    /// Removes a file or a tree, if it exists.
    Remove(PathBuf),
}

/// Bytes of a file, sent as base64.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&BASE64_STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
        let bytes = BASE64_STANDARD.decode(String::deserialize(from)?);
        bytes.map(Bytes).map_err(serde::de::Error::custom)
    }
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Name of the entry within the folder.
    pub name: String,
    /// True if the entry is a folder.
    pub is_folder: bool,
    /// Size of the file, in bytes.
    pub bytes: u64,
    /// Identity of the file.
    pub id: FileId,
    /// Text of the file, if it was requested and the file is short.
    pub text: Option<String>,
}

/// Identity of a file, which changes if the file is replaced or modified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileId {
    /// Device number of the file's disk.
    pub device: u64,
    /// Inode number of the file.
    pub inode: u64,
    /// Time of the last modification, in nanoseconds since 1970.
    pub changed_ns: i64,
}

/// Beginning of a piece of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum From {
    /// At this offset from the beginning of the file, in bytes.
    Byte(u64),
    /// This number of bytes before the end of the file, or at the beginning if the file is shorter.
    End(u64),
}

/// A piece of a file, up to 512 KiB.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Bytes of the piece. The piece is empty at the end of the file.
    pub bytes: Bytes,
    /// Offset of the piece within the file.
    pub at: u64,
    /// Size of the file, in bytes.
    pub size: u64,
    /// Identity of the file.
    pub id: FileId,
}

impl FileStep {
    /// Returns the step that writes a file that every user can read.
    pub fn write(path: PathBuf, bytes: impl Into<Vec<u8>>) -> FileStep {
        FileStep::Write {
            path,
            bytes: Bytes(bytes.into()),
            is_private: false,
        }
    }

    /// Splits a step into several steps, each of which fits into a message.
    fn parts(self) -> Vec<FileStep> {
        match self {
            FileStep::Write {
                path,
                bytes: Bytes(mut bytes),
                is_private,
            } if bytes.len() > PIECE_BYTES => {
                let rest = bytes.split_off(PIECE_BYTES);
                let append = |piece: &[u8]| FileStep::Append {
                    path: path.clone(),
                    bytes: Bytes(piece.to_vec()),
                };
                let mut parts: Vec<FileStep> = rest.chunks(PIECE_BYTES).map(append).collect();
                let first = FileStep::Write {
                    path,
                    bytes: Bytes(bytes),
                    is_private,
                };
                parts.insert(0, first);
                parts
            }
            FileStep::Link { from, to, names } => {
                let link = |names: &[String]| FileStep::Link {
                    from: from.clone(),
                    to: to.clone(),
                    names: names.to_vec(),
                };
                by_size(&names).into_iter().map(link).collect()
            }
            whole => vec![whole],
        }
    }

    /// Returns the approximate size of a step in a message before the encoding as base64, in bytes.
    fn bytes(&self) -> usize {
        const PATHS: usize = 1 << 10;
        PATHS
            + match self {
                FileStep::Write { bytes, .. } | FileStep::Append { bytes, .. } => bytes.0.len(),
                FileStep::Link { names, .. } => names.iter().map(|name| name_bytes(name)).sum(),
                _ => 0,
            }
    }
}

fn name_bytes(name: &str) -> usize {
    name.len() + "\"\",".len()
}

/// Groups names so that each group fits into a message. Returns at least one group.
fn by_size(names: &[String]) -> Vec<&[String]> {
    let mut groups = Vec::new();
    let (mut first, mut bytes) = (0, 0);
    for (index, name) in names.iter().enumerate() {
        bytes += name_bytes(name);
        if bytes > PIECE_BYTES {
            groups.push(&names[first..index]);
            (first, bytes) = (index, name_bytes(name));
        }
    }
    groups.push(&names[first..]);
    groups
}

impl Agent {
    /// Performs steps in order.
    ///
    /// # Errors
    /// A step fails. All earlier steps have been performed.
    pub fn change(&self, steps: Vec<FileStep>) -> Result<()> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        for step in steps.into_iter().flat_map(FileStep::parts) {
            if bytes + step.bytes() > PIECE_BYTES && !batch.is_empty() {
                self.call_for(&Change(std::mem::take(&mut batch)), CHANGE_LIMIT)?;
                bytes = 0;
            }
            bytes += step.bytes();
            batch.push(step);
        }
        self.call_for(&Change(batch), CHANGE_LIMIT)
    }

    /// Lists the entries of a folder, ordered by name. Returns `None` if the folder does not exist.
    /// If the name of a short file ends with `text_of`, the entry also contains the file's text.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn list(&self, folder: &Path, text_of: Option<&str>) -> Result<Option<Vec<Entry>>> {
        let mut call = List {
            folder: folder.to_owned(),
            after: None,
            text_of: text_of.map(str::to_owned),
        };
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let Some(page) = self.call(&call)? else {
                return Ok(None);
            };
            entries.extend(page.entries);
            call.after = entries.last().map(|entry| entry.name.clone());
            if page.is_last {
                return Ok(Some(entries));
            }
        }
    }

    /// Reads a piece of a file. Returns `None` if the file does not exist.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn piece(&self, path: &Path, from: From) -> Result<Option<Piece>> {
        let path = path.to_owned();
        self.call(&Get { path, from })
    }

    /// Returns a reader of a file that begins at an offset.
    pub fn reader<'a>(&'a self, path: &'a Path, at: u64) -> Reader<'a> {
        Reader {
            agent: self,
            path,
            at,
            piece: Vec::new(),
            used: 0,
        }
    }

    /// Reads a whole file.
    ///
    /// # Errors
    /// The file does not exist, or cannot be read.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = std::io::Read::read_to_end(&mut self.reader(path, 0), &mut bytes);
        read.with_context(|| format!("read {}", path.display()))?;
        Ok(bytes)
    }

    /// Computes the CRC-32 of files in or below a folder, in order. Reads bypass the page cache if
    /// the file system supports it.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn sums(&self, folder: &Path, names: &[String]) -> Result<Vec<u32>> {
        let mut sums = Vec::with_capacity(names.len());
        let mut begun = PartialChecksum::default();
        while sums.len() < names.len() {
            let group = by_size(&names[sums.len()..])[0].to_vec();
            let answer = self.call(&Sum {
                folder: folder.to_owned(),
                names: group,
                begun,
            })?;
            sums.extend(answer.whole);
            begun = answer.begun;
        }
        Ok(sums)
    }

    /// Returns the space usage of the file system that contains `path`.
    ///
    /// # Errors
    /// The path does not exist.
    pub fn space(&self, path: &Path) -> Result<VolumeUse> {
        self.call(&Space(path.to_owned()))
    }

    /// Returns the size of the block device that contains `path`. Returns `None` if the path is not
    /// on a block device.
    ///
    /// # Errors
    /// The path does not exist.
    pub fn device_bytes(&self, path: &Path) -> Result<Option<u64>> {
        self.call(&DeviceBytes(path.to_owned()))
    }

    /// Syncs all files below `folder`, and then drops them from the page cache, except files that a
    /// process has mapped.
    ///
    /// # Errors
    /// The files cannot be read.
    pub fn uncache(&self, folder: &Path) -> Result<()> {
        self.call_for(&EvictTree(folder.to_owned()), CHANGE_LIMIT)
    }
}

/// Reader of a file of a host, which fetches the file in pieces.
#[derive(Debug)]
pub struct Reader<'a> {
    agent: &'a Agent,
    path: &'a Path,
    at: u64,
    piece: Vec<u8>,
    /// Number of bytes of the piece that the reader has already returned.
    used: usize,
}

impl std::io::Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.used == self.piece.len() {
            let piece = self
                .agent
                .piece(self.path, From::Byte(self.at))
                .map_err(|error| std::io::Error::other(format!("{error:#}")))?;
            self.piece = piece.ok_or(ErrorKind::NotFound)?.bytes.0;
            self.at += self.piece.len() as u64;
            self.used = 0;
        }
        let count = buffer.len().min(self.piece.len() - self.used);
        buffer[..count].copy_from_slice(&self.piece[self.used..self.used + count]);
        self.used += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tests in `agent/src/files/tests.rs` check how the agent answers these calls.
    #[test]
    fn more_names_than_fit_a_message_are_divided() {
        let step = FileStep::Link {
            from: PathBuf::from("/given/from"),
            to: PathBuf::from("/given/making"),
            names: (0..3000).map(|n| format!("{n:0250}")).collect(),
        };
        assert!(step.clone().parts().len() > 1 && by_size(&[]).len() == 1);
    }
}
