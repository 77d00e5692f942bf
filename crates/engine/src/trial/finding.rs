//! Makes the finding of one trial: the verdict of the rules on the evidence, and the figures of the
//! trial.

use super::{State, TrialRun, endurance_series, faults, missing_files};
use crate::load_run::workers_auto;
use crate::running_target::Running;
use crate::trial_record_check;
use crate::window_counts::WindowCounts;
use analysis::autocorrelation;
use analysis::procedure::Point;
use analysis::rules::{
    self, ClockMove, Environment, Evidence, Judgement, Limits, MachineUse, OfferedLoad,
    ServerCounts,
};
use measure::ClientCount;
use measure::clock;
use store::convert;
use store::record::{
    ClientRecord, EnduranceRecord, LagRecord, MachineRecord, ReasonRecord, RuleRecord,
    ServerCountsRecord, TrialFinding, TrialRecord, VerifyRecord,
};
use study::plan::Trial;
use study::settings::{Load, Settings, StudyFault};
use target_spec::Target;
use workload::{Program, Stage, Statement};

/// Returns an empty finding of a trial.
pub fn begun(trial: &Trial, record: &TrialRecord) -> TrialFinding {
    TrialFinding {
        index: trial.index,
        variant: record.variant.clone(),
        point: record.point,
        role: record.role,
        block: trial.block.0,
        phase: "measure".to_owned(),
        ..TrialFinding::default()
    }
}

pub fn failed(trial: &Trial, record: &TrialRecord, reason: &str) -> TrialFinding {
    TrialFinding {
        verdict: rules::Verdict::Invalid,
        reasons: vec![format!("the trial failed: {reason}")],
        reason_records: vec![ReasonRecord::default()],
        ..begun(trial, record)
    }
}

impl TrialRun<'_> {
    /// Completes the evidence and the finding. `running` is `None` if the target is lost.
    pub(super) fn judge(&self, running: Option<&Running>, state: &mut State) -> TrialFinding {
        let counts = std::mem::take(&mut state.counts);
        let costs = self.costs(running, state, &counts);
        let mut evidence = self.evidence(running, state, &counts);
        missing_files::tell(&state.finding.gaps, &mut evidence);
        let limits = Limits {
            shared_machine: self.shared_machine,
            ..Limits::default()
        };
        let judgement = rules::judge(&evidence, &limits);
        let clients = self.client_records(state, &evidence.clients);
        let promise = evidence.promise.take();
        let endurance = self.endurance(running, state, &counts);
        let mut known = std::mem::take(&mut state.finding);
        if let Some(promise) = promise {
            let (promised, why) = (promise.promised(), promise.why().to_owned());
            if let Some(record) = &mut known.read_back {
                (record.promise, record.why) = (promised, why.clone());
            }
            if let Some(record) = &mut known.registers {
                (record.promise, record.why) = (promised, why);
            }
        }
        let finding = TrialFinding {
            started_unix_ns: state.writer.start_unix_ns(),
            client: client(&evidence, &counts, &known.client),
            clients,
            machine: evidence.machine.take().map(|machine| machine_record(&machine)),
            costs,
            verify: VerifyRecord {
                missed_rows: std::mem::take(&mut known.verify.missed_rows),
                ..convert::verify(&evidence.checks)
            },
            pending_compactions: pending_at_end(&evidence),
            server: evidence.server.and_then(Result::ok).map(server_record),
            phases: state.timeline.records(),
            probes: state.gather.records(),
            endurance,
            ..known
        };
        let finding = TrialFinding {
            drift: counts.window.drift(limits.drift_share),
            best_ops_per_s: counts.window.ops_per_s.iter().copied().reduce(f64::max),
            ..with_figures(finding, evidence.offered, &counts, &self.program)
        };
        let limits = self.limits(running, state, &judgement, &finding);
        judged(TrialFinding { limits, ..finding }, &judgement)
    }

    fn endurance(
        &self,
        running: Option<&Running>,
        state: &State,
        counts: &WindowCounts,
    ) -> Option<EnduranceRecord> {
        let asked = self.settings.procedure.endurance()?;
        let kept = endurance_series::LongWindow {
            within: asked.within,
            seconds: counts.window.seconds,
            courses: state.courses.as_ref()?,
            latency: counts.all.latency(),
            watched: state.gather.watched()?,
            memory_bytes: running.and_then(Running::memory_bytes),
        };
        Some(kept.record())
    }

    /// Returns the ceilings of the client. Unless the study sets workers or CPUs, the engine
    /// measured the ceilings with [`workers_auto`] workers. If the placement of the nodes leaves
    /// fewer CPUs to the client, scales the ceilings accordingly.
    fn ceilings(&self, running: Option<&Running>) -> Vec<f64> {
        let client = &self.settings.client;
        let kept = running
            .and_then(|running| running.cluster.client_cpus())
            .filter(|_| client.cpus.is_empty() && client.workers.is_none());
        let share = kept.map_or(1.0, |cpus| cpus.len() as f64 / workers_auto() as f64);
        let all = self.ceilings.iter();
        all.map(|ceiling| ceiling.ops_per_s * share.min(1.0)).collect()
    }

    /// Returns the counts of the server, or the reason why they cannot be compared with the counts
    /// of the client. Returns `None` if the counts were not read.
    fn server(&self, state: &State) -> Option<Result<ServerCounts, String>> {
        let mut faults = self.settings.faults.iter();
        let ended = faults.find(|fault| fault.kind.takes_away);
        let uncountable = self.program.uncountable().or_else(|| state.counting.incomplete.clone());
        match (uncountable.or_else(|| self.meeting()), ended) {
            (Some(why), _) => Some(Err(why)),
            (None, Some(fault)) => Some(Err(format!(
                "the fault {} of {} reset the operation counters of the node",
                fault.kind.name,
                fault.place()
            ))),
            (None, None) => state.counting.beside(&state.answered).map(Ok),
        }
    }

    /// Returns the number of operations that are due within `span_s` seconds after the start line.
    /// Returns `None` unless the study replays recorded traffic at the recorded times.
    fn recorded_due(&self, span_s: f64) -> Option<OfferedLoad> {
        let speed = self.settings.workload.recorded.as_ref()?.speed?;
        let until_ns = (span_s * speed * 1e9).round() as u64;
        Some(OfferedLoad {
            operations: self.program.course()?.count_before(until_ns) as f64,
            is_random: false,
        })
    }

    /// Returns the minimum length of the window according to the plan, in seconds. A step with a
    /// number of operations has no planned length, so its actual length counts. If the window lasts
    /// until some time after the last fault, the end of the last fault counts.
    fn planned_s(&self, took_s: f64) -> f64 {
        let window = &self.settings.window;
        match window.measure_ns {
            0 => took_s,
            _ if window.after_faults_ns.is_some() => {
                let ends = self.settings.faults.iter().map(StudyFault::end_ns);
                ends.max().unwrap_or(0) as f64 / 1e9
            }
            ns => ns as f64 / 1e9,
        }
    }

    fn evidence(
        &self,
        running: Option<&Running>,
        state: &mut State,
        counts: &WindowCounts,
    ) -> Evidence {
        let window = &counts.window;
        let server = self.server(state);
        let is_null = running.is_some_and(Running::is_null);
        // Each client measures only its own machine, so the highest cost of all clients counts.
        let looking_ns = state.clients.each.iter().map(|one| one.window.stalls_cpu_ns).max();
        let looking_s = looking_ns.unwrap_or(window.stalls_cpu_ns) as f64 / 1e9;
        let mut known = std::mem::take(&mut state.evidence);
        let measured = state.timeline.last("measure").unwrap_or_default();
        state.gather.tell(&mut known, measured);
        let noted = known.environment.take().unwrap_or_default();
        let (exceptions, environment) = environment(running, noted, state);
        let probes_share = known.probes_cpu_share.unwrap_or(0.0);
        Evidence {
            faults: faults::evidence(&state.finding.faults),
            offered: match self.trial.point {
                Point::Threads(_) => None,
                Point::Rate(_) if self.recorded_due(window.span_s()).is_some() => {
                    self.recorded_due(window.span_s())
                }
                Point::Rate(rate) => {
                    let count = self.step.and_then(|step| step.limit.operations());
                    let span_s = window.span_s();
                    Some(OfferedLoad::at_rate(
                        rate,
                        span_s,
                        count,
                        self.settings.poisson,
                    ))
                }
            },
            planned_s: self.planned_s(window.seconds),
            window: window.clone(),
            target_is_null: is_null,
            client_cores: state.finding.client.workers as f64,
            shares_cores: running.is_some_and(|r| r.shares_cores(&self.settings.client)),
            ceilings_ops_per_s: self.ceilings(running),
            clients: self.clients_seen(state),
            machine: known.machine.take().map(|machine| MachineUse {
                has_strange_nodes: running.is_some_and(Running::has_strange_nodes),
                ..machine
            }),
            server,
            clock: Some(clock_move(
                state.writer.start_ns(),
                state.writer.start_unix_ns(),
            )),
            environment,
            exceptions,
            weak_consistency: weak_consistency(self.settings, &self.program),
            has_strange_rows: self.rows.are_strange,
            found: (self.rows.are_said).then(|| counts.found(&self.program.finds())),
            // Trials that run a step of an import do not read their writes back.
            promise: self.step.is_none().then(|| self.promise(running)),
            not_recorded: Some(trial_record_check::missing(
                self.writer.path(),
                self.trial.index,
                is_null,
            )),
            data_and_memory_bytes: running
                .and_then(Running::memory_bytes)
                .map(|memory| (data_bytes(self.settings, &self.program), memory)),
            // The share contains the threads of the probes, and the threads that detect stalls.
            probes_cpu_share: Some(probes_share + looking_s / window.seconds.max(1e-9)),
            ..known
        }
    }
}

/// Returns the number of pending compactions on all nodes at the end of the window, from the last
/// bin of the readings.
fn pending_at_end(evidence: &Evidence) -> Option<f64> {
    evidence.pending_compactions.as_ref()?.last().copied()
}

/// Returns the drift of the wall clock relative to the monotonic clock. `unix_ns` is the wall-clock
/// time at the monotonic time `ns`.
fn clock_move(ns: u64, unix_ns: u64) -> ClockMove {
    let over_ns = clock::now_ns().saturating_sub(ns);
    let shown_ns = i128::from(clock::unix_ns()) - i128::from(unix_ns);
    ClockMove {
        moved_s: (shown_ns - i128::from(over_ns)) as f64 / 1e9,
        over_s: over_ns as f64 / 1e9,
    }
}

/// Returns the exceptions on the nodes since the start of the measurement, and the recorded
/// environment with its changes since then. The exceptions are `None` if they cannot be read. The
/// environment is `None` if the settings of the nodes cannot be read. Both are `None` if the target
/// is lost.
fn environment(
    running: Option<&Running>,
    noted: Environment,
    state: &State,
) -> (Option<Vec<String>>, Option<Environment>) {
    let Some(running) = running else {
        return (None, None);
    };
    let changes = running.cluster.query_reports().since(&state.told);
    let environment = running.settings_changed().ok().map(|settings_changed| Environment {
        settings_changed,
        nodes_restarted: running.pids_changed(&state.pids),
        metadata_changed: changes.metadata,
        ..noted
    });
    (changes.exceptions, environment)
}

fn judged(finding: TrialFinding, judgement: &Judgement) -> TrialFinding {
    let reasons = judgement.reasons();
    TrialFinding {
        verdict: judgement.verdict,
        reasons: reasons.iter().map(ToString::to_string).collect(),
        reason_records: reasons.into_iter().map(ReasonRecord::from).collect(),
        rules: judgement.rules.iter().map(RuleRecord::from).collect(),
        ..finding
    }
}

fn with_figures(
    finding: TrialFinding,
    offered: Option<OfferedLoad>,
    counts: &WindowCounts,
    program: &Program,
) -> TrialFinding {
    let window = &counts.window;
    let kinds = || program.kinds().iter().zip(&counts.kinds);
    let errors = window.errors.iter();
    // If the mix gives a kind of operation no weight, the kind has no figures.
    let shown = kinds().filter(|(_, series)| !series.is_empty());
    let records = shown.map(|(kind, series)| (kind.name.clone(), series.record(window.seconds)));
    let events = kinds().filter_map(|(kind, series)| Some((kind.name.clone(), series.counts()?)));
    let parts = program.kinds().iter().filter(|kind| kind.part);
    TrialFinding {
        seconds: window.seconds,
        short_window: autocorrelation::is_short_window(window.seconds),
        later_ended_per_s: offered.map(|_| counts.later_ended_per_s()),
        ops_total: counts.ended,
        errors: errors.map(|(outcome, count)| (outcome.name().to_owned(), *count)).collect(),
        sent_in_drain: window.client[ClientCount::SentInDrain],
        due_never_sent: window.client[ClientCount::DueNeverSent],
        late: window.client[ClientCount::Late],
        dropped: window.client[ClientCount::Dropped],
        all: counts.all.record(window.seconds),
        kinds: records.collect(),
        parts: parts.map(|kind| kind.name.clone()).collect(),
        counts: events.collect(),
        ..finding
    }
}

fn server_record(counts: ServerCounts) -> ServerCountsRecord {
    ServerCountsRecord {
        source: counts.source,
        reads: counts.server[0],
        writes: counts.server[1],
        client_reads: counts.client[0],
        client_writes: counts.client[1],
    }
}

/// Returns the figures of the client in the window, added to the properties in `known`, such as the
/// number of workers.
fn client(evidence: &Evidence, counts: &WindowCounts, known: &ClientRecord) -> ClientRecord {
    let window = &counts.window;
    let us = |q| counts.lag.quantile_ns(q) as f64 / 1e3;
    let cores_s = window.seconds * known.workers.max(1) as f64;
    let of_cores = |ns: u64| ns as f64 / 1e9 / cores_s.max(1e-9);
    let ceilings = evidence.ceilings_ops_per_s.iter().copied();
    ClientRecord {
        cpu_us_per_op: window.cpu_ns as f64 / 1e3 / counts.ended.max(1) as f64,
        cpu_share: of_cores(window.cpu_ns),
        lag_us: LagRecord {
            p50: us(0.5),
            p99: us(0.99),
        },
        // The lowest ceiling counts, because at least this throughput was available to the client.
        ceiling_ops_per_s: ceilings.min_by(f64::total_cmp).unwrap_or(0.0),
        ceilings_ops_per_s: evidence.ceilings_ops_per_s.clone(),
        stall_ms_longest: window.stall_longest_s.map(|s| s * 1e3),
        stalled_share: window.stalled_s / window.seconds.max(1e-9),
        wait_share: window.wait_ns.map(of_cores),
        quiet_ms_longest: window.quiet_longest_s * 1e3,
        memory_bytes: memory_peak_bytes(),
        ..known.clone()
    }
}

fn machine_record(machine: &MachineUse) -> MachineRecord {
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

/// Returns the estimated size of one node's data in bytes, without the overhead of the database.
fn data_bytes(settings: &Settings, program: &Program) -> u64 {
    let copies = settings.keyspace.replication.copies();
    let nodes = match &settings.target {
        Target::Local(local) => local.nodes as u64,
        Target::Attach(_) | Target::Null(_) => 1,
    };
    let rows = program.rows().saturating_mul(program.row_bytes_estimate());
    rows.saturating_mul(copies) / nodes.max(1)
}

/// Returns true if a read may miss an acknowledged write, because R + W <= RF. Considers the kinds
/// of operations in the mix, and the kinds that loaded the rows.
fn weak_consistency(settings: &Settings, program: &Program) -> bool {
    let copies = settings.keyspace.replication.copies();
    let least = |statements: Vec<&Statement>| {
        let levels = statements.iter().map(|one| one.consistency.to_string());
        levels.map(|level| replicas_asked(&level, copies)).min()
    };
    let loading = match settings.data.load {
        Load::None => Vec::new(),
        _ => program.writes(Stage::Load),
    };
    let writes = [program.writes(Stage::Main), loading].concat();
    let [reads, writes] = [program.reads(Stage::Main), writes].map(least);
    match (reads, writes) {
        (Some(reads), Some(writes)) => reads + writes <= copies,
        _ => false,
    }
}

fn replicas_asked(level: &str, copies: u64) -> u64 {
    match level {
        "TWO" => 2,
        "THREE" => 3,
        "ALL" => copies,
        "QUORUM" | "LOCAL_QUORUM" | "EACH_QUORUM" | "SERIAL" | "LOCAL_SERIAL" => copies / 2 + 1,
        _ => 1,
    }
}

/// Returns the peak resident memory of this process in bytes. Returns 0 if the system does not
/// report it.
fn memory_peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::inputs::Inputs;
    use study::settings::Overrides;

    /// In an earlier version, a kind without weight kept the default level ONE, so the consistency
    /// of every study with `write: ALL` looked weak.
    #[test]
    fn only_levels_of_kinds_that_are_asked_for_make_reads_weak() {
        for (mix, levels, is_weak) in [
            ("{write: 1, read: 1}", "{write: ALL, read: ONE}", false),
            ("{write: 1, read: 1}", "{write: QUORUM, read: ONE}", true),
            (
                "{write: 1, read: 1, delete: 1}",
                "{write: ALL, read: ONE}",
                true,
            ),
            ("{write: 1}", "{write: ONE}", false),
        ] {
            let text = format!(
                "study: s\nquestion: q?\ntarget: {{local: {{nodes: 3}}}}\nkeyspace: {{replication: \
                 3}}\nprocedure: {{fixed: {{threads: 1}}}}\ndata: {{load: {{operations: 10}}}}\n\
                 workload: {{use: kv, mix: {mix}, consistency: {levels}}}\n"
            );
            let study =
                study::resolve::resolve("s", &text, &Overrides::default()).expect("a study");
            let settings = &study.variants[0].settings;
            let inputs = Inputs::recorded(&study.inputs);
            let work = study::compile_workload::compile(settings, 1, &inputs).expect("kv compiles");
            assert_eq!(
                weak_consistency(settings, &work.program),
                is_weak,
                "{mix} {levels}"
            );
        }
    }

    #[test]
    fn replicas_follow_the_level() {
        for (level, copies, expected) in [
            ("LOCAL_ONE", 3, 1),
            ("QUORUM", 3, 2),
            ("LOCAL_QUORUM", 5, 3),
            ("ALL", 3, 3),
            ("SERIAL", 3, 2),
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
