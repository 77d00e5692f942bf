//! Rules for rolling upgrades. The new release must be newer than the release of the nodes, and the
//! nodes must exist.

use super::rule_input::Subject;
use super::upgrade_rollback;
use crate::checked_tree::Tree;
use crate::settings::{Draft, Registry};
use crate::units::parse_count;
use ::yaml::{Diagnostics, Node, Raw};
use target_spec::fault::FaultName;
use target_spec::{JavaChoice, LocalSpec, Origin, java_majors};
use versions::Release;

/// Applies the rules for rolling upgrades.
pub fn check(subject: &Subject<'_>, out: &mut Diagnostics) {
    let items = match subject.node.find("faults").map(|faults| &faults.raw) {
        Some(Raw::List(items)) if subject.has("target.local") => items.as_slice(),
        _ => return,
    };
    let checked = subject.tree.find("faults").map(Tree::items);
    let items = items.iter().zip(checked.unwrap_or_default());
    let is_upgrade = |(item, _): &(&Node, &Tree)| {
        let kind = item.find("kind").and_then(Node::text);
        kind == Some(FaultName::RollingUpgrade.name())
    };
    let mut upgrades = items.filter(is_upgrade);
    let local = super::cassandra::found(&Draft::from_tree(subject.tree), subject);
    let Some(first) = upgrades.next() else { return };
    one(first, &local, subject.overrides.registry, out);
    for (more, _) in upgrades {
        let message =
            "a trial has two rolling upgrades, but a trial can upgrade nodes to only one release";
        let hint =
            "move the second upgrade to a variant whose nodes start with the release of the first";
        out.add(&more.place, message.to_owned(), Some(hint.to_owned()));
    }
}

fn one((item, tree): (&Node, &Tree), local: &LocalSpec, registry: Registry, out: &mut Diagnostics) {
    let mut say = |key: &str, message: String, hint: String| {
        out.add(&item.nearest(key).place, message, Some(hint));
    };
    // If the release is missing or invalid, other rules report it.
    let Some(to) = tree.find("to").and_then(Tree::release) else {
        return;
    };
    if let Some(none) = registry.refusal(to) {
        return say("to", none.why, none.hint);
    }
    let from = &local.release;
    if !is_newer(to, from) {
        say(
            "to",
            format!(
                "`faults.to` is {to}, but the nodes start with {from}: Cassandra cannot downgrade"
            ),
            format!("name a release that is newer than {from}"),
        );
    }
    if local.origin != Origin::Maven {
        let hint = "use a release: `target.local.cassandra: 4.1`";
        say(
            "to",
            "cassay cannot upgrade nodes of a custom build".to_owned(),
            hint.to_owned(),
        );
    }
    if let Some(JavaChoice::Major(major)) = local.java.as_ref()
        && !java_majors(to).contains(major)
    {
        let message = format!("Cassandra {to} does not start on the Java {major} of these nodes");
        say("to", message, "remove `target.local.java`".to_owned());
    }
    for (key, value) in &local.yaml {
        // The check uses the new release, because the setting may have another name in that
        // release.
        if let Some(refused) = target_spec::yaml_refusal((to, &Origin::Maven), key, value) {
            say(
                "to",
                format!("{}, the new release of the nodes", refused.why),
                refused.hint,
            );
        }
    }
    upgrade_rollback::stated(item, (local, to), &mut say);
    numbers(item, local, &mut say);
}

/// Refuses node numbers that are repeated, or that no node has.
fn numbers(item: &Node, local: &LocalSpec, say: &mut dyn FnMut(&str, String, String)) {
    let nodes = match item.find("nodes").map(|nodes| &nodes.raw) {
        Some(Raw::List(nodes)) => nodes.as_slice(),
        _ => &[],
    };
    let numbers = nodes.iter().map(|node| parse_count(node.text().unwrap_or_default()));
    // Texts that are not numbers are skipped here, because the type check of the key reports them.
    let Ok(numbers) = numbers.collect::<Result<Vec<u64>, _>>() else {
        return;
    };
    for (at, number) in numbers.iter().enumerate() {
        let message = if *number > local.nodes as u64 {
            format!(
                "`faults.nodes` has {number}, but the target has {} nodes",
                local.nodes
            )
        } else if numbers[..at].contains(number) {
            format!("`faults.nodes` has {number} twice")
        } else {
            continue;
        };
        say(
            "nodes",
            message,
            "name each node once, by its number from 1".to_owned(),
        );
    }
}

/// Returns true if release `to` is newer than `from`. A release is newer if its release line is
/// later, or if its number in the same release line is higher.
fn is_newer(to: &Release, from: &Release) -> bool {
    let key = |release: &Release| {
        let rest = release.version().strip_prefix(release.line().name).unwrap_or_default();
        let (patch, preview) = rest.split_once('-').unwrap_or((rest, ""));
        // Without leading zeros, the longer number is the larger one. A user's build may have text
        // after the number, as in 5.0.8+mine.
        let digits = patch.trim_start_matches('.').trim_start_matches('0').bytes();
        let patch: Vec<u8> = digits.take_while(u8::is_ascii_digit).collect();
        // A preview release, such as a beta, is older than the final release with the same number.
        let age = release.line().age();
        (
            (age, patch.len(), patch),
            preview.is_empty(),
            preview.to_owned(),
        )
    };
    key(to) > key(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_lines_higher_numbers_and_preview_successors_are_newer() {
        let is = |to: &str, from: &str| {
            is_newer(&Release::parse(to).unwrap(), &Release::parse(from).unwrap())
        };
        for (to, from) in [
            ("5.0.8", "4.1.10"),
            ("4.1.10", "4.1.9"),
            ("5.0.0", "5.0-rc1"),
            ("5.0-rc1", "5.0-beta1"),
            ("6.0-alpha2", "5.0.9"),
        ] {
            assert!(is(to, from) && !is(from, to), "{to} {from}");
        }
        assert!(!is("4.1", "4.1.10"));
    }

    /// In an earlier version, cassay read the version number of a user's own build as 0.
    #[test]
    fn a_build_of_ones_own_is_as_new_as_its_number() {
        let built = |version: &str| Release::built(version).unwrap();
        let release = Release::parse("5.0.7").unwrap();
        assert!(is_newer(&built("5.0.8+mine"), &release));
        assert!(is_newer(&release, &built("5.0.6+mine")));
    }
}
