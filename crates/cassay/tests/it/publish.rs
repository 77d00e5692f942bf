//! Tests that published pages contain no private string of a run.

use crate::program::Lab;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

const GOLDEN: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../store/golden/format-1/first-look/20261120T232909Z"
);

/// Private strings of each kind. None of them may be in a published file.
const PRIVATE: [&str; 14] = [
    "10.77.3.4",
    "2001:db8:77::9",
    "02:42:ac:4d:00:02",
    "db77.eu.acme-corp.internal",
    "zacharias",
    "/srv/acme77/secret",
    "0f8fad5b-d9cb-469f-a165-70867728950e",
    "4d4d4d4d4d4d4d4d",
    "ip-10-77-3-4",
    // Only the records show that these strings are names.
    "orion77",
    "cass77-dc1-default-sts-0",
    "prod-shop77",
    "Acme Prod 77",
    "Wilhelmina",
];

/// A sentence with the private strings, except the author of a comment.
fn sentence() -> String {
    "seen: 10.77.3.4:9042, [2001:db8:77::9]:9042, 02:42:ac:4d:00:02, db77.eu.acme-corp.internal, \
     zacharias@acme.example.com, /Users/zacharias/x, -Dhome=/srv/acme77/secret/data's <b>, \
     0f8fad5b-d9cb-469f-a165-70867728950e, docker-4d4d4d4d4d4d4d4d.scope, ip-10-77-3-4, orion77, \
     cass77-dc1-default-sts-0, prod-shop77, Acme Prod 77"
        .to_owned()
}

/// Adds the sentence to every text with a blank, which is never a name or a word of the format.
fn plant(value: &mut Value) {
    match value {
        Value::String(text) if text.contains(' ') => *text += &format!(" {}", sentence()),
        Value::Array(items) => items.iter_mut().for_each(plant),
        Value::Object(map) => map.values_mut().for_each(plant),
        _ => {}
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Changes a JSON file of a run. The test reads files that it has written itself.
fn change(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    change(&mut value);
    fs::write(path, value.to_string()).unwrap();
}

/// Makes a lab with a run that contains the private strings in all its texts.
fn planted() -> Lab {
    let lab = Lab::new();
    let run = lab.path().join("results/first-look/20261120T232909Z");
    copy(Path::new(GOLDEN), &run);
    change(&run.join("plan.json"), |plan| {
        plant(plan);
        plan["resolved"]["notes"] = json!([sentence()]);
        plan["resolved"]["overrides"] = json!({
            "inputs": { "load.yaml": format!("# by Wilhelmina\nrate: 5 # {}\n", sentence()) },
            "folder": "/srv/acme77/secret",
        });
        plan["resolved"]["variants"] = json!({ "-": { "target": { "attach": {
            "contact_points": ["10.77.3.4:9042"],
            "hosts": [{ "ssh": "zacharias@orion77", "pod": {
                "namespace": "prod-shop77", "name": "cass77-dc1-default-sts-0",
            }}],
        }}}});
    });
    change(&run.join("findings.json"), |findings| {
        plant(findings);
        findings["faults"] = json!([{
            "kind": "node-pause", "verdict": "confirmed", "evidence": sentence(), "trial": 0,
            "place": "orion77",
        }]);
    });
    let journal = run.join("journal.ndjson");
    let node = json!({
        "name": "10.77.3.4", "address": "10.77.3.4:9042", "host": "10.77.3.4",
        "settings": { "cluster_name": "Acme Prod 77", "data_file_directories": sentence() },
    });
    let ready = json!({ "unix_ns": 1_795_217_349_913_243_000_u64, "event": "target_ready",
        "detail": { "kind": "attach", "nodes": [node] } });
    let text = fs::read_to_string(&journal).unwrap();
    let lines: Vec<String> = text
        .lines()
        .map(|line| {
            if line.contains("target_ready") {
                ready.to_string()
            } else {
                line.to_owned()
            }
        })
        .collect();
    fs::write(&journal, lines.join("\n") + "\n").unwrap();
    let probes = run.join("trials/00-threads-4/probes/nodes.ndjson");
    let text = fs::read_to_string(&probes).unwrap();
    fs::write(&probes, text.replace("\"node1\"", "\"10.77.3.4\"")).unwrap();
    lab
}

fn published(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(published(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// Returns the private strings of a text, as written and with the escapes of HTML and JSON.
fn leaks(text: &str) -> Vec<&'static str> {
    let plain = text.replace("&#39;", "'").replace("\\/", "/").replace("%2F", "/");
    let lower = plain.to_lowercase();
    PRIVATE.into_iter().filter(|one| lower.contains(&one.to_lowercase())).collect()
}

#[test]
fn no_planted_string_is_published() {
    let lab = planted();
    let before = lab.cassay(&["show", "latest"]);
    let report = lab.cassay(&["report", "first-look", "--to", "private.html"]).ended_with(0);
    let private = fs::read_to_string(lab.path().join("private.html")).unwrap();
    for one in PRIVATE {
        assert!(
            private.contains(one),
            "the report has no {one}: {before}{report}"
        );
    }
    let done = lab.cassay(&["publish", "first-look", "site", "--yes"]).ended_with(0);
    assert!(
        done.stdout.contains("Acme Prod 77"),
        "the list is shown first: {done}"
    );
    let files = published(&lab.path().join("site"));
    assert_eq!(files.len(), 3, "{files:?}");
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(leaks(&text), Vec::<&str>::new(), "{}", path.display());
        let is_figure = path.ends_with("report.svg");
        assert!(is_figure || text.contains("node1"), "{}", path.display());
    }
}

#[test]
fn the_user_reads_and_changes_the_list_first() {
    let lab = planted();
    let asked = lab.cassay(&["publish", "first-look", "site"]).ended_with(2);
    asked.says(&["cassay published nothing", "--yes"]);
    let publish = &[
        "publish",
        "first-look",
        "site",
        "--yes",
        "--plan",
        "list.tsv",
    ];
    lab.cassay(publish).ended_with(0).says(&["cassay published nothing yet"]);
    assert!(!lab.path().join("site").exists());
    let list = lab.path().join("list.tsv");
    let text = fs::read_to_string(&list).unwrap();
    let changed: Vec<String> = text
        .lines()
        .map(|line| match line.split('\t').collect::<Vec<&str>>()[..] {
            [kind, times, "orion77", _] => format!("{kind}\t{times}\torion77\tkeep"),
            _ => line.to_owned(),
        })
        .collect();
    fs::write(
        &list,
        changed.join("\n") + "\ntext\t0\tWhat can\tHow much can\n",
    )
    .unwrap();
    lab.cassay(publish).ended_with(0);
    let page = fs::read_to_string(lab.path().join("site/index.html")).unwrap();
    assert_eq!(leaks(&page), ["orion77"]);
    assert!(page.contains("How much can it take?"));

    lab.cassay(publish).ended_with(1).says(&["--force"]);
    fs::write(&list, "host\t1\tdb1\n").unwrap();
    let wrong = lab.cassay(publish).ended_with(1);
    wrong.says(&["list.tsv", "line 1", "3 columns instead of 4"]);
}

#[test]
fn several_runs_have_a_page_with_their_answers() {
    let lab = planted();
    let args = ["publish", "first-look", "first-look", "site", "--yes"];
    let twice = lab.cassay(&args).ended_with(1);
    twice.says(&["first-look", "twice"]);
    let run = lab.path().join("results/first-look/20261120T232909Z");
    copy(
        &run,
        &lab.path().join("results/first-look/20261120T232910Z"),
    );
    let runs = ["first-look/20261120T232909Z", "first-look/20261120T232910Z"];
    lab.cassay(&["publish", runs[0], runs[1], "site", "--yes"]).ended_with(0);
    let page = fs::read_to_string(lab.path().join("site/index.html")).unwrap();
    assert_eq!(leaks(&page), Vec::<&str>::new());
    for stamp in ["20261120T232909Z", "20261120T232910Z"] {
        let link = format!("first-look-{stamp}/index.html");
        assert!(page.contains(&format!("href=\"./{link}\"")), "{link}");
        assert!(lab.path().join("site").join(&link).is_file());
    }
    assert!(page.contains("It takes 101 op/s."), "the answer");
    assert_eq!(page.matches("<h2>").count(), 2);
    lab.cassay(&["publish", runs[0], runs[1], "page.html", "--yes"]).ended_with(1);
    lab.cassay(&["publish", runs[0], "page.html", "--yes"]).ended_with(0);
    let page = fs::read(lab.path().join("page.html")).unwrap();
    assert!(page.starts_with(b"<!doctype html>"));
}
