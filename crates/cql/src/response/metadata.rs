//! Parses descriptions of columns, which precede rows and accompany prepared statements.
//!
//! These descriptions are the only part of a response in which a few bytes can require much memory.
//! A column takes 4 bytes in the response, and 100 bytes in memory. A keyspace that the response
//! names once is repeated in memory for every column. The limits below bound the memory. All of
//! them are far above the values that Cassandra produces.

use crate::request::StatementId;
use crate::value::CqlType;
use crate::version::Version;
use crate::wire::{ParseError, Reader, Result};

/// Maximum number of columns of a description. A statement can bind at most the same number of
/// values.
pub const COLUMNS_MAX: usize = 65_535;

/// Maximum nesting of types. CQL types that people write have 2 or 3 levels, and each level takes
/// one stack frame of the parser.
pub const TYPE_DEPTH_MAX: usize = 32;

/// Maximum number of types in one description, including nested types. It permits 2 types for each
/// column of the widest description.
const TYPES_MAX: usize = 2 * COLUMNS_MAX;

/// Maximum total size of the keyspace and table names that are repeated in every column, in bytes.
/// The longest names that Cassandra 5 allows have 222 bytes, so the limit is sufficient for over
/// 37,000 columns with the longest names.
const REPEATED_NAMES_BYTES_MAX: usize = 16 * 1024 * 1024;

pub(crate) mod bit {
    pub const GLOBAL_TABLES_SPEC: i32 = 0x0001;
    pub const HAS_MORE_PAGES: i32 = 0x0002;
    pub const NO_METADATA: i32 = 0x0004;
    pub const METADATA_CHANGED: i32 = 0x0008;
}

/// A column of a result, or a bind marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    /// The table's keyspace.
    pub keyspace: String,
    pub table: String,
    /// Name of the column or marker.
    pub name: String,
    pub typ: CqlType,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedStatement {
    /// Id with which EXECUTE names the statement.
    pub id: Vec<u8>,
    /// Id of the description of the statement's result columns in version 5. The id is empty in
    /// older versions.
    pub result_metadata_id: Vec<u8>,
    /// The bind markers, in order.
    pub bind_columns: Vec<ColumnSpec>,
    /// Indexes of the bind markers that form the partition key, in the order of the key. The list
    /// is empty if the markers do not cover the whole key. It is also empty if the server does not
    /// report the indexes, as in version 3. Each index is less than the number of markers.
    pub partition_key_indexes: Vec<u16>,
    /// The columns of the rows that the statement returns. The list is empty if the statement does
    /// not return rows.
    pub result_columns: Vec<ColumnSpec>,
}

impl PreparedStatement {
    /// Returns the identifiers that EXECUTE sends for the statement.
    pub fn statement_id(&self) -> StatementId<'_> {
        StatementId {
            id: &self.id,
            result_metadata: &self.result_metadata_id,
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>, version: Version) -> Result<PreparedStatement> {
        let names = StatementId::read(reader, version)?;
        let flags = reader.i32("flags of the metadata")?;
        let columns_count = columns_count(reader)?;
        let indexes_count = match version {
            Version::V3 => 0,
            _ => reader.count("number of partition key columns", 2)?,
        };
        let mut partition_key_indexes = Vec::new();
        for _ in 0..indexes_count {
            let offset = reader.offset();
            let index = reader.u16("index of a partition key column")?;
            if usize::from(index) >= columns_count {
                let what = "index of a partition key column";
                let allowed = "below the number of columns";
                return Err(ParseError::Value {
                    what,
                    offset,
                    value: index.into(),
                    allowed,
                });
            }
            partition_key_indexes.push(index);
        }
        let bind_columns = read_columns(reader, flags, columns_count)?;
        let result = Preamble::read(reader)?;
        let result_columns = read_columns(reader, result.flags, result.columns_count)?;
        Ok(PreparedStatement {
            id: names.id.to_vec(),
            result_metadata_id: names.result_metadata.to_vec(),
            bind_columns,
            partition_key_indexes,
            result_columns,
        })
    }
}

/// First part of the metadata of rows. The descriptions of the columns follow it.
pub(super) struct Preamble<'a> {
    pub flags: i32,
    pub columns_count: usize,
    pub paging_state: Option<&'a [u8]>,
}

impl<'a> Preamble<'a> {
    #[inline]
    pub fn read(reader: &mut Reader<'a>) -> Result<Preamble<'a>> {
        let flags = reader.i32("flags of the metadata")?;
        let columns_count = columns_count(reader)?;
        let paging_state = match flags & bit::HAS_MORE_PAGES {
            0 => None,
            _ => reader.bytes("paging state")?,
        };
        if flags & bit::METADATA_CHANGED != 0 {
            // If the id of the metadata has changed, the columns follow, even if the request asked
            // the server to omit them.
            reader.short_bytes("id of the metadata of rows")?;
        }
        Ok(Preamble {
            flags,
            columns_count,
            paging_state,
        })
    }
}

#[inline]
fn columns_count(reader: &mut Reader<'_>) -> Result<usize> {
    let (what, offset) = ("number of columns", reader.offset());
    let value = reader.i32(what)?;
    match usize::try_from(value) {
        Ok(count) if count <= COLUMNS_MAX => Ok(count),
        _ => {
            let (value, allowed) = (value.into(), "0 to 65535");
            Err(ParseError::Value {
                what,
                offset,
                value,
                allowed,
            })
        }
    }
}

/// Reads the descriptions of `count` columns. Returns an empty list if `flags` state that the
/// response omits the descriptions.
pub(super) fn read_columns(
    reader: &mut Reader<'_>,
    flags: i32,
    count: usize,
) -> Result<Vec<ColumnSpec>> {
    let mut columns = Vec::new();
    let mut types_left = TYPES_MAX;
    let mut repeated_bytes = 0;
    walk_columns(reader, flags, count, |reader, keyspace, table, name| {
        repeated_bytes += keyspace.len() + table.len();
        if repeated_bytes > REPEATED_NAMES_BYTES_MAX {
            return Err(ParseError::Value {
                what: "size of all keyspace and table names",
                offset: reader.offset(),
                value: repeated_bytes as i64,
                allowed: "16 MiB",
            });
        }
        columns.push(ColumnSpec {
            keyspace: keyspace.to_owned(),
            table: table.to_owned(),
            name: name.to_owned(),
            typ: CqlType::read(reader, TYPE_DEPTH_MAX, &mut types_left)?,
        });
        Ok(())
    })?;
    Ok(columns)
}

/// Skips the descriptions of `count` columns without allocating.
pub(super) fn skip_columns(reader: &mut Reader<'_>, flags: i32, count: usize) -> Result<()> {
    walk_columns(reader, flags, count, |reader, _, _, _| {
        CqlType::skip(reader, TYPE_DEPTH_MAX)
    })
}

/// Calls `column` for each description with the keyspace, table and name of the column. At the time
/// of the call, the reader is at the type of the column.
fn walk_columns<'a>(
    reader: &mut Reader<'a>,
    flags: i32,
    count: usize,
    mut column: impl FnMut(&mut Reader<'a>, &'a str, &'a str, &'a str) -> Result<()>,
) -> Result<()> {
    // If a description has no columns, Cassandra omits the global keyspace and table, regardless of
    // the flags.
    if flags & bit::NO_METADATA != 0 || count == 0 {
        return Ok(());
    }
    let global = match flags & bit::GLOBAL_TABLES_SPEC {
        0 => None,
        _ => Some((reader.string("keyspace")?, reader.string("table")?)),
    };
    for _ in 0..count {
        let (keyspace, table) = match global {
            Some(names) => names,
            None => (reader.string("keyspace")?, reader.string("table")?),
        };
        let name = reader.string("name of a column")?;
        column(reader, keyspace, table, name)?;
    }
    Ok(())
}
