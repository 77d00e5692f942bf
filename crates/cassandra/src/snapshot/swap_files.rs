//! Replaces the files of a stopped node's tables by the files of a snapshot.

use super::manifest::{self, Manifest};
use super::table_definitions::Tables;
use super::{hard_links, sstables};
use crate::node_files::NodeFiles;
use anyhow::{Context, Result, bail};
use host::FileStep;
use std::path::PathBuf;

/// Folders that a restore empties. Otherwise the server could replay their content over the
/// restored data.
const MEMORIES: [&str; 3] = ["commitlog", "hints", "saved_caches"];

/// Subfolders of a table's folder without live files.
const KEPT_FOLDERS: [&str; 2] = ["snapshots", "backups"];

/// Restores a node's tables from its manifest, and empties the folders that the server would
/// replay.
///
/// # Errors
/// The node's host cannot replace the files, or the linked files differ from the manifest.
pub fn swap(place: &NodeFiles<'_>, manifest: &Manifest, tables: &Tables) -> Result<()> {
    let keyspace = manifest.keyspace.as_str();
    let snapshot = manifest::folder(place.folder, &manifest.name);
    let clear = |folder: PathBuf, but: &[&str]| FileStep::Clear {
        folder,
        but: but.iter().map(|&name| name.to_owned()).collect(),
    };
    for table in &manifest.tables {
        let id = tables
            .get(&table.name)
            .context("a row of system_schema.tables contains no table id")?;
        let live = place.table_folder(keyspace, &table.name, id);
        let from = manifest::table_folder(&snapshot, keyspace, &table.name);
        let link = hard_links::link(&table.files(), from, live.clone());
        place.host.change(vec![clear(live.clone(), &KEPT_FOLDERS), link])?;
        let found = sstables::scan(place.host, &live)?.layout(None);
        if let Some(difference) = found.difference(&table.files().layout(None)) {
            bail!(
                "after the restore, {keyspace}.{} {difference}: check the snapshot with `cassay \
                 snapshot verify`",
                table.name
            );
        }
    }
    let memories = MEMORIES.map(|name| clear(place.folder.join(name), &[]));
    place.host.change(memories.into())
}

#[cfg(test)]
mod tests {
    use super::super::manifest::TableRecord;
    use super::super::sstables::tests::write;
    use super::*;

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
        // When a restore is repeated, source and target have the same inode.
        swap(&place, &manifest, &tables).unwrap();
        std::fs::remove_file(put_away.join("nb-1-big-Data.db")).unwrap();
        let error = format!("{:#}", swap(&place, &manifest, &tables).unwrap_err());
        assert!(error.contains("nb-1-big-Data.db"), "{error}");
    }
}
