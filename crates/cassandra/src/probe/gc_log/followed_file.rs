//! A log file that the probe reads line by line while the file grows.

use anyhow::Result;
use host::{Agent, FileId, From};
use std::path::{Path, PathBuf};

/// Number of bytes at the end of a log in which the reader searches for the last complete line. A
/// line has about 300 bytes.
const LAST_LINE_BYTES: u64 = 64 << 10;

/// Maximum length of an unfinished line, in bytes. The JVM writes shorter lines.
const LINE_BYTES_MAX: usize = 64 << 10;

pub(super) struct FollowedFile {
    path: PathBuf,
    id: FileId,
    offset: u64,
    partial: Vec<u8>,
}

impl FollowedFile {
    /// Opens a log. Reading starts at the beginning, or with `at_end` after the last complete line.
    pub(super) fn open(
        host: &Agent,
        path: PathBuf,
        id: FileId,
        at_end: bool,
    ) -> Result<FollowedFile> {
        let mut offset = 0;
        if at_end && let Some(tail) = host.piece(&path, From::End(LAST_LINE_BYTES))? {
            let whole = tail.bytes.0.iter().rposition(|byte| *byte == b'\n');
            offset = tail.at + whole.map_or(0, |last| last as u64 + 1);
        }
        Ok(FollowedFile {
            path,
            id,
            offset,
            partial: Vec::new(),
        })
    }

    /// Returns true if `path` and `id` still identify the opened file. The JVM renames logs when it
    /// rotates them.
    pub(super) fn is(&self, path: &Path, id: FileId) -> bool {
        self.path == path && (self.id.device, self.id.inode) == (id.device, id.inode)
    }

    /// Appends the lines that the JVM completed since the last call to `lines`.
    pub(super) fn read(&mut self, host: &Agent, lines: &mut Vec<Vec<u8>>) -> Result<()> {
        loop {
            let piece = host.piece(&self.path, From::Byte(self.offset))?;
            let Some(piece) = piece.filter(|piece| self.is(&self.path, piece.id)) else {
                return Ok(());
            };
            if piece.size < self.offset {
                // The file was truncated, or recreated under the same name.
                self.offset = 0;
                self.partial.clear();
                continue;
            }
            if piece.bytes.0.is_empty() {
                return Ok(());
            }
            self.offset += piece.bytes.0.len() as u64;
            self.add(&piece.bytes.0, lines);
        }
    }

    fn add(&mut self, new: &[u8], lines: &mut Vec<Vec<u8>>) {
        let mut pieces = new.split(|byte| *byte == b'\n');
        let rest = pieces.next_back().unwrap_or_default();
        for piece in pieces {
            let mut line = std::mem::take(&mut self.partial);
            line.extend_from_slice(piece);
            lines.push(line);
        }
        if self.partial.len() + rest.len() <= LINE_BYTES_MAX {
            self.partial.extend_from_slice(rest);
        }
    }
}
