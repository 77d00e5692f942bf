//! Segments of version 5, which wrap frames and add checksums. Both ends send segments after the
//! answer to STARTUP.
//!
//! A segment begins with a header. The header has 17 bits for the length of the payload and, with
//! LZ4, 17 bits for the length before compression. After the lengths come a bit that is set if the
//! segment contains whole frames, and a CRC of 24 bits. At most 131,071 bytes of payload and a CRC
//! of 32 bits follow the header. All numbers are little-endian. The concatenated payloads are the
//! frames, so a reader can ignore the bit.

use crate::compression::{self, Compression};
use crate::frame::{HEADER_BYTES, LENGTH_OFFSET};
use lz4_flex::block;

/// Maximum payload of a segment, in bytes.
pub const PAYLOAD_BYTES_MAX: usize = (1 << LENGTH_BITS) - 1;

/// Maximum size of a segment, in bytes.
pub const SEGMENT_BYTES_MAX: usize = PAYLOAD_BYTES_MAX + LZ4_HEADER_BYTES + TRAILER_BYTES;

/// Number of bits of a length field in the header.
const LENGTH_BITS: u32 = 17;
/// Size of a header with one length field, the flag and the CRC, in bytes.
const PLAIN_HEADER_BYTES: usize = 3 + HEADER_CRC_BYTES;
/// Size of a header with two length fields, the flag and the CRC, in bytes.
const LZ4_HEADER_BYTES: usize = 5 + HEADER_CRC_BYTES;
const HEADER_CRC_BYTES: usize = 3;
/// Size of the CRC of the payload, in bytes.
const TRAILER_BYTES: usize = 4;
/// Bytes that precede the payload in the computation of its CRC.
const CRC32_BEGIN: [u8; 4] = [0xFA, 0x2D, 0x55, 0xCA];
/// Initial value of the CRC of a header, whose polynomial is [`CRC24_POLYNOMIAL`].
const CRC24_BEGIN: u32 = 0x87_5060;
const CRC24_POLYNOMIAL: u32 = 0x197_4F0B;

/// Errors in a segment. After any of these errors the connection is unusable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// The header is corrupt, or the bytes are not a header.
    #[error("the header of a segment has the checksum {found:#08x} instead of {expected:#08x}")]
    Header {
        /// Checksum that was computed from the header.
        expected: u32,
        /// Checksum received.
        found: u32,
    },
    /// The payload is corrupt.
    #[error(
        "a segment of {bytes} bytes has the checksum {found:#010x} instead of {expected:#010x}"
    )]
    Payload {
        /// Length of the payload, in bytes.
        bytes: usize,
        /// Checksum that was computed from the payload.
        expected: u32,
        /// Checksum received.
        found: u32,
    },
    /// The payload does not expand to the announced length.
    #[error(
        "a compressed segment of {bytes} bytes does not decompress to the stated {expanded} bytes"
    )]
    Compression {
        /// Length of the payload, in bytes.
        bytes: usize,
        /// Length after decompression that the header announces, in bytes.
        expanded: usize,
    },
}

/// Format of a connection's segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    is_lz4: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SegmentHeader {
    /// Number of bytes of the payload as received.
    bytes: usize,
    /// Number of bytes of the payload after decompression. `None` if the payload is not compressed.
    expanded: Option<usize>,
}

impl Segments {
    /// Returns the format for a connection that was opened with this compression. The protocol does
    /// not define Snappy for segments, so [`Handshake`](crate::Handshake) refuses it.
    pub fn new(compression: Option<Compression>) -> Segments {
        Segments {
            is_lz4: compression == Some(Compression::Lz4),
        }
    }

    /// Returns the capacity that is sufficient for the segments of `frames_bytes` bytes of frames.
    /// The calculation uses the fact that any two adjacent segments together contain more bytes
    /// than fit in one segment.
    pub fn room_bytes(frames_bytes: usize) -> usize {
        let segments = 2 * (frames_bytes / PAYLOAD_BYTES_MAX) + 2;
        let each = LZ4_HEADER_BYTES + TRAILER_BYTES;
        frames_bytes + segments * each + block::get_maximum_output_size(PAYLOAD_BYTES_MAX)
    }

    /// Appends whole frames as segments. A segment contains as many frames as fit into it. If a
    /// frame is too long for one segment, the function splits the frame over several segments. The
    /// function does not allocate if `out` has a free capacity of [`Segments::room_bytes`].
    pub fn wrap(self, frames: &[u8], out: &mut Vec<u8>) {
        let mut rest = frames;
        while !rest.is_empty() {
            let whole = whole_frames_bytes(rest);
            if whole > 0 {
                let (now, later) = rest.split_at(whole);
                self.append(now, true, out);
                rest = later;
                continue;
            }
            let (large, later) = rest.split_at(frame_bytes(rest));
            for part in large.chunks(PAYLOAD_BYTES_MAX) {
                self.append(part, false, out);
            }
            rest = later;
        }
    }

    fn append(self, payload: &[u8], is_whole: bool, out: &mut Vec<u8>) {
        let start = out.len();
        let length_bytes = self.header_bytes() - HEADER_CRC_BYTES;
        out.resize(start + self.header_bytes(), 0);
        let (mut bytes, mut expanded) = (payload.len(), 0);
        let at = out.len();
        let compressed = self.is_lz4.then(|| {
            out.resize(at + block::get_maximum_output_size(payload.len()), 0);
            compression::lz4_into(payload, &mut out[at..])
        });
        match compressed.flatten().filter(|length| *length < payload.len()) {
            Some(length) => {
                out.truncate(at + length);
                (bytes, expanded) = (length, payload.len());
            }
            None => {
                out.truncate(at);
                out.extend_from_slice(payload);
            }
        }
        let mut says = bytes as u64;
        let mut bits = LENGTH_BITS;
        if self.is_lz4 {
            says |= (expanded as u64) << bits;
            bits += LENGTH_BITS;
        }
        says |= u64::from(is_whole) << bits;
        let says = &says.to_le_bytes()[..length_bytes];
        out[start..start + length_bytes].copy_from_slice(says);
        let crc = crc24(says).to_le_bytes();
        out[start + length_bytes..at].copy_from_slice(&crc[..HEADER_CRC_BYTES]);
        let crc = crc32(&out[at..]);
        out.extend_from_slice(&crc.to_le_bytes());
    }

    /// Returns the number of bytes of the segment that begins with these bytes. Returns `None` if
    /// the header of the segment is not complete yet.
    ///
    /// # Errors
    /// The checksum of the header does not match.
    pub fn segment_bytes(self, bytes: &[u8]) -> Result<Option<usize>, SegmentError> {
        let header = self.header(bytes)?;
        Ok(header.map(|header| self.header_bytes() + header.bytes + TRAILER_BYTES))
    }

    /// Puts the content of a whole segment into `payload`, and replaces the previous content.
    ///
    /// # Errors
    /// A checksum does not match, or the payload does not decompress to the announced length.
    pub fn unwrap(self, segment: &[u8], payload: &mut Vec<u8>) -> Result<(), SegmentError> {
        let header = self.header(segment)?.expect("a whole segment has a header");
        let body = &segment[self.header_bytes()..];
        let (body, trailer) = body.split_at(header.bytes);
        let expected = crc32(body);
        let found: [u8; 4] = *trailer.first_chunk().expect("a whole segment has a trailer");
        let found = u32::from_le_bytes(found);
        let bytes = body.len();
        if expected != found {
            return Err(SegmentError::Payload {
                bytes,
                expected,
                found,
            });
        }
        payload.clear();
        let Some(expanded) = header.expanded else {
            payload.extend_from_slice(body);
            return Ok(());
        };
        payload.resize(expanded, 0);
        match block::decompress_into(body, payload) {
            Ok(length) if length == expanded => Ok(()),
            _ => Err(SegmentError::Compression { bytes, expanded }),
        }
    }

    fn header_bytes(self) -> usize {
        if self.is_lz4 {
            LZ4_HEADER_BYTES
        } else {
            PLAIN_HEADER_BYTES
        }
    }

    fn header(self, bytes: &[u8]) -> Result<Option<SegmentHeader>, SegmentError> {
        let Some(header) = bytes.get(..self.header_bytes()) else {
            return Ok(None);
        };
        let (says, crc) = header.split_at(self.header_bytes() - HEADER_CRC_BYTES);
        let (expected, found) = (crc24(says), number(crc) as u32);
        if expected != found {
            return Err(SegmentError::Header { expected, found });
        }
        let says = number(says);
        let length = |shift: u32| (says >> shift) as usize & PAYLOAD_BYTES_MAX;
        // A length of 0 before compression means that the sender left the segment uncompressed,
        // because compression did not make it shorter.
        let expanded = Some(length(LENGTH_BITS)).filter(|bytes| self.is_lz4 && *bytes > 0);
        Ok(Some(SegmentHeader {
            bytes: length(0),
            expanded,
        }))
    }
}

/// Reads segments from a blocking connection, and passes their payload to the caller.
#[derive(Debug)]
pub struct SegmentReader {
    segments: Segments,
    segment: Vec<u8>,
    payload: Vec<u8>,
    /// Number of bytes of the payload that the reader has passed to the caller.
    taken: usize,
}

impl SegmentReader {
    /// Returns a reader for a connection with this format.
    pub fn new(segments: Segments) -> SegmentReader {
        SegmentReader {
            segments,
            segment: Vec::new(),
            payload: Vec::new(),
            taken: 0,
        }
    }

    /// Returns the format of the connection's segments.
    pub fn segments(&self) -> Segments {
        self.segments
    }

    /// Fills the whole of `room` with the next bytes of the payload. `fill` must fill the whole
    /// slice that it gets with the next bytes from the socket.
    ///
    /// # Errors
    /// The errors of `fill`. Also, the bytes are not a segment.
    pub fn fill<E>(
        &mut self,
        mut room: &mut [u8],
        mut fill: impl FnMut(&mut [u8]) -> Result<(), E>,
        wrong: impl Fn(SegmentError) -> E,
    ) -> Result<(), E> {
        while !room.is_empty() {
            let there = &self.payload[self.taken..];
            let count = there.len().min(room.len());
            let (now, later) = room.split_at_mut(count);
            now.copy_from_slice(&there[..count]);
            self.taken += count;
            room = later;
            if !room.is_empty() {
                self.next(&mut fill, &wrong)?;
            }
        }
        Ok(())
    }

    /// Returns true if the reader has passed all received bytes to the caller.
    pub fn is_empty(&self) -> bool {
        self.taken == self.payload.len()
    }

    fn next<E>(
        &mut self,
        fill: &mut impl FnMut(&mut [u8]) -> Result<(), E>,
        wrong: &impl Fn(SegmentError) -> E,
    ) -> Result<(), E> {
        let header_bytes = self.segments.header_bytes();
        self.segment.resize(header_bytes, 0);
        fill(&mut self.segment)?;
        let whole = self.segments.segment_bytes(&self.segment).map_err(wrong)?;
        self.segment.resize(whole.expect("the segment has a whole header"), 0);
        fill(&mut self.segment[header_bytes..])?;
        self.taken = 0;
        self.segments.unwrap(&self.segment, &mut self.payload).map_err(wrong)
    }
}

/// Returns the number of bytes of the first frame, or the number of bytes that are present if the
/// frame is longer.
fn frame_bytes(frames: &[u8]) -> usize {
    let length = frames
        .get(LENGTH_OFFSET..)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |bytes| u32::from_be_bytes(*bytes) as usize);
    frames.len().min(HEADER_BYTES + length)
}

/// Returns the total number of bytes of as many whole frames as fit together into one segment,
/// counted from the first frame.
fn whole_frames_bytes(frames: &[u8]) -> usize {
    let mut whole = 0;
    while whole < frames.len() {
        let next = whole + frame_bytes(&frames[whole..]);
        if next > PAYLOAD_BYTES_MAX {
            break;
        }
        whole = next;
    }
    whole
}

/// Returns the number in up to eight bytes in little-endian order.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn crc24(bytes: &[u8]) -> u32 {
    bytes.iter().fold(CRC24_BEGIN, |crc, byte| {
        let mut crc = crc ^ u32::from(*byte) << 16;
        for _ in 0..8 {
            crc <<= 1;
            if crc & 0x100_0000 != 0 {
                crc ^= CRC24_POLYNOMIAL;
            }
        }
        crc
    })
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&CRC32_BEGIN);
    hasher.update(bytes);
    hasher.finalize()
}

#[cfg(test)]
mod tests;
