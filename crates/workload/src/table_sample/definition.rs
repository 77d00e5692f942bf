//! Generates the workload file that only reads a table.

use super::yaml_text::{block, quoted, word};
use super::{ColumnRole, TableSample};
use cql::tokens::quoted_name;
use cql::value::Value;
use data_encoding::HEXLOWER;

/// Kinds of operations on an existing table. They read a row by its whole primary key, a partition,
/// or the first page of a partition. If a table does not have clustering columns, each partition is
/// one row.
pub const OUTLINE_KINDS: [&str; 3] = ["row", "partition", "page"];

/// Page size for reading a whole partition, in rows. Drivers have the same default.
const PARTITION_PAGE_ROWS: u32 = 5000;
/// Number of rows of a single page, which is typical of a list on a screen.
const PAGE_ROWS: u32 = 100;

/// Columns of the table by index, each with the CSV column that contains its values.
type CsvColumns = Vec<(usize, String)>;

/// Source of the keys that operations read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySource<'a> {
    /// Keys of the sample, in a CSV that [`TableSample::keys_csv`] writes.
    Sample { file: &'a str },
    /// Keys of a CSV that the user provides.
    Csv {
        file: &'a str,
        /// Pairs of a table column and the CSV column with its values. All other columns have the
        /// same name in the CSV as in the table.
        columns: &'a [(String, String)],
        /// Names of all columns of the CSV.
        names: &'a [String],
    },
}

impl TableSample {
    /// Returns a workload file that reads the table by its keys.
    ///
    /// # Errors
    /// A CSV lacks a column of the partition key, or the pairs contain a column that the table does
    /// not have. The error is a sentence with a remedy.
    pub fn definition(&self, keys: KeySource<'_>) -> Result<String, String> {
        let (file, columns) = self.keyed_columns(keys)?;
        let markers = self.markers();
        let mut text = format!(
            "# Only reads {}.{}. cassay wrote this file from the table's schema.\nkeyspace: \
             {}\ncsv: {}\nschema:\n",
            self.keyspace,
            self.table,
            quoted(&self.keyspace),
            quoted(file)
        );
        for create in &self.types {
            text += &format!("  - {}\n", block(create, 4));
        }
        text += &format!("  - {}\n", block(&self.create_table(false), 4));
        text += "values:\n";
        for (at, column) in &columns {
            let expression = format!("column({})", word(column));
            text += &format!("  {}: {}\n", markers[*at], quoted(&expression));
        }
        let is_there = |at: &usize| columns.iter().any(|(column, _)| column == at);
        let mut whole = self.partition_key();
        whole.extend(self.clustering());
        text += "statements:\n";
        if whole.iter().all(is_there) {
            text += &format!("  row: {}\n", block(&self.select(&whole, &markers), 4));
        }
        let partition = block(&self.select(&self.partition_key(), &markers), 6);
        text +=
            &format!("  partition:\n    cql: {partition}\n    page_size: {PARTITION_PAGE_ROWS}\n");
        text += &format!(
            "  page:\n    cql: {partition}\n    page_size: {PAGE_ROWS}\n    pages_max: 1\n"
        );
        let usual = if whole.iter().all(is_there) {
            "row"
        } else {
            "page"
        };
        Ok(text + &format!("mix: {{{usual}: 1}}\n"))
    }

    /// Returns the name of the file with the keys. For each column of the primary key, also returns
    /// the CSV column that contains its values, if the file has such a column.
    fn keyed_columns<'a>(&self, keys: KeySource<'a>) -> Result<(&'a str, CsvColumns), String> {
        let mut all = self.partition_key();
        all.extend(self.clustering());
        let own = |at: usize| (at, self.columns[at].name.clone());
        let (file, columns, names) = match keys {
            KeySource::Sample { file } => return Ok((file, all.into_iter().map(own).collect())),
            KeySource::Csv {
                file,
                columns,
                names,
            } => (file, columns, names),
        };
        let known = |name: &str| self.columns.iter().any(|column| column.name == name);
        if let Some((strange, _)) = columns.iter().find(|(name, _)| !known(name)) {
            return Err(format!(
                "the table {}.{} has no column {strange}; its primary key has {}",
                self.keyspace,
                self.table,
                self.key_names().join(", ")
            ));
        }
        let mut found = Vec::new();
        for at in all {
            let name = &self.columns[at].name;
            let stated = columns.iter().find(|(column, _)| column == name);
            let wanted = stated.map_or(name, |(_, of_csv)| of_csv);
            if names.contains(wanted) {
                found.push((at, wanted.clone()));
            } else if stated.is_some() || self.columns[at].role == ColumnRole::Partition {
                return Err(format!(
                    "{file} has no column {wanted}, which should contain the {name} of {}.{}; it \
                     has {}",
                    self.keyspace,
                    self.table,
                    names.join(", ")
                ));
            }
        }
        Ok((file, found))
    }

    fn key_names(&self) -> Vec<&str> {
        let mut key = self.partition_key();
        key.extend(self.clustering());
        key.into_iter().map(|at| self.columns[at].name.as_str()).collect()
    }

    /// Returns a `SELECT` of all columns whose WHERE clause restricts the columns of `by`.
    pub(super) fn select(&self, by: &[usize], markers: &[String]) -> String {
        let all: Vec<usize> = (0..self.columns.len()).collect();
        self.select_columns(&all, by, markers)
    }

    /// Returns a `SELECT` of some columns whose WHERE clause restricts the columns of `by`.
    pub(super) fn select_columns(
        &self,
        columns: &[usize],
        by: &[usize],
        markers: &[String],
    ) -> String {
        let names: Vec<String> =
            columns.iter().map(|at| quoted_name(&self.columns[*at].name)).collect();
        format!(
            "SELECT {} FROM {} WHERE {}",
            names.join(", "),
            quoted_name(&self.table),
            self.equal(by, markers)
        )
    }

    /// Returns a condition such as `"a" = :a AND "b" = :b`.
    pub(super) fn equal(&self, columns: &[usize], markers: &[String]) -> String {
        let one = |at: &usize| {
            format!(
                "{} = :{}",
                quoted_name(&self.columns[*at].name),
                markers[*at]
            )
        };
        columns.iter().map(one).collect::<Vec<_>>().join(" AND ")
    }

    /// Returns the keys of the sample as a CSV. For each partition, the CSV has one record with the
    /// primary key of the row that operations read.
    ///
    /// # Panics
    /// Never: writing to memory cannot fail.
    pub fn keys_csv(&self) -> String {
        let mut key = self.partition_key();
        key.extend(self.clustering());
        let mut writer = csv::Writer::from_writer(Vec::new());
        let mut write = |cells: Vec<String>| {
            writer
                .write_record(&cells)
                .expect("memory accepts all records of the same length");
        };
        write(key.iter().map(|at| self.columns[*at].name.clone()).collect());
        for partition in &self.partitions {
            write(partition.key.iter().map(cell_text).collect());
        }
        let bytes = writer.into_inner().expect("memory needs no flush");
        String::from_utf8(bytes).expect("cells are texts")
    }
}

/// Returns the names of a CSV's columns.
///
/// # Errors
/// The CSV library cannot parse the header. The error is a sentence with the name of the file.
pub fn csv_columns(file: &str, text: &str) -> Result<Vec<String>, String> {
    let mut reader = csv::ReaderBuilder::new().from_reader(text.as_bytes());
    let names = reader.headers().map_err(|error| format!("{file}: {error}"))?;
    Ok(names.iter().map(|name| name.trim().to_owned()).collect())
}

/// Formats a value as a CSV cell that a workload file can read. Texts, integers except varints,
/// UUIDs and booleans are formatted as text, and all other values as their bytes.
fn cell_text(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Int(_) | Value::Bigint(_) | Value::Smallint(_) | Value::Tinyint(_) => {
            value.to_string()
        }
        Value::Uuid(_) | Value::Timeuuid(_) | Value::Boolean(_) => value.to_string(),
        other => {
            let mut bytes = Vec::new();
            other.append(&mut bytes);
            format!("0x{}", HEXLOWER.encode(&bytes))
        }
    }
}
