//! Tests the null target as its clients use it: over plain sockets, with frames that the crate
//! `cql` encodes.

mod faults;
mod imports;
mod statements;
mod wire;

use super::answer_request::{Engine, Peer};
use super::answer_time::Stalls;
use super::*;
use cql::frame::{HEADER_BYTES, Header, flag, opcode};
use cql::request::{self, QueryParams};
use cql::response::{self, PreparedStatement, RawRows, Response, ResultBody};
use cql::{Compression, CqlType};
use measure::clock::{self, Deadline};
use proptest::prelude::*;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;
use target_spec::NullSpec;

/// A client that implements only the functions that these tests need.
struct Client {
    socket: TcpStream,
    compression: Option<Compression>,
}

/// An answer, with its header and its uncompressed body.
struct Answer {
    header: Header,
    body: Vec<u8>,
    /// Length of the body as it was received, in bytes.
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

    /// Returns the names of the columns, and the values of the rows as text.
    fn rows(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let Response::Result(ResultBody::Rows(rows)) = self.parsed() else {
            panic!("no rows: {:?}", self.parsed());
        };
        let names = rows.columns.iter().map(|column| column.name.clone()).collect();
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
    /// Returns a client that is connected, and has not sent any request.
    fn raw(server: &NullServer) -> Client {
        let socket = TcpStream::connect(server.address()).unwrap();
        // A bug could make a read wait forever. With this timeout, the test fails instead of
        // hanging.
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Client {
            socket,
            compression: None,
        }
    }

    /// Returns a client that is connected, and has sent STARTUP.
    fn new(server: &NullServer) -> Client {
        let mut client = Client::raw(server);
        let answer = client.ask(|out| request::startup(out, cql::Version::V4, 1, None));
        assert_eq!(answer.parsed(), Response::Ready);
        client
    }

    fn send(&mut self, build: impl FnOnce(&mut Vec<u8>)) {
        let mut frame = Vec::new();
        build(&mut frame);
        if let Some(compression) = self.compression {
            compression.compress(&mut frame, 0, &mut Vec::new());
        }
        self.socket.write_all(&frame).unwrap();
    }

    fn receive(&mut self) -> Answer {
        let mut head = [0; HEADER_BYTES];
        self.socket.read_exact(&mut head).unwrap();
        let mut header = Header::parse_response(&head, cql::Version::V4).unwrap().unwrap();
        let wire_bytes = header.length;
        let mut body = vec![0; wire_bytes as usize];
        self.socket.read_exact(&mut body).unwrap();
        if header.flags & flag::COMPRESSED != 0 {
            let packed = std::mem::take(&mut body);
            let compression = self.compression.unwrap();
            compression.decompress(&packed, &mut body, 1 << 24).unwrap();
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
        self.ask(|out| request::query(out, 2, cql, &QueryParams::default()).unwrap())
    }

    fn prepare(&mut self, cql: &str) -> PreparedStatement {
        let answer = self.ask(|out| request::prepare(out, cql::Version::V4, 3, cql).unwrap());
        match answer.parsed() {
            Response::Result(ResultBody::Prepared(prepared)) => prepared,
            other => panic!("not prepared: {other:?}"),
        }
    }

    fn execute(&mut self, id: &[u8]) -> Answer {
        self.ask(|out| request::execute(out, 4, id, &QueryParams::default()))
    }

    /// Executes a statement `count` times, on the streams 0, 1, and so on. Sends all requests
    /// together. Returns the answers in the order of arrival.
    fn pipeline(&mut self, id: &[u8], count: i16) -> Vec<Answer> {
        self.send(|out| {
            for stream in 0..count {
                request::execute(out, stream, id, &QueryParams::default());
            }
        });
        (0..count).map(|_| self.receive()).collect()
    }

    /// Reads the remaining bytes of the connection. Returns true if the server has then closed it.
    fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        // A reset also counts as a closed connection, because the server may close it before it has
        // read all bytes of the client.
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
