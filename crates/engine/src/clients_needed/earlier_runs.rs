//! Reads facts about a study's clients from the study's earlier runs. The kernel reports the link
//! rate of the machine that runs cassay.

use super::facts::{HERE, Link, LinkBy, MeasuredClient, PointThroughput};
use crate::plan_record::settings_json;
use analysis::procedure::Point;
use host::MachineLink;
use measure::KindCount;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use store::Run;
use store::record::{JournalEvent, TrialFinding};
use study::settings::Variant;

/// Number of finished runs to read, newest first. Older runs are out of date.
const RUNS_MAX: usize = 5;

/// Assumed rate of a link, in bit/s. It has been the common rate of servers for ten years.
const ASSUMED_LINK_BITS_PER_S: u64 = 10_000_000_000;

/// Settings that must be equal in two runs for a client's ceiling to be the same.
const OF_CLIENTS: [&str; 2] = ["/workload", "/client/compression"];

/// Settings that must be equal in two runs for the throughput of a target to be the same.
const OF_TARGETS: [&str; 3] = ["/workload", "/client/compression", "/target"];

/// Facts from the earlier runs of a study and from this machine.
pub struct KnownRuns {
    /// Earlier runs, newest first.
    runs: Vec<Run>,
    /// Network link of this machine, if its driver reports the rate.
    here: Option<MachineLink>,
}

impl KnownRuns {
    pub fn read(study: &str, results: &Path) -> KnownRuns {
        KnownRuns {
            runs: store::finished(results, study).take(RUNS_MAX).collect(),
            here: host::fastest_link(),
        }
    }

    /// Returns the trials of a variant, newest run first. Considers only runs whose settings at
    /// `paths` equal those of the variant.
    fn trials(
        &self,
        variant: &Variant,
        paths: &'static [&'static str],
    ) -> impl Iterator<Item = (&Run, Vec<&TrialFinding>)> {
        let (name, now) = (variant.name.clone(), settings_json(&variant.tree));
        self.runs.iter().filter_map(move |run| {
            let then = run.plan.resolved.variants.get(&name.to_string())?;
            let is_equal = paths.iter().all(|path| same(then, &now, path));
            let findings = run.findings.as_ref().filter(|_| is_equal)?;
            let trials = findings.trials.iter().filter(|trial| trial.variant == name);
            Some((run, trials.collect()))
        })
    }

    /// Returns the throughput at a point. A rate is its own throughput. For a number of threads,
    /// this is the highest throughput of this variant in its newest run on this target.
    pub fn reached(&self, variant: &Variant, point: Point) -> Option<PointThroughput> {
        if let Point::Rate(rate) = point {
            return Some(PointThroughput {
                ops_per_s: rate as f64,
                shown: None,
            });
        }
        self.trials(variant, &OF_TARGETS).find_map(|(run, trials)| {
            let best = trials
                .into_iter()
                .filter(|trial| trial.all.ops_per_s > 0.0)
                .max_by(|a, b| a.all.ops_per_s.total_cmp(&b.all.ops_per_s))?;
            Some(PointThroughput {
                ops_per_s: best.all.ops_per_s,
                shown: Some((run.stamp.clone(), best.point?)),
            })
        })
    }

    /// Returns the measured clients on the machines of these places. If none of these clients was
    /// measured, returns all measured clients.
    pub fn measured(&self, variant: &Variant, places: &[&str]) -> Vec<MeasuredClient> {
        let found = self.trials(variant, &OF_CLIENTS).find_map(|(run, trials)| {
            let all = measured_in(&run.stamp, &trials);
            (!all.is_empty()).then_some(all)
        });
        let mut all = found.unwrap_or_default();
        if all.iter().any(|one| places.contains(&&*one.place)) {
            all.retain(|one| places.contains(&&*one.place));
        }
        all
    }

    /// Returns the average number of rows that an operation of each kind read, if a run has counted
    /// the rows.
    pub fn rows_read(&self, variant: &Variant) -> BTreeMap<String, f64> {
        let counted = self.trials(variant, &OF_TARGETS).map(|(_, trials)| {
            let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
            for trial in trials {
                for (kind, counts) in &trial.counts {
                    let ended = trial.kinds.get(kind).map_or(0, |kind| kind.latency_ms.count);
                    let sum = sums.entry(kind.clone()).or_default();
                    *sum = (sum.0 + counts[KindCount::Rows], sum.1 + ended);
                }
            }
            let read = sums.into_iter().filter(|(_, (rows, ended))| *rows > 0 && *ended > 0);
            read.map(|(kind, (rows, ended))| (kind, rows as f64 / ended as f64)).collect()
        });
        counted
            .into_iter()
            .find(|rows: &BTreeMap<_, _>| !rows.is_empty())
            .unwrap_or_default()
    }

    /// Returns the slowest link of these machines. If the rate of a link is unknown, assumes a
    /// rate.
    pub fn slowest_link(&self, places: &[&str]) -> Link {
        let links = places.iter().map(|place| self.link(place));
        let slowest = links.min_by_key(|link| link.bits_per_s);
        slowest.unwrap_or_else(|| assumed(HERE))
    }

    fn link(&self, place: &str) -> Link {
        let found = match place {
            HERE => self.here.as_ref().map(|link| Link {
                bits_per_s: link.bits_per_s,
                by: LinkBy::Kernel(link.name.clone()),
            }),
            _ => self.runs.iter().find_map(|run| link_in(run, place)).map(|bits_per_s| Link {
                bits_per_s,
                by: LinkBy::Run(place.to_owned()),
            }),
        };
        found.unwrap_or_else(|| assumed(place))
    }
}

fn assumed(place: &str) -> Link {
    Link {
        bits_per_s: ASSUMED_LINK_BITS_PER_S,
        by: LinkBy::Assumed(place.to_owned()),
    }
}

fn same(then: &Value, now: &Value, path: &str) -> bool {
    then.pointer(path) == now.pointer(path)
}

/// Returns the link rate that the client on a machine reported last in a run. `None` if it reported
/// no rate.
fn link_in(run: &Run, place: &str) -> Option<u64> {
    run.journal.iter().rev().find_map(|line| match &line.event {
        JournalEvent::ClientsReady { clients } => {
            let mut there = clients.iter().filter(|client| client.place == place);
            there.find_map(|client| client.machine.link_bits_per_s)
        }
        _ => None,
    })
}

/// Returns the clients of the latest trial whose clients have a measured ceiling.
fn measured_in(run: &str, trials: &[&TrialFinding]) -> Vec<MeasuredClient> {
    // A trial with few operations in flight uses fewer workers than the measurement of the ceiling
    // did. So this function uses the largest number of workers of all trials.
    let workers_of = |place: &str| {
        let of_trial = |trial: &&TrialFinding| match &trial.clients[..] {
            [] => trial.client.workers,
            clients => {
                let there = clients.iter().filter(|client| client.place == place);
                there.map(|client| client.workers).max().unwrap_or(0)
            }
        };
        trials.iter().map(of_trial).max().unwrap_or(0).max(1)
    };
    let one = |place: &str, ceilings: &[f64]| {
        let measured = ceilings.iter().copied().filter(|ceiling| *ceiling > 0.0);
        Some(MeasuredClient {
            place: place.to_owned(),
            workers: workers_of(place),
            ceiling_ops_per_s: measured.min_by(f64::total_cmp)?,
            run: run.to_owned(),
        })
    };
    let clients_of = |trial: &&TrialFinding| -> Vec<MeasuredClient> {
        match &trial.clients[..] {
            [] => one(HERE, &[trial.client.ceiling_ops_per_s]).into_iter().collect(),
            clients => {
                let each = clients.iter();
                each.filter_map(|client| one(&client.place, &client.ceilings_ops_per_s))
                    .collect()
            }
        }
    };
    let mut latest_first: Vec<&TrialFinding> = trials.to_vec();
    latest_first.sort_by_key(|trial| std::cmp::Reverse(trial.index));
    let all = latest_first.iter().map(clients_of);
    all.into_iter().find(|clients| !clients.is_empty()).unwrap_or_default()
}
