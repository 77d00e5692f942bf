//! What has to be undone on a host, whoever does it: the agent that did it, its guard, or a later
//! command.

use crate::process::Identity;
use crate::{Invocation, invocation};
use anyhow::{Context, Result};
use kernel::cgroup::{CgroupDir, Group};
use kernel::volume;
use measure::clock::{self, Deadline};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long others may go on writing into a folder that is being removed: processes that are
/// ended at the same time by somebody else.
const TREE_LIMIT: Duration = Duration::from_secs(60);

const POLL: Duration = Duration::from_millis(50);

/// One thing that was done, as it is undone. What is gone already is no error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Undo {
    /// A folder with all that is in it.
    Tree(PathBuf),
    /// A data volume, or the plain folder in its place, if that is empty.
    Volume(PathBuf),
    /// Control groups, with the processes in them.
    Groups(Vec<CgroupDir>),
    /// A process that is stopped and is to go on.
    Continue(Identity),
    /// The data volume of a folder that is frozen, so that whoever writes there waits, and cannot
    /// be killed before that.
    Thaw(PathBuf),
    /// Something that a program has broken, and this one heals.
    Command(Invocation),
}

impl Undo {
    fn run(&self) -> Result<()> {
        match self {
            Undo::Tree(folder) => remove_tree(folder),
            Undo::Volume(folder) => volume::end(folder),
            Undo::Groups(places) => Group::of(places.clone()).end(),
            Undo::Continue(process) => {
                process.signal(Signal::CONT);
                Ok(())
            }
            Undo::Thaw(folder) => volume::thaw(folder),
            Undo::Command(heal) => heal.succeed(invocation::LIMIT),
        }
    }
}

/// Undoes all of it, the last first.
///
/// # Errors
/// The first thing that does not go; all others are undone all the same.
pub fn undo(all: &[Undo]) -> Result<()> {
    let mut result = Ok(());
    for one in all.iter().rev() {
        let undone = one.run();
        if result.is_ok() {
            result = undone;
        }
    }
    result
}

fn remove_tree(folder: &Path) -> Result<()> {
    let deadline = Deadline::after(TREE_LIMIT);
    loop {
        match std::fs::remove_dir_all(folder) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound && !folder.exists() => return Ok(()),
            // Somebody removes it too, or writes into it for a moment still.
            Err(_) if !deadline.passed() => clock::sleep(POLL),
            Err(error) => {
                return Err(error).with_context(|| format!("remove {}", folder.display()));
            }
        }
    }
}

/// By whom an agent lets somebody else know its list.
type Tell = Box<dyn Fn(&[Undo]) -> Result<()> + Send + Sync>;

/// What an agent has to undo. An entry is told to its guard before the thing is done.
pub struct UndoList {
    entries: Mutex<Vec<Undo>>,
    tell: Tell,
}

impl UndoList {
    /// Nothing yet.
    pub fn new(tell: Tell) -> UndoList {
        UndoList {
            entries: Mutex::default(),
            tell,
        }
    }

    /// One more, which is about to be done.
    ///
    /// # Errors
    /// The guard cannot be told: then it must not be done.
    pub fn add(&self, undo: Undo) -> Result<()> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.push(undo);
        (self.tell)(&entries)
    }

    /// One less, which somebody has undone.
    ///
    /// # Errors
    /// The guard cannot be told.
    pub fn forget(&self, undo: &Undo) -> Result<()> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = entries.iter().rposition(|one| one == undo) {
            entries.remove(at);
        }
        (self.tell)(&entries)
    }

    /// Undoes what keeps processes from ending when they are killed. It stays on the list.
    ///
    /// # Errors
    /// As [`undo`].
    pub fn release(&self) -> Result<()> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let keeps = |one: &&Undo| matches!(one, Undo::Thaw(_) | Undo::Continue(_));
        let keeping: Vec<Undo> = entries.iter().filter(keeps).cloned().collect();
        undo(&keeping)
    }

    /// Undoes all of it; nothing is left on the list then.
    ///
    /// # Errors
    /// As [`undo`].
    pub fn run(&self) -> Result<()> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let result = undo(&entries);
        entries.clear();
        result.and((self.tell)(&entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn the_guard_knows_before_and_the_last_is_undone_first() {
        let root = tempfile::tempdir().unwrap();
        let (outer, inner) = (root.path().join("a"), root.path().join("a/b"));
        std::fs::create_dir_all(inner.join("c")).unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let telling = Arc::clone(&told);
        let list = UndoList::new(Box::new(move |entries| {
            telling.lock().unwrap().push(entries.len());
            Ok(())
        }));
        list.add(Undo::Volume(outer.clone())).unwrap();
        let passing = Undo::Tree("/nonexistent".into());
        list.add(passing.clone()).unwrap();
        list.forget(&passing).unwrap();
        list.add(Undo::Tree(inner)).unwrap();
        list.run().unwrap();
        assert!(!outer.exists(), "the folder was empty when its turn came");
        list.run().unwrap();
        assert_eq!(*told.lock().unwrap(), [1, 2, 1, 2, 0, 0]);
    }

    #[test]
    fn what_cannot_be_told_is_not_done() {
        let list = UndoList::new(Box::new(|_| anyhow::bail!("the guard is gone")));
        assert!(list.add(Undo::Tree("/nonexistent".into())).is_err());
    }
}
