//! Records of acknowledged writes in `finding.json` and `findings.json`. They cover rows that were
//! read back, and histories of registers.

use crate::record::{RuleOutcome, TrialFinding, VerifyRecord, is_zero};
use analysis::durability::PromiseKind;
use measure::WriteMismatch;
use measure::number::count;
use serde::{Deserialize, Serialize};

/// Results of reading all rows back after a trial. `rows` is the sum of the fields from `right` to
/// `unjudged`. Of these fields, `lost`, `stale`, `resurrected`, `too_low`, `wrong` and `too_high`
/// should be 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadBackRecord {
    /// Consistency level of the reads.
    pub read_at: String,
    /// Weakest consistency level among the writes of the trial.
    pub written_at: String,
    /// Number of copies of each row (replication factor).
    pub copies: u64,
    /// Guarantee that the configuration gives despite the trial's faults: `kept` (reads return
    /// every acknowledged write), `none` or `unknown`.
    pub promise: PromiseKind,
    /// Reason for the value of `promise`, as a clause.
    pub why: String,
    /// Length of the interval before a fault in which the configuration may lose acknowledged
    /// writes, s. Absent unless the configuration allows such losses only for a limited time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_within_s: Option<f64>,
    /// Number of rows that lost a write although it was not acknowledged within the `lost_within_s`
    /// seconds before a fault.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unexplained: u64,
    /// Latest possible time at which the oldest lost write was acknowledged, s since the trial's
    /// start line. A loaded row counts as acknowledged when the main stage began. Absent if
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_lost_s: Option<f64>,
    /// Number of acknowledged writes of the main stage.
    pub writes_acknowledged: u64,
    /// Number of writes of the main stage that were sent but not acknowledged. Each of them may
    /// have taken effect or not.
    pub writes_unknown: u64,
    /// Number of rows that cassay had to read back.
    pub rows: u64,
    /// Number of rows with the acknowledged value.
    pub right: u64,
    /// Number of rows that do not exist because they were deleted.
    pub deleted: u64,
    /// Number of rows that exist although none of their writes was acknowledged.
    pub unconfirmed: u64,
    /// Number of rows that do not exist and have no acknowledged write.
    pub never_written: u64,
    /// Number of rows that do not exist although a write was acknowledged.
    pub lost: u64,
    /// Number of rows with an old value, although a later write of the same row was acknowledged.
    pub stale: u64,
    /// Number of rows with a value that was deleted after it was written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resurrected: u64,
    /// Number of rows with a value that no operation wrote.
    pub wrong: u64,
    /// Number of counters below the sum of the acknowledged additions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub too_low: u64,
    /// Number of counters above the sum of all additions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub too_high: u64,
    /// Number of rows that cassay could not read.
    pub unread: u64,
    /// Number of rows that cassay read but could not judge, because the writes of the row were not
    /// recorded.
    pub unjudged: u64,
    /// The first rows that were found lost, stale, resurrected or wrong, and the first counters
    /// that were found too low or too high. The list contains at most 10 rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed_rows: Vec<MissedRowRecord>,
}

/// A row that differs from its acknowledged writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MissedRowRecord {
    /// Number of the row in the workload.
    pub row: u64,
    /// Kind of difference between the row and its writes: `lost`, `stale`, `resurrected`, `wrong`,
    /// `too low` or `too high`.
    pub missed: WriteMismatch,
    /// Time by which the last missed write of the row was certainly acknowledged, s since the
    /// trial's start line. Absent for a loaded value, or if the time is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged_s: Option<f64>,
    /// Statement that reads the row, with its bound values. Empty if the statement reads several
    /// rows at once, and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub read_by: String,
}

impl ReadBackRecord {
    /// Returns the number of rows that lack the effect of an acknowledged write.
    pub fn missed(&self) -> u64 {
        self.lost + self.stale + self.resurrected + self.too_low
    }

    /// Returns the number of rows that differ from their acknowledged writes, unless the
    /// configuration is known to allow the difference. Rule V14 judges this number.
    pub fn against(&self) -> u64 {
        let never = self.wrong + self.too_high;
        match self.promise {
            PromiseKind::None => self.unexplained + never,
            PromiseKind::Kept | PromiseKind::Unknown => self.missed() + never,
        }
    }
}

impl VerifyRecord {
    /// Returns the number of verified reads whose results differ from the written data.
    pub fn differed(&self) -> u64 {
        self.missing + self.stale + self.wrong + self.resurrected
    }
}

/// Evidence against the data of a trial. See [`TrialFinding::data_against`].
#[derive(Clone, Copy, Debug, Default)]
pub struct DataAgainst<'a> {
    /// Results of reading all rows back.
    pub rows: Option<&'a ReadBackRecord>,
    /// Results of verified reads in the window, and of reads of sampled rows after the window.
    pub reads: Option<&'a VerifyRecord>,
    /// Judgement of the histories of registers.
    pub registers: Option<&'a RegistersRecord>,
}

impl DataAgainst<'_> {
    /// Returns true if the trial has no evidence against its data.
    pub fn is_nothing(&self) -> bool {
        self.rows.is_none() && self.reads.is_none() && self.registers.is_none()
    }
}

impl TrialFinding {
    /// Returns the evidence that data of the trial was lost, wrong or resurrected, unless the
    /// configuration is known to allow this. A run's answer starts with this evidence.
    pub fn data_against(&self) -> DataAgainst<'_> {
        let result = self.rules.iter().find(|rule| rule.rule == "V14").map(|rule| rule.result);
        if !matches!(result, Some(RuleOutcome::Warn | RuleOutcome::Fail)) {
            return DataAgainst::default();
        }
        let rows = self.read_back.as_ref().filter(|found| found.against() > 0);
        let is_violated =
            |found: &&RegistersRecord| found.violated > 0 && found.promise != PromiseKind::None;
        let registers = self.registers.as_ref().filter(is_violated);
        // If the configuration allows differences, rule V14 at most warns about them.
        let may_differ = result == Some(RuleOutcome::Warn)
            || (self.verify.wrong == 0 && (rows.is_some() || registers.is_some()));
        let reads = (!may_differ && self.verify.differed() > 0).then_some(&self.verify);
        DataAgainst {
            rows,
            reads,
            registers,
        }
    }
}

/// Describes the results of reading rows back in several trials. `None` if no trial read rows back.
/// The text counts all rows that differ from their acknowledged writes together.
pub fn read_back_words(read: &[&ReadBackRecord]) -> Option<String> {
    read.first()?;
    let sum = |of: fn(&ReadBackRecord) -> u64| read.iter().map(|record| of(record)).sum::<u64>();
    let rows = count(sum(|record| record.rows));
    let unknown = sum(|record| record.unread + record.unjudged);
    let wrong = sum(|record| record.missed() + record.wrong + record.too_high);
    Some(match (wrong, unknown) {
        (0, 0) => format!("No acknowledged write was lost: cassay read back all {rows} rows."),
        (0, unknown) => format!(
            "No acknowledged write was lost among the rows that cassay could read back and judge. \
             It could not judge {} of {rows} rows.",
            count(unknown)
        ),
        (wrong, _) => format!(
            "{} of {rows} rows differ from their acknowledged writes.",
            count(wrong)
        ),
    })
}

/// Judgement of the histories of registers. The histories are correct if all clients appear to use
/// a single copy of each register (linearizability).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RegistersRecord {
    /// Name of the method that judged the histories.
    pub method: String,
    /// Number of registers with a history.
    pub registers: u64,
    /// Number of operations in the histories.
    pub operations: u64,
    /// Number of operations with an unknown outcome. Such an operation may have taken effect at any
    /// time after it was sent, or never.
    pub unknown: u64,
    /// Number of operations that were not recorded, because the limit of recorded operations was
    /// reached. The histories end before these operations.
    pub beyond: u64,
    /// Number of registers with a linearizable history.
    pub linearizable: u64,
    /// Number of registers that the search could not judge within `states_max` states.
    pub undecided: u64,
    /// Maximum number of states that the search visits for one register.
    pub states_max: u64,
    /// Guarantee that the configuration gives: `kept`, `none` or `unknown`, as in
    /// [`ReadBackRecord`].
    pub promise: PromiseKind,
    /// Reason for the value of `promise`, as a clause.
    pub why: String,
    /// Registers without a linearizable history. The list contains at most 100 registers.
    pub violations: Vec<ViolationRecord>,
    /// Number of registers without a linearizable history.
    pub violated: u64,
}

/// A register without a linearizable history.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ViolationRecord {
    /// Key of the register.
    pub key: u64,
    /// Numbers of the operations that do not fit the rest of the history in any order.
    pub operations: Vec<u64>,
}

/// A line of `history.ndjson`. Each line describes one operation on a register.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HistoryRecord {
    /// Key of the register.
    pub key: u64,
    /// Number of the operation within its stage.
    pub number: u64,
    /// Stage of the operation: `main` or `read-back`.
    pub stage: String,
    /// Kind of the operation: `read`, `write` or `swap`.
    pub kind: String,
    /// Time at which the client sent the operation, ns since the first operation.
    pub invoked_ns: u64,
    /// Time of the response, ns since the first operation. Absent if the outcome of the operation
    /// is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returned_ns: Option<u64>,
    /// Value that a swap expects to find in the register. Absent for other operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// Value that the operation wrote or would have written. Absent for a read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<i64>,
    /// True if the condition of the operation was met. Absent if the operation has no condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<bool>,
    /// Value that a read returned, or the value that did not match a condition. Absent if the
    /// response contained no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<i64>,
}
