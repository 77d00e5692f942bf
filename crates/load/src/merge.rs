//! Joins the parts that the workers contribute to an interval, on the caller's thread.
//!
//! Invariants: the merger returns every interval once, in order, and only when no worker can still
//! add to the interval. Every part of a worker is in exactly one interval.

use crate::recorder::{Part, kinds_of};
use measure::Interval;
use std::collections::BTreeMap;
use std::sync::Arc;
use workload::Program;

/// Intervals that are not complete yet.
pub(crate) struct Merger {
    pending: BTreeMap<u64, Interval>,
    /// Lowest interval to which each worker may still add. `None` if the worker has finished.
    next: Vec<Option<u64>>,
    program: Arc<Program>,
}

impl Merger {
    pub fn new(workers: usize, program: Arc<Program>) -> Merger {
        Merger {
            pending: BTreeMap::new(),
            next: vec![Some(0); workers],
            program,
        }
    }

    /// Returns true if all workers have reported all their results.
    pub fn is_over(&self) -> bool {
        self.next.iter().all(Option::is_none)
    }

    /// Ends the merge after a worker has panicked, since the other parts will not arrive. The
    /// caller reports the panic when it joins the worker's thread.
    pub fn close(&mut self) {
        self.next.fill(None);
    }

    pub fn add(&mut self, part: &Part) {
        self.next[part.worker] = (!part.last).then_some(part.index + 1);
        let program = &self.program;
        let interval = self.pending.entry(part.index).or_insert_with(|| Interval {
            index: part.index,
            start_ns: part.start_ns,
            end_ns: part.end_ns,
            window_from_ns: u64::MAX,
            draining: part.draining,
            kinds: kinds_of(program.kinds()),
            client: Default::default(),
        });
        interval.start_ns = interval.start_ns.min(part.start_ns);
        interval.end_ns = interval.end_ns.max(part.end_ns);
        interval.draining |= part.draining;
        for (sum, kind) in interval.kinds.iter_mut().zip(&part.kinds) {
            sum.add(kind);
        }
        interval.client.add(&part.client);
    }

    /// Returns the next interval to which no worker can still add. Also returns true if this is the
    /// last interval.
    pub fn take(&mut self) -> Option<(Interval, bool)> {
        let open_from = self.next.iter().flatten().min().copied().unwrap_or(u64::MAX);
        let entry = self.pending.first_entry()?;
        let interval = (*entry.key() < open_from).then(|| entry.remove())?;
        Some((interval, self.is_over() && self.pending.is_empty()))
    }
}
