//! Reads and appends the primitive notations of section 3 of the protocol specification.
//!
//! `Reader` is a cursor that checks the length before it advances. None of its functions reserves
//! memory because of a count alone. `Reader::count` fails if the remaining bytes are too short for
//! the count.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Errors in parsing a message body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The body ends too early.
    #[error("{what} at byte {offset} needs {needed} bytes, but only {left} remain")]
    Short {
        /// Name of the item that the parser was reading.
        what: &'static str,
        /// Position of the error, as an offset from the start of the parsed bytes.
        offset: usize,
        /// Number of bytes that the item needs. If the elements of the item have variable lengths,
        /// this number is a minimum.
        needed: u64,
        /// Number of remaining bytes in the body.
        left: usize,
    },
    /// A number outside the range that the protocol, or the stated limit, allows.
    #[error("{what} at byte {offset} is {value}; it must be {allowed}")]
    Value {
        /// Name of the item that the parser was reading.
        what: &'static str,
        /// Position of the error, as an offset from the start of the parsed bytes.
        offset: usize,
        /// The number.
        value: i64,
        /// Accepted values.
        allowed: &'static str,
    },
    /// Text that is not UTF-8, or is not ASCII where the protocol requires ASCII.
    #[error("{what} at byte {offset} is not valid text")]
    Text {
        /// Name of the item that the parser was reading.
        what: &'static str,
        /// Position of the error, as an offset from the start of the parsed bytes.
        offset: usize,
    },
    /// A word that the protocol does not permit here.
    #[error("{what} `{word}` is unknown")]
    Word {
        /// Name of the item that the parser was reading.
        what: &'static str,
        /// The word, truncated to 64 characters.
        word: String,
    },
}

impl ParseError {
    /// Returns the error for an unknown word. Truncates the word so that a hostile peer cannot fill
    /// a log.
    pub(crate) fn word(what: &'static str, word: &str) -> ParseError {
        const SHOWN_CHARS: usize = 64;
        ParseError::Word {
            what,
            word: word.chars().take(SHOWN_CHARS).collect(),
        }
    }
}

pub(crate) type Result<T> = std::result::Result<T, ParseError>;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    /// Offset of the next byte, at most `bytes.len()`.
    at: usize,
}

impl<'a> Reader<'a> {
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }

    #[inline]
    pub fn offset(&self) -> usize {
        self.at
    }

    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    #[inline]
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    #[cold]
    fn short(&self, what: &'static str, needed: u64) -> ParseError {
        ParseError::Short {
            what,
            offset: self.at,
            needed,
            left: self.left(),
        }
    }

    #[inline]
    pub fn take(&mut self, count: usize, what: &'static str) -> Result<&'a [u8]> {
        let Some((head, _)) = self.rest().split_at_checked(count) else {
            return Err(self.short(what, count as u64));
        };
        self.at += count;
        Ok(head)
    }

    #[inline]
    pub fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N]> {
        let Some(&head) = self.rest().first_chunk::<N>() else {
            return Err(self.short(what, N as u64));
        };
        self.at += N;
        Ok(head)
    }

    #[inline]
    pub fn u8(&mut self, what: &'static str) -> Result<u8> {
        Ok(u8::from_be_bytes(self.array(what)?))
    }

    #[inline]
    pub fn u16(&mut self, what: &'static str) -> Result<u16> {
        Ok(u16::from_be_bytes(self.array(what)?))
    }

    #[inline]
    pub fn i32(&mut self, what: &'static str) -> Result<i32> {
        Ok(i32::from_be_bytes(self.array(what)?))
    }

    #[inline]
    pub fn i64(&mut self, what: &'static str) -> Result<i64> {
        Ok(i64::from_be_bytes(self.array(what)?))
    }

    /// Reads an [int] number of elements, each of which takes at least `bytes_each` bytes.
    /// `bytes_each` must not be 0.
    pub fn count(&mut self, what: &'static str, bytes_each: usize) -> Result<usize> {
        let offset = self.at;
        let value = self.i32(what)?;
        let Ok(count) = usize::try_from(value) else {
            let allowed = "0 or more";
            return Err(ParseError::Value {
                what,
                offset,
                value: value.into(),
                allowed,
            });
        };
        if count > self.left() / bytes_each {
            return Err(self.short(what, count as u64 * bytes_each as u64));
        }
        Ok(count)
    }

    /// Reads a [string], which is a short length and UTF-8 text.
    pub fn string(&mut self, what: &'static str) -> Result<&'a str> {
        let length = usize::from(self.u16(what)?);
        self.text(length, what)
    }

    /// Reads a [long string], which is an int length and UTF-8 text.
    pub fn long_string(&mut self, what: &'static str) -> Result<&'a str> {
        let length = self.count(what, 1)?;
        self.text(length, what)
    }

    fn text(&mut self, length: usize, what: &'static str) -> Result<&'a str> {
        let offset = self.at;
        let bytes = self.take(length, what)?;
        std::str::from_utf8(bytes).map_err(|_| ParseError::Text { what, offset })
    }

    #[inline]
    pub fn short_bytes(&mut self, what: &'static str) -> Result<&'a [u8]> {
        let length = usize::from(self.u16(what)?);
        self.take(length, what)
    }

    /// Reads [bytes], which are an int length and bytes. A negative length means null.
    #[inline]
    pub fn bytes(&mut self, what: &'static str) -> Result<Option<&'a [u8]>> {
        match usize::try_from(self.i32(what)?) {
            Ok(length) => self.take(length, what).map(Some),
            Err(_) => Ok(None),
        }
    }

    pub fn string_list(&mut self, what: &'static str) -> Result<Vec<String>> {
        let count = self.u16(what)?;
        (0..count).map(|_| self.string(what).map(str::to_owned)).collect()
    }

    pub fn skip_string_list(&mut self, what: &'static str) -> Result<()> {
        let count = self.u16(what)?;
        (0..count).try_for_each(|_| self.short_bytes(what).map(drop))
    }

    pub fn skip_bytes_map(&mut self, what: &'static str) -> Result<()> {
        let count = self.u16(what)?;
        (0..count).try_for_each(|_| {
            self.short_bytes(what)?;
            self.bytes(what).map(drop)
        })
    }

    /// Reads an [inet], which is the length of an address, an address of 4 or 16 bytes, and a port
    /// as an int.
    pub fn inet(&mut self, what: &'static str) -> Result<SocketAddr> {
        let offset = self.at;
        let ip = match self.u8(what)? {
            4 => IpAddr::V4(Ipv4Addr::from(self.array::<4>(what)?)),
            16 => IpAddr::V6(Ipv6Addr::from(self.array::<16>(what)?)),
            value => {
                let allowed = "an address of 4 or 16 bytes";
                return Err(ParseError::Value {
                    what,
                    offset,
                    value: value.into(),
                    allowed,
                });
            }
        };
        let offset = self.at;
        let value = self.i32(what)?;
        let port = u16::try_from(value).map_err(|_| {
            let allowed = "a port from 0 to 65535";
            ParseError::Value {
                what,
                offset,
                value: value.into(),
                allowed,
            }
        })?;
        Ok(SocketAddr::new(ip, port))
    }
}

/// Appends a [string]. The text must have at most 65,535 bytes.
pub(crate) fn append_string(out: &mut Vec<u8>, text: &str) {
    append_short_bytes(out, text.as_bytes());
}

/// Appends [short bytes], which must be at most 65,535 bytes.
pub(crate) fn append_short_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u16::try_from(bytes.len()).expect("a short string is at most 65,535 bytes");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Appends an [int].
pub(crate) fn append_i32(out: &mut Vec<u8>, value: i32) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// Appends a [short].
pub(crate) fn append_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// Appends a number of elements as a [short]. The number must be at most 65,535.
pub(crate) fn append_count(out: &mut Vec<u8>, count: usize) {
    append_u16(
        out,
        u16::try_from(count).expect("a short count is at most 65,535"),
    );
}

/// Appends a [long string] or [bytes], which is an int length and bytes.
pub(crate) fn append_long_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    crate::template::append_value(out, bytes);
}
