//! Rules for `cassandra.yaml` of local nodes. cassay controls some settings, so a study must not
//! set them.

use super::preset::{self, USE};
use super::rule_input::Subject;
use crate::checked_tree::Tree;
use crate::settings::Draft;
use ::yaml::{Diagnostics, Node, Raw};
use target_spec::{LocalSpec, Origin, YamlRefusal, yaml_together};
use versions::Release;

/// Keys of `cassandra.yaml` in a study, with their path.
pub(super) struct YamlKeys<'s> {
    /// Path of the mapping that contains the keys, such as `target.local.yaml`.
    pub path: &'static str,
    pub node: &'s Node,
    /// The checked tree of the same keys.
    pub tree: &'s Tree,
    /// Release to which a fault upgrades the nodes that get these keys. `None` if the keys do not
    /// belong to an upgrade.
    pub upgraded_to: Option<Release>,
}

const OF_FAULTS: &str = "faults.yaml";

pub(super) fn written<'s>(subject: &Subject<'s>) -> Vec<YamlKeys<'s>> {
    const OF_NODES: &str = "target.local.yaml";
    let of_nodes = subject.node.find(OF_NODES).zip(subject.tree.find(OF_NODES));
    let items = match subject.node.find("faults").map(|faults| &faults.raw) {
        Some(Raw::List(items)) => items.as_slice(),
        _ => &[],
    };
    let checked = subject.tree.find("faults").map(Tree::items);
    let items = items.iter().zip(checked.unwrap_or_default());
    let of_faults = items.filter_map(|(node, tree)| {
        let to = tree.find("to").and_then(Tree::release);
        Some(YamlKeys {
            path: OF_FAULTS,
            node: node.find("yaml")?,
            tree: tree.find("yaml")?,
            upgraded_to: to.cloned(),
        })
    });
    let of_nodes = of_nodes.map(|(node, tree)| YamlKeys {
        path: OF_NODES,
        node,
        tree,
        upgraded_to: None,
    });
    of_nodes.into_iter().chain(of_faults).collect()
}

/// Refuses keys that the nodes would only refuse when they start.
pub fn check(subject: &Subject<'_>, out: &mut Diagnostics) {
    let local = super::cassandra::found(&Draft::from_tree(subject.tree), subject);
    for written in written(subject) {
        let YamlKeys { node, tree, .. } = written;
        let of = written.release_of(&local);
        let yaml = tree.entries().iter().map(|(key, value)| (key.clone(), value.to_json()));
        // A fault changes some settings of the nodes. The other settings keep their values.
        for (key, YamlRefusal { why, hint }) in yaml_together(of, &yaml.collect(), &local.yaml) {
            out.add(&node.nearest(&key).place, why, Some(hint));
        }
        for (key, value) in tree.entries() {
            if let Some(YamlRefusal { why, hint }) = refusal(&written, &local, key, value) {
                let place = &node.nearest(key).place;
                out.add(place, why, Some(hint));
            }
        }
    }
}

impl YamlKeys<'_> {
    fn release_of<'l>(&'l self, local: &'l LocalSpec) -> (&'l Release, &'l Origin) {
        (
            self.upgraded_to.as_ref().unwrap_or(&local.release),
            &local.origin,
        )
    }
}

/// Returns the reason why the nodes cannot have a value under a key. `None` if the nodes can have
/// the value.
pub(super) fn refusal(
    written: &YamlKeys<'_>,
    local: &LocalSpec,
    key: &str,
    value: &Tree,
) -> Option<YamlRefusal> {
    let value = value.to_json();
    match (written.path, key) {
        (OF_FAULTS, "num_tokens") => Some(YamlRefusal {
            why: "cassay cannot change num_tokens: the nodes already have tokens".to_owned(),
            hint: "remove it".to_owned(),
        }),
        (OF_FAULTS, USE) => Some(YamlRefusal {
            why: "`use` only applies to new nodes: a fault names its settings".to_owned(),
            hint: "write each setting that the fault changes".to_owned(),
        }),
        (_, USE) => preset::refusal(local.release.line(), &value)
            .map(|(why, hint)| YamlRefusal { why, hint }),
        _ => target_spec::yaml_refusal(written.release_of(local), key, &value),
    }
}
