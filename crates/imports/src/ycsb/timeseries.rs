//! Refuses YCSB's TimeSeriesWorkload. For each requested operation, the refusal states the result
//! of the operation in the tool.
//!
//! The workload passes data to a database in the names of fields. The tags and the time of a point
//! are fields of a write, and conditions such as `YCSBTS=1483228800` are the fields of a read.
//! Bindings for time-series databases parse these names. The Cassandra binding instead treats each
//! name as a column, and `y_id` as the whole key. A step can therefore not work here as in the
//! tool, and a table with other statements would be another workload under the same name.

use super::properties::Properties;

/// The operations of the workload. Each element contains the property of an operation and the
/// result of the operation in the tool.
const OPERATIONS: [(&str, &str); 4] = [
    (
        "insertproportion",
        "`y_id` is the full primary key of its table, so each point of a key replaces the previous \
         point, and the table contains no time series",
    ),
    (
        "readproportion",
        "a read uses columns with names such as `AAAAAAAA=AAAAAAAB` and `YCSBTS=1483228800`, \
         which no table has: each read fails",
    ),
    (
        "updateproportion",
        "an update replaces tags, time and value of the row of its key, not a point of a series",
    ),
    (
        "deleteproportion",
        "a delete removes the row of a `y_id` like \
         `AAAAAAAA:AAAAAAAA=AAAAAAAB:YCSBTS=1483228800`, which no operation wrote",
    ),
];

const SCAN: &str = "a scan uses tags, times, group-by and downsampling as column names, which no \
                    table has: each scan fails";

/// Reports the reason why the workload cannot run, and the result that each requested operation
/// would have in the tool.
pub(super) fn refuse(properties: &mut Properties) {
    let message = "YCSB's TimeSeriesWorkload is for time-series databases: its Cassandra binding \
         interprets tags, times and conditions as column names, and cannot run it";
    let hint = "`use: cql-timeseries` in a study defines series of machines and sensors; for any \
                other table of points, write a workload file: docs/workload-file.md";
    properties.wrong("workload", message.to_owned(), Some(hint.to_owned()));
    for name in properties.names_with("proportion") {
        let share = properties.text(&name).and_then(|text| text.parse().ok());
        if share == Some(0.0) {
            continue;
        }
        let operation = OPERATIONS.iter().find(|(known, _)| *known == name);
        let numbered = name.strip_prefix("scan").and_then(|n| n.strip_suffix("proportion"));
        let is_scan = numbered.is_some_and(|n| n.bytes().all(|digit| digit.is_ascii_digit()));
        let why = match operation {
            Some((_, why)) => why,
            None if is_scan => SCAN,
            // The name is not an operation of the workload, so the tool itself refuses it.
            None => continue,
        };
        properties.wrong(&name, format!("{name}: {why}"), None);
    }
}
