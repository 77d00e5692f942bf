//! Tests studies that `cassay plan` refuses, and the exit code of the command if the cluster cannot
//! be reached.

use crate::cli::SMALL;
use crate::program::{Lab, ProgramOutput};

/// cassay still shows the plan. The exit code is the same as for a run.
#[test]
fn a_plan_ends_as_a_run_would_where_the_cluster_is_not_in_reach() {
    let nobody = |what: &str| SMALL.replace("{null: {}}", what);
    let attached = nobody("{attach: {contact_points: [127.0.0.1:1]}}");
    let own_table = attached.replace("use: kv", "table: shop.orders");
    let pods = nobody("{attach: {kubernetes: {context: nowhere, k8ssandra: demo}}}");
    for study in [attached, own_table, pods] {
        let lab = Lab::with(&study);
        let trusted = |words: &[&str]| {
            let words = [words, &["--trust"]].concat();
            let mut command = lab.command(&words);
            let said = command.env("KUBECONFIG", "/nonexistent").output();
            ProgramOutput::from_output(said.expect("the program runs"))
        };
        let run = trusted(&["run", "study.yaml"]).ended_with(1);
        let error = |said: &ProgramOutput| {
            let line = said.stderr.lines().find(|line| line.starts_with("error: "));
            line.unwrap_or_else(|| panic!("{said}")).to_owned()
        };
        let plan = trusted(&["plan", "study.yaml"]).ended_with(1);
        assert_eq!(error(&plan), error(&run));
        assert!(plan.stdout.contains("trials, seed"), "{plan}");
        let offline = trusted(&["plan", "study.yaml", "--offline"]).ended_with(0);
        assert_eq!(offline.stdout, plan.stdout);
        assert!(!offline.stderr.contains("127.0.0.1:1"), "{offline}");
    }
}

/// Accord (6.0) refuses the default level of most drivers for every request.
#[test]
fn a_level_that_accord_refuses_is_refused_before_the_start() {
    let study = SMALL
        .replace(
            "{null: {}}",
            "{local: {cassandra: '6.0', yaml: {accord: {enabled: true}}}}",
        )
        .replace(
            "{use: standard1, mix: {write: 3, read: 1}}",
            "{file: w.yaml}",
        )
        .replace("  many: {workload: {mix: {write: 1}}}\n", "");
    let lab = Lab::with(&study);
    for (mode, level, refused) in [
        ("full", "LOCAL_ONE", &["write", "read"][..]),
        ("mixed_reads", "LOCAL_ONE", &["write"]),
        ("full", "QUORUM", &[]),
        ("off", "LOCAL_ONE", &[]),
    ] {
        lab.write(
            "w.yaml",
            &format!(
                "keyspace: shop\nschema:\n  - CREATE TABLE users (id bigint PRIMARY KEY, name \
                 text) WITH transactional_mode = '{mode}'\nvalues: {{id: row, name: text(20)}}\n\
                 statements:\n  write: INSERT INTO users (id, name) VALUES (:id, :name)\n  read: \
                 SELECT id, name FROM users WHERE id = :id\nload: write\n"
            ),
        );
        let set = format!("workload.consistency={level}");
        let code = if refused.is_empty() { 0 } else { 2 };
        let said = lab.cassay(&["plan", "study.yaml", "--set", &set]).ended_with(code);
        for kind in ["write", "read"] {
            let words = format!("{kind} of `workload` accesses users at {level}");
            assert_eq!(
                said.stderr.contains(&words),
                refused.contains(&kind),
                "{said}"
            );
        }
    }
}

#[test]
fn accord_is_not_switched_off_where_nodes_hold_a_table_of_it() {
    let lab = Lab::with(
        "study: accord\nquestion: What does Accord cost?\ntarget: {local: {cassandra: '6.0', \
         nodes: 1}}\nworkload: {file: w.yaml, consistency: ONE}\nprocedure: {fixed: {rate: 50}}\n\
         variants:\n  with: {target: {local: {yaml: {accord: {enabled: true}}}}}\n  without: \
         {target: {local: {yaml: {accord: {enabled: false}}}}}\n",
    );
    for (mode, heap, code) in [
        ("full", "1GiB", 2),
        ("off", "1GiB", 0),
        ("full", "512MiB", 2),
    ] {
        lab.write(
            "w.yaml",
            &format!(
                "keyspace: shop\nschema:\n  - CREATE TABLE users (id bigint PRIMARY KEY, name \
                 text) WITH transactional_mode = '{mode}'\nvalues: {{id: row, name: text(20)}}\n\
                 statements:\n  write: INSERT INTO users (id, name) VALUES (:id, :name)\n  read: \
                 SELECT id, name FROM users WHERE id = :id\nload: write\n"
            ),
        );
        let set = format!("variants.without.target.local.heap={heap}");
        let said = lab.cassay(&["plan", "study.yaml", "--set", &set]).ended_with(code);
        let words = "variant without turns off `accord.enabled` on the nodes of variant with";
        assert_eq!(said.stderr.contains(words), code == 2, "{said}");
    }
}
