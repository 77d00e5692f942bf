//! Tests studies from strangers. cassay reports a forbidden setting at its position, and texts
//! cannot control the terminal.

use crate::cli::SMALL;
use crate::program::Lab;

#[test]
fn settings_that_need_trust_are_listed_before_the_start() {
    let hostile = "{local: {jvm: ['-XX:OnOutOfMemoryError=touch owned'], yaml: \
                   {full_query_logging_options: {archive_command: touch owned}}}}";
    let lab = Lab::with(&SMALL.replace("{null: {}}", hostile));
    for command in ["plan", "run"] {
        let said = lab.cassay(&[command, "study.yaml"]).ended_with(2);
        said.says(&[
            "study.yaml:3:24",
            "cassay does not consider `-XX:OnOutOfMemoryError` harmless",
            "the value of `full_query_logging_options.archive_command`",
            "pass --trust if you trust the author of the study",
        ]);
    }
    assert!(!lab.path().join("results").exists());
    lab.cassay(&["plan", "study.yaml", "--trust"]).ended_with(0);
    // The target on the command line replaces the target in the study.
    let null = ["plan", "study.yaml", "--target", "null"];
    lab.cassay(&null).ended_with(0);
}

#[test]
fn a_secret_is_read_from_the_given_source_and_never_shown() {
    let attach = "{attach: {contact_points: ['127.0.0.1:1'], user: u, password: {secret: db}}}";
    let lab = Lab::with(&SMALL.replace("{null: {}}", attach));
    lab.write("elsewhere/secret", "hunter2\n");
    lab.cassay(&["plan", "study.yaml"]).ended_with(2).says(&[
        "but the command line does not name its source",
        "--secret db=file:PATH",
    ]);
    let given = ["--secret", "db=file:elsewhere/secret"];
    let plan = lab
        .cassay(&[&["plan", "study.yaml", "--json", "--offline"], &given[..]].concat())
        .ended_with(0);
    let rerun = plan.json()["rerun"].to_string();
    assert!(
        rerun.contains("--secret db=file:elsewhere/secret"),
        "{rerun}"
    );
    // The connection fails, because no server listens at the address in the study. The failed
    // connection shows that cassay found the secret.
    let said = lab.cassay(&[&["run", "study.yaml"], &given[..]].concat());
    said.says(&["no contact point answers"]);
    assert!(!said.to_string().contains("hunter2"), "{said}");
}

#[test]
fn words_of_a_study_do_not_command_the_terminal() {
    let question = r#""a\e]0;owned\a \x9b2J \u202e b""#;
    let study = SMALL.replace("Does the whole way from file to report work?", question);
    let lab = Lab::with(&study);
    let commands = [
        &["plan", "study.yaml"][..],
        &["plan", "study.yaml", "--json"],
        &["run", "study.yaml"],
        &["show", "latest"],
        &["show", "latest", "--json"],
        &["list"],
        &["plan", "study.yaml", "--set", "window.measure=\u{9b}2J"],
        &["plan", "\u{1b}[2J.yaml"],
    ];
    for command in commands {
        let said = lab.cassay(command);
        let obeyed = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
        for text in [&said.stdout, &said.stderr] {
            assert!(!text.contains(obeyed), "{command:?}: {text:?}");
        }
    }
    let plan = lab.cassay(&["plan", "study.yaml"]).ended_with(0);
    assert!(plan.stdout.contains(r"a\u{1b}]0;owned\u{7}"), "{plan}");
}

/// Cassandra ends a comment at a carriage return, but many programs end a comment only at a line
/// feed. Such a text could hide a statement from the checks.
#[test]
fn a_comment_with_two_possible_ends_is_always_refused() {
    let lab = Lab::with(&SMALL.replace("{use: kv", "{file: w.yaml"));
    lab.write(
        "w.yaml",
        "keyspace: shop\nschema: [\"CREATE TABLE a (k bigint PRIMARY KEY)\"]\nvalues: {k: row}\n\
         statements:\n  read: \"-- a look\\rSELECT k FROM a WHERE k = :k\"\n",
    );
    lab.write(
        "profile.yaml",
        "keyspace: shop\nkeyspace_definition: \"-- a\\rCREATE KEYSPACE shop WITH replication = \
         {'class': 'SimpleStrategy', 'replication_factor': 1}\"\ntable: a\n\
         table_definition: CREATE TABLE a (k bigint PRIMARY KEY, v text)\n\
         queries: {one: {cql: \"select v from a -- b\\r where k = ?\"}}\n",
    );
    lab.write(
        "nb.yaml",
        "scenarios: {default: {main: run cycles=10}}\nbindings: {k: Identity()}\n\
         ops: {read: {raw: \"-- a\\rSELECT k FROM shop.a WHERE k = {k}\"}}\n",
    );
    for command in [
        &["workload", "check", "w.yaml"][..],
        &[
            "stress",
            "user",
            "profile=profile.yaml",
            "ops(insert=1)",
            "n=9",
        ],
        &[
            "stress",
            "user",
            "profile=profile.yaml",
            "ops(one=1)",
            "n=9",
        ],
        &["nb", "nb.yaml", "default"],
    ] {
        let said = lab.cassay(command).ended_with(2);
        said.says(&["this comment ends at a carriage return for Cassandra"]);
    }
    assert!(!lab.path().join("results").exists());
}
