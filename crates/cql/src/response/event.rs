//! Parses EVENT. Also parses a schema change in a RESULT, which has the same form.

use std::net::SocketAddr;

use crate::wire::{ParseError, Reader, Result};

/// An event in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A node joined, left or moved.
    TopologyChange {
        /// Type of the change: NEW_NODE, REMOVED_NODE or MOVED_NODE.
        change: String,
        /// Address at which the node accepts clients.
        address: SocketAddr,
    },
    /// A node went up or down.
    StatusChange {
        /// True if the node is now up.
        up: bool,
        /// Address at which the node accepts clients.
        address: SocketAddr,
    },
    SchemaChange(SchemaChange),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaChange {
    pub change: SchemaChangeKind,
    /// Keyspace that changed, or that contains the changed object.
    pub keyspace: String,
    /// Changed object.
    pub target: SchemaTarget,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaChangeKind {
    /// The object was created.
    Created,
    /// The object was altered.
    Updated,
    /// The object was dropped.
    Dropped,
}

/// The object in the keyspace that changed, or the keyspace itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaTarget {
    /// The keyspace itself.
    Keyspace,
    /// A table or view with this name.
    Table(String),
    /// A user-defined type with this name.
    Type(String),
    /// A user-defined function.
    Function {
        /// Name of the function.
        name: String,
        /// CQL types of the function's arguments.
        argument_types: Vec<String>,
    },
    /// A user-defined aggregate.
    Aggregate {
        /// Name of the aggregate.
        name: String,
        /// CQL types of the aggregate's arguments.
        argument_types: Vec<String>,
    },
}

impl Event {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Event> {
        match reader.string("event")? {
            "TOPOLOGY_CHANGE" => {
                let change = reader.string("topology change")?.to_owned();
                let address = reader.inet("node's address")?;
                Ok(Event::TopologyChange { change, address })
            }
            "STATUS_CHANGE" => {
                let up = match reader.string("status change")? {
                    "UP" => true,
                    "DOWN" => false,
                    other => return Err(ParseError::word("status change", other)),
                };
                let address = reader.inet("node's address")?;
                Ok(Event::StatusChange { up, address })
            }
            "SCHEMA_CHANGE" => Ok(Event::SchemaChange(SchemaChange::read(reader)?)),
            other => Err(ParseError::word("event", other)),
        }
    }
}

impl SchemaChange {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<SchemaChange> {
        let change = match reader.string("schema change")? {
            "CREATED" => SchemaChangeKind::Created,
            "UPDATED" => SchemaChangeKind::Updated,
            "DROPPED" => SchemaChangeKind::Dropped,
            other => return Err(ParseError::word("schema change", other)),
        };
        let target = reader.string("target of a schema change")?;
        let keyspace = reader.string("keyspace")?.to_owned();
        let mut name = || reader.string("name").map(str::to_owned);
        let target = match target {
            "KEYSPACE" => SchemaTarget::Keyspace,
            "TABLE" => SchemaTarget::Table(name()?),
            "TYPE" => SchemaTarget::Type(name()?),
            "FUNCTION" => SchemaTarget::Function {
                name: name()?,
                argument_types: reader.string_list("type of an argument")?,
            },
            "AGGREGATE" => SchemaTarget::Aggregate {
                name: name()?,
                argument_types: reader.string_list("type of an argument")?,
            },
            other => return Err(ParseError::word("target of a schema change", other)),
        };
        Ok(SchemaChange {
            change,
            keyspace,
            target,
        })
    }
}
