//! The null target as its clients see it: over plain sockets, with frames made by `cql`.

use super::control::{Engine, Peer};
use super::release::Stalls;
use super::*;
use cql::compression::{compress_frame, decompress_body};
use cql::frame::{HEADER_BYTES, Header, flag, opcode};
use cql::request::{self, QueryParams};
use cql::response::{self, Prepared, RawRows, Response, ResultBody};
use cql::{Compression, CqlType};
use measure::clock::{self, Deadline};
use proptest::prelude::*;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

/// A client that speaks only as much as these tests need.
struct Client {
    socket: TcpStream,
    compressed: bool,
}

/// An answer: its header and its plain body.
struct Answer {
    header: Header,
    body: Vec<u8>,
    /// Length of the body on the wire.
    wire_bytes: u32,
}

impl Answer {
    fn parsed(&self) -> Response<'_> {
        response::parse(&self.header, &self.body).unwrap()
    }

    fn is_void(&self) -> bool {
        self.parsed() == Response::Result(ResultBody::Void)
    }

    fn error_code(&self) -> Option<ErrorCode> {
        match self.parsed() {
            Response::Error(error) => Some(error.code),
            _ => None,
        }
    }

    fn message(&self) -> String {
        match self.parsed() {
            Response::Error(error) => error.message.to_owned(),
            other => panic!("not an error: {other:?}"),
        }
    }

    /// Column names and the rows' values as text.
    fn rows(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let Response::Result(ResultBody::Rows(rows)) = self.parsed() else {
            panic!("no rows: {:?}", self.parsed());
        };
        let names = rows
            .columns
            .iter()
            .map(|column| column.name.clone())
            .collect();
        let text = |(cell, column): (Option<&[u8]>, &cql::response::ColumnSpec)| {
            cql::value::decode(&column.typ, cell).unwrap().to_string()
        };
        let cells =
            |row: cql::response::Row<'_>| row.cells().zip(&rows.columns).map(text).collect();
        let values = rows.raw.rows().map(|row| cells(row.unwrap())).collect();
        (names, values)
    }
}

impl Client {
    /// Connected, nothing sent.
    fn raw(server: &NullServer) -> Client {
        let socket = TcpStream::connect(server.address()).unwrap();
        // A bug would show as a hang; this makes it a failure.
        socket
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        Client {
            socket,
            compressed: false,
        }
    }

    /// Connected and started.
    fn new(server: &NullServer) -> Client {
        let mut client = Client::raw(server);
        let answer = client.ask(|out| request::startup(out, 1, None));
        assert_eq!(answer.parsed(), Response::Ready);
        client
    }

    fn send(&mut self, build: impl FnOnce(&mut Vec<u8>)) {
        let mut frame = Vec::new();
        build(&mut frame);
        if self.compressed {
            compress_frame(&mut frame, 0, &mut Vec::new());
        }
        self.socket.write_all(&frame).unwrap();
    }

    fn receive(&mut self) -> Answer {
        let mut head = [0; HEADER_BYTES];
        self.socket.read_exact(&mut head).unwrap();
        let mut header = Header::parse_response(&head).unwrap().unwrap();
        let wire_bytes = header.length;
        let mut body = vec![0; wire_bytes as usize];
        self.socket.read_exact(&mut body).unwrap();
        if header.flags & flag::COMPRESSED != 0 {
            let packed = std::mem::take(&mut body);
            decompress_body(&packed, &mut body, 1 << 24).unwrap();
            header.flags = 0;
        }
        Answer {
            header,
            body,
            wire_bytes,
        }
    }

    fn ask(&mut self, build: impl FnOnce(&mut Vec<u8>)) -> Answer {
        self.send(build);
        self.receive()
    }

    fn query(&mut self, cql: &str) -> Answer {
        self.ask(|out| request::query(out, 2, cql, &QueryParams::default()))
    }

    fn prepare(&mut self, cql: &str) -> Prepared {
        let answer = self.ask(|out| request::prepare(out, 3, cql));
        match answer.parsed() {
            Response::Result(ResultBody::Prepared(prepared)) => prepared,
            other => panic!("not prepared: {other:?}"),
        }
    }

    fn execute(&mut self, id: &[u8]) -> Answer {
        self.ask(|out| request::execute(out, 4, id, &QueryParams::default()))
    }

    /// Executes `count` times on streams 0, 1, …, sent at once; the answers as they come.
    fn pipeline(&mut self, id: &[u8], count: i16) -> Vec<Answer> {
        self.send(|out| {
            for stream in 0..count {
                request::execute(out, stream, id, &QueryParams::default());
            }
        });
        (0..count).map(|_| self.receive()).collect()
    }

    /// Whether the server has closed the connection, after whatever it still says.
    fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        // A reset is an end too: the server may close with bytes of ours unread.
        let ended = self.socket.read_to_end(&mut rest);
        ended.is_ok() || ended.is_err_and(|e| e.kind() == std::io::ErrorKind::ConnectionReset)
    }
}

fn start(spec: NullSpec) -> NullServer {
    NullServer::start(&spec).unwrap()
}

const CREATE_KEYSPACE: &str = "CREATE KEYSPACE IF NOT EXISTS k WITH replication = \
     {'class': 'SimpleStrategy', 'replication_factor': '1'} AND durable_writes = true";
const CREATE_TABLE: &str = "CREATE TABLE k.readings (id uuid, day date, at timestamp, \
     \"Value\" double, tags frozen<map<text, int>>, note text STATIC, \
     PRIMARY KEY ((id, day), at)) WITH CLUSTERING ORDER BY (at DESC)";

fn with_table(spec: NullSpec) -> (NullServer, Client) {
    let server = start(spec);
    let mut client = Client::new(&server);
    for cql in [CREATE_KEYSPACE, CREATE_TABLE] {
        let answer = client.query(cql);
        let parsed = answer.parsed();
        assert!(
            matches!(parsed, Response::Result(ResultBody::SchemaChange(_))),
            "{parsed:?}"
        );
    }
    (server, client)
}

#[test]
fn the_handshake_is_answered_on_the_request_s_stream() {
    let server = start(NullSpec::default());
    let mut client = Client::raw(&server);
    let supported = client.ask(|out| request::options(out, 77));
    assert_eq!(supported.header.stream, 77);
    let Response::Supported(options) = supported.parsed() else {
        panic!()
    };
    assert!(
        options
            .iter()
            .any(|(name, values)| name == "COMPRESSION" && values == &["lz4"])
    );
    assert_eq!(
        client.ask(|out| request::startup(out, 78, None)).parsed(),
        Response::Ready
    );
    let events = [request::EventKind::SchemaChange];
    let ready = client.ask(|out| request::register(out, 79, &events));
    assert_eq!((ready.header.stream, ready.parsed()), (79, Response::Ready));
}

#[test]
fn a_client_of_another_version_is_told_to_step_down_to_version_4() {
    let server = start(NullSpec::default());
    for version in [3, 5, 6] {
        let mut client = Client::raw(&server);
        client.send(|out| {
            request::options(out, 12);
            out[0] = version;
        });
        let answer = client.receive();
        assert_eq!((answer.header.version, answer.header.stream), (0x84, 12));
        assert_eq!(answer.error_code(), Some(ErrorCode::ProtocolError));
        let message = answer.message();
        assert!(message.contains("unsupported protocol version") && message.contains("4/v4"));
        assert!(client.is_closed());
    }
}

#[test]
fn credentials_are_asked_for_and_checked() {
    let credentials = Some(("cassandra".to_owned(), "secret".to_owned()));
    let server = start(NullSpec {
        credentials,
        ..NullSpec::default()
    });
    let mut client = Client::raw(&server);
    let asked = client.ask(|out| request::startup(out, 1, None));
    assert!(matches!(asked.parsed(), Response::Authenticate { .. }));
    let wrong = request::sasl_plain("cassandra", "guess");
    let answer = client.ask(|out| request::auth_response(out, 1, &wrong));
    assert_eq!(answer.error_code(), Some(ErrorCode::BadCredentials));
    let right = request::sasl_plain("cassandra", "secret");
    let answer = client.ask(|out| request::auth_response(out, 1, &right));
    assert!(matches!(answer.parsed(), Response::AuthSuccess(_)));
    assert_eq!(client.query("USE k").error_code(), None);

    let mut hasty = Client::raw(&server);
    hasty.ask(|out| request::startup(out, 1, None));
    assert_eq!(
        hasty.query("USE k").error_code(),
        Some(ErrorCode::ProtocolError)
    );
    assert!(hasty.is_closed());
}

#[test]
fn a_statement_on_a_table_of_this_server_has_the_table_s_types_and_key() {
    let (_server, mut client) = with_table(NullSpec::default());
    let prepared = client.prepare(
        "INSERT INTO k.readings (at, day, id, \"Value\", note) VALUES (?, ?, ?, ?, ?) USING TTL ?",
    );
    let binds: Vec<(&str, CqlType)> = prepared
        .bind_columns
        .iter()
        .map(|c| (c.name.as_str(), c.typ.clone()))
        .collect();
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
    assert!(
        prepared
            .bind_columns
            .iter()
            .all(|column| column.typ == CqlType::Blob)
    );
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
    let names: Vec<_> = prepared
        .result_columns
        .iter()
        .map(|c| c.name.as_str())
        .collect();
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
        .flat_map(|row| {
            row.unwrap()
                .cells()
                .map(|c| c.unwrap().len())
                .collect::<Vec<_>>()
        })
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
        request::batch(out, 9, kind, &[], cql::Consistency::One, None, None);
    });
    assert!(batch.is_void());
    assert_eq!(server.counts().writes, 2);
}

#[test]
fn every_loop_knows_what_was_prepared_and_created_on_another() {
    // Connections are dealt in turn, so that each of these is on the other loop.
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
    // The answer changes with the table that it is about, on both loops.
    assert_eq!(one.execute(&id).rows().0.len(), 6);
    assert_eq!(other.execute(&id).rows().0.len(), 6);
    let unknown = one.execute(&[1; 16]);
    assert_eq!(unknown.error_code(), Some(ErrorCode::Unprepared));
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
        let rows: Vec<Vec<String>> = rows
            .iter()
            .map(|row| row.iter().map(unquote).collect())
            .collect();
        assert_eq!(rows, expected, "{cql}");
        // A driver may prepare them as well.
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
fn every_change_of_the_schema_shows_and_what_cannot_be_is_refused() {
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
            "CREATE TABLE x.t (a int PRIMARY KEY)",
            Some(ErrorCode::Invalid),
            false,
        ),
        ("CREATE TABLE k.t (a int PRIMARY KEY)", None, true),
        ("CREATE TABLE k.u (a int)", Some(ErrorCode::Invalid), false),
        (
            "CREATE TABLE k.u (a int, PRIMARY KEY (b))",
            Some(ErrorCode::Invalid),
            false,
        ),
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
fn a_connection_may_be_compressed() {
    let reads = Reads::Row { cell_bytes: 1000 };
    let (server, _client) = with_table(NullSpec {
        reads,
        ..NullSpec::default()
    });
    let mut client = Client::raw(&server);
    let ready = client.ask(|out| request::startup(out, 1, Some(Compression::Lz4)));
    assert_eq!(ready.parsed(), Response::Ready);
    client.compressed = true;
    let id = client
        .prepare("SELECT note FROM k.readings WHERE id = ? AND day = ?")
        .id;
    let answer = client.execute(&id);
    assert!(answer.body.len() > 1000 && answer.wire_bytes < 300);
    assert_eq!(answer.rows().1.len(), 1);
    let local = client.query("SELECT * FROM system.local");
    assert_eq!(local.rows().1.len(), 1);
}

#[test]
fn frames_may_come_in_pieces_of_any_size() {
    let server = start(NullSpec::default());
    let mut client = Client::new(&server);
    let id = client.prepare("INSERT INTO k.t (a) VALUES (?)").id;
    let mut frames = Vec::new();
    for stream in 0..20 {
        let value = vec![7; 400];
        let values = [Some(&value[..])];
        let params = QueryParams {
            values: &values,
            ..QueryParams::default()
        };
        request::execute(&mut frames, stream, &id, &params);
    }
    for size in [1, 8, 9, 10, 441, 1000] {
        for piece in frames.chunks(size) {
            client.socket.write_all(piece).unwrap();
        }
        let streams: Vec<i16> = (0..20).map(|_| client.receive().header.stream).collect();
        assert_eq!(streams, (0..20).collect::<Vec<i16>>(), "{size}");
    }
}

#[test]
fn a_frame_may_be_larger_than_the_buffer_but_not_than_the_limit() {
    let server = start(NullSpec::default());
    let mut client = Client::new(&server);
    let id = client.prepare("INSERT INTO k.t (a) VALUES (?)").id;
    let value = vec![7; 3 << 20];
    let values = [Some(&value[..])];
    let params = QueryParams {
        values: &values,
        ..QueryParams::default()
    };
    assert!(
        client
            .ask(|out| request::execute(out, 5, &id, &params))
            .is_void()
    );
    let refused = client.ask(|out| {
        let header = Header {
            version: 4,
            flags: 0,
            stream: 6,
            opcode: opcode::EXECUTE,
            length: 1 << 24,
        };
        header.append(out);
    });
    assert_eq!(refused.error_code(), Some(ErrorCode::ProtocolError));
    assert!(refused.message().contains("16777216"));
    assert!(client.is_closed());
}

#[test]
fn fixed_latency_is_never_undercut_and_keeps_the_order() {
    let ns = 3_000_000;
    let latency = Latency::Fixed { ns };
    let server = start(NullSpec {
        latency,
        ..NullSpec::default()
    });
    let mut client = Client::new(&server);
    let id = client.prepare("INSERT INTO k.t (a) VALUES (?)").id;
    for _ in 0..5 {
        let sent_ns = clock::now_ns();
        let streams: Vec<i16> = client
            .pipeline(&id, 200)
            .iter()
            .map(|a| a.header.stream)
            .collect();
        assert!(clock::now_ns() - sent_ns >= ns);
        assert_eq!(streams, (0..200).collect::<Vec<i16>>());
    }
}

#[test]
fn random_latency_lets_answers_overtake_and_loses_none() {
    let latency = Latency::Exponential { mean_ns: 1_000_000 };
    let server = start(NullSpec {
        latency,
        ..NullSpec::default()
    });
    let mut client = Client::new(&server);
    let id = client.prepare("INSERT INTO k.t (a) VALUES (?)").id;
    let mut streams: Vec<i16> = client
        .pipeline(&id, 1000)
        .iter()
        .map(|a| a.header.stream)
        .collect();
    assert!(!streams.is_sorted());
    streams.sort_unstable();
    assert_eq!(streams, (0..1000).collect::<Vec<i16>>());
}

#[test]
fn nothing_sent_in_a_stall_is_answered_before_its_end() {
    let stall = Stall {
        every: Duration::from_millis(60),
        length: Duration::from_millis(30),
    };
    let server = start(NullSpec {
        stall: Some(stall),
        ..NullSpec::default()
    });
    let stalls = Stalls::new(&stall, server.started_ns());
    let mut client = Client::new(&server);
    let id = client.prepare("INSERT INTO k.t (a) VALUES (?)").id;
    let deadline = Deadline::after(Duration::from_secs(60));
    let mut in_stalls = 0;
    while in_stalls < 5 {
        assert!(!deadline.passed(), "no request ever fell into a stall");
        let sent_ns = clock::now_ns();
        let released_ns = stalls.release_ns(sent_ns);
        in_stalls += u32::from(released_ns > sent_ns);
        let streams: Vec<i16> = client
            .pipeline(&id, 50)
            .iter()
            .map(|a| a.header.stream)
            .collect();
        assert!(clock::now_ns() >= released_ns);
        assert_eq!(streams, (0..50).collect::<Vec<i16>>());
    }
}

#[test]
fn errors_have_exactly_their_shares() {
    let errors = vec![
        (ErrorCode::Overloaded, 0.1),
        (ErrorCode::WriteTimeout, 0.05),
        (ErrorCode::Unprepared, 0.01),
    ];
    let server = start(NullSpec {
        errors: errors.clone(),
        ..NullSpec::default()
    });
    let mut client = Client::new(&server);
    let id = client.prepare("INSERT INTO k.t (a) VALUES (?)").id;
    let answers: Vec<Answer> = (0..10).flat_map(|_| client.pipeline(&id, 200)).collect();
    for (code, share) in errors {
        let seen = answers
            .iter()
            .filter(|a| a.error_code() == Some(code))
            .count();
        assert_eq!(seen, (2000.0 * share) as usize, "{code:?}");
    }
    let void = answers.iter().filter(|answer| answer.is_void()).count();
    let counts = server.counts();
    assert_eq!(
        (void as u64, counts.writes, counts.refused),
        (1680, 1680, 320)
    );
    assert_eq!(counts.executes(), 2000);
}

#[test]
fn every_error_can_be_parsed_with_its_details() {
    for code in [
        ErrorCode::ServerError,
        ErrorCode::Unavailable,
        ErrorCode::Overloaded,
        ErrorCode::IsBootstrapping,
        ErrorCode::TruncateError,
        ErrorCode::WriteTimeout,
        ErrorCode::ReadTimeout,
        ErrorCode::ReadFailure,
        ErrorCode::WriteFailure,
        ErrorCode::FunctionFailure,
        ErrorCode::CasWriteUnknown,
        ErrorCode::AlreadyExists,
        ErrorCode::Unprepared,
        ErrorCode::Invalid,
    ] {
        let server = start(NullSpec {
            errors: vec![(code, 1.0)],
            ..NullSpec::default()
        });
        let mut client = Client::new(&server);
        assert_eq!(
            client.query("INSERT INTO k.t (a) VALUES (1)").error_code(),
            Some(code)
        );
        // What is no operation is never refused.
        assert_eq!(
            client.query("SELECT * FROM system.local").error_code(),
            None
        );
    }
}

#[test]
fn hostile_bytes_close_only_the_connection_that_sent_them() {
    let server = start(NullSpec::default());
    let mut good = Client::new(&server);
    let id = good.prepare("INSERT INTO k.t (a) VALUES (?)").id;
    let frame = |opcode: u8, flags: u8, body: &[u8]| {
        let mut bytes = Vec::new();
        Header {
            version: 4,
            flags,
            stream: 0,
            opcode,
            length: body.len() as u32,
        }
        .append(&mut bytes);
        bytes.extend_from_slice(body);
        bytes
    };
    let hostile = [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        vec![0xFF; 300],
        vec![0; 300],
        frame(0x7F, 0, b""),
        frame(opcode::STARTUP, 0, b"\xFF\xFF"),
        frame(opcode::QUERY, 0, b"\x7F\xFF\xFF\xFFselect"),
        frame(opcode::EXECUTE, flag::COMPRESSED, b"\x7F\xFF\xFF\xFF"),
        frame(opcode::BATCH, 0, b""),
        Header {
            version: 4,
            flags: 0,
            stream: 0,
            opcode: 9,
            length: u32::MAX,
        }
        .bytes(),
    ];
    let count = hostile.len() as u64;
    for bytes in hostile {
        let mut bad = Client::raw(&server);
        bad.socket.write_all(&bytes).unwrap();
        assert!(bad.is_closed(), "{bytes:?}");
        assert!(good.execute(&id).is_void(), "{bytes:?}");
    }
    assert_eq!(server.counts().connections_refused, count);
}

trait Bytes {
    fn bytes(&self) -> Vec<u8>;
}

impl Bytes for Header {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.append(&mut bytes);
        bytes
    }
}

#[test]
fn dropping_the_server_closes_its_connections_and_frees_its_port() {
    let server = start(NullSpec::default());
    let mut client = Client::new(&server);
    let port = server.address().port();
    drop(server);
    assert!(client.is_closed());
    let again = start(NullSpec {
        port,
        ..NullSpec::default()
    });
    Client::new(&again);
}

#[test]
fn impossible_values_are_refused_before_anything_starts() {
    let running = start(NullSpec::default());
    let stall = |every, length| {
        let (every, length) = (Duration::from_millis(every), Duration::from_millis(length));
        NullSpec {
            stall: Some(Stall { every, length }),
            ..NullSpec::default()
        }
    };
    for (spec, word) in [
        (stall(10, 10), "stall"),
        (stall(10, 0), "stall"),
        (
            NullSpec {
                errors: vec![(ErrorCode::Invalid, 2.0)],
                ..NullSpec::default()
            },
            "share",
        ),
        (
            NullSpec {
                latency: Latency::Uniform {
                    from_ns: 2,
                    to_ns: 1,
                },
                ..NullSpec::default()
            },
            "swap",
        ),
        (
            NullSpec {
                reads: Reads::Row {
                    cell_bytes: u32::MAX,
                },
                ..NullSpec::default()
            },
            "limit",
        ),
        (
            NullSpec {
                cpus: vec![100_000],
                ..NullSpec::default()
            },
            "CPU 100000",
        ),
        (
            NullSpec {
                port: running.address().port(),
                ..NullSpec::default()
            },
            "port",
        ),
    ] {
        let error = NullServer::start(&spec).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}

proptest! {
    #[test]
    fn any_request_body_is_answered_or_refused_without_a_panic(
        opcode in 0u8..18,
        flags in prop::sample::select(vec![0u8, 1, 2, 4, 5]),
        body in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let (mut engine, mut peer) = ready_engine();
        let header =
            Header { version: 4, flags, stream: 1, opcode, length: body.len() as u32 };
        let mut out = Vec::new();
        engine.answer(&mut peer, &header, &body, &mut out);
        let answer = Header::parse_response(&out).unwrap().unwrap();
        prop_assert_eq!(answer.frame_bytes(), out.len());
    }

    #[test]
    fn any_text_can_be_prepared_and_queried_without_a_panic(
        words in prop::collection::vec(prop::sample::select(WORDS.to_vec()), 0..25),
        noise in ".{0,12}",
    ) {
        let (mut engine, mut peer) = ready_engine();
        let cql = format!("{}{noise}", words.join(" "));
        for build in [request::prepare as fn(&mut Vec<u8>, i16, &str), query] {
            let mut frame = Vec::new();
            build(&mut frame, 1, &cql);
            let header = Header::parse_request(&frame).unwrap().unwrap();
            let mut out = Vec::new();
            engine.answer(&mut peer, &header, &frame[HEADER_BYTES..], &mut out);
            let answer = Header::parse_response(&out).unwrap().unwrap();
            prop_assert!(response::parse(&answer, &out[HEADER_BYTES..]).is_ok(), "{}", cql);
        }
    }
}

/// What statements are made of, so that chance gets past the first word.
const WORDS: [&str; 48] = [
    "SELECT",
    "INSERT INTO",
    "UPDATE",
    "DELETE",
    "FROM",
    "WHERE",
    "SET",
    "VALUES",
    "USE",
    "IF",
    "CREATE TABLE",
    "CREATE KEYSPACE",
    "DROP TABLE",
    "PRIMARY KEY",
    "USING TTL",
    "LIMIT",
    "IN",
    "AND",
    "k",
    ".",
    "t",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "?",
    ":v",
    "=",
    ",",
    "*",
    "'x'",
    "\"Q\"",
    "1",
    "int",
    "list<",
    "frozen<map<text",
    "token(",
    "count(*)",
    "AS",
    "JSON",
    "system.local",
    "WITH",
    "replication",
    "NOT EXISTS",
];

fn query(out: &mut Vec<u8>, stream: i16, cql: &str) {
    request::query(out, stream, cql, &QueryParams::default());
}

/// An engine without sockets, and a peer whose handshake is over.
fn ready_engine() -> (Engine, Peer) {
    let address = ([127, 0, 0, 1], 9042).into();
    let shared = Arc::new(catalog::Shared::new(address));
    let mut engine = Engine::new(&NullSpec::default(), shared).unwrap();
    let mut peer = Peer::default();
    let mut frame = Vec::new();
    request::startup(&mut frame, 1, None);
    let header = Header::parse_request(&frame).unwrap().unwrap();
    engine.answer(&mut peer, &header, &frame[HEADER_BYTES..], &mut Vec::new());
    (engine, peer)
}
