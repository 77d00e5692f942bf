//! Tests of sessions with scripted servers, on free loopback ports.

use super::*;
use crate::credentials::Credentials;
use crate::scripted_server::{error, serve, string};
use cql::frame::{HEADER_BYTES, opcode};
use cql::value::CqlType;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use target_spec::Secret;

const LIMIT: Duration = Duration::from_secs(10);

#[test]
fn preparing_tells_what_the_markers_take() {
    let mut prepared = 4i32.to_be_bytes().to_vec();
    prepared.extend(string("id"));
    // Flag for a global table, number of bind markers, and number of partition key indexes.
    for number in [1i32, 2, 0] {
        prepared.extend(number.to_be_bytes());
    }
    prepared.extend([string("k"), string("t")].concat());
    for (name, typ) in [("a", 0x0002u16), ("b", 0x000D)] {
        prepared.extend([string(name), typ.to_be_bytes().to_vec()].concat());
    }
    // Flag for results without metadata, and number of columns.
    prepared.extend([4i32.to_be_bytes(), 0i32.to_be_bytes()].concat());
    let address = serve(vec![
        (opcode::READY, Vec::new()),
        (opcode::RESULT, prepared),
        (
            opcode::ERROR,
            error(0x2000, "line 1:0 no viable alternative"),
        ),
    ]);
    let mut session = Session::open(address, &Access::default(), LIMIT).unwrap();
    let takes = session.prepare("UPDATE k.t SET b = ? WHERE a = ?").unwrap();
    let types: Vec<CqlType> = takes.bind_columns.into_iter().map(|one| one.typ).collect();
    assert_eq!(types, [CqlType::Bigint, CqlType::Text]);
    let error = session.prepare("UPDATE").unwrap_err();
    let server = error.downcast_ref::<ServerError>().unwrap();
    assert_eq!(server.code, ErrorCode::SyntaxError);
}

#[test]
fn a_refused_statement_is_a_typed_error_with_node_and_statement() {
    let address = serve(vec![
        (opcode::READY, Vec::new()),
        (opcode::ERROR, error(0x2200, "no such table")),
    ]);
    let mut session = Session::open(address, &Access::default(), LIMIT).unwrap();
    let error = session.query("SELECT  *\n FROM a.b").unwrap_err();
    let server = error.downcast_ref::<ServerError>().unwrap();
    assert_eq!((server.node, server.code), (address, ErrorCode::Invalid));
    assert_eq!(server.statement, "SELECT * FROM a.b");
    assert_eq!(server.message, "no such table");
}

#[test]
fn a_wrong_password_is_never_repeated() {
    let credentials = Credentials {
        user: "anna".to_string(),
        password: Secret::new("hunter2".to_string()),
    };
    let access = Access::new(Some(credentials), None);
    let address = serve(vec![
        (opcode::AUTHENTICATE, string("a.PasswordAuthenticator")),
        (
            opcode::ERROR,
            error(
                0x0100,
                "Provided username anna and/or password are incorrect",
            ),
        ),
    ]);
    let error = Session::open(address, &access, LIMIT).unwrap_err();
    let text = format!("{error:#}{error:?}{access:?}");
    assert!(!text.contains("hunter2"), "{text}");
    assert!(
        text.contains("password are incorrect") && text.contains("***"),
        "{text}"
    );
    let address = serve(vec![(
        opcode::AUTHENTICATE,
        string("a.PasswordAuthenticator"),
    )]);
    let error = Session::open(address, &Access::default(), LIMIT).unwrap_err();
    assert!(
        error.to_string().contains("requires a user and password"),
        "{error}"
    );
}

#[test]
fn a_session_that_failed_once_fails_at_once() {
    let address = serve(vec![(opcode::READY, Vec::new())]);
    let mut session = Session::open(address, &Access::default(), LIMIT).unwrap();
    assert!(session.query("SELECT 1").is_err(), "the server has gone");
    let error = session.query("SELECT 1").unwrap_err();
    assert!(error.to_string().contains("has already failed"), "{error}");
}

#[test]
fn an_answer_gets_memory_for_bytes_received_not_bytes_claimed() {
    let claims = |length: u32| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut answer = Vec::new();
            Header {
                version: 0x84,
                flags: 0,
                stream: 0,
                opcode: opcode::READY,
                length,
            }
            .append(&mut answer);
            answer.resize(1 << 20, 0);
            stream.write_all(&answer).unwrap();
        });
        let socket = TcpStream::connect(address).unwrap();
        let mut stream = socket.try_clone().unwrap();
        let (mut body, deadline) = (Vec::new(), Deadline::after(LIMIT));
        let framing = (Some(Version::V4), None);
        let answer = Session::transfer((&mut stream, &socket), &[], framing, &mut body, deadline);
        (body.capacity(), format!("{:#}", answer.unwrap_err()))
    };
    let (room, error) = claims(ANSWER_BYTES_MAX);
    assert!(
        room <= 4 << 20 && error.contains("closed the connection"),
        "{room}: {error}"
    );
    let (room, error) = claims(ANSWER_BYTES_MAX + 1);
    assert!(
        room == 0 && error.contains("the limit of 67108864 bytes"),
        "{room}: {error}"
    );
}

#[test]
fn a_node_that_is_silent_is_given_up_at_the_time_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let limit = Duration::from_millis(20);
    let error = Session::open(address, &Access::default(), limit).unwrap_err();
    let text = format!("{error:#}");
    assert!(
        text.contains("the node did not answer before the timeout"),
        "{text}"
    );
    assert!(text.contains(&address.to_string()), "{text}");
}

#[test]
fn a_node_that_is_not_there_is_named() {
    let address = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let error = Session::open(address, &Access::default(), LIMIT).unwrap_err();
    assert!(
        format!("{error:#}").contains(&format!("connect to {address}")),
        "{error:#}"
    );
}

#[test]
fn long_statements_are_shortened_between_characters() {
    assert_eq!(shorten("a\n  b"), "a b");
    let long = "é".repeat(STATEMENT_CHARS_SHOWN + 1);
    assert_eq!(shorten(&long).chars().count(), STATEMENT_CHARS_SHOWN + 1);
}

/// Starts a server like Cassandra 2.1, which accepts only the version `only`. The server refuses
/// other versions in a frame of its newest version, and then closes the connection. Also returns
/// the versions that clients requested.
fn takes(only: Option<u8>, newest: u8) -> (SocketAddr, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let all = Arc::new(Mutex::new(Vec::new()));
    let asked = Arc::clone(&all);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut header = [0u8; HEADER_BYTES];
            stream.read_exact(&mut header).unwrap();
            let length = u32::from_be_bytes(*header.last_chunk().unwrap());
            stream.read_exact(&mut vec![0; length as usize]).unwrap();
            asked.lock().unwrap().push(header[0]);
            let (version, opcode, body) = if only == Some(header[0]) {
                (header[0], opcode::READY, Vec::new())
            } else {
                let why = format!(
                    "Invalid or unsupported protocol version ({}); the lowest supported version \
                     is 1 and the greatest is {newest}",
                    header[0]
                );
                (newest, opcode::ERROR, error(0x000A, &why))
            };
            let mut answer = Vec::new();
            Header {
                version: version | 0x80,
                flags: 0,
                stream: 0,
                opcode,
                length: body.len() as u32,
            }
            .append(&mut answer);
            answer.extend(body);
            stream.write_all(&answer).unwrap();
        }
    });
    (address, all)
}

#[test]
fn a_refused_version_leads_to_the_next_which_is_then_kept() {
    let (address, asked) = takes(Some(3), 3);
    let access = Access::default();
    for _ in 0..2 {
        let session = Session::open(address, &access, LIMIT).unwrap();
        assert_eq!(session.version, Version::V3);
    }
    assert_eq!(*asked.lock().unwrap(), [4, 5, 3, 3]);
    assert_eq!(access.spoken.now(), Version::V3);
}

#[test]
fn a_server_without_a_common_version_is_quoted_for_each_version() {
    let (address, asked) = takes(None, 6);
    let access = Access::default();
    let error = format!("{:#}", Session::open(address, &access, LIMIT).unwrap_err());
    assert_eq!(*asked.lock().unwrap(), [4, 5, 3]);
    for part in [
        "supports none of the versions",
        "v4: Invalid or unsupported protocol version (4)",
        "v5: Invalid",
        "v3: Invalid",
        "the greatest is 6",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_eq!(access.spoken.now(), Version::V4);
}
