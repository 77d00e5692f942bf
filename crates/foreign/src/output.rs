//! Opens an object that a user names for output and that is not a regular file: a pipe, a terminal
//! or another device.
//!
//! Invariant: cassay never replaces such an object with a file. It writes to the object, or it
//! refuses the object with its type.

use crate::{file_type, no_file, refuse_socket};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, OFlags, Stat, stat};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Time to wait until a pipe has room, in seconds. A reader that takes nothing for a minute has
/// probably stopped.
const WAIT_S: i64 = 60;

/// An open object for output: a pipe, a device, or the process's own output.
#[derive(Debug)]
pub struct Output(File);

/// Opens the object at `path` for writing if it is not a regular file. Follows links. Returns
/// `None` if the path leads to a regular file or to nothing. A path such as `/dev/stdout` leads to
/// the process's own output, even if the shell has redirected this output to a file.
///
/// # Errors
/// The object is a folder, a disk or a socket, no process reads the pipe, or the user may not write
/// to the object.
pub fn output(path: impl AsRef<Path>) -> io::Result<Option<Output>> {
    let path = path.as_ref();
    let found = match stat(path) {
        Ok(found) => found,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    for own in [rustix::stdio::stdout(), rustix::stdio::stderr()] {
        // A closed output is not the object that the path leads to.
        if rustix::fs::fstat(own).is_ok_and(|own| is_same(&own, &found)) {
            return Ok(Some(Output(File::from(own.try_clone_to_owned()?))));
        }
    }
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => return Ok(None),
        FileType::CharacterDevice | FileType::Fifo => {}
        _ => return Err(no_file(file_type(&found))),
    }
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let opened = OpenOptions::new().write(true).custom_flags(flags).open(path);
    let is_unread = opened.as_ref().is_err_and(|e| e.raw_os_error() == Some(NXIO));
    if is_unread && FileType::from_raw_mode(found.st_mode) == FileType::Fifo {
        return Err(io::Error::new(
            ErrorKind::BrokenPipe,
            "this is a named pipe that no process reads; start the reader first",
        ));
    }
    Ok(Some(Output(refuse_socket(opened)?)))
}

/// Number of the error for a pipe without a reader.
const NXIO: i32 = Errno::NXIO.raw_os_error();

fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                written => return written,
            }
            let wait = Timespec {
                tv_sec: WAIT_S,
                tv_nsec: 0,
            };
            if poll(&mut [PollFd::new(&self.0, PollFlags::OUT)], Some(&wait))? == 0 {
                let text = format!("the reader of the pipe read nothing for {WAIT_S} s");
                return Err(io::Error::new(ErrorKind::TimedOut, text));
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
