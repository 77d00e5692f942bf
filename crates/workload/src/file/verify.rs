//! Decides whether cassay can check the result of a read. The read must select one row by its whole
//! primary key. All writes of the workload must write the same values to the columns of a row as
//! the load stage.

use super::File;
use super::compiled_program::{Bound, Per};
use super::groups::Groups;
use super::sections::{NamedStatement, Tables};
use super::statement::{Bind, Read, Verb};
use super::value_generators::{Gen, GroupedBy};
use crate::schema::Table;
use cql::value::CqlType;
use yaml::Place;

/// Generator and seed for each column of a checked read.
type Cells = Vec<(Gen, u64)>;

impl<'a> File<'a, '_> {
    /// Returns the index of the statement that `verify` names, and the expected result. Returns
    /// `None` without `verify`, or after a mistake.
    pub(super) fn verify(
        &mut self,
        named: &[NamedStatement],
        tables: &Tables,
        load: &[usize],
        weights: Option<&[f64]>,
    ) -> Option<(usize, Cells)> {
        let Some(node) = self.root.find("verify") else {
            let reads = named.iter().any(|named| named.parts[0].verb == Verb::Select);
            if !reads && self.out.is_empty() {
                let place = Place::default();
                let hint = "add a SELECT, and name it under `verify`, so that cassay checks rows";
                let message = "the workload contains no read that could check its writes";
                self.out.add(&place, message, Some(hint.to_owned()));
            }
            return None;
        };
        let index = self.name_of(node, named, "verify")?;
        let read = &named[index].parts[0];
        if self.root.find("load").is_none() && !self.is_misspelt("load") {
            let message = "cassay compares the rows of reads with the rows that `load` writes, but \
                           the file has no `load`";
            let hint = "add `load: write`, or omit `verify`: cassay then checks no rows";
            self.out.add(&node.place, message, Some(hint.to_owned()));
            return None;
        }
        if !self.out.is_empty() {
            // The function returns here, because the following checks would report the earlier
            // mistakes again in other words.
            return None;
        }
        let table = &tables.tables[read.table];
        let judged = expected(read, table, named, load).and_then(|cells| {
            undisturbed((read, table), named, load, weights)?;
            Ok(cells)
        });
        match judged {
            Ok(cells) => Some((index, cells)),
            Err(message) => {
                let message = format!("cassay cannot check {}: {message}", named[index].name);
                let hint = "change the statement, or omit `verify`: cassay then checks no rows";
                self.out.add(&node.place, message, Some(hint.to_owned()));
                None
            }
        }
    }
}

const SAME_KEY: &str = "two rows may have the same primary key: make one column of the key `row`, \
                        `hash`, `uuid` or a text of 16 characters, or make two columns \
                        row(divide=n) and row(modulo=n)";

/// Returns the values that the load stage writes to the columns of the read.
fn expected(
    read: &Read,
    table: &Table,
    named: &[NamedStatement],
    load: &[usize],
) -> Result<Cells, String> {
    if read.verb != Verb::Select {
        return Err("the statement is not a SELECT, so it returns no rows to compare".to_owned());
    }
    let loads: Vec<&Read> = load
        .iter()
        .flat_map(|&index| &named[index].parts)
        .filter(|part| part.table == read.table)
        .collect();
    let mut keys = Vec::new();
    for &key in table.partition_key.iter().chain(&table.clustering) {
        let name = &table.columns[key].name;
        let asked = written(read, name);
        let Some((bind, bound)) = asked.filter(|(bind, _)| bind.is_equal) else {
            return Err(format!(
                "the WHERE clause must contain {name} = :value, and the same for every other \
                 column of the primary key"
            ));
        };
        let same = loads.iter().filter_map(|load| written(load, name));
        if !same.into_iter().any(|(load, _)| load.value == bind.value) {
            return Err(format!(
                "the load stage does not write :{} to {name}",
                bind.value
            ));
        }
        keys.extend((bound.per == Per::Row).then_some(&bound.generate));
    }
    if !are_unique(&keys) {
        return Err(SAME_KEY.to_owned());
    }
    let Some(selected) = &read.selected else {
        return Err("the SELECT must name its columns instead of *".to_owned());
    };
    let cells = selected.iter().map(|name| {
        let column = table.column(name).map(|column| &table.columns[column]);
        let value = loads.iter().find_map(|load| written(load, name));
        if column.is_some_and(|column| column.is_static) {
            shared(read, table, name, value)?;
        }
        match column.map(|column| &column.typ) {
            None => return Err(format!("the table has no column {name}")),
            Some(CqlType::Set(_) | CqlType::Map(..)) => {
                return Err(format!(
                    "the server returns the elements of {name} in another order"
                ));
            }
            Some(CqlType::Counter) => {
                return Err(format!(
                    "{name} is a counter, whose value depends on all operations"
                ));
            }
            Some(_) => {}
        }
        match value {
            Some((bind, bound)) if bound.generate.may_be_missing() => Err(format!(
                "the value of {name} is {}, which is missing in some rows",
                bind.value
            )),
            Some((_, bound)) if bound.per == Per::Row => Ok((bound.generate.clone(), bound.seed)),
            Some((bind, _)) => Err(format!(
                "the value of {name} is {}, which has `per: operation`, so reads cannot expect it: \
                 write `per: row`",
                bind.value
            )),
            None => Err(format!("the load stage does not write the column {name}")),
        }
    });
    cells.collect()
}

/// Checks that all rows of a partition write the same `value` to the static column `name`.
fn shared(
    read: &Read,
    table: &Table,
    name: &str,
    value: Option<(&Bind, &Bound)>,
) -> Result<(), String> {
    let keys: Vec<&Gen> = table
        .partition_key
        .iter()
        .filter_map(|&key| written(read, &table.columns[key].name))
        .filter(|(_, bound)| bound.per == Per::Row)
        .map(|(_, bound)| &bound.generate)
        .collect();
    let divided = keys.iter().find_map(|key| key.divided());
    let groups = keys.iter().find_map(|key| key.grouped());
    let is_shared = |generate: &Gen| {
        generate.is_same_within(divided)
            || groups.is_some_and(|(groups, _)| generate.is_same_in_group(groups))
    };
    if are_unique(&keys) || value.is_some_and(|(_, of)| is_shared(&of.generate)) {
        return Ok(());
    }
    if groups.is_some() {
        return Err(format!(
            "{name} is static, and rows of one partition write it differently; give its value the \
             `groups` of the partition key, so that these rows share it"
        ));
    }
    let divide = divided.map_or("n".to_owned(), |divide| divide.to_string());
    Err(format!(
        "{name} is static, and rows of one partition write it differently; give its value `divide: \
         {divide}`, so that these rows share it"
    ))
}

/// Returns true if no two rows have the same values of all these generators.
fn are_unique(keys: &[&Gen]) -> bool {
    let divided = keys.iter().filter_map(|key| key.divided());
    let mut rests = keys.iter().filter_map(|key| key.modulo());
    let grouped: Vec<(&Groups, GroupedBy)> = keys.iter().filter_map(|key| key.grouped()).collect();
    let has_place = |groups: &Groups| {
        let mut others = grouped.iter();
        others.any(|(other, by)| *by == GroupedBy::Place && *other == groups)
    };
    let mut groups = grouped.iter().filter(|(_, by)| *by == GroupedBy::Group);
    // Rows with the same quotient are consecutive, and their number is at most `modulo`. Their
    // remainders therefore differ.
    keys.iter().any(|key| key.is_unique())
        || divided.min().is_some_and(|divide| rests.any(|modulo| modulo >= divide))
        || groups.any(|(groups, _)| has_place(groups))
}

/// Returns the marker that a statement writes to a column or compares with it by `=`. Returns
/// `None` if the statement has no such marker.
fn written<'a>(read: &'a Read, column: &str) -> Option<(&'a Bind, &'a Bound)> {
    let pairs = read.binds.iter().zip(&read.bound);
    let mut pairs = pairs.filter(|(bind, _)| bind.is_equal);
    pairs.find(|(bind, _)| bind.column.as_deref() == Some(column))
}

/// Checks that no write removes or changes the values that the read returns.
fn undisturbed(
    (read, table): (&Read, &Table),
    named: &[NamedStatement],
    load: &[usize],
    weights: Option<&[f64]>,
) -> Result<(), String> {
    let selected = read.selected.as_deref().unwrap_or_default();
    if table.expires {
        return Err("rows of the table expire by default_time_to_live".to_owned());
    }
    for (index, other) in named.iter().enumerate() {
        let is_main = weights.is_none_or(|weights| weights[index] > 0.0);
        if !is_main && !load.contains(&index) {
            continue;
        }
        for part in other.parts.iter().filter(|part| part.table == read.table) {
            let why = match part.verb {
                Verb::Select => continue,
                Verb::Delete => "deletes from the table",
                _ if part.expires => "writes with a TTL",
                _ if other.options.same_partition => {
                    "writes rows of other keys, because it has `partition: same`"
                }
                _ => "",
            };
            if !why.is_empty() {
                return Err(format!("{} {why}", other.name));
            }
            if part.writes.iter().any(|column| selected.contains(column))
                && let Some(key) = other_key(read, table, part)
            {
                let name = &other.name;
                return Err(format!(
                    "{name} writes rows of other keys: it binds {key} to another value than the \
                     read does"
                ));
            }
            for column in selected.iter().filter(|column| part.writes.contains(column)) {
                let load = load.iter().flat_map(|&index| &named[index].parts);
                let mut loads = load.filter(|load| load.table == read.table);
                let loaded = loads.find_map(|load| written(load, column));
                let stays = written(part, column)
                    .zip(loaded)
                    .is_some_and(|((bind, _), (load, _))| bind.value == load.value);
                if !stays {
                    let name = &other.name;
                    return Err(format!(
                        "{name} writes a value to {column} that differs from the \
                                        loaded value"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Returns a key column to which a write binds another value than the read. Such a write would put
/// the values of one row into another row. A write that changes only static columns does not need
/// clustering columns. Returns `None` if the write and the read bind the same values to all of
/// these columns.
fn other_key<'t>(read: &Read, table: &'t Table, part: &Read) -> Option<&'t str> {
    let mut columns = table.columns.iter().enumerate();
    let is_of_rows = columns.any(|(index, column)| {
        !column.is_static && !table.is_key(index) && part.writes.contains(&column.name)
    });
    let clustering = table.clustering.iter().filter(|_| is_of_rows);
    let keys = table.partition_key.iter().chain(clustering);
    let mut names = keys.map(|&key| table.columns[key].name.as_str());
    names.find(|name| {
        let value = |of: &Read| written(of, name).map(|(bind, _)| bind.value.clone());
        value(read) != value(part)
    })
}
