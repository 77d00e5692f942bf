//! The files of a node of ours as they were before its upgrade: kept while it runs as the other
//! release, and put back when it is to be what it was.
//!
//! What must hold: the node was drained and does not run, whenever either is done. Files with data
//! are never changed, so that a second name keeps them; the commit log of a drained node holds
//! nothing that they do not, so that it is left out, and an empty one is put back.

use crate::handle::{NodeHandle, OwnNode};
use anyhow::{Context, Result, ensure};
use host::Step;
use std::path::{Path, PathBuf};

/// The folder that they are kept in: in that of the node, so on the same file system, and gone with
/// it.
const FOLDER: &str = "before-upgrade";

impl NodeHandle {
    /// Keeps all files of the node, which does not run and was drained.
    ///
    /// # Errors
    /// It is not ours, or its host does not do it.
    pub fn keep_files(&self) -> Result<()> {
        let steps = keeping(self.own()?);
        let kept = self.agent.change(steps);
        kept.with_context(|| format!("keep the files of {}", self.name))
    }

    /// Gives the node, which does not run, the files that were kept, in place of those that it has.
    ///
    /// # Errors
    /// None were kept, it is not ours, or its host does not do it.
    pub fn put_files_back(&self) -> Result<()> {
        let own = self.own()?;
        let folder = own.folder.join(FOLDER);
        let put = || {
            let is_kept = self.agent.list(&folder, None)?.is_some();
            ensure!(is_kept, "{} is not there", folder.display());
            self.agent.change(putting_back(own))
        };
        put().with_context(|| format!("put the files of {} back that were kept", self.name))
    }
}

fn keeping(own: &OwnNode) -> Vec<Step> {
    let left = Step::Remove(own.folder.join(FOLDER));
    let link = |(from, to): (&Path, PathBuf)| Step::LinkTree {
        from: from.to_owned(),
        to,
    };
    std::iter::once(left).chain(own.immutable().map(link)).collect()
}

fn putting_back(own: &OwnNode) -> Vec<Step> {
    let empty = Step::Clear {
        folder: own.commit_log.clone(),
        but: Vec::new(),
    };
    let swap = |(now, kept): (&Path, PathBuf)| {
        let back = Step::Rename {
            from: kept,
            to: now.to_owned(),
        };
        [Step::Remove(now.to_owned()), back]
    };
    let mut steps = vec![empty];
    steps.extend(own.immutable().flat_map(swap));
    steps.push(Step::Remove(own.folder.join(FOLDER)));
    steps
}

impl OwnNode {
    /// The folders of files that are never changed, and where each is kept.
    fn immutable(&self) -> impl Iterator<Item = (&Path, PathBuf)> {
        let others = self.kept.iter().filter(|folder| **folder != self.commit_log);
        others.filter_map(|folder| {
            let name = folder.file_name()?;
            Some((folder.as_path(), self.folder.join(FOLDER).join(name)))
        })
    }
}
