//! Inspection of a machine and of the leftovers of earlier commands, before nodes are placed on
//! the machine. Controller and agent share these types.

use crate::agent::Agent;
use crate::calls::calls;
use crate::remote_host::FoundJava;
use anyhow::Result;
use linux::volume::VolumeUse;
use remote::{ClockOffset, Offset};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;
use target_spec::{HostSpec, JavaWanted};

/// Time limit for removing cassay's jars and programs from a folder.
const CLEAN_LIMIT: Duration = Duration::from_secs(120);

/// Number of exchanges that measure the clock's offset. On most networks, the fastest of 16
/// exchanges measures the offset accurately.
const EXCHANGES_COUNT: usize = 16;

calls! {
    Inspect = "say-what-its-machine-is" -> MachineProperties;
    CleanFolder = "remove-what-is-ours" -> Vec<String>;
}

/// Inspects a machine.
#[derive(Serialize, Deserialize)]
pub struct Inspect {
    /// Folder of all cassay files on the machine.
    pub folder: PathBuf,
    /// Limits that the host will have.
    pub limits: HostSpec,
    /// Requirements of the nodes for Java.
    pub java: JavaWanted,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MachineProperties {
    /// Kernel and architecture of the machine, such as `Linux 6.1.0 x86_64`.
    pub system: String,
    /// True if the agent runs as root.
    pub is_root: bool,
    /// Number of CPUs that the agent may use.
    pub cpus: usize,
    /// Memory that is available without swapping, in bytes.
    pub memory_available_bytes: u64,
    /// Space usage of the file system that contains the folder of the query.
    pub disk: VolumeUse,
    /// True if the file system that contains the folder of the query is in memory.
    pub is_in_memory: bool,
    /// A Java that can run nodes, or the reason why the machine has no such Java.
    pub java: Result<FoundJava, String>,
    /// Reason why the machine cannot apply the limits. `None` if it can apply them.
    pub lacking: Option<String>,
    /// Clusters that exist on the machine.
    pub clusters: Vec<LeftCluster>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftCluster {
    pub id: String,
    /// Name of the cluster's host on this machine, such as `host1`.
    pub host: String,
    /// True if an agent of the cluster runs. In that case a command uses the cluster, or the
    /// cluster is kept.
    pub is_held: bool,
}

/// Removes those of cassay's files in a folder that do not belong to a cluster. These are jars,
/// programs, and leftovers of killed commands. The answer contains the names of the removed files.
#[derive(Serialize, Deserialize)]
pub struct CleanFolder(pub PathBuf);

/// Offsets of the two clocks of another machine from the clocks of this machine.
#[derive(Clone, Copy, Debug)]
pub struct ClockSeen {
    /// Offset of the machine's monotonic clock, which is needed to align readings of several
    /// machines. `None` if the offset could not be measured.
    pub monotonic: Option<Offset>,
    /// Offset of the machine's wall clock in ns, which is positive if that clock is ahead. The
    /// machine's nodes take the timestamps of writes from this clock.
    pub wall_ahead_ns: i64,
    /// Bound on the error of the wall clock's offset, in ns.
    pub wall_bound_ns: u64,
}

impl Agent {
    /// Returns the properties of the agent's machine, and the offsets of its clocks.
    ///
    /// # Errors
    /// The agent has ended, or the folder does not exist.
    pub fn inspect(
        &self,
        folder: &Path,
        (limits, java): (&HostSpec, &JavaWanted),
    ) -> Result<(MachineProperties, ClockSeen)> {
        let mut theirs = ClockOffset::default();
        for _ in 0..EXCHANGES_COUNT {
            self.ask_clock(&mut theirs)?;
        }
        let seen = self.call(&Inspect {
            folder: folder.to_owned(),
            limits: limits.clone(),
            java: java.clone(),
        })?;
        let (wall_ahead_ns, wall_bound_ns) = self.wall_clock()?;
        let clock = ClockSeen {
            monotonic: theirs.offset(),
            wall_ahead_ns,
            wall_bound_ns,
        };
        Ok((seen, clock))
    }

    /// Removes those of cassay's files in a folder that do not belong to a cluster. Returns the
    /// names of the removed files.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn clean_folder(&self, folder: &Path) -> Result<Vec<String>> {
        self.call_for(&CleanFolder(folder.to_owned()), CLEAN_LIMIT)
    }
}
