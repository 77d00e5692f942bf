//! Encodes requests. Also parses requests, for the null target.
//!
//! Each encoder appends ONE whole uncompressed frame to `out`. The protocol's fields have limits,
//! such as 65,535 values and an id of 64 KiB. A value beyond such a limit is a bug of the program,
//! not an error in its input, and causes a panic.

mod parse;

pub use parse::{BatchStatement, BoundValue, Parameters, Request, execute_id, parse};

use crate::compression::Compression;
use crate::consistency::Consistency;
use crate::frame::{self, opcode};
use crate::template::{append_null, append_value};
use crate::tokens::{CqlMistake, append_statement_text};
use crate::version::Version;
use crate::wire::{ParseError, Reader, append_u16};
use crate::wire::{append_count, append_i32, append_long_bytes, append_short_bytes, append_string};

/// Version of the CQL language that STARTUP requests. Cassandra 3 to 5 accept no other version.
pub const CQL_VERSION: &str = "3.0.0";

/// Name of the client in `system_views.clients`.
pub const DRIVER_NAME: &str = "cassay";

/// Bits of the flags byte of query parameters.
pub(crate) mod param {
    pub const VALUES: u8 = 0x01;
    pub const SKIP_METADATA: u8 = 0x02;
    pub const PAGE_SIZE: u8 = 0x04;
    pub const PAGING_STATE: u8 = 0x08;
    pub const SERIAL_CONSISTENCY: u8 = 0x10;
    pub const TIMESTAMP: u8 = 0x20;
    pub const NAMES: u8 = 0x40;
}

/// Identifiers by which a server recognises a prepared statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementId<'a> {
    pub id: &'a [u8],
    /// Id of the description of the statement's result columns at the time of preparation. In
    /// version 5, a server uses the id to detect clients with outdated metadata. The id is empty in
    /// older versions.
    pub result_metadata: &'a [u8],
}

impl<'a> StatementId<'a> {
    pub(crate) fn read(reader: &mut Reader<'a>, version: Version) -> Result<Self, ParseError> {
        Ok(StatementId {
            id: reader.short_bytes("statement id")?,
            result_metadata: match version {
                Version::V5 => reader.short_bytes("id of the metadata of rows")?,
                Version::V3 | Version::V4 => &[],
            },
        })
    }
}

impl<'a> From<&'a [u8]> for StatementId<'a> {
    /// Returns the identifiers of a statement in protocol versions before 5. They consist only of
    /// the statement id.
    fn from(id: &'a [u8]) -> StatementId<'a> {
        StatementId {
            id,
            result_metadata: &[],
        }
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for StatementId<'a> {
    fn from(id: &'a [u8; N]) -> StatementId<'a> {
        StatementId::from(&id[..])
    }
}

impl<'a> From<&'a Vec<u8>> for StatementId<'a> {
    fn from(id: &'a Vec<u8>) -> StatementId<'a> {
        StatementId::from(&id[..])
    }
}

/// Parameters of a statement's execution.
#[derive(Clone, Copy, Debug)]
pub struct QueryParams<'a> {
    /// Protocol version of the frame.
    pub version: Version,
    /// Consistency level of the statement.
    pub consistency: Consistency,
    /// Encoded values of the bind markers in order, at most 65,535. `None` is null.
    pub values: &'a [Option<&'a [u8]>],
    /// Number of rows per page. `None` returns all rows at once.
    pub page_size: Option<i32>,
    /// Position at which the previous page ended. `None` requests the first page.
    pub paging_state: Option<&'a [u8]>,
    /// Consistency level of the Paxos part of a lightweight transaction.
    pub serial_consistency: Option<Consistency>,
    /// Timestamp of the write in microseconds since 1970. `None` leaves the timestamp to the
    /// coordinator.
    pub timestamp_us: Option<i64>,
    /// True if the server should omit the description of the columns from the rows.
    pub skip_metadata: bool,
}

impl Default for QueryParams<'_> {
    /// Returns parameters with version 4 and consistency LOCAL_ONE. All other parameters are unset.
    fn default() -> Self {
        QueryParams {
            version: Version::V4,
            consistency: Consistency::LocalOne,
            values: &[],
            page_size: None,
            paging_state: None,
            serial_consistency: None,
            timestamp_us: None,
            skip_metadata: false,
        }
    }
}

/// Ways in which a batch can be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum BatchKind {
    /// With the batch log. Cassandra applies all statements now, or all of them eventually.
    Logged = 0,
    /// Without the batch log, so Cassandra may apply only a part of the statements.
    Unlogged = 1,
    /// Counter updates only.
    Counter = 2,
}

impl BatchKind {
    /// All kinds of batches, each with its name in lower case.
    pub const NAMES: [(&str, BatchKind); 3] = [
        ("logged", BatchKind::Logged),
        ("unlogged", BatchKind::Unlogged),
        ("counter", BatchKind::Counter),
    ];

    /// Returns the kind with this name, in upper or lower case. Returns `None` for an unknown name.
    pub fn from_name(name: &str) -> Option<BatchKind> {
        let named = |(known, _): &&(&str, BatchKind)| known.eq_ignore_ascii_case(name);
        BatchKind::NAMES.iter().find(named).map(|(_, kind)| *kind)
    }
}

/// One statement of a batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchEntry<'a> {
    /// Statement to execute.
    pub statement: BatchStatement<'a>,
    /// Encoded values of the statement's bind markers in order. `None` is null.
    pub values: &'a [Option<&'a [u8]>],
}

/// A kind of event for which a connection can register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Nodes that join, leave or move.
    TopologyChange,
    /// Nodes that go up or down.
    StatusChange,
    /// Keyspaces, tables, types, functions and aggregates that change.
    SchemaChange,
}

impl EventKind {
    /// All kinds of events, in the order of the specification.
    pub const ALL_KINDS: [EventKind; 3] = [
        EventKind::TopologyChange,
        EventKind::StatusChange,
        EventKind::SchemaChange,
    ];

    /// Returns the kind's name in the protocol.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::TopologyChange => "TOPOLOGY_CHANGE",
            EventKind::StatusChange => "STATUS_CHANGE",
            EventKind::SchemaChange => "SCHEMA_CHANGE",
        }
    }
}

/// Appends STARTUP, which opens a connection. The answer is READY or AUTHENTICATE. If `compression`
/// is set, both ends may compress later frames.
pub fn startup(out: &mut Vec<u8>, version: Version, stream: i16, compression: Option<Compression>) {
    let start = frame::begin(out, version.number(), stream, opcode::STARTUP);
    let options = [
        ("CQL_VERSION", CQL_VERSION),
        ("DRIVER_NAME", DRIVER_NAME),
        ("DRIVER_VERSION", env!("CARGO_PKG_VERSION")),
    ];
    append_count(out, options.len() + usize::from(compression.is_some()));
    for (key, value) in options {
        append_string(out, key);
        append_string(out, value);
    }
    if let Some(compression) = compression {
        append_string(out, "COMPRESSION");
        append_string(out, compression.name());
    }
    frame::end(out, start);
}

/// Appends OPTIONS in version 4, which requests the options that STARTUP may contain. The answer is
/// SUPPORTED. The request also serves as a heartbeat.
pub fn options(out: &mut Vec<u8>, stream: i16) {
    frame::begin(out, Version::V4.number(), stream, opcode::OPTIONS);
}

/// Appends AUTH_RESPONSE, which answers AUTHENTICATE or AUTH_CHALLENGE.
pub fn auth_response(out: &mut Vec<u8>, version: Version, stream: i16, token: &[u8]) {
    let start = frame::begin(out, version.number(), stream, opcode::AUTH_RESPONSE);
    append_long_bytes(out, token);
    frame::end(out, start);
}

/// Returns the token of the SASL PLAIN mechanism (RFC 4616) without an authorization identity.
/// Cassandra's PasswordAuthenticator expects this form.
pub fn sasl_plain(user: &str, password: &str) -> Vec<u8> {
    [b"\0", user.as_bytes(), b"\0", password.as_bytes()].concat()
}

/// Appends REGISTER in version 4, which registers for events on this connection. The answer is
/// READY.
pub fn register(out: &mut Vec<u8>, stream: i16, events: &[EventKind]) {
    let start = frame::begin(out, Version::V4.number(), stream, opcode::REGISTER);
    append_count(out, events.len());
    for event in events {
        append_string(out, event.name());
    }
    frame::end(out, start);
}

/// Appends PREPARE without the comments of the statement. The answer is a RESULT of kind Prepared.
///
/// # Errors
/// The text is not CQL, or is ambiguous. `out` then ends with an incomplete frame.
pub fn prepare(
    out: &mut Vec<u8>,
    version: Version,
    stream: i16,
    cql: &str,
) -> Result<(), CqlMistake> {
    let start = frame::begin(out, version.number(), stream, opcode::PREPARE);
    append_statement_text(out, cql)?;
    if version >= Version::V5 {
        // All flags are 0. The only defined flag would announce a keyspace.
        append_i32(out, 0);
    }
    frame::end(out, start);
    Ok(())
}

/// Appends QUERY, which executes a statement that is given as text. The frame contains the text
/// without its comments.
///
/// # Errors
/// As for [`prepare`].
pub fn query(
    out: &mut Vec<u8>,
    stream: i16,
    cql: &str,
    params: &QueryParams,
) -> Result<(), CqlMistake> {
    let start = frame::begin(out, params.version.number(), stream, opcode::QUERY);
    append_statement_text(out, cql)?;
    append_params_head(out, values_count(params.values), params);
    append_values(out, params.values);
    append_params_tail(out, params);
    frame::end(out, start);
    Ok(())
}

/// Appends EXECUTE, which executes the prepared statement `id`. For many executions of the same
/// statement, see [`Template`](crate::template::Template).
pub fn execute<'i>(
    out: &mut Vec<u8>,
    stream: i16,
    id: impl Into<StatementId<'i>>,
    params: &QueryParams,
) {
    let start = frame::begin(out, params.version.number(), stream, opcode::EXECUTE);
    append_statement(out, id.into(), params.version);
    append_params_head(out, values_count(params.values), params);
    append_values(out, params.values);
    append_params_tail(out, params);
    frame::end(out, start);
}

/// Appends BATCH in version 4, which executes several statements as one. `timestamp` is in
/// microseconds since 1970.
///
/// # Errors
/// As for [`prepare`], for statements given as text.
pub fn batch(
    out: &mut Vec<u8>,
    stream: i16,
    kind: BatchKind,
    entries: &[BatchEntry],
    consistency: Consistency,
    serial: Option<Consistency>,
    timestamp: Option<i64>,
) -> Result<(), CqlMistake> {
    let start = frame::begin(out, Version::V4.number(), stream, opcode::BATCH);
    out.push(kind as u8);
    append_count(out, entries.len());
    for entry in entries {
        match entry.statement {
            BatchStatement::Query(cql) => {
                out.push(0);
                append_statement_text(out, cql)?;
            }
            BatchStatement::Prepared(id) => {
                out.push(1);
                append_short_bytes(out, id);
            }
        }
        append_count(out, entry.values.len());
        append_values(out, entry.values);
    }
    let params = QueryParams {
        consistency,
        serial_consistency: serial,
        timestamp_us: timestamp,
        ..QueryParams::default()
    };
    append_params_head(out, 0, &params);
    append_params_tail(out, &params);
    frame::end(out, start);
    Ok(())
}

pub(crate) fn append_statement(out: &mut Vec<u8>, statement: StatementId<'_>, version: Version) {
    append_short_bytes(out, statement.id);
    if version >= Version::V5 {
        append_short_bytes(out, statement.result_metadata);
    }
}

/// Appends the consistency, the flags and, if the statement has values, the number of values.
pub(crate) fn append_params_head(out: &mut Vec<u8>, values_count: u16, params: &QueryParams) {
    let flags = [
        (values_count > 0, param::VALUES),
        (params.skip_metadata, param::SKIP_METADATA),
        (params.page_size.is_some(), param::PAGE_SIZE),
        (params.paging_state.is_some(), param::PAGING_STATE),
        (
            params.serial_consistency.is_some(),
            param::SERIAL_CONSISTENCY,
        ),
        (params.timestamp_us.is_some(), param::TIMESTAMP),
    ];
    append_u16(out, params.consistency.code());
    let flags = flags.iter().filter(|(set, _)| *set).fold(0, |byte, (_, bit)| byte | bit);
    if params.version >= Version::V5 {
        append_i32(out, flags.into());
    } else {
        out.push(flags);
    }
    if values_count > 0 {
        append_u16(out, values_count);
    }
}

/// Appends the fields that follow the values, in the order of the protocol.
pub(crate) fn append_params_tail(out: &mut Vec<u8>, params: &QueryParams) {
    if let Some(page_size) = params.page_size {
        append_i32(out, page_size);
    }
    if let Some(paging_state) = params.paging_state {
        append_long_bytes(out, paging_state);
    }
    if let Some(serial) = params.serial_consistency {
        append_u16(out, serial.code());
    }
    if let Some(timestamp_us) = params.timestamp_us {
        out.extend_from_slice(&timestamp_us.to_be_bytes());
    }
}

fn append_values(out: &mut Vec<u8>, values: &[Option<&[u8]>]) {
    for value in values {
        match value {
            Some(bytes) => append_value(out, bytes),
            None => append_null(out),
        }
    }
}

fn values_count(values: &[Option<&[u8]>]) -> u16 {
    u16::try_from(values.len()).expect("a statement has at most 65,535 values")
}
