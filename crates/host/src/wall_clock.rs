//! Another wall clock for one process. The kernel has one for all, and its time namespaces leave it
//! as it is; a library of ours that is loaded before all others answers for it instead.

use crate::faults::Restartable;
use crate::files::{Bytes, Step};
use anyhow::{Context, Result};
use std::path::Path;

const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/clock.so"));

impl Restartable {
    /// The same, which is started with a wall clock that is off by so many milliseconds (below 0,
    /// behind), and the file that has to stand at `library` for that. What counts time without a
    /// date, the monotonic clock, is as before.
    ///
    /// # Errors
    /// The path is no Unicode.
    pub fn shifted(mut self, by_ms: i64, library: &Path) -> Result<(Restartable, Step)> {
        let path = library.to_str().context("a path that is no Unicode")?;
        self.environment([
            ("LD_PRELOAD", path.to_owned()),
            ("CASSAY_CLOCK_OFF_MS", by_ms.to_string()),
        ]);
        let file = Step::Write {
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

    /// What a library needs, and its own name, would stand in it.
    #[test]
    fn the_library_names_no_library_so_it_fits_every_c_library() {
        assert!(LIBRARY.starts_with(b"\x7fELF"));
        for name in [&b".so"[..], b"libc", b"GLIBC"] {
            assert!(!LIBRARY.windows(name.len()).any(|part| part == name));
        }
    }
}
