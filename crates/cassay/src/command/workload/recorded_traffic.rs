//! `cassay workload recorded`: shows the content of query logs, and which part of the content can
//! be replayed.

use crate::args::{Common, RecordedArgs};
use crate::exit::Exit;
use crate::terminal;
use anyhow::{Result, anyhow};
use jiff::Timestamp;
use measure::number;
use query_log::{Choice, KindCount, LogRead, Recording, Why};
use serde_json::{Value, json};

/// Prints a summary of the recorded traffic.
pub fn run(args: &RecordedArgs, common: &Common) -> Result<Exit> {
    let named = args.files.iter().map(|path| (path.display().to_string(), path.clone()));
    let recording = query_log::read(&named.collect::<Vec<_>>(), Choice::default())
        .map_err(|error| anyhow!("{error}\nhint: {}", hint(&error)))?;
    if common.json {
        terminal::json(&to_json(&recording));
    } else {
        terminal::data(&text(&recording));
    }
    Ok(Exit::Done)
}

fn hint(error: &query_log::ReadError) -> &'static str {
    match error {
        query_log::ReadError::Nothing(nothing) if nothing.left_out.contains_key(&Why::NoValues) => {
            "record a full query log (`nodetool enablefullquerylog`), which contains values; an \
             audit log contains none"
        }
        query_log::ReadError::Nothing(_) => {
            "copy the log after `nodetool disablefullquerylog` or `disableauditlog`, so that its \
             files are complete"
        }
        _ => "name the folder that `nodetool enablefullquerylog --path` or `audit_logs_dir` sets",
    }
}

fn began(recording: &Recording) -> String {
    let ms = i64::try_from(recording.began_ms).ok();
    let at = ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.map_or_else(String::new, |at| format!("{at:.3}"))
}

/// Describes the largest number of operations in one second. Empty for a recording shorter than one
/// second, because its average per second would be larger than this number.
fn peak(seconds: f64, peak_per_s: u64) -> String {
    if seconds < 1.0 {
        return String::new();
    }
    format!(", at most {} in one second", number::count(peak_per_s))
}

fn text(recording: &Recording) -> String {
    let peak = peak(recording.seconds(), recording.peak_per_s());
    let mut text = format!(
        "{} in {} from {}: {} op/s on average{peak}; {}\n",
        number::counted(recording.operations(), "operation"),
        number::about_duration(recording.seconds()),
        began(recording),
        number::significant(recording.ops_per_s(), 4),
        number::counted(recording.statements(), "different statement"),
    );
    text += &terminal::table(&kinds(recording), &[false, true, true, true]);
    let of = |(name, count): (String, u64)| format!("{name} {}", number::count(count));
    let keyspaces = recording.keyspaces.iter().map(|(name, count)| (name.clone(), *count));
    text += &format!(
        "keyspaces: {}\n",
        keyspaces.map(of).collect::<Vec<_>>().join(", ")
    );
    let mut levels: Vec<String> = recording
        .levels
        .iter()
        .map(|(level, count)| of((level.to_string(), *count)))
        .collect();
    if recording.without_level > 0 {
        levels.push(of(("not in the log".to_owned(), recording.without_level)));
    }
    text += &format!("consistency: {}\n", levels.join(", "));
    for (why, count) in &recording.left_out {
        text += &format!("{}\n", query_log::left_out(*why, *count));
    }
    for log in &recording.logs {
        let files = number::counted(log.files as u64, "file");
        let records = number::counted(log.records, "record");
        text += &format!("{}: {files}, {records}\n", log.name);
        for note in &log.notes {
            text += &format!("  {note}\n");
        }
    }
    text
}

fn kinds(recording: &Recording) -> Vec<Vec<String>> {
    let all = recording.operations() as f64;
    let row = |kind: &KindCount| {
        vec![
            kind.name.clone(),
            number::count(kind.operations),
            format!("{:.2} %", kind.operations as f64 / all * 100.0),
            number::counted(kind.statements, "statement"),
        ]
    };
    recording.kinds.iter().map(row).collect()
}

fn to_json(recording: &Recording) -> Value {
    let kind = |kind: &KindCount| {
        json!({
            "name": kind.name,
            "is_write": kind.is_write,
            "operations": kind.operations,
            "share": kind.operations as f64 / recording.operations() as f64,
            "statements": kind.statements,
        })
    };
    let left = |(why, count): (&Why, &u64)| {
        json!({
            "why": why.name(),
            "operations": count,
            "words": why.words(),
        })
    };
    let log = |log: &LogRead| {
        json!({
            "name": log.name,
            "files": log.files,
            "records": log.records,
            "notes": log.notes,
        })
    };
    let levels = recording.levels.iter().map(|(level, count)| (level.to_string(), json!(count)));
    let keyspaces = recording.keyspaces.iter().map(|(name, count)| (name.clone(), json!(count)));
    json!({
        "began": began(recording),
        "seconds": recording.seconds(),
        "operations": recording.operations(),
        "ops_per_s": recording.ops_per_s(),
        "peak_ops_per_s": recording.peak_per_s(),
        "statements": recording.statements(),
        "kinds": recording.kinds.iter().map(kind).collect::<Vec<_>>(),
        "keyspaces": keyspaces.collect::<serde_json::Map<_, _>>(),
        "consistency": levels.collect::<serde_json::Map<_, _>>(),
        "without_consistency": recording.without_level,
        "left_out": recording.left_out.iter().map(left).collect::<Vec<_>>(),
        "logs": recording.logs.iter().map(log).collect::<Vec<_>>(),
        "digest": recording.digest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An earlier version showed an average of 149 op/s for a recording of half a second, and a
    /// maximum of 73 operations in one second.
    #[test]
    fn a_recording_under_a_second_has_no_largest_second() {
        assert_eq!(peak(0.49, 73), "");
        assert_eq!(peak(60.0, 1_400), ", at most 1,400 in one second");
    }
}
