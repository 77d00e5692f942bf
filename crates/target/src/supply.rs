//! Where the jars come from: Maven, once, checked against a lock file; offline afterwards.
//!
//! `maven/pom.xml` and `maven/supply.lock` are part of the program, so that an installed binary
//! needs no checkout. A folder of jars is only ever used after every jar of the lock was there with
//! its SHA-256 and nothing else was; its stamp then makes later checks cheap: names and sizes.

use crate::java::program_in;
use crate::process::{self, Life};
use crate::spec::CASSANDRA_VERSION;
use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

const POM: &str = include_str!("../maven/pom.xml");
const LOCK: &str = include_str!("../maven/supply.lock");

/// The plug-in's goal that copies what a pom resolves to; its version is pinned in the pom.
const COPY_GOAL: &str = "dependency:copy-dependencies";

/// The goal that unpacks the compiler's hints out of the server's jar, as the pom describes it.
const UNPACK_GOAL: &str = "dependency:unpack@hints";

/// Where the compiler's hints are in the server's jar; Apache's scripts use the same file.
const HINTS_FOLDER: &str = "META-INF";
const HINTS: &str = "hotspot_compiler";

/// The file that says which lock a folder was checked against, and the size of every jar.
const STAMP: &str = "checked";

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

/// Makes the jars of `version` available in `cache`, or uses the distribution at `home`.
///
/// # Errors
/// Another version than the pinned one is asked for without a distribution; Maven is missing or
/// fails; a jar is missing, unknown or differs from the lock.
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
    if version != CASSANDRA_VERSION {
        bail!(
            "Cassandra {version} is asked for, but the supply is pinned to {CASSANDRA_VERSION}\n\
             hint: use {CASSANDRA_VERSION}, or set CASSANDRA_HOME to an unpacked distribution of \
             {version}"
        );
    }
    let lock = parse_lock(LOCK)?;
    let folder = folder_in(cache);
    if !is_checked(&folder, &lock) {
        fill(&folder, &lock, say)?;
    }
    Ok(of_jars(&folder, &lock))
}

/// The folder of the jars of this lock: another lock gets another folder.
fn folder_in(cache: &Path) -> PathBuf {
    cache.join(format!(
        "cassandra-{CASSANDRA_VERSION}-{}",
        &lock_digest()[..12]
    ))
}

fn lock_digest() -> String {
    let mut hash = Sha256::new();
    hash.update(POM.as_bytes());
    hash.update(LOCK.as_bytes());
    hex(&hash.finalize())
}

fn of_jars(folder: &Path, lock: &Lock) -> Supply {
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
        version: CASSANDRA_VERSION.to_string(),
    }
}

/// The agent, if an earlier run has filled the cache: a distribution does not bring it.
fn cached_jolokia(cache: &Path) -> Option<PathBuf> {
    let lock = parse_lock(LOCK).ok()?;
    let folder = folder_in(cache);
    is_checked(&folder, &lock).then(|| of_jars(&folder, &lock).jolokia)?
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
    let found = server
        .trim_start_matches("apache-cassandra-")
        .trim_end_matches(".jar");
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

/// Cheap: the stamp is of this lock, and every jar has the size that was checked.
fn is_checked(folder: &Path, lock: &Lock) -> bool {
    let Ok(stamp) = std::fs::read_to_string(folder.join(STAMP)) else {
        return false;
    };
    stamp_of(folder, lock).is_ok_and(|now| now == stamp)
}

/// The digest of lock and pom, then the size and name of every jar.
fn stamp_of(folder: &Path, lock: &Lock) -> Result<String> {
    let mut stamp = format!("{}\n", lock_digest());
    for name in lock.keys().map(String::as_str) {
        let path = folder.join(name);
        let meta = path
            .metadata()
            .with_context(|| format!("look at {}", path.display()))?;
        stamp.push_str(&format!("{} {name}\n", meta.len()));
    }
    Ok(stamp)
}

/// Runs Maven into a new folder, checks what it brought, then puts the folder in its place.
fn fill(folder: &Path, lock: &Lock, say: &mut dyn FnMut(&str)) -> Result<()> {
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
    std::fs::write(fresh.path().join("pom.xml"), POM).context("write the pom for Maven")?;
    run_maven(fresh.path(), &jars, say)?;
    let unpacked = jars.join(HINTS_FOLDER);
    std::fs::rename(unpacked.join(HINTS), jars.join(HINTS))
        .and_then(|()| std::fs::remove_dir_all(&unpacked))
        .context("find the compiler's hints in the server's jar")?;
    say(&format!(
        "checking {} files against supply.lock",
        lock.len()
    ));
    check(&jars, lock)?;
    let stamp = stamp_of(&jars, lock)?;
    std::fs::write(jars.join(STAMP), stamp).context("write the stamp of the cache")?;
    if folder.exists() {
        std::fs::remove_dir_all(folder)
            .with_context(|| format!("remove the incomplete {}", folder.display()))?;
    }
    match std::fs::rename(&jars, folder) {
        Ok(()) => Ok(()),
        // Another cassay may have been quicker; what it put there was checked as well.
        Err(_) if is_checked(folder, lock) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("put {} in place", folder.display())),
    }
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

fn run_maven(work: &Path, jars: &Path, say: &mut dyn FnMut(&str)) -> Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let Some(program) = program_in(std::env::split_paths(&path), "mvn") else {
        bail!(
            "the jars of Cassandra {CASSANDRA_VERSION} are not in the cache, and Maven, which \
             fetches them, is not installed: no mvn in PATH\nhint: apt install maven (or any \
             Maven 3.6 or later), or set CASSANDRA_HOME to an unpacked distribution"
        );
    };
    say("fetching Cassandra's jars with Maven, once (about 70 MB)");
    let mut command = process::command(&program);
    command
        .arg("-B")
        .arg("-f")
        .arg(work.join("pom.xml"))
        .arg(COPY_GOAL);
    command
        .arg(UNPACK_GOAL)
        .arg(format!("-Dcassay.hints={}", jars.display()));
    command.arg("-DincludeScope=runtime");
    command.arg(format!("-DoutputDirectory={}", jars.display()));
    command
        .current_dir(work)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = process::spawn(command, Life::Ours)?;
    let stderr = child.stderr.take().context("read what Maven says")?;
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        // Broken pipes and odd bytes end the text early; the exit status decides.
        let _ = BufReader::new(stderr).read_to_string(&mut text);
        text
    });
    let mut failures = Vec::new();
    let stdout = child.stdout.take().context("read what Maven says")?;
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        if let Some(name) = downloaded(&line) {
            say(&format!("Maven: {name}"));
        } else if line.contains("[ERROR]") {
            failures.push(line.trim_start_matches("[ERROR]").trim().to_string());
        }
    }
    let status = child.wait().context("wait for Maven")?;
    let errors = errors.join().unwrap_or_default();
    if status.success() {
        return Ok(());
    }
    failures.extend(errors.lines().map(str::to_string));
    failures.retain(|line| !line.is_empty());
    failures.truncate(6);
    bail!(
        "Maven could not fetch Cassandra's jars ({status}): {}\nhint: is the network there? \
         Settings (proxy, mirror) are Maven's own, in ~/.m2/settings.xml",
        failures.join("\n  ")
    )
}

/// The file name in a line of Maven that says that a jar has arrived.
fn downloaded(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("Downloaded from ")?;
    let address = rest.split_ascii_whitespace().nth(1)?;
    address
        .rsplit('/')
        .next()
        .filter(|name| name.ends_with(".jar"))
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

fn digest_of(path: &Path) -> std::io::Result<String> {
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
        let supply = of_jars(Path::new("/cache"), &lock);
        let server = format!("/cache/cassandra-all-{CASSANDRA_VERSION}.jar");
        assert!(supply.classpath.split(':').any(|path| path == server));
        assert!(
            !supply.classpath.contains("jolokia"),
            "an agent is not on the class path"
        );
        assert!(supply.jamm.starts_with("/cache/"));
        assert!(supply.jolokia.is_some());
        assert!(POM.contains(&format!("<version>{CASSANDRA_VERSION}</version>")));
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
    fn a_folder_counts_as_checked_until_a_jar_changes_its_size() {
        let (folder, lock) = folder();
        assert!(!is_checked(folder.path(), &lock), "no stamp yet");
        let stamp = stamp_of(folder.path(), &lock).unwrap();
        std::fs::write(folder.path().join(STAMP), stamp).unwrap();
        assert!(is_checked(folder.path(), &lock));
        std::fs::write(folder.path().join("a.jar"), "firs").unwrap();
        assert!(!is_checked(folder.path(), &lock));
    }

    #[test]
    fn another_version_needs_a_distribution_of_just_that_version() {
        let cache = tempfile::tempdir().unwrap();
        let error = resolve(cache.path(), "4.1.9", None, &mut |_| ())
            .unwrap_err()
            .to_string();
        assert!(error.contains("CASSANDRA_HOME"), "{error}");
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

    #[test]
    fn only_jars_that_arrived_are_reported() {
        let line = "[INFO] Downloaded from x: https://h/org/a/1/a-1.jar (11 MB at 2 MB/s)";
        assert_eq!(downloaded(line), Some("a-1.jar"));
        assert_eq!(downloaded(&line.replace(".jar", ".pom")), None);
        assert_eq!(
            downloaded("[INFO] Downloading from x: https://h/a-1.jar"),
            None
        );
    }
}
