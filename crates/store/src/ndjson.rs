//! Reads and writes files with one JSON record per line (`*.ndjson`), line by line.
//!
//! Each line is written with one call, so a reader that follows the file sees whole lines. A writer
//! that is killed leaves at most one incomplete line, which is the last line and has no line break.
//! A reader skips this line and reports it. A damaged line elsewhere is an error, which names the
//! file and the line.

use anyhow::{Context, Result, anyhow, ensure};
use foreign::{FileKind, OpenFile};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// Maximum length of a line, in bytes. The longest line describes all nodes of a cluster. The error
/// about a damaged line needs many times the memory of the line.
pub(crate) const LINE_BYTES_MAX: usize = 4 << 20;

/// Writer that appends whole lines to one file. If the disk is full and only a part of a line was
/// written, the writer removes that part again. Otherwise the next line would continue the
/// incomplete line.
#[derive(Debug)]
pub(crate) struct LineWriter {
    file: File,
    path: PathBuf,
    line: Vec<u8>,
    /// Total length of the whole lines in the file, in bytes.
    whole_bytes: u64,
}

impl LineWriter {
    /// Opens `path` for appending, and creates a missing file.
    pub(crate) fn open(path: &Path) -> Result<LineWriter> {
        let file = foreign::append(path)
            .with_context(|| format!("open {} for appending", path.display()))?;
        let length = file.metadata();
        let whole_bytes =
            length.with_context(|| format!("read the size of {}", path.display()))?.len();
        Ok(LineWriter {
            file,
            path: path.to_owned(),
            line: Vec::new(),
            whole_bytes,
        })
    }

    pub(crate) fn append<T: Serialize>(&mut self, record: &T) -> Result<()> {
        self.line.clear();
        crate::json::compact(&mut self.line, record)
            .with_context(|| format!("encode a record for {}", self.path.display()))?;
        self.line.push(b'\n');
        let line = std::mem::take(&mut self.line);
        let written = self.append_bytes(&line);
        self.line = line;
        written
    }

    /// Appends `text`, which must end with a line break.
    pub(crate) fn append_text(&mut self, text: &str) -> Result<()> {
        self.append_bytes(text.as_bytes())
    }

    fn append_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.append_by(bytes, |file, bytes| file.write_all(bytes))
    }

    fn append_by(
        &mut self,
        bytes: &[u8],
        write: impl FnOnce(&mut File, &[u8]) -> std::io::Result<()>,
    ) -> Result<()> {
        let written = write(&mut self.file, bytes);
        match written {
            Ok(()) => self.whole_bytes += bytes.len() as u64,
            // The caller needs the error of the write, so a failure to truncate is ignored. Readers
            // of the file will then detect the incomplete line.
            Err(_) => _ = self.file.set_len(self.whole_bytes),
        }
        written.with_context(|| format!("append to {}", self.path.display()))
    }

    /// Waits until all lines are on the disk.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.file.sync_data().with_context(|| format!("sync {}", self.path.display()))
    }

    /// Returns the file, so that the caller can lock it.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Removes an incomplete last line, which a killed writer left.
    pub(crate) fn cut_torn_line(&mut self) -> Result<()> {
        let bytes = foreign::read(FileKind::Journal, &self.path)
            .with_context(|| format!("read {}", self.path.display()))?;
        let last = bytes.iter().rposition(|b| *b == b'\n');
        self.whole_bytes = last.map_or(0, |last| last + 1) as u64;
        if self.whole_bytes == bytes.len() as u64 {
            return Ok(());
        }
        let cut = self.file.set_len(self.whole_bytes);
        cut.with_context(|| format!("remove the incomplete last line of {}", self.path.display()))
    }
}

/// Iterator over the records of a file. It reads one line at a time, in constant memory.
#[derive(Debug)]
pub struct Lines<T> {
    reader: Option<BufReader<OpenFile>>,
    path: PathBuf,
    line_number: usize,
    line: Vec<u8>,
    torn: Option<String>,
    record: PhantomData<T>,
}

impl<T: DeserializeOwned> Lines<T> {
    /// Opens the file at `path`. A missing file is read as an empty file, because the run ended
    /// before the file was created.
    pub fn open(path: &Path) -> Result<Lines<T>> {
        let reader = match foreign::open(FileKind::Records, path) {
            Ok(file) => Some(BufReader::new(file)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
            Err(e) => return Err(e).with_context(|| format!("open {}", path.display())),
        };
        Ok(Lines {
            reader,
            path: path.to_owned(),
            line_number: 0,
            line: Vec::new(),
            torn: None,
            record: PhantomData,
        })
    }

    /// Returns a sentence about an incomplete last line, once the end of the file was reached.
    /// `None` if the last line is complete.
    pub fn torn(&self) -> Option<&str> {
        self.torn.as_deref()
    }

    fn read_line(&mut self) -> Result<Option<T>> {
        let Some(reader) = &mut self.reader else {
            return Ok(None);
        };
        self.line.clear();
        self.line_number += 1;
        let place = || format!("{} line {}", self.path.display(), self.line_number);
        let mut limited = reader.take(LINE_BYTES_MAX as u64 + 1);
        let length = limited.read_until(b'\n', &mut self.line).with_context(place)?;
        if length == 0 {
            return Ok(None);
        }
        ensure!(
            length <= LINE_BYTES_MAX,
            "{} is damaged: it has more than {LINE_BYTES_MAX} bytes; restore the file",
            place()
        );
        if self.line.pop_if(|last| *last == b'\n').is_none() {
            self.torn = Some(format!(
                "{} ends in the middle of a line (the writer stopped); cassay omits its {length} \
                 bytes",
                place()
            ));
            return Ok(None);
        }
        let record = serde_json::from_slice(&self.line).map_err(|e| {
            anyhow!(
                "{} is damaged: {e} (column {}); restore the file or remove the line",
                place(),
                e.column()
            )
        })?;
        Ok(Some(record))
    }
}

impl<T: DeserializeOwned> Iterator for Lines<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        let record = self.read_line().transpose();
        if !matches!(record, Some(Ok(_))) {
            self.reader = None;
        }
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Result<u32>>, Option<String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers.ndjson");
        std::fs::write(&path, text).unwrap();
        let mut lines = Lines::<u32>::open(&path).unwrap();
        let all = lines.by_ref().collect();
        (all, lines.torn().map(str::to_owned))
    }

    #[test]
    fn a_torn_last_line_is_left_out_and_said() {
        let (records, torn) = read("1\n2\n3");
        assert_eq!(
            records.into_iter().map(Result::unwrap).collect::<Vec<_>>(),
            [1, 2]
        );
        assert!(torn.unwrap().contains("numbers.ndjson line 3 ends in the middle"));
    }

    #[test]
    fn a_damaged_line_is_an_error_with_its_place_and_ends_reading() {
        let (records, torn) = read("1\n{\"x\n3\n");
        assert_eq!(records.len(), 2);
        let message = records[1].as_ref().unwrap_err().to_string();
        assert!(
            message.contains("numbers.ndjson line 2 is damaged"),
            "{message}"
        );
        assert_eq!(torn, None);
    }

    #[test]
    fn a_line_that_is_too_long_is_an_error_and_ends_reading() {
        let long = "1".repeat(LINE_BYTES_MAX + 1);
        for end in ["", "\n", "\n2\n"] {
            let (records, torn) = read(&format!("1\n{long}{end}"));
            assert_eq!(records.len(), 2);
            let message = records[1].as_ref().unwrap_err().to_string();
            let said = "numbers.ndjson line 2 is damaged: it has more than 4194304 bytes";
            assert!(message.contains(said), "{message}");
            assert_eq!(torn, None);
        }
    }

    /// In an earlier version, a full disk left an incomplete line. The next line was appended to it
    /// once the disk had space again, and both lines were damaged.
    #[test]
    fn a_line_that_was_written_by_half_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ndjson");
        let mut writer = LineWriter::open(&path).unwrap();
        writer.append(&1u32).unwrap();
        // This function behaves like a full disk: it writes some of the bytes and then fails.
        let half = |file: &mut File, bytes: &[u8]| {
            file.write_all(&bytes[..bytes.len() / 2])?;
            Err(std::io::Error::from(std::io::ErrorKind::StorageFull))
        };
        let error = writer.append_by(b"123456\n", half).unwrap_err();
        assert!(
            format!("{error:#}").contains("a.ndjson: no storage space"),
            "{error:#}"
        );
        assert_eq!(std::fs::read(&path).unwrap(), b"1\n");
        writer.append(&2u32).unwrap();
        let read: Vec<u32> = Lines::open(&path).unwrap().map(Result::unwrap).collect();
        assert_eq!(read, [1, 2]);
    }

    #[test]
    fn an_appended_line_is_whole_for_a_reader_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ndjson");
        let mut writer = LineWriter::open(&path).unwrap();
        for n in 0..3u32 {
            writer.append(&n).unwrap();
            assert_eq!(Lines::<u32>::open(&path).unwrap().count(), n as usize + 1);
        }
    }
}
