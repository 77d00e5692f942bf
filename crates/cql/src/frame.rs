//! The header of every message, which has nine bytes: version, flags, stream id, opcode and body
//! length.
//!
//! The header arrives before the body, so this module can refuse a body that is too long before a
//! reader receives it. All integers are big-endian.

use crate::version::Version;

/// Size of a frame header since protocol version 3, in bytes.
pub const HEADER_BYTES: usize = 9;

/// Maximum length of a body that cassay reads or writes, in bytes. This is the limit of the
/// protocol (section 2.5 of the specification), beyond which Cassandra also refuses a frame.
pub const BODY_BYTES_MAX: u32 = 256 * 1024 * 1024;

/// Oldest protocol version whose frames have a header of nine bytes.
const OLDEST_VERSION: u8 = 3;

/// Bit of the version byte that marks a response.
pub const RESPONSE_BIT: u8 = 0x80;

pub(crate) const STREAM_OFFSET: usize = 2;
pub(crate) const LENGTH_OFFSET: usize = 5;

/// Kinds of messages.
pub mod opcode {
    /// Response: the request failed.
    pub const ERROR: u8 = 0x00;
    /// Request: opens a connection.
    pub const STARTUP: u8 = 0x01;
    /// Response: the connection is open.
    pub const READY: u8 = 0x02;
    /// Response: the server requires credentials before the connection is open.
    pub const AUTHENTICATE: u8 = 0x03;
    /// Request for the options that STARTUP may contain. The request also serves as a heartbeat.
    pub const OPTIONS: u8 = 0x05;
    /// Response to OPTIONS.
    pub const SUPPORTED: u8 = 0x06;
    /// Request: a statement as text.
    pub const QUERY: u8 = 0x07;
    /// Response to QUERY, PREPARE, EXECUTE and BATCH.
    pub const RESULT: u8 = 0x08;
    /// Request: prepares a statement.
    pub const PREPARE: u8 = 0x09;
    /// Request: executes a prepared statement.
    pub const EXECUTE: u8 = 0x0A;
    /// Request: registers for events.
    pub const REGISTER: u8 = 0x0B;
    /// Response that a server sends without a request: an event in the cluster.
    pub const EVENT: u8 = 0x0C;
    /// Request: executes several statements as one batch.
    pub const BATCH: u8 = 0x0D;
    /// Response in which the authenticator requests more data.
    pub const AUTH_CHALLENGE: u8 = 0x0E;
    /// Request: credentials.
    pub const AUTH_RESPONSE: u8 = 0x0F;
    /// Response: the credentials were right.
    pub const AUTH_SUCCESS: u8 = 0x10;
}

/// Flags in a header that describe the body.
pub mod flag {
    /// The body is compressed.
    pub const COMPRESSED: u8 = 0x01;
    /// In a request, asks the server to trace it. In a response, the body begins with a tracing id.
    pub const TRACING: u8 = 0x02;
    /// The body begins with a custom payload.
    pub const CUSTOM_PAYLOAD: u8 = 0x04;
    /// In a response, the body begins with warnings.
    pub const WARNING: u8 = 0x08;
}

/// The nine bytes before the body of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Version byte of the header: 0x04 in requests of version 4, 0x84 in responses.
    pub version: u8,
    /// Bits of [`flag`].
    pub flags: u8,
    /// Stream id. It is at least 0 in requests and their responses, and -1 in an EVENT.
    pub stream: i16,
    /// One of [`opcode`].
    pub opcode: u8,
    /// Number of bytes of the body that follows, at most [`BODY_BYTES_MAX`].
    pub length: u32,
}

/// Errors in reading a frame. After such an error the connection is unusable, because the start of
/// the next frame is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The peer uses another protocol version.
    #[error("the peer uses native protocol version {version} instead of version {expected}")]
    Version {
        /// Version that the peer uses, without the direction bit.
        version: u8,
        /// Version of the connection, without the direction bit.
        expected: u8,
        /// Stream id to use in the answer. The stream id has the same position in versions 3 and
        /// later.
        stream: i16,
    },
    /// The peer uses an old version whose frames have a different layout.
    #[error(
        "the peer uses native protocol version {version}, but cassay supports only versions 3, 4 \
         and 5"
    )]
    Old {
        /// Version that the peer uses, without the direction bit.
        version: u8,
    },
    /// The direction bit is wrong: a request arrived instead of a response, or a response instead
    /// of a request. The peer probably does not use CQL.
    #[error(
        "version byte {version:#04x} has the wrong direction: check that this is a CQL native port"
    )]
    Direction {
        /// Version byte of the header.
        version: u8,
    },
    /// The body is longer than the limit.
    #[error("a frame with a body of {length} bytes exceeds the limit of {limit} bytes")]
    TooLong {
        /// Length of the body that the header announces, in bytes.
        length: u64,
        /// Maximum length of a body, in bytes.
        limit: u64,
    },
    /// A compressed body cannot be decompressed.
    #[error("cassay cannot decompress a body of {bytes} bytes: {what}")]
    Compression {
        /// Length of the compressed body, in bytes.
        bytes: usize,
        /// Description of the error in the body.
        what: &'static str,
    },
}

impl Header {
    /// Reads the header of a response in protocol version `version`. Returns `Ok(None)` if fewer
    /// than [`HEADER_BYTES`] bytes have arrived.
    ///
    /// # Errors
    /// The peer uses another version, does not use CQL, or announces a body that is too long.
    #[inline]
    pub fn parse_response(bytes: &[u8], version: Version) -> Result<Option<Header>, FrameError> {
        Self::parse(bytes, version.number() | RESPONSE_BIT)
    }

    /// Reads the header of the first response of a connection. The response may have another
    /// version than the request, because a server that refuses a version answers in a version that
    /// it supports.
    ///
    /// # Errors
    /// The peer uses a very old version, does not use CQL, or announces a body that is too long.
    pub fn parse_first_response(bytes: &[u8]) -> Result<Option<Header>, FrameError> {
        match bytes.first().map(|byte| byte & !RESPONSE_BIT) {
            Some(version @ 1..OLDEST_VERSION) if bytes[0] & RESPONSE_BIT != 0 => {
                Err(FrameError::Old { version })
            }
            _ => Self::parse(
                bytes,
                bytes.first().copied().unwrap_or_default() | RESPONSE_BIT,
            ),
        }
    }

    /// Reads the header of a request in version 4, which cassay's servers use. Returns `Ok(None)`
    /// if fewer than [`HEADER_BYTES`] bytes have arrived.
    ///
    /// # Errors
    /// As for a response. [`FrameError::Version`] contains the stream id, so that a server can
    /// answer a client of a newer version with PROTOCOL_ERROR. Drivers then fall back to version 4.
    #[inline]
    pub fn parse_request(bytes: &[u8]) -> Result<Option<Header>, FrameError> {
        Self::parse(bytes, Version::V4.number())
    }

    #[inline]
    fn parse(bytes: &[u8], version: u8) -> Result<Option<Header>, FrameError> {
        let Some(&[v, flags, s0, s1, opcode, l0, l1, l2, l3]) = bytes.first_chunk() else {
            return Ok(None);
        };
        let header = Header {
            version: v,
            flags,
            stream: i16::from_be_bytes([s0, s1]),
            opcode,
            length: u32::from_be_bytes([l0, l1, l2, l3]),
        };
        if v == version && header.length <= BODY_BYTES_MAX {
            return Ok(Some(header));
        }
        Err(header.refuse(version))
    }

    #[cold]
    fn refuse(&self, version: u8) -> FrameError {
        if self.version & RESPONSE_BIT != version & RESPONSE_BIT {
            FrameError::Direction {
                version: self.version,
            }
        } else if self.version != version {
            FrameError::Version {
                version: self.version & !RESPONSE_BIT,
                expected: version & !RESPONSE_BIT,
                stream: self.stream,
            }
        } else {
            let (length, limit) = (u64::from(self.length), u64::from(BODY_BYTES_MAX));
            FrameError::TooLong { length, limit }
        }
    }

    /// Appends the nine bytes of the header.
    pub fn append(&self, out: &mut Vec<u8>) {
        let [s0, s1] = self.stream.to_be_bytes();
        let [l0, l1, l2, l3] = self.length.to_be_bytes();
        let bytes = [
            self.version,
            self.flags,
            s0,
            s1,
            self.opcode,
            l0,
            l1,
            l2,
            l3,
        ];
        out.extend_from_slice(&bytes);
    }

    /// Returns the number of bytes of the whole frame, including the header.
    #[inline]
    pub fn frame_bytes(&self) -> usize {
        HEADER_BYTES + self.length as usize
    }
}

/// Minimum size of a buffer for receiving a frame, in bytes.
const ROOM_BYTES_MIN: usize = 64 << 10;

/// Returns the size of the buffer for a frame of `frame_bytes` bytes, of which `arrived` bytes have
/// arrived. The size is at most twice the number of bytes that have arrived, because the peer
/// states the frame's length and may state too much. Since the buffer grows by doubling, each byte
/// is copied at most once on average.
pub fn room_bytes(arrived: usize, frame_bytes: usize) -> usize {
    let earned = arrived.saturating_mul(2).max(ROOM_BYTES_MIN);
    frame_bytes.min(earned)
}

/// Reads the next response. The response must have the given version, or may have any version if it
/// is the first response. Returns the header, and puts the body into `body`. Skips unsolicited
/// events. `fill` must fill the whole slice that it gets with the next bytes.
///
/// # Errors
/// The errors of `fill`. Also, the bytes are not CQL, or the body is longer than `limit`.
pub fn receive<E>(
    version: Option<Version>,
    body: &mut Vec<u8>,
    limit: u32,
    mut fill: impl FnMut(&mut [u8]) -> Result<(), E>,
    wrong: impl Fn(FrameError) -> E,
) -> Result<Header, E> {
    loop {
        let mut head = [0; HEADER_BYTES];
        fill(&mut head)?;
        let header = match version {
            Some(version) => Header::parse_response(&head, version),
            None => Header::parse_first_response(&head),
        };
        let header = header.map_err(&wrong)?.expect("the buffer contains a whole header");
        if header.length > limit {
            let (length, limit) = (u64::from(header.length), u64::from(limit));
            return Err(wrong(FrameError::TooLong { length, limit }));
        }
        let length = header.length as usize;
        body.clear();
        while body.len() < length {
            let arrived = body.len();
            body.resize(room_bytes(arrived, length), 0);
            fill(&mut body[arrived..])?;
        }
        if header.opcode != opcode::EVENT {
            return Ok(header);
        }
    }
}

/// Begins a frame with this version byte. Writes a header in which [`end`] later sets the length.
/// Returns the offset of the frame.
pub(crate) fn begin(out: &mut Vec<u8>, version: u8, stream: i16, opcode: u8) -> usize {
    let start = out.len();
    Header {
        version,
        flags: 0,
        stream,
        opcode,
        length: 0,
    }
    .append(out);
    start
}

/// Writes the body length of the frame that [`begin`] began at `start`.
#[inline]
pub(crate) fn end(out: &mut [u8], start: usize) {
    let length = out.len() - start - HEADER_BYTES;
    debug_assert!(
        length <= BODY_BYTES_MAX as usize,
        "a frame of {length} bytes"
    );
    let at = start + LENGTH_OFFSET;
    out[at..at + 4].copy_from_slice(&(length as u32).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    const READY: [u8; 9] = [0x84, 0x00, 0x01, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00];

    #[test]
    fn a_header_is_read_once_nine_bytes_are_there() {
        for length in 0..HEADER_BYTES {
            assert_eq!(
                Header::parse_response(&READY[..length], Version::V4),
                Ok(None)
            );
        }
        let header = Header::parse_response(&READY, Version::V4).unwrap().unwrap();
        let expected = Header {
            version: 0x84,
            flags: 0,
            stream: 0x0102,
            opcode: opcode::READY,
            length: 0,
        };
        assert_eq!(header, expected);
        let mut out = Vec::new();
        header.append(&mut out);
        assert_eq!(out, READY);
    }

    #[test]
    fn a_body_over_the_protocol_limit_is_refused_before_it_arrives() {
        let at = |length: u32| {
            let mut bytes = READY;
            bytes[5..].copy_from_slice(&length.to_be_bytes());
            Header::parse_response(&bytes, Version::V4)
        };
        assert!(at(BODY_BYTES_MAX).unwrap().is_some());
        let limit = u64::from(BODY_BYTES_MAX);
        assert_eq!(
            at(BODY_BYTES_MAX + 1),
            Err(FrameError::TooLong {
                length: limit + 1,
                limit
            })
        );
        assert!(matches!(at(u32::MAX), Err(FrameError::TooLong { .. })));
    }

    #[test]
    fn room_is_given_for_bytes_and_not_for_words() {
        let claimed = BODY_BYTES_MAX as usize;
        assert_eq!(room_bytes(HEADER_BYTES, claimed), ROOM_BYTES_MIN);
        assert_eq!(room_bytes(HEADER_BYTES, 100), 100);
        let (mut room, mut growths) = (room_bytes(0, claimed), 0);
        while room < claimed {
            // The caller requests more data only when the buffer is full.
            let more = room_bytes(room, claimed);
            assert!(more > room && more <= 2 * room);
            (room, growths) = (more, growths + 1);
        }
        assert_eq!(growths, 12);
    }

    #[test]
    fn another_version_is_reported_with_the_stream_to_answer_on() {
        let startup_v5 = [0x05, 0x10, 0x00, 0x07, 0x01, 0x00, 0x00, 0x00, 0x00];
        assert_eq!(
            Header::parse_request(&startup_v5),
            Err(FrameError::Version {
                version: 5,
                expected: 4,
                stream: 7
            })
        );
        let ready_v3 = [0x83, 0, 0, 1, 2, 0, 0, 0, 0];
        assert_eq!(
            Header::parse_response(&ready_v3, Version::V4),
            Err(FrameError::Version {
                version: 3,
                expected: 4,
                stream: 1
            })
        );
    }

    #[test]
    fn bytes_of_another_protocol_have_the_wrong_direction() {
        let error = Header::parse_response(b"HTTP/1.1 400 Bad Request", Version::V4).unwrap_err();
        assert_eq!(error, FrameError::Direction { version: b'H' });
        assert_eq!(
            Header::parse_request(&READY),
            Err(FrameError::Direction { version: 0x84 })
        );
    }

    #[test]
    fn the_first_answer_may_have_any_version_with_a_known_header() {
        for version in [3, 4, 5, 6, 0x42] {
            let mut bytes = READY;
            bytes[0] = version | RESPONSE_BIT;
            let header = Header::parse_first_response(&bytes).unwrap().unwrap();
            assert_eq!(header.version, bytes[0]);
        }
        let old = Header::parse_first_response(&[0x82, 0, 0, 0, 0, 0, 0, 70, 0]).unwrap_err();
        assert_eq!(old, FrameError::Old { version: 2 });
        let other = Header::parse_first_response(b"HTTP/1.1 400 Bad Request").unwrap_err();
        assert_eq!(other, FrameError::Direction { version: b'H' });
        assert_eq!(Header::parse_first_response(&[]), Ok(None));
    }
}
