//! Reads the queries of a profile: bound cells, returned cells, and rows that a read must find.
//!
//! A query that cannot be parsed is a mistake only in a run that uses the query. If a query reads
//! from a table other than the profile's table, its rows are not compared.

use super::statements::{cell_of, relations, returned};
use super::{Query, Reader, within};
use crate::stress::operations::Cell;
use workload::schema::{self, Marker, Table};
use yaml::{Diagnostic, Entry, Node};

/// Queries, and the queries that cannot be parsed.
type Queries = (Vec<Query>, Vec<(String, Vec<Diagnostic>)>);

impl Reader<'_, '_> {
    pub(super) fn queries(&mut self, keyspace: &str, table: &Table) -> Queries {
        let entries = self.root.find("queries").and_then(Node::entries);
        let (mut queries, mut unreadable) = (Vec::new(), Vec::new());
        for entry in entries.unwrap_or_default() {
            let name = entry.key.to_lowercase();
            let others = std::mem::take(&mut self.out.list);
            let query = self.query_entry(entry, keyspace, table);
            let own = std::mem::replace(&mut self.out.list, others);
            match query.filter(|_| own.is_empty()) {
                Some(query) => queries.push(Query { name, ..query }),
                None => unreadable.push((name, own)),
            }
        }
        (queries, unreadable)
    }

    /// Returns the names of queries that may write to the profile's table. These are all queries
    /// except SELECTs and queries that name another table.
    pub(super) fn writing(&self, keyspace: &str, table: &Table) -> Vec<String> {
        let entries = self.root.find("queries").and_then(Node::entries).unwrap_or_default();
        let may_write = |entry: &&Entry| {
            let keys = entry.value.entries().unwrap_or_default();
            let cql = keys.iter().find(|key| key.key.eq_ignore_ascii_case("cql"));
            let text = cql.and_then(|key| key.value.text()).unwrap_or_default();
            let tokens = schema::tokens(text).unwrap_or_default();
            let is_select = tokens.first().is_some_and(|first| first.text == "select");
            !is_select && is_of(text, keyspace, table)
        };
        entries.iter().filter(may_write).map(|entry| entry.key.to_lowercase()).collect()
    }

    fn query_entry(&mut self, entry: &Entry, keyspace: &str, table: &Table) -> Option<Query> {
        let node = &entry.value;
        if node.entries().is_none() {
            let message = format!(
                "query `{}` must be a mapping, not {}",
                entry.key,
                node.describe()
            );
            let hint = format!(
                "write the query as `{}: {{cql: \"…\", fields: samerow}}`",
                entry.key
            );
            self.out.add(&node.place, message, Some(hint));
            return None;
        }
        let known = [
            "cql",
            "fields",
            "consistencylevel",
            "serialconsistencylevel",
        ];
        self.keys(node, &known, "a query");
        let at = |key: &str| {
            let mut entries = node.entries().unwrap_or_default().iter();
            entries.find(|entry| entry.key.eq_ignore_ascii_case(key)).map(|e| &e.value)
        };
        let Some(cql) = at("cql") else {
            self.say(&entry.place, format!("query `{}` has no `cql`", entry.key));
            return None;
        };
        let same_row = match at("fields").map(|node| (node.text().unwrap_or_default(), node)) {
            None => false,
            Some((fields, _)) if fields.eq_ignore_ascii_case("samerow") => true,
            Some((fields, _)) if fields.eq_ignore_ascii_case("multirow") => false,
            Some((fields, node)) => {
                let message = format!("fields is `{fields}`; it must be samerow or multirow");
                self.say(&node.place, message);
                false
            }
        };
        let levels = [at("consistencylevel"), at("serialconsistencylevel")];
        let [consistency, serial] = levels.map(|node| node.and_then(|node| self.level(node)));
        Some(Query {
            same_row,
            consistency,
            serial,
            ..self.query(cql, keyspace, table)?
        })
    }

    fn query(&mut self, node: &Node, keyspace: &str, table: &Table) -> Option<Query> {
        let text = node.text().unwrap_or_default().trim().trim_end_matches(';');
        let read =
            schema::qualify(text, keyspace).and_then(|cql| Ok((schema::markers(text)?, cql)));
        let (markers, cql) = match read {
            Ok(read) => read,
            Err(fault) => {
                let source = &self.out.sources[node.place.source].text;
                let place = within(node, source, text, &fault);
                self.say(&place, fault.message);
                return None;
            }
        };
        let mut bound = Vec::new();
        for marker in markers {
            let column = match &marker {
                Marker::Column(name) => cell_of(table, name),
                Marker::Int | Marker::Timestamp | Marker::Token | Marker::Unknown => None,
            };
            let Some(cell) = column else {
                let what = match marker {
                    Marker::Column(name) => format!("`{name}` is not a column of the table"),
                    _ => {
                        "a marker is at a position where no column determines the value".to_owned()
                    }
                };
                self.say(&node.place, what);
                return None;
            };
            bound.push(cell);
        }
        let is_select = text.to_lowercase().starts_with("select");
        let is_own = is_of(text, keyspace, table);
        let is_keyed = schema::binds_partition(text, table);
        let cells = (is_select && is_own && is_keyed).then(|| returned(text, table)).flatten();
        let only_keys = bound.iter().all(|cell| matches!(cell, Cell::Key(_)));
        let whole = table.partition_key.len() == bound.len() && relations(text) == bound.len();
        Some(Query {
            name: String::new(),
            not_compared: (is_select && cells.is_none()).then_some(match (is_own, is_keyed) {
                (false, _) => {
                    "the rows belong to another table or view, not to the profile's table"
                }
                (true, false) => {
                    "the query does not restrict all columns of the partition key by `= ?`"
                }
                (true, true) => "the query does not select plain columns",
            }),
            returned: cells,
            must_find: is_select && is_own && is_keyed && only_keys && whole,
            cql,
            same_row: false,
            bound,
            is_select,
            consistency: None,
            serial: None,
        })
    }
}

/// Returns true if a statement uses `table` of `keyspace`, or if the name of its table is unknown.
/// Returns false for a view or another table, because a view has its columns in another order, and
/// another table has other rows.
fn is_of(text: &str, keyspace: &str, table: &Table) -> bool {
    let tokens = schema::tokens(text).unwrap_or_default();
    schema::named_table(&tokens).is_none_or(|(owner, own)| {
        owner.unwrap_or(keyspace).eq_ignore_ascii_case(keyspace)
            && own.eq_ignore_ascii_case(&table.name)
    })
}
