//! The scripted server. It parses requests and chooses its responses at random.

use super::dice::Dice;
use super::program::{CONDITION, PAGED};
use super::shape::Faults;
use cql::Version;
use cql::frame::{HEADER_BYTES, Header, flag, opcode};
use cql::request::{BatchStatement, BoundValue, Request, parse};
use cql::response::{ColumnSpec, ErrorCode, ErrorDetail, PreparedStatement};
use cql::{CqlType, Value, reply};

/// Stream id that the workers never use.
const NO_STREAM: i16 = 30_000;

/// Request that the server has parsed.
#[derive(Clone, Debug)]
pub struct SimRequest {
    pub stream: i16,
    pub statement: u16,
    pub prepares: bool,
    /// Number of the operation. A PREPARE does not belong to an operation, so its number has no
    /// meaning.
    pub number: u64,
    /// Number of statements in the request.
    pub entries: usize,
    pub paging_state: Option<Vec<u8>>,
}

/// Meaning of a response, reduced to the content that the worker should use.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Reply {
    #[default]
    Void,
    Rows {
        count: u64,
        next: Option<Vec<u8>>,
    },
    Applied(bool),
    Error(ErrorCode),
    Forgotten,
    Prepared,
    /// Invalid data, after which the connection is unusable.
    Poison,
}

/// Returns the first complete request in `bytes`, and the length of that request. The server uses
/// the text of a prepared statement as its id.
pub fn next_request(bytes: &[u8], statements: &[Vec<u8>]) -> Option<(SimRequest, usize)> {
    let header = Header::parse_request(bytes).expect("a frame")?;
    let end = header.frame_bytes();
    let body = bytes.get(HEADER_BYTES..end)?;
    let of = |text: &[u8]| {
        let found = statements.iter().position(|known| known == text);
        found.expect("a statement of the program") as u16
    };
    let number = |value: Option<BoundValue<'_>>| match value {
        Some(BoundValue::Bytes(bytes)) => u64::from_be_bytes(bytes.try_into().expect("8 bytes")),
        _ => panic!("no value"),
    };
    let mut asked = SimRequest {
        stream: header.stream,
        statement: 0,
        prepares: false,
        number: 0,
        entries: 1,
        paging_state: None,
    };
    match parse(&header, body).expect("a request") {
        Request::Prepare { cql } => {
            asked.statement = of(cql.as_bytes());
            asked.prepares = true;
        }
        Request::Execute { id, parameters } => {
            asked.statement = of(id);
            asked.number = number(parameters.values().next());
            asked.paging_state = parameters.paging_state.map(<[u8]>::to_vec);
        }
        Request::Query { cql, parameters } => {
            asked.statement = of(cql.as_bytes());
            asked.number = number(parameters.values().next());
        }
        Request::Batch { statements, .. } => {
            asked.entries = statements.len();
            for (statement, values) in &statements {
                let BatchStatement::Prepared(id) = statement else {
                    panic!("a text in a batch")
                };
                asked.statement = of(id);
                asked.number = number(values.first().copied());
            }
        }
        other => panic!("not expected: {other:?}"),
    }
    Some((asked, end))
}

/// Chooses a response. Returns its stream, its meaning and its bytes.
pub fn answer(dice: &mut Dice, faults: &Faults, asked: &SimRequest) -> (i16, Reply, Vec<u8>) {
    let mut bytes = Vec::new();
    let stream = asked.stream;
    if dice.chance(faults.poison) {
        let is_stray = dice.chance(500);
        reply::void(&mut bytes, if is_stray { NO_STREAM } else { stream });
        if !is_stray {
            bytes[0] ^= 1;
        }
        return (stream, Reply::Poison, bytes);
    }
    let reply = decide(dice, faults, asked);
    write(&mut bytes, asked, &reply);
    if dice.chance(faults.warning) {
        warn(&mut bytes);
    }
    if dice.chance(faults.warning / 4) {
        bytes.splice(0..0, event());
    }
    (stream, reply, bytes)
}

/// Changes the stream of a stray response to a stream that belongs to another connection.
pub fn stray_to(bytes: &mut [u8], stream: u16) {
    if bytes[2..4] == NO_STREAM.to_be_bytes() {
        bytes[2..4].copy_from_slice(&stream.to_be_bytes());
    }
}

fn decide(dice: &mut Dice, faults: &Faults, asked: &SimRequest) -> Reply {
    const ERRORS: [ErrorCode; 6] = [
        ErrorCode::Overloaded,
        ErrorCode::Unavailable,
        ErrorCode::WriteTimeout,
        ErrorCode::ReadTimeout,
        ErrorCode::Invalid,
        ErrorCode::ServerError,
    ];
    if dice.chance(faults.error) {
        return Reply::Error(dice.pick(&ERRORS));
    }
    if asked.prepares {
        return Reply::Prepared;
    }
    if dice.chance(faults.forget) {
        return Reply::Forgotten;
    }
    match asked.statement {
        PAGED => {
            let page = asked.paging_state.as_ref().map_or(0, |state| state[0]);
            // This fault repeats the paging state of the request. Unless the worker detects the
            // repetition, it reads the same page in an endless loop.
            let turns = page > 0 && dice.chance(faults.error / 8);
            let more = page < 4 && dice.chance(600);
            let next = (more || turns).then(|| vec![if turns { page } else { page + 1 }; 40]);
            let count = dice.below(3);
            Reply::Rows { count, next }
        }
        CONDITION => Reply::Applied(dice.chance(500)),
        1 | 3 | 5 => Reply::Rows {
            count: dice.below(3),
            next: None,
        },
        _ => Reply::Void,
    }
}

fn write(bytes: &mut Vec<u8>, asked: &SimRequest, reply: &Reply) {
    let stream = asked.stream;
    let error = |bytes: &mut Vec<u8>, code, detail: &ErrorDetail<'_>| {
        reply::error(bytes, stream, code, "an error that the dice chose", detail);
    };
    match reply {
        Reply::Void => reply::void(bytes, stream),
        Reply::Rows { count, next } => {
            let rows = vec![vec![Value::Int(1)]; *count as usize];
            let columns = [column("v", CqlType::Int)];
            reply::rows(bytes, stream, &columns, true, next.as_deref(), &rows);
        }
        Reply::Applied(applied) => {
            let columns = [column("[applied]", CqlType::Boolean)];
            let row = vec![Value::Boolean(*applied)];
            reply::rows(bytes, stream, &columns, false, None, &[row]);
        }
        Reply::Error(code) => error(bytes, *code, &detail(*code)),
        Reply::Forgotten => {
            let id = text(asked.statement);
            let detail = ErrorDetail::Unprepared { id: id.as_bytes() };
            error(bytes, ErrorCode::Unprepared, &detail);
        }
        Reply::Prepared => {
            let prepared = PreparedStatement {
                id: text(asked.statement).into_bytes(),
                result_metadata_id: Vec::new(),
                bind_columns: vec![column("k", CqlType::Blob)],
                partition_key_indexes: Vec::new(),
                result_columns: Vec::new(),
            };
            reply::prepared(bytes, stream, &prepared);
        }
        Reply::Poison => unreachable!("is written elsewhere"),
    }
}

/// Returns the text of a statement of the program, which is also its id.
fn text(statement: u16) -> String {
    super::program::text(statement)
}

fn detail(code: ErrorCode) -> ErrorDetail<'static> {
    let (consistency, received, block_for) = (1, 0, 1);
    match code {
        ErrorCode::WriteTimeout => ErrorDetail::WriteTimeout {
            consistency,
            received,
            block_for,
            write_type: "SIMPLE",
        },
        ErrorCode::ReadTimeout => ErrorDetail::ReadTimeout {
            consistency,
            received,
            block_for,
            data_present: false,
        },
        ErrorCode::Unavailable => ErrorDetail::Unavailable {
            consistency,
            required: 1,
            alive: 0,
        },
        _ => ErrorDetail::None,
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

/// Inserts a warning before the body of the only frame.
fn warn(bytes: &mut Vec<u8>) {
    const WARNING: [u8; 5] = [0, 1, 0, 1, b'!'];
    bytes[1] |= flag::WARNING;
    bytes.splice(HEADER_BYTES..HEADER_BYTES, WARNING);
    let length = (bytes.len() - HEADER_BYTES) as u32;
    bytes[HEADER_BYTES - 4..HEADER_BYTES].copy_from_slice(&length.to_be_bytes());
}

/// Returns an event frame. A server sends such a frame without a request.
fn event() -> Vec<u8> {
    let mut bytes = Vec::new();
    let header = Header {
        version: Version::V4.number() | cql::frame::RESPONSE_BIT,
        flags: 0,
        stream: -1,
        opcode: opcode::EVENT,
        length: 3,
    };
    header.append(&mut bytes);
    bytes.extend_from_slice(&[0, 1, b'x']);
    bytes
}
