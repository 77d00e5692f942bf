//! Queries of a host's state, to verify faults independently. Its agent queries the kernel, or
//! tries the action.

use crate::agent::Agent;
use crate::faults::Broken;
use crate::files::Bytes;
use crate::invocation::ProgramResult;
use crate::process::Identity;
use anyhow::Result;
use linux::disk_work::DiskWork;
use linux::mounts::MountedFileSystem;
use linux::packet_filter::Link;
use linux::tcp::Reach;
use linux::volume::VolumeUse;
use remote::Call;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use target_spec::Invocation;

/// A query of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Query {
    /// State of a process; answered by [`QueryAnswer::Process`].
    Process(Identity),
    /// Open files of a process; answered by [`QueryAnswer::Descriptors`].
    Descriptors(Identity),
    /// CPU time that the host gets under full load: an additional thread works there for this time,
    /// ms. Answered by [`QueryAnswer::Cpu`].
    Cpu(u64),
    /// Attempt of a TCP connection from the host; answered by [`QueryAnswer::Reach`].
    Reach {
        /// Address to connect to.
        address: SocketAddr,
        /// Time limit of the attempt.
        limit: Duration,
    },
    /// Number of successful connections out of several, see [`Reach::count`]; answered by
    /// [`QueryAnswer::Open`].
    Tries {
        /// Address to connect to.
        address: SocketAddr,
        /// Number of attempts.
        tries: u32,
        /// Time limit of each attempt.
        limit: Duration,
    },
    /// Duration of sending data from the host to a host that listens with [`Agent::receive`];
    /// answered by [`QueryAnswer::Transfer`].
    Transfer {
        /// Address to connect to.
        address: SocketAddr,
        /// Number of bytes.
        bytes: u64,
        /// Time limit of the transfer.
        limit: Duration,
    },
    /// A link of the switch; answered by [`QueryAnswer::Link`].
    Port(Link),
    /// The link of the host; answered by [`QueryAnswer::Link`].
    Link,
    /// Packets that one fault has dropped, on the switch or on a host with its machine's own
    /// network, as counted by the packet filter. Answered by [`QueryAnswer::Dropped`].
    Dropped(Broken),
    /// TCP connections of the host that ended by a reset; answered by [`QueryAnswer::Resets`].
    Resets,
    /// Disk test by a process of the host: it writes to an unnamed file and syncs it, and reads,
    /// bypassing all caches. Answered by [`QueryAnswer::Disk`].
    TryDisk {
        /// A folder on that disk.
        folder: PathBuf,
        /// Amount to write and read.
        work: DiskWork,
        /// Time limit, after which the result is [`Attempt::Silent`].
        limit: Duration,
    },
    /// Existence of a fault on the host's volume, other than slowness. It excludes further faults.
    /// Answered by [`QueryAnswer::VolumeTaken`].
    VolumeTaken,
    /// Free space on the disk of a folder; answered by [`QueryAnswer::Space`].
    Space {
        /// Path of the folder.
        folder: PathBuf,
    },
    /// File system mounted at a folder; answered by [`QueryAnswer::Mount`].
    Mount {
        /// Path of the folder.
        folder: PathBuf,
    },
    /// Bytes of a file, cached and on disk; answered by [`QueryAnswer::Bytes`].
    Bytes {
        /// Path of the file.
        path: PathBuf,
        /// Offset of the first byte.
        at: u64,
        /// Number of bytes, at most 256 KiB.
        bytes: u64,
    },
    /// Result of a program; answered by [`QueryAnswer::Command`].
    Command {
        /// Program with arguments and working directory.
        what: Invocation,
        /// Time after which it is killed.
        limit: Duration,
    },
}

/// Result of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Attempt {
    /// It succeeded, and took this time.
    Took(Duration),
    /// The machine refused the attempt with this error number.
    Refused(i32),
    /// It had no result in time.
    Silent,
    /// There was no object for the attempt.
    None,
}

/// Answer to a query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum QueryAnswer {
    /// State letter, as in `ps`. `None` if the process has ended.
    Process(Option<char>),
    /// File descriptors of a process.
    Descriptors {
        /// Free descriptors below its limit.
        free: u64,
        /// Open descriptors.
        open: u64,
    },
    /// CPU time of all processes on the host, in cores.
    Cpu(f64),
    /// Result of the connection attempt.
    Reach(Reach),
    /// True if the volume has such a fault.
    VolumeTaken(bool),
    /// Number of connections that succeeded, including the answer.
    Open(u32),
    /// Time until all data had arrived. `None` if it took longer than the limit.
    Transfer(Option<Duration>),
    /// State of a link, from the kernel.
    Link {
        /// True if it is administratively up.
        is_up: bool,
        /// True if its other end is also up, so its cable is plugged in.
        has_carrier: bool,
        /// Received packets since its creation.
        received_packets: u64,
        /// Sent packets since its creation.
        sent_packets: u64,
    },
    /// Number of packets that each loss has dropped, in order. Empty if this fault drops none.
    Dropped(Vec<u64>),
    /// Resets since the host was created.
    Resets {
        /// Connections that ended by a reset from either side.
        connections: u64,
        /// Resets that were sent, even without a connection.
        sent: u64,
    },
    /// Result of a disk test.
    Disk {
        /// Opening a new file, writing a block and syncing it.
        write: Attempt,
        /// Opening an existing file and reading its first block, bypassing all caches. If there is
        /// no other file, this is the file from the write test.
        read: Attempt,
    },
    /// Use of the file system, frozen or not.
    Space(VolumeUse),
    /// Mounted file system. `None` if nothing is mounted.
    Mount(Option<MountedFileSystem>),
    /// Bytes of a file, or the error number of reading them.
    Bytes {
        /// Bytes as a reader gets them, from the page cache if cached.
        cached: Result<Bytes, i32>,
        /// Bytes on disk.
        on_disk: Result<Bytes, i32>,
    },
    /// Result of the program.
    Command(ProgramResult),
}

/// Makes a query.
#[derive(Serialize, Deserialize)]
pub struct RunQuery {
    /// Query to answer.
    pub what: Query,
}

impl Call for RunQuery {
    const NAME: &'static str = "see";
    type Answer = QueryAnswer;
}

/// Receives the data of one connection, and confirms its amount at the end.
#[derive(Serialize, Deserialize)]
pub struct Receive {
    /// Time limit, ms.
    pub limit_ms: u64,
}

impl Call for Receive {
    const NAME: &'static str = "receive";
    type Answer = u16;
}

impl Agent {
    /// Queries its host. A query that may take long includes its own time limit.
    ///
    /// # Errors
    /// The agent has ended, or the kernel does not answer.
    pub fn see(&self, what: Query) -> Result<QueryAnswer> {
        let limit = what.limit();
        self.call_for(&RunQuery { what }, limit)
    }

    /// Returns a port on which its host receives the data of one connection, for at most `limit`:
    /// the counterpart of [`Query::Transfer`].
    ///
    /// # Errors
    /// The agent has ended, or no port is free.
    pub fn receive(&self, limit: Duration) -> Result<u16> {
        let limit_ms = limit.as_millis() as u64;
        self.call(&Receive { limit_ms })
    }
}

/// Additional time limit of the agent's answer, besides the query's own.
const LIMIT: Duration = Duration::from_secs(10);

impl Query {
    fn limit(&self) -> Duration {
        LIMIT.saturating_add(match self {
            Query::Reach { limit, .. } | Query::Transfer { limit, .. } => *limit,
            Query::Tries { tries, limit, .. } => Reach::limit(*tries, *limit),
            Query::Cpu(ms) => Duration::from_millis(*ms),
            Query::TryDisk { limit, .. } | Query::Command { limit, .. } => *limit,
            _ => Duration::ZERO,
        })
    }
}
