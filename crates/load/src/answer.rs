//! Classifies a response for the operation that waited for it.

use cql::Compression;
use cql::ParseError;
use cql::frame::{FrameError, Header, flag, opcode};
use cql::request::StatementId;
use cql::response::{self, ErrorCode, ErrorDetail, RawRows, Response, ResultKind};
use measure::Outcome;

/// Meaning of a response for the operation that waits for it.
pub(crate) enum Answer<'a> {
    /// The operation succeeded, and its response has no data that the worker must read.
    Done,
    /// Success, with rows.
    Rows(RawRows<'a>),
    /// The server refused the request or failed, with this message.
    Error(Outcome, &'a str),
    /// The node does not know the prepared statement with this id.
    Forgotten(&'a [u8]),
    /// The node has prepared the statement again, with this id.
    Prepared(StatementId<'a>),
    /// The response is not a frame that CQL allows at this point of the connection.
    Nonsense(Nonsense),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Nonsense {
    #[error("the node sent a compressed answer, although the client did not request compression")]
    Compressed,
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Body(#[from] ParseError),
    #[error("the answer has the unexpected opcode {0:#04x}")]
    Opcode(u8),
    #[error("the answer has a result of an unknown kind")]
    ResultKind,
}

/// Properties of a request and its connection that are needed to read the response.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    pub header: Header,
    pub preparing: bool,
    /// Size of the largest uncompressed body that a response to this request can have, in bytes.
    pub body_bytes_max: u32,
    pub compression: Option<Compression>,
}

impl Reading {
    /// Reads the body of the response. Decompresses a compressed body into `plain`.
    #[inline]
    pub fn answer<'a>(self, body: &'a [u8], plain: &'a mut Vec<u8>) -> Answer<'a> {
        let usual = self.header.opcode == opcode::RESULT && self.header.flags == 0;
        if usual && !self.preparing {
            match response::result_kind(body) {
                Some(ResultKind::Void) => return Answer::Done,
                Some(ResultKind::Rows) => return rows(body),
                _ => {}
            }
        }
        self.unusual(body, plain)
    }

    fn unusual<'a>(self, body: &'a [u8], plain: &'a mut Vec<u8>) -> Answer<'a> {
        let mut header = self.header;
        let mut body = body;
        if header.flags & flag::COMPRESSED != 0 {
            let limit = self.body_bytes_max as usize;
            let Some(compression) = self.compression else {
                return Answer::Nonsense(Nonsense::Compressed);
            };
            if let Err(error) = compression.decompress(body, plain, limit) {
                return Answer::Nonsense(error.into());
            }
            header.flags &= !flag::COMPRESSED;
            body = plain;
        }
        let read = match header.opcode {
            opcode::RESULT => response::payload(header.flags, body).map(|body| self.result(body)),
            _ => response::parse(&header, body).map(|response| self.no_result(response)),
        };
        read.unwrap_or_else(|error| Answer::Nonsense(error.into()))
    }

    /// Reads only the part of a RESULT that the operation requires. Allocates no memory for the
    /// metadata.
    fn result(self, body: &[u8]) -> Answer<'_> {
        match (response::result_kind(body), self.preparing) {
            (Some(ResultKind::Prepared), true) => match response::prepared_id(&self.header, body) {
                Ok(id) => Answer::Prepared(id),
                Err(error) => Answer::Nonsense(error.into()),
            },
            (Some(_), true) => Answer::Nonsense(Nonsense::Opcode(opcode::RESULT)),
            (Some(ResultKind::Rows), false) => rows(body),
            (Some(_), false) => Answer::Done,
            (None, _) => Answer::Nonsense(Nonsense::ResultKind),
        }
    }

    fn no_result(self, response: Response<'_>) -> Answer<'_> {
        let Response::Error(error) = response else {
            return Answer::Nonsense(Nonsense::Opcode(self.header.opcode));
        };
        match (error.code, error.detail) {
            (ErrorCode::Unprepared, ErrorDetail::Unprepared { id }) if !self.preparing => {
                Answer::Forgotten(id)
            }
            (code, _) => Answer::Error(outcome_of(code), error.message),
        }
    }
}

#[inline]
fn rows(body: &[u8]) -> Answer<'_> {
    match RawRows::parse(body) {
        Ok(rows) => Answer::Rows(rows),
        Err(error) => Answer::Nonsense(error.into()),
    }
}

pub(crate) fn outcome_of(code: ErrorCode) -> Outcome {
    match code {
        ErrorCode::ServerError => Outcome::ServerError,
        ErrorCode::ProtocolError => Outcome::ProtocolError,
        ErrorCode::BadCredentials => Outcome::BadCredentials,
        ErrorCode::Unavailable => Outcome::Unavailable,
        ErrorCode::Overloaded => Outcome::Overloaded,
        ErrorCode::IsBootstrapping => Outcome::Bootstrapping,
        ErrorCode::TruncateError => Outcome::TruncateError,
        ErrorCode::WriteTimeout => Outcome::WriteTimeout,
        ErrorCode::ReadTimeout => Outcome::ReadTimeout,
        ErrorCode::ReadFailure => Outcome::ReadFailure,
        ErrorCode::FunctionFailure => Outcome::FunctionFailure,
        ErrorCode::WriteFailure => Outcome::WriteFailure,
        ErrorCode::CdcWriteFailure => Outcome::CdcWriteFailure,
        ErrorCode::CasWriteUnknown => Outcome::CasWriteUnknown,
        ErrorCode::SyntaxError => Outcome::SyntaxError,
        ErrorCode::Unauthorized => Outcome::Unauthorized,
        ErrorCode::Invalid => Outcome::Invalid,
        ErrorCode::ConfigError => Outcome::ConfigError,
        ErrorCode::AlreadyExists => Outcome::AlreadyExists,
        ErrorCode::Unprepared => Outcome::Unprepared,
        ErrorCode::Other(_) => Outcome::UnknownError,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Studies name the errors of the null target. These names must equal the names of the outcomes
    /// in reports.
    #[test]
    fn an_error_that_any_request_may_get_has_its_outcomes_name() {
        let mut found = 0;
        for code in ErrorCode::all() {
            let named = ErrorCode::parse_for_any_request(outcome_of(code).name());
            let names_what_was_asked =
                matches!(code, ErrorCode::AlreadyExists | ErrorCode::Unprepared);
            assert_eq!(named, (!names_what_was_asked).then_some(code), "{code}");
            found += usize::from(named.is_some());
        }
        assert_eq!(found, 18);
    }
}
