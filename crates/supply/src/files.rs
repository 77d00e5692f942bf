//! Files of the cache: what tells one from another, and how one is written.

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// How much of a file is read at once.
const PIECE_BYTES: usize = 64 << 10;

/// What tells a file from every other one, and from itself before a change.
///
/// # Errors
/// It is not there.
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

/// SHA-256 of texts one behind the other, in lower-case hexadecimal digits.
pub fn digest_of_texts(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(text.as_bytes());
    }
    hex(&hash.finalize())
}

/// SHA-256 of a file, in lower-case hexadecimal digits.
///
/// # Errors
/// It cannot be read.
pub fn digest_of(path: &Path) -> std::io::Result<String> {
    digest_of_reader(&mut std::fs::File::open(path)?).map(|(digest, _)| digest)
}

/// SHA-256 of all that a reader gives, and how many bytes that were.
pub(crate) fn digest_of_reader(from: &mut dyn Read) -> std::io::Result<(String, u64)> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; PIECE_BYTES];
    let mut bytes = 0;
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            return Ok((hex(&hash.finalize()), bytes));
        }
        hash.update(&buffer[..count]);
        bytes += count as u64;
    }
}

/// Writes a file that others see whole or not at all.
///
/// # Errors
/// It cannot be written.
pub fn write_whole(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().context("a file without a folder")?;
    let mut file = tempfile::NamedTempFile::new_in(folder).context("write to the cache")?;
    file.write_all(text.as_bytes()).context("write to the cache")?;
    file.persist(path).with_context(|| format!("write {}", path.display()))?;
    Ok(())
}

/// Changes with every boot of the machine; empty when it cannot be read.
pub fn boot_id() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    text.map(|text| text.trim().to_string()).unwrap_or_default()
}

/// The last part of a path, where it is a text.
pub(crate) fn name_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
