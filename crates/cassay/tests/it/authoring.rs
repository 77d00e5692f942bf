//! Tests the helpers for writing a study: templates, schemas, explanations, completions, man pages.

use crate::program::{Lab, command, skip};
use boon::{Compiler, Schemas};
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

/// Templates whose studies can run on the null target alone, so that this test can run them.
const TEMPLATES: [&str; 7] = [
    "peak",
    "compare",
    "sweep",
    "fault",
    "upgrade",
    "endurance",
    "capacity",
];

/// Writes a study for the null target with `new`, and runs the study with short windows and a
/// single block.
fn runs(template: &str) {
    let lab = Lab::new();
    let words = ["new", template, "--target", "null", "--json"];
    let new = lab.cassay(&words).ended_with(0).json();
    let file = new["file"].as_str().unwrap();
    assert_eq!(file, format!("{template}.yaml"));
    let plan = lab.cassay(&["plan", file, "--json"]).ended_with(0).json();
    assert_valid("plan", &plan);
    let mut arguments = vec!["run", file, "--json", "--set", "data.load.operations=2k"];
    let blocks = ["--set", "repeat.blocks=1"];
    let times: &[&str] = match template {
        "endurance" => &["--set", "procedure.endurance.for=20s"],
        _ => &["--set", "window.measure=1s", "--set", "window.warmup=0s"],
    };
    arguments.extend(times.iter().chain(&blocks));
    if template == "peak" {
        arguments.extend(["--set", "procedure.peak.rate.to=4k"]);
    }
    let said = lab.cassay(&arguments).measured(&lab);
    let findings = said.json();
    assert_valid("findings", &findings);
    assert!(!findings["trials"].as_array().unwrap().is_empty(), "{said}");
    let run = lab.run();
    let file = std::fs::read_to_string(run.path.join("findings.json")).unwrap();
    assert_valid("findings", &serde_json::from_str(&file).unwrap());
    for line in intervals(&run.path).iter().step_by(7) {
        assert_valid("interval", line);
    }
}

/// Returns the lines of `intervals.ndjson` of the first trial.
fn intervals(run: &Path) -> Vec<Value> {
    let trials = std::fs::read_dir(run.join("trials")).unwrap();
    let first = trials.map(|entry| entry.unwrap().path()).min().unwrap();
    let text = std::fs::read_to_string(first.join("intervals.ndjson")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn assert_valid(schema: &str, value: &Value) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join(format!("docs/schema/{schema}.schema.json"));
    let text = std::fs::read_to_string(path).unwrap();
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    let address = "https://example.org/schema.json";
    compiler.add_resource(address, serde_json::from_str(&text).unwrap()).unwrap();
    let index = compiler.compile(address, &mut schemas).unwrap();
    if let Err(why) = schemas.validate(value, index) {
        panic!("{schema}: {why:#}");
    }
}

#[test]
fn every_template_runs_as_it_was_written() {
    // The runs wait more than they work, so all of them run at once.
    std::thread::scope(|scope| {
        for template in TEMPLATES {
            scope.spawn(|| runs(template));
        }
    });
}

#[test]
fn a_run_of_format_1_and_its_plan_are_what_the_schemas_say() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../store/golden/format-1/first-look/20261120T232909Z");
    for schema in ["findings", "plan"] {
        let text = std::fs::read_to_string(golden.join(format!("{schema}.json"))).unwrap();
        assert_valid(schema, &serde_json::from_str(&text).unwrap());
    }
}

#[test]
fn an_existing_file_is_kept_and_a_wrong_answer_writes_nothing() {
    let lab = Lab::with("mine");
    let said = lab.cassay(&["new", "sweep", "--to", "study.yaml"]).ended_with(1);
    said.says(&["study.yaml already exists", "hint: use --to"]);
    assert_eq!(
        std::fs::read_to_string(lab.path().join("study.yaml")).unwrap(),
        "mine"
    );
    for (set, code, part) in [
        ("procedure.sweep.threads=[0]", 2, "the minimum is 1"),
        (
            "procedure.sweep.thread=[4]",
            1,
            "did you mean `procedure.sweep.threads`",
        ),
        ("repeat.blocks", 1, "does not have the form PATH=VALUE"),
    ] {
        let said = lab.cassay(&["new", "sweep", "--set", set]).ended_with(code);
        said.says(&[part]);
        assert!(!lab.path().join("sweep.yaml").exists(), "{set}");
    }
    lab.cassay(&["new", "swep"]).ended_with(2).says(&["did you mean `sweep`?"]);
    let set = [
        "--set",
        "procedure.sweep.threads=[2, 3]",
        "--target",
        "attach:127.0.0.1:1",
    ];
    let said = lab.cassay(&[&["new", "sweep"], &set[..]].concat()).ended_with(0);
    said.says(&["cassay run sweep.yaml --allow create=cassay_sweep"]);
    let text = std::fs::read_to_string(lab.path().join("sweep.yaml")).unwrap();
    assert!(
        text.contains("{threads: [2, 3]}") && text.contains("127.0.0.1:1"),
        "{text}"
    );
}

/// The answers come from a terminal, which is closed before the last answer.
#[test]
fn a_terminal_gets_questions_and_its_end_means_defaults() {
    if command("script").arg("--version").output().is_err() {
        return skip("`script` of util-linux is not installed");
    }
    let lab = Lab::new();
    let program = env!("CARGO_BIN_EXE_cassay");
    let mut child = command("script")
        .args(["-qec", &format!("{program} new sweep"), "/dev/null"])
        .current_dir(lab.path())
        .env("CASSAY_DATA", "data")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut keyboard = child.stdin.take().unwrap();
    // After a wrong answer, cassay repeats the question. Ctrl-D ends the answers.
    keyboard.write_all(b"local\n[1, 2\n[1, 2]\n\x04\x04\x04\x04").unwrap();
    let shown = child.wait_with_output().unwrap().stdout;
    let shown = String::from_utf8_lossy(&shown);
    drop(keyboard);
    for part in [
        "Which target?",
        "How many operations in flight?",
        "next: cassay plan",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let text = std::fs::read_to_string(lab.path().join("sweep.yaml")).unwrap();
    for part in ["local:", "threads: [1, 2]}", "operations: 100k"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn shells_and_man_know_the_commands() {
    let lab = Lab::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = lab.cassay(&["completions", shell]).ended_with(0).stdout;
        for part in ["cassay", "explain", "completions", "--require-not-slower"] {
            let part = part.trim_start_matches(if shell == "fish" { "--" } else { "" });
            assert!(script.contains(part), "{shell}: {part}");
        }
    }
    let pages = lab.cassay(&["man", "--to", "man", "--json"]).ended_with(0).json();
    assert!(pages["pages"].as_array().unwrap().len() > 40, "{pages}");
    let page = std::fs::read_to_string(lab.path().join("man/cassay-topology-plan.1")).unwrap();
    assert!(
        page.contains("instances") && page.contains("Examples"),
        "{page}"
    );
}

#[test]
fn explanations_and_schemas_are_data() {
    let lab = Lab::new();
    let rule = lab.cassay(&["explain", "V12", "--json"]).ended_with(0).json();
    assert_eq!(rule[0]["about"], "rule");
    assert!(
        rule[0]["more"]["warns"].as_str().unwrap().contains("shorter than 5 s"),
        "{rule}"
    );
    let all = lab.cassay(&["explain", "--json"]).ended_with(0).json();
    assert!(all.as_array().unwrap().len() > 400);
    let lag = lab.cassay(&["explain", "release", "lag"]).ended_with(0).stdout;
    assert!(lag.contains("release lag (word)"), "{lag}");
    let said = lab.cassay(&["explain", "window.warmupp"]).ended_with(1);
    said.says(&[
        "`window.warmupp` is unknown",
        "did you mean `window.warmup`",
    ]);
    let study = lab.cassay(&["schema", "study"]).ended_with(0).json();
    assert_eq!(study["title"], "cassay study");
    lab.cassay(&["schema", "findings", "--to", "f.json"]).ended_with(0);
    let written = std::fs::read_to_string(lab.path().join("f.json")).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&written).unwrap()["title"],
        "cassay findings"
    );
}

#[test]
fn commands_are_functions_of_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let study = folder.path().join("sweep.yaml");
    let run = |words: &[&str]| {
        let words = ["cassay"].iter().chain(words);
        cassay::run(words.map(std::ffi::OsString::from))
    };
    let new = ["new", "sweep", "--target", "null", "--yes", "--to"];
    let file = study.to_str().unwrap();
    assert_eq!(run(&[&new[..], &[file]].concat()), cassay::Exit::Done);
    assert_eq!(run(&["plan", file]), cassay::Exit::Done);
    let text = std::fs::read_to_string(&study).unwrap();
    std::fs::write(&study, text.replace("question:", "kwestion:")).unwrap();
    assert_eq!(run(&["plan", file]), cassay::Exit::Usage);
}
