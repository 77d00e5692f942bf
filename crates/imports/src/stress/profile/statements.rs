//! Determines the cells that statements on a profile's table bind and return.

use std::collections::BTreeMap;

use crate::stress::column::{Column, Spec};
use crate::stress::operations::Cell;
use crate::stress::partition::Columns;
use cql::value::CqlType;
use workload::schema::Table;

/// Quotes a name for CQL.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns the columns that are not part of the key, ordered by name.
fn others(table: &Table) -> Vec<usize> {
    let mut others: Vec<usize> =
        (0..table.columns.len()).filter(|column| !table.is_key(*column)).collect();
    others.sort_by(|a, b| table.columns[*a].name.cmp(&table.columns[*b].name));
    others
}

pub(super) fn columns(table: &Table, specs: &BTreeMap<String, Spec>) -> Columns {
    let make = |index: &usize| {
        let column = &table.columns[*index];
        let spec = specs.get(&column.name).copied().unwrap_or_default();
        Column::from_profile(&column.name, &column.typ, spec)
    };
    Columns::new(
        table.partition_key.iter().map(make).collect(),
        table.clustering.iter().map(make).collect(),
        others(table).iter().map(make).collect(),
    )
}

/// Returns the cell of the column with this name. Returns `None` if the table has no such column.
pub(super) fn cell_of(table: &Table, name: &str) -> Option<Cell> {
    let same = |column: &&usize| table.columns[**column].name.eq_ignore_ascii_case(name);
    let place = |columns: &[usize]| columns.iter().position(|column| same(&column));
    if let Some(key) = place(&table.partition_key) {
        return Some(Cell::Key(key));
    }
    if let Some(clustering) = place(&table.clustering) {
        return Some(Cell::Row(clustering));
    }
    place(&others(table)).map(|other| Cell::Row(table.clustering.len() + other))
}

/// Returns true if an insert adds to the existing value of a column instead of replacing it.
fn adds(column: &workload::schema::Column) -> bool {
    match column.typ {
        CqlType::Counter => true,
        CqlType::List(_) | CqlType::Set(_) => !column.is_frozen,
        _ => false,
    }
}

/// Returns the cell that describes the content of a column in a result. `cell` describes the value
/// that is written to the column.
fn as_returned(table: &Table, column: usize, cell: Cell) -> Cell {
    let column = &table.columns[column];
    match cell {
        Cell::Row(index) if column.is_static && adds(column) => Cell::Gathered(index),
        Cell::Row(index) if column.is_static => Cell::Static(index),
        Cell::Row(index) if adds(column) && matches!(column.typ, CqlType::List(_)) => {
            Cell::Appended(index)
        }
        cell => cell,
    }
}

pub(super) fn all_cells(table: &Table) -> Vec<Cell> {
    let keys = (0..table.partition_key.len()).map(Cell::Key);
    let clustering = (0..table.clustering.len()).map(Cell::Row);
    let others = others(table);
    let place = |is_static: bool| {
        let same =
            move |(_, column): &(usize, &usize)| table.columns[**column].is_static == is_static;
        let base = table.clustering.len();
        let chosen = others.iter().enumerate().filter(same);
        chosen
            .map(move |(at, column)| as_returned(table, *column, Cell::Row(base + at)))
            .collect::<Vec<_>>()
    };
    keys.chain(clustering).chain(place(true)).chain(place(false)).collect()
}

/// Returns the number of conditions in a statement. If a condition has no marker, it may exclude
/// all rows of a partition.
pub(super) fn relations(text: &str) -> usize {
    let words = text.split_whitespace().map(str::to_lowercase);
    let conditions = words.skip_while(|word| word != "where").skip(1);
    1 + conditions.filter(|word| word == "and").count()
}

/// Returns the cells that a SELECT returns. Returns `None` unless the SELECT names only columns, or
/// reads `*`.
pub(super) fn returned(text: &str, table: &Table) -> Option<Vec<Cell>> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lower = text.to_lowercase();
    let list = text.get("select".len()..lower.find(" from ")?)?.trim();
    if list == "*" {
        return Some(all_cells(table));
    }
    list.split(',')
        .map(|name| {
            let name = name.trim().trim_matches('"');
            let same = |column: &workload::schema::Column| column.name.eq_ignore_ascii_case(name);
            let column = table.columns.iter().position(same)?;
            Some(as_returned(table, column, cell_of(table, name)?))
        })
        .collect()
}

/// Returns the statement that writes a row, in the form that cassandra-stress uses. Also returns
/// the cells that the statement binds, and the number of columns outside the primary key.
pub(super) fn insert(keyspace: &str, table: &Table) -> (String, Vec<Cell>, usize) {
    let name = format!("{}.{}", quoted(keyspace), quoted(&table.name));
    let keys = [&table.partition_key[..], &table.clustering].concat();
    let names: Vec<String> = keys.iter().map(|key| quoted(&table.columns[*key].name)).collect();
    let others = others(table);
    let mut bound: Vec<Cell> = (0..others.len())
        .map(|other| Cell::Row(table.clustering.len() + other))
        .collect();
    bound.extend((0..table.partition_key.len()).map(Cell::Key));
    bound.extend((0..table.clustering.len()).map(Cell::Row));
    if others.is_empty() {
        let marks = vec!["?"; names.len()].join(", ");
        let cql = format!("INSERT INTO {name} ({}) VALUES ({marks})", names.join(", "));
        return (cql, bound, 0);
    }
    let sets: Vec<String> = others
        .iter()
        .map(|other| {
            let column = &table.columns[*other];
            let name = quoted(&column.name);
            if adds(column) {
                format!("{name} = {name} + ?")
            } else {
                format!("{name} = ?")
            }
        })
        .collect();
    let predicates: Vec<String> = names.iter().map(|name| format!("{name} = ?")).collect();
    let cql = format!(
        "UPDATE {name} SET {} WHERE {}",
        sets.join(", "),
        predicates.join(" AND ")
    );
    (cql, bound, others.len())
}
