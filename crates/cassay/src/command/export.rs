//! `cassay export`: exports a run as files for other programs.

use super::show::say_notes;
use crate::args::{Common, ExportRunArgs, FigureFormat};
use crate::exit::Exit;
use crate::terminal;
use anyhow::{Context, Result, bail};
use report::RunView;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use store::Run;
use tables::{ExportRequest, ExportResult, Format, WrittenFile};

/// Default folder for the exported files, inside the run's folder.
const FOLDER: &str = "export";

/// Writes the requested files, and prints their names.
pub fn run(args: &ExportRunArgs, common: &Common) -> Result<Exit> {
    let formats = formats(args)?;
    let run = store::find(&common.out, &args.name.run)?;
    let exit = say_notes(&run);
    let folder = args.to.clone().unwrap_or_else(|| run.path.join(FOLDER));
    let wanted = ExportRequest {
        formats,
        every_reading: args.every_reading,
    };
    let exported = if wanted.formats.is_empty() {
        ExportResult::default()
    } else {
        tables::export(&run, &folder, &wanted)?
    };
    let mut others = figures(&run, &folder, &args.figures)?;
    if args.grafana {
        others.extend(grafana(&run, &folder)?);
    }
    for note in &exported.notes {
        terminal::say(&format!("note: {note}"));
    }
    if common.json {
        let files = exported.files.iter().map(file_json);
        terminal::json(&json!({
            "folder": folder,
            "files": files.chain(others.iter().map(other_json)).collect::<Vec<Value>>(),
            "notes": exported.notes,
        }));
    } else {
        let lines = exported.files.iter().map(file_line);
        let paths = others.iter().map(|(path, _)| path.display().to_string());
        terminal::data(&lines.chain(paths).collect::<Vec<String>>().join("\n"));
    }
    Ok(exit)
}

/// Returns the requested table formats, or an error if this build does not support one of these
/// formats.
fn formats(args: &ExportRunArgs) -> Result<Vec<Format>> {
    let asked = [(args.csv, Format::Csv), (args.parquet, Format::Parquet)];
    let formats: Vec<Format> = asked
        .into_iter()
        .filter(|(is_asked, _)| *is_asked)
        .map(|(_, format)| format)
        .collect();
    let lacks = if formats.iter().any(|format| !tables::is_built(*format)) {
        "parquet"
    } else if args.figures.contains(&FigureFormat::Png) && !report::HAS_PNG {
        "png"
    } else {
        return Ok(formats);
    };
    bail!(
        "this build of cassay does not include the feature {lacks}\nhint: run \
         `CASSAY_FEATURES={lacks} ./cassay` once in the source folder, or install a package, which \
         includes this feature. `--csv` and `--figures svg` work in every build"
    )
}

fn figures(
    run: &Run,
    folder: &Path,
    formats: &[FigureFormat],
) -> Result<Vec<(PathBuf, &'static str)>> {
    if formats.is_empty() {
        return Ok(Vec::new());
    }
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let view = RunView::read(run)?;
    let mut written = Vec::new();
    for figure in report::figures(&view, &report::page(&view)) {
        if formats.contains(&FigureFormat::Svg) {
            let path = folder.join(format!("{}.svg", figure.name));
            store::write_output(&path, figure.svg.as_bytes())?;
            written.push((path, "svg"));
        }
        if formats.contains(&FigureFormat::Png) {
            let path = folder.join(format!("{}.png", figure.name));
            store::write_output(&path, &report::png(&figure.svg)?)?;
            written.push((path, "png"));
        }
    }
    Ok(written)
}

/// Writes the dashboard, which is the same for all runs, and the annotations of the run.
fn grafana(run: &Run, folder: &Path) -> Result<Vec<(PathBuf, &'static str)>> {
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let view = RunView::read(run)?;
    let dashboard = folder.join("grafana-dashboard.json");
    store::write_output(&dashboard, report::grafana_dashboard().as_bytes())?;
    let annotations = folder.join("grafana-annotations.ndjson");
    store::write_output(&annotations, report::grafana_annotations(&view).as_bytes())?;
    Ok(vec![
        (dashboard, "grafana-dashboard"),
        (annotations, "grafana-annotations"),
    ])
}

fn file_json(file: &WrittenFile) -> Value {
    json!({
        "table": file.table,
        "format": file.format,
        "path": file.path,
        "rows": file.rows,
    })
}

fn other_json((path, format): &(PathBuf, &str)) -> Value {
    json!({"format": format, "path": path})
}

/// Formats a line: `results/…/export/trials.csv: 4 rows`.
fn file_line(file: &WrittenFile) -> String {
    let rows = if file.rows == 1 { "row" } else { "rows" };
    format!(
        "{}: {} {rows}",
        file.path.display(),
        measure::number::count(file.rows)
    )
}
