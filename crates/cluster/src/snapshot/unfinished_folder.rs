//! Folder under construction, which gets its final name when it is complete. If its process ends
//! earlier, the folder is removed.
//!
//! A killed process leaves its folder behind. Each process locks its folder, and the kernel
//! releases the lock when the process ends. So the next process recognises and removes abandoned
//! folders.

use anyhow::{Context, Result, bail};
use measure::number::bytes;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const PREFIX: &str = ".cassay-export-";

/// Number of attempts to create a folder. An attempt fails if another process removes the new
/// folder before this process locks it.
const TRIES: usize = 10;

/// Folder under construction. Dropping this value removes the folder, unless it has its final name.
#[derive(Debug)]
pub(super) struct UnfinishedFolder {
    folder: TempDir,
    /// Lock on the folder, until the folder has its final name.
    lock: File,
}

impl UnfinishedFolder {
    /// Creates a folder within `above`, and removes abandoned folders within `above`.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub(super) fn within(above: &Path, say: &mut dyn FnMut(&str)) -> Result<UnfinishedFolder> {
        sweep(above, say);
        for _ in 0..TRIES {
            let what = || format!("create a folder in {}", above.display());
            let folder =
                tempfile::Builder::new().prefix(PREFIX).tempdir_in(above).with_context(what)?;
            // Another process may have removed the new folder before this process locked it.
            if let Some(lock) = locked(folder.path()) {
                return Ok(UnfinishedFolder { folder, lock });
            }
        }
        bail!(
            "another program removes each new folder in {}",
            above.display()
        )
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Renames the folder to its final name.
    ///
    /// # Errors
    /// The folder cannot be renamed. It is then removed.
    pub(super) fn name(self, to: &Path) -> Result<()> {
        std::fs::rename(self.path(), to).with_context(|| format!("name it {}", to.display()))?;
        // The folder now has its final name, and must not be removed.
        let _ = self.folder.keep();
        drop(self.lock);
        Ok(())
    }
}

/// Locks a folder. Returns `None` if another process holds the lock, or the folder does not exist.
fn locked(path: &Path) -> Option<File> {
    let folder = foreign::folder(path).ok()?;
    flock(&folder, FlockOperation::NonBlockingLockExclusive).ok()?;
    let (held, there) = (folder.metadata().ok()?, path.symlink_metadata().ok()?);
    ((held.dev(), held.ino()) == (there.dev(), there.ino())).then_some(folder)
}

/// Returns this user's abandoned folders within `above`, each with its lock.
fn left(above: &Path) -> Vec<(PathBuf, File)> {
    let own = rustix::process::geteuid().as_raw();
    let is_left = |path: PathBuf| {
        let name = path.file_name()?.to_str()?;
        let found = path.symlink_metadata().ok()?;
        let is_one = name.starts_with(PREFIX) && found.is_dir() && found.uid() == own;
        let lock = locked(&path).filter(|_| is_one)?;
        Some((path, lock))
    };
    let entries = std::fs::read_dir(above).into_iter().flatten().flatten();
    entries.filter_map(|entry| is_left(entry.path())).collect()
}

fn sweep(above: &Path, say: &mut dyn FnMut(&str)) {
    for (path, lock) in left(above) {
        let size = bytes(size_of(&path));
        let shown = path.display();
        match std::fs::remove_dir_all(&path) {
            Ok(()) => say(&format!(
                "cassay removed {shown} ({size}), the leftover of a killed export"
            )),
            Err(error) => say(&format!(
                "cassay could not remove {shown} ({size}), the leftover of a killed export: \
                 {error}. Remove this folder yourself"
            )),
        }
        drop(lock);
    }
}

/// Returns the total size of all files below a folder, in bytes. Does not follow or count links.
fn size_of(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: std::fs::DirEntry| match entry.path().symlink_metadata() {
        Ok(found) if found.is_dir() => size_of(&entry.path()),
        Ok(found) if found.is_file() => found.len(),
        _ => 0,
    };
    entries.map(size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn leftovers_of_a_killed_process_are_removed_and_new_files_stay() {
        let above = tempfile::tempdir().unwrap();
        let left = above.path().join(".cassay-export-abc123");
        std::fs::create_dir_all(left.join("node1/item")).unwrap();
        std::fs::write(left.join("node1/item/nb-1-big-Data.db"), [7; 3000]).unwrap();
        for other in ["mine", ".cassay-other", ".hidden"] {
            std::fs::create_dir(above.path().join(other)).unwrap();
        }
        // Neither a file with such a name nor a link to a folder belongs to an export.
        std::fs::write(above.path().join(".cassay-export-file"), "x").unwrap();
        let mine = above.path().join("mine");
        std::os::unix::fs::symlink(&mine, above.path().join(".cassay-export-link")).unwrap();
        let mut said = Vec::new();
        let first =
            UnfinishedFolder::within(above.path(), &mut |line| said.push(line.to_owned())).unwrap();
        assert!(!left.exists());
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains(".cassay-export-abc123"), "{said:?}");
        assert!(
            said[0].contains("the leftover of a killed export"),
            "{said:?}"
        );
        // Another export is using this folder.
        let second = UnfinishedFolder::within(above.path(), &mut |line| panic!("{line}")).unwrap();
        assert!(first.path().is_dir() && second.path().is_dir());
        std::fs::write(first.path().join("a"), "a").unwrap();
        first.name(&above.path().join("full")).unwrap();
        drop(second);
        let expected = [
            ".cassay-export-file",
            ".cassay-export-link",
            ".cassay-other",
            ".hidden",
            "full",
            "mine",
        ];
        assert_eq!(names(above.path()), expected);
        assert_eq!(names(&above.path().join("full")), ["a"]);
    }

    #[test]
    fn a_folder_that_cannot_get_its_name_goes() {
        let above = tempfile::tempdir().unwrap();
        let making = UnfinishedFolder::within(above.path(), &mut |_| ()).unwrap();
        making.name(&above.path().join("no/such")).unwrap_err();
        assert_eq!(names(above.path()), [""; 0]);
    }
}
