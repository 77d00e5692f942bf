//! Identifies the files of the cache by inode, size and times, and writes files atomically.

use anyhow::{Context, Result};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
pub(crate) use versions::digest_of_reader;
pub use versions::{digest_of, digest_of_texts};

/// Returns a text that identifies a file and changes with the file's content.
///
/// # Errors
/// The file does not exist.
pub fn identity_of(path: &Path) -> Result<String> {
    let meta = path.metadata().with_context(|| format!("look at {}", path.display()))?;
    Ok(format!(
        "{} {}:{} {}.{} {}.{}",
        meta.len(),
        meta.dev(),
        meta.ino(),
        meta.mtime(),
        meta.mtime_nsec(),
        meta.ctime(),
        meta.ctime_nsec()
    ))
}

/// Writes a file atomically, so that readers see the whole file or no file.
///
/// # Errors
/// The file cannot be written.
pub fn write_whole(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().context("find the folder of the file")?;
    let mut file = tempfile::NamedTempFile::new_in(folder).context("write to the cache")?;
    file.write_all(text.as_bytes()).context("write to the cache")?;
    file.persist(path).with_context(|| format!("write {}", path.display()))?;
    Ok(())
}

/// Returns an id that changes with every boot of the machine. Empty if it cannot be read.
pub fn boot_id() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    text.map(|text| text.trim().to_string()).unwrap_or_default()
}

/// Returns the last component of a path, if it is valid UTF-8.
pub(crate) fn name_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}
