//! Restores a snapshot while the nodes are down, by replacing their files.
//!
//! An offline restore needs no running server and no Jolokia agent. JVMs, commit logs, hints and
//! saved caches start anew, so that a trial begins as on a fresh cluster with data. Writes that a
//! crashed node had only in its commit log are lost, in all keyspaces.

use super::all_parts;
use super::online::{self, seconds_since};
use super::{RestoreHow, RestoreResult, on_all};
use crate::local::{LocalNode, Nodes};
use anyhow::{Context, Result, anyhow, bail};
use cassandra::snapshot::manifest::Manifest;
use cassandra::snapshot::swap_files::swap;
use cassandra::snapshot::table_definitions::{self, Tables};
use cassandra::snapshot::{checksums, import_files};
use cassandra::{CONTROL_TIMEOUT, NodeFiles, Session, mbeans};
use measure::clock;

pub(crate) fn restore(
    nodes: &mut Nodes,
    name: &str,
    say: &mut dyn FnMut(&str),
) -> Result<RestoreResult> {
    let began_ns = clock::now_ns();
    let places = nodes.files();
    let manifests = all_parts::read(&places, name)?;
    all_parts::refuse_damaged(&places, name)?;
    let tables = tables_of(nodes, &places, &manifests, say)?;
    drop(places);
    say(&format!(
        "cassay restores {} from {name}, while the nodes are stopped",
        manifests[0].keyspace
    ));
    let stop_began_ns = clock::now_ns();
    stop_all(nodes)?;
    let stop_s = seconds_since(stop_began_ns);
    let swap_began_ns = clock::now_ns();
    let places = nodes.files();
    on_nodes(&places, &manifests, |place, manifest| {
        swap(place, manifest, &tables)
    })
    .map_err(|error| {
        checksums::doubt();
        anyhow!(
            "restore {name} offline: {error:#}\nthe nodes are stopped, and the snapshot still \
             exists\nhint: fix the cause, then restore {name} offline again"
        )
    })?;
    let swap_s = seconds_since(swap_began_ns);
    drop(places);
    say("cassay starts the nodes again");
    let started = nodes
        .start_all()
        .with_context(|| format!("start the nodes with the files of {name}"));
    let places = nodes.files();
    let compared = started.and_then(|()| {
        let all = on_nodes(&places, &manifests, |place, manifest| {
            compare(place, manifest, &tables)
        });
        all.with_context(|| format!("restore {name} offline"))
    });
    // The next restore must verify the files of the snapshot again.
    compared.inspect_err(|_| checksums::doubt())?;
    let times = (stop_s, swap_s);
    Ok(online::restored(
        &places,
        &manifests,
        RestoreHow::Offline,
        began_ns,
        times,
    ))
}

/// Runs `work` on all nodes in parallel, each with its manifest.
fn on_nodes(
    places: &[NodeFiles<'_>],
    manifests: &[Manifest],
    work: impl Fn(&NodeFiles<'_>, &Manifest) -> Result<()> + Sync,
) -> Result<()> {
    on_all(places, |place| {
        let index = places.iter().position(|one| one.name == place.name);
        let manifest = index.and_then(|index| manifests.get(index));
        work(
            place,
            manifest.context("find the manifest of the node's part of the snapshot")?,
        )
    })
    .map(drop)
}

/// Returns the tables and their ids, and creates missing tables. If no node answers, the folders of
/// the tables must exist.
fn tables_of(
    nodes: &Nodes,
    places: &[NodeFiles<'_>],
    manifests: &[Manifest],
    say: &mut dyn FnMut(&str),
) -> Result<Tables> {
    let first = manifests.first().context("the cluster has no node")?;
    let names: Vec<&str> = first.tables.iter().map(|table| table.name.as_str()).collect();
    let open =
        |node: &LocalNode| Session::open(node.cql_address(), nodes.access(), CONTROL_TIMEOUT).ok();
    let mut sessions = nodes.all().iter().filter_map(open);
    if let Some(mut session) = sessions.next() {
        return table_definitions::make_again(
            &mut session,
            &first.keyspace,
            &names,
            &first.schema,
            say,
        );
    }
    for (place, table) in places.iter().flat_map(|p| first.tables.iter().map(move |t| (p, t))) {
        let folder = place.table_folder(&first.keyspace, &table.name, &table.id);
        if !place.has(&folder)? {
            bail!(
                "no node answers, and {} no longer has a folder {}: start the nodes first, so \
                 that cassay can create the table again",
                place.name,
                folder.display()
            );
        }
    }
    let ids = first.tables.iter().map(|table| (table.name.clone(), table.id.clone()));
    Ok(ids.collect())
}

/// Drains all nodes in parallel, then stops them one after the other.
fn stop_all(nodes: &mut Nodes) -> Result<()> {
    let places = nodes.files();
    // A node that does not answer drains itself when it stops, if it can.
    let _ = on_all(&places, |place| match place.agent {
        Some(agent) => mbeans::drain(agent),
        None => Ok(()),
    });
    let count = places.len();
    drop(places);
    for index in 0..count {
        nodes.stop_node(index)?;
    }
    Ok(())
}

/// Verifies that the server has loaded all files. Compactions that were pending in the snapshot may
/// have changed the files since they were linked and verified, which is not an error. Does nothing
/// without a Jolokia agent.
fn compare(place: &NodeFiles<'_>, manifest: &Manifest, tables: &Tables) -> Result<()> {
    let Some(agent) = place.agent else {
        return Ok(());
    };
    let compared = import_files::compare(place, manifest, tables);
    let compacts = |table: &String| mbeans::compacts(agent, &manifest.keyspace, table);
    match compared {
        Err(error) if !tables.keys().any(compacts) => Err(error),
        _ => Ok(()),
    }
}
