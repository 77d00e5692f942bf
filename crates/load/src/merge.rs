//! Joins the parts that the workers contribute to an interval, on the caller's thread.
//!
//! Invariants: the merger returns every interval once, in order, and only when no worker can still
//! add to the interval. Every part of a worker is in exactly one interval, and intervals do not
//! overlap.

use crate::recorder::{Part, kinds_of};
use measure::{Interval, IntervalTiles, SourceProgress};
use std::sync::Arc;
use workload::Program;

/// Intervals that are not complete yet.
pub(crate) struct Merger {
    tiles: IntervalTiles,
    /// Progress of each worker. `None` if the worker has finished.
    next: Vec<Option<SourceProgress>>,
    program: Arc<Program>,
}

impl Merger {
    pub fn new(workers: usize, program: Arc<Program>) -> Merger {
        Merger {
            tiles: IntervalTiles::default(),
            next: vec![Some(SourceProgress::NOTHING); workers],
            program,
        }
    }

    pub fn is_over(&self) -> bool {
        self.next.iter().all(Option::is_none)
    }

    /// Ends the merge after a worker has panicked, since the other parts will not arrive. The
    /// caller reports the panic when it joins the worker's thread.
    pub fn close(&mut self) {
        self.next.fill(None);
    }

    pub fn add(&mut self, part: &Part) {
        let progress = SourceProgress::after(part.index, part.end_ns);
        self.next[part.worker] = (!part.last).then_some(progress);
        let interval = self.tiles.at(part.index, || kinds_of(self.program.kinds()));
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
        let reported = SourceProgress::of_all(self.next.iter().flatten().copied());
        let interval = self.tiles.take(reported)?;
        Some((interval, self.is_over() && self.tiles.is_empty()))
    }
}
