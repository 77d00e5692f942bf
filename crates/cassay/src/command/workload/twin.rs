//! `cassay workload twin`: writes a workload file that creates a table like an existing one.

use crate::args::{Common, TwinArgs};
use crate::command::{dirs, target_from_args};
use crate::exit::Exit;
use crate::{interrupt, study_errors, terminal};
use anyhow::{Context, Result, anyhow, bail};
use engine::own_table::TableReader;
use serde_json::json;
use std::sync::Arc;
use study::settings::OwnTable;
use workload::Twin;

/// Reads a table and writes the workload file of its twin.
pub fn run(args: &TwinArgs, common: &Common) -> Result<Exit> {
    if let Some(to) = args.to.as_ref().filter(|to| to.exists()) {
        bail!(
            "{} already exists\nhint: name another file, or remove it first",
            to.display()
        );
    }
    let target = match target_from_args::parse_target(&args.target, &args.set, &args.secret) {
        Ok(target) => target,
        Err(mistakes) => return Ok(study_errors::refuse(&mistakes, common.json)),
    };
    let table = OwnTable {
        name: args.table.clone(),
        keys: args.keys,
        keys_per_s: args.rate,
        ..OwnTable::default()
    };
    let stop = interrupt::flag()?;
    host::process::heed(Arc::clone(&stop));
    let dirs = dirs()?;
    let reader = TableReader {
        dirs: &dirs,
        seed: 1,
        stop: &stop,
    };
    let sample = reader.read(&target, &table, &mut |text| terminal::say(text))?;
    let twin = sample.twin().map_err(|why| anyhow!("{why}"))?;
    write(args, &twin, common)?;
    if !sample.checked.is_empty() {
        terminal::say(&format!(
            "note: {} has CHECK constraints on {}, which the twin does not have",
            args.table,
            sample.checked.join(", ")
        ));
    }
    Ok(Exit::Done)
}

fn write(args: &TwinArgs, twin: &Twin, common: &Common) -> Result<()> {
    if let Some(to) = &args.to {
        std::fs::write(to, &twin.text).with_context(|| format!("write {}", to.display()))?;
    }
    if common.json {
        terminal::json(&json!({
            "file": args.to,
            "workload": twin.text,
            "row_bytes": pair(twin.row_bytes),
            "compressed_share": pair(twin.compressed),
            "partition_rows": pair(twin.partition_rows),
            "columns_without_values": twin.without,
        }));
    } else if args.to.is_none() {
        terminal::data(&twin.text);
    }
    let [rows, twin_rows] = twin.partition_rows;
    let [bytes, twin_bytes] = twin.row_bytes;
    let [left, twin_left] = twin.compressed.map(|share| share * 100.0);
    for line in [
        format!("rows per partition   {rows:.1} in the table, {twin_rows:.1} in its twin"),
        format!("bytes per row        {bytes:.0} in the table, {twin_bytes:.0} in its twin"),
        format!("size after LZ4       {left:.0} % in the table, {twin_left:.0} % in its twin"),
    ] {
        terminal::say(&line);
    }
    if !twin.without.is_empty() {
        terminal::say(&format!(
            "note: the twin writes no values to {}: the sample has no values in these columns, or \
             cassay does not know their types",
            twin.without.join(", ")
        ));
    }
    if let Some(to) = &args.to {
        terminal::say(&format!(
            "cassay wrote {}. In a study: workload: {{file: {}}}, with the number of rows in data: \
             {{load: {{operations: 1M}}}}",
            to.display(),
            to.file_name().unwrap_or_default().to_string_lossy()
        ));
    }
    Ok(())
}

fn pair([table, twin]: [f64; 2]) -> serde_json::Value {
    json!({"table": table, "twin": twin})
}
