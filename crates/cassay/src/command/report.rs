//! `cassay report`: writes the report of a finished run again.

use super::show::say_notes;
use crate::args::{Common, ReportArgs};
use crate::command::run::{write_report, write_summaries};
use crate::exit::Exit;
use crate::terminal;
use anyhow::Result;
use report::RunView;
use serde_json::json;

/// Writes the report of a run.
pub fn report(args: &ReportArgs, common: &Common) -> Result<Exit> {
    let run = store::find(&common.out, &args.name.run)?;
    let exit = say_notes(&run);
    let path = match &args.to {
        None => write_report(&run.path, &args.summaries)?.path,
        Some(to) => {
            let view = RunView::read(&run)?;
            let page = report::page(&view);
            let figure = report::figure_file(&page);
            store::write_report(to, &report::html(&page), figure.as_deref())?;
            write_summaries(&view, &page, to, &args.summaries)?;
            to.clone()
        }
    };
    if common.json {
        terminal::json(&json!({"report": path}));
    } else {
        terminal::data(&path.display().to_string());
    }
    Ok(exit)
}
