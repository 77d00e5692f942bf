//! An existing table that is used unchanged, and the source of its keys.

use cql::tokens::{TokenKind, tokens};

/// Default number of keys that cassay samples from a table.
pub const KEYS_DEFAULT: u64 = 10_000;
/// Default maximum rate at which cassay reads partitions to sample keys, in partitions per second.
pub const KEYS_PER_S_DEFAULT: u64 = 1_000;
/// Maximum number of keys. The number is limited because the keys are kept with the run.
pub const KEYS_MAX: u64 = 200_000;

/// An existing table that is used unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnTable {
    /// Name of the table as written in the study, in the form `keyspace.table`.
    pub name: String,
    /// Number of partitions that cassay samples from the ring. Unused if a file contains the keys.
    pub keys: u64,
    /// Maximum rate at which cassay reads partitions to sample keys, in partitions per second.
    pub keys_per_s: u64,
    /// CSV file with the keys, in the folder of the study or below it. `None` if the keys are
    /// sampled.
    pub file: Option<String>,
    /// Pairs of a column of the table and the column of the file that contains its values.
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
    /// Returns the names of the keyspace and the table. Each of them is a CQL name, in lower case
    /// unless it is quoted. `None` if the text does not consist of two names with a dot between
    /// them.
    pub fn names(&self) -> Option<(String, String)> {
        let tokens = tokens(&self.name).ok()?;
        let [keyspace, dot, table] = &tokens[..] else {
            return None;
        };
        let is_name = |kind: TokenKind| matches!(kind, TokenKind::Word | TokenKind::Quoted);
        let is_dot = dot.kind == TokenKind::Symbol && dot.text == ".";
        (is_dot && is_name(keyspace.kind) && is_name(table.kind))
            .then(|| (keyspace.text.clone(), table.text.clone()))
    }

    /// Returns the name of the file in which a run keeps the workload that was made from the table.
    pub fn definition_file(&self) -> String {
        format!("{}.workload.yaml", self.file_stem())
    }

    /// Returns the name of the file in which a run keeps the keys that were sampled from the ring.
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
