//! Inspection of a machine before nodes are placed on it, and of leftovers of earlier commands on
//! it, in the form that both sides use.

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

/// Number of exchanges that measure the clock's offset. On most networks, the shortest of 16 is
/// close to the truth.
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
    /// Limits of the host.
    pub limits: HostSpec,
    /// Java that the nodes need.
    pub java: JavaWanted,
}

/// Properties of a machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MachineProperties {
    /// Kernel and architecture: `Linux 6.1.0 x86_64`.
    pub system: String,
    /// True if the agent runs as root.
    pub is_root: bool,
    /// Number of usable CPUs.
    pub cpus: usize,
    /// Memory available without swapping, bytes.
    pub memory_available_bytes: u64,
    /// Use of the folder's file system.
    pub disk: VolumeUse,
    /// True if that file system is in memory.
    pub is_in_memory: bool,
    /// A Java for nodes, or the reason why there is none.
    pub java: Result<FoundJava, String>,
    /// Reason why the limits cannot be applied. `None` if they can.
    pub lacking: Option<String>,
    /// Clusters that exist on the machine.
    pub clusters: Vec<LeftCluster>,
}

/// A cluster on a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftCluster {
    /// Id of the cluster.
    pub id: String,
    /// Name of its host on this machine: `host1`.
    pub host: String,
    /// True if an agent holds it: then a command uses it, or it is kept.
    pub is_held: bool,
}

/// Removes cassay's files that belong to no cluster from a folder: jars, programs, and leftovers of
/// killed commands. Returns the names of the removed files.
#[derive(Serialize, Deserialize)]
pub struct CleanFolder(pub PathBuf);

/// Offsets of a machine's two clocks from the clocks of this machine.
#[derive(Clone, Copy, Debug)]
pub struct ClockSeen {
    /// Offset of its monotonic clock, which aligns readings. `None` if it could not be measured.
    pub monotonic: Option<Offset>,
    /// Offset of its wall clock, which gives its nodes' writes their timestamps; positive if ahead,
    /// ns.
    pub wall_ahead_ns: i64,
    /// Error bound of the wall clock's offset, ns.
    pub wall_bound_ns: u64,
}

impl Agent {
    /// Returns the properties of its machine, and the offsets of its clocks.
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

    /// Removes cassay's files that belong to no cluster from a folder. Returns the names of the
    /// removed files.
    ///
    /// # Errors
    /// Something cannot be removed.
    pub fn clean_folder(&self, folder: &Path) -> Result<Vec<String>> {
        self.call_for(&CleanFolder(folder.to_owned()), CLEAN_LIMIT)
    }
}
