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

/// A fault that an agent can inject. Faults of processes affect only processes that the agent has
/// started, except for [`Injection::Service`]. A volume can have only one fault at a time, so the
/// agent refuses a second fault. Slowness of the disk does not count as such a fault.
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
        /// Interval between the beginnings of two stops. The interval is longer than a stop.
        every: Duration,
    },
    /// Kills a process. Healing restarts the process.
    Kill(Restartable),
    /// Tells a process to end. Healing restarts the process.
    Stop(Restartable),
    /// Kills a process and empties its folders. Healing restarts the process.
    Wipe {
        /// Process that the agent kills and restarts.
        process: Restartable,
        /// Folders to empty. The folders themselves remain.
        folders: Vec<PathBuf>,
    },
    /// A process leaves its cluster by itself. Healing depends on whether the process has left,
    /// that is, whether it no longer accepts connections at its internode address. If it has left,
    /// the agent kills it, empties its folders, and restarts it. Otherwise the agent does not
    /// change the process, and reports this in [`HealAnswer::became`].
    Leave {
        /// Process that leaves and is restarted.
        process: Restartable,
        /// Folders to empty. The folders themselves remain.
        folders: Vec<PathBuf>,
        /// Internode address of the process.
        address: SocketAddr,
    },
    /// Starts a process that joins a cluster. For healing, a program removes the process from its
    /// cluster, if the process still accepts connections. Then the agent kills the process, and
    /// removes its files and its address.
    Join(Join),
    /// Changes files. Healing restores the files. If a process reads the files at its start, the
    /// agent stops this process before each change and starts it afterwards.
    Files {
        /// Process that reads the files.
        reader: Option<Restartable>,
        /// Steps that change the files.
        forth: Vec<FileStep>,
        /// Steps that undo the changes.
        back: Vec<FileStep>,
    },
    /// Changes files like [`Injection::Files`], and restarts the process with another command for
    /// the duration of the fault.
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
    /// Limits the number of file descriptors of a process to the number that is open now. Healing
    /// restores the limit.
    Descriptors(Identity),
    /// Limits the CPU time of the host to this number of cores. Healing restores the earlier limit.
    CpuQuota(f64),
    /// Drops packets on the switch.
    Packets(Vec<Loss>),
    /// Drops packets on a host that uses its machine's own network.
    HostPackets(Vec<HostLoss>),
    /// Sets the switch's link to a host down, as if the cable of the host were pulled out. The
    /// value is the number of the host, counted from 1.
    LinkDown(usize),
    /// Limits the traffic that the switch sends to a host. Healing restores the earlier limits.
    LinkTo {
        /// Number of the host, counted from 1.
        number: usize,
        /// Limits of the link. The fault does not change a limit that is absent here.
        link: LinkSpec,
    },
    /// Limits the traffic that the host sends. Healing restores the earlier limits. The fault does
    /// not change a limit that is absent here.
    LinkFrom(LinkSpec),
    /// Adds another host's address to this host, and announces it to the neighbours. Healing
    /// removes the address. The owner of the address announces it again when the owner's link comes
    /// up again.
    TakeAddress(Ipv4Addr),
    /// Resets the connections to these TCP ports of the host. This fault needs no healing.
    Reset(Vec<u16>),
    /// Stops, kills or pauses a server that cassay did not start. Healing restarts or continues the
    /// server.
    Service(ServiceFault),
    /// Runs a program. Healing runs another program. If the agent has ended, the guard runs the
    /// healing program.
    Command {
        /// Program that injects the fault.
        inject: Invocation,
        /// Program that heals the fault. The program must also work if the fault is only partly
        /// injected, or not at all. The agent may not know how much the injecting program has done.
        heal: Invocation,
    },
    /// Limits the I/O of the host's volume. Healing restores the limits. Control groups of version
    /// 1 slow only I/O for which processes wait: reads, direct writes, and syncs. With that
    /// version, the kernel does not attribute later writeback to a group, so writeback is not
    /// slowed.
    Disk(target_spec::DiskSpec),
    /// Simulates a power failure of the host. All its processes are killed at once, and unsynced
    /// data of its volume is lost. For healing, the agent mounts the volume again, and restarts the
    /// processes. This fault does not interrupt the network. Use [`Injection::LinkDown`] for that.
    PowerOff {
        /// Processes to restart when the power is on again.
        processes: Vec<Restartable>,
    },
    /// Mounts the volume of another host of this machine, and starts processes on this host. The
    /// other host must have unmounted the volume. For healing, the agent tells the processes to
    /// end, and unmounts the volume.
    Adopt {
        /// Device name of the volume. See [`crate::Host::device`].
        device: String,
        /// Mount point of the volume, which is the same as on the other host.
        folder: PathBuf,
        /// Start commands of the processes, each with the process that ran on the other host.
        start: Vec<Restartable>,
    },
    /// Removes the host's volume while processes use it. All I/O fails with EIO, and unsynced data
    /// is lost. For healing, the agent kills the remaining processes, mounts the volume again, and
    /// restarts all processes.
    DiskRemoved {
        /// Processes that use the volume.
        processes: Vec<Restartable>,
    },
    /// Makes the host's volume read-only, as ext4 does after an error of its device. For healing,
    /// the agent repairs the volume, and then proceeds as for [`Injection::DiskRemoved`].
    DiskReadOnly {
        /// Processes that use the volume.
        processes: Vec<Restartable>,
    },
    /// Makes the host's volume fail from the location of the given byte of a file on. Reads and
    /// writes at or after this location fail with EIO. The file system becomes read-only when one
    /// of its own reads or writes fails in this way. Healing is the same as for
    /// [`Injection::DiskReadOnly`].
    DiskErrors {
        /// Path of the file.
        path: PathBuf,
        /// Offset of the byte within the file, in bytes.
        at: u64,
        /// Processes that use the volume.
        processes: Vec<Restartable>,
    },
    /// Blocks every write to the host's volume. Processes that wait for a write cannot be killed.
    /// Healing lets them continue.
    DiskStalled,
    /// Fills the host's volume. Healing frees the space again.
    DiskFull {
        /// Number of bytes that can still be written to the volume.
        leave_bytes: u64,
    },
    /// Inverts all bits in a range of a file on the host's volume. Every reader gets the changed
    /// bytes from disk, unless a process had already mapped them. Healing restores the bytes,
    /// unless the file was removed or these bytes were overwritten. [`HealAnswer::became`] reports
    /// the outcome.
    DiskCorrupt {
        /// Path of the file.
        path: PathBuf,
        /// Offset of the first byte within the file.
        at: u64,
        /// Number of bytes whose bits are inverted, at most 1 MiB.
        bytes: u64,
    },
}
