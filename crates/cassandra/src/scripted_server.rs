//! Scripted server for tests, which answers the requests of one connection.

use crate::node_info::NodeInfo;
use cql::frame::{HEADER_BYTES, Header, opcode};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

/// Starts a server on a free loopback port. The server answers the requests of one connection with
/// `answers`, each consisting of an opcode and a body.
pub fn serve(answers: Vec<(u8, Vec<u8>)>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        for (opcode, body) in answers {
            let mut header = [0u8; HEADER_BYTES];
            stream.read_exact(&mut header).unwrap();
            let header = Header::parse_request(&header).unwrap().unwrap();
            let mut request = vec![0; header.length as usize];
            stream.read_exact(&mut request).unwrap();
            let mut answer = Vec::new();
            let header = Header {
                version: 0x84,
                flags: 0,
                stream: 0,
                opcode,
                length: body.len() as u32,
            };
            header.append(&mut answer);
            answer.extend(body);
            stream.write_all(&answer).unwrap();
        }
    });
    address
}

pub fn string(text: &str) -> Vec<u8> {
    [&(text.len() as u16).to_be_bytes()[..], text.as_bytes()].concat()
}

pub fn error(code: i32, message: &str) -> Vec<u8> {
    [&code.to_be_bytes()[..], &string(message)].concat()
}

pub const TEXT: &[u8] = &[0, 0x0D];
pub const BIGINT: &[u8] = &[0, 0x02];
pub const INET: &[u8] = &[0, 0x10];
pub const TEXTS: &[u8] = &[0, 0x22, 0, 0x0D];

/// Returns a response with rows. Columns have a name and a type, and cells are bytes.
pub fn rows(columns: &[(&str, &[u8])], rows: &[&[Vec<u8>]]) -> (u8, Vec<u8>) {
    // 2 is the result kind Rows. Flag 1 means that all columns belong to one table.
    let mut body = [2i32, 1, columns.len() as i32].map(i32::to_be_bytes).concat();
    body.extend([string("k"), string("t")].concat());
    for (name, typ) in columns {
        body.extend([string(name), typ.to_vec()].concat());
    }
    body.extend((rows.len() as i32).to_be_bytes());
    for cell in rows.iter().flat_map(|row| row.iter()) {
        body.extend((cell.len() as i32).to_be_bytes());
        body.extend(cell);
    }
    (opcode::RESULT, body)
}

pub fn texts(all: &[&str]) -> Vec<u8> {
    let mut cell = (all.len() as i32).to_be_bytes().to_vec();
    for text in all {
        cell.extend((text.len() as i32).to_be_bytes());
        cell.extend(text.as_bytes());
    }
    cell
}

/// Starts a server that accepts a session, and then responds with `answers`.
pub fn serve_session(answers: Vec<(u8, Vec<u8>)>) -> SocketAddr {
    let ready = (opcode::READY, Vec::new());
    serve(std::iter::once(ready).chain(answers).collect())
}

pub fn node_at(address: SocketAddr, version: &str) -> NodeInfo {
    NodeInfo {
        name: "node1".to_owned(),
        host: "host1".to_owned(),
        address,
        datacenter: "dc1".to_owned(),
        rack: "rack1".to_owned(),
        tokens: vec![7],
        pid: None,
        version: version.to_owned(),
    }
}
