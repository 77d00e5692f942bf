//! Tests of the sources of a folder, their order, and the resulting folder.

use super::*;
use crate::test_repository::{ResponseBehaviour, RunningRepository, pinned};
use rawzip::CompressionMethod;

const SERVER: &str = "the server";
const AGENT: &str = "an agent";

/// Returns a recipe of two files, and an empty cache.
fn recipe() -> (tempfile::TempDir, Recipe) {
    let files = vec![pinned("a.jar", SERVER), pinned("b.jar", AGENT)];
    (tempfile::tempdir().unwrap(), Recipe::pinned(files))
}

fn served(second: ResponseBehaviour) -> RunningRepository {
    RunningRepository::start(&[
        ("a.jar", SERVER, ResponseBehaviour::Well),
        ("b.jar", AGENT, second),
    ])
}

/// Returns the Maven settings of a machine with these files in Maven's cache.
fn maven(files: &[(&str, &str)]) -> (tempfile::TempDir, Settings) {
    let local = tempfile::tempdir().unwrap();
    std::fs::create_dir(local.path().join("g")).unwrap();
    for (name, text) in files {
        std::fs::write(local.path().join("g").join(name), text).unwrap();
    }
    let settings = Settings {
        local: Some(local.path().to_owned()),
        ..Settings::default()
    };
    (local, settings)
}

/// Fills the cache from a repository, and returns the messages.
fn fill_from(
    cache: &tempfile::TempDir,
    recipe: &Recipe,
    settings: &Settings,
    address: &str,
) -> (Result<Lock>, Vec<String>) {
    let mut lines = Vec::new();
    let folder = recipe.folder_in(cache.path());
    let filled = with(&folder, recipe, Some(address), settings, &mut |said| {
        if let Message::Line(line) = said {
            lines.push(line.to_string());
        }
    });
    (filled, lines)
}

#[test]
fn mavens_files_are_copied_others_fetched_and_nothing_is_left() {
    let (cache, recipe) = recipe();
    let (_local, settings) = maven(&[("a.jar", SERVER), ("b.jar", "AN AGENT")]);
    let served = served(ResponseBehaviour::Well);
    let (lock, lines) = fill_from(&cache, &recipe, &settings, &served.address);
    let lock = lock.unwrap();
    assert_eq!(recipe.checked(&recipe.folder_in(cache.path())), Ok(lock));
    let asked = served.asked.lock().unwrap().clone();
    assert_eq!(
        asked,
        [("/maven/g/b.jar".to_string(), 0)],
        "one was changed"
    );
    assert!(
        lines[0].starts_with("cassay copied 1 of 2 jars from Maven's cache"),
        "{lines:?}"
    );
    assert!(
        lines[1].starts_with("cassay downloads 1 jar of Cassandra"),
        "{lines:?}"
    );
    assert_eq!(folders(cache.path()), [recipe.folder_in(cache.path())]);
}

#[test]
fn a_failed_fetch_continues_and_asks_only_for_missing_files() {
    let (cache, recipe) = recipe();
    let (_local, settings) = maven(&[]);
    let bad = served(ResponseBehaviour::Status(503));
    let (filled, _) = fill_from(&cache, &recipe, &settings, &bad.address);
    let text = format!("{:#}", filled.unwrap_err());
    assert!(text.contains("b.jar answered with HTTP 503"), "{text}");
    assert!(!recipe.folder_in(cache.path()).exists());
    // The other file may or may not have arrived when the first file fails.
    let good = served(ResponseBehaviour::Well);
    let before = left_over(cache.path(), &recipe);
    fill_from(&cache, &recipe, &settings, &good.address).0.unwrap();
    let asked = good.asked.lock().unwrap().len();
    assert_eq!(asked, if before == SERVER.len() as u64 { 1 } else { 2 });
    assert_eq!(left_over(cache.path(), &recipe), 0);
}

#[test]
fn a_changed_jar_of_a_repository_is_never_put_in_place() {
    let (cache, recipe) = recipe();
    let (_local, settings) = maven(&[]);
    let served = served(ResponseBehaviour::Other);
    let (filled, _) = fill_from(&cache, &recipe, &settings, &served.address);
    let text = format!("{:#}", filled.unwrap_err());
    assert!(
        text.contains("b.jar from") && text.contains("does not match supply.lock"),
        "{text}"
    );
    assert!(!recipe.folder_in(cache.path()).exists());
}

#[test]
fn a_file_within_a_jar_is_extracted_and_compared_like_others() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let mut zip = rawzip::ZipArchiveWriter::new(Vec::new());
    let named = zip.new_file("META-INF/hotspot_compiler");
    let packing = named.compression_method(CompressionMethod::DEFLATE).start();
    let (mut entry, config) = packing.unwrap();
    let encoder = flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::fast());
    let mut writer = config.wrap(encoder);
    writer.write_all(b"inline it").unwrap();
    let (encoder, descriptor) = writer.finish().unwrap();
    encoder.finish().unwrap();
    entry.finish(descriptor).unwrap();
    let jar = zip.finish().unwrap();
    std::fs::write(folder.path().join("a.jar"), jar).unwrap();
    let mut file = pinned(HINTS, "inline it");
    file.path = "g/a.jar".to_string();
    file.member = Some("META-INF/hotspot_compiler".to_string());
    unpack(std::slice::from_ref(&file), folder.path()).unwrap();
    let found = std::fs::read_to_string(folder.path().join(HINTS)).unwrap();
    assert_eq!(found, "inline it");
    file.member = Some("META-INF/none".to_string());
    let error = unpack(&[file], folder.path()).unwrap_err();
    assert!(
        format!("{error:#}").contains("extract META-INF/none from"),
        "{error:#}"
    );
}

#[test]
fn only_old_folders_of_ours_are_abandoned() {
    let cache = tempfile::tempdir().unwrap();
    for name in ["filling-a", "fetching-b", "cassandra-c"] {
        let folder = cache.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        let two_hours_ago =
            folder.metadata().unwrap().modified().unwrap() - Duration::from_secs(7200);
        File::open(&folder).unwrap().set_modified(two_hours_ago).unwrap();
    }
    remove_abandoned(cache.path());
    let left = folders(cache.path());
    let left: Vec<_> = left.iter().filter_map(|path| name_of(path)).collect();
    assert_eq!(left, ["cassandra-c", "fetching-b"]);
}
