//! The documents of a file of a Chronicle queue (`.cq4`), one after the other.
//!
//! A document is a header of four bytes and so many bytes as it says; two of its bits say that it
//! is the queue's own (its settings, its index) and that it is still being written. A file is made
//! larger than what is in it, and filled with zeros: a header of zero is the end.
//!
//! What must hold: memory for a document is taken as its bytes arrive, and no more than a request
//! to Cassandra may have; what was cut off in the middle of a document ends the file, and that is
//! said.

use std::io::{self, Read};

/// A header's bits that say how long its document is.
const LENGTH: u32 = 0x3FFF_FFFF;
/// The document is the queue's own.
const META: u32 = 0x4000_0000;
/// The document is not written to its end.
const OPEN: u32 = 0x8000_0000;
/// Nothing follows: the queue goes on in the next file.
const END: u32 = OPEN | META;
/// Where headers stand: at multiples of so many bytes.
const ALIGNMENT: u64 = 4;
/// The largest document that is read: a frame of CQL has 256 MiB at most.
const DOCUMENT_BYTES_MAX: u32 = 300 << 20;
/// What the first document of a queue says that it is.
const MAGIC: &[u8] = b"SCQStore";

/// Why there is no further document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueEnd {
    /// There is none: a mark says so, or zeros that were never written to, or the file's own end.
    Whole,
    /// The last one is only there in part: it was being written when the file was copied, or the
    /// file was cut.
    InDocument,
}

/// Why a file is no queue.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// It could not be read.
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It does not begin as a queue does.
    #[error("it does not begin as a file of a Chronicle queue does (no SCQStore in its head)")]
    NoQueue,
    /// A document of more bytes than there may be.
    #[error("at byte {at} a record of {bytes} bytes begins; at most {DOCUMENT_BYTES_MAX} are read")]
    TooLong {
        /// Its length.
        bytes: u32,
        /// Where in the file it begins.
        at: u64,
    },
}

/// Reads documents from a file.
#[derive(Debug)]
pub struct Queue<R> {
    input: R,
    /// Bytes read so far.
    at: u64,
    document: Vec<u8>,
    end: Option<QueueEnd>,
}

impl<R: Read> Queue<R> {
    /// Begins at the head of a file, and looks whether it is a queue's.
    ///
    /// # Errors
    /// It is not, or cannot be read.
    pub fn open(input: R) -> Result<Queue<R>, QueueError> {
        let mut queue = Queue {
            input,
            at: 0,
            document: Vec::new(),
            end: None,
        };
        let Some(header) = queue.header()? else {
            return Err(QueueError::NoQueue);
        };
        // Nothing but the queue's own settings stands first; an empty file of it has them too.
        if header & META == 0 || !queue.body(header)? {
            return Err(QueueError::NoQueue);
        }
        if queue.document.windows(MAGIC.len()).any(|part| part == MAGIC) {
            Ok(queue)
        } else {
            Err(QueueError::NoQueue)
        }
    }

    /// The next document that is not the queue's own; none: [`Queue::end`] says why.
    ///
    /// # Errors
    /// The file cannot be read, or a document is too long.
    pub fn next_document(&mut self) -> Result<Option<&[u8]>, QueueError> {
        while self.end.is_none() {
            let Some(header) = self.header()? else {
                break;
            };
            if header == 0 || header == END {
                self.end = Some(QueueEnd::Whole);
            } else if header & OPEN != 0 || !self.body(header)? {
                self.end = Some(QueueEnd::InDocument);
            } else if header & META == 0 {
                return Ok(Some(&self.document));
            }
        }
        Ok(None)
    }

    /// Why there is no further document; none as long as there may be one.
    pub fn end(&self) -> Option<QueueEnd> {
        self.end
    }

    /// Bytes read so far.
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
                QueueEnd::Whole
            });
            return Ok(None);
        }
        let mut header = [0; 4];
        header.copy_from_slice(&bytes[padding..wanted]);
        Ok(Some(u32::from_le_bytes(header)))
    }

    /// Reads the document of a header; whether it is there in full.
    fn body(&mut self, header: u32) -> Result<bool, QueueError> {
        let bytes = header & LENGTH;
        // The queue's own may be as long as they like: they are not kept.
        if bytes > DOCUMENT_BYTES_MAX {
            return Err(QueueError::TooLong { bytes, at: self.at });
        }
        self.document.clear();
        let limited = &mut self.input.by_ref().take(u64::from(bytes));
        let got = limited.read_to_end(&mut self.document)?;
        self.at += got as u64;
        Ok(got == bytes as usize)
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
