//! EXECUTE frames that are encoded once and patched per operation: the hot path of requests.
//!
//! A frame is head, values, tail. Head and tail never change for a statement; per operation only
//! the values are written and the stream id and body length are patched. Nothing is allocated when
//! `out` has room for [`Template::bytes`] and the values.

use crate::frame::{self, HEADER_BYTES};
use crate::request::{self, QueryParams};

/// An EXECUTE frame encoded once: head (header, id, consistency, flags, number of values), then
/// values, then tail (page size, paging state, serial consistency, timestamp).
///
/// Budget: 25 ns per standard1 write frame (6 values, 236 bytes with the header). Measured: 11 ns,
/// by `tests/it/cost.rs`, on one of 2 shared vCPUs, the best of 1000 rounds in a warm buffer of 64
/// frames; a [`token`](crate::token::murmur3) of its key takes as long again.
#[derive(Clone, Debug)]
pub struct Template {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Template {
    /// Encodes what does not change. `id` is the prepared statement's, `values_count` the number of
    /// values that will be appended between [`begin`](Self::begin) and [`finish`](Self::finish);
    /// `params.values` is not looked at.
    pub fn execute(id: &[u8], values_count: u16, params: &QueryParams) -> Template {
        let mut head = Vec::new();
        request::append_execute_head(&mut head, id, values_count, params);
        let mut tail = Vec::new();
        request::append_params_tail(&mut tail, params);
        Template { head, tail }
    }

    /// Appends the head to `out`; returns where the frame begins, for [`finish`](Self::finish).
    #[inline]
    pub fn begin(&self, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        out.extend_from_slice(&self.head);
        start
    }

    /// Appends the tail and patches stream id and body length of the frame that
    /// [`begin`](Self::begin) opened at `start`.
    #[inline]
    pub fn finish(&self, out: &mut Vec<u8>, start: usize, stream: i16) {
        if !self.tail.is_empty() {
            out.extend_from_slice(&self.tail);
        }
        let frame = &mut out[start..];
        let length = (frame.len() - HEADER_BYTES) as u32;
        let header: &mut [u8; HEADER_BYTES] = frame
            .first_chunk_mut()
            .expect("begin() wrote a header at start");
        header[frame::STREAM_OFFSET..][..2].copy_from_slice(&stream.to_be_bytes());
        header[frame::LENGTH_OFFSET..].copy_from_slice(&length.to_be_bytes());
    }

    /// Bytes of head and tail: a frame is this and its values, each with 4 bytes of length.
    pub fn bytes(&self) -> usize {
        self.head.len() + self.tail.len()
    }
}

/// Appends a value: its length as an int, then its bytes.
#[inline]
pub fn append_value(out: &mut Vec<u8>, value: &[u8]) {
    debug_assert!(value.len() <= frame::BODY_BYTES_MAX as usize);
    out.reserve(4 + value.len());
    out.extend_from_slice(&(value.len() as u32).to_be_bytes());
    out.extend_from_slice(value);
}

/// Appends a null value: the length -1.
#[inline]
pub fn append_null(out: &mut Vec<u8>) {
    out.extend_from_slice(&(-1i32).to_be_bytes());
}
