//! Summaries of a long trial for a report page: `overview.json`, `series.ndjson` and `window.hlog`,
//! next to the raw lines that they summarize.
//!
//! A trial of one day writes five gigabytes of lines, but a page shows only a few hundred points of
//! a series. So cassay builds [`Bins`] for each series while it writes the lines, in constant
//! memory. Invariants: the overview is the same whether it is built while the lines are written or
//! later from the files. The overview contains the smallest and the largest value of every bin. The
//! histograms of the window are the sums of the window's logs.
//!
//! A bin contains a count, a mean and two extremes as 32-bit floats. Their seven digits are enough
//! for drawing. The findings are in `finding.json`, with all digits.

mod builder;
mod places;

pub(crate) use builder::OverviewBuilder;
pub use places::OverviewBin;

use crate::record::{ClientIntervalRecord, IntervalRecord, QuantilesRecord};
use anyhow::{Context, Result};
use measure::Known;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Key for the number of successful operations of a kind, in [`KindOverviewRecord::figures`].
const OK: &str = "ok";
/// Key for the total length of the intervals in a bin.
const SECONDS: &str = "seconds";
/// Prefix of the keys for the numbers of failed operations.
const ERRORS: &str = "errors.";
/// Keys of the percentiles for which a bin contains the worst value.
const WORST: [&str; 3] = ["p50_ms", "p99_ms", "max_ms"];
/// Keys of the client's own figures.
const CLIENT: [&str; 3] = ["cpu_share", "hiccup_ms_max", "quiet_ms"];
/// Name of the series with the CPU time that other programs used on the client's machine. The probe
/// `others` writes this series.
pub(crate) const CPU_OTHERS: &str = "cpu.others";

/// `overview.json`: the series of a trial over time, and the list of the series that probes wrote.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OverviewRecord {
    /// Format number of the record: 1.
    pub format: u32,
    /// Length of a bin, s.
    pub width_s: f64,
    /// Series of each kind of operation. The kinds have the same order as in `intervals.ndjson`.
    pub kinds: Vec<KindOverviewRecord>,
    /// List of the series of the probes. Their bins are in `series.ndjson`.
    pub series: Vec<SeriesOverviewRecord>,
}

/// Series of one kind of operation, or of the client, over time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct KindOverviewRecord {
    /// Kind of operation, or `client`.
    pub kind: String,
    /// Bins of each series, by the name of the series, packed as in [`OverviewBin`].
    pub figures: BTreeMap<String, String>,
}

/// A series of a probe, with the sum of its values in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesOverviewRecord {
    /// Name of the probe.
    pub probe: String,
    /// Name of the series.
    pub name: String,
    /// Node or host that the series belongs to. Empty for the client.
    #[serde(default)]
    pub place: String,
    /// Unit of the values.
    pub unit: String,
    /// Number of values in the window. The values of a bin count if the middle of the bin is in the
    /// window.
    pub count: u64,
    /// Sum of the values in the window.
    pub sum: f64,
}

/// A line of `series.ndjson`, which contains a whole series.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SeriesPlacesRecord {
    /// Name of the probe.
    pub probe: String,
    /// Name of the series.
    pub name: String,
    /// Node or host that the series belongs to. Empty for the client.
    #[serde(default)]
    pub place: String,
    /// Unit of the values.
    pub unit: String,
    /// Length of a bin, s.
    pub width_s: f64,
    /// Bins of the series, packed as in [`OverviewBin`].
    pub places: String,
}

/// A series, divided into consecutive bins of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Places {
    /// Length of a bin, s.
    pub width_s: f64,
    /// Bins of the series. The first bin begins at second 0. A bin without values has the count 0.
    pub places: Vec<OverviewBin>,
}

impl Places {
    /// Unpacks bins, and joins neighbouring bins until each bin is at least `least_s` long.
    fn unpack(width_s: f64, packed: &str, least_s: f64) -> Result<Places> {
        let places = places::unpack(packed)?;
        let mut together = 1;
        while width_s * (together as f64) < least_s && together < places.len() {
            together *= 2;
        }
        Ok(Places {
            width_s: width_s * together as f64,
            places: match together {
                1 => places,
                together => places.chunks(together).map(OverviewBin::joined).collect(),
            },
        })
    }
}

impl SeriesPlacesRecord {
    /// Returns the bins, each at least `least_s` long.
    ///
    /// # Errors
    /// The bins are damaged.
    pub fn unpacked(&self, least_s: f64) -> Result<Places> {
        Places::unpack(self.width_s, &self.places, least_s)
            .with_context(|| format!("read the positions of {} of {}", self.name, self.place))
    }
}

impl OverviewRecord {
    /// Returns the overview as interval lines, with one line for each bin. Neighbouring bins are
    /// joined until each bin is at least `least_s` long. A line contains the sum of the counts, and
    /// the worst value of percentiles and of the client's figures.
    ///
    /// # Errors
    /// The overview is damaged.
    pub fn intervals(&self, least_s: f64) -> Result<Vec<IntervalRecord>> {
        let mut all = Vec::new();
        for kind in &self.kinds {
            let place = || format!("read the course of {}", kind.kind);
            let mut figures = BTreeMap::new();
            for (name, packed) in &kind.figures {
                let places = Places::unpack(self.width_s, packed, least_s).with_context(place)?;
                figures.insert(name.as_str(), places);
            }
            all.extend(joined_lines(&kind.kind, &figures));
        }
        // The lines have the same order as the lines on disk, where all kinds of one interval
        // precede the next interval.
        all.sort_by(|a, b| a.t_s.total_cmp(&b.t_s));
        Ok(all)
    }

    /// Returns the length of the overview in seconds. The last bin may be shorter than the other
    /// bins.
    ///
    /// # Errors
    /// The overview is damaged.
    pub fn length_s(&self) -> Result<f64> {
        let mut longest = 0;
        for packed in self.kinds.iter().filter_map(|k| k.figures.get(SECONDS)) {
            longest = longest.max(places::unpack(packed)?.len());
        }
        Ok(longest as f64 * self.width_s)
    }

    /// Returns the CPU time that other programs used on the client's machine. Each bin is at least
    /// `least_s` long.
    ///
    /// # Errors
    /// The overview is damaged.
    pub fn cpu_others(&self, least_s: f64) -> Result<Option<Places>> {
        let packed = self.kinds.iter().find_map(|k| k.figures.get(CPU_OTHERS));
        let places = |packed: &String| Places::unpack(self.width_s, packed, least_s);
        packed.map(places).transpose()
    }
}

fn joined_lines(kind: &str, figures: &BTreeMap<&str, Places>) -> Vec<IntervalRecord> {
    let Some(seconds) = figures.get(SECONDS) else {
        return Vec::new();
    };
    let at = |name: &str, slot: usize| {
        let place = figures.get(name)?.places.get(slot);
        place.filter(|place| place.count > 0)
    };
    let line = |(slot, length): (usize, &OverviewBin)| {
        let worst = |name: &str| at(name, slot).map(|place| place.max());
        let added = |name: &str| at(name, slot).map_or(0.0, OverviewBin::sum).round() as u64;
        let failed = figures
            .keys()
            .filter_map(|name| name.strip_prefix(ERRORS))
            .map(|how| (how.to_owned(), added(&format!("{ERRORS}{how}"))));
        let known = |name: &str| Known::Exactly(worst(name).unwrap_or(0.0));
        let [p50, p99, max] = WORST;
        let [cpu, hiccup, quiet] = CLIENT;
        IntervalRecord {
            t_s: slot as f64 * seconds.width_s,
            seconds: length.sum(),
            kind: kind.to_owned(),
            ok: added(OK),
            errors: failed.filter(|(_, count)| *count > 0).collect(),
            latency_ms: worst(p99).map(|_| QuantilesRecord {
                count: added(OK).max(1),
                p50: known(p50),
                p99: known(p99),
                max: known(max),
                ..QuantilesRecord::default()
            }),
            client: worst(cpu).map(|cpu_share| ClientIntervalRecord {
                cpu_share,
                hiccup_ms_max: worst(hiccup),
                quiet_ms: worst(quiet).unwrap_or(0.0),
                ..ClientIntervalRecord::default()
            }),
            joined: length.count,
            ..IntervalRecord::default()
        }
    };
    let places = seconds.places.iter().enumerate();
    places.filter(|(_, length)| length.count > 0).map(line).collect()
}

#[cfg(test)]
mod tests;
