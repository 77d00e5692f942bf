//! Tests with untrusted exports. The check must refuse each kind of forbidden content, with its
//! location in the message.

use super::*;
use cassandra::snapshot::manifest::SstableRecord;
use serde_json::{Value, json};

pub(in crate::snapshot) const SCHEMA: [&str; 2] = [
    "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': '1'}",
    "CREATE TABLE k.t (a int PRIMARY KEY)",
];

fn sstable(prefix: &str, data: &[u8]) -> SstableRecord {
    let digest = crc32fast::hash(data);
    let text = digest.to_string();
    let file = |end: &str, bytes: &[u8]| File {
        name: format!("{prefix}{end}"),
        bytes: bytes.len() as u64,
        crc32: Some(crc32fast::hash(bytes)),
    };
    SstableRecord {
        prefix: prefix.to_owned(),
        digest,
        data_bytes: data.len() as u64,
        files: vec![
            file(DATA, data),
            file(DIGEST, text.as_bytes()),
            file("TOC.txt", b"x"),
        ],
    }
}

/// Returns an export of nodes with these tokens. Each node has one SSTable, whose data is the name
/// of the node.
pub(in crate::snapshot) fn export(nodes: &[(&str, &[i64])]) -> Export {
    let node = |(name, tokens): &(&str, &[i64])| {
        let schema = SCHEMA.map(str::to_owned).to_vec();
        let mut manifest = Manifest::new("s", "k", "5.0.8", schema);
        manifest.tables.push(TableRecord {
            name: "t".to_owned(),
            id: "0f".repeat(16),
            levels: None,
            sstables: vec![sstable("nb-1-big-", name.as_bytes())],
            indexes: Vec::new(),
        });
        ExportedNode {
            node: (*name).to_owned(),
            datacenter: "dc1".to_owned(),
            rack: "rack1".to_owned(),
            tokens: tokens.to_vec(),
            fingerprint: manifest.fingerprint().to_string(),
            contents: NodeContents::new(),
            manifest,
        }
    };
    let nodes: Vec<_> = nodes.iter().map(node).collect();
    Export::new(
        &nodes[0].manifest.clone(),
        "Murmur3Partitioner".to_owned(),
        nodes,
    )
}

fn two_exports() -> Value {
    serde_json::to_value(export(&[("node1", &[1, 5]), ("node2", &[3])])).unwrap()
}

fn refused(export: &Value) -> String {
    match Export::parse(export.to_string().as_bytes()) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => format!("{error:#}"),
    }
}

#[test]
fn a_written_export_is_read() {
    assert_eq!(refused(&two_exports()), "accepted");
    let read = Export::parse(two_exports().to_string().as_bytes()).unwrap();
    assert_eq!(read.replication().unwrap(), Replication::Simple(1));
    assert_eq!((read.tables(), read.nodes.len()), (vec!["t"], 2));
    assert_eq!(read.formats().into_iter().collect::<Vec<_>>(), ["nb"]);
    // Each SSTable has three files: the node's name, the digits of the CRC-32 of this name, and one
    // byte.
    let digits = |name: &str| crc32fast::hash(name.as_bytes()).to_string().len();
    let bytes = 2 * (5 + 1) + digits("node1") + digits("node2");
    assert_eq!(read.bytes(), bytes as u64);
}

/// JSON pointer to the first table of the first node.
const TABLE: &str = "/nodes/0/manifest/tables/0";
const NAME: &str = "/nodes/0/manifest/tables/0/sstables/0/files/0/name";

#[track_caller]
fn check(cases: &[(&str, Value, &str)]) {
    for (pointer, value, part) in cases {
        let mut export = two_exports();
        *export.pointer_mut(pointer).expect(pointer) = value.clone();
        let said = refused(&export);
        assert!(said.contains(part), "{pointer} = {value}: {said}");
    }
}

/// Each row contains a JSON pointer, the manipulated value, and the expected message.
#[test]
fn names_that_lead_elsewhere_are_refused() {
    let (no_node, no_file) = (
        "is not a valid node name",
        "not the name of an SSTable file",
    );
    let of_index = "not an index";
    check(&[
        (
            "/name",
            json!("../s"),
            "cassay cannot use the snapshot name \"../s\"",
        ),
        (
            "/keyspace",
            json!("system_auth"),
            "is a keyspace of the server itself",
        ),
        (
            "/nodes/0/node",
            json!("../up"),
            "\"../up\" is not a valid node name",
        ),
        ("/nodes/0/node", json!("/etc"), no_node),
        ("/nodes/0/node", json!(".."), no_node),
        ("/nodes/0/node", json!("export.json"), no_node),
        ("/nodes/0/node", json!("node2"), "\"node2\" occurs twice"),
        (
            &format!("{TABLE}/name"),
            json!("../t"),
            "table names may contain only",
        ),
        (
            &format!("{TABLE}/id"),
            json!("../../x"),
            "not a valid table id",
        ),
        (NAME, json!("../../../etc/a-b"), of_index),
        (NAME, json!("/etc/a-b"), of_index),
        (NAME, json!(".index/../a-b"), no_file),
        (NAME, json!(".../a-b"), of_index),
        (NAME, json!("a\u{0}-b"), no_file),
        (NAME, json!("a-b\n"), no_file),
        (NAME, json!("x".repeat(300)), no_file),
        (NAME, json!("nb-1-big-TOC.txt"), "occurs twice"),
        (NAME, json!("nb-2-big-Data.db"), "not a file of the SSTable"),
    ]);
}

#[test]
fn an_export_whose_parts_disagree_is_refused() {
    let sstable = |what: &str| format!("{TABLE}/sstables/0/{what}");
    check(&[
        (
            "/format",
            json!(2),
            "has the format 2, but this version of cassay supports only the format 1",
        ),
        ("/nodes", json!([]), "the export contains no node"),
        ("/nodes/0/tokens", json!([]), "the part has no tokens"),
        (
            "/nodes/0/tokens",
            json!([3]),
            "two nodes of the export have the token",
        ),
        ("/nodes/0/fingerprint", json!("00"), "records \"00\""),
        ("/nodes/0/manifest/format", json!(9), "format 9"),
        (
            "/nodes/0/manifest/name",
            json!("x"),
            "belongs to the snapshot \"x\"",
        ),
        (
            "/nodes/0/manifest/tables",
            json!([]),
            "the part contains no table",
        ),
        (
            "/nodes/0/manifest/schema",
            json!([]),
            "differ from the tables of the first",
        ),
        (&format!("{TABLE}/name"), json!("u"), ""),
        (&sstable("prefix"), json!(""), "not a file of the SSTable"),
        (&sstable("data_bytes"), json!(6), "is incomplete"),
        (&sstable("files/2/crc32"), Value::Null, "has no checksum"),
        (
            &sstable("files/2/bytes"),
            json!(u64::MAX),
            "together larger than 1024 TiB",
        ),
        (
            &sstable("files/2/bytes"),
            json!(-1),
            "this is not an export of a snapshot, or the file is damaged",
        ),
    ]);
    assert!(format!("{:#}", Export::parse(b"[1, 2").unwrap_err()).contains("not an export"));
}

#[test]
fn statements_make_the_tables_and_do_nothing_else() {
    let with = |statement: &str| {
        let mut export = two_exports();
        for node in export["nodes"].as_array_mut().unwrap() {
            let schema = node["manifest"]["schema"].as_array_mut().unwrap();
            schema.push(json!(statement));
        }
        refused(&export)
    };
    for good in [
        "CREATE TYPE k.place (city text)",
        "CREATE INDEX i ON k.t (a)",
        "ALTER TABLE k.t DROP gone USING TIMESTAMP 1",
        "CREATE TABLE k.\"t\" (a int PRIMARY KEY) WITH comment = ';'",
    ] {
        assert_eq!(with(good), "accepted", "{good}");
    }
    for bad in [
        "DROP KEYSPACE k",
        "TRUNCATE k.t",
        "INSERT INTO k.t (a) VALUES (1)",
        "ALTER TABLE k.other DROP a",
        "CREATE TABLE k.other (a int PRIMARY KEY)",
        "CREATE TABLE other.t (a int PRIMARY KEY)",
        "CREATE INDEX ON k.other (a)",
        "ALTER KEYSPACE k WITH replication = {}",
        "CREATE KEYSPACE other WITH replication = {}",
        "CREATE ROLE me WITH SUPERUSER = true",
        "GRANT ALL ON ALL KEYSPACES TO me",
        "CREATE FUNCTION k.f (a int) CALLED ON NULL INPUT RETURNS int LANGUAGE java AS $$x$$",
        "CREATE TRIGGER x ON k.t USING 'evil'",
        "CREATE MATERIALIZED VIEW k.v AS SELECT a FROM k.t",
        "CREATE TABLE k.t (a int PRIMARY KEY); DROP KEYSPACE k",
        "USE system",
        "",
    ] {
        assert!(
            with(bad).contains("executes no other statements"),
            "{bad}: {}",
            with(bad)
        );
    }
    let hidden = "CREATE TYPE k.p (x int) -- a\rSELECT 1 FROM k.t";
    let said = with(hidden);
    assert!(
        said.contains("line 1, column 29: this comment ends at a carriage return"),
        "{said}"
    );
    let mut without = two_exports();
    for node in without["nodes"].as_array_mut().unwrap() {
        node["manifest"]["schema"] = json!([SCHEMA[1]]);
    }
    assert!(refused(&without).contains("the replication of the keyspace"));
}

#[test]
fn a_pipe_or_device_in_place_of_the_file_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
    let said = format!("{:#}", Export::read(folder.path()).unwrap_err());
    assert!(
        said.contains("this is not a file, but a named pipe"),
        "{said}"
    );
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    let said = format!("{:#}", Export::read(folder.path()).unwrap_err());
    assert!(said.contains("this is not a file, but a device"), "{said}");
}
