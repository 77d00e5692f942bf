//! State of a null server: the keyspaces and tables that clients have created, and the texts that
//! they have prepared.
//!
//! All event loops share this state behind a lock. An EXECUTE does not take the lock if its loop
//! has already prepared or executed the statement since the last schema change.

use super::definition::{ColumnDefinition, CreateKeyspace, CreateTable};
use super::statement::{Statement, TableName};
use cql::CqlType;
use cql::response::{SchemaChange, SchemaChangeKind, SchemaTarget};
use cql::token::hash3_x64_128;
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Release};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Length of a statement's id in bytes. Cassandra's id is an MD5 sum of the same length.
pub const ID_BYTES: usize = 16;
/// Maximum number of prepared statements. A client that prepares more statements has a leak.
const STATEMENTS_MAX: usize = 65_536;
/// Maximum number of keyspaces, and of tables in each keyspace. This is far more than Cassandra can
/// handle.
const TABLES_MAX: usize = 10_000;

/// State shared by all event loops of a server.
#[derive(Debug)]
pub struct Shared {
    pub address: SocketAddr,
    catalog: Mutex<Catalog>,
    changes: AtomicU64,
}

impl Shared {
    pub fn new(address: SocketAddr) -> Shared {
        Shared {
            address,
            catalog: Mutex::new(Catalog::default()),
            changes: AtomicU64::new(0),
        }
    }

    /// Locks the catalog. A panic while the catalog is locked cannot make it inconsistent, because
    /// it is valid after each single insertion or removal.
    pub fn catalog(&self) -> MutexGuard<'_, Catalog> {
        self.catalog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of schema changes. If the number has changed, data that was derived from
    /// the catalog is outdated.
    pub fn changes(&self) -> u64 {
        self.changes.load(Acquire)
    }

    /// Applies a schema change. `in_use` is the keyspace that the connection uses. Returns `None`
    /// if the statement changes nothing.
    ///
    /// # Errors
    /// The object already exists, or the change is not possible.
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

/// Keyspaces, tables and prepared statements of a server.
#[derive(Debug, Default)]
pub struct Catalog {
    keyspaces: BTreeMap<String, Keyspace>,
    statements: HashMap<[u8; ID_BYTES], Text>,
    changes: u64,
}

/// A prepared text, with the keyspace that was in use when it was prepared.
#[derive(Clone, Debug)]
pub struct Text {
    /// Name of the keyspace. It is empty if no keyspace was in use.
    pub keyspace: String,
    pub cql: String,
}

#[derive(Debug)]
pub struct Keyspace {
    pub name: String,
    /// Replication map as the client wrote it, as pairs of a key and a value.
    pub replication: Vec<(String, String)>,
    /// True if writes go to the commit log.
    pub durable_writes: bool,
    pub tables: BTreeMap<String, Table>,
}

impl Keyspace {
    /// Returns a keyspace with the name `name` and a replication factor of 1, for a table whose
    /// keyspace no client has created.
    fn one_copy(name: &str) -> Keyspace {
        let entries = [("class", "SimpleStrategy"), ("replication_factor", "1")];
        Keyspace {
            name: name.to_owned(),
            replication: entries.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
            durable_writes: true,
            tables: BTreeMap::new(),
        }
    }
}

#[derive(Debug)]
pub struct Table {
    pub keyspace: String,
    pub name: String,
    pub id: [u8; 16],
    /// Columns in the order of `SELECT *`: partition key, clustering columns, static columns, and
    /// then the other columns by name.
    pub columns: Vec<Column>,
}

#[derive(Debug)]
pub struct Column {
    pub name: String,
    /// Type of the column, as written in the statement.
    pub type_text: String,
    pub typ: CqlType,
    pub kind: ColumnKind,
    /// Position of a key column among the columns of its kind, counted from 0. It is -1 for other
    /// columns.
    pub position: i32,
    /// True for a clustering column in descending order.
    pub descending: bool,
}

/// A column's role in the primary key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColumnKind {
    /// The column determines the partition.
    PartitionKey,
    /// The column orders the rows of a partition.
    Clustering,
    /// The column has one value per partition.
    Static,
    /// Any other column.
    Regular,
}

/// Reason why a server refuses a schema change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    Exists {
        keyspace: String,
        /// Name of the table. It is empty if the keyspace itself exists.
        table: String,
    },
    Invalid(String),
}

impl Catalog {
    /// Returns all keyspaces, ordered by name.
    pub fn keyspaces(&self) -> impl Iterator<Item = &Keyspace> {
        self.keyspaces.values()
    }

    /// Returns the table to which `name` refers on a connection that uses the keyspace `in_use`.
    /// Returns `None` if the table does not exist.
    pub fn table(&self, name: &TableName, in_use: &str) -> Option<&Table> {
        let keyspace = name.keyspace.as_deref().unwrap_or(in_use);
        self.keyspaces.get(keyspace)?.tables.get(&name.table)
    }

    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Stores a text and returns its id. Returns `None` if too many texts are stored.
    pub fn prepare(&mut self, text: Text) -> Option<[u8; ID_BYTES]> {
        let id = text_id(&text.keyspace, &text.cql);
        if self.statements.len() >= STATEMENTS_MAX && !self.statements.contains_key(&id) {
            return None;
        }
        self.statements.insert(id, text);
        Some(id)
    }

    /// Returns the text with the id `id`. Returns `None` if no client has prepared it.
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
                "the statement names no keyspace for the table '{name}', and the connection uses \
                 none"
            )));
        }
        // A refused statement must not create the keyspace.
        let columns = columns(create)?;
        // A workload may rely on a keyspace that already exists in its original cluster, and so
        // does not create it. Therefore CREATE TABLE also creates a missing keyspace.
        let keyspace = self
            .keyspaces
            .entry(keyspace_name.to_owned())
            .or_insert_with(|| Keyspace::one_copy(keyspace_name));
        if keyspace.tables.contains_key(&name) {
            return exists(create.if_not_exists, keyspace_name.to_owned(), name);
        }
        limit(keyspace.tables.len(), "tables in a keyspace")?;
        let table = Table {
            keyspace: keyspace_name.to_owned(),
            name: name.clone(),
            id: hash(&[keyspace_name, &name]),
            columns,
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
        "a null target stores at most {TABLES_MAX} {what}; drop some of them"
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

/// Returns the id of a statement's text on a connection that uses `keyspace`.
pub fn text_id(keyspace: &str, cql: &str) -> [u8; ID_BYTES] {
    hash(&[keyspace, cql])
}

/// Returns a Murmur3 hash of several texts, in 16 bytes. A zero byte, which does not occur in
/// names, ends each text.
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
