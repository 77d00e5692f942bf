//! Tests that restored data equals the saved data, with every method, and repeatedly.
//!
//! One cluster of two nodes serves all tests, because its start takes a long time.

use super::{KeptClusterGuard, agent, assert_nothing_is_left, dirs, up};
use crate::program::{Lab, ProgramOutput, Started, wait_until};
use ::cassandra::Permit;
use cluster::{Cluster, RestoreHow, RestoreResult, SettleOutcome, Snapshot, kept_cluster};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use target_spec::{Allow, AttachSpec, JolokiaAccess, SecretSource, Target};

const ROWS_COUNT: i32 = 2000;

/// Number of rows per statement. A statement is far below the server's limit of 16 MiB for a frame.
const BATCH_ROWS: i32 = 100;

const SETTLE_LIMIT: Duration = crate::program::HANG_LIMIT;

/// Opens the kept cluster. No other command can use the cluster until the returned value is
/// dropped.
fn open(lab: &Lab) -> Cluster {
    kept_cluster::open(&dirs(lab), None, &mut |_| ()).expect("the kept cluster opens")
}

/// Writes rows, in several SSTables on each node.
fn load(cluster: &Cluster) {
    let mut session = cluster.session().unwrap();
    for statement in [
        "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 2}",
        "CREATE TYPE k.place (city text)",
        "CREATE TABLE k.t (k int PRIMARY KEY, v text, p frozen<place>) WITH comment = 'a; b'",
    ] {
        session.execute_schema(statement).unwrap();
    }
    for first in (0..ROWS_COUNT).step_by(BATCH_ROWS as usize) {
        let row =
            |k: i32| format!("INSERT INTO k.t (k, v, p) VALUES ({k}, 'v{k}', {{city: 'c{k}'}});");
        let rows: String = (first..first + BATCH_ROWS).map(row).collect();
        session.query_at(&batch(&rows), cql::Consistency::All).unwrap();
        if first == ROWS_COUNT / 2 {
            assert_eq!(settle(cluster, "k", "t"), SettleOutcome::Settled);
        }
    }
    assert_eq!(settle(cluster, "k", "t"), SettleOutcome::Settled);
}

fn batch(statements: &str) -> String {
    format!("BEGIN UNLOGGED BATCH {statements} APPLY BATCH")
}

fn settle(cluster: &Cluster, keyspace: &str, table: &str) -> SettleOutcome {
    let settled = cluster.settle(keyspace, &[table], SETTLE_LIMIT, &mut |_| ()).unwrap();
    assert!(
        settled.detail.contains("node") || settled.detail.contains("127."),
        "{settled:?}"
    );
    settled.outcome
}

fn spoil(cluster: &Cluster, turn: i32) {
    let mut session = cluster.session().unwrap();
    let mut statements = String::new();
    for k in (turn..ROWS_COUNT).step_by(97) {
        statements += &format!("UPDATE k.t SET v = 'spoilt {turn}' WHERE k = {k};");
        statements += &format!("DELETE FROM k.t WHERE k = {};", k + 1);
        statements += &format!("INSERT INTO k.t (k, v) VALUES ({}, 'new');", ROWS_COUNT + k);
    }
    session.query_at(&batch(&statements), cql::Consistency::All).unwrap();
}

/// Checks that every node has exactly the loaded rows.
#[track_caller]
fn assert_rows_are_whole(cluster: &Cluster) {
    for node in cluster.nodes() {
        let mut session = cluster.session_to(node).unwrap();
        let found: BTreeMap<i64, (String, String)> = session
            .query("SELECT k, v, p FROM k.t")
            .unwrap()
            .rows
            .iter()
            .map(|row| {
                let text = |index: usize| row[index].to_string();
                (row[0].as_i64().unwrap(), (text(1), text(2)))
            })
            .collect();
        assert_eq!(found.len(), ROWS_COUNT as usize, "{}", node.name);
        for (k, (v, p)) in &found {
            assert!(
                v.contains(&format!("v{k}")) && !v.contains("spoilt"),
                "{k}: {v}"
            );
            assert!(p.contains(&format!("c{k}")), "{k}: {p}");
        }
    }
}

#[track_caller]
fn restore(cluster: &mut Cluster, name: &str, how: RestoreHow) -> RestoreResult {
    cluster.snapshot_restore(name, how, &mut |_| ()).unwrap()
}

/// Asserts that the restored data equals the snapshot on each node.
#[track_caller]
fn assert_is(restored: &RestoreResult, snapshot: &Snapshot) {
    assert_eq!(restored.fingerprints.len(), snapshot.nodes.len());
    for node in &snapshot.nodes {
        assert_eq!(
            restored.fingerprints[&node.node], node.fingerprint,
            "{restored:?}"
        );
    }
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn data_comes_back_the_same_online_offline_and_attached() {
    let lab = Lab::new();
    let _kept = KeptClusterGuard(&lab);
    up(&lab, &["--nodes", "2"]);
    let mut cluster = open(&lab);
    load(&cluster);
    let snapshot = cluster.snapshot_create("loaded", "k", &[], &mut |_| ()).unwrap();
    assert!(
        snapshot.nodes.iter().all(|node| node.sstables >= 2),
        "{snapshot:?}"
    );
    for turn in 0..rounds() {
        spoil(&cluster, turn);
        let restored = restore(&mut cluster, "loaded", RestoreHow::Online);
        assert_is(&restored, &snapshot);
        assert_rows_are_whole(&cluster);
        let now = cluster.fingerprints("k", &[]).unwrap();
        assert!(now.iter().all(|(node, found)| restored.fingerprints[node] == found.to_string()));
    }
    spoil(&cluster, 11);
    assert_is(
        &restore(&mut cluster, "loaded", RestoreHow::Offline),
        &snapshot,
    );
    assert_rows_are_whole(&cluster);
    for how in [RestoreHow::Online, RestoreHow::Offline] {
        cluster.session().unwrap().execute_schema("DROP KEYSPACE k").unwrap();
        assert_is(&restore(&mut cluster, "loaded", how), &snapshot);
        assert_rows_are_whole(&cluster);
    }
    cached_data_can_be_dropped(&cluster);
    attached(&lab, &cluster);
    a_foreign_cluster_is_unchanged_after_a_killed_restore(&lab, &cluster);
    compactions_that_nobody_begins_are_stalled(&cluster);
    drop(cluster);
    the_command_finds_a_damaged_file(&lab);
    lab.cassay(&["target", "down"]).ended_with(0);
    assert_nothing_is_left(&lab);
}

/// Returns the number of repetitions. `cargo xtask cassandra --rounds 10` runs a long test.
fn rounds() -> i32 {
    let asked = std::env::var("CASSAY_SOAK");
    asked.map_or(2, |text| text.parse().expect("a number of rounds"))
}

fn cached_data_can_be_dropped(cluster: &Cluster) {
    let maps = |(_, settings): &(String, BTreeMap<String, String>)| {
        settings["disk_access_mode"].starts_with("mmap")
    };
    let maps = cluster.settings().unwrap().iter().any(maps);
    assert_eq!(cluster.drop_page_cache().unwrap(), !maps);
    for node in cluster.data_use("k").unwrap() {
        assert!(node.live_bytes > u64::from(ROWS_COUNT as u32), "{node:?}");
        assert_eq!(node.volume, None, "{node:?}");
    }
}

/// Attaches to a cluster, with permission to write to keyspace `k` and to truncate its tables.
fn theirs(lab: &Lab, spec: AttachSpec) -> Cluster {
    let cluster = cluster::start(&Target::Attach(spec), &dirs(lab), &mut |_| ()).unwrap();
    cluster.permit(Permit {
        allow: Allow::parse("write=k,truncate=k").unwrap(),
        ..Permit::default()
    });
    cluster
}

/// Tests the same cluster as an attached cluster, with only its addresses and a password.
fn attached(lab: &Lab, ours: &Cluster) {
    let text = agent::settings(&lab.clusters());
    let of = |key: &str| agent::setting_value(&text, key);
    let access = JolokiaAccess {
        port: of("port").parse().unwrap(),
        user: Some(of("user")),
        password: Some(SecretSource::File(lab.write("password", &of("password")))),
        tls: None,
    };
    let spec_of = |jolokia: Option<JolokiaAccess>| AttachSpec {
        contact_points: vec![ours.nodes()[0].address.to_string()],
        jolokia,
        ..AttachSpec::default()
    };
    let attach = |jolokia: Option<JolokiaAccess>| theirs(lab, spec_of(jolokia));
    let blind = attach(None).snapshot_create("seen", "k", &[], &mut |_| ()).unwrap_err();
    assert!(blind.to_string().contains("add `jolokia`"), "{blind}");

    let mut cluster = attach(Some(access));
    let snapshot = cluster.snapshot_create("seen", "k", &[], &mut |_| ()).unwrap();
    assert_eq!(snapshot.nodes.len(), 2);
    assert_eq!(
        cluster.snapshots().unwrap(),
        std::slice::from_ref(&snapshot)
    );
    for turn in 20..23 {
        spoil(&cluster, turn);
        assert_is(
            &restore(&mut cluster, "seen", RestoreHow::Online),
            &snapshot,
        );
        assert_rows_are_whole(&cluster);
    }
    let offline = cluster.snapshot_restore("seen", RestoreHow::Offline, &mut |_| ());
    assert!(offline.unwrap_err().to_string().contains("cassay did not start the processes"));
    cluster.snapshot_remove("seen").unwrap();
    assert_eq!(cluster.snapshots().unwrap(), []);
    assert_eq!(
        ours.snapshots().unwrap().len(),
        1,
        "ours are somewhere else"
    );
}

/// A study that restores its loaded data before each of its trials.
const RESTORING: &str = "\
study: restoring
question: What is left of a restore that is killed?
target:
  attach:
    contact_points: ['NODE']
    jolokia: {port: PORT, user: USER, password: {file: password}}
workload: {use: standard1, mix: {write: 1}, consistency: ONE}
data: {load: {operations: 2k}, reset: snapshot, settle: none}
client: {timeout: 60s}
procedure: {fixed: {rate: 50}}
repeat: {blocks: 2}
window: {warmup: 0s, measure: 1s}
verify: {reads: none, sample: 0}
";

/// Tests that an attached cluster compacts again after a restore on it is killed, and that it keeps
/// no snapshot of the restore.
fn a_foreign_cluster_is_unchanged_after_a_killed_restore(lab: &Lab, ours: &Cluster) {
    let text = agent::settings(&lab.clusters());
    lab.write("password", &agent::setting_value(&text, "password"));
    let study = RESTORING
        .replace("NODE", &ours.nodes()[0].address.to_string())
        .replace("PORT", &agent::setting_value(&text, "port"))
        .replace("USER", &agent::setting_value(&text, "user"));
    lab.write("restoring.yaml", &study);
    // The server reports this status as true while compactions are disabled.
    let is_on = || {
        let arguments = [json!("keyspace1"), json!(["standard1"])];
        let operation = "getAutoCompactionStatus(java.lang.String,[Ljava.lang.String;)";
        agent::call(&lab.clusters(), operation, &arguments)["standard1"] == false
    };
    let allow = "--allow=create=keyspace1";
    let arguments = ["run", "restoring.yaml", allow, "--trust"];
    let mut command = lab.command(&arguments);
    command.env("CASSAY_SHARED_MACHINE", "1");
    let mut run = Started::new(command);
    run.wait_for("cassay restores keyspace1");
    run.wait_until("they are off", || !is_on());
    let snapshots = || snapshots_below(&lab.clusters(), "keyspace1");
    assert_eq!(snapshots().len(), ours.nodes().len());
    run.kill();
    wait_until("they are on", is_on);
    wait_until("no snapshot is left", || snapshots().is_empty());
    // The resumed run loads the data again, and removes the snapshot that it takes.
    let mut command = lab.command(&["resume", "latest", allow, "--trust", "--json"]);
    command.env("CASSAY_SHARED_MACHINE", "1");
    let resumed = ProgramOutput::from_output(command.output().unwrap());
    let trials = resumed.json()["trials"].as_array().unwrap().clone();
    let restored = |trial: &Value| trial["data"]["how"] == "online";
    assert_eq!(
        trials.iter().filter(|one| restored(one)).count(),
        2,
        "{resumed}"
    );
    assert_eq!(snapshots(), Vec::<PathBuf>::new(), "{resumed}");
    ours.session().unwrap().execute_schema("DROP KEYSPACE keyspace1").unwrap();
}

/// Returns the folders of the snapshots that restores of an attached cluster have taken of a
/// keyspace, on each node.
fn snapshots_below(folder: &Path, keyspace: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.map(|entry| entry.path()).filter(|path| path.is_dir());
    let is_one = |path: &Path| {
        let mut names = path.iter().rev().map(|name| name.to_string_lossy());
        names.next().is_some_and(|name| name.starts_with("cassay-"))
            && names.next().is_some_and(|name| name == "snapshots")
            && names.nth(1).is_some_and(|name| name == keyspace)
    };
    let below = |path: PathBuf| {
        if is_one(&path) {
            return vec![path];
        }
        snapshots_below(&path, keyspace)
    };
    folders.flat_map(below).collect()
}

/// Tests that cassay detects stalled compactions. While compaction is disabled, the leveled
/// strategy counts its pending work, but never begins.
fn compactions_that_nobody_begins_are_stalled(cluster: &Cluster) {
    let mut session = cluster.session().unwrap();
    let options = |enabled: bool| {
        format!(
            "compaction = {{'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': 1, \
             'enabled': {enabled}}}"
        )
    };
    let table = format!(
        "CREATE TABLE k.wide (k int PRIMARY KEY, v text) WITH compression = {{'enabled': false}} \
         AND {}",
        options(false)
    );
    session.execute_schema(&table).unwrap();
    let value = "x".repeat(200_000);
    let mut write = |keys: std::ops::Range<i32>| {
        for k in keys {
            let insert = format!("INSERT INTO k.wide (k, v) VALUES ({k}, '{value}')");
            session.query(&insert).unwrap();
        }
    };
    // With a single SSTable, leveled compaction would not start even if compaction were enabled.
    write(0..30);
    let flushed = cluster.settle("k", &["wide"], Duration::ZERO, &mut |_| ());
    assert_eq!(flushed.unwrap().outcome, SettleOutcome::Timeout);
    write(30..60);
    assert_eq!(settle(cluster, "k", "wide"), SettleOutcome::Stalled);
    session
        .execute_schema(&format!("ALTER TABLE k.wide WITH {}", options(true)))
        .unwrap();
    assert_eq!(settle(cluster, "k", "wide"), SettleOutcome::Settled);
    let found = cluster.fingerprints("k", &["wide"]).unwrap();
    for (node, layout) in found {
        let levels = layout.tables["wide"].levels.clone().expect("it has levels");
        assert!(levels[1..].iter().sum::<u64>() > 1, "{node}: {levels:?}");
    }
}

fn the_command_finds_a_damaged_file(lab: &Lab) {
    let listed = lab.cassay(&["snapshot", "list", "--json"]).ended_with(0).json();
    assert_eq!(listed[0]["name"], "loaded");
    lab.cassay(&["snapshot", "verify", "loaded"]).ended_with(0);
    let cluster = std::fs::read_dir(lab.clusters()).unwrap().next().unwrap().unwrap().path();
    let folder = cluster.join("node2/snapshots/loaded/k/t");
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let data = files.filter(|path| path.to_string_lossy().ends_with("Data.db")).min().unwrap();
    let mut bytes = std::fs::read(&data).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    // The test writes the damaged file as a new file. The table's own file is a hard link to the
    // original file, and must stay unchanged.
    std::fs::remove_file(&data).unwrap();
    std::fs::write(&data, bytes).unwrap();
    let said = lab.cassay(&["snapshot", "verify", "loaded", "--json"]).ended_with(1);
    said.says(&["node2", "is damaged: its CRC-32 is", "Data.db"]);
    assert_eq!(said.json()[0]["whole"], true);
    // Earlier versions of cassay imported a damaged snapshot. cassay must refuse to restore it and
    // must not change the data, so the rows still exist.
    for how in [
        &["snapshot", "restore", "loaded"][..],
        &["snapshot", "restore", "loaded", "--offline"],
    ] {
        let refused = lab.cassay(how).ended_with(1);
        refused.says(&[
            "node2",
            "Data.db is damaged",
            "cassay restored nothing",
            "hint:",
        ]);
    }
    assert_rows_are_whole(&open(lab));
    lab.cassay(&["snapshot", "remove", "loaded"]).ended_with(0);
    let none = lab.cassay(&["snapshot", "restore", "loaded"]).ended_with(1);
    none.says(&["has no snapshot loaded; it has: none"]);
}
