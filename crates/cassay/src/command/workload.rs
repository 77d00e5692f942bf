//! `cassay workload list|show|check|sample`: the named workloads, and files of one's own.

use crate::args::{Common, WorkloadCommand};
use crate::exit::Exit;
use crate::{diagnostics, terminal};
use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use study::work::Named;
use workload::{Program, Replication, Sample, Spec, Stage};
use yaml::Diagnostics;

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
        WorkloadCommand::Check { file } => return check(file, common),
        WorkloadCommand::Sample { name, rows, seed } => {
            return print_samples(name, *rows, *seed, common);
        }
    }
    Ok(Exit::Done)
}

/// Compiles a workload file, and says what it would do.
fn check(file: &Path, common: &Common) -> Result<Exit> {
    let program = match program(&file.display().to_string(), 1)? {
        Ok(program) => Arc::new(program),
        Err(mistakes) => return Ok(show(&mistakes, common)),
    };
    let kinds = program.kinds();
    let load = load_copies(&program);
    let name = |number: usize, statement: &workload::Statement| match number >= load {
        true => "load",
        false => kinds[usize::from(statement.kind)].name.as_str(),
    };
    let statement = |(number, statement): (usize, &workload::Statement)| {
        json!({
            "kind": name(number, statement),
            "cql": statement.cql,
            "consistency": statement.consistency.to_string(),
            "verifies": statement.verifies,
        })
    };
    let numbered = || program.statements().iter().enumerate();
    let statements: Vec<Value> = numbered().map(statement).collect();
    let schema = program.schema();
    if common.json {
        terminal::json(&json!({
            "keyspace": program.keyspace(),
            "tables": program.tables(),
            "schema": {"keyspace": schema.create_keyspace, "tables": schema.create_tables},
            "statements": statements,
        }));
        return Ok(Exit::Done);
    }
    let mut text = format!("{}\n", schema.create_keyspace);
    for table in &schema.create_tables {
        text += &format!("{table}\n");
    }
    for (number, statement) in numbered() {
        let verified = if statement.verifies { ", verified" } else { "" };
        let kind = name(number, statement);
        let level = statement.consistency;
        text += &format!("{kind}, {level}{verified}: {}\n", statement.cql);
    }
    terminal::data(&text);
    Ok(Exit::Done)
}

/// Where the statements begin that only the load stage has: it has copies of several that follow on
/// each other for each row.
fn load_copies(program: &Arc<Program>) -> usize {
    let first = usize::from(program.generator(Stage::Load).begin(0).statement);
    let statements = program.statements();
    let kind = statements[first].kind;
    match statements[..first].iter().any(|other| other.kind == kind) {
        true => first,
        false => statements.len(),
    }
}

/// The first operations of the load stage, as CQL.
fn print_samples(name: &str, rows: u64, seed: u64, common: &Common) -> Result<Exit> {
    let program = match program(name, seed)? {
        Ok(program) => Arc::new(program),
        Err(mistakes) => return Ok(show(&mistakes, common)),
    };
    let samples = workload::sample(&program, Stage::Load, 0, rows);
    if common.json {
        let one = |sample: &Sample| {
            let statements = sample.statements.iter();
            let statements = statements.map(|(cql, values)| json!({"cql": cql, "values": values}));
            json!({
                "number": sample.number,
                "kind": sample.kind,
                "statements": statements.collect::<Vec<_>>(),
            })
        };
        terminal::json(&samples.iter().map(one).collect());
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for sample in &samples {
        text += &format!("{} {}\n", sample.number, sample.kind);
        for (cql, values) in &sample.statements {
            text += &format!("  {cql}\n");
            for (column, value) in values {
                text += &format!("    {column:<16} {value}\n");
            }
        }
    }
    terminal::data(&text);
    Ok(Exit::Done)
}

/// The program of a named workload with its defaults, or of a workload file.
fn program(name: &str, seed: u64) -> Result<Result<Program, Diagnostics>> {
    let spec = Spec {
        use_: name.to_owned(),
        keyspace: None,
        replication: Replication::Simple { factor: 1 },
        mix: Vec::new(),
        params: BTreeMap::new(),
        seed,
        rows: study::settings::ROWS_UNLOADED,
        epoch: 0,
    };
    if study::work::names().iter().any(|named| named.name == name) {
        let compiled = workload::compile(&spec);
        return compiled.map(Ok).map_err(|problems| {
            let messages: Vec<String> = problems.into_iter().map(|p| p.message).collect();
            anyhow!("{}", messages.join("; "))
        });
    }
    let text = std::fs::read_to_string(name).with_context(|| {
        format!("{name} is neither a named workload nor a file that can be read")
    })?;
    Ok(workload::compile_file(name, &text, &spec))
}

fn show(mistakes: &Diagnostics, common: &Common) -> Exit {
    if common.json {
        terminal::json(&diagnostics::to_json(mistakes));
    }
    diagnostics::say(mistakes);
    Exit::Usage
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
