//! Tests that studies leave an attached cluster unchanged, unless the command line permits a
//! change.

use super::{one_node, users_workload};
use crate::program::{HANG_LIMIT, Lab};
use ::cassandra::{Access, Session};

const STUDY: &str = "\
study: theirs
question: Is somebody's table as it was?
target: {attach: {contact_points: ['NODE']}}
workload: {file: w.yaml, mix: {MIX: 1}}
data: DATA
client: {timeout: 60s}
procedure: {fixed: {rate: 50}}
window: {warmup: 0s, measure: 2s}
verify: {reads: none, sample: 0}
";

const ROWS: i64 = 40;

const ZSTD: &str = "keyspace: {compression: {class: ZstdCompressor}}\n";

const SIDES: &str = "\
variants:
  lz4: {keyspace: {compression: {class: LZ4Compressor}}}
  zstd: {keyspace: {compression: {class: ZstdCompressor}}}
";

/// A case: the kind of operation, the data, further lines of the study, and the option that would
/// allow the refused operation.
type Case = (
    &'static str,
    &'static str,
    &'static str,
    Option<&'static str>,
);

const CASES: [Case; 7] = [
    ("read", "{present: 40}", "", None),
    (
        "write",
        "{present: 40}",
        "",
        Some("--allow write=theirs.users"),
    ),
    (
        "read",
        "{present: 40}",
        ZSTD,
        Some("--allow alter=theirs.users"),
    ),
    (
        "read",
        "{present: 40}",
        SIDES,
        Some("--allow alter=theirs.users"),
    ),
    (
        "read",
        "{load: {operations: 40}}",
        "",
        Some("--allow write=theirs.users"),
    ),
    (
        "read",
        "{load: {operations: 40}, reset: truncate}",
        "repeat: {blocks: 2}\n",
        Some("--allow truncate=theirs.users"),
    ),
    (
        "read",
        "{load: {operations: 40}}",
        "keyspace: {name: nobodys}\n",
        Some("--allow create=nobodys"),
    ),
];

/// Returns the content of the keyspace: its definition, and each row with its write time.
fn all(session: &mut Session) -> Vec<String> {
    let mut all = Vec::new();
    for query in [
        "SELECT * FROM system_schema.keyspaces WHERE keyspace_name = 'theirs'",
        "SELECT * FROM system_schema.tables WHERE keyspace_name = 'theirs'",
        "SELECT * FROM system_schema.columns WHERE keyspace_name = 'theirs'",
        "SELECT id, name, writetime(name) FROM theirs.users",
    ] {
        let found = session.query(query).expect("an answer");
        all.extend(found.rows.iter().map(|row| format!("{row:?}")));
    }
    all
}

/// Creates a keyspace and a table with rows, which belong to another user.
fn made_by_others(session: &mut Session) {
    let keyspace = "CREATE KEYSPACE theirs WITH replication = \
                    {'class': 'SimpleStrategy', 'replication_factor': 1}";
    session.execute_schema(keyspace).expect("their keyspace");
    let table = "CREATE TABLE theirs.users (id bigint PRIMARY KEY, name text)";
    session.execute_schema(table).expect("their table");
    for id in 0..ROWS {
        let write = format!("INSERT INTO theirs.users (id, name) VALUES ({id}, 'theirs')");
        session.query(&write).expect("their row");
    }
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn data_of_others_is_unchanged_unless_an_option_names_it() {
    let node = one_node::address();
    let mut session = Session::open(node, &Access::default(), HANG_LIMIT).expect("a session");
    made_by_others(&mut session);
    let before = all(&mut session);
    let lab = Lab::new();
    lab.write("w.yaml", &users_workload("theirs"));
    for (mix, data, more, refused) in CASES {
        let study = STUDY
            .replace("NODE", &node.to_string())
            .replace("MIX", mix)
            .replace("DATA", data);
        lab.write("study.yaml", &(study + more));
        match refused {
            Some(flag) => {
                for command in ["plan", "run"] {
                    lab.cassay(&[command, "study.yaml"]).ended_with(2).says(&[flag]);
                }
            }
            None => drop(lab.cassay(&["run", "study.yaml", "--json"]).measured(&lab)),
        }
        assert_eq!(all(&mut session), before, "{mix} {data} {more}");
    }
    // The study may write, because the command line names the table. An empty table does not count
    // as a table with rows.
    let write = STUDY.replace("NODE", &node.to_string()).replace("MIX", "write");
    lab.write("study.yaml", &write.replace("DATA", "{present: 40}"));
    lab.cassay(&[
        "run",
        "study.yaml",
        "--json",
        "--allow",
        "write=theirs.users",
    ])
    .measured(&lab);
    assert_ne!(all(&mut session), before);
    session.query("TRUNCATE theirs.users").expect("it is emptied");
    let read = write.replace("MIX", "read").replace("{write: 1}", "{read: 1}");
    lab.write("study.yaml", &read.replace("DATA", "{present: 40}"));
    lab.cassay(&["run", "study.yaml"])
        .ended_with(2)
        .says(&["no row in theirs.users"]);
}
