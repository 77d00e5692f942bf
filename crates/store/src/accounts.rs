//! What became of acknowledged writes, in `finding.json` and `findings.json`.

use crate::record::{Outcome, TrialFinding, VerifyRecord, is_zero};
use analysis::durability::Promised;
use measure::Missed;
use measure::number::count;
use serde::{Deserialize, Serialize};

/// All rows, read back after a trial: what became of every acknowledged write. `rows` is the sum of
/// the counts from `right` to `unjudged`, of which `lost`, `stale`, `resurrected`, `too_low`,
/// `wrong` and `too_high` should be 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadBackRecord {
    /// Level of the reads.
    pub read_at: String,
    /// Weakest level of the writes.
    pub written_at: String,
    /// Copies of every row.
    pub copies: u64,
    /// What the configuration promises, with what broke: `kept` (every acknowledged write is seen),
    /// `none` or `unknown`.
    pub promise: Promised,
    /// Why, as a clause.
    pub why: String,
    /// Where a loss that is allowed has an end in time: for how long before what broke a write may
    /// be lost, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_within_s: Option<f64>,
    /// Rows that are missed though no such write of theirs is.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unexplained: u64,
    /// When the oldest write that is lost was acknowledged at the latest, in seconds since the
    /// trial's start line; one of the load counts as acknowledged there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_lost_s: Option<f64>,
    /// Writes of the main stage that were acknowledged.
    pub writes_acknowledged: u64,
    /// Those that were sent and not acknowledged: done or not.
    pub writes_unknown: u64,
    /// Rows that were to be read.
    pub rows: u64,
    /// As they were acknowledged.
    pub right: u64,
    /// Not there, and deleted.
    pub deleted: u64,
    /// There, though none of their writes was acknowledged.
    pub unconfirmed: u64,
    /// Not there, and none of their writes was acknowledged.
    pub never_written: u64,
    /// Not there, and a write was acknowledged.
    pub lost: u64,
    /// An older value than one that was acknowledged and sent after it.
    pub stale: u64,
    /// A value that was deleted after it was written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resurrected: u64,
    /// A value that nobody wrote.
    pub wrong: u64,
    /// Counters below what was added and acknowledged.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub too_low: u64,
    /// Counters above all that was added.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub too_high: u64,
    /// No read could reach them.
    pub unread: u64,
    /// Read, and what was written to them is not remembered.
    pub unjudged: u64,
    /// The first rows that were found to be lost, stale, resurrected or wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed_rows: Vec<MissedRowRecord>,
}

/// A row that is not as it was acknowledged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MissedRowRecord {
    /// Its number in the workload.
    pub row: u64,
    /// `lost`, `stale`, `resurrected` or `wrong`.
    pub missed: Missed,
    /// When the last of its writes that are missed was acknowledged at the latest, in seconds since
    /// the trial's start line; none for what was loaded, and where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged_s: Option<f64>,
    /// The statement that reads it, with what it binds; empty in runs of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub read_by: String,
}

impl ReadBackRecord {
    /// Rows of which an acknowledged write is not seen.
    pub fn missed(&self) -> u64 {
        self.lost + self.stale + self.resurrected + self.too_low
    }

    /// Rows that are not as they were acknowledged, and of which the configuration is not known to
    /// allow that: as V14 judges it.
    pub fn against(&self) -> u64 {
        let never = self.wrong + self.too_high;
        match self.promise {
            Promised::None => self.unexplained + never,
            Promised::Kept | Promised::Unknown => self.missed() + never,
        }
    }
}

impl VerifyRecord {
    /// Reads that returned other data than was written.
    pub fn differed(&self) -> u64 {
        self.missing + self.stale + self.wrong + self.resurrected
    }
}

/// What speaks against the data of a trial; see [`TrialFinding::data_against`].
#[derive(Clone, Copy, Debug, Default)]
pub struct DataAgainst<'a> {
    /// Rows that were all read back.
    pub rows: Option<&'a ReadBackRecord>,
    /// Reads of the window, and of the rows that were sampled after it.
    pub reads: Option<&'a VerifyRecord>,
    /// Histories of registers.
    pub registers: Option<&'a RegistersRecord>,
}

impl DataAgainst<'_> {
    /// Whether nothing does.
    pub fn is_nothing(&self) -> bool {
        self.rows.is_none() && self.reads.is_none() && self.registers.is_none()
    }
}

impl TrialFinding {
    /// Which data of the trial was lost, wrong or resurrected though the configuration is not known
    /// to allow it. That is what the answer of a run begins with, whatever else there is to say.
    pub fn data_against(&self) -> DataAgainst<'_> {
        let result = self.rules.iter().find(|rule| rule.rule == "V14").map(|rule| rule.result);
        if !matches!(result, Some(Outcome::Warn | Outcome::Fail)) {
            return DataAgainst::default();
        }
        let rows = self.read_back.as_ref().filter(|found| found.against() > 0);
        let is_violated =
            |found: &&RegistersRecord| found.violated > 0 && found.promise != Promised::None;
        let registers = self.registers.as_ref().filter(is_violated);
        // Reads that the configuration allows to differ warn at most.
        let may_differ = result == Some(Outcome::Warn)
            || (self.verify.wrong == 0 && (rows.is_some() || registers.is_some()));
        let reads = (!may_differ && self.verify.differed() > 0).then_some(&self.verify);
        DataAgainst {
            rows,
            reads,
            registers,
        }
    }
}

/// What reading rows back has found, of several trials together; none where none were. Lost, stale
/// and never right alike are not as they were acknowledged.
pub fn read_back_words(read: &[&ReadBackRecord]) -> Option<String> {
    read.first()?;
    let sum = |of: fn(&ReadBackRecord) -> u64| read.iter().map(|record| of(record)).sum::<u64>();
    let rows = count(sum(|record| record.rows));
    let unknown = sum(|record| record.unread + record.unjudged);
    let wrong = sum(|record| record.missed() + record.wrong + record.too_high);
    Some(match (wrong, unknown) {
        (0, 0) => format!("Nothing acknowledged was lost: all {rows} rows were read back."),
        (0, unknown) => format!(
            "Nothing acknowledged was lost in what could be read back and judged: {} of {rows} \
             rows could not.",
            count(unknown)
        ),
        (wrong, _) => format!(
            "{} of {rows} rows were not as they were acknowledged.",
            count(wrong)
        ),
    })
}

/// The histories of registers: whether each was one register to all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RegistersRecord {
    /// How that was decided.
    pub method: String,
    /// Registers with a history.
    pub registers: u64,
    /// Operations in the histories.
    pub operations: u64,
    /// Those of unknown outcome, which may have taken effect at any time after they were sent, or
    /// never.
    pub unknown: u64,
    /// Operations beyond the most that are kept: the histories end before them.
    pub beyond: u64,
    /// Registers whose answers one register would have given.
    pub linearizable: u64,
    /// Registers of which that was not decided within the limit of states.
    pub undecided: u64,
    /// States that one register may take.
    pub states_max: u64,
    /// What the configuration promises, as of rows that are read back.
    pub promise: Promised,
    /// Why, as a clause.
    pub why: String,
    /// The registers whose answers no single register would have given; at most a hundred.
    pub violations: Vec<ViolationRecord>,
    /// How many there are.
    pub violated: u64,
}

/// A register that was not one register to all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ViolationRecord {
    /// Its key.
    pub key: u64,
    /// Numbers of the operations of which one has an answer that no order explains.
    pub operations: Vec<u64>,
}

/// A line of `history.ndjson`: one operation on a register.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HistoryRecord {
    /// Key of the register.
    pub key: u64,
    /// Number of the operation within its stage.
    pub number: u64,
    /// `main` or `read-back`.
    pub stage: String,
    /// `read`, `write` or `swap`.
    pub kind: String,
    /// When it was sent, ns since the first one.
    pub invoked_ns: u64,
    /// When its answer was there; none: its outcome is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returned_ns: Option<u64>,
    /// The value that a swap asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// The value that was written, or would have been.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<i64>,
    /// Whether a condition held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<bool>,
    /// The value that was there: of a read, and of a condition that did not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<i64>,
}
