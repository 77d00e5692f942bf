//! Faults that agents inject and heal, in the form that controller and agent share.

mod calls;
mod join;
mod start;

pub use calls::{Broken, Heal, HealAnswer, Inject, Renew, StartedProcesses};
pub use join::Join;
pub use start::{Restartable, Start};

use crate::files::FileStep;
use crate::process::Identity;
use crate::service::ServiceFault;
use linux::packet_filter::{HostLoss, Loss};
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use target_spec::{Invocation, LinkSpec};

/// A fault that an agent can inject. It affects only processes that the agent has started. A volume
/// can have only one fault at a time, except slowness, so the agent refuses a second fault.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Injection {
    /// Stops a process (SIGSTOP). Healing continues the process.
    Pause(Identity),
    /// Repeatedly stops a process for a short time, and then continues it.
    Stutter {
        /// Process that is stopped.
        process: Identity,
        /// Duration of each stop.
        stopped: Duration,
        /// Interval between the beginnings of two stops. It is longer than a stop.
        every: Duration,
    },
    /// Kills a process. Healing restarts the process.
    Kill(Restartable),
    /// Tells a process to end. Healing restarts the process.
    Stop(Restartable),
    /// Kills a process and empties its folders. Healing restarts the process.
    Wipe {
        /// Process that is killed and restarted.
        process: Restartable,
        /// Folders to empty. The folders themselves remain.
        folders: Vec<PathBuf>,
    },
    /// A process leaves its cluster by itself. For healing, once nothing accepts connections at its
    /// address, the agent kills it, empties its folders, and restarts it. The agent does not touch
    /// a process that has not left. In that case, [`HealAnswer::became`] reports this.
    Leave {
        /// Process that leaves and is restarted.
        process: Restartable,
        /// Folders to empty. The folders themselves remain.
        folders: Vec<PathBuf>,
        /// Internode address of the process.
        address: SocketAddr,
    },
    /// Starts a process that joins a cluster. For healing, if the address of the process still
    /// accepts connections, a program removes the process from its cluster. Then the agent kills
    /// the process, and removes its files and its address.
    Join(Join),
    /// Changes files. Healing restores them. A process that reads the files at its start is stopped
    /// before each change and started after it.
    Files {
        /// Process that reads the files.
        reader: Option<Restartable>,
        /// Changes of the files.
        forth: Vec<FileStep>,
        /// Steps that undo the changes.
        back: Vec<FileStep>,
    },
    /// Like `Files`, but the process is started by another command during the fault.
    Instead {
        /// Start command of the process for healing.
        process: Restartable,
        /// Start command of the process during the fault.
        instead: Restartable,
        /// Changes to files for the start during the fault.
        forth: Vec<FileStep>,
        /// Steps that undo the changes.
        back: Vec<FileStep>,
    },
    /// Limits the file descriptors of a process to those that are open. Healing restores the limit.
    Descriptors(Identity),
    /// Limits the CPU time of the host to this number of cores. Healing restores the limit.
    CpuQuota(f64),
    /// Drops packets on the switch.
    Packets(Vec<Loss>),
    /// Drops packets on a host that uses its machine's own network.
    HostPackets(Vec<HostLoss>),
    /// Sets the switch's link to a host down, as if the cable of the host were pulled out. The
    /// number of the host counts from 1.
    LinkDown(usize),
    /// Limits the traffic that the switch sends to a host. Healing restores the limits.
    LinkTo {
        /// Number of the host, counted from 1.
        number: usize,
        /// Limits of the link. If a limit is absent, it does not change.
        link: LinkSpec,
    },
    /// Limits the traffic that the host sends. Healing restores the limits. If a limit is absent,
    /// it does not change.
    LinkFrom(LinkSpec),
    /// Adds another host's address to this host, and announces it to the neighbours. Healing
    /// removes the address. The owner announces the address again when the owner's link is up
    /// again.
    TakeAddress(Ipv4Addr),
    /// Resets the connections to these TCP ports of the host. This fault needs no healing.
    Reset(Vec<u16>),
    /// Stops a server that belongs to another user, or its process. Healing restarts or resumes the
    /// server.
    Service(ServiceFault),
    /// Runs a program. Healing runs another program. If the agent has ended, the guard runs the
    /// healing program.
    Command {
        /// Program that injects the fault.
        inject: Invocation,
        /// Program that heals the fault. It must be harmless if nothing is broken, because it may
        /// be unknown how far the injecting program came.
        heal: Invocation,
    },
    /// Limits the I/O of the host's volume. Healing restores the limits. Control groups of version
    /// 1 slow only I/O for which processes wait: reads, direct writes, and syncs. With that
    /// version, the kernel attributes later writeback to no group, so writeback is not slowed.
    Disk(target_spec::DiskSpec),
    /// Cuts the power of the host: all its processes are killed at once, and unsynced data of its
    /// volume is lost. For healing, the volume is mounted again, and processes are restarted.
    /// Another injection cuts the network.
    PowerOff {
        /// Processes to restart when the power is on again.
        processes: Vec<Restartable>,
    },
    /// Mounts the volume of another host of this machine, which that host has unmounted, and starts
    /// processes. For healing, the agent tells the processes to end, and unmounts the volume.
    Adopt {
        /// Device name of the volume. See [`crate::Host::device`].
        device: String,
        /// Mount point of the volume. It is the same as on the other host.
        folder: PathBuf,
        /// Start commands of the processes, each with the process that ran on the other host.
        start: Vec<Restartable>,
    },
    /// Removes the host's volume while processes use it: all I/O fails (EIO), and unsynced data is
    /// lost. For healing, the remaining processes are killed, the volume is mounted again, and all
    /// processes are restarted.
    DiskRemoved {
        /// Processes that use the volume.
        processes: Vec<Restartable>,
    },
    /// Makes the host's volume read-only, as ext4 does after an error of its device. Healing is the
    /// same as for [`Injection::DiskRemoved`], after a repair of the volume.
    DiskReadOnly {
        /// Processes that use the volume.
        processes: Vec<Restartable>,
    },
    /// Makes the host's volume fail from the given byte of a file on: reads and writes at or after
    /// this location fail (EIO). When the file system itself meets such an error, it becomes
    /// read-only. Healing is the same as for [`Injection::DiskReadOnly`].
    DiskErrors {
        /// Path of the file.
        path: PathBuf,
        /// Offset of the byte.
        at: u64,
        /// Processes that use the volume.
        processes: Vec<Restartable>,
    },
    /// Blocks every write to the host's volume. Processes cannot be killed while they wait. Healing
    /// lets them continue.
    DiskStalled,
    /// Fills the host's volume. Healing frees the space again.
    DiskFull {
        /// Number of bytes that can still be written.
        leave_bytes: u64,
    },
    /// Inverts all bits of a part of a file on the host's volume. Every reader gets the changed
    /// bytes from disk, unless a process had mapped them before. Healing restores the bytes, unless
    /// the file was removed or these bytes were overwritten. [`HealAnswer::became`] reports the
    /// outcome.
    DiskCorrupt {
        /// Path of the file.
        path: PathBuf,
        /// Offset of the first byte.
        at: u64,
        /// Number of bytes, at most 1 MiB.
        bytes: u64,
    },
}
