//! Queries of a host's state, to verify faults independently. To answer a query, the agent reads
//! the state from the kernel, or tries an action.

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

/// A query that an agent can answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Query {
    /// State of a process. The answer is [`QueryAnswer::Process`].
    Process(Identity),
    /// Open files of a process. The answer is [`QueryAnswer::Descriptors`].
    Descriptors(Identity),
    /// CPU time that the host gets under full load. An additional thread keeps the host busy for
    /// this time, in ms. The answer is [`QueryAnswer::Cpu`].
    Cpu(u64),
    /// Attempt of a TCP connection from the host. The answer is [`QueryAnswer::Reach`].
    Reach {
        /// Address to which the host connects.
        address: SocketAddr,
        /// Time limit of the attempt.
        limit: Duration,
    },
    /// Number of successful connections in several attempts. See [`Reach::count`]. The answer is
    /// [`QueryAnswer::Open`].
    Tries {
        /// Address to which the host connects.
        address: SocketAddr,
        /// Number of connection attempts.
        tries: u32,
        /// Time limit of each attempt.
        limit: Duration,
    },
    /// Duration of sending data from the host to another host, which must listen with
    /// [`Agent::receive`]. The answer is [`QueryAnswer::Transfer`].
    Transfer {
        /// Address to which the host connects.
        address: SocketAddr,
        /// Number of bytes to send.
        bytes: u64,
        /// Time limit of the transfer.
        limit: Duration,
    },
    /// State of a link of the switch. The answer is [`QueryAnswer::Link`].
    Port(Link),
    /// State of the link of the host. The answer is [`QueryAnswer::Link`].
    Link,
    /// Number of packets that one fault has dropped, as counted by the packet filter. The fault is
    /// on the switch, or on a host that uses its machine's own network. The answer is
    /// [`QueryAnswer::Dropped`].
    Dropped(Broken),
    /// Number of TCP connections of the host that ended by a reset. The answer is
    /// [`QueryAnswer::Resets`].
    Resets,
    /// Disk test by a process of the host. The process writes to an unnamed file and syncs it. It
    /// also reads a file, bypassing all caches. The answer is [`QueryAnswer::Disk`].
    TryDisk {
        /// A folder on the disk to test.
        folder: PathBuf,
        /// Number and size of the disk requests.
        work: DiskWork,
        /// Time limit of the test. If it expires, the result is [`Attempt::Silent`].
        limit: Duration,
    },
    /// Query for the existence of a fault other than slowness on the host's volume. Such a fault
    /// excludes further faults. The answer is [`QueryAnswer::VolumeTaken`].
    VolumeTaken,
    /// Free space on the disk of a folder. The answer is [`QueryAnswer::Space`].
    Space { folder: PathBuf },
    /// File system that is mounted at a folder. The answer is [`QueryAnswer::Mount`].
    Mount { folder: PathBuf },
    /// Bytes of a file, both as a reader gets them and as they are on disk. The answer is
    /// [`QueryAnswer::Bytes`].
    Bytes {
        /// Path of the file.
        path: PathBuf,
        /// Offset of the first byte within the file.
        at: u64,
        /// Number of bytes to read, at most 256 KiB.
        bytes: u64,
    },
    /// Result of a program. The answer is [`QueryAnswer::Command`].
    Command {
        /// Program to run, with its arguments and working directory.
        what: Invocation,
        /// Time after which the program is killed.
        limit: Duration,
    },
}

/// Result of an attempt to use a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Attempt {
    /// The attempt succeeded after this time.
    Took(Duration),
    /// The machine refused the attempt with this error number.
    Refused(i32),
    /// The attempt had no result in time.
    Silent,
    /// The file or folder for the attempt does not exist.
    None,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum QueryAnswer {
    /// State letter of the process, as in `ps`. `None` if the process has ended.
    Process(Option<char>),
    /// File descriptors of a process.
    Descriptors {
        /// Number of descriptors that are free below the limit of the process.
        free: u64,
        /// Number of open descriptors.
        open: u64,
    },
    /// CPU time of all processes on the host, in cores.
    Cpu(f64),
    /// Result of the connection attempt.
    Reach(Reach),
    /// True if the volume has a fault that excludes further faults.
    VolumeTaken(bool),
    /// Number of connections that succeeded, for which packets in both directions arrived.
    Open(u32),
    /// Time until all data had arrived. `None` if this time exceeds the limit.
    Transfer(Option<Duration>),
    /// State of a link, from the kernel.
    Link {
        /// True if the link is administratively up.
        is_up: bool,
        /// True if the other end of the link is also up, as if the cable were plugged in.
        has_carrier: bool,
        /// Number of packets received since the link was created.
        received_packets: u64,
        /// Number of packets sent since the link was created.
        sent_packets: u64,
    },
    /// Number of packets that each loss of the fault has dropped, in the order of the losses. The
    /// list is empty if the fault has no losses.
    Dropped(Vec<u64>),
    /// Numbers of TCP resets since the host was created.
    Resets {
        /// Number of connections that ended by a reset from either side.
        connections: u64,
        /// Number of resets that the host sent, including resets that did not belong to a
        /// connection.
        sent: u64,
    },
    /// Result of a disk test.
    Disk {
        /// Result of opening a new file, writing a block and syncing it.
        write: Attempt,
        /// Result of opening an existing file and reading its first block, bypassing all caches. If
        /// the folder has no other file, this is the file from the write test.
        read: Attempt,
    },
    /// Space usage of the file system, even if it is frozen.
    Space(VolumeUse),
    /// Mounted file system. `None` if the folder is not a mount point.
    Mount(Option<MountedFileSystem>),
    /// Bytes of a file. Each of the two reads may have failed with an error number.
    Bytes {
        /// Bytes as a reader gets them, from the page cache if they are cached.
        cached: Result<Bytes, i32>,
        on_disk: Result<Bytes, i32>,
    },
    Command(ProgramResult),
}

#[derive(Serialize, Deserialize)]
pub struct RunQuery {
    /// Query that the agent is to answer.
    pub what: Query,
}

impl Call for RunQuery {
    const NAME: &'static str = "see";
    type Answer = QueryAnswer;
}

/// Receives the data of one connection. At the end, the host confirms the number of received bytes.
#[derive(Serialize, Deserialize)]
pub struct Receive {
    /// Time limit for receiving the data, in ms.
    pub limit_ms: u64,
}

impl Call for Receive {
    const NAME: &'static str = "receive";
    type Answer = u16;
}

impl Agent {
    /// Queries the agent's host. A query that may take long contains a time limit.
    ///
    /// # Errors
    /// The agent has ended, or the kernel does not answer.
    pub fn see(&self, what: Query) -> Result<QueryAnswer> {
        let limit = what.limit();
        self.call_for(&RunQuery { what }, limit)
    }

    /// Returns a port on which the agent's host receives the data of one connection, for at most
    /// `limit`. The sender uses [`Query::Transfer`].
    ///
    /// # Errors
    /// The agent has ended, or no port is free.
    pub fn receive(&self, limit: Duration) -> Result<u16> {
        let limit_ms = limit.as_millis() as u64;
        self.call(&Receive { limit_ms })
    }
}

/// Time limit of the agent's answer, in addition to the time limit of the query.
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
