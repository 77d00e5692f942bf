//! Imports series that other tools recorded during a run. The engine reads the files of these tools
//! when the run ends, and adds the series to the trials. `import_file` adds a file later.
//!
//! A file that cannot be read does not invalidate the run. The engine reports the file, records the
//! failure in the journal, and continues.

pub mod import;

use crate::phase_times::TimeSpan;
use anyhow::{Context, Result, bail, ensure};
use foreign::FileKind;
use import::{SeriesFile, line_up, read_esxtop, read_prometheus};
use measure::clock::SECOND_NS;
use std::io::Read;
use std::path::Path;
use store::record::{JournalEvent, TrialFinding};
use store::{Run, RunWriter};
use study::inputs::located;
use study::settings::{Import, Study};

/// Adds the series in the imported files of the study to the trials. Returns a sentence for each
/// file: the number of series and points, or the reason why cassay added none.
pub fn lay_beside(
    study: &Study,
    trials: &[(String, &TrialFinding)],
    writer: &mut RunWriter,
) -> Vec<String> {
    let mut imports: Vec<&Import> = Vec::new();
    for variant in &study.variants {
        let probes = variant.settings.probes.iter();
        for import in probes.flat_map(|probes| &probes.import) {
            let is_file = !matches!(import, Import::PrometheusUrl { .. });
            if is_file && !imports.contains(&import) {
                imports.push(import);
            }
        }
    }
    let mut one = |import: &&Import| match add(study, import, trials, writer) {
        Ok(said) => said,
        Err(error) => format!("cassay could not align this series with the run: {error:#}"),
    };
    imports.iter().map(&mut one).collect()
}

fn add(
    study: &Study,
    import: &Import,
    trials: &[(String, &TrialFinding)],
    writer: &mut RunWriter,
) -> Result<String> {
    let locate =
        |file: &str| located(study.overrides.files.as_ref(), file).map_err(anyhow::Error::msg);
    let (probe, file, imported) = match import {
        Import::Esxtop { file, columns } => ("esxtop", file, read_esxtop(&locate(file)?, columns)?),
        Import::PrometheusFile { file } => {
            ("prometheus", file, read_prometheus(&locate(file)?, &[])?)
        }
        Import::PrometheusUrl { .. } => return Ok(String::new()),
    };
    let name = probe_name(probe, Path::new(file));
    lay(
        &AlignedSeries {
            probe,
            file,
            name,
            imported,
        },
        trials,
        writer,
    )
}

/// Text at the beginning of a file of `esxtop -b`. A byte order mark and a quote may precede it.
const ESXTOP: &[u8] = b"(PDH-CSV";

/// Number of bytes to read for identifying a file of `esxtop -b`.
const HEAD_BYTES: u64 = 16;

/// Adds the series of another tool's file to the trials of a finished run, and returns a sentence
/// about the result. Identifies the tool by the first bytes of the file. `columns` selects the
/// columns. If `columns` is empty, uses the default columns of the tool.
///
/// # Errors
/// No known tool wrote the file, the file has no time in common with the run, or the run already
/// contains the file. An unfinished run, or a run that another process writes, is also refused.
pub fn import_file(run: &Run, file: &Path, columns: &[String]) -> Result<String> {
    ensure!(
        run.findings.is_some(),
        "the run {} is not finished, so cassay cannot import a series yet",
        run.path.display()
    );
    let (probe, imported) = read(file, columns)?;
    let findings = run.trial_findings();
    let slug_of = |finding: &TrialFinding| {
        let mut planned = run.plan.trials.iter();
        let planned = planned.find(|trial| trial.index == finding.index);
        planned.map(|trial| trial.slug.clone())
    };
    let trials: Vec<(String, &TrialFinding)> =
        findings.iter().filter_map(|one| Some((slug_of(one)?, one))).collect();
    let name = probe_name(probe, file);
    let place = |slug: &str| run.path.join("trials").join(slug).join("probes");
    let is_there = |(slug, _): &&(String, _)| place(slug).join(format!("{name}.ndjson")).exists();
    if let Some((slug, _)) = trials.iter().find(is_there) {
        bail!(
            "cassay has already imported {name} into {slug} of this run, and does not overwrite \
             records"
        );
    }
    let mut writer = RunWriter::reopen(&run.path)?;
    let shown = file.display().to_string();
    let laid = AlignedSeries {
        probe,
        file: &shown,
        name,
        imported,
    };
    let said = lay(&laid, &trials, &mut writer)?;
    writer.journal(None, JournalEvent::Imported(said.clone()))?;
    Ok(said)
}

/// Returns the names of the series in a file of another tool, as [`import_file`] would add them.
///
/// # Errors
/// No known tool wrote the file, or `columns` matches none of its series.
pub fn series_names(file: &Path, columns: &[String]) -> Result<Vec<String>> {
    let (_, imported) = read(file, columns)?;
    Ok(imported.series.into_iter().map(|one| one.name).collect())
}

fn read(file: &Path, columns: &[String]) -> Result<(&'static str, SeriesFile)> {
    let mut head = Vec::new();
    let is_esxtop = file.is_file()
        && foreign::open(FileKind::Series, file)
            .and_then(|opened| opened.take(HEAD_BYTES).read_to_end(&mut head))
            .is_ok()
        && is_esxtop(&head);
    Ok(if is_esxtop {
        ("esxtop", read_esxtop(file, columns)?)
    } else {
        ("prometheus", read_prometheus(file, columns)?)
    })
}

fn is_esxtop(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    head.strip_prefix(b"\"").unwrap_or(head).starts_with(ESXTOP)
}

struct AlignedSeries<'l> {
    probe: &'static str,
    file: &'l str,
    name: String,
    imported: SeriesFile,
}

/// Returns a name for the probe. It contains the file's name, because a run may import several
/// files of the same tool.
fn probe_name(probe: &str, file: &Path) -> String {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy());
    format!("{probe}-{}", plain(&stem.unwrap_or_default()))
}

fn lay(
    laid: &AlignedSeries<'_>,
    trials: &[(String, &TrialFinding)],
    writer: &mut RunWriter,
) -> Result<String> {
    let AlignedSeries {
        probe,
        file,
        name,
        imported: SeriesFile { series, notes },
    } = laid;
    let spans: Vec<TimeSpan> = trials.iter().map(|(_, trial)| span(trial)).collect();
    let from_ns = spans.iter().map(|span| span.from_ns).min();
    let to_ns = spans.iter().map(|span| span.to_ns).max();
    let (from_ns, to_ns) = from_ns.zip(to_ns).context("the run has no finished trial")?;
    let whole = TimeSpan { from_ns, to_ns };
    // The series are compared with the whole run first. If no point is within the run, the error of
    // this comparison explains the reason.
    let points = line_up(probe, series, whole)?.len();
    for ((slug, _), span) in trials.iter().zip(spans) {
        // A trial without points is not an error, because a short trial may be between two points.
        if let Ok(samples) = line_up(probe, series, span) {
            writer.write_imported(slug, name, &samples)?;
        }
    }
    let mut said = format!(
        "{file}: {} series, {points} points within the run",
        series.len()
    );
    for note in notes {
        said += &format!("; {note}");
    }
    Ok(said)
}

/// Returns the time span of a trial, in ns since 1970.
fn span(trial: &TrialFinding) -> TimeSpan {
    let seconds = trial.phases.last().map_or(trial.seconds, |phase| phase.to_s);
    let from_ns = trial.started_unix_ns;
    TimeSpan {
        from_ns,
        to_ns: from_ns + (seconds * SECOND_NS as f64) as u64,
    }
}

/// Converts the text to a form that is valid in a file name.
fn plain(text: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let plain: String = text.chars().map(|c| if allowed(c) { c } else { '-' }).collect();
    plain.trim_start_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_s_name_is_plain() {
        assert_eq!(plain("../esx top.1"), "-esx-top.1");
    }
}
