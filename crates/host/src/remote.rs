//! A machine of its own as a host of nodes, as both sides know it: what is made ready there, what
//! it is asked before nodes start, and what is ended there that an earlier command has left.

use crate::agent::Agent;
use crate::calls::calls;
use anyhow::Result;
use kernel::cgroup::CgroupDir;
use serde::{Deserialize, Serialize};
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::time::Duration;
use target::{HostSpec, JavaWanted};

/// How long it may take to end what an earlier command has left: agents and nodes are killed, a
/// volume unmounted, a tree removed.
const CLEAR_LIMIT: Duration = Duration::from_secs(300);

calls! {
    Settle = "make-it-ready-for-nodes" -> Settled;
    FindJava = "find-a-Java" -> FoundJava;
    TakenPort = "say-whether-ports-are-free" -> Option<String>;
    AvailableMemory = "say-how-much-memory-is-available" -> u64;
    ClearCluster = "end-what-a-cluster-has-left" -> usize;
    FindMarked = "find-processes-by-their-marks" -> Vec<crate::process::Identity>;
}

/// Makes a folder for nodes, and what limits them where that is permitted.
#[derive(Serialize, Deserialize)]
pub struct Settle {
    /// The name of its control groups.
    pub group: String,
    /// Where its volume is mounted, or its plain folder.
    pub folder: PathBuf,
    /// What it is limited to. What its machine does not permit is refused, all of it at once.
    pub limits: HostSpec,
}

/// What was made ready.
#[derive(Serialize, Deserialize)]
pub struct Settled {
    /// Its control groups; none where they are not permitted.
    pub places: Vec<CgroupDir>,
    /// The name of its volume's device; none without a volume.
    pub device: Option<String>,
    /// Whether what is written to its volume goes past the machine's page cache.
    pub is_direct: bool,
    /// Whether its folder is in memory.
    pub is_in_memory: bool,
}

/// Looks for a Java that nodes can run on: which.
#[derive(Serialize, Deserialize)]
pub struct FindJava(pub JavaWanted);

/// A Java of a machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FoundJava {
    /// Its `bin/java`.
    pub program: PathBuf,
    /// What it says of itself: `17.0.15`.
    pub version: String,
    /// All that it says of itself.
    pub build: String,
    /// That the one which comes first was passed over: a sentence.
    pub passed_over: Option<String>,
}

/// Whether one of these addresses is taken, and by whom.
#[derive(Serialize, Deserialize)]
pub struct TakenPort(pub Vec<SocketAddrV4>);

/// How many bytes of memory can be used without swapping.
#[derive(Serialize, Deserialize)]
pub struct AvailableMemory;

/// Ends what is left of a cluster: its agents with their guards, its nodes, its volumes, its
/// groups, its folder. The answer: how many nodes were killed.
#[derive(Serialize, Deserialize)]
pub struct ClearCluster {
    /// Its id.
    pub id: String,
    /// Its folder there.
    pub folder: PathBuf,
    /// The name of its host on this machine.
    pub host: String,
    /// The control groups of that host, as far as they are known.
    pub places: Vec<CgroupDir>,
    /// The argument that tells the processes of its nodes from all others.
    pub mark: String,
}

/// The running JVMs that were started with all these arguments; at least one.
#[derive(Serialize, Deserialize)]
pub struct FindMarked(pub Vec<String>);

impl Agent {
    /// A Java of its machine that nodes can run on.
    ///
    /// # Errors
    /// There is none; which others there are, and how to get one there.
    pub fn find_java(&self, wanted: &JavaWanted) -> Result<FoundJava> {
        self.call(&FindJava(wanted.clone()))
    }

    /// Which of these addresses is taken, and by whom; none if all are free.
    ///
    /// # Errors
    /// The agent is gone.
    pub fn taken_port(&self, addresses: Vec<SocketAddrV4>) -> Result<Option<String>> {
        self.call(&TakenPort(addresses))
    }

    /// How many bytes of memory can be used without swapping.
    ///
    /// # Errors
    /// The agent is gone.
    pub fn available_memory(&self) -> Result<u64> {
        self.call(&AvailableMemory)
    }

    /// The running JVMs that were started with all of `marks`.
    ///
    /// # Errors
    /// The agent is gone.
    pub fn find_marked(&self, marks: Vec<String>) -> Result<Vec<crate::process::Identity>> {
        self.call(&FindMarked(marks))
    }

    /// Ends what is left of a cluster on its machine; how many nodes were killed.
    ///
    /// # Errors
    /// Something does not go.
    pub fn clear_cluster(&self, what: &ClearCluster) -> Result<usize> {
        self.call_for(what, CLEAR_LIMIT)
    }
}

/// The folder of a machine in which jars are, for all clusters.
pub fn supply_folder(folder: &Path) -> PathBuf {
    folder.join("supply")
}
