//! `cassay workload list|show|check|twin|recorded|sample`: works with named workloads, workload
//! files, existing tables and recorded traffic.

mod check;
mod recorded_traffic;
mod twin;

use crate::args::{Common, WorkloadCommand};
use crate::exit::Exit;
use crate::{study_errors, terminal};
use anyhow::{Context, Result, anyhow, bail};
use foreign::FileKind;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use study::compile_workload::NamedWorkload;
use study::settings::Folder;
use workload::{Program, Sample, Spec, Stage};
use yaml::Diagnostics;

/// Runs `list`, `show`, `check`, `twin`, `recorded` or `sample`.
pub fn run(command: &WorkloadCommand, common: &Common) -> Result<Exit> {
    let all = study::compile_workload::names();
    match command {
        WorkloadCommand::List if common.json => terminal::json(&all.iter().map(to_json).collect()),
        WorkloadCommand::List => {
            let lines = all.iter().map(|named| format!("{:<12} {}\n", named.name, named.what));
            terminal::data(&lines.collect::<String>());
        }
        WorkloadCommand::Show { name } => {
            let Some(named) = all.iter().find(|named| named.name == name) else {
                let names: Vec<_> = all.iter().map(|named| named.name).collect();
                bail!(
                    "{name} is not a named workload; use one of {}",
                    names.join(", ")
                );
            };
            if common.json {
                terminal::json(&to_json(named));
            } else {
                terminal::data(&text(named));
            }
        }
        WorkloadCommand::Check(args) => return check::run(args, common),
        WorkloadCommand::Twin(args) => return twin::run(args, common),
        WorkloadCommand::Recorded(args) => return recorded_traffic::run(args, common),
        WorkloadCommand::Sample { name, rows, seed } => {
            return print_samples(name, *rows, *seed, common);
        }
    }
    Ok(Exit::Done)
}

fn print_samples(name: &str, rows: u64, seed: u64, common: &Common) -> Result<Exit> {
    let program = match program(name, seed)? {
        Ok(program) => Arc::new(program),
        Err(mistakes) => return Ok(study_errors::refuse(&mistakes, common.json)),
    };
    let samples = workload::sample(&program, Stage::Load, 0, rows);
    if common.json {
        terminal::json(&samples_json(&samples));
        return Ok(Exit::Done);
    }
    terminal::data(&samples_text(&samples));
    Ok(Exit::Done)
}

pub fn samples_json(samples: &[Sample]) -> serde_json::Value {
    let one = |sample: &Sample| {
        let statements = sample
            .statements
            .iter()
            .map(|(cql, values)| json!({"cql": cql, "values": values}));
        json!({
            "number": sample.number,
            "kind": sample.kind,
            "statements": statements.collect::<Vec<_>>(),
        })
    };
    samples.iter().map(one).collect()
}

pub fn samples_text(samples: &[Sample]) -> String {
    let mut text = String::new();
    for sample in samples {
        text += &format!("{} {}\n", sample.number, sample.kind);
        for (cql, values) in &sample.statements {
            text += &format!("  {cql}\n");
            for (column, value) in values {
                text += &format!("    {column:<16} {value}\n");
            }
        }
    }
    text
}

/// Returns the program of a named workload with its defaults, or of a workload file.
fn program(name: &str, seed: u64) -> Result<Result<Program, Diagnostics>> {
    let spec = spec(name, seed);
    if study::compile_workload::names().iter().any(|named| named.name == name) {
        let compiled = workload::compile(&spec);
        return compiled.map(Ok).map_err(|problems| {
            let messages: Vec<String> = problems.into_iter().map(|p| p.message).collect();
            anyhow!("{}", messages.join("; "))
        });
    }
    let text = foreign::text(FileKind::Workload, name)
        .with_context(|| format!("{name} is neither a named workload nor a readable file"))?;
    Ok(workload::compile_file(name, &text, &spec, &beside(name)))
}

/// Returns a reader for the files that a workload file names. These files are in the same folder as
/// the workload file.
fn beside(name: &str) -> impl Fn(&str) -> Result<String, String> {
    let folder = Folder {
        path: Path::new(name).parent().map(Path::to_owned).unwrap_or_default(),
        open: true,
    };
    move |file| study::inputs::read_below(&folder, FileKind::Workload, file)
}

/// Returns the parameters of a workload that is used without a study.
fn spec(name: &str, seed: u64) -> Spec {
    Spec::new(name, study::settings::ROWS_UNLOADED, seed)
}

fn text(named: &NamedWorkload) -> String {
    let mix: Vec<_> = named.mix.iter().map(|(kind, weight)| format!("{kind}: {weight}")).collect();
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

fn to_json(named: &NamedWorkload) -> Value {
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
