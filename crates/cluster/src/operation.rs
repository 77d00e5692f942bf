//! Work that a node is told to do by its MBeans, and that takes it a while.

use crate::handle::NodeControl;
use crate::mbeans::{self, STORAGE};
use anyhow::{Context, Result, bail};
use measure::clock::{self, Deadline};
use serde_json::{Value, json};
use std::time::Duration;

/// The MBean of what a node compacts and validates.
const COMPACTIONS: &str = "org.apache.cassandra.db:type=CompactionManager";

/// The MBean of the cluster's metadata, of lines that have a log of it.
const METADATA: &str = "org.apache.cassandra.tcm:type=CMSOperations";

/// Between two looks at a repair, which is not waited for by the one who asks for it.
const REPAIR_POLL: Duration = Duration::from_millis(200);
/// How long a node may take to begin a repair that it has given a number.
const REPAIR_BEGINS: Duration = Duration::from_secs(30);

/// Something that a node is told to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// What tables of keyspaces have in memory is written to disk.
    Flush {
        /// Their names.
        keyspaces: Vec<String>,
    },
    /// All data of keyspaces is compacted into one file per table (or as its strategy has it).
    Compact {
        /// Their names.
        keyspaces: Vec<String>,
    },
    /// The compactions that run now are stopped.
    StopCompactions,
    /// All that the node has of keyspaces is compared with its other replicas, and differences are
    /// streamed: a full repair, of one keyspace after the other.
    Repair {
        /// Their names.
        keyspaces: Vec<String>,
    },
    /// The repairs that the node has begun are ended.
    StopRepairs,
    /// A snapshot is made of all tables of keyspaces.
    Snapshot {
        /// Its name.
        tag: String,
        /// Their names.
        keyspaces: Vec<String>,
    },
    /// A snapshot is removed, if it is there.
    ClearSnapshot {
        /// Its name.
        tag: String,
        /// The names of its keyspaces.
        keyspaces: Vec<String>,
    },
    /// A step of an upgrade is made.
    Upgrade(UpgradeStep),
    /// It leaves the ring, and streams its data to those who own it then; though copies become
    /// fewer than a keyspace asks for.
    Decommission,
    /// It takes another node out of the ring that is down, whose data the others stream to each
    /// other.
    RemoveNode {
        /// The other one's.
        host_id: String,
    },
}

/// What a node is told while it is brought to another release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpgradeStep {
    /// It takes no more writes, and writes what it has in memory to files.
    Drain,
    /// All files of keyspaces are written anew that are not in the newest format that it writes.
    Sstables {
        /// Their names.
        keyspaces: Vec<String>,
    },
    /// The log of the cluster's metadata begins: the last step to a line that has it.
    BeginMetadataLog,
}

impl NodeControl {
    /// Tells a node to do something, and waits until it has; what it said of it.
    ///
    /// # Errors
    /// It refuses, fails, or has not done it within `limit`.
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
                self.told(limit, COMPACTIONS, STOP, &[json!("COMPACTION")])
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
                        "{} one replica only: there is nothing that it could be compared with",
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
                self.told(limit, STORAGE, "forceTerminateAllRepairSessions", &[])
            }
            Operation::Snapshot { tag, keyspaces } => {
                const TAKE: &str =
                    "takeSnapshot(java.lang.String,java.util.Map,[Ljava.lang.String;)";
                self.told(
                    limit,
                    STORAGE,
                    TAKE,
                    &[json!(tag), json!({}), json!(keyspaces)],
                )?;
                Ok(format!("a snapshot of {} was made", keyspaces.join(", ")))
            }
            Operation::ClearSnapshot { tag, keyspaces } => {
                let agent = self.0.with_limit(limit);
                let mut all = keyspaces.iter();
                all.try_for_each(|keyspace| mbeans::clear_snapshot(&agent, tag, keyspace))?;
                Ok("it was removed".to_owned())
            }
            Operation::Upgrade(step) => self.upgrade(step, deadline),
            Operation::Decommission => {
                self.told(limit, STORAGE, "decommission(boolean)", &[json!(true)])?;
                Ok("it has left the ring".to_owned())
            }
            Operation::RemoveNode { host_id } => {
                const REMOVE: &str = "removeNode(java.lang.String)";
                self.told(limit, STORAGE, REMOVE, &[json!(host_id)])?;
                Ok(format!("{host_id} was taken out of the ring"))
            }
        }
    }

    fn upgrade(&self, step: &UpgradeStep, deadline: Deadline) -> Result<String> {
        match step {
            UpgradeStep::Drain => {
                self.told(deadline.left(), STORAGE, "drain", &[])?;
                Ok("it has drained".to_owned())
            }
            UpgradeStep::Sstables { keyspaces } => {
                const UPGRADE: &str =
                    "upgradeSSTables(java.lang.String,boolean,int,[Ljava.lang.String;)";
                for keyspace in keyspaces {
                    // Without those that have the format, as many at once as it compacts.
                    let arguments = [json!(keyspace), json!(true), json!(0), json!([])];
                    self.told(deadline.left(), STORAGE, UPGRADE, &arguments)?;
                }
                Ok(format!(
                    "upgradesstables has ended for {}",
                    keyspaces.join(" and ")
                ))
            }
            UpgradeStep::BeginMetadataLog => {
                const BEGIN: &str = "initializeCMS(java.util.List)";
                self.told(deadline.left(), METADATA, BEGIN, &[json!([])])?;
                Ok("the log of the cluster's metadata has begun".to_owned())
            }
        }
    }

    /// The keyspaces with replicas on other nodes: those of clients or, if there are none,
    /// Cassandra's own.
    ///
    /// # Errors
    /// It does not tell within `limit`.
    pub fn keyspaces(&self, limit: Duration) -> Result<Vec<String>> {
        let answer = self.0.with_limit(limit).read(&[(STORAGE, "NonLocalStrategyKeyspaces")])?;
        let names = answer
            .first()
            .and_then(|value| value.as_ref()?.as_array())
            .context("a node does not list NonLocalStrategyKeyspaces")?;
        let names = names.iter().filter_map(|name| Some(name.as_str()?.to_owned()));
        let (own, mut others): (Vec<_>, Vec<_>) = names.partition(|name| is_own(name));
        if others.is_empty() {
            others = own;
        }
        others.sort_unstable();
        Ok(others)
    }

    /// Does something to one keyspace after the other, as long as there is time.
    fn each(
        &self,
        keyspaces: &[String],
        deadline: Deadline,
        mut what: impl FnMut(&KeyspaceWork<'_>) -> Result<()>,
    ) -> Result<()> {
        for keyspace in keyspaces {
            if deadline.passed() {
                bail!("there was no time for {keyspace} any more");
            }
            what(&KeyspaceWork {
                control: self,
                keyspace,
                deadline,
            })?;
        }
        Ok(())
    }

    fn told(
        &self,
        limit: Duration,
        mbean: &str,
        operation: &str,
        arguments: &[Value],
    ) -> Result<String> {
        let agent = self.0.with_limit(limit);
        agent.call(mbean, operation, arguments)?;
        Ok("it was told so".to_owned())
    }
}

const STOP: &str = "stopCompaction";

/// Whether a keyspace is one of Cassandra's own.
pub fn is_own(keyspace: &str) -> bool {
    keyspace.starts_with("system")
}

/// `a, b were`.
fn were(names: &[String]) -> String {
    let verb = if names.len() == 1 { "was" } else { "were" };
    format!("{} {verb}", names.join(", "))
}

/// One keyspace of several, and the time that there is for all of them.
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

    /// Whether there was anything to be repaired: of a keyspace with one replica there is not.
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
                // The number is given before the thread of the repair runs, which makes it known.
                None if !begin.passed() => {}
                None => bail!(
                    "the node knows nothing of its repair {number} of {}",
                    self.keyspace
                ),
                Some(Some((&"IN_PROGRESS", _))) => {}
                Some(Some((&"COMPLETED", _))) => return Ok(true),
                Some(_) => bail!(
                    "the repair of {} has failed: {}",
                    self.keyspace,
                    words.unwrap_or_default().join(": ")
                ),
            }
            if self.deadline.passed() {
                bail!("the repair of {} was not over in time", self.keyspace);
            }
            clock::sleep(REPAIR_POLL);
        }
    }
}
