//! Packs files into an archive whose bytes depend only on the files. In the archive, the files are
//! sorted, have no owners, and have the same time.

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use tar::EntryType;

/// Files of a package, by path.
pub type Contents = BTreeMap<String, Packed>;

/// A file of a package.
#[derive(Clone)]
pub struct Packed {
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// True if the file is executable.
    pub is_program: bool,
}

impl Packed {
    /// Returns a file with this content that is not executable.
    pub fn plain(bytes: impl Into<Vec<u8>>) -> Packed {
        Packed {
            bytes: bytes.into(),
            is_program: false,
        }
    }

    /// Returns an executable file with this content.
    pub fn program(bytes: Vec<u8>) -> Packed {
        Packed {
            bytes,
            is_program: true,
        }
    }

    /// Returns the permissions of the file.
    pub fn mode(&self) -> u32 {
        if self.is_program { 0o755 } else { 0o644 }
    }
}

/// Packs the files as `.tar.gz`, in a folder with this name. All files get the time `epoch_s`, in
/// seconds since 1970.
///
/// # Errors
/// A path is too long.
pub fn packed(contents: &Contents, folder: &str, epoch_s: u64) -> Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    encoder
        .write_all(&plain(contents, folder, epoch_s)?)
        .context("compress the archive")?;
    encoder.finish().context("compress the archive")
}

/// Packs the files as `.tar`, in a folder with this name, like [`packed`] but without compression.
///
/// # Errors
/// A path is too long.
pub fn plain(contents: &Contents, folder: &str, epoch_s: u64) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    let mut add = |path: &str, kind: EntryType, mode: u32, bytes: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(bytes.len() as u64);
        header.set_mode(mode);
        header.set_mtime(epoch_s);
        header.set_uid(0);
        header.set_gid(0);
        let packed = archive.append_data(&mut header, path, bytes);
        packed.with_context(|| format!("pack {path}"))
    };
    for path in folders(contents, folder) {
        add(&path, EntryType::Directory, 0o755, &[])?;
    }
    for (path, file) in contents {
        add(
            &format!("{folder}/{path}"),
            EntryType::Regular,
            file.mode(),
            &file.bytes,
        )?;
    }
    archive.into_inner().context("end the archive")
}

/// Returns every folder that contains a file. Outer folders come first. They are needed because a
/// package removes only folders that it lists.
fn folders(contents: &Contents, folder: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for path in contents.keys() {
        let mut above = path.as_str();
        while let Some((outer, _)) = above.rsplit_once('/') {
            found.insert(format!("{folder}/{outer}/"));
            above = outer;
        }
    }
    found.insert(format!("{folder}/"));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn an_archive_is_the_same_twice_and_holds_what_was_packed() {
        let mut contents = Contents::new();
        contents.insert("bin/a".to_owned(), Packed::program(b"\x7fELF".to_vec()));
        contents.insert("README.md".to_owned(), Packed::plain("read"));
        let bytes = packed(&contents, "a-1", 86_400).unwrap();
        assert_eq!(bytes, packed(&contents, "a-1", 86_400).unwrap());
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(&bytes[..]));
        let mut read = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            if entry.header().entry_type().is_dir() {
                continue;
            }
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            let header = entry.header();
            let numbers = (
                header.mode().unwrap(),
                header.mtime().unwrap(),
                header.uid().unwrap(),
            );
            read.push((entry.path().unwrap().display().to_string(), numbers, text));
        }
        let file =
            |path: &str, mode, text: &str| (path.to_owned(), (mode, 86_400, 0), text.to_owned());
        let expected = [
            file("a-1/README.md", 0o644, "read"),
            file("a-1/bin/a", 0o755, "\x7fELF"),
        ];
        assert_eq!(read, expected);
    }
}
