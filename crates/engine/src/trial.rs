//! Runs one trial on a running target: prepares the data, offers load, verifies the rows, and
//! judges the trial.

mod clients;
mod cost;
pub mod data;
pub mod endurance_series;
mod faults;
pub mod finding;
mod import_step;
mod limits;
mod load_phase;
pub(super) mod missing_files;
mod profiles;
mod read_back;
mod registers;
mod server_counts;
mod slowest_operations;

use super::ceiling::Ceiling;
use super::client_counts::FleetCounts;
use super::event::Event;
use super::fleet_use::FleetUse;
use super::load_guard;
use super::load_run::{self, Offer, PhaseResult};
use super::nodes;
use super::phase_schedule::PhaseSchedule;
use super::phase_times::Timeline;
use super::probe_collector::{DatabaseProbes, ProbeCollector};
use super::running_target::Running;
use super::schema_check;
use super::window_counts::{AnsweredCounts, WindowCounts};
use analysis::limits::NodeFacts;
use analysis::procedure::{Point, Role};
use analysis::recovery::LoadSchedule;
use analysis::rules::{Environment, Evidence};
use anyhow::{Context, Error, Result};
use cassandra::{LogMarks, SelfReport, TableStorage};
use cluster::LogsUntil;
use endurance_series::Courses;
use findings::recovery;
use imports::ImportStep;
use load::{History, Outcomes, VerifyReads};
use measure::{IntervalConsumer, SummedInterval};
use profiles::Profiling;
use server_counts::Counting;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use store::record::{GapKind, GapRecord, PartRecord, TrialFinding, TrialRecord};
use store::{RunWriter, TrialWriter};
use study::inputs::Inputs;
use study::plan::{PhaseKind, RowsBefore, Trial};
use study::settings::{Guard, Settings, Study};
use workload::{Program, Stage};

/// Inputs of one trial.
pub struct TrialRun<'a> {
    /// Trial of the plan.
    pub trial: &'a Trial,
    /// Record of the trial, as in `trial.json`.
    pub record: TrialRecord,
    pub settings: &'a Settings,
    /// Program of the trial. If the load phase loads data up to a size, the program is compiled
    /// again when the number of rows is known.
    pub program: Arc<Program>,
    /// Seed of the study.
    pub seed: u64,
    /// Files that the workload names.
    pub inputs: &'a Inputs<'a>,
    /// Step of an import that the trial runs. `None` for other workloads.
    pub step: Option<&'a ImportStep>,
    /// True if the trial is the first one of its variant.
    pub is_first: bool,
    /// Rows that exist before the trial.
    pub rows: RowsBefore,
    /// True if the load of the previous trial was too high for the target, so that this trial
    /// begins with a rest.
    pub after_too_much: bool,
    /// Ceilings of the client, with one entry for each measurement.
    pub ceilings: Vec<Ceiling>,
    /// Clients on several machines. `None` if this process offers the load.
    pub fleet: Option<&'a FleetUse>,
    /// Study to which the trial belongs.
    pub study: &'a Study,
    /// True if the user declared the machine as shared.
    pub shared_machine: bool,
    /// Writer of the run's files.
    pub writer: &'a mut RunWriter,
    /// Callback that receives events.
    pub events: &'a mut dyn FnMut(Event),
    /// Flag that Ctrl-C sets.
    pub interrupt: &'a AtomicBool,
    /// Guard that ends the load if the load is too high for other users. `None` without a guard.
    pub guard: Option<Guard>,
}

pub enum TrialEnd {
    /// The trial ended as planned.
    Finished(Box<TrialFinding>),
    /// The user has pressed Ctrl-C. The trial does not count, and a resumed run repeats it.
    Interrupted,
    /// A node died, or the load was too high for other users of the target. Contains a description.
    /// The finding is invalid, and the run cannot use this target again.
    Stopped(Box<TrialFinding>, String),
}

/// State of a running trial: its evidence and finding so far, and the data needed to complete them.
struct State {
    writer: TrialWriter,
    answered: AnsweredCounts,
    counting: Counting,
    storage: Storage,
    gather: ProbeCollector,
    /// Series of an endurance trial. `None` for other trials.
    courses: Option<Courses>,
    timeline: Timeline,
    profiling: Profiling,
    counts: WindowCounts,
    /// Counts of each client within the window.
    clients: FleetCounts,
    evidence: Evidence,
    finding: TrialFinding,
    /// Outcomes of the writes of the main stage, if the client records them.
    outcomes: Outcomes,
    /// Number of operations on registers that the client did not record.
    beyond: u64,
    /// Processes of the nodes at the start of the measured phases.
    pids: Vec<(String, Option<u32>)>,
    /// Facts with which the analysis judges the readings of the nodes' resources, such as the
    /// number of CPUs.
    node_facts: Vec<NodeFacts>,
    /// Lengths of the nodes' logs at the start of the measured phases.
    log_marks: LogMarks,
    /// Reports of the nodes about themselves before the measurement.
    told: SelfReport,
}

/// Size of the tables on disk before and after the load, and the number and size of writes.
#[derive(Debug, Default)]
struct Storage {
    before: Option<TableStorage>,
    after: Option<TableStorage>,
    /// Number of successful writes before the load.
    writes_before: u64,
    /// Size of the values that a write binds, in bytes.
    bytes_per_write: Option<f64>,
}

/// Adds the nodes' own reports to an error. The reports are needed because the clients of a full or
/// killed node only report refused connections.
fn explained(error: Error, running: &Running, state: &State) -> Error {
    // Before the log marks are set, the new lines of the logs would also include earlier trials.
    if state.pids.is_empty() {
        return error;
    }
    let causes = if state.evidence.causes.is_empty() {
        running.cluster.causes(&state.log_marks)
    } else {
        state.evidence.causes.clone()
    };
    behind(error, &causes)
}

/// Copies the new lines of the nodes' logs before the trial is judged. Returns the gaps in the logs
/// and in the readings of the probes.
fn missing(running: &mut Running, trial: &Path) -> Vec<GapRecord> {
    let logs = running.collect_logs(&trial.join("logs"), LogsUntil::WholeLine);
    let unheard = running.cluster.unheard();
    missing_files::records(GapKind::Logs, logs)
        .chain(missing_files::records(GapKind::Readings, unheard))
        .collect()
}

fn behind(error: Error, causes: &[String]) -> Error {
    if causes.is_empty() {
        error
    } else {
        error.context(causes.join("; "))
    }
}

impl TrialRun<'_> {
    /// Runs the trial.
    ///
    /// 1. Bring the nodes to their configuration and the data to its state.
    /// 2. Record the nodes. Read the server's counts and the size of its data.
    /// 3. Warm up and measure, in one run of the load generator, without a gap.
    /// 4. Read rows back and compare them with the expected rows.
    /// 5. Read the server's counts and the size of its data again, and judge the trial.
    pub fn run(mut self, running: &mut Running) -> Result<TrialEnd> {
        for moved in running.cluster.follow() {
            (self.events)(Event::Said(moved));
        }
        let mut state = self.begin()?;
        let looked = self.looked();
        state.gather.start(running, self.settings, &looked, &self.own_pids())?;
        let end = self.phases(running, &mut state);
        // The last readings of the probes are written even after a failure. If this also fails, the
        // first error is still reported.
        let stopped = state.gather.stop(&mut state.writer);
        let gaps = missing(running, state.writer.path());
        state.finding.gaps = gaps.clone();
        let end = end.map_err(|error| explained(error, running, &state));
        let mut end = match end? {
            Some(end) => end,
            None => {
                stopped?;
                let finding = self.judge(Some(running), &mut state);
                TrialEnd::Finished(Box::new(finding))
            }
        };
        if let TrialEnd::Finished(finding) | TrialEnd::Stopped(finding, _) = &mut end {
            // If a trial ended early, the rules judged it before the gaps were known, so the gaps
            // are added here.
            finding.gaps = gaps;
            self.recovered(finding, state.writer.path())?;
            state.profiling.write(&state.writer, finding).context("store the profiles")?;
            state.writer.write_overview(finding)?;
        }
        Ok(end)
    }

    /// Adds the effects of each fault to the finding. Reads the effects from the files of the
    /// trial, which are complete now.
    fn recovered(&self, finding: &mut TrialFinding, path: &Path) -> Result<()> {
        let trial = store::Trial::unverified(path.to_owned(), self.record.clone());
        let offered = match self.trial.point {
            Point::Threads(_) => LoadSchedule::Closed,
            Point::Rate(_) => LoadSchedule::Rate,
        };
        recovery::measure(&trial, finding, offered).context("measure what the faults did")
    }

    fn begin(&mut self) -> Result<State> {
        let kinds: Vec<String> =
            self.program.kinds().iter().map(|kind| kind.name.to_owned()).collect();
        let writer = self.writer.begin_trial(&self.record, &kinds)?;
        Ok(State {
            timeline: Timeline::new(writer.start_ns()),
            writer,
            answered: AnsweredCounts::default(),
            counting: Counting::default(),
            storage: Storage::default(),
            gather: ProbeCollector::default(),
            courses: None,
            profiling: Profiling::for_trial(self.settings),
            counts: WindowCounts::default(),
            clients: FleetCounts::default(),
            evidence: Evidence::default(),
            finding: finding::begun(self.trial, &self.record),
            outcomes: Outcomes::default(),
            beyond: 0,
            pids: Vec::new(),
            node_facts: Vec::new(),
            log_marks: LogMarks::default(),
            told: SelfReport::default(),
        })
    }

    /// Runs all phases. If a phase did not end as planned, returns how the trial ended.
    fn phases(&mut self, running: &mut Running, state: &mut State) -> Result<Option<TrialEnd>> {
        match self.step {
            Some(step) => {
                self.configure(running, state, &self.settings.target)?;
                if !step.before.is_empty() {
                    self.begin_phase(PhaseKind::Schema, state)?;
                }
                self.execute(running, &step.before)?;
                self.check_schema(running, state)?;
                self.settle(running, state)?;
            }
            None => {
                if let Some(end) = self.prepare(running, state)? {
                    return Ok(Some(end));
                }
            }
        }
        self.note_nodes(running, state)?;
        self.begin_count(running, state)?;
        self.begin_costs(running, state);
        let end = match self.step {
            Some(step) => self.measure_step(step, running, state)?,
            None => self.measure(running, state)?,
        };
        if end.is_some() {
            return Ok(end);
        }
        if let Some(end) = self.verify(running, state)? {
            return Ok(Some(end));
        }
        state.timeline.end();
        self.end_count(running, state)?;
        self.end_costs(running, state);
        Ok(None)
    }

    /// Checks that the tables match the statements. A null target needs no check, because it
    /// accepts every statement of the workload and stores no rows.
    fn check_schema(&mut self, running: &Running, state: &mut State) -> Result<()> {
        if running.is_null() || running.cluster.is_null_server()? {
            self.rows.are_said = false;
            return Ok(());
        }
        let mut session = running.cluster.session()?;
        let (program, not_compared) = schema_check::checked(&mut session, &self.program)?;
        self.program = program;
        for why in &not_compared {
            (self.events)(Event::Said(format!("note: {why}")));
        }
        state.evidence.not_compared = not_compared;
        Ok(())
    }

    fn note_nodes(&self, running: &Running, state: &mut State) -> Result<()> {
        // The tables of an import's step differ from those of the program.
        let asked = self.step.is_none().then_some(&self.settings.keyspace);
        let record = nodes::record(running, self.settings, &self.program, asked);
        state.evidence.environment = Some(Environment {
            not_in_effect: nodes::not_in_effect(&record.proofs),
            not_shown: nodes::not_shown(&record.proofs),
            ..Environment::default()
        });
        state.finding.part = running.cluster.part().map(|part| PartRecord {
            unit: part.units.name().to_owned(),
            split: part.split.clone(),
            units_per_socket: part.units_per_socket,
            sockets: part.sockets,
            client_shares: running.shares_cores(&self.settings.client),
        });
        state.node_facts = nodes::limit_facts(running, &record);
        state.pids = running.pids();
        state.log_marks = running.cluster.log_marks();
        state.told = running.cluster.query_reports();
        state.writer.write_nodes(&record)
    }

    fn looked(&self) -> DatabaseProbes {
        DatabaseProbes {
            keyspace: self.program.keyspace().to_owned(),
            tables: self.program.tables().into_iter().map(str::to_owned).collect(),
        }
    }

    /// Warms up and measures, in one run of the load generator, so that clients do not reconnect
    /// between the two phases.
    fn measure(&mut self, running: &mut Running, state: &mut State) -> Result<Option<TrialEnd>> {
        let mut course = PhaseSchedule::new(
            self.settings,
            running.warmed.as_ref() != Some(&state.pids),
            load_guard::rise(self.guard.as_ref()),
        );
        self.begin_written(running);
        let schedule = load_run::arrivals(self.trial.point, self.settings);
        let offer = Offer {
            window: course.window(),
            measures_for: Some(course.measured()),
            ends_after_faults: self.settings.window.after_faults_ns.map(Duration::from_nanos),
            first_operation: self.trial.first_operation,
            verify: self.verified(),
            keeps: self.keeps_main(running),
            faults: &self.settings.faults,
            ..Offer::measured(Stage::Main, schedule, course.limit())
        };
        let first_phase = if course.measuring {
            PhaseKind::Measure
        } else {
            PhaseKind::Warmup
        };
        if self.trial.role == Role::Endurance {
            state.gather.watch();
        }
        self.begin_phase(first_phase, state)?;
        let mut courses = (self.trial.role == Role::Endurance).then(Courses::new);
        let mut consumers: Vec<&mut dyn IntervalConsumer> = Vec::new();
        consumers.extend(courses.as_mut().map(|courses| courses as &mut dyn IntervalConsumer));
        let decide = &mut |summed: &SummedInterval| course.see(summed);
        let offered = self.offer(running, state, &offer, &mut consumers, decide)?;
        state.courses = courses;
        running.warmed = Some(state.pids.clone());
        let first = self.trial.first_operation;
        let range = first..offered.summary.next_operation;
        // If the client did not record the writes, the state of all rows is unknown, because the
        // writes may have changed any row.
        running.written = match (running.written.take(), &offered.summary.ledger) {
            (Some(mut written), Some(ledger)) => {
                state.outcomes = written.add_main(&self.program, ledger, range);
                let history = offered.summary.history.as_deref();
                written.add_history(&self.program, Stage::Main, history);
                state.beyond = history.map_or(0, History::beyond);
                Some(written)
            }
            _ => None,
        };
        state.evidence.warmup = course.ended;
        state.finding.warmup = course.warmup_record();
        self.note_errors(&offered, running, state);
        self.keep_slowest(&offered, state)?;
        Ok(self.measured(offered, state))
    }

    fn verified(&self) -> VerifyReads {
        let nth = self.settings.verify.every_nth;
        nth.map_or(VerifyReads::Off, VerifyReads::EveryNth)
    }

    /// Reports failures under load, and searches the logs and the volumes of the nodes for the
    /// causes. The search runs only once, when the load has ended.
    fn note_errors(&mut self, offered: &PhaseResult, running: &Running, state: &mut State) {
        let Some(errors) = offered.errors_words() else {
            return;
        };
        let nodes_count = running.cluster.nodes().len();
        let summary = &offered.summary;
        let at = load::failures::words(&summary.failures, nodes_count, summary.start_ns);
        let causes = running.cluster.causes(&state.log_marks);
        state.evidence.causes = at.into_iter().chain(causes).collect();
        let said = [&[errors][..], &state.evidence.causes].concat();
        (self.events)(Event::Said(said.join("; ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_nodes_stand_before_the_error_that_they_cause() {
        let refused = || anyhow::anyhow!("connect to 127.0.0.1:9042: refused").context("verify");
        let causes = [
            "cassay1: its data volume is full".to_owned(),
            "cassay2: down".to_owned(),
        ];
        assert_eq!(
            format!("{:#}", behind(refused(), &causes)),
            "cassay1: its data volume is full; cassay2: down: verify: connect to 127.0.0.1:9042: \
             refused"
        );
        assert_eq!(
            format!("{:#}", behind(refused(), &[])),
            "verify: connect to 127.0.0.1:9042: refused"
        );
    }
}
