//! The only crate that knows how a file is opened that others may have made: what it may be, how
//! large, and how long it may take.
//!
//! A user, a study, another tool or somebody's results folder names a file. There may be a pipe
//! that never says anything, a device without an end, or more bytes than memory has. [`open`] waits
//! for none of them: it refuses what is no plain file and what is larger than a file of its
//! [`FileKind`] may be. What it gives reads no more than that, and ends where a disk does not
//! answer.
//! `cargo xtask tidy` refuses every other way to open a file.

mod kind;

pub use kind::FileKind;

use measure::clock;
use rustix::fs::{FileType, OFlags};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// How long reads of one file may wait for its disk, whatever its size: a network's may be away
/// for a while, and what is away for a minute does not come back while somebody looks.
const WAIT: Duration = Duration::from_secs(60);
/// The slowest disk that is read to the end: a sixteenth of what a bad network gives.
const BYTES_PER_S_MIN: u64 = 64 << 10;

/// A plain file of a kind, open for reading.
#[derive(Debug)]
pub struct Opened {
    file: File,
    kind: FileKind,
    /// Where the next byte is read.
    at: u64,
    /// How many bytes were read so far.
    bytes: u64,
    /// How long reads have taken so far, in nanoseconds.
    waited_ns: u64,
}

/// Opens a plain file, and nothing else, without waiting. A link is followed.
///
/// # Errors
/// It cannot be opened, is no plain file ([`is_no_file`]), or is larger than its kind may be.
pub fn open(kind: FileKind, path: impl AsRef<Path>) -> io::Result<Opened> {
    open_with(kind, path.as_ref(), OFlags::empty())
}

/// As [`open`], but a link is refused: nobody else can make this open a file elsewhere.
///
/// # Errors
/// As there.
pub fn open_no_link(kind: FileKind, path: impl AsRef<Path>) -> io::Result<Opened> {
    open_with(kind, path.as_ref(), OFlags::NOFOLLOW)
}

/// All bytes of a file.
///
/// # Errors
/// As [`open`], or it cannot be read.
pub fn read(kind: FileKind, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(kind, path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// All of a file that is a text.
///
/// # Errors
/// As [`read`], or it is no UTF-8.
pub fn text(kind: FileKind, path: impl AsRef<Path>) -> io::Result<String> {
    let mut text = String::new();
    open(kind, path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Whether an error of [`open`] means that something else than a file is there.
pub fn is_no_file(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<NoFile>())
}

/// Opens a plain file for appending, and makes it where there is none, without waiting.
///
/// # Errors
/// It cannot be opened or made, or is no plain file.
pub fn append(path: impl AsRef<Path>) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let mut options = OpenOptions::new();
    let file = refuse_socket(options.append(true).create(true).custom_flags(flags).open(path))?;
    check_plain(&file)?;
    Ok(file)
}

/// Opens a folder, to have it written to the disk or to name it by its descriptor.
///
/// # Errors
/// It is not there, may not be opened, or is no folder.
pub fn folder(path: impl AsRef<Path>) -> io::Result<File> {
    let flags = (OFlags::DIRECTORY | OFlags::NONBLOCK).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

fn open_with(kind: FileKind, path: &Path, more: OFlags) -> io::Result<Opened> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | more;
    let mut options = OpenOptions::new();
    let opened = options.read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let file = refuse_socket(opened)?;
    let found = check_plain(&file)?;
    let bytes = u64::try_from(found.st_size).unwrap_or_default();
    if bytes > kind.bytes_max() {
        return Err(too_large(kind, &format!("it has {bytes} bytes")));
    }
    Ok(Opened {
        file,
        kind,
        at: 0,
        bytes: 0,
        waited_ns: 0,
    })
}

/// A socket cannot be opened at all, nor a pipe for writing that is not read.
fn refuse_socket(opened: io::Result<File>) -> io::Result<File> {
    match opened {
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
            Err(no_file("a socket, a pipe or a device"))
        }
        opened => opened,
    }
}

/// Refuses what is no plain file; what the kernel says of one.
fn check_plain(file: &File) -> io::Result<rustix::fs::Stat> {
    let found = rustix::fs::fstat(file)?;
    let what = match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => return Ok(found),
        FileType::Directory => "a folder",
        FileType::Fifo => "a named pipe",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Socket => "a socket",
        _ => "something of another kind",
    };
    Err(no_file(what))
}

/// The name of something that stands where a file should be.
#[derive(Debug)]
struct NoFile(&'static str);

impl std::fmt::Display for NoFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "it is no file, but {}", self.0)
    }
}

impl std::error::Error for NoFile {}

fn no_file(what: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, NoFile(what))
}

fn too_large(kind: FileKind, what: &str) -> io::Error {
    let (called, most) = (kind.called(), kind.bytes_max());
    let text = format!("{what}; {called} has at most {most}");
    io::Error::new(ErrorKind::FileTooLarge, text)
}

impl Opened {
    /// The file itself, for what is neither read nor written: its owner, its locks.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Its size now, in bytes.
    ///
    /// # Errors
    /// The kernel does not say it.
    pub fn bytes_count(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Refuses to go on where the disk has not answered for too long.
    fn check_wait(&self) -> io::Result<()> {
        let allowed = WAIT + Duration::from_secs(self.bytes / BYTES_PER_S_MIN);
        if Duration::from_nanos(self.waited_ns) <= allowed {
            return Ok(());
        }
        let text = format!(
            "its disk gave {} bytes in {} s; copy it to a faster one",
            self.bytes,
            Duration::from_nanos(self.waited_ns).as_secs()
        );
        Err(io::Error::new(ErrorKind::TimedOut, text))
    }
}

impl Read for Opened {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.check_wait()?;
        let began_ns = clock::now_ns();
        let read = self.file.read(buffer);
        self.waited_ns += clock::now_ns().saturating_sub(began_ns);
        // Some files of the kernel are plain, and yet wait for what happens next.
        let count = match read {
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                return Err(no_file("something that has yet to say what is in it"));
            }
            read => read?,
        };
        self.at += count as u64;
        self.bytes += count as u64;
        if self.at > self.kind.bytes_max() {
            // It has grown since it was opened, or its size is not known before.
            let what = format!("it has more than {} bytes", self.kind.bytes_max());
            return Err(too_large(self.kind, &what));
        }
        Ok(count)
    }
}

impl Seek for Opened {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = self.file.seek(to)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests;
