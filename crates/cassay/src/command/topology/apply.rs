//! `cassay topology apply`: moves the nodes of a kept cluster to other CPUs and NUMA nodes of its
//! machine, and verifies the result with the kernel and the JVMs.

use crate::args::{ApplyArgs, Common, PlacingArgs};
use crate::exit::Exit;
use crate::terminal;
use ::cluster::{Cluster, NodePlace, kept_cluster};
use anyhow::Result;
use cassandra::{Effect, Proof};
use serde_json::{Value, json};
use target_spec::Topology;

/// Returns the topology of the arguments.
pub fn requested(args: &PlacingArgs) -> Topology {
    Topology {
        placing: args.topology,
        cpus: args.node_cpus,
        part: args.units.zip(args.count),
        smt: args.smt,
        housekeeping: args.housekeeping_cores,
        client: args.client_cpus,
    }
}

/// Runs the command. Returns `Exit::Error` if a requested setting is not in effect.
pub fn apply(args: &ApplyArgs, common: &Common) -> Result<Exit> {
    let say = &mut |text: &str| terminal::say(text);
    let mut cluster = kept_cluster::open(&super::dirs()?, args.cluster.cluster.as_deref(), say)?;
    cluster.place(requested(&args.placing), say)?;
    let observed = cluster.observe()?;
    let proofs = observed.proofs;
    let mut places = Vec::new();
    for place in observed.places {
        match place {
            Ok(place) => places.push(place),
            Err(why) => say(&why),
        }
    }
    if common.json {
        terminal::json(&as_json(&cluster, &places, &proofs));
    } else {
        terminal::data(&in_words(&cluster, &places, &proofs));
    }
    Ok(exit(&proofs))
}

/// Returns the exit of the command. A setting that cannot be observed may still be in effect,
/// because Cassandra does not show the effective value of many keys of `cassandra.yaml`.
fn exit(proofs: &[Proof]) -> Exit {
    let failed = |proof: &Proof| matches!(proof.effect, Effect::NotInEffect(_));
    if proofs.iter().any(failed) {
        Exit::Error
    } else {
        Exit::Done
    }
}

fn effect(proof: &Proof) -> &'static str {
    match proof.effect {
        Effect::InEffect(_) => "in effect",
        Effect::NotInEffect(_) => "NOT in effect",
        Effect::NotShown(_) => "not shown",
    }
}

fn shown(proof: &Proof) -> &str {
    match &proof.effect {
        Effect::InEffect(text) | Effect::NotInEffect(text) | Effect::NotShown(text) => text,
    }
}

fn as_json(cluster: &Cluster, places: &[NodePlace], proofs: &[Proof]) -> Value {
    let place = |place: &NodePlace| {
        json!({
            "node": place.node, "host": place.host, "threads": place.found.threads,
            "cpus": place.found.all_cpus(), "memory_nodes": place.found.all_memory_nodes(),
            "resident_bytes": place.found.resident_bytes,
            "policy_bytes": place.found.policy_bytes,
        })
    };
    let proof = |proof: &Proof| {
        json!({
            "node": proof.node, "key": proof.key, "wanted": proof.wanted, "shown": shown(proof),
            "effect": effect(proof), "source": proof.source,
        })
    };
    json!({
        "nodes": places.iter().map(place).collect::<Vec<_>>(),
        "proofs": proofs.iter().map(proof).collect::<Vec<_>>(),
        "client_cpus": cluster.client_cpus(),
        "why": cluster.placement_sentences(),
        "client": cluster.client_sentence(),
    })
}

fn in_words(cluster: &Cluster, places: &[NodePlace], proofs: &[Proof]) -> String {
    let words = |all: [&str; 5]| all.map(str::to_owned).to_vec();
    let mut rows = vec![words([
        "Node",
        "CPUs",
        "Threads",
        "NUMA nodes",
        "Resident there",
    ])];
    rows.extend(places.iter().map(|place| {
        let found = &place.found;
        let resident: Vec<String> = found
            .resident_bytes
            .iter()
            .map(|(node, bytes)| format!("{node}: {} MiB", bytes >> 20))
            .collect();
        vec![
            place.node.clone(),
            found.all_cpus().to_string(),
            found.threads.to_string(),
            found.all_memory_nodes().to_string(),
            resident.join(", "),
        ]
    }));
    let mut text = terminal::table(&rows, &[false, false, true, false, false]);
    if !proofs.is_empty() {
        let mut rows = vec![words(["Node", "Setting", "Wanted", "Shown", ""])];
        rows.extend(proofs.iter().map(|proof| {
            words([
                &proof.node,
                &proof.key,
                &proof.wanted,
                shown(proof),
                effect(proof),
            ])
        }));
        text += &format!("\n{}", terminal::table(&rows, &[false; 5]));
    }
    let sentences = cluster.placement_sentences();
    if !sentences.is_empty() {
        text += "\nWhy\n";
    }
    for sentence in sentences.iter().map(String::as_str).chain(cluster.client_sentence()) {
        text += &format!("  {sentence}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The server does not show every key of `cassandra.yaml`. If an unobservable setting were an
    /// error, a cluster with such a key could never be placed.
    #[test]
    fn only_what_is_seen_not_to_be_in_effect_is_an_error() {
        let proof = |effect: Effect| Proof {
            node: "node1".to_owned(),
            key: "key".to_owned(),
            wanted: "1".to_owned(),
            effect,
            source: "JVM",
        };
        let text = || "1".to_owned();
        let fine = [
            proof(Effect::InEffect(text())),
            proof(Effect::NotShown(text())),
        ];
        assert_eq!(exit(&fine), Exit::Done);
        assert_eq!(exit(&[proof(Effect::NotInEffect(text()))]), Exit::Error);
    }
}
