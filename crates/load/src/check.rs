//! What a read that was compared comes to: what the values themselves say, beside what earlier runs
//! have written.

use crate::written::{RowWrites, Sum, Written};
use measure::Missed;
use measure::interval::CheckCounts;
use workload::{Check, Stage};

/// What the values of a read say by themselves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadValue {
    pub check: Check,
    /// The row that was asked for.
    pub row: u64,
    /// Who wrote the value, if it says so.
    pub writer: Option<(Stage, u64)>,
    /// What a counter has come to.
    pub counted: Option<i64>,
}

/// Counts what a read found; `written` is what earlier runs have written, where that is known.
/// Returns what the row is if it is not as it should be.
pub(crate) fn note_check(
    checks: &mut CheckCounts,
    said: ReadValue,
    written: Option<&Written>,
) -> Option<Missed> {
    if let Some(counted) = said.counted {
        return note_counter(checks, counted, written.and_then(|of| of.sum(said.row)));
    }
    let acknowledged = written.and_then(|written| written.is_acknowledged(said.row));
    // Without a ledger nothing was overwritten or deleted as far as anybody knows.
    let row = match written {
        Some(written) => written.row(said.row),
        None => Some(RowWrites::default()),
    };
    match said.check {
        Check::Missing | Check::Unknown => {
            let deleted = row.map(|row| written.is_some_and(|written| may_be_gone(written, &row)));
            let missed = note_absent(checks, said.check, acknowledged, deleted);
            if let (Some(written), Some(row), Some(false), Some(true)) =
                (written, row, deleted, acknowledged)
            {
                written.note_missing(said.row, &row);
            }
            missed
        }
        Check::Stale if acknowledged == Some(false) => {
            checks.checked += 1;
            checks.never_written += 1;
            None
        }
        Check::Stale => {
            checks.checked += 1;
            checks.stale += 1;
            if let Some((written, row)) = written.zip(row) {
                written.note_stale(said.row, &row);
            }
            Some(Missed::Stale)
        }
        Check::Right | Check::Overwritten => note_there(checks, &said, acknowledged, written, row),
        Check::Wrong => {
            if let Some(written) = written {
                written.note_wrong(said.row);
            }
            checks.checked += 1;
            checks.wrong += 1;
            Some(Missed::Wrong)
        }
    }
}

/// A value is there that was right once; it may have been overwritten or deleted since.
fn note_there(
    checks: &mut CheckCounts,
    said: &ReadValue,
    acknowledged: Option<bool>,
    written: Option<&Written>,
    row: Option<RowWrites>,
) -> Option<Missed> {
    checks.checked += 1;
    let known = written.zip(row);
    let found = known.and_then(|(written, row)| behind(written, &row, said));
    if let Some((written, row)) = known {
        match found {
            Some(Behind::Deletion) => written.note_resurrected(said.row, &row),
            Some(Behind::Write) => written.note_stale(said.row, &row),
            Some(Behind::Nobody) => written.note_wrong(said.row),
            None => {}
        }
    }
    let (count, missed) = match found {
        Some(Behind::Nobody) => (&mut checks.wrong, Some(Missed::Wrong)),
        Some(Behind::Deletion) => (&mut checks.resurrected, Some(Missed::Resurrected)),
        Some(Behind::Write) => (&mut checks.stale, Some(Missed::Stale)),
        None if acknowledged == Some(false) => (&mut checks.unconfirmed, None),
        None if said.check == Check::Overwritten => (&mut checks.overwritten, None),
        None => return None,
    };
    *count += 1;
    missed
}

/// A counter is there; without a sum of what was added to it nothing can be said.
fn note_counter(checks: &mut CheckCounts, counted: i64, sum: Option<Sum>) -> Option<Missed> {
    let off_by = sum.map(|sum| sum.off_by(counted))?;
    checks.checked += 1;
    checks.too_low += u64::from(off_by < 0);
    checks.too_high += u64::from(off_by > 0);
    match off_by {
        0 => None,
        ..0 => Some(Missed::TooLow),
        1.. => Some(Missed::TooHigh),
    }
}

/// A row is not there. `deleted`: whether it may have been deleted; none where nobody remembers.
fn note_absent(
    checks: &mut CheckCounts,
    check: Check,
    acknowledged: Option<bool>,
    deleted: Option<bool>,
) -> Option<Missed> {
    let (count, missed) = match (deleted, acknowledged) {
        (None, _) => return None,
        (Some(true), _) => (&mut checks.deleted, None),
        (Some(false), Some(true)) => {
            checks.lost += 1;
            (&mut checks.missing, Some(Missed::Lost))
        }
        (Some(false), _) if check == Check::Unknown => return None,
        (Some(false), Some(false)) => (&mut checks.never_written, None),
        (Some(false), None) => (&mut checks.missing, Some(Missed::Lost)),
    };
    *count += 1;
    checks.checked += 1;
    missed
}

/// Whether a deletion of the row may have been the last that was done to it.
fn may_be_gone(written: &Written, row: &RowWrites) -> bool {
    row.delete_ended > 0 && !written.is_before(row.delete_ended, row.write_sent)
}

/// Why a value should not be there.
enum Behind {
    /// Nobody has written it.
    Nobody,
    /// It was deleted after it was written.
    Deletion,
    /// It was overwritten after it was written.
    Write,
}

fn behind(written: &Written, row: &RowWrites, said: &ReadValue) -> Option<Behind> {
    if written.is_by_nobody(said.writer, said.row) {
        return Some(Behind::Nobody);
    }
    let ended = written.ended(said.writer, row);
    if written.is_before(ended, row.delete_sent) {
        Some(Behind::Deletion)
    } else if said.writer.is_some() && written.is_before(ended, row.write_sent) {
        Some(Behind::Write)
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
