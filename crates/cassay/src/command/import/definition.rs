//! Profiles of cassandra-stress that leave their table to the cluster: its own definition is read
//! and put into the profile that is kept with the run.

use super::{Secret, attach_text};
use crate::command::dirs;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use study::inputs::Inputs;
use study::resolve;
use study::run::{Described, describe};
use study::settings::Overrides;
use workload::Connection;
use workload::stress::{Undefined, connection};

/// Profiles that are whole now, and what is to be said of them.
#[derive(Debug, Default)]
pub(super) struct Defined {
    /// By the names that the command line gives them.
    pub profiles: BTreeMap<String, String>,
    /// A sentence each.
    pub notes: Vec<String>,
}

/// Those of the files that were `read` which have no definition of their table, with the cluster's.
/// What cannot be had is left as it is: then the mistake is said where it stands.
///
/// # Errors
/// The cluster that the words name cannot be reached.
pub(super) fn of_cluster(
    words: &[String],
    read: &BTreeMap<String, String>,
    overrides: &Overrides,
) -> Result<Defined> {
    let inputs = Inputs::new(overrides);
    let asks = connection(words, &|name| inputs.read(name));
    let mut all = Defined::default();
    for (name, text) in read {
        let (Some(undefined), Some(asks)) = (Undefined::of(text), &asks) else {
            continue;
        };
        let found = described(name, &undefined, asks, overrides)?;
        if let Some(Described { table, types, from }) = found {
            all.notes.push(format!(
                "{name} has no table_definition; that of {}.{} was read from {from} and is kept \
                 with the run",
                undefined.keyspace, undefined.table,
            ));
            let whole = undefined.define(text, &table, &types, &from);
            all.profiles.insert(name.clone(), whole);
        }
    }
    Ok(all)
}

/// What the cluster says of a profile's table; `None` if it has nothing to say.
fn described(
    name: &str,
    undefined: &Undefined,
    asks: &Connection,
    overrides: &Overrides,
) -> Result<Option<Described>> {
    let secret = Secret::of(asks)?;
    // The way in is that of a study, so that it is read by the same rules.
    let study = format!(
        "study: definition\nquestion: What is the table?\ntarget: {{attach: {{{}}}}}\n\
         workload: {{use: kv}}\ndata: {{load: {{operations: 1}}}}\n\
         procedure: {{fixed: {{threads: 1}}}}\n",
        attach_text(asks, &secret)
    );
    let target = Overrides {
        target: overrides.target.clone(),
        secrets: secret.given(),
        ..Overrides::default()
    };
    let Ok(study) = resolve::resolve("definition", &study, &target) else {
        return Ok(None);
    };
    let Some(variant) = study.variants.first() else {
        return Ok(None);
    };
    let (keyspace, table) = (&undefined.keyspace, &undefined.table);
    let target = &variant.settings.target;
    let found = describe(target, &dirs()?, keyspace, table, &mut |_| {});
    found.with_context(|| {
        format!("read the definition of {keyspace}.{table}, which {name} leaves out")
    })
}
