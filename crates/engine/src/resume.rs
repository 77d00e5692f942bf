//! Resumes an interrupted run where it stopped.

use super::{Engine, Event, Options, RunEnd};
use crate::fleet_use::FleetUse;
use crate::missing_capabilities;
use crate::next_trials;
use crate::plan_record;
use crate::preflight;
use analysis::Finding;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::PathBuf;
use store::record::{
    AddedRecord, ComparisonRecord, FORMAT, FindingsRecord, JournalEvent, TrialFinding,
};
use store::{Damage, Run, RunWriter, SalvagedRun};
use study::plan::Plan;
use study::resolve::{StudyError, resolve};
use study::settings::{GrantedPermissions, Study};

/// An interrupted run. cassay has resolved the study of the run again, in the same way as at the
/// start.
#[derive(Clone, Debug)]
pub struct InterruptedRun {
    pub study: Study,
    /// Plan of the run. cassay has made the plan again, and the result equals the recorded plan.
    pub plan: Plan,
    path: PathBuf,
    finished: BTreeMap<usize, TrialFinding>,
    has_findings: bool,
    /// Number of earlier starts of the run.
    starts: u64,
    damages: Vec<Damage>,
    /// Findings of the run. `None` if the run has not finished.
    findings: Option<FindingsRecord>,
    /// Blocks to add to the run.
    adding: Option<AddedRecord>,
}

impl InterruptedRun {
    /// Reads a run, and makes its plan again from the copy of the study. If this version of cassay
    /// makes a different plan, cassay refuses the run, because the rest of the run would not match
    /// its beginning. Trials with damaged files count as unfinished, and are repeated.
    ///
    /// # Errors
    /// The plan differs, or the study needs more permissions than are `granted`. Permissions from
    /// the start of the run do not count, because the folder of the run may come from an untrusted
    /// source.
    pub fn read(
        salvaged: &SalvagedRun,
        version: &str,
        granted: GrantedPermissions,
    ) -> Result<InterruptedRun> {
        let run = &salvaged.run;
        let text = run.study_yaml()?;
        let overrides = plan_record::overrides_of(&run.plan, granted);
        let source = Some(run.plan.resolved.source.as_str()).filter(|source| !source.is_empty());
        let mut study = resolve(source.unwrap_or("study.yaml"), &text, &overrides)
            .map_err(StudyError::Mistakes)
            .context("resolve the run's study again")?;
        study.added.clone_from(&run.added);
        let plan = study::plan::plan(&study)?;
        let again = plan_record::plan_record(&study, &plan, version);
        let trials = |plan: &store::record::PlanRecord| serde_json::to_value(&plan.trials);
        if trials(&again)? != trials(&run.plan)? {
            bail!(
                "{}: cassay {} planned this run, but this version, cassay {}, plans it \
                 differently. Continue the run with the version that planned it, or run the study \
                 again: {}",
                run.path.display(),
                run.plan.cassay,
                again.cassay,
                run.plan.rerun
            );
        }
        Ok(InterruptedRun {
            study,
            plan,
            path: run.path.clone(),
            finished: salvaged.whole.clone(),
            // If lines of the journal are damaged, the run counts as unfinished. cassay then
            // rewrites the journal and records the damage in it.
            has_findings: run.findings.is_some() && !run.is_journal_damaged,
            starts: {
                let lines = run.journal.iter();
                let is_start = |event| matches!(event, &JournalEvent::RunStarted { .. });
                lines.filter(|line| is_start(&line.event)).count() as u64
            },
            damages: salvaged.damages.clone(),
            findings: run.findings.clone(),
            adding: None,
        })
    }

    /// Adds `blocks` blocks to a finished run. From then on, the comparisons of the run use
    /// confidence intervals that remain valid if the user reads the results at any time.
    ///
    /// # Errors
    /// The run is not finished, its study was answered before the last block, or its variants do
    /// not take turns.
    pub fn add_blocks(&mut self, blocks: usize, version: &str) -> Result<()> {
        let path = self.path.display();
        let Some(findings) = self.findings.as_ref().filter(|_| self.is_done()) else {
            bail!(
                "the run {path} is not finished, so cassay cannot add blocks to it yet\nhint: \
                 continue it first with `cassay resume {path}`"
            );
        };
        if !self.study.repeat.interleaved {
            bail!(
                "cassay adds no blocks to {path}, which has `repeat.order: sequential`: it could \
                 not separate the effect of a variant from other changes between the blocks\nhint: \
                 run the study with `--set repeat.order=interleaved`"
            );
        }
        let mut primary = findings.comparisons.iter().filter(|one| one.primary);
        let early = |one: &ComparisonRecord| one.blocks_planned < self.study.repeat.blocks;
        if self.study.added.is_empty() && primary.any(|one| early(one) && is_answered(one)) {
            bail!(
                "the run {path} already ended with an answer: more blocks would only test the same \
                 question again\nhint: repeat the question in a new run: cassay run {}",
                self.study.source
            );
        }
        let mut longer = self.study.clone();
        longer.added.push(blocks);
        let plan = study::plan::plan(&longer)?;
        let trials = plan.trials[self.plan.trials.len()..].iter();
        self.adding = Some(AddedRecord {
            format: FORMAT,
            cassay: version.to_owned(),
            blocks,
            trials: trials.map(|trial| plan_record::trial_record(&longer, trial)).collect(),
        });
        (self.study, self.plan) = (longer, plan);
        Ok(())
    }

    /// Returns true if every trial is finished and the findings are on disk. The report may still
    /// be missing.
    pub fn is_done(&self) -> bool {
        self.trials_left() == 0 && self.has_findings
    }

    /// Returns the damaged files. A resumed run repeats the trials of these files.
    pub fn damages(&self) -> &[Damage] {
        &self.damages
    }

    /// Returns the number of remaining trials. Also counts each trial that a procedure may still
    /// request.
    pub fn trials_left(&self) -> usize {
        next_trials::left(&self.study, &self.plan, &self.finished)
    }

    /// Runs the remaining trials.
    ///
    /// # Errors
    /// [`super::run`] fails, or another process still writes to the folder of the run.
    pub fn resume(&self, options: &Options<'_>, events: &mut dyn FnMut(Event)) -> Result<RunEnd> {
        missing_capabilities::check_with_machines(&self.study, &self.plan, &options.dirs)?;
        let run = self.path.file_name().unwrap_or_default().to_string_lossy();
        let own = preflight::own_runs(&self.study, &options.results, Some(&run))?;
        let said = preflight::check(&self.study, &self.plan, &options.dirs, &own)?;
        said.into_iter().for_each(|said| events(Event::Said(said)));
        let fleet = FleetUse::first_of(&self.study, &mut |said| {
            events(Event::Said(said.to_owned()))
        })?;
        let mut writer = RunWriter::resume(&self.path)?;
        if let Some(added) = &self.adding {
            writer.extend(added)?;
        }
        let finished = self.finished.clone();
        let engine = Engine::new(&self.study, &self.plan, options, events, writer, finished);
        let start = self.starts + 1;
        Engine {
            start,
            fleet,
            ..engine
        }
        .run()
    }
}

/// Runs a study, or continues the latest run of the study in the results folder.
///
/// # Errors
/// [`super::run`], [`InterruptedRun::read`] or [`InterruptedRun::resume`] fails.
pub fn run_or_continue(
    study: &Study,
    plan: &Plan,
    options: &Options<'_>,
    events: &mut dyn FnMut(Event),
) -> Result<RunEnd> {
    let latest = options.results.join("latest");
    if !latest.exists() {
        return super::run(study, plan, options, events);
    }
    let salvaged = Run::salvage(&latest)?;
    let granted = study.overrides.granted.clone();
    let begun = InterruptedRun::read(&salvaged, options.version, granted)
        .with_context(|| format!("continue {}", latest.display()))?;
    if begun.is_done() {
        return Ok(RunEnd {
            path: salvaged.run.path,
            findings: salvaged.run.findings,
            remains: Vec::new(),
        });
    }
    begun.resume(options, events)
}

fn is_answered(comparison: &ComparisonRecord) -> bool {
    comparison.verdict != Finding::Inconclusive
}
