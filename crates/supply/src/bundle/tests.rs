//! Tests of bundles, which must be read back completely, and refused if they are modified.

use super::*;
use crate::lock::PinnedFile;
use crate::test_repository::pinned;
use tar::EntryType;

const SERVER: &str = "the server";
const AGENT: &str = "an agent";

fn files() -> Vec<PinnedFile> {
    vec![pinned("a.jar", SERVER), pinned("b.jar", AGENT)]
}

fn list_of(files: &[PinnedFile], version: &str) -> String {
    let listed = |file: &PinnedFile| BundleFile {
        name: file.name.clone(),
        bytes: file.bytes,
        sha256: file.sha256.clone(),
    };
    let list = List {
        format: FORMAT,
        cassandra: version.to_string(),
        files: files.iter().map(listed).collect(),
    };
    serde_json::to_string(&list).unwrap()
}

/// Returns a tar archive with types and names that an attacker may use.
fn tar_of(entries: &[(EntryType, &str, &str)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (kind, name, text) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_size(text.len() as u64);
        // The library refuses the names that this test needs.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        tar.append(&header, text.as_bytes()).unwrap();
    }
    tar.into_inner().unwrap()
}

/// Imports an archive of these entries, and returns the error message.
fn refused(entries: &[(EntryType, &str, &str)]) -> String {
    refused_bytes(&tar_of(entries))
}

fn refused_bytes(bytes: &[u8]) -> String {
    let cache = tempfile::tempdir().unwrap();
    let recipe = |_: &Release| Ok(Recipe::pinned(files()));
    let error = read(cache.path(), Hashing::new(bytes), None, &recipe).unwrap_err();
    let left = std::fs::read_dir(cache.path()).unwrap().count();
    assert_eq!(left, 0, "nothing is left of what was refused");
    format!("{error:#}")
}

const FILE: EntryType = EntryType::Regular;

#[test]
fn a_written_bundle_reads_back_and_is_reproducible() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("a.jar", SERVER), ("b.jar", AGENT)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let recipe = |_: &Release| Ok(Recipe::pinned(files()));
    let written = || {
        let mut bytes = Vec::new();
        let version = versions::DEFAULT.pinned;
        write(&mut bytes, folder.path(), version, &lock_of(&files())).unwrap();
        bytes
    };
    let bytes = written();
    assert_eq!(bytes, written());
    let cache = tempfile::tempdir().unwrap();
    let imported = || read(cache.path(), Hashing::new(bytes.as_slice()), None, &recipe).unwrap();
    let (version, fetched) = imported();
    assert_eq!(version, versions::DEFAULT.pinned);
    assert!(!fetched.was_there);
    let lock = Recipe::pinned(files()).checked(&fetched.folder).unwrap();
    assert_eq!(lock, lock_of(&files()));
    assert!(imported().1.was_there);
}

#[test]
fn a_file_that_is_no_bundle_is_refused() {
    let list = list_of(&files(), "5.0.8");
    for (bytes, says) in [
        (b"".to_vec(), "the bundle is not a tar file"),
        (
            b"\x1f\x8b\x08 a gzip".repeat(60),
            "the bundle is not a tar file",
        ),
        (
            tar_of(&[(FILE, "other", "{}")]),
            "the bundle begins with \"other\"",
        ),
        (
            tar_of(&[(FILE, LIST, "no json")]),
            "read the list of the bundle",
        ),
        (
            tar_of(&[(FILE, LIST, "{\"format\": 2}")]),
            "the format of the bundle is 2, but this program reads 1",
        ),
        (
            tar_of(&[(FILE, LIST, "{\"format\": 1}")]),
            "read the list of the bundle",
        ),
        (
            tar_of(&[(FILE, LIST, &list)]),
            "the list of the bundle contains a.jar, but the bundle does not",
        ),
    ] {
        let text = refused_bytes(&bytes);
        assert!(text.contains(says), "{text}");
    }
    let mut cut = tar_of(&[
        (FILE, LIST, &list),
        (FILE, "a.jar", SERVER),
        (FILE, "b.jar", AGENT),
    ]);
    cut.truncate(2 * 512 + 512 + 3);
    let text = refused_bytes(&cut);
    assert!(text.contains("a.jar"), "{text}");
}

#[test]
fn a_file_that_differs_from_the_lock_is_refused_by_name() {
    let list = list_of(&files(), "5.0.8");
    let a = (FILE, "a.jar", SERVER);
    for (second, says) in [
        (
            (FILE, "b.jar", "AN AGENT"),
            "b.jar differs from the list: 8 bytes",
        ),
        (
            (FILE, "b.jar", "an agent and more"),
            "b.jar differs from the list: 9 bytes",
        ),
        (
            (FILE, "b.jar", "an"),
            "b.jar differs from the list: 2 bytes",
        ),
        (
            (FILE, "c.jar", AGENT),
            "the bundle contains c.jar, which is not in its list",
        ),
        (
            (FILE, "a.jar", SERVER),
            "the bundle contains a.jar, which is not in its list, or contains this file twice",
        ),
        (
            (FILE, "../b.jar", AGENT),
            "\"../b.jar\" leads out of the folder",
        ),
        (
            (FILE, "/b.jar", AGENT),
            "\"/b.jar\" leads out of the folder",
        ),
        (
            (FILE, "./b.jar", AGENT),
            "\"./b.jar\" leads out of the folder",
        ),
        ((EntryType::Symlink, "b.jar", ""), "\"b.jar\" is not a file"),
        ((EntryType::Link, "b.jar", ""), "\"b.jar\" is not a file"),
        (
            (EntryType::Directory, "b.jar", ""),
            "\"b.jar\" is not a file",
        ),
    ] {
        let text = refused(&[(FILE, LIST, &list), a, second]);
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn a_list_that_differs_from_the_lock_is_refused_before_any_read() {
    let with = |change: &dyn Fn(&mut Vec<PinnedFile>)| {
        let mut files = files();
        change(&mut files);
        refused(&[(FILE, LIST, &list_of(&files, "5.0.8"))])
    };
    let text = with(&|files| files[1] = pinned("b.jar", "another agent"));
    assert!(
        text.contains("b.jar does not match supply.lock: its SHA-256 is"),
        "{text}"
    );
    let text = with(&|files| drop(files.pop()));
    assert!(text.contains("the bundle does not contain b.jar"), "{text}");
    let text = with(&|files| files.push(pinned("c.jar", "")));
    assert!(
        text.contains("the bundle contains \"c.jar\", which supply.lock does not list"),
        "{text}"
    );
    let text = with(&|files| files.push(pinned("a:b.jar", "")));
    assert!(text.contains("which is not the name of a jar"), "{text}");
    let text = with(&|files| files[0].bytes = FILE_BYTES_MAX + 1);
    assert!(text.contains("limit"), "{text}");
}

#[test]
fn a_version_that_is_not_pinned_needs_the_digest_of_the_bundle() {
    let files = [
        pinned("cassandra-all-5.0.6.jar", SERVER),
        pinned("jamm-9.jar", AGENT),
        pinned("jolokia-agent-jvm-9.jar", AGENT),
        pinned(HINTS, "hints"),
    ];
    let list = list_of(&files, "5.0.6");
    let texts = [SERVER, AGENT, AGENT, "hints"];
    let mut entries = vec![(FILE, LIST, list.as_str())];
    entries.extend(files.iter().zip(texts).map(|(file, text)| (FILE, file.name.as_str(), text)));
    let bytes = tar_of(&entries);
    let cache = tempfile::tempdir().unwrap();
    let import = |sha256: Option<&str>| {
        read(
            cache.path(),
            Hashing::new(bytes.as_slice()),
            sha256,
            &Recipe::read,
        )
    };
    let text = format!("{:#}", import(None).unwrap_err());
    assert!(
        text.contains("no digests of Cassandra 5.0.6") && text.contains("--sha256"),
        "{text}"
    );
    let wrong = "0".repeat(64);
    let text = format!("{:#}", import(Some(&wrong)).unwrap_err());
    assert!(
        text.contains("this is another bundle, or the bundle was changed"),
        "{text}"
    );
    let (_, digest, _) = {
        let mut hashing = Hashing::new(bytes.as_slice());
        std::io::copy(&mut hashing, &mut std::io::sink()).unwrap();
        hashing.end()
    };
    let (version, fetched) = import(Some(&digest.to_uppercase())).unwrap();
    assert_eq!((version.as_str(), fetched.files), ("5.0.6", 4));
    assert!(
        Recipe::read(&Release::parse("5.0.6").unwrap())
            .unwrap()
            .checked(&fetched.folder)
            .is_ok()
    );
    let text = format!("{:#}", refused(&[(FILE, LIST, &list_of(&files, "4.1.9"))]));
    assert!(!text.is_empty());
}
