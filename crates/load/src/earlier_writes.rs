//! Acknowledged writes of earlier runs. With these writes, a run distinguishes a lost row from a
//! row that was never written. It also distinguishes a row that was overwritten or deleted from a
//! row whose overwrite or deletion was lost.
//!
//! The module supports programs whose load stage writes row n in operation n, and whose main-stage
//! operations have their row as key. Invariant: a row counts as lost, stale or resurrected only if
//! the ledgers prove it.
//!
//! If a row is written twice, the write with the later timestamp wins. A node or the client sets
//! the timestamp between the sending and the acknowledgement of the write. Suppose that the first
//! write was acknowledged, and that the second write was sent after that by more than the possible
//! difference of the clocks. Once the second write is acknowledged, a read must not return the
//! first write. The module does not judge writes whose times overlap or are unknown. A write of
//! unknown outcome may be applied at any time, or never.

use crate::ledger::{Ledger, WriteState};
use crate::register_history::{HISTORY_OPERATIONS_MAX, History, RegisterResult};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use workload::{Program, RegisterRequest, Stage};

mod lost_writes;

use lost_writes::Losses;
pub use lost_writes::{Lost, MissedRow};

/// Maximum number of main-stage rows that the module remembers. They take at most about 1.2 GB. The
/// module does not judge other rows.
const ROWS_MAX: usize = 1 << 24;
/// Maximum total size of the main-stage ledgers that the module keeps, in bytes. The module does
/// not judge writes of older main stages.
const LEDGERS_BYTES_MAX: u64 = 1 << 30;
/// Unit of time in this module (a tick), in ns.
const TICK_NS: u64 = 100_000;
/// Default margin, in ticks. It is one millisecond. The timestamps of the client are ahead of the
/// client's clock by at most one batch of operations. The same is true of the timestamps and the
/// clock of a node.
const MARGIN_USUAL: u32 = 10;
/// End time of a write that may still be applied or whose end is unknown, in ticks.
const FOREVER: u32 = u32::MAX;

/// Acknowledged writes of earlier runs.
#[derive(Debug)]
pub struct EarlierWrites {
    loaded: LoadedRows,
    /// Maximum difference between two clocks that set timestamps, in ticks.
    margin: u32,
    /// Time of tick 1, in ns of the monotonic clock. It is the start of the first main stage.
    epoch_ns: Option<u64>,
    rows: HashMap<u64, RowWrites>,
    /// True if the main stages wrote more rows than the module can remember.
    forgets: bool,
    /// Ledgers of the main stages in order of time, each with the range of its operation numbers.
    mains: Vec<(Range<u64>, Arc<Ledger>)>,
    /// True if the run had more main stages than the module can keep ledgers for.
    forgets_mains: bool,
    /// Sums of counter increments, by row.
    sums: HashMap<u64, Sum>,
    /// True if counters may have existed before the load stage. The load stage does not reset them.
    counters_are_old: bool,
    /// All recorded operations on registers since the registers were loaded.
    registers: Vec<RegisterOperation>,
    /// True if operations that were not recorded followed the recorded operations.
    registers_end: bool,
    losses: Losses,
}

/// Rows that the load stage has written.
#[derive(Clone, Debug, Default)]
enum LoadedRows {
    #[default]
    Unknown,
    /// The rows whose writes are acknowledged in this ledger.
    Ledger(Arc<Ledger>),
    /// All rows below this row number, and no others.
    Below(u64),
}

/// Times of the writes and deletions of a row in the main stage, in ticks (0 is the load). Writes
/// and deletions each have three times. The last acknowledged operation was sent at the first time
/// and acknowledged by the second time. Both times are 0 if no operation was acknowledged. All
/// operations had ended at the third time. This time is 0 if no operation was sent, and [`FOREVER`]
/// if the time is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowWrites {
    pub write_sent: u32,
    write_done: u32,
    write_ended: u32,
    pub delete_sent: u32,
    delete_done: u32,
    pub delete_ended: u32,
}

/// Sums of the increments of a counter, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    acknowledged: i64,
    /// Sum of the positive increments of unknown outcome.
    unknown_up: i64,
    /// Sum of the negative increments of unknown outcome.
    unknown_down: i64,
}

impl Sum {
    fn add(&mut self, amount: i64, state: WriteState) {
        let sum = match (state, amount) {
            (WriteState::NotSent, _) => return,
            (WriteState::Acknowledged, _) => &mut self.acknowledged,
            (WriteState::Unknown, 0..) => &mut self.unknown_up,
            (WriteState::Unknown, _) => &mut self.unknown_down,
        };
        *sum = sum.saturating_add(amount);
    }

    /// Returns how far a counter is outside the range of its possible values. The result is
    /// negative if the counter is too low, and 0 if the counter is within the range.
    pub fn off_by(&self, counted: i64) -> i64 {
        let least = self.acknowledged.saturating_add(self.unknown_down);
        let most = self.acknowledged.saturating_add(self.unknown_up);
        counted.saturating_sub(counted.clamp(least, most))
    }
}

#[derive(Clone, Copy, Debug)]
pub struct RegisterOperation {
    pub key: u64,
    pub stage: Stage,
    /// Number of the operation in its stage.
    pub number: u64,
    pub asked: RegisterRequest,
    /// Times and response of the operation.
    pub happened: RegisterResult,
}

/// Numbers of writes of a run, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Number of acknowledged writes.
    pub acknowledged: u64,
    /// Number of writes that were sent but not acknowledged. The server may have applied them.
    pub unknown: u64,
}

impl Default for EarlierWrites {
    /// Returns a state in which the rows of the load stage are unknown.
    fn default() -> EarlierWrites {
        EarlierWrites::over(LoadedRows::Unknown)
    }
}

impl EarlierWrites {
    fn over(loaded: LoadedRows) -> EarlierWrites {
        EarlierWrites {
            loaded,
            margin: MARGIN_USUAL,
            epoch_ns: None,
            rows: HashMap::new(),
            forgets: false,
            mains: Vec::new(),
            forgets_mains: false,
            sums: HashMap::new(),
            counters_are_old: false,
            registers: Vec::new(),
            registers_end: false,
            losses: Losses::default(),
        }
    }

    /// Assumes that load stages loaded all rows below `rows`, and that every operation of these
    /// stages was acknowledged.
    pub fn by_loads(rows: u64) -> EarlierWrites {
        EarlierWrites::over(LoadedRows::Below(rows))
    }

    /// Returns only the writes of the load stage. A snapshot of the loaded data restores exactly
    /// these writes.
    #[must_use]
    pub fn without_main(&self) -> EarlierWrites {
        EarlierWrites {
            margin: self.margin,
            counters_are_old: self.counters_are_old,
            ..EarlierWrites::over(self.loaded.clone())
        }
    }

    /// Takes the loaded rows from the ledger of the load stage.
    pub fn by_load(ledger: Arc<Ledger>) -> EarlierWrites {
        EarlierWrites::over(LoadedRows::Ledger(ledger))
    }

    /// Sets the maximum difference between the clocks that set timestamps. The default of one
    /// millisecond is suitable for the clocks of one machine. If nodes set timestamps, `margin`
    /// must cover the difference between the clocks of the nodes.
    #[must_use]
    pub fn with_margin(self, margin: Duration) -> EarlierWrites {
        let ticks = margin.as_nanos().div_ceil(u128::from(TICK_NS));
        EarlierWrites {
            margin: u32::try_from(ticks).unwrap_or(FOREVER),
            ..self
        }
    }

    /// Marks that counters may have existed before the load. The module then does not judge
    /// counters.
    #[must_use]
    pub fn with_old_counters(self) -> EarlierWrites {
        EarlierWrites {
            counters_are_old: true,
            ..self
        }
    }

    /// Adds the main-stage writes of `program` whose operation numbers are in `operations`.
    /// Generates each operation again, which takes about 50 ns per operation. Returns the number of
    /// writes by outcome.
    pub fn add_main(
        &mut self,
        program: &Arc<Program>,
        ledger: &Arc<Ledger>,
        operations: Range<u64>,
    ) -> Outcomes {
        let mut outcomes = Outcomes::default();
        let mut generator = program.generator(Stage::Main);
        self.epoch_ns.get_or_insert(ledger.start_ns());
        for number in operations.clone() {
            let state = ledger.state(number);
            match state {
                WriteState::NotSent => continue,
                WriteState::Acknowledged => outcomes.acknowledged += 1,
                WriteState::Unknown => outcomes.unknown += 1,
            }
            let operation = generator.begin(number);
            if let Some(amount) = generator.amount() {
                let sum = self.sums.entry(operation.key).or_default();
                sum.add(amount, state);
                continue;
            }
            let sent = self.ticks(ledger.sent_after_ns(number));
            let ended =
                ledger.done_before_ns(number).map(|ns| self.ticks(ns) + 1).unwrap_or(FOREVER);
            let is_remembered =
                self.rows.len() < ROWS_MAX || self.rows.contains_key(&operation.key);
            self.forgets |= !is_remembered;
            if is_remembered {
                let statement = usize::from(operation.statement);
                let deletes = program.statements()[statement].deletes;
                let row = self.rows.entry(operation.key).or_default();
                row.add(deletes, state, WriteTimes { sent, ended });
            }
        }
        self.mains.push((operations, Arc::clone(ledger)));
        while self.mains.iter().map(|(_, l)| l.bytes()).sum::<u64>() > LEDGERS_BYTES_MAX {
            self.mains.remove(0);
            self.forgets_mains = true;
        }
        outcomes
    }

    /// Adds the register operations that a run of this stage of `program` recorded. A `history` of
    /// `None` means that the run may have changed registers without a record. The module then
    /// cannot judge any later operation on registers.
    pub fn add_history(&mut self, program: &Arc<Program>, stage: Stage, history: Option<&History>) {
        let Some(history) = history.filter(|_| !self.registers_end) else {
            self.registers_end = true;
            return;
        };
        let mut generator = program.generator(stage);
        let recorded = history.operations().filter_map(|(number, happened)| {
            let key = generator.begin(number).key;
            let asked = generator.register_request()?;
            Some(RegisterOperation {
                key,
                stage,
                number,
                asked,
                happened,
            })
        });
        self.registers.extend(recorded);
        let is_full = self.registers.len() as u64 >= HISTORY_OPERATIONS_MAX;
        self.registers_end = is_full || history.until_ns().is_some();
    }

    /// Returns all recorded operations on registers. Each register was 0 before its first
    /// operation.
    pub fn registers(&self) -> impl Iterator<Item = &RegisterOperation> {
        let all = self.registers.iter();
        all.filter(|recorded| self.is_loaded(recorded.key) == Some(true))
    }

    /// Converts a time to ticks. The ticks are counted from 1.
    fn ticks(&self, ns: u64) -> u32 {
        let since_ns = ns.saturating_sub(self.epoch_ns.unwrap_or(ns));
        u32::try_from(since_ns / TICK_NS + 1).unwrap_or(FOREVER - 1)
    }

    /// Returns the number of the first row after all rows that were written or may have been
    /// written.
    pub fn rows_end(&self, loaded_rows: u64) -> u64 {
        let loaded = match &self.loaded {
            LoadedRows::Below(rows) => *rows,
            LoadedRows::Unknown | LoadedRows::Ledger(_) => loaded_rows,
        };
        let last = self.rows.keys().chain(self.sums.keys()).max();
        last.map_or(0, |row| row + 1).max(loaded)
    }

    /// Returns the times of the main-stage writes to `row`. Returns `None` if the module does not
    /// remember them.
    pub(crate) fn row(&self, row: u64) -> Option<RowWrites> {
        match self.rows.get(&row) {
            None if self.forgets => None,
            known => Some(known.copied().unwrap_or_default()),
        }
    }

    /// Returns the sums for the counter of `row`. Returns `None` unless every increment is known
    /// and the counter was 0 when it was loaded.
    pub(crate) fn sum(&self, row: u64) -> Option<Sum> {
        if self.sums.is_empty() || self.counters_are_old || self.is_loaded(row) != Some(true) {
            return None;
        }
        Some(self.sums.get(&row).copied().unwrap_or_default())
    }

    /// Returns true if the load stage has written `row`. Returns `None` if this is unknown.
    fn is_loaded(&self, row: u64) -> Option<bool> {
        match &self.loaded {
            LoadedRows::Unknown => None,
            LoadedRows::Ledger(ledger) => Some(ledger.state(row) == WriteState::Acknowledged),
            LoadedRows::Below(rows) => Some(row < *rows),
        }
    }

    /// Returns true if a write or a deletion of `row` was acknowledged. Returns `None` if this is
    /// unknown.
    pub(crate) fn is_acknowledged(&self, row: u64) -> Option<bool> {
        let main = self.rows.get(&row).copied().unwrap_or_default();
        if main.write_sent > 0 || main.delete_sent > 0 {
            return Some(true);
        }
        self.is_loaded(row)
    }

    /// Returns the latest time at which the write of a value may have ended, in ticks. If the value
    /// does not contain the number of its writer, the function assumes the last write.
    pub(crate) fn ended(&self, writer: Option<(Stage, u64)>, row: &RowWrites) -> u32 {
        match writer {
            None => row.write_ended,
            Some((Stage::Main, number)) => self.main_ended(number),
            Some(_) => 0,
        }
    }

    /// Returns the latest end among the writes of operation `number`. Later trials may use the same
    /// operation numbers, so the write may belong to any of these trials.
    fn main_ended(&self, number: u64) -> u32 {
        let of_it = self.mains.iter().filter(|(range, ledger)| {
            range.contains(&number) && ledger.state(number) != WriteState::NotSent
        });
        let ended = of_it.map(|(_, ledger)| match ledger.done_before_ns(number) {
            Some(ns) => self.ticks(ns) + 1,
            None => FOREVER,
        });
        ended.max().unwrap_or(FOREVER)
    }

    /// Returns true if the value contains the number of an operation that was certainly never sent.
    /// This requires that the module knows all main stages that used this operation number.
    pub(crate) fn is_by_no_operation(&self, writer: Option<(Stage, u64)>, row: u64) -> bool {
        let Some((Stage::Main, number)) = writer else {
            return false;
        };
        let was_sent = |(range, ledger): &(Range<u64>, Arc<Ledger>)| {
            range.contains(&number) && ledger.state(number) != WriteState::NotSent
        };
        // A row that the load stage has not written may come from another program.
        let is_ours = self.is_loaded(row) == Some(true);
        is_ours && !self.forgets_mains && !self.mains.iter().any(was_sent)
    }

    /// Returns true if an operation that was sent at `sent` has overwritten or deleted the value of
    /// an operation that had ended by `ended`. A `sent` of 0 means that no such operation is known.
    /// An `ended` of 0 means the load.
    pub(crate) fn is_before(&self, ended: u32, sent: u32) -> bool {
        match ended {
            // The load ended long before the main stage began, so the margin does not matter.
            0 => sent > 0,
            ended => ended.saturating_add(self.margin) < sent,
        }
    }
}

#[derive(Clone, Copy)]
struct WriteTimes {
    sent: u32,
    ended: u32,
}

impl RowWrites {
    fn add(&mut self, deletes: bool, state: WriteState, times: WriteTimes) {
        let WriteTimes { sent, ended } = times;
        let (of_sent, of_done, of_ended) = if deletes {
            (
                &mut self.delete_sent,
                &mut self.delete_done,
                &mut self.delete_ended,
            )
        } else {
            (
                &mut self.write_sent,
                &mut self.write_done,
                &mut self.write_ended,
            )
        };
        if state == WriteState::Acknowledged {
            if sent >= *of_sent {
                (*of_sent, *of_done) = (sent, ended);
            }
            *of_ended = ended.max(*of_ended);
        } else {
            *of_ended = FOREVER;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restored_snapshot_has_the_loaded_rows_only() {
        let mut written = EarlierWrites::by_loads(5);
        let mut row = RowWrites::default();
        row.add(
            false,
            WriteState::Acknowledged,
            WriteTimes { sent: 1, ended: 2 },
        );
        written.rows.insert(7, row);
        assert_eq!(written.is_acknowledged(4), Some(true));
        assert_eq!(written.is_acknowledged(5), Some(false));
        assert_eq!(written.is_acknowledged(7), Some(true), "it was overwritten");
        assert_eq!(written.rows_end(5), 8);
        let restored = written.without_main();
        assert_eq!(restored.is_acknowledged(7), Some(false));
        assert_eq!(restored.is_acknowledged(4), Some(true));
        assert_eq!(restored.rows_end(5), 5);
        assert_eq!(EarlierWrites::default().is_acknowledged(0), None);
    }

    #[test]
    fn a_counter_is_within_what_unknown_outcomes_allow() {
        let mut sum = Sum::default();
        sum.add(10, WriteState::Acknowledged);
        sum.add(-3, WriteState::Acknowledged);
        sum.add(5, WriteState::Unknown);
        sum.add(-2, WriteState::Unknown);
        sum.add(100, WriteState::NotSent);
        for (counted, off_by) in [(4, -1), (5, 0), (7, 0), (12, 0), (13, 1)] {
            assert_eq!(sum.off_by(counted), off_by, "{counted}");
        }
        let mut most = Sum::default();
        most.add(i64::MAX, WriteState::Acknowledged);
        most.add(i64::MAX, WriteState::Acknowledged);
        assert_eq!(most.off_by(i64::MAX), 0, "the sum does not overflow");
    }
}
