//! Messages and values that several tests use, and strategies that generate more messages and
//! values.

use std::sync::Arc;

use cql::response::{ColumnSpec, ErrorCode, ErrorDetail, PreparedStatement};
use cql::value::UdtType;
use cql::{CqlType, Value, reply};
use proptest::collection::vec;
use proptest::prelude::*;

/// Every type without element types.
pub const SIMPLE_TYPES: [CqlType; 20] = [
    CqlType::Ascii,
    CqlType::Bigint,
    CqlType::Blob,
    CqlType::Boolean,
    CqlType::Counter,
    CqlType::Decimal,
    CqlType::Double,
    CqlType::Float,
    CqlType::Int,
    CqlType::Timestamp,
    CqlType::Uuid,
    CqlType::Text,
    CqlType::Varint,
    CqlType::Timeuuid,
    CqlType::Inet,
    CqlType::Date,
    CqlType::Time,
    CqlType::Smallint,
    CqlType::Tinyint,
    CqlType::Duration,
];

pub fn column(name: &str, typ: CqlType) -> ColumnSpec {
    ColumnSpec {
        keyspace: "ks".into(),
        table: "t".into(),
        name: name.into(),
        typ,
    }
}

/// Returns a user-defined type with a street (text) and a number (int).
pub fn address_type() -> CqlType {
    CqlType::Udt(Box::new(UdtType {
        keyspace: "ks".into(),
        name: "address".into(),
        fields: vec![
            ("street".into(), CqlType::Text),
            ("number".into(), CqlType::Int),
        ],
    }))
}

/// Returns columns of different types, with one type of each sort.
pub fn columns() -> Vec<ColumnSpec> {
    let list = CqlType::List(Box::new(CqlType::Int));
    let map = CqlType::Map(Box::new(CqlType::Text), Box::new(list.clone()));
    vec![
        column("key", CqlType::Text),
        column("list", list),
        column("map", map),
        column(
            "tuple",
            CqlType::Tuple(vec![CqlType::Boolean, CqlType::Duration]),
        ),
        column("udt", address_type()),
        column("vector", CqlType::Vector(Box::new(CqlType::Float), 2)),
        column("odd", CqlType::Custom("com.example.Odd".into())),
        column("gone", CqlType::Bigint),
    ]
}

/// Returns a row with values for [`columns`].
pub fn row() -> Vec<Value> {
    let list = Value::List(vec![Value::Int(1), Value::Int(-2)]);
    let duration = Value::Duration {
        months: 1,
        days: -2,
        nanoseconds: i64::MAX,
    };
    let street = (Arc::from("street"), Value::Text("Am Wehr".into()));
    vec![
        Value::Text("k'ey".into()),
        list.clone(),
        Value::Map(vec![(Value::Text("a".into()), list)]),
        Value::Tuple(vec![Value::Boolean(true), duration]),
        Value::Udt(vec![street, (Arc::from("number"), Value::Null)]),
        Value::Vector(vec![Value::Float(0.5), Value::Float(-1.0)]),
        Value::Custom(vec![1, 2, 3]),
        Value::Null,
    ]
}

/// Returns every error code with its detail.
pub fn errors() -> Vec<(ErrorCode, ErrorDetail<'static>)> {
    let plain = [
        ErrorCode::ServerError,
        ErrorCode::ProtocolError,
        ErrorCode::BadCredentials,
        ErrorCode::Overloaded,
        ErrorCode::IsBootstrapping,
        ErrorCode::TruncateError,
        ErrorCode::CdcWriteFailure,
        ErrorCode::SyntaxError,
        ErrorCode::Unauthorized,
        ErrorCode::Invalid,
        ErrorCode::ConfigError,
        ErrorCode::Other(0x7777),
    ];
    let detailed = crate::golden_responses::error_details()
        .map(|(code, _, detail)| (ErrorCode::from_code(code), detail));
    plain
        .into_iter()
        .map(|code| (code, ErrorDetail::None))
        .chain(detailed)
        .collect()
}

pub fn prepared() -> PreparedStatement {
    PreparedStatement {
        id: (0..16).collect(),
        result_metadata_id: Vec::new(),
        bind_columns: vec![column("c", CqlType::Blob), column("key", CqlType::Text)],
        partition_key_indexes: vec![1],
        result_columns: columns(),
    }
}

/// Returns one response frame of each sort, for mutation.
pub fn responses() -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let mut add = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        write(&mut out);
        frames.push(out);
    };
    add(&|out| reply::ready(out, 1));
    add(&|out| reply::authenticate(out, 1, "PasswordAuthenticator"));
    add(&|out| reply::auth_success(out, 1));
    add(&|out| reply::supported(out, 1, &[("COMPRESSION", &["lz4", "snappy"])]));
    add(&|out| reply::void(out, 1));
    add(&|out| reply::set_keyspace(out, 1, "ks"));
    add(&|out| reply::prepared(out, 1, &prepared()));
    add(&|out| reply::rows(out, 1, &columns(), false, Some(b"page"), &[row(), row()]));
    add(&|out| reply::rows(out, 1, &columns(), true, None, &[row()]));
    for (code, detail) in errors() {
        add(&|out| reply::error(out, 1, code, "what went wrong", &detail));
    }
    frames.extend(crate::golden_responses::events().map(|(bytes, _)| bytes));
    frames
}

/// Ways to damage a frame: overwrite a byte or a count, truncate the frame, or insert bytes.
#[derive(Clone, Debug)]
pub enum Damage {
    Byte(prop::sample::Index, u8),
    Count(prop::sample::Index, u32),
    Cut(prop::sample::Index),
    Insert(prop::sample::Index, Vec<u8>),
}

impl Damage {
    pub fn apply(&self, body: &mut Vec<u8>) {
        let at = |index: &prop::sample::Index, body: &[u8]| index.index(body.len() + 1);
        match self {
            Damage::Byte(index, byte) => {
                let at = at(index, body);
                if let Some(place) = body.get_mut(at) {
                    *place = *byte;
                }
            }
            Damage::Count(index, count) => {
                let at = at(index, body);
                if let Some(place) = body.get_mut(at..at + 4) {
                    place.copy_from_slice(&count.to_be_bytes());
                }
            }
            Damage::Cut(index) => body.truncate(at(index, body)),
            Damage::Insert(index, bytes) => {
                let at = at(index, body);
                body.splice(at..at, bytes.iter().copied());
            }
        }
    }
}

pub fn damage() -> impl Strategy<Value = Damage> {
    let counts = prop::sample::select(vec![
        i32::MAX as u32,
        u32::MAX,
        1 << 31,
        0x0100_0000,
        65_535,
        0,
        4,
    ]);
    prop_oneof![
        (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(i, b)| Damage::Byte(i, b)),
        (any::<prop::sample::Index>(), counts).prop_map(|(i, c)| Damage::Count(i, c)),
        any::<prop::sample::Index>().prop_map(Damage::Cut),
        (any::<prop::sample::Index>(), vec(any::<u8>(), 1..9))
            .prop_map(|(i, b)| Damage::Insert(i, b)),
    ]
}

/// Generates types that are nested up to three levels.
pub fn any_type() -> impl Strategy<Value = CqlType> {
    let simple = prop::sample::select(SIMPLE_TYPES.to_vec());
    simple.prop_recursive(3, 12, 3, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        prop_oneof![
            boxed.clone().prop_map(CqlType::List),
            boxed.clone().prop_map(CqlType::Set),
            (boxed.clone(), boxed.clone()).prop_map(|(k, v)| CqlType::Map(k, v)),
            vec(inner.clone(), 1..4).prop_map(CqlType::Tuple),
            (boxed, 1u32..4).prop_map(|(of, dimension)| CqlType::Vector(of, dimension)),
            vec(("[a-z]{1,5}".prop_map(Arc::from), inner), 1..4).prop_map(|fields| {
                let (keyspace, name) = ("ks".into(), "udt".into());
                CqlType::Udt(Box::new(UdtType {
                    keyspace,
                    name,
                    fields,
                }))
            }),
        ]
    })
}

/// Generates a value of this type. Floating point numbers are never NaN, so that values can be
/// compared.
pub fn value_of(typ: &CqlType) -> BoxedStrategy<Value> {
    let bytes = || vec(any::<u8>(), 1..12);
    match typ {
        CqlType::Ascii => "[ -~]{0,12}".prop_map(Value::Text).boxed(),
        CqlType::Text => ".{0,12}".prop_map(Value::Text).boxed(),
        CqlType::Bigint => any::<i64>().prop_map(Value::Bigint).boxed(),
        CqlType::Blob => vec(any::<u8>(), 0..40).prop_map(Value::Blob).boxed(),
        CqlType::Boolean => any::<bool>().prop_map(Value::Boolean).boxed(),
        CqlType::Counter => any::<i64>().prop_map(Value::Counter).boxed(),
        CqlType::Decimal => (bytes(), any::<i32>())
            .prop_map(|(unscaled, scale)| Value::Decimal { unscaled, scale })
            .boxed(),
        CqlType::Double => prop::num::f64::NORMAL.prop_map(Value::Double).boxed(),
        CqlType::Float => prop::num::f32::NORMAL.prop_map(Value::Float).boxed(),
        CqlType::Int => any::<i32>().prop_map(Value::Int).boxed(),
        CqlType::Timestamp => any::<i64>().prop_map(Value::Timestamp).boxed(),
        CqlType::Uuid => any::<[u8; 16]>().prop_map(Value::Uuid).boxed(),
        CqlType::Varint => bytes().prop_map(Value::Varint).boxed(),
        CqlType::Timeuuid => any::<[u8; 16]>().prop_map(Value::Timeuuid).boxed(),
        CqlType::Inet => any::<std::net::IpAddr>().prop_map(Value::Inet).boxed(),
        CqlType::Date => any::<u32>().prop_map(Value::Date).boxed(),
        CqlType::Time => any::<i64>().prop_map(Value::Time).boxed(),
        CqlType::Smallint => any::<i16>().prop_map(Value::Smallint).boxed(),
        CqlType::Tinyint => any::<i8>().prop_map(Value::Tinyint).boxed(),
        CqlType::Duration => (any::<i32>(), any::<i32>(), any::<i64>())
            .prop_map(|(months, days, nanoseconds)| Value::Duration {
                months,
                days,
                nanoseconds,
            })
            .boxed(),
        CqlType::List(of) => vec(value_of(of), 0..4).prop_map(Value::List).boxed(),
        CqlType::Set(of) => vec(value_of(of), 0..4).prop_map(Value::Set).boxed(),
        CqlType::Map(k, v) => vec((value_of(k), value_of(v)), 0..4).prop_map(Value::Map).boxed(),
        CqlType::Tuple(types) => {
            types.iter().map(value_of).collect::<Vec<_>>().prop_map(Value::Tuple).boxed()
        }
        CqlType::Udt(udt) => {
            let fields = udt.fields.iter();
            fields
                .map(|(name, typ)| (Just(Arc::clone(name)), value_of(typ)))
                .collect::<Vec<_>>()
                .prop_map(Value::Udt)
                .boxed()
        }
        CqlType::Vector(of, dimension) => {
            vec(value_of(of), *dimension as usize).prop_map(Value::Vector).boxed()
        }
        CqlType::Custom(_) => vec(any::<u8>(), 0..9).prop_map(Value::Custom).boxed(),
    }
}
