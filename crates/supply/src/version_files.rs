//! Files of a version, their folder, and the check that existing files are intact.
//!
//! A folder is used only if it contains every file of the lock with its SHA-256. All digests are
//! checked once per boot, and whenever a file has changed. To detect a change, a stamp records the
//! inode of each file, its size and its times. The time of the last inode change, which the kernel
//! sets, reveals a replaced jar even with the same size and date.

use crate::files::{boot_id, digest_of_texts, identity_of, write_whole};
use crate::lock::{Lock, PinnedFile, check_digests, lock_of, lock_text, parse_lock, parse_pinned};
use anyhow::Result;
use foreign::FileKind;
use std::path::{Path, PathBuf};
use versions::{POM, POM_VERSION, Release};

/// File with the lock that a folder matched, and the identity of every file.
const STAMP: &str = "checked";

/// File with the lock of a folder, for a version without a checked-in lock.
const RECORD: &str = "supply.lock";

/// Files of a version, and the data for fetching and verifying them.
#[derive(Debug)]
pub(crate) struct Recipe {
    /// Product and version, such as `Cassandra 5.0.9`.
    pub product: String,
    /// Release of Cassandra. The default release for another product.
    pub release: Release,
    /// Pom that Maven resolves. Empty if only a repository provides the files.
    pub pom: String,
    /// Files of the pinned version. `None` for other versions.
    pub pinned: Option<Vec<PinnedFile>>,
    /// `None` for a version that is not pinned.
    lock: Option<Lock>,
}

impl Recipe {
    pub fn read(release: &Release) -> Result<Recipe> {
        let pinned = if release.is_pinned() {
            Some(parse_pinned(release.line().lock)?)
        } else {
            None
        };
        Ok(Recipe {
            product: format!("Cassandra {release}"),
            release: release.clone(),
            pom: POM.replace(POM_VERSION, release.version()),
            lock: pinned.as_deref().map(lock_of),
            pinned,
        })
    }

    /// Returns the recipe of a product other than Cassandra.
    pub fn of_files(product: String, files: Vec<PinnedFile>) -> Recipe {
        Recipe {
            product,
            release: versions::DEFAULT.release(),
            pom: String::new(),
            lock: Some(lock_of(&files)),
            pinned: Some(files),
        }
    }

    /// Returns a recipe with other pinned files.
    #[cfg(test)]
    pub fn pinned(files: Vec<PinnedFile>) -> Recipe {
        Recipe {
            product: "Cassandra".to_owned(),
            release: versions::DEFAULT.release(),
            pom: POM.to_string(),
            lock: Some(lock_of(&files)),
            pinned: Some(files),
        }
    }

    /// Returns the folder of the files in the cache. Recipes with different poms or locks have
    /// different folders.
    pub fn folder_in(&self, cache: &Path) -> PathBuf {
        let begin = if self.pinned.is_some() {
            ""
        } else {
            "unpinned-"
        };
        let product = self.product.to_lowercase().replace(' ', "-");
        cache.join(format!("{product}-{begin}{}", self.short()))
    }

    /// Returns a short hash of the recipe for names.
    pub fn short(&self) -> String {
        let own = || self.release.line().lock.to_string();
        let lock = self.lock.as_ref().map_or_else(own, lock_text);
        digest_of_texts(&[&self.pom, &lock])[..12].to_string()
    }

    /// Returns the total size of all pinned files in bytes. `None` for a version that is not
    /// pinned.
    pub fn bytes(&self) -> Option<u64> {
        let pinned = self.pinned.as_ref()?;
        Some(pinned.iter().filter(|file| file.member.is_none()).map(|file| file.bytes).sum())
    }

    /// Returns the program's lock, or else the lock that was recorded in the folder.
    fn lock_in(&self, folder: &Path) -> Option<Lock> {
        let record =
            || parse_lock(&foreign::text(FileKind::Supply, folder.join(RECORD)).ok()?).ok();
        self.lock.clone().or_else(record)
    }

    /// Checks that every file in a folder is intact, by the stamp or, if it differs, by all
    /// digests. Returns the lock. The error describes the change, or is `None` if the folder was
    /// never filled.
    pub fn checked(&self, folder: &Path) -> Result<Lock, Option<String>> {
        let stamp = foreign::text(FileKind::Supply, folder.join(STAMP)).map_err(|_| None)?;
        let lock = self.lock_in(folder).ok_or(None)?;
        let said = |error: anyhow::Error| Some(format!("{error:#}"));
        // If a file changes during the check, the next stamp differs from this one.
        let now = self.stamp_of(folder, &lock).map_err(said)?;
        if now == stamp {
            return Ok(lock);
        }
        // The first line identifies the recipe.
        if now.lines().next() != stamp.lines().next() {
            return Err(None);
        }
        check_digests(folder, &lock).map_err(said)?;
        // Without permission to write to the cache, every call checks all digests.
        let _ = write_whole(&folder.join(STAMP), &now);
        Ok(lock)
    }

    /// Records that all files of a folder match `lock`. Also records a lock that is not part of the
    /// program.
    pub fn seal(&self, folder: &Path, lock: &Lock) -> Result<()> {
        if self.lock.is_none() {
            write_whole(&folder.join(RECORD), &lock_text(lock))?;
        }
        write_whole(&folder.join(STAMP), &self.stamp_of(folder, lock)?)
    }

    /// Returns the digest of the pom and the lock, the boot id, and the identity of every file.
    fn stamp_of(&self, folder: &Path, lock: &Lock) -> Result<String> {
        let boot = boot_id();
        let recipe = digest_of_texts(&[&self.pom, &lock_text(lock)]);
        let mut stamp = format!("{recipe}\nboot {boot}\n");
        for name in lock.keys().map(String::as_str) {
            let identity = identity_of(&folder.join(name))?;
            stamp.push_str(&format!("{identity} {name}\n"));
        }
        Ok(stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_repository;

    /// Returns a folder with two small jars, the recipe that pins them, and their lock.
    fn folder() -> (tempfile::TempDir, Recipe, Lock) {
        let folder = tempfile::tempdir().unwrap();
        let file = |(name, text): (&str, &str)| {
            std::fs::write(folder.path().join(name), text).unwrap();
            test_repository::pinned(name, text)
        };
        let pinned: Vec<PinnedFile> = [("a.jar", "first"), ("b.jar", "second")].map(file).into();
        let lock = lock_of(&pinned);
        (folder, Recipe::pinned(pinned), lock)
    }

    #[test]
    fn another_version_has_a_pom_and_a_folder_of_its_own() {
        let recipe = Recipe::read(&Release::parse("5.0.6").unwrap()).unwrap();
        assert_eq!(recipe.pom.matches("<version>5.0.6</version>").count(), 2);
        assert!(!recipe.pom.contains(POM_VERSION));
        assert_eq!(recipe.bytes(), None);
        let cache = Path::new("/cache");
        let mut folders = vec![recipe.folder_in(cache)];
        for line in versions::LINES {
            let pinned = Recipe::read(&line.release()).unwrap();
            assert!(pinned.bytes() > Some(40 << 20), "{}", line.name);
            folders.push(pinned.folder_in(cache));
        }
        let count = folders.len();
        folders.sort();
        folders.dedup();
        assert_eq!(folders.len(), count, "{folders:?}");
    }

    #[test]
    fn a_folder_counts_as_checked_until_a_jar_is_another_one() {
        let (folder, pinned, lock) = folder();
        let unpinned = Recipe::read(&Release::parse("5.0.6").unwrap()).unwrap();
        assert_eq!(pinned.checked(folder.path()), Err(None), "no stamp yet");
        for recipe in [&pinned, &unpinned] {
            let stamp = recipe.stamp_of(folder.path(), &lock).unwrap();
            std::fs::write(folder.path().join(STAMP), stamp).unwrap();
            if recipe.lock.is_none() {
                assert_eq!(recipe.checked(folder.path()), Err(None), "no record yet");
            }
            recipe.seal(folder.path(), &lock).unwrap();
            assert_eq!(recipe.checked(folder.path()), Ok(lock.clone()));
        }
        assert_eq!(
            pinned.checked(folder.path()),
            Err(None),
            "another recipe's stamp"
        );
        std::fs::write(folder.path().join("a.jar"), "firs").unwrap();
        let why = unpinned.checked(folder.path()).unwrap_err().unwrap();
        assert!(why.starts_with("a.jar is not the checked jar"), "{why}");
    }

    #[test]
    fn an_equal_jar_is_recognized_and_a_new_stamp_is_written() {
        let (folder, recipe, lock) = folder();
        let (jar, stamp) = (folder.path().join("a.jar"), folder.path().join(STAMP));
        let first = recipe.stamp_of(folder.path(), &lock).unwrap();
        // Another boot id simulates a reboot, after which all files are checked again.
        let begin = first.lines().next().unwrap();
        let other = first.replacen("boot ", "boot x", 1);
        assert!(other.starts_with(begin) && other != first);
        std::fs::write(&stamp, other).unwrap();
        assert_eq!(recipe.checked(folder.path()), Ok(lock.clone()));
        assert_eq!(std::fs::read_to_string(&stamp).unwrap(), first);
        let date = jar.metadata().unwrap().modified().unwrap();
        std::fs::write(&jar, "FIRST").unwrap();
        let file = std::fs::File::options().write(true).open(&jar).unwrap();
        file.set_modified(date).unwrap();
        let why = recipe.checked(folder.path()).unwrap_err().unwrap();
        assert!(why.starts_with("a.jar is not the checked jar"), "{why}");
    }
}
