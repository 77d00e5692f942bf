//! What earlier runs have written, as far as it was acknowledged: what tells a lost row from one
//! that was never written, and a row that was overwritten from one whose overwrite was lost.
//!
//! It knows programs whose load stage's operation n writes row n, and whose operations in the main
//! stage have their row as key. What must hold: nothing is called lost or stale that the ledgers
//! do not prove to be. Of two writes of the main stage to one row, the later number is not
//! necessarily the later write, so that nothing is said of their order.

use crate::ledger::{Ledger, WriteState};
use measure::interval::CheckCounts;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use workload::{Check, Program, Stage};

/// Rows of the main stage that are remembered: at most about 600 MB. Of others nothing is said.
const ROWS_MAX: usize = 1 << 24;

/// The acknowledged writes of earlier runs.
#[derive(Debug, Default)]
pub struct Written {
    loaded: Loaded,
    /// By row, the highest number of an acknowledged write of the main stage.
    overwrites: HashMap<u64, u64>,
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

impl Written {
    /// All rows below `rows`, by load stages of which every operation was acknowledged.
    pub fn by_loads(rows: u64) -> Written {
        Written {
            loaded: Loaded::Below(rows),
            overwrites: HashMap::new(),
        }
    }

    /// What the load stage alone has written: what a snapshot of its data brings back.
    #[must_use]
    pub fn without_main(&self) -> Written {
        Written {
            loaded: self.loaded.clone(),
            overwrites: HashMap::new(),
        }
    }

    /// What the load stage has written.
    pub fn by_load(ledger: Arc<Ledger>) -> Written {
        Written {
            loaded: Loaded::Ledger(ledger),
            overwrites: HashMap::new(),
        }
    }

    /// Adds what `operations` of the main stage of `program` have written: makes each of them
    /// again, about 50 ns each.
    pub fn add_main(&mut self, program: &Arc<Program>, ledger: &Ledger, operations: Range<u64>) {
        let mut generator = program.generator(Stage::Main);
        for number in operations {
            if ledger.state(number) != WriteState::Acknowledged {
                continue;
            }
            let row = generator.begin(number).key;
            if self.overwrites.len() < ROWS_MAX || self.overwrites.contains_key(&row) {
                let last = self.overwrites.entry(row).or_insert(number);
                *last = (*last).max(number);
            }
        }
    }

    /// The number of an acknowledged write of the main stage to `row`: the highest one.
    pub fn last_overwrite(&self, row: u64) -> Option<u64> {
        self.overwrites.get(&row).copied()
    }

    /// Whether some value of `row` was acknowledged; `None`: nobody has written that down.
    fn is_acknowledged(&self, row: u64) -> Option<bool> {
        if self.overwrites.contains_key(&row) {
            return Some(true);
        }
        match &self.loaded {
            Loaded::Unknown => None,
            Loaded::Ledger(ledger) => Some(ledger.state(row) == WriteState::Acknowledged),
            Loaded::Below(rows) => Some(row < *rows),
        }
    }
}

/// Counts what a read of `row` found: `check` is what the values themselves say, `writer` who wrote
/// them, `written` what earlier runs have written.
pub(crate) fn note_check(
    checks: &mut CheckCounts,
    check: Check,
    row: u64,
    writer: Option<(Stage, u64)>,
    written: Option<&Written>,
) {
    let acknowledged = written.and_then(|written| written.is_acknowledged(row));
    let overwrite = written.and_then(|written| written.last_overwrite(row));
    checks.checked += u64::from(check != Check::Unknown || overwrite.is_some());
    match check {
        Check::Unknown if overwrite.is_none() => {}
        Check::Missing | Check::Stale if acknowledged == Some(false) => checks.never_written += 1,
        Check::Missing | Check::Unknown => {
            checks.missing += 1;
            checks.lost += u64::from(acknowledged.is_some());
        }
        Check::Stale => checks.stale += 1,
        // The load had ended before anybody overwrote the row, and that was acknowledged.
        Check::Right if overwrite.is_some() && matches!(writer, Some((Stage::Load, _))) => {
            checks.stale += 1;
        }
        Check::Right => {}
        Check::Overwritten => checks.overwritten += 1,
        Check::Wrong => checks.wrong += 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::LedgerPart;

    /// Row 0 was loaded, row 1 was sent and not acknowledged, row 2 never sent; the main stage has
    /// overwritten rows 4 and 5, of which 4 was loaded.
    fn written() -> Written {
        let mut part = LedgerPart::new(0, 1, 100, 1);
        part.set(0, WriteState::Acknowledged);
        part.set(4, WriteState::Acknowledged);
        part.set(1, WriteState::Unknown);
        let mut written = Written::by_load(Arc::new(Ledger::new(0, vec![part])));
        written.overwrites.extend([(4, 70), (5, 71)]);
        written
    }

    #[test]
    fn a_ledger_tells_lost_from_never_written_and_overwritten_from_stale() {
        let written = written();
        let load = |row| Some((Stage::Load, row));
        let main = Some((Stage::Main, 60));
        // Checked, missing, lost, never written, stale, overwritten, wrong.
        for (check, row, writer, counts) in [
            (Check::Missing, 0, None, [1, 1, 1, 0, 0, 0, 0]),
            (Check::Missing, 1, None, [1, 0, 0, 1, 0, 0, 0]),
            (Check::Missing, 2, None, [1, 0, 0, 1, 0, 0, 0]),
            (Check::Missing, 5, None, [1, 1, 1, 0, 0, 0, 0]),
            (Check::Unknown, 2, None, [0; 7]),
            (Check::Unknown, 5, None, [1, 1, 1, 0, 0, 0, 0]),
            (Check::Stale, 0, None, [1, 0, 0, 0, 1, 0, 0]),
            (Check::Stale, 1, None, [1, 0, 0, 1, 0, 0, 0]),
            (Check::Right, 0, load(0), [1, 0, 0, 0, 0, 0, 0]),
            (Check::Right, 4, load(4), [1, 0, 0, 0, 1, 0, 0]),
            (Check::Right, 4, None, [1, 0, 0, 0, 0, 0, 0]),
            (Check::Overwritten, 4, main, [1, 0, 0, 0, 0, 1, 0]),
            (Check::Overwritten, 0, main, [1, 0, 0, 0, 0, 1, 0]),
            (Check::Wrong, 0, None, [1, 0, 0, 0, 0, 0, 1]),
        ] {
            let mut checks = CheckCounts::default();
            note_check(&mut checks, check, row, writer, Some(&written));
            assert_eq!(in_order(&checks), counts, "{check:?} {row} {writer:?}");
        }
    }

    #[test]
    fn what_a_snapshot_brings_back_is_what_was_loaded() {
        let mut written = Written::by_loads(5);
        written.overwrites.insert(7, 70);
        assert_eq!(written.is_acknowledged(4), Some(true));
        assert_eq!(written.is_acknowledged(5), Some(false));
        assert_eq!(written.is_acknowledged(7), Some(true), "it was overwritten");
        let restored = written.without_main();
        assert_eq!(restored.is_acknowledged(7), Some(false));
        assert_eq!(restored.is_acknowledged(4), Some(true));
        assert_eq!(Written::default().is_acknowledged(0), None);
    }

    #[test]
    fn without_a_ledger_every_row_that_is_not_there_is_missing() {
        for (check, counts) in [
            (Check::Missing, [1, 1, 0, 0, 0, 0, 0]),
            (Check::Stale, [1, 0, 0, 0, 1, 0, 0]),
            (Check::Unknown, [0; 7]),
        ] {
            let mut checks = CheckCounts::default();
            note_check(&mut checks, check, 0, None, None);
            assert_eq!(in_order(&checks), counts, "{check:?}");
        }
    }

    fn in_order(checks: &CheckCounts) -> [u64; 7] {
        [
            checks.checked,
            checks.missing,
            checks.lost,
            checks.never_written,
            checks.stale,
            checks.overwritten,
            checks.wrong,
        ]
    }
}
