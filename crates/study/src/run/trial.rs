//! One trial on a running target: prepare the data, offer load, verify, judge.

mod step;

use super::course::Course;
use super::event::Event;
use super::finding::{self, Facts};
use super::offer::{self, Cut, Decision, Offer, Offered, Watch};
use super::running::{Counted, Running};
use super::tally::{Answered, Tally};
use crate::plan::{PhaseKind, Preparation, Trial};
use crate::settings::{Settings, Settle};
use analysis::rules::{self, ServerCounts};
use analysis::steady::SteadyState;
use anyhow::{Context, Result, bail};
use load::{Flow, LEDGER_OPERATIONS_MAX, Limit, Schedule, VerifyReads, Written};
use measure::Interval;
use measure::interval::CheckCounts;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use store::record::{LoadRecord, TrialFinding, TrialRecord, WarmupRecord};
use store::{RunWriter, TrialWriter};
use target::{Ability, SettleOutcome};
use workload::{Program, Stage, Step};

/// In flight while rows are loaded: enough for a small cluster, few enough not to time out.
const LOAD_IN_FLIGHT: u32 = 64;
/// In flight while rows are read back.
const VERIFY_IN_FLIGHT: u32 = 32;
/// What one trial needs.
pub struct Stagehand<'a> {
    /// The plan's trial.
    pub trial: &'a Trial,
    /// Its record, as it stands in `trial.json`.
    pub record: TrialRecord,
    /// Its settings.
    pub settings: &'a Settings,
    /// Its program.
    pub program: &'a Arc<Program>,
    /// The step of an import that it runs; none for other workloads.
    pub step: Option<&'a Step>,
    /// Whether it is the first of its variant.
    pub is_first: bool,
    /// What the instrument can do, op/s.
    pub ceiling_ops_per_s: Option<f64>,
    /// The run's files.
    pub writer: &'a mut RunWriter,
    /// Whoever watches.
    pub events: &'a mut dyn FnMut(Event),
    /// Set by Ctrl-C.
    pub interrupt: &'a AtomicBool,
}

/// What came of a trial.
pub enum Came {
    /// It ended as planned.
    Finished(Box<TrialFinding>),
    /// Ctrl-C: it counts as not done.
    Interrupted,
    /// A node died: the finding is invalid, and the run cannot go on with this target.
    TargetLost(Box<TrialFinding>),
}

/// What a trial has gathered so far.
struct State {
    writer: TrialWriter,
    answered: Answered,
    load: Option<LoadRecord>,
    settle: Option<rules::Settle>,
    tally: Tally,
    warmup: WarmupRecord,
    steady: Option<SteadyState>,
    checks: CheckCounts,
    workers: usize,
    connections: usize,
    aborted: Option<String>,
}

impl Stagehand<'_> {
    /// Runs the trial.
    ///
    /// 1. Create or empty the tables: what the target's standing asks for.
    /// 2. Read the server's counts.
    /// 3. Load, if the standing asks for it; settle.
    /// 4. Warm up and measure, in one run of the engine, without a gap in between.
    /// 5. Read rows back and compare.
    /// 6. Read the server's counts again, judge.
    pub fn run(mut self, running: &mut Running) -> Result<Came> {
        let kinds: Vec<String> = self
            .program
            .kinds()
            .iter()
            .map(|kind| kind.name.to_owned())
            .collect();
        let mut state = State {
            writer: self.writer.begin_trial(&self.record, &kinds)?,
            answered: Answered::default(),
            load: None,
            settle: None,
            tally: Tally::new(kinds.len()),
            warmup: WarmupRecord::default(),
            steady: None,
            checks: CheckCounts::default(),
            workers: 0,
            connections: 0,
            aborted: None,
        };
        let before;
        if let Some(step) = self.step {
            if !step.before.is_empty() {
                self.begin_phase(PhaseKind::Schema)?;
            }
            self.execute(running, &step.before)?;
            before = running.counts(self.program.keyspace())?;
        } else {
            let preparation = running.standing.preparation(self.settings, self.program);
            self.schema(running, preparation)?;
            before = running.counts(self.program.keyspace())?;
            if let Some(came) = self.fill(running, preparation, &mut state)? {
                return Ok(came);
            }
        }
        self.settle(running, &mut state)?;
        let came = match self.step {
            Some(step) => self.measure_step(step, running, &mut state)?,
            None => self.measure(running, &mut state)?,
        };
        if let Some(came) = came {
            return Ok(came);
        }
        if let Some(came) = self.verify(running, &mut state)? {
            return Ok(came);
        }
        let after = running.counts(self.program.keyspace())?;
        let server = match self.program.uncountable() {
            Some(why) => Some(Err(why)),
            None => between(before, after, &state.answered).map(Ok),
        };
        let finding = self.judge(Some(running), &mut state, server);
        Ok(Came::Finished(Box::new(finding)))
    }

    fn schema(&mut self, running: &mut Running, preparation: Preparation) -> Result<()> {
        if preparation == Preparation::Nothing {
            return Ok(());
        }
        self.begin_phase(PhaseKind::Schema)?;
        let schema = self.program.schema();
        let mut session = running.cluster.session()?;
        if preparation == Preparation::Truncate {
            for truncate in &schema.truncate {
                session.query(truncate).context("empty a table")?;
            }
            return Ok(());
        }
        if preparation == Preparation::Replace {
            session
                .execute_schema(&schema.drop_keyspace)
                .context("drop the keyspace")?;
        }
        session
            .execute_schema(&schema.create_keyspace)
            .context("create the keyspace")?;
        for table in &schema.create_tables {
            session.execute_schema(table).context("create a table")?;
        }
        Ok(())
    }

    /// Loads, if the standing asks for it.
    fn fill(
        &mut self,
        running: &mut Running,
        preparation: Preparation,
        state: &mut State,
    ) -> Result<Option<Came>> {
        if preparation == Preparation::Nothing {
            return Ok(None);
        }
        let rows = self.settings.data.load_rows;
        if rows > 0 {
            self.begin_phase(PhaseKind::Load)?;
            let offer = Offer {
                stage: Stage::Load,
                schedule: closed(LOAD_IN_FLIGHT, rows),
                limit: Limit::Operations(rows),
                first_operation: 0,
                verify: VerifyReads::Off,
                keeps_ledger: self.keeps_ledger(rows),
                written: None,
            };
            let offered = self.offer(running, state, &offer, &mut |_| Decision {
                phase: "load",
                flow: Flow::Continue,
                next: None,
            })?;
            if let Some(came) = self.cut(&offered, state) {
                return Ok(Some(came));
            }
            if let Some(errors) = offered.errors_words() {
                bail!(
                    "of {rows} rows not all could be loaded: {errors}; a lower load or a longer \
                     `client.timeout` may help"
                );
            }
            let ledger = offered.summary.ledger.clone();
            running.written = ledger.map(Written::by_load);
            state.load = Some(LoadRecord {
                operations: offered.summary.operations_ended,
                seconds: offered.seconds,
                settle: "skipped".to_owned(),
                ..LoadRecord::default()
            });
        }
        running.standing.prepared(self.settings, self.program);
        Ok(None)
    }

    /// Whether acknowledged writes are written down: where rows are read back at the end, and as
    /// far as memory allows.
    fn keeps_ledger(&self, operations: u64) -> bool {
        self.settings.verify.sample > 0 && operations <= LEDGER_OPERATIONS_MAX
    }

    /// Waits until neither the load phase nor the trial before has work pending on the server.
    fn settle(&mut self, running: &mut Running, state: &mut State) -> Result<()> {
        let can = running.cluster.can(Ability::Settle);
        match self.settings.data.settle {
            Settle::None => {
                state.settle = Some(rules::Settle::NotAsked);
                return Ok(());
            }
            Settle::Auto if !can => {
                state.settle = Some(rules::Settle::Unknown);
                return Ok(());
            }
            Settle::Compactions if !can => bail!(
                "`data.settle: compactions` was asked for, but the target cannot tell when they \
                 are done; use `auto` or `none`"
            ),
            _ => {}
        }
        self.begin_phase(PhaseKind::Settle)?;
        let events = &mut *self.events;
        let settled = running.cluster.settle(
            self.program.keyspace(),
            &self.program.tables(),
            Duration::from_nanos(self.settings.data.settle_limit_ns),
            &mut |text| events(Event::Said(text.to_owned())),
        )?;
        let (word, outcome) = match settled.outcome {
            SettleOutcome::Settled => ("settled", rules::Settle::Settled),
            SettleOutcome::Stalled => ("stalled", rules::Settle::Stalled),
            SettleOutcome::Timeout => ("timeout", rules::Settle::Timeout),
            SettleOutcome::Unknown => ("unknown", rules::Settle::Unknown),
        };
        state.settle = Some(outcome);
        if let Some(load) = &mut state.load {
            load.settle = word.to_owned();
            load.settle_seconds = settled.seconds;
        }
        Ok(())
    }

    /// Warm-up and measured window, in one run of the engine: nothing is reconnected in between.
    fn measure(&mut self, running: &mut Running, state: &mut State) -> Result<Option<Came>> {
        let mut course = Course::new(self.settings, self.program.kinds().len());
        let offer = Offer {
            stage: Stage::Main,
            schedule: offer::schedule(self.trial.point, self.settings.procedure.poisson),
            limit: match course.warmup_count {
                Some(count) => Limit::Duration(Duration::from_secs(count + course.measure_count)),
                None => Limit::Unlimited,
            },
            first_operation: self.trial.first_operation,
            verify: match self.settings.verify.every_nth {
                Some(nth) => VerifyReads::EveryNth(nth),
                None => VerifyReads::Off,
            },
            keeps_ledger: running.written.is_some(),
            written: None,
        };
        self.begin_phase(if course.measuring {
            PhaseKind::Measure
        } else {
            PhaseKind::Warmup
        })?;
        let offered = self.offer(running, state, &offer, &mut |interval| course.see(interval))?;
        let first = self.trial.first_operation;
        let range = first..offered.summary.next_operation;
        // Writes that nobody has written down may be on any row: then nothing is known any more.
        running.written = match (running.written.take(), &offered.summary.ledger) {
            (Some(mut written), Some(ledger)) => {
                written.add_main(self.program, ledger, range);
                Some(written)
            }
            _ => None,
        };
        state.steady = course.ended.filter(|_| course.warmup_count.is_none());
        state.workers = offered.summary.workers;
        state.connections = offered.summary.connections;
        state.checks.add(&course.tally.checks);
        state.warmup = course.warmup_record();
        state.tally = course.tally;
        if let Some(errors) = offered.errors_words() {
            (self.events)(Event::Said(errors));
        }
        Ok(self.cut(&offered, state))
    }

    /// Reads rows back and compares them with what the seed says.
    fn verify(&mut self, running: &mut Running, state: &mut State) -> Result<Option<Came>> {
        let rows = self.settings.verify.sample;
        if rows == 0 || self.step.is_some() || state.aborted.is_some() {
            return Ok(None);
        }
        self.begin_phase(PhaseKind::Verify)?;
        let offer = Offer {
            stage: Stage::Verify,
            schedule: closed(VERIFY_IN_FLIGHT, rows),
            limit: Limit::Operations(rows),
            first_operation: 0,
            verify: VerifyReads::EveryNth(1),
            keeps_ledger: false,
            written: running.written.take().map(Arc::new),
        };
        let mut checks = CheckCounts::default();
        let offered = self.offer(running, state, &offer, &mut |interval| {
            for kind in interval.whole_kinds() {
                checks.add(&kind.checks);
            }
            Decision {
                phase: "verify",
                flow: Flow::Continue,
                next: None,
            }
        })?;
        running.written = offer.written.and_then(Arc::into_inner);
        state.checks.add(&checks);
        if let Some(errors) = offered.errors_words() {
            (self.events)(Event::Said(format!(
                "not every row could be read back: {errors}"
            )));
        }
        Ok(self.cut(&offered, state))
    }

    fn begin_phase(&mut self, kind: PhaseKind) -> Result<()> {
        offer::begin_phase(kind, self.trial, self.writer, self.events)
    }

    fn offer(
        &mut self,
        running: &mut Running,
        state: &mut State,
        offer: &Offer,
        decide: &mut dyn FnMut(&Interval) -> Decision,
    ) -> Result<Offered> {
        let access = running.access(self.settings.client.lz4);
        let config = offer::config(self.settings, self.program, running.nodes(), access, offer);
        let mut watch = Watch {
            trial: self.trial,
            run: self.writer,
            files: &mut state.writer,
            answered: &mut state.answered,
            events: self.events,
            interrupt: self.interrupt,
        };
        offer::offer(&config, running, &mut watch, decide)
    }

    /// What a cut phase makes of the trial; none if the phase ended as planned.
    fn cut(&mut self, offered: &Offered, state: &mut State) -> Option<Came> {
        match &offered.cut {
            None => None,
            Some(Cut::Interrupted) => Some(Came::Interrupted),
            Some(Cut::NodeDied(how)) => {
                state.aborted = Some(how.clone());
                let finding = self.judge(None, state, None);
                Some(Came::TargetLost(Box::new(finding)))
            }
        }
    }

    fn judge(
        &self,
        running: Option<&Running>,
        state: &mut State,
        server: Option<Result<ServerCounts, String>>,
    ) -> TrialFinding {
        let facts = Facts {
            trial: self.trial,
            record: &self.record,
            settings: self.settings,
            program: self.program,
            ceiling_ops_per_s: self.ceiling_ops_per_s,
            tally: &state.tally,
            checks: state.checks,
            warmup: state.warmup.clone(),
            steady: state.steady,
            settle: state.settle,
            load: state.load.clone(),
            aborted: state.aborted.clone(),
            workers: state.workers,
            connections: state.connections,
            server,
            is_null: running.is_some_and(Running::is_null),
            shares_cores: running.is_some_and(Running::shares_cores),
            settings_changed: running.and_then(|r| r.settings_changed().ok()),
            memory_bytes: running.and_then(Running::memory_bytes),
            settings_recorded: running.is_some_and(|r| r.is_null() || !r.node_settings.is_empty()),
        };
        finding::trial(&facts)
    }
}

/// A closed loop of at most `in_flight`, and never more than there is to do.
fn closed(in_flight: u32, operations: u64) -> Schedule {
    let operations = u32::try_from(operations).unwrap_or(u32::MAX);
    Schedule::Closed {
        in_flight: in_flight.min(operations).max(1),
    }
}

/// What the server counted between two readings, beside the client's.
fn between(
    before: Option<Counted>,
    after: Option<Counted>,
    answered: &Answered,
) -> Option<ServerCounts> {
    let (before, after) = (before?, after?);
    Some(ServerCounts {
        source: after.source,
        server: [
            after.reads.saturating_sub(before.reads),
            after.writes.saturating_sub(before.writes),
        ],
        client: [answered.reads, answered.writes],
        uncertain: answered.uncertain,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_between_two_readings_are_differences() {
        let counted = |reads, writes| {
            Some(Counted {
                source: "x".into(),
                reads,
                writes,
            })
        };
        let answered = Answered {
            reads: 5,
            writes: 7,
            uncertain: 0,
        };
        let counts = between(counted(10, 20), counted(15, 27), &answered).unwrap();
        assert_eq!((counts.server, counts.client), ([5, 7], [5, 7]));
        assert!(between(None, counted(1, 1), &answered).is_none());
    }
}
