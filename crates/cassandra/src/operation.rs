//! Long-running operations that a node performs through its MBeans.

use crate::fault_handle::NodeControl;
use crate::mbeans::{self, STORAGE};
use anyhow::{Context, Result, bail};
use measure::clock::{self, Deadline};
use serde_json::{Value, json};
use std::time::Duration;

const COMPACTIONS: &str = "org.apache.cassandra.db:type=CompactionManager";

/// MBean of the cluster metadata log. Only releases with this log have the MBean.
const METADATA: &str = "org.apache.cassandra.tcm:type=CMSOperations";

/// Interval between two status checks of a repair, which runs asynchronously.
const REPAIR_POLL: Duration = Duration::from_millis(200);
/// Time limit for a new repair to appear in the status of repair sessions.
const REPAIR_BEGINS: Duration = Duration::from_secs(30);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    Flush {
        keyspaces: Vec<String>,
    },
    /// Compacts all data of keyspaces. Each table then has one SSTable, or the number that its
    /// compaction strategy determines.
    Compact {
        keyspaces: Vec<String>,
    },
    StopCompactions,
    /// Runs full repairs of the keyspaces, one after the other. A repair covers all token ranges
    /// that the node replicates.
    Repair {
        keyspaces: Vec<String>,
    },
    /// Ends all repairs that the node has started.
    StopRepairs,
    /// Takes a snapshot of all tables of keyspaces.
    Snapshot {
        tag: String,
        keyspaces: Vec<String>,
    },
    ClearSnapshot {
        tag: String,
        keyspaces: Vec<String>,
    },
    Upgrade(UpgradeStep),
    /// Decommissions the node, even if fewer nodes remain than the replication factor requires.
    Decommission,
    /// Removes another node, which is down, from the ring. The remaining nodes stream the data of
    /// the removed node from its other replicas.
    RemoveNode {
        host_id: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpgradeStep {
    /// Drains the node.
    Drain,
    /// Upgrades the SSTables of keyspaces that are not in the newest format.
    Sstables { keyspaces: Vec<String> },
    /// Initialises the cluster metadata log. This is the last step of an upgrade to a release with
    /// this log.
    BeginMetadataLog,
}

impl NodeControl {
    /// Performs an operation and waits until its end. Returns a description of the result.
    ///
    /// # Errors
    /// The node refuses the operation, the operation fails, or it does not end within `limit`.
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

    /// Returns the keyspaces with replicas on other nodes. Cassandra's own keyspaces are included
    /// only if the node has no other such keyspaces.
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

    /// Performs an action on one keyspace after the other. Fails if the deadline has passed before
    /// the last keyspace.
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

pub fn is_own(keyspace: &str) -> bool {
    keyspace.starts_with("system")
}

/// Returns the beginning of a sentence about the names, such as `a, b were`.
fn were(names: &[String]) -> String {
    let verb = if names.len() == 1 { "was" } else { "were" };
    format!("{} {verb}", names.join(", "))
}

/// Operation on one of several keyspaces, which share the deadline.
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
                // The server returns the repair's number before its repair thread registers the
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
