//! Encodes responses in version 4, as a server writes them. The null target uses this module.
//!
//! Each function appends ONE whole uncompressed frame to `out`, like the encoders in `request`.

use crate::Version;
use crate::frame::{self, RESPONSE_BIT, opcode};
use crate::response::{
    ColumnSpec, ErrorCode, ErrorDetail, PreparedStatement, ResultKind, metadata_bit,
};
use crate::response::{SchemaChange, SchemaChangeKind, SchemaTarget};
use crate::value::Value;
use crate::wire::append_u16;
use crate::wire::{append_count, append_i32, append_long_bytes, append_short_bytes, append_string};

fn begin(out: &mut Vec<u8>, stream: i16, opcode: u8) -> usize {
    frame::begin(out, Version::V4.number() | RESPONSE_BIT, stream, opcode)
}

fn begin_result(out: &mut Vec<u8>, stream: i16, kind: ResultKind) -> usize {
    let start = begin(out, stream, opcode::RESULT);
    append_i32(out, kind as i32);
    start
}

/// Appends a READY frame.
pub fn ready(out: &mut Vec<u8>, stream: i16) {
    begin(out, stream, opcode::READY);
}

/// Appends AUTHENTICATE, with the class name of an authenticator.
pub fn authenticate(out: &mut Vec<u8>, stream: i16, class: &str) {
    let start = begin(out, stream, opcode::AUTHENTICATE);
    append_string(out, class);
    frame::end(out, start);
}

/// Appends AUTH_SUCCESS with a null token.
pub fn auth_success(out: &mut Vec<u8>, stream: i16) {
    let start = begin(out, stream, opcode::AUTH_SUCCESS);
    append_i32(out, -1);
    frame::end(out, start);
}

/// Appends SUPPORTED, with options and their possible values.
pub fn supported(out: &mut Vec<u8>, stream: i16, options: &[(&str, &[&str])]) {
    let start = begin(out, stream, opcode::SUPPORTED);
    append_count(out, options.len());
    for (option, values) in options {
        append_string(out, option);
        append_count(out, values.len());
        values.iter().for_each(|value| append_string(out, value));
    }
    frame::end(out, start);
}

/// Appends a RESULT of kind Void.
pub fn void(out: &mut Vec<u8>, stream: i16) {
    let start = begin_result(out, stream, ResultKind::Void);
    frame::end(out, start);
}

/// Appends a RESULT of kind SetKeyspace.
pub fn set_keyspace(out: &mut Vec<u8>, stream: i16, keyspace: &str) {
    let start = begin_result(out, stream, ResultKind::SetKeyspace);
    append_string(out, keyspace);
    frame::end(out, start);
}

/// Appends a RESULT of kind SchemaChange.
pub fn schema_change(out: &mut Vec<u8>, stream: i16, change: &SchemaChange) {
    let start = begin_result(out, stream, ResultKind::SchemaChange);
    append_string(
        out,
        match change.change {
            SchemaChangeKind::Created => "CREATED",
            SchemaChangeKind::Updated => "UPDATED",
            SchemaChangeKind::Dropped => "DROPPED",
        },
    );
    let (target, name, argument_types) = match &change.target {
        SchemaTarget::Keyspace => ("KEYSPACE", None, None),
        SchemaTarget::Table(name) => ("TABLE", Some(name), None),
        SchemaTarget::Type(name) => ("TYPE", Some(name), None),
        SchemaTarget::Function {
            name,
            argument_types,
        } => ("FUNCTION", Some(name), Some(argument_types)),
        SchemaTarget::Aggregate {
            name,
            argument_types,
        } => ("AGGREGATE", Some(name), Some(argument_types)),
    };
    append_string(out, target);
    append_string(out, &change.keyspace);
    if let Some(name) = name {
        append_string(out, name);
    }
    if let Some(argument_types) = argument_types {
        append_count(out, argument_types.len());
        argument_types.iter().for_each(|typ| append_string(out, typ));
    }
    frame::end(out, start);
}

/// Appends a RESULT of kind Prepared.
pub fn prepared(out: &mut Vec<u8>, stream: i16, prepared: &PreparedStatement) {
    let start = begin_result(out, stream, ResultKind::Prepared);
    append_short_bytes(out, &prepared.id);
    append_i32(out, 0);
    append_i32(out, prepared.bind_columns.len() as i32);
    append_i32(out, prepared.partition_key_indexes.len() as i32);
    for index in &prepared.partition_key_indexes {
        append_u16(out, *index);
    }
    append_columns(out, &prepared.bind_columns);
    let result = &prepared.result_columns;
    append_i32(
        out,
        if result.is_empty() {
            metadata_bit::NO_METADATA
        } else {
            0
        },
    );
    append_i32(out, result.len() as i32);
    append_columns(out, result);
    frame::end(out, start);
}

/// Appends a RESULT of kind Rows. Each row has as many values as there are columns. The frame
/// describes the columns, unless a request has asked the server to omit the description with
/// `skip_metadata`.
pub fn rows(
    out: &mut Vec<u8>,
    stream: i16,
    columns: &[ColumnSpec],
    skip_metadata: bool,
    paging_state: Option<&[u8]>,
    rows: &[Vec<Value>],
) {
    let start = begin_rows(out, stream, columns, skip_metadata, paging_state);
    append_i32(out, rows.len() as i32);
    for row in rows {
        debug_assert_eq!(row.len(), columns.len());
        row.iter().for_each(|value| value.append_cell(out));
    }
    frame::end(out, start);
}

/// Appends a RESULT of kind Rows with `rows_count` equal rows, and is otherwise like [`rows`].
/// `cells` are the encoded values of one row.
pub fn same_rows(
    out: &mut Vec<u8>,
    stream: i16,
    columns: &[ColumnSpec],
    skip_metadata: bool,
    paging_state: Option<&[u8]>,
    cells: &[u8],
    rows_count: u32,
) {
    let start = begin_rows(out, stream, columns, skip_metadata, paging_state);
    out.extend_from_slice(&rows_count.to_be_bytes());
    for _ in 0..rows_count {
        out.extend_from_slice(cells);
    }
    frame::end(out, start);
}

fn begin_rows(
    out: &mut Vec<u8>,
    stream: i16,
    columns: &[ColumnSpec],
    skip_metadata: bool,
    paging_state: Option<&[u8]>,
) -> usize {
    let start = begin_result(out, stream, ResultKind::Rows);
    let mut flags = if skip_metadata {
        metadata_bit::NO_METADATA
    } else {
        0
    };
    if paging_state.is_some() {
        flags |= metadata_bit::HAS_MORE_PAGES;
    }
    append_i32(out, flags);
    append_i32(out, columns.len() as i32);
    if let Some(paging_state) = paging_state {
        append_long_bytes(out, paging_state);
    }
    if !skip_metadata {
        append_columns(out, columns);
    }
    start
}

fn append_columns(out: &mut Vec<u8>, columns: &[ColumnSpec]) {
    for column in columns {
        append_string(out, &column.keyspace);
        append_string(out, &column.table);
        append_string(out, &column.name);
        column.typ.append(out);
    }
}

/// Appends an ERROR. The variant of `detail` must match the code, as in [`ErrorDetail`].
pub fn error(out: &mut Vec<u8>, stream: i16, code: ErrorCode, message: &str, detail: &ErrorDetail) {
    let start = begin(out, stream, opcode::ERROR);
    append_i32(out, code.code());
    append_string(out, message);
    append_detail(out, detail);
    frame::end(out, start);
}

fn append_detail(out: &mut Vec<u8>, detail: &ErrorDetail) {
    match detail {
        ErrorDetail::None => {}
        ErrorDetail::FunctionFailure {
            keyspace,
            function,
            argument_types,
        } => {
            append_string(out, keyspace);
            append_string(out, function);
            append_count(out, argument_types.len());
            argument_types.iter().for_each(|typ| append_string(out, typ));
        }
        ErrorDetail::AlreadyExists { keyspace, table } => {
            append_string(out, keyspace);
            append_string(out, table);
        }
        ErrorDetail::Unprepared { id } => append_short_bytes(out, id),
        about_replicas => append_replicas(out, about_replicas),
    }
}

/// Appends the details of errors that begin with a consistency and two numbers of replicas.
fn append_replicas(out: &mut Vec<u8>, detail: &ErrorDetail) {
    use ErrorDetail as Detail;
    let (consistency, first, second, failures) = match detail {
        Detail::Unavailable {
            consistency,
            required,
            alive,
        } => (consistency, required, alive, None),
        Detail::CasWriteUnknown {
            consistency,
            received,
            block_for,
        }
        | Detail::WriteTimeout {
            consistency,
            received,
            block_for,
            ..
        }
        | Detail::ReadTimeout {
            consistency,
            received,
            block_for,
            ..
        } => (consistency, received, block_for, None),
        Detail::ReadFailure {
            consistency,
            received,
            block_for,
            failures,
            ..
        }
        | Detail::WriteFailure {
            consistency,
            received,
            block_for,
            failures,
            ..
        } => (consistency, received, block_for, Some(failures)),
        _ => return,
    };
    append_u16(out, *consistency);
    append_i32(out, *first);
    append_i32(out, *second);
    if let Some(failures) = failures {
        append_i32(out, *failures);
    }
    match detail {
        Detail::WriteTimeout { write_type, .. } | Detail::WriteFailure { write_type, .. } => {
            append_string(out, write_type);
        }
        Detail::ReadTimeout { data_present, .. } | Detail::ReadFailure { data_present, .. } => {
            out.push(u8::from(*data_present));
        }
        _ => {}
    }
}
