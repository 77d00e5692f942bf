//! What one trial found: the tally as a record, judged by the rules.

use super::gather::Seen;
use super::tally::Tally;
use analysis::procedure::Point;
use analysis::rules::{self, Environment, Evidence, Limits, Offered, ServerCounts};
use analysis::series;
use analysis::steady::SteadyState;
use measure::interval::CheckCounts;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::convert;
use store::record::{
    ClientRecord, DataRecord, LagRecord, LoadRecord, MachineRecord, PhaseTimeRecord, ProbeRecord,
    RuleRecord, ServerCountsRecord, TrialFinding, TrialRecord, WarmupRecord,
};
use study::plan::Trial;
use study::settings::{Settings, Target};
use workload::Program;

/// All that is known of a trial when it is judged.
pub struct Facts<'a> {
    /// The plan's trial.
    pub trial: &'a Trial,
    /// As it stands on disk.
    pub record: &'a TrialRecord,
    /// Its start line, in nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// Its settings.
    pub settings: &'a Settings,
    /// Its program.
    pub program: &'a Arc<Program>,
    /// What the instrument can do, op/s, each time that it was measured.
    pub ceilings_ops_per_s: &'a [f64],
    /// Whether the machine is said to be shared.
    pub shared_machine: bool,
    /// The measured window.
    pub tally: &'a Tally,
    /// Verified reads of the window and of the verify phase.
    pub checks: CheckCounts,
    /// The warm-up.
    pub warmup: WarmupRecord,
    /// How an auto warm-up ended.
    pub steady: Option<SteadyState>,
    /// How settling ended.
    pub settle: Option<rules::Settle>,
    /// The load phase.
    pub load: Option<LoadRecord>,
    /// The snapshot that was restored.
    pub data: Option<DataRecord>,
    /// When the phases were.
    pub phases: Vec<PhaseTimeRecord>,
    /// The probes and their cost.
    pub probes: Vec<ProbeRecord>,
    /// What the probes saw that the rules judge.
    pub seen: Seen,
    /// Settings that were asked for and are not in effect, a sentence each.
    pub not_in_effect: Vec<String>,
    /// Settings that were asked for and that nobody shows, a sentence each.
    pub not_shown: Vec<String>,
    /// Nodes whose process is another one at the end; none if nobody looked.
    pub nodes_restarted: Option<Vec<String>>,
    /// Why it ended before its plan did.
    pub aborted: Option<String>,
    /// Event loops.
    pub workers: usize,
    /// Connections at the start line.
    pub connections: usize,
    /// Both sides' counts.
    pub server: Option<Result<ServerCounts, String>>,
    /// Whether the target is the null target.
    pub is_null: bool,
    /// Whether nodes run on the client's cores.
    pub shares_cores: bool,
    /// Whether nodes run on this machine that we did not start.
    pub has_strange_nodes: bool,
    /// Settings of the nodes that changed; none if nobody looked.
    pub settings_changed: Option<Vec<String>>,
    /// Memory of the machine for each node, bytes; none if it is not known.
    pub memory_bytes: Option<u64>,
    /// Why nodes refused, as far as their logs and volumes tell.
    pub causes: Vec<String>,
    /// What is needed to do it again and is not on disk.
    pub not_recorded: Vec<String>,
}

/// The finding of a trial.
pub fn trial(facts: &Facts<'_>) -> TrialFinding {
    let tally = facts.tally;
    let limits = Limits {
        shared_machine: facts.shared_machine,
        ..Limits::default()
    };
    let judgement = rules::judge(&evidence(facts), &limits);
    let kinds: BTreeMap<_, _> = facts
        .program
        .kinds()
        .iter()
        .zip(&tally.kinds)
        .map(|(kind, series)| (kind.name.to_owned(), series.record(tally.seconds)))
        // A kind without weight in the mix has nothing to show.
        .filter(|(_, record)| record.ops > 0 || record.error_ms.count > 0)
        .collect();
    let counts = facts.program.kinds().iter().zip(&tally.kinds);
    let counts = counts.filter_map(|(kind, series)| Some((kind.name.clone(), series.counts()?)));
    let parts = facts.program.kinds().iter().filter(|kind| kind.part);
    let parts = parts.map(|kind| kind.name.clone());
    TrialFinding {
        index: facts.trial.index,
        started_unix_ns: facts.started_unix_ns,
        variant: facts.record.variant.clone(),
        point: facts.record.point.clone(),
        block: facts.trial.block,
        phase: "measure".to_owned(),
        verdict: judgement.verdict.name().to_owned(),
        reasons: judgement.reasons,
        rules: judgement
            .rules
            .into_iter()
            .map(|rule| RuleRecord {
                rule: rule.id.to_owned(),
                result: rule.outcome.name().to_owned(),
                detail: rule.detail,
            })
            .collect(),
        seconds: tally.seconds,
        short_window: series::is_short_window(tally.seconds),
        ops_total: tally.ended,
        errors: tally
            .window
            .errors
            .iter()
            .map(|(outcome, count)| (outcome.name().to_owned(), *count))
            .collect(),
        sent_in_drain: tally.window.sent_in_drain,
        due_never_sent: tally.window.due_never_sent,
        late: tally.window.late,
        dropped: tally.window.dropped,
        warmup: facts.warmup.clone(),
        all: tally.all.record(tally.seconds),
        kinds,
        parts: parts.collect(),
        counts: counts.collect(),
        client: client(facts),
        machine: Some(machine(facts)),
        verify: convert::verify(&facts.checks),
        server: server(facts),
        load: facts.load.clone(),
        // Known to the run, not to the trial.
        generation: None,
        data: facts.data.clone(),
        phases: facts.phases.clone(),
        probes: facts.probes.clone(),
    }
}

fn server(facts: &Facts<'_>) -> Option<ServerCountsRecord> {
    let counts = facts.server.as_ref()?.as_ref().ok()?;
    Some(server_record(counts))
}

fn server_record(counts: &ServerCounts) -> ServerCountsRecord {
    ServerCountsRecord {
        source: counts.source.clone(),
        reads: counts.server[0],
        writes: counts.server[1],
        client_reads: counts.client[0],
        client_writes: counts.client[1],
    }
}

fn client(facts: &Facts<'_>) -> ClientRecord {
    let tally = facts.tally;
    let us = |q| tally.lag.quantile_ns(q) as f64 / 1e3;
    let cores_s = tally.seconds * facts.workers.max(1) as f64;
    ClientRecord {
        cpu_us_per_op: tally.cpu_ns as f64 / 1e3 / tally.ended.max(1) as f64,
        cpu_share: if cores_s > 0.0 {
            tally.cpu_ns as f64 / 1e9 / cores_s
        } else {
            0.0
        },
        lag_us: LagRecord {
            p50: us(0.5),
            p99: us(0.99),
        },
        ceiling_ops_per_s: lowest(facts.ceilings_ops_per_s),
        ceilings_ops_per_s: facts.ceilings_ops_per_s.to_vec(),
        stall_ms_longest: tally.window.stall_longest_s.map(|s| s * 1e3),
        stalled_share: tally.window.stalled_s / tally.seconds.max(1e-9),
        wait_share: tally
            .window
            .wait_ns
            .map(|ns| ns as f64 / 1e9 / cores_s.max(1e-9)),
        quiet_ms_longest: tally.window.quiet_longest_s * 1e3,
        workers: facts.workers,
        connections: facts.connections,
        memory_bytes: memory_peak_bytes(),
    }
}

/// The ceiling that is certain: the lowest that was seen; 0 if none was measured.
fn lowest(ceilings: &[f64]) -> f64 {
    let lowest = ceilings.iter().copied().min_by(f64::total_cmp);
    lowest.unwrap_or(0.0)
}

/// Who used the machine, as far as it could be read.
fn machine(facts: &Facts<'_>) -> MachineRecord {
    let machine = &facts.seen.machine;
    MachineRecord {
        cpus: machine.cpu.map(|cpu| cpu.cpus as u64),
        cpu_others: machine.cpu.map(|cpu| cpu.others),
        cpu_nodes: machine.cpu.map(|cpu| cpu.nodes),
        cpu_client: machine.cpu.map(|cpu| cpu.client),
        disk_busy_for_others: machine.disk_others,
        pressure_cpu: machine.pressure.cpu,
        pressure_io: machine.pressure.io,
        pressure_memory: machine.pressure.memory,
    }
}

/// CPU of what looks on: the probes' threads, and the threads that look for stalls.
fn looking_on(facts: &Facts<'_>) -> f64 {
    let stalls_s = facts.tally.window.stalls_cpu_ns as f64 / 1e9;
    facts.seen.cpu_share.unwrap_or(0.0) + stalls_s / facts.tally.seconds.max(1e-9)
}

fn evidence(facts: &Facts<'_>) -> Evidence {
    // A step that ends by its operations is as long as they take.
    let planned_s = match facts.settings.window.measure_ns {
        0 => facts.tally.seconds,
        ns => ns as f64 / 1e9,
    };
    Evidence {
        offered: match facts.trial.point {
            Point::Threads(_) => None,
            Point::Rate(rate) => Some(Offered {
                operations: rate as f64 * facts.tally.window.span_s(),
                is_random: facts.settings.poisson,
            }),
        },
        window: facts.tally.window.clone(),
        planned_s,
        aborted: facts.aborted.clone(),
        warmup: facts.steady,
        target_is_null: facts.is_null,
        client_cores: facts.workers as f64,
        shares_cores: facts.shares_cores,
        ceilings_ops_per_s: facts.ceilings_ops_per_s.to_vec(),
        machine: Some(rules::Machine {
            has_strange_nodes: facts.has_strange_nodes,
            ..facts.seen.machine.clone()
        }),
        server: facts.server.clone(),
        settle: facts.settle,
        pending_compactions: facts.seen.pending_compactions.clone(),
        environment: environment(facts),
        weak_consistency: weak_consistency(facts),
        checks: facts.checks,
        causes: facts.causes.clone(),
        faults: Vec::new(),
        not_recorded: Some(facts.not_recorded.clone()),
        data_and_memory_bytes: facts.memory_bytes.map(|memory| (data_bytes(facts), memory)),
        probes_cpu_share: Some(looking_on(facts)),
    }
}

fn environment(facts: &Facts<'_>) -> Option<Environment> {
    let settings_changed = facts.settings_changed.clone()?;
    Some(Environment {
        settings_changed,
        not_in_effect: facts.not_in_effect.clone(),
        not_shown: facts.not_shown.clone(),
        nodes_restarted: facts.nodes_restarted.clone().unwrap_or_default(),
        steal_share: facts.seen.steal_share,
    })
}

/// Data of one node, without what the database adds to it, bytes.
fn data_bytes(facts: &Facts<'_>) -> u64 {
    let copies = facts.settings.keyspace.replication.copies();
    let nodes = match &facts.settings.target {
        Target::Local(local) => local.nodes as u64,
        Target::Attach(_) | Target::Null(_) => 1,
    };
    let rows = facts
        .program
        .rows()
        .saturating_mul(facts.program.row_bytes_estimate());
    rows.saturating_mul(copies) / nodes.max(1)
}

/// Whether a read may miss an acknowledged write: R + W <= RF.
fn weak_consistency(facts: &Facts<'_>) -> bool {
    let copies = facts.settings.keyspace.replication.copies();
    let kinds = facts.program.kinds();
    let replicas = |is_write: bool| {
        let statements = facts.program.statements().iter();
        statements
            .filter(|s| {
                kinds
                    .get(usize::from(s.kind))
                    .is_some_and(|k| k.is_write == is_write)
            })
            .map(|s| replicas_asked(&s.consistency.to_string(), copies))
            .min()
    };
    match (replicas(false), replicas(true)) {
        (Some(reads), Some(writes)) => reads + writes <= copies,
        _ => false,
    }
}

/// How many replicas must answer at a consistency level.
fn replicas_asked(level: &str, copies: u64) -> u64 {
    match level {
        "TWO" => 2,
        "THREE" => 3,
        "ALL" => copies,
        "QUORUM" | "LOCAL_QUORUM" | "EACH_QUORUM" => copies / 2 + 1,
        _ => 1,
    }
}

/// Peak resident memory of this process, bytes; 0 where the system does not say.
fn memory_peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// The finding of a trial that could not be done.
pub fn failed(trial: &Trial, record: &TrialRecord, reason: &str) -> TrialFinding {
    TrialFinding {
        index: trial.index,
        variant: record.variant.clone(),
        point: record.point.clone(),
        block: trial.block,
        phase: "measure".to_owned(),
        verdict: rules::Verdict::Invalid.name().to_owned(),
        reasons: vec![format!("the trial failed: {reason}")],
        ..TrialFinding::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_follow_the_level() {
        for (level, copies, expected) in [
            ("LOCAL_ONE", 3, 1),
            ("QUORUM", 3, 2),
            ("LOCAL_QUORUM", 5, 3),
            ("ALL", 3, 3),
        ] {
            assert_eq!(
                replicas_asked(level, copies),
                expected,
                "{level} of {copies}"
            );
        }
    }

    #[test]
    fn the_system_tells_our_peak_memory() {
        assert!(memory_peak_bytes() > 1 << 20);
    }
}
