//! `cassay export`: a run as files that other programs read.

use super::show::say_notes;
use crate::args::{Common, ExportRunArgs};
use crate::exit::Exit;
use crate::terminal;
use anyhow::{Result, bail};
use serde_json::json;
use tables::{Format, Wanted, Written};

/// The folder in a run's that files go into, if no other is named.
const FOLDER: &str = "export";

/// Writes what is asked of a run, and says what was written.
pub fn run(args: &ExportRunArgs, common: &Common) -> Result<Exit> {
    let formats = formats(args)?;
    let run = store::find(&common.out, &args.name.run)?;
    let exit = say_notes(&run);
    let folder = args.to.clone().unwrap_or_else(|| run.path.join(FOLDER));
    let wanted = Wanted {
        formats,
        every_reading: args.every_reading,
    };
    let exported = tables::export(&run, &folder, &wanted)?;
    for note in &exported.notes {
        terminal::say(&format!("note: {note}"));
    }
    if common.json {
        terminal::json(&json!({
            "folder": folder,
            "files": exported.files.iter().map(file_json).collect::<Vec<_>>(),
            "notes": exported.notes,
        }));
    } else {
        let lines: Vec<String> = exported.files.iter().map(file_line).collect();
        terminal::data(&lines.join("\n"));
    }
    Ok(exit)
}

fn formats(args: &ExportRunArgs) -> Result<Vec<Format>> {
    let asked = [(args.csv, Format::Csv), (args.parquet, Format::Parquet)];
    let formats: Vec<Format> = asked
        .into_iter()
        .filter(|(is_asked, _)| *is_asked)
        .map(|(_, format)| format)
        .collect();
    if let Some(format) = formats.iter().find(|format| !tables::is_built(**format)) {
        bail!(
            "this cassay was built without {format}\nhint: `cargo build -p cassay --features \
             {format}` builds it with; `--csv` works in every build"
        );
    }
    Ok(formats)
}

fn file_json(file: &Written) -> serde_json::Value {
    json!({
        "table": file.table,
        "format": file.format,
        "path": file.path,
        "rows": file.rows,
    })
}

/// `results/…/export/trials.csv: 4 rows`.
fn file_line(file: &Written) -> String {
    let rows = if file.rows == 1 { "row" } else { "rows" };
    format!(
        "{}: {} {rows}",
        file.path.display(),
        measure::number::count(file.rows)
    )
}
