//! Compresses bodies with LZ4 and Snappy, as in version 4 of the protocol.
//!
//! An LZ4 body consists of the length of the uncompressed body (4 bytes, big-endian) and one LZ4
//! block. A Snappy body is a raw Snappy block, which begins with the uncompressed length. The peer
//! states the length. Before this module reserves memory, it checks the length against the caller's
//! limit, and against the largest possible expansion of the bytes that arrived.

use std::cell::RefCell;

use lz4_flex::block::{self, CompressTable};

use crate::frame::{self, FrameError, HEADER_BYTES, flag};

/// Largest expansion factor of LZ4. In a sequence of length bytes, each byte of 255 adds 255 bytes
/// to the output.
const EXPANSION_MAX: usize = 255;
/// Upper bound of the expansion factor of Snappy. Even three compressed bytes expand to at most 64
/// bytes.
const SNAPPY_EXPANSION_MAX: usize = 64;

/// Size of the length field before the LZ4 block, in bytes.
const PREFIX_BYTES: usize = 4;

/// Offset of the flags within a header, in bytes.
const FLAGS_OFFSET: usize = 1;

/// Compression of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// LZ4 blocks.
    Lz4,
    /// Snappy blocks.
    Snappy,
}

impl Compression {
    /// Returns the name of the algorithm in STARTUP and SUPPORTED.
    pub fn name(self) -> &'static str {
        match self {
            Compression::Lz4 => "lz4",
            Compression::Snappy => "snappy",
        }
    }

    /// Returns the compression with this name. Returns `None` if cassay does not support it.
    pub fn parse(name: &str) -> Option<Compression> {
        let all = [Compression::Lz4, Compression::Snappy];
        all.into_iter().find(|compression| compression.name() == name)
    }

    /// Compresses a frame with this algorithm, like [`compress_frame`].
    pub fn compress(self, out: &mut Vec<u8>, start: usize, scratch: &mut Vec<u8>) {
        match self {
            Compression::Lz4 => compress_frame(out, start, scratch),
            Compression::Snappy => snappy_frame(out, start, scratch),
        }
    }

    /// Decompresses a body with this algorithm, like [`decompress_body`].
    ///
    /// # Errors
    /// The errors of [`decompress_body`].
    pub fn decompress(
        self,
        body: &[u8],
        out: &mut Vec<u8>,
        limit: usize,
    ) -> Result<(), FrameError> {
        match self {
            Compression::Lz4 => decompress_body(body, out, limit),
            Compression::Snappy => snappy_body(body, out, limit),
        }
    }
}

thread_local! {
    /// The hash table of the LZ4 compressor, which takes 8 KiB. Each thread has a separate table,
    /// so that the compressor does not allocate a table for each frame.
    static TABLE: RefCell<CompressTable> = RefCell::new(CompressTable::small());
    static SNAPPY: RefCell<snap::raw::Encoder> = RefCell::new(snap::raw::Encoder::new());
}

/// Compresses `bytes` into an LZ4 block in `room`. Returns the length of the block, or `None` if
/// `room` is too small.
pub(crate) fn lz4_into(bytes: &[u8], room: &mut [u8]) -> Option<usize> {
    let compressed =
        TABLE.with_borrow_mut(|table| block::compress_into_with_table(bytes, room, table));
    compressed.ok()
}

/// Returns the length of `bytes` after compression into one LZ4 block.
pub fn lz4_block_bytes(bytes: &[u8]) -> usize {
    block::compress(bytes).len()
}

/// Compresses the frame at `out[start..]` in place. Sets the compression flag and the new length in
/// the header. If compression would not make the body shorter, the function leaves the body
/// uncompressed and the flag unset, which the protocol allows for each frame. `scratch` is reusable
/// memory, which grows to the size of the largest body.
pub fn compress_frame(out: &mut Vec<u8>, start: usize, scratch: &mut Vec<u8>) {
    let body_start = start + HEADER_BYTES;
    let Some(body) = out.get(body_start..).filter(|body| !body.is_empty()) else {
        return;
    };
    let bound = block::get_maximum_output_size(body.len());
    if scratch.len() < bound {
        scratch.resize(bound, 0);
    }
    let Some(length) = lz4_into(body, scratch) else {
        return;
    };
    if PREFIX_BYTES + length >= body.len() {
        return;
    }
    let uncompressed = (body.len() as u32).to_be_bytes();
    out.truncate(body_start);
    out.extend_from_slice(&uncompressed);
    out.extend_from_slice(&scratch[..length]);
    out[start + FLAGS_OFFSET] |= flag::COMPRESSED;
    frame::end(out, start);
}

/// Decompresses a body into `out`, and replaces the content of `out`. Does not allocate if `out`
/// has enough capacity. `limit` is the maximum length of the uncompressed body, in bytes.
///
/// # Errors
/// The body is not an LZ4 block of the announced length. It may also announce more bytes than
/// `limit`, or more than its compressed bytes can expand to. `out` is then empty.
pub fn decompress_body(body: &[u8], out: &mut Vec<u8>, limit: usize) -> Result<(), FrameError> {
    out.clear();
    let bytes = body.len();
    let refuse = |what| FrameError::Compression { bytes, what };
    let Some((length, block)) = body.split_first_chunk::<PREFIX_BYTES>() else {
        return Err(refuse("the body does not begin with a length"));
    };
    let length = u32::from_be_bytes(*length) as usize;
    if length > limit {
        return Err(FrameError::TooLong {
            length: length as u64,
            limit: limit as u64,
        });
    }
    if length > block.len().saturating_mul(EXPANSION_MAX) {
        return Err(refuse(
            "the stated length of the body is impossible for LZ4",
        ));
    }
    if length == 0 {
        return Ok(());
    }
    out.resize(length, 0);
    match block::decompress_into(block, out) {
        Ok(written) if written == length => Ok(()),
        Ok(_) => {
            out.clear();
            Err(refuse("the body is shorter than its stated length"))
        }
        Err(_) => {
            out.clear();
            Err(refuse("the body is not an LZ4 block of its stated length"))
        }
    }
}

fn snappy_frame(out: &mut Vec<u8>, start: usize, scratch: &mut Vec<u8>) {
    let body_start = start + HEADER_BYTES;
    let Some(body) = out.get(body_start..).filter(|body| !body.is_empty()) else {
        return;
    };
    let bound = snap::raw::max_compress_len(body.len());
    if scratch.len() < bound {
        scratch.resize(bound, 0);
    }
    let compressed = SNAPPY.with_borrow_mut(|encoder| encoder.compress(body, scratch));
    let Ok(length) = compressed else { return };
    if length >= body.len() {
        return;
    }
    out.truncate(body_start);
    out.extend_from_slice(&scratch[..length]);
    out[start + FLAGS_OFFSET] |= flag::COMPRESSED;
    frame::end(out, start);
}

fn snappy_body(body: &[u8], out: &mut Vec<u8>, limit: usize) -> Result<(), FrameError> {
    out.clear();
    let bytes = body.len();
    let refuse = |what| FrameError::Compression { bytes, what };
    let length = match snap::raw::decompress_len(body) {
        // The library also accepts zero bytes as an empty block, but this function must refuse
        // them.
        Ok(length) if bytes > 0 => length,
        _ => return Err(refuse("the body does not begin with a length")),
    };
    if length > limit {
        return Err(FrameError::TooLong {
            length: length as u64,
            limit: limit as u64,
        });
    }
    if length > bytes.saturating_mul(SNAPPY_EXPANSION_MAX) {
        return Err(refuse(
            "the stated length of the body is impossible for Snappy",
        ));
    }
    out.resize(length, 0);
    match snap::raw::Decoder::new().decompress(body, out) {
        Ok(written) if written == length => Ok(()),
        _ => {
            out.clear();
            Err(refuse(
                "the body is not a Snappy block of its stated length",
            ))
        }
    }
}
