//! What the machines of clients need, and what they say themselves.

use super::Subject;
use super::destination;
use yaml::{Diagnostics, Raw};

/// Where the machines stand.
const MACHINES: &str = "client.machines";

pub(super) fn check(subject: &Subject<'_>, out: &mut Diagnostics) {
    let Some(node) = subject.node.at(MACHINES) else {
        return;
    };
    let items = match &node.raw {
        Raw::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    for item in items {
        if let Some(entry) = item.entry("ssh") {
            let path = format!("{MACHINES}.ssh");
            let does = "sends what the target's access needs";
            destination::check(subject, (&path, &entry.value), does, out);
        }
    }
    if subject.wrote("client.cpus") {
        let message = format!("`client.cpus` does not say on which of `{MACHINES}`");
        let hint = "write `cpus` with the machine: machines: [{ssh: db1, cpus: [0, 1]}]";
        subject.say("client.cpus", message, Some(hint), out);
    }
    if subject.wrote("workload.recorded") {
        let message =
            format!("recorded traffic is offered by one client, and `{MACHINES}` asks for others");
        let hint = "leave it out: recorded files are read where cassay runs";
        subject.say(MACHINES, message, Some(hint), out);
    }
}
