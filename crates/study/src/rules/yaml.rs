//! `cassandra.yaml` of local nodes: what is cassay's, and so nobody's to set.

use super::Subject;
use crate::tree::Tree;
use ::yaml::Diagnostics;

const PATH: &str = "target.local.yaml";

/// Refuses keys that the nodes would refuse only when they start.
pub fn check(subject: &Subject<'_>, out: &mut Diagnostics) {
    let entries = subject.tree.at(PATH).map(Tree::entries).unwrap_or_default();
    for (key, value) in entries {
        if let Some(why) = cluster::yaml_refusal(key, &value.to_json()) {
            subject.say(&format!("{PATH}.{key}"), why, Some("remove it"), out);
        }
    }
}
