//! Tests an installed program: the files that it contains, and those that it downloads.

use crate::program::{Lab, ProgramOutput};

/// Runs the program as on a new machine: without cached jars, Maven, a proxy or other programs in
/// the PATH.
fn fresh(lab: &Lab, arguments: &[&str]) -> ProgramOutput {
    let mut command = lab.command(arguments);
    command
        .env("CASSAY_CACHE", "cache")
        .env("HOME", lab.path())
        .env("PATH", "/nonexistent");
    for name in [
        "ALL_PROXY",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "MAVEN_OPTS",
        "MAVEN_ARGS",
        "CASSANDRA_HOME",
    ] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    ProgramOutput::from_output(command.output().expect("the program runs"))
}

#[test]
fn a_shipped_study_can_be_planned_with_one_command() {
    let lab = Lab::new();
    let said = lab.cassay(&["run", "first-look"]).ended_with(2);
    said.says(&[
        "first-look",
        "hint: cassay includes this study: `cassay studies copy first-look`",
    ]);
    let listed = lab.cassay(&["studies", "list", "--json"]).ended_with(0).json();
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert!(names.iter().any(|name| *name == "first-look"), "{names:?}");
    let copied = lab.cassay(&["studies", "copy", "first-look", "--json"]).ended_with(0);
    assert_eq!(copied.json()["file"], "first-look.yaml");
    lab.cassay(&["studies", "copy", "first-look"]).ended_with(0);
    lab.cassay(&["plan", "first-look.yaml", "--target", "null"]).ended_with(0);
}

#[test]
fn a_demo_writes_over_no_study() {
    let lab = Lab::new();
    let mine = lab.write("first-look.yaml", "mine");
    let said = lab.cassay(&["demo", "--target", "null"]).ended_with(1);
    said.says(&[
        "not Cassandra",
        "first-look.yaml already exists",
        "empty folder",
    ]);
    assert_eq!(std::fs::read_to_string(mine).unwrap(), "mine");
}

#[test]
fn a_plan_names_missing_jars_and_a_failed_fetch_gives_a_remedy() {
    let lab = Lab::new();
    fresh(&lab, &["studies", "copy", "first-look"]).ended_with(0);
    let said = fresh(&lab, &["plan", "first-look.yaml"]).ended_with(0);
    said.says(&[
        "the cache does not contain the jars",
        "`cassay supply fetch` downloads them now",
    ]);
    let listed = fresh(&lab, &["supply", "list", "--json"]).ended_with(0).json();
    assert_eq!(listed["jars"][0]["state"], "absent");
    // No process listens on this port, so every download fails.
    let nobody = [
        "supply",
        "fetch",
        "--repository",
        "http://127.0.0.1:1/maven",
    ];
    let said = fresh(&lab, &nobody).ended_with(1);
    said.says(&[
        "cassay downloads 101 jars",
        "cassay cannot reach",
        "cassay supply import FILE",
    ]);
    let other = ["supply", "fetch", "--cassandra", "5.0.6"];
    let said = fresh(&lab, &other).ended_with(1);
    said.says(&[
        "PATH contains no mvn",
        "cassay supply export FILE --cassandra 5.0.6",
    ]);
}

#[test]
fn a_file_that_is_no_bundle_is_refused_with_the_reason() {
    let lab = Lab::with("a study");
    let said = fresh(&lab, &["supply", "import", "study.yaml"]).ended_with(1);
    said.says(&[
        "import study.yaml",
        "the bundle is not a tar file",
        "from `cassay supply export`",
    ]);
    let said = fresh(&lab, &["supply", "export", "study.yaml"]).ended_with(1);
    said.says(&["study.yaml already exists, and cassay does not overwrite it"]);
}
