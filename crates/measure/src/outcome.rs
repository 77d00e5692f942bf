//! How one operation ended: a closed list, the same in code, files and report.

use crate::counts::counters;

crate::word_enum! {
    /// What is not as it was acknowledged.
    #[derive(Default)]
    pub enum Missed {
        /// A row that is not there.
        #[default]
        Lost = "lost",
        /// A value that was overwritten.
        Stale = "stale",
        /// A value that was deleted.
        Resurrected = "resurrected",
        /// A value that nobody wrote.
        Wrong = "wrong",
        /// A counter below what was added to it.
        TooLow = "too low",
        /// A counter above all that was added to it.
        TooHigh = "too high",
    }
}

crate::word_enum! {
    /// How one operation ended. Only [`Outcome::Ok`] is a success.
    #[derive(PartialOrd, Ord, Hash)]
    #[repr(u8)]
    pub enum Outcome {
        /// The server answered with a result.
        Ok = "ok",
        /// No answer within the client's time-out. Whether the server did it is unknown.
        ClientTimeout = "client_timeout",
        /// The connection ended while the operation was in flight. Whether it was done is unknown.
        ConnectionLost = "connection_lost",
        /// No connection to any node was open when the operation was due.
        NoConnection = "no_connection",
        /// Too few live replicas for the consistency level.
        Unavailable = "unavailable",
        /// Replicas did not answer the coordinator's read in time.
        ReadTimeout = "read_timeout",
        /// Replicas did not acknowledge the coordinator's write in time.
        WriteTimeout = "write_timeout",
        /// A replica failed a read.
        ReadFailure = "read_failure",
        /// A replica failed a write.
        WriteFailure = "write_failure",
        /// The coordinator shed the request.
        Overloaded = "overloaded",
        /// The coordinator is still joining.
        Bootstrapping = "bootstrapping",
        /// A truncate failed.
        TruncateError = "truncate_error",
        /// An unexpected server error.
        ServerError = "server_error",
        /// The server refused the frame.
        ProtocolError = "protocol_error",
        /// Authentication failed.
        BadCredentials = "bad_credentials",
        /// The user may not do this.
        Unauthorized = "unauthorized",
        /// The statement does not parse.
        SyntaxError = "syntax_error",
        /// The statement is well-formed but not valid.
        Invalid = "invalid",
        /// Refused for a configuration reason.
        ConfigError = "config_error",
        /// The keyspace or table exists already.
        AlreadyExists = "already_exists",
        /// The prepared statement is unknown and could not be prepared again.
        Unprepared = "unprepared",
        /// A user-defined function failed.
        FunctionFailure = "function_failure",
        /// A write failed because change data capture is out of space.
        CdcWriteFailure = "cdc_write_failure",
        /// A lightweight transaction may or may not have been applied.
        CasWriteUnknown = "cas_write_unknown",
        /// An error code that this version of the protocol does not define.
        UnknownError = "unknown_error",
        /// The answer was not a frame that CQL allows; the connection was closed.
        BadAnswer = "bad_answer",
        /// The client did not send it, since no frame can hold it: a batch of no or of more than
        /// 65 535 statements, or more bytes than a frame may have.
        ClientRefused = "client_refused",
        /// The pages of a result did not come to an end, or went round in circles.
        EndlessPages = "endless_pages",
    }
}

/// Number of outcomes.
pub const OUTCOMES_COUNT: usize = OUTCOMES.len();

/// All outcomes, in the order of their numbers.
pub const OUTCOMES: [Outcome; Outcome::ALL.len()] = Outcome::ALL;

impl Outcome {
    /// Whether the operation would have taken longer, had the client gone on waiting: what is known
    /// of its latency is a lower bound. What a server answers is an end, also if it is an error.
    pub fn is_censored(self) -> bool {
        matches!(
            self,
            Outcome::ClientTimeout | Outcome::ConnectionLost | Outcome::NoConnection
        )
    }
}

counters! {
    /// How often each outcome was seen.
    pub struct OutcomeCounts([u64; Outcome]);
}

impl OutcomeCounts {
    /// Counts one more.
    #[inline]
    pub fn add_one(&mut self, outcome: Outcome) {
        self[outcome] += 1;
    }

    /// Counts `count` more.
    #[inline]
    pub fn add_many(&mut self, outcome: Outcome, count: u64) {
        self[outcome] += count;
    }

    /// How often `outcome` was seen.
    pub fn get(&self, outcome: Outcome) -> u64 {
        self[outcome]
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
        self.iter()
            .skip(1)
            .map(|(outcome, count)| (outcome.name(), count))
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
