//! The hosts and nodes of a trial, as they themselves say that they are.
//!
//! Read when the configuration of the measured window is in place. What cannot be read is written
//! down as unseen, with the reason: a number without its configuration is still a number.

use super::gather;
use super::running::Running;
use crate::settings::Settings;
use anyhow::Result;
use store::record::{FORMAT, HostRecord, NodeRecord, NodesRecord, ProofRecord};

/// `nodes.json` of a trial whose keyspace is there.
pub fn record(running: &Running, settings: &Settings, keyspace: &str) -> NodesRecord {
    let cluster = &running.cluster;
    let mut record = NodesRecord {
        format: FORMAT,
        isolation: cluster.isolation().to_owned(),
        ..NodesRecord::default()
    };
    if running.is_null() {
        "null".clone_into(&mut record.isolation);
        record.nodes = nodes(running);
        return record;
    }
    record.nodes = nodes(running);
    let mut unseen = Vec::new();
    let mut note = |what: &str, result: Result<()>| {
        if let Err(error) = result {
            unseen.push(format!("{what}: {error:#}"));
        }
    };
    note("hosts", hosts(running, &mut record.hosts));
    note("configuration", configurations(running, &mut record.nodes));
    note("state", states(running, &mut record.nodes));
    note("ownership", ownership(running, keyspace, &mut record.nodes));
    note(
        "proof of the settings",
        proofs(running).map(|proofs| record.proofs = proofs),
    );
    if let Some(spec) = gather::spec(settings) {
        unseen.extend(cluster.unseen(&spec));
    }
    record.unseen = unseen;
    record
}

/// Settings that were asked for and are not in effect, a sentence each.
pub fn not_in_effect(proofs: &[ProofRecord]) -> Vec<String> {
    let failed = proofs.iter().filter(|proof| !proof.holds);
    failed
        .map(|proof| {
            format!(
                "{} of {} is {}, and {} was asked for ({})",
                proof.key, proof.node, proof.effective, proof.wanted, proof.source
            )
        })
        .collect()
}

fn nodes(running: &Running) -> Vec<NodeRecord> {
    let nodes = running.cluster.nodes().iter();
    nodes
        .map(|node| NodeRecord {
            name: node.name.clone(),
            host: node.host.clone(),
            address: node.address.to_string(),
            version: node.version.clone(),
            datacenter: node.datacenter.clone(),
            rack: node.rack.clone(),
            tokens: node.tokens.len(),
            ..NodeRecord::default()
        })
        .collect()
}

fn hosts(running: &Running, into: &mut Vec<HostRecord>) -> Result<()> {
    for host in running.cluster.hosts()? {
        into.push(HostRecord {
            name: host.name,
            address: host.address,
            limits: host.limits,
            volume_bytes: host.volume_bytes,
            volume_used_bytes: host.volume_used_bytes,
        });
    }
    Ok(())
}

fn by_name<'a>(nodes: &'a mut [NodeRecord], name: &str) -> Option<&'a mut NodeRecord> {
    nodes.iter_mut().find(|node| node.name == name)
}

fn configurations(running: &Running, nodes: &mut [NodeRecord]) -> Result<()> {
    for configuration in running.cluster.configurations()? {
        if let Some(node) = by_name(nodes, &configuration.node) {
            node.settings = configuration.settings;
            node.flags = configuration.flags;
            node.jvm = configuration.jvm;
        }
    }
    Ok(())
}

fn states(running: &Running, nodes: &mut [NodeRecord]) -> Result<()> {
    for state in running.cluster.states()? {
        if let Some(node) = by_name(nodes, &state.node) {
            node.state = state.state;
            node.load_bytes = state.load_bytes;
        }
    }
    Ok(())
}

fn ownership(running: &Running, keyspace: &str, nodes: &mut [NodeRecord]) -> Result<()> {
    for (name, share) in running.cluster.ownership(keyspace)? {
        if let Some(node) = by_name(nodes, &name) {
            node.owns = Some(share);
        }
    }
    Ok(())
}

/// Every setting that was asked for, and what each node says of it.
///
/// # Errors
/// A node does not answer.
pub fn proofs(running: &Running) -> Result<Vec<ProofRecord>> {
    let record = |proof: target::Proof| ProofRecord {
        node: proof.node,
        key: proof.key,
        wanted: proof.wanted,
        effective: proof.effective,
        source: proof.source.to_owned(),
        holds: proof.holds,
    };
    let proofs = running.cluster.proofs()?;
    Ok(proofs.into_iter().map(record).collect())
}
