//! Profiles of cassandra-stress that leave their table to the cluster: its own definition is read
//! and put into the profile that is kept with the run.

use super::{Secret, attach_text};
use crate::command::dirs;
use crate::terminal;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use study::inputs::Inputs;
use study::resolve;
use study::run::describe;
use study::settings::Overrides;
use workload::Connection;
use workload::stress::{Undefined, connection};

/// The profiles of a command line that have no definition of their table, with the cluster's. What
/// cannot be had is left as it is: then the mistake is said where it stands.
///
/// # Errors
/// The cluster that the words name cannot be reached.
pub(super) fn of_cluster(
    words: &[String],
    overrides: &Overrides,
) -> Result<BTreeMap<String, String>> {
    let inputs = Inputs::new(overrides);
    let seed = overrides.seed.unwrap_or_default();
    // For the files that it reads; mistakes are said when it is read with all that can be had.
    let _ = workload::stress::import(words, seed, &|name| inputs.read(name));
    let asks = connection(words, &|name| inputs.read(name));
    let mut whole = BTreeMap::new();
    for (name, text) in inputs.into_read() {
        let (Some(undefined), Some(asks)) = (Undefined::of(&text), &asks) else {
            continue;
        };
        if let Some(text) = defined(&name, &text, &undefined, asks, overrides)? {
            whole.insert(name, text);
        }
    }
    Ok(whole)
}

/// A profile with the cluster's definition; `None` if the cluster has none to give.
fn defined(
    name: &str,
    text: &str,
    undefined: &Undefined,
    asks: &Connection,
    overrides: &Overrides,
) -> Result<Option<String>> {
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
    let found = found.with_context(|| {
        format!("read the definition of {keyspace}.{table}, which {name} leaves out")
    })?;
    Ok(found.map(|found| {
        terminal::say(&format!(
            "note: {name} has no table_definition; that of {keyspace}.{table} was read from {} and \
             is kept with the run",
            found.from
        ));
        undefined.define(text, &found.table, &found.types, &found.from)
    }))
}
