//! Judges verified reads by the values that they returned, and by the writes of earlier runs.

use crate::earlier_writes::{EarlierWrites, RowWrites, Sum};
use measure::WriteMismatch;
use measure::interval::CheckCounts;
use workload::{Check, Stage};

/// Result of a read of one row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadValue {
    pub check: Check,
    pub row: u64,
    /// Stage and number of the operation that wrote the value, if the value contains them.
    pub writer: Option<(Stage, u64)>,
    pub counted: Option<i64>,
}

/// Counts the result of a verified read. `written` contains the writes of earlier runs, if they are
/// known. Returns the kind of error of the row, or `None` if the row may be right.
pub(crate) fn note_check(
    checks: &mut CheckCounts,
    said: ReadValue,
    written: Option<&EarlierWrites>,
) -> Option<WriteMismatch> {
    if let Some(counted) = said.counted {
        return note_counter(checks, counted, written.and_then(|of| of.sum(said.row)));
    }
    let acknowledged = written.and_then(|written| written.is_acknowledged(said.row));
    // Without a ledger, the check assumes that no row was overwritten or deleted.
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
            Some(WriteMismatch::Stale)
        }
        Check::Right | Check::Overwritten => note_there(checks, &said, acknowledged, written, row),
        Check::Wrong => {
            if let Some(written) = written {
                written.note_wrong(said.row);
            }
            checks.checked += 1;
            checks.wrong += 1;
            Some(WriteMismatch::Wrong)
        }
    }
}

/// Counts a value that was correct at some time. The row may have been overwritten or deleted since
/// that time.
fn note_there(
    checks: &mut CheckCounts,
    said: &ReadValue,
    acknowledged: Option<bool>,
    written: Option<&EarlierWrites>,
    row: Option<RowWrites>,
) -> Option<WriteMismatch> {
    checks.checked += 1;
    let known = written.zip(row);
    let found = known.and_then(|(written, row)| behind(written, &row, said));
    if let Some((written, row)) = known {
        match found {
            Some(Behind::Deletion) => written.note_resurrected(said.row, &row),
            Some(Behind::Write) => written.note_stale(said.row, &row),
            Some(Behind::NoOperation) => written.note_wrong(said.row),
            None => {}
        }
    }
    let (count, missed) = match found {
        Some(Behind::NoOperation) => (&mut checks.wrong, Some(WriteMismatch::Wrong)),
        Some(Behind::Deletion) => (&mut checks.resurrected, Some(WriteMismatch::Resurrected)),
        Some(Behind::Write) => (&mut checks.stale, Some(WriteMismatch::Stale)),
        None if acknowledged == Some(false) => (&mut checks.unconfirmed, None),
        None if said.check == Check::Overwritten => (&mut checks.overwritten, None),
        None => return None,
    };
    *count += 1;
    missed
}

/// Counts the value of a counter. If the sum of the counter's increments is unknown, the function
/// cannot judge the value and does not count it.
fn note_counter(checks: &mut CheckCounts, counted: i64, sum: Option<Sum>) -> Option<WriteMismatch> {
    let off_by = sum.map(|sum| sum.off_by(counted))?;
    checks.checked += 1;
    checks.too_low += u64::from(off_by < 0);
    checks.too_high += u64::from(off_by > 0);
    match off_by {
        0 => None,
        ..0 => Some(WriteMismatch::TooLow),
        1.. => Some(WriteMismatch::TooHigh),
    }
}

/// Counts a missing row. `deleted` is true if a deletion may explain why the row is missing, and
/// `None` if this is unknown.
fn note_absent(
    checks: &mut CheckCounts,
    check: Check,
    acknowledged: Option<bool>,
    deleted: Option<bool>,
) -> Option<WriteMismatch> {
    let (count, missed) = match (deleted, acknowledged) {
        (None, _) => return None,
        (Some(true), _) => (&mut checks.deleted, None),
        (Some(false), Some(true)) => {
            checks.lost += 1;
            (&mut checks.missing, Some(WriteMismatch::Lost))
        }
        (Some(false), _) if check == Check::Unknown => return None,
        (Some(false), Some(false)) => (&mut checks.never_written, None),
        (Some(false), None) => (&mut checks.missing, Some(WriteMismatch::Lost)),
    };
    *count += 1;
    checks.checked += 1;
    missed
}

/// Returns true if a deletion may have been the last operation on the row.
fn may_be_gone(written: &EarlierWrites, row: &RowWrites) -> bool {
    row.delete_ended > 0 && !written.is_before(row.delete_ended, row.write_sent)
}

/// Reason why a value should not be in the row.
enum Behind {
    /// The value contains the number of an operation that was never sent.
    NoOperation,
    /// The row was deleted after the value was written.
    Deletion,
    /// The row was overwritten after the value was written.
    Write,
}

fn behind(written: &EarlierWrites, row: &RowWrites, said: &ReadValue) -> Option<Behind> {
    if written.is_by_no_operation(said.writer, said.row) {
        return Some(Behind::NoOperation);
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
