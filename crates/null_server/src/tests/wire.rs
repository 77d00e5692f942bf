//! Tests the handshake, frames in every state of a connection, and invalid bytes.

use super::*;
use target_spec::{NullSpec, Reads};

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
            .any(|(name, values)| name == "COMPRESSION" && values == &["lz4", "snappy"])
    );
    assert_eq!(
        client.ask(|out| request::startup(out, cql::Version::V4, 78, None)).parsed(),
        Response::Ready
    );
    let events = [request::EventKind::SchemaChange];
    let ready = client.ask(|out| request::register(out, 79, &events));
    assert_eq!((ready.header.stream, ready.parsed()), (79, Response::Ready));
}

#[test]
fn a_client_of_another_version_is_told_to_use_version_4() {
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
    let asked = client.ask(|out| request::startup(out, cql::Version::V4, 1, None));
    assert!(matches!(asked.parsed(), Response::Authenticate { .. }));
    let wrong = request::sasl_plain("cassandra", "guess");
    let answer = client.ask(|out| request::auth_response(out, cql::Version::V4, 1, &wrong));
    assert_eq!(answer.error_code(), Some(ErrorCode::BadCredentials));
    let right = request::sasl_plain("cassandra", "secret");
    let answer = client.ask(|out| request::auth_response(out, cql::Version::V4, 1, &right));
    assert!(matches!(answer.parsed(), Response::AuthSuccess(_)));
    assert_eq!(client.query("USE k").error_code(), None);

    let mut hasty = Client::raw(&server);
    hasty.ask(|out| request::startup(out, cql::Version::V4, 1, None));
    assert_eq!(
        hasty.query("USE k").error_code(),
        Some(ErrorCode::ProtocolError)
    );
    assert!(hasty.is_closed());
}

#[test]
fn a_connection_may_be_compressed() {
    let reads = Reads::Row { cell_bytes: 1000 };
    let (server, _client) = with_table(NullSpec {
        reads,
        ..NullSpec::default()
    });
    for compression in [Compression::Lz4, Compression::Snappy] {
        let mut client = Client::raw(&server);
        let ready = client.ask(|out| request::startup(out, cql::Version::V4, 1, Some(compression)));
        assert_eq!(ready.parsed(), Response::Ready);
        client.compression = Some(compression);
        let id = client.prepare("SELECT note FROM k.readings WHERE id = ? AND day = ?").id;
        let answer = client.execute(&id);
        assert!(answer.body.len() > 1000 && answer.wire_bytes < 300);
        assert_eq!(answer.rows().1.len(), 1);
        let local = client.query("SELECT * FROM system.local");
        assert_eq!(local.rows().1.len(), 1);
    }
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
    assert!(client.ask(|out| request::execute(out, 5, &id, &params)).is_void());
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
fn a_dropped_server_closes_its_connections_and_frees_its_port() {
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
        let answer = Header::parse_response(&out, cql::Version::V4).unwrap().unwrap();
        prop_assert_eq!(answer.frame_bytes(), out.len());
    }

    #[test]
    fn any_text_can_be_prepared_and_queried_without_a_panic(
        words in prop::collection::vec(prop::sample::select(WORDS.to_vec()), 0..25),
        noise in ".{0,12}",
    ) {
        let (mut engine, mut peer) = ready_engine();
        let cql = format!("{}{noise}", words.join(" "));
        for (opcode, parameters) in [(opcode::PREPARE, &[][..]), (opcode::QUERY, &[0, 1, 0])] {
            // The frame is built by hand, because cassay's own client sends only valid CQL.
            let length = (4 + cql.len() + parameters.len()) as u32;
            let mut frame = vec![4, 0, 0, 1, opcode];
            frame.extend(length.to_be_bytes());
            frame.extend((cql.len() as u32).to_be_bytes());
            frame.extend_from_slice(cql.as_bytes());
            frame.extend_from_slice(parameters);
            let header = Header::parse_request(&frame).unwrap().unwrap();
            let mut out = Vec::new();
            engine.answer(&mut peer, &header, &frame[HEADER_BYTES..], &mut out);
            let answer = Header::parse_response(&out, cql::Version::V4).unwrap().unwrap();
            prop_assert!(response::parse(&answer, &out[HEADER_BYTES..]).is_ok(), "{}", cql);
        }
    }
}

/// Words of CQL statements. With these words, random texts pass the check of the first word.
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

/// Returns an engine without sockets, and a peer that has completed the handshake.
fn ready_engine() -> (Engine, Peer) {
    let address = ([127, 0, 0, 1], 9042).into();
    let shared = Arc::new(catalog::Shared::new(address));
    let mut engine = Engine::new(&NullSpec::default(), shared).unwrap();
    let mut peer = Peer::default();
    let mut frame = Vec::new();
    request::startup(&mut frame, cql::Version::V4, 1, None);
    let header = Header::parse_request(&frame).unwrap().unwrap();
    engine.answer(&mut peer, &header, &frame[HEADER_BYTES..], &mut Vec::new());
    (engine, peer)
}
