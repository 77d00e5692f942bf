//! Things of a host that are broken on purpose, as both sides of the conversation know them: what
//! an agent can be asked to break, and how it heals.

mod join;
mod start;
mod told;

pub use join::Join;
pub use start::{Restartable, Start};
pub use told::{Broken, Heal, Healed, Inject, Renew, Started};

use crate::files::Step;
use crate::process::Identity;
use crate::service::ServiceFault;
use kernel::filter::Loss;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use target::{Invocation, LinkSpec};

/// What an agent can break. Processes are those that it has started. A volume is broken in one way
/// at a time, beside that it may be slow: the second is refused.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Injection {
    /// A process is stopped (SIGSTOP), and goes on.
    Pause(Identity),
    /// A process is stopped for a while, again and again, and goes on between.
    Stutter {
        /// The process that is told.
        process: Identity,
        /// For how long it is stopped each time.
        stopped: Duration,
        /// From the beginning of one time to that of the next; longer than that.
        every: Duration,
    },
    /// A process is killed, and started again.
    Kill(Restartable),
    /// A process is asked to end, and started again.
    Stop(Restartable),
    /// A process is killed, and what stands in folders of its is gone; then it is started.
    Wipe {
        /// The process to be started again.
        process: Restartable,
        /// The folders, which stay.
        folders: Vec<PathBuf>,
    },
    /// A process goes away from others by itself. Then, when nothing accepts connections any more
    /// where they reached it, it is killed, its folders are emptied and it is started; one that
    /// has not gone is let be, as [`Healed::became`] says.
    Leave {
        /// The process to be started again.
        process: Restartable,
        /// The folders, which stay.
        folders: Vec<PathBuf>,
        /// Where others reach it.
        address: SocketAddr,
    },
    /// A process is started that joins others. If they still reach it when it is healed, a program
    /// is run that has it leave them; then it is killed, and all that it had is gone, its address
    /// too.
    Join(Join),
    /// Files are changed; then they are changed back. What reads them when it starts is asked to
    /// end before that and started after it, both times.
    Files {
        /// What reads them.
        reader: Option<Restartable>,
        /// What is done to them.
        forth: Vec<Step>,
        /// What undoes it.
        back: Vec<Step>,
    },
    /// The same, and what is started meanwhile differs.
    Instead {
        /// What is started then.
        process: Restartable,
        /// What is started meanwhile.
        instead: Restartable,
        /// What is done to files for that.
        forth: Vec<Step>,
        /// What undoes it.
        back: Vec<Step>,
    },
    /// A process may open no more files than it has; then as many as before.
    Descriptors(Identity),
    /// The host has this much CPU time, in cores; then as much as before.
    CpuQuota(f64),
    /// The switch loses packets.
    Packets(Vec<Loss>),
    /// The cable of this host, counted from 1, is pulled out at the switch.
    LinkDown(usize),
    /// The switch sends no faster than this to a host; then as fast as before.
    LinkTo {
        /// The host's number, counted from 1.
        number: usize,
        /// What is absent stays as it is.
        link: LinkSpec,
    },
    /// The host sends no faster than this; then as fast as before. What is absent stays as it is.
    LinkFrom(LinkSpec),
    /// The host takes an address of the network besides its own, and tells its neighbours; then it
    /// gives it up. Whose it was tells them so when its cable is back.
    TakeAddress(Ipv4Addr),
    /// What is connected to these TCP ports of the host, at its end, is reset; there is nothing to
    /// heal.
    Reset(Vec<u16>),
    /// A server that somebody else has started is stopped, or its process is; then it serves again.
    Service(ServiceFault),
    /// A program is run; then another one, by the guard if the agent is gone.
    Command {
        /// What breaks.
        inject: Invocation,
        /// What heals. It does no harm where nothing is broken: nobody may know how far the other
        /// one came.
        heal: Invocation,
    },
    /// The host's volume does no more than this; then as much as before. Control groups of version
    /// 1 slow what processes wait for: reads, direct writes, and syncs. What the kernel writes back
    /// later by itself is nobody's there, and as fast as ever.
    Disk(target::DiskSpec),
    /// The host has no power: all its processes are killed at once, and what its volume had not
    /// synced is lost. Then it is mounted again, and these are started again. Its network is the
    /// switch's to cut.
    PowerOff {
        /// Those that are started when the power is back.
        processes: Vec<Restartable>,
    },
    /// The volume of another host of this machine, which that one has not mounted, is mounted here,
    /// and processes are started; then they are asked to end, and it is unmounted.
    Adopt {
        /// The name of its device, as [`crate::Host::device`] has it.
        device: String,
        /// Where it is mounted, here as there.
        folder: PathBuf,
        /// What is started; the processes are those that ran on the other host.
        start: Vec<Restartable>,
    },
    /// The host's volume is gone while processes go on with it: whatever they do with it fails
    /// (EIO), and what was not synced is lost. Then those that are left are killed, it is mounted
    /// again, and all are started again.
    DiskRemoved {
        /// Those that use it.
        processes: Vec<Restartable>,
    },
    /// The host's volume can only be read, as ext4 does it after an error of its device. Then as
    /// after [`Injection::DiskRemoved`], when what is wrong with it has been mended.
    DiskReadOnly {
        /// Those that use it.
        processes: Vec<Restartable>,
    },
    /// The host's volume fails from the place on where a byte of a file stands: what is there and
    /// behind it can be neither read nor written (EIO), and the file system is read-only when it
    /// meets that itself. Then as after [`Injection::DiskReadOnly`].
    DiskErrors {
        /// The file.
        path: PathBuf,
        /// Which of its bytes.
        at: u64,
        /// Those that use the volume.
        processes: Vec<Restartable>,
    },
    /// Every write to the host's volume waits, and its processes cannot be killed while they do;
    /// then they go on.
    DiskStalled,
    /// The host's volume has no more room than this; then it has what was taken again.
    DiskFull {
        /// How many bytes can still be written.
        leave_bytes: u64,
    },
    /// Bytes of a file on the host's volume are others than those that were written, each bit of
    /// them: whoever reads them from the disk gets those, as long as no process had them mapped
    /// before. Then they are as they were, unless the file is gone or was written to: what became
    /// of it is said in [`Healed::became`].
    DiskCorrupt {
        /// The file.
        path: PathBuf,
        /// The first of the bytes.
        at: u64,
        /// How many: 1 MiB at the most.
        bytes: u64,
    },
}
