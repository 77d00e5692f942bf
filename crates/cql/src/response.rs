//! Parses responses: results, rows, errors and events.
//!
//! [`parse`] is for the control plane and allocates its result. The data plane uses
//! [`result_kind`], [`error_code`] and [`RawRows`], which do not allocate. Text and cells borrow
//! from the body wherever possible.

mod error;
mod event;
mod metadata;
mod rows;

pub use error::{ErrorBody, ErrorCode, ErrorDetail, error_code};
pub use event::{Event, SchemaChange, SchemaChangeKind, SchemaTarget};
pub(crate) use metadata::bit as metadata_bit;
pub use metadata::{COLUMNS_MAX, ColumnSpec, PreparedStatement, TYPE_DEPTH_MAX};
pub use rows::{RawRows, Row, Rows};

use crate::frame::{Header, RESPONSE_BIT, flag, opcode};
use crate::request::StatementId;
use crate::version::Version;
use crate::wire::{ParseError, Reader, Result};

/// A parsed response of the server.
#[derive(Clone, Debug, PartialEq)]
pub enum Response<'a> {
    /// The request failed.
    Error(ErrorBody<'a>),
    /// The connection is open, or the server has accepted the registration for events.
    Ready,
    /// The connection needs credentials.
    Authenticate {
        /// Class name of the server's authenticator.
        class: &'a str,
    },
    /// The options that STARTUP may contain, each with its name and its possible values.
    Supported(Vec<(String, Vec<String>)>),
    /// The server has executed or prepared a statement.
    Result(ResultBody<'a>),
    /// An event in the cluster.
    Event(Event),
    /// The authenticator requests more data. `None` is a null token.
    AuthChallenge(Option<&'a [u8]>),
    /// The credentials were right. `None` is a null token.
    AuthSuccess(Option<&'a [u8]>),
}

/// Result of a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum ResultBody<'a> {
    /// The result has no data.
    Void,
    Rows(Rows<'a>),
    /// USE has changed the keyspace of the connection.
    SetKeyspace(&'a str),
    /// The id and the columns of a statement, after PREPARE.
    Prepared(PreparedStatement),
    SchemaChange(SchemaChange),
}

/// The kind of a RESULT, with its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum ResultKind {
    /// The result has no data.
    Void = 1,
    /// A result with rows.
    Rows = 2,
    /// The keyspace of the connection has changed.
    SetKeyspace = 3,
    /// The statement was prepared.
    Prepared = 4,
    /// The schema was changed.
    SchemaChange = 5,
}

/// Parses a response's uncompressed body. Skips the tracing id, warnings and custom payload that
/// the header's flags announce.
///
/// # Errors
/// The opcode is not that of a response, or the body does not fit the opcode.
pub fn parse<'a>(header: &Header, body: &'a [u8]) -> Result<Response<'a>> {
    let body = payload(header.flags, body)?;
    let version = version_of(header);
    let mut reader = Reader::new(body);
    Ok(match header.opcode {
        opcode::ERROR => Response::Error(ErrorBody::parse(body, version)?),
        opcode::READY => Response::Ready,
        opcode::AUTHENTICATE => Response::Authenticate {
            class: reader.string("authenticator's class")?,
        },
        opcode::SUPPORTED => Response::Supported(supported(&mut reader)?),
        opcode::RESULT => Response::Result(parse_result(body, version)?),
        opcode::EVENT => Response::Event(Event::read(&mut reader)?),
        opcode::AUTH_CHALLENGE => Response::AuthChallenge(reader.bytes("token")?),
        opcode::AUTH_SUCCESS => Response::AuthSuccess(reader.bytes("token")?),
        other => {
            return Err(ParseError::Value {
                what: "opcode",
                offset: 0,
                value: other.into(),
                allowed: "the opcode of a response",
            });
        }
    })
}

/// Returns the part of an uncompressed body after the tracing id, warnings and custom payload.
/// Usually none of these flags is set. In this case the result is the whole body, and the function
/// makes only one comparison.
///
/// # Errors
/// The body ends before the tracing id, warnings and custom payload that the flags announce are
/// complete.
#[inline]
pub fn payload(flags: u8, body: &[u8]) -> Result<&[u8]> {
    if flags & (flag::TRACING | flag::WARNING | flag::CUSTOM_PAYLOAD) == 0 {
        return Ok(body);
    }
    skip_prefix(flags, body)
}

#[cold]
fn skip_prefix(flags: u8, body: &[u8]) -> Result<&[u8]> {
    let mut reader = Reader::new(body);
    if flags & flag::TRACING != 0 {
        reader.take(16, "tracing id")?;
    }
    if flags & flag::WARNING != 0 {
        reader.skip_string_list("warning")?;
    }
    if flags & flag::CUSTOM_PAYLOAD != 0 {
        reader.skip_bytes_map("custom payload")?;
    }
    Ok(reader.rest())
}

/// Returns the version of a response. A server answers in an unsupported version only to refuse a
/// request, and this crate parses the body of such a response as version 4.
fn version_of(header: &Header) -> Version {
    Version::from_number(header.version & !RESPONSE_BIT).unwrap_or_default()
}

/// Returns the id from the [`payload`] of a RESULT of kind Prepared, for callers that already have
/// the metadata of the statement.
///
/// # Errors
/// The body ends within the id.
pub fn prepared_id<'a>(header: &Header, body: &'a [u8]) -> Result<StatementId<'a>> {
    let mut reader = Reader::new(body);
    reader.i32("kind of result")?;
    StatementId::read(&mut reader, version_of(header))
}

/// Returns the kind of a RESULT from its [`payload`]. Returns `None` if the payload is too short or
/// the kind is unknown.
#[inline]
pub fn result_kind(body: &[u8]) -> Option<ResultKind> {
    match i32::from_be_bytes(*body.first_chunk()?) {
        1 => Some(ResultKind::Void),
        2 => Some(ResultKind::Rows),
        3 => Some(ResultKind::SetKeyspace),
        4 => Some(ResultKind::Prepared),
        5 => Some(ResultKind::SchemaChange),
        _ => None,
    }
}

fn parse_result(body: &[u8], version: Version) -> Result<ResultBody<'_>> {
    let mut reader = Reader::new(body);
    let value = reader.i32("kind of result")?;
    let Some(kind) = result_kind(body) else {
        let (what, allowed) = ("kind of result", "1 to 5");
        return Err(ParseError::Value {
            what,
            offset: 0,
            value: value.into(),
            allowed,
        });
    };
    Ok(match kind {
        ResultKind::Void => ResultBody::Void,
        ResultKind::Rows => ResultBody::Rows(Rows::parse(body)?),
        ResultKind::SetKeyspace => ResultBody::SetKeyspace(reader.string("keyspace")?),
        ResultKind::Prepared => {
            ResultBody::Prepared(PreparedStatement::read(&mut reader, version)?)
        }
        ResultKind::SchemaChange => ResultBody::SchemaChange(SchemaChange::read(&mut reader)?),
    })
}

fn supported(reader: &mut Reader<'_>) -> Result<Vec<(String, Vec<String>)>> {
    let count = reader.u16("number of options")?;
    (0..count)
        .map(|_| {
            Ok((
                reader.string("option")?.to_owned(),
                reader.string_list("option's value")?,
            ))
        })
        .collect()
}
