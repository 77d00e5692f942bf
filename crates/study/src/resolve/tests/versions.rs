//! Tests the Cassandra and Java versions that a study may name, and the names of their settings.

use super::*;
use crate::settings::{GrantedPermissions, Registry};
use std::path::Path;
use target_spec::{JavaChoice, LocalSpec, Origin};

/// Resolves a study with these local nodes. The study is in `folder`. `trust` is true if the user
/// trusts the study.
fn read_in(folder: &Path, local: &str, trust: bool) -> Result<Study, Diagnostics> {
    let text = format!(
        "study: s\nquestion: q\ntarget: {{local: {{{local}}}}}\nworkload: {{use: standard1}}\n\
         data: {{load: {{operations: 1000}}}}\nprocedure: {{fixed: {{threads: 4}}}}\n\
         window: {{measure: 5s}}\n"
    );
    let overrides = Overrides {
        files: Some(Folder {
            path: folder.to_owned(),
            open: false,
        }),
        granted: GrantedPermissions {
            trust,
            ..GrantedPermissions::default()
        },
        ..Overrides::default()
    };
    resolve("s", &text, &overrides)
}

fn study_of(local: &str) -> Study {
    read_in(Path::new("/studies"), local, false).unwrap_or_else(|error| panic!("{local}: {error}"))
}

fn spec_of(study: &Study) -> LocalSpec {
    study.variants[0].settings.target.local().unwrap().clone()
}

fn refused(local: &str) -> String {
    refused_in(Path::new("/studies"), local, false)
}

fn refused_in(folder: &Path, local: &str, trust: bool) -> String {
    match read_in(folder, local, trust) {
        Ok(_) => panic!("{local} is not refused"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_line_means_its_pinned_release_and_others_are_refused() {
    for line in ::versions::LINES {
        let local = spec_of(&study_of(&format!("cassandra: {}", line.name)));
        assert_eq!(local.release.version(), line.pinned);
        assert_eq!(local.origin, Origin::Maven);
    }
    assert_eq!(
        spec_of(&study_of("cassandra: 4.1.5")).release.version(),
        "4.1.5"
    );
    assert_eq!(
        spec_of(&study_of("nodes: 1")).release,
        ::versions::DEFAULT.release()
    );
    for (version, says) in [
        (
            "3.11.19",
            "the study requests Cassandra 3.11.19, but cassay can start nodes only of 4.0, 4.1",
        ),
        ("4.2", "the study requests Cassandra 4.2"),
        ("5.0.x", "5.0.x is not a Cassandra release"),
    ] {
        let said = refused(&format!("cassandra: {version}"));
        assert!(said.contains(says) && said.contains("s:3:"), "{said}");
    }
}

#[test]
fn settings_have_the_lines_names_and_absent_ones_are_refused() {
    let old = "yaml: {compaction_throughput_mb_per_sec: 64}";
    let study = study_of(old);
    assert_eq!(spec_of(&study).yaml["compaction_throughput"], "64MiB/s");
    let note =
        "Cassandra 5.0 uses the name compaction_throughput for compaction_throughput_mb_per_sec";
    assert!(
        study.notes.iter().any(|said| said.starts_with(note)),
        "{:?}",
        study.notes
    );
    let study = study_of("cassandra: 4.0, yaml: {compaction_throughput: 64MiB/s}");
    assert_eq!(spec_of(&study).yaml["compaction_throughput_mb_per_sec"], 64);
    for (local, says) in [
        (
            "yaml: {compaction_throughput_mb_per_sec: 64, compaction_throughput: 64MiB/s}",
            "are one setting, compaction_throughput",
        ),
        (
            "cassandra: 6.0, yaml: {reject_out_of_token_range_requests: true}",
            "Cassandra 5.0 was the last release with reject_out_of_token_range_requests",
        ),
        (
            "cassandra: 4.1, yaml: {storage_compatibility_mode: NONE}",
            "only Cassandra 5.0 and later have",
        ),
        (
            "yaml: {concurent_reads: 8}",
            "did you mean `concurrent_reads`?",
        ),
    ] {
        let said = refused(local);
        assert!(
            said.contains(says) && said.contains("s:3:"),
            "{local}: {said}"
        );
    }
}

#[test]
fn a_java_is_a_version_or_a_folder_and_must_fit() {
    let java = |local: &str| spec_of(&study_of(local)).java;
    assert_eq!(java("java: 17"), Some(JavaChoice::Major(17)));
    assert_eq!(
        java("cassandra: 6.0, java: 21"),
        Some(JavaChoice::Major(21))
    );
    assert_eq!(java("nodes: 1"), None);
    let unsupported = |local: &str| {
        let notes = study_of(local).notes;
        notes
            .iter()
            .any(|said| said.contains("a combination that its developers do not support"))
    };
    assert!(unsupported("cassandra: 4.1"));
    assert!(!unsupported("cassandra: 4.1, java: 11") && !unsupported("cassandra: 5.0"));
    let said = refused("java: 25");
    assert!(
        said.contains("the study requests Java 25, but Cassandra 5.0.9 starts on 17 or 11"),
        "{said}"
    );
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("jdk");
    let said = refused_in(folder.path(), "java: jdk", true);
    assert!(said.contains("is not a Java home"), "{said}");
    std::fs::create_dir_all(home.join("bin")).unwrap();
    std::fs::write(home.join("bin/java"), "").unwrap();
    std::fs::write(home.join("release"), "JAVA_VERSION=\"25.0.1\"\n").unwrap();
    let said = refused_in(folder.path(), "java: jdk", true);
    assert!(
        said.contains("is Java 25, but Cassandra 5.0.9 needs 17, 11"),
        "{said}"
    );
    std::fs::write(home.join("release"), "JAVA_VERSION=\"17.0.1\"\n").unwrap();
    let study = read_in(folder.path(), "java: jdk", true).unwrap();
    assert_eq!(spec_of(&study).java, Some(JavaChoice::Home(home)));
    let said = refused_in(folder.path(), "java: jdk", false);
    assert!(
        said.contains("programs that would run on this machine") && said.contains("--trust"),
        "{said}"
    );
}

/// Creates a folder that looks like a distribution of a version.
fn home(folder: &Path, version: &str) {
    let lib = folder.join("c/lib");
    std::fs::create_dir_all(&lib).unwrap();
    std::fs::write(lib.join(format!("apache-cassandra-{version}.jar")), version).unwrap();
    std::fs::write(lib.join("jamm-0.4.0.jar"), "").unwrap();
}

#[test]
fn ones_own_is_named_by_what_it_is_and_needs_trust() {
    let folder = tempfile::tempdir().unwrap();
    let said = refused_in(folder.path(), "cassandra: {home: c}", true);
    assert!(
        said.contains("`target.local.cassandra`: ") && said.contains("cassay cannot read"),
        "{said}"
    );
    home(folder.path(), "4.1.5-SNAPSHOT");
    let said = refused_in(folder.path(), "cassandra: {home: c}", false);
    assert!(said.contains("--trust"), "{said}");
    let study = read_in(folder.path(), "cassandra: {home: c}", true).unwrap();
    let local = spec_of(&study);
    assert_eq!(local.release.version(), "4.1.5-SNAPSHOT");
    let words = local.cassandra_words();
    assert!(
        words.starts_with("Cassandra 4.1.5-SNAPSHOT of /"),
        "{words}"
    );
    assert!(words.contains(", sha256 "), "{words}");
    // A user's own build has the settings of its release line, and may have additional settings.
    let own = "cassandra: {home: c}, yaml: {our_own: 1, accord: {enabled: true}}";
    assert!(read_in(folder.path(), own, true).is_ok());
    let build = "cassandra: {build: {command: [ant, jar], home: c}}";
    let local = spec_of(&read_in(folder.path(), build, true).unwrap());
    assert_eq!(local.release.line().name, "4.1");
    assert!(local.cassandra_words().contains("built by `ant jar` in"));
    assert!(refused_in(folder.path(), build, false).contains("--trust"));
    let both = "cassandra: {home: c, build: {command: [ant], home: c}}";
    assert!(refused_in(folder.path(), both, true).contains("has both `home` and `build`"));
}

#[test]
fn a_tree_that_is_not_built_yet_says_its_version_by_its_plan() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("c")).unwrap();
    let plan = "<project>\n<property name=\"base.version\" value=\"6.0-alpha3\"/>\n</project>";
    std::fs::write(folder.path().join("c/build.xml"), plan).unwrap();
    let build = "cassandra: {build: {command: [ant], home: c}}";
    let local = spec_of(&read_in(folder.path(), build, true).unwrap());
    assert_eq!(local.release.version(), "6.0-alpha3");
}

#[test]
fn a_tarball_needs_its_digest_which_is_compared() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("c.tar.gz"), "no tar").unwrap();
    let said = refused_in(folder.path(), "cassandra: {tarball: c.tar.gz}", true);
    assert!(said.contains("a tarball needs its `sha256`"), "{said}");
    let wrong = format!(
        "cassandra: {{tarball: c.tar.gz, sha256: {}}}",
        "a".repeat(64)
    );
    let said = refused_in(folder.path(), &wrong, true);
    assert!(said.contains("is "), "{said}");
    let missing = format!(
        "cassandra: {{tarball: d.tar.gz, sha256: {}}}",
        "a".repeat(64)
    );
    let said = refused_in(folder.path(), &missing, true);
    assert!(said.contains("d.tar.gz: No such file"), "{said}");
}

#[test]
fn a_settings_file_is_one_word_and_keys_beside_it_win() {
    let study = study_of(
        "cassandra: 5.0, yaml: {use: latest, column_index_size_in_kb: 8, concurrent_reads: 16}",
    );
    let yaml = spec_of(&study).yaml;
    assert!(!yaml.contains_key("use"));
    assert_eq!(yaml["sstable"]["selected_format"], "bti");
    assert_eq!(yaml["storage_compatibility_mode"], "NONE");
    // The study uses the name of the setting in another release line, and cassay renames the
    // setting.
    assert_eq!(yaml["column_index_size"], "8KiB");
    assert_eq!(yaml["concurrent_reads"], 16);
    let noted = |part: &str| study.notes.iter().any(|note| note.contains(part));
    assert!(
        noted("cassandra_latest.yaml of Cassandra 5.0 sets"),
        "{:?}",
        study.notes
    );

    let shipped = spec_of(&study_of("cassandra: 6.0, yaml: {use: shipped}")).yaml;
    assert_eq!(shipped["write_request_timeout"], "10000ms");
    assert_eq!(
        shipped["memtable"]["configurations"]["default"]["inherits"],
        "skiplist"
    );
    for (local, says) in [
        (
            "cassandra: 4.1, yaml: {use: latest}",
            "cassay does not have cassandra_latest.yaml of Cassandra 4.1",
        ),
        (
            "yaml: {use: newest}",
            "`use` must be shipped or latest, not \"newest\"",
        ),
        ("yaml: {use: 3}", "`use` must be shipped or latest, not 3"),
    ] {
        let refused = refused(local);
        assert!(refused.contains(says), "{local}: {refused}");
    }
}

#[test]
fn a_class_that_a_line_does_not_have_is_refused_where_it_stands() {
    let memtable = "yaml: {memtable: {configurations: {default: {class_name: TrieMemtable}}}}";
    let said = refused(&format!("cassandra: 4.1, {memtable}"));
    assert!(said.contains("Cassandra 4.1 has no TrieMemtable"), "{said}");
    study_of(&format!("cassandra: 5.0, {memtable}"));
    let study = |line: &str| {
        let text = format!(
            "study: s\nquestion: q\ntarget: {{local: {{cassandra: {line}}}}}\n\
             keyspace: {{compaction: {{class: UnifiedCompactionStrategy}}}}\n\
             workload: {{use: standard1}}\ndata: {{load: {{operations: 1000}}}}\n\
             procedure: {{fixed: {{threads: 4}}}}\nwindow: {{measure: 5s}}\n"
        );
        resolve("s", &text, &Overrides::default()).map_err(|error| error.to_string())
    };
    let said = study("4.0").expect_err("it has none");
    assert!(
        said.contains("`keyspace.compaction.class`: Cassandra 4.0 has no Unified"),
        "{said}"
    );
    assert!(study("6.0").is_ok());
}

#[test]
fn a_release_that_no_repository_has_is_refused() {
    let asked = |release: &::versions::Release| match release.version() {
        "5.0.99" => Some(false),
        "5.0.98" => Some(true),
        _ => None,
    };
    let read = |version: &str, upgrade: &str| {
        let text = format!(
            "study: s\nquestion: q\ntarget: {{local: {{cassandra: {version}}}}}\n\
             workload: {{use: standard1}}\ndata: {{load: {{operations: 1000}}}}\n\
             procedure: {{fixed: {{threads: 4}}}}\nwindow: {{measure: 5s}}\n{upgrade}"
        );
        let overrides = Overrides {
            registry: Registry(Some(asked)),
            ..Overrides::default()
        };
        resolve("s", &text, &overrides).map_err(|error| error.to_string())
    };
    let said = read("5.0.99", "").expect_err("nobody has it");
    assert!(
        said.contains("the repository has no Cassandra 5.0.99"),
        "{said}"
    );
    assert!(said.contains("s:3:"), "{said}");
    assert!(read("5.0.98", "").is_ok());
    // In this test, cassay cannot reach the registry for this release, so it accepts the release.
    assert!(read("5.0.97", "").is_ok());
    let upgrade = "faults: [{at: 1s, kind: rolling-upgrade, to: 5.0.99, for: 3s}]\n";
    let said = read("4.1", upgrade).expect_err("nobody has it");
    assert!(
        said.contains("the repository has no Cassandra 5.0.99"),
        "{said}"
    );
}

#[test]
fn an_option_that_sets_another_heap_is_refused_at_its_place() {
    let said = refused("heap: 512MiB, jvm: ['-Xss512k', '-Xmx2G']");
    assert!(
        said.contains("`heap` is 512 MiB, but `-Xmx2G` overrides it"),
        "{said}"
    );
    assert!(said.contains("write the size in `heap`"), "{said}");
    study_of("heap: 512MiB, jvm: ['-Xms512M', '-Xmx512M']");
}

#[test]
fn a_guardrail_that_binds_nobody_is_told() {
    let warnings = |local: &str| crate::guardrail_warnings::warnings(&study_of(local));
    let rail = "yaml: {page_size_fail_threshold: 100, concurrent_reads: 8}";
    let said = warnings(rail);
    assert_eq!(said.len(), 1);
    assert!(
        said[0].contains("`page_size_fail_threshold` is a guardrail"),
        "{said:?}"
    );
    assert!(warnings(&format!("{rail}, authentication: password")).is_empty());
    assert!(warnings("yaml: {batch_size_fail_threshold: 50KiB}").is_empty());
}
