//! Tests the files for pipelines. The test runs the commands of these files here, in an otherwise
//! empty folder.

use crate::program::{Lab, ProgramOutput, command};
use std::fs;
use std::path::{Path, PathBuf};

const STUDY: &str = "\
study: gate
question: Is it no slower than before?
target: {null: {latency: 2ms}}
workload: {use: standard1, mix: {write: 1}}
procedure: {fixed: {threads: 8}}
window: {warmup: 0s, measure: 2s}
repeat: {blocks: 2}
require: {not_worse_than: latest, worse_by: 30%, inconclusive: miss}
";

fn pipelines() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pipelines")
}

/// Runs the gate in a folder with the study and the script, and without the environment variables
/// of this project.
fn gate(lab: &Lab, more: &[&str]) -> ProgramOutput {
    let script = lab.path().join("gate.sh");
    fs::copy(pipelines().join("gate"), &script).expect("the script");
    let mut command = command("sh");
    command
        .current_dir(lab.path())
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", lab.path())
        .env("CASSAY", env!("CARGO_BIN_EXE_cassay"))
        .env("CASSAY_SHARED_MACHINE", "1")
        .arg(&script)
        .args(["study.yaml", "kept"])
        .args(more);
    ProgramOutput::from_output(command.output().expect("sh"))
}

/// Returns the targets of a Markdown text's links and pictures.
fn targets(text: &str) -> Vec<&str> {
    let links = text.split("](").skip(1);
    links.filter_map(|rest| rest.split(')').next()).collect()
}

#[test]
fn a_pipeline_fails_with_a_figure_if_a_study_became_slower() {
    let lab = Lab::with(STUDY);
    let first = gate(&lab, &[]);
    // On a busy machine, a run may be invalid. A pipeline must not treat this as a regression.
    if first.code == Some(3) {
        return;
    }
    let first = first.ended_with(0);
    first.says(&["has no earlier usable run in kept/results"]);
    let second = gate(&lab, &["--set", "target.null.latency=100ms"]);
    if second.code == Some(3) {
        return;
    }
    second.ended_with(4).says(&[
        "a requirement was missed: throughput at 8 threads is ",
        " in gate/",
    ]);
    let folder = lab.path().join("kept");
    let summary = fs::read_to_string(folder.join("summary.md")).expect("a summary");
    assert!(summary.contains("missed"), "{summary}");
    let targets = targets(&summary);
    assert!(targets.contains(&"compare.svg"), "{summary}");
    for target in targets.iter().filter(|target| !target.starts_with("http")) {
        assert!(
            !target.starts_with('/'),
            "{target} is a path of this machine"
        );
        assert!(
            folder.join(target).exists(),
            "{target} is not in the folder"
        );
    }
    let junit = fs::read_to_string(folder.join("junit.xml")).expect("JUnit XML");
    assert!(junit.contains("<failure"), "{junit}");
    // A run that missed its requirement does not become the reference for the next run. So another
    // run that is equally slow misses the requirement again.
    let third = gate(&lab, &["--set", "target.null.latency=100ms"]);
    if third.code != Some(3) {
        third.ended_with(4);
    }
    // A run that is no worse than a good run passes. The gate finds the good run by its tag.
    let tagged = ["tag", "good", "gate", "--out", "kept/results"];
    lab.cassay(&tagged).ended_with(0);
    let listed = lab.cassay(&["tag", "--json", "--out", "kept/results"]).ended_with(0).json();
    assert!(
        listed["good"].as_str().is_some_and(|run| run.starts_with("gate/")),
        "{listed}"
    );
}

#[test]
fn a_run_or_tag_that_is_not_there_ends_a_study_before_it_begins() {
    let lab = Lab::with(&STUDY.replace("latest", "release-5.0"));
    let said = lab.cassay(&["run", "study.yaml"]).ended_with(1);
    said.says(&["require.not_worse_than: release-5.0"]);
    assert!(!lab.path().join("results").exists(), "nothing was run");
    let lab = Lab::with(&STUDY.replace("latest", "../elsewhere"));
    lab.cassay(&["run", "study.yaml"]).ended_with(1).says(&["contains a path"]);
}

/// Runs `pipelines/install` in a folder with a release of version 1.2.3 that contains one program.
fn install(lab: &Lab, variables: &[(&str, &str)]) -> ProgramOutput {
    let name = format!("cassay-1.2.3-{}-unknown-linux-musl", std::env::consts::ARCH);
    let made = format!(
        "mkdir -p {name}/bin release && printf '#!/bin/sh\necho it runs\n' > {name}/bin/cassay && \
         chmod +x {name}/bin/cassay && tar -czf release/{name}.tar.gz {name} && \
         (cd release && sha256sum *.tar.gz > SHA256SUMS)"
    );
    let made = command("sh").current_dir(lab.path()).args(["-c", &made]).output();
    ProgramOutput::from_output(made.expect("sh")).ended_with(0);
    let mut command = command(pipelines().join("install"));
    command
        .current_dir(lab.path())
        .env("CASSAY_FROM", "release")
        .env("CASSAY_VERSION", "1.2.3")
        .envs(variables.iter().copied())
        .arg("programs");
    ProgramOutput::from_output(command.output().expect("the script"))
}

#[test]
fn a_job_accepts_a_release_program_only_with_its_digest() {
    let lab = Lab::with(STUDY);
    let said = install(&lab, &[]).ended_with(0);
    let program = said.stdout.trim();
    assert!(Path::new(program).is_absolute(), "{program}");
    let run = command(program).output().expect("the program");
    assert_eq!(String::from_utf8_lossy(&run.stdout), "it runs\n");
    let digest = "0".repeat(64);
    let other = install(&lab, &[("CASSAY_SHA256", &digest)]).ended_with(1);
    other.says(&["instead of 0000", "damaged or another file"]);
    let version = install(&lab, &[("CASSAY_VERSION", "1.2.3; echo")]).ended_with(1);
    version.says(&["CASSAY_VERSION is 1.2.3; echo"]);
    let gone = install(&lab, &[("CASSAY_VERSION", "9.9.9")]).ended_with(1);
    gone.says(&["is not in release"]);
}

/// GitHub and GitLab read YAML, and run the script.
#[test]
fn the_files_for_pipelines_are_yaml_and_run_the_gate() {
    for file in ["github/action.yml", "gitlab/cassay.gitlab-ci.yml"] {
        let text = fs::read_to_string(pipelines().join(file)).expect("the file");
        let mut mistakes = yaml::Diagnostics::new(vec![yaml::SourceText {
            name: file.to_owned(),
            text: text.clone(),
        }]);
        let root = yaml::parse(0, &text, yaml::Limits::STUDY, &mut mistakes);
        assert!(root.is_some() && mistakes.is_empty(), "{file}: {mistakes}");
        assert!(
            text.contains("gate\" \"$STUDY\"") || text.contains("gate \"$STUDY\""),
            "{file}"
        );
        // Untrusted text reaches a script through the environment, and is never part of the script.
        let mut scripts = text.split("run: |").skip(1).map(|rest| rest.split("\n    - ").next());
        assert!(
            scripts.all(|script| script.is_some_and(|script| !script.contains("${{"))),
            "{file} has an input in the text of a script"
        );
        assert!(
            text.contains("install"),
            "{file} cannot take the program of a release"
        );
    }
}
