//! `cassay topology apply`: the nodes of a kept cluster get other places on its machine, and what
//! came of it is asked of the kernel and of the JVMs.

use crate::args::{ApplyArgs, Common, PlacingArgs};
use crate::exit::Exit;
use crate::terminal;
use ::cluster::placing::Topology;
use ::cluster::{Cluster, Effect, NodePlace, Proof, kept};
use anyhow::Result;
use serde_json::{Value, json};

/// What the arguments ask for.
pub fn asked(args: &PlacingArgs) -> Topology {
    Topology {
        placing: args.topology,
        cpus: args.node_cpus,
        part: args.units.zip(args.count),
        smt: args.smt,
        housekeeping: args.housekeeping_cores,
        client: args.client_cpus,
    }
}

/// Does it. An error exit if something that was asked for is not in effect.
pub fn apply(args: &ApplyArgs, common: &Common) -> Result<Exit> {
    let say = &mut |text: &str| terminal::say(text);
    let mut cluster = kept::open(&super::dirs()?, args.cluster.cluster.as_deref(), say)?;
    cluster.place(asked(&args.placing), say)?;
    let proofs = cluster.observe()?.proofs;
    let places = cluster.places()?;
    let failed = proofs
        .iter()
        .filter(|proof| !proof.effect.is_proved())
        .count();
    if common.json {
        terminal::json(&as_json(&cluster, &places, &proofs));
    } else {
        terminal::data(&in_words(&cluster, &places, &proofs));
    }
    match failed {
        0 => Ok(Exit::Done),
        _ => Ok(Exit::Error),
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
        let resident = found.resident_bytes.iter();
        let resident: Vec<String> = resident
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
    for sentence in sentences
        .iter()
        .map(String::as_str)
        .chain(cluster.client_sentence())
    {
        text += &format!("  {sentence}\n");
    }
    text
}
