//! The far side: a host as its own agent has it, and what it does when it is asked.
//!
//! What must hold: what would outlive the agent is on its list, and known to its guard, before it
//! is made.

mod children;
mod files;
pub(crate) mod folders;
mod watching;

use crate::calls::{
    Abilities, Address, DropPageCache, EndProcess, HostLimits, Keep, Limit, LimitPort, Limits,
    Made, MakeBridge, MakeHost, Plug, PortLimits, Processes, RaiseUplink, Role, StartProcess,
    VolumeAbilities,
};
use crate::faults::{Faults, Heal, Inject, Renew, Started};
use crate::files::{Change, DeviceBytes, Get, List, Space, Sum, Uncache};
use crate::machine::{FindProcess, ReadMachine, ReadSettings};
use crate::process::{self, Identity};
use crate::sights::{Receive, See};
use crate::undo::{Undo, UndoList};
use crate::watch::{BeginWatch, TakeReadings};
use crate::{LinkSpec, agent};
use anyhow::{Context, Result};
use children::Children;
use folders::Folders;
use kernel::able::{self, Able};
use kernel::cgroup::Group;
use kernel::confine;
use kernel::net::{Namespace, Netlink};
use kernel::volume::Volume;
use kernel::{links, net};
use reach::serve::Mouth;
use reach::{ReadClock, Row, Serve};
use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;
use watching::Watching;

/// All calls that an agent answers for its host.
pub const CALLS: &[Row<Here>] = &[
    Row::of::<MakeBridge>(),
    Row::of::<RaiseUplink>(),
    Row::of::<Plug>(),
    Row::of::<LimitPort>(),
    Row::of::<PortLimits>(),
    Row::of::<MakeHost>(),
    Row::of::<Address>(),
    Row::of::<Limit>(),
    Row::of::<Limits>(),
    Row::of::<DropPageCache>(),
    Row::of::<StartProcess>(),
    Row::of::<EndProcess>(),
    Row::of::<Abilities>(),
    Row::of::<VolumeAbilities>(),
    Row::of::<Processes>(),
    Row::of::<Keep>(),
    Row::of::<Change>(),
    Row::of::<List>(),
    Row::of::<Get>(),
    Row::of::<Sum>(),
    Row::of::<Space>(),
    Row::of::<DeviceBytes>(),
    Row::of::<Uncache>(),
    Row::of::<BeginWatch>(),
    Row::of::<TakeReadings>(),
    Row::of::<ReadClock>(),
    Row::of::<Inject>(),
    Row::of::<Heal>(),
    Row::of::<Renew>(),
    Row::of::<Started>(),
    Row::of::<See>(),
    Row::of::<Receive>(),
    Row::of::<ReadSettings>(),
    Row::of::<ReadMachine>(),
    Row::of::<FindProcess>(),
];

/// A host as its own agent has it.
pub struct Here {
    /// The agent's own folder.
    folder: PathBuf,
    /// Those that it may touch.
    pub(crate) files: Folders,
    watching: Watching,
    pub(crate) undo: UndoList,
    pub(crate) children: Children,
    pub(crate) faults: Faults,
    /// Processes that try a disk.
    trials: Mutex<Vec<Identity>>,
    /// For what is done without being asked.
    own: Weak<Here>,
    /// Of a switch, once its bridge is made.
    bridge: OnceLock<()>,
    /// Of a stand-in, once they are made.
    group: OnceLock<Group>,
    data: OnceLock<PathBuf>,
    /// Held open as long as the agent is there.
    volume: OnceLock<Volume>,
    /// The number of its volume.
    device: OnceLock<String>,
    /// Where the next controller is awaited, once there is to be one.
    door: OnceLock<UnixListener>,
}

impl Role {
    /// Makes this process what it stands for, and all that it starts from now on: to be called
    /// before any thread is started.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn enter(self) -> Result<()> {
        let flags = match self {
            Role::Machine => return Ok(()),
            Role::Switch => UnshareFlags::NEWNET,
            Role::StandIn => UnshareFlags::NEWNET | UnshareFlags::NEWNS,
        };
        // SAFETY: no other thread runs yet, so nobody else's view of files or links changes.
        unsafe { unshare_unsafe(flags) }
            .context("have a network and mounts of its own (root, or CAP_SYS_ADMIN)")?;
        if self == Role::StandIn {
            // The machine's mounts go on coming in, and none of ours goes out.
            let downstream = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
            mount_change("/", downstream).context("keep mounts to itself")?;
        }
        Ok(())
    }
}

impl Here {
    /// A host on which nothing was done yet: `folder` is its agent's own, and below `files` is
    /// what the agent may touch.
    pub fn new(folder: PathBuf, files: Vec<PathBuf>, undo: UndoList, mouth: Mouth) -> Arc<Here> {
        Arc::new_cyclic(|own| Here {
            own: own.clone(),
            faults: Faults::default(),
            folder,
            files: Folders::new(files),
            undo,
            children: Children::new(mouth),
            watching: Watching::default(),
            bridge: OnceLock::new(),
            trials: Mutex::default(),
            group: OnceLock::new(),
            data: OnceLock::new(),
            volume: OnceLock::new(),
            device: OnceLock::new(),
            door: OnceLock::new(),
        })
    }

    /// The same, for a thread of its own.
    pub(crate) fn own(&self) -> Option<Arc<Here>> {
        self.own.upgrade()
    }

    /// Its agent's name: `host1`, `machine`.
    pub(crate) fn name(&self) -> &OsStr {
        self.folder.file_name().unwrap_or_default()
    }

    /// Those that try a disk, some of which have ended.
    pub(crate) fn trials(&self) -> MutexGuard<'_, Vec<Identity>> {
        self.trials.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the next controller comes in, if the agent is to stay without one.
    pub fn door(&self) -> Option<&UnixListener> {
        self.door.get()
    }

    /// Its controller has left, and another may come.
    pub fn leave(&self) {
        self.watching.end();
    }

    /// Ends all processes, and undoes what was done.
    ///
    /// # Errors
    /// The first thing that does not go; all others are undone all the same.
    pub fn end(&self) -> Result<()> {
        self.faults.end();
        let released = self.undo.release();
        let killed = self.children.kill();
        self.undo.run().and(killed).and(released)
    }

    /// Starts a process, which ends with the agent.
    pub(crate) fn start(&self, start: &StartProcess) -> Result<Identity> {
        let mut command = process::command(&start.program);
        command.args(&start.arguments).current_dir(&start.folder);
        command.env_remove(agent::MARK);
        for (name, value) in &start.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND;
        let output = self.files.admit_to_write(&start.output)?;
        let output = output.open(flags, Mode::from_raw_mode(0o666));
        let output = output.with_context(|| format!("write {}", start.output.display()))?;
        let errors = output.try_clone().context("share the output file")?;
        command.stdout(output).stderr(errors);
        let to = start.confinement.as_deref();
        let pending = confine::admit(&mut command, self.group.get(), to)?;
        let process = self.children.start(command)?;
        drop(pending);
        self.faults.remember(process, start);
        Ok(process)
    }

    /// That it is the switch between stand-ins, which has a network of its own.
    pub(crate) fn check_switch(&self) -> Result<()> {
        let bridge = self.bridge.get();
        bridge.copied().context("this is not the agent of a switch")
    }

    /// That it is a stand-in, which has a network of its own.
    pub(crate) fn check_stand_in(&self) -> Result<()> {
        let group = self.group.get();
        group
            .map(drop)
            .context("this host has no network of its own")
    }

    pub(crate) fn group(&self) -> Result<&Group> {
        self.group
            .get()
            .context("this host has no groups of its own")
    }

    /// Its volume, for what is broken there.
    pub(crate) fn volume(&self) -> Result<&Volume> {
        self.volume
            .get()
            .context("this host has no volume of its own; give it one")
    }

    /// The number of its volume's device; none without a volume.
    pub(crate) fn device(&self) -> Option<&str> {
        self.device.get().map(String::as_str)
    }
}

impl Serve<Here> for MakeBridge {
    fn serve(self, here: &Here) -> Result<()> {
        let made = Netlink::open()?.bridge(links::BRIDGE);
        made.context("make a bridge")?;
        let _ = here.bridge.set(());
        Ok(())
    }
}

impl Serve<Here> for RaiseUplink {
    fn serve(self, _: &Here) -> Result<()> {
        Netlink::open()?.up(links::UPLINK, Some(links::BRIDGE))
    }
}

impl Serve<Here> for Plug {
    fn serve(self, _: &Here) -> Result<()> {
        let host = Namespace::open(&format!("/proc/{}/ns/net", self.process.pid))?;
        anyhow::ensure!(self.process.alive(), "its agent has ended");
        let port = links::port(self.number);
        let mut inside = Netlink::open()?;
        inside
            .veth(&port, links::HOST_LINK, &host)
            .with_context(|| format!("make the link {port}"))?;
        inside.up(&port, Some(links::BRIDGE))
    }
}

impl Serve<Here> for LimitPort {
    fn serve(self, _: &Here) -> Result<()> {
        Netlink::open()?.limit(&links::port(self.number), &self.link)
    }
}

impl Serve<Here> for PortLimits {
    fn serve(self, _: &Here) -> Result<LinkSpec> {
        Netlink::open()?.limits(&links::port(self.number))
    }
}

impl Serve<Here> for MakeHost {
    fn serve(self, here: &Here) -> Result<Made> {
        here.undo.add(Undo::Volume(self.folder.clone()))?;
        here.undo.add(Undo::Groups(self.places.clone()))?;
        let group = Group::make(self.places)?;
        let mut made = Made {
            device: None,
            is_direct: true,
        };
        match self.volume_bytes {
            Some(bytes) => {
                let volume = Volume::make(&self.folder, bytes)?;
                made.is_direct = volume.is_direct();
                made.device = Some(volume.device().to_owned());
                let _ = here.device.set(volume.number()?);
                let _ = here.volume.set(volume);
            }
            None => std::fs::create_dir(&self.folder)
                .with_context(|| format!("make {}", self.folder.display()))?,
        }
        net::announce_when_plugged(links::HOST_LINK)?;
        let _ = here.data.set(self.folder);
        let _ = here.group.set(group);
        Ok(made)
    }
}

impl Serve<Here> for Address {
    fn serve(self, _: &Here) -> Result<()> {
        let mut links = Netlink::open()?;
        links.address(links::HOST_LINK, self.0)?;
        links.up(links::HOST_LINK, None)?;
        links.up("lo", None)
    }
}

impl Serve<Here> for Limit {
    fn serve(self, here: &Here) -> Result<()> {
        here.group()?.limit(&self.0, here.device())?;
        Netlink::open()?.limit(links::HOST_LINK, &self.0.link)
    }
}

impl Serve<Here> for Limits {
    fn serve(self, here: &Here) -> Result<HostLimits> {
        Ok(HostLimits {
            groups: here.group()?.limits(here.device())?,
            link: Netlink::open()?.limits(links::HOST_LINK)?,
        })
    }
}

impl Serve<Here> for DropPageCache {
    fn serve(self, here: &Here) -> Result<()> {
        let data = here.data.get().context("this host has no data yet")?;
        let folder = File::open(data).with_context(|| format!("open {}", data.display()))?;
        rustix::fs::syncfs(&folder).with_context(|| format!("sync {}", data.display()))?;
        here.group()?.drop_cache()
    }
}

impl Serve<Here> for StartProcess {
    fn serve(self, here: &Here) -> Result<Identity> {
        here.start(&self)
    }
}

impl Serve<Here> for EndProcess {
    fn serve(self, here: &Here) -> Result<bool> {
        let grace = Duration::from_millis(self.grace_ms);
        here.children.end(self.process, grace)
    }
}

impl Serve<Here> for Abilities {
    fn serve(self, _: &Here) -> Result<Vec<Able>> {
        Ok(able::abilities().to_vec())
    }
}

impl Serve<Here> for VolumeAbilities {
    fn serve(self, _: &Here) -> Result<Vec<Able>> {
        Ok(able::volume_abilities().to_vec())
    }
}

impl Serve<Here> for Processes {
    fn serve(self, here: &Here) -> Result<Vec<(Identity, Option<i32>)>> {
        Ok(here.children.all())
    }
}

impl Serve<Here> for Keep {
    fn serve(self, here: &Here) -> Result<()> {
        let door = agent::listen(&here.folder)?;
        let _ = here.door.set(door);
        Ok(())
    }
}
