//! Rules for the section `repeat`. They check the number of blocks, keys that exclude each other,
//! and that added blocks can answer the question.

use super::rule_input::Subject;
use crate::checked_tree::Tree;
use crate::screening;
use ::yaml::{Diagnostics, Node};

/// Checks the number of blocks, the primary comparison, and `without_faults`. If blocks are added
/// until the question is answered, also checks that blocks can answer the question.
pub(super) fn check(subject: &Subject<'_>, out: &mut Diagnostics) {
    if subject.text("repeat.until") == Some("answered") {
        numbers(subject, out);
        answerable(subject, out);
    } else {
        without(subject, out)
    }
    if subject.wrote("repeat.primary") && subject.wrote("primary.metric") {
        let message = "`repeat.primary` and `primary.metric` both set the metric";
        let hint = Some("remove one of them");
        subject.say("repeat.primary", message.to_owned(), hint, out);
    }
    if subject.tree.find("repeat.without_faults") == Some(&Tree::Bool(true)) {
        without_faults(subject, out);
    }
}

/// Checks `without_faults`. The two trials of a pair must be in the same block, at a point that is
/// known in advance. A screening cannot have such pairs.
fn without_faults(subject: &Subject<'_>, out: &mut Diagnostics) {
    let path = "repeat.without_faults";
    if subject.text("repeat.order") == Some("sequential") {
        let message = format!(
            "`{path}` compares trials of the same block, but `order: sequential` measures one \
             variant after the other"
        );
        let hint = Some("remove `order: sequential`");
        subject.say("repeat.order", message, hint, out);
    }
    let keys = subject.node.find("procedure").and_then(Node::entries);
    let mut names = keys.into_iter().flatten().map(|entry| entry.key.as_str());
    let other = names.find(|name| !matches!(*name, "fixed" | "sweep" | "arrival" | "scale_up"));
    if let Some(other) = other {
        let message = format!(
            "`{path}` compares trials at the same point, but `procedure.{other}` chooses points \
             and windows during the run"
        );
        let hint = Some("use `fixed` or `sweep`");
        subject.say(path, message, hint, out);
    }
    if subject.wrote(screening::PATH) {
        let message = format!("`{path}` and a screening exclude each other");
        let hint = Some(
            "remove `repeat.without_faults`, and use it in a later study of the settings that the \
             screening selects",
        );
        subject.say(path, message, hint, out);
    }
}

fn numbers(subject: &Subject<'_>, out: &mut Diagnostics) {
    if subject.wrote("repeat.blocks") {
        let message =
            "`repeat.blocks` is a fixed number of blocks, but `until: answered` adds blocks";
        let hint = Some("write `min` and `max` instead");
        subject.say("repeat.blocks", message.to_owned(), hint, out);
    }
    let ends = (subject.count("repeat.min"), subject.count("repeat.max"));
    if let (Some(min), Some(max)) = ends
        && min > max
    {
        let message = format!("`repeat.min` is {min}, above `repeat.max` ({max})");
        subject.say("repeat.min", message, None, out);
    }
}

/// Checks that the study has a comparison that blocks can answer. The study must have several
/// variants that take turns in each block. An endurance run only compares windows of one variant.
fn answerable(subject: &Subject<'_>, out: &mut Diagnostics) {
    let path = "repeat.until";
    let sides = subject.node.find("variants").and_then(Node::entries);
    if !subject.wrote("matrix") && sides.is_none_or(|sides| sides.len() < 2) {
        let message = "`until: answered` waits for the answer of a comparison, but the study has \
                       only one variant";
        let hint = "add `variants`, or write `blocks` instead";
        subject.say(path, message.to_owned(), Some(hint), out);
    }
    if subject.text("repeat.order") == Some("sequential") {
        let message = "`until: answered` compares block by block, but `order: sequential` \
                       measures one variant after the other";
        let hint = Some("remove `order: sequential`");
        subject.say("repeat.order", message.to_owned(), hint, out);
    }
    let keys = subject.node.find("procedure").and_then(Node::entries);
    let names = keys.into_iter().flatten().map(|entry| entry.key.as_str());
    let hours = names.into_iter().find(|name| *name == "endurance");
    if let Some(hours) = hours {
        let message = format!(
            "`until: answered` compares variants, but `procedure.{hours}` compares windows of one \
             variant"
        );
        let hint = "write `blocks` instead";
        subject.say(path, message, Some(hint), out);
    }
}

fn without(subject: &Subject<'_>, out: &mut Diagnostics) {
    for path in ["repeat.min", "repeat.max"] {
        if subject.wrote(path) {
            let message = format!("`{path}` has no effect without `until: answered`");
            let hint = "add `until: answered`, or write `blocks` instead";
            subject.say(path, message, Some(hint), out);
        }
    }
}
