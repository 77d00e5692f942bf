//! The predefined tables standard1 and counter1, and the operations on them.

use super::{Planner, RunTables, qualified, truncate};
use crate::stress::column::Column;
use crate::stress::draw::{Dist, Ratio};
use crate::stress::operations::{Cell, Op, OperationKind};
use crate::stress::partition::Columns;
use crate::stress::profile::quoted;
use cql::value::CqlType;
use workload::Statement;

struct PredefinedTable<'a> {
    keyspace: &'a str,
    name: &'a str,
    /// Index of the table among the tables of the run.
    index: usize,
}

impl Planner<'_> {
    /// Adds the predefined tables and the operations on them.
    pub(super) fn predefined(&mut self, weights: &[(String, f64)]) -> RunTables {
        let options = &self.run.options;
        let keyspace = options.schema.keyspace.clone();
        let mut create = Vec::new();
        for (table, typ) in [("standard1", "blob"), ("counter1", "counter")] {
            create.push(qualified(
                &options.schema.create_table(table, &options.columns, typ),
                &keyspace,
            ));
        }
        let reads = |(name, _): &(String, f64)| name.ends_with("read");
        if options.columns.slice && !weights.iter().any(reads) {
            let note = "`-col slice` has no effect: this command reads no rows.";
            self.notes.push(note.to_owned());
        }
        let mut tables = Vec::new();
        for (name, weight) in weights {
            let counter = name.starts_with("counter");
            let table = if counter { "counter1" } else { "standard1" };
            if !tables.contains(&table.to_owned()) {
                tables.push(table.to_owned());
                self.predefined_table(counter);
            }
            let index = tables.iter().position(|known| known == table).unwrap_or(0);
            let table = PredefinedTable {
                keyspace: &keyspace,
                name: table,
                index,
            };
            self.predefined_op(name, *weight, table);
        }
        RunTables {
            create_keyspace: Some(options.schema.create_keyspace()),
            is_replication_stated: options.schema.is_replication_stated,
            // Like the tool, cassay always creates both tables, so it also truncates both.
            truncate: ["standard1", "counter1"].map(|table| truncate(&keyspace, table)).to_vec(),
            keyspace,
            tables,
            create,
        }
    }

    fn predefined_table(&mut self, counter: bool) {
        let (size, add) = (self.run.options.columns.size.clone(), self.run.add.clone());
        let (place, size, add) = (size.place.clone(), self.dist(&size), self.dist(&add));
        let column = |name: &String| {
            if counter {
                Column::predefined_counter(name, add)
            } else {
                Column::predefined(name, &CqlType::Blob, size)
            }
        };
        let key = vec![Column::predefined_key(self.run.key_bytes as i64)];
        let values = self.run.options.columns.names.iter().map(column).collect();
        let columns = Columns::new(key, Vec::new(), values);
        if let Some(message) = columns.too_large() {
            self.out.add(&place, message, None);
        }
        self.tables.push(columns);
        self.counters.push(counter);
        self.sparse.push(false);
    }

    fn predefined_op(&mut self, name: &str, weight: f64, table: PredefinedTable<'_>) {
        let PredefinedTable {
            keyspace,
            name: table,
            index,
        } = table;
        let columns = &self.run.options.columns;
        let names: Vec<String> = columns.names.iter().map(|name| quoted(name)).collect();
        let target = format!("{}.{}", quoted(keyspace), quoted(table));
        let is_write = name.ends_with("write");
        let kind = self.kind(name, is_write);
        let values: Vec<Cell> = (0..names.len()).map(Cell::Row).collect();
        let key = vec![Cell::Key(0)];
        let (cql, bound, what) = if is_write {
            let using = match columns.timestamp {
                Some(time) => format!(" USING TIMESTAMP {time}"),
                None => String::new(),
            };
            let set = |name: &String| match table {
                "counter1" => format!("{name}={name}+?"),
                _ => format!("{name} = ?"),
            };
            let sets: Vec<String> = names.iter().map(set).collect();
            let what = OperationKind::Insert {
                partitions: Dist::fixed(1),
                select: Ratio::one(),
                visits: 1,
                population: Ratio::one(),
                values: names.len(),
            };
            let cql = format!("UPDATE {target}{using} SET {} WHERE KEY=?", sets.join(","));
            (cql, [values, key].concat(), what)
        } else {
            let list = if columns.slice {
                "*".to_owned()
            } else {
                names.join(",")
            };
            let returned = if columns.slice {
                [key.clone(), values].concat()
            } else {
                values
            };
            let what = OperationKind::Query {
                same_row: true,
                returned: Some(returned),
                must_find: true,
                whole: false,
            };
            let cql = format!("SELECT {list} FROM {target} WHERE KEY=?");
            (cql, key, what)
        };
        let statement = Statement {
            idempotent: table != "counter1" || !is_write,
            returns_rows: !is_write,
            verifies: !is_write,
            ..Statement::new(cql, kind, bound.len() as u16, self.run.consistency)
        };
        let statement = self.statement(statement);
        self.ops.push(Op {
            statement,
            kind,
            table: index,
            weight,
            what,
            bound,
        });
    }
}
