//! Keeps the readings for rules and costs in constant memory, because a trial of one day has a
//! million readings.

use crate::phase_times::TimeSpan;
use analysis::limits::{self, WindowSeries};
use cassandra::probe::Reading;
use measure::{Bin, Bins};
use std::collections::BTreeMap;
use store::record::CostKind;

/// Series that the rules judge within the measured window.
pub const PENDING: &str = "compactions.pending";
pub const STEAL: &str = "mpstat.%steal";
/// Series that have readings only while a node is stopped or blocked, so that it does not answer.
pub const STILL: [&str; 2] = [host::probe::STOPPED, host::probe::BLOCKED];
/// Probe that watches other programs on the machine in every trial.
pub const OTHERS_PROBE: &str = "others";
/// CPU use of a process, in percent of one CPU.
pub const CPU: &str = "pidstat.%CPU";
pub const MEMORY: &str = "pidstat.RSS";
/// Prefix and suffix of the names of the series that contain the pauses of one garbage collector.
pub const COLLECTOR: &str = "jvm.gc.";
pub const PAUSED: &str = ".paused_ms/s";
pub const RECEIVED: &str = "sar.rxkB/s";
pub const SENT: &str = "sar.txkB/s";
pub const DISK_READS: &str = "iostat.r/s";
pub const DISK_WRITES: &str = "iostat.w/s";
/// Rates of events of a process, which are costs.
pub const PROCESS_EVENTS: [(&str, CostKind); 4] = [
    ("pidstat.cswch/s", CostKind::ContextSwitches),
    ("pidstat.nvcswch/s", CostKind::ContextSwitches),
    ("pidstat.minflt/s", CostKind::PageFaults),
    ("pidstat.majflt/s", CostKind::PageFaults),
];
/// Rates of hardware events of a host's CPUs, which are costs.
pub const CPU_EVENTS: [(&str, CostKind); 4] = [
    ("perf.cycles", CostKind::Cycles),
    ("perf.instructions", CostKind::Instructions),
    ("perf.LLC-load-misses", CostKind::CacheMisses),
    ("perf.node-load-misses", CostKind::RemoteLoads),
];
/// Maximum number of bins of a series. In a trial of an hour, a bin covers one second, which is one
/// reading.
pub const STRETCHES_MAX: usize = 4096;

/// Maximum number of bins of each of the several hundred series for the limits of resources.
const LIMIT_STRETCHES_MAX: usize = 512;

/// Readings that the rules, the costs and the limits of resources need.
#[derive(Default)]
pub struct KeptReadings {
    /// Time of the first reading on the monotonic clock. The times of all bins are relative to this
    /// time.
    pub(super) base_ns: Option<u64>,
    /// Series, by probe, name and place.
    pub(super) series: BTreeMap<(String, String, String), Bins>,
    /// Series for the limits of resources, by name and place.
    pub(super) limits: BTreeMap<(String, String), Bins>,
}

impl KeptReadings {
    /// Takes a reading. Stores the reading only if the rules, the costs or the limits of resources
    /// need its series.
    pub fn push(&mut self, reading: &Reading) {
        self.push_for_limits(reading);
        let is_kept = reading.probe == OTHERS_PROBE
            || matches!(&*reading.name, PENDING | STEAL)
            || STILL.contains(&&*reading.name)
            || is_of_use(&reading.name);
        if !is_kept {
            return;
        }
        // The first reading comes at the start of the trial. A reading with an earlier time is
        // added to the first bin.
        let base_ns = *self.base_ns.get_or_insert(reading.at_ns);
        let t_s = (reading.at_ns as f64 - base_ns as f64) / 1e9;
        let names = [&*reading.probe, &*reading.name, &*reading.place];
        let key = names.map(str::to_owned).into();
        let bins = self.series.entry(key).or_insert_with(|| Bins::new(STRETCHES_MAX));
        bins.push(t_s, reading.value);
    }

    /// Takes a reading if the decision table of limits needs it. The probe [`OTHERS_PROBE`] and the
    /// hosts' probe both read the pressure of the machine. So only the CPU readings of
    /// [`OTHERS_PROBE`] count here.
    fn push_for_limits(&mut self, reading: &Reading) {
        let is_twin = reading.probe == OTHERS_PROBE && !reading.name.starts_with("cpu.");
        if is_twin || !limits::is_needed(&reading.name) {
            return;
        }
        let base_ns = *self.base_ns.get_or_insert(reading.at_ns);
        let t_s = (reading.at_ns as f64 - base_ns as f64) / 1e9;
        let key = (reading.name.to_string(), reading.place.to_string());
        let bins = self.limits.entry(key).or_insert_with(|| Bins::new(LIMIT_STRETCHES_MAX));
        bins.push(t_s, reading.value);
    }

    /// Returns the readings for the limits of resources within a window of the monotonic clock.
    pub fn for_limits(&self, window: TimeSpan) -> Vec<WindowSeries<'_>> {
        let window = self.since_s(window.from_ns)..=self.since_s(window.to_ns);
        let inside = |bin: &&Bin| window.contains(&((bin.first_s + bin.last_s) / 2.0));
        let all = self.limits.iter().map(|((name, place), bins)| WindowSeries {
            name,
            place,
            bins: bins.bins().filter(inside).copied().collect(),
        });
        all.filter(|series| !series.bins.is_empty()).collect()
    }

    /// Converts a time of the monotonic clock to seconds since the first reading.
    pub fn since_s(&self, ns: u64) -> f64 {
        (ns as f64 - self.base_ns.unwrap_or(0) as f64) / 1e9
    }

    /// Returns the readings within a window of the monotonic clock.
    pub fn within(&self, window: TimeSpan) -> Vec<InWindow<'_>> {
        let window = self.since_s(window.from_ns)..=self.since_s(window.to_ns);
        // Later code adds up bins across nodes, so all series must have bins of the same width.
        let widest_s = self.series.values().map(Bins::width_s).fold(1.0, f64::max);
        let mut all = Vec::new();
        for ((probe, name, place), bins) in &self.series {
            let mut bins = bins.clone();
            bins.widen(widest_s);
            let inside = bins.numbered().filter(|(_, bin)| {
                let middle = (bin.first_s + bin.last_s) / 2.0;
                window.contains(&middle)
            });
            let stretches: Vec<(usize, Bin)> = inside.map(|(at, bin)| (at, *bin)).collect();
            if !stretches.is_empty() {
                all.push(InWindow {
                    probe,
                    name,
                    place,
                    stretches,
                });
            }
        }
        all
    }
}

/// Readings of one series within the window.
pub struct InWindow<'a> {
    pub probe: &'a str,
    /// Name of the series.
    pub name: &'a str,
    /// Node, host, device or process to which the readings belong, as the probe names it.
    pub place: &'a str,
    /// Bins of the series, with their numbers.
    pub stretches: Vec<(usize, Bin)>,
}

/// Converts percentages to shares, and returns their mean. Returns `None` if the series has no
/// readings.
pub fn share<'a>(series: impl Iterator<Item = &'a InWindow<'a>>) -> Option<f64> {
    let bins = series.flat_map(|series| &series.stretches);
    let add =
        |(count, sum): (u64, f64), (_, bin): &(usize, Bin)| (count + bin.count, sum + bin.sum);
    let (count, sum) = bins.fold((0, 0.0), add);
    (count > 0).then(|| sum / count as f64 / 100.0)
}

/// Returns true if a series shows how much the nodes use their machines.
fn is_of_use(name: &str) -> bool {
    matches!(
        name,
        CPU | MEMORY | RECEIVED | SENT | DISK_READS | DISK_WRITES
    ) || is_pause(name)
        || PROCESS_EVENTS.iter().chain(&CPU_EVENTS).any(|(event, _)| *event == name)
}

/// Returns true if a device passes its requests on to other devices, whose counts also contain the
/// requests.
pub fn is_passed_on(device: &str) -> bool {
    ["loop", "dm-", "md"].iter().any(|passes| device.starts_with(passes))
}

/// Returns true if a series contains the pause times of one garbage collector.
pub fn is_pause(name: &str) -> bool {
    name.starts_with(COLLECTOR) && name.ends_with(PAUSED)
}
