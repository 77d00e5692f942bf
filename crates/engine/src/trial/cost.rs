//! Computes the cost of a trial's operations for the target. The inputs are the probes' readings in
//! the measured window, and the size of the tables on disk before and after the load.
//!
//! The engine flushes the tables before it reads their size at the end, because all writes of a
//! window may still be in memory. The engine flushes them only if the trial began with a flush. The
//! next trial then also begins with a flush, so the additional flush does not affect the next
//! trial.

use super::{State, Storage, TrialRun};
use crate::event::Event;
use crate::probe_collector::ResourceUse;
use crate::running_target::Running;
use crate::window_counts::WindowCounts;
use analysis::rules::Settle;
use cassandra::TableStorage;
use measure::clock::Deadline;
use std::time::Duration;
use store::record::{CostKind, Costs};
use workload::Stage;

/// Time limit for computing the size of a write. For a plain table, 10,000 operations take a
/// hundredth of this time. If operations have large collections, fewer operations fit into the
/// limit, but their mean is still accurate enough.
const RECKONING: Duration = Duration::from_secs(1);
/// Time after which cassay reports that it is computing the size of a write. Most programs take a
/// fifth of this time.
const SILENT_TIME: Duration = Duration::from_millis(100);

impl TrialRun<'_> {
    /// Reads the size of the tables before the load starts, and computes the bytes of a write. A
    /// size that cassay cannot read stays `None`.
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

    /// Computes the mean size of the values that a write binds. Reports the computation if it takes
    /// longer than [`SILENT_TIME`], because the delay would otherwise be unexplained.
    fn reckon_bytes_per_write(&mut self) -> Option<f64> {
        let stage = self.step.map_or(Stage::Main, |step| step.stage);
        let (deadline, soon) = (Deadline::after(RECKONING), Deadline::after(SILENT_TIME));
        let (events, mut is_said) = (&mut self.events, false);
        self.program.written_bytes(stage, || {
            if soon.passed() && !is_said {
                is_said = true;
                let seconds = RECKONING.as_secs();
                events(Event::Said(format!(
                    "estimating the bytes of a write for at most {seconds} s, because its values \
                     are large"
                )));
            }
            !deadline.passed()
        })
    }

    /// Reads the formats of the SSTables at the end. Also flushes the tables and reads their sizes,
    /// if the trial began with a flush. Omits the sizes if a node has restarted, because the counts
    /// of that node begin at zero.
    pub(super) fn end_costs(&self, running: &Running, state: &mut State) {
        let (keyspace, tables) = (self.program.keyspace(), self.program.tables());
        if is_flushed(state) && running.pids_changed(&state.pids).is_empty() {
            state.storage.after = running.cluster.flushed_storage(keyspace, &tables).ok().flatten();
        }
        let formats = running.cluster.sstable_formats(keyspace, &tables).ok().flatten();
        state.finding.sstable_formats = formats.unwrap_or_default();
    }

    pub(super) fn costs(
        &self,
        running: Option<&Running>,
        state: &State,
        counts: &WindowCounts,
    ) -> Costs {
        let Some(running) = running.filter(|running| !running.is_null()) else {
            return Costs::new();
        };
        let window = state.timeline.last("measure").unwrap_or_default();
        let used = state.gather.used(window, &running.cluster);
        let written_bytes = state.storage.bytes_per_write.map(|bytes| {
            bytes * state.answered.writes.saturating_sub(state.storage.writes_before) as f64
        });
        let rows_are_known =
            self.rows.are_said && !self.rows.are_strange && self.program.keeps_rows();
        let rows = rows_are_known.then(|| self.program.rows());
        let (ended, seconds) = (counts.ended, counts.window.seconds);
        let window_costs = window_costs(&used, ended, seconds);
        let events = used
            .events_per_s
            .iter()
            .map(|(kind, per_s)| (*kind, Some(per_s * seconds / ended as f64)));
        let disk_costs = disk_costs(&state.storage, rows, written_bytes);
        let all = window_costs.into_iter().chain(disk_costs).chain(events);
        all.filter_map(|(kind, value)| Some((kind, value.filter(|value| value.is_finite())?)))
            .collect()
    }
}

/// Returns true if the trial began with a flush.
fn is_flushed(state: &State) -> bool {
    let settle = state.evidence.settle.as_ref();
    matches!(
        settle,
        Some(Settle::Settled | Settle::Stalled | Settle::Timeout)
    )
}

/// Returns the costs in the measured window, as means over the window, for `ended` operations.
fn window_costs(used: &ResourceUse, ended: u64, seconds: f64) -> [(CostKind, Option<f64>); 6] {
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

/// Returns the costs of the data on disk, for a number of rows and for the bytes that operations
/// wrote. Without SSTables, the size and the compression ratio are unknown.
fn disk_costs(
    storage: &Storage,
    rows: Option<u64>,
    written_bytes: Option<f64>,
) -> [(CostKind, Option<f64>); 3] {
    let stored = storage.after.as_ref().filter(|after| after.sstables > 0);
    let disk = |after: &TableStorage| Some(after.live_bytes as f64 / rows? as f64);
    let compression = |after: &TableStorage| after.uncompressed_bytes / after.live_bytes as f64;
    let amplification = || {
        let (before, after) = (storage.before.as_ref()?, storage.after.as_ref()?);
        // Cassandra counts the bytes that it flushes before compression, and the bytes that it
        // compacts after compression.
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
        let of = |rows, bytes| disk_costs(&storage, rows, bytes).map(|(_, value)| value);
        assert_eq!(
            of(Some(100), Some(2000.0)),
            [Some(60.0), Some(2.5), Some(3.0)]
        );
        // The number of rows is unknown, and the mix only reads.
        assert_eq!(of(None, Some(0.0)), [None, Some(2.5), None]);
    }

    #[test]
    fn data_that_is_absent_or_counted_anew_has_no_cost() {
        let storage = Storage {
            before: Some(stored(0, 4000, 0)),
            after: Some(stored(0, 10, 0)),
            writes_before: 0,
            bytes_per_write: None,
        };
        let found = disk_costs(&storage, Some(100), Some(2000.0));
        assert!(found.iter().all(|(_, value)| value.is_none()));
    }

    #[test]
    fn resources_of_the_window_are_divided_by_its_operations() {
        let used = ResourceUse {
            cpus: Some(1.5),
            network_bytes_per_s: Some(4000.0),
            memory_bytes: Some(1e9),
            ..ResourceUse::default()
        };
        let found = window_costs(&used, 5000, 10.0);
        let of = |kind| found.iter().find(|(known, _)| *known == kind).and_then(|found| found.1);
        assert_eq!(of(CostKind::ServerCpu), Some(3.0));
        assert_eq!(of(CostKind::Network), Some(8.0));
        assert_eq!(of(CostKind::Memory), Some(1e9));
        assert_eq!(of(CostKind::DiskReads), None);
    }
}
