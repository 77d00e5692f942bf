//! How one operation ended: a closed list, the same in code, files and report.

/// How one operation ended. Only [`Outcome::Ok`] is a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Outcome {
    /// The server answered with a result.
    Ok,
    /// No answer within the client's time-out. Whether the server did it is unknown.
    ClientTimeout,
    /// The connection ended while the operation was in flight. Whether it was done is unknown.
    ConnectionLost,
    /// No connection to any node was open when the operation was due.
    NoConnection,
    /// Too few live replicas for the consistency level.
    Unavailable,
    /// Replicas did not answer the coordinator's read in time.
    ReadTimeout,
    /// Replicas did not acknowledge the coordinator's write in time.
    WriteTimeout,
    /// A replica failed a read.
    ReadFailure,
    /// A replica failed a write.
    WriteFailure,
    /// The coordinator shed the request.
    Overloaded,
    /// The coordinator is still joining.
    Bootstrapping,
    /// A truncate failed.
    TruncateError,
    /// An unexpected server error.
    ServerError,
    /// The server refused the frame.
    ProtocolError,
    /// Authentication failed.
    BadCredentials,
    /// The user may not do this.
    Unauthorized,
    /// The statement does not parse.
    SyntaxError,
    /// The statement is well-formed but not valid.
    Invalid,
    /// Refused for a configuration reason.
    ConfigError,
    /// The keyspace or table exists already.
    AlreadyExists,
    /// The prepared statement is unknown and could not be prepared again.
    Unprepared,
    /// A user-defined function failed.
    FunctionFailure,
    /// A write failed because change data capture is out of space.
    CdcWriteFailure,
    /// A lightweight transaction may or may not have been applied.
    CasWriteUnknown,
    /// An error code that this version of the protocol does not define.
    UnknownError,
    /// The answer was not a frame that CQL allows; the connection was closed.
    BadAnswer,
    /// The client did not send it, since no frame can hold it: a batch of no or of more than
    /// 65 535 statements, or more bytes than a frame may have.
    ClientRefused,
    /// The pages of a result did not come to an end, or went round in circles.
    EndlessPages,
}

/// Number of outcomes.
pub const OUTCOMES_COUNT: usize = Outcome::EndlessPages as usize + 1;

/// All outcomes, in the order of their numbers.
pub const OUTCOMES: [Outcome; OUTCOMES_COUNT] = [
    Outcome::Ok,
    Outcome::ClientTimeout,
    Outcome::ConnectionLost,
    Outcome::NoConnection,
    Outcome::Unavailable,
    Outcome::ReadTimeout,
    Outcome::WriteTimeout,
    Outcome::ReadFailure,
    Outcome::WriteFailure,
    Outcome::Overloaded,
    Outcome::Bootstrapping,
    Outcome::TruncateError,
    Outcome::ServerError,
    Outcome::ProtocolError,
    Outcome::BadCredentials,
    Outcome::Unauthorized,
    Outcome::SyntaxError,
    Outcome::Invalid,
    Outcome::ConfigError,
    Outcome::AlreadyExists,
    Outcome::Unprepared,
    Outcome::FunctionFailure,
    Outcome::CdcWriteFailure,
    Outcome::CasWriteUnknown,
    Outcome::UnknownError,
    Outcome::BadAnswer,
    Outcome::ClientRefused,
    Outcome::EndlessPages,
];

impl Outcome {
    /// Whether the operation would have taken longer, had the client gone on waiting: what is known
    /// of its latency is a lower bound. What a server answers is an end, also if it is an error.
    pub fn is_censored(self) -> bool {
        matches!(
            self,
            Outcome::ClientTimeout | Outcome::ConnectionLost | Outcome::NoConnection
        )
    }

    /// The name in files and reports: `client_timeout`.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::ClientTimeout => "client_timeout",
            Outcome::ConnectionLost => "connection_lost",
            Outcome::NoConnection => "no_connection",
            Outcome::Unavailable => "unavailable",
            Outcome::ReadTimeout => "read_timeout",
            Outcome::WriteTimeout => "write_timeout",
            Outcome::ReadFailure => "read_failure",
            Outcome::WriteFailure => "write_failure",
            Outcome::Overloaded => "overloaded",
            Outcome::Bootstrapping => "bootstrapping",
            Outcome::TruncateError => "truncate_error",
            Outcome::ServerError => "server_error",
            Outcome::ProtocolError => "protocol_error",
            Outcome::BadCredentials => "bad_credentials",
            Outcome::Unauthorized => "unauthorized",
            Outcome::SyntaxError => "syntax_error",
            Outcome::Invalid => "invalid",
            Outcome::ConfigError => "config_error",
            Outcome::AlreadyExists => "already_exists",
            Outcome::Unprepared => "unprepared",
            Outcome::FunctionFailure => "function_failure",
            Outcome::CdcWriteFailure => "cdc_write_failure",
            Outcome::CasWriteUnknown => "cas_write_unknown",
            Outcome::UnknownError => "unknown_error",
            Outcome::BadAnswer => "bad_answer",
            Outcome::ClientRefused => "client_refused",
            Outcome::EndlessPages => "endless_pages",
        }
    }
}

/// How often each outcome was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutcomeCounts([u64; OUTCOMES_COUNT]);

impl OutcomeCounts {
    /// Counts one more.
    #[inline]
    pub fn add_one(&mut self, outcome: Outcome) {
        self.0[outcome as usize] += 1;
    }

    /// Counts `count` more.
    #[inline]
    pub fn add_many(&mut self, outcome: Outcome, count: u64) {
        self.0[outcome as usize] += count;
    }

    /// How often `outcome` was seen.
    pub fn get(&self, outcome: Outcome) -> u64 {
        self.0[outcome as usize]
    }

    /// Adds all of `other`'s.
    pub fn add(&mut self, other: &OutcomeCounts) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine += theirs;
        }
    }

    /// All operations, whatever their outcome.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// All operations that were not [`Outcome::Ok`].
    pub fn errors(&self) -> u64 {
        self.total() - self.get(Outcome::Ok)
    }

    /// The errors that were seen at least once, by name, in the order of [`OUTCOMES`].
    pub fn errors_by_name(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        OUTCOMES
            .iter()
            .skip(1)
            .map(|&outcome| (outcome.name(), self.get(outcome)))
            .filter(|&(_, count)| count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_outcome_stands_at_its_number_and_has_its_own_name() {
        for (index, outcome) in OUTCOMES.iter().enumerate() {
            assert_eq!(*outcome as usize, index);
        }
        let names: BTreeSet<_> = OUTCOMES.iter().map(|o| o.name()).collect();
        assert_eq!(names.len(), OUTCOMES_COUNT);
    }

    #[test]
    fn errors_are_all_but_ok() {
        let mut counts = OutcomeCounts::default();
        counts.add_one(Outcome::Ok);
        counts.add_one(Outcome::Overloaded);
        counts.add_one(Outcome::Overloaded);
        assert_eq!((counts.total(), counts.errors()), (3, 2));
        assert_eq!(
            counts.errors_by_name().collect::<Vec<_>>(),
            [("overloaded", 2)]
        );
    }
}
