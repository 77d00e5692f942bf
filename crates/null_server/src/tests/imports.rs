//! Tests requests as they occur in other tools' workloads: any table, any statement, batches, pages
//! and texts.

use super::*;
use cql::Consistency;
use cql::request::{BatchEntry, BatchKind, BatchStatement};
use target_spec::{NullSpec, Reads};

/// Schema statements in the forms that occur in profiles and workload files. The server must accept
/// all of them.
const DEFINITIONS: [&str; 15] = [
    "CREATE KEYSPACE stresscql WITH replication = {'class': 'SimpleStrategy', \
     'replication_factor': 3};",
    "CREATE TYPE stresscql.address (street text, zip int, phones frozen<list<text>>)",
    "CREATE TABLE stresscql.insanity (name text, choice boolean, date timestamp, address inet, \
     dbl double, lval bigint, fval float, ival int, uid timeuuid, value blob, dec decimal, \
     v varint, sm smallint, ti tinyint, d date, t time, du duration, \
     a frozen<address>, l list<int>, s set<text>, m map<text, frozen<list<uuid>>>, \
     tup tuple<int, frozen<address>>, vec vector<float, 128>, n frozen<map<int, set<text>>>, \
     st text static, \
     PRIMARY KEY ((name, choice), date)) WITH CLUSTERING ORDER BY (date DESC) AND compaction = \
     {'class': 'LeveledCompactionStrategy'} AND compression = {'sstable_compression': ''} AND \
     comment = 'A table of many column types to test wide rows'",
    "CREATE TABLE IF NOT EXISTS stresscql.counttest (name text PRIMARY KEY, count counter) \
     WITH comment='A table of only counters' AND COMPACT STORAGE",
    "CREATE COLUMNFAMILY stresscql.old (\"K\" 'org.apache.cassandra.db.marshal.BytesType' \
     PRIMARY KEY, v blob)",
    "CREATE INDEX ON stresscql.insanity (ival)",
    "CREATE CUSTOM INDEX ann ON stresscql.insanity (vec) USING 'StorageAttachedIndex' WITH \
     OPTIONS = {'similarity_function': 'cosine'}",
    "CREATE MATERIALIZED VIEW stresscql.by_i AS SELECT * FROM stresscql.insanity WHERE ival IS \
     NOT NULL PRIMARY KEY (ival, name, choice, date)",
    "CREATE FUNCTION stresscql.f (a int) CALLED ON NULL INPUT RETURNS int LANGUAGE java AS \
     $$ return a; $$",
    "ALTER TABLE stresscql.insanity ADD extra text",
    "ALTER KEYSPACE stresscql WITH durable_writes = false",
    "TRUNCATE stresscql.insanity",
    "TRUNCATE TABLE nowhere.t",
    "DROP TYPE IF EXISTS stresscql.other",
    "DROP INDEX IF EXISTS stresscql.ann",
];

/// Statements on existing and missing tables. Each has as many markers as question marks.
const STATEMENTS: [&str; 22] = [
    "INSERT INTO stresscql.insanity (name, choice, date, a, tup, vec, m) VALUES (?,?,?,?,?,?,?)",
    "UPDATE stresscql.insanity SET l = l + ?, s = s - ?, m[?] = ?, st = ? WHERE name = ? AND \
     choice = ? AND date = ?",
    "UPDATE stresscql.counttest SET count = count + ? WHERE name = ?",
    "UPDATE stresscql.counttest SET count=count+? WHERE name=?",
    "UPDATE \"keyspace1\".\"counter1\" SET \"C0\"=\"C0\"+?,\"C1\"=\"C1\"+? WHERE KEY=?",
    "INSERT INTO t (a, b) VALUES (?, {'x': ?, 'y': ?}) USING TTL ? AND TIMESTAMP ?",
    "INSERT INTO t (a, b) VALUES (?, [?, ?]) IF NOT EXISTS USING TTL ?",
    "INSERT INTO t JSON ? DEFAULT UNSET",
    "INSERT INTO t (a, b, c) VALUES (now(), toTimestamp(now()), ?)",
    "DELETE FROM t USING TIMESTAMP ? WHERE a = ? AND b > ? AND b <= ?",
    "DELETE l[?], m[?] FROM t WHERE a = ? IF EXISTS",
    "SELECT * FROM stresscql.insanity WHERE name = ? AND choice = ? LIMIT ?",
    "SELECT name, date FROM stresscql.insanity WHERE token(name, choice) > ? AND \
     token(name, choice) <= ? LIMIT ?",
    "SELECT token(a), count(*), max(b), writetime(c), cast(d as text) AS x FROM t WHERE a IN ?",
    "SELECT * FROM t WHERE a IN (?, ?, ?) AND (b, c) > (?, ?) PER PARTITION LIMIT ? LIMIT ?",
    "SELECT DISTINCT a FROM t WHERE token(a) >= ? AND token(a) < ? ALLOW FILTERING",
    "SELECT JSON * FROM t WHERE s CONTAINS ? AND m CONTAINS KEY ? AND m[?] = ?",
    "SELECT * FROM t WHERE a = ? ORDER BY vec ANN OF ? LIMIT ?",
    "SELECT similarity_cosine(vec, ?) FROM t WHERE a = ?",
    "UPDATE t SET v = ? WHERE k = ? IF v = ? AND w IN (?, ?)",
    "BEGIN UNLOGGED BATCH INSERT INTO t (a) VALUES (?); UPDATE t SET b = ? WHERE a = ?; \
     APPLY BATCH",
    "SELECT m['a'], l[0], u.street FROM t WHERE a = ?",
];

#[test]
fn no_definition_and_no_statement_of_an_import_is_refused() {
    for reads in [
        Reads::Empty,
        Reads::Row { cell_bytes: 8 },
        Reads::Rows {
            rows: 3,
            cell_bytes: 8,
        },
    ] {
        let server = start(NullSpec {
            reads,
            ..NullSpec::default()
        });
        let mut client = Client::new(&server);
        for cql in DEFINITIONS {
            assert_eq!(client.query(cql).error_code(), None, "{cql}");
        }
        for cql in STATEMENTS {
            let prepared = client.prepare(cql);
            let markers = cql.matches('?').count();
            assert_eq!(prepared.bind_columns.len(), markers, "{cql}");
            let values = vec![Some(&b"value"[..]); markers];
            let params = QueryParams {
                values: &values,
                page_size: Some(2),
                serial_consistency: Some(Consistency::LocalSerial),
                timestamp_us: Some(1),
                ..QueryParams::default()
            };
            // The client then sends the statement twice as text. The second of these answers comes
            // from the stored effect.
            let answers = [
                client.ask(|out| request::execute(out, 1, &prepared.id, &params)),
                client.ask(|out| request::query(out, 1, cql, &params).unwrap()),
                client.ask(|out| request::query(out, 1, cql, &params).unwrap()),
            ];
            assert_eq!(answers[0].error_code(), None, "{cql}");
            assert!(answers.iter().all(|a| a.body == answers[0].body), "{cql}");
        }
    }
}

#[test]
fn rows_come_in_pages_as_asked_for() {
    let reads = Reads::Rows {
        rows: 5,
        cell_bytes: 4,
    };
    let (_server, mut client) = with_table(NullSpec {
        reads,
        ..NullSpec::default()
    });
    let id = client.prepare("SELECT note, at FROM k.readings WHERE id = ? AND day = ?").id;
    for (page_size, expected) in [
        (Some(2), vec![2, 2, 1]),
        (Some(5), vec![5]),
        (Some(100), vec![5]),
        (None, vec![5]),
    ] {
        let (mut state, mut sizes) = (None::<Vec<u8>>, Vec::new());
        loop {
            let params = QueryParams {
                page_size,
                paging_state: state.as_deref(),
                skip_metadata: sizes.len() == 1,
                ..QueryParams::default()
            };
            let answer = client.ask(|out| request::execute(out, 4, &id, &params));
            let rows = RawRows::parse(&answer.body).unwrap();
            assert_eq!(
                rows.rows().filter(|row| row.is_ok()).count(),
                rows.rows_count
            );
            sizes.push(rows.rows_count);
            let Some(next) = rows.paging_state else { break };
            state = Some(next.to_vec());
        }
        assert_eq!(sizes, expected, "{page_size:?}");
    }
}

#[test]
fn a_batch_needs_prepared_statements_and_reports_its_conditions() {
    let (server, mut client) = with_table(NullSpec::default());
    let plain = client.prepare("INSERT INTO k.readings (id, day, at) VALUES (?, ?, ?)");
    let conditional =
        client.prepare("INSERT INTO k.readings (id, day, at) VALUES (?, ?, ?) IF NOT EXISTS");
    let text = BatchStatement::Query("UPDATE k.readings SET note = ? WHERE id = ? AND day = ?");
    let of = |id| BatchStatement::Prepared(id);
    let values = [Some(&b"v"[..]); 3];
    let mut ask = |statements: &[BatchStatement<'_>]| {
        let entries: Vec<BatchEntry<'_>> = statements
            .iter()
            .map(|statement| BatchEntry {
                statement: *statement,
                values: &values,
            })
            .collect();
        let level = Consistency::Quorum;
        client.ask(|out| {
            request::batch(out, 9, BatchKind::Unlogged, &entries, level, None, Some(1)).unwrap();
        })
    };
    assert!(ask(&[of(&plain.id), text, of(&plain.id)]).is_void());
    let applied = ask(&[of(&plain.id), of(&conditional.id)]);
    assert_eq!(RawRows::parse(&applied.body).unwrap().applied(), Some(true));
    let forgotten = ask(&[of(&plain.id), of(&[9; 16])]);
    assert_eq!(forgotten.error_code(), Some(ErrorCode::Unprepared));
    let counts = server.counts();
    assert_eq!((counts.writes, counts.reads), (1, 1), "as Cassandra counts");
}

#[test]
fn a_text_is_read_again_once_the_schema_has_changed() {
    let server = start(NullSpec::default());
    let mut client = Client::new(&server);
    let cql = "SELECT * FROM k.readings WHERE id = 1";
    assert_eq!(client.query(cql).rows().0.len(), 0);
    client.query(CREATE_KEYSPACE);
    client.query(CREATE_TABLE);
    assert_eq!(client.query(cql).rows().0.len(), 6);
    // The client sends more texts than the server stores, and all of them are answered.
    for n in 0..5_000 {
        let insert = format!("INSERT INTO k.readings (id) VALUES ({n})");
        assert!(client.query(&insert).is_void());
    }
    assert_eq!(server.counts().writes, 5_000);
}
