//! Prepares the data with which a trial begins. The data is created, loaded and settled, then kept
//! as a snapshot and restored.
//!
//! Invariants: if a trial reports that its data was restored, every node's SSTables were compared
//! with those of the snapshot. Every trial of a snapshot begins with a restore, even the first one.
//! So no trial depends on the caches and files that the load phase left.

mod amount;

use self::amount::{fullness, not_loaded, size};
use super::{State, TrialEnd, TrialRun};
use crate::event::Event;
use crate::event_loop::Decision;
use crate::load_run::{LOAD_RETRIES, Offer, closed};
use crate::nodes;
use crate::preflight;
use crate::running_target::Running;
use analysis::procedure::REST_S;
use analysis::rules;
use anyhow::{Context, Result, bail, ensure};
use cluster::{DataUse, RestoreHow, SettleOutcome};
use load::{EarlierWrites, LEDGER_OPERATIONS_MAX, LedgerMode, Limit};
use measure::clock::{self, Deadline};
use std::sync::atomic::Ordering;
use std::time::Duration;
use store::record::{DataRecord, JournalEvent, LoadRecord, SettleEnd};
use study::data_state::Preparation;
use study::plan::PhaseKind;
use study::settings::{Keyspace, Load, PageCache, Reset, RestoreMethod, Settle};
use study::{compile_workload, target_differences, units};
use target_spec::{Capability, Target};
use workload::{Program, Stage};

/// Number of operations in flight during the load phase. This number is enough to load a small
/// cluster quickly, and low enough that operations do not time out.
const LOAD_IN_FLIGHT: u32 = 64;
/// Tolerance of the size to load, as a share. Compactions and the commit log change the size by
/// about this share.
const SIZE_TOLERANCE: f64 = 0.02;
/// Maximum number of rounds to load up to a size. After the first round, the size of a row is
/// known, so three rounds usually suffice. If more rounds are necessary, the nodes free the space
/// again while cassay loads.
const SIZE_ROUNDS_MAX: u32 = 12;
/// Share of the estimated number of rows that the first round loads. It is less than 1 because rows
/// may be larger on disk than estimated.
const SIZE_FIRST_SHARE: f64 = 0.25;
/// Time between two checks for Ctrl-C during a rest.
const REST_LOOK: Duration = Duration::from_millis(100);

/// Returns the statements that set the study's options for the keyspace and the tables of the
/// workload.
pub fn alters(keyspace: &Keyspace, program: &Program) -> Vec<String> {
    let name = program.keyspace();
    let own = keyspace.own_options().into_iter();
    let mut alters: Vec<String> =
        own.map(|options| format!("ALTER KEYSPACE \"{name}\" WITH {options}")).collect();
    if let Some(options) = keyspace.table_options() {
        let tables = program.tables().into_iter();
        let alter = |table| format!("ALTER TABLE \"{name}\".\"{table}\" WITH {options}");
        alters.extend(tables.map(alter));
    }
    alters
}

impl TrialRun<'_> {
    /// Brings the nodes to their configuration, and the data to the initial state of the trial.
    ///
    /// 1. If the data does not exist or must be replaced, applies the configuration for loading,
    ///    creates the tables, and checks that both are as requested. Then loads the rows, waits
    ///    until the nodes have settled, and takes a snapshot if the study requests it.
    /// 2. Applies the configuration for the measurement.
    /// 3. Restores the snapshot, or waits until the nodes have settled after restarts and earlier
    ///    trials. If the load of the last trial was too high, rests first.
    pub(super) fn prepare(
        &mut self,
        running: &mut Running,
        state: &mut State,
    ) -> Result<Option<TrialEnd>> {
        let settings = self.settings;
        let preparation = running.standing.preparation(settings, &self.program);
        if preparation.fills() {
            // Only a running target shows whether it can report that it has settled. The check
            // comes before the load phase, because without this report the loaded data would be
            // useless.
            self.can_settle(running)?;
            self.configure(running, state, settings.load_target())?;
            self.schema(running, state, preparation)?;
            self.prove_load_phase(running)?;
            self.check_schema(running, state)?;
            self.begin_count(running, state)?;
            if let Some(end) = self.fill(running, state)? {
                return Ok(Some(end));
            }
            self.end_count(running, state)?;
            if settings.data.reset == Reset::Snapshot {
                self.keep(running, state)?;
            }
        } else {
            self.know_rows(running)?;
            self.check_schema(running, state)?;
        }
        let restarts = running.settings != settings.target;
        self.configure(running, state, &settings.target)?;
        if settings.data.reset == Reset::Snapshot {
            self.restore(running, state)?;
        } else {
            self.set_options(running, &settings.keyspace)?;
            if restarts || state.finding.load.is_none() {
                self.settle(running, state)?;
            }
            self.page_cache(running)?;
        }
        self.rest(running, state)
    }

    /// Waits after a trial whose load was too high, until the operations that the trial abandoned
    /// have timed out on the nodes. Does not wait for a null target, which has no work left after
    /// its last response.
    fn rest(&mut self, running: &Running, state: &mut State) -> Result<Option<TrialEnd>> {
        if !self.after_too_much || running.is_null() {
            return Ok(None);
        }
        self.begin_phase(PhaseKind::Settle, state)?;
        let text = format!(
            "cassay waits for {REST_S} s, because the load of the previous trial was too high"
        );
        (self.events)(Event::Said(text));
        let until = Deadline::after(Duration::from_secs(REST_S));
        while !until.passed() {
            if self.interrupt.load(Ordering::Relaxed) {
                return Ok(Some(TrialEnd::Interrupted));
            }
            clock::sleep(REST_LOOK);
        }
        state.gather.write(&mut state.writer)?;
        Ok(None)
    }

    /// Checks that the configuration of the load phase is in effect, and records the proof. Later,
    /// every trial proves that its measured configuration is in effect.
    fn prove_load_phase(&mut self, running: &Running) -> Result<()> {
        let keyspace = self.settings.load_keyspace();
        if self.settings.load_target() == &self.settings.target
            && keyspace == &self.settings.keyspace
        {
            return Ok(());
        }
        let proofs = nodes::proofs(running, &self.program, Some(keyspace))?;
        let failed = nodes::not_in_effect(&proofs);
        let proved = JournalEvent::ConfigurationProved {
            phase: "load".to_owned(),
            proofs,
        };
        self.writer.journal(Some(self.trial.index), proved)?;
        ensure!(
            failed.is_empty(),
            "the configuration of `phases.load` is not in effect: {}",
            failed.join("; ")
        );
        Ok(())
    }

    /// Gives the nodes the configuration `target`. Restarts the nodes if this configuration differs
    /// from the current one.
    pub(super) fn configure(
        &mut self,
        running: &mut Running,
        state: &mut State,
        target: &Target,
    ) -> Result<()> {
        if running.settings == *target {
            return Ok(());
        }
        self.begin_phase(PhaseKind::Restart, state)?;
        let restarts = target_differences::restarts(self.settings);
        let what = target_differences::difference_words(&running.settings, target, restarts);
        let restarting = JournalEvent::NodesRestarting { what };
        self.writer.journal(Some(self.trial.index), restarting)?;
        state.gather.stop(&mut state.writer)?;
        let events = &mut *self.events;
        running.reconfigure(target, restarts, &mut |text| {
            events(Event::Said(text.to_owned()))
        })?;
        state.gather.start(running, self.settings, &self.looked(), &self.own_pids())?;
        Ok(())
    }

    /// Compiles the program for the number of existing rows, if this number was not known before
    /// the load phase.
    fn know_rows(&mut self, running: &Running) -> Result<()> {
        match running.standing.rows(self.settings, &self.program) {
            Some(rows)
                if rows != self.program.rows() && !self.settings.data.load.rows_are_known() =>
            {
                self.compile_for(rows)
            }
            _ => Ok(()),
        }
    }

    fn compile_for(&mut self, rows: u64) -> Result<()> {
        let work = compile_workload::compile_with_rows(self.settings, rows, self.seed, self.inputs);
        self.program = work.map_err(anyhow::Error::msg)?.program;
        Ok(())
    }

    fn schema(
        &mut self,
        running: &mut Running,
        state: &mut State,
        preparation: Preparation,
    ) -> Result<()> {
        self.begin_phase(PhaseKind::Schema, state)?;
        let schema = self.program.schema();
        let mut session = running.cluster.session()?;
        if self.settings.takes_as_it_is() {
            preflight::look_for_rows(&mut session, &self.program)?;
        } else if preparation == Preparation::Truncate {
            for truncate in &schema.truncate {
                session.query(truncate).context("empty a table")?;
            }
        } else {
            if preparation == Preparation::Replace {
                let drop = &schema.drop_keyspace;
                session.execute_schema(drop).context("drop the keyspace")?;
            }
            if !schema.create_keyspace.is_empty() {
                session.execute_schema(&schema.create_keyspace).context("create the keyspace")?;
            }
            for table in &schema.create_tables {
                session.execute_schema(table).context("create a table")?;
            }
        }
        drop(session);
        let keyspace = self.settings.load_keyspace();
        self.set_options(running, keyspace)
    }

    fn set_options(&self, running: &Running, keyspace: &Keyspace) -> Result<()> {
        let alters = alters(keyspace, &self.program);
        if alters.is_empty() {
            return Ok(());
        }
        let mut session = running.cluster.session()?;
        for alter in alters {
            session
                .execute_schema(&alter)
                .with_context(|| format!("set the options of the study: {alter}"))?;
        }
        Ok(())
    }

    /// Loads the rows that the study requests, and waits until the nodes have settled.
    fn fill(&mut self, running: &mut Running, state: &mut State) -> Result<Option<TrialEnd>> {
        let end = match self.settings.data.load {
            Load::None => None,
            Load::Operations(rows) => {
                self.begin_phase(PhaseKind::Load, state)?;
                self.load(running, state, 0, rows)?
            }
            Load::BytesPerNode(bytes) => self.fill_to(running, state, &|data| size(data, bytes))?,
            Load::Fraction(share) => self.fill_to(running, state, &|data| fullness(data, share))?,
        };
        if end.is_some() {
            return Ok(end);
        }
        let rows = self.program.rows();
        running.standing.prepared(self.settings, &self.program, rows);
        if state.finding.load.is_some() && self.settings.data.load.rows_are_known() {
            self.settle(running, state)?;
        }
        Ok(None)
    }

    /// Loads in rounds until `reached` returns 1, within [`SIZE_TOLERANCE`]. Waits after each round
    /// until the nodes have settled, and computes the number of missing rows from the measured size
    /// of a row.
    fn fill_to(
        &mut self,
        running: &mut Running,
        state: &mut State,
        reached: &dyn Fn(&[DataUse]) -> Result<f64>,
    ) -> Result<Option<TrialEnd>> {
        let keyspace = self.program.keyspace().to_owned();
        let at_first = reached(&running.cluster.data_use(&keyspace)?)?;
        ensure!(
            at_first < 1.0,
            "the nodes already contain the required amount of data before the load begins: use \
             another keyspace, or require more data"
        );
        let (mut rows, mut share): (u64, f64) = (0, at_first);
        let mut next = (self.settings.data.rows as f64 * SIZE_FIRST_SHARE).ceil() as u64;
        for _ in 0..SIZE_ROUNDS_MAX {
            self.begin_phase(PhaseKind::Load, state)?;
            if let Some(end) = self.load(running, state, rows, next.max(1))? {
                return Ok(Some(end));
            }
            rows += next.max(1);
            self.settle(running, state)?;
            share = reached(&running.cluster.data_use(&keyspace)?)?;
            let text = format!(
                "{} rows loaded: {:.1} % of the required amount of data",
                units::format_count(rows),
                share * 100.0
            );
            (self.events)(Event::Said(text));
            if share >= 1.0 - SIZE_TOLERANCE {
                running.written = Some(EarlierWrites::by_loads(rows));
                self.compile_for(rows)?;
                return Ok(None);
            }
            let per_row: f64 = ((share - at_first) / rows as f64).max(f64::MIN_POSITIVE);
            // A round adds at most three times the current number of rows. The first round is
            // small, so its size on disk may be mostly overhead.
            next = (((1.0 - share) / per_row).ceil() as u64).min(rows.saturating_mul(3));
        }
        bail!(
            "after {SIZE_ROUNDS_MAX} rounds and {rows} rows, the nodes contain only {:.0} % of the \
             required amount of data\nhint: check whether another program removes data",
            share * 100.0
        )
    }

    fn load(
        &mut self,
        running: &mut Running,
        state: &mut State,
        first: u64,
        count: u64,
    ) -> Result<Option<TrialEnd>> {
        let schedule = closed(LOAD_IN_FLIGHT, count);
        let offer = Offer {
            retries_min: LOAD_RETRIES,
            first_operation: first,
            keeps: if first == 0 && self.keeps_ledger(count) {
                LedgerMode::States
            } else {
                LedgerMode::Nothing
            },
            ..Offer::measured(Stage::Load, schedule, Limit::Operations(count))
        };
        let marks = running.cluster.log_marks();
        let mut offered = self.offer(running, state, &offer, &mut [], &mut |_| {
            Decision::in_phase("load")
        })?;
        if let Some(end) = self.cut(offered.cut.take(), state) {
            return Ok(Some(end));
        }
        if let Some(errors) = offered.errors_words() {
            bail!(not_loaded(count, &errors, &running.cluster.causes(&marks)));
        }
        let retries = offered.counts.retries();
        if retries > 0 {
            let text =
                format!("cassay retried {retries} writes of the load, and all of them succeeded");
            (self.events)(Event::Said(text));
        }
        running.written = offered.summary.ledger.clone().map(EarlierWrites::by_load);
        let load = state.finding.load.get_or_insert_with(|| LoadRecord {
            settle: SettleEnd::Skipped,
            ..LoadRecord::default()
        });
        load.operations += offered.summary.operations_ended;
        load.retries += retries;
        load.seconds += offered.counts.run_s();
        Ok(None)
    }

    /// Returns true if the client records acknowledged writes: the trial reads rows back at the
    /// end, and the memory suffices.
    fn keeps_ledger(&self, operations: u64) -> bool {
        self.settings.verify.sample.is_asked() && operations <= LEDGER_OPERATIONS_MAX
    }

    /// Returns true if the target reports when its compactions are done. Fails if the study
    /// requires this report and the target does not support it.
    fn can_settle(&self, running: &Running) -> Result<bool> {
        let can = running.cluster.can(Capability::Settle);
        if self.settings.data.settle == Settle::Compactions && !can {
            bail!(
                "`data.settle: compactions` is impossible, because the target cannot report the \
                 end of compactions: use `auto` or `none`"
            );
        }
        Ok(can)
    }

    /// Waits until the server has no pending work from the load phase or the previous trial. Does
    /// not wait if the study does not request it, or if the target cannot report pending work.
    pub(super) fn settle(&mut self, running: &mut Running, state: &mut State) -> Result<()> {
        let can = self.can_settle(running)?;
        match self.settings.data.settle {
            Settle::None => {
                state.evidence.settle = Some(rules::Settle::NotAsked);
                return Ok(());
            }
            Settle::Auto if !can => {
                state.evidence.settle = Some(rules::Settle::Unknown);
                return Ok(());
            }
            _ => {}
        }
        self.begin_phase(PhaseKind::Settle, state)?;
        let events = &mut *self.events;
        let settled = running.cluster.settle(
            self.program.keyspace(),
            &self.program.tables(),
            Duration::from_nanos(self.settings.data.settle_limit_ns),
            &mut |text| events(Event::Said(text.to_owned())),
        )?;
        let (word, outcome) = match settled.outcome {
            SettleOutcome::Settled => (SettleEnd::Settled, rules::Settle::Settled),
            SettleOutcome::Stalled => (SettleEnd::Stalled, rules::Settle::Stalled),
            SettleOutcome::Timeout => (SettleEnd::Timeout, rules::Settle::Timeout),
            SettleOutcome::Unknown => (SettleEnd::Unknown, rules::Settle::Unknown),
        };
        state.evidence.settle = Some(outcome);
        if let Some(load) = &mut state.finding.load {
            load.settle = word;
            load.settle_seconds += settled.seconds;
        }
        state.gather.write(&mut state.writer)
    }

    /// Keeps the loaded data as a snapshot.
    fn keep(&mut self, running: &mut Running, state: &mut State) -> Result<()> {
        self.begin_phase(PhaseKind::Snapshot, state)?;
        self.set_options(running, &self.settings.keyspace)?;
        // The stamp distinguishes this snapshot from the snapshots of other runs on an attached
        // cluster.
        let name = format!("{}-{}", self.writer.stamp(), running.snapshots.len() + 1);
        let events = &mut *self.events;
        running.remove_strays(self.writer.stamp())?;
        running.cluster.snapshot_create(
            &name,
            self.program.keyspace(),
            &self.program.tables(),
            &mut |text| events(Event::Said(text.to_owned())),
        )?;
        running.snapshots.push(name.clone());
        running.standing.kept(self.settings, &self.program, name);
        running.settled = state.evidence.settle;
        Ok(())
    }

    fn restore(&mut self, running: &mut Running, state: &mut State) -> Result<()> {
        let kept = running.standing.snapshot(self.settings);
        let name = kept
            .context("find the snapshot of this data, which cassay created before the first trial")?
            .name
            .clone();
        let how = match self.settings.data.restore {
            RestoreMethod::Online => RestoreHow::Online,
            RestoreMethod::Offline => RestoreHow::Offline,
        };
        self.begin_phase(PhaseKind::Restore, state)?;
        if how == RestoreHow::Offline {
            state.gather.stop(&mut state.writer)?;
        }
        let events = &mut *self.events;
        let say = &mut |text: &str| events(Event::Said(text.to_owned()));
        let restored = running.restore(&name, how, say)?;
        if how == RestoreHow::Offline {
            state.gather.start(running, self.settings, &self.looked(), &self.own_pids())?;
        }
        let rows = self.program.rows();
        running.standing.prepared(self.settings, &self.program, rows);
        running.written = match running.written.take() {
            Some(written) => Some(written.without_main()),
            None => self.loads_are_whole().then(|| EarlierWrites::by_loads(rows)),
        };
        state.evidence.settle = running.settled;
        let page_cache = self.page_cache(running)?;
        state.finding.data = Some(DataRecord {
            snapshot: name,
            how: restored.how.name().to_owned(),
            seconds: restored.seconds,
            sstables: restored.sstables,
            bytes: restored.bytes,
            fingerprints: restored.fingerprints,
            page_cache: page_cache.to_owned(),
        });
        state.gather.write(&mut state.writer)
    }

    /// Returns true if the trial reads rows back, and every row of the snapshot was acknowledged.
    /// Loaded rows were acknowledged, because a trial ends if its load phase fails in part.
    fn loads_are_whole(&self) -> bool {
        self.settings.verify.sample.is_asked() && self.settings.data.load != Load::None
    }

    /// Drops the page cache, if the study requests it. Returns `kept` or `dropped`.
    fn page_cache(&self, running: &Running) -> Result<&'static str> {
        if self.settings.data.page_cache == PageCache::Keep {
            return Ok("kept");
        }
        let dropped = running.cluster.drop_page_cache()?;
        ensure!(
            dropped,
            "`data.page_cache: drop` cannot reach the page cache of this target's nodes: they map \
             their files, or cassay did not start them\nhint: set \
             `target.local.yaml.disk_access_mode: standard`, or use `keep`"
        );
        Ok("dropped")
    }
}
