//! Taking an interrupted run up again where it was.

use super::{Engine, Event, Options, Outcome};
use crate::asked;
use crate::fleet_use::FleetUse;
use crate::needs;
use crate::preflight;
use crate::record;
use analysis::Finding;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::PathBuf;
use store::record::{
    AddedRecord, ComparisonRecord, FORMAT, FindingsRecord, JournalEvent, TrialFinding,
};
use store::{Damage, RunWriter, Salvaged};
use study::plan::Plan;
use study::resolve::{StudyError, resolve};
use study::settings::{Granted, Study};

/// A run that can be taken up again, with its study resolved as it was.
#[derive(Clone, Debug)]
pub struct Interrupted {
    /// Its study.
    pub study: Study,
    /// Its plan, made again and found equal.
    pub plan: Plan,
    path: PathBuf,
    finished: BTreeMap<usize, TrialFinding>,
    has_findings: bool,
    /// How often it was started.
    starts: u64,
    damages: Vec<Damage>,
    /// What it found when it came to its end; none if it did not.
    findings: Option<FindingsRecord>,
    /// Blocks that are to be added to it.
    adding: Option<AddedRecord>,
}

impl Interrupted {
    /// Reads a run. The plan is made again from the copy of the study: were it another one (made
    /// by another version), the rest of the run would not fit its begin, and it is refused. Trials
    /// whose files are damaged are not finished: they are done again.
    ///
    /// # Errors
    /// As above, or the study needs more than is `granted`: what the run was
    /// begun with counts for nothing here, since its folder may come from anybody.
    pub fn read(salvaged: &Salvaged, version: &str, granted: Granted) -> Result<Interrupted> {
        let run = &salvaged.run;
        let text = run.study_yaml()?;
        let overrides = record::overrides_of(&run.plan, granted);
        let source = Some(run.plan.resolved.source.as_str()).filter(|source| !source.is_empty());
        let mut study = resolve(source.unwrap_or("study.yaml"), &text, &overrides)
            .map_err(StudyError::Mistakes)
            .context("resolve the run's study again")?;
        study.added.clone_from(&run.added);
        let plan = study::plan::plan(&study)?;
        let again = record::plan_record(&study, &plan, version);
        let trials = |plan: &store::record::PlanRecord| serde_json::to_value(&plan.trials);
        if trials(&again)? != trials(&run.plan)? {
            bail!(
                "{} was planned by cassay {} in another way than this cassay {} plans; go on with \
                 the other, or run the study anew: {}",
                run.path.display(),
                run.plan.cassay,
                again.cassay,
                run.plan.rerun
            );
        }
        Ok(Interrupted {
            study,
            plan,
            path: run.path.clone(),
            finished: salvaged.whole.clone(),
            // Written anew if lines of the journal are damaged: that is taken note of then.
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

    /// Adds so many blocks to a run that has come to its end. From then on its comparisons are such
    /// as hold whenever anybody looks.
    ///
    /// # Errors
    /// It has not come to its end, it has its answer before its last block, or its variants do not
    /// take turns.
    pub fn add_blocks(&mut self, blocks: usize, version: &str) -> Result<()> {
        let path = self.path.display();
        let Some(findings) = self.findings.as_ref().filter(|_| self.is_done()) else {
            bail!(
                "{path} has not come to its end: nothing can be added to it yet\n\
                 hint: go on with it first: cassay resume {path}"
            );
        };
        if !self.study.repeat.interleaved {
            bail!(
                "{path} has `repeat.order: sequential`: blocks that are added later cannot be \
                 told from what has changed meanwhile\n\
                 hint: run the study with `--set repeat.order=interleaved`"
            );
        }
        let mut primary = findings.comparisons.iter().filter(|one| one.primary);
        let early = |one: &ComparisonRecord| one.blocks_planned < self.study.repeat.blocks;
        if self.study.added.is_empty() && primary.any(|one| early(one) && is_answered(one)) {
            bail!(
                "{path} has its answer, and ended with it: more blocks would only be another \
                 look\nhint: ask again in a new run: cassay run {}",
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
            trials: trials.map(|trial| record::trial_record(&longer, trial)).collect(),
        });
        (self.study, self.plan) = (longer, plan);
        Ok(())
    }

    /// Whether nothing is left to do but, perhaps, the report: every trial is finished, and the
    /// findings are written.
    pub fn is_done(&self) -> bool {
        self.trials_left() == 0 && self.has_findings
    }

    /// Files that are not what they were, and whose trials are therefore done again.
    pub fn damages(&self) -> &[Damage] {
        &self.damages
    }

    /// Trials that are still to be done, as far as what was found does not say otherwise.
    pub fn trials_left(&self) -> usize {
        asked::left(&self.study, &self.plan, &self.finished)
    }

    /// Does the trials that are left.
    ///
    /// # Errors
    /// As [`super::run`]; or another process still writes the run.
    pub fn resume(&self, options: &Options<'_>, events: &mut dyn FnMut(Event)) -> Result<Outcome> {
        needs::check_with_machines(&self.study, &self.plan, &options.dirs)?;
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

fn is_answered(comparison: &ComparisonRecord) -> bool {
    comparison.verdict != Finding::Inconclusive
}
