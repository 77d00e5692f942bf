//! Reads rows back after a trial, and derives which writes the configuration promises to keep.

use super::faults::FaultTarget;
use super::{State, TrialEnd, TrialRun};
use crate::event::Event;
use crate::event_loop::Decision;
use crate::fleet_use::FleetUse;
use crate::load_run::{LOAD_RETRIES, Offer, PhaseResult, closed};
use crate::running_target::Running;
use analysis::durability::{
    self, CommitLog, Configuration, ConsistencyLevel, DataLoss, FailureEvent, Promise, Sync,
};
use analysis::rules::{LostWritesByAckTime, ReadBack};
use anyhow::{Context, Result};
use cql::Consistency;
use load::{EarlierWrites, LedgerMode, Limit, Lost, MISSED_ROWS_MAX, VerifyReads, WriteMismatch};
use measure::Outcome;
use measure::interval::CheckCounts;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use store::record::{MissedRowRecord, ReadBackRecord};
use study::plan::PhaseKind;
use study::read_back::{Levels, levels};
use study::settings::{Sample, Settings};
use target_spec::Target;
use workload::{Program, Stage, Tuning};

const IN_FLIGHT: u32 = 32;
/// Possible difference between the clocks of machines that cassay does not manage, and therefore
/// between the timestamps of their writes. If the machines use a time server, the difference is
/// smaller.
const STRANGE_CLOCKS: Duration = Duration::from_secs(1);
/// Number of sync periods after which a node that cannot sync its commit log stops acknowledging
/// writes, unless configured otherwise. Cassandra computes the same value
/// (`DatabaseDescriptor.getPeriodicCommitLogSyncBlock`).
const LAG_BLOCK: f64 = 1.5;

impl TrialRun<'_> {
    pub(super) fn keeps_main(&self, running: &Running) -> LedgerMode {
        match self.settings.verify.sample {
            Sample::All if self.has_registers() => LedgerMode::History,
            Sample::All => LedgerMode::Times,
            Sample::Rows(_) if running.written.is_some() => LedgerMode::States,
            Sample::Rows(_) => LedgerMode::Nothing,
        }
    }

    /// Sets the known earlier writes before the main stage begins. If the trial reads all rows
    /// back, it records the writes of this stage even if earlier writes are unknown.
    pub(super) fn begin_written(&self, running: &mut Running) {
        let is_all = self.settings.verify.sample == Sample::All && self.step.is_none();
        let known =
            running
                .written
                .take()
                .or_else(|| is_all.then(EarlierWrites::default))
                .map(|written| {
                    if self.has_strange_clocks() {
                        written.with_margin(STRANGE_CLOCKS)
                    } else {
                        written
                    }
                });
        // Tables of an attached cluster may have existed before the run, so their counters may have
        // other initial values.
        running.written = known.map(|written| match self.settings.target {
            Target::Attach(_) => written.with_old_counters(),
            Target::Local(_) | Target::Null(_) => written,
        });
    }

    /// Returns true if the timestamps of writes come from clocks that cassay does not manage.
    /// Examples are the clocks of attached nodes, and of clients on other machines.
    fn has_strange_clocks(&self) -> bool {
        let has_clients = self.fleet.is_some_and(FleetUse::has_others);
        has_clients
            || matches!(self.settings.target, Target::Attach(_)) && takes_nodes_times(&self.program)
    }

    /// Reads rows back and compares them with the values that follow from the seed.
    pub(super) fn verify(
        &mut self,
        running: &mut Running,
        state: &mut State,
    ) -> Result<Option<TrialEnd>> {
        let sample = self.settings.verify.sample;
        let loaded = self.program.rows();
        let (stage, rows) = match (sample, &running.written) {
            (Sample::All, Some(written)) => (Stage::ReadBack, written.rows_end(loaded)),
            _ => (Stage::Verify, sample.rows(loaded)),
        };
        if rows == 0 || self.step.is_some() || state.evidence.aborted.is_some() {
            return Ok(None);
        }
        self.begin_phase(PhaseKind::Verify, state)?;
        let within_s = self.may_lose(running, state);
        let offer = Offer {
            verify: VerifyReads::EveryNth(1),
            written: running.written.take().map(Arc::new),
            keeps: if stage == Stage::ReadBack && self.has_registers() {
                LedgerMode::History
            } else {
                LedgerMode::Nothing
            },
            retries_min: if stage == Stage::ReadBack {
                LOAD_RETRIES
            } else {
                0
            },
            ..Offer::measured(stage, closed(IN_FLIGHT, rows), Limit::Operations(rows))
        };
        let levels = levels(self.settings, &self.program);
        let measured = self.read_at(stage, &levels)?;
        let offered = self.offer(running, state, &offer, &mut [], &mut |_| {
            Decision::in_phase("verify")
        });
        self.program = measured;
        let offered = offered?;
        running.written = offer.written.and_then(Arc::into_inner);
        if stage == Stage::ReadBack {
            let lost = running.written.as_ref().map(EarlierWrites::lost);
            self.account(&offered, rows, &levels, (within_s, lost), state);
            self.judge_registers(&offered, running, state)?;
        } else {
            state.evidence.checks.add(offered.counts.checks());
            self.name_rows(&offered, state);
        }
        if let Some(errors) = offered.errors_words() {
            (self.events)(Event::Said(format!(
                "cassay could not read back all rows: {errors}"
            )));
        }
        Ok(self.cut(offered.cut, state))
    }

    /// Keeps the first rows in which a read found data that differs from the written data.
    pub(super) fn name_rows(&self, offered: &PhaseResult, state: &mut State) {
        let rows = offered.summary.missed_rows.iter();
        let untimed = rows.map(|(row, missed)| (*row, *missed, None));
        self.name(untimed, &mut state.finding.verify.missed_rows);
    }

    /// Adds wrong rows to `named`, without duplicates. Each entry of `rows` contains the number of
    /// the row, and the kind of loss. It also contains the time at which the last missed write was
    /// acknowledged, in seconds since the start line.
    fn name(
        &self,
        rows: impl Iterator<Item = (u64, WriteMismatch, Option<f64>)>,
        named: &mut Vec<MissedRowRecord>,
    ) {
        for (row, missed, acknowledged_s) in rows {
            if named.len() < MISSED_ROWS_MAX && named.iter().all(|known| known.row != row) {
                named.push(MissedRowRecord {
                    row,
                    missed,
                    acknowledged_s,
                    read_by: self.read_by(row),
                });
            }
        }
    }

    /// Returns the statement that reads a row, with its values, so that the user can execute it.
    /// Returns an empty text if the program does not read single rows.
    fn read_by(&self, row: u64) -> String {
        if self.program.rows() == 0 {
            return String::new();
        }
        let sampled = workload::sample(&self.program, Stage::ReadBack, row, 1);
        let first = sampled.first().and_then(|one| one.statements.first());
        first.map_or_else(String::new, |(cql, values)| {
            let values: Vec<String> =
                values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            format!("{cql} ({})", values.join(", "))
        })
    }

    /// Sets the consistency level for the reads of a stage. Returns the original program, so that
    /// the caller can restore it.
    fn read_at(&mut self, stage: Stage, levels: &Levels) -> Result<Arc<Program>> {
        let stated = self.settings.verify.consistency;
        let level = stated.or((stage == Stage::ReadBack).then_some(levels.read));
        let Some(level) = level else {
            return Ok(Arc::clone(&self.program));
        };
        let kind = usize::from(self.program.generator(stage).begin(0).kind);
        let name = self.program.kinds()[kind].name.clone();
        let tuning = Tuning {
            consistency: Some(level),
            ..Tuning::default()
        };
        let tuned = workload::tune(Program::clone(&self.program), &[(name, tuning)])
            .ok()
            .context("change the consistency level of all kinds of operations")?;
        Ok(std::mem::replace(&mut self.program, Arc::new(tuned)))
    }

    /// Marks, in the record of writes, the periods in which acknowledged writes may have been lost.
    /// Returns how long before a fault such a period begins, in seconds. Returns `None` if this
    /// time has no limit, or if no write can be lost.
    fn may_lose(&self, running: &mut Running, state: &State) -> Option<f64> {
        let configuration = self.configuration(Some(running));
        let within_s = durability::lost_within_s(&configuration);
        let written = running.written.as_mut()?;
        written.begin_losses();
        let within_s = within_s?;
        let start_ns = state.writer.start_ns() as f64;
        let ns = |at_s: f64| (start_ns + at_s * 1e9).max(0.0) as u64;
        let commit_log = configuration.commit_log.as_ref();
        for record in &state.finding.faults {
            let blow = record.number.and_then(|at| configuration.blows.get(at));
            let lossy = blow.filter(|blow| blow.is_lossy(commit_log));
            let Some(injected_s) = record.injected_s.filter(|_| lossy.is_some()) else {
                continue;
            };
            // The node was off when cassay observed the fault, so the node acknowledged no write
            // after that time.
            let off_s = record.seen_s.or(record.whole_s);
            written.may_lose(ns(injected_s - within_s)..off_s.map_or(u64::MAX, ns));
        }
        Some(within_s)
    }

    /// Records the result of reading all rows. If losses are limited in time, also records when the
    /// lost writes were acknowledged.
    fn account(
        &self,
        offered: &PhaseResult,
        rows: u64,
        levels: &Levels,
        (within_s, lost): (Option<f64>, Option<Lost>),
        state: &mut State,
    ) {
        let checks = *offered.counts.checks();
        let read = offered.counts.outcomes.get(Outcome::Ok);
        let unread = rows.saturating_sub(read);
        let start_ns = state.writer.start_ns();
        let since_s = |ns: u64| (ns as f64 - start_ns as f64) / 1e9;
        let mut missed_rows = Vec::new();
        let timed = lost
            .iter()
            .flat_map(|lost| &lost.rows)
            .map(|one| (one.row, one.missed, one.acknowledged_ns.map(since_s)));
        // The times of writes are unknown for counters, and for rows that another client has read.
        let by_reads = offered.summary.missed_rows.iter();
        let untimed = by_reads.map(|(row, missed)| (*row, *missed, None));
        self.name(timed.chain(untimed), &mut missed_rows);
        let lost = within_s.zip(lost).map(|(within_s, lost)| LostWritesByAckTime {
            within_s,
            unexplained: lost.unexplained,
            oldest_s: lost.oldest_ns.map(since_s),
        });
        let read_back = ReadBack {
            checks,
            unread,
            lost,
        };
        state.evidence.read_back = Some(read_back);
        state.finding.read_back = Some(ReadBackRecord {
            read_at: levels.read.to_string(),
            written_at: levels.written.to_string(),
            copies: levels.copies,
            lost_within_s: lost.map(|by| by.within_s),
            unexplained: lost.map_or(0, |by| by.unexplained),
            oldest_lost_s: lost.and_then(|by| by.oldest_s),
            writes_acknowledged: state.outcomes.acknowledged,
            writes_unknown: state.outcomes.unknown,
            rows,
            unread,
            unjudged: read.saturating_sub(checks.checked),
            missed_rows,
            ..counted(&checks)
        });
    }

    /// Returns which acknowledged writes the configuration promises to keep, given the faults.
    pub(super) fn promise(&self, running: Option<&Running>) -> Promise {
        durability::promise(&self.configuration(running))
    }

    fn configuration(&self, running: Option<&Running>) -> Configuration {
        let levels = levels(self.settings, &self.program);
        let level = |level: Consistency, replicas| ConsistencyLevel {
            name: level.to_string(),
            replicas,
        };
        Configuration {
            copies: levels.copies,
            written: level(levels.written, levels.written_by),
            read: level(levels.read, levels.read_from),
            commit_log: running.and_then(|running| commit_log(self.settings, running)),
            blows: running.map_or_else(Vec::new, |running| {
                blows(self.settings, running, &self.program)
            }),
        }
    }
}

/// Returns the counts of rows after a read-back. Each row is in exactly one of the counts.
fn counted(checks: &CheckCounts) -> ReadBackRecord {
    let others = checks.missing
        + checks.stale
        + checks.wrong
        + checks.resurrected
        + checks.deleted
        + checks.unconfirmed
        + checks.never_written
        + checks.too_low
        + checks.too_high;
    ReadBackRecord {
        right: checks.checked.saturating_sub(others),
        deleted: checks.deleted,
        unconfirmed: checks.unconfirmed,
        never_written: checks.never_written,
        lost: checks.missing,
        stale: checks.stale,
        resurrected: checks.resurrected,
        wrong: checks.wrong,
        too_low: checks.too_low,
        too_high: checks.too_high,
        ..ReadBackRecord::default()
    }
}

/// Returns true if the nodes set the timestamps of some writes. The timestamp decides which write
/// to a row is the last. The server orders conditional writes without timestamps.
fn takes_nodes_times(program: &Program) -> bool {
    let mut statements = program.statements().iter();
    statements.any(|statement| !statement.returns_rows && !statement.client_timestamp)
}

/// Returns the faults, with the data that the affected nodes may have lost through each fault.
fn blows(settings: &Settings, running: &Running, program: &Arc<Program>) -> Vec<FailureEvent> {
    let nodes_count = running.cluster.nodes().len() as u64;
    let takes_over = nodes_count > settings.keyspace.replication.copies();
    let blow = |fault: &study::settings::StudyFault| {
        // If the target of a fault could not be found, the fault had no effect.
        let place = FaultTarget::find(fault, running, program).ok()?;
        Some(FailureEvent {
            what: format!("{} of {}", fault.kind.name, place.name),
            nodes: place.nodes.into_iter().map(|(_, name)| name).collect(),
            loses: match fault.kind.loses {
                target_spec::fault::DataLoss::Nothing => DataLoss::Nothing,
                target_spec::fault::DataLoss::Memory => DataLoss::Memory,
                target_spec::fault::DataLoss::Unsynced => DataLoss::Unsynced,
                target_spec::fault::DataLoss::HandedOver if takes_over => DataLoss::Nothing,
                target_spec::fault::DataLoss::Order if takes_nodes_times(program) => {
                    DataLoss::Order
                }
                target_spec::fault::DataLoss::Order => DataLoss::Nothing,
                target_spec::fault::DataLoss::Copy | target_spec::fault::DataLoss::HandedOver => {
                    DataLoss::Everything
                }
            },
        })
    };
    settings.faults.iter().filter_map(blow).collect()
}

/// Returns the commit log settings of the node with the longest time until a sync. Returns `None`
/// if the settings of a node cannot be read.
fn commit_log(settings: &Settings, running: &Running) -> Option<CommitLog> {
    let is_used = settings.keyspace.durable_writes != Some(false);
    let logs: Option<Vec<CommitLog>> = running
        .node_settings
        .iter()
        .map(|(_, settings)| commit_log_of(settings, is_used))
        .collect();
    let period_s = |log: &CommitLog| match log.sync {
        Sync::Periodic { period_s, block_s } => period_s.max(block_s),
        Sync::BeforeAcknowledging => -1.0,
    };
    let later = |a: &CommitLog, b: &CommitLog| period_s(a).total_cmp(&period_s(b));
    logs?.into_iter().max_by(later)
}

/// Returns the commit log settings of a node from the given rows of `system_views.settings`.
/// Returns `None` if the mode or the time of the sync is missing, or if a time is not a duration.
fn commit_log_of(settings: &BTreeMap<String, String>, is_used: bool) -> Option<CommitLog> {
    let is_set = |name: &str| {
        let value = settings.get(name).map_or("null", String::as_str);
        !matches!(value, "null" | "" | "false")
    };
    let sync = match settings.get("commitlog_sync")?.as_str() {
        "batch" | "group" => Sync::BeforeAcknowledging,
        _ => {
            let period_s = setting_s(settings, "commitlog_sync_period").ok()??;
            let block_s = setting_s(settings, "periodic_commitlog_sync_lag_block").ok()?;
            Sync::Periodic {
                period_s,
                block_s: block_s.unwrap_or(period_s * LAG_BLOCK),
            }
        }
    };
    Some(CommitLog {
        is_used,
        is_buffered: is_set("commitlog_compression")
            || settings.get("commitlog_disk_access_mode").is_some_and(|mode| mode == "direct")
            || is_set("transparent_data_encryption_options_enabled"),
        sync,
    })
}

/// Returns a duration in seconds. The value of the setting contains a unit. Under the older name of
/// the setting, the value is in milliseconds. Returns `None` if the node has neither setting.
///
/// # Errors
/// The value is not a duration.
fn setting_s(settings: &BTreeMap<String, String>, name: &str) -> Result<Option<f64>, String> {
    let stated = |name: &str| {
        let text = settings.get(name).map(String::as_str);
        text.filter(|text| !matches!(*text, "null" | ""))
    };
    if let Some(ms) = stated(&format!("{name}_in_ms")) {
        let ms: f64 = ms.parse().map_err(|_| format!("{name}_in_ms is {ms}"))?;
        return Ok(Some(ms / 1e3));
    }
    let Some(text) = stated(name) else {
        return Ok(None);
    };
    let ns = study::units::parse_duration_ns(text)?;
    Ok(Some(ns as f64 / 1e9))
}

#[cfg(test)]
mod tests;
