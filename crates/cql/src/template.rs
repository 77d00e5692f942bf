//! EXECUTE, QUERY and BATCH frames that are encoded once and patched per operation: the hot path
//! of requests.
//!
//! A frame is head, values, tail. Head and tail never change for a statement; per operation only
//! the values are written and the stream id, the body length and (where the client states it) the
//! timestamp are patched. A further page adds the paging state, a batch is a list of entries
//! between its own head and tail. Nothing is allocated when `out` has room for
//! [`Template::bytes`] and the values.

use crate::frame::{self, HEADER_BYTES, opcode};
use crate::request::{self, BatchKind, QueryParams, StatementId, param};
use crate::text::{Fault, append_statement_text};
use crate::version::Version;
use crate::wire::{append_long_bytes, append_short_bytes, append_u16};

/// Bytes of a page size, the first thing in the tail of a statement that is read in pages.
const PAGE_SIZE_BYTES: usize = 4;
/// Bytes of a timestamp, the last thing in the tail of a statement that has one.
const TIMESTAMP_BYTES: usize = 8;
/// The most statements that a BATCH can say it has.
pub const BATCH_ENTRIES_MAX: usize = u16::MAX as usize;

/// An EXECUTE or QUERY frame encoded once: head (header, id or text, consistency, flags, number of
/// values), then values, then tail (page size, paging state, serial consistency, timestamp).
///
/// Budget: 25 ns per standard1 write frame (6 values, 236 bytes with the header). Measured: 11 ns,
/// by `tests/it/cost.rs`, on one of 2 shared vCPUs, the best of 1000 rounds in a warm buffer of 64
/// frames; a [`token`](crate::token::murmur3) of its key takes as long again.
#[derive(Clone, Debug)]
pub struct Template {
    head: Vec<u8>,
    tail: Vec<u8>,
    /// How the statement stands in a BATCH: its kind, id or text, and number of values.
    entry: Vec<u8>,
    /// What names the columns of its rows in version 5.
    result_metadata: Vec<u8>,
    /// Where in the head the flags of the parameters are, or the last of four bytes of them.
    flags_offset: usize,
    has_page_size: bool,
    has_timestamp: bool,
}

impl Template {
    /// An EXECUTE. `id` is the prepared statement's, `values_count` the number of values that will
    /// be appended between [`begin`](Self::begin) and [`finish`](Self::finish); `params.values`
    /// and `params.paging_state` are not looked at. A timestamp in `params` only makes room for
    /// the one that [`stamp`] writes.
    pub fn execute<'i>(
        id: impl Into<StatementId<'i>>,
        values_count: u16,
        params: &QueryParams,
    ) -> Template {
        let id = id.into();
        let (mut entry, mut names) = (vec![1], Vec::new());
        append_short_bytes(&mut entry, id.id);
        request::append_statement(&mut names, id, params.version);
        Template {
            result_metadata: id.result_metadata.to_vec(),
            ..Self::new(opcode::EXECUTE, (entry, &names), values_count, params)
        }
    }

    /// A QUERY: as [`Template::execute`], of a statement that is sent as text every time, without
    /// its comments.
    ///
    /// # Errors
    /// The text is not CQL, or can be read in two ways.
    pub fn query(cql: &str, values_count: u16, params: &QueryParams) -> Result<Template, Fault> {
        let (mut entry, mut text) = (vec![0], Vec::new());
        append_statement_text(&mut text, cql)?;
        entry.extend_from_slice(&text);
        let sent = (entry, &text[..]);
        Ok(Self::new(opcode::QUERY, sent, values_count, params))
    }

    /// Of how it stands in a BATCH, without the number of values, and alone.
    fn new(
        opcode: u8,
        (mut entry, alone): (Vec<u8>, &[u8]),
        values_count: u16,
        params: &QueryParams,
    ) -> Template {
        let params = QueryParams {
            paging_state: None,
            ..*params
        };
        let mut head = Vec::new();
        frame::begin(&mut head, params.version.number(), 0, opcode);
        head.extend_from_slice(alone);
        let flags_offset = head.len() + if params.version >= Version::V5 { 5 } else { 2 };
        request::append_params_head(&mut head, values_count, &params);
        append_u16(&mut entry, values_count);
        let mut tail = Vec::new();
        request::append_params_tail(&mut tail, &params);
        Template {
            head,
            tail,
            entry,
            result_metadata: Vec::new(),
            flags_offset,
            has_page_size: params.page_size.is_some(),
            has_timestamp: params.timestamp_us.is_some(),
        }
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
        patch(out, start, stream);
    }

    /// As [`finish`](Self::finish), for the page that begins at `paging_state`.
    pub fn finish_page(&self, out: &mut Vec<u8>, start: usize, stream: i16, paging_state: &[u8]) {
        out[start + self.flags_offset] |= param::PAGING_STATE;
        let before = if self.has_page_size {
            PAGE_SIZE_BYTES
        } else {
            0
        };
        let (page_size, rest) = self.tail.split_at(before);
        out.extend_from_slice(page_size);
        append_long_bytes(out, paging_state);
        out.extend_from_slice(rest);
        patch(out, start, stream);
    }

    /// Whether a frame ends with a timestamp, which [`stamp`] is to set.
    pub fn has_timestamp(&self) -> bool {
        self.has_timestamp
    }

    /// The id under which the statement was prepared; `None`: it is sent as text.
    pub fn prepared_id(&self) -> Option<&[u8]> {
        match self.entry.as_slice() {
            [1, _, _, id @ .., _, _] => Some(id),
            _ => None,
        }
    }

    /// Whether it executes the statement that a server knows by this.
    pub fn executes(&self, id: StatementId<'_>) -> bool {
        self.prepared_id() == Some(id.id) && self.result_metadata == id.result_metadata
    }

    /// Bytes of head and tail: a frame is this and its values, each with 4 bytes of length.
    pub fn bytes(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// Appends the statement to a BATCH; its values come next.
    #[inline]
    pub fn append_entry(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.entry);
    }
}

/// A BATCH frame encoded once: head (header, kind, number of entries), then the entries, each
/// [`Template::append_entry`] and its values, then tail (consistency, flags, serial consistency,
/// timestamp).
#[derive(Clone, Debug)]
pub struct BatchTemplate {
    version: Version,
    kind: BatchKind,
    tail: Vec<u8>,
    has_timestamp: bool,
}

impl BatchTemplate {
    /// Encodes what does not change. Of `params` only version, consistency, serial consistency and
    /// the presence of a timestamp are looked at: a BATCH has nothing else.
    pub fn new(kind: BatchKind, params: &QueryParams) -> BatchTemplate {
        let params = QueryParams {
            version: params.version,
            consistency: params.consistency,
            serial_consistency: params.serial_consistency,
            timestamp_us: params.timestamp_us,
            ..QueryParams::default()
        };
        let mut tail = Vec::new();
        request::append_params_head(&mut tail, 0, &params);
        request::append_params_tail(&mut tail, &params);
        BatchTemplate {
            version: params.version,
            kind,
            tail,
            has_timestamp: params.timestamp_us.is_some(),
        }
    }

    /// Appends the head of a batch of `entries_count`; returns where the frame begins.
    #[inline]
    pub fn begin(&self, out: &mut Vec<u8>, entries_count: u16) -> usize {
        let start = frame::begin(out, self.version.number(), 0, opcode::BATCH);
        out.push(self.kind as u8);
        append_u16(out, entries_count);
        start
    }

    /// Appends the tail and patches stream id and body length.
    #[inline]
    pub fn finish(&self, out: &mut Vec<u8>, start: usize, stream: i16) {
        out.extend_from_slice(&self.tail);
        patch(out, start, stream);
    }

    /// Whether a frame ends with a timestamp, which [`stamp`] is to set.
    pub fn has_timestamp(&self) -> bool {
        self.has_timestamp
    }

    /// Bytes of head and tail.
    pub fn bytes(&self) -> usize {
        HEADER_BYTES + 3 + self.tail.len()
    }
}

/// Sets the timestamp of the finished frame at the end of `out`, in µs since 1970. The frame's
/// template must have one.
#[inline]
pub fn stamp(out: &mut [u8], timestamp_us: i64) {
    if let Some(place) = out.last_chunk_mut::<TIMESTAMP_BYTES>() {
        *place = timestamp_us.to_be_bytes();
    }
}

#[inline]
fn patch(out: &mut [u8], start: usize, stream: i16) {
    let frame = &mut out[start..];
    let length = (frame.len() - HEADER_BYTES) as u32;
    let header: &mut [u8; HEADER_BYTES] =
        frame.first_chunk_mut().expect("begin() wrote a header at start");
    header[frame::STREAM_OFFSET..][..2].copy_from_slice(&stream.to_be_bytes());
    header[frame::LENGTH_OFFSET..].copy_from_slice(&length.to_be_bytes());
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
