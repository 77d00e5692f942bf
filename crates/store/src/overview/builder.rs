//! Builds the overview of a trial, line by line, in constant memory.

use super::places::pack;
use super::{
    CLIENT, CPU_OTHERS, ERRORS, KindOverviewRecord, OK, OverviewRecord, SECONDS,
    SeriesOverviewRecord, SeriesPlacesRecord, WORST,
};
use crate::convert::CLIENT_KIND;
use crate::record::{FORMAT, IntervalRecord, SampleRecord};
use measure::Bins;
use std::collections::BTreeMap;

/// Maximum number of bins for a series of a kind of operation, because a screen shows only a few
/// hundred bins. In trials of up to 17 minutes, a bin is one second long.
const COURSE_MAX: usize = 1024;
/// Maximum number of bins for a series of a probe. Such a series takes 37 kB of memory. In trials
/// of up to 8 minutes, a bin is one second long.
const SERIES_MAX: usize = 512;
const OTHERS_PROBE: &str = "others";

/// Summary of the lines of a trial that were written so far.
#[derive(Debug, Default)]
pub(crate) struct OverviewBuilder {
    /// Figures of each kind of operation, by name. The kinds are in the order of the lines.
    kinds: Vec<(String, BTreeMap<String, Bins>)>,
    /// Series of the probes, by probe, then by name of the series, then by node or host.
    series: BTreeMap<String, BTreeMap<String, BTreeMap<String, Series>>>,
}

#[derive(Debug)]
struct Series {
    unit: String,
    bins: Bins,
}

impl OverviewBuilder {
    pub(crate) fn interval(&mut self, line: &IntervalRecord) {
        let figures = self.figures_of(&line.kind);
        let mut push = |name: &str, value: f64| match figures.get_mut(name) {
            Some(bins) => bins.push(line.t_s, value),
            None => {
                let mut bins = Bins::new(COURSE_MAX);
                bins.push(line.t_s, value);
                figures.insert(name.to_owned(), bins);
            }
        };
        push(SECONDS, line.seconds);
        match &line.client {
            Some(client) => {
                let [cpu, hiccup, quiet] = CLIENT;
                push(cpu, client.cpu_share);
                push(quiet, client.quiet_ms);
                client.hiccup_ms_max.iter().for_each(|ms| push(hiccup, *ms));
            }
            None => push(OK, line.ok as f64),
        }
        for (how, count) in &line.errors {
            push(&format!("{ERRORS}{how}"), *count as f64);
        }
        if let Some(latency) = line.latency_ms.as_ref().filter(|q| q.count > 0) {
            let values = [latency.p50, latency.p99, latency.max];
            for (name, value) in WORST.iter().zip(values) {
                push(name, value.least());
            }
        }
    }

    pub(crate) fn sample(&mut self, probe: &str, sample: &SampleRecord) {
        if probe == OTHERS_PROBE && sample.name == CPU_OTHERS {
            let figures = self.figures_of(CLIENT_KIND);
            let bins =
                figures.entry(CPU_OTHERS.to_owned()).or_insert_with(|| Bins::new(COURSE_MAX));
            bins.push(sample.t_s, sample.value);
        }
        let known = self
            .series
            .get_mut(probe)
            .and_then(|names| names.get_mut(&sample.name))
            .and_then(|places| places.get_mut(&sample.place));
        if let Some(series) = known {
            series.bins.push(sample.t_s, sample.value);
            return;
        }
        let names = self.series.entry(probe.to_owned()).or_default();
        let places = names.entry(sample.name.clone()).or_default();
        let mut bins = Bins::new(SERIES_MAX);
        bins.push(sample.t_s, sample.value);
        let unit = sample.unit.clone();
        places.insert(sample.place.clone(), Series { unit, bins });
    }

    fn figures_of(&mut self, kind: &str) -> &mut BTreeMap<String, Bins> {
        let at = self.kinds.iter().position(|(known, _)| known == kind).unwrap_or_else(|| {
            self.kinds.push((kind.to_owned(), BTreeMap::new()));
            self.kinds.len() - 1
        });
        &mut self.kinds[at].1
    }

    /// Returns the records of the overview. `window` is the measured window in seconds. The sums of
    /// the probes' series include only values in this window.
    pub(crate) fn records(
        &self,
        window: Option<[f64; 2]>,
    ) -> (OverviewRecord, Vec<SeriesPlacesRecord>) {
        let figures = || self.kinds.iter().flat_map(|(_, figures)| figures.values());
        let width_s = figures().map(Bins::width_s).fold(1.0, f64::max);
        let kind = |(kind, figures): &(String, BTreeMap<String, Bins>)| KindOverviewRecord {
            kind: kind.clone(),
            figures: figures
                .iter()
                .map(|(name, bins)| (name.clone(), pack(&widened(bins, width_s))))
                .collect(),
        };
        let mut overview = OverviewRecord {
            format: FORMAT,
            width_s,
            kinds: self.kinds.iter().map(kind).collect(),
            series: Vec::new(),
        };
        let all = || {
            self.series.iter().flat_map(|(probe, names)| {
                names.iter().flat_map(move |(name, places)| {
                    let each = places.iter();
                    each.map(move |(place, series)| (probe, name, place, series))
                })
            })
        };
        let widest_s = all().map(|(.., series)| series.bins.width_s());
        let width_s = widest_s.fold(1.0, f64::max);
        let mut lines = Vec::new();
        for (probe, name, place, series) in all() {
            let (count, sum) = in_window(&series.bins, window);
            overview.series.push(SeriesOverviewRecord {
                probe: probe.clone(),
                name: name.clone(),
                place: place.clone(),
                unit: series.unit.clone(),
                count,
                sum,
            });
            lines.push(SeriesPlacesRecord {
                probe: probe.clone(),
                name: name.clone(),
                place: place.clone(),
                unit: series.unit.clone(),
                width_s,
                places: pack(&widened(&series.bins, width_s)),
            });
        }
        (overview, lines)
    }
}

fn widened(bins: &Bins, width_s: f64) -> Bins {
    let mut bins = bins.clone();
    bins.widen(width_s);
    bins
}

/// Returns the number and the sum of the readings in the bins whose middle is in the window.
fn in_window(bins: &Bins, window: Option<[f64; 2]>) -> (u64, f64) {
    let Some([from, to]) = window else {
        return (0, 0.0);
    };
    let inside = bins.bins().filter(|bin| {
        let middle = (bin.first_s + bin.last_s) / 2.0;
        (from..to).contains(&middle)
    });
    inside.fold((0, 0.0), |(count, sum), bin| {
        (count + bin.count, sum + bin.sum)
    })
}
