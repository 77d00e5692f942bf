//! Checks the parts of a study that are partial studies: variants, axes of a matrix, phases,
//! scales. This module checks only the form of these parts. Their keys and values are checked when
//! they are merged into the study.

use super::{any, join, name};
use crate::checked_tree::Tree;
use crate::format;
use yaml::{Diagnostics, Node, Place, Raw, did_you_mean};

pub(super) fn variants(node: &Node, path: &str, diagnostics: &mut Diagnostics) -> Tree {
    for entry in named_entries(node, path, diagnostics) {
        partial(
            &format!("variant `{}`", entry.key),
            &entry.value,
            diagnostics,
        );
    }
    Tree::Null
}

/// Checks that a partial study changes only sections that a variant may change. The keys of these
/// sections are checked when they are merged into the study.
fn partial(what: &str, node: &Node, diagnostics: &mut Diagnostics) {
    if !matches!(node.raw, Raw::Map(_) | Raw::Null) {
        let message = format!(
            "{what} is {}; it must be a mapping of settings",
            node.describe()
        );
        diagnostics.add(&node.place, message, None);
        return;
    }
    for section in node.entries().unwrap_or_default() {
        if !format::VARIANT_SECTIONS.contains(&section.key.as_str()) {
            variant_section(&section.key, &section.place, diagnostics);
        }
    }
}

pub(super) fn matrix(node: &Node, path: &str, diagnostics: &mut Diagnostics) -> Tree {
    for axis in named_entries(node, path, diagnostics) {
        let path = join(path, &axis.key);
        let values = named_entries(&axis.value, &path, diagnostics);
        if values.is_empty() && axis.value.entries().is_some() {
            let message = format!("axis `{}` has no values", axis.key);
            let hint = Some("add at least one value".to_owned());
            diagnostics.add(&axis.value.place, message, hint);
        }
        for value in values {
            let what = format!("`{}` of axis `{}`", value.key, axis.key);
            partial(&what, &value.value, diagnostics);
        }
    }
    Tree::Null
}

/// Checks the keys that a phase sets. The values are checked when they are merged into the study.
pub(super) fn phase(node: &Node, path: &str, diagnostics: &mut Diagnostics) -> Tree {
    if !matches!(node.raw, Raw::Map(_) | Raw::Null) {
        let what = node.describe();
        let message = format!("`{path}` is {what}; it must be a mapping of settings");
        diagnostics.add(&node.place, message, None);
        return Tree::Null;
    }
    phase_keys(node, path, "", diagnostics);
    any(node)
}

/// Refuses keys that do not lead to a path of [`format::PHASE_PATHS`].
fn phase_keys(node: &Node, phase: &str, path: &str, diagnostics: &mut Diagnostics) {
    for entry in node.entries().unwrap_or_default() {
        let whole = join(path, &entry.key);
        if format::PHASE_PATHS.contains(&whole.as_str()) {
            continue;
        }
        let below = format!("{whole}.");
        if format::PHASE_PATHS.iter().any(|known| known.starts_with(&below)) {
            phase_keys(&entry.value, phase, &whole, diagnostics);
            continue;
        }
        let message = format!("`{phase}` cannot change `{whole}`");
        let hint = format!("a phase may change {}", format::PHASE_PATHS.join(", "));
        diagnostics.add(&entry.place, message, Some(hint));
    }
}

fn variant_section(key: &str, place: &Place, diagnostics: &mut Diagnostics) {
    let message = format!("a variant cannot change `{key}`");
    let mut elsewhere = format::ELSEWHERE.iter().filter(|(name, _)| *name == key);
    let hint = match elsewhere.next() {
        Some((_, path)) => Some(format!("use `{path}`")),
        None => did_you_mean(key, format::VARIANT_SECTIONS.iter().copied()),
    };
    diagnostics.add(place, message, hint);
}

pub(super) fn scales(node: &Node, path: &str, diagnostics: &mut Diagnostics) -> Tree {
    for entry in named_entries(node, path, diagnostics) {
        if !matches!(entry.value.raw, Raw::Map(_)) {
            let message = format!("scale `{}` is {}", entry.key, entry.value.describe());
            let hint = "write a mapping such as {window.measure: 5s, data.load.operations: \
                        10k}"
                .to_owned();
            diagnostics.add(&entry.value.place, message, Some(hint));
        }
    }
    Tree::Null
}

fn named_entries<'n>(
    node: &'n Node,
    path: &str,
    diagnostics: &mut Diagnostics,
) -> &'n [yaml::Entry] {
    let Some(entries) = node.entries() else {
        let message = format!("`{path}` is {}; it must be a mapping", node.describe());
        let hint = format!("write a mapping of names such as {path}: {{a-name: {{…}}}}");
        diagnostics.add(&node.place, message, Some(hint));
        return &[];
    };
    for entry in entries {
        if let Err(why) = name(&entry.key) {
            let message = format!("`{}` is not a valid name: {why}", entry.key);
            diagnostics.add(&entry.place, message, None);
        }
    }
    entries
}
