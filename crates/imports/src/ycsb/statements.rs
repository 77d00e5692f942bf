//! The statements of YCSB's Cassandra binding. An operation has one statement for all fields, or
//! one statement for each field.

use super::operations::{Binds, INSERT, KINDS, MODIFY, READ, SCAN, Statements, UPDATE};
use cql::Consistency;
use workload::Statement;

/// Parameters that determine the form of the statements.
pub(super) struct Shape {
    pub(super) table: String,
    pub(super) fields: Vec<String>,
    pub(super) read_level: Consistency,
    pub(super) write_level: Consistency,
    /// True if a read requests all fields.
    pub(super) read_all: bool,
    pub(super) write_all: bool,
    /// True if a read of all fields names each field in its statement.
    pub(super) by_name: bool,
    /// True if the values that the statement reads can be verified.
    pub(super) verifies: bool,
}

/// The statements, their bound values, and the statements of each operation.
#[derive(Default)]
pub(super) struct StatementSet {
    pub(super) statements: Vec<Statement>,
    pub(super) binds: Vec<Binds>,
    pub(super) by_kind: Statements,
}

impl Shape {
    /// Returns the fields of each statement. Each entry means all fields (`None`) or one field.
    fn parts(&self, all: bool) -> Vec<Option<usize>> {
        if all {
            vec![None]
        } else {
            (0..self.fields.len()).map(Some).collect()
        }
    }

    fn columns(&self, field: Option<usize>) -> &str {
        field.map_or("*", |field| &self.fields[field])
    }

    fn select(&self, field: Option<usize>) -> String {
        let columns = self.columns(field);
        format!(
            "SELECT {columns} FROM {} WHERE y_id = ? LIMIT 1",
            self.table
        )
    }

    fn select_named(&self) -> String {
        let (names, table) = (self.fields.join(", "), &self.table);
        format!("SELECT {names} FROM {table} WHERE y_id = ? LIMIT 1")
    }

    fn scan(&self, field: Option<usize>) -> String {
        let (columns, table) = (self.columns(field), &self.table);
        format!("SELECT {columns} FROM {table} WHERE token(y_id) >= token(?) LIMIT ?")
    }

    fn update(&self, field: Option<usize>) -> String {
        let sets = match field {
            Some(field) => self.fields[field].clone(),
            None => self.fields.join(" = ?, "),
        };
        format!("UPDATE {} SET {sets} = ? WHERE y_id = ?", self.table)
    }

    fn insert(&self) -> String {
        let marks = vec!["?"; self.fields.len() + 1].join(", ");
        let names = self.fields.join(", ");
        format!(
            "INSERT INTO {} (y_id, {names}) VALUES ({marks})",
            self.table
        )
    }

    pub(super) fn make(&self) -> StatementSet {
        let mut made = StatementSet::default();
        let (reads, writes) = (self.parts(self.read_all), self.parts(self.write_all));
        made.by_kind.insert = self.add(&mut made, self.insert(), INSERT, Binds::Insert);
        for field in &reads {
            let read = match (self.by_name, field) {
                (true, None) => self.add(&mut made, self.select_named(), READ, Binds::ReadNamed),
                _ => self.add(&mut made, self.select(*field), READ, Binds::Read(*field)),
            };
            let scan = self.add(&mut made, self.scan(*field), SCAN, Binds::Scan);
            made.by_kind.read.push(read);
            made.by_kind.scan.push(scan);
        }
        for (number, field) in writes.iter().enumerate() {
            let update = Binds::Update(*field);
            let id = self.add(&mut made, self.update(*field), UPDATE, update);
            made.by_kind.update.push(id);
            // The loop adds a read-modify-write for each field that an update can write.
            let read = reads[number % reads.len()];
            let first = self.add(&mut made, self.select(read), MODIFY, Binds::Read(read));
            let second = self.add(&mut made, self.update(*field), MODIFY, update);
            let chain = &mut made.statements;
            chain[usize::from(first)].then = Some(second);
            chain[usize::from(first)].part = Some(KINDS as u8);
            chain[usize::from(second)].part = Some(KINDS as u8 + 1);
            made.by_kind.modify.push(first);
        }
        made
    }

    fn add(&self, made: &mut StatementSet, cql: String, kind: usize, binds: Binds) -> u16 {
        let count = cql.matches('?').count() as u16;
        let by_key = matches!(binds, Binds::Read(_) | Binds::ReadNamed);
        let reads = by_key || binds == Binds::Scan;
        let level = if reads {
            self.read_level
        } else {
            self.write_level
        };
        made.statements.push(Statement {
            idempotent: true,
            returns_rows: reads,
            verifies: by_key && self.verifies,
            finds: by_key,
            ..Statement::new(cql, kind as u8, count, level)
        });
        made.binds.push(binds);
        (made.statements.len() - 1) as u16
    }
}
