//! Reads the documents in a file of a Chronicle queue (`.cq4`), one after the other.
//!
//! A document consists of a header of four bytes and its content. The header contains the length of
//! the content. One bit of the header marks the queue's own documents (its settings and its index).
//! Another bit marks documents that are not finished. A file is larger than its documents, and the
//! rest is filled with zeros. A header of zero therefore marks the end.
//!
//! Invariants: memory for a document grows as its bytes arrive, up to the size of a request to
//! Cassandra. A document that is cut off ends the file, and the reader reports this. The reader
//! also reports data that it cannot reach, and a skipped document whose content is not the queue's
//! own.

use foreign::Source;
use std::io::{self, Read};

/// Bits of a header that contain the length of its document.
const LENGTH: u32 = 0x3FFF_FFFF;
/// Bit of a header that marks the queue's own documents.
const META: u32 = 0x4000_0000;
/// Bit of a header that marks a document that is not complete.
const OPEN: u32 = 0x8000_0000;
/// Header at the end of a file. The queue continues in the next file.
const END: u32 = OPEN | META;
/// Alignment of the headers in a file, in bytes.
const ALIGNMENT: u64 = 4;
/// Maximum length of a document, in bytes. A CQL frame has at most 256 MiB.
const DOCUMENT_BYTES_MAX: u32 = 300 << 20;
/// Number of bytes that are read at a time in the search for data after the last document.
const SEARCH_BYTES: usize = 64 << 10;
/// Type name in the first document of a queue.
const MAGIC: &[u8] = b"SCQStore";
/// First keys of the documents that a queue writes for itself.
const OWN: [&[u8]; 3] = [b"header", b"index2index", b"index"];
/// Code of a key that the length of the key follows.
const KEY: u8 = 0xB9;
/// Code of bytes without content, with which the queue aligns its values.
const PADDING: u8 = 0x8F;
/// Key in the first document for an array whose first value is the offset of the last document.
const LAST_DOCUMENT: &[u8] = b"writePosition";
/// Code of an array of 64-bit numbers. The capacity and the length of the array follow.
const ARRAY: u8 = 0x8D;

/// Reasons why a file has no further document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueEnd {
    /// The normal end: an end mark, zeros that were never overwritten, or the end of the file.
    Whole,
    /// The last document is incomplete. Either the file was copied while Cassandra was writing it,
    /// or the file was cut off.
    InDocument,
    /// Data follows a header of zero. Either the file was copied while Cassandra was writing it, or
    /// a part of the file was lost.
    Hole {
        /// Offset of the header of zero in the file, in bytes.
        at: u64,
        /// Number of bytes from this header to the last byte that is not zero.
        behind: u64,
    },
    /// Data follows the end mark. The queue writes nothing after this mark, so the mark is wrong.
    EarlyMark {
        /// Offset of the end mark in the file, in bytes.
        at: u64,
        /// Number of bytes from the end mark to the last byte that is not zero.
        behind: u64,
    },
    /// The file ends before the last document of the queue, so it was cut off between documents.
    Short {
        /// Offset of the last document, according to the first document.
        last: u64,
    },
}

/// A document that the queue marks as its own, but whose content is not the queue's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignDocument {
    /// Offset of its content in the file, in bytes.
    pub at: u64,
    /// Length of its content, in bytes.
    pub bytes: u64,
}

/// Reasons why a file is not a queue.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The file could not be read.
    #[error("cassay cannot read the file: {0}")]
    Unreadable(#[from] io::Error),
    /// The file does not begin as a Chronicle queue does.
    #[error("the file does not begin like a Chronicle queue file (no SCQStore in the header)")]
    NoQueue,
    /// A document exceeds the maximum length.
    #[error("the record at byte {at} has {bytes} bytes; the maximum is {DOCUMENT_BYTES_MAX}")]
    TooLong {
        /// Length of the document, in bytes.
        bytes: u32,
        /// Offset of the document in the file, in bytes.
        at: u64,
    },
}

/// Reads documents from a file.
#[derive(Debug)]
pub struct Queue<R> {
    input: R,
    /// Number of bytes that the reader has read so far, which is the offset of the next byte.
    at: u64,
    document: Vec<u8>,
    end: Option<QueueEnd>,
    /// Offset of the last document, according to the first document.
    last: Option<u64>,
    foreign: Option<ForeignDocument>,
}

impl<R: Source> Queue<R> {
    /// Reads the start of a file, and checks that it is a queue.
    ///
    /// # Errors
    /// The file is not a queue, or cannot be read.
    pub fn open(input: R) -> Result<Queue<R>, QueueError> {
        let mut queue = Queue {
            input,
            at: 0,
            document: Vec::new(),
            end: None,
            last: None,
            foreign: None,
        };
        let Some(header) = queue.header()? else {
            return Err(QueueError::NoQueue);
        };
        // The first document must contain the queue's own settings, which even an empty queue has.
        // The first bytes of another file often look like a huge length.
        let is_own = header & META != 0 && header & LENGTH <= DOCUMENT_BYTES_MAX;
        if !is_own || !queue.body(header)? || position(&queue.document, MAGIC).is_none() {
            return Err(QueueError::NoQueue);
        }
        queue.last = last_document(&queue.document);
        Ok(queue)
    }

    /// Returns the next document, and skips the queue's own documents. At the end, returns `None`,
    /// and [`Queue::end`] returns the reason.
    ///
    /// # Errors
    /// The file cannot be read, or a document is too long.
    pub fn next_document(&mut self) -> Result<Option<&[u8]>, QueueError> {
        while self.end.is_none() {
            let Some(header) = self.header()? else {
                break;
            };
            let at = self.at - 4;
            if header == END {
                let behind = self.behind()?;
                let early = |behind| QueueEnd::EarlyMark { at, behind };
                self.end = Some(behind.map_or(QueueEnd::Whole, early));
            } else if header == 0 {
                let behind = self.behind()?;
                self.end = Some(match behind {
                    Some(behind) => QueueEnd::Hole { at, behind },
                    None => self.end_at(at),
                });
            } else if header & OPEN != 0 || !self.body(header)? {
                self.end = Some(QueueEnd::InDocument);
            } else if header & META == 0 {
                return Ok(Some(&self.document));
            } else if !is_own(&self.document) {
                let bytes = self.document.len() as u64;
                let at = self.at - bytes;
                self.foreign.get_or_insert(ForeignDocument { at, bytes });
            }
        }
        Ok(None)
    }

    /// Returns the end of a file whose documents end at offset `at`.
    fn end_at(&self, at: u64) -> QueueEnd {
        match self.last {
            Some(last) if last >= at => QueueEnd::Short { last },
            _ => QueueEnd::Whole,
        }
    }

    /// Returns the first skipped document whose content is not the queue's own.
    pub fn foreign(&self) -> Option<ForeignDocument> {
        self.foreign
    }

    /// Returns the reason why the file has no further document. Returns `None` if the file may
    /// still have another document.
    pub fn end(&self) -> Option<QueueEnd> {
        self.end
    }

    /// Returns the number of bytes that the reader has read so far.
    pub fn bytes(&self) -> u64 {
        self.at
    }

    fn header(&mut self) -> Result<Option<u32>, QueueError> {
        let padding = (self.at.next_multiple_of(ALIGNMENT) - self.at) as usize;
        let mut bytes = [0; 8];
        let wanted = padding + 4;
        let got = self.fill(&mut bytes[..wanted])?;
        if got < wanted {
            let cut = got > padding;
            self.end = Some(if cut {
                QueueEnd::InDocument
            } else {
                self.end_at(self.at)
            });
            return Ok(None);
        }
        let mut header = [0; 4];
        header.copy_from_slice(&bytes[padding..wanted]);
        Ok(Some(u32::from_le_bytes(header)))
    }

    /// Reads the document that follows `header`. Returns true if the document is complete.
    fn body(&mut self, header: u32) -> Result<bool, QueueError> {
        let bytes = header & LENGTH;
        // The limit applies to every document, because the reader keeps even the queue's own
        // documents in memory to check them.
        if bytes > DOCUMENT_BYTES_MAX {
            return Err(QueueError::TooLong { bytes, at: self.at });
        }
        self.document.clear();
        let limited = &mut self.input.by_ref().take(u64::from(bytes));
        let got = limited.read_to_end(&mut self.document)?;
        self.at += got as u64;
        Ok(got == bytes as usize)
    }

    /// Reads on after a header, to check whether data follows. Returns the number of bytes from the
    /// header to the last byte that is not zero, or `None` if no data follows.
    fn behind(&mut self) -> Result<Option<u64>, QueueError> {
        let documents_end = self.at;
        let at = documents_end - 4;
        let mut last = None;
        let mut room = vec![0; SEARCH_BYTES];
        loop {
            let got = match self.input.read(&mut room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                got => got?,
            };
            if got == 0 {
                break;
            }
            if let Some(last_in_room) = room[..got].iter().rposition(|byte| *byte != 0) {
                last = Some(self.at + last_in_room as u64);
            }
            self.at += got as u64;
            // Cassandra makes its files much larger than their documents, without storing the rest.
            // A buffer can pass a hole only after each of its bytes is used, so a read may be
            // short.
            self.at += self.input.pass_hole()?;
        }
        self.at = documents_end;
        Ok(last.map(|last| last + 1 - at))
    }

    fn fill(&mut self, room: &mut [u8]) -> Result<usize, QueueError> {
        let mut got = 0;
        while got < room.len() {
            match self.input.read(&mut room[got..]) {
                Ok(0) => break,
                Ok(count) => got += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.at += got as u64;
        Ok(got)
    }
}

fn position(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

/// Returns true if a document is one that a queue writes for itself.
fn is_own(document: &[u8]) -> bool {
    match document {
        [KEY, length, rest @ ..] => {
            OWN.iter().any(|key| usize::from(*length) == key.len() && rest.starts_with(key))
        }
        [PADDING, ..] => true,
        rest => rest.iter().all(|byte| *byte == 0),
    }
}

/// Returns the offset of the last document, which the first document of a queue contains. Returns
/// `None` if the first document has another form.
fn last_document(header: &[u8]) -> Option<u64> {
    let behind = &header[position(header, LAST_DOCUMENT)? + LAST_DOCUMENT.len()..];
    // Padding and the type of the array precede the array.
    let array = behind.iter().take(16).position(|byte| *byte == ARRAY)?;
    let value = behind.get(array + 17..array + 25)?;
    Some(u64::from_le_bytes(value.try_into().ok()?))
}
