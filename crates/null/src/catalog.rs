//! What a null server remembers: the keyspaces and tables created on it, and the texts prepared.
//!
//! Shared by all event loops behind a lock that no request takes on the way of an EXECUTE whose
//! statement the loop has seen since the last change of the schema.

use super::definition::{ColumnDefinition, CreateKeyspace, CreateTable};
use super::statement::{Statement, TableName};
use cql::CqlType;
use cql::response::{SchemaChange, SchemaChangeKind, SchemaTarget};
use cql::token::hash3_x64_128;
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Release};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Length of a statement's id; Cassandra's is an MD5 sum and as long.
pub const ID_BYTES: usize = 16;
/// Statements remembered; a client that prepares more is leaking them.
const STATEMENTS_MAX: usize = 65_536;
/// Keyspaces and tables remembered, each; far more than a Cassandra can bear.
const TABLES_MAX: usize = 10_000;

/// What all event loops of a server share.
#[derive(Debug)]
pub struct Shared {
    /// Where the server listens.
    pub address: SocketAddr,
    catalog: Mutex<Catalog>,
    changes: AtomicU64,
}

impl Shared {
    /// Nothing remembered yet.
    pub fn new(address: SocketAddr) -> Shared {
        Shared {
            address,
            catalog: Mutex::new(Catalog::default()),
            changes: AtomicU64::new(0),
        }
    }

    /// The catalog. A panic elsewhere leaves it whole: every change is a single insert or removal.
    pub fn catalog(&self) -> MutexGuard<'_, Catalog> {
        self.catalog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often the schema has changed. What was derived from it before is out of date.
    pub fn changes(&self) -> u64 {
        self.changes.load(Acquire)
    }

    /// Carries out a change of the schema; `in_use` is the keyspace that the connection uses.
    pub fn change(
        &self,
        statement: &Statement,
        in_use: &str,
    ) -> Result<Option<SchemaChange>, Refusal> {
        let mut catalog = self.catalog();
        let change = catalog.change(statement, in_use)?;
        if change.is_some() {
            catalog.changes += 1;
            self.changes.store(catalog.changes, Release);
        }
        Ok(change)
    }
}

/// The keyspaces, tables and statements.
#[derive(Debug, Default)]
pub struct Catalog {
    keyspaces: BTreeMap<String, Keyspace>,
    statements: HashMap<[u8; ID_BYTES], Text>,
    changes: u64,
}

/// A prepared text and the keyspace that was in use.
#[derive(Clone, Debug)]
pub struct Text {
    /// Empty: none was.
    pub keyspace: String,
    /// The statement.
    pub cql: String,
}

/// A keyspace.
#[derive(Debug)]
pub struct Keyspace {
    /// Its name.
    pub name: String,
    /// The replication map as written.
    pub replication: Vec<(String, String)>,
    /// Whether writes go to the commit log.
    pub durable_writes: bool,
    /// Its tables by name.
    pub tables: BTreeMap<String, Table>,
}

impl Keyspace {
    /// A keyspace of which only the name is known.
    fn of_one_copy(name: &str) -> Keyspace {
        let entries = [("class", "SimpleStrategy"), ("replication_factor", "1")];
        Keyspace {
            name: name.to_owned(),
            replication: entries.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
            durable_writes: true,
            tables: BTreeMap::new(),
        }
    }
}

/// A table.
#[derive(Debug)]
pub struct Table {
    /// Its keyspace's name.
    pub keyspace: String,
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: [u8; 16],
    /// In the order of `SELECT *`: partition key, clustering, static, then the others by name.
    pub columns: Vec<Column>,
}

/// A column of a table.
#[derive(Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type as written.
    pub type_text: String,
    /// Its type.
    pub typ: CqlType,
    /// Its part in the primary key.
    pub kind: ColumnKind,
    /// Position among the columns of its kind, for key columns; -1 for others.
    pub position: i32,
    /// Whether it is a clustering column in descending order.
    pub descending: bool,
}

/// A column's part in the primary key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColumnKind {
    /// It says which partition.
    PartitionKey,
    /// It orders the rows of a partition.
    Clustering,
    /// One value per partition.
    Static,
    /// Any other.
    Regular,
}

/// Why a schema cannot be changed so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is there already.
    Exists {
        /// The keyspace.
        keyspace: String,
        /// The table; empty when the keyspace itself exists.
        table: String,
    },
    /// It is not possible; the reason.
    Invalid(String),
}

impl Catalog {
    /// All keyspaces by name.
    pub fn keyspaces(&self) -> impl Iterator<Item = &Keyspace> {
        self.keyspaces.values()
    }

    /// The table that `name` means on a connection that uses `in_use`.
    pub fn table(&self, name: &TableName, in_use: &str) -> Option<&Table> {
        let keyspace = name.keyspace.as_deref().unwrap_or(in_use);
        self.keyspaces.get(keyspace)?.tables.get(&name.table)
    }

    /// How often the schema has changed.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Remembers a text. None: too many are remembered.
    pub fn prepare(&mut self, text: Text) -> Option<[u8; ID_BYTES]> {
        let id = text_id(&text.keyspace, &text.cql);
        if self.statements.len() >= STATEMENTS_MAX && !self.statements.contains_key(&id) {
            return None;
        }
        self.statements.insert(id, text);
        Some(id)
    }

    /// The text that was prepared under `id`.
    pub fn prepared(&self, id: &[u8]) -> Option<&Text> {
        self.statements.get(id)
    }

    fn change(
        &mut self,
        statement: &Statement,
        in_use: &str,
    ) -> Result<Option<SchemaChange>, Refusal> {
        match statement {
            Statement::CreateKeyspace(create) => self.create_keyspace(create),
            Statement::CreateTable(create) => self.create_table(create, in_use),
            Statement::DropKeyspace {
                keyspace,
                if_exists,
            } => match self.keyspaces.remove(keyspace) {
                Some(_) => Ok(Some(SchemaChange {
                    change: SchemaChangeKind::Dropped,
                    keyspace: keyspace.clone(),
                    target: SchemaTarget::Keyspace,
                })),
                None => missing(*if_exists, format!("keyspace '{keyspace}'")),
            },
            Statement::DropTable { table, if_exists } => {
                let keyspace = table.keyspace.as_deref().unwrap_or(in_use);
                let tables = self.keyspaces.get_mut(keyspace).map(|k| &mut k.tables);
                match tables.and_then(|tables| tables.remove(&table.table)) {
                    Some(table) => Ok(Some(SchemaChange {
                        change: SchemaChangeKind::Dropped,
                        keyspace: table.keyspace,
                        target: SchemaTarget::Table(table.name),
                    })),
                    None => missing(*if_exists, format!("table '{keyspace}.{}'", table.table)),
                }
            }
            _ => Ok(None),
        }
    }

    fn create_keyspace(
        &mut self,
        create: &CreateKeyspace,
    ) -> Result<Option<SchemaChange>, Refusal> {
        let name = create.keyspace.clone();
        if self.keyspaces.contains_key(&name) {
            return exists(create.if_not_exists, name, String::new());
        }
        limit(self.keyspaces.len(), "keyspaces")?;
        let keyspace = Keyspace {
            name: name.clone(),
            replication: create.replication.clone(),
            durable_writes: create.durable_writes,
            tables: BTreeMap::new(),
        };
        self.keyspaces.insert(name.clone(), keyspace);
        Ok(Some(SchemaChange {
            change: SchemaChangeKind::Created,
            keyspace: name,
            target: SchemaTarget::Keyspace,
        }))
    }

    fn create_table(
        &mut self,
        create: &CreateTable,
        in_use: &str,
    ) -> Result<Option<SchemaChange>, Refusal> {
        let keyspace_name = create.table.keyspace.as_deref().unwrap_or(in_use);
        let name = create.table.table.clone();
        if keyspace_name.is_empty() {
            return Err(Refusal::Invalid(format!(
                "no keyspace is named for the table '{name}', and none is in use"
            )));
        }
        // A workload may be for a keyspace that its cluster has already: nobody makes it here.
        let keyspace = self
            .keyspaces
            .entry(keyspace_name.to_owned())
            .or_insert_with(|| Keyspace::of_one_copy(keyspace_name));
        if keyspace.tables.contains_key(&name) {
            return exists(create.if_not_exists, keyspace_name.to_owned(), name);
        }
        limit(keyspace.tables.len(), "tables in a keyspace")?;
        let table = Table {
            keyspace: keyspace_name.to_owned(),
            name: name.clone(),
            id: hash(&[keyspace_name, &name]),
            columns: columns(create)?,
        };
        keyspace.tables.insert(name.clone(), table);
        Ok(Some(SchemaChange {
            change: SchemaChangeKind::Created,
            keyspace: keyspace_name.to_owned(),
            target: SchemaTarget::Table(name),
        }))
    }
}

fn missing(is_allowed: bool, what: String) -> Result<Option<SchemaChange>, Refusal> {
    if is_allowed {
        Ok(None)
    } else {
        Err(Refusal::Invalid(format!("the {what} does not exist")))
    }
}

fn exists(
    is_allowed: bool,
    keyspace: String,
    table: String,
) -> Result<Option<SchemaChange>, Refusal> {
    if is_allowed {
        Ok(None)
    } else {
        Err(Refusal::Exists { keyspace, table })
    }
}

fn limit(count: usize, what: &str) -> Result<(), Refusal> {
    if count < TABLES_MAX {
        return Ok(());
    }
    Err(Refusal::Invalid(format!(
        "a null target remembers at most {TABLES_MAX} {what}; drop some"
    )))
}

fn columns(create: &CreateTable) -> Result<Vec<Column>, Refusal> {
    let in_key = create.partition_key.iter().chain(&create.clustering);
    for name in in_key {
        if !create.columns.iter().any(|column| column.name == *name) {
            return Err(Refusal::Invalid(format!(
                "the primary key of table '{}' names the column '{name}', which is not defined",
                create.table.table
            )));
        }
    }
    if create.partition_key.is_empty() {
        let table = &create.table.table;
        return Err(Refusal::Invalid(format!(
            "the table '{table}' has no primary key"
        )));
    }
    let mut columns: Vec<Column> =
        create.columns.iter().map(|definition| column(definition, create)).collect();
    columns.sort_by(|a, b| (a.kind, a.position, &a.name).cmp(&(b.kind, b.position, &b.name)));
    Ok(columns)
}

fn column(definition: &ColumnDefinition, create: &CreateTable) -> Column {
    let position_in = |names: &[String]| names.iter().position(|name| *name == definition.name);
    let (kind, position) = if let Some(position) = position_in(&create.partition_key) {
        (ColumnKind::PartitionKey, position as i32)
    } else if let Some(position) = position_in(&create.clustering) {
        (ColumnKind::Clustering, position as i32)
    } else if definition.is_static {
        (ColumnKind::Static, -1)
    } else {
        (ColumnKind::Regular, -1)
    };
    Column {
        name: definition.name.clone(),
        type_text: definition.type_text.clone(),
        typ: definition.typ.clone(),
        kind,
        position,
        descending: create.descending.contains(&definition.name),
    }
}

/// The id of a text on a connection that uses `keyspace`.
pub fn text_id(keyspace: &str, cql: &str) -> [u8; ID_BYTES] {
    hash(&[keyspace, cql])
}

/// 128 bits of the parts, each ended by a byte that no name contains.
fn hash(parts: &[&str]) -> [u8; ID_BYTES] {
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend_from_slice(part.as_bytes());
        bytes.push(0);
    }
    let (high, low) = hash3_x64_128(&bytes, 0);
    let mut id = [0; ID_BYTES];
    id[..8].copy_from_slice(&high.to_be_bytes());
    id[8..].copy_from_slice(&low.to_be_bytes());
    id
}
