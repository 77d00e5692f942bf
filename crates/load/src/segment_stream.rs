//! Segments of protocol version 5 on a non-blocking connection. They form a layer with checksums
//! between the socket and the frames.
//!
//! Connections of older versions do not use segments. This module does not allocate after the start
//! line.

use cql::segment::{SEGMENT_BYTES_MAX, SegmentError, Segments};

/// Size of the buffer for the data that a socket delivers at once, in bytes. The buffer has room
/// for at least one complete segment.
const ROOM_BYTES: usize = 2 * SEGMENT_BYTES_MAX;

#[derive(Debug)]
pub(crate) struct Wrapping {
    segments: Segments,
    /// Segments that were received but not read yet. They are between `start` and `end`.
    came: Vec<u8>,
    start: usize,
    end: usize,
    /// Payload of the last segment. The first `taken` bytes have already been passed to the caller.
    payload: Vec<u8>,
    taken: usize,
    pub output: Vec<u8>,
    pub sent: usize,
}

impl Wrapping {
    /// Allocates memory for a connection that sends at most `frames_bytes` bytes of frames at once.
    pub fn new(segments: Segments, frames_bytes: usize) -> Wrapping {
        Wrapping {
            segments,
            came: vec![0; ROOM_BYTES],
            start: 0,
            end: 0,
            payload: Vec::with_capacity(SEGMENT_BYTES_MAX),
            taken: 0,
            output: Vec::with_capacity(Segments::room_bytes(frames_bytes)),
            sent: 0,
        }
    }

    /// Resets the memory for another connection.
    pub fn emptied(mut self: Box<Self>) -> Box<Wrapping> {
        (self.start, self.end, self.taken, self.sent) = (0, 0, 0, 0);
        self.payload.clear();
        self.output.clear();
        self
    }

    /// Returns the free space for data from the socket. The space is not empty if
    /// [`Wrapping::take`] has just returned fewer bytes than requested.
    pub fn room(&mut self) -> &mut [u8] {
        if self.start > 0 {
            self.came.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        &mut self.came[self.end..]
    }

    /// Marks that the socket has written `bytes` bytes to the free space.
    pub fn received(&mut self, bytes: usize) {
        self.end += bytes;
    }

    /// Copies as much payload of complete segments as fits into `room`. Returns the number of
    /// copied bytes.
    pub fn take(&mut self, room: &mut [u8]) -> Result<usize, SegmentError> {
        let mut filled = 0;
        while filled < room.len() {
            if self.taken == self.payload.len() && !self.open_next()? {
                break;
            }
            let there = &self.payload[self.taken..];
            let count = there.len().min(room.len() - filled);
            room[filled..filled + count].copy_from_slice(&there[..count]);
            self.taken += count;
            filled += count;
        }
        Ok(filled)
    }

    /// Returns true if the buffer still contains received data, or if the socket has filled all of
    /// the free space.
    pub fn may_have_more(&self) -> bool {
        self.taken < self.payload.len() || self.end == self.came.len() || self.has_segment()
    }

    /// Packs frames into segments. The caller must have sent all earlier segments.
    pub fn wrap(&mut self, frames: &[u8]) {
        self.output.clear();
        self.sent = 0;
        self.segments.wrap(frames, &mut self.output);
    }

    fn has_segment(&self) -> bool {
        let came = &self.came[self.start..self.end];
        // The caller gets the error for an invalid segment when it reads the segment.
        self.segments
            .segment_bytes(came)
            .map_or(true, |whole| whole.is_some_and(|whole| whole <= came.len()))
    }

    /// Reads the next segment. Returns false if the segment has not arrived completely.
    fn open_next(&mut self) -> Result<bool, SegmentError> {
        let came = &self.came[self.start..self.end];
        let whole = self.segments.segment_bytes(came)?;
        let Some(segment) = whole.and_then(|whole| came.get(..whole)) else {
            return Ok(false);
        };
        self.start += segment.len();
        self.taken = 0;
        self.segments.unwrap(segment, &mut self.payload)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns frames of these lengths, as a server sends them.
    fn frames(lengths: &[usize]) -> Vec<u8> {
        let mut all = Vec::new();
        for length in lengths {
            all.extend([0x85, 0, 0, 1, 8]);
            all.extend((*length as u32).to_be_bytes());
            all.extend((0..*length).map(|at| ((at * at) >> 3) as u8));
        }
        all
    }

    #[test]
    fn segment_contents_are_read_for_any_chunking_and_buffer_size() {
        let frames = frames(&[10, 400_000, 0, 131_062, 131_063, 7]);
        let mut wire = Vec::new();
        Segments::new(None).wrap(&frames, &mut wire);
        for (comes, room_bytes) in [(1_000, 999), (77_777, 50_000), (600_000, 600_000)] {
            let mut wrapping = Wrapping::new(Segments::new(None), 1 << 10);
            let (mut rest, mut out) = (&wire[..], Vec::new());
            let mut room = vec![0; room_bytes];
            while out.len() < frames.len() {
                let taken = wrapping.take(&mut room).unwrap();
                out.extend_from_slice(&room[..taken]);
                if taken > 0 {
                    continue;
                }
                let socket = wrapping.room();
                let count = socket.len().min(comes).min(rest.len());
                assert!(count > 0, "the stream needs more bytes");
                socket[..count].copy_from_slice(&rest[..count]);
                wrapping.received(count);
                rest = &rest[count..];
            }
            assert!(out == frames && rest.is_empty() && !wrapping.may_have_more());
        }
    }

    #[test]
    fn bytes_that_are_no_segment_are_an_error() {
        let mut wrapping = Wrapping::new(Segments::new(None), 1 << 10);
        wrapping.room()[..16].copy_from_slice(b"HTTP/1.1 400 Bad");
        wrapping.received(16);
        assert!(wrapping.may_have_more());
        assert!(matches!(
            wrapping.take(&mut [0; 9]),
            Err(SegmentError::Header { .. })
        ));
    }
}
