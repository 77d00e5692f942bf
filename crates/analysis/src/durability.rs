//! Judges whether a configuration promises that acknowledged writes survive and are read.
//!
//! The promise has two conditions. First, a read from R of RF replicas includes at least one of the
//! W replicas that acknowledged the write (R + W > RF). Second, failures destroyed so few of these
//! W replicas that the read still includes one of them. The data that a failed node loses depends
//! on its commit log. The node syncs the log before the acknowledgement (batch, group) or
//! periodically. With periodic syncs, a loss of power destroys the writes that the node
//! acknowledged since the last sync. Invariant: a promise counts as kept only if neither the
//! configuration nor a failure allows that a read misses an acknowledged write. If this module
//! cannot tell whether a loss is possible, the promise is unknown.

use std::collections::BTreeSet;

/// Consistency levels, commit log and failures of a trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Configuration {
    /// Replication factor of the keyspace (RF).
    pub copies: u64,
    /// Weakest consistency level of the writes.
    pub written: ConsistencyLevel,
    /// Consistency level at which the writes are read back.
    pub read: ConsistencyLevel,
    /// Commit log of the nodes. `None` if the settings of the log cannot be read.
    pub commit_log: Option<CommitLog>,
    /// Failures during the trial.
    pub blows: Vec<FailureEvent>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsistencyLevel {
    /// Name of the level, such as `QUORUM`.
    pub name: String,
    /// Number of replicas that must answer; 0 if a hint is enough.
    pub replicas: u64,
}

/// Settings that decide when the commit log of a node is on disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommitLog {
    /// True if writes to the keyspace go to the commit log (`durable_writes`).
    pub is_used: bool,
    /// True if the log remains in the memory of the process until the next sync, as a compressed or
    /// encrypted log does. A memory-mapped log survives the process, and the node replays it up to
    /// the last marker.
    pub is_buffered: bool,
    /// Times at which the node syncs the log.
    pub sync: Sync,
}

/// Times at which a node syncs its commit log (`commitlog_sync`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sync {
    /// The node syncs the log periodically, and acknowledges writes before the sync.
    Periodic {
        /// Period between two syncs (`commitlog_sync_period`), in seconds.
        period_s: f64,
        /// Maximum time for which the node acknowledges writes while a sync is late
        /// (`periodic_commitlog_sync_lag_block`), in seconds.
        block_s: f64,
    },
    /// The node syncs the log before it acknowledges a write (`batch` and `group`).
    BeforeAcknowledging,
}

/// A failure, whether it was planned or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureEvent {
    /// Description of the failure, such as `host-power-off of host2`.
    pub what: String,
    /// Names of the nodes that the failure hit.
    pub nodes: Vec<String>,
    /// Data that each of the `nodes` may have lost.
    pub loses: DataLoss,
}

/// Data that a node may lose because of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataLoss {
    /// No data: the node was slow, isolated, or shut down cleanly.
    Nothing,
    /// Data in the memory of the process, as after `kill -9`.
    Memory,
    /// Data that was not synced to the disk, as after a loss of power.
    Unsynced,
    /// All data: the node lost its disk, or its position in the ring.
    Everything,
    /// The order of writes, but no data. The clock of the node is wrong, so it assigns wrong
    /// timestamps to the writes that it coordinates. Of two writes, the one with the later
    /// timestamp wins on every node.
    Order,
}

/// Promise of a configuration about acknowledged writes. Each variant contains the reason, as a
/// clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Reads return all acknowledged writes.
    Kept(String),
    /// Some acknowledged writes may be lost, or reads may miss them.
    None(String),
    Unknown(String),
}

measure::word_enum! {
    /// A [`Promise`] without its reason.
    #[derive(Default)]
    pub enum PromiseKind {
        /// Reads return every acknowledged write.
        Kept = "kept",
        /// Some acknowledged writes may be lost, or reads may miss them.
        None = "none",
        /// The promise is unknown.
        #[default]
        Unknown = "unknown",
    }
}

impl Promise {
    /// Returns the reason why the configuration makes this promise, does not make it, or why the
    /// promise is unknown.
    pub fn why(&self) -> &str {
        match self {
            Promise::Kept(why) | Promise::None(why) | Promise::Unknown(why) => why,
        }
    }

    /// Returns the promise without its reason.
    pub fn promised(&self) -> PromiseKind {
        match self {
            Promise::Kept(_) => PromiseKind::Kept,
            Promise::None(_) => PromiseKind::None,
            Promise::Unknown(_) => PromiseKind::Unknown,
        }
    }
}

/// Returns the promise that a configuration makes.
pub fn promise(of: &Configuration) -> Promise {
    let (written, read, copies) = (&of.written, &of.read, of.copies);
    if written.replicas == 0 {
        let why = format!(
            "{} acknowledges writes that only a hint contains",
            written.name
        );
        return Promise::None(why);
    }
    if read.replicas + written.replicas <= copies {
        return Promise::None(format!(
            "a read at {} requires {} of {copies} replicas, and may miss the {} that acknowledged \
             at {}",
            read.name, read.replicas, written.replicas, written.name
        ));
    }
    let mut blows = of.blows.iter();
    if let Some(blow) = blows.find(|blow| blow.loses == DataLoss::Order) {
        return Promise::None(format!(
            "{} shifts the timestamps of writes, and the later timestamp wins, even if another \
             write was acknowledged last",
            blow.what
        ));
    }
    let mut hit: BTreeSet<&str> = BTreeSet::new();
    let mut words = Vec::new();
    for blow in &of.blows {
        match why_lossy(blow.loses, of.commit_log.as_ref()) {
            Lossy::No => continue,
            Lossy::Unknown => {
                return Promise::Unknown(format!(
                    "{} may lose unsynced writes, and cassay could not read the settings of the \
                     commit log",
                    blow.what
                ));
            }
            Lossy::Yes(why) => words.push(format!("{} loses {why}", blow.what)),
        }
        hit.extend(blow.nodes.iter().map(String::as_str));
    }
    let left = written.replicas.saturating_sub(hit.len() as u64);
    let seen = left > 0 && read.replicas + left > copies;
    match (words.is_empty(), seen) {
        (true, _) => Promise::Kept(format!(
            "{} and {} overlap in at least one of {copies} replicas, and no failure loses \
             acknowledged writes",
            written.name, read.name
        )),
        (false, true) => Promise::Kept(format!(
            "{} of {copies} replicas had each write, and {} lost writes, so each read at {} uses \
             at least one intact replica",
            written.replicas,
            nodes(hit.len()),
            read.name
        )),
        (false, false) => Promise::None(format!(
            "{}, on {}, and only {} of {copies} replicas had acknowledged each write at {}",
            words.join("; "),
            nodes(hit.len()),
            written.replicas,
            written.name
        )),
    }
}

/// Interval between two markers in a memory-mapped, periodic commit log, in seconds. After a
/// SIGKILL, the node replays the log only up to the last marker.
const MARKED_EVERY_S: f64 = 0.1;

/// Maximum delay of a marker on a busy machine, in seconds.
const MARKED_LATE_S: f64 = 1.0;

/// Returns the time before a failure within which a lost write must have been acknowledged, in
/// seconds. A node stops acknowledging writes when its last sync is longer ago than `block_s`, so
/// all older writes are on its disk. Returns `None` if a loss has another reason, or if the time of
/// a loss has no limit.
pub fn lost_within_s(of: &Configuration) -> Option<f64> {
    let log = of.commit_log.as_ref().filter(|log| log.is_used)?;
    let Sync::Periodic { period_s, block_s } = log.sync else {
        return None;
    };
    let by_level = of.written.replicas == 0 || of.read.replicas + of.written.replicas <= of.copies;
    let mut blows = of.blows.iter();
    let has_no_end =
        |blow: &FailureEvent| matches!(blow.loses, DataLoss::Everything | DataLoss::Order);
    let by_disk = blows.any(has_no_end);
    let is_bounded = matches!(promise(of), Promise::None(_)) && !by_level && !by_disk;
    let is_marked = |blow: &FailureEvent| blow.loses != DataLoss::Unsynced && !log.is_buffered;
    let within_s = if of.blows.iter().all(is_marked) {
        MARKED_EVERY_S + MARKED_LATE_S
    } else {
        period_s.max(block_s)
    };
    is_bounded.then_some(within_s)
}

impl FailureEvent {
    /// Returns true if a node with this commit log may have lost data in the failure.
    pub fn is_lossy(&self, commit_log: Option<&CommitLog>) -> bool {
        !matches!(why_lossy(self.loses, commit_log), Lossy::No)
    }
}

fn nodes(count: usize) -> String {
    match count {
        1 => "1 node".to_owned(),
        count => format!("{count} nodes"),
    }
}

/// Loss of acknowledged writes by one node. `Yes` describes the lost data.
enum Lossy {
    No,
    Yes(String),
    Unknown,
}

fn why_lossy(loses: DataLoss, commit_log: Option<&CommitLog>) -> Lossy {
    match loses {
        DataLoss::Nothing => return Lossy::No,
        DataLoss::Everything => return Lossy::Yes("all its data".to_owned()),
        DataLoss::Order => return Lossy::Yes("the order of writes".to_owned()),
        DataLoss::Memory | DataLoss::Unsynced => {}
    }
    let Some(log) = commit_log else {
        return Lossy::Unknown;
    };
    match (loses, log.sync) {
        _ if !log.is_used => {
            Lossy::Yes("unflushed writes, without a commit log (durable_writes)".to_owned())
        }
        (_, Sync::BeforeAcknowledging) => Lossy::No,
        (DataLoss::Memory, Sync::Periodic { .. }) if !log.is_buffered => Lossy::Yes(format!(
            "writes acknowledged since the last marker of its commit log (periodic; one every \
             {MARKED_EVERY_S} s)"
        )),
        (_, Sync::Periodic { period_s, .. }) => Lossy::Yes(format!(
            "writes acknowledged since the last sync of its commit log (periodic, every {period_s} \
             s)"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIODIC: CommitLog = CommitLog {
        is_used: true,
        is_buffered: false,
        sync: Sync::Periodic {
            period_s: 10.0,
            block_s: 15.0,
        },
    };
    const BATCH: CommitLog = CommitLog {
        sync: Sync::BeforeAcknowledging,
        ..PERIODIC
    };

    fn level(name: &str, replicas: u64) -> ConsistencyLevel {
        let name = name.to_owned();
        ConsistencyLevel { name, replicas }
    }

    fn blow(nodes: &[&str], loses: DataLoss) -> FailureEvent {
        FailureEvent {
            what: "a blow".to_owned(),
            nodes: nodes.iter().map(|&node| node.to_owned()).collect(),
            loses,
        }
    }

    /// The keyspace has three replicas. Each row contains the numbers of replicas written and read
    /// (W, R), the commit log, the failures, and the expected promise.
    #[test]
    fn a_promise_is_kept_where_a_read_still_meets_a_copy() {
        use DataLoss::{Everything, Memory, Nothing, Order, Unsynced};
        let unused = CommitLog {
            is_used: false,
            ..BATCH
        };
        let buffered = CommitLog {
            is_buffered: true,
            ..PERIODIC
        };
        let (one, two) = (["a"].as_slice(), ["a", "b"].as_slice());
        for (replicas, log, blows, expected) in [
            ((2, 2), Some(PERIODIC), vec![], "kept"),
            ((1, 2), Some(BATCH), vec![], "none"),
            ((1, 3), Some(BATCH), vec![], "kept"),
            ((0, 3), Some(BATCH), vec![], "none"),
            ((2, 2), Some(PERIODIC), vec![(two, Nothing)], "kept"),
            // The node replays a memory-mapped log only up to the last marker, so it loses later
            // writes.
            ((2, 2), Some(PERIODIC), vec![(two, Memory)], "none"),
            ((3, 3), Some(PERIODIC), vec![(one, Memory)], "kept"),
            ((2, 2), Some(BATCH), vec![(two, Memory)], "kept"),
            ((2, 2), Some(buffered), vec![(two, Memory)], "none"),
            ((2, 2), Some(unused), vec![(two, Memory)], "none"),
            ((1, 3), Some(PERIODIC), vec![(one, Unsynced)], "none"),
            ((1, 3), Some(BATCH), vec![(one, Unsynced)], "kept"),
            // A read from two replicas may miss the one replica that still has the write.
            ((2, 2), Some(PERIODIC), vec![(one, Unsynced)], "none"),
            ((2, 3), Some(PERIODIC), vec![(one, Unsynced)], "kept"),
            (
                (2, 3),
                Some(PERIODIC),
                vec![(one, Unsynced), (one, Unsynced)],
                "kept",
            ),
            (
                (2, 3),
                Some(PERIODIC),
                vec![(one, Unsynced), (two, Unsynced)],
                "none",
            ),
            ((3, 2), Some(BATCH), vec![(one, Everything)], "kept"),
            ((2, 2), Some(BATCH), vec![(one, Everything)], "none"),
            ((2, 2), None, vec![(one, Unsynced)], "unknown"),
            ((2, 2), None, vec![(one, Nothing)], "kept"),
            // All replicas have both writes, and agree on the wrong order.
            ((3, 3), Some(BATCH), vec![(one, Order)], "none"),
            ((3, 3), None, vec![(one, Nothing), (one, Order)], "none"),
        ] {
            let of = Configuration {
                copies: 3,
                written: level("W", replicas.0),
                read: level("R", replicas.1),
                commit_log: log,
                blows: blows.iter().map(|(nodes, loses)| blow(nodes, *loses)).collect(),
            };
            let found = promise(&of);
            assert_eq!(found.promised().name(), expected, "{of:?}: {}", found.why());
        }
    }

    #[test]
    fn a_loss_that_is_allowed_says_why() {
        let of = Configuration {
            copies: 3,
            written: level("ONE", 1),
            read: level("ALL", 3),
            commit_log: Some(PERIODIC),
            blows: vec![FailureEvent {
                what: "host-power-off of host2".to_owned(),
                ..blow(&["node2"], DataLoss::Unsynced)
            }],
        };
        assert_eq!(
            promise(&of).why(),
            "host-power-off of host2 loses writes acknowledged since the last sync of its commit \
             log (periodic, every 10 s), on 1 node, and only 1 of 3 replicas had acknowledged each \
             write at ONE"
        );
    }

    #[test]
    fn a_loss_has_an_end_if_only_the_commit_log_explains_it() {
        use DataLoss::{Everything, Memory, Nothing, Order, Unsynced};
        let one = ["a"].as_slice();
        let unused = CommitLog {
            is_used: false,
            ..PERIODIC
        };
        let buffered = CommitLog {
            is_buffered: true,
            ..PERIODIC
        };
        for ((written, read), log, loses, expected) in [
            ((2, 2), Some(PERIODIC), Unsynced, Some(15.0)),
            ((1, 3), Some(PERIODIC), Unsynced, Some(15.0)),
            ((2, 2), Some(buffered), Memory, Some(15.0)),
            ((2, 2), Some(PERIODIC), Memory, Some(1.1)),
            // In these cases, no time limit applies: no write or any write may be lost, or the
            // commit log is unknown.
            ((2, 2), Some(PERIODIC), Nothing, None),
            ((2, 3), Some(PERIODIC), Unsynced, None),
            ((2, 2), Some(BATCH), Unsynced, None),
            ((2, 2), Some(unused), Unsynced, None),
            ((2, 2), Some(PERIODIC), Everything, None),
            ((2, 2), Some(PERIODIC), Order, None),
            ((1, 1), Some(PERIODIC), Unsynced, None),
            ((0, 3), Some(PERIODIC), Unsynced, None),
            ((2, 2), None, Unsynced, None),
        ] {
            let of = Configuration {
                copies: 3,
                written: level("W", written),
                read: level("R", read),
                commit_log: log,
                blows: vec![blow(one, loses)],
            };
            assert_eq!(lost_within_s(&of), expected, "{of:?}");
        }
    }
}
