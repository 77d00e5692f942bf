//! Reads a file that another process appends to. Each read continues where the last one ended.

use crate::ndjson::LINE_BYTES_MAX;
use anyhow::{Context, Result, bail};
use foreign::FileKind;
use std::fs;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Maximum number of bytes of one read, which is enough for the longest line. A long file is read
/// in several steps, so that the reader can pause between them.
const READ_BYTES_MAX: usize = LINE_BYTES_MAX + 1;

/// A file that grows, and the position of the reader.
#[derive(Debug)]
pub(super) struct GrowingFile {
    kind: FileKind,
    path: PathBuf,
    /// Offset of the first byte that was not yet read.
    offset: u64,
    /// Device and inode of the file at the last read. `None` before the first read.
    id: Option<(u64, u64)>,
}

/// Result of one read.
#[derive(Debug, Default)]
pub(super) struct Growth {
    /// Whole lines, without their line breaks.
    pub lines: Vec<Vec<u8>>,
    /// True if another file replaced the file. The lines begin at the start of the new file.
    pub is_replaced: bool,
    /// True if the file probably has more lines.
    pub is_behind: bool,
}

impl GrowingFile {
    pub(super) fn new(kind: FileKind, path: &Path) -> GrowingFile {
        GrowingFile {
            kind,
            path: path.to_owned(),
            offset: 0,
            id: None,
        }
    }

    /// Returns the lines that were appended since the last read. A missing file has no lines. If
    /// the length of the file did not change, this function does not open it.
    ///
    /// # Errors
    /// The file cannot be read, or a line is longer than any line that cassay writes.
    pub(super) fn read(&mut self) -> Result<Growth> {
        let meta = match fs::metadata(&self.path) {
            Ok(meta) => meta,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Growth::default()),
            Err(e) => return Err(e).with_context(|| format!("read {}", self.path.display())),
        };
        let mut growth = Growth::default();
        let id = (meta.dev(), meta.ino());
        if self.id.is_some_and(|before| before != id) || meta.len() < self.offset {
            self.offset = 0;
            growth.is_replaced = true;
        }
        self.id = Some(id);
        if meta.len() == self.offset {
            return Ok(growth);
        }
        let bytes = self.rest().with_context(|| format!("read {}", self.path.display()))?;
        growth.is_behind = self.offset + (bytes.len() as u64) < meta.len();
        let Some(last) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            if bytes.len() == READ_BYTES_MAX {
                bail!(
                    "{} is damaged: a line has more than {LINE_BYTES_MAX} bytes",
                    self.path.display()
                );
            }
            return Ok(growth);
        };
        self.offset += last as u64 + 1;
        growth.lines = bytes[..last].split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        Ok(growth)
    }

    fn rest(&self) -> std::io::Result<Vec<u8>> {
        let mut file = foreign::open(self.kind, &self.path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = Vec::new();
        file.take(READ_BYTES_MAX as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn append(path: &Path, text: &str) {
        let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn lines(file: &mut GrowingFile) -> Vec<String> {
        let lines = file.read().unwrap().lines;
        lines.into_iter().map(|line| String::from_utf8(line).unwrap()).collect()
    }

    #[test]
    fn each_whole_line_of_a_growing_file_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ndjson");
        let mut file = GrowingFile::new(FileKind::Records, &path);
        assert!(lines(&mut file).is_empty(), "a missing file has no lines");
        append(&path, "1\n2\n3");
        assert_eq!(lines(&mut file), ["1", "2"]);
        assert!(lines(&mut file).is_empty());
        append(&path, "4\n\n");
        assert_eq!(lines(&mut file), ["34", ""]);
    }

    /// A resumed trial gets a new folder, so its files begin again.
    #[test]
    fn a_replaced_file_is_read_from_its_start() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ndjson");
        let mut file = GrowingFile::new(FileKind::Records, &path);
        append(&path, "old\nold\n");
        assert_eq!(lines(&mut file).len(), 2);
        fs::rename(&path, folder.path().join("b")).unwrap();
        append(&path, "new\n");
        let growth = file.read().unwrap();
        assert!(growth.is_replaced);
        assert_eq!(growth.lines, [b"new".to_vec()]);
    }

    #[test]
    fn a_line_without_an_end_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ndjson");
        fs::write(&path, "1".repeat(READ_BYTES_MAX + 1)).unwrap();
        let error = GrowingFile::new(FileKind::Records, &path).read().unwrap_err();
        assert!(
            format!("{error:#}").contains("a line has more than"),
            "{error:#}"
        );
    }
}
