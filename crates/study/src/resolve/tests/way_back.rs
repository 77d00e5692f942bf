//! Tests upgrades that can be rolled back without the loss of an acknowledged write.

use super::*;
use ::target_spec::fault::{Length, Rollback};
use ::versions::Release;

/// Resolves a study with an upgrade. The study has `nodes` nodes, stores `copies` copies of the
/// data, and writes at the consistency level `level`.
fn read(nodes: usize, copies: usize, level: &str, fault: &str) -> Result<Study, Diagnostics> {
    let workload = format!("{{use: kv, mix: {{write: 1, read: 1}}, consistency: {level}}}");
    read_with(nodes, copies, &workload, ("4.1", fault))
}

fn read_with(
    nodes: usize,
    copies: usize,
    workload: &str,
    (from, fault): (&str, &str),
) -> Result<Study, Diagnostics> {
    let text = format!(
        "study: s\nquestion: q\ntarget: {{local: {{cassandra: {from}, nodes: {nodes}}}}}\n\
         keyspace: {{replication: {copies}}}\nworkload: {workload}\n\
         data: {{load: {{operations: 1000}}}}\nprocedure: {{fixed: {{threads: 4}}}}\n\
         window: {{measure: 10m}}\nfaults: [{{at: 1m, kind: {fault}, for: 5m}}]\n"
    );
    resolve("s", &text, &Overrides::default())
}

fn refused(study: Result<Study, Diagnostics>) -> String {
    study.expect_err("it is refused").to_string()
}

#[test]
fn rollback_leaves_one_copy_of_every_acknowledged_write() {
    let back = |nodes: &str| format!("rolling-upgrade, to: 5.0, {nodes}back: snapshot");
    let (one, two, all) = (back("nodes: [1], "), back("nodes: [1, 3], "), back(""));
    for (copies, level, fault, most) in [
        (3, "QUORUM", &one, None),
        (3, "QUORUM", &two, Some("roll back at most 1 node")),
        (3, "ONE", &one, Some("require more replicas")),
        (3, "ANY", &one, Some("require more replicas")),
        (3, "ALL", &two, None),
        (3, "ALL", &all, Some("roll back at most 2 nodes")),
        (2, "ALL", &one, None),
        (2, "QUORUM", &one, None),
        (1, "ALL", &one, Some("use `keyspace: {replication: 3}`")),
    ] {
        let found = read(3, copies, level, fault);
        match most {
            None => drop(found.unwrap_or_else(|said| panic!("{copies} {level}: {said}"))),
            Some(hint) => {
                let said = refused(found);
                assert!(said.contains(hint), "{copies} {level}: {said}");
                assert!(said.contains("s:9:"), "{said}");
            }
        }
    }
    let said = refused(read(3, 3, "ONE", &one));
    for words in [
        "`faults.back: snapshot` restores the earlier files of 1 node",
        "at ONE, 1 of 3 replicas acknowledge a write: the cluster would lose writes that no other \
         node has",
        "hint: require more replicas, `workload: {consistency: QUORUM}`, and name one node",
    ] {
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_canary_is_said_of_the_nodes_that_it_is_done_to() {
    let fault = |nodes: &str| format!("rolling-upgrade, to: 5.0.9{nodes}");
    for (nodes, place, rows) in [
        ("", "all nodes", vec!["all nodes"]),
        (", nodes: [1]", "node1", vec!["node1"]),
        (", nodes: [3, 1]", "node3 and node1", vec!["node1", "node3"]),
    ] {
        let study = read(3, 3, "QUORUM", &fault(nodes)).unwrap();
        let settings = &study.variants[0].settings;
        let expected = format!("rolling-upgrade of {place}, to 5.0.9, drain true");
        assert_eq!(settings.faults[0].words(), expected);
        let drawn = crate::timeline::lines(&study, 80);
        for row in rows {
            assert!(
                drawn.iter().any(|line| line.trim_start().starts_with(row)),
                "{drawn:#?}"
            );
        }
        assert_eq!(
            drawn.iter().any(|line| line.contains("all nodes")),
            nodes.is_empty()
        );
    }
    // The upgrade waits for the other nodes, so faults on those nodes at the same time conflict
    // with the upgrade.
    let both = "rolling-upgrade, to: 5.0, nodes: [1], for: 1m}, \
                {at: 90s, kind: node-pause, where: {node: 3}";
    let said = refused(read(3, 3, "QUORUM", both));
    let overlaps = "this fault overlaps rolling-upgrade of node1, 1m to 2m";
    assert!(said.contains(overlaps), "{said}");
}

#[test]
fn a_workload_that_writes_nothing_loses_nothing() {
    let reads = "{use: kv, mix: {read: 1}, consistency: ONE}";
    let fault = "rolling-upgrade, to: 5.0, back: snapshot";
    assert!(read_with(3, 3, reads, ("4.1", fault)).is_ok());
}

#[test]
fn counters_do_not_go_back() {
    let counts = "{use: counters, consistency: QUORUM}";
    let fault = |back: &str| format!("rolling-upgrade, to: 5.0, nodes: [1]{back}");
    let said = refused(read_with(3, 3, counts, ("4.1", &fault(", back: snapshot"))));
    assert!(said.contains("the workload writes counters"), "{said}");
    assert!(read_with(3, 3, counts, ("4.1", &fault(""))).is_ok());
}

/// In an earlier version, the check ignored a node number in the form `4.0`.
#[test]
fn an_upgrade_names_nodes_that_exist_in_any_form() {
    let to = |nodes: &str| format!("rolling-upgrade, to: 5.0, nodes: {nodes}");
    let said = refused(read(3, 3, "ALL", &to("[1, 4.0]")));
    assert!(said.contains("has 4, but the target has 3 nodes"), "{said}");
    let said = refused(read(3, 3, "ALL", &to("[2, 2.0]")));
    assert!(said.contains("has 2 twice"), "{said}");
}

/// The test uses two release lines that already have releases, so it does not depend on the name of
/// a newer 6.0 release.
#[test]
fn nobody_goes_back_behind_the_log_of_the_metadata() {
    let to = |more: &str| format!("rolling-upgrade, to: 6.0, {more}back: snapshot");
    let said = refused(read(3, 3, "ALL", &to("")));
    let why = "an upgrade of all of them to 6.0 initializes the cluster metadata log";
    assert!(
        said.contains(why) && said.contains("`nodes: [1]`"),
        "{said}"
    );
    let said = refused(read(3, 3, "ALL", &to("nodes: [3, 2, 1], ")));
    assert!(said.contains(why), "{said}");
    assert!(read(3, 3, "ALL", &to("nodes: [3, 2], ")).is_ok());

    let kv = "{use: kv, consistency: QUORUM}";
    let fault = "rolling-upgrade, to: 6.0-beta1, nodes: [1], back: snapshot";
    let said = refused(read_with(3, 3, kv, ("6.0-alpha2", fault)));
    let why = "A node cannot go back to a state before entries that other nodes have read";
    assert!(said.contains(why), "{said}");
}

#[test]
fn files_are_kept_of_drained_nodes_and_no_other_kind_goes_back() {
    let fault = "rolling-upgrade, to: 5.0, nodes: [1], drain: false, back: snapshot";
    let said = refused(read(3, 3, "QUORUM", fault));
    assert!(
        said.contains("`faults.drain` is `false`") && said.contains("hint: remove `drain`"),
        "{said}"
    );
    let said = refused(read(3, 3, "QUORUM", "node-kill, back: snapshot"));
    assert!(
        said.contains("`faults.back` does not apply to node-kill"),
        "{said}"
    );
    let said = refused(read(
        3,
        3,
        "QUORUM",
        "rolling-upgrade, to: 5.0, back: files",
    ));
    assert!(said.contains("`faults.back` is `files`"), "{said}");
    let said = refused(read(
        3,
        3,
        "QUORUM",
        "rolling-upgrade, to: 4.0, back: snapshot",
    ));
    assert!(said.contains("Cassandra cannot downgrade"), "{said}");
}

/// If the upgrade is not rolled back, the length of the fault is the maximum time for the upgrade.
#[test]
fn an_upgrade_that_goes_back_holds_for_its_time() {
    let fault = |back: &str| {
        let study = read(
            3,
            3,
            "QUORUM",
            &format!("rolling-upgrade, to: 5.0, nodes: [1]{back}"),
        );
        study.unwrap_or_else(|said| panic!("{said}")).variants[0].settings.faults[0].clone()
    };
    let stays = fault("");
    assert_eq!(
        (stays.kind.length, stays.options.back),
        (Length::Task, Rollback::Never)
    );
    let back = fault(", back: snapshot, upgrade_sstables: after");
    assert_eq!(back.kind.length, Length::Staged);
    assert!(
        back.words().ends_with("upgrade_sstables after, back snapshot"),
        "{}",
        back.words()
    );
    assert_eq!(back.options.to, Release::parse("5.0").ok());
}
