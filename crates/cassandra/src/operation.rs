//! Long-running operations that a node performs through its MBeans.

use crate::fault_handle::NodeControl;
use crate::mbeans::{self, STORAGE};
use anyhow::{Context, Result, bail};
use measure::clock::{self, Deadline};
use serde_json::{Value, json};
use std::time::Duration;

/// MBean that reports compactions and validations.
const COMPACTIONS: &str = "org.apache.cassandra.db:type=CompactionManager";

/// MBean of the cluster metadata log. It exists only in releases with this log.
const METADATA: &str = "org.apache.cassandra.tcm:type=CMSOperations";

/// Interval between two status checks of a repair. The checks are necessary because a repair runs
/// asynchronously.
const REPAIR_POLL: Duration = Duration::from_millis(200);
/// Time limit for a new repair to appear in the node's list of repairs.
const REPAIR_BEGINS: Duration = Duration::from_secs(30);

/// An operation on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Flushes the memtables of keyspaces.
    Flush {
        /// Names of the keyspaces.
        keyspaces: Vec<String>,
    },
    /// Compacts all data of keyspaces. Each table then has one SSTable, or the number that its
    /// compaction strategy determines.
    Compact {
        /// Names of the keyspaces.
        keyspaces: Vec<String>,
    },
    /// Stops the running compactions.
    StopCompactions,
    /// Runs a full repair of one keyspace after the other. Compares all data of the node with its
    /// replicas on other nodes, and streams the differences.
    Repair {
        /// Names of the keyspaces.
        keyspaces: Vec<String>,
    },
    /// Ends all repairs that the node has begun.
    StopRepairs,
    /// Takes a snapshot of all tables of keyspaces.
    Snapshot {
        /// Name of the snapshot.
        tag: String,
        /// Names of the keyspaces.
        keyspaces: Vec<String>,
    },
    /// Removes a snapshot, if it exists.
    ClearSnapshot {
        /// Name of the snapshot.
        tag: String,
        /// Names of the keyspaces.
        keyspaces: Vec<String>,
    },
    /// Performs a step of an upgrade.
    Upgrade(UpgradeStep),
    /// Leaves the ring and streams the data to the new owners, even if the remaining nodes are too
    /// few for the replication factor.
    Decommission,
    /// Removes another node, which is down, from the ring. The remaining nodes stream the data of
    /// that node among each other.
    RemoveNode {
        /// Host id of the node to remove.
        host_id: String,
    },
}

/// A step of an upgrade that a node performs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpgradeStep {
    /// Stops accepting writes, and flushes all memtables.
    Drain,
    /// Rewrites the SSTables of keyspaces that are not in the newest format.
    Sstables {
        /// Names of the keyspaces.
        keyspaces: Vec<String>,
    },
    /// Begins the cluster metadata log. This is the last step of an upgrade to a release that has
    /// this log.
    BeginMetadataLog,
}

impl NodeControl {
    /// Performs an operation and waits until it has ended. Returns a description of the result.
    ///
    /// # Errors
    /// The node refuses the operation, fails, or does not finish it within `limit`.
    pub fn perform(&self, what: &Operation, limit: Duration) -> Result<String> {
        let deadline = Deadline::after(limit);
        match what {
            Operation::Flush { keyspaces } => {
                self.each(keyspaces, deadline, |one| one.flush())?;
                Ok(format!("{} flushed", were(keyspaces)))
            }
            Operation::Compact { keyspaces } => {
                self.each(keyspaces, deadline, |one| one.compact())?;
                Ok(format!("{} compacted", were(keyspaces)))
            }
            Operation::StopCompactions => {
                self.invoke(limit, COMPACTIONS, STOP, &[json!("COMPACTION")])
            }
            Operation::Repair { keyspaces } => {
                let mut repaired = Vec::new();
                self.each(keyspaces, deadline, |one| {
                    if one.repair()? {
                        repaired.push(one.keyspace.to_owned());
                    }
                    Ok(())
                })?;
                if repaired.is_empty() {
                    bail!(
                        "{} only one replica, so a repair has no other replica to compare with",
                        match keyspaces.len() {
                            1 => format!("{} has", keyspaces[0]),
                            _ => format!("{} have", keyspaces.join(", ")),
                        }
                    )
                } else {
                    Ok(format!("{} repaired", were(&repaired)))
                }
            }
            Operation::StopRepairs => {
                self.invoke(limit, STORAGE, "forceTerminateAllRepairSessions", &[])
            }
            Operation::Snapshot { tag, keyspaces } => {
                const TAKE: &str =
                    "takeSnapshot(java.lang.String,java.util.Map,[Ljava.lang.String;)";
                self.invoke(
                    limit,
                    STORAGE,
                    TAKE,
                    &[json!(tag), json!({}), json!(keyspaces)],
                )?;
                Ok(format!(
                    "the node created a snapshot of {}",
                    keyspaces.join(", ")
                ))
            }
            Operation::ClearSnapshot { tag, keyspaces } => {
                let agent = self.0.with_limit(limit);
                let mut all = keyspaces.iter();
                all.try_for_each(|keyspace| mbeans::clear_snapshot(&agent, tag, keyspace))?;
                Ok("the snapshot was removed".to_owned())
            }
            Operation::Upgrade(step) => self.upgrade(step, deadline),
            Operation::Decommission => {
                self.invoke(limit, STORAGE, "decommission(boolean)", &[json!(true)])?;
                Ok("the node left the ring".to_owned())
            }
            Operation::RemoveNode { host_id } => {
                const REMOVE: &str = "removeNode(java.lang.String)";
                self.invoke(limit, STORAGE, REMOVE, &[json!(host_id)])?;
                Ok(format!("{host_id} was removed from the ring"))
            }
        }
    }

    fn upgrade(&self, step: &UpgradeStep, deadline: Deadline) -> Result<String> {
        match step {
            UpgradeStep::Drain => {
                self.invoke(deadline.left(), STORAGE, "drain", &[])?;
                Ok("the node has drained".to_owned())
            }
            UpgradeStep::Sstables { keyspaces } => {
                const UPGRADE: &str =
                    "upgradeSSTables(java.lang.String,boolean,int,[Ljava.lang.String;)";
                for keyspace in keyspaces {
                    // With these arguments, the server skips SSTables in the newest format, and
                    // runs as many jobs as it has compactors.
                    let arguments = [json!(keyspace), json!(true), json!(0), json!([])];
                    self.invoke(deadline.left(), STORAGE, UPGRADE, &arguments)?;
                }
                Ok(format!(
                    "upgradesstables has ended for {}",
                    keyspaces.join(" and ")
                ))
            }
            UpgradeStep::BeginMetadataLog => {
                const BEGIN: &str = "initializeCMS(java.util.List)";
                self.invoke(deadline.left(), METADATA, BEGIN, &[json!([])])?;
                Ok("the cluster has initialized the cluster metadata log".to_owned())
            }
        }
    }

    /// Returns the keyspaces that have replicas on other nodes. Returns the keyspaces of clients
    /// or, if the node has none, Cassandra's own keyspaces.
    ///
    /// # Errors
    /// The node does not answer within `limit`.
    pub fn keyspaces(&self, limit: Duration) -> Result<Vec<String>> {
        let answer = self.0.with_limit(limit).read(&[(STORAGE, "NonLocalStrategyKeyspaces")])?;
        let names = answer
            .first()
            .and_then(|value| value.as_ref()?.as_array())
            .context("the node does not report NonLocalStrategyKeyspaces, its list of keyspaces")?;
        let names = names.iter().filter_map(|name| Some(name.as_str()?.to_owned()));
        let (own, mut others): (Vec<_>, Vec<_>) = names.partition(|name| is_own(name));
        if others.is_empty() {
            others = own;
        }
        others.sort_unstable();
        Ok(others)
    }

    /// Performs an action on one keyspace after the other, within the deadline.
    fn each(
        &self,
        keyspaces: &[String],
        deadline: Deadline,
        mut what: impl FnMut(&KeyspaceWork<'_>) -> Result<()>,
    ) -> Result<()> {
        for keyspace in keyspaces {
            if deadline.passed() {
                bail!("the time limit ended before the operation began with {keyspace}");
            }
            what(&KeyspaceWork {
                control: self,
                keyspace,
                deadline,
            })?;
        }
        Ok(())
    }

    fn invoke(
        &self,
        limit: Duration,
        mbean: &str,
        operation: &str,
        arguments: &[Value],
    ) -> Result<String> {
        let agent = self.0.with_limit(limit);
        agent.call(mbean, operation, arguments)?;
        Ok("the node accepted the request".to_owned())
    }
}

const STOP: &str = "stopCompaction";

/// Returns true if the keyspace belongs to Cassandra itself.
pub fn is_own(keyspace: &str) -> bool {
    keyspace.starts_with("system")
}

/// Returns the beginning of a sentence about the names, such as `a, b were`.
fn were(names: &[String]) -> String {
    let verb = if names.len() == 1 { "was" } else { "were" };
    format!("{} {verb}", names.join(", "))
}

/// An operation on one of several keyspaces. The deadline applies to all of them together.
struct KeyspaceWork<'a> {
    control: &'a NodeControl,
    keyspace: &'a str,
    deadline: Deadline,
}

impl KeyspaceWork<'_> {
    fn call(&self, operation: &str, arguments: &[Value]) -> Result<Value> {
        let agent = self.control.0.with_limit(self.deadline.left());
        agent.call(STORAGE, operation, arguments)
    }

    fn flush(&self) -> Result<()> {
        const FLUSH: &str = "forceKeyspaceFlush(java.lang.String,[Ljava.lang.String;)";
        let flushed = self.call(FLUSH, &[json!(self.keyspace), json!([])]);
        flushed.map(drop).with_context(|| format!("flush {}", self.keyspace))
    }

    fn compact(&self) -> Result<()> {
        const COMPACT: &str =
            "forceKeyspaceCompaction(boolean,java.lang.String,[Ljava.lang.String;)";
        let arguments = [json!(false), json!(self.keyspace), json!([])];
        let compacted = self.call(COMPACT, &arguments);
        compacted.map(drop).with_context(|| format!("compact {}", self.keyspace))
    }

    /// Repairs the keyspace. Returns false if no repair is necessary, for example because each row
    /// has only one replica.
    fn repair(&self) -> Result<bool> {
        const REPAIR: &str = "repairAsync(java.lang.String,java.util.Map)";
        let options = json!({"incremental": "false", "primaryRange": "false"});
        let number = self
            .call(REPAIR, &[json!(self.keyspace), options])
            .with_context(|| format!("repair {}", self.keyspace))?;
        if number == 0 {
            return Ok(false);
        }
        let begin = Deadline::after(REPAIR_BEGINS);
        loop {
            let status = self.call("getParentRepairStatus(int)", std::slice::from_ref(&number))?;
            let words: Option<Vec<&str>> = match &status {
                Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect()),
                _ => None,
            };
            match words.as_deref().map(<[_]>::split_first) {
                // The server returns the number of a repair before its repair thread registers the
                // repair.
                None if !begin.passed() => {}
                None => bail!(
                    "the node does not report the state of repair {number} of {}",
                    self.keyspace
                ),
                Some(Some((&"IN_PROGRESS", _))) => {}
                Some(Some((&"COMPLETED", _))) => return Ok(true),
                Some(_) => bail!(
                    "the repair of {} failed: {}",
                    self.keyspace,
                    words.unwrap_or_default().join(": ")
                ),
            }
            if self.deadline.passed() {
                bail!("the repair of {} did not finish in time", self.keyspace);
            }
            clock::sleep(REPAIR_POLL);
        }
    }
}
