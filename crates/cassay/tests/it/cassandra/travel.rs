//! Tests that cassay can export a snapshot from a cluster. The snapshot must remain when this
//! cluster is deleted, and must become the data of another cluster. The exported fingerprint shows
//! that rows and SSTables are the same.

use super::{KeptClusterGuard, assert_nothing_is_left, dirs, up};
use crate::program::{Lab, is_line_since};
use cluster::{Cluster, SettleOutcome, kept_cluster};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

const ROWS_COUNT: i32 = 600;

/// Number of rows per statement. A statement is far below the server's limit of 16 MiB for a frame.
const BATCH_ROWS: i32 = 100;

fn open(lab: &Lab) -> Cluster {
    kept_cluster::open(&dirs(lab), None, &mut |_| ()).expect("the kept cluster opens")
}

/// Writes rows to two SSTables on each node. Each row is in one of the two SSTables.
fn load(cluster: &Cluster) {
    let mut session = cluster.session().unwrap();
    for statement in [
        "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TYPE k.place (city text)",
        "CREATE TABLE k.t (k int, c int, v text, p frozen<place>, PRIMARY KEY (k, c)) WITH \
         compaction = {'class': 'LeveledCompactionStrategy'}",
    ] {
        session.execute_schema(statement).unwrap();
    }
    for first in (0..ROWS_COUNT).step_by(BATCH_ROWS as usize) {
        let row = |k: i32| {
            let text = format!("v{k}").repeat(20);
            format!("INSERT INTO k.t (k, c, v, p) VALUES ({k}, {k}, '{text}', {{city: 'c{k}'}});")
        };
        let rows: String = (first..first + BATCH_ROWS).map(row).collect();
        let batch = format!("BEGIN UNLOGGED BATCH {rows} APPLY BATCH");
        session.query_at(&batch, cql::Consistency::All).unwrap();
        if first == ROWS_COUNT / 2 {
            settle(cluster);
        }
    }
    settle(cluster);
}

fn settle(cluster: &Cluster) {
    let limit = crate::program::HANG_LIMIT;
    let settled = cluster.settle("k", &["t"], limit, &mut |_| ()).unwrap();
    assert_eq!(settled.outcome, SettleOutcome::Settled);
}

fn rows(cluster: &Cluster) -> BTreeMap<i64, String> {
    let mut session = cluster.session().unwrap();
    let found = session.query_at("SELECT k, c, v, p FROM k.t", cql::Consistency::All).unwrap();
    let row = |row: &Vec<cql::Value>| {
        let rest: Vec<String> = row[1..].iter().map(ToString::to_string).collect();
        (row[0].as_i64().unwrap(), rest.join(" "))
    };
    found.rows.iter().map(row).collect()
}

/// Returns the fingerprint of each node, by the name of the node.
fn prints(nodes: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let nodes = nodes.as_array().unwrap().iter();
    nodes.map(|node| (text(&node["node"]), text(&node["fingerprint"]))).collect()
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn an_exported_snapshot_is_the_same_data_in_another_cluster() {
    let lab = Lab::new();
    let _kept = KeptClusterGuard(&lab);
    up(&lab, &["--nodes", "2", "--yaml=num_tokens=4"]);
    let cluster = open(&lab);
    load(&cluster);
    let before = rows(&cluster);
    assert_eq!(before.len(), ROWS_COUNT as usize);
    drop(cluster);
    lab.cassay(&["snapshot", "create", "full", "--keyspace", "k"]).ended_with(0);
    let folder = lab.path().join("export");
    let to = folder.to_str().unwrap();
    let exported = lab
        .cassay(&["snapshot", "export", "full", "--to", to, "--json"])
        .ended_with(0)
        .json();
    for node in exported["nodes"].as_array().unwrap() {
        let table = &node["tables"][0];
        assert_eq!(node["tokens"].as_array().unwrap().len(), 4);
        assert_eq!(
            table["levels"]
                .as_array()
                .unwrap()
                .iter()
                .map(|n| n.as_u64().unwrap())
                .sum::<u64>(),
            table["sstables"].as_u64().unwrap()
        );
        assert!(
            table["compression_ratio"].as_f64().unwrap() < 0.9,
            "{table}"
        );
    }
    // Each row is in one SSTable of one node, so the sum of the counts in these files is the number
    // of rows.
    let rows_of = |node: &Value| node["tables"][0]["rows"].as_u64();
    let counted: Option<u64> = exported["nodes"].as_array().unwrap().iter().map(rows_of).sum();
    // In files of Cassandra 6.0, the count comes after data whose length depends on the types of
    // the table.
    let is_countable = !is_line_since("6.0");
    assert_eq!(counted, is_countable.then_some(ROWS_COUNT as u64));
    lab.cassay(&["snapshot", "export", "full", "--to", to])
        .ended_with(1)
        .says(&["already exists", "cassay does not overwrite it"]);
    lab.cassay(&["target", "down"]).ended_with(0);

    up(&lab, &["--like", to]);
    a_damaged_file_is_named(&lab, &folder);
    a_table_of_another_definition_is_left_alone(&lab, to);
    let imported = lab
        .cassay(&["snapshot", "import", to, "--as", "again", "--json"])
        .ended_with(0)
        .json();
    assert_eq!(imported["comparison"]["equal"], true, "{imported}");
    let restored = lab.cassay(&["snapshot", "restore", "again", "--json"]).ended_with(0).json();
    assert_eq!(restored["comparison"]["equal"], true, "{restored}");
    let wanted = prints(&exported["nodes"]);
    for (node, print) in &wanted {
        assert_eq!(restored["fingerprints"][node], Value::String(print.clone()));
    }
    let cluster = open(&lab);
    assert_eq!(rows(&cluster), before);
    drop(cluster);
    lab.cassay(&["target", "down"]).ended_with(0);
    assert_nothing_is_left(&lab);
}

fn a_damaged_file_is_named(lab: &Lab, folder: &Path) {
    let table = folder.join("node2/t");
    let files = std::fs::read_dir(&table).unwrap().map(|entry| entry.unwrap().path());
    let data = files.filter(|path| path.to_string_lossy().ends_with("Data.db")).min().unwrap();
    let whole = std::fs::read(&data).unwrap();
    let mut bytes = whole.clone();
    bytes[whole.len() / 2] ^= 1;
    std::fs::write(&data, bytes).unwrap();
    let from = folder.to_str().unwrap();
    let name = data.file_name().unwrap().to_str().unwrap();
    let refused = lab.cassay(&["snapshot", "import", from]).ended_with(1);
    refused.says(&["node2", name, "is damaged", "cassay imported nothing"]);
    std::fs::write(&data, whole).unwrap();
    let none = lab.cassay(&["snapshot", "list", "--json"]).ended_with(0);
    assert_eq!(none.json().as_array().map(Vec::len), Some(0));
}

fn a_table_of_another_definition_is_left_alone(lab: &Lab, from: &str) {
    let cluster = open(lab);
    let mut session = cluster.session().unwrap();
    for statement in [
        "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TYPE k.place (city text)",
        "CREATE TABLE k.t (k int PRIMARY KEY, other text)",
    ] {
        session.execute_schema(statement).unwrap();
    }
    session.query("INSERT INTO k.t (k, other) VALUES (1, 'mine')").unwrap();
    drop(cluster);
    let refused = lab.cassay(&["snapshot", "import", from]).ended_with(1);
    refused.says(&[
        "differs from the definition in the export",
        "create table k . t",
        "other text",
    ]);
    let cluster = open(lab);
    let mut session = cluster.session().unwrap();
    assert_eq!(
        session.query("SELECT other FROM k.t").unwrap().rows.len(),
        1
    );
    session.execute_schema("DROP KEYSPACE k").unwrap();
}
