//! What an agent has to undo, as it and its guard know it.

use anyhow::Result;
use host::undo::{Undo, undo};
use std::sync::{Mutex, PoisonError};

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
