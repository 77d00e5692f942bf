//! A host as its own agent has it: what it was given, what was made and what runs there.
//!
//! What must hold: what would outlive the agent is on its list, and known to its guard, before it
//! is made.

use crate::children::Children;
use crate::faults::state::Faults;
use crate::folders::Folders;
use crate::undo_list::UndoList;
use crate::watching::ActiveWatches;
use anyhow::{Context, Result};
use host::calls::StartProcess;
use host::process::{self, Identity};
use kernel::cgroup::Group;
use kernel::confine;
use kernel::volume::Volume;
use reach::serve::Outbox;
use rustix::fs::{Mode, OFlags};
use std::ffi::OsStr;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// A host as its own agent has it.
pub struct AgentState {
    /// The agent's own folder.
    pub(crate) folder: PathBuf,
    /// Those that it may touch.
    pub(crate) files: Folders,
    pub(crate) watching: ActiveWatches,
    pub(crate) undo: UndoList,
    pub(crate) children: Children,
    pub(crate) faults: Faults,
    /// Processes that try a disk.
    trials: Mutex<Vec<Identity>>,
    /// For what is done without being asked.
    own: Weak<AgentState>,
    /// Of a switch, once its bridge is made.
    pub(crate) bridge: OnceLock<()>,
    /// Of a stand-in, once it has one.
    pub(crate) network: OnceLock<()>,
    /// Of a host, once they are made.
    pub(crate) group: OnceLock<Group>,
    pub(crate) data: OnceLock<PathBuf>,
    /// Held open as long as the agent is there.
    pub(crate) volume: OnceLock<Volume>,
    /// The number of its volume.
    pub(crate) device: OnceLock<String>,
    /// Where the next controller is awaited, once there is to be one.
    pub(crate) door: OnceLock<UnixListener>,
}

impl AgentState {
    /// A host on which nothing was done yet: `folder` is its agent's own, and below `files` is
    /// what the agent may touch.
    pub fn new(
        folder: PathBuf,
        files: Vec<PathBuf>,
        undo: UndoList,
        outbox: Outbox,
    ) -> Arc<AgentState> {
        Arc::new_cyclic(|own| AgentState {
            own: own.clone(),
            faults: Faults::default(),
            folder,
            files: Folders::new(files),
            undo,
            children: Children::new(outbox),
            watching: ActiveWatches::default(),
            bridge: OnceLock::new(),
            trials: Mutex::default(),
            network: OnceLock::new(),
            group: OnceLock::new(),
            data: OnceLock::new(),
            volume: OnceLock::new(),
            device: OnceLock::new(),
            door: OnceLock::new(),
        })
    }

    /// The same, for a thread of its own.
    pub(crate) fn own(&self) -> Option<Arc<AgentState>> {
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
        self.undo.close();
        self.faults.end();
        let released = self.undo.release();
        let killed = self.children.kill();
        self.undo.run().and(killed).and(released)
    }

    /// Starts a process, which ends with the agent.
    pub(crate) fn start(&self, start: &StartProcess) -> Result<Identity> {
        let mut command = process::command(&start.program);
        command.args(&start.arguments).current_dir(&start.folder);
        command.env_remove(host::MARK);
        for (name, value) in &start.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND;
        let output = self
            .files
            .admit_to_write(&start.output)?
            .open(flags, Mode::from_raw_mode(0o666))
            .with_context(|| format!("write {}", start.output.display()))?;
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
        let network = self.network.get();
        network.copied().context("this host has no network of its own")
    }

    pub(crate) fn group(&self) -> Result<&Group> {
        self.group.get().context("this host has no groups of its own")
    }

    /// Its volume, for what is broken there.
    pub(crate) fn volume(&self) -> Result<&Volume> {
        self.volume.get().context("this host has no volume of its own; give it one")
    }

    /// The number of its volume's device; none without a volume.
    pub(crate) fn device(&self) -> Option<&str> {
        self.device.get().map(String::as_str)
    }
}
