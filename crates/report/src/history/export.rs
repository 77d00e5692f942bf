//! Exports the series for Apache Otava (its `otava/importer.py` and `test_config.py`). The export
//! is a CSV file for each variant and point, and `otava.yaml` with a test for each file.
//!
//! The field `metrics` of a test is a mapping, because Otava assumes for a plain list of names that
//! higher is always better. A cell must contain a number, so the export omits runs without a value.

use super::{History, Line};
use crate::merged_points::place_key;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Returns the exported files by name. `folder` is the folder in which Otava will find the files.
pub fn otava(history: &History, folder: &str) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut tests = String::from("tests:\n");
    let mut rest = history.lines.as_slice();
    while let Some(first) = rest.first() {
        let is_same = |l: &&Line| l.variant == first.variant && l.point == first.point;
        let count = rest.iter().take_while(is_same).count();
        let (lines, others) = rest.split_at(count);
        rest = others;
        let name = format!(
            "{}.{}.{}",
            history.study,
            first.variant,
            place_key(first.point).replace(' ', "-")
        );
        let name = safe(&name);
        let file = format!("{name}.csv");
        let _ = write!(
            tests,
            "  {}:\n    type: csv\n    file: {}\n    time_column: time\n    attributes: [run, \
             cassay, cassandra]\n    metrics:\n",
            quoted(&name),
            quoted(&format!("{}/{file}", folder.trim_end_matches('/')))
        );
        for line in lines {
            let direction = if line.metric.higher_is_better { 1 } else { -1 };
            let key = line.metric.key;
            let _ = writeln!(
                tests,
                "      {key}: {{column: {key}, direction: {direction}}}"
            );
        }
        files.insert(file, csv(history, lines));
    }
    files.insert("otava.yaml".to_owned(), tests);
    files
}

/// Returns a CSV file with a row for each run in which every series has a value, in order of time.
fn csv(history: &History, lines: &[Line]) -> String {
    let metrics: Vec<&str> = lines.iter().map(|line| line.metric.key).collect();
    let mut out = format!("time,run,cassay,cassandra,{}\n", metrics.join(","));
    for (index, run) in history.runs.iter().enumerate() {
        let value = |line: &Line| line.values.iter().find(|(at, _)| *at == index).map(|v| v.1);
        let Some(values) = lines.iter().map(value).collect::<Option<Vec<f64>>>() else {
            continue;
        };
        let values: Vec<String> = values.iter().map(f64::to_string).collect();
        let _ = writeln!(
            out,
            "{},{},{},{},{}",
            time(&run.stamp),
            cell(&run.stamp),
            cell(&run.cassay),
            cell(&run.cassandra),
            values.join(",")
        );
    }
    out
}

/// Converts a stamp such as `20260820T101530Z` to `2026-08-20T10:15:30+00:00`.
fn time(stamp: &str) -> String {
    let part = |from: usize, to: usize| stamp.get(from..to).unwrap_or_default();
    format!(
        "{}-{}-{}T{}:{}:{}+00:00",
        part(0, 4),
        part(4, 6),
        part(6, 8),
        part(9, 11),
        part(11, 13),
        part(13, 15)
    )
}

fn cell(text: &str) -> String {
    let plain = |c: char| !c.is_control() && c != ',' && c != '"';
    text.chars().map(|c| if plain(c) { c } else { ' ' }).collect()
}

/// Replaces all characters of a name except ASCII letters, digits, `.`, `-` and `_` by `_`.
fn safe(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    name.chars().map(|c| if plain(c) { c } else { '_' }).collect()
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_a_time_in_utc() {
        assert_eq!(time("20260820T101530Z-2"), "2026-08-20T10:15:30+00:00");
        assert_eq!(cell("a,\"b\"\n"), "a  b  ");
        assert_eq!(safe("s.a/b.threads-1,024"), "s.a_b.threads-1_024");
    }
}
