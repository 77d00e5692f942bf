//! Runs a trial that is a step of an import: its statements, its warm-up and its operations.

use super::{State, TrialEnd, TrialRun};
use crate::event_loop::Decision;
use crate::load_run::{self, Offer};
use crate::phase_schedule::RecordedArrivals;
use crate::running_target::Running;
use anyhow::{Context, Result};
use imports::ImportStep;
use load::Limit;
use measure::SummedInterval;
use store::record::{WarmupEnd, WarmupRecord};
use study::plan::PhaseKind;

impl TrialRun<'_> {
    /// Executes the statements that an import needs before it measures. Ignores errors about
    /// existing objects, as the imported tools do.
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

    /// Runs the operations of an import's step: first those of the warm-up, then those that are
    /// measured.
    pub(super) fn measure_step(
        &mut self,
        step: &ImportStep,
        running: &mut Running,
        state: &mut State,
    ) -> Result<Option<TrialEnd>> {
        let schedule = load_run::schedule(self.trial.point, false);
        let warmup = Limit::Operations(step.warmup_operations);
        let mut offer = Offer {
            first_operation: step.first_operation,
            verify: self.verified(),
            ..Offer::measured(step.stage, schedule, warmup)
        };
        let mut warmup_s = 0.0;
        if step.warmup_operations > 0 {
            self.begin_phase(PhaseKind::Warmup, state)?;
            let warm = &mut |_: &SummedInterval| Decision::in_phase("warmup");
            let offered = self.offer(running, state, &offer, &mut [], warm)?;
            warmup_s = offered.counts.run_s();
            if let Some(end) = self.cut(offered.cut, state) {
                return Ok(Some(end));
            }
        }
        if step.truncates_always || self.is_first {
            self.execute(running, &step.truncate)?;
        }
        self.begin_phase(PhaseKind::Measure, state)?;
        let mut course = RecordedArrivals::new(step.limit);
        offer.may_rise = false;
        offer.faults = &self.settings.faults;
        offer.limit = course.limit();
        let decide = &mut |summed: &SummedInterval| course.see(summed);
        let offered = self.offer(running, state, &offer, &mut [], decide)?;
        state.finding.warmup = WarmupRecord {
            seconds: warmup_s,
            steady: WarmupEnd::Fixed,
        };
        self.note_errors(&offered, running, state);
        Ok(self.measured(offered, state))
    }
}
