//! `cassay import`: adds the series of another tool to a finished run.

use super::show::say_notes;
use crate::args::{Common, ImportFileArgs, SummaryArgs};
use crate::command::run::write_report;
use crate::exit::Exit;
use crate::terminal;
use anyhow::Result;
use serde_json::json;

/// Adds another tool's file to a run, and writes the report again.
pub fn import(args: &ImportFileArgs, common: &Common) -> Result<Exit> {
    let run = store::find(&common.out, &args.run)?;
    let exit = say_notes(&run);
    let said = engine::import_file(&run, &args.file, &args.column)?;
    let path = write_report(&run.path, &SummaryArgs::default())?.path;
    if common.json {
        terminal::json(&json!({"imported": said, "report": path}));
    } else {
        terminal::data(&format!("{said}\n{}", path.display()));
    }
    Ok(exit)
}
