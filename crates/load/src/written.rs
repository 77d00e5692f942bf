//! What earlier runs have written, as far as it was acknowledged: what tells a lost row from one
//! that was never written, one that was overwritten or deleted from one whose overwrite or deletion
//! was lost.
//!
//! It knows programs whose load stage's operation n writes row n, and whose operations in the main
//! stage have their row as key. What must hold: nothing is called lost, stale or resurrected that
//! the ledgers do not prove to be. Of two writes to one row the last one wins by its time, which a
//! node or the client gives it between its sending and its acknowledgement; so one that was
//! acknowledged before another was sent, and a margin for clocks that differ, must not be seen
//! after that. Of writes whose times overlap, or are not known, nothing is said, and a write of
//! unknown outcome may be done at any time, or never.

use crate::history::{HISTORY_OPERATIONS_MAX, Happened, History};
use crate::ledger::{Ledger, WriteState};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use workload::{Program, RegisterRequest, Stage};

mod losses;

use losses::Losses;
pub use losses::{Lost, MissedRow};

/// Rows of the main stage that are remembered: at most about 1.2 GB. Of others nothing is said.
const ROWS_MAX: usize = 1 << 24;
/// Ledgers of main stages that are kept, bytes. Of the writes of older ones nothing is said.
const LEDGERS_BYTES_MAX: u64 = 1 << 30;
/// What times are counted in here.
const TICK_NS: u64 = 100_000;
/// A millisecond: the client's own timestamps run ahead of its clock by a batch of operations at
/// most, and so do those of a node.
const MARGIN_USUAL: u32 = 10;
/// The end of a write that may still be done, or whose end nobody knows.
const FOREVER: u32 = u32::MAX;

/// The acknowledged writes of earlier runs.
#[derive(Debug)]
pub struct Written {
    loaded: Loaded,
    /// Two clocks that give writes their times may differ by so much.
    margin: u32,
    /// Tick 1, monotonic clock: before the first main stage and after the load.
    epoch_ns: Option<u64>,
    /// What the main stage has done to a row.
    rows: HashMap<u64, RowWrites>,
    /// Whether there were more rows than are remembered.
    forgets: bool,
    /// The main stages, the last one at the end, by the numbers of their operations.
    mains: Vec<(Range<u64>, Arc<Ledger>)>,
    /// Whether there were more of them than are kept.
    forgets_mains: bool,
    /// What was added to counters, by row.
    sums: HashMap<u64, Sum>,
    /// Whether counters may have been there before the load, which adds nothing to them.
    counters_are_old: bool,
    /// All operations on registers since they were loaded, as far as they were written down.
    registers: Vec<Recorded>,
    /// Whether operations came after these that were not.
    registers_end: bool,
    /// When acknowledged writes may have been lost.
    losses: Losses,
}

/// What the load stage has written.
#[derive(Clone, Debug, Default)]
enum Loaded {
    #[default]
    Unknown,
    /// What its ledger says.
    Ledger(Arc<Ledger>),
    /// All rows below this one, and no other.
    Below(u64),
}

/// What the main stage has done to a row: of its writes and of its deletions, when the last
/// acknowledged one was sent (0: there is none) and done, and when all had ended ([`FOREVER`]: who
/// knows; 0: there is none). In ticks; 0 is the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowWrites {
    pub write_sent: u32,
    write_done: u32,
    write_ended: u32,
    pub delete_sent: u32,
    delete_done: u32,
    pub delete_ended: u32,
}

/// What was added to a counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    /// By acknowledged additions.
    acknowledged: i64,
    /// By those above 0 of unknown outcome.
    unknown_up: i64,
    /// By those below 0 of unknown outcome.
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

    /// How far a counter is from what it may be: below 0, too low; 0: what it may be.
    pub fn off_by(&self, counted: i64) -> i64 {
        let least = self.acknowledged.saturating_add(self.unknown_down);
        let most = self.acknowledged.saturating_add(self.unknown_up);
        counted.saturating_sub(counted.clamp(least, most))
    }
}

/// An operation on a register.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    /// The register.
    pub key: u64,
    /// The stage that it was of.
    pub stage: Stage,
    /// Its number there.
    pub number: u64,
    /// What was asked.
    pub asked: RegisterRequest,
    /// What came of it.
    pub happened: Happened,
}

/// Writes of a run by what is known of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Writes that were acknowledged.
    pub acknowledged: u64,
    /// Sent and not acknowledged: done or not.
    pub unknown: u64,
}

impl Default for Written {
    /// Nobody knows what was loaded.
    fn default() -> Written {
        Written::over(Loaded::Unknown)
    }
}

impl Written {
    fn over(loaded: Loaded) -> Written {
        Written {
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

    /// All rows below `rows`, by load stages of which every operation was acknowledged.
    pub fn by_loads(rows: u64) -> Written {
        Written::over(Loaded::Below(rows))
    }

    /// What the load stage alone has written: what a snapshot of its data brings back.
    #[must_use]
    pub fn without_main(&self) -> Written {
        Written {
            margin: self.margin,
            counters_are_old: self.counters_are_old,
            ..Written::over(self.loaded.clone())
        }
    }

    /// What the load stage has written.
    pub fn by_load(ledger: Arc<Ledger>) -> Written {
        Written::over(Loaded::Ledger(ledger))
    }

    /// The same where the clocks that give writes their times may differ by `margin` and not by the
    /// millisecond of clocks of one machine: those of the nodes, if nodes give it.
    #[must_use]
    pub fn with_margin(self, margin: Duration) -> Written {
        let ticks = margin.as_nanos().div_ceil(u128::from(TICK_NS));
        Written {
            margin: u32::try_from(ticks).unwrap_or(FOREVER),
            ..self
        }
    }

    /// The same where counters may have been there before the load: then nothing is said of them.
    #[must_use]
    pub fn with_old_counters(self) -> Written {
        Written {
            counters_are_old: true,
            ..self
        }
    }

    /// Adds what `operations` of the main stage of `program` have written: makes each of them
    /// again, about 50 ns each. Returns how many there are.
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
                row.add(deletes, state, (sent, ended));
            }
        }
        self.mains.push((operations, Arc::clone(ledger)));
        while self.mains.iter().map(|(_, l)| l.bytes()).sum::<u64>() > LEDGERS_BYTES_MAX {
            self.mains.remove(0);
            self.forgets_mains = true;
        }
        outcomes
    }

    /// Adds what a run of a stage of `program` asked of registers. None: it may have changed some,
    /// and nobody has written that down, so that nothing later can be judged.
    pub fn add_history(&mut self, program: &Arc<Program>, stage: Stage, history: Option<&History>) {
        let Some(history) = history.filter(|_| !self.registers_end) else {
            self.registers_end = true;
            return;
        };
        let mut generator = program.generator(stage);
        let recorded = history.operations().filter_map(|(number, happened)| {
            let key = generator.begin(number).key;
            let asked = generator.asked()?;
            Some(Recorded {
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

    /// All operations on registers that were loaded, each of which was 0 before the first of them.
    pub fn registers(&self) -> impl Iterator<Item = &Recorded> {
        let all = self.registers.iter();
        all.filter(|recorded| self.is_loaded(recorded.key) == Some(true))
    }

    /// Ticks from 1 on.
    fn ticks(&self, ns: u64) -> u32 {
        let since_ns = ns.saturating_sub(self.epoch_ns.unwrap_or(ns));
        u32::try_from(since_ns / TICK_NS + 1).unwrap_or(FOREVER - 1)
    }

    /// The number of the row behind the last one that was written, or may have been.
    pub fn rows_end(&self, loaded_rows: u64) -> u64 {
        let loaded = match &self.loaded {
            Loaded::Below(rows) => *rows,
            Loaded::Unknown | Loaded::Ledger(_) => loaded_rows,
        };
        let last = self.rows.keys().chain(self.sums.keys()).max();
        last.map_or(0, |row| row + 1).max(loaded)
    }

    /// What the main stage has done to `row`; none where nobody remembers.
    pub(crate) fn row(&self, row: u64) -> Option<RowWrites> {
        match self.rows.get(&row) {
            None if self.forgets => None,
            known => Some(known.copied().unwrap_or_default()),
        }
    }

    /// What was added to the counter of `row`, if every addition to it is known: it was 0 when it
    /// was loaded.
    pub(crate) fn sum(&self, row: u64) -> Option<Sum> {
        if self.sums.is_empty() || self.counters_are_old || self.is_loaded(row) != Some(true) {
            return None;
        }
        Some(self.sums.get(&row).copied().unwrap_or_default())
    }

    /// Whether the load has written `row`; `None`: nobody has written that down.
    fn is_loaded(&self, row: u64) -> Option<bool> {
        match &self.loaded {
            Loaded::Unknown => None,
            Loaded::Ledger(ledger) => Some(ledger.state(row) == WriteState::Acknowledged),
            Loaded::Below(rows) => Some(row < *rows),
        }
    }

    /// Whether some value of `row`, or its deletion, was acknowledged; `None`: nobody has written
    /// that down.
    pub(crate) fn is_acknowledged(&self, row: u64) -> Option<bool> {
        let main = self.rows.get(&row).copied().unwrap_or_default();
        if main.write_sent > 0 || main.delete_sent > 0 {
            return Some(true);
        }
        self.is_loaded(row)
    }

    /// When the write of a value was done at the latest, in ticks. A value that does not name its
    /// writer may be of the last of all.
    pub(crate) fn ended(&self, writer: Option<(Stage, u64)>, row: &RowWrites) -> u32 {
        match writer {
            None => row.write_ended,
            Some((Stage::Main, number)) => self.main_ended(number),
            Some(_) => 0,
        }
    }

    /// Numbers may come again in later trials: then it may be the write of any of them.
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

    /// Whether a value's writer is known to have written nothing: he was never sent, and there is
    /// nobody of whom that is not known.
    pub(crate) fn is_by_nobody(&self, writer: Option<(Stage, u64)>, row: u64) -> bool {
        let Some((Stage::Main, number)) = writer else {
            return false;
        };
        let was_sent = |(range, ledger): &(Range<u64>, Arc<Ledger>)| {
            range.contains(&number) && ledger.state(number) != WriteState::NotSent
        };
        // A row that the load has not written may be left from somebody before us.
        let is_ours = self.is_loaded(row) == Some(true);
        is_ours && !self.forgets_mains && !self.mains.iter().any(was_sent)
    }

    /// Whether what had ended by `ended` was overwritten, or deleted, by what was sent at `sent`
    /// (0: there is nothing of the sort).
    pub(crate) fn is_before(&self, ended: u32, sent: u32) -> bool {
        match ended {
            // The load had ended long before.
            0 => sent > 0,
            ended => ended.saturating_add(self.margin) < sent,
        }
    }
}

impl RowWrites {
    fn add(&mut self, deletes: bool, state: WriteState, (sent, ended): (u32, u32)) {
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
    fn what_a_snapshot_brings_back_is_what_was_loaded() {
        let mut written = Written::by_loads(5);
        let mut row = RowWrites::default();
        row.add(false, WriteState::Acknowledged, (1, 2));
        written.rows.insert(7, row);
        assert_eq!(written.is_acknowledged(4), Some(true));
        assert_eq!(written.is_acknowledged(5), Some(false));
        assert_eq!(written.is_acknowledged(7), Some(true), "it was overwritten");
        assert_eq!(written.rows_end(5), 8);
        let restored = written.without_main();
        assert_eq!(restored.is_acknowledged(7), Some(false));
        assert_eq!(restored.is_acknowledged(4), Some(true));
        assert_eq!(restored.rows_end(5), 5);
        assert_eq!(Written::default().is_acknowledged(0), None);
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
        assert_eq!(most.off_by(i64::MAX), 0, "and nothing overflows");
    }
}
