//! Handles the records of each of several clients. Writes them to disk second by second, adds them
//! up over the measured window, passes them to the rules and writes them to the finding.

use super::{State, TrialRun};
use crate::client_counts::ClientCounts;
use crate::event::ClientTimes;
use crate::load_run::Offer;
use analysis::rules::{ClientSeen, ClockStep};
use anyhow::{Context, Result};
use fleet::{ClientEnd, ClientSecond, Fleet, FleetSummary};
use measure::{ClientCount, Interval, Outcome};
use std::sync::Arc;
use store::convert;
use store::record::{
    ClientEndRecord, ClientSecondRecord, ClockMovedRecord, ClockRecord, LagRecord,
};
use workload::Stage;

impl State {
    /// Prepares the records of the clients for a load.
    pub(super) fn begin_clients(&mut self, load: &Fleet, offer: &Offer<'_>) {
        // This process itself reads rows back, so the records of the clients must not change in
        // that phase.
        if load.clients().next().is_none() {
            return;
        }
        self.clients.is_main = offer.stage == Stage::Main;
        if self.clients.is_main {
            self.clients.each.clear();
        }
        let names = load.clients();
        let ends = names.map(|(name, place)| ClientEnd {
            name: name.to_owned(),
            place: place.to_owned(),
            ..ClientEnd::default()
        });
        // In a load phase, the records of each second also contain the names of the clients, so the
        // names must be set here.
        for (number, end) in ends.enumerate() {
            match self.clients.each.get_mut(number) {
                Some(counts) => counts.end = end,
                None => self.clients.each.push(ClientCounts {
                    end,
                    ..ClientCounts::default()
                }),
            }
        }
    }

    /// Writes the clients' records up to an interval that all clients have reported.
    pub(super) fn keep_clients(
        &mut self,
        seconds: Vec<ClientSecond>,
        interval: &Interval,
    ) -> Result<()> {
        let start_ns = self.writer.start_ns();
        for second in seconds {
            let Some(counts) = self.clients.each.get_mut(second.client) else {
                continue;
            };
            let record = second_record(&second, &counts.end.name, start_ns);
            let kept = self.writer.write_client_second(&record);
            kept.context("write the records of a client")?;
            if self.clients.is_main {
                counts.push(second, interval.window_from_ns);
            }
        }
        Ok(())
    }

    /// Writes the clients' clock readings after a load, and stores the end of each client.
    pub(super) fn end_clients(&mut self, summary: &FleetSummary) -> Result<()> {
        if summary.clients.is_empty() {
            return Ok(());
        }
        let start_ns = self.writer.start_ns();
        let clocks: Vec<ClockRecord> = summary
            .clocks
            .iter()
            .map(|reading| ClockRecord {
                t_s: seconds_since(start_ns, reading.at_ns),
                client: summary.clients[reading.client].name.clone(),
                ahead_ns: reading.ahead_ns,
                bound_ns: reading.bound_ns,
            })
            .collect();
        self.writer
            .write_clocks(&clocks)
            .context("write the records of the clients' clocks")?;
        for (counts, end) in self.clients.each.iter_mut().zip(&summary.clients) {
            counts.end = end.clone();
        }
        if self.clients.is_main {
            let each = self.clients.each.iter();
            let times = each.map(|counts| (counts.end.name.clone(), counts.end.population.kinds()));
            self.writer
                .write_client_times(times)
                .context("write the records of all clients")?;
        }
        Ok(())
    }

    /// Returns the latencies of each client under the measured load. Returns `None` if the load was
    /// not measured.
    pub(super) fn client_times(&self) -> Option<Arc<[ClientTimes]>> {
        let times = |counts: &ClientCounts| ClientTimes {
            name: counts.end.name.clone(),
            population: counts.end.population.clone(),
        };
        let each = &self.clients.each;
        let is_shared = self.clients.is_main && !each.is_empty();
        is_shared.then(|| each.iter().map(times).collect())
    }
}

fn second_record(second: &ClientSecond, name: &str, start_ns: u64) -> ClientSecondRecord {
    let figures = &second.figures;
    let [p50_ms, p99_ms, max_ms] = second.latency_ns.map(|ns| ns as f64 / 1e6);
    ClientSecondRecord {
        t_s: seconds_since(start_ns, second.start_ns),
        seconds: (second.end_ns - second.start_ns) as f64 / 1e9,
        client: name.to_owned(),
        draining: second.draining,
        ok: second.outcomes.get(Outcome::Ok),
        errors: second.outcomes.errors(),
        p50_ms,
        p99_ms,
        max_ms,
        lag_p99_us: figures.lag.quantile_ns(0.99) as f64 / 1e3,
        cpu_ms: figures.cpu_ns as f64 / 1e6,
        stalled_ms: figures.hiccups.stalled_ns as f64 / 1e6,
        in_flight: figures.counts[ClientCount::InFlight],
    }
}

pub(super) fn seconds_since(start_ns: u64, ns: u64) -> f64 {
    (ns as f64 - start_ns as f64) / 1e9
}

impl TrialRun<'_> {
    pub(super) fn own_pids(&self) -> Vec<u32> {
        self.fleet.map(|fleet| fleet.pids_here()).unwrap_or_default()
    }

    pub(super) fn clients_seen(&self, state: &State) -> Vec<ClientSeen> {
        let start_ns = state.writer.start_ns();
        let moved = |all: &[(u64, i64)]| {
            let moved = all.iter().map(|(at_ns, by_ns)| ClockStep {
                at_s: seconds_since(start_ns, *at_ns),
                by_s: *by_ns as f64 / 1e9,
            });
            moved.collect::<Vec<_>>()
        };
        let seen = |(number, counts): (usize, &ClientCounts)| {
            let end = &counts.end;
            let name = format!("{} ({})", end.name, end.place);
            ClientSeen {
                is_here: end.place == "here",
                name,
                window: counts.window.clone(),
                cores: end.workers as f64,
                ceilings_ops_per_s: self.ceilings_of(number),
                late_s: end.late_ns as f64 / 1e9,
                clock_bound_s: end.bound_ns as f64 / 1e9,
                clock_breaks: moved(&end.breaks),
                clock_set: moved(&end.set),
                throttled_s: end.throttled_ns.map(|ns| ns as f64 / 1e9),
                lost: end.lost.clone(),
            }
        };
        let each = state.clients.each.iter().enumerate();
        each.filter(|_| state.clients.is_main).map(seen).collect()
    }

    fn ceilings_of(&self, client: usize) -> Vec<f64> {
        let all = self.ceilings.iter();
        all.filter_map(|ceiling| ceiling.clients.get(client).copied()).collect()
    }

    pub(super) fn client_records(
        &self,
        state: &State,
        seen: &[ClientSeen],
    ) -> Vec<ClientEndRecord> {
        let all: f64 = seen.iter().map(|one| one.window.ops_per_s_mean()).sum();
        let pairs = state.clients.each.iter().zip(seen);
        pairs.map(|(counts, seen)| client_record(counts, seen, all)).collect()
    }
}

fn client_record(counts: &ClientCounts, seen: &ClientSeen, all_ops_per_s: f64) -> ClientEndRecord {
    let (end, window) = (&counts.end, &seen.window);
    let ops_per_s = window.ops_per_s_mean();
    let seconds = window.seconds.max(1e-9);
    let cores_s = seconds * seen.cores.max(1.0);
    let of_cores = |ns: u64| ns as f64 / 1e9 / cores_s;
    let lag_us = |q| counts.lag.quantile_ns(q) as f64 / 1e3;
    let moved = |all: &[ClockStep]| {
        let moved = all.iter().map(|step| ClockMovedRecord {
            at_s: step.at_s,
            by_s: step.by_s,
        });
        moved.collect()
    };
    ClientEndRecord {
        name: end.name.clone(),
        place: end.place.clone(),
        workers: end.workers,
        connections: end.connections,
        ops_per_s,
        share: ops_per_s / all_ops_per_s.max(1e-9),
        // A lost client has not sent its latencies, although the number of its operations is known.
        latency_ms: (!end.latency.is_empty()).then(|| convert::quantiles_ms(&end.latency)),
        lag_us: LagRecord {
            p50: lag_us(0.5),
            p99: lag_us(0.99),
        },
        cpu_share: of_cores(window.cpu_ns),
        ceilings_ops_per_s: seen.ceilings_ops_per_s.clone(),
        stall_ms_longest: window.stall_longest_s.map(|s| s * 1e3),
        wait_share: window.wait_ns.map(of_cores),
        throttled_share: seen.throttled_s.map(|throttled_s| throttled_s / seconds),
        late_ms: seen.late_s * 1e3,
        clock_bound_ms: seen.clock_bound_s * 1e3,
        clock_breaks: moved(&seen.clock_breaks),
        clock_set: moved(&seen.clock_set),
        lost: seen.lost.clone(),
    }
}
