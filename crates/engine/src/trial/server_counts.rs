//! Compares the counts of the server with those of the client. Reads the server's counts before and
//! after every load.
//!
//! The counts of a node begin at zero when it starts, so the two readings of a pair must come from
//! the same processes. A trial has one pair around the load phase and one pair around all other
//! phases. The nodes may restart between the pairs.

use super::{State, TrialRun};
use crate::running_target::Running;
use crate::window_counts::AnsweredCounts;
use analysis::rules::ServerCounts;
use anyhow::Result;
use cassandra::OperationCounts;

/// Counts of the server so far.
#[derive(Debug, Default)]
pub struct Counting {
    before: Option<OperationCounts>,
    source: Option<String>,
    reads: u64,
    writes: u64,
    /// True if one of the two readings of a pair is missing.
    broken: bool,
    /// Reason why the counts of the server do not include all operations. `None` if they are
    /// complete.
    pub incomplete: Option<String>,
}

impl Counting {
    fn begin(&mut self, counted: Option<OperationCounts>) {
        self.before = counted;
    }

    fn end(&mut self, after: Option<OperationCounts>) {
        let (Some(before), Some(after)) = (self.before.take(), after) else {
            self.broken = true;
            return;
        };
        self.reads += after.reads.saturating_sub(before.reads);
        self.writes += after.writes.saturating_sub(before.writes);
        self.source = Some(after.source);
        self.incomplete = after.incomplete.or(self.incomplete.take());
    }

    /// Returns the counts of the server between the readings, together with the counts of
    /// operations for which the client received answers.
    pub fn beside(&self, answered: &AnsweredCounts) -> Option<ServerCounts> {
        // If the trial ended early, the second reading is missing, so the pair is incomplete.
        let is_whole = self.before.is_none() && !self.broken;
        let source = self.source.clone().filter(|_| is_whole)?;
        Some(ServerCounts {
            source,
            server: [self.reads, self.writes],
            client: [answered.reads, answered.writes],
            uncertain: answered.uncertain,
        })
    }
}

impl TrialRun<'_> {
    pub(super) fn begin_count(&self, running: &Running, state: &mut State) -> Result<()> {
        let counted = running.cluster.operation_counts(self.program.keyspace())?;
        state.counting.begin(counted);
        Ok(())
    }

    pub(super) fn end_count(&self, running: &Running, state: &mut State) -> Result<()> {
        let counted = running.cluster.operation_counts(self.program.keyspace())?;
        state.counting.end(counted);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_two_lives_of_a_server_are_added() {
        let counted = |reads, writes| {
            Some(OperationCounts {
                source: "x".into(),
                reads,
                writes,
                incomplete: None,
            })
        };
        let answered = AnsweredCounts {
            reads: 5,
            writes: 9,
            uncertain: 0,
        };
        let mut counting = Counting::default();
        assert!(counting.beside(&answered).is_none());
        counting.begin(counted(10, 20));
        counting.end(counted(10, 24));
        counting.begin(counted(0, 0));
        assert!(counting.beside(&answered).is_none(), "the pair is open");
        counting.end(counted(5, 5));
        let counts = counting.beside(&answered).unwrap();
        assert_eq!((counts.server, counts.client), ([5, 9], [5, 9]));
        counting.begin(None);
        counting.end(counted(1, 1));
        assert!(counting.beside(&answered).is_none());
    }
}
