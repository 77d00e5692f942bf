//! Locks, which list the files of a version with their digests.
//!
//! A line's `supply.lock` has one text line per file: SHA-256, size in bytes, and path in a Maven
//! repository. A path with `!/` leads to a file within a jar. The folder of a version that is not
//! pinned contains a record, whose lines consist of a SHA-256 and a file name.

use crate::files::digest_of;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::Path;
use versions::Release;

/// File name of the compiler's hints, as in Apache's scripts.
pub(crate) const HINTS: &str = "hotspot_compiler";

/// Number of hexadecimal digits of a SHA-256.
const DIGITS: usize = 64;

/// SHA-256 in lower-case hexadecimal digits, by file name.
pub(crate) type Lock = BTreeMap<String, String>;

/// File of the pinned version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PinnedFile {
    /// Name in the folder of the version.
    pub name: String,
    /// SHA-256 in lower-case hexadecimal digits.
    pub sha256: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Path of the file, or of the jar that contains it, in a Maven repository.
    pub path: String,
    /// Name of the file within the jar at `path`. `None` if `path` leads to the file itself.
    pub member: Option<String>,
}

pub(crate) fn parse_pinned(text: &str) -> Result<Vec<PinnedFile>> {
    let line = |line: &str| -> Option<PinnedFile> {
        let mut words = line.split("  ");
        let (digest, bytes, place) = (words.next()?, words.next()?, words.next()?);
        let (path, member) = match place.split_once("!/") {
            Some((path, member)) => (path, Some(member.to_string())),
            None => (place, None),
        };
        let name = place.rsplit('/').next()?;
        (digest.len() == DIGITS && words.next().is_none()).then_some(PinnedFile {
            name: name.to_string(),
            sha256: digest.to_string(),
            bytes: bytes.parse().ok()?,
            path: path.to_string(),
            member,
        })
    };
    let numbered = text.lines().enumerate();
    numbered
        .map(|(index, text)| {
            line(text).with_context(|| format!("supply.lock line {}: {text:?}", index + 1))
        })
        .collect()
}

pub(crate) fn lock_of(pinned: &[PinnedFile]) -> Lock {
    pinned.iter().map(|file| (file.name.clone(), file.sha256.clone())).collect()
}

/// Parses the record of a version that is not pinned.
pub(crate) fn parse_lock(text: &str) -> Result<Lock> {
    let line = |line: &str| -> Option<(String, String)> {
        let (digest, name) = line.split_once("  ")?;
        (digest.len() == DIGITS).then(|| (name.to_string(), digest.to_string()))
    };
    let numbered = text.lines().enumerate();
    numbered
        .map(|(index, text)| {
            line(text).with_context(|| format!("supply.lock line {}: {text:?}", index + 1))
        })
        .collect()
}

/// Formats a lock as lines with digest and name, sorted by name.
pub(crate) fn lock_text(lock: &Lock) -> String {
    let line = |(name, digest): (&String, &String)| format!("{digest}  {name}\n");
    lock.iter().map(line).collect()
}

/// Checks a generated lock, which must contain Cassandra's jar of the version and the Java agents.
/// Files that are also in the checked-in lock must match it.
pub(crate) fn check_known(lock: &Lock, release: &Release) -> Result<()> {
    for PinnedFile { name, sha256, .. } in parse_pinned(release.line().lock)? {
        // The compiler's hints belong to a version although their name does not contain it.
        let found = lock.get(&name).filter(|_| name.ends_with(".jar"));
        if let Some(found) = found.filter(|found| **found != sha256) {
            bail!(
                "{name} does not match supply.lock: its SHA-256 is {found}, but supply.lock lists \
                 {sha256}\nhint: remove this jar from Maven's repository (~/.m2) and try again"
            );
        }
    }
    let server = format!("cassandra-all-{release}.jar");
    for start in [server.as_str(), "jamm-", "jolokia-agent-jvm-"] {
        if !lock.keys().any(|name| name.starts_with(start)) {
            bail!("the jars of Cassandra {release} include no file whose name begins with {start}");
        }
    }
    Ok(())
}

pub(crate) fn check_digests(folder: &Path, lock: &Lock) -> Result<()> {
    for (name, digest) in lock {
        let path = folder.join(name);
        let found = digest_of(&path).with_context(|| format!("read {}", path.display()))?;
        if found != *digest {
            bail!("{name} is not the checked jar: its SHA-256 is {found}, not {digest}");
        }
    }
    Ok(())
}

/// Checks that the folder contains exactly the files of the lock. `by` is the source in error
/// messages.
pub(crate) fn check(folder: &Path, lock: &Lock, by: &str) -> Result<()> {
    for (name, digest) in lock {
        let path = folder.join(name);
        let found = match digest_of(&path) {
            Ok(found) => found,
            Err(error) => bail!("supply.lock lists {name}, but {by} did not deliver it: {error}"),
        };
        if found != *digest {
            bail!(
                "{name} from {by} does not match supply.lock: its SHA-256 is {found}, but \
                 supply.lock lists {digest}\nhint: remove the jar from that source and try again; \
                 if the jar still differs, the download is not the original"
            );
        }
    }
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))?;
    for entry in entries {
        let name = entry.context("read the folder of jars")?.file_name();
        if !lock.contains_key(name.to_string_lossy().as_ref()) {
            bail!(
                "{by} delivered {}, which supply.lock does not list",
                name.display()
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use data_encoding::HEXLOWER;
    use sha2::{Digest, Sha256};

    #[test]
    fn each_lock_is_sorted_by_name_and_gives_each_files_place() {
        for line in versions::LINES {
            is_a_lock(line);
        }
    }

    fn is_a_lock(line: &versions::Line) {
        let pinned = parse_pinned(line.lock).unwrap();
        let names: Vec<&str> = pinned.iter().map(|file| file.name.as_str()).collect();
        assert!(names.is_sorted(), "{names:?}");
        assert_eq!(lock_of(&pinned).len(), names.len(), "no name stands twice");
        check_known(&lock_of(&pinned), &line.release()).unwrap();
        let within: Vec<_> = pinned.iter().filter(|file| file.member.is_some()).collect();
        assert_eq!(within.len(), 1);
        assert_eq!(within[0].name, HINTS);
        let jar = pinned.iter().find(|file| file.path == within[0].path && file.member.is_none());
        assert!(jar.is_some(), "the jar of the hints is in the lock as well");
    }

    #[test]
    fn a_line_of_another_form_is_named() {
        let digest = "0".repeat(64);
        for bad in [
            format!("{digest}  a.jar"),
            format!("{digest}  many  g/a.jar"),
            format!("{digest}  1  g/a.jar  more"),
            "0  1  g/a.jar".to_string(),
        ] {
            let error = parse_pinned(&bad).unwrap_err().to_string();
            assert!(error.starts_with("supply.lock line 1"), "{error}");
        }
    }

    #[test]
    fn a_changed_missing_or_unknown_jar_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let mut lock = Lock::new();
        for (name, text) in [("a.jar", "first"), ("b.jar", "second")] {
            std::fs::write(folder.path().join(name), text).unwrap();
            lock.insert(name.to_string(), HEXLOWER.encode(&Sha256::digest(text)));
        }
        let check = || check(folder.path(), &lock, "Maven");
        check().unwrap();
        std::fs::write(folder.path().join("b.jar"), "sEcond").unwrap();
        let error = check().unwrap_err().to_string();
        assert!(
            error.starts_with("b.jar from Maven does not match supply.lock"),
            "{error}"
        );
        std::fs::remove_file(folder.path().join("b.jar")).unwrap();
        let error = check().unwrap_err().to_string();
        assert!(error.starts_with("supply.lock lists b.jar"), "{error}");
        std::fs::write(folder.path().join("b.jar"), "second").unwrap();
        std::fs::write(folder.path().join("c.jar"), "third").unwrap();
        let error = check().unwrap_err().to_string();
        assert!(
            error.contains("c.jar, which supply.lock does not list"),
            "{error}"
        );
    }

    #[test]
    fn versions_without_a_lock_must_agree_with_the_existing_lock() {
        let mut lock = lock_of(&parse_pinned(versions::DEFAULT.lock).unwrap());
        let release = Release::parse("5.0.6").unwrap();
        let error = check_known(&lock, &release).unwrap_err().to_string();
        assert!(
            error.contains("begins with cassandra-all-5.0.6.jar"),
            "{error}"
        );
        lock.insert("cassandra-all-5.0.6.jar".into(), "0".repeat(64));
        lock.insert(HINTS.into(), "0".repeat(64));
        check_known(&lock, &release).unwrap();
        let jamm = lock.keys().find(|name| name.starts_with("jamm-")).cloned();
        lock.insert(jamm.unwrap(), "0".repeat(64));
        let error = check_known(&lock, &release).unwrap_err().to_string();
        assert!(error.contains("does not match supply.lock"), "{error}");
    }
}
