//! Tests statements, and the schema that they create.

use super::*;
use target_spec::{NullSpec, Reads};

#[test]
fn a_statement_on_a_table_of_this_server_has_its_types_and_key() {
    let (_server, mut client) = with_table(NullSpec::default());
    let prepared = client.prepare(
        "INSERT INTO k.readings (at, day, id, \"Value\", note) VALUES (?, ?, ?, ?, ?) USING TTL ?",
    );
    let binds: Vec<(&str, CqlType)> =
        prepared.bind_columns.iter().map(|c| (c.name.as_str(), c.typ.clone())).collect();
    assert_eq!(
        binds,
        [
            ("at", CqlType::Timestamp),
            ("day", CqlType::Date),
            ("id", CqlType::Uuid),
            ("Value", CqlType::Double),
            ("note", CqlType::Text),
            ("[ttl]", CqlType::Int),
        ]
    );
    assert_eq!(prepared.partition_key_indexes, [2, 1]);
    assert!(client.execute(&prepared.id).is_void());
}

#[test]
fn a_statement_on_an_unknown_table_has_blobs_and_no_key() {
    let server = start(NullSpec::default());
    let mut client = Client::new(&server);
    let prepared = client.prepare("UPDATE nowhere.t SET v = ? WHERE k = ?");
    assert!(prepared.bind_columns.iter().all(|column| column.typ == CqlType::Blob));
    assert_eq!(prepared.bind_columns.len(), 2);
    assert!(prepared.partition_key_indexes.is_empty());
    assert!(client.execute(&prepared.id).is_void());
}

#[test]
fn reads_return_no_row_or_one_of_the_size_asked_for() {
    let cql = "SELECT note, \"Value\", at FROM k.readings WHERE id = ? AND day = ? LIMIT ?";
    let (_server, mut client) = with_table(NullSpec::default());
    let id = client.prepare(cql).id;
    assert_eq!(client.execute(&id).rows().1, Vec::<Vec<String>>::new());

    let reads = Reads::Row { cell_bytes: 10 };
    let (server, mut client) = with_table(NullSpec {
        reads,
        ..NullSpec::default()
    });
    let prepared = client.prepare(cql);
    assert_eq!(prepared.partition_key_indexes, [0, 1]);
    assert_eq!(prepared.bind_columns[2].typ, CqlType::Int);
    let names: Vec<_> = prepared.result_columns.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["note", "Value", "at"]);
    let answer = client.execute(&prepared.id);
    let (names, rows) = answer.rows();
    assert_eq!((names.len(), rows.len()), (3, 1));
    let params = QueryParams {
        skip_metadata: true,
        ..QueryParams::default()
    };
    let bare = client.ask(|out| request::execute(out, 4, &prepared.id, &params));
    assert!(bare.body.len() < answer.body.len());
    let row = RawRows::parse(&bare.body).unwrap();
    let lengths: Vec<usize> = row
        .rows()
        .flat_map(|row| row.unwrap().cells().map(|c| c.unwrap().len()).collect::<Vec<_>>())
        .collect();
    assert_eq!(lengths, [10, 8, 8]);
    assert_eq!(server.counts().reads, 2);
}

#[test]
fn a_conditional_write_says_that_it_was_applied() {
    let (_server, mut client) = with_table(NullSpec::default());
    let cql = "UPDATE k.readings SET note = ? WHERE id = ? AND day = ? IF note = ?";
    let prepared = client.prepare(cql);
    assert_eq!(prepared.bind_columns.len(), 4);
    let (names, rows) = client.execute(&prepared.id).rows();
    assert_eq!(
        (names[0].as_str(), rows[0][0].as_str()),
        ("[applied]", "true")
    );
}

#[test]
fn batches_and_unprepared_writes_are_acknowledged() {
    let server = start(NullSpec::default());
    let mut client = Client::new(&server);
    assert!(client.query("INSERT INTO k.t (a) VALUES (1)").is_void());
    let batch = client.ask(|out| {
        let kind = request::BatchKind::Logged;
        request::batch(out, 9, kind, &[], cql::Consistency::One, None, None).unwrap();
    });
    assert!(batch.is_void());
    assert_eq!(server.counts().writes, 2);
}

#[test]
fn every_loop_knows_what_was_prepared_and_created_on_another() {
    // The server distributes connections in turn, so these two connections belong to different
    // loops.
    let server = start(NullSpec {
        cpus: vec![0, 0],
        ..NullSpec::default()
    });
    let mut one = Client::new(&server);
    let mut other = Client::new(&server);
    let cql = "SELECT * FROM k.readings WHERE id = ? AND day = ?";
    let id = one.prepare(cql).id;
    assert_eq!(other.execute(&id).rows().0.len(), 0);
    other.query(CREATE_KEYSPACE);
    other.query(CREATE_TABLE);
    // After the creation of the table, both loops must answer with its columns.
    assert_eq!(one.execute(&id).rows().0.len(), 6);
    assert_eq!(other.execute(&id).rows().0.len(), 6);
    let unknown = one.execute(&[1; 16]);
    assert_eq!(unknown.error_code(), Some(ErrorCode::Unprepared));
}

#[test]
fn the_keyspace_in_use_completes_the_names_of_tables() {
    let (_server, mut client) = with_table(NullSpec::default());
    let set = client.query("USE \"k\"");
    assert_eq!(set.parsed(), Response::Result(ResultBody::SetKeyspace("k")));
    let prepared = client.prepare("SELECT * FROM readings WHERE id = ? AND day = ?");
    assert_eq!(prepared.result_columns.len(), 6);
    assert_eq!(prepared.partition_key_indexes, [0, 1]);
}

#[test]
fn drivers_find_the_node_and_the_schema_in_the_system_tables() {
    let (server, mut client) = with_table(NullSpec::default());
    let port = server.address().port().to_string();
    for (cql, expected) in [
        (
            "SELECT rpc_address, rpc_port, data_center, tokens FROM system.local WHERE key='local'",
            vec![vec!["127.0.0.1", &port, "datacenter1", "{'0'}"]],
        ),
        ("SELECT peer FROM system.peers", vec![]),
        ("SELECT peer AS p FROM system.peers_v2", vec![]),
        (
            "select keyspace_name from system_schema.keyspaces",
            vec![vec!["k"]],
        ),
        (
            "SELECT table_name FROM system_schema.tables WHERE keyspace_name = 'k'",
            vec![vec!["readings"]],
        ),
        (
            "SELECT table_name FROM system_schema.tables WHERE keyspace_name = 'q'",
            vec![],
        ),
        (
            "SELECT column_name, kind, position, type, clustering_order \
             FROM system_schema.columns WHERE keyspace_name IN ('k', 'x')",
            vec![
                vec!["Value", "regular", "-1", "double", "none"],
                vec!["at", "clustering", "0", "timestamp", "desc"],
                vec!["day", "partition_key", "1", "date", "none"],
                vec!["id", "partition_key", "0", "uuid", "none"],
                vec!["note", "static", "-1", "text", "none"],
                vec!["tags", "regular", "-1", "frozen<map<text, int>>", "none"],
            ],
        ),
        (
            "SELECT count(*) FROM system_schema.columns",
            vec![vec!["6"]],
        ),
        ("SELECT * FROM system_schema.types", vec![]),
        ("SELECT * FROM system_virtual_schema.tables", vec![]),
    ] {
        let unquote = |text: &String| text.trim_matches('\'').to_owned();
        let rows = client.query(cql).rows().1;
        let rows: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(unquote).collect()).collect();
        assert_eq!(rows, expected, "{cql}");
        // The statements must also work when a driver prepares them.
        let id = client.prepare(cql).id;
        assert_eq!(client.execute(&id).rows().1.len(), expected.len(), "{cql}");
    }
    let unknown = client.query("SELECT * FROM system_views.clients");
    assert_eq!(unknown.error_code(), Some(ErrorCode::Invalid));
}

#[test]
fn bound_values_filter_system_tables_too() {
    let (_server, mut client) = with_table(NullSpec::default());
    for (cql, value, expected) in [
        (
            "SELECT * FROM system_schema.tables WHERE keyspace_name = ?",
            b"k".to_vec(),
            1,
        ),
        (
            "SELECT * FROM system_schema.tables WHERE keyspace_name = ?",
            b"q".to_vec(),
            0,
        ),
        (
            "SELECT * FROM system_schema.columns WHERE keyspace_name IN ?",
            b"\0\0\0\x02\0\0\0\x01q\0\0\0\x01k".to_vec(),
            6,
        ),
        (
            "SELECT * FROM system_schema.columns WHERE keyspace_name IN ?",
            vec![0, 0],
            0,
        ),
    ] {
        let id = client.prepare(cql).id;
        let values = [Some(&value[..])];
        let params = QueryParams {
            values: &values,
            ..QueryParams::default()
        };
        let answer = client.ask(|out| request::execute(out, 4, &id, &params));
        assert_eq!(answer.rows().1.len(), expected, "{cql} {value:?}");
    }
}

#[test]
fn every_schema_change_shows_and_impossible_ones_are_refused() {
    let (_server, mut client) = with_table(NullSpec::default());
    let version = "SELECT schema_version FROM system.local";
    let mut before = client.query(version).rows().1;
    for (cql, error, changes) in [
        (CREATE_KEYSPACE, None, false),
        (
            "CREATE KEYSPACE k WITH replication = {}",
            Some(ErrorCode::AlreadyExists),
            false,
        ),
        (CREATE_TABLE, Some(ErrorCode::AlreadyExists), false),
        (
            "CREATE TABLE t (a int PRIMARY KEY)",
            Some(ErrorCode::Invalid),
            false,
        ),
        // No statement creates the keyspace `x`. The null target creates it together with the
        // table, because some workloads rely on an existing keyspace.
        ("CREATE TABLE x.t (a int PRIMARY KEY)", None, true),
        ("CREATE TABLE k.t (a int PRIMARY KEY)", None, true),
        ("CREATE TABLE k.u (a int)", Some(ErrorCode::Invalid), false),
        (
            "CREATE TABLE k.u (a int, PRIMARY KEY (b))",
            Some(ErrorCode::Invalid),
            false,
        ),
        ("CREATE TABLE w.u (a int)", Some(ErrorCode::Invalid), false),
        // The refused statement did not create the keyspace `w`.
        ("CREATE KEYSPACE w WITH replication = {}", None, true),
        ("TRUNCATE k.t", None, false),
        ("DROP TABLE k.t", None, true),
        ("DROP TABLE k.t", Some(ErrorCode::Invalid), false),
        ("DROP TABLE IF EXISTS k.t", None, false),
        ("DROP KEYSPACE k", None, true),
    ] {
        assert_eq!(client.query(cql).error_code(), error, "{cql}");
        let after = client.query(version).rows().1;
        assert_eq!(after != before, changes, "{cql}");
        before = after;
    }
}
