//! Describes data that was lost, wrong or resurrected. These sentences come first in every answer.
//!
//! Invariant: in every kind of study, the sentences state every objection of rule V14 to verified
//! data. The sentences do not state differences that the configuration allows.

use crate::trials::names_of;
use measure::number::count;
use store::record::{
    MissedRowRecord, PromiseKind, ReadBackRecord, RegistersRecord, TrialFinding, VerifyRecord,
};

/// Maximum number of rows that a sentence names. For further rows, the sentence states only their
/// number.
const ROWS_NAMED_MAX: usize = 5;

/// Returns the sentences about lost, wrong or resurrected data. The list is empty if rule V14 does
/// not object to the data.
pub fn against(trials: &[TrialFinding]) -> Vec<String> {
    let of: Vec<&TrialFinding> =
        trials.iter().filter(|trial| !trial.data_against().is_nothing()).collect();
    let rows: Vec<&ReadBackRecord> = of.iter().filter_map(|t| t.data_against().rows).collect();
    let reads: Vec<&VerifyRecord> = of.iter().filter_map(|t| t.data_against().reads).collect();
    let registers = of.iter().filter_map(|t| t.data_against().registers);
    let where_words = where_words(&of, trials);
    let said = [
        rows_sentence(&rows, &where_words),
        reads_sentence(&reads, &where_words),
        registers_sentence(&registers.collect::<Vec<_>>(), &where_words),
    ];
    said.into_iter().flatten().collect()
}

/// Returns the differing row with the lowest number. Returns `None` if the findings do not name a
/// row.
pub fn first_row(trials: &[TrialFinding]) -> Option<&MissedRowRecord> {
    let named = trials.iter().flat_map(|trial| {
        let against = trial.data_against();
        let of_rows = against.rows.iter().flat_map(|found| &found.missed_rows);
        let of_reads = against.reads.iter().flat_map(|found| &found.missed_rows);
        of_rows.chain(of_reads).collect::<Vec<_>>()
    });
    named.min_by_key(|row| row.row)
}

/// Returns the affected trials, such as `, in 2 of 6 trials: “b” at 8 threads (blocks 1, 2)`.
/// Returns an empty string if the run has only one trial.
fn where_words(of: &[&TrialFinding], all: &[TrialFinding]) -> String {
    if all.len() < 2 {
        return String::new();
    }
    let has_blocks = all.iter().any(|trial| trial.block > 0);
    let names = names_of(of, has_blocks);
    format!(", in {} of {} trials: {names}", of.len(), all.len())
}

fn rows_sentence(read: &[&ReadBackRecord], where_words: &str) -> Option<String> {
    let first = read.first()?;
    let sum = |of: fn(&ReadBackRecord) -> u64| read.iter().map(|one| of(one)).sum::<u64>();
    let found = Counts {
        lost: sum(|one| one.lost),
        stale: sum(|one| one.stale),
        resurrected: sum(|one| one.resurrected),
        wrong: sum(|one| one.wrong),
        counters: sum(|one| one.too_low + one.too_high),
    };
    let named = read.iter().flat_map(|one| &one.missed_rows);
    let rows = named_rows(named, found.all());
    Some(format!(
        "{}: of {} rows that cassay read back, {}{rows}{where_words}. {}",
        found.title(),
        count(sum(|one| one.rows)),
        found.words(),
        promised(first)
    ))
}

/// Returns a sentence on the guarantee that the configuration gives for the lost data.
fn promised(record: &ReadBackRecord) -> String {
    let why = &record.why;
    match record.promise {
        PromiseKind::Kept if why.is_empty() => "This must not happen.".to_owned(),
        PromiseKind::Kept => format!("This must not happen: {why}."),
        PromiseKind::Unknown if why.is_empty() => {
            "cassay does not know whether the configuration allows this.".to_owned()
        }
        PromiseKind::Unknown => {
            format!("cassay does not know whether the configuration allows this: {why}.")
        }
        PromiseKind::None => format!(
            "No failure explains {} of these differences, which must not happen.",
            count(record.against())
        ),
    }
}

fn reads_sentence(reads: &[&VerifyRecord], where_words: &str) -> Option<String> {
    reads.first()?;
    let sum = |of: fn(&VerifyRecord) -> u64| reads.iter().map(|one| of(one)).sum::<u64>();
    let found = Counts {
        lost: sum(|one| one.missing),
        stale: sum(|one| one.stale),
        resurrected: sum(|one| one.resurrected),
        wrong: sum(|one| one.wrong),
        counters: 0,
    };
    let checked = sum(|one| one.checked);
    let rows = rows_read(reads.iter().flat_map(|one| &one.missed_rows));
    let is_all = if found.lost == checked {
        " No read found a row, so the server may not store rows."
    } else {
        ""
    };
    Some(format!(
        "{}: of {} reads that cassay compared, {}{rows}{where_words}.{is_all}",
        found.title(),
        count(checked),
        found.reads_words()
    ))
}

fn registers_sentence(found: &[&RegistersRecord], where_words: &str) -> Option<String> {
    found.first()?;
    let violated: u64 = found.iter().map(|one| one.violated).sum();
    let all: u64 = found.iter().map(|one| one.registers).sum();
    let violations = found.iter().flat_map(|one| &one.violations);
    let keys: Vec<u64> = violations.map(|one| one.key).collect();
    let keys = numbers(&keys, violated, "register");
    Some(format!(
        "Reads contradict each other: {} of {} registers were not linearizable{keys}{where_words}.",
        count(violated),
        count(all)
    ))
}

struct Counts {
    lost: u64,
    stale: u64,
    resurrected: u64,
    wrong: u64,
    counters: u64,
}

impl Counts {
    fn all(&self) -> u64 {
        self.lost + self.stale + self.resurrected + self.wrong + self.counters
    }

    fn title(&self) -> &'static str {
        if self.lost > 0 {
            "Data was lost"
        } else if self.wrong + self.counters > 0 {
            "Data is wrong"
        } else if self.resurrected > 0 {
            "Deleted data exists again"
        } else {
            "Reads do not return acknowledged writes"
        }
    }

    /// Lists the numbers of rows by kind of difference, such as `7 are lost, 3 have a wrong value`.
    fn words(&self) -> String {
        let each = [
            (self.lost, "is lost", "are lost"),
            (self.wrong, "has a wrong value", "have a wrong value"),
            (
                self.resurrected,
                "was deleted, but exists again",
                "were deleted, but exist again",
            ),
            (self.stale, "has an older value", "have an older value"),
            (self.counters, "is a wrong counter", "are wrong counters"),
        ];
        listed(&each)
    }

    /// Lists the numbers of reads by kind of difference, such as `7 found no row, 3 found a wrong
    /// value`.
    fn reads_words(&self) -> String {
        let each = [
            (self.lost, "found no row"),
            (self.wrong, "found a wrong value"),
            (self.resurrected, "found a row that was deleted"),
            (self.stale, "found an older value"),
        ];
        listed(&each.map(|(number, words)| (number, words, words)))
    }
}

fn listed(each: &[(u64, &str, &str)]) -> String {
    let there = each.iter().filter(|(number, ..)| *number > 0);
    let words = there.map(|(number, one, more)| {
        format!(
            "{} {}",
            count(*number),
            if *number == 1 { one } else { more }
        )
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Lists the first rows, such as ` (rows 3, 17, 20, 41, 56 and 2 more)`. Returns an empty string if
/// none of the rows has a number.
fn named_rows<'a>(named: impl Iterator<Item = &'a MissedRowRecord>, all: u64) -> String {
    let mut rows: Vec<u64> = named.map(|one| one.row).collect();
    rows.sort_unstable();
    rows.dedup();
    numbers(&rows, all, "row")
}

/// Lists examples of rows that reads did not find as written, such as ` (for example rows 3 and
/// 17)`. Several reads may read the same row, so the number of other rows is unknown.
fn rows_read<'a>(named: impl Iterator<Item = &'a MissedRowRecord>) -> String {
    let mut rows: Vec<u64> = named.map(|one| one.row).collect();
    rows.sort_unstable();
    rows.dedup();
    rows.truncate(ROWS_NAMED_MAX);
    let names: Vec<String> = rows.iter().map(u64::to_string).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => format!(" (for example row {one})"),
        several => format!(" (for example rows {})", measure::number::listed(several)),
    }
}

fn numbers(numbers: &[u64], all: u64, noun: &str) -> String {
    let first = &numbers[..numbers.len().min(ROWS_NAMED_MAX)];
    let more = all.saturating_sub(first.len() as u64);
    let list = first.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    match (first.len(), more) {
        (0, _) => String::new(),
        (1, 0) => format!(" ({noun} {list})"),
        (_, 0) => format!(" ({noun}s {list})"),
        (_, more) => format!(" ({noun}s {list} and {} more)", count(more)),
    }
}

#[cfg(test)]
mod tests;
