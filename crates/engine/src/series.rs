//! Series that others have recorded while a run went on: read when it ends, and laid beside the
//! trials whose time they fall into.
//!
//! A file that cannot be read is no reason to throw a run away: it is said, written down in the
//! journal, and the rest goes on.

pub mod import;

use crate::gather::sample;
use anyhow::{Context, Result};
use import::{Anchor, Series, line_up, read_esxtop, read_prometheus};
use measure::clock::SECOND_NS;
use std::path::Path;
use store::RunWriter;
use store::record::{SampleRecord, TrialFinding};
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
    let points = readings(probe, &series, whole)?.len();
    // Two files of one kind must not take each other's name.
    let stem = Path::new(file)
        .file_stem()
        .map(|stem| stem.to_string_lossy());
    let name = format!("{probe}-{}", plain(&stem.unwrap_or_default()));
    for ((slug, _), span) in trials.iter().zip(spans) {
        // A trial between two points has none.
        if let Ok(samples) = readings(probe, &series, span) {
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

/// The points within a span, by the seconds since its begin.
fn readings(
    probe: &'static str,
    series: &[Series],
    (from_ns, to_ns): (u64, u64),
) -> Result<Vec<SampleRecord>> {
    // Both clocks are the wall's here: the trial's records are related to it by its begin.
    let anchor = Anchor {
        unix_ns: from_ns,
        now_ns: from_ns,
    };
    let readings = line_up(probe, series, anchor, from_ns, to_ns)?;
    let samples = readings.iter().map(|reading| sample(reading, from_ns));
    Ok(samples.collect())
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
    use import::Point;

    #[test]
    fn points_count_from_the_begin_of_the_trial() {
        let point = |second: u64| Point {
            unix_ns: second * SECOND_NS,
            value: second as f64,
        };
        let series = [Series {
            name: "esxtop.Group Cpu.% Ready".into(),
            place: "esx1".into(),
            unit: "%",
            points: (90..120).map(point).collect(),
        }];
        let samples = readings("esxtop", &series, (100 * SECOND_NS, 104 * SECOND_NS)).unwrap();
        let seen: Vec<_> = samples.iter().map(|s| (s.t_s, s.value)).collect();
        let expected = [
            (0.0, 100.0),
            (1.0, 101.0),
            (2.0, 102.0),
            (3.0, 103.0),
            (4.0, 104.0),
        ];
        assert_eq!(seen, expected);
        assert!(readings("esxtop", &series, (1, 2)).is_err());
        assert_eq!(plain("../esx top.1"), "-esx-top.1");
    }
}
