//! Taking an interrupted run up again where it was.

use super::{Engine, Event, Options, Outcome};
use crate::needs;
use crate::plan::Plan;
use crate::record;
use crate::resolve::resolve;
use crate::settings::{Secret, Study};
use anyhow::{Context, Result, anyhow, bail};
use std::collections::BTreeMap;
use std::path::PathBuf;
use store::record::TrialFinding;
use store::{Run, RunWriter};

/// A run that can be taken up again, with its study resolved as it was.
#[derive(Clone, Debug)]
pub struct Interrupted {
    /// Its study.
    pub study: Study,
    /// Its plan, made again and found equal.
    pub plan: Plan,
    path: PathBuf,
    finished: BTreeMap<usize, TrialFinding>,
}

impl Interrupted {
    /// Reads a run. The plan is made again from the copy of the study: were it another one (made
    /// by another version), the rest of the run would not fit its begin, and it is refused.
    ///
    /// # Errors
    /// As above, or the study needs more trust than `trust` and `secrets` give: what the run was
    /// begun with counts for nothing here, since its folder may come from anybody.
    pub fn read(run: &Run, trust: bool, secrets: &BTreeMap<String, Secret>) -> Result<Interrupted> {
        let text = run.study_yaml()?;
        let overrides = record::overrides_of(&run.plan, trust, secrets);
        let source = record::source_of(&run.plan);
        let study = resolve(&source, &text, &overrides)
            .map_err(|mistakes| anyhow!("{mistakes}"))
            .context("resolve the run's study again")?;
        let plan = crate::plan::plan(&study).map_err(|why| anyhow!(why))?;
        let again = record::plan_record(&study, &plan);
        let trials = |plan: &store::record::PlanRecord| serde_json::to_value(&plan.trials);
        if trials(&again)? != trials(&run.plan)? {
            bail!(
                "{} was planned by cassay {} in another way than cassay {} plans; run the study \
                 anew: {}",
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
            finished: finished(run)?,
        })
    }

    /// Trials that are still to be done.
    pub fn trials_left(&self) -> usize {
        self.plan.trials.len() - self.finished.len()
    }

    /// Does the trials that are left.
    ///
    /// # Errors
    /// As [`super::run`]; or another process still writes the run.
    pub fn resume(&self, options: &Options<'_>, events: &mut dyn FnMut(Event)) -> Result<Outcome> {
        needs::check(&self.study)?;
        let writer = RunWriter::resume(&self.path)?;
        let finished = self.finished.clone();
        Engine::new(&self.study, &self.plan, options, events, writer, finished).run()
    }
}

/// The findings of the trials that the journal says were finished. One whose finding cannot be
/// read is done again.
fn finished(run: &Run) -> Result<BTreeMap<usize, TrialFinding>> {
    let mut findings = BTreeMap::new();
    for index in run.finished_trials() {
        if let Some(trial) = run.trial(index)?
            && let Ok(Some(finding)) = trial.finding()
        {
            findings.insert(index, finding);
        }
    }
    Ok(findings)
}
