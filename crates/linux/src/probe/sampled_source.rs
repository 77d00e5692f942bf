//! Samples: the trait of sources that are sampled, the readings of a sample, and its cost.

use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// One value of one series.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Name of the probe that took the reading, from its [`super::Task`]: `hosts`, `processes`,
    /// `others`, or for the database `jvm` and `cassandra`.
    pub probe: Cow<'static, str>,
    /// Time of the reading on the clock of [`measure::clock::now_ns`], in ns.
    pub at_ns: u64,
    /// Name of the series, in the form `<tool>.<column of the tool>`: `mpstat.%usr`, `iostat.r/s`,
    /// `jvm.heap_used`.
    pub name: Arc<str>,
    /// Place to which the value belongs: `host1`, `host1/cpu0`, `node1`, `machine`, `client`.
    pub place: Arc<str>,
    /// Unit of the value: `%`, `/s`, `bytes`, `kB`, `ms`, `count`.
    pub unit: Cow<'static, str>,
    /// The value, which is always finite.
    pub value: f64,
}

/// Work and cost of one probe at one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeCost {
    /// Name of the probe. The name `agent` means that the cost is that of fetching readings from an
    /// agent.
    pub probe: Cow<'static, str>,
    /// Host or node that the probe samples.
    pub place: String,
    /// Time between two samples.
    pub period: Duration,
    /// Number of samples that were taken.
    pub looks: u64,
    /// Number of samples that were omitted because an earlier sample took too long, or because the
    /// machine was busy.
    pub missed: u64,
    /// Number of values that the probe read.
    pub values: u64,
    /// CPU time of the samples and of the wake-ups for them, in ns. This includes the time of
    /// agents that answer the probe.
    pub cpu_ns: u64,
    /// Wall-clock duration of the longest sample, in ns.
    pub longest_ns: u64,
    /// Bound on the error of the probe's times in ns, if the times come from the clock of another
    /// process.
    pub clock_bound_ns: Option<u64>,
    /// Problems of the probe. The list contains each problem once.
    pub problems: Vec<String>,
}

/// A source that is sampled repeatedly.
pub trait SampledSource: Send {
    /// Takes one sample. `now_ns` is the time at which the sample began, and [`Out::put`] gives
    /// this time to all values of the sample.
    ///
    /// # Errors
    /// Some data could not be read. The values that were already read remain, and the sampler still
    /// takes the next sample.
    fn look(&mut self, now_ns: u64, out: &mut Out) -> Result<()>;

    /// Takes a last sample when the probes stop, for readings that would otherwise be lost. An
    /// example is a log, which may contain pauses since the last sample. Rates over a partial
    /// period are not needed.
    ///
    /// # Errors
    /// The errors of [`SampledSource::look`].
    fn last(&mut self, _now_ns: u64, _out: &mut Out) -> Result<()> {
        Ok(())
    }

    /// Completes the cost of this probe after its end. Returns the costs of the remote probes that
    /// have sampled on behalf of this probe.
    fn ended(&mut self, _own: &mut ProbeCost) -> Vec<ProbeCost> {
        Vec::new()
    }
}

/// Sink for the values of a sample.
#[derive(Default)]
pub struct Out {
    probe: &'static str,
    at_ns: u64,
    readings: Vec<Reading>,
    /// Names and places that have already occurred. Readings share these texts, because a series
    /// has the same name and place at every sample.
    words: HashSet<Arc<str>>,
}

impl Out {
    /// Creates an empty sink.
    pub fn new() -> Out {
        Out::default()
    }

    /// Sets the probe and the time for the following values.
    pub fn begin(&mut self, probe: &'static str, at_ns: u64) {
        self.probe = probe;
        self.at_ns = at_ns;
    }

    /// Adds a value to the current sample. A value that is not finite is omitted.
    pub fn put(&mut self, name: &str, place: &str, unit: &'static str, value: f64) {
        self.put_at(self.at_ns, name, place, unit, value);
    }

    /// Adds a value with a time that differs from the time of the sample, such as the time of a
    /// pause.
    pub fn put_at(&mut self, at_ns: u64, name: &str, place: &str, unit: &'static str, value: f64) {
        if !value.is_finite() {
            return;
        }
        let reading = Reading {
            probe: Cow::Borrowed(self.probe),
            at_ns,
            name: self.word(name),
            place: self.word(place),
            unit: Cow::Borrowed(unit),
            value,
        };
        self.readings.push(reading);
    }

    /// Adds a reading that another probe has taken.
    pub fn pass_on(&mut self, reading: Reading) {
        self.readings.push(reading);
    }

    /// Returns the recorded values that have not been passed on yet.
    pub fn readings(&self) -> &[Reading] {
        &self.readings
    }

    /// Removes the recorded values and returns them.
    pub fn drain(&mut self) -> std::vec::Drain<'_, Reading> {
        self.readings.drain(..)
    }

    fn word(&mut self, word: &str) -> Arc<str> {
        if let Some(known) = self.words.get(word) {
            return Arc::clone(known);
        }
        let new: Arc<str> = Arc::from(word);
        self.words.insert(Arc::clone(&new));
        new
    }
}
