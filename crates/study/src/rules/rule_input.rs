//! Input of the rules, and functions with which rules report mistakes.

use crate::checked_tree::Tree;
use crate::settings::Overrides;
use crate::units;
use ::yaml::{Diagnostics, Node};
use measure::clock::SECOND_NS;

pub struct Subject<'a> {
    /// The merged nodes of the study, with the text and the places of the values.
    pub node: &'a Node,
    /// The checked tree of the same nodes.
    pub tree: &'a Tree,
    /// True if the command line replaced the target.
    pub target_replaced: bool,
    /// Settings of the command line, including files and trust.
    pub overrides: &'a Overrides,
}

impl Subject<'_> {
    pub(super) fn count(&self, path: &str) -> Option<u64> {
        self.tree.find(path)?.count()
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.tree.find(path)?.text()
    }

    pub(super) fn bytes(&self, path: &str) -> Option<u64> {
        self.tree.find(path)?.bytes()
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.tree.find(path).is_some()
    }

    pub(super) fn wrote(&self, path: &str) -> bool {
        self.node.find(path).is_some()
    }

    pub(super) fn say(
        &self,
        path: &str,
        message: String,
        hint: Option<&str>,
        out: &mut Diagnostics,
    ) {
        let place = &self.node.nearest(path).place;
        out.add(place, message, hint.map(str::to_owned));
    }
}

pub(super) fn whole(subject: &Subject<'_>, path: &str, tree: &Tree, out: &mut Diagnostics) {
    let length_ns = tree.duration_ns();
    let Some(ns) = length_ns.filter(|ns| !ns.is_multiple_of(SECOND_NS)) else {
        return;
    };
    let message = format!(
        "`{path}` is {}; it must be whole seconds, because intervals are seconds",
        units::format_duration_ns(ns)
    );
    let longer = units::format_duration_ns(ns.div_ceil(SECOND_NS) * SECOND_NS);
    subject.say(path, message, Some(&format!("write {longer}")), out);
}
