//! State of a host at its own agent: folders, kernel objects and processes.
//!
//! Invariant: before the agent creates an object that would outlive it, the agent adds the object
//! to the undo list and informs the guard.

use crate::children::Children;
use crate::faults::active_faults::Faults;
use crate::folders::Folders;
use crate::probe_calls::ActiveWatches;
use crate::undo_list::UndoList;
use anyhow::{Context, Result};
use host::calls::StartProcess;
use host::process::{self, Identity};
use linux::cgroup::Group;
use linux::cpu_affinity;
use linux::volume::Volume;
use remote::agent_loop::Outbox;
use rustix::fs::{Mode, OFlags};
use std::ffi::OsStr;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

pub struct AgentState {
    pub(crate) folder: PathBuf,
    pub(crate) files: Folders,
    pub(crate) watching: ActiveWatches,
    pub(crate) undo: UndoList,
    pub(crate) children: Children,
    pub(crate) faults: Faults,
    /// Processes that test a disk.
    trials: Mutex<Vec<Identity>>,
    /// Reference to this state, for independent threads.
    own: Weak<AgentState>,
    /// Set when the agent's switch has created its bridge.
    pub(crate) bridge: OnceLock<()>,
    /// Set when the agent's simulated host has a network.
    pub(crate) network: OnceLock<()>,
    /// Prefix of cassay's kernel objects for nodes on this machine. Set when the machine is ready.
    pub(crate) machine: OnceLock<String>,
    /// Control groups of the host. Set when they exist.
    pub(crate) group: OnceLock<Group>,
    pub(crate) data: OnceLock<PathBuf>,
    /// Volume of the host, which remains open while the agent runs.
    pub(crate) volume: OnceLock<Volume>,
    /// Device number of the host's volume.
    pub(crate) device: OnceLock<String>,
    /// Socket for the next controller of a kept agent.
    pub(crate) door: OnceLock<UnixListener>,
}

impl AgentState {
    /// Creates the state of an unchanged host. `folder` is for the agent's own files. The agent may
    /// access `files`.
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
            machine: OnceLock::new(),
            group: OnceLock::new(),
            data: OnceLock::new(),
            volume: OnceLock::new(),
            device: OnceLock::new(),
            door: OnceLock::new(),
        })
    }

    /// Returns a reference for a thread, or `None` if the state no longer exists.
    pub(crate) fn own(&self) -> Option<Arc<AgentState>> {
        self.own.upgrade()
    }

    /// Returns the name of the agent, such as `host1` or `machine`.
    pub(crate) fn name(&self) -> &OsStr {
        self.folder.file_name().unwrap_or_default()
    }

    /// Locks the list of processes that test a disk, some of which may have ended.
    pub(crate) fn trials(&self) -> MutexGuard<'_, Vec<Identity>> {
        self.trials.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the socket for the next controller of a kept agent.
    pub fn door(&self) -> Option<&UnixListener> {
        self.door.get()
    }

    /// Ends the probes of a disconnected controller. Another controller may connect later.
    pub fn leave(&self) {
        self.watching.end();
    }

    /// Ends all processes, and undoes all changes.
    ///
    /// # Errors
    /// A process cannot be killed, or a change cannot be undone. The other changes are still
    /// undone.
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
        let errors = output.try_clone().context("duplicate the descriptor of the output file")?;
        command.stdout(output).stderr(errors);
        let to = start.confinement.as_deref();
        let pending = cpu_affinity::admit(&mut command, self.group.get(), to)?;
        let process = self.children.start(command)?;
        drop(pending);
        self.faults.remember(process, start);
        Ok(process)
    }

    /// Checks that this is the agent of a switch, which has a separate network namespace.
    pub(crate) fn check_switch(&self) -> Result<()> {
        let bridge = self.bridge.get();
        bridge.copied().context("this is not the agent of a switch")
    }

    /// Checks that this is the agent of a simulated host, which has a separate network namespace.
    pub(crate) fn check_stand_in(&self) -> Result<()> {
        let network = self.network.get();
        network.copied().context("this host has no separate network")
    }

    /// Checks that this is the agent of a machine with nodes, whose network has other users.
    /// Returns the prefix of cassay's kernel objects on the machine.
    pub(crate) fn machine(&self) -> Result<&str> {
        let machine = self.machine.get();
        machine
            .map(String::as_str)
            .context("this is not the agent of a machine with nodes")
    }

    pub(crate) fn group(&self) -> Result<&Group> {
        self.group.get().context("this host has no control groups")
    }

    pub(crate) fn volume(&self) -> Result<&Volume> {
        self.volume
            .get()
            .context("this host has no separate volume: add one with `host: {volume: 20GiB}`")
    }

    /// Returns the kernel's device number of the host's volume, if any.
    pub(crate) fn device(&self) -> Option<&str> {
        self.device.get().map(String::as_str)
    }
}
