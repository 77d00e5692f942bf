//! Calls for remote machines that host nodes. They prepare a machine, check it before nodes start,
//! and remove the leftovers of an earlier command.

use crate::agent::Agent;
use crate::calls::calls;
use anyhow::Result;
use linux::cgroup::CgroupDir;
use serde::{Deserialize, Serialize};
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::time::Duration;
use target_spec::{HostSpec, JavaWanted};

/// Time limit for removing the leftovers of an earlier command. The limit covers killing agents and
/// nodes, unmounting a volume, and removing a tree.
const CLEAR_LIMIT: Duration = Duration::from_secs(300);

calls! {
    Settle = "make-it-ready-for-nodes" -> SettleResult;
    FindJava = "find-a-Java" -> FoundJava;
    TakenPort = "say-whether-ports-are-free" -> Option<String>;
    AvailableMemory = "say-how-much-memory-is-available" -> u64;
    ClearCluster = "end-what-a-cluster-has-left" -> usize;
    FindMarked = "find-processes-by-their-marks" -> Vec<crate::process::Identity>;
}

/// Creates a folder for nodes, and sets the limits that the machine permits.
#[derive(Serialize, Deserialize)]
pub struct Settle {
    /// Name of the host's control groups.
    pub group: String,
    /// Mount point of the host's volume, or the host's folder if it has no volume.
    pub folder: PathBuf,
    /// Limits of the host. If the machine does not permit some of these limits, the agent refuses
    /// the call, and reports all unsupported limits together.
    pub limits: HostSpec,
}

/// Result of [`Settle`].
#[derive(Serialize, Deserialize)]
pub struct SettleResult {
    /// Control groups of the host. The list is empty if the machine does not permit control groups.
    pub places: Vec<CgroupDir>,
    /// Device name of the host's volume. `None` if the host has no volume.
    pub device: Option<String>,
    /// True if writes to the host's volume bypass the page cache of the machine.
    pub is_direct: bool,
    /// True if the host's folder is on a file system in memory.
    pub is_in_memory: bool,
}

/// Finds a Java that can run nodes.
#[derive(Serialize, Deserialize)]
pub struct FindJava(pub JavaWanted);

/// A Java on a machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FoundJava {
    /// Path of the program `bin/java`.
    pub program: PathBuf,
    /// Version that the Java reports, such as `17.0.15`.
    pub version: String,
    /// Complete version text that the Java reports.
    pub build: String,
    /// Sentence about an unsuitable Java that cassay found before this one, if any.
    pub passed_over: Option<String>,
}

/// Requests the first of these addresses that is in use, and the process that uses this address.
#[derive(Serialize, Deserialize)]
pub struct TakenPort(pub Vec<SocketAddrV4>);

/// Requests the amount of memory that is available without swapping, in bytes.
#[derive(Serialize, Deserialize)]
pub struct AvailableMemory;

/// Removes the remains of a cluster: agents with their guards, nodes, volumes, control groups, and
/// the folder. The answer is the number of killed nodes.
#[derive(Serialize, Deserialize)]
pub struct ClearCluster {
    pub id: String,
    /// Folder of the cluster on this machine.
    pub folder: PathBuf,
    /// Name of the cluster's host on this machine.
    pub host: String,
    /// Known control groups of the host.
    pub places: Vec<CgroupDir>,
    /// Argument that marks the processes of the cluster's nodes.
    pub mark: String,
}

/// Requests the running JVMs that have all these arguments. At least one argument is required.
#[derive(Serialize, Deserialize)]
pub struct FindMarked(pub Vec<String>);

impl Agent {
    /// Returns a Java on the agent's machine that can run nodes.
    ///
    /// # Errors
    /// The host has no suitable Java. The message lists the unsuitable installations, and explains
    /// how to install a suitable Java.
    pub fn find_java(&self, wanted: &JavaWanted) -> Result<FoundJava> {
        self.call(&FindJava(wanted.clone()))
    }

    /// Returns the first of these addresses that is in use, and the process that uses this address.
    /// Returns `None` if all addresses are free.
    ///
    /// # Errors
    /// The agent has ended.
    pub fn taken_port(&self, addresses: Vec<SocketAddrV4>) -> Result<Option<String>> {
        self.call(&TakenPort(addresses))
    }

    /// Returns the amount of memory that is available without swapping, in bytes.
    ///
    /// # Errors
    /// The agent has ended.
    pub fn available_memory(&self) -> Result<u64> {
        self.call(&AvailableMemory)
    }

    /// Returns the running JVMs whose arguments include all of `marks`.
    ///
    /// # Errors
    /// The agent has ended.
    pub fn find_marked(&self, marks: Vec<String>) -> Result<Vec<crate::process::Identity>> {
        self.call(&FindMarked(marks))
    }

    /// Ends the remains of a cluster on the agent's machine. Returns the number of killed nodes.
    ///
    /// # Errors
    /// The cluster cannot be removed completely.
    pub fn clear_cluster(&self, what: &ClearCluster) -> Result<usize> {
        self.call_for(what, CLEAR_LIMIT)
    }
}

/// Returns the folder of a machine that contains the jars for all clusters.
pub fn supply_folder(folder: &Path) -> PathBuf {
    folder.join("supply")
}
