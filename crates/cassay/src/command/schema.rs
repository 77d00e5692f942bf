//! `cassay schema`: prints the JSON Schemas of a study and of the files that cassay writes.

use crate::args::{Common, SchemaArgs, SchemaOf};
use crate::exit::Exit;
use crate::terminal;
use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Schema of `findings.json`, which `cargo xtask docs` generates from the records.
pub const FINDINGS: &str = include_str!("../../../../docs/schema/findings.schema.json");

/// Schema of `plan.json`, which `cargo xtask docs` generates from the records.
const PLAN: &str = include_str!("../../../../docs/schema/plan.schema.json");

/// Schema of a line of `intervals.ndjson`, which `cargo xtask docs` generates from the records.
pub const INTERVAL: &str = include_str!("../../../../docs/schema/interval.schema.json");

/// Prints or writes one schema.
pub fn run(args: &SchemaArgs, common: &Common) -> Result<Exit> {
    let schema = match args.of {
        SchemaOf::Study => study::schema::study(),
        SchemaOf::Findings => parsed(FINDINGS)?,
        SchemaOf::Plan => parsed(PLAN)?,
        SchemaOf::Interval => parsed(INTERVAL)?,
    };
    let Some(path) = &args.to else {
        terminal::json(&schema);
        return Ok(Exit::Done);
    };
    store::write_output(path, format!("{schema:#}\n").as_bytes())?;
    if common.json {
        terminal::json(&json!({"schema": path}));
    }
    terminal::say(&format!(
        "{} is the schema. In a study: # yaml-language-server: $schema={}",
        path.display(),
        path.display()
    ));
    Ok(Exit::Done)
}

/// Parses a schema that the program contains.
pub fn parsed(text: &str) -> Result<Value> {
    serde_json::from_str(text).context("read a schema of this program")
}
