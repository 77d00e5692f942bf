//! Tests fetching from a repository on loopback.

use super::*;
use crate::test_repository::{ResponseBehaviour, RunningRepository, pinned};

const TEXT: &str = "what is in a jar, as long as a line";

/// Fetches one file from a server with the given behaviour. `begin` is the existing part of the
/// file.
fn fetched(
    way: ResponseBehaviour,
    begin: &str,
) -> (tempfile::TempDir, RunningRepository, Result<(), Failure>) {
    let folder = tempfile::tempdir().unwrap();
    if !begin.is_empty() {
        std::fs::write(folder.path().join("a.jar.part"), begin).unwrap();
    }
    let served = RunningRepository::start(&[("a.jar", TEXT, way)]);
    let files = vec![pinned("a.jar", TEXT)];
    let before = Progress::default();
    let ended = fetch(
        &served.repository(),
        files,
        folder.path(),
        before,
        &mut |_| (),
    );
    (folder, served, ended)
}

fn names(folder: &tempfile::TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn offsets(served: &RunningRepository) -> Vec<u64> {
    served.asked.lock().unwrap().iter().map(|(_, from)| *from).collect()
}

#[test]
fn a_file_comes_whole_and_under_its_name_only_then() {
    for way in [
        ResponseBehaviour::Well,
        ResponseBehaviour::Whole,
        ResponseBehaviour::Halves,
    ] {
        let (folder, _served, ended) = fetched(way, "");
        ended.unwrap();
        assert_eq!(names(&folder), ["a.jar"], "{way:?}");
        let text = std::fs::read_to_string(folder.path().join("a.jar")).unwrap();
        assert_eq!(text, TEXT);
    }
}

#[test]
fn a_partial_download_continues_where_possible_or_restarts() {
    let (_folder, served, ended) = fetched(ResponseBehaviour::Well, &TEXT[..10]);
    ended.unwrap();
    assert_eq!(offsets(&served), [10]);
    let (folder, _served, ended) = fetched(ResponseBehaviour::Whole, &TEXT[..10]);
    ended.unwrap();
    let text = std::fs::read_to_string(folder.path().join("a.jar")).unwrap();
    assert_eq!(text, TEXT);
    let (_folder, served, ended) = fetched(ResponseBehaviour::Halves, "");
    ended.unwrap();
    assert!(offsets(&served).is_sorted() && offsets(&served).len() > 3);
}

#[test]
fn a_partial_download_of_another_file_is_fetched_again_once() {
    for begin in ["what was", "longer than the file that is wanted, by far"] {
        let (folder, _served, ended) = fetched(ResponseBehaviour::Well, begin);
        ended.unwrap();
        let text = std::fs::read_to_string(folder.path().join("a.jar")).unwrap();
        assert_eq!(text, TEXT);
    }
}

#[test]
fn a_changed_file_is_named_with_both_digests_and_not_kept() {
    let (folder, served, ended) = fetched(ResponseBehaviour::Other, "");
    let text = ended.unwrap_err().to_string();
    let wanted = pinned("a.jar", TEXT).sha256;
    let got = pinned("a.jar", &TEXT.to_uppercase()).sha256;
    for part in ["a.jar from ", &served.address, &wanted, &got, "hint: "] {
        assert!(text.contains(part), "{text}");
    }
    assert!(names(&folder).is_empty());
    let (folder, _served, ended) = fetched(ResponseBehaviour::More, "");
    let text = ended.unwrap_err().to_string();
    assert!(
        text.contains("has 36 bytes, but supply.lock lists 35"),
        "{text}"
    );
    assert!(names(&folder).is_empty());
}

#[test]
fn each_way_not_to_bring_a_file_has_its_sentence_and_what_to_do() {
    for (way, says, hint) in [
        (
            ResponseBehaviour::Page,
            "with an HTML page instead of a jar",
            "login page",
        ),
        (
            ResponseBehaviour::Status(404),
            "does not exist (HTTP 404)",
            "the content of Maven Central",
        ),
        (
            ResponseBehaviour::Status(403),
            "is not permitted (HTTP 403)",
            "USER:PASSWORD",
        ),
        (
            ResponseBehaviour::Status(503),
            "answered with HTTP 503",
            "try again later",
        ),
        (
            ResponseBehaviour::Nothing,
            "stopped after 0 of 35 bytes",
            "to continue",
        ),
    ] {
        let (_folder, _served, ended) = fetched(way, "");
        let failure = ended.unwrap_err();
        let text = failure.to_string();
        assert!(text.contains(says) && text.contains(hint), "{text}");
        assert!(text.contains("/maven/g/a.jar"), "{text}");
        assert!(failure.is_of_the_way(), "{text}");
    }
}

#[test]
fn an_unreachable_repository_is_named_with_its_setting() {
    // The port has no listener.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/maven", listener.local_addr().unwrap());
    drop(listener);
    let repository = Repository::through(&address, None).unwrap();
    let text = repository.get("g/a.jar", 0).err().unwrap().to_string();
    for part in [
        "cassay cannot reach",
        "HTTPS_PROXY",
        "SSL_CERT_FILE",
        "CASSAY_MAVEN_REPOSITORY",
        "cassay supply import",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_to_is_named() {
    let served = RunningRepository::start(&[("a.jar", TEXT, ResponseBehaviour::Well)]);
    let gone = std::path::Path::new("/nonexistent/jars");
    let files = vec![pinned("a.jar", TEXT)];
    let before = Progress::default();
    let ended = fetch(&served.repository(), files, gone, before, &mut |_| ());
    let text = ended.unwrap_err().to_string();
    assert!(
        text.contains("cassay cannot write /nonexistent/jars/a.jar.part"),
        "{text}"
    );
}

#[test]
fn many_files_load_in_parallel_and_the_last_progress_has_all() {
    let folder = tempfile::tempdir().unwrap();
    let name = |index: usize| format!("{index}.jar");
    let names: Vec<String> = (0..20).map(name).collect();
    let served: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), name.as_str(), ResponseBehaviour::Well))
        .collect();
    let served = RunningRepository::start(&served);
    let files = names.iter().map(|name| pinned(name, name)).collect();
    let before = Progress {
        files_wanted: 20,
        ..Progress::default()
    };
    let mut last = Progress::default();
    fetch(
        &served.repository(),
        files,
        folder.path(),
        before,
        &mut |said| {
            if let Message::Progress(progress) = said {
                last = progress;
            }
        },
    )
    .unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 20);
    assert_eq!(last.files_wanted, 20);
}
