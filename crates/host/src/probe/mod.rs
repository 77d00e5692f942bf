//! Probes: what the machine, the stand-in hosts and the processes say of themselves while work goes
//! on, read at fixed periods by threads of our own, here or in a host's agent ([`crate::Watch`]);
//! and what looks of others need.
//!
//! A probe is a row of [`Look`]s, each with its period. What must hold: due times are absolute, so
//! that nothing drifts; a look that comes too late is left out and counted, never made up for; a
//! look that fails is noted once and tried again at its next due time; who takes readings never
//! waits for a look. What the looks cost is measured by the clock of their thread and given back
//! with the readings, so that nobody has to believe that watching is free.

mod hosts;
mod processes;
mod sampler;
mod source;

pub use hosts::STOPPED;
pub use processes::BLOCKED;
pub use sampler::{Probes, Sampler, Task};
pub use source::Last;

pub(crate) use hosts::HostSources;

use crate::watch::{Watched, What};
use anyhow::Result;
use processes::{NumaMaps, Process};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// One value of one series.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Which probe read it, as its [`Task`] says: `hosts`, `processes`, `others`; of the database
    /// `jvm`, `cassandra`.
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
    pub(crate) fn pass_on(&mut self, reading: Reading) {
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

/// What of this machine is ours, beside ourselves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ours<'a> {
    /// Nodes by their places and process ids.
    pub nodes: &'a [(&'a str, u32)],
    /// Process ids of our agents.
    pub agents: &'a [u32],
    /// Devices of our hosts' volumes, by their names below `/sys/block`.
    pub devices: &'a [String],
}

/// Watches who uses this machine beside what is ours, and ourselves: what is read stands under the
/// probe `others`. Cheap enough for every trial.
///
/// # Errors
/// The machine does not tell: the message says what could not be read.
pub fn others(ours: &Ours<'_>, period: Duration) -> Result<Probes> {
    let mut sampler = Sampler::new("probe-others");
    let look = hosts::Others::open(ours)?;
    sampler.add(Task::new("others", "machine", period, Box::new(look)));
    Probes::start(vec![sampler])
}

/// How often NUMA placement is read: it costs the process under test 50 ms of not mapping memory.
const NUMA_PERIOD: Duration = Duration::from_secs(60);

/// The looks at one thing.
///
/// # Errors
/// A file that every kernel has cannot be read, or there is no such process.
pub(crate) fn tasks(watched: &Watched) -> Result<Vec<Task>> {
    let Watched { place, period, .. } = watched;
    let hosts = |look| Task::new("hosts", place, *period, look);
    let mut tasks = Vec::new();
    match &watched.what {
        What::Machine { without } => {
            let machine = hosts::Machine::open(without.clone())?;
            tasks.push(hosts(Box::new(machine)));
        }
        What::StandIn(sources) => tasks.push(hosts(Box::new(hosts::stand_in(place, sources)?))),
        What::Process(pid) => {
            let process = Process::open(place, *pid)?;
            tasks.push(Task::new("processes", place, *period, Box::new(process)));
            if processes::numa_nodes().len() > 1 {
                let (maps, period) = (NumaMaps::open(place, *pid)?, NUMA_PERIOD.max(*period));
                tasks.push(Task::new("numa", place, period, Box::new(maps)));
            }
        }
    }
    Ok(tasks)
}

/// What the looks at this machine cannot see of it, with the reason and what would bring it.
pub fn unseen() -> Option<String> {
    let pressure = Path::new("/proc/pressure/cpu").exists();
    (!pressure)
        .then(|| "pressure (psi.*), since this kernel has none: boot it with `psi=1`".to_string())
}
