//! Effects of a fault on the load, and the recovery from the fault. They are a part of
//! [`crate::record::FaultRecord`].
//!
//! Times are in seconds since the injection unless the comment names another start. Values that
//! were not observed are absent.

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
    /// Length of the observation, s. The observation lasts until another fault began or the window
    /// ended.
    pub watched_s: f64,
    /// True if the observation ended because another fault began, not because the window ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut_by_fault: bool,
    /// Other faults that were active at the same time. All figures include their effects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
    /// Reasons for missing figures, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
    /// Throughput in the intervals before the fault, op/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ops_per_s: Option<BaselineRecord>,
    /// p99 in the intervals before the fault, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<BaselineRecord>,
    /// Loss of throughput.
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
    /// Intervals before the fault, with which the later intervals are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<StretchRecord>,
    /// Period from the injection until all nodes of the target were up again. If that was not
    /// observed, the period ends with the start of the healing or with the observation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub during: Option<StretchRecord>,
    /// Period from the end of `during` until the end of the observation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<StretchRecord>,
    /// Hints of all nodes together. Absent if no probe read them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hints: Option<Hints>,
    /// Bytes that were streamed to nodes during the observation. Absent if no probe read them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streamed_bytes: Option<f64>,
    /// Need for a repair: `needed`, `not-needed` or `untold`. Absent if there is only one node.
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
    /// A stretch of the time around a fault.
    #[derive(Default)]
    pub enum FaultStretch {
        /// From the injection until all nodes of the target were up again.
        #[default]
        Broken = "broken",
        /// The period after `broken`, until the next fault or the end of the window.
        After = "after",
    }
}

/// Level of a series before a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BaselineRecord {
    /// Median of the intervals before the fault.
    pub middle: f64,
    /// Share by which one interval may be worse and still count as normal. It is 0.05, or more if
    /// the intervals before the fault varied more.
    pub within: f64,
    /// Share of the level within which the median of 30 s counts as normal. It is 0.05, or two
    /// standard errors if that is more.
    pub near: f64,
    /// Number of intervals before the fault.
    pub intervals: usize,
}

/// First sign of a fault. `seen_s` of the fault is the time at which cassay itself noticed it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NoticedRecord {
    /// Time until the end of the first interval in which clients could notice the fault, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_s: Option<f64>,
    /// First sign that clients could notice: `connections_lost`, `errors`, `retries`, `throughput`
    /// or `p99`.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub client_by: Option<ClientSymptom>,
    /// Time until a probe first observed that a node considers another node dead, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gossip_s: Option<f64>,
    /// Name of the node that considered another node dead.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub gossip_by: String,
    /// Time between the first and the last observation on other nodes that the node is dead, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gossip_away_s: Option<f64>,
}

/// A period of the window, for all kinds of operations together.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StretchRecord {
    /// Total length of the intervals in the period, s.
    pub seconds: f64,
    /// Number of operations that succeeded.
    pub ops: u64,
    /// Throughput: `ops` per second.
    pub ops_per_s: f64,
    /// Latency since the intended start, of operations that ended in the period. It covers
    /// successes, and lower bounds of operations that the client stopped following.
    pub latency_ms: QuantilesRecord,
    /// Operations that failed in the period, by kind and outcome.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, BTreeMap<String, u64>>,
    /// Counters of the operations that ended in the period, by name. Zeros are omitted.
    #[serde(flatten, serialize_with = "crate::counts::serialize_kind")]
    pub counts: KindCounts,
    /// Counters of operations before they were sent, and of connections, by name. Zeros are
    /// omitted.
    #[serde(flatten, serialize_with = "crate::counts::serialize_nonzero_client")]
    pub client: ClientCounts,
}

impl StretchRecord {
    /// Returns the number of operations that failed.
    pub fn failed(&self) -> u64 {
        self.errors.values().flat_map(BTreeMap::values).sum()
    }
}

/// A period of trials with a fault, compared with the same period of trials without faults. Both
/// have the same load, on the same data, in the same blocks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WithoutFaultsRecord {
    /// Name of the variant with the fault.
    pub variant: VariantName,
    /// Name of the variant without faults.
    pub without: VariantName,
    /// Load of both variants.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// Number of the fault in the study's list, starting at 0.
    pub fault: usize,
    /// Kind of the fault, such as `node-pause`.
    pub kind: String,
    /// Target of the fault. Absent if it is not recorded.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub place: Option<String>,
    /// Period: `broken` (from the injection until all nodes of the target were up again) or `after`
    /// (from then on until the next fault or the end of the window).
    pub stretch: FaultStretch,
    /// Number of pairs of trials.
    pub blocks: usize,
    /// Length of the period with the fault, for all blocks together, s.
    pub seconds: f64,
    /// Throughput over all blocks together without the fault, and with it, op/s.
    pub ops_per_s: [f64; 2],
    /// Number of failed operations in all blocks without the fault, and with it.
    pub failed: [u64; 2],
    /// Comparisons by metric, with ÷ without the fault. A metric has no comparison if one trial of
    /// a pair has no value.
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
