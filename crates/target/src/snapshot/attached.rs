//! Snapshots of an attached cluster: the server's own, in its own folders.
//!
//! Nothing of them is on this machine, so that what a restore must lead to stands in the name of
//! the server's snapshot: `cassay-NAME-COUNT-BYTES[-LEVELS]`, a name for each table and node.

use super::own::Tables;
use super::{Fingerprint, Restored, Snapshot, TableLayout};
use crate::cluster::Cluster;
use crate::jolokia::Jolokia;
use crate::mbeans;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;

/// The agents of all nodes.
fn agents(cluster: &Cluster) -> Result<Vec<(&str, &Jolokia)>> {
    cluster.agents().context(
        "snapshots of an attached cluster need a Jolokia agent in each of its nodes, and none is \
         given: add `jolokia` to the target's `attach`, or load again instead",
    )
}

pub(super) fn create(
    cluster: &Cluster,
    _name: &str,
    _keyspace: &str,
    _tables: &[&str],
    _say: &mut dyn FnMut(&str),
) -> Result<Snapshot> {
    agents(cluster)?;
    bail!("not yet")
}

pub(super) fn list(cluster: &Cluster) -> Result<Vec<Snapshot>> {
    agents(cluster)?;
    Ok(Vec::new())
}

pub(super) fn restore(
    cluster: &mut Cluster,
    _name: &str,
    _say: &mut dyn FnMut(&str),
) -> Result<Restored> {
    agents(cluster)?;
    bail!("not yet")
}

pub(super) fn remove(cluster: &Cluster, name: &str) -> Result<()> {
    agents(cluster)?;
    bail!("there is no snapshot {name}")
}

pub(super) fn fingerprints(
    cluster: &Cluster,
    keyspace: &str,
    tables: &Tables,
) -> Result<BTreeMap<String, Fingerprint>> {
    let of_node = |(name, agent): (&str, &Jolokia)| {
        let found = fingerprint(agent, keyspace, tables);
        let found = found.with_context(|| format!("look at the tables of {name}"))?;
        Ok((name.to_string(), found))
    };
    agents(cluster)?.into_iter().map(of_node).collect()
}

/// The layout of a node's tables by the server's own counts.
fn fingerprint(agent: &Jolokia, keyspace: &str, tables: &Tables) -> Result<Fingerprint> {
    let names: Vec<&str> = tables.keys().map(String::as_str).collect();
    let levels = mbeans::levels(agent, keyspace, &names)?;
    let layout = |(table, levels): (&str, Option<Vec<u64>>)| {
        let (sstables, bytes) = mbeans::live_sstables(agent, keyspace, table)?;
        let layout = TableLayout {
            sstables,
            bytes,
            levels,
            identities: None,
        };
        Ok((table.to_string(), layout))
    };
    let layouts: Result<_> = names.into_iter().zip(levels).map(layout).collect();
    Ok(Fingerprint { tables: layouts? })
}
