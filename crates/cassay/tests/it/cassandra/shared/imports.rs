//! Tests other tools' files on a real Cassandra. cassay reads rows that cassandra-stress writes
//! from its example profiles, and cassandra-stress reads rows that cassay writes. Also covers every
//! column type, YCSB, NoSQLBench and cassandra-easy-stress.

use super::stress::{distribution, stress_tool, summary};
use super::{assert_rows_are_right, one_node, only_trial};
use crate::program::{Lab, vector};
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;

const PARTITIONS: u64 = 1000;

/// A profile with every type of column, and with clustering on two levels.
const ALL_TYPES: &str = "\
keyspace: kinds
keyspace_definition: |
  CREATE KEYSPACE IF NOT EXISTS kinds
  WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};
type_definitions:
  - CREATE TYPE IF NOT EXISTS point (x int, label text)
table: everything
table_definition: |
  CREATE TABLE IF NOT EXISTS everything (
    k1 text, k2 bigint, c1 timestamp, c2 int,
    a ascii, b blob, c boolean, d date, e decimal, f double, g float, h inet, i int, j smallint,
    k time, l timeuuid, m tinyint, n uuid, o varint, p duration,
    q frozen<list<int>>, r frozen<set<text>>, s frozen<map<text, int>>, t tuple<int, text>,
    u frozen<point>, v vector<float, 3>, w frozen<map<int, frozen<list<text>>>>,
    PRIMARY KEY ((k1, k2), c1, c2))
columnspec:
  - {name: c1, cluster: fixed(3)}
  - {name: c2, cluster: fixed(2)}
  - {name: d, population: uniform(1..1M)}
  - {name: k, population: uniform(1..1M)}
insert: {partitions: fixed(2), batchtype: UNLOGGED}
queries:
  one: {cql: 'select * from everything where k1 = ? and k2 = ? and c1 = ?', fields: samerow}
";

/// Returns `ALL_TYPES` with the types that the tested line supports.
fn all_types() -> String {
    ALL_TYPES.replace("vector<float, 3>", vector())
}

/// A workload like NoSQLBench's cql-iot, with a few columns.
const IOT: &str = "\
scenarios:
  default:
    schema: run driver=cql tags==phase:schema threads==1 cycles==UNDEF
    rampup: run driver=cql tags==phase:rampup cycles===TEMPLATE(rampup-cycles,1000) threads=auto
    main: run driver=cql tags==phase:main cycles===TEMPLATE(main-cycles,1000) threads=auto
bindings:
  machine: Mod(<<sources:100>>); ToHashedUUID() -> java.util.UUID
  time: Mul(100L); Div(10000L); ToDate()
  value: Normal(0.0,5.0); Add(100.0) -> double
blocks:
  - name: schema
    tags: {phase: schema}
    params: {prepared: false}
    statements:
      - make-keyspace: |
          create keyspace if not exists <<keyspace:sensors>>
          WITH replication = {'class': 'SimpleStrategy', 'replication_factor': '<<rf:1>>'};
      - make-table: |
          create table if not exists <<keyspace:sensors>>.readings
          (machine uuid, time timestamp, value double, PRIMARY KEY (machine, time))
  - name: rampup
    tags: {phase: rampup}
    statements:
      - fill: insert into <<keyspace:sensors>>.readings (machine,time,value)
          values ({machine},{time},{value})
  - name: main
    tags: {phase: main}
    statements:
      - look: select * from <<keyspace:sensors>>.readings where machine={machine} limit 10
        ratio: 1
      - write: insert into <<keyspace:sensors>>.readings (machine,time,value)
          values ({machine},{time},{value})
        ratio: 9
";

const ORDERS: &str = "\
study: orders
question: Does the example do what it says?
target: {null: {}}
keyspace: {durable_writes: false, options: {gc_grace_seconds: 60}}
workload: {file: orders.yaml}
data: {load: {operations: 2k}, settle: none}
client: {timeout: 60s}
procedure: {fixed: {threads: 8}}
window: {warmup: 1s, measure: 4s}
verify: {reads: all, sample: 1000}
";

/// Runs another tool's command line with cassay, which compares every read. Returns the trials.
fn trials(lab: &Lab, node: SocketAddr, words: &[&str]) -> Vec<Value> {
    let target = format!("attach:{node}");
    let ours = ["--json", "--target", &target, "--set", "verify.reads=all"];
    let (tool, rest) = words.split_first().expect("a tool");
    let arguments = [&[*tool], &ours[..], rest].concat();
    let said = lab.cassay(&arguments).measured(lab);
    said.json()["trials"].as_array().expect("trials").clone()
}

fn profile(name: &str) -> String {
    let file = distribution().join(format!("tools/cqlstress-{name}.yaml"));
    format!("profile={}", file.display())
}

/// Returns the arguments of cassandra-stress for a profile.
fn words<'a>(profile: &'a str, ops: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["n=1000", "no-warmup", "cl=LOCAL_ONE", "-pop", "seq=1..1000"];
    let mut words = vec!["user", profile, ops];
    words.extend(&fixed[..3]);
    words.extend(more);
    words.extend(&fixed[3..]);
    words.extend(["-rate", "threads=8"]);
    words
}

fn one(mut trials: Vec<Value>) -> Value {
    assert_eq!(trials.len(), 1);
    trials.remove(0)
}

/// Tests the example profiles of cassandra-stress. Each program reads the data that the other
/// program has written.
#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn profiles_of_cassandra_stress_are_read_by_either() {
    let (lab, node) = (Lab::new(), one_node::address());
    // These profiles share a keyspace, so they run in sequence.
    for name in ["example", "counter-example", "insanity-example"] {
        profile_both_ways(&lab, node, name);
    }
}

fn profile_both_ways(lab: &Lab, node: SocketAddr, name: &str) {
    let profile = profile(name);
    let read = |ops: &str| {
        let words = [&["stress"], &words(&profile, ops, &[])[..]].concat();
        one(trials(lab, node, &words))
    };
    let wrote = stress_tool(lab, node, &words(&profile, "ops(insert=1)", &[]));
    assert_eq!(summary(&wrote, "Total errors"), 0, "{name}");
    assert_rows_are_right(&read("ops(validate=1)"), PARTITIONS);
    assert_rows_are_right(&read("ops(simple1=1)"), PARTITIONS);

    // Tests the reverse direction in a truncated table.
    let insert = words(&profile, "ops(insert=1)", &["truncate=once"]);
    let allow = ["stress", "--allow", "truncate=stresscql,write=stresscql"];
    let wrote = one(trials(lab, node, &[&allow[..], &insert].concat()));
    assert_eq!(wrote["errors"], serde_json::json!({}), "{name}");
    assert_rows_are_right(&read("ops(validate=1)"), PARTITIONS);
    let read = counted(lab, node, &words(&profile, "ops(simple1=1)", &[]));
    assert_eq!(summary(&read, "Total errors"), 0, "{name}");
    // Every partition must have returned rows.
    assert_eq!(summary(&read, "Total partitions"), PARTITIONS, "{name}");
}

/// Runs the tool until it prints counts. Runs of about a second sometimes print no counts.
fn counted(lab: &Lab, node: SocketAddr, words: &[&str]) -> String {
    for _ in 0..4 {
        let text = stress_tool(lab, node, words);
        if summary(&text, "Total partitions") > 0 {
            return text;
        }
    }
    panic!("cassandra-stress has counted nothing in four runs");
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn every_type_of_column_is_read_back() {
    let (lab, node) = (&Lab::new(), one_node::address());
    lab.write("all-types.yaml", &all_types());
    for ops in ["ops(insert=1)", "ops(validate=1)", "ops(one=1)"] {
        let words = words("profile=all-types.yaml", ops, &[]);
        let trial = one(trials(lab, node, &[&["stress"], &words[..]].concat()));
        if ops != "ops(insert=1)" {
            assert_rows_are_right(&trial, PARTITIONS);
        }
    }
    // Checks that the test would notice an error. Partitions beyond the written partitions have no
    // rows.
    let beyond: Vec<&str> = words("profile=all-types.yaml", "ops(validate=1)", &[])
        .into_iter()
        .map(|word| {
            if word == "seq=1..1000" {
                "seq=901..1900"
            } else {
                word
            }
        })
        .collect();
    let ours = format!("attach:{node}");
    let ours = ["--json", "--target", &ours, "--set", "verify.reads=all"];
    let arguments = [&["stress"], &ours[..], &beyond].concat();
    let trial = only_trial(&lab.cassay(&arguments).ended_with(3));
    assert_eq!(trial["verify"]["missing"], 900, "{}", trial["verify"]);
    a_table_that_the_cluster_knows(lab, node);
}

/// Tests the same profile without its definitions. The cluster has the definitions, so the rows are
/// the same.
fn a_table_that_the_cluster_knows(lab: &Lab, node: SocketAddr) {
    let all = all_types();
    let (before, rest) = all.split_once("type_definitions:").expect("types");
    let (_, after) = rest.split_once("columnspec:").expect("columns");
    let text = format!("{before}table: everything\ncolumnspec:{after}");
    lab.write("bare.yaml", &text);
    let words = words("profile=bare.yaml", "ops(validate=1)", &[]);
    let trial = one(trials(lab, node, &[&["stress"], &words[..]].concat()));
    assert_rows_are_right(&trial, PARTITIONS);
    let plan = lab.run().plan;
    let note = "bare.yaml has no table_definition";
    let notes = plan.resolved.notes.iter();
    let said = notes.filter(|said| said.starts_with(note));
    assert_eq!(said.count(), 1);
    let kept = &plan.resolved.overrides.inputs["bare.yaml"];
    assert!(
        kept.contains("CREATE TYPE IF NOT EXISTS kinds.point") && kept.contains(vector()),
        "{kept}"
    );
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn ycsb_s_workload_counts_and_reads_what_it_loads() {
    let (lab, node) = (&Lab::new(), one_node::address());
    lab.write(
        "workloadf",
        "recordcount=1000\noperationcount=2000\nreadproportion=0.5\nupdateproportion=0\n\
         readmodifywriteproportion=0.5\nrequestdistribution=zipfian\n",
    );
    for phase in ["load", "run"] {
        let words = ["ycsb", phase, "-P", "workloadf", "-threads", "8"];
        let level = ["-p", "cassandra.readconsistencylevel=ONE"];
        let trial = one(trials(lab, node, &[&words[..], &level].concat()));
        if phase == "run" {
            assert_rows_are_right(&trial, 1000);
            let count = |kind: &str| trial["kinds"][kind]["ops"].as_u64();
            assert_eq!(count("read-modify-write"), Some(1000));
            assert_eq!(count("rmw-read"), Some(1000));
            assert_eq!(trial["server"]["writes"], 1000);
            assert_eq!(trial["server"]["reads"], 2000);
        }
    }
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn easy_stress_reads_what_it_has_populated() {
    let (lab, node) = (&Lab::new(), one_node::address());
    // The rate is low enough for a busy node, because a failed write would be missing.
    let line = "easy run KeyValue -n 200 -t 2 --rate 200 -p 99 --pg sequence --populate 100 \
                --drop --compaction lcs,160,10 --compression {'class':'LZ4Compressor'} --cl ONE";
    let words: Vec<&str> = line.split_whitespace().collect();
    // The statement names no keyspace, so it applies to the default keyspace of the tool.
    let more = ["--cql", "ALTER TABLE keyvalue WITH comment = 'x'"];
    let trials = trials(lab, node, &[&words[..], &more].concat());
    let names: Vec<&str> = trials.iter().filter_map(|t| t["variant"].as_str()).collect();
    assert_eq!(names, ["populate", "run"]);
    assert_eq!(trials[0]["server"]["writes"], 200);
    // Half of the operations of the run are reads, so at least 150 rows are checked.
    assert_rows_are_right(&trials[1], 150);
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn nosqlbench_s_scenario_does_its_cycles() {
    let (lab, node) = (&Lab::new(), one_node::address());
    lab.write("iot.yaml", IOT);
    let trials = trials(
        lab,
        node,
        &["nb", "iot.yaml", "default", "main-cycles=2000"],
    );
    let names: Vec<&str> = trials.iter().filter_map(|t| t["variant"].as_str()).collect();
    assert_eq!(names, ["rampup", "main"]);
    assert_eq!(trials[0]["server"]["writes"], 1000);
    assert_eq!(trials[1]["server"]["writes"], 1800);
    assert_eq!(trials[1]["server"]["reads"], 200);
}

/// Tests the workload file in the documentation: two tables, a logged batch, conditions, pages.
#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn the_workload_file_of_the_documents_runs() {
    let (lab, node) = (&Lab::new(), one_node::address());
    checked(lab, node, false);
    run_of_the_documents_file(lab, node);
    checked(lab, node, true);
}

fn run_of_the_documents_file(lab: &Lab, node: SocketAddr) {
    let shown = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/orders.yaml");
    let text = std::fs::read_to_string(shown).expect("the example");
    lab.write("orders.yaml", &text);
    lab.write("orders-study.yaml", ORDERS);
    let target = format!("attach:{node}");
    // The guard is off, because a node that is slow due to other tests must not end the run.
    let run = ["run", "orders-study.yaml", "--set", "guard=off"];
    let there = ["--json", "--target", &target, "--allow", "create=shop"];
    let trial = only_trial(&lab.cassay(&[&run[..], &there].concat()).measured(lab));
    assert_rows_are_right(&trial, 500);
    assert_eq!(trial["errors"], serde_json::json!({}));
    let sum = |name: &str| {
        let counts = trial["counts"].as_object().expect("counts").values();
        counts.filter_map(|kind| kind[name].as_u64()).sum::<u64>()
    };
    for name in ["rows", "pages", "batched", "applied", "not_applied"] {
        assert!(sum(name) > 0, "{name}: {}", trial["counts"]);
    }
    let trial = lab.run().trial(0).unwrap().expect("the trial");
    let proofs = trial.nodes().unwrap().expect("nodes.json").proofs;
    for (key, value) in [(" durable_writes", "false"), (" gc_grace_seconds", "60")] {
        let proof = proofs
            .iter()
            .find(|proof| proof.key.ends_with(key))
            .expect("what the schema shows");
        assert_eq!((proof.effective.as_str(), proof.holds), (value, true));
    }
}

/// Tests `workload check` on a server: in a temporary keyspace while the tables do not exist, and
/// on the tables once they do.
fn checked(lab: &Lab, node: SocketAddr, is_there: bool) {
    let shown = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/orders.yaml");
    let text = std::fs::read_to_string(shown).expect("the example");
    let target = format!("attach:{node}");
    let before = keyspaces(node);
    let check = |from: &str, to: &str, code: i32| {
        assert!(text.contains(from), "{from}");
        lab.write("checked.yaml", &text.replace(from, to));
        let check = [
            "workload",
            "check",
            "checked.yaml",
            "--json",
            "--target",
            &target,
        ];
        let said = lab.cassay(&check).ended_with(code);
        // The check must remove its keyspace, whatever the result is.
        assert_eq!(keyspaces(node), before, "{said}");
        said
    };
    let prepared = &check("keyspace: shop", "keyspace: shop", 0).json()["prepared"];
    assert_eq!(prepared["scratch"], !is_there, "{prepared}");
    // One of the seven operations has two statements, so the file has eight statements.
    assert_eq!(prepared["statements"], 8, "{prepared}");
    // Only a server can give these answers. They contain the position of the mistake, and the
    // message of the server.
    let filtered = "  by_total: SELECT id FROM orders WHERE total = :total\n  empty_cart:";
    check("  empty_cart:", filtered, 2).says(&[
        "checked.yaml:75:13",
        "refuses this statement (invalid): Cannot execute this query",
        "ALLOW FILTERING",
    ]);
    if is_there {
        // The existing table has a column whose type differs from the type in the file.
        let other = check("worker int)", "worker bigint)", 2);
        other
            .says(&["the server requires int here, but the workload generates `worker` as bigint"]);
        return;
    }
    let option = "CREATE TABLE claims (id uuid PRIMARY KEY, worker int) WITH no_such_thing = 1";
    let claims = "CREATE TABLE claims (id uuid PRIMARY KEY, worker int)";
    let refused = check(claims, option, 2);
    refused.says(&[
        "checked.yaml:27:5",
        "refuses this",
        "no_such_thing",
        "1 mistake",
    ]);
}

fn keyspaces(node: SocketAddr) -> Vec<String> {
    let limit = Duration::from_secs(120);
    let session = ::cassandra::Session::open(node, &::cassandra::Access::default(), limit);
    let rows = session
        .and_then(|mut session| session.query("SELECT keyspace_name FROM system_schema.keyspaces"))
        .expect("keyspaces")
        .rows;
    let mut names: Vec<String> = rows.iter().flatten().map(ToString::to_string).collect();
    // Meanwhile, other tests create keyspaces on the same node, so only the keyspaces of this test
    // count.
    names.retain(|name| name.contains("cassay_check_") || name.contains("shop"));
    names.sort();
    names
}
