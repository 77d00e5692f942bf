//! Digests of files, by which cassay distinguishes builds.

use data_encoding::HEXLOWER;
use foreign::FileKind;
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::Path;

/// Number of bytes of a file that are read in one step.
const PIECE_BYTES: usize = 64 << 10;

/// Returns the SHA-256 of concatenated texts, in lower-case hexadecimal digits.
pub fn digest_of_texts(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(text.as_bytes());
    }
    HEXLOWER.encode(&hash.finalize())
}

/// Returns the SHA-256 of a file, in lower-case hexadecimal digits.
///
/// # Errors
/// The file cannot be read.
pub fn digest_of(path: &Path) -> std::io::Result<String> {
    digest_of_reader(&mut foreign::open(FileKind::Archive, path)?).map(|(digest, _)| digest)
}

/// Returns the SHA-256 of all bytes that a reader returns, and the number of bytes.
///
/// # Errors
/// The reader cannot be read to its end.
pub fn digest_of_reader(from: &mut dyn Read) -> std::io::Result<(String, u64)> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; PIECE_BYTES];
    let mut bytes = 0;
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            return Ok((HEXLOWER.encode(&hash.finalize()), bytes));
        }
        hash.update(&buffer[..count]);
        bytes += count as u64;
    }
}
