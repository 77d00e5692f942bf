//! A sample of a user's table: its columns, some of its keys, and properties of its rows. cassay
//! writes two workload files from it. One reads the table unchanged, and the other creates a
//! similar table.
//!
//! The first file contains keys of the table, which it needs. The second file contains no values of
//! the table, only sizes, shares and ranges of numbers.

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

use crate::schema::{self, DefinedObject};
use cql::tokens::{literal, quoted_name};
use cql::value::{CqlType, UdtType, Value};

/// A table and the sample of its content.
#[derive(Clone, Debug)]
pub struct TableSample {
    /// Keyspace of the table.
    pub keyspace: String,
    /// Name of the table.
    pub table: String,
    /// `CREATE TYPE …` for the types of its columns, each after the types that it uses.
    pub types: Vec<String>,
    /// Its columns. The partition key and the clustering columns come first, each in its order,
    /// then the others.
    pub columns: Vec<SampledColumn>,
    /// Options of the table that determine the format of stored data, as CQL: `compression`,
    /// `{'class': …}`.
    pub options: Vec<(String, String)>,
    /// `transactional_mode` of an Accord table: `full`.
    pub transactions: Option<String>,
    /// Columns with a CHECK, which the CQL of cassay does not create.
    pub checked: Vec<String>,
    /// Sampled partitions, without duplicates.
    pub partitions: Vec<SampledPartition>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledColumn {
    /// Name in the table.
    pub name: String,
    /// Type, as CQL: `frozen<list<int>>`.
    pub typ: String,
    /// Role in the table.
    pub role: ColumnRole,
}

/// Role of a column in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnRole {
    /// Part of the partition key.
    Partition,
    /// Part of the clustering order within a partition.
    Clustering {
        /// True if larger values come first.
        is_descending: bool,
    },
    /// One value for all rows of a partition.
    Static,
    /// Any other column.
    Regular,
}

/// A sampled partition.
#[derive(Clone, Debug, PartialEq)]
pub struct SampledPartition {
    /// Some of the rows of a partition, at least one, with cells in the order of the table's
    /// columns.
    pub rows: Vec<Vec<Value>>,
    /// Number of its counted rows.
    pub rows_count: u64,
    /// Primary key of the row that operations on single rows read, in the order of its columns.
    pub key: Vec<Value>,
}

impl TableSample {
    /// Returns the indexes of the columns with a role.
    fn columns_with_role(&self, is_it: impl Fn(ColumnRole) -> bool) -> Vec<usize> {
        let columns = self.columns.iter().enumerate();
        columns.filter(|(_, column)| is_it(column.role)).map(|(at, _)| at).collect()
    }

    /// Returns the indexes of the columns of the partition key, in its order.
    fn partition_key(&self) -> Vec<usize> {
        self.columns_with_role(|role| role == ColumnRole::Partition)
    }

    /// Returns the indexes of the clustering columns, in their order.
    fn clustering(&self) -> Vec<usize> {
        self.columns_with_role(|role| matches!(role, ColumnRole::Clustering { .. }))
    }

    /// Returns true if its values are counters.
    fn counts(&self) -> bool {
        self.columns.iter().any(|column| column.typ == "counter")
    }

    /// Returns the `CREATE TABLE`, with the options if requested.
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
        // It determines the consistency levels that the table supports.
        let mode = self.transactions.iter();
        options.extend(mode.map(|mode| format!("transactional_mode = {}", literal(mode))));
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

    /// Returns the types of its columns, in order.
    ///
    /// # Errors
    /// A type cannot be parsed. The error is a sentence.
    fn column_types(&self) -> Result<Vec<CqlType>, String> {
        let mut types: Vec<UdtType> = Vec::new();
        for create in &self.types {
            match schema::parse(create, &types) {
                Ok(DefinedObject::Type(udt)) => types.push(udt),
                Ok(_) => return Err(format!("`{create}` does not create a type")),
                Err(fault) => return Err(format!("`{create}`: {}", fault.message)),
            }
        }
        match schema::parse(&self.create_table(false), &types) {
            Ok(DefinedObject::Table(table)) => {
                Ok(table.columns.into_iter().map(|column| column.typ).collect())
            }
            Ok(_) => Err(format!("{} is not a table", self.table)),
            Err(fault) => Err(format!("the table {}: {}", self.table, fault.message)),
        }
    }

    /// Returns unique names for bind markers, one for each column. It is the name of the column if
    /// a marker can have that name.
    fn markers(&self) -> Vec<String> {
        let is_word = |name: &str| {
            let mut letters = name.chars();
            letters.next().is_some_and(|first| first.is_ascii_lowercase())
                && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        let mut all: Vec<String> = Vec::new();
        for (at, column) in self.columns.iter().enumerate() {
            let mut name = column.name.clone();
            // Another column could also have a name like `column_2`.
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
