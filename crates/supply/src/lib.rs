//! The only crate that finds or downloads Cassandra's jars, and finds a Java.
//!
//! The poms and the digests of the jars are embedded in the program (`versions`), so an installed
//! binary requires no checkout. Jars come from the cache, from Maven's own cache, from a Maven
//! repository over HTTPS, from Maven itself, or from a bundle ([`export`], [`import`]). cassay
//! always compares each jar with its SHA-256 before use. The lock of a release line belongs to its
//! pinned version. For another release, Maven must check every jar against the repository's
//! checksum, and these digests become the lock of that folder. Jars whose names are in the lock of
//! the line must also match that lock. This crate prints nothing, but sends messages to a
//! [`Voice`].

mod bundle;
mod failure;
mod fetch;
mod files;
mod fill;
pub mod java;
mod listing;
mod lock;
mod maven;
pub mod profiler;
mod progress;
mod published;
mod repository;
mod settings;
#[cfg(test)]
mod test_repository;
mod user_cassandra;
mod version_files;

pub use bundle::{Bundle, export, import};
pub use files::{boot_id, digest_of, digest_of_texts, identity_of, write_whole};
pub use listing::{CachedJars, State, absent, list};
pub use progress::{Message, Progress, Voice, plainly};
pub use published::is_published;
pub use settings::Settings as MavenSettings;

use anyhow::{Context, Result, ensure};
use lock::{HINTS, Lock};
use std::path::{Path, PathBuf};
use target_spec::{BuildIdentity, Origin};
use version_files::Recipe;
use versions::{Home, Line, Release};

/// Files from which a node starts.
#[derive(Clone, Debug)]
pub struct Supply {
    /// Class path of Cassandra, without the node's configuration folder.
    pub classpath: String,
    /// Java agent that measures object sizes. Without it, Cassandra's estimate of memtable sizes is
    /// inaccurate.
    pub jamm: PathBuf,
    /// Java agent that provides MBeans over HTTP, if available.
    pub jolokia: Option<PathBuf>,
    /// Hints for the JVM's compiler about methods to inline. `None` if Cassandra's build lacks
    /// them.
    pub compiler_hints: Option<PathBuf>,
    /// Library of async-profiler, if nodes must load it.
    pub profiler: Option<PathBuf>,
    /// Release of Cassandra.
    pub release: Release,
    /// Identity of a build among builds with the same name. `None` for pinned releases and for
    /// releases fetched by name.
    pub build: Option<BuildIdentity>,
}

/// Folder of the cache with all jars of a version.
#[derive(Clone, Debug)]
pub struct FetchedJars {
    pub folder: PathBuf,
    /// Number of files in the folder.
    pub files: usize,
    /// True if all files were already in the cache.
    pub was_there: bool,
}

/// Returns `origin`, unless it is the default and the environment specifies a distribution.
///
/// # Errors
/// The distribution does not exist, or has another version.
pub fn meant((release, origin): (&Release, &Origin), voice: &mut Voice<'_>) -> Result<Origin> {
    let Some(folder) = home()?.filter(|_| *origin == Origin::Maven) else {
        return Ok(origin.clone());
    };
    let found = Home::read(&folder)?.release;
    let shown = folder.display();
    ensure!(
        found == *release,
        "CASSANDRA_HOME={shown} is Cassandra {found}, but the target requires {release}\nhint: \
         unset CASSANDRA_HOME, or use `cassandra: {found}`"
    );
    voice(Message::Line(&format!(
        "Cassandra {found} from CASSANDRA_HOME={shown}"
    )));
    Ok(Origin::Home(folder))
}

/// Makes the files of a release available: the jars in `cache`, or the files of `origin`.
///
/// # Errors
/// A jar cannot be fetched, is missing or unknown, or differs from the lock. The files of `origin`
/// do not exist, or belong to another line.
pub fn resolve(
    cache: &Path,
    (release, origin): (&Release, &Origin),
    voice: &mut Voice<'_>,
) -> Result<Supply> {
    let jolokia = || cached_jolokia(cache);
    let supply = match origin {
        Origin::Maven => return supply_release(cache, release, voice),
        Origin::Home(home) => user_cassandra::read_home(home, jolokia())?,
        Origin::Tarball { file, sha256 } => user_cassandra::read_home(
            &user_cassandra::unpacked(cache, file, sha256, voice)?,
            jolokia(),
        )?,
        Origin::Build { command, home } => {
            user_cassandra::build(command, home, voice)?;
            user_cassandra::read_home(home, jolokia())?
        }
    };
    ensure!(
        std::ptr::eq(supply.release.line(), release.line()),
        "the build is Cassandra {}, but the plan expects {release}, which belongs to another line",
        supply.release
    );
    Ok(supply)
}

/// Returns the jars of a release from the cache, after fetching missing ones.
fn supply_release(cache: &Path, release: &Release, voice: &mut Voice<'_>) -> Result<Supply> {
    let recipe = Recipe::read(release)?;
    let folder = recipe.folder_in(cache);
    let (lock, _) = filled(&folder, &recipe, None, voice)?;
    if recipe.pinned.is_none() {
        voice(Message::Line(&format!(
            "cassay does not know the checksums of Cassandra {release}, unlike those of {}, so \
             only Maven checked the jars during the download",
            release.line().pinned
        )));
    }
    Ok(list_jars(&folder, &lock, release))
}

/// Makes the jars of a release available in `cache`. Missing jars come from `repository`, if given.
///
/// # Errors
/// The errors of [`resolve`].
pub fn fetch(
    cache: &Path,
    release: &Release,
    repository: Option<&str>,
    voice: &mut Voice<'_>,
) -> Result<FetchedJars> {
    let recipe = Recipe::read(release)?;
    let folder = recipe.folder_in(cache);
    let (lock, was_there) = filled(&folder, &recipe, repository, voice)?;
    Ok(FetchedJars {
        folder,
        files: lock.len(),
        was_there,
    })
}

/// Fills a folder unless it is complete. Returns the lock of the folder, and true if it was
/// complete.
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
            "{folder}: {why}; cassay downloads all jars again"
        )));
    }
    Ok((fill::fill(folder, recipe, repository, voice)?, false))
}

/// Checks that the files of a release exist or could be fetched. Does not fetch, unpack or build
/// files, and does not compare existing jars with the lock.
///
/// # Errors
/// The files do not exist, and no source could provide them.
pub fn obtainable(cache: &Path, (release, origin): (&Release, &Origin)) -> Result<()> {
    match origin {
        Origin::Maven => {}
        Origin::Home(home) => return Ok(Home::read(home).map(drop)?),
        // The content of the tarball was already checked when the study was read.
        Origin::Tarball { file, .. } => {
            let found = file.metadata();
            return found.map(drop).with_context(|| format!("look at {}", file.display()));
        }
        Origin::Build { home, .. } => {
            ensure!(
                home.is_dir(),
                "the working folder {} of the build does not exist",
                home.display()
            );
            return Ok(());
        }
    }
    if let Some(home) = home()? {
        return Ok(Home::read(&home).map(drop)?);
    }
    let recipe = Recipe::read(release)?;
    if recipe.folder_in(cache).is_dir() {
        return Ok(());
    }
    fill::could_be_filled(&recipe)
}

/// Returns the unpacked distribution that `CASSANDRA_HOME` specifies, if any.
///
/// # Errors
/// The distribution does not exist.
pub fn home() -> Result<Option<PathBuf>> {
    let home = std::env::var_os("CASSANDRA_HOME").filter(|home| !home.is_empty());
    let absolute = home.map(|home| {
        let home = Path::new(&home);
        let found = home.canonicalize();
        found.with_context(|| format!("check CASSANDRA_HOME={}", home.display()))
    });
    absolute.transpose()
}

fn list_jars(folder: &Path, lock: &Lock, release: &Release) -> Supply {
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
        profiler: None,
        release: release.clone(),
        build: None,
    }
}

/// Returns the Jolokia agent from the cache, if an earlier run fetched it. Distributions do not
/// contain this agent.
fn cached_jolokia(cache: &Path) -> Option<PathBuf> {
    let of_line = |line: &&Line| {
        let recipe = Recipe::read(&line.release()).ok()?;
        let folder = recipe.folder_in(cache);
        let lock = recipe.checked(&folder).ok()?;
        list_jars(&folder, &lock, &recipe.release).jolokia
    };
    versions::LINES.iter().find_map(of_line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::{lock_of, parse_pinned};

    #[test]
    fn each_lock_lists_the_server_and_both_agents() {
        for line in versions::LINES {
            let lock = lock_of(&parse_pinned(line.lock).unwrap());
            let supply = list_jars(Path::new("/cache"), &lock, &line.release());
            let server = format!("/cache/cassandra-all-{}.jar", line.pinned);
            assert!(supply.classpath.split(':').any(|path| path == server));
            assert!(
                !supply.classpath.contains("jolokia"),
                "an agent is not on the class path"
            );
            assert!(supply.jamm.starts_with("/cache/"));
            assert!(supply.jolokia.is_some());
        }
    }

    #[test]
    fn a_home_must_be_of_the_line_that_was_planned() {
        let cache = tempfile::tempdir().unwrap();
        let home = tempfile::tempdir().unwrap();
        let lib = home.path().join("lib");
        std::fs::create_dir(&lib).unwrap();
        for name in ["apache-cassandra-5.0.7.jar", "jamm-0.4.0.jar", "NOTES"] {
            std::fs::write(lib.join(name), "").unwrap();
        }
        let origin = Origin::Home(home.path().to_owned());
        let of = |release: &str| {
            let release = Release::parse(release).unwrap();
            resolve(cache.path(), (&release, &origin), &mut |_: Message<'_>| ())
        };
        let supply = of("5.0.9").unwrap();
        assert_eq!(supply.release.version(), "5.0.7");
        assert_eq!(supply.jamm, lib.join("jamm-0.4.0.jar"));
        assert_eq!(supply.jolokia, None);
        assert!(!supply.classpath.contains("NOTES"));
        let error = of("4.1").unwrap_err().to_string();
        assert!(
            error.contains("the plan expects 4.1.10, which belongs to another line"),
            "{error}"
        );
    }
}
