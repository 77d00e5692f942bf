//! Rules for clients on other machines and in pods. They check the keys that these clients need,
//! and keys that exclude each other.

use super::Subject;
use super::destination;
use super::harmless::{HINT, is_own_word};
use super::kubernetes;
use crate::checked_tree::Tree;
use yaml::{Diagnostics, Raw};

const MACHINES: &str = "client.machines";

const PODS: &str = "client.kubernetes";

pub(super) fn check(subject: &Subject<'_>, out: &mut Diagnostics) {
    split(subject, out);
    pods(subject, out);
    let Some(node) = subject.node.find(MACHINES) else {
        return;
    };
    let items = match &node.raw {
        Raw::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    // If the user trusts the file, the machines in the file are trusted too.
    let is_named = is_own_word(subject.overrides, node);
    for item in items {
        if let Some(entry) = item.entry("ssh") {
            let path = format!("{MACHINES}.ssh");
            let does = "sends the target's credentials to that machine";
            let is_trusted = is_named && is_own_word(subject.overrides, &entry.value);
            destination::check(is_trusted, (&path, &entry.value), does, out);
        }
    }
    if subject.wrote("client.cpus") {
        let message = format!("`client.cpus` does not name one of `{MACHINES}`");
        let hint = "set `cpus` for each machine: `machines: [{ssh: db1, cpus: [0, 1]}]`";
        subject.say("client.cpus", message, Some(hint), out);
    }
}

/// Checks clients in pods. The pods require trust and valid names, and other keys must not set
/// their workers and CPUs.
fn pods(subject: &Subject<'_>, out: &mut Diagnostics) {
    let Some(node) = subject.node.find(PODS) else {
        return;
    };
    if !is_own_word(subject.overrides, node) {
        let message = format!(
            "`{PODS}` runs this program in pods of a cluster as your user, and sends the target's \
             credentials to them"
        );
        out.add(&node.place, message, Some(HINT.to_owned()));
    }
    for other in ["client.workers", "client.cpus"] {
        if subject.wrote(other) {
            let message = format!("you cannot combine `{other}` with `{PODS}`");
            let hint = format!(
                "remove one of the two keys; `{PODS}.cpus` sets the workers of each \
                                pod"
            );
            subject.say(other, message, Some(&hint), out);
        }
    }
    kubernetes::names(subject, PODS, &["image"], out);
}

/// Checks that a study with `client.split: range` has an import and machines, and that it states
/// the workers of every machine. The parts of the range are proportional to the numbers of workers.
fn split(subject: &Subject<'_>, out: &mut Diagnostics) {
    const SPLIT: &str = "client.split";
    if subject.text(SPLIT) != Some("range") {
        return;
    }
    let mut tools = imports::Tool::ALL.into_iter();
    let is_import = tools.any(|tool| subject.wrote(&format!("workload.{}", tool.name())));
    if !is_import {
        let message = format!(
            "`{SPLIT}: range` divides the range of an imported command, but the workload is not \
             imported"
        );
        let hint = "remove this key: with other workloads, all clients always share one sequence \
                    of operations";
        subject.say(SPLIT, message, Some(hint), out);
        return;
    }
    let Some(machines) = subject.tree.find(MACHINES) else {
        let message = format!("`{SPLIT}: range` needs `{MACHINES}`");
        let hint = "machines: [{ssh: load1, workers: 4}, {ssh: load2, workers: 4}]";
        subject.say(SPLIT, message, Some(hint), out);
        return;
    };
    let says = |machine: &Tree| machine.get("workers").is_some();
    let all_say = machines.items().iter().all(says);
    if !all_say && subject.count("client.workers").is_none() {
        let message = format!(
            "`{SPLIT}: range` needs the number of workers on every machine, because this number \
             determines the machine's part of the range"
        );
        let hint = "set `workers: 4` for each of `client.machines`, or once as `client.workers`";
        subject.say(SPLIT, message, Some(hint), out);
    }
}
