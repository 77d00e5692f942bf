//! Tests five existing tables under all known kinds of studies. Changes that are not allowed do not
//! happen: the rows, their timestamps and the definitions remain the same.

use super::one_node;
use crate::program::{HANG_LIMIT, Lab, ProgramOutput};
use ::cassandra::{Access, Session};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

const KEYSPACE: &str = "CREATE KEYSPACE five WITH replication = {'class': 'SimpleStrategy', \
                        'replication_factor': 1}";

/// Existing tables of applications, and of the tools whose commands cassay accepts.
const TABLES: [&str; 5] = [
    "CREATE TABLE five.users (id bigint PRIMARY KEY, name text)",
    "CREATE TABLE five.events (id bigint, at bigint, what text, PRIMARY KEY (id, at))",
    "CREATE TABLE five.hits (id bigint PRIMARY KEY, n counter)",
    "CREATE TABLE five.standard1 (key blob PRIMARY KEY, \"C0\" blob, \"C1\" blob, \"C2\" blob, \
     \"C3\" blob, \"C4\" blob)",
    "CREATE TABLE five.usertable (y_id varchar PRIMARY KEY, field0 varchar, field1 varchar, field2 \
     varchar, field3 varchar, field4 varchar, field5 varchar, field6 varchar, field7 varchar, \
     field8 varchar, field9 varchar)",
];

const ROWS: i64 = 30;

const WORKLOAD: &str = "\
keyspace: five
schema:
  - CREATE TABLE users (id bigint PRIMARY KEY, name text)
  - CREATE TABLE events (id bigint, at bigint, what text, PRIMARY KEY (id, at))
  - CREATE TABLE hits (id bigint PRIMARY KEY, n counter)
values: {id: row, at: row, name: text(5..20), one: 1}
statements:
  write: INSERT INTO users (id, name) VALUES (:id, :name)
  read: SELECT id, name FROM users WHERE id = :id
  page: SELECT at, what FROM events WHERE id = :id LIMIT 5
  all: SELECT id FROM users LIMIT 10
  put: INSERT INTO events (id, at, what) VALUES (:id, :at, :name)
  hit: UPDATE hits SET n = n + :one WHERE id = :id
  count: SELECT n FROM hits WHERE id = :id
  claim: INSERT INTO users (id, name) VALUES (:id, :name) IF NOT EXISTS
  both:
    cql:
      - INSERT INTO users (id, name) VALUES (:id, :name)
      - INSERT INTO events (id, at, what) VALUES (:id, :at, :name)
    batch: {kind: logged}
mix: {read: 1}
rows: uniform
load: write
verify: read
";

const DELETES: &str = "\
keyspace: five
schema: ['CREATE TABLE users (id bigint PRIMARY KEY, name text)']
values: {id: row, name: text(5..20)}
statements:
  write: INSERT INTO users (id, name) VALUES (:id, :name)
  delete: DELETE FROM users WHERE id = :id
  read: SELECT name FROM users WHERE id = :id
mix: {delete: 1}
rows: uniform
load: write
";

const PROFILE: &str = "\
keyspace: five
table: users
table_definition: CREATE TABLE users (id bigint PRIMARY KEY, name text)
columnspec: [{name: name, size: fixed(8)}]
insert: {partitions: fixed(1), select: fixed(1)/1, batchtype: UNLOGGED}
queries: {one: {cql: 'select * from users where id = ?', fields: samerow}}
";

/// A study: a kind of operation or a whole workload, the data, and further lines.
type Study = (&'static str, &'static str, &'static str);

const FILE: &str = "{file: w.yaml, mix: {MIX: 1}}";
const PRESENT: &str = "{present: 30}";
const LOAD: &str = "{load: {operations: 30}}";

/// Studies that cassay must refuse.
const REFUSED: [Study; 27] = [
    ("write", PRESENT, ""),
    ("put", PRESENT, ""),
    ("hit", PRESENT, ""),
    ("claim", PRESENT, ""),
    ("{file: d.yaml, mix: {delete: 1}}", PRESENT, ""),
    ("both", PRESENT, ""),
    ("read", LOAD, ""),
    ("page", LOAD, ""),
    ("read", "{load: {operations: 30}, reset: truncate}", ""),
    ("read", "{load: {operations: 30}}", "repeat: {blocks: 2}"),
    (
        "read",
        "{load: {operations: 30}, reset: none}",
        "repeat: {blocks: 2}\n",
    ),
    (
        "read",
        PRESENT,
        "keyspace: {compression: {class: ZstdCompressor}}\n",
    ),
    (
        "read",
        PRESENT,
        "keyspace: {compaction: {class: LeveledCompactionStrategy}}\n",
    ),
    (
        "read",
        PRESENT,
        "keyspace: {options: {gc_grace_seconds: 1}}\n",
    ),
    (
        "read",
        PRESENT,
        "variants:\n  a: {}\n  b: {keyspace: {compression: {class: ZstdCompressor}}}\n",
    ),
    (
        "read",
        LOAD,
        "keyspace: {compaction: {class: SizeTieredCompactionStrategy}}\nphases: {load: {keyspace: \
         {compaction: {class: LeveledCompactionStrategy}}}}\n",
    ),
    (
        "read",
        LOAD,
        "variants: {a: {}, b: {workload: {mix: {page: 1}}}}\n",
    ),
    ("write", PRESENT, "verify: {reads: sampled, sample: all}\n"),
    ("read", LOAD, "verify: {reads: all, sample: all}\n"),
    (
        "read",
        LOAD,
        "matrix: {m: {a: {}, b: {workload: {mix: {all: 1}}}}}\n",
    ),
    ("{use: kv}", LOAD, "keyspace: {name: five}\n"),
    (
        "{use: standard1, mix: {read: 1}}",
        LOAD,
        "keyspace: {name: five}\n",
    ),
    (
        "{use: standard1, mix: {write: 1}}",
        PRESENT,
        "keyspace: {name: five}\n",
    ),
    (
        "{use: standard1, mix: {write: 1}}",
        LOAD,
        "keyspace: {name: five}\n",
    ),
    ("{stress: 'write n=30 -schema keyspace=five'}", "", ""),
    (
        "{ycsb: 'load cassandra-cql -p cassandra.keyspace=five -p recordcount=30'}",
        "",
        "",
    ),
    (
        "{ycsb: 'run cassandra-cql -p cassandra.keyspace=five -p recordcount=30 -p \
         updateproportion=1 -p readproportion=0 -p operationcount=30'}",
        "",
        "",
    ),
];

/// Studies that only read, which cassay must accept.
const READING: [Study; 6] = [
    ("read", PRESENT, ""),
    ("page", PRESENT, ""),
    ("all", PRESENT, ""),
    ("count", PRESENT, ""),
    (
        "read",
        PRESENT,
        "variants: {a: {}, b: {workload: {mix: {all: 1}}}}\n",
    ),
    ("read", PRESENT, "repeat: {blocks: 2}\n"),
];

/// Commands of other tools that would write to, create or truncate tables.
const WORDS: [&str; 7] = [
    "stress write n=30 -rate threads=2 -schema keyspace=five -node NODE",
    "stress mixed ratio(write=1,read=1) n=30 no-warmup -rate threads=2 -schema keyspace=five -node \
     NODE",
    "stress write n=30 truncate=always -rate threads=2 -schema keyspace=five -node NODE",
    "stress user profile=p.yaml ops(insert=1) n=30 no-warmup -rate threads=2 -node NODE",
    "ycsb load cassandra-cql -p cassandra.keyspace=five -p recordcount=30 -p hosts=HOST -p \
     port=PORT",
    "ycsb run cassandra-cql -p readproportion=0.5 -p updateproportion=0.5 -p \
     cassandra.keyspace=five -p recordcount=30 -p \
     operationcount=30 -p hosts=HOST -p port=PORT",
    "nb nb.yaml default host=HOST port=PORT",
];

const NB: &str = "\
scenarios: {default: run driver=cql cycles=30 threads=2}
bindings: {id: Identity(), name: NumberNameToString()}
blocks:
  main:
    ops: {insert: 'insert into five.users (id, name) values ({id}, {name})'}
";

fn study(node: SocketAddr, (workload, data, more): &Study) -> String {
    let workload = if workload.starts_with('{') {
        (*workload).to_owned()
    } else {
        FILE.replace("MIX", workload)
    };
    let is_import = data.is_empty();
    let data = if is_import {
        String::new()
    } else {
        format!("data: {data}\n")
    };
    let procedure = if is_import {
        ""
    } else {
        "procedure: {fixed: {rate: 50}}\nwindow: {warmup: 0s, measure: 1s}\n"
    };
    let verify = if more.contains("verify") || is_import {
        ""
    } else {
        "verify: {reads: none, sample: 0}\n"
    };
    format!(
        "study: five\nquestion: Is it as it was?\n\
         target: {{attach: {{contact_points: ['{node}']}}}}\n\
         workload: {workload}\n{data}{procedure}{verify}{more}"
    )
}

/// Returns the content of the keyspace: its definitions, and each row with its write time.
fn all(session: &mut Session) -> Vec<String> {
    let sources = [
        "keyspaces",
        "tables",
        "columns",
        "indexes",
        "views",
        "types",
        "triggers",
    ];
    let schema = sources
        .map(|source| format!("SELECT * FROM system_schema.{source} WHERE keyspace_name = 'five'"));
    let rows = [
        "SELECT id, name, writetime(name), ttl(name) FROM five.users",
        "SELECT id, at, what, writetime(what) FROM five.events",
        "SELECT id, n FROM five.hits",
        "SELECT key, \"C0\", writetime(\"C0\"), \"C4\" FROM five.standard1",
        "SELECT y_id, field0, writetime(field0), field9 FROM five.usertable",
    ];
    let mut all = Vec::new();
    for query in schema.into_iter().chain(rows.map(str::to_owned)) {
        let found = session.query(&query).expect("an answer");
        all.extend(found.rows.iter().map(|row| format!("{row:?}")));
    }
    let keyspaces = session.query("SELECT keyspace_name FROM system_schema.keyspaces");
    let names = keyspaces.expect("the keyspaces").rows;
    all.extend(names.iter().map(|row| format!("{row:?}")).filter(|name| name.contains("five")));
    all
}

fn made_by_others(session: &mut Session) {
    session.execute_schema(KEYSPACE).expect("their keyspace");
    for table in TABLES {
        session.execute_schema(table).expect("their table");
    }
    for id in 0..ROWS {
        for write in [
            format!("INSERT INTO five.users (id, name) VALUES ({id}, 'theirs')"),
            format!("INSERT INTO five.events (id, at, what) VALUES ({id}, {id}, 'theirs')"),
            format!("UPDATE five.hits SET n = n + {id} WHERE id = {id}"),
            format!("INSERT INTO five.standard1 (key, \"C0\") VALUES (0x{id:08x}, 0xff)"),
            format!("INSERT INTO five.usertable (y_id, field0) VALUES ('user{id}', 'theirs')"),
        ] {
            session.query(&write).expect("their row");
        }
    }
}

/// Connects to the node as another client. The connection stays open until the caller drops the
/// stream.
fn somebody(node: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(node).expect("a connection");
    let mut frame = vec![4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2];
    for word in ["CQL_VERSION", "3.0.0", "DRIVER_NAME", "somebody"] {
        frame.extend((word.len() as u16).to_be_bytes());
        frame.extend(word.bytes());
    }
    frame[8] = (frame.len() - 9) as u8;
    stream.write_all(&frame).expect("it says who it is");
    let read = stream.read(&mut [0; 64]).expect("an answer");
    assert!(read >= 9, "READY has a header");
    stream
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn five_tables_are_as_they_were_after_forty_kinds_of_study() {
    let node = one_node::address();
    let mut session = Session::open(node, &Access::default(), HANG_LIMIT).expect("a session");
    made_by_others(&mut session);
    let before = all(&mut session);
    let lab = Lab::new();
    for (name, text) in [
        ("w.yaml", WORKLOAD),
        ("d.yaml", DELETES),
        ("p.yaml", PROFILE),
        ("nb.yaml", NB),
    ] {
        lab.write(name, text);
    }
    let mut same = |what: &str, said: &ProgramOutput| {
        assert_eq!(all(&mut session), before, "{what}\n{said}");
    };
    let mut let_in = Vec::new();
    let mut refused = |what: String, said: ProgramOutput| {
        same(&what, &said);
        if said.code != Some(2) || !said.stderr.contains("hint: to permit this, add --allow ") {
            let_in.push(format!("{what}\n{said}"));
        }
    };
    for study_of in &REFUSED {
        lab.write("study.yaml", &study(node, study_of));
        refused(format!("{study_of:?}"), lab.cassay(&["run", "study.yaml"]));
    }
    let (host, port) = (node.ip().to_string(), node.port().to_string());
    for words in WORDS {
        let words = words
            .replace("NODE", &node.to_string())
            .replace("HOST", &host)
            .replace("PORT", &port);
        let split: Vec<&str> = words.split(' ').collect();
        let said = lab.cassay(&split);
        refused(words, said);
    }
    assert!(let_in.is_empty(), "{}", let_in.join("\n\n"));
    for study_of in &READING {
        lab.write("study.yaml", &study(node, study_of));
        let said = lab.cassay(&["run", "study.yaml", "--json"]);
        same(&format!("{study_of:?}"), &said);
        said.measured(&lab);
    }
    // The test closes the connection soon, because it also affects other tests that load the node.
    let theirs = somebody(node);
    let plan = lab.cassay(&["plan", "study.yaml"]).ended_with(0);
    drop(theirs);
    plan.says(&[
        "other clients have 1 connection to the target (somebody 1)",
        "the load ramps up over 10s",
    ]);
    let limit = ["--set", "guard.p99_ms=0.001"];
    let run = lab.cassay(&[&["run", "study.yaml"][..], &limit].concat());
    run.ended_with(3).says(&["the guard stopped the load"]);
}
