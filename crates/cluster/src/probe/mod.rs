//! Probes: what the machine, the hosts, the processes and the database say of themselves while
//! work goes on, read at fixed periods by threads of our own.
//!
//! A probe is a row of [`Look`]s, each with its period. What must hold: due times are absolute, so
//! that nothing drifts; a look that comes too late is left out and counted, never made up for; a
//! look that fails is noted once and tried again at its next due time; who takes readings never
//! waits for a look. What the looks cost is measured by the clock of their thread and given back
//! with the readings, so that nobody has to believe that watching is free.

mod beans;
mod cassandra;
mod gc_log;
mod hosts;
pub mod import;
mod jvm;
mod node;
mod processes;
mod sampler;
mod source;
mod virtual_tables;

pub use sampler::Probes;
pub(crate) use sampler::{Sampler, Task};

use crate::cluster::{Cluster, NodeInfo};
use crate::host::{Host, Hosts};
use crate::local::Nodes;
use anyhow::{Context, Result};
use processes::{NumaMaps, Process};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Which probes run, each with the time between two looks; `None`: it does not run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeSpec {
    /// The machine and the stand-in hosts: CPUs, memory, devices, network, pressure.
    pub hosts: Option<Duration>,
    /// The nodes' processes and this one.
    pub processes: Option<Duration>,
    /// The nodes' Java machines.
    pub jvm: Option<Duration>,
    /// The database's own figures.
    pub cassandra: Option<Duration>,
    /// Pauses, from the collector's log.
    pub gc_log: Option<Duration>,
    /// End points of others in Prometheus's text format.
    pub scrapes: Vec<ScrapeSpec>,
}

/// An end point in Prometheus's text format.
#[derive(Clone, Debug, PartialEq)]
pub struct ScrapeSpec {
    /// `http://host:port/path`
    pub url: String,
    /// Time between two looks.
    pub period: Duration,
    /// Which metrics are taken, as in [`import::read_prometheus`].
    pub metrics: Vec<String>,
}

/// One value of one series.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Which probe read it: `hosts`, `processes`, `jvm`, `cassandra`, `gc_log`, `prometheus`,
    /// `others`.
    pub probe: &'static str,
    /// When, on the clock of [`measure::clock::now_ns`].
    pub at_ns: u64,
    /// `<tool>.<its column>`: `mpstat.%usr`, `iostat.r/s`, `jvm.heap_used`.
    pub name: Arc<str>,
    /// Where: `host1`, `host1/cpu0`, `node1`, `machine`, `client`.
    pub place: Arc<str>,
    /// Unit of the value: `%`, `/s`, `bytes`, `kB`, `ms`, `count`.
    pub unit: &'static str,
    /// The value; always finite.
    pub value: f64,
}

/// What one probe at one place did and cost.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeCost {
    /// Which probe.
    pub probe: &'static str,
    /// Host or node that it looked at; empty for all of this machine.
    pub place: Arc<str>,
    /// Time between two looks.
    pub period: Duration,
    /// How often it looked.
    pub looks: u64,
    /// Looks left out because an earlier one took too long or the machine was busy.
    pub missed: u64,
    /// Values that it read.
    pub values: u64,
    /// CPU time of its looks and of waiting for them, nanoseconds.
    pub cpu_ns: u64,
    /// The longest look, nanoseconds on the wall.
    pub longest_ns: u64,
    /// What went wrong, each once.
    pub problems: Vec<String>,
}

/// One thing to look at again and again.
pub(crate) trait Look: Send {
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
}

/// Where a look puts its values.
pub(crate) struct Out {
    probe: &'static str,
    at_ns: u64,
    readings: Vec<Reading>,
    /// Names and places that were met before: a series has the same ones at every look.
    words: HashSet<Arc<str>>,
}

impl Out {
    pub(crate) fn new() -> Out {
        Out {
            probe: "",
            at_ns: 0,
            readings: Vec::new(),
            words: HashSet::new(),
        }
    }

    /// Values that follow are `probe`'s and were read at `at_ns`.
    pub(crate) fn begin(&mut self, probe: &'static str, at_ns: u64) {
        self.probe = probe;
        self.at_ns = at_ns;
    }

    /// One value of the look that goes on. What is not a finite number is no reading.
    pub(crate) fn put(&mut self, name: &str, place: &str, unit: &'static str, value: f64) {
        self.put_at(self.at_ns, name, place, unit, value);
    }

    /// One value of another time than the look's: a pause stands at its own.
    pub(crate) fn put_at(
        &mut self,
        at_ns: u64,
        name: &str,
        place: &str,
        unit: &'static str,
        value: f64,
    ) {
        if !value.is_finite() {
            return;
        }
        let reading = Reading {
            probe: self.probe,
            at_ns,
            name: self.word(name),
            place: self.word(place),
            unit,
            value,
        };
        self.readings.push(reading);
    }

    /// What was put so far, not yet handed on.
    pub(crate) fn readings(&self) -> &[Reading] {
        &self.readings
    }

    /// Hands on what was put.
    pub(crate) fn drain(&mut self) -> std::vec::Drain<'_, Reading> {
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

/// Starts the probes of `spec` that need no cluster: those of this machine, of this process and of
/// `others` by their places and process ids. For a client whose target is not a [`Cluster`].
///
/// # Errors
/// A probe cannot start at all: the message says which and why.
pub fn this_machine(spec: &ProbeSpec, others: &[(&str, u32)]) -> Result<Probes> {
    let mut samplers = scrapers(spec)?;
    samplers.push(os(spec, others, &[])?);
    Probes::start(samplers)
}

/// Watches who uses this machine beside this process and `nodes`, by their places and process ids:
/// what is read stands under the probe `others`. Cheap enough for every trial.
///
/// # Errors
/// The machine does not tell: the message says what could not be read.
pub fn others(nodes: &[(&str, u32)], period: Duration) -> Result<Probes> {
    let mut sampler = Sampler::new("probe-others");
    let look = hosts::Others::open(nodes)?;
    sampler.add(Task::new("others", "machine", period, Box::new(look)));
    Probes::start(vec![sampler])
}

impl Cluster {
    /// Starts the probes of `spec`; `tables` of `keyspace` are those whose own figures are read.
    ///
    /// # Errors
    /// A probe cannot start at all: the message says which and why. What some probe cannot see is
    /// no error, see [`Cluster::unseen`].
    pub fn probe(&self, spec: &ProbeSpec, keyspace: &str, tables: &[&str]) -> Result<Probes> {
        let nodes = self.nodes().iter();
        let processes: Vec<(&str, u32)> = nodes
            .filter_map(|node| Some((node.name.as_str(), node.pid?)))
            .collect();
        let mut samplers = scrapers(spec)?;
        let hosts = self.local().and_then(Nodes::hosts);
        samplers.push(os(spec, &processes, hosts.map_or(&[], Hosts::all))?);
        samplers.extend(node::samplers(self, spec, keyspace, tables));
        Probes::start(samplers)
    }

    /// What the probes of `spec` cannot see, each with the reason and what would bring it.
    pub fn unseen(&self, spec: &ProbeSpec) -> Vec<String> {
        let mut unseen = unseen_by_os(spec, self.nodes());
        unseen.extend(node::unseen(self, spec));
        unseen
    }
}

/// How often NUMA placement is read: it costs the process under test 50 ms of not mapping memory.
const NUMA_PERIOD: Duration = Duration::from_secs(60);

/// A sampler for each end point of somebody else: a slow one keeps nobody waiting.
fn scrapers(spec: &ProbeSpec) -> Result<Vec<Sampler>> {
    let scraper = |one: &ScrapeSpec| {
        let look = import::Scrape::new(&one.url, &one.metrics)?;
        let place = look.place().to_string();
        let mut sampler = Sampler::new("probe-scrape");
        sampler.add(Task::new("prometheus", &place, one.period, Box::new(look)));
        Ok(sampler)
    };
    spec.scrapes.iter().map(scraper).collect()
}

/// The looks at this machine and the stand-in hosts on it, at this process and at others by their
/// places and process ids.
fn os(spec: &ProbeSpec, others: &[(&str, u32)], hosts: &[Host]) -> Result<Sampler> {
    let mut sampler = Sampler::new("probe-os");
    if let Some(period) = spec.hosts {
        let machine = hosts::Machine::open(hosts)?;
        sampler.add(Task::new("hosts", "machine", period, Box::new(machine)));
        for host in hosts {
            let look = hosts::stand_in(host).with_context(|| format!("watch {}", host.name()))?;
            sampler.add(Task::new("hosts", host.name(), period, Box::new(look)));
        }
    }
    let Some(period) = spec.processes else {
        return Ok(sampler);
    };
    let with_numa = processes::numa_nodes().len() > 1;
    let own = ("client", std::process::id());
    for (place, pid) in others.iter().copied().chain([own]) {
        let process = Process::open(place, pid).with_context(|| format!("watch {place}"))?;
        sampler.add(Task::new("processes", place, period, Box::new(process)));
        if with_numa {
            let maps = NumaMaps::open(place, pid).with_context(|| format!("watch {place}"))?;
            let period = period.max(NUMA_PERIOD);
            sampler.add(Task::new("numa", place, period, Box::new(maps)));
        }
    }
    Ok(sampler)
}

/// What the looks at this machine cannot see.
fn unseen_by_os(spec: &ProbeSpec, nodes: &[NodeInfo]) -> Vec<String> {
    let mut unseen = Vec::new();
    let elsewhere: Vec<&str> = nodes
        .iter()
        .filter(|node| node.pid.is_none())
        .map(|node| node.name.as_str())
        .collect();
    if spec.hosts.is_some() && !elsewhere.is_empty() {
        unseen.push(format!(
            "hosts: only this machine is watched, not those of {} (import what their own tools \
             have written)",
            elsewhere.join(", ")
        ));
    }
    if spec.processes.is_some() && !elsewhere.is_empty() {
        unseen.push(format!(
            "processes: {} were not started by cassay, so only cassay itself is watched",
            elsewhere.join(", ")
        ));
    }
    if spec.hosts.is_some() && !Path::new("/proc/pressure/cpu").exists() {
        unseen.push(
            "hosts: pressure (psi.*), since this kernel has none: boot it with `psi=1`".to_string(),
        );
    }
    unseen
}
