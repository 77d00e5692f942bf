//! Error answers of a null server: for bytes that are not CQL, for statements that cannot be
//! executed, and for configured errors.

use super::answer_request::Verdict;
use cql::frame::FrameError;
use cql::response::{ErrorCode, ErrorDetail};
use cql::{reply, request};

/// Refuses bytes that are not a request of version 4. A client of another version gets a frame of
/// version 4 with Cassandra's message. Drivers look for this message and then fall back to version
/// 4.
pub fn refuse_frame(error: &FrameError, out: &mut Vec<u8>) -> Verdict {
    match error {
        FrameError::Version {
            version, stream, ..
        } => {
            let why = format!(
                "Invalid or unsupported protocol version ({version}); supported versions are (4/v4)"
            );
            refuse(out, *stream, &why)
        }
        other => refuse(out, 0, &other.to_string()),
    }
}

/// Appends a PROTOCOL_ERROR with the message `why`. Returns the verdict that ends the connection.
pub fn refuse(out: &mut Vec<u8>, stream: i16, why: &str) -> Verdict {
    reply::error(
        out,
        stream,
        ErrorCode::ProtocolError,
        why,
        &ErrorDetail::None,
    );
    Verdict::Refused
}

/// Appends a SYNTAX_ERROR for a text that cannot be split into tokens.
pub fn syntax_error(out: &mut Vec<u8>, stream: i16) {
    let why = "the statement cannot be split into tokens: it has an open quote or an unclear \
               comment, a character outside CQL, or a length of more than 1 MiB";
    reply::error(out, stream, ErrorCode::SyntaxError, why, &ErrorDetail::None);
}

/// Appends an INVALID error with the message `why`, for a statement that cannot be executed.
pub fn invalid(out: &mut Vec<u8>, stream: i16, why: &str) {
    reply::error(out, stream, ErrorCode::Invalid, why, &ErrorDetail::None);
}

/// Appends the configured error `code`. `body` is the body of an EXECUTE, whose statement id an
/// UNPREPARED error repeats. If `body` is empty, that id is empty.
#[cold]
pub fn append_refusal(out: &mut Vec<u8>, stream: i16, code: ErrorCode, body: &[u8]) {
    // The error states consistency level LOCAL_ONE. One replica was required, and no replica
    // answered.
    let (consistency, write_type) = (0x000A, "SIMPLE");
    let (received, block_for, failures, data_present) = (0, 1, 1, false);
    let detail = match code {
        ErrorCode::Unavailable => ErrorDetail::Unavailable {
            consistency,
            required: 1,
            alive: 0,
        },
        ErrorCode::WriteTimeout => ErrorDetail::WriteTimeout {
            consistency,
            received,
            block_for,
            write_type,
        },
        ErrorCode::ReadTimeout => ErrorDetail::ReadTimeout {
            consistency,
            received,
            block_for,
            data_present,
        },
        ErrorCode::ReadFailure => ErrorDetail::ReadFailure {
            consistency,
            received,
            block_for,
            failures,
            data_present,
        },
        ErrorCode::WriteFailure => ErrorDetail::WriteFailure {
            consistency,
            received,
            block_for,
            failures,
            write_type,
        },
        ErrorCode::CasWriteUnknown => ErrorDetail::CasWriteUnknown {
            consistency,
            received,
            block_for,
        },
        ErrorCode::FunctionFailure => ErrorDetail::FunctionFailure {
            keyspace: "null",
            function: "null",
            argument_types: Vec::new(),
        },
        ErrorCode::AlreadyExists => ErrorDetail::AlreadyExists {
            keyspace: "null",
            table: "null",
        },
        ErrorCode::Unprepared => ErrorDetail::Unprepared {
            id: request::execute_id(body).unwrap_or(&[]),
        },
        _ => ErrorDetail::None,
    };
    let why = "the null target answers a share of the operations with this error, because the \
               study requests it";
    reply::error(out, stream, code, why, &detail);
}
