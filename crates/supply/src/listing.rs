//! Lists the content of the cache.

use crate::fill::{folders, left_over};
use crate::version_files::Recipe;
use crate::{files, home};
use anyhow::Result;
use measure::number;
use std::path::{Path, PathBuf};
use versions::{LINES, Release};

/// Prefix of folders with jars.
const BEGIN: &str = "cassandra-";

/// Jars of a version in the cache.
#[derive(Clone, Debug)]
pub struct CachedJars {
    pub version: String,
    pub folder: PathBuf,
    /// Total size of the jars.
    pub bytes: u64,
    pub state: State,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// All jars are in the cache, and match their digests.
    Whole,
    /// An interrupted fetch, which can be continued.
    Begun,
    /// The jars belong to another lock than this program's, so cassay does not use them.
    Unused,
    /// A jar has changed, as the sentence describes. All jars are fetched again when they are
    /// needed.
    Changed(String),
    /// The cache contains no jars of this version.
    Absent,
}

impl State {
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

/// Lists the jars in the cache. The pinned version of each line comes first, even if it is absent.
///
/// # Errors
/// The program's lock cannot be read.
pub fn list(cache: &Path) -> Result<Vec<CachedJars>> {
    let mut all = Vec::new();
    for line in LINES {
        let pinned = Recipe::read(&line.release())?;
        all.push(cached(&pinned, &pinned.folder_in(cache), cache));
    }
    let own: Vec<PathBuf> = all.iter().map(|pinned| pinned.folder.clone()).collect();
    for folder in folders(cache).into_iter().filter(|folder| folder.is_dir()) {
        let name = files::name_of(&folder).and_then(|name| name.strip_prefix(BEGIN));
        // The name ends with a hash, which `unpinned` may precede.
        let version = name.and_then(|name| name.rsplit_once('-')).map(|(version, _)| version);
        let Some(version) = version.filter(|_| !own.contains(&folder)) else {
            continue;
        };
        let version = version.strip_suffix("-unpinned").unwrap_or(version);
        let recipe = Release::parse(version).ok().and_then(|release| Recipe::read(&release).ok());
        let ours = recipe.filter(|recipe| recipe.folder_in(cache) == folder);
        all.push(match ours {
            Some(recipe) => cached(&recipe, &folder, cache),
            None => CachedJars {
                version: version.to_string(),
                bytes: bytes_in(&folder),
                folder,
                state: State::Unused,
            },
        });
    }
    Ok(all)
}

fn cached(recipe: &Recipe, folder: &Path, cache: &Path) -> CachedJars {
    let left = left_over(cache, recipe);
    let (state, bytes) = match recipe.checked(folder) {
        Ok(_) => (State::Whole, bytes_in(folder)),
        Err(Some(why)) => (State::Changed(why), bytes_in(folder)),
        Err(None) if left > 0 => (State::Begun, left),
        Err(None) => (State::Absent, 0),
    };
    CachedJars {
        version: recipe.release.to_string(),
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

/// Returns a sentence about the jars that a run on local nodes would first have to fetch, with the
/// command for this. Returns `None` if the jars are in the cache.
pub fn absent(cache: &Path, release: &Release) -> Option<String> {
    if home().is_ok_and(|home| home.is_some()) {
        return None;
    }
    let recipe = Recipe::read(release).ok()?;
    if recipe.folder_in(cache).is_dir() {
        return None;
    }
    let size = recipe.bytes().map(|bytes| format!(" ({})", number::bytes(bytes)));
    let option = if *release == versions::DEFAULT.release() {
        String::new()
    } else {
        format!(" --cassandra {release}")
    };
    Some(format!(
        "the cache does not contain the jars of Cassandra {release}{}: a run downloads them first, \
         and `cassay supply fetch{option}` downloads them now",
        size.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_cache_lacks_the_pinned_version_and_lists_others() {
        let cache = tempfile::tempdir().unwrap();
        let all = list(cache.path()).unwrap();
        let versions: Vec<&str> = all.iter().map(|one| one.version.as_str()).collect();
        assert_eq!(versions, LINES.map(|line| line.pinned));
        assert!(all.iter().all(|one| one.state == State::Absent));
        let old = cache.path().join("cassandra-5.0.7-0123456789ab");
        std::fs::create_dir(&old).unwrap();
        std::fs::write(old.join("a.jar"), "12345").unwrap();
        std::fs::write(cache.path().join("agent"), "").unwrap();
        let all = list(cache.path()).unwrap();
        assert_eq!(all.len(), LINES.len() + 1);
        let last = all.last().unwrap();
        assert_eq!((last.version.as_str(), last.bytes), ("5.0.7", 5));
        assert_eq!(last.state, State::Unused);
    }

    #[test]
    fn an_absent_release_is_reported_with_the_command_for_it() {
        let cache = tempfile::tempdir().unwrap();
        let said = absent(cache.path(), &versions::DEFAULT.release()).unwrap();
        assert!(
            said.contains("`cassay supply fetch` downloads them now"),
            "{said}"
        );
        let other = Release::parse("5.0.6").unwrap();
        let said = absent(cache.path(), &other).unwrap();
        assert!(
            said.contains("`cassay supply fetch --cassandra 5.0.6`"),
            "{said}"
        );
        let folder = Recipe::read(&other).unwrap().folder_in(cache.path());
        std::fs::create_dir(folder).unwrap();
        assert_eq!(absent(cache.path(), &other), None);
    }
}
