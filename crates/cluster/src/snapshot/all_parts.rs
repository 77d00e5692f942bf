//! Snapshots of managed nodes. Each node has a part, see [`cassandra::snapshot::hard_links`].

use super::{NodeSnapshot, Snapshot, on_all};
use crate::cluster::Cluster;
use anyhow::{Context, Result, bail};
use cassandra::NodeFiles;
use cassandra::snapshot::checksums::{self, Reading};
use cassandra::snapshot::hard_links;
use cassandra::snapshot::manifest::{self, Manifest};
use cassandra::snapshot::sstables::Fingerprint;
use cassandra::snapshot::table_definitions::{self, Tables};
use std::collections::BTreeMap;

pub(crate) fn create(
    cluster: &Cluster,
    places: &[NodeFiles<'_>],
    name: &str,
    keyspace: &str,
    tables: &[&str],
    say: &mut dyn FnMut(&str),
) -> Result<Snapshot> {
    for place in places {
        place.agent()?;
        if place.has(&manifest::folder(place.folder, name))? {
            bail!(
                "{} already has a snapshot {name}: remove it first, or use another name",
                place.name
            );
        }
    }
    let mut session = cluster.session()?;
    let tables = table_definitions::tables(&mut session, keyspace, tables)?;
    table_definitions::refuse_views(&mut session, keyspace, &tables)?;
    let statements = table_definitions::describe(&mut session, keyspace, &tables)?;
    say(&format!("saving {keyspace} as {name}"));
    let made = on_all(places, |place| {
        let manifest = Manifest::new(name, keyspace, place.version, statements.clone());
        hard_links::create(place, manifest, &tables)
    });
    if made.is_err() {
        // If only some nodes have their part, cassay removes these parts. The first error is more
        // important than an error of the removal.
        let _ = on_all(places, |place| hard_links::remove(place, name));
    }
    combine(places, made?)
}

pub(crate) fn list(places: &[NodeFiles<'_>]) -> Result<Vec<Snapshot>> {
    let names = on_all(places, manifest::names)?;
    let mut common = names.first().cloned().unwrap_or_default();
    common.retain(|name| names.iter().all(|of_node| of_node.contains(name)));
    common.iter().map(|name| combine(places, read(places, name)?)).collect()
}

/// Returns the manifests of all nodes, in node order.
///
/// # Errors
/// A node has no part of the snapshot. The message lists the node's snapshots.
pub(super) fn read(places: &[NodeFiles<'_>], name: &str) -> Result<Vec<Manifest>> {
    places.iter().map(|place| hard_links::read(place, name)).collect()
}

fn combine(places: &[NodeFiles<'_>], manifests: Vec<Manifest>) -> Result<Snapshot> {
    let first = manifests.first().context("the cluster has no node")?;
    let node = |(place, manifest): (&NodeFiles<'_>, &Manifest)| {
        let fingerprint = manifest.fingerprint();
        NodeSnapshot {
            node: place.name.to_string(),
            sstables: fingerprint.sstables(),
            files: manifest.files_count(),
            bytes: fingerprint.bytes(),
            fingerprint: fingerprint.to_string(),
        }
    };
    Ok(Snapshot {
        name: first.name.clone(),
        keyspace: first.keyspace.clone(),
        tables: first.tables.iter().map(|table| table.name.clone()).collect(),
        created_unix_ns: first.created_unix_ns,
        schema: first.schema.clone(),
        nodes: places.iter().zip(&manifests).map(node).collect(),
    })
}

/// Returns the table layouts of all nodes, by node name.
pub(crate) fn fingerprints(
    places: &[NodeFiles<'_>],
    keyspace: &str,
    tables: &Tables,
) -> Result<BTreeMap<String, Fingerprint>> {
    let found = on_all(places, |place| {
        hard_links::fingerprint(place, keyspace, tables)
    })?;
    let names = places.iter().map(|place| place.name.to_string());
    Ok(names.zip(found).collect())
}

pub(crate) fn verify(
    places: &[NodeFiles<'_>],
    name: &str,
) -> Result<Vec<(String, Result<(), String>)>> {
    refuse_unknown(places, name)?;
    let found = on_all(places, |place| {
        let folder = manifest::folder(place.folder, name);
        Ok(checksums::check(place.host, &folder, Reading::Always))
    })?;
    let text = |result: Result<()>| result.map_err(|error| format!("{error:#}"));
    let names = places.iter().map(|place| place.name.to_string());
    Ok(names.zip(found.into_iter().map(text)).collect())
}

/// Checks the files of a snapshot on all nodes before use.
///
/// # Errors
/// Files of a node are damaged or missing. The error names the files and the node. Nothing has
/// changed on the nodes.
pub(super) fn refuse_damaged(places: &[NodeFiles<'_>], name: &str) -> Result<()> {
    on_all(places, |place| hard_links::refuse_damaged(place, name)).map(drop)
}

pub(crate) fn remove(places: &[NodeFiles<'_>], name: &str) -> Result<()> {
    refuse_unknown(places, name)?;
    on_all(places, |place| hard_links::remove(place, name)).map(drop)
}

/// Fails if no node has a part of this snapshot.
fn refuse_unknown(places: &[NodeFiles<'_>], name: &str) -> Result<()> {
    for place in places {
        if place.has(&manifest::folder(place.folder, name))? {
            return Ok(());
        }
    }
    read(places, name).map(drop)
}
