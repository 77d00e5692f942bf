//! Summaries of a long trial for a report page: `overview.json`, `series.ndjson` and `window.hlog`,
//! next to the raw lines that they summarize.
//!
//! A trial of a day has five gigabytes of lines, but a page shows only a few hundred points of a
//! series. So each series is kept as [`Bins`] while the lines are written, in constant memory.
//! Invariants: the overview is the same whether it is built while the lines are written or later
//! from the files. It contains the smallest and the largest value of every bin. The histograms of
//! the window are the sums of its logs.
//!
//! A bin contains a count, a mean and two extremes as 32-bit floats, whose seven digits are enough
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

/// Name of the number of successes of a kind, in [`KindOverviewRecord::figures`].
const OK: &str = "ok";
/// Name of the total length of the intervals in a bin.
const SECONDS: &str = "seconds";
/// Name prefix of the numbers of failures.
const ERRORS: &str = "errors.";
/// Percentiles for which a bin shows the worst value.
const WORST: [&str; 3] = ["p50_ms", "p99_ms", "max_ms"];
/// Names of the client's own figures.
const CLIENT: [&str; 3] = ["cpu_share", "hiccup_ms_max", "quiet_ms"];
/// Name of the series with the CPU time that other programs used on the client's machine. Its probe
/// is `others`.
pub(crate) const CPU_OTHERS: &str = "cpu.others";

/// `overview.json`: series of a trial over time, and the list of series that probes wrote.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OverviewRecord {
    /// Format number of the record: 1.
    pub format: u32,
    /// Length of a bin, seconds.
    pub width_s: f64,
    /// Series of each kind of operation, in the order of `intervals.ndjson`.
    pub kinds: Vec<KindOverviewRecord>,
    /// Series of the probes, as in `series.ndjson`.
    pub series: Vec<SeriesOverviewRecord>,
}

/// Series of one kind of operation over time, or of `client`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct KindOverviewRecord {
    /// Kind of operation, or `client`.
    pub kind: String,
    /// Bins of each series, by the name of the series, packed as in [`OverviewBin`].
    pub figures: BTreeMap<String, String>,
}

/// A series of a probe, with its sum in the measured window.
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
    /// Number of values in the window. A bin counts if its middle is in the window.
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
    /// Length of a bin, seconds.
    pub width_s: f64,
    /// Bins of the series, packed as in [`OverviewBin`].
    pub places: String,
}

/// A series as consecutive bins on the time axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Places {
    /// Length of a bin, seconds.
    pub width_s: f64,
    /// Bins from second 0 on. A bin without values has the count 0.
    pub places: Vec<OverviewBin>,
}

impl Places {
    /// Unpacks bins, and joins neighbours until each bin is at least `least_s` long.
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
    /// Returns the overview as interval lines, one line for each bin. Counts are summed. For
    /// percentiles and the client's figures, the worst value is kept. Each bin is at least
    /// `least_s` long.
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
        // The lines have the order of the lines on disk: all kinds of an interval, then the next
        // interval.
        all.sort_by(|a, b| a.t_s.total_cmp(&b.t_s));
        Ok(all)
    }

    /// Returns the length of the overview, seconds. The last bin may be partial.
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

    /// Returns the CPU time that other programs used on the client's machine.
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
