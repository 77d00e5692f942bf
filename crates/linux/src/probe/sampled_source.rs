//! Samples: the trait that takes them, their readings and their cost.

use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// One value of one series.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Probe that read it, as named by its [`super::Task`]: `hosts`, `processes`, `others`; for the
    /// database `jvm`, `cassandra`.
    pub probe: Cow<'static, str>,
    /// Time of the reading on the clock of [`measure::clock::now_ns`], ns.
    pub at_ns: u64,
    /// Name `<tool>.<its column>`: `mpstat.%usr`, `iostat.r/s`, `jvm.heap_used`.
    pub name: Arc<str>,
    /// Place: `host1`, `host1/cpu0`, `node1`, `machine`, `client`.
    pub place: Arc<str>,
    /// Unit of the value: `%`, `/s`, `bytes`, `kB`, `ms`, `count`.
    pub unit: Cow<'static, str>,
    /// The value; always finite.
    pub value: f64,
}

/// Work and cost of one probe at one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeCost {
    /// Name of the probe. `agent` means the fetching of an agent's readings.
    pub probe: Cow<'static, str>,
    /// Host or node that it samples.
    pub place: String,
    /// Time between two samples.
    pub period: Duration,
    /// Number of samples taken.
    pub looks: u64,
    /// Samples omitted because an earlier sample took too long, or because the machine was busy.
    pub missed: u64,
    /// Number of values that it read.
    pub values: u64,
    /// CPU time of its samples and of waiting for them, ns. This includes the time of agents that
    /// answer them.
    pub cpu_ns: u64,
    /// Duration of the longest sample in wall-clock time, ns.
    pub longest_ns: u64,
    /// Bound on the error of its times if they come from another clock than this process's, ns.
    pub clock_bound_ns: Option<u64>,
    /// Problems, each once.
    pub problems: Vec<String>,
}

/// A source that is sampled repeatedly.
pub trait SampledSource: Send {
    /// Takes one sample. `now_ns` is the time at which it began, which [`Out::put`] also gives to
    /// its values.
    ///
    /// # Errors
    /// A part could not be read. The values up to now remain, and the sampler still takes the next
    /// sample.
    fn look(&mut self, now_ns: u64, out: &mut Out) -> Result<()>;

    /// Called once when the probes stop, for readings that would otherwise be lost. These are the
    /// pauses in the log since the last sample. Rates over a partial period are not needed.
    ///
    /// # Errors
    /// Those of [`SampledSource::look`].
    fn last(&mut self, _now_ns: u64, _out: &mut Out) -> Result<()> {
        Ok(())
    }

    /// Called after the end: completes its own cost, and returns the costs of the remote probes
    /// that have sampled for it.
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
    /// Names and places that occurred before: a series has the same names at every sample.
    words: HashSet<Arc<str>>,
}

impl Out {
    /// Creates an empty sink.
    pub fn new() -> Out {
        Out::default()
    }

    /// Sets the probe and the time of the following values.
    pub fn begin(&mut self, probe: &'static str, at_ns: u64) {
        self.probe = probe;
        self.at_ns = at_ns;
    }

    /// Adds one value of the current sample. A value that is not finite is omitted.
    pub fn put(&mut self, name: &str, place: &str, unit: &'static str, value: f64) {
        self.put_at(self.at_ns, name, place, unit, value);
    }

    /// Adds one value with a time that differs from the sample's: a pause has its own time.
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

    /// Returns the recorded values that have not been passed on.
    pub fn readings(&self) -> &[Reading] {
        &self.readings
    }

    /// Passes on the values.
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
