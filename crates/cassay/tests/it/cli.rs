//! Tests the command line without a target: its output on stdout and stderr, and its exit codes.

use crate::program::{Lab, ProgramOutput};
use expect_test::{Expect, expect};

/// A valid study with two variants and two points.
pub const SMALL: &str = "\
study: small
question: Does the whole way from file to report work?
target: {null: {}}
workload: {use: standard1, mix: {write: 3, read: 1}}
data: {load: {operations: 2k}}
variants:
  few: {}
  many: {workload: {mix: {write: 1}}}
procedure: {sweep: {threads: [2, 4]}}
window: {warmup: 0s, measure: 1s}
";

fn check_mistakes(study: &str, expect: Expect) -> ProgramOutput {
    let lab = Lab::with(study);
    let said = lab.cassay(&["run", "study.yaml"]).ended_with(2);
    expect.assert_eq(&said.stderr);
    assert_eq!(said.stdout, "", "mistakes are conversation");
    assert!(
        !lab.path().join("results").exists(),
        "cassay did not start the run"
    );
    said
}

#[test]
fn help_and_version_are_data_and_end_with_0() {
    let lab = Lab::new();
    let help = lab.cassay(&["--help"]).ended_with(0);
    for part in [
        "plan",
        "run",
        "resume",
        "list",
        "show",
        "compare",
        "report",
        "target",
        "null",
        "workload",
        "--json",
        "--out",
        "Exit codes: 0 done",
    ] {
        assert!(help.stdout.contains(part), "{part}: {help}");
    }
    let version = lab.cassay(&["--version"]).ended_with(0);
    // The version contains the commit if the sources are in a repository.
    let number = concat!("cassay ", env!("CARGO_PKG_VERSION"), " (commit ");
    let rest = version.stdout.trim_end().strip_prefix(number).unwrap_or_default();
    let (commit, target) = rest.split_once(", ").unwrap_or_default();
    let hash = commit.trim_end_matches(".dirty");
    let is_hash = hash.len() == 12 && hash.chars().all(|c| c.is_ascii_hexdigit());
    assert!(is_hash || hash == "unknown", "{version}");
    assert!(
        target.contains("-linux-") && target.ends_with(')'),
        "{version}"
    );
    assert_eq!((help.stderr, version.stderr), Default::default());
}

#[test]
fn a_wrong_command_line_ends_with_2_and_says_what_is_wrong() {
    let lab = Lab::with(SMALL);
    for (arguments, part) in [
        (&["run", "--wrong"][..], "--wrong"),
        (&["rum", "study.yaml"], "rum"),
        (&["compare", "one"], "<CONTENDER>"),
        (&["plan", "none.yaml"], "hint: `cassay new` writes a study"),
        (&["run", "none.yaml"], "cannot read the study none.yaml"),
        (&["null", "--stall", "1s"], "--stall-every"),
        (&["null", "--error", "overloaded=2"], "from 0 to 1"),
        (&["run", "study.yaml", "--seed", "x"], "--seed"),
    ] {
        let said = lab.cassay(arguments).ended_with(2);
        said.says(&[part]);
        assert_eq!(said.stdout, "", "{arguments:?}");
    }
    let said = lab.cassay(&[]).ended_with(2);
    said.says(&["Usage: cassay"]);
}

#[test]
fn a_mistake_on_the_command_line_is_shown_in_its_place() {
    let lab = Lab::with(SMALL);
    for (arguments, part) in [
        (["--set", "window.measure=5"], "the value has no unit"),
        (["--set", "windwo.measure=5s"], "`window`"),
        (
            ["--set", "measure"],
            "does not have the form dotted.path=value",
        ),
        (
            ["--target", "nul"],
            "write null, local, or attach:HOST[:PORT]",
        ),
        (["--scale", "huge"], "huge"),
    ] {
        let said = lab.cassay(&[&["plan", "study.yaml"], &arguments[..]].concat()).ended_with(2);
        said.says(&[part, " found"]);
    }
}

#[test]
fn a_command_that_fails_ends_with_1_and_names_the_thing() {
    let lab = Lab::with(SMALL);
    for (arguments, part) in [
        (&["show", "nothing"][..], "results contains no run"),
        (&["resume"], "results contains no run"),
        (&["workload", "show", "standard9"], "standard1"),
        (&["target", "down", "x"], "no kept cluster x"),
        (&["null", "--error", "overlaoded=0.1"], "overlaoded"),
    ] {
        let said = lab.cassay(arguments).ended_with(1);
        said.says(&["error: ", part]);
        assert_eq!(said.stdout, "", "{arguments:?}");
    }
}

#[test]
fn five_mistakes_get_five_messages_with_line_and_column() {
    let study = "\
study: five
question: How many mistakes are found at once?
target: {local: {nodes: 1, heep: 1GiB}}
workload: {use: standard2, mix: {write: 9}}
data: {load: {operations: 10 M rows}}
procedure: {sweep: {threads: [4, 0]}}
window: {warmup: auto, measure: 60}
";
    let said = check_mistakes(
        study,
        expect![[r#"
        error: `target.local.heep` is not a key of a study
         --> study.yaml:3:28
          |
        3 | target: {local: {nodes: 1, heep: 1GiB}}
          |                            ^^^^
          |
        help: did you mean `heap`?

        error: no workload has the name "standard2"; `cassay workload list` shows all workloads
         --> study.yaml:4:17
          |
        4 | workload: {use: standard2, mix: {write: 9}}
          |                 ^^^^^^^^^
          |
        help: did you mean `standard1`?

        error: `data.load.operations` is `10 M rows`: unknown suffix `M rows`; use k, M or G
         --> study.yaml:5:27
          |
        5 | data: {load: {operations: 10 M rows}}
          |                           ^^^^^^^^^
          |
        help: write a whole number such as 250, 10k or 2M

        error: `procedure.sweep.threads` is `0`: the minimum is 1
         --> study.yaml:6:34
          |
        6 | procedure: {sweep: {threads: [4, 0]}}
          |                                  ^

        error: `window.measure` is `60`: the value has no unit
         --> study.yaml:7:33
          |
        7 | window: {warmup: auto, measure: 60}
          |                                 ^^
          |
        help: write a duration with its unit, such as 10s or 250ms

        5 mistakes found

    "#]],
    );
    assert_eq!(said.stderr.matches("error: ").count(), 5);
}

#[test]
fn text_that_is_not_yaml_is_shown_where_it_breaks() {
    check_mistakes(
        "study: s\nquestion: [q\ntarget: {null: {}}\n",
        expect![[r#"
            error: not valid YAML: illegal placement of ':' indicator
             --> study.yaml:3:7
              |
            3 | target: {null: {}}
              |       ^
              |
            help: put a string with `: ` in quotes, or on separate lines under `|`

            1 mistake found

        "#]],
    );
    check_mistakes(
        "",
        expect![[r#"
        error: the study is empty
         --> study.yaml:1:1
          |
        1 |
          | ^
          |
        help: `cassay new` writes one

        1 mistake found

    "#]],
    );
}

#[test]
fn a_duplicate_key_is_reported_with_all_missing_keys() {
    check_mistakes(
        "study: a\nstudy: b\n",
        expect![[r#"
            error: `question` is missing
             --> study.yaml:1:1
              |
            1 | study: a
              | ^
              |
            help: the key means: Question that the report answers first, in words.

            error: `target` is missing
             --> study.yaml:1:1
              |
            1 | study: a
              | ^
              |
            help: local, attach, null: `cassay explain target`

            error: `workload` is missing
             --> study.yaml:1:1
              |
            1 | study: a
              | ^
              |
            help: use, file, table, stress, nb, ycsb, easy, recorded: `cassay explain workload`

            error: `procedure` is missing
             --> study.yaml:1:1
              |
            1 | study: a
              | ^
              |
            help: for example: procedure: {fixed: {threads: 16}}

            error: `study` occurs a second time; the first is in line 1
             --> study.yaml:2:1
              |
            2 | study: b
              | ^^^^^

            5 mistakes found

        "#]],
    );
}

#[test]
fn a_secret_in_a_study_is_refused_and_never_shown() {
    let study = SMALL.replace(
        "{null: {}}",
        "{attach: {contact_points: [127.0.0.1], user: cassandra, password: hunter2}}",
    );
    let lab = Lab::with(&study);
    for arguments in [
        &["run", "study.yaml"][..],
        &["plan", "study.yaml", "--json"],
        // A second mistake in the same line must not show the secret either.
        &["plan", "study.yaml", "--set", "target.attach.user=[]"],
    ] {
        let said = lab.cassay(arguments).ended_with(2);
        said.says(&["study.yaml:3:"]);
        assert!(!said.to_string().contains("hunter2"), "{said}");
    }
    let by_flag = [
        "plan",
        "study.yaml",
        "--set",
        "target.attach.password=hunter2",
    ];
    let said = lab.cassay(&by_flag).ended_with(2);
    assert!(!said.to_string().contains("hunter2"), "{said}");
    // The password must be hidden in the question too, because the question of the study repeats
    // the command line of another tool.
    let of_store = "stress write n=9 -transport truststore=t truststore-password=hunter2 --check \
                    --target null";
    let said = lab.cassay(&of_store.split(' ').collect::<Vec<_>>()).ended_with(0);
    let shown = said.to_string();
    assert!(
        shown.contains("truststore-password=***") && !shown.contains("hunter2"),
        "{said}"
    );
}

#[test]
fn mistakes_are_data_too_when_asked() {
    let study = SMALL.replace("threads: [2, 4]", "threds: [2, 4]").replace("1s}", "1}");
    let lab = Lab::with(&study);
    let said = lab.cassay(&["run", "study.yaml", "--json"]).ended_with(2);
    said.says(&[
        "study.yaml:9:21",
        "did you mean `threads`?",
        "study.yaml:10:31",
        "the value has no unit",
    ]);
    let mistakes = said.json();
    let places: Vec<_> = mistakes["mistakes"].as_array().unwrap().iter().collect();
    let at = |line: u64, column: u64| {
        let is_there = |m: &&&serde_json::Value| m["line"] == line && m["column"] == column;
        places.iter().find(is_there).is_some()
    };
    assert!(at(9, 21) && at(10, 31), "{mistakes:#}");
}

#[test]
fn a_plan_starts_nothing_and_is_the_same_twice() {
    let lab = Lab::with(SMALL);
    let plan = |more: &[&str]| {
        let arguments = [&["plan", "study.yaml", "--seed", "7"], more].concat();
        lab.cassay(&arguments).ended_with(0)
    };
    assert_eq!(plan(&["--json"]).stdout, plan(&["--json"]).stdout);
    let data = plan(&["--json"]).json();
    assert_eq!(data["format"], 1);
    assert_eq!(data["seed"], 7);
    let trials = data["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 4);
    for trial in trials {
        assert!(trial["phases"].as_array().is_some_and(|p| !p.is_empty()));
        assert!(["few", "many"].contains(&trial["variant"].as_str().unwrap()));
        assert!([2.0, 4.0].contains(&trial["point"]["threads"].as_f64().unwrap()));
    }
    let text = plan(&[]).stdout;
    for part in [
        "small: Does the whole way",
        "4 trials, seed 7, about",
        "measure",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!lab.path().join("results").exists());
}

#[test]
fn a_plan_that_may_end_early_names_its_certain_part() {
    let lab = Lab::with(&SMALL.replace("[2, 4]", "[2, 4, 8], until: timeout"));
    let said = lab.cassay(&["plan", "study.yaml"]).ended_with(0).stdout;
    let decided_by = "For each variant, the sweep ends after the trial in which a request times \
                      out.";
    for part in ["8 threads, if needed\n", decided_by, "\n2 to 6 trials"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains(" 2 threads, if needed"), "{said}");
    let plan = lab.cassay(&["plan", "study.yaml", "--json"]).ended_with(0);
    let estimate = &plan.json()["estimate"];
    assert_eq!(estimate["least"]["trials"], 2);
    assert!(estimate["least"]["seconds"].as_f64() < estimate["seconds"].as_f64());
}

#[test]
fn a_plan_for_real_nodes_needs_no_java_and_says_what_they_take() {
    let lab = Lab::with(&SMALL.replace("{null: {}}", "{local: {nodes: 3, heap: 512MiB}}"));
    let mut command = lab.command(&["plan", "study.yaml", "--json"]);
    let output = command.env("JAVA_HOME", "/nowhere").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let memory = plan["estimate"]["memory_bytes"].as_u64().unwrap();
    assert!(
        memory > 3 * (512 << 20),
        "heaps and what comes on top: {memory}"
    );
    assert!(plan["estimate"]["disk_bytes"].as_u64().unwrap() > 0);
}

#[test]
fn a_folder_without_runs_says_so_and_what_to_do() {
    let lab = Lab::new();
    let list = lab.cassay(&["list"]).ended_with(0);
    list.says(&["no runs in results"]);
    assert_eq!(list.stdout, "");
    let list = lab.cassay(&["list", "--json"]).ended_with(0);
    assert_eq!(list.json(), serde_json::json!([]));
    let show = lab.cassay(&["show"]).ended_with(1);
    show.says(&["results contains no run", "cassay run"]);
    lab.write("elsewhere/odd/stamp/readme", "not a run");
    let list = lab.cassay(&["list", "--json", "--out", "elsewhere"]);
    assert_eq!(list.ended_with(0).json(), serde_json::json!([]));
}

#[test]
fn named_workloads_are_listed_with_their_parameters() {
    let lab = Lab::new();
    let list = lab.cassay(&["workload", "list", "--json"]).ended_with(0).json();
    let names: Vec<_> = list.as_array().unwrap().iter().map(|w| &w["name"]).collect();
    for name in [
        "standard1",
        "cql-iot",
        "cql-timeseries",
        "cql-keyvalue",
        "cql-tabular",
        "kv",
    ] {
        assert!(names.iter().any(|n| *n == name), "{name}: {list:#}");
        let one = lab.cassay(&["workload", "show", name, "--json"]).ended_with(0).json();
        assert!(
            one["kinds"].as_array().is_some_and(|k| !k.is_empty()),
            "{one:#}"
        );
        let shown = lab.cassay(&["workload", "show", name]).ended_with(0);
        assert!(shown.stdout.contains(name) && shown.stderr.is_empty());
    }
}

#[test]
fn a_machine_without_clusters_has_nothing_to_stop() {
    let lab = Lab::new();
    let status = lab.cassay(&["target", "status", "--json"]).ended_with(0);
    assert_eq!(status.json(), serde_json::json!([]));
    status.says(&["no local cluster is running"]);
    let down = lab.cassay(&["target", "down", "--json"]).ended_with(0);
    assert_eq!(down.json(), serde_json::json!({"stopped": []}));
}

/// The fingerprint must be stable, because comparing and resuming runs relies on the fingerprint. A
/// deliberate change of a plan must also change the recorded fingerprint.
#[test]
fn plans_of_shipped_studies_equal_those_of_earlier_versions() {
    let lab = Lab::new();
    let fingerprint = |name: &str| {
        let path = format!("{}/../../studies/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
        let plan = lab.cassay(&["plan", &path, "--json"]).ended_with(0).json();
        cql::token::murmur3(plan["trials"].to_string().as_bytes())
    };
    let plans = ["first-look", "hosts", "known-stall"].map(fingerprint);
    assert_eq!(
        plans,
        [
            3207216597161731880,
            4489170780018626538,
            6215008828241684913
        ]
    );
}
