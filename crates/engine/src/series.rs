//! Series that others have recorded while a run went on: read when it ends, and laid beside the
//! trials whose time they fall into.
//!
//! A file that cannot be read is no reason to throw a run away: it is said, written down in the
//! journal, and the rest goes on.

pub mod import;

use anyhow::{Context, Result};
use import::{line_up, read_esxtop, read_prometheus};
use measure::clock::SECOND_NS;
use std::path::Path;
use store::RunWriter;
use store::record::TrialFinding;
use study::inputs::located;
use study::settings::{Import, Study};

/// What was laid beside trials, or why nothing was: a sentence for each import.
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
        Err(error) => format!("not lined up with the run: {error:#}"),
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
    let (probe, file, series) = match import {
        Import::Esxtop { file, columns } => ("esxtop", file, read_esxtop(&locate(file)?, columns)?),
        Import::PrometheusFile { file } => {
            ("prometheus", file, read_prometheus(&locate(file)?, &[])?)
        }
        Import::PrometheusUrl { .. } => return Ok(String::new()),
    };
    let spans: Vec<(u64, u64)> = trials.iter().map(|(_, trial)| span(trial)).collect();
    let from_ns = spans.iter().map(|span| span.0).min();
    let to_ns = spans.iter().map(|span| span.1).max();
    let whole = from_ns.zip(to_ns).context("no trial has ended")?;
    // Asked for the whole run first, for the message if nothing of it fits.
    let points = line_up(probe, &series, whole)?.len();
    // Two files of one kind must not take each other's name.
    let stem = Path::new(file)
        .file_stem()
        .map(|stem| stem.to_string_lossy());
    let name = format!("{probe}-{}", plain(&stem.unwrap_or_default()));
    for ((slug, _), span) in trials.iter().zip(spans) {
        // A trial between two points has none.
        if let Ok(samples) = line_up(probe, &series, span) {
            writer.write_imported(slug, &name, &samples)?;
        }
    }
    Ok(format!(
        "{file}: {} series, {points} points within the run",
        series.len()
    ))
}

/// Begin and end of a trial, nanoseconds since 1970.
fn span(trial: &TrialFinding) -> (u64, u64) {
    let seconds = trial
        .phases
        .last()
        .map_or(trial.seconds, |phase| phase.to_s);
    let begin = trial.started_unix_ns;
    (begin, begin + (seconds * SECOND_NS as f64) as u64)
}

/// A text as a part of a file's name.
fn plain(text: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let plain: String = text
        .chars()
        .map(|c| if allowed(c) { c } else { '-' })
        .collect();
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
