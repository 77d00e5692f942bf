//! A table that is there and is read as it is, and where its keys come from.

use cql::text::{Kind, tokens};

/// Keys that are taken from a table unless a study says how many.
pub const KEYS_DEFAULT: u64 = 10_000;
/// Partitions that are asked for in a second meanwhile, unless it says otherwise.
pub const KEYS_PER_S_DEFAULT: u64 = 1_000;
/// Keys at most: they are kept with the run.
pub const KEYS_MAX: u64 = 200_000;

/// A table that is read as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnTable {
    /// `keyspace.table`, as the study has it.
    pub name: String,
    /// Partitions that are taken from the ring, if no file has the keys.
    pub keys: u64,
    /// Partitions that are asked for in a second meanwhile, at most.
    pub keys_per_s: u64,
    /// The CSV that has the keys, beside or below the study.
    pub file: Option<String>,
    /// Its columns, by those of the table.
    pub columns: Vec<(String, String)>,
}

impl Default for OwnTable {
    fn default() -> OwnTable {
        OwnTable {
            name: String::new(),
            keys: KEYS_DEFAULT,
            keys_per_s: KEYS_PER_S_DEFAULT,
            file: None,
            columns: Vec::new(),
        }
    }
}

impl OwnTable {
    /// The keyspace and the table: names as CQL has them, in lower case unless they are quoted;
    /// none if the text is not two of them with a point between.
    pub fn names(&self) -> Option<(String, String)> {
        let tokens = tokens(&self.name).ok()?;
        let [keyspace, dot, table] = &tokens[..] else {
            return None;
        };
        let is_name = |kind: Kind| matches!(kind, Kind::Word | Kind::Quoted);
        let is_dot = dot.kind == Kind::Symbol && dot.text == ".";
        (is_dot && is_name(keyspace.kind) && is_name(table.kind))
            .then(|| (keyspace.text.clone(), table.text.clone()))
    }

    /// By which name the workload that was made of the table is kept with a run.
    pub fn definition_file(&self) -> String {
        format!("{}.workload.yaml", self.file_stem())
    }

    /// By which name the keys are kept that were taken from its ring.
    pub fn keys_file(&self) -> String {
        format!("{}.keys.csv", self.file_stem())
    }

    fn file_stem(&self) -> String {
        match self.names() {
            Some((keyspace, table)) => format!("{keyspace}.{table}"),
            None => self.name.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_named_as_cql_names_it() {
        for (text, names) in [
            ("shop.users", Some(("shop", "users"))),
            ("Shop.Users", Some(("shop", "users"))),
            ("\"Shop\".\"Users\"", Some(("Shop", "Users"))),
            ("users", None),
            ("shop.", None),
            ("a.b.c", None),
            ("shop.users; DROP TABLE x", None),
            ("shop.'users'", None),
            ("", None),
        ] {
            let table = OwnTable {
                name: text.to_owned(),
                ..OwnTable::default()
            };
            let names = names.map(|(keyspace, table)| (keyspace.to_owned(), table.to_owned()));
            assert_eq!(table.names(), names, "{text}");
        }
    }
}
