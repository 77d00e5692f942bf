//! Rules for recorded traffic. They check keys that the recording replaces, and requirements on the
//! target.

use super::Subject;
use crate::settings::Draft;
use yaml::Diagnostics;

/// Path of the key for the speed of the replay relative to the recording.
pub(super) const SPEED: &str = "workload.recorded.speed";

/// Reports keys that contradict a recording, a recording whose tables no step would create, and
/// files without a name.
pub(super) fn check(subject: &Subject<'_>, out: &mut Diagnostics) {
    if !subject.wrote("workload.recorded") {
        return;
    }
    for path in ["workload.mix", "workload.params", "data.load", "keyspace"] {
        if subject.wrote(path) {
            let message = format!(
                "`{path}` does not apply to recorded traffic, which determines this setting"
            );
            let hint = "remove this key; `workload.recorded.only` selects reads or writes, and \
                        `workload.recorded.schema` creates keyspace and tables";
            subject.say(path, message, Some(hint), out);
        }
    }
    for path in ["procedure", "window"] {
        if subject.wrote(SPEED) && subject.wrote(path) {
            let message = format!("`{path}` and `{SPEED}` both set the load and its duration");
            let hint = "remove one of the two keys: without `speed`, operations keep their \
                        recorded order and shares, at the rate of `procedure`";
            subject.say(path, message, Some(hint), out);
        }
    }
    let is_local = subject.tree.find("target.local").is_some();
    if is_local && !subject.wrote("workload.recorded.schema") {
        let message = "nodes that cassay starts have no tables for recorded traffic".to_owned();
        let hint = "add `schema: FILE` with the output of cqlsh's DESCRIBE KEYSPACE, or attach to \
             a cluster that has the tables";
        subject.say("workload.recorded", message, Some(hint), out);
    }
    let draft = Draft::from_tree(subject.tree);
    let recorded = draft.workload().recorded.unwrap_or_default();
    let mut names = recorded.files.iter().chain(&recorded.schema);
    if names.any(String::is_empty) {
        let message = "a file of recorded traffic has no name".to_owned();
        subject.say("workload.recorded.files", message, None, out);
    }
}
