//! Parses ERROR responses. Every error code of Cassandra has a typed reason, with the details of
//! the error.

use crate::version::Version;
use crate::wire::{Reader, Result};

/// Error code, which is the first field of every ERROR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// A bug in the server, or an unforeseen condition.
    ServerError,
    /// The client violated the protocol, or requested a version that the server does not support.
    ProtocolError,
    /// The user or the password is wrong.
    BadCredentials,
    /// Too few replicas were alive.
    Unavailable,
    /// The coordinator is overloaded.
    Overloaded,
    /// The coordinator is still bootstrapping.
    IsBootstrapping,
    /// TRUNCATE failed.
    TruncateError,
    /// Too few replicas acknowledged a write in time. The write may still take effect.
    WriteTimeout,
    /// Too few replicas answered a read in time.
    ReadTimeout,
    /// A replica failed during a read.
    ReadFailure,
    /// A user-defined function failed.
    FunctionFailure,
    /// A replica failed during a write. The write may still take effect.
    WriteFailure,
    /// The space for change data capture is full.
    CdcWriteFailure,
    /// The outcome of a lightweight transaction is unknown.
    CasWriteUnknown,
    /// The statement is not valid CQL.
    SyntaxError,
    /// The user lacks the permission for the request.
    Unauthorized,
    /// The statement is valid CQL, but the server cannot execute it, for example because of an
    /// unknown table.
    Invalid,
    /// The server's configuration forbids the statement.
    ConfigError,
    /// The keyspace or table already exists.
    AlreadyExists,
    /// The node has not prepared the statement, or has removed it from its cache.
    Unprepared,
    /// A code that version 4 does not define.
    Other(i32),
}

use ErrorCode as Code;

/// Error codes of the protocol, each with its reason and its name. A linear search is sufficient,
/// since the table is small and only errors use it.
const CODES: [(i32, ErrorCode, &str); 20] = [
    (0x0000, Code::ServerError, "server error"),
    (0x000A, Code::ProtocolError, "protocol error"),
    (0x0100, Code::BadCredentials, "bad credentials"),
    (0x1000, Code::Unavailable, "unavailable"),
    (0x1001, Code::Overloaded, "overloaded"),
    (0x1002, Code::IsBootstrapping, "bootstrapping"),
    (0x1003, Code::TruncateError, "truncate error"),
    (0x1100, Code::WriteTimeout, "write timeout"),
    (0x1200, Code::ReadTimeout, "read timeout"),
    (0x1300, Code::ReadFailure, "read failure"),
    (0x1400, Code::FunctionFailure, "function failure"),
    (0x1500, Code::WriteFailure, "write failure"),
    (0x1600, Code::CdcWriteFailure, "CDC write failure"),
    (0x1700, Code::CasWriteUnknown, "CAS write unknown"),
    (0x2000, Code::SyntaxError, "syntax error"),
    (0x2100, Code::Unauthorized, "unauthorized"),
    (0x2200, Code::Invalid, "invalid"),
    (0x2300, Code::ConfigError, "config error"),
    (0x2400, Code::AlreadyExists, "already exists"),
    (0x2500, Code::Unprepared, "unprepared"),
];

impl ErrorCode {
    /// Returns the typed reason for a code in the protocol, or [`ErrorCode::Other`] if the code is
    /// unknown.
    pub fn from_code(code: i32) -> ErrorCode {
        let known = CODES.iter().find(|(number, _, _)| *number == code);
        known.map_or(ErrorCode::Other(code), |(_, code, _)| *code)
    }

    /// Returns every code that version 4 defines.
    pub fn all() -> impl Iterator<Item = ErrorCode> {
        CODES.iter().map(|(_, code, _)| *code)
    }

    /// Returns the error code with this name, in lower case and with underscores (`write_timeout`).
    /// Returns `None` for AlreadyExists and Unprepared, because their details name an object of the
    /// request, so a server cannot answer every request with them.
    pub fn parse_for_any_request(name: &str) -> Option<ErrorCode> {
        let is_named = |code: &ErrorCode| code.to_string().to_lowercase().replace(' ', "_") == name;
        let names_none =
            |code: &ErrorCode| !matches!(code, ErrorCode::AlreadyExists | ErrorCode::Unprepared);
        ErrorCode::all().filter(names_none).find(is_named)
    }

    /// Returns the code in the protocol.
    pub fn code(self) -> i32 {
        match self {
            ErrorCode::Other(code) => code,
            known => CODES.iter().find(|(_, code, _)| *code == known).map_or(0, |row| row.0),
        }
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match CODES.iter().find(|(_, code, _)| code == self) {
            Some((_, _, name)) => f.pad(name),
            None => write!(f, "error {:#06x}", self.code()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorBody<'a> {
    /// Reason for the failure.
    pub code: ErrorCode,
    /// The server's message.
    pub message: &'a str,
    /// Details of the error that depend on the reason.
    pub detail: ErrorDetail<'a>,
}

/// Details of an ERROR, in addition to its message. Consistency levels are codes, as received. See
/// [`Consistency::from_code`](crate::Consistency::from_code). The numbers are numbers of replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorDetail<'a> {
    /// The reason has no details.
    None,
    /// Too few replicas were alive.
    Unavailable {
        /// Consistency level of the request.
        consistency: u16,
        /// Number of replicas that had to be alive.
        required: i32,
        /// Number of replicas that were alive.
        alive: i32,
    },
    /// A write timed out.
    WriteTimeout {
        /// Consistency level of the request.
        consistency: u16,
        /// Number of replicas that acknowledged the write.
        received: i32,
        /// Number of replicas that had to acknowledge the write.
        block_for: i32,
        /// Type of the write: SIMPLE, BATCH, UNLOGGED_BATCH, COUNTER, BATCH_LOG, CAS, VIEW or CDC.
        write_type: &'a str,
    },
    /// A read timed out.
    ReadTimeout {
        /// Consistency level of the request.
        consistency: u16,
        /// Number of replicas that answered.
        received: i32,
        /// Number of replicas that had to answer the read.
        block_for: i32,
        /// True if the replica that had to return the data was among those that answered.
        data_present: bool,
    },
    /// A read failed on a replica.
    ReadFailure {
        /// Consistency level of the request.
        consistency: u16,
        /// Number of replicas that answered.
        received: i32,
        /// Number of replicas that had to answer the read.
        block_for: i32,
        /// Number of replicas that failed.
        failures: i32,
        /// True if the replica that had to return the data answered.
        data_present: bool,
    },
    /// A user-defined function failed.
    FunctionFailure {
        /// The function's keyspace.
        keyspace: &'a str,
        function: &'a str,
        /// CQL types of the function's arguments.
        argument_types: Vec<String>,
    },
    /// A write failed on a replica.
    WriteFailure {
        /// Consistency level of the request.
        consistency: u16,
        /// Number of replicas that acknowledged the write.
        received: i32,
        /// Number of replicas that had to acknowledge the write.
        block_for: i32,
        /// Number of replicas that failed.
        failures: i32,
        /// Type of the write, with the same names as in [`ErrorDetail::WriteTimeout`].
        write_type: &'a str,
    },
    /// The outcome of a lightweight transaction is unknown.
    CasWriteUnknown {
        /// Consistency level of the request.
        consistency: u16,
        /// Number of replicas that acknowledged the transaction.
        received: i32,
        /// Number of replicas that had to acknowledge the transaction.
        block_for: i32,
    },
    /// The keyspace or table already exists.
    AlreadyExists {
        /// Keyspace that already exists, or that contains the existing table.
        keyspace: &'a str,
        /// Name of the table. It is empty if the error is about the keyspace itself.
        table: &'a str,
    },
    /// The prepared statement is not in the server's cache.
    Unprepared {
        /// Id of the statement.
        id: &'a [u8],
    },
}

/// Returns the code of an ERROR from its [`payload`](super::payload). Returns `None` if the body is
/// too short.
#[inline]
pub fn error_code(body: &[u8]) -> Option<ErrorCode> {
    Some(ErrorCode::from_code(i32::from_be_bytes(
        *body.first_chunk()?,
    )))
}

impl<'a> ErrorBody<'a> {
    /// Parses the [`payload`](super::payload) of an ERROR. Skips bytes after the known details,
    /// since a later server may send more details.
    ///
    /// # Errors
    /// The body is too short for its code, or has text that is not UTF-8.
    pub fn parse(body: &'a [u8], version: Version) -> Result<ErrorBody<'a>> {
        let mut reader = Reader::new(body);
        let code = ErrorCode::from_code(reader.i32("error code")?);
        let message = reader.string("error message")?;
        let detail = ErrorDetail::read(code, &mut reader, version)?;
        Ok(ErrorBody {
            code,
            message,
            detail,
        })
    }
}

impl<'a> ErrorDetail<'a> {
    fn read(code: ErrorCode, reader: &mut Reader<'a>, version: Version) -> Result<ErrorDetail<'a>> {
        Ok(match code {
            ErrorCode::FunctionFailure => ErrorDetail::FunctionFailure {
                keyspace: reader.string("keyspace")?,
                function: reader.string("function")?,
                argument_types: reader.string_list("type of an argument")?,
            },
            ErrorCode::AlreadyExists => ErrorDetail::AlreadyExists {
                keyspace: reader.string("keyspace")?,
                table: reader.string("table")?,
            },
            ErrorCode::Unprepared => ErrorDetail::Unprepared {
                id: reader.short_bytes("statement id")?,
            },
            ErrorCode::Unavailable
            | ErrorCode::WriteTimeout
            | ErrorCode::ReadTimeout
            | ErrorCode::ReadFailure
            | ErrorCode::WriteFailure
            | ErrorCode::CasWriteUnknown => Self::read_replicas(code, reader, version)?,
            _ => ErrorDetail::None,
        })
    }

    /// Reads the details of the six error codes whose details begin with a consistency and two
    /// numbers of replicas.
    fn read_replicas(
        code: ErrorCode,
        reader: &mut Reader<'a>,
        version: Version,
    ) -> Result<ErrorDetail<'a>> {
        let consistency = reader.u16("consistency")?;
        let received = reader.i32("number of replicas")?;
        let block_for = reader.i32("number of replicas")?;
        Ok(match code {
            ErrorCode::WriteTimeout => {
                let write_type = reader.string("write type")?;
                ErrorDetail::WriteTimeout {
                    consistency,
                    received,
                    block_for,
                    write_type,
                }
            }
            ErrorCode::ReadTimeout => {
                let data_present = reader.u8("data present")? != 0;
                ErrorDetail::ReadTimeout {
                    consistency,
                    received,
                    block_for,
                    data_present,
                }
            }
            ErrorCode::ReadFailure => {
                let failures = failures(reader, version)?;
                let data_present = reader.u8("data present")? != 0;
                ErrorDetail::ReadFailure {
                    consistency,
                    received,
                    block_for,
                    failures,
                    data_present,
                }
            }
            ErrorCode::WriteFailure => {
                let failures = failures(reader, version)?;
                let write_type = reader.string("write type")?;
                ErrorDetail::WriteFailure {
                    consistency,
                    received,
                    block_for,
                    failures,
                    write_type,
                }
            }
            ErrorCode::CasWriteUnknown => ErrorDetail::CasWriteUnknown {
                consistency,
                received,
                block_for,
            },
            // The only reason left is Unavailable, whose two numbers have another order: required
            // replicas, then alive replicas.
            _ => ErrorDetail::Unavailable {
                consistency,
                required: received,
                alive: block_for,
            },
        })
    }
}

/// Returns the number of failed replicas. Since version 5, the server lists each failed replica
/// with a separate reason.
fn failures(reader: &mut Reader<'_>, version: Version) -> Result<i32> {
    if version < Version::V5 {
        return reader.i32("number of failures");
    }
    // Each entry has at least the one-byte length of an address and a code of two bytes.
    let count = reader.count("number of failures", 3)?;
    for _ in 0..count {
        let length = reader.u8("length of a replica's address")?;
        reader.take(length.into(), "address of a replica")?;
        reader.u16("reason of a failure")?;
    }
    Ok(count as i32)
}
