//! Outcomes of operations. The list of outcomes is closed, and is the same in code, files and
//! reports.

use crate::counts::counters;

crate::word_enum! {
    /// Kind of difference between the data and the acknowledged writes.
    #[derive(Default)]
    pub enum WriteMismatch {
        /// A read did not find the row.
        #[default]
        Lost = "lost",
        /// A read found a value that had been overwritten.
        Stale = "stale",
        /// A read found a value that had been deleted.
        Resurrected = "resurrected",
        /// A read found a value that no operation wrote.
        Wrong = "wrong",
        /// A counter is below every possible value, because additions were lost.
        TooLow = "too low",
        /// A counter is above every possible value, because an addition was applied more than once.
        TooHigh = "too high",
    }
}

crate::word_enum! {
    /// Outcome of one operation. Only [`Outcome::Ok`] is a success.
    #[derive(PartialOrd, Ord, Hash)]
    #[repr(u8)]
    pub enum Outcome {
        /// The server answered with a result.
        Ok = "ok",
        /// The client received no response within its timeout. The server may or may not have
        /// executed the operation.
        ClientTimeout = "client_timeout",
        /// The connection ended while the operation was in flight. The server may or may not have
        /// executed it.
        ConnectionLost = "connection_lost",
        /// No connection to any node was open when the operation was due.
        NoConnection = "no_connection",
        /// Too few replicas were alive for the consistency level.
        Unavailable = "unavailable",
        /// Replicas did not answer the coordinator's read in time.
        ReadTimeout = "read_timeout",
        /// Replicas did not acknowledge the coordinator's write in time.
        WriteTimeout = "write_timeout",
        /// A replica failed during a read.
        ReadFailure = "read_failure",
        /// A replica failed during a write.
        WriteFailure = "write_failure",
        /// The coordinator shed the request because of overload.
        Overloaded = "overloaded",
        /// The coordinator is still joining the ring.
        Bootstrapping = "bootstrapping",
        /// A truncate failed.
        TruncateError = "truncate_error",
        /// The server reported an unexpected error.
        ServerError = "server_error",
        /// The server rejected the frame.
        ProtocolError = "protocol_error",
        /// Authentication failed.
        BadCredentials = "bad_credentials",
        /// The user does not have the required permission.
        Unauthorized = "unauthorized",
        /// The statement has a syntax error.
        SyntaxError = "syntax_error",
        /// The statement can be parsed, but is not valid.
        Invalid = "invalid",
        /// The server rejected the request because of its configuration.
        ConfigError = "config_error",
        /// The keyspace or table already exists.
        AlreadyExists = "already_exists",
        /// The prepared statement is unknown and could not be prepared again.
        Unprepared = "unprepared",
        /// A user-defined function failed.
        FunctionFailure = "function_failure",
        /// A write failed because change data capture is out of space.
        CdcWriteFailure = "cdc_write_failure",
        /// A lightweight transaction may or may not have been applied.
        CasWriteUnknown = "cas_write_unknown",
        /// The server sent an error code that this version of the protocol does not define.
        UnknownError = "unknown_error",
        /// The response was not a valid frame of CQL. The client closed the connection.
        BadAnswer = "bad_answer",
        /// The client did not send the request, because no frame can contain it. The request is a
        /// batch without statements or with more than 65 535 statements, or has more bytes than a
        /// frame may have.
        ClientRefused = "client_refused",
        /// The pages of a result did not end, or formed a cycle.
        EndlessPages = "endless_pages",
    }
}

/// Number of outcomes.
pub const OUTCOMES_COUNT: usize = OUTCOMES.len();

/// All outcomes, in the order of their discriminants.
pub const OUTCOMES: [Outcome; Outcome::ALL.len()] = Outcome::ALL;

impl Outcome {
    /// Returns true if only a lower bound of the latency is known, because the operation would have
    /// taken longer if the client had waited longer. The latency of an operation that ends with an
    /// error from the server is exact.
    pub fn is_censored(self) -> bool {
        matches!(
            self,
            Outcome::ClientTimeout | Outcome::ConnectionLost | Outcome::NoConnection
        )
    }
}

counters! {
    /// Number of operations with each outcome.
    pub struct OutcomeCounts([u64; Outcome]);
}

impl OutcomeCounts {
    /// Adds one operation with this outcome.
    #[inline]
    pub fn add_one(&mut self, outcome: Outcome) {
        self[outcome] += 1;
    }

    /// Adds `count` operations with this outcome.
    #[inline]
    pub fn add_many(&mut self, outcome: Outcome, count: u64) {
        self[outcome] += count;
    }

    /// Returns the number of operations with this outcome.
    pub fn get(&self, outcome: Outcome) -> u64 {
        self[outcome]
    }

    /// Returns the number of all operations.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns the number of operations that did not succeed.
    pub fn errors(&self) -> u64 {
        self.total() - self.get(Outcome::Ok)
    }

    /// Returns the errors that occurred, with their names and numbers, in the order of
    /// [`OUTCOMES`].
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
