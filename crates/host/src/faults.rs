//! Faults that agents inject and heal, as both sides know them.

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
/// can have only one fault at a time, except slowness, and the agent refuses a second one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Injection {
    /// Stops a process (SIGSTOP), and continues it for healing.
    Pause(Identity),
    /// Repeatedly stops a process for a short time, and then continues it.
    Stutter {
        /// Process to stop.
        process: Identity,
        /// Duration of each stop.
        stopped: Duration,
        /// Interval between the beginnings of two stops; longer than a stop.
        every: Duration,
    },
    /// Kills a process, and restarts it for healing.
    Kill(Restartable),
    /// Tells a process to end, and restarts it for healing.
    Stop(Restartable),
    /// Kills a process and empties its folders, and restarts it for healing.
    Wipe {
        /// Process to restart.
        process: Restartable,
        /// Folders to empty. The folders themselves remain.
        folders: Vec<PathBuf>,
    },
    /// A process leaves its cluster by itself. For healing, once nothing accepts connections at its
    /// address, the agent kills it, empties its folders, and restarts it. The agent does not touch
    /// a process that has not left; [`HealAnswer::became`] reports this.
    Leave {
        /// Process to restart.
        process: Restartable,
        /// Folders to empty. The folders themselves remain.
        folders: Vec<PathBuf>,
        /// Internode address of the process.
        address: SocketAddr,
    },
    /// Starts a process that joins a cluster. For healing, if its address still accepts
    /// connections, a program removes it from its cluster. Then it is killed, and its files and its
    /// address are removed.
    Join(Join),
    /// Changes files, and restores them for healing. A process that reads them at its start is
    /// stopped before each change and started after it.
    Files {
        /// Process that reads the files.
        reader: Option<Restartable>,
        /// Changes of the files.
        forth: Vec<FileStep>,
        /// Steps that undo the changes.
        back: Vec<FileStep>,
    },
    /// Like `Files`, but the process has a different start during the fault.
    Instead {
        /// Start of the process for healing.
        process: Restartable,
        /// Start of the process during the fault.
        instead: Restartable,
        /// Changes of files for this start.
        forth: Vec<FileStep>,
        /// Steps that undo the changes.
        back: Vec<FileStep>,
    },
    /// Limits the file descriptors of a process to those that it has open, and restores the limit
    /// for healing.
    Descriptors(Identity),
    /// Limits the CPU time of the host to this many cores, and restores the limit for healing.
    CpuQuota(f64),
    /// Drops packets on the switch.
    Packets(Vec<Loss>),
    /// Drops packets on a host that uses its machine's own network.
    HostPackets(Vec<HostLoss>),
    /// Sets the switch's link to this host, counted from 1, down, as if its cable were pulled out.
    LinkDown(usize),
    /// Limits the traffic that the switch sends to a host, and restores the limits for healing.
    LinkTo {
        /// Number of the host, counted from 1.
        number: usize,
        /// Limits of the link. Absent limits do not change.
        link: LinkSpec,
    },
    /// Limits the traffic that the host sends, and restores the limits for healing. Absent limits
    /// do not change.
    LinkFrom(LinkSpec),
    /// Adds another host's address to the host, and announces it to the neighbours. Healing removes
    /// it. The owner announces the address again when its link is up again.
    TakeAddress(Ipv4Addr),
    /// Resets the connections to these TCP ports of the host. There is nothing to heal.
    Reset(Vec<u16>),
    /// Stops a server that belongs to another user, or its process, and restarts or resumes it for
    /// healing.
    Service(ServiceFault),
    /// Runs a program, and another one for healing. The guard runs it if the agent has ended.
    Command {
        /// Program that injects the fault.
        inject: Invocation,
        /// Program that heals. It must be harmless if nothing is broken, because the progress of
        /// the other program may be unknown.
        heal: Invocation,
    },
    /// Limits the I/O of the host's volume, and restores the limits for healing. Control groups of
    /// version 1 slow only I/O that processes wait for: reads, direct writes, and syncs. There, the
    /// kernel attributes later writeback to no group, so it is not slowed.
    Disk(target_spec::DiskSpec),
    /// Cuts the power of the host: all its processes are killed at once, and unsynced data of its
    /// volume is lost. For healing, the volume is mounted again, and processes are restarted.
    /// Another injection cuts the network.
    PowerOff {
        /// Processes to restart when the power is on again.
        processes: Vec<Restartable>,
    },
    /// Mounts the volume of another host of this machine, which that host has unmounted, and starts
    /// processes. For healing, the agent tells them to end, and unmounts the volume.
    Adopt {
        /// Name of its device, see [`crate::Host::device`].
        device: String,
        /// Mount point, the same as on the other host.
        folder: PathBuf,
        /// Starts of the processes, with the processes that ran on the other host.
        start: Vec<Restartable>,
    },
    /// Removes the host's volume under its processes: all I/O fails (EIO), and unsynced data is
    /// lost. For healing, the remaining processes are killed, the volume is mounted again, and all
    /// are restarted.
    DiskRemoved {
        /// Processes that use the volume.
        processes: Vec<Restartable>,
    },
    /// Makes the host's volume read-only, as ext4 does after an error of its device. Healing is
    /// that of [`Injection::DiskRemoved`], after a repair of the volume.
    DiskReadOnly {
        /// Processes that use the volume.
        processes: Vec<Restartable>,
    },
    /// Makes the host's volume fail from the location of a file's byte on: reads and writes there
    /// and beyond fail (EIO). The file system becomes read-only when it meets an error of this kind
    /// itself. Healing is that of [`Injection::DiskReadOnly`].
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
    /// Fills the host's volume, and frees the space again for healing.
    DiskFull {
        /// Bytes that can still be written.
        leave_bytes: u64,
    },
    /// Inverts all bits of a part of a file on the host's volume. Every reader gets the changed
    /// bytes from disk, unless a process had mapped them before. Healing restores them, unless the
    /// file was removed or written to. [`HealAnswer::became`] reports the outcome.
    DiskCorrupt {
        /// Path of the file.
        path: PathBuf,
        /// Offset of the first byte.
        at: u64,
        /// Number of bytes, at most 1 MiB.
        bytes: u64,
    },
}
