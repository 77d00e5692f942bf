//! Saves the files of a managed node before its upgrade, and restores the files for a downgrade.
//!
//! Invariants: the node is drained and stopped when files are saved or restored. Data files are
//! immutable, so a hard link preserves their content. The data files of a drained node contain all
//! writes of its commit log, so a restored node starts with an empty commit log.

use crate::fault_handle::{NodeHandle, OwnNode};
use anyhow::{Context, Result, ensure};
use host::{Agent, FileStep};
use std::path::{Path, PathBuf};

/// Folder of the saved files, inside the folder of the node. A hard link requires that both are on
/// the same file system.
const FOLDER: &str = "before-upgrade";

impl NodeHandle {
    /// Saves all files of the node. The caller must have drained and stopped the node.
    ///
    /// # Errors
    /// The node is not managed, or its host cannot keep the files.
    pub fn keep_files(&self) -> Result<()> {
        let kept = self.agent.change(keeping(self.own()?));
        kept.with_context(|| format!("save the files of {}", self.name))
    }

    /// Replaces the files of the stopped node by the saved files.
    ///
    /// # Errors
    /// No files were saved, the node is not managed, or its host cannot replace the files.
    pub fn put_files_back(&self) -> Result<()> {
        let put = put_back(&self.agent, self.own()?);
        put.with_context(|| format!("restore the saved files of {}", self.name))
    }
}

fn keeping(own: &OwnNode) -> Vec<FileStep> {
    let left = FileStep::Remove(own.folder.join(FOLDER));
    let link = |(from, to): (&Path, PathBuf)| FileStep::LinkTree {
        from: from.to_owned(),
        to,
    };
    std::iter::once(left).chain(own.immutable().map(link)).collect()
}

/// Restores the saved files. If no files were saved, fails without removing anything.
fn put_back(agent: &Agent, own: &OwnNode) -> Result<()> {
    let folder = own.folder.join(FOLDER);
    let is_kept = agent.list(&folder, None)?.is_some();
    ensure!(is_kept, "{} does not exist", folder.display());
    let empty = FileStep::Clear {
        folder: own.commit_log.clone(),
        but: Vec::new(),
    };
    let swap = |(now, kept): (&Path, PathBuf)| {
        let back = FileStep::Rename {
            from: kept,
            to: now.to_owned(),
        };
        [FileStep::Remove(now.to_owned()), back]
    };
    let mut steps = vec![empty];
    steps.extend(own.immutable().flat_map(swap));
    steps.push(FileStep::Remove(folder));
    agent.change(steps)
}

impl OwnNode {
    /// Returns the folders whose files are immutable, each with its backup location.
    fn immutable(&self) -> impl Iterator<Item = (&Path, PathBuf)> {
        let others = self.kept.iter().filter(|folder| **folder != self.commit_log);
        others.filter_map(|folder| {
            let name = folder.file_name()?;
            Some((folder.as_path(), self.folder.join(FOLDER).join(name)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, read_dir, read_to_string, remove_file, write};

    const FOLDERS: [&str; 5] = ["data", "commitlog", "hints", "saved_caches", "cdc_raw"];

    fn own(folder: &Path) -> OwnNode {
        let command = || host::process::command("/bin/true".as_ref());
        let kept = FOLDERS.map(|name| folder.join(name)).to_vec();
        kept.iter().for_each(|folder| create_dir_all(folder).unwrap());
        OwnNode {
            start: (command(), folder.join("output")),
            forgiving: command(),
            joining: command(),
            claiming: command(),
            replacing: command(),
            kept,
            commit_log: folder.join("commitlog"),
            folder: folder.to_owned(),
            conf: folder.join("conf"),
            release: (versions::DEFAULT.release(), target_spec::Origin::Maven),
            confinement: None,
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    /// An older release cannot start with commit log segments of a newer release, and cannot read
    /// the hints of a newer release.
    #[test]
    fn a_node_has_its_files_of_before_and_nothing_of_those_since() {
        let root = tempfile::tempdir().unwrap();
        let agent = agent::in_thread(root.path()).unwrap();
        let node = root.path().join("node1");
        let own = own(&node);
        let table = node.join("data/shop/orders-1f");
        create_dir_all(&table).unwrap();
        write(table.join("nb-1-big-Data.db"), "rows").unwrap();
        write(node.join("hints/1.hints"), "older").unwrap();
        write(node.join("commitlog/CommitLog-7-1.log"), "drained").unwrap();
        agent.change(keeping(&own)).unwrap();
        remove_file(table.join("nb-1-big-Data.db")).unwrap();
        write(table.join("da-2-bti-Data.db"), "newer").unwrap();
        remove_file(node.join("hints/1.hints")).unwrap();
        write(node.join("hints/2.hints"), "newer").unwrap();
        write(node.join("commitlog/CommitLog-8-2.log"), "newer").unwrap();
        create_dir_all(node.join("data/system/new-2e")).unwrap();
        put_back(&agent, &own).unwrap();
        assert_eq!(names(&table), ["nb-1-big-Data.db"]);
        assert_eq!(
            read_to_string(table.join("nb-1-big-Data.db")).unwrap(),
            "rows"
        );
        assert_eq!(names(&node.join("data")), ["shop"]);
        assert_eq!(names(&node.join("hints")), ["1.hints"]);
        assert!(names(&node.join("commitlog")).is_empty());
        let mut all = FOLDERS.to_vec();
        all.sort_unstable();
        assert_eq!(names(&node), all, "no saved file remains");

        let said = format!("{:#}", put_back(&agent, &own).unwrap_err());
        assert!(said.contains("before-upgrade does not exist"), "{said}");
        assert_eq!(names(&table), ["nb-1-big-Data.db"], "nothing was removed");
    }
}
