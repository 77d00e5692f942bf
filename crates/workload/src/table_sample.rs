//! A sample of a user's table: its columns, some of its keys, and properties of its rows. cassay
//! writes two workload files from a sample. One file reads the table unchanged, and the other file
//! creates a similar table.
//!
//! The first file requires keys of the table, and therefore contains some of them. The second file
//! contains only sizes, shares and ranges of numbers, but no values of the table.

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

/// A table and a sample of its rows.
#[derive(Clone, Debug)]
pub struct TableSample {
    pub keyspace: String,
    pub table: String,
    /// `CREATE TYPE …` statements for the types of the columns. Each type comes after the types
    /// that it uses.
    pub types: Vec<String>,
    /// Columns of the table. The partition key comes first, then the clustering columns, both in
    /// key order, and then all other columns.
    pub columns: Vec<SampledColumn>,
    /// Options of the table that determine the format of stored data. Each option consists of a
    /// name and a value as CQL, such as `compression` and `{'class': …}`.
    pub options: Vec<(String, String)>,
    /// Value of `transactional_mode` of an Accord table, such as `full`. `None` if the table does
    /// not have this mode.
    pub transactions: Option<String>,
    /// Columns with a CHECK constraint. cassay does not include such constraints in the tables that
    /// it generates.
    pub checked: Vec<String>,
    /// Sampled partitions, without duplicates.
    pub partitions: Vec<SampledPartition>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledColumn {
    pub name: String,
    /// Type of the column as CQL, such as `frozen<list<int>>`.
    pub typ: String,
    pub role: ColumnRole,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnRole {
    /// The column is part of the partition key.
    Partition,
    /// The column is part of the clustering order within a partition.
    Clustering {
        /// True if larger values come first.
        is_descending: bool,
    },
    /// The column has one value for all rows of a partition.
    Static,
    /// Any other column.
    Regular,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SampledPartition {
    /// Some rows of the partition, at least one. The cells of a row have the order of the table's
    /// columns.
    pub rows: Vec<Vec<Value>>,
    /// Number of rows that were counted in the partition.
    pub rows_count: u64,
    /// Primary key of the row that an operation on a single row reads. The values have the order of
    /// the key columns.
    pub key: Vec<Value>,
}

impl TableSample {
    fn columns_with_role(&self, is_it: impl Fn(ColumnRole) -> bool) -> Vec<usize> {
        let columns = self.columns.iter().enumerate();
        columns.filter(|(_, column)| is_it(column.role)).map(|(at, _)| at).collect()
    }

    /// Returns the indexes of the columns of the partition key, in key order.
    fn partition_key(&self) -> Vec<usize> {
        self.columns_with_role(|role| role == ColumnRole::Partition)
    }

    /// Returns the indexes of the clustering columns, in clustering order.
    fn clustering(&self) -> Vec<usize> {
        self.columns_with_role(|role| matches!(role, ColumnRole::Clustering { .. }))
    }

    /// Returns true if the table contains counter columns.
    fn counts(&self) -> bool {
        self.columns.iter().any(|column| column.typ == "counter")
    }

    /// Returns the `CREATE TABLE` statement. The statement includes the options if `with_options`
    /// is true.
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
        // The statement includes the transactional mode even without the other options, because the
        // mode determines the consistency levels that the table supports.
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

    /// Returns the types of the table's columns, in order.
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

    /// Returns unique names of bind markers, one for each column. A marker has the name of its
    /// column if this name is valid for a marker.
    fn markers(&self) -> Vec<String> {
        let is_word = |name: &str| {
            let mut letters = name.chars();
            letters.next().is_some_and(|first| first.is_ascii_lowercase())
                && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        let mut all: Vec<String> = Vec::new();
        for (at, column) in self.columns.iter().enumerate() {
            let mut name = column.name.clone();
            // Another column may already have a name such as `column_2`.
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
