//! What the cache has.

use crate::fill::{folders, left_over};
use crate::recipe::Recipe;
use crate::{files, home};
use anyhow::Result;
use measure::number;
use std::path::{Path, PathBuf};
use target::CASSANDRA_VERSION;

/// Begin of the names of folders with jars.
const BEGIN: &str = "cassandra-";

/// The jars of a version in the cache.
#[derive(Clone, Debug)]
pub struct Cached {
    /// Version of Cassandra.
    pub version: String,
    /// Their folder.
    pub folder: PathBuf,
    /// What they take there.
    pub bytes: u64,
    /// Whether they can be used.
    pub state: State,
}

/// Whether jars of the cache can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// All of them are there, each with its digest.
    Whole,
    /// A fetch was interrupted, and would be gone on with.
    Begun,
    /// They are of another lock than this program's, and nobody here uses them.
    Unused,
    /// One is not what it was, which the sentence says; all are fetched anew when they are wanted.
    Changed(String),
    /// None is there.
    Absent,
}

impl State {
    /// As a word.
    pub fn name(&self) -> &'static str {
        match self {
            State::Whole => "whole",
            State::Begun => "begun",
            State::Unused => "unused",
            State::Changed(_) => "changed",
            State::Absent => "absent",
        }
    }
}

/// The jars in the cache: first those of the version that is pinned, whether they are there or not.
///
/// # Errors
/// The lock of the program cannot be read.
pub fn list(cache: &Path) -> Result<Vec<Cached>> {
    let pinned = Recipe::of(CASSANDRA_VERSION)?;
    let own = pinned.folder_in(cache);
    let mut all = vec![cached(&pinned, &own, cache)];
    for folder in folders(cache).into_iter().filter(|folder| folder.is_dir() && *folder != own) {
        let name = files::name_of(&folder).and_then(|name| name.strip_prefix(BEGIN));
        let Some(version) = name.and_then(|name| name.split('-').next()) else {
            continue;
        };
        let recipe = Recipe::of(version)?;
        let is_ours = recipe.folder_in(cache) == folder;
        let found = if is_ours {
            cached(&recipe, &folder, cache)
        } else {
            Cached {
                version: version.to_string(),
                bytes: bytes_in(&folder),
                folder,
                state: State::Unused,
            }
        };
        all.push(found);
    }
    Ok(all)
}

fn cached(recipe: &Recipe, folder: &Path, cache: &Path) -> Cached {
    let left = left_over(cache, recipe);
    let (state, bytes) = match recipe.checked(folder) {
        Ok(_) => (State::Whole, bytes_in(folder)),
        Err(Some(why)) => (State::Changed(why), bytes_in(folder)),
        Err(None) if left > 0 => (State::Begun, left),
        Err(None) => (State::Absent, 0),
    };
    Cached {
        version: recipe.version.clone(),
        folder: folder.to_owned(),
        bytes,
        state,
    }
}

fn bytes_in(folder: &Path) -> u64 {
    folders(folder)
        .iter()
        .filter_map(|path| Some(path.metadata().ok()?.len()))
        .sum()
}

/// What a run on nodes of ours would fetch first, and the command that does it before; none: the
/// jars are there.
pub fn absent(cache: &Path, version: &str) -> Option<String> {
    if home().is_ok_and(|home| home.is_some()) {
        return None;
    }
    let recipe = Recipe::of(version).ok()?;
    if recipe.folder_in(cache).is_dir() {
        return None;
    }
    let size = recipe.bytes().map(|bytes| format!(" ({})", number::bytes(bytes)));
    let option = match version {
        CASSANDRA_VERSION => String::new(),
        other => format!(" --cassandra {other}"),
    };
    Some(format!(
        "the jars of Cassandra {version}{} are not in the cache: a run fetches them first, \
         `cassay supply fetch{option}` does it now",
        size.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_cache_lacks_the_pinned_version_and_folders_of_other_locks_are_told() {
        let cache = tempfile::tempdir().unwrap();
        let all = list(cache.path()).unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].state, State::Absent);
        assert_eq!(all[0].version, CASSANDRA_VERSION);
        let old = cache.path().join("cassandra-5.0.7-0123456789ab");
        std::fs::create_dir(&old).unwrap();
        std::fs::write(old.join("a.jar"), "12345").unwrap();
        std::fs::write(cache.path().join("agent"), "").unwrap();
        let all = list(cache.path()).unwrap();
        assert_eq!(all.len(), 2);
        assert_eq!((all[1].version.as_str(), all[1].bytes), ("5.0.7", 5));
        assert_eq!(all[1].state, State::Unused);
    }

    #[test]
    fn what_is_absent_is_said_with_the_command_that_brings_it() {
        let cache = tempfile::tempdir().unwrap();
        let said = absent(cache.path(), CASSANDRA_VERSION).unwrap();
        assert!(said.contains("`cassay supply fetch` does it now"), "{said}");
        let said = absent(cache.path(), "5.0.6").unwrap();
        assert!(
            said.contains("`cassay supply fetch --cassandra 5.0.6`"),
            "{said}"
        );
        let folder = Recipe::of("5.0.6").unwrap().folder_in(cache.path());
        std::fs::create_dir(folder).unwrap();
        assert_eq!(absent(cache.path(), "5.0.6"), None);
    }
}
