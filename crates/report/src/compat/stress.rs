//! Formats results like cassandra-stress 3.11.4, during a run and at its end.
//!
//! The tests compare the output with that of the tool's classes for the same numbers. One
//! difference is deliberate: the tool adds up the longest garbage collection pauses of several
//! intervals, but this module keeps the longest pause.

use std::collections::BTreeMap;

use measure::{Histogram, number};

use super::java::fixed;
use super::rank::nearest_ns;

/// Last line of a run that succeeded.
pub const END: &str = "END\n";

/// Last line of a run that failed.
pub const FAILURE: &str = "FAILURE\n";

/// Measurements of one kind of operation, or of all kinds, over an interval, a part of an interval
/// or a run.
#[derive(Clone, Debug, Default)]
pub struct Timing {
    /// Start and end, in ns since an arbitrary moment. `None` before the first measurement.
    pub span_ns: Option<(u64, u64)>,
    pub partitions: u64,
    pub rows: u64,
    pub errors: u64,
    /// Latencies of all operations, including failed operations, in nanoseconds. At a fixed rate, a
    /// latency counts from the intended start of the operation. Otherwise, it counts from the send.
    pub latency: Histogram,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gc {
    pub count: f64,
    pub bytes: f64,
    /// Longest pause, in ms.
    pub max_ms: f64,
    /// Sum of all pauses, in ms.
    pub sum_ms: f64,
    /// Sum of the squares of all pauses, in ms².
    pub sum_of_squares_ms: f64,
}

#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Timings of each kind of operation. The keys are the tool's names of the kinds: `READ`,
    /// `WRITE`, or a name in a profile.
    pub operations: BTreeMap<String, Timing>,
    pub gc: Gc,
    /// Standard error of the mean rate over all intervals so far, as a share of the mean.
    pub stderr: f64,
}

impl Timing {
    /// Adds the measurements of another period. The span then covers both periods.
    pub fn add(&mut self, other: &Timing) {
        self.span_ns = match (self.span_ns, other.span_ns) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        self.partitions += other.partitions;
        self.rows += other.rows;
        self.errors += other.errors;
        self.latency.add(&other.latency);
    }

    pub(super) fn operations(&self) -> u64 {
        self.latency.count()
    }

    fn seconds(&self) -> f64 {
        match self.span_ns {
            Some((from, to)) => to.saturating_sub(from) as f64 * 1e-9,
            // Without a measurement, the tool's start and end are the extremes of their type. Their
            // difference overflows to 1 ns. Rates are therefore zero instead of undefined.
            None => 1e-9,
        }
    }

    fn milliseconds(&self) -> u64 {
        self.span_ns.map_or(0, |(from, to)| to.saturating_sub(from) / 1_000_000)
    }

    fn mean_ms(&self) -> f64 {
        self.latency.mean_ns() * 1e-6
    }

    pub(super) fn max_ms(&self) -> f64 {
        self.latency.max_ns() as f64 * 1e-6
    }

    /// Returns the latency at a percentile (0 to 100) in ms, with the rank that the tool's
    /// HdrHistogram uses.
    pub(super) fn percentile_ms(&self, percentile: f64) -> f64 {
        nearest_ns(&self.latency, percentile) as f64 * 1e-6
    }
}

impl Gc {
    /// Adds the activity of another period.
    pub fn add(&mut self, other: &Gc) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.max_ms = self.max_ms.max(other.max_ms);
        self.sum_ms += other.sum_ms;
        self.sum_of_squares_ms += other.sum_of_squares_ms;
    }

    fn deviation_ms(&self) -> f64 {
        let mean = self.sum_ms / self.count;
        let deviation = (self.sum_of_squares_ms / self.count - mean * mean).sqrt();
        if deviation.is_nan() { 0.0 } else { deviation }
    }
}

impl Sample {
    /// Adds an interval to a run. The standard error of the interval replaces that of the run. The
    /// span of a kind without operations grows too, because all kinds share the time of the run.
    pub fn add(&mut self, interval: &Sample) {
        let passed = interval.total().span_ns;
        for timing in self.operations.values_mut() {
            let resting = Timing {
                span_ns: passed,
                ..Timing::default()
            };
            timing.add(&resting);
        }
        for (name, timing) in &interval.operations {
            self.operations.entry(name.clone()).or_default().add(timing);
        }
        self.gc.add(&interval.gc);
        self.stderr = interval.stderr;
    }

    pub(super) fn total(&self) -> Timing {
        let mut total = Timing::default();
        self.operations.values().for_each(|timing| total.add(timing));
        total
    }
}

/// Formatter of the lines for the intervals of a run. It delays each line until it receives the
/// next interval. The last interval may contain only the last responses and be a few µs long, so
/// its rate would be meaningless. The formatter therefore merges an interval that is shorter than
/// half of the longest one into the previous interval.
#[derive(Debug, Default)]
pub struct Lines {
    held: Option<Sample>,
    run: Sample,
    /// Length of the longest interval so far, in seconds.
    longest: f64,
}

impl Lines {
    /// Takes the next interval, which must contain operations. Returns the line of the previous
    /// interval. Returns an empty string if no interval precedes, or if the next interval is merged
    /// into the previous one.
    pub fn take(&mut self, interval: Sample) -> String {
        let seconds = interval.total().seconds();
        if let Some(held) = &mut self.held
            && seconds < self.longest / 2.0
        {
            held.add(&interval);
            return String::new();
        }
        self.longest = self.longest.max(seconds);
        let text = self.print();
        self.held = Some(interval);
        text
    }

    /// Returns the line of the last interval, and the measurements of the run. The next interval
    /// then begins a new run.
    pub fn end(&mut self) -> (String, Sample) {
        let text = self.print();
        self.longest = 0.0;
        (text, std::mem::take(&mut self.run))
    }

    fn print(&mut self) -> String {
        let Some(held) = self.held.take() else {
            return String::new();
        };
        self.run.add(&held);
        interval(&held, &self.run)
    }
}

/// Sections of settings, each with a title and with pairs of name and value.
pub type Settings = Vec<(&'static str, Vec<(&'static str, String)>)>;

/// Returns the block of settings that precedes a run. Returns an empty string if `settings` is
/// empty.
pub fn settings(settings: &Settings) -> String {
    if settings.is_empty() {
        return String::new();
    }
    let mut text = "******************** Stress Settings ********************\n".to_owned();
    for (title, rows) in settings {
        text.push_str(&format!("{title}:\n"));
        for (name, value) in rows {
            text.push_str(&format!("  {name}: {value}\n"));
        }
    }
    text.push('\n');
    text
}

/// Returns the line of column headings above the rows of a run.
pub fn header() -> String {
    headed("")
}

fn headed(prefix: &str) -> String {
    let type_and_total = format!("{:<10}{:>10}", "type", "total ops");
    let latencies: String = [
        "op/s", "pk/s", "row/s", "mean", "med", ".95", ".99", ".999", "max",
    ]
    .map(|name| format!(",{name:>8}"))
    .concat();
    let (time, stderr, errors, gc) = ("time", "stderr", "errors", "gc: #");
    format!(
        "{prefix}{type_and_total}{latencies},{time:>7},{stderr:>9},{errors:>7},{gc:>7},{:>8},{:>8},\
         {:>8},{:>8}\n",
        "max ms", "sum ms", "sdv ms", "mb"
    )
}

/// Returns the rows of an interval. `run` contains the whole run so far, including this interval.
/// With several kinds of operations, each kind has a row, and one more row covers all kinds
/// together. Returns an empty string if the interval has no operations.
pub fn interval(interval: &Sample, run: &Sample) -> String {
    let total = interval.total();
    if total.operations() == 0 {
        return String::new();
    }
    let mut text = String::new();
    if run.operations.len() > 1 {
        // A kind without operations still has a row. This row contains zeros and covers the same
        // period as the other rows.
        let resting = Timing {
            span_ns: total.span_ns,
            ..Timing::default()
        };
        for (name, so_far) in &run.operations {
            let timing = interval.operations.get(name).unwrap_or(&resting);
            text.push_str(&row("", name, timing, so_far, interval));
        }
    }
    text.push_str(&row("", "total", &total, &run.total(), interval));
    text
}

fn row(prefix: &str, name: &str, timing: &Timing, run: &Timing, sample: &Sample) -> String {
    let whole = |value: f64| format!("{:>8}", fixed(value, 0, false));
    let tenth = |value: f64| format!("{:>8}", fixed(value, 1, false));
    let seconds = timing.seconds();
    let rates = [timing.operations(), timing.partitions, timing.rows]
        .map(|count| whole(count as f64 / seconds))
        .join(",");
    let latencies = [
        timing.mean_ms(),
        timing.percentile_ms(50.0),
        timing.percentile_ms(95.0),
        timing.percentile_ms(99.0),
        timing.percentile_ms(99.9),
        timing.max_ms(),
    ]
    .map(tenth)
    .join(",");
    let Gc {
        count,
        bytes,
        max_ms,
        sum_ms,
        ..
    } = sample.gc;
    let pauses = [
        max_ms,
        sum_ms,
        sample.gc.deviation_ms(),
        bytes / f64::from(1 << 20),
    ]
    .map(whole)
    .join(",");
    // The tool divides in single precision, so this code must do the same.
    let time = f64::from(run.milliseconds() as f32 / 1000f32);
    format!(
        "{prefix}{:<10}{:>10},{rates},{latencies},{:>7},{:>9},{:>7},{:>7},{pauses}\n",
        format!("{name},"),
        run.operations(),
        fixed(time, 1, false),
        fixed(sample.stderr, 5, false),
        timing.errors,
        fixed(count, 0, false),
    )
}

/// Returns the block `Results:` at the end of a run, including the empty lines before and after it.
pub fn summary(run: &Sample) -> String {
    let total = run.total();
    let rate = |label: &str, unit: &str, count: &dyn Fn(&Timing) -> u64| {
        let of = |timing: &Timing| fixed(count(timing) as f64 / timing.seconds(), 0, true);
        let each = each(run, &|timing| format!("{} {unit}", of(timing)));
        format!("{label:<26}: {:>8} {unit:<5} {each}\n", of(&total))
    };
    let latency = |label: &str, of: &dyn Fn(&Timing) -> f64| {
        let each = each(run, &|timing| format!("{} ms", fixed(of(timing), 1, true)));
        format!(
            "{label:<26}: {:>6} ms {each}\n",
            fixed(of(&total), 1, false)
        )
    };
    let count = |label: &str, of: &dyn Fn(&Timing) -> u64| {
        let number = |timing: &Timing| number::count(of(timing));
        format!(
            "{label:<26}: {:>10} {}\n",
            number(&total),
            each(run, &number)
        )
    };
    let mut text = "\n\nResults:\n".to_owned();
    text.push_str(&rate("Op rate", "op/s", &Timing::operations));
    text.push_str(&rate("Partition rate", "pk/s", &|timing| timing.partitions));
    text.push_str(&rate("Row rate", "row/s", &|timing| timing.rows));
    text.push_str(&latency("Latency mean", &Timing::mean_ms));
    for (label, percentile) in [
        ("Latency median", 50.0),
        ("Latency 95th percentile", 95.0),
        ("Latency 99th percentile", 99.0),
        ("Latency 99.9th percentile", 99.9),
    ] {
        text.push_str(&latency(label, &|timing| timing.percentile_ms(percentile)));
    }
    text.push_str(&latency("Latency max", &Timing::max_ms));
    text.push_str(&count("Total partitions", &|timing| timing.partitions));
    text.push_str(&count("Total errors", &|timing| timing.errors));
    text.push_str(&collections(&run.gc));
    text.push_str(&format!(
        "Total operation time      : {}\n\n",
        clock(total.milliseconds())
    ));
    text
}

fn collections(gc: &Gc) -> String {
    let six = |value: f64| format!("{:>6}", fixed(value, 1, true));
    format!(
        "Total GC count            : {}\nTotal GC memory           : {}\n\
         Total GC time             : {} seconds\nAvg GC time               : {} ms\n\
         StdDev GC time            : {} ms\n",
        fixed(gc.count, 0, true),
        memory(gc.bytes as u64),
        six(gc.sum_ms / 1000.0),
        six(gc.sum_ms / gc.count),
        six(gc.deviation_ms()),
    )
}

fn each(run: &Sample, of: &dyn Fn(&Timing) -> String) -> String {
    let parts: Vec<String> = run
        .operations
        .iter()
        .map(|(name, timing)| format!("{name}: {}", of(timing)))
        .collect();
    format!("[{}]", parts.join(", "))
}

fn memory(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0x4000_0000.. => (0x4000_0000u64, "GiB"),
        0x10_0000.. => (0x10_0000, "MiB"),
        _ => (0x400, "KiB"),
    };
    format!("{} {name}", fixed(bytes as f64 / unit as f64, 3, false))
}

fn clock(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}", seconds % 60)
}

/// Returns the table that compares runs with increasing numbers of threads. `runs` contains the
/// number of threads and the measurements of each run.
pub fn ladder(runs: &[(u32, Sample)]) -> String {
    let id = |threads: u32| format!("{threads} threadCount");
    let width = runs.iter().map(|(threads, _)| id(*threads).len()).max().unwrap_or(0);
    let mut text = headed(&format!("{:>width$}, ", "id"));
    for (threads, run) in runs {
        let prefix = format!("{:>width$}, ", id(*threads));
        for (name, timing) in &run.operations {
            text.push_str(&row(&prefix, name, timing, timing, run));
        }
        let total = run.total();
        text.push_str(&row(&prefix, "total", &total, &total, run));
    }
    text
}

/// Length of a run, which its first line states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    Operations(u64),
    /// The run ends after this number of `seconds`, `minutes` or `hours`.
    Time(u64, &'static str),
    /// The run ends when the standard error of the mean, as a share of the mean, is below this
    /// value.
    Uncertainty(f64),
}

/// Returns the kinds of operations of the commands `mixed` and `user`, in the form that [`running`]
/// needs. For any other command, pass the name of the command to [`running`] instead.
pub fn kinds(operations: &[&str]) -> String {
    format!("[{}]", operations.join(", "))
}

/// Returns the line that precedes a warm-up with this number of iterations.
pub fn warming_up(operation: &str, iterations: u64) -> String {
    format!("Warming up {operation} with {iterations} iterations...\n")
}

/// Returns the line that precedes a run. `kinds` is the name of a command in upper case, such as
/// `WRITE`, or the result of [`kinds`].
pub fn running(kinds: &str, threads: u32, length: Length) -> String {
    let length = match length {
        Length::Operations(count) => format!("for {count} iteration"),
        Length::Time(number, unit) => format!("{number} {unit}"),
        Length::Uncertainty(target) => format!("until stderr of mean < {target}"),
    };
    format!("Running {kinds} with {threads} threads {length}\n")
}

/// Returns the lines that precede the run with the next number of threads.
pub fn step(threads: u32) -> String {
    format!("\nRunning with {threads} threadCount\n")
}

/// Returns the line that follows each run except the first in a series of runs with more and more
/// threads. `share` is the relative improvement of the rate over the run with `threads_before`
/// threads.
pub fn improvement(threads_before: u32, share: f64) -> String {
    let percent = fixed(100.0 * share, 0, false);
    format!("Improvement over {threads_before} threadCount: {percent}%\n")
}

/// Line that precedes the first run if the command states no number of threads.
pub const NO_THREADS: &str = "Thread count was not specified\n";

#[cfg(test)]
mod tests;
