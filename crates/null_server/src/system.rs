//! The system tables that drivers read when they connect. The tables describe one node, and the
//! schema that was created on this node.
//!
//! The columns are those of Cassandra 5.0 that drivers of any version request. A column without a
//! value is null. In a WHERE clause, the server evaluates only equality with texts. It ignores
//! other conditions, because drivers do not use them.

use super::catalog::{Catalog, Column, ColumnKind, Keyspace, Shared, Table};
use super::statement::{Condition, Operand, Select, SelectorOf};
use super::types::parse_type;
use cql::{CqlType, Value};
use std::net::SocketAddr;

/// Cassandra release that a null server reports. By default, a local target starts the same
/// release.
pub const RELEASE_VERSION: &str = "5.0.8";
/// Name of a null server's cluster. A process that attaches to the null target of another process
/// recognizes the target by this name.
pub const CLUSTER_NAME: &str = "cassay null target";
/// Host id of the only node. Any fixed UUID of version 4 would be sufficient.
const HOST_ID: [u8; 16] = [
    0x6e, 0x75, 0x6c, 0x6c, 0x6e, 0x75, 0x4c, 0x4c, 0x8e, 0x75, 0x6c, 0x6c, 0x6e, 0x75, 0x6c, 0x6c,
];

/// Keyspace, name and columns of each table. The columns are written as `column type`, and the
/// partition key comes first.
const TABLES: &[(&str, &str, &str)] = &[
    (
        "system",
        "local",
        "key text; bootstrapped text; broadcast_address inet; broadcast_port int; \
         cluster_name text; cql_version text; data_center text; gossip_generation int; \
         host_id uuid; listen_address inet; listen_port int; native_protocol_version text; \
         partitioner text; rack text; release_version text; rpc_address inet; rpc_port int; \
         schema_version uuid; tokens set<text>; truncated_at map<uuid, blob>",
    ),
    (
        "system",
        "peers",
        "peer inet; data_center text; host_id uuid; preferred_ip inet; rack text; \
         release_version text; rpc_address inet; schema_version uuid; tokens set<text>",
    ),
    (
        "system",
        "peers_v2",
        "peer inet; peer_port int; data_center text; host_id uuid; native_address inet; \
         native_port int; preferred_ip inet; preferred_port int; rack text; \
         release_version text; schema_version uuid; tokens set<text>",
    ),
    (
        "system_schema",
        "keyspaces",
        "keyspace_name text; durable_writes boolean; replication map<text, text>",
    ),
    (
        "system_schema",
        "tables",
        "keyspace_name text; table_name text; additional_write_policy text; \
         bloom_filter_fp_chance double; caching map<text, text>; cdc boolean; comment text; \
         compaction map<text, text>; compression map<text, text>; crc_check_chance double; \
         dclocal_read_repair_chance double; default_time_to_live int; \
         extensions map<text, blob>; flags set<text>; gc_grace_seconds int; id uuid; \
         max_index_interval int; memtable_flush_period_in_ms int; min_index_interval int; \
         read_repair text; read_repair_chance double; speculative_retry text",
    ),
    (
        "system_schema",
        "columns",
        "keyspace_name text; table_name text; column_name text; clustering_order text; \
         column_name_bytes blob; kind text; position int; type text",
    ),
    (
        "system_schema",
        "dropped_columns",
        "keyspace_name text; table_name text; column_name text; dropped_time timestamp; \
         kind text; type text",
    ),
    (
        "system_schema",
        "triggers",
        "keyspace_name text; table_name text; trigger_name text; options map<text, text>",
    ),
    (
        "system_schema",
        "views",
        "keyspace_name text; view_name text; base_table_id uuid; base_table_name text; \
         bloom_filter_fp_chance double; caching map<text, text>; comment text; \
         compaction map<text, text>; compression map<text, text>; id uuid; \
         include_all_columns boolean; where_clause text",
    ),
    (
        "system_schema",
        "indexes",
        "keyspace_name text; table_name text; index_name text; kind text; \
         options map<text, text>",
    ),
    (
        "system_schema",
        "types",
        "keyspace_name text; type_name text; field_names list<text>; field_types list<text>",
    ),
    (
        "system_schema",
        "functions",
        "keyspace_name text; function_name text; argument_types list<text>; \
         argument_names list<text>; body text; called_on_null_input boolean; language text; \
         return_type text",
    ),
    (
        "system_schema",
        "aggregates",
        "keyspace_name text; aggregate_name text; argument_types list<text>; final_func text; \
         initcond text; return_type text; state_func text; state_type text",
    ),
    ("system_virtual_schema", "keyspaces", "keyspace_name text"),
    (
        "system_virtual_schema",
        "tables",
        "keyspace_name text; table_name text; comment text",
    ),
    (
        "system_virtual_schema",
        "columns",
        "keyspace_name text; table_name text; column_name text; clustering_order text; \
         column_name_bytes blob; kind text; position int; type text",
    ),
];

/// Result of a read. The columns, and the cells of each row, are in the requested order.
#[derive(Debug)]
pub struct SystemRows {
    pub columns: Vec<(String, CqlType)>,
    pub rows: Vec<Vec<Value>>,
}

/// Returns true if `keyspace` is one of Cassandra's own keyspaces.
pub fn is_system(keyspace: &str) -> bool {
    keyspace == "system" || keyspace.starts_with("system_")
}

/// Returns the error message for a system table that the null server does not have.
pub fn no_such_table(keyspace: &str, table: &str) -> String {
    format!("the null target has no table '{keyspace}.{table}'")
}

/// Returns the columns of a system table. Returns `None` if the null server does not have the
/// table.
pub fn columns(keyspace: &str, table: &str) -> Option<Vec<(String, CqlType)>> {
    let (.., definition) = TABLES.iter().find(|(k, t, _)| *k == keyspace && *t == table)?;
    Some(
        definition
            .split("; ")
            .filter_map(|column| column.trim().split_once(' '))
            .filter_map(|(name, typ)| Some((name.to_owned(), parse_type(typ)?)))
            .collect(),
    )
}

/// Returns the names and types of the columns that `select` returns from a system table. Returns
/// `None` if the null server does not have the table.
pub fn result_columns(select: &Select, keyspace: &str) -> Option<Vec<(String, CqlType)>> {
    let all = columns(keyspace, &select.table.table)?;
    if select.selectors.is_empty() {
        return Some(all);
    }
    let typ = |of: &SelectorOf| match of {
        SelectorOf::Count => CqlType::Bigint,
        SelectorOf::Expression => CqlType::Blob,
        SelectorOf::Column(name) => {
            let column = all.iter().find(|(column, _)| column == name);
            column.map_or(CqlType::Text, |(_, typ)| typ.clone())
        }
    };
    Some(select.selectors.iter().map(|s| (s.name.clone(), typ(&s.of))).collect())
}

/// Reads a system table. `bound` contains the values of the markers. Returns `None` if the null
/// server does not have the table.
pub fn read(
    shared: &Shared,
    select: &Select,
    keyspace: &str,
    bound: &[Option<&[u8]>],
) -> Option<SystemRows> {
    let all = columns(keyspace, &select.table.table)?;
    let columns = result_columns(select, keyspace)?;
    let catalog = shared.catalog();
    let mut sources = sources(&catalog, keyspace, &select.table.table);
    let is_text = |name: &str| all.iter().any(|(n, typ)| n == name && *typ == CqlType::Text);
    for condition in select.conditions.iter().filter(|c| is_text(&c.column)) {
        let wanted = wanted(condition, bound);
        sources.retain(|source| {
            let cell = source.cell(shared, &catalog, &condition.column);
            let text = cell.as_str().map(str::as_bytes);
            wanted.iter().any(|wanted| Some(*wanted) == text)
        });
    }
    let count = || Value::Bigint(sources.len() as i64);
    if select.selectors.iter().any(|selector| selector.of == SelectorOf::Count) {
        return Some(SystemRows {
            rows: vec![columns.iter().map(|_| count()).collect()],
            columns,
        });
    }
    let of = |index: usize, name: &String| match select.selectors.get(index).map(|s| &s.of) {
        Some(SelectorOf::Column(column)) => column.clone(),
        _ => name.clone(),
    };
    let names: Vec<String> =
        columns.iter().enumerate().map(|(index, (name, _))| of(index, name)).collect();
    let row =
        |source: &SystemRow| names.iter().map(|name| source.cell(shared, &catalog, name)).collect();
    Some(SystemRows {
        rows: sources.iter().map(row).collect(),
        columns,
    })
}

/// Returns the values that a condition permits.
fn wanted<'a>(condition: &'a Condition, bound: &[Option<&'a [u8]>]) -> Vec<&'a [u8]> {
    let value = |index: &usize| bound.get(*index).copied().flatten();
    condition
        .operands
        .iter()
        .flat_map(|operand| match operand {
            Operand::Text(text) => vec![text.as_bytes()],
            Operand::Marker(index) => value(index).into_iter().collect(),
            Operand::MarkerList(index) => value(index).map(list_elements).unwrap_or_default(),
        })
        .collect()
}

/// Returns the elements of an encoded list. Elements that are incomplete are omitted.
fn list_elements(list: &[u8]) -> Vec<&[u8]> {
    let mut elements = Vec::new();
    let mut rest = list.get(4..).unwrap_or(&[]);
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(0);
        let Some((element, after)) = after.split_at_checked(length) else {
            break;
        };
        elements.push(element);
        rest = after;
    }
    elements
}

/// Object that a row of a system table describes.
enum SystemRow<'a> {
    Node,
    Keyspace(&'a Keyspace),
    Table(&'a Table),
    Column(&'a Table, &'a Column),
}

fn sources<'a>(catalog: &'a Catalog, keyspace: &str, table: &str) -> Vec<SystemRow<'a>> {
    let tables = || catalog.keyspaces().flat_map(|keyspace| keyspace.tables.values());
    match (keyspace, table) {
        ("system", "local") => vec![SystemRow::Node],
        ("system_schema", "keyspaces") => catalog.keyspaces().map(SystemRow::Keyspace).collect(),
        ("system_schema", "tables") => tables().map(SystemRow::Table).collect(),
        ("system_schema", "columns") => tables().flat_map(columns_by_name).collect(),
        _ => Vec::new(),
    }
}

fn columns_by_name(table: &Table) -> Vec<SystemRow<'_>> {
    let mut columns: Vec<&Column> = table.columns.iter().collect();
    columns.sort_by(|a, b| a.name.cmp(&b.name));
    columns.into_iter().map(|column| SystemRow::Column(table, column)).collect()
}

impl SystemRow<'_> {
    fn cell(&self, shared: &Shared, catalog: &Catalog, column: &str) -> Value {
        match self {
            SystemRow::Node => node_cell(shared.address, catalog, column),
            SystemRow::Keyspace(keyspace) => match column {
                "keyspace_name" => text(&keyspace.name),
                "durable_writes" => Value::Boolean(keyspace.durable_writes),
                "replication" => replication(keyspace),
                _ => Value::Null,
            },
            SystemRow::Table(table) => table_cell(table, column),
            SystemRow::Column(table, of) => match column {
                "keyspace_name" => text(&table.keyspace),
                "table_name" => text(&table.name),
                "column_name" => text(&of.name),
                "column_name_bytes" => Value::Blob(of.name.clone().into_bytes()),
                "clustering_order" => text(match of.kind {
                    ColumnKind::Clustering if of.descending => "desc",
                    ColumnKind::Clustering => "asc",
                    _ => "none",
                }),
                "kind" => text(match of.kind {
                    ColumnKind::PartitionKey => "partition_key",
                    ColumnKind::Clustering => "clustering",
                    ColumnKind::Static => "static",
                    ColumnKind::Regular => "regular",
                }),
                "position" => int(of.position),
                "type" => text(&of.type_text),
                _ => Value::Null,
            },
        }
    }
}

fn node_cell(address: SocketAddr, catalog: &Catalog, column: &str) -> Value {
    match column {
        "key" => text("local"),
        "bootstrapped" => text("COMPLETED"),
        "broadcast_address" | "listen_address" | "rpc_address" => Value::Inet(address.ip()),
        "broadcast_port" | "listen_port" => int(7000),
        "rpc_port" => int(i32::from(address.port())),
        "cluster_name" => text(CLUSTER_NAME),
        "cql_version" => text("3.4.7"),
        "data_center" => text("datacenter1"),
        "gossip_generation" => int(1),
        "host_id" => Value::Uuid(HOST_ID),
        "native_protocol_version" => text("4"),
        "partitioner" => text("org.apache.cassandra.dht.Murmur3Partitioner"),
        "rack" => text("rack1"),
        "release_version" => text(RELEASE_VERSION),
        "schema_version" => Value::Uuid(schema_version(catalog)),
        // A single token is enough, because this node owns the whole ring.
        "tokens" => Value::Set(vec![text("0")]),
        _ => Value::Null,
    }
}

/// Returns a UUID in the form of version 4, which differs after each schema change.
fn schema_version(catalog: &Catalog) -> [u8; 16] {
    let mut uuid = HOST_ID;
    uuid[8..].copy_from_slice(&catalog.changes().to_be_bytes());
    uuid[8] = 0x80;
    uuid
}

/// Returns the replication map with the full name of the class, as Cassandra stores it.
fn replication(keyspace: &Keyspace) -> Value {
    let value = |key: &str, value: &str| match key {
        "class" if !value.contains('.') => text(&format!("org.apache.cassandra.locator.{value}")),
        _ => text(value),
    };
    let pairs = keyspace.replication.iter();
    Value::Map(pairs.map(|(key, of)| (text(key), value(key, of))).collect())
}

fn table_cell(table: &Table, column: &str) -> Value {
    let map_of = |pairs: &[(&str, &str)]| {
        Value::Map(pairs.iter().map(|(key, value)| (text(key), text(value))).collect())
    };
    match column {
        "keyspace_name" => text(&table.keyspace),
        "table_name" => text(&table.name),
        "additional_write_policy" | "speculative_retry" => text("99p"),
        "bloom_filter_fp_chance" => double(0.01),
        "caching" => map_of(&[("keys", "ALL"), ("rows_per_partition", "NONE")]),
        "cdc" => Value::Boolean(false),
        "comment" => text(""),
        "compaction" => map_of(&[(
            "class",
            "org.apache.cassandra.db.compaction.SizeTieredCompactionStrategy",
        )]),
        "compression" => map_of(&[
            ("chunk_length_in_kb", "16"),
            ("class", "org.apache.cassandra.io.compress.LZ4Compressor"),
        ]),
        "crc_check_chance" => double(1.0),
        "dclocal_read_repair_chance" | "read_repair_chance" => double(0.0),
        "default_time_to_live" | "memtable_flush_period_in_ms" => int(0),
        "extensions" => map_of(&[]),
        "flags" => Value::Set(vec![text("compound")]),
        "gc_grace_seconds" => int(864_000),
        "id" => Value::Uuid(table.id),
        "max_index_interval" => int(2048),
        "min_index_interval" => int(128),
        "read_repair" => text("BLOCKING"),
        _ => Value::Null,
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn int(value: i32) -> Value {
    Value::Int(value)
}

fn double(value: f64) -> Value {
    Value::Double(value)
}
