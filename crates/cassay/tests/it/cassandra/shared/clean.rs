//! Tests tables that cassay created on an attached cluster. The same study writes to these tables
//! again, but other runs do not. `cassay clean` drops the tables.

use super::one_node;
use crate::program::{HANG_LIMIT, Lab};
use ::cassandra::{Access, Session};

const STUDY: &str = "\
study: again
question: Does the same study run twice on a cluster that is there?
target: {attach: {contact_points: ['NODE']}}
keyspace: {name: made_again}
workload: {use: kv, mix: {write: 1}, consistency: ONE}
data: {load: {operations: 200}, settle: none}
client: {timeout: 60s}
procedure: {fixed: {rate: 50}}
window: {warmup: 0s, measure: 2s}
verify: {reads: none, sample: 0}
";

const YCSB: &str = "recordcount=50\noperationcount=50\nfieldcount=1\nfieldlength=10\n\
                    workload=site.ycsb.workloads.CoreWorkload\n";

fn tables(session: &mut Session, keyspace: &str) -> Vec<String> {
    let found = session.query(&format!(
        "SELECT table_name FROM system_schema.tables WHERE keyspace_name = '{keyspace}'"
    ));
    let rows = found.expect("an answer").rows;
    rows.iter().filter_map(|row| row[0].as_str().map(str::to_owned)).collect()
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn a_study_takes_its_own_tables_again_and_clean_drops_them() {
    let node = one_node::address();
    let mut session = Session::open(node, &Access::default(), HANG_LIMIT).expect("a session");
    let lab = Lab::with(&STUDY.replace("NODE", &node.to_string()));
    let target = format!("attach:{node}");
    let run = [
        "run",
        "study.yaml",
        "--json",
        "--allow",
        "create=made_again",
    ];
    let left =
        format!("made_again.kv remains on {node}; to drop it: cassay clean --target {target}");
    lab.cassay(&run).measured(&lab).says(&[&left]);
    lab.cassay(&run).measured(&lab).says(&[&left, "the run again/"]);
    // In another results folder, the study's name shows that the tables belong to the study. A
    // study with another name may not write to them.
    let other = [&run[..], &["--out", "other"]].concat();
    lab.cassay(&other).says(&["the run again/"]);
    lab.write(
        "study.yaml",
        &STUDY.replace("again\n", "twin\n").replace("NODE", &node.to_string()),
    );
    let third = [&run[..], &["--out", "third"]].concat();
    lab.cassay(&third)
        .ended_with(2)
        .says(&["--allow write=made_again.kv", "in this results"]);
    // The keyspace stays, because it contains another table.
    let theirs = "CREATE TABLE made_again.theirs (id bigint PRIMARY KEY)";
    session.execute_schema(theirs).expect("their table");
    let clean = ["clean", "--target", &target];
    lab.cassay(&clean).ended_with(2).says(&["cassay dropped no table", "--yes"]);
    assert_eq!(tables(&mut session, "made_again"), ["kv", "theirs"]);
    let from_elsewhere = [&clean[..], &["--yes", "--out", "third"]].concat();
    lab.cassay(&from_elsewhere).ended_with(0);
    assert_eq!(tables(&mut session, "made_again"), ["kv", "theirs"]);
    let yes = [&clean[..], &["--yes"]].concat();
    lab.cassay(&yes).ended_with(0).says(&["done: DROP TABLE \"made_again\".\"kv\""]);
    assert_eq!(tables(&mut session, "made_again"), ["theirs"]);
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn a_comment_alone_is_no_leave_to_write() {
    let node = one_node::address();
    let mut session = Session::open(node, &Access::default(), HANG_LIMIT).expect("a session");
    for statement in [
        "CREATE KEYSPACE ycsb WITH replication = {'class': 'SimpleStrategy', \
         'replication_factor': 1}",
        "CREATE TABLE ycsb.usertable (y_id text PRIMARY KEY, field0 text) WITH comment = \
         'made by cassay, run of another team in June'",
    ] {
        session.execute_schema(statement).expect("their table");
    }
    let lab = Lab::new();
    lab.write("words", YCSB);
    let target = format!("attach:{node}");
    let load = ["ycsb", "load", "-P", "words", "--target", &target];
    let said = lab.cassay(&load).ended_with(2);
    said.says(&["--allow write=ycsb.usertable", "of another team in June"]);
    let found = session.query("SELECT y_id FROM ycsb.usertable").expect("an answer");
    assert!(found.rows.is_empty());
    // If the command line names the table, the command writes to the table.
    let named = [&load[..], &["--allow", "write=ycsb.usertable"]].concat();
    lab.cassay(&named).measured(&lab);
    let clean = lab.cassay(&["clean", "--target", &target, "--yes"]).ended_with(0);
    assert!(
        clean.stdout.contains("ycsb.usertable  cassay keeps this table"),
        "{clean}"
    );
    session.execute_schema("DROP KEYSPACE ycsb").expect("it is gone");
}
