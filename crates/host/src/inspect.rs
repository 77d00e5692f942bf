//! What a machine is that nodes are to be put on, as both sides know it: asked before anything is
//! made there; and what earlier commands have left there.

use crate::agent::Agent;
use crate::calls::calls;
use crate::remote::FoundJava;
use anyhow::Result;
use kernel::volume::VolumeUse;
use reach::{Offset, TheirClock};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;
use target::{HostSpec, JavaWanted};

/// How long it may take to remove what is ours of a folder: jars and programs.
const CLEAN_LIMIT: Duration = Duration::from_secs(120);

/// So many exchanges about the clock: the shortest of 16 is near the truth on most ways.
const EXCHANGES_COUNT: usize = 16;

calls! {
    Inspect = "say-what-its-machine-is" -> Inspected;
    CleanFolder = "remove-what-is-ours" -> Vec<String>;
}

/// Looks at a machine.
#[derive(Serialize, Deserialize)]
pub struct Inspect {
    /// The folder that everything of ours is below there.
    pub folder: PathBuf,
    /// What it is to be limited to.
    pub limits: HostSpec,
    /// Which Java nodes are to run on.
    pub java: JavaWanted,
}

/// What a machine is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Inspected {
    /// Its kernel and processor: `Linux 6.1.0 x86_64`.
    pub system: String,
    /// Whether the agent is root there.
    pub is_root: bool,
    /// CPUs that may be used.
    pub cpus: usize,
    /// Memory that can be used without swapping, bytes.
    pub memory_available_bytes: u64,
    /// The file system of the folder.
    pub disk: VolumeUse,
    /// Whether that is in memory.
    pub is_in_memory: bool,
    /// A Java for nodes, or why there is none.
    pub java: Result<FoundJava, String>,
    /// Why it cannot be limited as it is to be; none if it can.
    pub lacking: Option<String>,
    /// What is there of clusters.
    pub clusters: Vec<LeftCluster>,
}

/// What is on a machine of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftCluster {
    /// Its id.
    pub id: String,
    /// The name of its host there: `host1`.
    pub host: String,
    /// Whether an agent holds it: then somebody works with it, or it is kept.
    pub is_held: bool,
}

/// Removes what is ours in a folder and is of no cluster: jars, programs, and what commands that
/// were killed have left. The answer: the names of what was removed.
#[derive(Serialize, Deserialize)]
pub struct CleanFolder(pub PathBuf);

/// How far two clocks of a machine are from ours.
#[derive(Clone, Copy, Debug)]
pub struct ClockSeen {
    /// Of its monotonic clock, which readings are lined up by; none if it could not be known.
    pub monotonic: Option<Offset>,
    /// Of its wall clock, by which its nodes stamp writes: ahead of ours, in nanoseconds.
    pub wall_ahead_ns: i64,
    /// How far off that may be, in nanoseconds.
    pub wall_bound_ns: u64,
}

impl Agent {
    /// What its machine is, and how far its clocks are from ours.
    ///
    /// # Errors
    /// The agent is gone, or there is no such folder.
    pub fn inspect(
        &self,
        folder: &Path,
        (limits, java): (&HostSpec, &JavaWanted),
    ) -> Result<(Inspected, ClockSeen)> {
        let mut theirs = TheirClock::default();
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

    /// Removes what is ours in a folder and is of no cluster; the names of what was removed.
    ///
    /// # Errors
    /// Something cannot be removed.
    pub fn clean_folder(&self, folder: &Path) -> Result<Vec<String>> {
        self.call_for(&CleanFolder(folder.to_owned()), CLEAN_LIMIT)
    }
}
