//! Length and SHA-256 of every complete file, to detect damaged files.
//!
//! cassay uses SHA-256 rather than a CRC in order to detect edited files as well. Hashing a file
//! takes less time than reading it.

use anyhow::{Context, Result};
use data_encoding::HEXLOWER;
use foreign::{FileKind, OpenFile};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Description of an object, such as a folder or a link, that has the path of a file but is not a
/// file.
pub(crate) const NO_FILE: &str = "an object other than a file";

/// Number of bytes per read. It is large enough that the time of the system calls does not matter.
const BUFFER_BYTES: usize = 256 << 10;

/// Number of hexadecimal digits of a SHA-256 that a message shows.
const SHOWN_DIGITS: usize = 12;

/// Length and SHA-256 of a whole file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSum {
    /// Length of the file, bytes.
    pub bytes: u64,
    /// SHA-256 of the file, in hexadecimal digits.
    pub sha256: String,
}

/// Checksums of files. The keys are the paths of the files within a folder, with `/` as the
/// separator.
pub type Sums = BTreeMap<String, FileSum>;

impl FileSum {
    /// Returns the checksum of these bytes.
    pub fn compute(bytes: &[u8]) -> FileSum {
        FileSum {
            bytes: bytes.len() as u64,
            sha256: HEXLOWER.encode(&Sha256::digest(bytes)),
        }
    }

    /// Waits until the file at `path` is on the disk, and returns its checksum.
    pub(crate) fn sync_and_read(path: &Path) -> Result<FileSum> {
        let read = || -> io::Result<FileSum> {
            let file = foreign::open(FileKind::RunFile, path)?;
            file.file().sync_all()?;
            FileSum::from_reader(file)
        };
        read().with_context(|| format!("read {}", path.display()))
    }

    fn from_reader(mut file: OpenFile) -> io::Result<FileSum> {
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
            sha256: HEXLOWER.encode(&hash.finalize()),
        })
    }
}

impl fmt::Display for FileSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.sha256.get(..SHOWN_DIGITS).unwrap_or(&self.sha256);
        write!(f, "{} bytes with SHA-256 {digits}…", self.bytes)
    }
}

/// Extent to which the files of a run are verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Verifies every byte of all files.
    Bytes,
    /// Verifies every byte of the files that a page shows. The raw lines of long runs are not among
    /// these files.
    Shown,
    /// Verifies only that each file exists and has the recorded length. Lists use this extent,
    /// because they do not show figures from these files.
    Lengths,
}

/// A file that differs from its recorded state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Path of the file within the run's folder.
    pub file: String,
    /// Description of the file as recorded.
    pub expected: String,
    /// Description of the file as found.
    pub seen: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage {
            file,
            expected,
            seen,
        } = self;
        write!(f, "{file}: expected {expected}; found {seen}")
    }
}

/// A run that cassay does not show, because some of its files are damaged.
#[derive(Clone, Debug)]
pub struct DamagedRun {
    /// Folder of the run.
    pub run: PathBuf,
    /// Damaged files. The list is not empty.
    pub files: Vec<Damage>,
    /// True if `resume` can repeat the trials to which the damaged files belong.
    pub resumable: bool,
}

impl fmt::Display for DamagedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cassay does not show {}, which is damaged:",
            self.run.display()
        )?;
        for file in &self.files {
            write!(f, "\n  {file}")?;
        }
        write!(f, "\nhint: restore the files from a copy")?;
        if self.resumable {
            write!(
                f,
                ", or repeat the trials of these files: cassay resume {}",
                self.run.display()
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for DamagedRun {}

/// Compares the file at `folder`/`path` with `expected`. Returns the damage, or `None` if the file
/// matches.
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
        Err(e) => return Ok(seen(format!("cassay cannot read the file ({e})"))),
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
        match foreign::open(FileKind::RunFile, &whole).and_then(FileSum::from_reader) {
            Ok(sum) if sum == *expected => None,
            Ok(sum) => seen(sum.to_string()),
            Err(e) => seen(format!("cassay cannot read the file ({e})")),
        },
    )
}

fn is_absent(e: &io::Error) -> bool {
    matches!(
        e.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Returns the paths of the regular files under `folder`, sorted, relative to `folder` and with `/`
/// as the separator. Omits links and special files, because readers do not follow them.
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

/// Returns the first 16 hexadecimal digits of the SHA-256 of the concatenated `parts`.
pub(crate) fn short(parts: [&[u8]; 2]) -> String {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    HEXLOWER.encode(&hash.finalize()[..8])
}
