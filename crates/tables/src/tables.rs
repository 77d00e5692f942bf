//! Lists the tables, and writes them in the order of the list.

mod comparisons;
mod costs;
mod faults;
mod percentiles;
mod points;
mod probes;
mod profiles;
mod rules;
mod run_input;
mod seconds;
mod trials;

use crate::column::TableWords;
use crate::format::WrittenFile;
use crate::output_folder::Folder;
use anyhow::Result;
use run_input::Source;
use store::Run;

/// Returns the descriptions of all tables, in the order in which the tables are written.
pub fn described() -> Vec<TableWords> {
    vec![
        points::table().described(),
        comparisons::table().described(),
        trials::table().described(),
        trials::kinds_table().described(),
        trials::errors_table().described(),
        rules::table().described(),
        costs::points_table().described(),
        costs::table().described(),
        profiles::table().described(),
        faults::table().described(),
        percentiles::table().described(),
        seconds::table().described(),
        seconds::client_table().described(),
        probes::table().described(),
    ]
}

pub fn write(run: &Run, out: &Folder, every_reading: bool) -> Result<Vec<WrittenFile>> {
    let trials = run.trials()?;
    let findings = run.trial_findings().into_iter().map(|found| (found.index, found)).collect();
    let source = Source {
        run,
        trials: &trials,
        findings: &findings,
    };
    let mut files = Vec::new();
    files.extend(points::write(&source, out)?);
    files.extend(comparisons::write(&source, out)?);
    files.extend(trials::write(&source, out)?);
    files.extend(rules::write(&source, out)?);
    files.extend(costs::write(&source, out)?);
    files.extend(profiles::write(&source, out)?);
    files.extend(faults::write(&source, out)?);
    files.extend(percentiles::write(&source, out)?);
    files.extend(seconds::write(&source, out)?);
    files.extend(probes::write(&source, out, every_reading)?);
    Ok(files)
}
