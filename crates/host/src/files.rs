//! Files of a host, by its agent.
//!
//! What must hold: a path is the host's own, and below a folder that its agent was given when it
//! began; and whatever is asked travels in parts that fit a message, however many files there are
//! and however large they are.

use crate::agent::Agent;
use crate::calls::calls;
use anyhow::{Context, Result};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use kernel::volume::VolumeUse;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Most bytes of a file, or of names, in one message: 700 kB as base64, of the 1 MiB that it has.
pub const PIECE_BYTES: usize = 512 << 10;

/// Most bytes that are summed for one answer: it comes within a minute from any disk, and an agent
/// whose controller is gone is not kept from ending for longer.
pub const SUM_BYTES: u64 = 64 << 20;

/// How long one change may take: a volume gives its blocks back while a large tree is removed.
const CHANGE_LIMIT: Duration = Duration::from_secs(600);

calls! {
    Change = "change-files" -> ();
    List = "list-a-folder" -> Option<Page>;
    Get = "read-a-file" -> Option<Piece>;
    Sum = "sum-files-up" -> Sums;
    Space = "tell-the-room-of-a-volume" -> VolumeUse;
    DeviceBytes = "tell-the-size-of-a-device" -> Option<u64>;
    Uncache = "drop-files-from-the-page-cache" -> ();
}

/// Does one thing after the other; the first that fails is the last.
#[derive(Serialize, Deserialize)]
pub struct Change(pub Vec<Step>);

/// What stands in a folder, from a name on.
#[derive(Serialize, Deserialize)]
pub struct List {
    /// The folder.
    pub folder: PathBuf,
    /// The last name that is known already.
    pub after: Option<String>,
    /// Files whose names end so come with their text.
    pub text_of: Option<String>,
}

/// A part of what stands in a folder.
#[derive(Serialize, Deserialize)]
pub struct Page {
    /// In the order of their names.
    pub entries: Vec<Entry>,
    /// Whether nothing comes behind it.
    pub is_last: bool,
}

/// A piece of a file.
#[derive(Serialize, Deserialize)]
pub struct Get {
    /// The file.
    pub path: PathBuf,
    /// Where the piece begins.
    pub from: From,
}

/// The CRC-32 of files of a folder.
#[derive(Serialize, Deserialize)]
pub struct Sum {
    /// The folder.
    pub folder: PathBuf,
    /// The files, in their order.
    pub names: Vec<String>,
    /// How far the first of them has come.
    pub begun: Begun,
}

/// How far a file has been summed up: its sum so far, and of how many bytes.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub struct Begun {
    /// Its sum so far.
    pub crc: u32,
    /// Of how many bytes.
    pub bytes: u64,
}

/// What came of summing up.
#[derive(Serialize, Deserialize)]
pub struct Sums {
    /// Of the first names.
    pub whole: Vec<u32>,
    /// Of the name behind them.
    pub begun: Begun,
}

/// The use of the file system that a path is on.
#[derive(Serialize, Deserialize)]
pub struct Space(pub PathBuf);

/// The size of the block device that a path is on.
#[derive(Serialize, Deserialize)]
pub struct DeviceBytes(pub PathBuf);

/// Writes what is not written yet, then drops a tree's files from the page cache.
#[derive(Serialize, Deserialize)]
pub struct Uncache(pub PathBuf);

/// Something that is done to files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Makes a folder, with those above it.
    Folder(PathBuf),
    /// Writes a file anew; a private one can be read by its owner only.
    Write {
        /// The path of the file.
        path: PathBuf,
        /// What it holds then.
        bytes: Bytes,
        /// Whether it is its owner's alone.
        is_private: bool,
    },
    /// Writes behind what a file holds.
    Append {
        /// The path of the file.
        path: PathBuf,
        /// What comes behind.
        bytes: Bytes,
    },
    /// Gives files a second name in another folder, which is made.
    Link {
        /// Where they are.
        from: PathBuf,
        /// Where they will be, too.
        to: PathBuf,
        /// Below both folders.
        names: Vec<String>,
    },
    /// Gives all files of a tree a second name in another tree, which is made.
    LinkTree {
        /// Where they are.
        from: PathBuf,
        /// Where they will be, too: not below the first.
        to: PathBuf,
    },
    /// Gives a file or a tree another name.
    Rename {
        /// The old one.
        from: PathBuf,
        /// The new one.
        to: PathBuf,
    },
    /// Removes what stands in a folder, if there is such a folder.
    Clear {
        /// The path of the folder.
        folder: PathBuf,
        /// Folders in it that stay.
        but: Vec<String>,
    },
    /// Removes a file or a tree, if it is there.
    Remove(PathBuf),
}

/// Bytes of a file: base64 on the wire.
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

/// What stands in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name there.
    pub name: String,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Its size.
    pub bytes: u64,
    /// Which file it is.
    pub id: FileId,
    /// What it holds, if that was asked for and it is a file that is as short as it was said to be.
    pub text: Option<String>,
}

/// What tells a file from another one that has its name, or from itself before it was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileId {
    /// The device that it is on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// When it was written to last, in nanoseconds since 1970.
    pub changed_ns: i64,
}

/// Where in a file a piece begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum From {
    /// At this byte.
    Byte(u64),
    /// So many bytes before its end, or at its beginning if it is shorter.
    End(u64),
}

/// A piece of a file: up to 512 KiB.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// What stands there; nothing behind the end.
    pub bytes: Bytes,
    /// Where it begins.
    pub at: u64,
    /// The size of the file.
    pub size: u64,
    /// Which file it is.
    pub id: FileId,
}

impl Step {
    /// A file that everybody may read.
    pub fn write(path: PathBuf, bytes: impl Into<Vec<u8>>) -> Step {
        Step::Write {
            path,
            bytes: Bytes(bytes.into()),
            is_private: false,
        }
    }

    /// The same in steps that fit a message each.
    fn parts(self) -> Vec<Step> {
        match self {
            Step::Write {
                path,
                bytes: Bytes(mut bytes),
                is_private,
            } if bytes.len() > PIECE_BYTES => {
                let rest = bytes.split_off(PIECE_BYTES);
                let append = |piece: &[u8]| Step::Append {
                    path: path.clone(),
                    bytes: Bytes(piece.to_vec()),
                };
                let mut parts: Vec<Step> = rest.chunks(PIECE_BYTES).map(append).collect();
                let first = Step::Write {
                    path,
                    bytes: Bytes(bytes),
                    is_private,
                };
                parts.insert(0, first);
                parts
            }
            Step::Link { from, to, names } => {
                let link = |names: &[String]| Step::Link {
                    from: from.clone(),
                    to: to.clone(),
                    names: names.to_vec(),
                };
                by_size(&names).into_iter().map(link).collect()
            }
            whole => vec![whole],
        }
    }

    /// About how many bytes of a message it takes, before they are base64.
    fn bytes(&self) -> usize {
        const PATHS: usize = 1 << 10;
        PATHS
            + match self {
                Step::Write { bytes, .. } | Step::Append { bytes, .. } => bytes.0.len(),
                Step::Link { names, .. } => names.iter().map(|name| name_bytes(name)).sum(),
                _ => 0,
            }
    }
}

fn name_bytes(name: &str) -> usize {
    name.len() + "\"\",".len()
}

/// Names in groups that fit a message each; one group at least.
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
    /// Does one thing after the other.
    ///
    /// # Errors
    /// The first that cannot be done; those before it are done.
    pub fn change(&self, steps: Vec<Step>) -> Result<()> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        for step in steps.into_iter().flat_map(Step::parts) {
            if bytes + step.bytes() > PIECE_BYTES && !batch.is_empty() {
                self.call_for(&Change(std::mem::take(&mut batch)), CHANGE_LIMIT)?;
                bytes = 0;
            }
            bytes += step.bytes();
            batch.push(step);
        }
        self.call_for(&Change(batch), CHANGE_LIMIT)
    }

    /// What stands in a folder, by name; `None` if there is no such folder. Files that end with
    /// `text_of` come with what they hold, if that is short.
    ///
    /// # Errors
    /// It cannot be read.
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

    /// A piece of a file; `None` if there is no such file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn piece(&self, path: &Path, from: From) -> Result<Option<Piece>> {
        let path = path.to_owned();
        self.call(&Get { path, from })
    }

    /// A file from a byte on, piece by piece.
    pub fn reader<'a>(&'a self, path: &'a Path, at: u64) -> Reader<'a> {
        Reader {
            agent: self,
            path,
            at,
            piece: Vec::new(),
            used: 0,
        }
    }

    /// All of a file.
    ///
    /// # Errors
    /// There is no such file, or it cannot be read.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = std::io::Read::read_to_end(&mut self.reader(path, 0), &mut bytes);
        read.with_context(|| format!("read {}", path.display()))?;
        Ok(bytes)
    }

    /// The CRC-32 of files in or below a folder, in their order, read past the page cache where
    /// their file system can do that.
    ///
    /// # Errors
    /// One cannot be read.
    pub fn sums(&self, folder: &Path, names: &[String]) -> Result<Vec<u32>> {
        let mut sums = Vec::with_capacity(names.len());
        let mut begun = Begun::default();
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

    /// The use of the file system that `path` is on.
    ///
    /// # Errors
    /// There is no such path.
    pub fn space(&self, path: &Path) -> Result<VolumeUse> {
        self.call(&Space(path.to_owned()))
    }

    /// The size of the device that `path` is on; none where it is on no block device.
    ///
    /// # Errors
    /// There is no such path.
    pub fn device_bytes(&self, path: &Path) -> Result<Option<u64>> {
        self.call(&DeviceBytes(path.to_owned()))
    }

    /// Writes what is not written to disk yet, then drops all files below `folder` from the page
    /// cache, but for those that somebody maps.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn uncache(&self, folder: &Path) -> Result<()> {
        self.call_for(&Uncache(folder.to_owned()), CHANGE_LIMIT)
    }
}

/// A file of a host, read piece by piece.
#[derive(Debug)]
pub struct Reader<'a> {
    agent: &'a Agent,
    path: &'a Path,
    at: u64,
    piece: Vec<u8>,
    /// How much of the piece was given out.
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

    /// An agent links them in `agent/src/files/tests.rs`.
    #[test]
    fn more_names_than_fit_a_message_are_divided() {
        let step = Step::Link {
            from: PathBuf::from("/given/from"),
            to: PathBuf::from("/given/making"),
            names: (0..3000).map(|n| format!("{n:0250}")).collect(),
        };
        assert!(step.clone().parts().len() > 1 && by_size(&[]).len() == 1);
    }
}
