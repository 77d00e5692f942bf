//! `cassay workload list|show`: the named workloads.

use crate::args::{Common, WorkloadCommand};
use crate::exit::Exit;
use crate::terminal;
use anyhow::{Result, bail};
use serde_json::{Value, json};
use study::work::Named;

/// Does the command.
pub fn run(command: &WorkloadCommand, common: &Common) -> Result<Exit> {
    let all = study::work::names();
    match command {
        WorkloadCommand::List if common.json => terminal::json(&all.iter().map(to_json).collect()),
        WorkloadCommand::List => {
            let lines = all
                .iter()
                .map(|named| format!("{:<12} {}\n", named.name, named.what));
            terminal::data(&lines.collect::<String>());
        }
        WorkloadCommand::Show { name } => {
            let Some(named) = all.iter().find(|named| named.name == name) else {
                let names: Vec<_> = all.iter().map(|named| named.name).collect();
                bail!(
                    "no workload is named {name}; there are {}",
                    names.join(", ")
                );
            };
            if common.json {
                terminal::json(&to_json(named));
            } else {
                terminal::data(&text(named));
            }
        }
    }
    Ok(Exit::Done)
}

fn text(named: &Named) -> String {
    let mix: Vec<_> = named
        .mix
        .iter()
        .map(|(kind, weight)| format!("{kind}: {weight}"))
        .collect();
    let mut text = format!(
        "{}\n  {}\n  kinds {}, default mix {{{}}}, keyspace {}\n",
        named.name,
        named.what,
        named.kinds.join(", "),
        mix.join(", "),
        named.keyspace
    );
    for (name, default, meaning) in named.params {
        text += &format!("  {name} ({default}): {meaning}\n");
    }
    text
}

fn to_json(named: &Named) -> Value {
    let params = named.params.iter().map(
        |(name, default, meaning)| json!({"name": name, "default": default, "meaning": meaning}),
    );
    json!({
        "name": named.name,
        "what": named.what,
        "keyspace": named.keyspace,
        "kinds": named.kinds,
        "mix": named.mix.iter().map(|(kind, weight)| json!({"kind": kind, "weight": weight}))
            .collect::<Vec<_>>(),
        "params": params.collect::<Vec<_>>(),
    })
}
