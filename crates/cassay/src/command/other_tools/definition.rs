//! Handles cassandra-stress profiles without a table definition. This module reads the definition
//! from the cluster, and inserts it into the copy of the profile that stays with the run.

use super::{Secret, attach_text};
use crate::command::{dirs, target_from_args};
use anyhow::{Context, Result};
use engine::{Definition, TableDescription, describe};
use imports::Connection;
use imports::stress::{UndefinedTable, connection};
use std::collections::BTreeMap;
use study::inputs::Inputs;
use study::settings::{GrantedPermissions, Overrides};
use yaml::Diagnostics;

#[derive(Debug, Default)]
pub(super) struct CompletedProfiles {
    /// Profiles, by their names on the command line.
    pub profiles: BTreeMap<String, String>,
    /// Notes on the completed profiles, one sentence each.
    pub notes: Vec<String>,
    /// Profiles whose table the cluster does not define, with the cluster's answer.
    pub absent: BTreeMap<String, String>,
}

impl CompletedProfiles {
    /// Adds the cluster's answer to the mistakes about a missing definition.
    pub(super) fn add_to(&self, mut mistakes: Diagnostics) -> Diagnostics {
        for mistake in &mut mistakes.list {
            let source = mistakes.sources.get(mistake.place.source);
            let answer = source.and_then(|source| self.absent.get(&source.name));
            if let Some(answer) = answer
                && UndefinedTable::is_said_by(mistake)
            {
                mistake.hint = Some(format!(
                    "{answer}: add the table's CREATE TABLE to the profile, or create the table \
                     in the cluster"
                ));
            }
        }
        mistakes
    }
}

/// Adds the cluster's table definition to each file in `read` that lacks one. If the cluster has no
/// definition, the file stays unchanged, and the import reports the mistake in the file.
///
/// # Errors
/// The cluster that the words name cannot be reached.
pub(super) fn define_from_cluster(
    words: &[String],
    read: &BTreeMap<String, String>,
    overrides: &Overrides,
) -> Result<CompletedProfiles> {
    let inputs = Inputs::new(overrides);
    let asks = connection(words, &|name| inputs.read(name));
    let mut all = CompletedProfiles::default();
    for (name, text) in read {
        let (Some(undefined), Some(asks)) = (UndefinedTable::find(text), &asks) else {
            continue;
        };
        match described(name, &undefined, asks, overrides)? {
            Definition::Unasked => {}
            Definition::Absent(answer) => {
                all.absent.insert(name.clone(), answer);
            }
            Definition::Found(TableDescription { table, types, from }) => {
                all.notes.push(format!(
                    "{name} has no table_definition, so cassay read the definition of {}.{} from \
                     {from}. The run stores this definition",
                    undefined.keyspace, undefined.table,
                ));
                let whole = undefined.define(text, &table, &types, &from);
                all.profiles.insert(name.clone(), whole);
            }
        }
    }
    Ok(all)
}

fn described(
    name: &str,
    undefined: &UndefinedTable,
    asks: &Connection,
    overrides: &Overrides,
) -> Result<Definition> {
    let secret = Secret::for_connection(asks)?;
    let laid = Overrides {
        target: overrides.target.clone(),
        granted: GrantedPermissions {
            secrets: secret.given(),
            ..GrantedPermissions::default()
        },
        ..Overrides::default()
    };
    let written = format!("{{attach: {{{}}}}}", attach_text(asks, &secret));
    let Ok(target) = target_from_args::target(&written, &laid) else {
        return Ok(Definition::Unasked);
    };
    let (keyspace, table) = (&undefined.keyspace, &undefined.table);
    let found = describe(&target, &dirs()?, keyspace, table, &mut |_| {});
    found.with_context(|| format!("read the definition of {keyspace}.{table}, which {name} omits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_that_the_cluster_does_not_have_was_asked_for() {
        let words = ["user", "profile=p.yaml", "ops(insert=1)", "n=1"].map(str::to_owned);
        let profile = |_: &str| Ok("keyspace: k\ntable: t\ncolumnspec: []\n".to_owned());
        let mistakes = imports::stress::import(&words, 1, &profile).expect_err("undefined");
        let mut defined = CompletedProfiles::default();
        assert_eq!(defined.add_to(mistakes.clone()), mistakes);
        let answer = "10.0.0.1 was asked for table k.t and has none".to_owned();
        defined.absent.insert("p.yaml".to_owned(), answer);
        let told = defined.add_to(mistakes).to_string();
        assert!(told.contains("10.0.0.1 was asked"), "{told}");
    }
}
