//! Profiles that do not define their table, because the table already exists. This module
//! determines which table to query from the cluster, and completes the profile with the answer.
//!
//! The tool queries the cluster in each run. In cassay, the answer becomes a part of the profile
//! that is kept with the run. The run can then be repeated, even on another cluster.

use super::command::{Command, Task};
use super::{access, profile};
use crate::import_result::{Connection, ReadFile};
use yaml::{Diagnostic, Diagnostics, Raw, SourceText};

/// A table that is defined only in the cluster, and not in the profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndefinedTable {
    /// Name of the keyspace, in the form in which the tool interprets it.
    pub keyspace: String,
    pub table: String,
    /// True if the profile defines user-defined types of its own.
    has_types: bool,
}

impl UndefinedTable {
    /// Returns the table of a profile that does not define its table. Returns `None` if the profile
    /// defines its table, or if the text is not a profile.
    pub fn find(profile: &str) -> Option<UndefinedTable> {
        let mut ignored = Diagnostics::new(vec![SourceText {
            name: String::new(),
            text: profile.to_owned(),
        }]);
        let root = yaml::parse(0, profile, profile::LIMITS, &mut ignored)?;
        let text = |key: &str| Some(root.find(key)?.text()?.to_owned());
        let has = |key: &str| root.find(key).is_some_and(|node| !matches!(node.raw, Raw::Null));
        if has(profile::DEFINITION) {
            return None;
        }
        Some(UndefinedTable {
            keyspace: text("keyspace")?.to_lowercase(),
            table: text("table")?,
            has_types: has("type_definitions"),
        })
    }

    /// Returns true if `mistake` states that the profile lacks the definition of its table.
    pub fn is_said_by(mistake: &Diagnostic) -> bool {
        mistake.message == profile::missing(profile::DEFINITION)
    }

    /// Returns the profile, completed with the statements that `DESCRIBE` returned. `from` names
    /// the source of the statements.
    pub fn define(&self, profile: &str, table: &str, types: &[String], from: &str) -> String {
        // The table already exists on this cluster. A run on another cluster must create it, so the
        // statements have `IF NOT EXISTS`.
        let block = |indent: &str, create: &str, cql: &str| {
            let cql = cql.replacen(create, &format!("{create} IF NOT EXISTS"), 1);
            let lines = cql.lines().map(|line| format!("{indent}{line}\n"));
            lines.collect::<String>()
        };
        let mut out = format!(
            "{}\n\n# Not in the profile; read from {from} when it was run.\n\
             table_definition: |\n{}",
            profile.trim_end(),
            block("  ", "CREATE TABLE", table)
        );
        if !self.has_types && !types.is_empty() {
            out += "type_definitions:\n";
            for cql in types {
                out += &format!("  - |\n{}", block("    ", "CREATE TYPE", cql));
            }
        }
        out
    }
}

/// Returns the connection settings of a command line. Returns `None` if the command line has
/// mistakes.
pub fn connection(words: &[String], read: ReadFile) -> Option<Connection> {
    let command = Command::parse(words).ok()?;
    let Task::Run(run) = &command.task else {
        return None;
    };
    let mut mistakes = command.line.diagnostics();
    let connection = access::connection(&run.options.connect, read, &mut mistakes);
    mistakes.list.is_empty().then_some(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = "keyspace: KS\ntable: t\ncolumnspec:\n  - {name: k, size: fixed(8)}\n\
                           queries:\n  q: {cql: 'select * from t where k = ?', fields: samerow}\n";

    #[test]
    fn only_a_profile_without_its_tables_definition_is_undefined() {
        let undefined =
            UndefinedTable::find(PROFILE).expect("the profile omits the table definition");
        assert_eq!(
            (undefined.keyspace.as_str(), undefined.table.as_str()),
            ("ks", "t")
        );
        for other in [
            "keyspace: ks\ntable: t\ntable_definition: CREATE TABLE t (k int PRIMARY KEY)\n",
            "columnspec: []\n",
            "- a\n",
            "a: [",
            "",
        ] {
            assert_eq!(UndefinedTable::find(other), None, "{other}");
        }
    }

    #[test]
    fn a_profile_with_the_clusters_answer_is_whole() {
        let undefined =
            UndefinedTable::find(PROFILE).expect("the profile omits the table definition");
        let table = "CREATE TABLE ks.t (\n    k text PRIMARY KEY,\n    p frozen<pair>\n) WITH \
                     comment = 'a: b'";
        let types = ["CREATE TYPE ks.pair (\n    a int,\n    b int\n);".to_owned()];
        let whole = undefined.define(PROFILE, table, &types, "127.0.0.1:9042");
        assert_eq!(UndefinedTable::find(&whole), None);
        let words = [
            "user".to_owned(),
            "profile=p".to_owned(),
            "ops(insert=1,q=1)".to_owned(),
        ];
        let words = [&words[..], &["n=10".to_owned()]].concat();
        let imported = crate::stress::import(&words, 1, &|_| Ok(whole.clone()));
        let step = imported.expect("it can be run").steps.remove(0);
        let schema = step.before.join("\n");
        assert!(
            schema.contains("CREATE TYPE IF NOT") && schema.contains("CREATE TABLE IF NOT"),
            "{schema}"
        );
    }
}
