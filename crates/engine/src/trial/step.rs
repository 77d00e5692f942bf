//! A trial that is a step of an import: its statements, its warm-up, its operations.

use super::{State, TrialEnd, TrialRun};
use crate::course::StepCourse;
use crate::offer::{self, Offer};
use crate::running::Running;
use anyhow::{Context, Result};
use imports::Step;
use load::{Limit, VerifyReads, Window};
use store::record::WarmupRecord;
use study::plan::PhaseKind;

impl TrialRun<'_> {
    /// Executes what an import wants executed before it measures. What exists already is fine, as
    /// it is for the tools that the statements come from.
    pub(super) fn execute(&mut self, running: &mut Running, statements: &[String]) -> Result<()> {
        if statements.is_empty() {
            return Ok(());
        }
        let mut session = running.cluster.session()?;
        for statement in statements {
            session
                .execute_schema_if_absent(statement)
                .with_context(|| format!("execute {statement}"))?;
        }
        Ok(())
    }

    /// The operations of an import's step: those of its warm-up, then those that count.
    pub(super) fn measure_step(
        &mut self,
        step: &Step,
        running: &mut Running,
        state: &mut State,
    ) -> Result<Option<TrialEnd>> {
        let mut offer = Offer {
            stage: step.stage,
            retries_min: 0,
            schedule: offer::schedule(self.trial.point, false),
            limit: Limit::Operations(step.warmup_operations),
            window: Window::Whole,
            first_operation: step.first_operation,
            verify: match self.settings.verify.every_nth {
                Some(nth) => VerifyReads::EveryNth(nth),
                None => VerifyReads::Off,
            },
            keeps_ledger: false,
            written: None,
        };
        let mut course = StepCourse::new(step.limit, self.program.kinds().len());
        if step.warmup_operations > 0 {
            self.begin_phase(PhaseKind::Warmup, state)?;
            let offered = self.offer(running, state, &offer, &mut |interval| {
                course.warm(interval)
            })?;
            if let Some(end) = self.cut(&offered, state) {
                return Ok(Some(end));
            }
        }
        if step.truncates_always || self.is_first {
            self.execute(running, &step.truncate)?;
        }
        self.begin_phase(PhaseKind::Measure, state)?;
        offer.limit = course.limit();
        let offered = self.offer(running, state, &offer, &mut |interval| course.see(interval))?;
        state.workers = offered.summary.workers;
        state.connections = offered.summary.connections;
        state.checks.add(&course.tally.checks);
        state.warmup = WarmupRecord {
            seconds: course.warmup_s,
            steady: "fixed".to_owned(),
        };
        state.tally = course.tally;
        self.note_errors(&offered, running, state);
        Ok(self.cut(&offered, state))
    }
}
