//! `cassay workload check`: shows the effects of a workload file, and the server's answer to the
//! file.

use super::{beside, program, spec};
use crate::args::{CheckArgs, Common};
use crate::command::{dirs, target_from_args};
use crate::exit::Exit;
use crate::{interrupt, study_errors, terminal};
use anyhow::{Context, Result, bail};
use engine::PrepareResult;
use foreign::FileKind;
use serde_json::{Value, json};
use std::sync::Arc;
use workload::{Program, Stage};
use yaml::Diagnostics;

/// Compiles a workload file, prepares it on the target if the arguments name one, and prints the
/// effects of the file.
pub fn run(args: &CheckArgs, common: &Common) -> Result<Exit> {
    let name = args.file.display().to_string();
    let Some(target) = &args.target else {
        return match program(&name, 1)? {
            Ok(program) => Ok(tell(&Arc::new(program), None, common)),
            Err(mistakes) => Ok(study_errors::refuse(&mistakes, common.json)),
        };
    };
    let prepared = match prepared(args, &name, target)? {
        Ok(prepared) => prepared,
        Err(mistakes) => return Ok(study_errors::refuse(&mistakes, common.json)),
    };
    let (program, prepared) = prepared;
    if !prepared.mistakes.is_empty() {
        return Ok(study_errors::refuse(&prepared.mistakes, common.json));
    }
    if prepared.is_interrupted {
        terminal::say("interrupted: cassay did not finish the check");
        return Ok(Exit::Interrupted);
    }
    Ok(tell(&program, Some(&prepared), common))
}

fn prepared(
    args: &CheckArgs,
    name: &str,
    target: &str,
) -> Result<Result<(Arc<Program>, PrepareResult), Diagnostics>> {
    if study::compile_workload::names().iter().any(|named| named.name == name) {
        bail!("{name} is a named workload, but --target requires a workload file");
    }
    let target = match target_from_args::parse_target(target, &args.set, &args.secret) {
        Ok(target) => target,
        Err(mistakes) => return Ok(Err(mistakes)),
    };
    let text = foreign::text(FileKind::Workload, name).with_context(|| format!("read {name}"))?;
    let checked = match workload::check_file(name, &text, &spec(name, 1), &beside(name)) {
        Ok(checked) => checked,
        Err(mistakes) => return Ok(Err(mistakes)),
    };
    let stop = interrupt::flag()?;
    host::process::heed(Arc::clone(&stop));
    let prepared = engine::prepare(&target, &dirs()?, &checked, &stop, &mut |text| {
        terminal::say(text);
    })?;
    Ok(Ok((Arc::new(checked.into_program()), prepared)))
}

fn tell(program: &Arc<Program>, prepared: Option<&PrepareResult>, common: &Common) -> Exit {
    if common.json {
        terminal::json(&to_json(program, prepared))
    } else {
        terminal::data(&text(program))
    }
    if let Some(prepared) = prepared {
        let place = if prepared.is_scratch {
            format!(
                "the keyspace {}, which cassay drops again",
                prepared.keyspace
            )
        } else {
            format!("the existing keyspace {}", prepared.keyspace)
        };
        terminal::say(&format!(
            "{} (Cassandra {}) prepared all {} statements in {place}",
            prepared.node, prepared.version, prepared.statements_count
        ));
    }
    Exit::Done
}

fn to_json(program: &Arc<Program>, prepared: Option<&PrepareResult>) -> Value {
    let statement = |(number, statement): (usize, &workload::Statement)| {
        json!({
            "kind": kind(program, number),
            "cql": statement.cql,
            "consistency": statement.consistency.to_string(),
            "verifies": statement.verifies,
        })
    };
    let statements: Vec<Value> = program.statements().iter().enumerate().map(statement).collect();
    let schema = program.schema();
    let mut value = json!({
        "keyspace": program.keyspace(),
        "tables": program.tables(),
        "schema": {"keyspace": schema.create_keyspace, "tables": schema.create_tables},
        "statements": statements,
    });
    if let Some(prepared) = prepared {
        value["prepared"] = json!({
            "node": prepared.node,
            "cassandra": prepared.version,
            "keyspace": prepared.keyspace,
            "scratch": prepared.is_scratch,
            "statements": prepared.statements_count,
        });
    }
    value
}

fn text(program: &Arc<Program>) -> String {
    let schema = program.schema();
    let mut text = format!("{}\n", schema.create_keyspace);
    for table in &schema.create_tables {
        text += &format!("{table}\n");
    }
    for (number, statement) in program.statements().iter().enumerate() {
        let verified = if statement.verifies { ", verified" } else { "" };
        let (kind, level) = (kind(program, number), statement.consistency);
        text += &format!("{kind}, {level}{verified}: {}\n", statement.cql);
    }
    text
}

/// Returns the kind of a statement. Statements that exist only in the load stage have the kind
/// `load`. The load stage runs several statements in sequence for each row, and has separate copies
/// of these statements.
fn kind(program: &Arc<Program>, number: usize) -> &str {
    let first = usize::from(program.generator(Stage::Load).begin(0).statement);
    let statements = program.statements();
    let kind = statements[first].kind;
    let has_copies = statements[..first].iter().any(|other| other.kind == kind);
    if has_copies && number >= first {
        "load"
    } else {
        &program.kinds()[usize::from(statements[number].kind)].name
    }
}
