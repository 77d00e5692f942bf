//! Tests the pages of `docs/how-to/` and `SKILL.md`: plans their studies, runs the studies that
//! need no cluster, and parses their command lines.

use crate::null_target::recorded_traffic::lay_log;
use crate::program::Lab;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

struct Example {
    page: String,
    study: String,
    is_run: bool,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the names and the texts of `SKILL.md` and the pages of `docs/how-to`.
fn pages() -> Vec<(String, String)> {
    let mut pages = vec![("SKILL.md".to_owned(), root().join("SKILL.md"))];
    for entry in std::fs::read_dir(root().join("docs/how-to")).unwrap() {
        let entry = entry.unwrap();
        pages.push((entry.file_name().into_string().unwrap(), entry.path()));
    }
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
    pages.into_iter().map(|(name, path)| (name, read(path))).collect()
}

fn examples() -> Vec<Example> {
    let mut found = Vec::new();
    for (page, text) in pages() {
        let mut before = "";
        for (at, part) in text.split("```").enumerate() {
            if let Some(study) = part.strip_prefix("yaml\n").filter(|_| at % 2 == 1) {
                found.push(Example {
                    page: page.clone(),
                    study: study.to_owned(),
                    is_run: before.trim_end().ends_with("<!-- run -->"),
                });
            }
            before = part;
        }
    }
    found
}

/// Plans the example. If the page marks the example with `<!-- run -->`, also runs the example with
/// windows of one second.
fn is_as_it_says(example: &Example) {
    let page = &example.page;
    let lab = Lab::with(&example.study);
    // The clusters in the pages do not exist, so the plan is made offline.
    let mut arguments = vec!["plan", "study.yaml", "--json", "--offline"];
    if example.study.contains("files: [log]") {
        lay_log(&lab);
        // The log contains traffic of two keyspaces, so its import needs trust.
        arguments.push("--trust");
    }
    if ["{ssh: ", "kubernetes:", "pods:"].iter().any(|key| example.study.contains(key)) {
        arguments.push("--trust");
    }
    let plan = lab.cassay(&arguments).ended_with(0).json();
    assert!(
        !plan["trials"].as_array().unwrap().is_empty(),
        "{page}: {plan}"
    );
    if !example.is_run {
        return;
    }
    let mut arguments = vec!["run", "study.yaml", "--json"];
    let is_imported = example.study.contains("stress:");
    let settings: &[&str] = if is_imported {
        &[]
    } else {
        &["window.measure=1s", "window.warmup=0s", "repeat.blocks=1"]
    };
    arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    let said = lab.cassay(&arguments);
    // On a busy machine, a run may miss a latency limit. This is not a mistake of the page.
    let said = if said.code == Some(4) {
        said
    } else {
        said.measured(&lab)
    };
    assert!(
        !said.json()["trials"].as_array().unwrap().is_empty(),
        "{page}: {said}"
    );
}

fn all_of(examples: Vec<Example>) {
    let left = Mutex::new(examples);
    let next = || left.lock().expect("no panic holds it").pop();
    // The runs wait more than they work, so four of them run at once.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(example) = next() {
                    is_as_it_says(&example);
                }
            });
        }
    });
}

#[test]
fn every_study_of_the_how_to_pages_is_planned_or_run() {
    let examples = examples();
    assert!(examples.len() >= 10 && examples.iter().filter(|one| one.is_run).count() >= 6);
    all_of(examples);
}

/// Returns the commands of cassay on the page: lines of code blocks, and code between backticks.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, part) in text.split("```").enumerate() {
        if at % 2 == 1 {
            found.extend(part.lines().map(str::to_owned));
        } else {
            let joined = part.replace('\n', " ");
            found.extend(joined.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    let is_command = |line: &String| line.starts_with("cassay ");
    // Redirections of a shell are not part of the command line, so this code removes them.
    let ours = |line: String| line.split(" > ").next().unwrap_or_default().to_owned();
    found.into_iter().filter(is_command).map(ours).collect()
}

/// Appends `--help` to each command. If the command or an option before `--help` is unknown, the
/// program exits with 2.
#[test]
fn every_command_of_the_how_to_pages_and_the_skill_is_valid() {
    let lab = Lab::new();
    let mut count = 0;
    for (page, text) in pages() {
        for line in commands(&text) {
            let words = shlex::split(&line).unwrap_or_else(|| panic!("{page}: {line}"));
            let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
            // This test does not check the options of other tools.
            if ["stress", "nb", "ycsb", "easy"].contains(&words[0]) {
                continue;
            }
            // The arguments after `--` belong to another command.
            let end = words.iter().position(|word| *word == "--").unwrap_or(words.len());
            let said = lab.cassay(&[&words[..end], &["--help"]].concat());
            assert_eq!(said.code, Some(0), "{page}: {line}: {said}");
            count += 1;
        }
    }
    assert!(count > 30, "{count}");
}
