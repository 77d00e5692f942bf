//! What was learned of a table that somebody has: its columns, some of its keys, and how its rows
//! look. From it come two workload files: one that reads the table as it is, and one that makes
//! another like it.
//!
//! What must hold: the file that reads has keys of the table, for without them it could not; the
//! file that makes another has no value of it, only sizes, shares and ranges of numbers.

mod bins;
mod definition;
mod outline;
mod shape;
mod twin;
mod twin_keys;
mod yaml_text;

pub use definition::{KeySource, OUTLINE_KINDS, csv_columns};
pub use outline::table_outline;
pub use twin::Twin;

use crate::schema::{self, Defined};
use cql::text::quoted_name;
use cql::value::{CqlType, UdtType, Value};

/// A table, and what was read of it.
#[derive(Clone, Debug)]
pub struct TableSample {
    /// Its keyspace.
    pub keyspace: String,
    /// Its name.
    pub table: String,
    /// `CREATE TYPE …` of the types that its columns have, each after those that it uses.
    pub types: Vec<String>,
    /// Its columns: the partition key, the clustering columns, each in its order; then the others.
    pub columns: Vec<SampledColumn>,
    /// Options of the table that decide how it is stored, as CQL: `compression`, `{'class': …}`.
    pub options: Vec<(String, String)>,
    /// The partitions that were looked at, each once.
    pub partitions: Vec<SampledPartition>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledColumn {
    /// Its name, as the table has it.
    pub name: String,
    /// Its type, as CQL: `frozen<list<int>>`.
    pub typ: String,
    /// What it is in the table.
    pub role: ColumnRole,
}

/// What a column is in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnRole {
    /// Part of the partition key.
    Partition,
    /// Part of the order of rows in a partition.
    Clustering {
        /// Whether larger values come first.
        is_descending: bool,
    },
    /// One value for all rows of a partition.
    Static,
    /// Any other.
    Regular,
}

/// A partition that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct SampledPartition {
    /// Some of its rows, at least one, cells in the order of the table's columns.
    pub rows: Vec<Vec<Value>>,
    /// How many rows it has, as far as they were counted.
    pub rows_count: u64,
    /// The primary key of the row that an operation reads that reads one, in the order of its
    /// columns.
    pub key: Vec<Value>,
}

impl TableSample {
    /// Indices of the columns of a role.
    fn of_role(&self, is_it: impl Fn(ColumnRole) -> bool) -> Vec<usize> {
        let columns = self.columns.iter().enumerate();
        columns.filter(|(_, column)| is_it(column.role)).map(|(at, _)| at).collect()
    }

    /// Indices of the columns of the partition key, in its order.
    fn partition_key(&self) -> Vec<usize> {
        self.of_role(|role| role == ColumnRole::Partition)
    }

    /// Indices of the clustering columns, in their order.
    fn clustering(&self) -> Vec<usize> {
        self.of_role(|role| matches!(role, ColumnRole::Clustering { .. }))
    }

    /// Whether its values are counters.
    fn counts(&self) -> bool {
        self.columns.iter().any(|column| column.typ == "counter")
    }

    /// `CREATE TABLE`, with the options if they matter.
    fn create_table(&self, with_options: bool) -> String {
        let names = |columns: Vec<usize>| -> Vec<String> {
            columns.into_iter().map(|at| quoted_name(&self.columns[at].name)).collect()
        };
        let column = |column: &SampledColumn| {
            let word = if column.role == ColumnRole::Static {
                " static"
            } else {
                ""
            };
            format!("{} {}{word}", quoted_name(&column.name), column.typ)
        };
        let columns: Vec<String> = self.columns.iter().map(column).collect();
        let clustering = names(self.clustering());
        let mut key = vec![format!("({})", names(self.partition_key()).join(", "))];
        key.extend(clustering.iter().cloned());
        let mut options = Vec::new();
        let order = |at: &usize| match self.columns[*at].role {
            ColumnRole::Clustering {
                is_descending: true,
            } => "DESC",
            _ => "ASC",
        };
        if !clustering.is_empty() {
            let columns = self.clustering();
            let orders: Vec<String> = clustering
                .iter()
                .zip(&columns)
                .map(|(name, at)| format!("{name} {}", order(at)))
                .collect();
            options.push(format!("CLUSTERING ORDER BY ({})", orders.join(", ")));
        }
        if with_options {
            let stored = self.options.iter();
            options.extend(stored.map(|(name, value)| format!("{name} = {value}")));
        }
        let with = if options.is_empty() {
            String::new()
        } else {
            format!(" WITH {}", options.join(" AND "))
        };
        format!(
            "CREATE TABLE {} ({}, PRIMARY KEY ({})){with}",
            quoted_name(&self.table),
            columns.join(", "),
            key.join(", ")
        )
    }

    /// The types of its columns, in their order.
    ///
    /// # Errors
    /// One cannot be read: a sentence.
    fn column_types(&self) -> Result<Vec<CqlType>, String> {
        let mut types: Vec<UdtType> = Vec::new();
        for create in &self.types {
            match schema::parse(create, &types) {
                Ok(Defined::Type(udt)) => types.push(udt),
                Ok(_) => return Err(format!("`{create}` makes no type")),
                Err(fault) => return Err(format!("`{create}`: {}", fault.message)),
            }
        }
        match schema::parse(&self.create_table(false), &types) {
            Ok(Defined::Table(table)) => {
                Ok(table.columns.into_iter().map(|column| column.typ).collect())
            }
            Ok(_) => Err(format!("{} is no table", self.table)),
            Err(fault) => Err(format!("the table {}: {}", self.table, fault.message)),
        }
    }

    /// Names for bind markers, one for each column, no two the same: the column's own where a
    /// marker can have it.
    fn markers(&self) -> Vec<String> {
        let is_word = |name: &str| {
            let mut letters = name.chars();
            letters.next().is_some_and(|first| first.is_ascii_lowercase())
                && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        let mut all: Vec<String> = Vec::new();
        for (at, column) in self.columns.iter().enumerate() {
            let mut name = column.name.clone();
            // A name like `column_2` could be that of another column too.
            while !is_word(&name) || all.contains(&name) || self.is_other(at, &name) {
                name = if is_word(&name) {
                    format!("{name}_")
                } else {
                    format!("column_{}", at + 1)
                };
            }
            all.push(name);
        }
        all
    }

    fn is_other(&self, at: usize, name: &str) -> bool {
        let mut others = self.columns.iter().enumerate();
        others.any(|(other, column)| other != at && column.name == name)
    }
}

#[cfg(test)]
mod tests;
