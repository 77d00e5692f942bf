//! Rules for an existing table that is used unchanged. The table must be on an attached cluster,
//! and the study must not have keys that create or change it.

use super::rule_input::Subject;
use crate::settings::Draft;
use ::yaml::Diagnostics;

const TABLE: &str = "workload.table";

/// Keys that create, fill or change tables.
const MAKES: [&str; 6] = [
    "keyspace",
    "data.load",
    "data.present",
    "data.reset",
    "workload.params",
    "phases",
];

/// Applies the rules for an existing table.
pub fn check(subject: &Subject<'_>, out: &mut Diagnostics) {
    if !subject.wrote(TABLE) {
        if subject.wrote("workload.keys") {
            let message = "`workload.keys` selects keys of `workload.table`, which is missing";
            let hint = "add the key `table: keyspace.table`";
            subject.say("workload.keys", message.to_owned(), Some(hint), out);
        }
        return;
    }
    target(subject, out);
    names(subject, out);
    keys(subject, out);
    for path in MAKES.into_iter().filter(|path| subject.wrote(path)) {
        let message =
            format!("`{path}` does not apply to `{TABLE}`, because cassay only reads the table");
        subject.say(path, message, Some("remove it"), out);
    }
}

fn target(subject: &Subject<'_>, out: &mut Diagnostics) {
    if subject.has("target.attach") {
        return;
    }
    let message = if subject.has("target.null") {
        format!("`{TABLE}` is a table of a cluster, but the null target has no tables")
    } else {
        format!(
            "`{TABLE}` is an existing table, but a cluster that cassay starts has no tables yet"
        )
    };
    let hint = "attach to the table's cluster: `--target attach:HOST`; or imitate the table \
         elsewhere: `cassay workload twin`";
    subject.say(TABLE, message, Some(hint), out);
}

fn names(subject: &Subject<'_>, out: &mut Diagnostics) {
    let workload = Draft::from_tree(subject.tree).workload();
    let is_named = workload.table.is_some_and(|table| table.names().is_some());
    if subject.has(TABLE) && !is_named {
        let written = subject.text(TABLE).unwrap_or_default();
        let message = format!("`{TABLE}` is `{written}`, which is not keyspace.table");
        let hint = "write keyspace.table, such as shop.users; quote names with capital letters: \
                    '\"Shop\".\"Users\"'";
        subject.say(TABLE, message, Some(hint), out);
    }
}

fn keys(subject: &Subject<'_>, out: &mut Diagnostics) {
    let has_file = subject.wrote("workload.keys.file");
    if subject.wrote("workload.keys.columns") && !has_file {
        let path = "workload.keys.columns";
        let message =
            format!("`{path}` names columns of a CSV file, but the study names no CSV file");
        subject.say(path, message, Some("add `file: keys.csv`"), out);
    }
    for path in ["workload.keys.count", "workload.keys.rate"] {
        if has_file && subject.wrote(path) {
            let message =
                format!("`{path}` applies to keys from the ring, but the keys come from a file");
            subject.say(path, message, Some("remove it"), out);
        }
    }
}
