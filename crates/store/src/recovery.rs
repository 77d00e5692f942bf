//! Effects of a fault on the load, and the recovery from the fault. These records belong to
//! [`crate::record::FaultRecord`].
//!
//! Times are in seconds since the injection unless the comment of a field names another start.
//! Values that were not observed are absent.

use crate::record::{ComparisonRecord, QuantilesRecord};
use analysis::VariantName;
use analysis::procedure::Point;
use analysis::recovery::ClientSymptom;
pub use analysis::recovery::{Dip, Hints, RepairNeed, ReturnTime, Returns};
use measure::{ClientCounts, KindCounts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Measured effects of one fault.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RecoveryRecord {
    /// Length of the observation, s. The observation lasts until another fault begins or the window
    /// ends.
    pub watched_s: f64,
    /// True if the observation ended because another fault began, not because the window ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut_by_fault: bool,
    /// Names of other faults that were active at the same time. All figures include their effects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
    /// Reasons for missing figures. Each reason is one sentence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
    /// Level of throughput before the fault, op/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ops_per_s: Option<BaselineRecord>,
    /// Level of p99 before the fault, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<BaselineRecord>,
    /// Loss of throughput because of the fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dip: Option<Dip>,
    /// Return of throughput to its level before the fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Returns>,
    /// Return of p99 to its level before the fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<Returns>,
    /// First sign of the fault for clients and for other nodes.
    pub noticed: NoticedRecord,
    /// Figures of the intervals before the fault, with which later intervals are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<StretchRecord>,
    /// Figures of the period from the injection until all nodes of the target were up again. If
    /// cassay did not observe that, the period ends when the healing starts or the observation
    /// ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub during: Option<StretchRecord>,
    /// Figures of the period from the end of `during` until the end of the observation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<StretchRecord>,
    /// Hints of all nodes together. Absent if no probe read hints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hints: Option<Hints>,
    /// Bytes that were streamed to nodes during the observation. Absent if no probe read streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streamed_bytes: Option<f64>,
    /// Need for a repair: `needed`, `not-needed` or `inconclusive`. Absent if the target has only
    /// one node.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub repair: Option<RepairNeed>,
    /// Reason why a repair is needed or not needed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub repair_why: String,
}

measure::word_enum! {
    /// A period of the time around a fault.
    #[derive(Default)]
    pub enum FaultStretch {
        /// The period from the injection until all nodes of the target were up again.
        #[default]
        Broken = "broken",
        /// The period from the end of `broken` until the next fault or the end of the window.
        After = "after",
    }
}

/// Level of throughput or p99 before a fault, and its variation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BaselineRecord {
    /// Median over the intervals before the fault.
    pub middle: f64,
    /// Share by which a single interval may be worse than the median and still count as normal. It
    /// is 0.05, or more if the intervals before the fault varied more.
    pub within: f64,
    /// Share by which the median of 30 s may differ from the level before the fault and still count
    /// as normal. It is the larger of 0.05 and two standard errors.
    pub near: f64,
    /// Number of intervals before the fault from which the level was computed.
    pub intervals: usize,
}

/// First signs of a fault. The field `seen_s` of the fault is the time at which cassay itself
/// observed it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NoticedRecord {
    /// Time until the end of the first interval in which clients could notice the fault, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_s: Option<f64>,
    /// First symptom of the fault that clients could notice: `connections_lost`, `errors`,
    /// `retries`, `throughput` or `p99`.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub client_by: Option<ClientSymptom>,
    /// Time until a probe first observed that a node considered another node dead, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gossip_s: Option<f64>,
    /// Name of the node that considered another node dead.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub gossip_by: String,
    /// Time between the first and the last observation that other nodes considered the node dead,
    /// s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gossip_away_s: Option<f64>,
}

/// Figures of a period of the window, for all kinds of operations together.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StretchRecord {
    /// Total length of the intervals in the period, s.
    pub seconds: f64,
    /// Number of operations that succeeded in the period.
    pub ops: u64,
    /// Throughput, which is `ops` per second.
    pub ops_per_s: f64,
    /// Latency from the intended start, for operations that ended in the period. The values are
    /// those of successful operations, and lower bounds for operations that the client gave up.
    pub latency_ms: QuantilesRecord,
    /// Number of operations that failed in the period, by kind and outcome.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, BTreeMap<String, u64>>,
    /// Counters of the operations that ended in the period, by name. Zeros are omitted.
    #[serde(flatten, serialize_with = "crate::counts::serialize_kind")]
    pub counts: KindCounts,
    /// Counters of connections and of operations that were not yet sent, by name. Zeros are
    /// omitted.
    #[serde(flatten, serialize_with = "crate::counts::serialize_nonzero_client")]
    pub client: ClientCounts,
}

impl StretchRecord {
    /// Returns the number of operations that failed in the period.
    pub fn failed(&self) -> u64 {
        self.errors.values().flat_map(BTreeMap::values).sum()
    }
}

/// Compares a period of trials with a fault to the same period of trials without faults. The trials
/// have the same load and the same data, and belong to the same blocks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WithoutFaultsRecord {
    /// Name of the variant with the fault.
    pub variant: VariantName,
    /// Name of the variant without faults.
    pub without: VariantName,
    /// Load at which both variants ran.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// Number of the fault in the study's list, starting at 0.
    pub fault: usize,
    /// Kind of the fault, such as `node-pause`.
    pub kind: String,
    /// Target of the fault. Absent if the run did not record the target.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub place: Option<String>,
    /// Period around the fault: `broken` or `after`. `broken` is the time from the injection until
    /// all nodes of the target were up again. `after` is the time from the end of `broken` until
    /// the next fault or the end of the window.
    pub stretch: FaultStretch,
    /// Number of pairs of trials.
    pub blocks: usize,
    /// Total length of the period in the trials with the fault, over all blocks, s.
    pub seconds: f64,
    /// Throughput over all blocks, op/s. The first value is without the fault, the second with the
    /// fault.
    pub ops_per_s: [f64; 2],
    /// Number of failed operations in all blocks. The first value is without the fault, the second
    /// with the fault.
    pub failed: [u64; 2],
    /// Comparisons, one for each metric. The ratio is the value with the fault ÷ the value without.
    /// A metric is left out if one trial of a pair has no value.
    pub comparisons: Vec<ComparisonRecord>,
}

#[cfg(test)]
mod tests {
    use crate::record::FaultRecord;

    #[test]
    fn unobserved_and_older_recoveries_are_absent() {
        let old = r#"{"kind": "node-pause", "verdict": "confirmed", "evidence": "", "dip": 0.3}"#;
        let old: FaultRecord = serde_json::from_str(old).unwrap();
        assert!(old.recovery.is_none() && old.dip == Some(0.3));
        let part = r#"{"kind": "k", "verdict": "mismatch", "evidence": "",
            "recovery": {"throughput": {"injected": {"back_s": 7.5}}, "after": {"errors":
            {"write": {"overloaded": 2, "client_timeout": 3}}}, "unknown": 1}}"#;
        let part: FaultRecord = serde_json::from_str(part).unwrap();
        let found = part.recovery.as_ref().unwrap();
        assert_eq!(found.throughput.unwrap().injected.back_s, Some(7.5));
        assert_eq!(found.after.as_ref().unwrap().failed(), 5);
        let written = serde_json::to_value(found).unwrap();
        for absent in ["p99", "dip", "hints", "before", "repair"] {
            assert!(written.get(absent).is_none(), "{absent}: {written}");
        }
        assert!(written["throughput"].get("healed").is_none());
    }
}
