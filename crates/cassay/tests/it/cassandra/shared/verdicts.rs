//! Tests verdicts on existing tables. cassay compares reads if possible, and checks that requested
//! columns exist.

use super::one_node;
use crate::program::{HANG_LIMIT, Lab, ProgramOutput, is_of_line};
use ::cassandra::{Access, Session};

/// An indexed table of towns. Some reads bind the primary key of the table, and other reads do not.
const PROFILE: &str = "\
keyspace: towns
keyspace_definition: |
  CREATE KEYSPACE towns WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};
table: town
table_definition: |
  CREATE TABLE town (id text PRIMARY KEY, land text)
extra_definitions:
  - CREATE INDEX IF NOT EXISTS town_land ON towns.town (land)
columnspec:
  - {name: id, size: fixed(8), population: uniform(1..200)}
  - {name: land, size: fixed(4), population: uniform(1..5)}
queries:
  key: {cql: select * from town where id = ?, fields: samerow}
  named: {cql: 'select id, land from town where id = ?', fields: samerow}
  index: {cql: select * from town where land = ?, fields: samerow}
  any: {cql: select * from town limit 10, fields: samerow}
  token: {cql: select * from town where token(id) > token(?) limit 5, fields: samerow}
  filter: {cql: select * from town where land = ? limit 3 allow filtering, fields: samerow}
";

/// Number of rows that another tool wrote to the table that YCSB reads.
const ROWS: u64 = 200;

fn stress(lab: &Lab, ops: &str, more: &[&str]) -> ProgramOutput {
    let target = format!("attach:{}", one_node::address());
    let ops = format!("ops({ops})");
    let words = [
        "stress",
        "user",
        "profile=towns.yaml",
        "no-warmup",
        &ops,
        "n=400",
    ];
    let rate = ["-rate", "threads=2", "--target", &target, "--json"];
    // The guard is off, because the test is about the requests to the server. A server that is slow
    // because of other tests must not end the run.
    lab.cassay(
        &[
            &["stress"],
            &["--set", "guard=off"][..],
            &words[1..],
            &rate,
            more,
        ]
        .concat(),
    )
}

/// Returns the result and the detail of rule V14 in the first trial.
fn compared(said: &ProgramOutput) -> (String, String) {
    let findings = said.json();
    let rules = findings["trials"][0]["rules"].as_array().expect("rules");
    let rule = rules.iter().find(|rule| rule["rule"] == "V14").expect("V14");
    let text = |key: &str| rule[key].as_str().unwrap_or_default().to_owned();
    (text("result"), text("detail"))
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn only_what_a_read_binds_and_the_definition_has_is_compared() {
    let lab = Lab::new();
    lab.write("towns.yaml", PROFILE);
    stress(&lab, "insert=1", &[]).measured(&lab);
    for ops in ["index=1", "any=1", "token=1", "filter=1"] {
        let read = stress(&lab, ops, &[]).measured(&lab);
        let (result, detail) = compared(&read);
        assert_eq!(result, "unknown", "{ops}: {detail}");
        let why = "does not restrict all columns of the partition key by `= ?`";
        assert!(read.stderr.contains(why), "{read}");
    }
    let (result, detail) = compared(&stress(&lab, "key=1", &[]).measured(&lab));
    assert!(result == "pass" && detail.contains(" 0 wrong"), "{detail}");
    let mut session =
        Session::open(one_node::address(), &Access::default(), HANG_LIMIT).expect("a session");
    let added = "ALTER TABLE towns.town ADD extra set<text>";
    session.execute_schema(added).expect("one more column");
    let (result, detail) = compared(&stress(&lab, "key=1", &[]).measured(&lab));
    assert!(
        result == "unknown" && detail.contains("(extra)"),
        "{detail}"
    );
    let (result, detail) = compared(&stress(&lab, "named=1", &[]).measured(&lab));
    assert!(result == "pass" && detail.contains(" 0 wrong"), "{detail}");
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn an_existing_table_is_compared_with_the_asked_one() {
    let node = one_node::address();
    let mut session = Session::open(node, &Access::default(), HANG_LIMIT).expect("a session");
    for cql in [
        "CREATE KEYSPACE asked WITH replication = {'class': 'SimpleStrategy', \
         'replication_factor': 1}",
        "CREATE TABLE asked.town (id text PRIMARY KEY, land int) WITH gc_grace_seconds = 77",
    ] {
        session.execute_schema(cql).expect("their table");
    }
    let lab = Lab::new();
    let asked = PROFILE
        .replace("towns", "asked")
        .replace("  - CREATE INDEX", "  - CREATE  INDEX");
    let of_type = |typ: &str, more: &str| {
        let table = format!("CREATE TABLE town (id text PRIMARY KEY, land {typ}){more}");
        let land = "  - {name: land, size: fixed(4), population: uniform(1..5)}\n";
        asked
            .replace("CREATE TABLE town (id text PRIMARY KEY, land text)", &table)
            .replace(land, "")
    };
    let allow = ["--allow", "write=asked,create=asked"];
    lab.write("towns.yaml", &of_type("float", ""));
    let other = stress(&lab, "insert=1,named=1", &allow).ended_with(3);
    let words = "column land of town is int on";
    other.says(&[words, "this workload writes and reads it as float"]);
    let empty = session.query("SELECT id FROM asked.town LIMIT 1");
    assert!(
        empty.expect("an answer").rows.is_empty(),
        "nothing was written"
    );
    for (more, replicas, words) in [
        (" WITH gc_grace_seconds = 60", 1, "town gc_grace_seconds"),
        ("", 3, "asked replication"),
    ] {
        let factor = format!("'replication_factor': {replicas}");
        let text = of_type("int", more).replace("'replication_factor': 1", &factor);
        lab.write("towns.yaml", &text);
        stress(&lab, "insert=1", &allow)
            .ended_with(3)
            .says(&["V11: not in effect", words]);
    }
    lab.write("towns.yaml", &of_type("int", " WITH gc_grace_seconds = 77"));
    stress(&lab, "insert=1", &allow).measured(&lab);
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn rows_of_another_tool_are_named_and_empty_reads_do_not_count() {
    let node = one_node::address();
    let mut session = Session::open(node, &Access::default(), HANG_LIMIT).expect("a session");
    let keyspace = "CREATE KEYSPACE others WITH replication = \
                    {'class': 'SimpleStrategy', 'replication_factor': 1}";
    session.execute_schema(keyspace).expect("their keyspace");
    let table = "CREATE TABLE others.usertable (y_id text PRIMARY KEY, field0 text)";
    session.execute_schema(table).expect("their table");
    let lab = Lab::new();
    let target = format!("attach:{node}");
    let line = format!(
        "ycsb run -p workload=site.ycsb.workloads.CoreWorkload -p recordcount={ROWS} -p \
         operationcount=3000 -p insertorder=ordered -p fieldcount=1 -p fieldlength=100 -p \
         readproportion=1 -p updateproportion=0 -p cassandra.keyspace=others -threads 2 --target \
         {target} --json"
    );
    let words: Vec<&str> = line.split(' ').collect();
    let (result, detail) = compared(&lab.cassay(&words).ended_with(3));
    let nothing = "3000 of 3000 reads found no row although the study states that rows exist";
    assert!(result == "fail" && detail.contains(nothing), "{detail}");
    for row in 0..ROWS {
        let value = format!("{row}").repeat(100);
        let write = format!(
            "INSERT INTO others.usertable (y_id, field0) VALUES ('user{row}', '{}')",
            &value[..100]
        );
        session.query(&write).expect("their row");
    }
    let (result, detail) = compared(&lab.cassay(&words).measured(&lab));
    assert_eq!(result, "warn", "{detail}");
    let hint = "The existing rows may come from another tool";
    assert!(
        detail.contains(hint) && detail.contains("verify.reads=none"),
        "{detail}"
    );
}

const ACCORD: &str = "\
study: accord
question: Are requests that Accord carries out held against the client?
target: {local: {nodes: 1, heap: 512MiB, class_sharing: true, yaml: {accord: {enabled: true}}}}
workload: {file: w.yaml, consistency: ONE}
data: {load: {operations: 500}, settle: none}
client: {timeout: 60s}
procedure: {fixed: {rate: 50}}
window: {warmup: 0s, measure: 5s}
verify: {reads: all, sample: 100}
";

/// Cassandra 6.0 counts requests on Accord tables for all keyspaces together, and not by table.
#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn requests_on_an_accord_table_are_not_held_against_the_client() {
    if !is_of_line("6.0") {
        return;
    }
    let lab = Lab::with(ACCORD);
    lab.write(
        "w.yaml",
        "keyspace: accord_shop\nschema:\n  - CREATE TABLE users (id bigint PRIMARY KEY, name text) \
         WITH transactional_mode = 'full'\nvalues: {id: row, name: text(20)}\nstatements:\n  \
         write: INSERT INTO users (id, name) VALUES (:id, :name)\n  read: SELECT id, name FROM \
         users WHERE id = :id\nmix: {write: 1, read: 1}\nload: write\nverify: read\n",
    );
    let line = crate::program::line().expect("6.0");
    let set = format!("target.local.cassandra={line}");
    lab.cassay(&["run", "study.yaml", "--json", "--set", &set]).measured(&lab);
    let findings = lab.run().findings.expect("it ended");
    let mut rules = findings.trials.iter().flat_map(|trial| &trial.rules);
    let counts = rules.find(|rule| rule.rule == "V7").expect("it is judged");
    assert_eq!(
        counts.result,
        store::record::RuleOutcome::Unknown,
        "{counts:?}"
    );
    assert!(
        counts.detail.contains("uses Accord transactions"),
        "{counts:?}"
    );
}

/// Tests user-defined Accord tables. cassay reads the keys of such a table at a level that Accord
/// supports, and refuses an unsupported level before the run. A twin has the transactional mode of
/// the table, and reports the properties that it lacks.
#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn a_table_of_accord_is_read_as_it_is_and_has_a_twin() {
    if !is_of_line("6.0") {
        return;
    }
    let lab = Lab::new();
    let up = super::super::up(&lab, &["--yaml=accord={\"enabled\": true}"]);
    let address = up[0]["nodes"][0]["address"].as_str().expect("an address").to_owned();
    let node = address.parse().expect("an address");
    let access = ::cassandra::Access::default();
    let mut session = ::cassandra::Session::open(node, &access, std::time::Duration::from_secs(60))
        .expect("a node");
    let mut send = |cql: &str| {
        session
            .query_at(cql, cql::Consistency::One)
            .unwrap_or_else(|why| panic!("{cql}: {why:#}"))
    };
    send(
        "CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', \
         'replication_factor': 1}",
    );
    send(
        "CREATE TABLE shop.users (k int, c int, weight int CHECK weight > 0, PRIMARY KEY (k, c)) \
         WITH transactional_mode = 'full'",
    );
    for k in 0..40 {
        send(&format!(
            "INSERT INTO shop.users (k, c, weight) VALUES ({k}, 1, 5)"
        ));
    }
    lab.write(
        "own.yaml",
        &format!(
            "study: own\nquestion: How fast is it?\ntarget: {{attach: {{contact_points: \
             ['{address}']}}}}\nworkload: {{table: shop.users, consistency: ONE}}\nprocedure: \
             {{fixed: {{rate: 20}}}}\nwindow: {{warmup: 0s, measure: 5s}}\n"
        ),
    );
    let refused = [
        "plan",
        "own.yaml",
        "--set",
        "workload.consistency=LOCAL_QUORUM",
    ];
    lab.cassay(&refused)
        .ended_with(2)
        .says(&["at LOCAL_QUORUM", "ONE, QUORUM, ALL and SERIAL"]);
    lab.cassay(&["run", "own.yaml", "--json"]).measured(&lab);
    let target = format!("attach:{address}");
    let twin = ["workload", "twin", "shop.users", "--target", &target];
    let said = lab.cassay(&twin).ended_with(0);
    assert!(
        said.stdout.contains("transactional_mode = 'full'"),
        "{said}"
    );
    said.says(&["CHECK constraints on weight"]);
    lab.cassay(&["target", "down"]).ended_with(0);
}
