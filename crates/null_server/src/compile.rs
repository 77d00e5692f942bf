//! Compiles a parsed statement into ready-made answers to PREPARE and EXECUTE.

use super::catalog::{Catalog, ColumnKind, ID_BYTES, Table};
use super::pages::Pages;
use super::prepared::{Effect, Ready, TableMark};
use super::statement::{Marker, MarkerType, Select, SelectorOf, Statement, TableName};
use super::system;
use cql::response::{ColumnSpec, PreparedStatement};
use cql::{Compression, CqlType, Value, reply};
use std::hash::{DefaultHasher, Hash, Hasher};
use target_spec::Reads;

#[derive(Debug)]
pub struct CompiledStatement {
    /// Answer to PREPARE.
    pub prepared: PreparedStatement,
    /// Effect of EXECUTE.
    pub effect: Effect,
}

/// Compiles `statement` for a connection that uses the keyspace `in_use`.
///
/// # Errors
/// The statement reads a system table that the null server does not have. The error is a message
/// for the client.
pub fn compile(
    statement: Statement,
    id: [u8; ID_BYTES],
    catalog: &Catalog,
    in_use: &str,
    reads: Reads,
) -> Result<CompiledStatement, String> {
    let (markers, table, result_columns, effect) = match statement {
        Statement::Select(select) => return compile_select(select, id, catalog, in_use, reads),
        Statement::Write(write) => {
            let table = catalog.table(&write.table, in_use);
            let columns = if write.conditional {
                vec![spec(&write.table, in_use, "[applied]", CqlType::Boolean)]
            } else {
                Vec::new()
            };
            let effect = if write.conditional {
                Effect::Conditional(ready_rows(&columns, &[vec![Value::Boolean(true)]]))
            } else {
                Effect::Write(ready_void(), mark(&write.table, in_use))
            };
            (
                bind_columns(&write.markers, table, &write.table, in_use),
                table,
                columns,
                effect,
            )
        }
        Statement::Other { markers } => {
            let unknown = TableName::default();
            let binds = bind_columns(&markers, None, &unknown, in_use);
            (
                binds,
                None,
                Vec::new(),
                Effect::Write(ready_void(), mark(&unknown, in_use)),
            )
        }
        _ => (BindColumns::default(), None, Vec::new(), Effect::Schema),
    };
    Ok(CompiledStatement {
        prepared: prepared(id, markers, table, result_columns),
        effect,
    })
}

fn mark(name: &TableName, in_use: &str) -> TableMark {
    let mut hasher = DefaultHasher::new();
    name.keyspace.as_deref().unwrap_or(in_use).hash(&mut hasher);
    name.table.hash(&mut hasher);
    hasher.finish()
}

fn compile_select(
    mut select: Select,
    id: [u8; ID_BYTES],
    catalog: &Catalog,
    in_use: &str,
    reads: Reads,
) -> Result<CompiledStatement, String> {
    let keyspace = select.table.keyspace.clone().unwrap_or_else(|| in_use.to_owned());
    let name = select.table.clone();
    if system::is_system(&keyspace) {
        let Some(columns) = system::result_columns(&select, &keyspace) else {
            return Err(system::no_such_table(&keyspace, &name.table));
        };
        let columns = columns
            .into_iter()
            .map(|(column, typ)| spec(&name, in_use, &column, typ))
            .collect();
        // In the WHERE clause of a system table, a marker is a text or a list of texts.
        let bind = |marker: &Marker| match &marker.stands_for {
            MarkerType::ListOf(_) => CqlType::List(Box::new(CqlType::Text)),
            MarkerType::Type(typ) => typ.clone(),
            MarkerType::Column(_) | MarkerType::Unknown => CqlType::Text,
        };
        let specs = select.markers.iter().map(|m| spec(&name, in_use, &m.name, bind(m)));
        let binds = BindColumns {
            specs: specs.collect(),
            key_columns: Vec::new(),
        };
        select.table.keyspace = Some(keyspace);
        return Ok(CompiledStatement {
            prepared: prepared(id, binds, None, columns),
            effect: Effect::System(Box::new(select)),
        });
    }
    let table = catalog.table(&name, in_use);
    let columns = result_columns(&select, table, in_use);
    let row = |cell_bytes| -> Vec<Value> {
        let cells = columns.iter().map(|column| cell(&column.typ, cell_bytes));
        cells.collect()
    };
    // The columns of `SELECT *` are unknown if the table was not created on this server.
    let effect = match reads {
        _ if columns.is_empty() => Effect::Read(ready_rows(&columns, &[])),
        Reads::Empty => Effect::Read(ready_rows(&columns, &[])),
        Reads::Row { cell_bytes } => Effect::Read(ready_rows(&columns, &[row(cell_bytes)])),
        Reads::Rows { rows, cell_bytes } => {
            let pages = Pages::new(columns.clone(), &row(cell_bytes), rows);
            Effect::Pages(Box::new(pages))
        }
    };
    let binds = bind_columns(&select.markers, table, &name, in_use);
    Ok(CompiledStatement {
        prepared: prepared(id, binds, table, columns),
        effect,
    })
}

fn result_columns(select: &Select, table: Option<&Table>, in_use: &str) -> Vec<ColumnSpec> {
    let spec = |name: &str, typ| spec(&select.table, in_use, name, typ);
    if select.selectors.is_empty() {
        let columns = table.map_or(&[][..], |table| &table.columns);
        return columns.iter().map(|c| spec(&c.name, c.typ.clone())).collect();
    }
    let typ = |of: &SelectorOf| match of {
        SelectorOf::Column(name) => column_type(table, name),
        SelectorOf::Count => CqlType::Bigint,
        SelectorOf::Expression => CqlType::Blob,
    };
    select.selectors.iter().map(|s| spec(&s.name, typ(&s.of))).collect()
}

/// Returns the type of a column. Returns blob if the table or the column is unknown.
fn column_type(table: Option<&Table>, name: &str) -> CqlType {
    table
        .and_then(|table| table.columns.iter().find(|column| column.name == name))
        .map_or(CqlType::Blob, |column| column.typ.clone())
}

fn spec(table: &TableName, in_use: &str, name: &str, typ: CqlType) -> ColumnSpec {
    ColumnSpec {
        keyspace: table.keyspace.clone().unwrap_or_else(|| in_use.to_owned()),
        table: table.table.clone(),
        name: name.to_owned(),
        typ,
    }
}

/// Bind markers of a statement with their types. For each marker, `key_columns` contains the column
/// that the marker sets or must equal, if any.
#[derive(Default)]
struct BindColumns {
    specs: Vec<ColumnSpec>,
    key_columns: Vec<Option<String>>,
}

fn bind_columns(
    markers: &[Marker],
    table: Option<&Table>,
    name: &TableName,
    in_use: &str,
) -> BindColumns {
    let typ = |marker: &Marker| match &marker.stands_for {
        MarkerType::Column(column) => column_type(table, column),
        MarkerType::ListOf(column) => CqlType::List(Box::new(column_type(table, column))),
        MarkerType::Type(typ) => typ.clone(),
        MarkerType::Unknown => CqlType::Blob,
    };
    BindColumns {
        specs: markers.iter().map(|m| spec(name, in_use, &m.name, typ(m))).collect(),
        key_columns: markers.iter().map(|marker| marker.key_column.clone()).collect(),
    }
}

fn prepared(
    id: [u8; ID_BYTES],
    binds: BindColumns,
    table: Option<&Table>,
    result_columns: Vec<ColumnSpec>,
) -> PreparedStatement {
    PreparedStatement {
        id: id.to_vec(),
        result_metadata_id: Vec::new(),
        partition_key_indexes: partition_key_indexes(&binds.key_columns, table),
        bind_columns: binds.specs,
        result_columns,
    }
}

/// Returns the index of the marker of each partition key column, in the order of the key. The list
/// is empty if one of these columns has no marker.
fn partition_key_indexes(key_columns: &[Option<String>], table: Option<&Table>) -> Vec<u16> {
    let columns = table.map_or(&[][..], |table| &table.columns);
    let keys = columns.iter().filter(|column| column.kind == ColumnKind::PartitionKey);
    let index = |name: &str| key_columns.iter().position(|key| key.as_deref() == Some(name));
    keys.map(|key| index(&key.name).and_then(|index| u16::try_from(index).ok()))
        .collect::<Option<Vec<u16>>>()
        .unwrap_or_default()
}

/// Returns a value of the type `typ`. A text or a blob has `bytes` bytes. A number is zero, and a
/// collection is empty.
fn cell(typ: &CqlType, bytes: u32) -> Value {
    let count = bytes as usize;
    match typ {
        CqlType::Ascii | CqlType::Text => Value::Text("x".repeat(count)),
        CqlType::Bigint => Value::Bigint(0),
        CqlType::Blob | CqlType::Udt(_) | CqlType::Custom(_) => Value::Blob(vec![b'x'; count]),
        CqlType::Boolean => Value::Boolean(false),
        CqlType::Counter => Value::Counter(0),
        CqlType::Decimal => Value::Decimal {
            unscaled: vec![0],
            scale: 0,
        },
        CqlType::Double => Value::Double(0.0),
        CqlType::Float => Value::Float(0.0),
        CqlType::Int => Value::Int(0),
        CqlType::Timestamp => Value::Timestamp(0),
        CqlType::Uuid => Value::Uuid([0; 16]),
        CqlType::Varint => Value::Varint(vec![0]),
        CqlType::Timeuuid => Value::Timeuuid([0; 16]),
        CqlType::Inet => Value::Inet(std::net::Ipv4Addr::LOCALHOST.into()),
        CqlType::Date => Value::Date(1 << 31),
        CqlType::Time => Value::Time(0),
        CqlType::Smallint => Value::Smallint(0),
        CqlType::Tinyint => Value::Tinyint(0),
        CqlType::Duration => Value::Duration {
            months: 0,
            days: 0,
            nanoseconds: 0,
        },
        CqlType::List(_) => Value::List(Vec::new()),
        CqlType::Set(_) => Value::Set(Vec::new()),
        CqlType::Map(..) => Value::Map(Vec::new()),
        CqlType::Tuple(of) => Value::Tuple(of.iter().map(|_| Value::Null).collect()),
        // A vector is null, because its type states the number of elements, which could be
        // arbitrarily large.
        CqlType::Vector(..) => Value::Null,
    }
}

fn ready_void() -> Ready {
    let mut frame = Vec::new();
    reply::void(&mut frame, 0);
    ready([frame.clone(), frame])
}

fn ready_rows(columns: &[ColumnSpec], rows: &[Vec<Value>]) -> Ready {
    ready([false, true].map(|skip_metadata| {
        let mut frame = Vec::new();
        reply::rows(&mut frame, 0, columns, skip_metadata, None, rows);
        frame
    }))
}

fn ready(plain: [Vec<u8>; 2]) -> Ready {
    Ready::new(plain.map(|plain| {
        let compressions = [None, Some(Compression::Lz4), Some(Compression::Snappy)];
        compressions.map(|compression| {
            let mut frame = plain.clone();
            if let Some(compression) = compression {
                compression.compress(&mut frame, 0, &mut Vec::new());
            }
            frame.into_boxed_slice()
        })
    }))
}
