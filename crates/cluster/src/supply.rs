//! Where the jars come from: Maven, once, checked against a lock file; offline afterwards.
//!
//! Long because each way of being sure of a jar has its refusals, with a test for each.
//!
//! `maven/pom.xml` and `maven/supply.lock` are part of the program, so that an installed binary
//! needs no checkout. A folder of jars is only ever used after every jar of the lock was there with
//! its SHA-256 and nothing else was. All digests are looked at again once in every boot of the
//! machine, and as soon as a file is not the very one that was looked at: its inode, size and the
//! times of its last changes are in the stamp. The kernel sets the time of the last change of an
//! inode by itself, so that a jar of the same size with its old date is another one.
//!
//! The lock is of one version. Of another 5.0.x, Maven must find every jar to have the checksum
//! that the repository has for it; what it brings is written down as the lock of that folder, and
//! jars that the checked-in lock knows by name must be those.

mod maven;

use crate::local::state::boot_id;
use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use target::{CASSANDRA_VERSION, unsupported_version};

const POM: &str = include_str!("../maven/pom.xml");
const LOCK: &str = include_str!("../maven/supply.lock");

/// Where the compiler's hints are in the server's jar; Apache's scripts use the same file.
const HINTS_FOLDER: &str = "META-INF";
const HINTS: &str = "hotspot_compiler";

/// The file that says which lock a folder was checked against, and the size of every jar.
const STAMP: &str = "checked";

/// The lock of a folder whose version no lock is checked in for.
const RECORD: &str = "supply.lock";

/// Begin of the name of a folder that is being filled.
const FILLING: &str = "filling-";

/// A folder that is older and still being filled has been abandoned: Maven takes minutes.
const FILL_LIMIT: Duration = Duration::from_secs(3600);

/// What a node is started from.
#[derive(Clone, Debug)]
pub(crate) struct Supply {
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

/// One line of the lock: a jar and its SHA-256 in lower-case hexadecimal digits.
type Lock = BTreeMap<String, String>;

/// Which jars, and how they are known to be right.
#[derive(Debug)]
struct Recipe {
    version: String,
    pom: String,
    /// The checked-in lock, for the version that it is of.
    lock: Option<Lock>,
}

impl Recipe {
    fn of(version: &str) -> Result<Recipe> {
        let element = |version: &str| format!("<version>{version}</version>");
        Ok(Recipe {
            version: version.to_string(),
            pom: POM.replace(&element(CASSANDRA_VERSION), &element(version)),
            lock: match version {
                CASSANDRA_VERSION => Some(parse_lock(LOCK)?),
                _ => None,
            },
        })
    }

    /// The folder of the jars: another pom or lock gets another folder.
    fn folder_in(&self, cache: &Path) -> PathBuf {
        let digest = digest_of_texts(&[&self.pom, LOCK]);
        let begin = if self.lock.is_some() { "" } else { "unpinned-" };
        cache.join(format!(
            "cassandra-{}-{begin}{}",
            self.version,
            &digest[..12]
        ))
    }

    /// The lock that the jars in a folder must fit: ours, or what was written down when they came.
    fn lock_of(&self, folder: &Path) -> Option<Lock> {
        let record = || parse_lock(&std::fs::read_to_string(folder.join(RECORD)).ok()?).ok();
        self.lock.clone().or_else(record)
    }

    /// The lock of a folder of which every jar is what it says: as the stamp remembers it, or,
    /// where it does not, as all digests show now. The error is a sentence about what is not as it
    /// was; none where the folder was never filled.
    fn checked(&self, folder: &Path) -> Result<Lock, Option<String>> {
        let stamp = std::fs::read_to_string(folder.join(STAMP)).map_err(|_| None)?;
        let lock = self.lock_of(folder).ok_or(None)?;
        let said = |error: anyhow::Error| Some(format!("{error:#}"));
        // What the digests are of is looked at first: a change after that shows in the next stamp.
        let now = self.stamp_of(folder, &lock).map_err(said)?;
        if now == stamp {
            return Ok(lock);
        }
        // Its begin is the recipe's: a folder of another one is not looked at any further.
        if now.lines().next() != stamp.lines().next() {
            return Err(None);
        }
        check_digests(folder, &lock).map_err(said)?;
        // A cache that cannot be written to is looked at in full every time.
        let _ = write_whole(&folder.join(STAMP), &now);
        Ok(lock)
    }

    /// The digest of pom and lock, the machine's boot, then what tells every jar from another one.
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

/// What tells a file from every other one, and from itself before a change.
pub(crate) fn identity_of(path: &Path) -> Result<String> {
    let meta = path.metadata().with_context(|| format!("look at {}", path.display()))?;
    Ok(format!(
        "{} {}:{} {}.{} {}.{}",
        meta.len(),
        meta.dev(),
        meta.ino(),
        meta.mtime(),
        meta.mtime_nsec(),
        meta.ctime(),
        meta.ctime_nsec()
    ))
}

pub(crate) fn digest_of_texts(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(text.as_bytes());
    }
    hex(&hash.finalize())
}

/// Makes the jars of `version` available in `cache`, or uses the distribution at `home`.
///
/// # Errors
/// A version that is not 5.0.x is asked for; Maven is missing or fails; a jar is missing, unknown
/// or differs from the lock; the distribution is of another version.
pub(crate) fn resolve(
    cache: &Path,
    version: &str,
    home: Option<&Path>,
    say: &mut dyn FnMut(&str),
) -> Result<Supply> {
    if let Some(home) = home {
        let supply = of_distribution(home, version, cached_jolokia(cache))?;
        say(&format!(
            "Cassandra {version} from CASSANDRA_HOME={}",
            home.display()
        ));
        return Ok(supply);
    }
    if !is_supported(version) {
        let (why, hint) = unsupported_version(version);
        bail!("{why}\nhint: {hint}");
    }
    let recipe = Recipe::of(version)?;
    let folder = recipe.folder_in(cache);
    let lock = match recipe.checked(&folder) {
        Ok(lock) => lock,
        Err(why) => {
            if let Some(why) = why {
                say(&format!(
                    "{}: {why}; all jars are fetched anew",
                    folder.display()
                ));
            }
            fill(&folder, &recipe, say)?
        }
    };
    if recipe.lock.is_none() {
        say(&format!(
            "Cassandra {version} is not pinned as {CASSANDRA_VERSION} is: its jars are those whose \
             checksums Maven found right when they were fetched"
        ));
    }
    Ok(of_jars(&folder, &lock, version))
}

/// Makes sure that the jars of `version` are in `cache` or could be fetched, without fetching them
/// or comparing those that are there with the lock.
///
/// # Errors
/// They are not there, and nothing could fetch them.
pub(crate) fn obtainable(cache: &Path, version: &str) -> Result<()> {
    if let Some(home) = home()? {
        return of_distribution(&home, version, None).map(drop);
    }
    let folder = Recipe::of(version)?.folder_in(cache);
    if folder.is_dir() {
        Ok(())
    } else {
        maven::find(version).map(drop)
    }
}

/// The unpacked distribution that the environment names; none: the jars are ours.
///
/// # Errors
/// It is not there.
pub(crate) fn home() -> Result<Option<PathBuf>> {
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
             hint: it must be an unpacked binary distribution; unset it to use Maven",
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

fn name_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

fn parse_lock(text: &str) -> Result<Lock> {
    let line = |line: &str| -> Option<(String, String)> {
        let (digest, name) = line.split_once("  ")?;
        (digest.len() == 64).then(|| (name.to_string(), digest.to_string()))
    };
    text.lines()
        .enumerate()
        .map(|(index, text)| {
            line(text).with_context(|| format!("supply.lock line {}: {text:?}", index + 1))
        })
        .collect()
}

fn lock_text(lock: &Lock) -> String {
    let line = |(name, digest): (&String, &String)| format!("{digest}  {name}\n");
    lock.iter().map(line).collect()
}

/// Runs Maven into a new folder, checks what it brought, then puts the folder in its place. The
/// lock that the jars fit.
fn fill(folder: &Path, recipe: &Recipe, say: &mut dyn FnMut(&str)) -> Result<Lock> {
    let cache = folder.parent().context("the cache folder has no parent")?;
    std::fs::create_dir_all(cache)
        .with_context(|| format!("make the cache folder {}", cache.display()))?;
    remove_abandoned(cache);
    let fresh = tempfile::Builder::new()
        .prefix(FILLING)
        .tempdir_in(cache)
        .with_context(|| format!("make a folder in {}", cache.display()))?;
    let jars = fresh.path().join("jars");
    std::fs::create_dir(&jars).with_context(|| format!("make {}", jars.display()))?;
    std::fs::write(fresh.path().join("pom.xml"), &recipe.pom).context("write the pom for Maven")?;
    let is_pinned = recipe.lock.is_some();
    maven::run(fresh.path(), &jars, &recipe.version, is_pinned, say)?;
    let unpacked = jars.join(HINTS_FOLDER);
    std::fs::rename(unpacked.join(HINTS), jars.join(HINTS))
        .and_then(|()| std::fs::remove_dir_all(&unpacked))
        .context("find the compiler's hints in the server's jar")?;
    let lock = match &recipe.lock {
        Some(lock) => {
            say(&format!(
                "checking {} files against supply.lock",
                lock.len()
            ));
            check(&jars, lock)?;
            lock.clone()
        }
        None => record(&jars, &recipe.version)?,
    };
    let stamp = recipe.stamp_of(&jars, &lock)?;
    write_whole(&jars.join(STAMP), &stamp)?;
    if folder.exists() {
        std::fs::remove_dir_all(folder)
            .with_context(|| format!("remove the incomplete {}", folder.display()))?;
    }
    match std::fs::rename(&jars, folder) {
        Ok(()) => Ok(lock),
        // Another cassay may have been quicker; what it put there was checked as well.
        Err(error) => recipe
            .checked(folder)
            .map_err(|_| error)
            .with_context(|| format!("put {} in place", folder.display())),
    }
}

/// Writes down what Maven has brought of a version that no lock is checked in for.
fn record(jars: &Path, version: &str) -> Result<Lock> {
    let mut lock = Lock::new();
    let entries = std::fs::read_dir(jars).with_context(|| format!("read {}", jars.display()))?;
    for entry in entries {
        let path = entry.context("read the folder of jars")?.path();
        let digest = digest_of(&path).with_context(|| format!("read {}", path.display()))?;
        if let Some(name) = name_of(&path) {
            lock.insert(name.to_string(), digest);
        }
    }
    check_known(&lock, version)?;
    std::fs::write(jars.join(RECORD), lock_text(&lock)).context("write down what has come")?;
    Ok(lock)
}

/// Whether a lock that we have not made by hand can be one: the server of the version and its
/// agents are there, and what the checked-in lock knows is what it says.
fn check_known(lock: &Lock, version: &str) -> Result<()> {
    for (name, digest) in parse_lock(LOCK)? {
        // The hints are of the server, and have its version in no name.
        let found = lock.get(&name).filter(|_| name.ends_with(".jar"));
        if let Some(found) = found.filter(|found| **found != digest) {
            bail!(
                "{name} is not the jar of supply.lock: its SHA-256 is {found}, the lock says \
                 {digest}\nhint: remove it from Maven's repository (~/.m2) and try again"
            );
        }
    }
    let server = format!("cassandra-all-{version}.jar");
    for start in [server.as_str(), "jamm-", "jolokia-agent-jvm-"] {
        if !lock.keys().any(|name| name.starts_with(start)) {
            bail!("Maven brought no {start} for Cassandra {version}");
        }
    }
    Ok(())
}

/// Removes what a fill that was killed has left: 70 MB each time.
fn remove_abandoned(cache: &Path) {
    let is_abandoned = |path: &Path| -> Option<bool> {
        let age = path.metadata().ok()?.modified().ok()?.elapsed().ok()?;
        Some(name_of(path)?.starts_with(FILLING) && age > FILL_LIMIT)
    };
    let entries = std::fs::read_dir(cache).into_iter().flatten();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if is_abandoned(&path) == Some(true) {
            // What cannot be removed now will be tried again; it is in nobody's way.
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

/// Writes a file that others see whole or not at all.
pub(crate) fn write_whole(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().context("a file without a folder")?;
    let mut file = tempfile::NamedTempFile::new_in(folder).context("write to the cache")?;
    std::io::Write::write_all(&mut file, text.as_bytes()).context("write to the cache")?;
    file.persist(path).with_context(|| format!("write {}", path.display()))?;
    Ok(())
}

/// Every jar of the lock with its digest.
fn check_digests(folder: &Path, lock: &Lock) -> Result<()> {
    for (name, digest) in lock {
        let path = folder.join(name);
        let found = digest_of(&path).with_context(|| format!("read {}", path.display()))?;
        if found != *digest {
            bail!("{name} is not the jar that was checked: its SHA-256 is {found}, not {digest}");
        }
    }
    Ok(())
}

/// In full: every jar of the lock with its digest, and no other.
fn check(folder: &Path, lock: &Lock) -> Result<()> {
    for (name, digest) in lock {
        let path = folder.join(name);
        let found = match digest_of(&path) {
            Ok(found) => found,
            Err(error) => bail!("supply.lock lists {name}, which Maven did not bring: {error}"),
        };
        if found != *digest {
            bail!(
                "{name} is not the jar of supply.lock: its SHA-256 is {found}, the lock says \
                 {digest}\nhint: remove it from Maven's repository (~/.m2) and try again; if it \
                 stays different, somebody has changed it on the way"
            );
        }
    }
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))?;
    for entry in entries {
        let name = entry.context("read the folder of jars")?.file_name();
        if !lock.contains_key(name.to_string_lossy().as_ref()) {
            bail!(
                "Maven brought {}, which supply.lock does not list",
                name.display()
            );
        }
    }
    Ok(())
}

/// SHA-256 of a file.
pub(crate) fn digest_of(path: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok(hex(&hash.finalize()));
        }
        hash.update(&buffer[..count]);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_lists_the_server_and_both_agents() {
        let lock = parse_lock(LOCK).unwrap();
        let supply = of_jars(Path::new("/cache"), &lock, CASSANDRA_VERSION);
        let server = format!("/cache/cassandra-all-{CASSANDRA_VERSION}.jar");
        assert!(supply.classpath.split(':').any(|path| path == server));
        assert!(
            !supply.classpath.contains("jolokia"),
            "an agent is not on the class path"
        );
        assert!(supply.jamm.starts_with("/cache/"));
        assert!(supply.jolokia.is_some());
        assert!(POM.contains(&format!("<version>{CASSANDRA_VERSION}</version>")));
        assert_eq!(
            lock_text(&lock),
            LOCK,
            "in the order of the names, with no line beside"
        );
    }

    /// A folder with two small jars and the lock that fits them.
    fn folder() -> (tempfile::TempDir, Lock) {
        let folder = tempfile::tempdir().unwrap();
        let mut lock = Lock::new();
        for (name, text) in [("a.jar", "first"), ("b.jar", "second")] {
            std::fs::write(folder.path().join(name), text).unwrap();
            lock.insert(name.to_string(), hex(&Sha256::digest(text)));
        }
        (folder, lock)
    }

    #[test]
    fn a_changed_missing_or_unknown_jar_is_refused_by_name() {
        let (folder, lock) = folder();
        check(folder.path(), &lock).unwrap();
        std::fs::write(folder.path().join("b.jar"), "sEcond").unwrap();
        let error = check(folder.path(), &lock).unwrap_err().to_string();
        assert!(
            error.starts_with("b.jar is not the jar of supply.lock"),
            "{error}"
        );
        std::fs::remove_file(folder.path().join("b.jar")).unwrap();
        let error = check(folder.path(), &lock).unwrap_err().to_string();
        assert!(error.starts_with("supply.lock lists b.jar"), "{error}");
        std::fs::write(folder.path().join("b.jar"), "second").unwrap();
        std::fs::write(folder.path().join("c.jar"), "third").unwrap();
        let error = check(folder.path(), &lock).unwrap_err().to_string();
        assert!(
            error.contains("c.jar, which supply.lock does not list"),
            "{error}"
        );
    }

    #[test]
    fn a_folder_counts_as_checked_until_a_jar_is_another_one() {
        let (folder, lock) = folder();
        let pinned = Recipe {
            lock: Some(lock.clone()),
            ..Recipe::of(CASSANDRA_VERSION).unwrap()
        };
        let unpinned = Recipe::of("5.0.6").unwrap();
        assert_eq!(pinned.checked(folder.path()), Err(None), "no stamp yet");
        for recipe in [&pinned, &unpinned] {
            let stamp = recipe.stamp_of(folder.path(), &lock).unwrap();
            std::fs::write(folder.path().join(STAMP), stamp).unwrap();
            if recipe.lock.is_none() {
                assert_eq!(recipe.checked(folder.path()), Err(None), "no record yet");
                std::fs::write(folder.path().join(RECORD), lock_text(&lock)).unwrap();
            }
            assert_eq!(recipe.checked(folder.path()), Ok(lock.clone()));
        }
        assert_eq!(
            pinned.checked(folder.path()),
            Err(None),
            "another recipe's stamp"
        );
        std::fs::write(folder.path().join("a.jar"), "firs").unwrap();
        let why = unpinned.checked(folder.path()).unwrap_err().unwrap();
        assert!(
            why.starts_with("a.jar is not the jar that was checked"),
            "{why}"
        );
    }

    #[test]
    fn a_jar_of_the_same_size_and_date_is_found_and_a_new_stamp_of_the_same_jars_is_written() {
        let (folder, lock) = folder();
        let recipe = Recipe {
            lock: Some(lock.clone()),
            ..Recipe::of(CASSANDRA_VERSION).unwrap()
        };
        let (jar, stamp) = (folder.path().join("a.jar"), folder.path().join(STAMP));
        let first = recipe.stamp_of(folder.path(), &lock).unwrap();
        // As after another boot of the machine: everything is looked at, and that is remembered.
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
        assert!(
            why.starts_with("a.jar is not the jar that was checked"),
            "{why}"
        );
    }

    #[test]
    fn what_no_lock_is_checked_in_for_must_agree_with_the_lock_that_is() {
        let recipe = Recipe::of("5.0.6").unwrap();
        assert!(recipe.pom.contains("<version>5.0.6</version>"));
        assert!(!recipe.pom.contains(&format!("<version>{CASSANDRA_VERSION}<")));
        assert_ne!(recipe.pom, POM);
        let cache = Path::new("/cache");
        let pinned = Recipe::of(CASSANDRA_VERSION).unwrap().folder_in(cache);
        assert_ne!(recipe.folder_in(cache), pinned);

        let mut lock = parse_lock(LOCK).unwrap();
        let error = check_known(&lock, "5.0.6").unwrap_err().to_string();
        assert!(error.contains("no cassandra-all-5.0.6.jar"), "{error}");
        lock.insert("cassandra-all-5.0.6.jar".into(), "0".repeat(64));
        lock.insert(HINTS.into(), "0".repeat(64));
        check_known(&lock, "5.0.6").unwrap();
        let jamm = lock.keys().find(|name| name.starts_with("jamm-")).cloned();
        lock.insert(jamm.unwrap(), "0".repeat(64));
        let error = check_known(&lock, "5.0.6").unwrap_err().to_string();
        assert!(error.contains("is not the jar of supply.lock"), "{error}");
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
        let error = resolve(cache.path(), "4.1.9", None, &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains("written for 5.0.x"), "{error}");
        let home = tempfile::tempdir().unwrap();
        let lib = home.path().join("lib");
        std::fs::create_dir(&lib).unwrap();
        for name in ["apache-cassandra-5.0.7.jar", "jamm-0.4.0.jar", "NOTES"] {
            std::fs::write(lib.join(name), "").unwrap();
        }
        let supply = resolve(cache.path(), "5.0.7", Some(home.path()), &mut |_| ()).unwrap();
        assert_eq!(supply.jamm, lib.join("jamm-0.4.0.jar"));
        assert_eq!(supply.jolokia, None);
        assert!(!supply.classpath.contains("NOTES"));
        let error = resolve(cache.path(), "5.0.8", Some(home.path()), &mut |_| ()).unwrap_err();
        assert!(error.to_string().contains("is Cassandra 5.0.7"), "{error}");
    }
}
