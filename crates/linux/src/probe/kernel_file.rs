//! Files of the kernel that are read repeatedly, and helpers for all their readers.
//!
//! A file remains open and is read by `pread` from its start, because opening a file costs several
//! times as much as reading it. An open file of a process continues to refer to that process or its
//! network namespace.

use anyhow::{Context, Result};
use rustix::io::Errno;
use std::borrow::Cow;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Initial size of the buffer, in bytes. On machines of ordinary size, all files that the probes
/// read are shorter. The buffer grows for a longer file.
const BUFFER_BYTES: usize = 16 << 10;

/// Size of the longest file that is accepted, in bytes. `/proc/interrupts` of the biggest machines
/// is smaller, so a longer file must have an unknown format.
const FILE_BYTES_MAX: usize = 4 << 20;

#[derive(Debug)]
pub(crate) struct KernelFile {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
}

impl KernelFile {
    pub fn open(path: impl Into<PathBuf>) -> Result<KernelFile> {
        let path = path.into();
        let file = File::open(&path).with_context(|| format!("read {}", path.display()))?;
        Ok(KernelFile {
            path,
            file,
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    /// Returns the current content of the file.
    ///
    /// # Errors
    /// The file can no longer be read (the process has ended), or is too long.
    pub fn read(&mut self) -> Result<Cow<'_, str>> {
        let mut length = 0;
        loop {
            if length == self.buffer.len() {
                anyhow::ensure!(
                    length < FILE_BYTES_MAX,
                    "{} is longer than {FILE_BYTES_MAX} bytes",
                    self.path.display()
                );
                self.buffer.resize(2 * length, 0);
            }
            let room = &mut self.buffer[length..];
            match self.file.read_at(room, length as u64) {
                Ok(0) => break,
                Ok(count) => length += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => {
                    anyhow::bail!("read {}: the process has ended", self.path.display());
                }
                Err(error) => {
                    return Err(error).with_context(|| format!("read {}", self.path.display()));
                }
            }
        }
        Ok(String::from_utf8_lossy(&self.buffer[..length]))
    }
}

#[derive(Clone, Debug)]
struct At<T> {
    pub at_ns: u64,
    pub value: T,
}

/// The last reading of counters, with which the next one is compared.
#[derive(Debug)]
pub struct Last<T>(Option<At<T>>);

impl<T> Last<T> {
    /// Creates a value that has no reading yet.
    pub const fn none() -> Last<T> {
        Last(None)
    }

    /// Stores `value`, and returns the previous value with the seconds since then. Returns `None`
    /// for the first value, and if no time has passed.
    pub fn replace(&mut self, at_ns: u64, value: T) -> Option<(T, f64)> {
        let before = self.0.replace(At { at_ns, value })?;
        let seconds = at_ns.saturating_sub(before.at_ns) as f64 / 1e9;
        (seconds > 0.0).then_some((before.value, seconds))
    }
}

/// Returns the increase of a counter. Returns `None` if the counter has decreased, which means that
/// its source has restarted.
pub(crate) fn grown(before: u64, now: u64) -> Option<f64> {
    now.checked_sub(before).map(|growth| growth as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_from_its_start_each_time_whatever_its_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "first").unwrap();
        let mut source = KernelFile::open(&path).unwrap();
        assert_eq!(source.read().unwrap(), "first");
        let long = "x".repeat(3 * BUFFER_BYTES + 1);
        std::fs::write(&path, &long).unwrap();
        assert_eq!(source.read().unwrap(), long);
        std::fs::write(&path, b"\xffok").unwrap();
        assert_eq!(source.read().unwrap(), "\u{fffd}ok");
        std::fs::write(&path, vec![b'x'; FILE_BYTES_MAX + 1]).unwrap();
        let error = source.read().unwrap_err().to_string();
        assert!(error.contains("is longer than 4194304 bytes"), "{error}");
    }

    #[test]
    fn a_counter_that_goes_backwards_has_not_grown() {
        assert_eq!(grown(5, 9), Some(4.0));
        assert_eq!(grown(5, 5), Some(0.0));
        assert_eq!(grown(u64::MAX, 1), None);
    }

    #[test]
    fn growth_is_related_to_the_time_that_has_really_passed() {
        let mut last = Last::none();
        assert_eq!(last.replace(1_000_000_000, 1), None);
        assert_eq!(last.replace(3_500_000_000, 2), Some((1, 2.5)));
        assert_eq!(last.replace(3_500_000_000, 3), None);
    }
}
