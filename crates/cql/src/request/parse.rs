//! Parses requests, for servers that use CQL.
//!
//! Like every parser in this crate, this parser never panics, and never reserves memory because of
//! a count alone.

use super::{BatchKind, EventKind, param};
use crate::frame::{Header, flag, opcode};
use crate::wire::{ParseError, Reader, Result};

/// A request, as a server receives it.
#[derive(Clone, Debug, PartialEq)]
pub enum Request<'a> {
    /// Opens a connection.
    Startup {
        /// Options by name, in the order of the frame.
        options: Vec<(&'a str, &'a str)>,
    },
    /// Request for the options that STARTUP may contain.
    Options,
    /// AUTH_RESPONSE with credentials.
    AuthResponse {
        /// Token of the authentication mechanism. `None` is null.
        token: Option<&'a [u8]>,
    },
    /// A statement as text.
    Query {
        /// Text of the statement.
        cql: &'a str,
        /// Parameters of the execution.
        parameters: Parameters<'a>,
    },
    /// Prepares a statement.
    Prepare {
        /// Text of the statement.
        cql: &'a str,
    },
    /// Executes a prepared statement.
    Execute {
        /// The statement's id.
        id: &'a [u8],
        /// Parameters of the execution.
        parameters: Parameters<'a>,
    },
    /// Executes several statements as one batch.
    Batch {
        kind: BatchKind,
        statements: Vec<(BatchStatement<'a>, Vec<BoundValue<'a>>)>,
        /// Consistency and other parameters of the batch. They never include values.
        parameters: Parameters<'a>,
    },
    /// Registers for events.
    Register { events: Vec<EventKind> },
}

/// A statement within a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchStatement<'a> {
    Query(&'a str),
    /// The id of a prepared statement.
    Prepared(&'a [u8]),
}

/// A value of a bind marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundValue<'a> {
    /// Encoded bytes, possibly empty.
    Bytes(&'a [u8]),
    /// Null, which deletes the column.
    Null,
    /// The value is not set, which leaves the column unchanged.
    Unset,
}

/// Query parameters, as the client sent them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters<'a> {
    /// Code of the consistency level. The parser does not check that the code exists.
    pub consistency: u16,
    /// Number of values.
    pub values_count: u16,
    /// True if the response may omit the description of the columns.
    pub skip_metadata: bool,
    /// Rows per page.
    pub page_size: Option<i32>,
    /// Position at which the previous page ended. `None` requests the first page.
    pub paging_state: Option<&'a [u8]>,
    /// Code of the consistency level of the Paxos part. `None` if the request does not set it.
    pub serial_consistency: Option<u16>,
    /// Timestamp of the write in microseconds since 1970. `None` leaves the timestamp to the
    /// server.
    pub timestamp_us: Option<i64>,
    values: &'a [u8],
    named: bool,
}

impl<'a> Parameters<'a> {
    /// Returns the values in the order of the frame. If the values have names, skips the names.
    pub fn values(&self) -> impl Iterator<Item = BoundValue<'a>> + use<'a> {
        let mut reader = Reader::new(self.values);
        let named = self.named;
        // `parse` has already checked the values, so no error can occur here.
        (0..self.values_count).map_while(move |_| read_value(&mut reader, named).ok())
    }
}

/// Parses the uncompressed body of a request. Skips a custom payload.
///
/// # Errors
/// The opcode is not that of a request, or the body does not fit the opcode.
pub fn parse<'a>(header: &Header, body: &'a [u8]) -> Result<Request<'a>> {
    let mut reader = Reader::new(body);
    if header.flags & flag::CUSTOM_PAYLOAD != 0 {
        reader.skip_bytes_map("custom payload")?;
    }
    match header.opcode {
        opcode::STARTUP => startup(&mut reader),
        opcode::OPTIONS => Ok(Request::Options),
        opcode::AUTH_RESPONSE => Ok(Request::AuthResponse {
            token: reader.bytes("token")?,
        }),
        opcode::QUERY => Ok(Request::Query {
            cql: reader.long_string("statement")?,
            parameters: parameters(&mut reader)?,
        }),
        opcode::PREPARE => Ok(Request::Prepare {
            cql: reader.long_string("statement")?,
        }),
        opcode::EXECUTE => Ok(Request::Execute {
            id: reader.short_bytes("statement id")?,
            parameters: parameters(&mut reader)?,
        }),
        opcode::BATCH => batch(&mut reader),
        opcode::REGISTER => register(&mut reader),
        other => Err(ParseError::Value {
            what: "opcode",
            offset: 0,
            value: other.into(),
            allowed: "the opcode of a request",
        }),
    }
}

/// Returns only the statement id in the body of an EXECUTE without a custom payload. Servers use
/// this function on their hot path. Returns `None` if the body is too short.
#[inline]
pub fn execute_id(body: &[u8]) -> Option<&[u8]> {
    let (length, rest) = body.split_first_chunk()?;
    rest.get(..usize::from(u16::from_be_bytes(*length)))
}

fn startup<'a>(reader: &mut Reader<'a>) -> Result<Request<'a>> {
    let count = reader.u16("number of options")?;
    let options = (0..count)
        .map(|_| Ok((reader.string("option")?, reader.string("option's value")?)))
        .collect::<Result<_>>()?;
    Ok(Request::Startup { options })
}

fn register<'a>(reader: &mut Reader<'a>) -> Result<Request<'a>> {
    let count = reader.u16("number of events")?;
    let events = (0..count)
        .map(|_| {
            let word = reader.string("event")?;
            let known = EventKind::ALL_KINDS.into_iter().find(|kind| kind.name() == word);
            known.ok_or_else(|| ParseError::word("event", word))
        })
        .collect::<Result<_>>()?;
    Ok(Request::Register { events })
}

fn batch<'a>(reader: &mut Reader<'a>) -> Result<Request<'a>> {
    let kind = match reader.u8("kind of batch")? {
        0 => BatchKind::Logged,
        1 => BatchKind::Unlogged,
        2 => BatchKind::Counter,
        other => return Err(out_of_range("kind of batch", reader, other, "0, 1 or 2")),
    };
    let count = reader.u16("number of statements")?;
    let mut statements = Vec::new();
    for _ in 0..count {
        let statement = match reader.u8("kind of statement")? {
            0 => BatchStatement::Query(reader.long_string("statement")?),
            1 => BatchStatement::Prepared(reader.short_bytes("statement id")?),
            other => return Err(out_of_range("kind of statement", reader, other, "0 or 1")),
        };
        let values_count = reader.u16("number of values")?;
        let values = (0..values_count).map(|_| read_value(reader, false));
        statements.push((statement, values.collect::<Result<_>>()?));
    }
    let parameters = parameters(reader)?;
    Ok(Request::Batch {
        kind,
        statements,
        parameters,
    })
}

fn out_of_range(
    what: &'static str,
    after: &Reader<'_>,
    value: u8,
    allowed: &'static str,
) -> ParseError {
    ParseError::Value {
        what,
        offset: after.offset() - 1,
        value: value.into(),
        allowed,
    }
}

fn parameters<'a>(reader: &mut Reader<'a>) -> Result<Parameters<'a>> {
    let consistency = reader.u16("consistency")?;
    let flags = reader.u8("flags of the parameters")?;
    let named = flags & param::NAMES != 0;
    let (mut values_count, mut values): (u16, &[u8]) = (0, &[]);
    if flags & param::VALUES != 0 {
        values_count = reader.u16("number of values")?;
        let all = reader.rest();
        for _ in 0..values_count {
            read_value(reader, named)?;
        }
        values = &all[..all.len() - reader.left()];
    }
    let has = |bit: u8| flags & bit != 0;
    Ok(Parameters {
        consistency,
        values_count,
        values,
        named,
        skip_metadata: has(param::SKIP_METADATA),
        page_size: has(param::PAGE_SIZE).then(|| reader.i32("page size")).transpose()?,
        paging_state: if has(param::PAGING_STATE) {
            reader.bytes("paging state")?
        } else {
            None
        },
        serial_consistency: has(param::SERIAL_CONSISTENCY)
            .then(|| reader.u16("serial consistency"))
            .transpose()?,
        timestamp_us: has(param::TIMESTAMP).then(|| reader.i64("timestamp")).transpose()?,
    })
}

/// Reads a [value] in the terms of the specification. A [value] is like [bytes], but a length of -2
/// means "not set".
fn read_value<'a>(reader: &mut Reader<'a>, named: bool) -> Result<BoundValue<'a>> {
    const UNSET: i32 = -2;
    if named {
        reader.short_bytes("name of a value")?;
    }
    let length = reader.i32("length of a value")?;
    match usize::try_from(length) {
        Ok(length) => Ok(BoundValue::Bytes(reader.take(length, "value")?)),
        Err(_) if length == UNSET => Ok(BoundValue::Unset),
        Err(_) => Ok(BoundValue::Null),
    }
}
