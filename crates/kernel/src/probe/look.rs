//! What a look is, what it reads and what it costs.

use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// One value of one series.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Which probe read it, as its [`super::Task`] says: `hosts`, `processes`, `others`; of the
    /// database `jvm`, `cassandra`.
    pub probe: Cow<'static, str>,
    /// When, on the clock of [`measure::clock::now_ns`].
    pub at_ns: u64,
    /// `<tool>.<its column>`: `mpstat.%usr`, `iostat.r/s`, `jvm.heap_used`.
    pub name: Arc<str>,
    /// Where: `host1`, `host1/cpu0`, `node1`, `machine`, `client`.
    pub place: Arc<str>,
    /// Unit of the value: `%`, `/s`, `bytes`, `kB`, `ms`, `count`.
    pub unit: Cow<'static, str>,
    /// The value; always finite.
    pub value: f64,
}

/// What one probe at one place did and cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeCost {
    /// Which probe; `agent`: taking what an agent has read.
    pub probe: Cow<'static, str>,
    /// Host or node that it looked at.
    pub place: String,
    /// Time between two looks.
    pub period: Duration,
    /// How often it looked.
    pub looks: u64,
    /// Looks left out because an earlier one took too long or the machine was busy.
    pub missed: u64,
    /// Values that it read.
    pub values: u64,
    /// CPU time of its looks and of waiting for them, that of agents which answer them included,
    /// nanoseconds.
    pub cpu_ns: u64,
    /// The longest look, nanoseconds on the wall.
    pub longest_ns: u64,
    /// How far its times may be off, where they are of another clock than ours, nanoseconds.
    pub clock_bound_ns: Option<u64>,
    /// What went wrong, each once.
    pub problems: Vec<String>,
}

/// One thing to look at again and again.
pub trait Look: Send {
    /// Reads it once. `now_ns` is when the look began, which is also the time that
    /// [`Out::put`] gives to its values.
    ///
    /// # Errors
    /// What could not be read; values already put stay, and the next look is made all the same.
    fn look(&mut self, now_ns: u64, out: &mut Out) -> Result<()>;

    /// Called once when the probes stop, for what would otherwise be lost: the pauses that the
    /// log has seen since the last look. Rates over a piece of a period are not asked for.
    ///
    /// # Errors
    /// As [`Look::look`].
    fn last(&mut self, _now_ns: u64, _out: &mut Out) -> Result<()> {
        Ok(())
    }

    /// Called when that is over: completes its own cost, and gives the costs of those who have
    /// looked for it.
    fn ended(&mut self, _own: &mut ProbeCost) -> Vec<ProbeCost> {
        Vec::new()
    }
}

/// Where a look puts its values.
#[derive(Default)]
pub struct Out {
    probe: &'static str,
    at_ns: u64,
    readings: Vec<Reading>,
    /// Names and places that were met before: a series has the same ones at every look.
    words: HashSet<Arc<str>>,
}

impl Out {
    /// Nothing put yet.
    pub fn new() -> Out {
        Out::default()
    }

    /// Values that follow are `probe`'s and were read at `at_ns`.
    pub fn begin(&mut self, probe: &'static str, at_ns: u64) {
        self.probe = probe;
        self.at_ns = at_ns;
    }

    /// One value of the look that goes on. What is not a finite number is no reading.
    pub fn put(&mut self, name: &str, place: &str, unit: &'static str, value: f64) {
        self.put_at(self.at_ns, name, place, unit, value);
    }

    /// One value of another time than the look's: a pause stands at its own.
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

    /// A reading of somebody else's look.
    pub fn pass_on(&mut self, reading: Reading) {
        self.readings.push(reading);
    }

    /// What was put so far, not yet handed on.
    pub fn readings(&self) -> &[Reading] {
        &self.readings
    }

    /// Hands on what was put.
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
