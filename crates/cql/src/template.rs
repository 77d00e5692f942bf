//! Encodes EXECUTE, QUERY and BATCH frames once, and changes them for each operation. This is the
//! hot path of requests.
//!
//! A frame consists of a head, values and a tail. The head and the tail are constant for a
//! statement. Each operation writes the values and sets the stream id, the body length and, if the
//! client provides it, the timestamp. A request for a further page also adds the paging state. A
//! batch is a list of entries between a head and a tail. No function allocates if `out` has
//! capacity for [`Template::bytes`] and the values.

use crate::frame::{self, HEADER_BYTES, opcode};
use crate::request::{self, BatchKind, QueryParams, StatementId, param};
use crate::tokens::{CqlMistake, append_statement_text};
use crate::version::Version;
use crate::wire::{append_long_bytes, append_short_bytes, append_u16};

/// Size of the page size field, in bytes. This field comes first in the tail of a paged statement.
const PAGE_SIZE_BYTES: usize = 4;
/// Size of a timestamp, in bytes. The timestamp comes last in the tail of a statement that has a
/// timestamp.
const TIMESTAMP_BYTES: usize = 8;
/// Maximum number of statements in a BATCH.
pub const BATCH_ENTRIES_MAX: usize = u16::MAX as usize;

/// An EXECUTE or QUERY frame that is encoded once. The head consists of the header, the id or text,
/// the consistency, the flags and the number of values. The tail follows the values, and consists
/// of the page size, the paging state, the serial consistency and the timestamp.
///
/// The budget is 25 ns per standard1 write frame (6 values, 236 bytes with the header).
/// `tests/it/cost.rs` measured 11 ns on one of 2 shared vCPUs, as the best of 1000 rounds in a warm
/// buffer of 64 frames. The [`token`](crate::token::murmur3) of the key takes another 11 ns.
#[derive(Clone, Debug)]
pub struct Template {
    head: Vec<u8>,
    tail: Vec<u8>,
    /// The statement's entry in a BATCH: the kind, the id or text, and the number of values.
    entry: Vec<u8>,
    /// Id of the description of the statement's result columns in version 5.
    result_metadata: Vec<u8>,
    /// Offset of the parameter flags in the head. If the flags have four bytes, this is the offset
    /// of the last byte.
    flags_offset: usize,
    has_page_size: bool,
    has_timestamp: bool,
}

impl Template {
    /// Encodes an EXECUTE of the prepared statement `id`. `values_count` is the number of values
    /// that the caller will append between [`begin`](Self::begin) and [`finish`](Self::finish). The
    /// function ignores `params.values` and `params.paging_state`. A timestamp in `params` only
    /// reserves space for the timestamp that [`stamp`] writes.
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

    /// Encodes a QUERY, like [`Template::execute`] for a statement that the client sends as text
    /// every time. The frame contains the text without its comments.
    ///
    /// # Errors
    /// The text is not CQL, or is ambiguous.
    pub fn query(
        cql: &str,
        values_count: u16,
        params: &QueryParams,
    ) -> Result<Template, CqlMistake> {
        let (mut entry, mut text) = (vec![0], Vec::new());
        append_statement_text(&mut text, cql)?;
        entry.extend_from_slice(&text);
        let sent = (entry, &text[..]);
        Ok(Self::new(opcode::QUERY, sent, values_count, params))
    }

    /// Encodes a template from two forms of the statement. The first form is its entry in a BATCH,
    /// without the number of values. `alone` is its form outside of a batch.
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

    /// Appends the head to `out`. Returns the offset of the frame, which [`finish`](Self::finish)
    /// needs.
    #[inline]
    pub fn begin(&self, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        out.extend_from_slice(&self.head);
        start
    }

    /// Appends the tail. Sets the stream id and the body length of the frame that
    /// [`begin`](Self::begin) began at `start`.
    #[inline]
    pub fn finish(&self, out: &mut Vec<u8>, start: usize, stream: i16) {
        if !self.tail.is_empty() {
            out.extend_from_slice(&self.tail);
        }
        patch(out, start, stream);
    }

    /// Does the same as [`finish`](Self::finish) for the page that begins at `paging_state`.
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

    /// Returns true if the frame ends with a timestamp, which [`stamp`] must set.
    pub fn has_timestamp(&self) -> bool {
        self.has_timestamp
    }

    /// Returns the id under which the statement was prepared. Returns `None` if the client sends
    /// the statement as text.
    pub fn prepared_id(&self) -> Option<&[u8]> {
        match self.entry.as_slice() {
            [1, _, _, id @ .., _, _] => Some(id),
            _ => None,
        }
    }

    /// Returns true if the template executes the statement with these identifiers.
    pub fn executes(&self, id: StatementId<'_>) -> bool {
        self.prepared_id() == Some(id.id) && self.result_metadata == id.result_metadata
    }

    /// Returns the total number of bytes of the head and the tail. A frame also contains the
    /// values, each with a length field of 4 bytes.
    pub fn bytes(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// Appends the statement to a BATCH. The caller must append the values of the statement next.
    #[inline]
    pub fn append_entry(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.entry);
    }
}

/// A BATCH frame that is encoded once. The head consists of the header, the kind and the number of
/// entries. Each entry consists of the output of [`Template::append_entry`] and the values of the
/// statement. The tail consists of the consistency, the flags, the serial consistency and the
/// timestamp.
#[derive(Clone, Debug)]
pub struct BatchTemplate {
    version: Version,
    kind: BatchKind,
    tail: Vec<u8>,
    has_timestamp: bool,
}

impl BatchTemplate {
    /// Encodes the constant parts of the frame. The function uses only the version, the
    /// consistency, the serial consistency and the presence of a timestamp from `params`. A BATCH
    /// has no other parameters.
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

    /// Appends the head of a batch with `entries_count` entries. Returns the offset of the frame.
    #[inline]
    pub fn begin(&self, out: &mut Vec<u8>, entries_count: u16) -> usize {
        let start = frame::begin(out, self.version.number(), 0, opcode::BATCH);
        out.push(self.kind as u8);
        append_u16(out, entries_count);
        start
    }

    /// Appends the tail, and sets the stream id and the body length.
    #[inline]
    pub fn finish(&self, out: &mut Vec<u8>, start: usize, stream: i16) {
        out.extend_from_slice(&self.tail);
        patch(out, start, stream);
    }

    /// Returns true if the frame ends with a timestamp, which [`stamp`] must set.
    pub fn has_timestamp(&self) -> bool {
        self.has_timestamp
    }

    /// Returns the number of bytes of head and tail.
    pub fn bytes(&self) -> usize {
        HEADER_BYTES + 3 + self.tail.len()
    }
}

/// Sets the timestamp of the finished frame at the end of `out`, in µs since 1970. The template of
/// the frame must have a timestamp.
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

/// Appends a value as its length (an int) and its bytes.
#[inline]
pub fn append_value(out: &mut Vec<u8>, value: &[u8]) {
    debug_assert!(value.len() <= frame::BODY_BYTES_MAX as usize);
    out.reserve(4 + value.len());
    out.extend_from_slice(&(value.len() as u32).to_be_bytes());
    out.extend_from_slice(value);
}

/// Appends a null value, which is the length -1.
#[inline]
pub fn append_null(out: &mut Vec<u8>) {
    out.extend_from_slice(&(-1i32).to_be_bytes());
}
