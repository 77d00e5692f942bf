//! The table `probes`: readings of hosts, processes, JVMs and the database, with one reading in
//! each row.
//!
//! A day of three nodes has fifty million readings. So for a long run, a row contains one of the
//! periods into which the run summarizes each series. The row has the mean, the smallest and the
//! largest value of the period.

use super::run_input::Source;
use crate::column::Table;
use crate::format::WrittenFile;
use crate::head::{self, Head};
use crate::output_folder::{Files, Folder};
use anyhow::Result;
use std::rc::Rc;
use store::record::SampleRecord;
use store::{SeriesPlacesRecord, Trial};

/// Row of the table `probes`: a single reading, or a summary of all readings in a period.
pub(super) struct ProbeRow {
    head: Rc<Head>,
    t_s: f64,
    /// Length of the period, in seconds. `None` for a single reading.
    length_s: Option<f64>,
    /// Series to which the reading belongs. All rows of a series share this value.
    series: Rc<Series>,
    readings: u64,
    mean: f64,
    ends: [f64; 2],
}

#[derive(Debug, Default, PartialEq)]
struct Series {
    probe: String,
    name: String,
    place: String,
    unit: String,
}

pub(super) fn table<'r>() -> Table<'r, ProbeRow> {
    let table = Table::new(
        "probes",
        "one reading of a probe; in long runs, all readings of a series in one period.",
    );
    let table = head::columns(table, |row: &ProbeRow| &*row.head);
    head::times(table, |row| &row.head, |row| row.t_s)
        .number(
            "length_s",
            "s",
            "Length of the period; empty for a single reading.",
            |row| row.length_s,
        )
        .text(
            "place",
            "Node or host, or a part of a node or host; empty for the client.",
            |row| Some(&row.series.place),
        )
        .text("probe", "Name of the probe.", |row| Some(&row.series.probe))
        .text(
            "series",
            "Name of the series: `mpstat.%usr`, `jvm.heap_used`, ….",
            |row| Some(&row.series.name),
        )
        .text("unit", "Unit of the value.", |row| Some(&row.series.unit))
        .number(
            "value",
            "`unit`",
            "The reading, or the mean of the readings in the period.",
            |row| Some(row.mean),
        )
        .number(
            "value_min",
            "`unit`",
            "Smallest reading in the period.",
            |row| Some(row.ends[0]),
        )
        .number(
            "value_max",
            "`unit`",
            "Largest reading in the period.",
            |row| Some(row.ends[1]),
        )
        .whole(
            "readings",
            "readings",
            "Number of readings in the period; 1 for a single reading.",
            |row| Some(row.readings),
        )
}

pub(super) fn write(source: &Source<'_>, out: &Folder, every: bool) -> Result<Vec<WrittenFile>> {
    let mut files = out.begin(table())?;
    for trial in source.trials {
        let head = Rc::new(source.head(trial)?);
        match trial.overview()? {
            Some(_) if source.run.is_long && !every => {
                for series in trial.series()? {
                    stretches(&mut files, &head, series?)?;
                }
            }
            None if source.run.is_long && !every => {
                for series in trial.gather(None, None)?.1 {
                    stretches(&mut files, &head, series)?;
                }
            }
            _ => readings(&mut files, &head, trial)?,
        }
    }
    files.end()
}

fn stretches(
    files: &mut Files<'_, ProbeRow>,
    head: &Rc<Head>,
    record: SeriesPlacesRecord,
) -> Result<()> {
    let places = record.unpacked(0.0)?;
    let series = Rc::new(Series {
        probe: record.probe,
        name: record.name,
        place: record.place,
        unit: record.unit,
    });
    for (slot, place) in places.places.iter().enumerate().filter(|(_, place)| place.count > 0) {
        files.row(&ProbeRow {
            head: Rc::clone(head),
            t_s: slot as f64 * places.width_s,
            length_s: Some(places.width_s),
            series: Rc::clone(&series),
            readings: place.count,
            mean: place.mean,
            ends: [place.min(), place.max()],
        })?;
    }
    Ok(())
}

fn readings(files: &mut Files<'_, ProbeRow>, head: &Rc<Head>, trial: &Trial) -> Result<()> {
    for probe in trial.probes()? {
        for sample in trial.samples(&probe)? {
            let SampleRecord {
                t_s,
                name,
                place,
                unit,
                value,
            } = sample?;
            files.row(&ProbeRow {
                head: Rc::clone(head),
                t_s,
                length_s: None,
                series: Rc::new(Series {
                    probe: probe.clone(),
                    name,
                    place,
                    unit,
                }),
                readings: 1,
                mean: value,
                ends: [value, value],
            })?;
        }
    }
    Ok(())
}
