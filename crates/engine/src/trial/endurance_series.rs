//! Collects the series of an endurance trial while the trial runs, and makes their record.
//!
//! Invariant: memory does not grow with the length of the trial. So a series consists of a fixed
//! number of bins. This module stores only the longest pauses, and only events of rare kinds.

use analysis::autocorrelation;
use analysis::endurance::{
    self, BlockedSeries, CYCLES_MIN, Cycles, Growth, LATENCY_MARGIN, changes, cycles, drift,
    growth, joined,
};
use analysis::percentile_interval::{self, Blocks};
use host::probe::Reading;
use measure::number::{round, whole};
use measure::{Bins, IntervalConsumer, SummedInterval};
use std::collections::BTreeMap;
use store::record::{
    ChangeRecord, CourseRecord, CyclesRecord, CyclesState, DriftRecord, EnduranceRecord,
    GrowthRecord, HappenedRecord,
};

const BINS: usize = 512;
/// Maximum number of events of a kind. With more events, every change in the series would be near
/// an event by chance.
const RARE_MAX: usize = 6;
/// Minimum length of a pause to keep, in ms.
const PAUSE_MS_MIN: f64 = 50.0;
/// Maximum number of probe series in a finding. A series takes 16 kB.
const COURSES_MAX: usize = 12;
/// Number of significant digits of a value in a finding.
const DIGITS: i32 = 5;
const DAY_S: f64 = 86_400.0;

const PENDING: &str = "compactions.pending";
const COMPACTED: &str = "compactions.bytes/s";
const HEAP: &str = "gc.heap_after";
const ANONYMOUS: &str = "status.RssAnon";
const SSTABLES: &str = ".live_sstables";
/// Place name that the probes use for the client's own process.
const CLIENT: &str = "client";

/// Values that may grow during a trial. Each row contains the name of the series, and the name of
/// the series that contains its limit, if any. The description names the value to the user if the
/// series is missing.
const GROWING: [(&str, Option<&str>, &str); 6] = [
    (PENDING, None, "pending compactions"),
    (HEAP, Some("jvm.heap_max"), "the heap after collections"),
    (ANONYMOUS, None, "the memory of the nodes' processes"),
    ("jvm.buffers.direct.used", None, "direct buffers"),
    (
        "jvm.file_descriptors",
        Some("jvm.file_descriptors_max"),
        "open files",
    ),
    ("jvm.threads", None, "threads"),
];

/// Throughput and p99 latency of a window, collected second by second and stored in bins.
pub struct Courses {
    from_ns: Option<u64>,
    rate: Bins,
    p99_ms: Bins,
}

impl Courses {
    /// Returns empty series.
    pub fn new() -> Courses {
        Courses {
            from_ns: None,
            rate: Bins::new(BINS),
            p99_ms: Bins::new(BINS),
        }
    }
}

impl IntervalConsumer for Courses {
    /// Takes the next interval of the run. Only intervals of the window count.
    fn push(&mut self, summed: &SummedInterval) {
        let interval = &summed.interval;
        if !interval.is_measured() || interval.seconds() <= 0.0 {
            return;
        }
        let from_ns = *self.from_ns.get_or_insert(interval.start_ns);
        let since_s = (interval.start_ns - from_ns) as f64 / 1e9 + interval.seconds() / 2.0;
        self.rate.push(since_s, summed.ok_per_s());
        self.p99_ms.push(since_s, summed.p99_ms());
    }
}

/// Readings of the probes within the window.
#[derive(Default)]
pub struct WindowReadings {
    from_ns: Option<u64>,
    to_ns: Option<u64>,
    /// Unit and bins of each series, by name and place.
    series: BTreeMap<(String, String), (String, Bins)>,
    /// Last value of each series that contains a limit.
    limits: BTreeMap<(String, String), f64>,
    /// Longest pauses, each with its time, its length in ms, and its description.
    pauses: Vec<(f64, f64, String)>,
    /// Times at which compactions began, each with the name of the node. `None` after too many
    /// compactions.
    begun: Option<Vec<(f64, String)>>,
    /// Number of pending compactions at the latest reading, by node.
    pending: BTreeMap<String, f64>,
}

impl WindowReadings {
    pub fn begin(&mut self, at_ns: u64) {
        *self = WindowReadings {
            from_ns: Some(at_ns),
            begun: Some(Vec::new()),
            ..WindowReadings::default()
        };
    }

    /// Ends the window, if it was active.
    pub fn end(&mut self, at_ns: u64) {
        if self.from_ns.is_some() {
            self.to_ns.get_or_insert(at_ns);
        }
    }

    /// Takes a reading, if it is within the window.
    pub fn push(&mut self, reading: &Reading) {
        let Some(from_ns) = self.from_ns.filter(|from_ns| reading.at_ns >= *from_ns) else {
            return;
        };
        if self.to_ns.is_some_and(|to_ns| reading.at_ns > to_ns) {
            return;
        }
        let t_s = (reading.at_ns - from_ns) as f64 / 1e9;
        let (name, place) = (&*reading.name, &*reading.place);
        let is_limit = GROWING.iter().any(|(_, limit, _)| *limit == Some(name));
        if is_limit {
            let place = (name.to_owned(), place.to_owned());
            self.limits.insert(place, reading.value);
        }
        if let Some(kind) = name.strip_prefix("gc.pause.") {
            self.pause(t_s, kind, place, reading.value);
        }
        if name == PENDING {
            self.compaction(t_s, place, reading.value);
        }
        let is_kept = GROWING.iter().any(|(of, ..)| *of == name)
            || name == COMPACTED
            || name.ends_with(SSTABLES);
        if is_kept {
            let unit = || (reading.unit.to_string(), Bins::new(BINS));
            let of = (name.to_owned(), place.to_owned());
            let (_, bins) = self.series.entry(of).or_insert_with(unit);
            bins.push(t_s, reading.value);
        }
    }

    fn pause(&mut self, t_s: f64, kind: &str, place: &str, ms: f64) {
        if ms < PAUSE_MS_MIN {
            return;
        }
        let what = format!("a pause of {} ms ({kind}) of {place}", whole(ms));
        self.pauses.push((t_s, ms, what));
        if self.pauses.len() > RARE_MAX {
            let least = (0..self.pauses.len())
                .min_by(|a, b| self.pauses[*a].1.total_cmp(&self.pauses[*b].1));
            self.pauses.remove(least.unwrap_or(0));
        }
    }

    fn compaction(&mut self, t_s: f64, place: &str, pending: f64) {
        let before = self.pending.insert(place.to_owned(), pending);
        if before != Some(0.0) || pending <= 0.0 {
            return;
        }
        let is_rare = self.begun.as_mut().is_some_and(|begun| {
            begun.push((t_s, place.to_owned()));
            begun.len() <= RARE_MAX
        });
        if !is_rare {
            self.begun = None;
        }
    }

    fn events(&self) -> Vec<HappenedRecord> {
        let pauses = self.pauses.iter().map(|(t_s, _, what)| (*t_s, what.clone()));
        let begun = self
            .begun
            .iter()
            .flatten()
            .map(|(t_s, place)| (*t_s, format!("a compaction that began on {place}")));
        let mut events: Vec<HappenedRecord> = pauses
            .chain(begun)
            .map(|(t_s, what)| HappenedRecord {
                at_s: round(t_s, DIGITS),
                what,
            })
            .collect();
        events.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        events
    }

    /// Returns the series with this name at every place. If the name begins with a dot, returns the
    /// series with this suffix.
    fn series<'w>(&'w self, name: &'w str) -> impl Iterator<Item = ProbeSeries<'w>> {
        let all = self.series.iter();
        let named = all.filter(move |((of, _), _)| {
            if name.starts_with('.') {
                of.ends_with(name)
            } else {
                of == name
            }
        });
        named.map(|((of, place), (unit, bins))| ProbeSeries {
            of,
            place,
            unit,
            bins,
        })
    }
}

struct ProbeSeries<'w> {
    of: &'w str,
    place: &'w str,
    unit: &'w str,
    bins: &'w Bins,
}

/// Data of an endurance trial's measured window, which has ended.
pub struct LongWindow<'a> {
    /// Share by which throughput may change while it still counts as stable.
    pub within: f64,
    /// Length of the window, in seconds.
    pub seconds: f64,
    /// Throughput and p99 latency.
    pub courses: &'a Courses,
    /// Latencies, by block.
    pub latency: &'a Blocks,
    /// Readings of the probes within the window.
    pub watched: &'a WindowReadings,
    /// Memory of a node, in bytes.
    pub memory_bytes: Option<u64>,
}

/// A series with its name. The values are averages over blocks of time.
struct Series {
    of: &'static str,
    within: f64,
    blocks: BlockedSeries,
    block_s: f64,
}

impl LongWindow<'_> {
    pub fn record(&self) -> EnduranceRecord {
        let cycles = self.cycles();
        let cycle_s = cycles.as_ref().map_or(0.0, |cycles| cycles.period_s);
        let series = self.series(cycle_s * CYCLES_MIN);
        let events = self.watched.events();
        EnduranceRecord {
            block_s: series.first().map_or(0.0, |rate| rate.block_s),
            drifts: series.iter().map(drift_record).collect(),
            changes: series
                .iter()
                .filter(|one| matches!(one.of, RATE | P99))
                .flat_map(|one| change_records(one, &events))
                .collect(),
            cycles,
            growths: self.growths(),
            unseen: self.unseen(),
            events,
            courses: self.courses(),
        }
    }

    /// Returns throughput and latency in blocks of at least `block_s_min` seconds, if the window
    /// has enough blocks of this length. In shorter blocks, a compaction cycle would look like a
    /// trend.
    fn series(&self, block_s_min: f64) -> Vec<Series> {
        let one = |of, within: f64, values: &[f64], width_s: f64| {
            let blocks = joined(values, (block_s_min / width_s).ceil() as usize);
            Series {
                of,
                within,
                block_s: blocks.size as f64 * width_s,
                blocks,
            }
        };
        let rate: Vec<f64> = self.courses.rate.means().iter().map(|(_, rate)| *rate).collect();
        let of_latency = self.within.max(LATENCY_MARGIN);
        let width_s = self.latency.intervals_per_block() as f64;
        let latency = |of, values: Vec<f64>| one(of, of_latency, &values, width_s);
        let quantile =
            |q: f64| self.latency.each(|block| percentile_interval::quantile_ms(block, q));
        vec![
            one(RATE, self.within, &rate, self.courses.rate.width_s()),
            latency(MEAN, self.latency.each(percentile_interval::mean_ms)),
            latency("latency_ms.p50", quantile(0.5)),
            latency(P99, quantile(0.99)),
        ]
    }

    /// Returns the cycles of compaction on the node whose number of pending compactions varies
    /// most. If this number never varies, uses the compacted bytes per second instead.
    fn cycles(&self) -> Option<CyclesRecord> {
        let values = |one: &ProbeSeries<'_>| -> Vec<f64> {
            one.bins.means().iter().map(|(_, value)| *value).collect()
        };
        let busiest = |name| {
            let all = self
                .watched
                .series(name)
                .map(|one| (autocorrelation::variance(&values(&one)), one));
            all.reduce(|a, b| if b.0 > a.0 { b } else { a })
        };
        let pending = busiest(PENDING);
        let is_quiet = pending.as_ref().is_none_or(|(variance, _)| *variance == 0.0);
        let found = if is_quiet {
            busiest(COMPACTED).or(pending)
        } else {
            pending
        };
        let (_, one) = found?;
        let width_s = one.bins.width_s();
        let (state, period_s, count) = match cycles(&values(&one)) {
            Cycles::Quiet => (CyclesState::Quiet, 0.0, 0.0),
            Cycles::Unseen => (CyclesState::Unseen, 0.0, 0.0),
            Cycles::Seen { period, count } if count < CYCLES_MIN => {
                (CyclesState::Few, period as f64 * width_s, count)
            }
            Cycles::Seen { period, count } => (CyclesState::Seen, period as f64 * width_s, count),
        };
        Some(CyclesRecord {
            of: one.of.to_owned(),
            state,
            period_s,
            count: round(count, DIGITS),
        })
    }

    fn growths(&self) -> Vec<GrowthRecord> {
        let names = GROWING.iter().map(|(of, limit, _)| (*of, *limit)).chain([(SSTABLES, None)]);
        let all = names.flat_map(|(of, limit)| {
            self.watched.series(of).map(move |one| {
                let limit = self.limit(&one, limit);
                let lowest: Vec<(f64, f64)> =
                    one.bins.bins().map(|bin| (bin.min_s, bin.min)).collect();
                growth_record(&one, growth(&lowest, self.seconds, limit), limit)
            })
        });
        all.collect()
    }

    /// Returns the limit of a series, or `None` if the series has no known limit.
    fn limit(&self, one: &ProbeSeries<'_>, named: Option<&str>) -> Option<f64> {
        // The memory limit applies only to nodes. A series at the place of the client is the memory
        // of the client.
        if one.of == ANONYMOUS {
            let memory_bytes = self.memory_bytes.filter(|_| one.place != CLIENT);
            return memory_bytes.map(|bytes| bytes as f64 / 1024.0);
        }
        let place = (named?.to_owned(), one.place.to_owned());
        // A JVM reports −1 as the limit of a memory pool without a limit.
        self.watched.limits.get(&place).copied().filter(|limit| *limit > 0.0)
    }

    /// Describes the values that may grow but that no probe has read.
    fn unseen(&self) -> Vec<String> {
        let missing = GROWING.iter().filter(|(of, ..)| self.watched.series(of).next().is_none());
        missing
            .map(|(of, _, what)| format!("{what}: no probe recorded the series {of}"))
            .collect()
    }

    fn courses(&self) -> Vec<CourseRecord> {
        let rate = course(RATE, "", "op/s", &self.courses.rate);
        let p99 = course(P99, "", "ms", &self.courses.p99_ms);
        let probed = [PENDING, HEAP, ANONYMOUS]
            .into_iter()
            .flat_map(|name| {
                self.watched
                    .series(name)
                    .map(|one| course(one.of, one.place, one.unit, one.bins))
            })
            .take(COURSES_MAX);
        [rate, p99].into_iter().chain(probed).collect()
    }
}

const RATE: &str = "ops_per_s";
const P99: &str = "latency_ms.p99";
const MEAN: &str = "latency_ms.mean";

fn drift_record(one: &Series) -> DriftRecord {
    let found = drift(&one.blocks.means, one.within);
    DriftRecord {
        of: one.of.to_owned(),
        change: found.change,
        ci95: found.ci95,
        within: one.within,
        z: round(found.z, DIGITS),
        blocks: found.blocks,
        course: found.course,
    }
}

/// Returns the changes of a series. If events occurred within one block length of a change, the
/// record of the change names the nearest event.
fn change_records(one: &Series, events: &[HappenedRecord]) -> Vec<ChangeRecord> {
    let found = changes(&one.blocks.means).into_iter();
    let record = |change: endurance::Change| {
        let at_s = change.at as f64 * one.block_s;
        let away = |event: &&HappenedRecord| (event.at_s - at_s).abs();
        let near = events.iter().filter(|event| away(event) <= one.block_s);
        let nearest = near.min_by(|a, b| away(a).total_cmp(&away(b)));
        ChangeRecord {
            of: one.of.to_owned(),
            at_s: round(at_s, DIGITS),
            before: round(change.before, DIGITS),
            after: round(change.after, DIGITS),
            coincides: nearest.map(|event| event.what.clone()),
        }
    };
    found.map(record).collect()
}

fn growth_record(one: &ProbeSeries<'_>, found: Growth, limit: Option<f64>) -> GrowthRecord {
    let per_day = |per_s: f64| round(per_s * DAY_S, DIGITS);
    GrowthRecord {
        of: one.of.to_owned(),
        place: one.place.to_owned(),
        unit: one.unit.to_owned(),
        last: found.last,
        per_day: per_day(found.per_s),
        per_day_ci95: found.per_s_ci95.map(|ends| ends.map(per_day)),
        limit,
        reaches_days: found.reaches_s.map(|s| round(s / DAY_S, DIGITS)),
        horizon_days: round(found.horizon_s / DAY_S, DIGITS),
        growing: found.growing,
    }
}

fn course(of: &str, place: &str, unit: &str, bins: &Bins) -> CourseRecord {
    let middle = bins.means().into_iter().map(|(t_s, _)| t_s);
    let numbers = middle
        .zip(bins.bins())
        .map(|(t_s, bin)| [t_s, bin.mean(), bin.min, bin.max].map(|value| round(value, DIGITS)));
    CourseRecord {
        of: of.to_owned(),
        place: place.to_owned(),
        unit: unit.to_owned(),
        width_s: bins.width_s(),
        bins: numbers.collect(),
    }
}

#[cfg(test)]
mod tests;
