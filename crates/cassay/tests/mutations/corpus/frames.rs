//! Protocol frames, as a client and a server write them.

use super::Texts;
use cql::Version::V4;
use cql::request::{self, QueryParams};
use cql::response::{ColumnSpec, ErrorCode, ErrorDetail, PreparedStatement};
use cql::value::{CqlType, Value};
use cql::{Consistency, reply};

/// Name of a frame, and the function that appends the frame to a buffer.
type Maker<'a> = (&'static str, &'a dyn Fn(&mut Vec<u8>));

fn frames(makers: &[Maker<'_>]) -> Texts {
    let frame = |(name, make): &Maker<'_>| {
        let mut out = Vec::new();
        make(&mut out);
        (*name, out)
    };
    makers.iter().map(frame).collect()
}

pub fn requests() -> Texts {
    let params = QueryParams {
        values: &[Some(b"key"), None, Some(&[0, 0, 0, 7])],
        page_size: Some(100),
        paging_state: Some(b"here"),
        serial_consistency: Some(Consistency::Serial),
        timestamp_us: Some(1),
        ..QueryParams::default()
    };
    let is_cql = "it is CQL";
    frames(&[
        ("startup", &|out| request::startup(out, V4, 1, None)),
        ("prepare", &|out| {
            request::prepare(out, V4, 1, "A").expect(is_cql)
        }),
        ("query", &|out| {
            request::query(out, 1, "A", &params).expect(is_cql)
        }),
        ("execute", &|out| {
            request::execute(out, 1, &[7; 16], &params)
        }),
    ])
}

pub fn responses() -> Texts {
    let column = |name: &str, typ| ColumnSpec {
        keyspace: "k".into(),
        table: "t".into(),
        name: name.into(),
        typ,
    };
    let columns = [
        column("a", CqlType::Bigint),
        column("b", CqlType::List(Box::new(CqlType::Text))),
    ];
    let texts = Value::List(vec![Value::Text("x".into()), Value::Text(String::new())]);
    let rows = [
        vec![Value::Bigint(1), texts],
        vec![Value::Bigint(-1), Value::Null],
    ];
    let prepared = PreparedStatement {
        id: vec![7; 16],
        result_metadata_id: Vec::new(),
        bind_columns: columns.to_vec(),
        partition_key_indexes: vec![0],
        result_columns: columns.to_vec(),
    };
    let options: &[(&str, &[&str])] = &[("COMPRESSION", &["lz4", "snappy"])];
    frames(&[
        ("rows", &|out| {
            reply::rows(out, 1, &columns, false, Some(b"on"), &rows);
        }),
        ("prepared", &|out| reply::prepared(out, 1, &prepared)),
        ("supported", &|out| reply::supported(out, 1, options)),
        ("error", &|out| {
            reply::error(out, 1, ErrorCode::Overloaded, "busy", &ErrorDetail::None);
        }),
    ])
}
