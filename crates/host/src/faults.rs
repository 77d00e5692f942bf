//! Things of a host that are broken on purpose, as both sides of the conversation know them: what
//! an agent can be asked to break, and how it heals.
//!
//! What must hold: what heals is written down before anything is broken, on the undo list too if it
//! is for whoever outlives the agent; and the agent heals by itself when the time is over, though
//! its controller be silent or gone.

mod commands;
mod emptied;
mod files;
mod joined;
mod keep_up;
mod limits;
mod links;
mod packets;
mod power;
mod process;
mod rot;
mod start;
mod told;
mod volume;

pub use joined::Join;
pub use start::{Restartable, Start};
pub use told::{Broken, Healed};
pub(crate) use told::{Heal, Inject, Renew, Started};

use crate::calls::StartProcess;
use crate::files::Step;
use crate::here::Here;
use crate::process::Identity;
use crate::{Invocation, LinkSpec};
use anyhow::{Context, Result};
use kernel::filter::Loss;
use measure::clock::Deadline;
use reach::Serve;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What an agent can break. Processes are those that it has started. A volume is broken in one way
/// at a time, beside that it may be slow: the second is refused.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Break {
    /// A process is stopped (SIGSTOP), and goes on.
    Pause(Identity),
    /// A process is killed, and started again.
    Kill(Restartable),
    /// A process is asked to end, and started again.
    Stop(Restartable),
    /// A process is killed, and what stands in folders of its is gone; then it is started.
    Wipe {
        /// Which.
        process: Restartable,
        /// The folders, which stay.
        folders: Vec<PathBuf>,
    },
    /// A process goes away from others by itself. Then, when nothing accepts connections any more
    /// where they reached it, it is killed, its folders are emptied and it is started; one that
    /// has not gone is let be, as [`Healed::became`] says.
    Leave {
        /// Which.
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
    Disk(crate::DiskSpec),
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
    /// after [`Break::DiskRemoved`], when what is wrong with it has been mended.
    DiskReadOnly {
        /// Those that use it.
        processes: Vec<Restartable>,
    },
    /// The host's volume fails from the place on where a byte of a file stands: what is there and
    /// behind it can be neither read nor written (EIO), and the file system is read-only when it
    /// meets that itself. Then as after [`Break::DiskReadOnly`].
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

/// How one of them is done and undone.
trait Breakable: Send {
    /// Breaks it. What somebody else has to undo if the agent is gone is on the undo list by then.
    fn inject(&mut self, here: &Here) -> Result<()>;

    /// Makes it whole; the processes that there are now of those that were touched, in their
    /// order. Also after an injection that failed half-way.
    fn heal(&mut self, here: &Here) -> Result<Vec<Identity>>;

    /// The processes that were started to break it.
    fn started(&self) -> Vec<Identity> {
        Vec::new()
    }

    /// Whether it cannot be made whole yet: an agent that is alone with it waits for a while.
    fn waits(&self) -> bool {
        false
    }

    /// What became of what was broken, if that is not the same every time.
    fn became(&self) -> Option<String> {
        None
    }
}

/// Refuses processes that the agent has not started.
fn check(here: &Here, all: &[Restartable]) -> Result<()> {
    let mut processes = all.iter().map(|one| one.process);
    processes.try_for_each(|one| here.children.check(one))
}

/// Starts all of them again.
fn restart(here: &Here, all: &[Restartable]) -> Result<Vec<Identity>> {
    all.iter().map(|one| here.start(&one.start)).collect()
}

impl Break {
    fn into_breakable(self, broken: Broken) -> Box<dyn Breakable> {
        use emptied::{Emptied, When};
        use volume::{Alone, Failing, Full, How, Stalled};
        let failing = |how, processes| -> Box<dyn Breakable> {
            Box::new(Alone::with(Failing::by(how, processes)))
        };
        match self {
            Break::Pause(process) => Box::new(process::Pause(process)),
            Break::Kill(one) => Box::new(process::Ended::killed(one)),
            Break::Stop(one) => Box::new(process::Ended::asked(one)),
            Break::Wipe { process, folders } => Box::new(Emptied::of(process, folders, When::Now)),
            Break::Leave {
                process,
                folders,
                address,
            } => Box::new(Emptied::of(process, folders, When::Left(address))),
            Break::Join(what) => Box::new(joined::Joined::of(what)),
            Break::Files {
                reader,
                forth,
                back,
            } => Box::new(files::Changed::of(reader, forth, back)),
            Break::Instead {
                process,
                instead,
                forth,
                back,
            } => Box::new(files::Changed::of(Some(process), forth, back).by(instead)),
            Break::Descriptors(process) => Box::new(process::Descriptors::of(process)),
            Break::CpuQuota(cores) => Box::new(limits::Limit::cpu(cores)),
            Break::Disk(disk) => Box::new(limits::Limit::disk(disk)),
            Break::Packets(losses) => Box::new(packets::Packets::of(broken, losses)),
            Break::LinkDown(number) => Box::new(links::Down::of(number)),
            Break::LinkTo { number, link } => Box::new(links::Slow::to(number, link)),
            Break::LinkFrom(link) => Box::new(links::Slow::from_here(link)),
            Break::TakeAddress(address) => Box::new(links::Taken::of(address)),
            Break::Command { inject, heal } => Box::new(commands::Commands { inject, heal }),
            Break::Reset(ports) => Box::new(links::Reset(ports)),
            Break::PowerOff { processes } => Box::new(Alone::with(power::Off::of(processes))),
            Break::Adopt {
                device,
                folder,
                start,
            } => Box::new(power::Adopted::of(device, folder, start)),
            Break::DiskRemoved { processes } => failing(How::Removed, processes),
            Break::DiskReadOnly { processes } => failing(How::ReadOnly, processes),
            Break::DiskErrors {
                path,
                at,
                processes,
            } => failing(How::From(path, at), processes),
            Break::DiskStalled => Box::new(Alone::with(Stalled::default())),
            Break::DiskFull { leave_bytes } => Box::new(Alone::with(Full::but(leave_bytes))),
            Break::DiskCorrupt { path, at, bytes } => {
                Box::new(Alone::with(rot::Rot::of(path, at, bytes)))
            }
        }
    }
}

/// How long an agent waits alone for what cannot be made whole yet.
const ALONE_MAX: Duration = Duration::from_secs(600);

/// Between two looks at whether it can.
const ALONE_POLL: Duration = Duration::from_secs(1);

/// What is broken on a host, as its agent has it.
#[derive(Default)]
pub(crate) struct Faults {
    all: Mutex<Vec<State>>,
    /// What has started processes, and until when they may be starting.
    starts: Mutex<HashMap<Identity, (StartProcess, Deadline)>>,
    news: Condvar,
}

enum State {
    /// When the agent heals it by itself.
    Broken(Box<dyn Breakable>, Deadline),
    Whole(Result<Healed, String>),
}

impl Faults {
    fn lock(&self) -> MutexGuard<'_, Vec<State>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing is healed any more: all ends.
    pub fn end(&self) {
        self.lock().clear();
        self.news.notify_all();
    }

    /// Waits until somebody has healed it, or all ends; true if nobody has when its time is over.
    fn is_left(&self, Broken(number): Broken) -> bool {
        let mut all = self.lock();
        let mut alone_until = None;
        while let Some(State::Broken(what, deadline)) = all.get(number as usize) {
            let mut left = deadline.left();
            if deadline.passed() {
                let until = alone_until.get_or_insert_with(|| Deadline::after(ALONE_MAX));
                if until.passed() || !what.waits() {
                    return true;
                }
                left = ALONE_POLL;
            }
            let waited = self.news.wait_timeout(all, left);
            (all, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        false
    }
}

impl Here {
    /// Heals what is still broken.
    fn heal(&self, Broken(number): Broken) -> Result<Healed> {
        // Held while it is done: who ends everything waits, and nothing is started after that.
        let mut all = self.faults.lock();
        let state = all.get_mut(number as usize);
        let state = state.context("nothing was broken by this number")?;
        let by_itself = matches!(state, State::Whole(_));
        if let State::Broken(what, _) = state {
            let processes = what.heal(self);
            let healed = processes.map(|processes| Healed {
                processes,
                by_itself: false,
                became: what.became(),
            });
            *state = State::Whole(healed.map_err(|error| format!("{error:#}")));
            self.faults.news.notify_all();
        }
        let State::Whole(healed) = state else {
            anyhow::bail!("it is still broken")
        };
        let healed = healed.clone().map_err(anyhow::Error::msg)?;
        Ok(Healed {
            by_itself,
            ..healed
        })
    }
}

impl Serve<Here> for Inject {
    fn serve(self, here: &Here) -> Result<Broken> {
        let own = here.own().context("this agent is ending")?;
        // Held while it is done: nobody heals what is not broken yet.
        let mut all = here.faults.lock();
        let broken = Broken(all.len() as u64);
        let mut what = self.what.into_breakable(broken);
        let deadline = Deadline::after(Duration::from_millis(self.within_ms));
        std::thread::Builder::new()
            .name(format!("heal {}", broken.0))
            .spawn(move || {
                if !own.faults.is_left(broken) {
                    return;
                }
                // Whoever asks for it hears how that went.
                if own.heal(broken).is_ok() {
                    own.keep_up();
                }
            })
            .context("start a thread that heals in time")?;
        match what.inject(here) {
            Ok(()) => all.push(State::Broken(what, deadline)),
            Err(error) => {
                let undone = what.heal(here);
                all.push(State::Whole(Ok(Healed::default())));
                return match undone {
                    Ok(_) => Err(error),
                    Err(failed) => Err(error.context(format!("and to undo it failed: {failed:#}"))),
                };
            }
        }
        Ok(broken)
    }
}

impl Serve<Here> for Renew {
    fn serve(self, here: &Here) -> Result<()> {
        let Broken(number) = self.broken;
        let mut all = here.faults.lock();
        let state = all.get_mut(number as usize);
        let state = state.context("nothing was broken by this number")?;
        if let State::Broken(_, deadline) = state {
            *deadline = Deadline::after(Duration::from_millis(self.within_ms));
        }
        Ok(())
    }
}

impl Serve<Here> for Heal {
    fn serve(self, here: &Here) -> Result<Healed> {
        here.heal(self.0)
    }
}

impl Serve<Here> for Started {
    fn serve(self, here: &Here) -> Result<Vec<Identity>> {
        let Broken(number) = self.0;
        match here.faults.lock().get(number as usize) {
            Some(State::Broken(what, _)) => Ok(what.started()),
            Some(State::Whole(_)) => Ok(Vec::new()),
            None => anyhow::bail!("nothing was broken by this number"),
        }
    }
}
