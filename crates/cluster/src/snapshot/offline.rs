//! Restores a snapshot while the nodes are down, by replacing their files.
//!
//! This needs no running server, import or agent. JVMs, commit logs, hints and saved caches start
//! anew, so that a trial begins as on a fresh cluster with data. Writes that a crashed node had
//! only in its commit log are lost, in all keyspaces.

use super::hard_links;
use super::manifest::{self, Manifest};
use super::online::{self, seconds_since};
use super::table_definitions::Tables;
use super::{RestoreHow, RestoreResult, checksums, on_all, sstables, table_definitions};
use crate::local::{LocalNode, Nodes};
use anyhow::{Context, Result, anyhow, bail};
use cassandra::{CONTROL_TIMEOUT, NodeFiles, Session, mbeans};
use host::FileStep;
use measure::clock;
use std::path::PathBuf;

/// Folders whose content could be replayed over restored data. They are emptied.
const MEMORIES: [&str; 3] = ["commitlog", "hints", "saved_caches"];

/// Folders in a table's folder that are not its live files.
const KEPT_FOLDERS: [&str; 2] = ["snapshots", "backups"];

pub(crate) fn restore(
    nodes: &mut Nodes,
    name: &str,
    say: &mut dyn FnMut(&str),
) -> Result<RestoreResult> {
    let began_ns = clock::now_ns();
    let places = nodes.files();
    let manifests = hard_links::read(&places, name)?;
    hard_links::refuse_damaged(&places, name)?;
    let tables = tables_of(nodes, &places, &manifests, say)?;
    drop(places);
    say(&format!(
        "restoring {} from {name} (nodes are stopped)",
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
             exists\nhint: remove the cause, then restore {name} offline again"
        )
    })?;
    let swap_s = seconds_since(swap_began_ns);
    drop(places);
    say("starting the nodes again");
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
    // The next use verifies the snapshot's files again.
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

/// Does work on all nodes in parallel, each with its manifest.
fn on_nodes(
    places: &[NodeFiles<'_>],
    manifests: &[Manifest],
    work: impl Fn(&NodeFiles<'_>, &Manifest) -> Result<()> + Sync,
) -> Result<()> {
    on_all(places, |place| {
        let index = places.iter().position(|one| one.name == place.name);
        let manifest = index.and_then(|index| manifests.get(index));
        work(place, manifest.context("a node has no manifest")?)
    })
    .map(drop)
}

/// Returns the tables and their ids, and recreates missing ones. If no node answers, the tables'
/// folders must still be there.
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

/// Drains all nodes in parallel, then stops them one by one.
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

/// Restores a node's tables from its manifest, and empties the folders that the server would
/// replay.
fn swap(place: &NodeFiles<'_>, manifest: &Manifest, tables: &Tables) -> Result<()> {
    let keyspace = manifest.keyspace.as_str();
    let snapshot = manifest::folder(place.folder, &manifest.name);
    let clear = |folder: PathBuf, but: &[&str]| FileStep::Clear {
        folder,
        but: but.iter().map(|&name| name.to_owned()).collect(),
    };
    for table in &manifest.tables {
        let id = tables.get(&table.name).context("a table has no id")?;
        let live = place.table_folder(keyspace, &table.name, id);
        let from = manifest::table_folder(&snapshot, keyspace, &table.name);
        let link = hard_links::link(&table.files(), from, live.clone());
        place.host.change(vec![clear(live.clone(), &KEPT_FOLDERS), link])?;
        let found = sstables::scan(place.host, &live)?.layout(None);
        if let Some(difference) = found.difference(&table.files().layout(None)) {
            bail!(
                "{keyspace}.{} {difference}: verify the snapshot",
                table.name
            );
        }
    }
    let memories = MEMORIES.map(|name| clear(place.folder.join(name), &[]));
    place.host.change(memories.into())
}

/// Verifies that the server has loaded all files. Compactions that were pending in the snapshot may
/// run from the start. This is not an error, because the files were verified when they were linked.
fn compare(place: &NodeFiles<'_>, manifest: &Manifest, tables: &Tables) -> Result<()> {
    let Some(agent) = place.agent else {
        return Ok(());
    };
    let compared = online::compare(place, manifest, tables);
    let compacts = |table: &String| mbeans::compacts(agent, &manifest.keyspace, table);
    match compared {
        Err(error) if !tables.keys().any(compacts) => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::manifest::TableRecord;
    use crate::snapshot::sstables::tests::write;

    #[test]
    fn a_swap_leaves_the_snapshots_files_and_nothing_to_replay() {
        let root = tempfile::tempdir().unwrap();
        let host = agent::in_thread(root.path()).unwrap();
        let place = NodeFiles::for_test(&host, root.path());
        let put_away = manifest::table_folder(&manifest::folder(root.path(), "s"), "k", "t");
        write(&put_away, "nb-1-big-", b"then");
        write(&put_away.join(".index"), "nb-1-big-", b"index");
        let mut manifest = Manifest::new("s", "k", "5.0.8", Vec::new());
        let files = sstables::scan(&host, &put_away).unwrap();
        manifest.tables.push(TableRecord::new("t".into(), "00".into(), None, files));
        let live = place.table_folder("k", "t", "ff");
        write(&live, "nb-2-big-", b"since");
        write(&live.join("backups"), "nb-3-big-", b"kept");
        for name in MEMORIES {
            std::fs::create_dir_all(root.path().join(name)).unwrap();
            std::fs::write(root.path().join(name).join("x.log"), "since").unwrap();
        }

        let tables = Tables::from([("t".to_string(), "ff".to_string())]);
        swap(&place, &manifest, &tables).unwrap();
        let found = hard_links::fingerprint(&place, "k", &tables).unwrap();
        assert_eq!(found.difference(&manifest.fingerprint()), None);
        assert_eq!(sstables::scan(&host, &live).unwrap().indexes.len(), 3);
        assert!(live.join("backups/nb-3-big-Data.db").is_file());
        for name in MEMORIES {
            assert_eq!(
                std::fs::read_dir(root.path().join(name)).unwrap().count(),
                0
            );
        }
        // Restores again, when source and target are the same inode.
        swap(&place, &manifest, &tables).unwrap();
        std::fs::remove_file(put_away.join("nb-1-big-Data.db")).unwrap();
        let error = format!("{:#}", swap(&place, &manifest, &tables).unwrap_err());
        assert!(error.contains("nb-1-big-Data.db"), "{error}");
    }
}
