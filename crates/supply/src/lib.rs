//! The only crate that knows where what a node is started from comes from: Cassandra's jars and a
//! Java.
//!
//! `maven/pom.xml` and `maven/supply.lock` are part of the program, so that an installed binary
//! needs no checkout. Jars come from the cache, from Maven's own cache, from a Maven repository by
//! HTTPS, by Maven itself, or from a bundle ([`export`], [`import`]); whatever the way, every one
//! of them is compared with its SHA-256 before it is used. The lock is of one version. Of another
//! 5.0.x, Maven must find every jar to have the checksum that the repository has for it; what it
//! brings is written down as the lock of that folder, and jars that the checked-in lock knows by
//! name must be those. Nothing here prints: what is said goes to a [`Voice`].

mod bundle;
mod failure;
mod fetch;
mod files;
mod fill;
pub mod java;
mod listing;
mod lock;
mod maven;
mod recipe;
mod repository;
#[cfg(test)]
mod served;
mod settings;
mod voice;

pub use bundle::{Bundle, export, import};
pub use files::{boot_id, digest_of, digest_of_texts, identity_of, write_whole};
pub use listing::{Cached, State, absent, list};
pub use voice::{Message, Progress, Voice, plainly};

use anyhow::{Context, Result, bail};
use files::name_of;
use lock::{HINTS, Lock};
use recipe::Recipe;
use std::path::{Path, PathBuf};
use target::{CASSANDRA_VERSION, unsupported_version};

/// What a node is started from.
#[derive(Clone, Debug)]
pub struct Supply {
    /// Class path of the server, without the node's own configuration folder.
    pub classpath: String,
    /// The agent that measures objects; Cassandra refuses to size memtables well without it.
    pub jamm: PathBuf,
    /// The agent that offers MBeans over HTTP, if we have it.
    pub jolokia: Option<PathBuf>,
    /// Which methods the compiler should inline or not: the server is built with these hints.
    pub compiler_hints: Option<PathBuf>,
    /// Version of Cassandra.
    pub version: String,
}

/// A folder of the cache that has all jars of a version.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The folder.
    pub folder: PathBuf,
    /// How many files it has.
    pub files: usize,
    /// Whether all of them were there before.
    pub was_there: bool,
}

/// Makes the jars of `version` available in `cache`, or uses the distribution at `home`.
///
/// # Errors
/// A version that is not 5.0.x is asked for; nobody brings a jar; one is missing, unknown or
/// differs from the lock; the distribution is of another version.
pub fn resolve(
    cache: &Path,
    version: &str,
    home: Option<&Path>,
    voice: &mut Voice<'_>,
) -> Result<Supply> {
    if let Some(home) = home {
        let supply = of_distribution(home, version, cached_jolokia(cache))?;
        voice(Message::Line(&format!(
            "Cassandra {version} from CASSANDRA_HOME={}",
            home.display()
        )));
        return Ok(supply);
    }
    let recipe = recipe(version)?;
    let folder = recipe.folder_in(cache);
    let (lock, _) = filled(&folder, &recipe, None, voice)?;
    if recipe.pinned.is_none() {
        voice(Message::Line(&format!(
            "Cassandra {version} is not pinned as {CASSANDRA_VERSION} is: its jars are those whose \
             checksums Maven found right when they were fetched"
        )));
    }
    Ok(of_jars(&folder, &lock, version))
}

/// Makes the jars of `version` available in `cache`, from `repository` if one is named.
///
/// # Errors
/// As of [`resolve`].
pub fn fetch(
    cache: &Path,
    version: &str,
    repository: Option<&str>,
    voice: &mut Voice<'_>,
) -> Result<Fetched> {
    let recipe = recipe(version)?;
    let folder = recipe.folder_in(cache);
    let (lock, was_there) = filled(&folder, &recipe, repository, voice)?;
    Ok(Fetched {
        folder,
        files: lock.len(),
        was_there,
    })
}

/// The recipe of a version, if we can start it.
fn recipe(version: &str) -> Result<Recipe> {
    if !is_supported(version) {
        let (why, hint) = unsupported_version(version);
        bail!("{why}\nhint: {hint}");
    }
    Recipe::of(version)
}

/// The lock of a folder that has every file of it; whether it had before.
fn filled(
    folder: &Path,
    recipe: &Recipe,
    repository: Option<&str>,
    voice: &mut Voice<'_>,
) -> Result<(Lock, bool)> {
    let why = match recipe.checked(folder) {
        Ok(lock) => return Ok((lock, true)),
        Err(why) => why,
    };
    if let Some(why) = why {
        let folder = folder.display();
        voice(Message::Line(&format!(
            "{folder}: {why}; all jars are fetched anew"
        )));
    }
    Ok((fill::fill(folder, recipe, repository, voice)?, false))
}

/// Makes sure that the jars of `version` are in `cache` or could be fetched, without fetching them
/// or comparing those that are there with the lock.
///
/// # Errors
/// They are not there, and nothing could fetch them.
pub fn obtainable(cache: &Path, version: &str) -> Result<()> {
    if let Some(home) = home()? {
        return of_distribution(&home, version, None).map(drop);
    }
    let recipe = Recipe::of(version)?;
    if recipe.folder_in(cache).is_dir() {
        return Ok(());
    }
    fill::could_be_filled(&recipe)
}

/// The unpacked distribution that the environment names; none: the jars are ours.
///
/// # Errors
/// It is not there.
pub fn home() -> Result<Option<PathBuf>> {
    let home = std::env::var_os("CASSANDRA_HOME").filter(|home| !home.is_empty());
    let absolute = home.map(|home| {
        let home = Path::new(&home);
        let found = home.canonicalize();
        found.with_context(|| format!("look at CASSANDRA_HOME={}", home.display()))
    });
    absolute.transpose()
}

/// `5.0.` and a number: releases that Maven knows and that differ little in what we rely on.
fn is_supported(version: &str) -> bool {
    let patch = version.strip_prefix("5.0.");
    patch.is_some_and(|patch| !patch.is_empty() && patch.bytes().all(|b| b.is_ascii_digit()))
}

fn of_jars(folder: &Path, lock: &Lock, version: &str) -> Supply {
    let jar = |start: &str| lock.keys().find(|name| name.starts_with(start));
    let path = |name: &String| folder.join(name);
    let jolokia = jar("jolokia-agent-jvm-").map(path);
    let is_of_server = |name: &&String| name.ends_with(".jar") && !name.starts_with("jolokia-");
    let names = lock.keys().filter(is_of_server);
    let paths: Vec<String> = names.map(|name| path(name).display().to_string()).collect();
    Supply {
        classpath: paths.join(":"),
        jamm: jar("jamm-").map(path).unwrap_or_default(),
        jolokia,
        compiler_hints: Some(folder.join(HINTS)),
        version: version.to_string(),
    }
}

/// The agent, if an earlier run has filled the cache: a distribution does not bring it.
fn cached_jolokia(cache: &Path) -> Option<PathBuf> {
    let recipe = Recipe::of(CASSANDRA_VERSION).ok()?;
    let folder = recipe.folder_in(cache);
    let lock = recipe.checked(&folder).ok()?;
    of_jars(&folder, &lock, CASSANDRA_VERSION).jolokia
}

/// Uses an unpacked distribution; its `lib` must hold the version that is asked for.
fn of_distribution(home: &Path, version: &str, jolokia: Option<PathBuf>) -> Result<Supply> {
    let lib = home.join("lib");
    let mut jars: Vec<PathBuf> = std::fs::read_dir(&lib)
        .with_context(|| format!("CASSANDRA_HOME={}: read its folder lib", home.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "jar"))
        .collect();
    jars.sort();
    let jar = |start: &str| {
        let starts = |path: &&PathBuf| name_of(path).is_some_and(|name| name.starts_with(start));
        jars.iter().find(starts)
    };
    let Some(server) = jar("apache-cassandra-").and_then(|path| name_of(path)) else {
        bail!(
            "CASSANDRA_HOME={} has no lib/apache-cassandra-VERSION.jar\n\
             hint: it must be an unpacked binary distribution; unset it to have the jars fetched",
            home.display()
        );
    };
    let found = server.trim_start_matches("apache-cassandra-").trim_end_matches(".jar");
    if found != version || !found.starts_with("5.0.") {
        bail!(
            "CASSANDRA_HOME={} is Cassandra {found}, but {version} is asked for (and our settings \
             and JVM options are written for 5.0)",
            home.display()
        );
    }
    let jamm = jar("jamm-").with_context(|| format!("{} has no jamm jar", lib.display()))?;
    let paths: Vec<String> = jars.iter().map(|path| path.display().to_string()).collect();
    Ok(Supply {
        classpath: paths.join(":"),
        jamm: jamm.clone(),
        jolokia,
        compiler_hints: Some(home.join("conf/hotspot_compiler")).filter(|path| path.is_file()),
        version: found.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::{LOCK, lock_of, parse_pinned};

    #[test]
    fn the_lock_lists_the_server_and_both_agents() {
        let lock = lock_of(&parse_pinned(LOCK).unwrap());
        let supply = of_jars(Path::new("/cache"), &lock, CASSANDRA_VERSION);
        let server = format!("/cache/cassandra-all-{CASSANDRA_VERSION}.jar");
        assert!(supply.classpath.split(':').any(|path| path == server));
        assert!(
            !supply.classpath.contains("jolokia"),
            "an agent is not on the class path"
        );
        assert!(supply.jamm.starts_with("/cache/"));
        assert!(supply.jolokia.is_some());
    }

    #[test]
    fn only_releases_of_5_0_are_taken() {
        for version in ["5.0.6", "5.0.12"] {
            assert!(is_supported(version), "{version}");
        }
        for version in [
            "4.1.9",
            "5.0",
            "5.0.",
            "5.0.1-beta",
            "5.0.x",
            "5.1.0",
            "15.0.1",
        ] {
            assert!(!is_supported(version), "{version}");
        }
    }

    #[test]
    fn another_version_needs_a_distribution_of_just_that_version() {
        let cache = tempfile::tempdir().unwrap();
        let error = resolve(cache.path(), "4.1.9", None, &mut |_: Message<'_>| ())
            .unwrap_err()
            .to_string();
        assert!(error.contains("written for 5.0.x"), "{error}");
        let home = tempfile::tempdir().unwrap();
        let lib = home.path().join("lib");
        std::fs::create_dir(&lib).unwrap();
        for name in ["apache-cassandra-5.0.7.jar", "jamm-0.4.0.jar", "NOTES"] {
            std::fs::write(lib.join(name), "").unwrap();
        }
        let supply = resolve(
            cache.path(),
            "5.0.7",
            Some(home.path()),
            &mut |_: Message<'_>| (),
        )
        .unwrap();
        assert_eq!(supply.jamm, lib.join("jamm-0.4.0.jar"));
        assert_eq!(supply.jolokia, None);
        assert!(!supply.classpath.contains("NOTES"));
        let error = resolve(
            cache.path(),
            "5.0.8",
            Some(home.path()),
            &mut |_: Message<'_>| (),
        )
        .unwrap_err();
        assert!(error.to_string().contains("is Cassandra 5.0.7"), "{error}");
    }
}
