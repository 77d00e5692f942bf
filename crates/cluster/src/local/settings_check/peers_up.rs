//! Verifies that the nodes consider each other up. Otherwise the cluster answers from fewer
//! replicas, and writes hints that it delivers later.

use crate::local::node_process::LocalNode;
use cassandra::{Effect, Proof};
use measure::clock::{self, Deadline};
use serde_json::Value;
use std::time::Duration;

/// Time limit for all nodes to be up. Gossip runs once a second, and the failure detector needs
/// several rounds to consider a restarted node up.
const LIMIT: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(500);

const SOURCE: &str = "org.apache.cassandra.db:type=StorageService UnreachableNodes";

/// Checks that a node considers all other nodes up. Returns `None` for a single node.
pub(super) fn proof(node: &LocalNode, all: &[LocalNode]) -> Option<Proof> {
    if all.len() < 2 {
        return None;
    }
    let until = Deadline::after(LIMIT);
    let effect = loop {
        let effect = effect(node, all);
        if !matches!(effect, Effect::NotInEffect(_)) || until.passed() {
            break effect;
        }
        clock::sleep(LOOK_EVERY);
    };
    Some(Proof {
        node: node.layout.name.clone(),
        key: "other nodes".to_owned(),
        wanted: "all up".to_owned(),
        effect,
        source: SOURCE,
    })
}

fn effect(node: &LocalNode, all: &[LocalNode]) -> Effect {
    let Some(jolokia) = &node.jolokia else {
        return Effect::NotShown("the JVM of the node has no Jolokia agent".to_owned());
    };
    let service = "org.apache.cassandra.db:type=StorageService";
    let attributes = [(service, "UnreachableNodes"), (service, "LiveNodes")];
    let answers = match jolokia.read(&attributes) {
        Ok(answers) => answers,
        Err(error) => return Effect::NotShown(format!("{error:#}")),
    };
    let list = |at: usize| answers.get(at).cloned().flatten();
    let (Some(Value::Array(down)), Some(Value::Array(live))) = (list(0), list(1)) else {
        return Effect::NotShown(
            "the JVM of the node does not report live and unreachable nodes".to_owned(),
        );
    };
    compare(&down, &live, all)
}

fn compare(down: &[Value], live: &[Value], all: &[LocalNode]) -> Effect {
    let is_of = |address: &Value, node: &LocalNode| {
        address.as_str() == Some(&node.layout.address.to_string())
    };
    let is_down = |node: &&LocalNode| {
        down.iter().any(|one| is_of(one, node)) || !live.iter().any(|one| is_of(one, node))
    };
    let names: Vec<&str> =
        all.iter().filter(is_down).map(|node| node.layout.name.as_str()).collect();
    if names.is_empty() {
        Effect::InEffect("all up".to_owned())
    } else {
        Effect::NotInEffect(format!("{} down", names.join(" and ")))
    }
}
