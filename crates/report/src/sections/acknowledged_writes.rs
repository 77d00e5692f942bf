//! Shows the results of the checks of acknowledged writes. One check reads all rows back. The other
//! check examines the linearizability of operations on registers.

use crate::merged_points::trial_table;
use crate::number;
use crate::page::{Block, Cell, Table, Tone};
use crate::run_view::RunView;
use store::record::{PromiseKind, ReadBackRecord, RegistersRecord, TrialFinding};

const NAMED_MAX: usize = 3;

pub(super) fn blocks(view: &RunView) -> Vec<Block> {
    let trials = &view.findings.trials;
    let mut blocks = Vec::new();
    if trials.iter().any(|trial| trial.read_back.is_some()) {
        blocks.extend(sentences(trials, |t| t.read_back.as_ref().map(read_back)));
        blocks.push(Block::Table(read_back_table(view)));
    }
    if trials.iter().any(|trial| trial.registers.is_some()) {
        blocks.extend(sentences(trials, |t| t.registers.as_ref().map(registers)));
        blocks.push(Block::Table(registers_table(view)));
    }
    blocks
}

/// Returns the distinct descriptions of the trials, in order of their first trial. Unless one
/// description applies to all trials, each begins with the numbers of its trials.
fn sentences(
    trials: &[TrialFinding],
    of: impl Fn(&TrialFinding) -> Option<String>,
) -> impl Iterator<Item = Block> {
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    for trial in trials {
        let Some(words) = of(trial) else { continue };
        let number = trial.index.to_string();
        match said.iter_mut().find(|(known, _)| *known == words) {
            Some((_, numbers)) => numbers.push(number),
            None => said.push((words, vec![number])),
        }
    }
    let all = trials.len();
    said.into_iter().map(move |(words, numbers)| {
        Block::Text(if numbers.len() == all {
            words
        } else {
            format!("Trial {}: {words}", numbers.join(", "))
        })
    })
}

fn read_back(record: &ReadBackRecord) -> String {
    let missed = record.missed();
    let of = format!(
        "cassay read back {} rows at {}, after writes at {} with {} {}",
        number::count(record.rows),
        record.read_at,
        record.written_at,
        number::count(record.copies),
        if record.copies == 1 { "copy" } else { "copies" }
    );
    let never = record.wrong + record.too_high;
    let mut words = match missed + never {
        0 if record.unread + record.unjudged == 0 => {
            format!("{of}: no acknowledged write is lost.")
        }
        0 => format!("{of}: no row that cassay could judge has lost an acknowledged write."),
        _ => format!("{of}: {}.", counts(record)),
    };
    if missed > 0 {
        words += &match record.unexplained {
            0 => allowed(record.promise, &record.why),
            unexplained => unallowed(record, unexplained),
        };
        words += &record.oldest_lost_s.map_or_else(String::new, |at_s| {
            format!(
                " The server acknowledged the oldest lost write by second {} of the trial.",
                number::small(at_s)
            )
        });
    }
    words += &examples(record);
    if record.unread > 0 {
        let unread = number::count(record.unread);
        words += &format!(" cassay could not read {unread} rows, so their state is unknown.");
    }
    if record.unjudged > 0 {
        let unjudged = number::count(record.unjudged);
        words += &format!(
            " cassay could not judge {unjudged} rows, because it did not record their writes."
        );
    }
    words
}

/// Returns a sentence with the first affected rows, or an empty string if no row is affected. For
/// each row, the sentence states its number, its defect and the time of the acknowledgement.
fn examples(record: &ReadBackRecord) -> String {
    let first = record.missed_rows.iter().take(NAMED_MAX);
    let words = first.map(|one| {
        let acknowledged = one
            .acknowledged_s
            .map(|at_s| format!(", acknowledged by second {}", number::small(at_s)));
        format!(
            "{} ({}{})",
            one.row,
            one.missed,
            acknowledged.unwrap_or_default()
        )
    });
    match words.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => none,
        words => format!(" Affected rows: {words}."),
    }
}

fn counts(record: &ReadBackRecord) -> String {
    let counts = [
        (
            record.lost,
            "are missing, although the server acknowledged a write to them",
        ),
        (
            record.stale,
            "have an older value than the acknowledged value",
        ),
        (record.resurrected, "were deleted, but exist again"),
        (
            record.too_low,
            "are counters below the sum of the additions",
        ),
        (
            record.too_high,
            "are counters above the sum of all additions",
        ),
        (record.wrong, "have a value that no client wrote"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let words = counts.map(|(count, what)| format!("{} {what}", number::count(*count)));
    words.collect::<Vec<_>>().join(", ")
}

/// Returns sentences on the number of affected rows whose loss the configuration allows. The
/// configuration does not allow the loss of `unexplained` rows, because no fault followed the
/// acknowledgement of their writes soon enough.
fn unallowed(record: &ReadBackRecord, unexplained: u64) -> String {
    let within_s = record.lost_within_s.unwrap_or_default();
    format!(
        " The configuration allows the loss of {} of these rows: {}. It does not allow the loss of \
         {}, because the server did not acknowledge their writes within {} of a failure.",
        number::count(record.missed().saturating_sub(unexplained)),
        record.why,
        number::count(unexplained),
        number::duration(within_s)
    )
}

fn allowed(promise: PromiseKind, why: &str) -> String {
    match promise {
        PromiseKind::None => format!(" The configuration allows this loss: {why}."),
        PromiseKind::Kept => format!(" This must not happen: {why}."),
        PromiseKind::Unknown => {
            format!(" cassay does not know whether the configuration allows this: {why}.")
        }
    }
}

fn read_back_table(view: &RunView) -> Table {
    type Count = fn(&ReadBackRecord) -> u64;
    let all: [(&str, Count, Tone); 12] = [
        ("As acknowledged", |r| r.right, Tone::Plain),
        ("Deleted", |r| r.deleted, Tone::Plain),
        ("Unconfirmed", |r| r.unconfirmed, Tone::Plain),
        ("Never written", |r| r.never_written, Tone::Plain),
        ("Lost", |r| r.lost, Tone::Bad),
        ("Stale", |r| r.stale, Tone::Bad),
        ("Resurrected", |r| r.resurrected, Tone::Bad),
        ("Wrong", |r| r.wrong, Tone::Bad),
        ("Too low", |r| r.too_low, Tone::Bad),
        ("Too high", |r| r.too_high, Tone::Bad),
        ("Unread", |r| r.unread, Tone::Bad),
        ("Not judged", |r| r.unjudged, Tone::Bad),
    ];
    let records = || view.findings.trials.iter().filter_map(|t| t.read_back.as_ref());
    let always = ["As acknowledged", "Lost", "Stale", "Wrong"];
    let shown: Vec<_> = all
        .iter()
        .filter(|(name, count, _)| always.contains(name) || records().any(|r| count(r) > 0))
        .collect();
    let trials = view.findings.trials.iter();
    let read = trials.filter_map(|trial| Some((trial, trial.read_back.as_ref()?)));
    trial_table(view, "State of acknowledged writes", read)
        .number("Writes", "acknowledged", |(_, record)| {
            number::count(record.writes_acknowledged)
        })
        .number("Unknown", "outcome", |(_, record)| {
            number::count(record.writes_unknown)
        })
        .number("Rows", "", |(_, record)| number::count(record.rows))
        .each(shown, |table, (name, count, tone)| {
            table.number(name, "", |(_, record)| {
                Cell::zero_expected(count(record), *tone)
            })
        })
        .foot(
            "Every row counts in exactly one column after the column “Rows”. Unconfirmed: the row \
             exists, but the server acknowledged none of its writes. Never written: the row does \
             not exist, and the server acknowledged no write. After a write of unknown outcome, \
             both the value and its absence are correct.",
        )
        .build()
}

fn registers(record: &RegistersRecord) -> String {
    let count = number::count;
    let mut words = format!(
        "cassay checked {} operations on {} registers for linearizability, {} of them with unknown \
         outcome: ",
        count(record.operations),
        count(record.registers),
        count(record.unknown)
    );
    words += &match record.violated {
        0 if record.undecided == 0 => "every register was linearizable.".to_owned(),
        0 => "no register is known to violate linearizability.".to_owned(),
        violated => format!(
            "{} violated linearizability.{}",
            count(violated),
            allowed(record.promise, &record.why)
        ),
    };
    if record.undecided > 0 {
        words += &format!(
            " cassay could not decide {} within {} states each.",
            count(record.undecided),
            count(record.states_max)
        );
    }
    if record.beyond > 0 {
        words += &format!(
            " The histories lack {} operations, because these exceed the limit of a history.",
            count(record.beyond)
        );
    }
    words
}

fn registers_table(view: &RunView) -> Table {
    let trials = view.findings.trials.iter();
    let checked = trials.filter_map(|trial| Some((trial, trial.registers.as_ref()?)));
    let method = view.findings.trials.iter().find_map(|t| t.registers.as_ref());
    let foot = method.map(|record| {
        format!(
            "Method: {}. The operations are in `history.ndjson` of the trial.",
            record.method
        )
    });
    trial_table(view, "Registers", checked)
        .number("Registers", "", |(_, record)| {
            number::count(record.registers)
        })
        .number("Operations", "", |(_, record)| {
            number::count(record.operations)
        })
        .number("Unknown", "", |(_, record)| number::count(record.unknown))
        .number("Linearizable", "", |(_, record)| {
            number::count(record.linearizable)
        })
        .number("Violated", "", |(_, record)| {
            Cell::zero_expected(record.violated, Tone::Bad)
        })
        .number("Undecided", "", |(_, record)| {
            number::count(record.undecided)
        })
        .wide_text("First violation", |(_, record)| {
            let first = record.violations.first().map(|violation| {
                let numbers: Vec<String> =
                    violation.operations.iter().map(u64::to_string).collect();
                format!("key {}: operation {}", violation.key, numbers.join(" or "))
            });
            first.unwrap_or_default()
        })
        .foot(foot.unwrap_or_default())
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::WriteMismatch;
    use store::record::MissedRowRecord;

    fn record() -> ReadBackRecord {
        ReadBackRecord {
            read_at: "ALL".to_owned(),
            written_at: "ONE".to_owned(),
            copies: 3,
            promise: PromiseKind::Kept,
            why: "they meet".to_owned(),
            rows: 1000,
            right: 1000,
            ..ReadBackRecord::default()
        }
    }

    #[test]
    fn a_loss_is_said_with_whether_it_was_allowed() {
        let of = "cassay read back 1,000 rows at ALL, after writes at ONE with 3 copies";
        assert_eq!(
            read_back(&record()),
            format!("{of}: no acknowledged write is lost.")
        );
        let mut lost = record();
        (lost.right, lost.lost, lost.stale) = (990, 7, 3);
        let counts = "7 are missing, although the server acknowledged a write to them, 3 have an \
             older value than the acknowledged value";
        assert_eq!(
            read_back(&lost),
            format!("{of}: {counts}. This must not happen: they meet.")
        );
        (lost.promise, lost.why) = (PromiseKind::None, "power was lost".to_owned());
        assert_eq!(
            read_back(&lost),
            format!("{of}: {counts}. The configuration allows this loss: power was lost.")
        );
        (lost.lost_within_s, lost.unexplained) = (Some(15.0), 4);
        lost.oldest_lost_s = Some(31.5);
        let row = |row, missed: WriteMismatch, acknowledged_s| MissedRowRecord {
            row,
            missed,
            acknowledged_s,
            ..MissedRowRecord::default()
        };
        lost.missed_rows = vec![
            row(12, WriteMismatch::Lost, Some(31.5)),
            row(7, WriteMismatch::Stale, None),
        ];
        assert_eq!(
            read_back(&lost),
            format!(
                "{of}: {counts}. The configuration allows the loss of 6 of these rows: power was \
                 lost. It does not allow the loss of 4, because the server did not acknowledge \
                 their writes within 15.0 s of a failure. The server acknowledged the oldest \
                 lost write by second 31.5 of the trial. Affected rows: 12 (lost, acknowledged \
                 by second 31.5), 7 (stale)."
            )
        );
    }

    #[test]
    fn undecided_registers_are_reported() {
        let mut record = RegistersRecord {
            registers: 4,
            operations: 80,
            unknown: 2,
            linearizable: 4,
            states_max: 5000,
            ..RegistersRecord::default()
        };
        let of = "cassay checked 80 operations on 4 registers for linearizability, 2 of them with \
             unknown outcome:";
        assert_eq!(
            registers(&record),
            format!("{of} every register was linearizable.")
        );
        (record.linearizable, record.undecided) = (3, 1);
        assert_eq!(
            registers(&record),
            format!(
                "{of} no register is known to violate linearizability. cassay could not decide 1 \
                 within 5,000 states each."
            )
        );
    }
}
