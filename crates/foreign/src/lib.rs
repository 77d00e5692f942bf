//! The only crate that opens files that others may have made, with limits on type, size and time.
//!
//! [`TextLines`] reads a text with a limit on each line. [`output`] opens a pipe or a device that a
//! user names for output.
//!
//! A user, a study, another tool or a shared results folder names these files. Such a path may lead
//! to a pipe without data, a device without an end, or a file that is larger than memory. [`open`]
//! never waits for such an object. It accepts only regular files, and only up to the size that
//! their [`FileKind`] allows. A read fails if the file exceeds the maximum size of its kind, or if
//! the disk does not answer in time. `cargo xtask tidy` refuses every other way to open a file.

mod kind;
mod output;
mod text_lines;

pub use kind::FileKind;
pub use output::{Output, output};
pub use text_lines::{Hole, Line, LineEnd, Source, TextLines};

use measure::clock;
use rustix::fs::{FileType, OFlags};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// Base time limit for reads of one file, regardless of the file's size. A network disk may be
/// unreachable for a while. If the disk is unreachable for longer than a minute, waiting is
/// unlikely to help.
const WAIT: Duration = Duration::from_secs(60);
/// Minimum speed that a disk must have, in bytes per second. A bad network has sixteen times this
/// speed, 1 MiB per second.
const BYTES_PER_S_MIN: u64 = 64 << 10;

/// A regular file of a certain kind, open for reading.
#[derive(Debug)]
pub struct OpenFile {
    file: File,
    kind: FileKind,
    /// Offset of the next byte to read.
    at: u64,
    bytes: u64,
    /// Time that reads have taken up to now, in nanoseconds.
    waited_ns: u64,
}

/// Opens a regular file without waiting. Follows links.
///
/// # Errors
/// The file cannot be opened, is not a regular file ([`is_no_file`]), or is larger than its kind
/// allows.
pub fn open(kind: FileKind, path: impl AsRef<Path>) -> io::Result<OpenFile> {
    open_with(kind, path.as_ref(), OFlags::empty())
}

/// Opens a regular file like [`open`], but refuses a link. Another user can therefore not redirect
/// the path to another file.
///
/// # Errors
/// As for [`open`], or the path is a link.
pub fn open_no_link(kind: FileKind, path: impl AsRef<Path>) -> io::Result<OpenFile> {
    open_with(kind, path.as_ref(), OFlags::NOFOLLOW)
}

/// Returns all bytes of a file.
///
/// # Errors
/// As for [`open`], or the file cannot be read.
pub fn read(kind: FileKind, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(kind, path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the whole content of a text file.
///
/// # Errors
/// As for [`read`], or the content is not UTF-8. If the content is not UTF-8, the error names the
/// first line with the mistake.
pub fn text(kind: FileKind, path: impl AsRef<Path>) -> io::Result<String> {
    utf8(read(kind, path)?)
}

/// Returns the text of these bytes.
///
/// # Errors
/// The content is not UTF-8. The error names the first line with the mistake.
pub fn utf8(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let (bytes, at) = (error.as_bytes(), error.utf8_error().valid_up_to());
        let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
        let message = format!(
            "line {line} is not UTF-8: it contains the byte 0x{:02X}; save the file as UTF-8",
            bytes.get(at).copied().unwrap_or_default()
        );
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

/// Returns true if an error of [`open`] means that the path does not lead to a regular file.
pub fn is_no_file(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<NoFile>())
}

/// Opens a regular file for appending without waiting. Creates the file if it does not exist.
///
/// # Errors
/// The file cannot be opened or created, or is not a regular file.
pub fn append(path: impl AsRef<Path>) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let mut options = OpenOptions::new();
    let file = refuse_socket(options.append(true).create(true).custom_flags(flags).open(path))?;
    check_plain(&file)?;
    Ok(file)
}

/// Opens a folder, so that the caller can sync it to the disk or refer to it by its descriptor.
///
/// # Errors
/// The folder does not exist, the user may not open it, or the path does not lead to a folder.
pub fn folder(path: impl AsRef<Path>) -> io::Result<File> {
    let flags = (OFlags::DIRECTORY | OFlags::NONBLOCK).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

fn open_with(kind: FileKind, path: &Path, more: OFlags) -> io::Result<OpenFile> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | more;
    let mut options = OpenOptions::new();
    let opened = options.read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let file = refuse_socket(opened)?;
    let found = check_plain(&file)?;
    let bytes = u64::try_from(found.st_size).unwrap_or_default();
    if bytes > kind.bytes_max() {
        return Err(too_large(kind, &format!("the file has {bytes} bytes")));
    }
    Ok(OpenFile {
        file,
        kind,
        at: 0,
        bytes: 0,
        waited_ns: 0,
    })
}

/// Converts the error ENXIO to [`NoFile`]. The system returns ENXIO for a socket, for a pipe
/// without a reader, and for a device that does not exist.
fn refuse_socket(opened: io::Result<File>) -> io::Result<File> {
    match opened {
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
            Err(no_file("a socket, a pipe or a device"))
        }
        opened => opened,
    }
}

/// Fails if a file is not regular. Returns the kernel's data about the file.
fn check_plain(file: &File) -> io::Result<rustix::fs::Stat> {
    let found = rustix::fs::fstat(file)?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => Ok(found),
        _ => Err(no_file(file_type(&found))),
    }
}

fn file_type(found: &rustix::fs::Stat) -> &'static str {
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => "a regular file",
        FileType::Directory => "a folder",
        FileType::Fifo => "a named pipe",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Socket => "a socket",
        _ => "an object of another kind",
    }
}

/// Error for a path that leads to an object other than a regular file. It contains a description of
/// that object.
#[derive(Debug)]
struct NoFile(&'static str);

impl std::fmt::Display for NoFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "this is not a file, but {}", self.0)
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

impl OpenFile {
    /// Returns the underlying file for uses other than reading and writing, such as its owner and
    /// its locks.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns the current size of the file, in bytes.
    ///
    /// # Errors
    /// The kernel does not report the size.
    pub fn bytes_count(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Fails if the disk has taken too long to answer so far.
    fn check_wait(&self) -> io::Result<()> {
        let allowed = WAIT + Duration::from_secs(self.bytes / BYTES_PER_S_MIN);
        if Duration::from_nanos(self.waited_ns) <= allowed {
            return Ok(());
        }
        let text = format!(
            "cassay could read only {} bytes of the file in {} s; copy the file to a faster disk",
            self.bytes,
            Duration::from_nanos(self.waited_ns).as_secs()
        );
        Err(io::Error::new(ErrorKind::TimedOut, text))
    }
}

impl Read for OpenFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.check_wait()?;
        let began_ns = clock::now_ns();
        let read = self.file.read(buffer);
        self.waited_ns += clock::now_ns().saturating_sub(began_ns);
        // The kernel reports some of its files as regular files, but a read of such a file waits
        // for the next event.
        let count = match read {
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                return Err(no_file("a file whose kind is unknown"));
            }
            read => read?,
        };
        self.at += count as u64;
        self.bytes += count as u64;
        if self.at > self.kind.bytes_max() {
            // Either the file has grown since it was opened, or the kernel did not report its size.
            let what = format!("the file has more than {} bytes", self.kind.bytes_max());
            return Err(too_large(self.kind, &what));
        }
        Ok(count)
    }
}

impl Seek for OpenFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = self.file.seek(to)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests;
