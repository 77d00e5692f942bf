//! Undo list of an agent, of which the guard has a copy.

use anyhow::{Context, Result, ensure};
use host::undo::{Undo, undo};
use host::undo_file::UndoFile;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Function that sends the list to the guard.
type Tell = Box<dyn Fn(&[Undo]) -> Result<()> + Send + Sync>;

/// Undo list of an agent. The guard receives an entry before the agent applies the change.
pub struct UndoList {
    entries: Mutex<Vec<Undo>>,
    tell: Tell,
    /// File with a copy of the list, if the controller has requested it.
    noted: Mutex<Option<UndoFile>>,
    /// True when the agent is ending, so that it begins no further changes.
    is_closed: AtomicBool,
}

impl UndoList {
    pub fn new(tell: Tell) -> UndoList {
        UndoList {
            entries: Mutex::default(),
            tell,
            noted: Mutex::default(),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Makes [`UndoList::add_noted`] refuse further entries, because the agent is ending.
    pub fn close(&self) {
        let _entries = self.entries();
        self.is_closed.store(true, Ordering::Relaxed);
    }

    /// Sets the file to which [`UndoList::add_noted`] writes.
    pub fn note(&self, noted: UndoFile) {
        let mut known = self.noted();
        // An earlier file remains, because it contains entries.
        if known.is_none() {
            *known = Some(noted);
        }
    }

    /// Adds an entry for an imminent change, and writes the entry to disk. So a later command can
    /// undo the change even if the agent and its guard are killed or the machine loses power.
    ///
    /// # Errors
    /// The guard cannot be informed, or the entry cannot be written. The agent must then not apply
    /// the change.
    pub fn add_noted(&self, undo: Undo) -> Result<()> {
        let mut entries = self.entries();
        ensure!(
            !self.is_closed.load(Ordering::Relaxed),
            "the agent is shutting down, so it does not record further changes"
        );
        let mut noted = self.noted();
        let noted = noted.as_mut().context("the undo list has no path")?;
        let note = Undo::Note(noted.path()?.to_owned());
        let mut all = entries.clone();
        if !all.contains(&note) {
            all.insert(0, note);
        }
        all.push(undo);
        noted.write(&all)?;
        *entries = all;
        (self.tell)(&entries)
    }

    /// Adds an entry for an imminent change.
    ///
    /// # Errors
    /// The guard cannot be informed. The agent must then not apply the change.
    pub fn add(&self, undo: Undo) -> Result<()> {
        let mut entries = self.entries();
        entries.push(undo);
        (self.tell)(&entries)
    }

    /// Adds an entry, and writes it to the file if the list has one.
    ///
    /// # Errors
    /// The errors of [`UndoList::add`] and [`UndoList::add_noted`].
    pub fn add_noted_if_noting(&self, undo: Undo) -> Result<()> {
        let is_noting = self.noted().is_some();
        if is_noting {
            self.add_noted(undo)
        } else {
            self.add(undo)
        }
    }

    /// Removes the entry of a change that was undone.
    ///
    /// # Errors
    /// The guard cannot be informed, or the file cannot be written.
    pub fn forget(&self, undo: &Undo) -> Result<()> {
        let mut entries = self.entries();
        if let Some(at) = entries.iter().rposition(|one| one == undo) {
            entries.remove(at);
        }
        (self.tell)(&entries)?;
        match self.noted().as_mut() {
            Some(noted) => noted.write(&entries),
            None => Ok(()),
        }
    }

    /// Undoes the changes that prevent killed processes from ending. Their entries remain.
    ///
    /// # Errors
    /// The errors of [`undo`].
    pub fn release(&self) -> Result<()> {
        let entries = self.entries();
        let keeps = |one: &&Undo| matches!(one, Undo::Thaw(_) | Undo::Continue(_));
        let keeping: Vec<Undo> = entries.iter().filter(keeps).cloned().collect();
        undo(&keeping)
    }

    /// Undoes all changes, and empties the list.
    ///
    /// # Errors
    /// The errors of [`undo`].
    pub fn run(&self) -> Result<()> {
        let mut entries = self.entries();
        let result = undo(&entries);
        entries.clear();
        result.and((self.tell)(&entries))
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Undo>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn noted(&self) -> MutexGuard<'_, Option<UndoFile>> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
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
        assert!(!outer.exists(), "the list removes the inner folder first");
        list.run().unwrap();
        assert_eq!(*told.lock().unwrap(), [1, 2, 1, 2, 0, 0]);
    }

    #[test]
    fn an_undo_that_outlives_the_guard_is_on_disk_before_its_action() {
        let root = tempfile::tempdir().unwrap();
        let list = UndoList::new(Box::new(|_| Ok(())));
        let undo = Undo::Tree(root.path().join("none"));
        assert!(
            list.add_noted(undo.clone()).is_err(),
            "the list has no path yet"
        );
        list.note(UndoFile::below(Some(root.path())).unwrap());
        list.add_noted(undo.clone()).unwrap();
        let files = || std::fs::read_dir(root.path().join("undo")).into_iter().flatten().flatten();
        let text = std::fs::read_to_string(files().next().unwrap().path()).unwrap();
        assert!(text.contains("none") && text.ends_with('\n'), "{text}");
        list.forget(&undo).unwrap();
        list.close();
        let said = list.add_noted(undo).unwrap_err().to_string();
        assert!(said.contains("is shutting down"), "{said}");
        list.run().unwrap();
        assert_eq!(files().count(), 0);
    }

    #[test]
    fn an_undo_that_the_guard_cannot_hear_is_an_error() {
        let list = UndoList::new(Box::new(|_| anyhow::bail!("the guard is gone")));
        assert!(list.add(Undo::Tree("/nonexistent".into())).is_err());
    }
}
