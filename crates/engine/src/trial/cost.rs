//! What a trial's operations cost the target: of the measured window what the probes saw, of the
//! disk what the tables had there before the load and after it.
//!
//! What is on disk is looked at when all else has been done, behind a flush, for a window may end
//! with all of its writes in memory. Only where the trial began with a flush: then the next one
//! does too, and is not changed by ours.

use super::{State, Storage, TrialRun};
use crate::event::Event;
use crate::gather::ResourceUse;
use crate::running::Running;
use crate::tally::Tally;
use analysis::rules::Settle;
use cluster::TableStorage;
use measure::clock::Deadline;
use std::time::Duration;
use store::record::{CostKind, Costs};
use workload::Stage;

/// How long it may take to reckon what a write writes: 10,000 operations of a plain table take a
/// hundredth of it. Operations of large collections are fewer then, and their mean as good.
const RECKONING: Duration = Duration::from_secs(1);
/// How long it may take without a word: most programs take a fifth of that.
const UNSAID: Duration = Duration::from_millis(100);

impl TrialRun<'_> {
    /// Looks at the tables before load is offered. What cannot be looked at stays unknown.
    pub(super) fn begin_costs(&mut self, running: &Running, state: &mut State) {
        state.storage.writes_before = state.answered.writes;
        if is_flushed(state) {
            let (keyspace, tables) = (self.program.keyspace(), self.program.tables());
            state.storage.before = running.cluster.table_storage(keyspace, &tables).ok().flatten();
        }
        if state.storage.before.is_some() {
            state.storage.bytes_per_write = self.reckon_bytes_per_write();
        }
    }

    /// What a write binds, reckoned in a phase that is shown and has its time in the estimate:
    /// behind the window nobody would know what takes so long.
    fn reckon_bytes_per_write(&mut self) -> Option<f64> {
        let stage = self.step.map_or(Stage::Main, |step| step.stage);
        let (deadline, soon) = (Deadline::after(RECKONING), Deadline::after(UNSAID));
        let (events, mut is_said) = (&mut self.events, false);
        self.program.written_bytes(stage, || {
            if soon.passed() && !is_said {
                is_said = true;
                let seconds = RECKONING.as_secs();
                events(Event::Said(format!(
                    "reckoning what a write writes, for {seconds} s at most: its values are large"
                )));
            }
            !deadline.passed()
        })
    }

    /// Looks at them when all has been done, flushed; not where a node has begun to count anew.
    pub(super) fn end_costs(&self, running: &Running, state: &mut State) {
        let (keyspace, tables) = (self.program.keyspace(), self.program.tables());
        if is_flushed(state) && running.pids_changed(&state.pids).is_empty() {
            state.storage.after = running.cluster.flushed_storage(keyspace, &tables).ok().flatten();
        }
        let formats = running.cluster.sstable_formats(keyspace, &tables).ok().flatten();
        state.finding.sstable_formats = formats.unwrap_or_default();
    }

    /// All costs that are known.
    pub(super) fn costs(&self, running: Option<&Running>, state: &State, tally: &Tally) -> Costs {
        let Some(running) = running.filter(|running| !running.is_null()) else {
            return Costs::new();
        };
        let window_ns = state.timeline.of("measure").unwrap_or_default();
        let used = state.gather.used(window_ns, &running.cluster);
        let written_bytes = state.storage.bytes_per_write.map(|bytes| {
            bytes * state.answered.writes.saturating_sub(state.storage.writes_before) as f64
        });
        let rows_are_known =
            self.rows.are_said && !self.rows.are_strange && self.program.keeps_rows();
        let rows = rows_are_known.then(|| self.program.rows());
        let of_window = of_window(&used, tally.ended, tally.window.seconds);
        let of_disk = of_disk(&state.storage, rows, written_bytes);
        let all = of_window.into_iter().chain(of_disk);
        all.filter_map(|(kind, value)| Some((kind, value.filter(|value| value.is_finite())?)))
            .collect()
    }
}

/// Whether the trial began with a flush.
fn is_flushed(state: &State) -> bool {
    let settle = state.evidence.settle.as_ref();
    matches!(
        settle,
        Some(Settle::Settled | Settle::Stalled | Settle::Timeout)
    )
}

/// Costs of the measured window: means over it, of `ended` operations.
fn of_window(used: &ResourceUse, ended: u64, seconds: f64) -> [(CostKind, Option<f64>); 6] {
    let per_op = |per_s: Option<f64>| Some(per_s? * seconds / ended as f64);
    [
        (
            CostKind::ServerCpu,
            per_op(used.cpus.map(|cpus| cpus * 1e3)),
        ),
        (CostKind::Collections, used.collections_share),
        (CostKind::Network, per_op(used.network_bytes_per_s)),
        (CostKind::DiskReads, per_op(used.disk_reads_per_s)),
        (CostKind::DiskWrites, per_op(used.disk_writes_per_s)),
        (CostKind::Memory, used.memory_bytes),
    ]
}

/// Costs of the data on disk, of so many rows and bytes that operations wrote. Without SSTables
/// there is neither a size nor a ratio.
fn of_disk(
    storage: &Storage,
    rows: Option<u64>,
    written_bytes: Option<f64>,
) -> [(CostKind, Option<f64>); 3] {
    let stored = storage.after.as_ref().filter(|after| after.sstables > 0);
    let disk = |after: &TableStorage| Some(after.live_bytes as f64 / rows? as f64);
    let compression = |after: &TableStorage| after.uncompressed_bytes / after.live_bytes as f64;
    let amplification = || {
        let (before, after) = (storage.before.as_ref()?, storage.after.as_ref()?);
        // Cassandra counts flushes before compression, and compactions after it.
        let flushed = after.flushed_bytes.checked_sub(before.flushed_bytes)? as f64;
        let compacted = after.compacted_bytes.checked_sub(before.compacted_bytes)? as f64;
        let on_disk = flushed / stored.map(compression)? + compacted;
        Some(on_disk / written_bytes.filter(|bytes| *bytes > 0.0)?)
    };
    [
        (CostKind::DiskSpace, stored.and_then(disk)),
        (CostKind::Compression, stored.map(compression)),
        (CostKind::Amplification, amplification()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(live_bytes: u64, flushed_bytes: u64, compacted_bytes: u64) -> TableStorage {
        TableStorage {
            sstables: u64::from(live_bytes > 0),
            live_bytes,
            uncompressed_bytes: live_bytes as f64 * 2.5,
            flushed_bytes,
            compacted_bytes,
        }
    }

    #[test]
    fn bytes_on_disk_are_those_of_the_rows_and_of_what_was_written() {
        let storage = Storage {
            before: Some(stored(4000, 4000, 1000)),
            after: Some(stored(6000, 9000, 5000)),
            writes_before: 0,
            bytes_per_write: None,
        };
        let of = |rows, bytes| of_disk(&storage, rows, bytes).map(|(_, value)| value);
        assert_eq!(
            of(Some(100), Some(2000.0)),
            [Some(60.0), Some(2.5), Some(3.0)]
        );
        // Rows that nobody knows, and a mix that only reads.
        assert_eq!(of(None, Some(0.0)), [None, Some(2.5), None]);
    }

    #[test]
    fn what_is_not_on_disk_or_was_counted_anew_has_no_cost() {
        let storage = Storage {
            before: Some(stored(0, 4000, 0)),
            after: Some(stored(0, 10, 0)),
            writes_before: 0,
            bytes_per_write: None,
        };
        let found = of_disk(&storage, Some(100), Some(2000.0));
        assert!(found.iter().all(|(_, value)| value.is_none()));
    }

    #[test]
    fn what_the_window_used_is_divided_by_what_ended_in_it() {
        let used = ResourceUse {
            cpus: Some(1.5),
            network_bytes_per_s: Some(4000.0),
            memory_bytes: Some(1e9),
            ..ResourceUse::default()
        };
        let found = of_window(&used, 5000, 10.0);
        let of = |kind| found.iter().find(|(known, _)| *known == kind).and_then(|found| found.1);
        assert_eq!(of(CostKind::ServerCpu), Some(3.0));
        assert_eq!(of(CostKind::Network), Some(8.0));
        assert_eq!(of(CostKind::Memory), Some(1e9));
        assert_eq!(of(CostKind::DiskReads), None);
    }
}
