//! What a fault did to the load, and when that was over: a part of [`crate::record::FaultRecord`].
//!
//! Times are seconds since the injection unless they say otherwise. What nobody saw is absent.

use crate::record::{ComparisonRecord, QuantilesRecord, is_zero};
use analysis::VariantName;
use analysis::procedure::Point;
use analysis::recovery::Sign;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was measured of one fault.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RecoveryRecord {
    /// How long was looked: until another fault began or the window ended.
    pub watched_s: f64,
    /// Whether another fault ended that, and not the window.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut_by_fault: bool,
    /// Other faults that were on meanwhile: what is here is of all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
    /// What cannot be told, and why: a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
    /// Throughput of the intervals before it, op/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ops_per_s: Option<UsualRecord>,
    /// p99 of the intervals before it, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<UsualRecord>,
    /// What throughput lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dip: Option<DipRecord>,
    /// When throughput was as before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput: Option<ReturnsRecord>,
    /// When p99 was as before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<ReturnsRecord>,
    /// Who noticed, and when.
    pub noticed: NoticedRecord,
    /// The intervals before it that it is compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<StretchRecord>,
    /// From the injection until it was seen whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub during: Option<StretchRecord>,
    /// From then on, as long as was looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<StretchRecord>,
    /// Hints, of all nodes together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hints: Option<HintsRecord>,
    /// Bytes that nodes were streamed by others meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streamed_bytes: Option<f64>,
    /// `needed`, `not-needed` or `untold`; empty where there is only one node.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub repair: Option<RepairNeed>,
    /// Why a repair is needed or not.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub repair_why: String,
}

measure::word_enum! {
    /// Whether a repair is called for.
    pub enum RepairNeed {
        /// Hints do not cover what was missed.
        Needed = "needed",
        /// Nothing was missed, or hints cover it.
        NotNeeded = "not-needed",
        /// That cannot be told.
        Untold = "untold",
    }
}

measure::word_enum! {
    /// A part of the time of a fault.
    #[derive(Default)]
    pub enum FaultStretch {
        /// From the injection until it was seen whole.
        #[default]
        Broken = "broken",
        /// From then on until the next fault or the end of the window.
        After = "after",
    }
}

/// What a series was like before a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UsualRecord {
    /// Median of the intervals.
    pub middle: f64,
    /// The share by which one interval may be worse and be as usual: 0.05, or more where they
    /// varied more by themselves.
    pub within: f64,
    /// Within which share of the level half a minute is as before: 0.05, or two standard errors.
    pub near: f64,
    /// Intervals that it is made of.
    pub intervals: usize,
}

/// What throughput lost, from the injection until it was back after the healing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DipRecord {
    /// Operations per second in the worst interval.
    pub lowest_ops_per_s: f64,
    /// When that began.
    pub lowest_at_s: f64,
    /// Share of the level that the worst interval lacked; 0 if none was outside of the usual.
    pub depth: f64,
    /// Seconds of all intervals outside of the usual.
    pub seconds: f64,
    /// Operations that they lack together; at a rate less what was made up for later.
    pub lost_ops: f64,
}

/// When a series was as before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReturnsRecord {
    /// Counted from the injection: a cluster may recover while it is broken.
    pub injected: BackRecord,
    /// Counted from the healing; none if it was not healed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub healed: Option<BackRecord>,
}

/// When a series was as before, counted from the injection or the healing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BackRecord {
    /// Until the first interval outside of the usual; none if none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_s: Option<f64>,
    /// Until the begin of the first 30 s in a row that were as before; none if they were not seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub back_s: Option<f64>,
    /// How long was looked.
    pub watched_s: f64,
}

/// Who noticed a fault, and when. Ours is `seen_s` of the fault.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NoticedRecord {
    /// Until the end of the first interval in which a client could notice it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_s: Option<f64>,
    /// By what: `connections_lost`, `errors`, `retries`, `throughput` or `p99`.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub client_by: Option<Sign>,
    /// Until a look at another node found that it took one for dead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gossip_s: Option<f64>,
    /// Which node that was.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub gossip_by: String,
    /// For how long other nodes did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gossip_away_s: Option<f64>,
}

/// A stretch of the window, all kinds together.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StretchRecord {
    /// Length of its intervals together, s.
    pub seconds: f64,
    /// Operations that succeeded.
    pub ops: u64,
    /// The same, per second.
    pub ops_per_s: f64,
    /// From the intended start, of those that ended in it, with lower bounds of what nobody
    /// followed to its end.
    pub latency_ms: QuantilesRecord,
    /// Operations that failed in it, by kind and outcome.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, BTreeMap<String, u64>>,
    /// Tries after one that failed.
    #[serde(skip_serializing_if = "is_zero")]
    pub retries: u64,
    /// Tries beside one that was not answered for too long.
    #[serde(skip_serializing_if = "is_zero")]
    pub speculations: u64,
    /// Such tries that were answered first.
    #[serde(skip_serializing_if = "is_zero")]
    pub speculations_won: u64,
    /// Connections lost.
    #[serde(skip_serializing_if = "is_zero")]
    pub connections_lost: u64,
    /// Sent more than 1 ms late.
    #[serde(skip_serializing_if = "is_zero")]
    pub late: u64,
    /// Given up before they were sent.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped: u64,
}

impl StretchRecord {
    /// Operations that failed.
    pub fn failed(&self) -> u64 {
        self.errors.values().flat_map(BTreeMap::values).sum()
    }
}

/// A stretch of trials with a fault, against the same stretch of trials without any: the same load
/// on the same data, in the same blocks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WithoutFaultsRecord {
    /// Name of the variant with the fault.
    pub variant: VariantName,
    /// Name of the one without.
    pub without: VariantName,
    /// Where on the axes.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// Number of the fault in its trial, from 0.
    pub fault: usize,
    /// `node-pause`, …
    pub kind: String,
    /// What was broken; none where the fault does not say it.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub place: Option<String>,
    /// `broken`: from the injection until it was seen whole; `after`: from then on until the next
    /// fault or the end of the window.
    pub stretch: FaultStretch,
    /// Pairs of trials.
    pub blocks: usize,
    /// Length of the stretch with the fault, all blocks together, s.
    pub seconds: f64,
    /// Operations that succeeded per second, all blocks together: without, with.
    pub ops_per_s: [f64; 2],
    /// Operations that failed, all blocks together: without, with.
    pub failed: [u64; 2],
    /// By metric, with ÷ without. Of a stretch in which a side did nothing there is no ratio.
    pub comparisons: Vec<ComparisonRecord>,
}

/// Hints that nodes kept for one that did not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HintsRecord {
    /// Hints that were stored.
    pub stored: f64,
    /// Hints that were delivered.
    pub delivered: f64,
    /// Tries that failed or timed out; they are tried again.
    pub undelivered: f64,
    /// Seconds from the healing until the last was gone; none where some were left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drained_s: Option<f64>,
}

#[cfg(test)]
mod tests {
    use crate::record::FaultRecord;

    #[test]
    fn what_was_not_seen_is_absent_and_a_fault_of_an_earlier_version_has_none_of_it() {
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
