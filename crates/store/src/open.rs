//! The one way in which files of a run are opened for reading. A run may come from somebody else:
//! where a file should be, there may be a pipe that never says anything, or a device without an
//! end.

use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// What stands where a file should be.
pub(crate) const NO_FILE: &str = "something that is no file";

/// Opens a file, and nothing else: not even waits for what a pipe says.
///
/// # Errors
/// It cannot be opened, or is no file: [`is_no_file`].
pub(crate) fn file(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path);
    let file = match opened {
        // A socket cannot be opened at all.
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
            return Err(no_file());
        }
        opened => opened?,
    };
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(no_file())
    }
}

/// All that is in a file.
///
/// # Errors
/// As [`file`].
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// As [`read`], of a text.
///
/// # Errors
/// As [`file`], or it is no UTF-8.
pub(crate) fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    file(path)?.read_to_string(&mut text)?;
    Ok(text)
}

fn no_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, NO_FILE)
}

/// Whether a path could not be opened because there is something else than a file.
pub(crate) fn is_no_file(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidData && error.to_string() == NO_FILE
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let pipe = path("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
        let endless = path("endless");
        std::os::unix::fs::symlink("/dev/zero", &endless).unwrap();
        let socket = path("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [
            pipe,
            endless,
            socket,
            folder.path().to_owned(),
            PathBuf::from("/dev/tty"),
        ] {
            let Err(error) = file(&path) else {
                panic!("{} was opened", path.display());
            };
            assert!(
                is_no_file(&error) || path.starts_with("/dev"),
                "{}: {error}",
                path.display()
            );
        }
        let plain = path("plain");
        std::fs::write(&plain, "a\n").unwrap();
        assert_eq!(read_to_string(&plain).unwrap(), "a\n");
        assert_eq!(
            file(&path("absent")).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }
}
