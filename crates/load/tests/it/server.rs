//! A server with one thread per connection. It responds as a test specifies, and records its
//! requests. The text of a prepared statement also serves as its id.

use cql::frame::{HEADER_BYTES, Header};
use cql::reply;
use cql::request::{BatchStatement, BoundValue, Parameters, Request, parse};
use cql::response::{ColumnSpec, ErrorCode, ErrorDetail, PreparedStatement};
use cql::{CqlType, Value};
use measure::clock;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A received request, as the server passes it to the function that selects the response.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceivedRequest {
    /// Type of the request: `EXECUTE`, `QUERY`, or `BATCH` with the kind of batch.
    pub what: String,
    /// Text of the statement, or of all statements of a batch.
    pub cql: Vec<String>,
    /// First value of the request as a number, which is the number of the operation.
    pub number: u64,
    pub stream: i16,
    /// Number of earlier attempts of the same request at this server.
    pub before: usize,
    pub paging_state: Option<Vec<u8>>,
    pub timestamp_us: Option<i64>,
}

pub enum Response {
    Acknowledges,
    /// Responds with a number of rows that each contain one int, and with the paging state of the
    /// next page, if any.
    Rows(usize, Option<Vec<u8>>),
    /// Responds with these columns and rows.
    Says(Vec<(&'static str, CqlType)>, Vec<Vec<Value>>),
    /// Responds with a row whose first column is `[applied]`.
    Applied(bool),
    Fails(ErrorCode),
    /// Fails with the error that the server does not know the statement with this id.
    Forgets(String),
    Nothing,
    /// Acknowledges the request after this delay. Later requests on the connection must wait, too.
    AcknowledgesAfter(Duration),
    Closes,
    /// Begins a response whose header announces the first number of bytes, but sends only the
    /// second number of bytes.
    Claims(u32, usize),
}

type Behaviour = dyn Fn(&ReceivedRequest) -> Response + Send + Sync;

pub struct Server {
    pub address: SocketAddr,
    asked: Arc<Mutex<Log>>,
}

/// Identity of a request across attempts. It consists of the type, the first statement, the number
/// and the page.
type RequestIdentity = (String, String, u64, Option<Vec<u8>>);

/// All requests in the order of arrival, and the number of attempts of each request.
#[derive(Default)]
struct Log {
    asked: Vec<ReceivedRequest>,
    tries: HashMap<RequestIdentity, usize>,
}

impl Log {
    /// Records a request, and sets the number of its earlier attempts.
    fn note(&mut self, asked: &mut ReceivedRequest) {
        let (what, cql) = (asked.what.clone(), asked.cql[0].clone());
        let request = (what, cql, asked.number, asked.paging_state.clone());
        let tries = self.tries.entry(request).or_default();
        asked.before = *tries;
        *tries += 1;
        self.asked.push(asked.clone());
    }
}

impl Server {
    /// Listens on any free port until the process ends.
    pub fn start(
        behaviour: impl Fn(&ReceivedRequest) -> Response + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Log::default()));
        let (log, behaviour): (_, Arc<Behaviour>) = (Arc::clone(&asked), Arc::new(behaviour));
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (log, behaviour) = (Arc::clone(&log), Arc::clone(&behaviour));
                std::thread::spawn(move || serve(socket, &log, &*behaviour));
            }
        });
        Server { address, asked }
    }

    /// Returns every EXECUTE, QUERY and BATCH that has arrived so far.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.asked.lock().unwrap().asked.clone()
    }
}

/// Answers requests until the connection ends. Answers all requests of one read with one write.
fn serve(mut socket: TcpStream, log: &Mutex<Log>, behaviour: &Behaviour) {
    let mut input = Vec::new();
    let mut room = vec![0; 1 << 20];
    while let Ok(count @ 1..) = socket.read(&mut room) {
        input.extend_from_slice(&room[..count]);
        let mut output = Vec::new();
        let mut start = 0;
        while let Ok(Some(header)) = Header::parse_request(&input[start..]) {
            let end = start + header.frame_bytes();
            let Some(body) = input.get(start + HEADER_BYTES..end) else {
                break;
            };
            let request = parse(&header, body).unwrap();
            if !answer(&mut output, header.stream, &request, log, behaviour) {
                return;
            }
            start = end;
        }
        input.drain(..start);
        if socket.write_all(&output).is_err() {
            return;
        }
    }
}

/// Answers one request. Returns true if the connection continues.
fn answer(
    out: &mut Vec<u8>,
    stream: i16,
    request: &Request<'_>,
    log: &Mutex<Log>,
    behaviour: &Behaviour,
) -> bool {
    let mut asked = match request {
        Request::Startup { .. } => {
            reply::ready(out, stream);
            return true;
        }
        Request::Prepare { cql } => {
            reply::prepared(out, stream, &prepared(cql));
            return true;
        }
        request => parse_request(stream, request),
    };
    log.lock().unwrap().note(&mut asked);
    match behaviour(&asked) {
        Response::Acknowledges => reply::void(out, stream),
        Response::Rows(count, next) => {
            let rows = vec![vec![Value::Int(1)]; count];
            let columns = [column("v", CqlType::Int)];
            reply::rows(out, stream, &columns, true, next.as_deref(), &rows);
        }
        Response::Says(columns, rows) => {
            let columns: Vec<ColumnSpec> =
                columns.into_iter().map(|(name, typ)| column(name, typ)).collect();
            reply::rows(out, stream, &columns, false, None, &rows);
        }
        Response::Applied(applied) => {
            let columns = [column("[applied]", CqlType::Boolean)];
            reply::rows(
                out,
                stream,
                &columns,
                false,
                None,
                &[vec![Value::Boolean(applied)]],
            );
        }
        Response::Fails(code) => reply::error(out, stream, code, "as told", &detail(code, "")),
        Response::Forgets(id) => {
            let code = ErrorCode::Unprepared;
            reply::error(out, stream, code, "as told", &detail(code, &id));
        }
        Response::Nothing => {}
        Response::AcknowledgesAfter(delay) => {
            clock::sleep(delay);
            reply::void(out, stream);
        }
        Response::Closes => return false,
        Response::Claims(length, bytes) => {
            let header = Header {
                version: cql::Version::V4.number() | cql::frame::RESPONSE_BIT,
                flags: 0,
                stream,
                opcode: cql::frame::opcode::RESULT,
                length,
            };
            header.append(out);
            out.resize(out.len() + bytes, 0);
        }
    }
    true
}

fn detail(code: ErrorCode, id: &str) -> ErrorDetail<'_> {
    let (consistency, received, block_for) = (1, 0, 1);
    match code {
        ErrorCode::Unprepared => ErrorDetail::Unprepared { id: id.as_bytes() },
        ErrorCode::WriteTimeout => ErrorDetail::WriteTimeout {
            consistency,
            received,
            block_for,
            write_type: "SIMPLE",
        },
        ErrorCode::CasWriteUnknown => ErrorDetail::CasWriteUnknown {
            consistency,
            received,
            block_for,
        },
        ErrorCode::Unavailable => ErrorDetail::Unavailable {
            consistency,
            required: 1,
            alive: 0,
        },
        _ => ErrorDetail::None,
    }
}

fn parse_request(stream: i16, request: &Request<'_>) -> ReceivedRequest {
    let text = |id: &[u8]| String::from_utf8(id.to_vec()).unwrap();
    let (what, cql, value, parameters): (_, _, Option<BoundValue<'_>>, &Parameters<'_>) =
        match request {
            Request::Execute { id, parameters } => (
                "EXECUTE".to_owned(),
                vec![text(id)],
                parameters.values().next(),
                parameters,
            ),
            Request::Query { cql, parameters } => (
                "QUERY".to_owned(),
                vec![(*cql).to_owned()],
                parameters.values().next(),
                parameters,
            ),
            Request::Batch {
                kind,
                statements,
                parameters,
            } => {
                let cql = statements.iter().map(|(statement, _)| match statement {
                    BatchStatement::Query(cql) => format!("text {cql}"),
                    BatchStatement::Prepared(id) => text(id),
                });
                let value = statements.first().and_then(|(_, values)| values.first());
                (
                    format!("BATCH {kind:?}"),
                    cql.collect(),
                    value.copied(),
                    parameters,
                )
            }
            other => panic!("not expected: {other:?}"),
        };
    let number = match value {
        Some(BoundValue::Bytes(bytes)) => u64::from_be_bytes(bytes.try_into().unwrap()),
        _ => 0,
    };
    ReceivedRequest {
        what,
        cql,
        number,
        stream,
        before: 0,
        paging_state: parameters.paging_state.map(<[u8]>::to_vec),
        timestamp_us: parameters.timestamp_us,
    }
}

fn column(name: &str, typ: CqlType) -> ColumnSpec {
    ColumnSpec {
        keyspace: "k".to_owned(),
        table: "t".to_owned(),
        name: name.to_owned(),
        typ,
    }
}

fn prepared(cql: &str) -> PreparedStatement {
    let markers = cql.matches('?').count();
    PreparedStatement {
        id: cql.as_bytes().to_vec(),
        result_metadata_id: Vec::new(),
        bind_columns: vec![column("v", CqlType::Blob); markers],
        partition_key_indexes: Vec::new(),
        result_columns: Vec::new(),
    }
}
