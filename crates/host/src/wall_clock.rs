//! Shifts the wall clock of one process. The kernel has one wall clock for all processes, and time
//! namespaces do not shift this clock. So cassay preloads a library into the process, which shifts
//! the time that the process reads.

use crate::faults::Restartable;
use crate::files::{Bytes, FileStep};
use anyhow::{Context, Result};
use std::path::Path;

const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/clock.so"));

impl Restartable {
    /// Returns the start command with a wall clock that is shifted by `by_ms`. A negative value
    /// sets the clock behind. Also returns the step that writes the library to the path `library`.
    /// The monotonic clock does not change.
    ///
    /// # Errors
    /// The path is not Unicode.
    pub fn shifted(mut self, by_ms: i64, library: &Path) -> Result<(Restartable, FileStep)> {
        let path = library.to_str().context("read the path: it is not Unicode")?;
        self.environment([
            ("LD_PRELOAD", path.to_owned()),
            ("CASSAY_CLOCK_OFF_MS", by_ms.to_string()),
        ]);
        let file = FileStep::Write {
            path: library.to_owned(),
            bytes: Bytes(LIBRARY.to_vec()),
            is_private: false,
        };
        Ok((self, file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If the library depended on another library, the name of that library would be in its bytes.
    #[test]
    fn the_library_names_no_library_so_it_fits_every_c_library() {
        assert!(LIBRARY.starts_with(b"\x7fELF"));
        for name in [&b".so"[..], b"libc", b"GLIBC"] {
            assert!(!LIBRARY.windows(name.len()).any(|part| part == name));
        }
    }
}
