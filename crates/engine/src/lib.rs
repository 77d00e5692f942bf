//! The only crate that runs a plan: trials in order on a target that is kept if it fits, resuming.
//!
//! Invariants: the journal records each action before it happens. The engine stops every target
//! that it starts, even after a failure. If a trial fails, the findings of the other trials remain.
//! An interrupted run can continue where it stopped.

mod ceiling;
mod client_counts;
mod clients_needed;
mod confirm;
mod dirty_target;
mod event;
mod event_loop;
mod expected_blocks;
mod fleet_use;
mod imported_series;
mod load_guard;
mod load_run;
pub mod missing_capabilities;
mod next_trials;
mod nodes;
pub mod own_table;
mod phase_schedule;
mod phase_times;
pub mod plan_record;
pub mod preflight;
mod probe_collector;
mod resume;
mod running_target;
mod schema_check;
mod table_definition;
mod trial;
mod trial_name;
mod trial_record_check;
mod trial_setup;
mod window_counts;
mod workload_check;

pub use clients_needed::{ClientsNeeded, clients_needed, clients_words};
pub use confirm::confirming;
pub use event::{
    ClientTimes, CpuShares, Event, FaultStage, HostCpu, HostNow, PlannedFault, Progress,
};
pub use expected_blocks::expected;
pub use findings::{may_be_believed, misses_a_requirement};
pub use fleet_use::StudyMaker;
pub use imported_series::{import_file, series_names};
pub use load_run::workers_auto;
pub use resume::{InterruptedRun, run_or_continue};
pub use sentences::result_place::point_words;
pub use table_definition::{Definition, TableDescription, describe};
pub use trial_name::trial_name;
pub use workload_check::{PrepareResult, prepare};

use anyhow::Result;
use ceiling::Ceilings;
use child_runs::{ChildRuns, ChildRunsEnd};
use cluster::Dirs;
use findings::data_generation;
use fleet_use::FleetUse;
use next_trials::{Histories, NextStep};
use running_target::Running;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::RunWriter;
use store::record::{FindingsRecord, JournalEvent, RemainsRecord, TrialFinding, TrialRecord};
use study::inputs::Inputs;
use study::plan::{Plan, Trial, Turn, VariantIndex};
use study::settings::Study;
use target_spec::Target;
use trial::{TrialEnd, TrialRun};

/// Inputs of a run in addition to its plan.
pub struct Options<'a> {
    /// Folder that contains the results of all runs.
    pub results: PathBuf,
    /// Folders that the target uses: cache and data.
    pub dirs: Dirs,
    /// Flag that Ctrl-C sets. When it is set, the current phase ends and the engine stops
    /// everything.
    pub interrupt: &'a AtomicBool,
    /// Version of cassay, and the commit from which this version was built. Records contain this
    /// text.
    pub version: &'a str,
    /// True if the user declared the machine as shared. In that case, other programs on the machine
    /// only cause a warning.
    pub shared_machine: bool,
}

#[derive(Clone, Debug)]
pub struct RunEnd {
    /// Folder of the run.
    pub path: PathBuf,
    /// Findings of the run. `None` if the run was interrupted.
    pub findings: Option<FindingsRecord>,
    /// Tables that the run has left on attached clusters, which cassay did not start.
    pub remains: Vec<RemainsRecord>,
}

/// Runs a plan from the beginning.
///
/// # Errors
/// A requirement of the run is not available, or the files of the run cannot be written. Failures
/// of the target are part of the findings, not errors.
pub fn run(
    study: &Study,
    plan: &Plan,
    options: &Options<'_>,
    events: &mut dyn FnMut(Event),
) -> Result<RunEnd> {
    missing_capabilities::check_with_machines(study, plan, &options.dirs)?;
    let earlier = findings::look_for_earlier(study, &options.results)?;
    let own = preflight::own_runs(study, &options.results, None)?;
    let said = preflight::check(study, plan, &options.dirs, &own)?.into_iter().chain(earlier);
    said.for_each(|said| events(Event::Said(said)));
    let fleet = FleetUse::first_of(study, &mut |said| events(Event::Said(said.to_owned())))?;
    let record = plan_record::plan_record(study, plan, options.version);
    let writer = RunWriter::create(&options.results, &study.text, &record)?;
    let engine = Engine::new(study, plan, options, events, writer, BTreeMap::new());
    Engine { fleet, ..engine }.run()
}

enum End {
    Done,
    Interrupted,
    Stopped(String),
}

struct Engine<'a> {
    study: &'a Study,
    plan: &'a Plan,
    options: &'a Options<'a>,
    events: &'a mut dyn FnMut(Event),
    writer: RunWriter,
    findings: BTreeMap<usize, TrialFinding>,
    /// Number of starts of the run, including this one.
    start: u64,
    /// Failed trials, which the findings contain and a resumed run repeats.
    failed: BTreeMap<usize, TrialFinding>,
    running: Option<Running>,
    /// Clients in separate processes, if a trial needs them.
    fleet: Option<FleetUse>,
    /// Name of the folder of the last trial on the running target. The logs of the target are
    /// written there.
    logs: Option<String>,
    /// Ceilings of the client, at the index of the first variant with the same program.
    ceilings: Vec<Ceilings>,
    /// Earlier trials on which the procedures base their decisions.
    histories: Histories<'a>,
    /// True if the load of the last trial was too high for the running target.
    too_much: bool,
    /// Targets that could not be started. The run does not try again for later trials.
    refused: Vec<Target>,
    /// Variants for which every trial would fail with the same error.
    hopeless: Vec<VariantIndex>,
    /// Tables that remain on attached clusters, which cassay did not start, by cluster.
    remains: BTreeMap<String, BTreeSet<String>>,
}

impl<'a> Engine<'a> {
    fn new(
        study: &'a Study,
        plan: &'a Plan,
        options: &'a Options<'a>,
        events: &'a mut dyn FnMut(Event),
        writer: RunWriter,
        findings: BTreeMap<usize, TrialFinding>,
    ) -> Engine<'a> {
        Engine {
            study,
            plan,
            options,
            events,
            writer,
            findings,
            start: 1,
            failed: BTreeMap::new(),
            running: None,
            fleet: None,
            logs: None,
            ceilings: vec![Ceilings::default(); plan.works.len()],
            histories: Histories::new(study),
            too_much: false,
            refused: Vec::new(),
            hopeless: Vec::new(),
            remains: BTreeMap::new(),
        }
    }

    /// Writes the start to the journal, runs one trial after the other, stops the target and
    /// collects its logs, and finally writes the findings.
    fn run(mut self) -> Result<RunEnd> {
        self.begin()?;
        let end = self.trials();
        // The run stops the target even after a failure. If the stop also fails, the first error is
        // still reported.
        let stopped = self.stop_target();
        let end = end?;
        if let Err(error) = stopped {
            (self.events)(Event::Said(format!("{error:#}")));
        }
        let path = self.writer.path().to_owned();
        let reason = match end {
            End::Interrupted => return self.interrupt(path),
            End::Stopped(why) => Some(why),
            End::Done => None,
        };
        self.lay_imports_beside()?;
        let mut trials = std::mem::take(&mut self.findings);
        trials.append(&mut self.failed);
        let trials = trials.into_values().collect();
        let mut say = |said| (self.events)(Event::Said(said));
        let mut findings =
            findings::conclude(self.study, trials, &path, reason.as_deref(), &mut say);
        findings.remains = self.remains();
        if reason.is_none() && self.extra_runs(&path, &mut findings)? == ChildRunsEnd::Interrupted {
            return self.interrupt(path);
        }
        self.writer.finish(&findings, self.options.version, reason)?;
        Ok(RunEnd {
            path,
            remains: findings.remains.clone(),
            findings: Some(findings),
        })
    }

    /// Tests the cause of the limit by experiments, tunes settings, and profiles the nodes in extra
    /// trials, if the study requests this.
    fn extra_runs(&mut self, path: &Path, findings: &mut FindingsRecord) -> Result<ChildRunsEnd> {
        let (options, events) = (self.options, RefCell::new(&mut *self.events));
        let mut conduct = |study: &Study, plan: &Plan, results: PathBuf| {
            let options = Options {
                results,
                dirs: options.dirs.clone(),
                ..*options
            };
            let end = run_or_continue(study, plan, &options, &mut |event| {
                (events.borrow_mut())(event);
            })?;
            Ok(end.findings.map(|findings| (end.path, findings)))
        };
        let mut say = |said| (events.borrow_mut())(Event::Said(said));
        let mut runs = ChildRuns {
            study: self.study,
            path,
            conduct: &mut conduct,
            say: &mut say,
        };
        child_runs::follow(&mut runs, findings)
    }

    fn interrupt(&mut self, path: PathBuf) -> Result<RunEnd> {
        self.writer.journal(None, JournalEvent::RunInterrupted)?;
        Ok(RunEnd {
            path,
            findings: None,
            remains: self.remains(),
        })
    }

    /// Adds data that other tools recorded to the trials that have ended.
    fn lay_imports_beside(&mut self) -> Result<()> {
        let findings = self.findings.iter();
        let ended: Vec<(String, &TrialFinding)> = findings
            .map(|(index, finding)| (self.plan.trials[*index].slug.clone(), finding))
            .collect();
        for said in imported_series::lay_beside(self.study, &ended, &mut self.writer) {
            let imported = JournalEvent::Imported(said.clone());
            self.writer.journal(None, imported)?;
            (self.events)(Event::Said(said));
        }
        Ok(())
    }

    /// Returns the number of unfinished turns that procedures may still request, and the expected
    /// length of these turns in seconds.
    fn left_of<'t>(&self, turns: impl IntoIterator<Item = &'t Turn>) -> (usize, f64) {
        let left = turns
            .into_iter()
            .filter(|turn| !self.findings.contains_key(&turn.index))
            .filter(|turn| self.histories.may_come(turn));
        left.fold((0, 0.0), |(count, seconds), turn| {
            (count + 1, seconds + turn.seconds())
        })
    }

    fn begin(&mut self) -> Result<()> {
        let started = JournalEvent::RunStarted {
            cassay: self.options.version.to_owned(),
            machine: trial_record_check::machine(),
            finished_before: self.findings.keys().copied().collect(),
        };
        self.writer.journal(None, started)?;
        let all = &self.plan.trials;
        let certain = self.left_of(all.iter().filter(|turn| turn.certain));
        let most = self.left_of(all);
        let estimate = &self.plan.estimate;
        (self.events)(Event::RunStarted {
            path: self.writer.path().to_owned(),
            left: (certain.0, most.0),
            study: self.study.name.clone(),
            names: all.iter().map(|turn| trial_name(self.study, turn)).collect(),
            finished: self.findings.keys().copied().collect(),
            seconds: if self.findings.is_empty() {
                (estimate.seconds_least, estimate.seconds)
            } else {
                (certain.1, most.1)
            },
        });
        for warning in &self.plan.warnings {
            (self.events)(Event::Said(format!("note: {warning}")));
        }
        Ok(())
    }

    fn trials(&mut self) -> Result<End> {
        let plan = self.plan;
        for turn in &plan.trials {
            let asked = self.histories.next_step(turn, self.findings.get(&turn.index));
            if asked == NextStep::Done {
                continue;
            }
            if self.interrupted() {
                return Ok(End::Interrupted);
            }
            // The earlier finding is dropped, because with the current history the procedure would
            // not choose the same point.
            self.findings.remove(&turn.index);
            let trial = match (asked.here(), self.refused(turn)) {
                (Ok(ask), None) => turn.trial_for(ask, &self.study.variant(turn.variant).settings),
                (Err(reason), _) | (Ok(_), Some(reason)) => {
                    self.skip(turn, reason)?;
                    continue;
                }
            };
            if let Some(end) = self.take_turn(&trial)? {
                return Ok(end);
            }
        }
        Ok(End::Done)
    }

    /// Runs a trial and records its outcome. If the run ends after this trial, returns how the run
    /// ended.
    fn take_turn(&mut self, trial: &Trial) -> Result<Option<End>> {
        let name = trial_name(self.study, trial);
        let record = plan_record::trial_record(self.study, trial);
        match self.trial(trial, &record, &name) {
            Ok(TrialEnd::Finished(finding)) => {
                let not_whole = dirty_target::not_whole(&finding.faults);
                self.finish(trial, name, *finding)?;
                return self.after_faults(trial, &not_whole);
            }
            Ok(TrialEnd::Interrupted) => return Ok(Some(End::Interrupted)),
            Ok(TrialEnd::Stopped(finding, why)) => {
                self.fail(trial, name, *finding, &why)?;
                return Ok(Some(End::Stopped(why)));
            }
            Err(_) if self.interrupted() => return Ok(Some(End::Interrupted)),
            Err(error) => {
                let why = format!("{error:#}");
                let finding = trial::finding::failed(trial, &record, &why);
                self.fail(trial, name, finding, &why)?;
                if dirty_target::is_of_the_study(&error) {
                    self.hopeless.push(trial.variant);
                }
                if self.is_broken() {
                    // Other targets may still start, so the run excludes only this target.
                    let target = &self.study.variant(trial.variant).settings.target;
                    self.refused.push(target.clone());
                    self.stop_target()?;
                } else if let Some(died) = self.target_died() {
                    return Ok(Some(End::Stopped(died)));
                }
            }
        }
        Ok(None)
    }

    fn interrupted(&self) -> bool {
        self.options.interrupt.load(Ordering::Relaxed)
    }

    fn trial(&mut self, trial: &Trial, record: &TrialRecord, name: &str) -> Result<TrialEnd> {
        let later = &self.plan.trials[trial.index + 1..];
        let (_, seconds_after) = self.left_of(later);
        (self.events)(Event::TrialStarted {
            index: trial.index,
            trials: self.plan.trials.len(),
            name: name.to_owned(),
            seconds_after,
        });
        let slug = trial.slug.clone();
        self.writer.journal(Some(trial.index), JournalEvent::TrialStarted { slug })?;
        self.ready_target(trial)?;
        self.ready_upgrades(trial)?;
        self.ready_clients(trial)?;
        let ceilings = self.ceilings(trial)?;
        let running = self.running.as_mut().expect("ready_target has started a target");
        self.logs = Some(trial.slug.clone());
        let inputs = Inputs::recorded(&self.study.inputs);
        let settings = trial.settings(&self.study.variant(trial.variant).settings);
        let run = TrialRun {
            trial,
            record: record.clone(),
            settings: &settings,
            program: Arc::clone(&self.plan.work(trial.variant).program),
            seed: self.study.seed,
            inputs: &inputs,
            step: self.plan.work(trial.variant).step.as_ref(),
            is_first: self.plan.trials[..trial.index]
                .iter()
                .all(|earlier| earlier.variant != trial.variant),
            rows: self.plan.rows_before(trial, &settings),
            after_too_much: self.too_much,
            ceilings,
            fleet: self.fleet.as_ref(),
            study: self.study,
            shared_machine: self.options.shared_machine,
            writer: &mut self.writer,
            events: self.events,
            interrupt: self.options.interrupt,
            guard: load_guard::for_trial(&settings, running)?,
        };
        run.run(running)
    }

    fn finish(&mut self, trial: &Trial, name: String, mut finding: TrialFinding) -> Result<()> {
        let settings = &self.study.variant(trial.variant).settings;
        finding.generation = data_generation::compute(settings, self.start);
        self.writer.finish_trial(trial.index, &trial.slug, &finding)?;
        self.too_much = self.histories.note(trial, Some(&finding));
        self.findings.insert(trial.index, finding.clone());
        (self.events)(Event::TrialFinished {
            index: trial.index,
            name,
            finding: Box::new(finding),
        });
        Ok(())
    }

    fn skip(&mut self, turn: &Turn, reason: String) -> Result<()> {
        let is_answered = self.histories.is_answered();
        let further = is_answered.then(|| "further blocks".to_owned());
        let name = further.unwrap_or_else(|| trial_name(self.study, turn));
        let skipped = JournalEvent::TrialSkipped(reason.clone());
        self.writer.journal(Some(turn.index), skipped)?;
        (self.events)(Event::TrialSkipped {
            index: turn.index,
            name,
            reason,
        });
        Ok(())
    }
}
