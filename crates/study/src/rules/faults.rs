//! Faults: what they break must be there and ours, and they end within the measured window.

use super::{Subject, hosts};
use crate::human;
use crate::tree::Tree;
use ::yaml::{Diagnostics, Node, Raw};

/// Applies the rules.
pub fn check(subject: &Subject<'_>, out: &mut Diagnostics) {
    let Some(node) = subject.node.at("faults") else {
        return;
    };
    // In front of a study for nodes of ours, the null target leaves them out, and says so.
    if subject.has("target.null") && subject.target_replaced {
        return;
    }
    if (subject.has("target.null") || subject.has("target.attach")) && !subject.has("target.local")
    {
        let message = "`faults` break nodes of our own, and this target has none".to_owned();
        let hint = "use `target: {local: …}`, or remove them";
        subject.say("faults", message, Some(hint), out);
    }
    let trees = subject.tree.at("faults").map(Tree::items);
    let items = match &node.raw {
        Raw::List(items) => items.as_slice(),
        _ => return,
    };
    let all: Vec<Broken> = items
        .iter()
        .zip(trees.unwrap_or_default())
        .map(|(node, tree)| Broken::of(node, tree))
        .collect();
    for (index, fault) in all.iter().enumerate() {
        there(subject, fault, out);
        within_window(subject, fault, out);
        alone(fault, &all[..index], out);
    }
}

/// One item, as far as it has no mistakes.
struct Broken<'a> {
    node: &'a Node,
    number: Option<u64>,
    at_ns: Option<u64>,
    for_ns: Option<u64>,
}

impl<'a> Broken<'a> {
    fn of(node: &'a Node, tree: &Tree) -> Broken<'a> {
        let ns = |key: &str| tree.get(key).and_then(Tree::duration_ns);
        Broken {
            node,
            number: tree.at("where.node").and_then(Tree::count),
            at_ns: ns("at"),
            for_ns: ns("for"),
        }
    }

    fn end_ns(&self) -> Option<u64> {
        Some(self.at_ns?.saturating_add(self.for_ns?))
    }

    fn say(&self, path: &str, message: String, hint: Option<&str>, out: &mut Diagnostics) {
        let place = &self.node.nearest(path).place;
        out.add(place, message, hint.map(str::to_owned));
    }
}

fn there(subject: &Subject<'_>, fault: &Broken<'_>, out: &mut Diagnostics) {
    if let (Some(number), Some(nodes)) = (fault.number, hosts::nodes_count(subject))
        && number > nodes
    {
        let message =
            format!("`faults.where.node` is {number}, but the target has {nodes} node(s)");
        fault.say("where.node", message, Some("they are counted from 1"), out);
    }
}

fn within_window(subject: &Subject<'_>, fault: &Broken<'_>, out: &mut Diagnostics) {
    let window = "window.measure";
    let window_ns = subject.tree.at(window).and_then(Tree::duration_ns);
    if let (Some(end_ns), Some(window_ns)) = (fault.end_ns(), window_ns)
        && end_ns > window_ns
    {
        let message = format!(
            "`at` and `for` of this fault end at {}, and `{window}` is {}",
            human::format_duration_ns(end_ns),
            human::format_duration_ns(window_ns)
        );
        let hint = "lengthen the window, so that the recovery is in it too";
        fault.say("for", message, Some(hint), out);
    }
}

/// Who is broken already cannot be seen to break.
fn alone(fault: &Broken<'_>, before: &[Broken<'_>], out: &mut Diagnostics) {
    let overlaps = |other: &&Broken<'_>| {
        let is_other = fault.number.is_none() || other.number != fault.number;
        !is_other && fault.at_ns < other.end_ns() && other.at_ns < fault.end_ns()
    };
    if let Some(number) = before.iter().find(overlaps).and(fault.number) {
        let message = format!("node {number} has another fault at that time");
        fault.say("at", message, Some("let one end before the other"), out);
    }
}
