//! Collects the readings of a trial's probes. Writes them to disk as they arrive, and keeps those
//! that the rules need.
//!
//! A probe watches processes, so it must end before the processes restart, and begins again
//! afterwards. The new readings are appended to the same files.

mod hosts_now;
mod readings_buffer;
mod resource_use;
mod scrapers;

use super::event::CpuShares;
use super::phase_times::TimeSpan;
use super::running_target::Running;
use super::trial::endurance_series::WindowReadings;
use analysis::limits::WindowSeries;
use analysis::rules::{CpuUse, Evidence, MachineUse, NodeStatePeriod, Pressure};
use anyhow::{Context, Result};
use cassandra::probe::{ProbeCost, ProbeSpec, Probes, Reading};
use cluster::Cluster;
use hosts_now::HostReadings;
use measure::clock;
use readings_buffer::{InWindow, KeptReadings, OTHERS_PROBE, PENDING, STEAL, STILL, share};
use std::collections::BTreeMap;
use std::time::Duration;
use store::TrialWriter;
use store::record::{ProbeRecord, SampleRecord};
use study::settings::Settings;

pub use resource_use::ResourceUse;

/// Period of the probe [`OTHERS_PROBE`]. Even a window of a few seconds must contain several
/// readings.
const OTHERS_PROBE_PERIOD: Duration = Duration::from_secs(1);

/// Probes of one trial.
#[derive(Default)]
pub struct ProbeCollector {
    probes: Vec<Probes>,
    /// Reason why the CPU use of other programs on this machine cannot be measured.
    others_unseen: Option<String>,
    /// Time at which the current probes began, in ns.
    began_ns: u64,
    /// Total running time of the probes that have ended, in ns.
    ran_ns: u64,
    costs: Vec<ProbeCost>,
    kept: KeptReadings,
    /// Readings in the measured window of an endurance trial.
    watched: Option<WindowReadings>,
    /// Latest CPU use of this machine.
    cpu_shares: Option<CpuShares>,
    /// Latest resource use of the hosts.
    pub hosts: HostReadings,
}

impl ProbeCollector {
    /// Starts the probes that `settings` request. Also starts the probe that watches all processes
    /// of the machine except the nodes and those of cassay. `clients` are processes of cassay.
    ///
    /// # Errors
    /// A thread could not be started, or the address of an endpoint is not valid. Data that cannot
    /// be read is not an error. See `Cluster::unseen`.
    pub fn start(
        &mut self,
        running: &Running,
        settings: &Settings,
        what: &DatabaseProbes,
        clients: &[u32],
    ) -> Result<()> {
        self.began_ns = clock::now_ns();
        let pids = running.pids();
        let agents = [running.cluster.host_agents(), clients.to_vec()].concat();
        let ours = pids.iter().filter_map(|(name, pid)| Some((name.as_str(), (*pid)?)));
        let ours = host::probe::OwnProcesses {
            nodes: &ours.collect::<Vec<_>>(),
            agents: &agents,
            devices: &running.cluster.host_devices(),
        };
        match host::probe::others(&ours, OTHERS_PROBE_PERIOD) {
            Ok(others) => self.probes.push(others),
            // If the machine does not report the CPU use of other programs, the result of one rule
            // is unknown, but the trial can run.
            Err(error) => self.others_unseen = Some(format!("{error:#}")),
        }
        let start = || -> Result<Vec<Probes>> {
            let mut started = vec![Probes::start(scrapers::all(settings, &running.cluster)?)?];
            // The probes cannot read anything from a null target.
            if let Some(spec) = spec(settings).filter(|_| !running.is_null()) {
                let tables: Vec<&str> = what.tables.iter().map(String::as_str).collect();
                started.push(running.cluster.probe(&spec, &what.keyspace, &tables)?);
            }
            Ok(started)
        };
        self.probes.extend(start().context("start the probes")?);
        Ok(())
    }

    /// Writes the readings that arrived since the last call.
    pub fn write(&mut self, files: &mut TrialWriter) -> Result<()> {
        let readings = self.probes.iter().flat_map(Probes::take).collect();
        self.keep(files, readings)
    }

    /// Ends the probes. The caller must do this before the watched processes end.
    pub fn stop(&mut self, files: &mut TrialWriter) -> Result<()> {
        if self.probes.is_empty() {
            return Ok(());
        }
        let mut last = Vec::new();
        for probes in self.probes.drain(..) {
            let (readings, costs) = probes.stop();
            last.extend(readings);
            self.costs.extend(costs);
        }
        self.ran_ns += clock::now_ns() - self.began_ns;
        self.keep(files, last)
    }

    /// Starts collecting the readings of the measured window. Only endurance trials need them.
    pub fn watch(&mut self) {
        self.watched = Some(WindowReadings::default());
    }

    /// Marks the start of the measured window.
    pub fn window_begins(&mut self, at_ns: u64) {
        self.watched.iter_mut().for_each(|watched| watched.begin(at_ns));
    }

    /// Marks the end of the measured window. Readings after this time are not part of the window.
    pub fn window_ends(&mut self, at_ns: u64) {
        self.watched.iter_mut().for_each(|watched| watched.end(at_ns));
    }

    /// Returns the latest CPU use of this machine.
    pub fn cpu_shares(&self) -> Option<CpuShares> {
        self.cpu_shares
    }

    /// Returns the readings of an endurance trial's measured window. Returns `None` for other
    /// trials.
    pub fn watched(&self) -> Option<&WindowReadings> {
        self.watched.as_ref()
    }

    /// Returns the resources that the nodes of a cluster used between two times of the monotonic
    /// clock.
    pub fn used(&self, window: TimeSpan, cluster: &Cluster) -> ResourceUse {
        ResourceUse::for_cluster(&self.kept.within(window), cluster)
    }

    /// Returns the readings that show how near the resources were to their limits, between two
    /// times of the monotonic clock.
    pub fn for_limits(&self, window: TimeSpan) -> Vec<WindowSeries<'_>> {
        self.kept.for_limits(window)
    }

    fn keep(&mut self, files: &mut TrialWriter, readings: Vec<Reading>) -> Result<()> {
        let mut by_probe: BTreeMap<&str, Vec<SampleRecord>> = BTreeMap::new();
        for reading in &readings {
            let samples = by_probe.entry(&*reading.probe).or_default();
            samples.push(sample(reading, files.start_ns()));
        }
        for (probe, samples) in by_probe {
            files.write_samples(probe, &samples)?;
        }
        if let Some(watched) = &mut self.watched {
            readings.iter().for_each(|reading| watched.push(reading));
        }
        for reading in &readings {
            self.kept.push(reading);
            self.hosts.push(reading);
        }
        self.cpu_shares = cpu_shares(&readings).or(self.cpu_shares);
        Ok(())
    }

    /// Adds the evidence for the rules, for the window between two times of the monotonic clock.
    pub fn tell(&self, evidence: &mut Evidence, window: TimeSpan) {
        let kept = self.kept.within(window);
        let of = |name: &'static str| kept.iter().filter(move |series| series.name == name);
        let mut pending: BTreeMap<usize, f64> = BTreeMap::new();
        for (stretch, bin) in of(PENDING).flat_map(|series| &series.stretches) {
            *pending.entry(*stretch).or_default() += bin.mean();
        }
        let steal = share(of(STEAL).filter(|series| !series.place.contains('/')));
        let others: Vec<&InWindow<'_>> = kept.iter().filter(|s| s.probe == OTHERS_PROBE).collect();
        let cpu_ns: u64 = self.costs.iter().map(|cost| cost.cpu_ns).sum();
        evidence.pending_compactions =
            (!pending.is_empty()).then(|| pending.into_values().collect());
        let environment = evidence.environment.get_or_insert_default();
        let spells =
            |name| of(name).map(|series| spell(series, &self.kept, window.from_ns)).collect();
        let [stopped, blocked] = STILL.map(spells);
        environment.nodes_stopped = stopped;
        environment.nodes_blocked = blocked;
        environment.steal_share = steal.or_else(|| share(with_name(&others, "cpu.stolen")));
        evidence.machine = Some(machine_of(&others, self.others_unseen.clone()));
        evidence.probes_cpu_share = (self.ran_ns > 0).then(|| cpu_ns as f64 / self.ran_ns as f64);
    }

    /// Returns the description and the cost of each probe. Merges probes with the same name and
    /// place.
    pub fn records(&self) -> Vec<ProbeRecord> {
        let mut records: Vec<ProbeRecord> = Vec::new();
        for cost in &self.costs {
            let (probe, place) = (cost.probe.to_string(), cost.place.to_string());
            let same = |record: &&mut ProbeRecord| record.probe == probe && record.place == place;
            let seconds = |ns: u64| ns as f64 / 1e9;
            let bound_s = cost.clock_bound_ns.map(seconds);
            let mut problems = cost.problems.clone();
            match records.iter_mut().find(same) {
                Some(record) => {
                    record.looks += cost.looks;
                    record.missed += cost.missed;
                    record.values += cost.values;
                    record.cpu_s += seconds(cost.cpu_ns);
                    record.longest_s = record.longest_s.max(seconds(cost.longest_ns));
                    record.clock_bound_s = bound_s.or(record.clock_bound_s);
                    problems.retain(|problem| !record.problems.contains(problem));
                    record.problems.append(&mut problems);
                }
                None => records.push(ProbeRecord {
                    probe,
                    place,
                    period_s: cost.period.as_secs_f64(),
                    looks: cost.looks,
                    missed: cost.missed,
                    values: cost.values,
                    cpu_s: seconds(cost.cpu_ns),
                    longest_s: seconds(cost.longest_ns),
                    clock_bound_s: bound_s,
                    problems,
                }),
            }
        }
        records
    }
}

/// Converts a reading to its record. The time in the record is relative to `start_ns`.
fn sample(reading: &Reading, start_ns: u64) -> SampleRecord {
    let since_ns = i128::from(reading.at_ns) - i128::from(start_ns);
    SampleRecord {
        t_s: since_ns as f64 / 1e9,
        name: reading.name.to_string(),
        place: reading.place.to_string(),
        unit: reading.unit.to_string(),
        value: reading.value,
    }
}

/// Returns the last CPU use that the probe [`OTHERS_PROBE`] reported, if any.
fn cpu_shares(readings: &[Reading]) -> Option<CpuShares> {
    let last = |name: &str| {
        let mut newest = readings.iter().rev();
        let found = newest.find(|one| one.probe == OTHERS_PROBE && *one.name == *name);
        found.map(|reading| reading.value)
    };
    Some(CpuShares {
        nodes: last("cpu.nodes")?,
        client: last("cpu.client")?,
        others: last("cpu.others")?,
    })
}

fn with_name<'a>(
    series: &'a [&'a InWindow<'a>],
    name: &'a str,
) -> impl Iterator<Item = &'a InWindow<'a>> {
    series.iter().copied().filter(move |one| one.name == name)
}

/// Returns the time span in which a series has readings, in seconds since `window_ns`, the start of
/// the window.
fn spell(series: &InWindow<'_>, kept: &KeptReadings, window_ns: u64) -> NodeStatePeriod {
    let began_s = kept.since_s(window_ns);
    let bins = series.stretches.iter().map(|(_, bin)| bin);
    NodeStatePeriod {
        node: series.place.to_owned(),
        from_s: bins.clone().map(|bin| bin.first_s).fold(f64::INFINITY, f64::min) - began_s,
        to_s: bins.map(|bin| bin.last_s).fold(0.0, f64::max) - began_s,
    }
}

fn machine_of(series: &[&InWindow<'_>], unseen: Option<String>) -> MachineUse {
    let of = |name: &str| share(with_name(series, name));
    let cpu = || {
        Some(CpuUse {
            others: of("cpu.others")?,
            nodes: of("cpu.nodes")?,
            client: of("cpu.client")?,
            cpus: with_name(series, "cpu.count").next()?.stretches.first()?.1.max,
        })
    };
    MachineUse {
        cpu: cpu(),
        disk_others: of("disk.busy_for_others"),
        pressure: Pressure {
            cpu: of("psi.cpu.some"),
            io: of("psi.io.some"),
            memory: of("psi.memory.full"),
        },
        has_strange_nodes: false,
        unseen,
    }
}

/// Keyspace and tables that the database's probes read.
#[derive(Clone, Debug, Default)]
pub struct DatabaseProbes {
    /// Keyspace of the workload.
    pub keyspace: String,
    /// Tables of the workload.
    pub tables: Vec<String>,
}

/// Converts the probe settings to the form that the target needs. Returns `None` if the study
/// switches the probes off.
pub fn spec(settings: &Settings) -> Option<ProbeSpec> {
    let probes = settings.probes.as_ref()?;
    let period = |ns: Option<u64>| ns.map(Duration::from_nanos);
    Some(ProbeSpec {
        hosts: period(probes.hosts_ns),
        processes: period(probes.processes_ns),
        jvm: period(probes.jvm_ns),
        cassandra: period(probes.cassandra_ns),
        gc_log: period(probes.gc_log_ns),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(readings: &[Reading]) -> KeptReadings {
        let mut kept = KeptReadings {
            base_ns: Some(0),
            ..KeptReadings::default()
        };
        readings.iter().for_each(|reading| kept.push(reading));
        kept
    }

    #[test]
    fn a_day_of_readings_takes_the_memory_of_an_hour() {
        let mut kept = kept(&[]);
        for second in 0..86_400 {
            let at_s = f64::from(second) + 0.5;
            for node in ["node1", "node2", "node3"] {
                kept.push(&reading(at_s, PENDING, node, f64::from(second / 43_200)));
            }
            for name in [
                "cpu.others",
                "cpu.nodes",
                "cpu.client",
                "cpu.count",
                "psi.io.some",
            ] {
                kept.push(&Reading {
                    probe: OTHERS_PROBE.into(),
                    ..reading(at_s, name, "machine", f64::from(second / 43_200) * 50.0)
                });
            }
        }
        let stretches: usize = kept.series.values().map(|bins| bins.bins().count()).sum();
        assert!(
            stretches <= 8 * readings_buffer::STRETCHES_MAX,
            "{stretches}"
        );
        let gather = ProbeCollector {
            kept,
            ..ProbeCollector::default()
        };
        let seen = evidence(&gather, [43_200_000_000_000, 86_400_000_000_000]);
        // The first bin of the window covers 32 s, half of which are within the window.
        let pending = seen.pending_compactions.unwrap();
        assert!(pending.len() > 1_000 && pending[1..].iter().all(|sum| *sum == 3.0));
        let others = seen.machine.unwrap().cpu.unwrap().others;
        assert!((others - 0.5).abs() < 0.001, "{others}");
    }

    fn evidence(gather: &ProbeCollector, [from_ns, to_ns]: [u64; 2]) -> Evidence {
        let mut evidence = Evidence::default();
        gather.tell(&mut evidence, TimeSpan { from_ns, to_ns });
        evidence
    }

    fn steal_share(evidence: &Evidence) -> Option<f64> {
        evidence.environment.as_ref().unwrap().steal_share
    }

    #[test]
    fn the_use_of_the_machine_is_the_mean_of_looks_in_the_window() {
        let others = |at_s, name, value| Reading {
            probe: OTHERS_PROBE.into(),
            ..reading(at_s, name, "machine", value)
        };
        let gather = ProbeCollector {
            kept: kept(&[
                others(0.5, "cpu.others", 90.0),
                others(1.5, "cpu.others", 10.0),
                others(2.5, "cpu.others", 30.0),
                others(1.5, "cpu.nodes", 5.0),
                others(1.5, "cpu.client", 40.0),
                others(1.5, "cpu.count", 2.0),
                others(1.5, "cpu.stolen", 4.0),
                others(1.5, "psi.cpu.some", 50.0),
                // This reading comes from the probe of the hosts, so it does not describe the
                // machine as a whole.
                reading(1.5, "psi.io.some", "host1", 99.0),
            ]),
            ..ProbeCollector::default()
        };
        let told_all = evidence(&gather, [1_000_000_000, 3_000_000_000]);
        let machine = told_all.machine.as_ref().unwrap();
        let cpu = machine.cpu.unwrap();
        assert_eq!((cpu.others, cpu.nodes, cpu.cpus), (0.2, 0.05, 2.0));
        assert_eq!(machine.pressure.cpu, Some(0.5));
        assert_eq!(machine.pressure.io, None);
        assert_eq!(
            steal_share(&told_all),
            Some(0.04),
            "without the hosts' probe"
        );
        assert_eq!(
            evidence(&gather, [9_000_000_000, 9_500_000_000]).machine,
            Some(MachineUse::default())
        );
    }

    fn reading(at_s: f64, name: &str, place: &str, value: f64) -> Reading {
        Reading {
            probe: "test".into(),
            at_ns: (at_s * 1e9) as u64,
            name: name.into(),
            place: place.into(),
            unit: "count".into(),
            value,
        }
    }

    #[test]
    fn a_node_that_does_not_run_is_told_of_with_its_seconds() {
        let stopped = |at_s| Reading {
            probe: OTHERS_PROBE.into(),
            ..reading(at_s, host::probe::STOPPED, "node2", 1.0)
        };
        let gather = ProbeCollector {
            kept: kept(&[
                reading(0.5, STEAL, "machine", 0.0),
                stopped(1.5),
                stopped(12.0),
                stopped(13.0),
                stopped(19.0),
                reading(14.0, host::probe::BLOCKED, "node1", 3.0),
            ]),
            ..ProbeCollector::default()
        };
        let seen = evidence(&gather, [2_000_000_000, 30_000_000_000]);
        let environment = seen.environment.unwrap();
        let spell = |node: &str, from_s, to_s| NodeStatePeriod {
            node: node.to_owned(),
            from_s,
            to_s,
        };
        assert_eq!(environment.nodes_stopped, [spell("node2", 10.0, 17.0)]);
        assert_eq!(environment.nodes_blocked, [spell("node1", 12.0, 12.0)]);
    }

    #[test]
    fn the_window_is_judged_by_what_was_read_within_it() {
        let gather = ProbeCollector {
            kept: kept(&[
                reading(0.5, PENDING, "node1", 50.0),
                reading(1.1, PENDING, "node1", 2.0),
                reading(1.4, PENDING, "node2", 3.0),
                reading(2.2, PENDING, "node1", 7.0),
                reading(1.5, STEAL, "machine", 2.0),
                reading(2.5, STEAL, "machine", 4.0),
                reading(2.5, STEAL, "machine/cpu0", 100.0),
                reading(3.5, STEAL, "machine", 90.0),
            ]),
            ..ProbeCollector::default()
        };
        let seen = evidence(&gather, [1_000_000_000, 3_000_000_000]);
        assert_eq!(seen.pending_compactions, Some(vec![5.0, 7.0]));
        assert!((steal_share(&seen).unwrap() - 0.03).abs() < 1e-9);
        assert_eq!(seen.probes_cpu_share, None, "no probe ran");
        assert_eq!(
            evidence(&ProbeCollector::default(), [0, 1]).pending_compactions,
            None
        );
    }
}
