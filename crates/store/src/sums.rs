//! Length and SHA-256 of every file that has come to its end: what tells a whole file from a
//! damaged one.
//!
//! SHA-256 rather than a CRC: a file that somebody has edited must not pass either, and reading the
//! file takes longer than hashing it.

use anyhow::{Context, Result};
use foreign::{FileKind, Opened};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// How a damage calls what stands where a file should be.
pub(crate) const NO_FILE: &str = "something that is no file";

/// Read at once: enough that system calls do not count.
const BUFFER_BYTES: usize = 256 << 10;

/// Digits of a SHA-256 that a message shows.
const SHOWN_DIGITS: usize = 12;

/// A file as it was when it was whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSum {
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
}

/// Files by their path within a folder, with `/` between its parts.
pub type Sums = BTreeMap<String, FileSum>;

impl FileSum {
    /// Of these bytes.
    pub fn of(bytes: &[u8]) -> FileSum {
        FileSum {
            bytes: bytes.len() as u64,
            sha256: hex(&Sha256::digest(bytes)),
        }
    }

    /// Of the file at `path`, and waits until it is on the disk.
    pub(crate) fn of_file_synced(path: &Path) -> Result<FileSum> {
        let read = || -> io::Result<FileSum> {
            let file = foreign::open(FileKind::RunFile, path)?;
            file.file().sync_all()?;
            FileSum::of_reader(file)
        };
        read().with_context(|| format!("read {}", path.display()))
    }

    fn of_reader(mut file: Opened) -> io::Result<FileSum> {
        let (mut hash, mut bytes) = (Sha256::new(), 0);
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                read => {
                    hash.update(&buffer[..read]);
                    bytes += read as u64;
                }
            }
        }
        Ok(FileSum {
            bytes,
            sha256: hex(&hash.finalize()),
        })
    }
}

impl fmt::Display for FileSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.sha256.get(..SHOWN_DIGITS).unwrap_or(&self.sha256);
        write!(f, "{} bytes with SHA-256 {digits}…", self.bytes)
    }
}

/// How closely files are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Every byte.
    Bytes,
    /// Every byte of what is shown: of long runs not the raw lines.
    Shown,
    /// Whether they are there, with their length: for lists, which show no number of them.
    Lengths,
}

/// A file that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Its path within the run's folder.
    pub file: String,
    /// What it was, in words.
    pub expected: String,
    /// What it is, in words.
    pub seen: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage {
            file,
            expected,
            seen,
        } = self;
        write!(f, "{file}: expected {expected}; seen {seen}")
    }
}

/// A run that is not shown, since files of it are not what they were.
#[derive(Clone, Debug)]
pub struct Damaged {
    /// Folder of the run.
    pub run: PathBuf,
    /// The files; at least one.
    pub files: Vec<Damage>,
    /// Whether the rest can go on without them: whether `resume` does anything about it.
    pub resumable: bool,
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is damaged, and is not shown:", self.run.display())?;
        for file in &self.files {
            write!(f, "\n  {file}")?;
        }
        write!(f, "\nhint: bring the files back from a copy")?;
        if self.resumable {
            write!(
                f,
                ", or do the trials that they belong to again: cassay resume {}",
                self.run.display()
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for Damaged {}

/// What differs between the file at `folder`/`path` and `expected`; none if nothing does.
pub(crate) fn damage(
    folder: &Path,
    path: &str,
    expected: &FileSum,
    depth: Depth,
) -> Result<Option<Damage>> {
    let place = crate::name::inner_path(path)?;
    let whole = folder.join(place);
    let seen = |what: String| {
        Some(Damage {
            file: path.to_owned(),
            expected: expected.to_string(),
            seen: what,
        })
    };
    let meta = match fs::symlink_metadata(&whole) {
        Ok(meta) => meta,
        Err(e) if is_absent(&e) => return Ok(seen("no file".to_owned())),
        Err(e) => return Ok(seen(format!("it cannot be read ({e})"))),
    };
    if !meta.is_file() {
        return Ok(seen(NO_FILE.to_owned()));
    }
    if meta.len() != expected.bytes {
        return Ok(seen(format!("{} bytes", meta.len())));
    }
    if depth == Depth::Lengths {
        return Ok(None);
    }
    Ok(
        match foreign::open(FileKind::RunFile, &whole).and_then(FileSum::of_reader) {
            Ok(sum) if sum == *expected => None,
            Ok(sum) => seen(sum.to_string()),
            Err(e) => seen(format!("it cannot be read ({e})")),
        },
    )
}

fn is_absent(e: &io::Error) -> bool {
    matches!(
        e.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// The plain files under `folder`, by their path in it with `/` between its parts, sorted. Links
/// and what is neither file nor folder are left out: nobody reads them.
pub(crate) fn files_in(folder: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(inner) = folders.pop() {
        let path = folder.join(&inner);
        let place = || format!("read {}", path.display());
        for entry in fs::read_dir(&path).with_context(place)? {
            let entry = entry.with_context(place)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let name = match inner.as_str() {
                "" => name,
                inner => format!("{inner}/{name}"),
            };
            let kind = entry.file_type().with_context(place)?;
            if kind.is_dir() {
                folders.push(name);
            } else if kind.is_file() {
                files.push(name);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The first 16 hexadecimal digits of the SHA-256 of these bytes, one after the other.
pub(crate) fn short(parts: [&[u8]; 2]) -> String {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    hex(&hash.finalize()[..8])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
