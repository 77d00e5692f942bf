//! Reads a text line by line, with a limit on the length of a line, and finds holes.
//!
//! A hole is a run of zero bytes. A file has a hole if it was copied while it grew, or if a part of
//! it was lost. A hole ends the line before it, because the rest of this line is unknown. The
//! reader passes over a hole without reading it if the file system stores no data for it.
//!
//! Invariant: memory does not exceed the maximum length of a line and the buffer.

use crate::OpenFile;
use rustix::fs::SeekFrom;
use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufReader, ErrorKind, Read, Seek};

const BUFFER_BYTES: usize = 256 << 10;
/// Minimum length of a hole. Shorter runs of zero bytes occur in texts: UTF-16 has one after each
/// letter, and a value may contain some.
const HOLE_BYTES_MIN: u64 = 16;

/// A source of bytes that can pass over zeros.
pub trait Source: Read {
    /// Moves from the current offset to the next stored data, and returns the number of bytes
    /// between them. All of these bytes are zero. Returns 0 if data is stored at the current
    /// offset, or if the end of the zeros is unknown.
    ///
    /// # Errors
    /// The file cannot be read.
    fn pass_hole(&mut self) -> io::Result<u64> {
        Ok(0)
    }
}

impl Source for &[u8] {}

impl<R: Source> Source for BufReader<R> {
    fn pass_hole(&mut self) -> io::Result<u64> {
        if self.buffer().is_empty() {
            self.get_mut().pass_hole()
        } else {
            Ok(0)
        }
    }
}

impl Source for OpenFile {
    fn pass_hole(&mut self) -> io::Result<u64> {
        let from = self.at;
        match rustix::fs::seek(&self.file, SeekFrom::Data(from)) {
            Ok(at) => self.at = at,
            // No data follows up to the end of the file.
            Err(rustix::io::Errno::NXIO) => {
                self.seek(io::SeekFrom::End(0))?;
            }
            // The file system does not report its holes, so the caller reads the zeros.
            Err(_) => return Ok(0),
        }
        Ok(self.at.saturating_sub(from))
    }
}

/// A run of zero bytes in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    /// Offset of its first byte.
    pub at: u64,
    /// Length in bytes.
    pub bytes: u64,
}

impl fmt::Display for Hole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a hole at byte {}: {} bytes are zero",
            self.at, self.bytes
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    Feed,
    /// The end of the file. The line may be incomplete.
    File,
    /// A hole. The rest of the line is unknown.
    Hole(Hole),
}

/// A line of a text, without its line feed.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// Number of the line. The first line has number 1.
    pub number: u64,
    pub bytes: &'a [u8],
    pub end: LineEnd,
    /// True if a hole precedes the line, so that the beginning of the line is unknown.
    pub follows_hole: bool,
}

impl<'a> Line<'a> {
    /// Returns true if both the beginning and the end of the line are known.
    pub fn is_whole(&self) -> bool {
        self.end == LineEnd::Feed && !self.follows_hole
    }

    /// Returns the line as text, without a carriage return at its end. Replaces invalid UTF-8.
    pub fn text(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.bytes.strip_suffix(b"\r").unwrap_or(self.bytes))
    }
}

/// Reader of the lines of a text.
#[derive(Debug)]
pub struct TextLines<R> {
    input: R,
    line_bytes_max: usize,
    buffer: Vec<u8>,
    /// The part of the buffer that the reader has not used yet.
    unread: std::ops::Range<usize>,
    /// Offset of the next unused byte in the text.
    at: u64,
    /// Number of line feeds before this offset.
    feeds: u64,
    line: Vec<u8>,
    /// True if the last line ended at a hole.
    is_behind_hole: bool,
}

impl<R: Source> TextLines<R> {
    /// Creates a reader of lines of at most `line_bytes_max` bytes.
    pub fn new(input: R, line_bytes_max: usize) -> TextLines<R> {
        TextLines {
            input,
            line_bytes_max,
            buffer: vec![0; BUFFER_BYTES],
            unread: 0..0,
            at: 0,
            feeds: 0,
            line: Vec::new(),
            is_behind_hole: false,
        }
    }

    /// Returns the number of bytes before the next line.
    pub fn bytes(&self) -> u64 {
        self.at
    }

    /// Returns the next line, or `None` at the end of the text. Before a hole, the function returns
    /// a line even if the line is empty.
    ///
    /// # Errors
    /// The text cannot be read, or the line is too long.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        let number = self.feeds + 1;
        let end = loop {
            let part = self.fill()?;
            if part.is_empty() {
                if self.line.is_empty() {
                    return Ok(None);
                }
                break LineEnd::File;
            }
            let stop = part.iter().position(|byte| matches!(byte, b'\n' | 0));
            let (length, is_feed) = match stop {
                Some(length) => (length, part[length] == b'\n'),
                None => (part.len(), false),
            };
            self.take(length, number)?;
            if is_feed {
                self.consume(1);
                self.feeds += 1;
                break LineEnd::Feed;
            }
            if stop.is_some() {
                let at = self.at;
                let bytes = self.pass_zeros()?;
                if bytes >= HOLE_BYTES_MIN {
                    break LineEnd::Hole(Hole { at, bytes });
                }
                self.line.resize(self.line.len() + bytes as usize, 0);
            }
        };
        let is_hole = matches!(end, LineEnd::Hole(_));
        let follows_hole = std::mem::replace(&mut self.is_behind_hole, is_hole);
        Ok(Some(Line {
            number,
            bytes: &self.line,
            end,
            follows_hole,
        }))
    }

    /// Returns the unused part of the buffer. If this part is empty, the function reads more.
    fn fill(&mut self) -> io::Result<&[u8]> {
        while self.unread.is_empty() {
            match self.input.read(&mut self.buffer) {
                Ok(count) => {
                    self.unread = 0..count;
                    break;
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(&self.buffer[self.unread.clone()])
    }

    fn consume(&mut self, length: usize) {
        self.unread.start += length;
        self.at += length as u64;
    }

    fn take(&mut self, length: usize, number: u64) -> io::Result<()> {
        if self.line.len() + length > self.line_bytes_max {
            let text = format!(
                "line {number} is longer than {} bytes; a line feed is probably missing",
                self.line_bytes_max
            );
            return Err(io::Error::new(ErrorKind::InvalidData, text));
        }
        let begin = self.unread.start;
        self.line.extend_from_slice(&self.buffer[begin..begin + length]);
        self.consume(length);
        Ok(())
    }

    /// Moves over all zero bytes at the current offset, and returns their number.
    fn pass_zeros(&mut self) -> io::Result<u64> {
        let mut count = 0;
        loop {
            let part = self.fill()?;
            let length = part.iter().take_while(|byte| **byte == 0).count();
            let is_used = length == part.len();
            let is_end = part.is_empty();
            self.consume(length);
            count += length as u64;
            if is_end || !is_used {
                return Ok(count);
            }
            let passed = self.input.pass_hole()?;
            self.at += passed;
            count += passed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileKind, open};
    use std::io::Write;

    const MAX: usize = 64;

    fn lines(input: impl Source) -> Vec<(u64, String, LineEnd)> {
        let mut lines = TextLines::new(input, MAX);
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            all.push((line.number, line.text().into_owned(), line.end));
        }
        all
    }

    #[test]
    fn lines_have_numbers_and_their_ends() {
        let line = |number, text: &str, end| (number, text.to_owned(), end);
        let hole = LineEnd::Hole(Hole { at: 9, bytes: 40 });
        let text = [b"a\r\n\nb\0c\nd".as_slice(), &[0; 40], b"e\nf"].concat();
        assert_eq!(
            lines(&text[..]),
            [
                line(1, "a", LineEnd::Feed),
                line(2, "", LineEnd::Feed),
                line(3, "b\0c", LineEnd::Feed),
                line(4, "d", hole),
                line(4, "e", LineEnd::Feed),
                line(5, "f", LineEnd::File),
            ]
        );
        assert!(lines(&b""[..]).is_empty());
    }

    /// Each of the two holes is larger than memory, and the disk stores nothing for them.
    #[test]
    fn a_hole_is_passed_and_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(b"a\n").unwrap();
        file.seek(io::SeekFrom::Start(1 << 34)).unwrap();
        file.write_all(b"b\n").unwrap();
        file.set_len(1 << 35).unwrap();
        let mut opened = TextLines::new(open(FileKind::QueryLog, &path).unwrap(), MAX);
        let mut ends = Vec::new();
        while let Some(line) = opened.next_line().unwrap() {
            ends.push((line.bytes.to_vec(), line.end));
        }
        let hole = |at, bytes| LineEnd::Hole(Hole { at, bytes });
        assert_eq!(
            ends,
            [
                (b"a".to_vec(), LineEnd::Feed),
                (Vec::new(), hole(2, (1 << 34) - 2)),
                (b"b".to_vec(), LineEnd::Feed),
                (Vec::new(), hole((1 << 34) + 2, (1 << 34) - 2)),
            ]
        );
        assert_eq!(opened.bytes(), 1 << 35);
    }

    #[test]
    fn a_line_without_an_end_is_refused_at_the_limit() {
        let text = [b"a\n".as_slice(), &[b'x'; MAX], b"\n", &[b'y'; MAX + 1]].concat();
        let mut lines = TextLines::new(&text[..], MAX);
        assert_eq!(lines.next_line().unwrap().unwrap().number, 1);
        assert_eq!(lines.next_line().unwrap().unwrap().bytes.len(), MAX);
        let error = lines.next_line().unwrap_err().to_string();
        assert!(
            error.starts_with("line 3 is longer than 64 bytes"),
            "{error}"
        );
    }
}
