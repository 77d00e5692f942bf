//! `cassay workload list|show`: the named workloads.

use crate::args::{WorkloadAction, WorkloadArguments};
use crate::exit::Exit;
use crate::speech;
use anyhow::{Result, bail};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use workload::{Replication, Spec};

/// Lists them, or shows one.
pub fn workload(arguments: &WorkloadArguments, json: bool) -> Result<Exit> {
    match &arguments.action {
        WorkloadAction::List if json => {
            let all: Vec<Value> = workload::names()
                .iter()
                .map(|named| json!(named.name))
                .collect();
            speech::json(&json!(all));
        }
        WorkloadAction::List => {
            let mut out = String::new();
            for named in workload::names() {
                let _ = writeln!(out, "{:<10} {}", named.name, named.what);
            }
            speech::data(&out);
        }
        WorkloadAction::Show { name } => show(name, json)?,
    }
    Ok(Exit::Valid)
}

fn show(name: &str, json: bool) -> Result<()> {
    let Some(named) = workload::names().iter().find(|named| named.name == name) else {
        let known: Vec<&str> = workload::names().iter().map(|named| named.name).collect();
        bail!(
            "there is no workload {name:?}; there are: {}",
            known.join(", ")
        );
    };
    let program = workload::compile(&defaults(name)).map_err(|problems| {
        anyhow::anyhow!("the defaults of {name} do not compile: {problems:?}")
    })?;
    let tables = &program.schema().create_tables;
    let statements: Vec<&str> = program
        .statements()
        .iter()
        .map(|s| s.cql.as_str())
        .collect();
    if json {
        let params: Vec<Value> = named
            .params
            .iter()
            .map(|(name, default, meaning)| {
                json!({ "name": name, "default": default, "meaning": meaning })
            })
            .collect();
        speech::json(&json!({
            "name": named.name, "what": named.what, "keyspace": named.keyspace,
            "kinds": named.kinds, "params": params, "tables": tables, "statements": statements,
        }));
        return Ok(());
    }
    let mut out = format!(
        "{}: {}\n\nkinds: {}\n",
        named.name,
        named.what,
        named.kinds.join(", ")
    );
    let _ = writeln!(out, "keyspace: {}\n\nparameters:", named.keyspace);
    for (name, default, meaning) in named.params {
        let _ = writeln!(out, "  {name:<16} {default:<12} {meaning}");
    }
    for text in tables.iter().map(String::as_str).chain(statements) {
        let _ = writeln!(out, "\n{text}");
    }
    speech::data(&out);
    Ok(())
}

/// A workload with all its defaults.
fn defaults(name: &str) -> Spec {
    Spec {
        use_: name.to_owned(),
        keyspace: None,
        replication: Replication::Simple { factor: 1 },
        mix: Vec::new(),
        consistency: Vec::new(),
        params: BTreeMap::new(),
        seed: 1,
        rows: 1,
        epoch: 0,
    }
}
