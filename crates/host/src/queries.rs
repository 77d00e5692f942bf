//! What can be seen of a host by who has not broken it: its agent asks the kernel, or tries.

use crate::agent::Agent;
use crate::faults::Broken;
use crate::files::Bytes;
use crate::invocation::ProgramResult;
use crate::process::Identity;
use anyhow::Result;
use kernel::disk_work::DiskWork;
use kernel::filter::Link;
use kernel::mounts::Mounted;
use kernel::tcp::Reach;
use kernel::volume::VolumeUse;
use reach::Call;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use target::Invocation;

/// What an agent can look at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Query {
    /// A process; answered by [`QueryAnswer::Process`].
    Process(Identity),
    /// The files that a process has open; answered by [`QueryAnswer::Descriptors`].
    Descriptors(Identity),
    /// The CPU time that the host gets when it wants more than it may have: a thread more works
    /// there for so long, in ms. Answered by [`QueryAnswer::Cpu`].
    Cpu(u64),
    /// Whether a TCP connection can be made from the host; answered by [`QueryAnswer::Reach`].
    Reach {
        /// The address that is connected to.
        address: SocketAddr,
        /// How long it is tried.
        limit: Duration,
    },
    /// How many of so many connections can be made, as [`Reach::count`] has it; answered by
    /// [`QueryAnswer::Open`].
    Tries {
        /// The address that is connected to.
        address: SocketAddr,
        /// How many.
        tries: u32,
        /// How long each is tried.
        limit: Duration,
    },
    /// How long it takes to send so much from the host to where [`Agent::receive`] listens;
    /// answered by [`QueryAnswer::Transfer`].
    Transfer {
        /// The address that is connected to.
        address: SocketAddr,
        /// How much.
        bytes: u64,
        /// How long it is tried.
        limit: Duration,
    },
    /// A link of the switch; answered by [`QueryAnswer::Link`].
    Port(Link),
    /// The link of the host; answered by [`QueryAnswer::Link`].
    Link,
    /// What the switch, or a host that has its machine's network, has lost by one fault, as the
    /// packet filter has counted it; answered by [`QueryAnswer::Dropped`].
    Dropped(Broken),
    /// The host's TCP connections that ended by a reset; answered by [`QueryAnswer::Resets`].
    Resets,
    /// What a disk does, tried by a process of the host: it writes into a file without a name and
    /// syncs it, and reads, past every cache. Answered by [`QueryAnswer::Disk`].
    TryDisk {
        /// A folder on that disk.
        folder: PathBuf,
        /// How much it writes, and reads.
        work: DiskWork,
        /// What has not happened by then is [`Attempt::Silent`].
        limit: Duration,
    },
    /// Whether the host's volume is broken on purpose, but for being slow: then it can be broken in
    /// no other way. Answered by [`QueryAnswer::VolumeTaken`].
    VolumeTaken,
    /// The room on the disk of a folder; answered by [`QueryAnswer::Space`].
    Space {
        /// The folder.
        folder: PathBuf,
    },
    /// What is mounted at a folder; answered by [`QueryAnswer::Mount`].
    Mount {
        /// The folder.
        folder: PathBuf,
    },
    /// Some bytes of a file, twice; answered by [`QueryAnswer::Bytes`].
    Bytes {
        /// The file.
        path: PathBuf,
        /// The first of them.
        at: u64,
        /// How many: 256 KiB at the most.
        bytes: u64,
    },
    /// What a program says; answered by [`QueryAnswer::Command`].
    Command {
        /// The program, its arguments and its environment.
        what: Invocation,
        /// When it is killed.
        limit: Duration,
    },
}

/// What came of trying something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Attempt {
    /// It was done, and took so long.
    Took(Duration),
    /// It was refused, with this error number.
    Refused(i32),
    /// Nothing has come of it in time.
    Silent,
    /// There was nothing to try it on.
    None,
}

/// What was seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum QueryAnswer {
    /// The letter of its state, as in `ps`; none if it is gone.
    Process(Option<char>),
    /// How many more it may open, and how many it has open.
    Descriptors {
        /// Numbers below its limit that are free.
        free: u64,
        /// Those that it has.
        open: u64,
    },
    /// In cores, of all that ran there.
    Cpu(f64),
    /// What came of it.
    Reach(Reach),
    /// Whether it is.
    VolumeTaken(bool),
    /// To how many the way was open, there and back.
    Open(u32),
    /// How long it took until all had arrived; none if it had not within the limit.
    Transfer(Option<Duration>),
    /// As the kernel has it.
    Link {
        /// Whether it is to be up.
        is_up: bool,
        /// Whether its other end is up too: no cable is pulled out.
        has_carrier: bool,
        /// Packets, since it was made.
        received_packets: u64,
        /// Packets, since it was made.
        sent_packets: u64,
    },
    /// Packets that each loss has lost, in their order; none if nothing is lost by this fault.
    Dropped(Vec<u64>),
    /// Since the host was made.
    Resets {
        /// Connections that ended by a reset, whoever sent it.
        connections: u64,
        /// Resets that were sent, also to who was not connected.
        sent: u64,
    },
    /// What a disk did.
    Disk {
        /// Opening a new file, writing a block and syncing it.
        write: Attempt,
        /// Opening a file that was there and reading its first block past every cache; the one
        /// that was written where there is no other.
        read: Attempt,
    },
    /// As the file system counts it, frozen or not.
    Space(VolumeUse),
    /// What is mounted; none if nothing is.
    Mount(Option<Mounted>),
    /// Bytes of a file, or the error number of reading them.
    Bytes {
        /// As whoever reads them gets them, from the page cache if they are there.
        cached: Result<Bytes, i32>,
        /// As they stand on the disk.
        on_disk: Result<Bytes, i32>,
    },
    /// How it ended.
    Command(ProgramResult),
}

/// Asks an agent to look.
#[derive(Serialize, Deserialize)]
pub struct See {
    /// What is looked at.
    pub what: Query,
}

impl Call for See {
    const NAME: &'static str = "see";
    type Answer = QueryAnswer;
}

/// Receives what one connection sends, and says in the end how much it was.
#[derive(Serialize, Deserialize)]
pub struct Receive {
    /// For how long.
    pub limit_ms: u64,
}

impl Call for Receive {
    const NAME: &'static str = "receive";
    type Answer = u16;
}

impl Agent {
    /// Looks at something of its host. A look that may take time says how much itself.
    ///
    /// # Errors
    /// The agent is gone, or the kernel does not tell.
    pub fn see(&self, what: Query) -> Result<QueryAnswer> {
        let limit = what.limit();
        self.call_for(&See { what }, limit)
    }

    /// The port at which its host receives what one connection sends, from now on for as long as
    /// `limit`: the counterpart of [`Query::Transfer`].
    ///
    /// # Errors
    /// The agent is gone, or no port is left.
    pub fn receive(&self, limit: Duration) -> Result<u16> {
        let limit_ms = limit.as_millis() as u64;
        self.call(&Receive { limit_ms })
    }
}

/// How long the agent's answer may take longer than the look.
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
