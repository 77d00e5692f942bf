//! Client with which a controller calls the agent of a host.

use crate::Start;
use crate::calls::{
    Begin, Capabilities, EndProcess, Keep, MachineCapabilities, Note, Processes, Role,
    StartProcess, VolumeCapabilities,
};
use crate::destination::destination;
use crate::process::{self, Identity};
use crate::remote_host::supply_folder;
use anyhow::{Context, Result};
use linux::cgroup;
use measure::clock;
use remote::{Call, ClockOffset, Destination, Link, OtherAgents, Refusal, UnreachedMachines};
use std::collections::HashMap;
use std::net::IpAddr;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use target_spec::{CapabilityStatus, RemoteHost};

/// Environment variable that marks an agent and its guard. The value is the id of the cluster.
pub const MARK: &str = "CASSAY_AGENT";

/// Environment variable that marked the processes of kept hosts in versions without agents. With
/// this name, cassay can end clusters of these versions.
const MARK_BEFORE: &str = "CASSAY_HOLDS";

/// Time without contact to the controller after which an agent ends the nodes that it started, in
/// seconds.
pub const LEASE_S: u64 = 60;

/// Default time limit of a call. It is long, because the machine may be overloaded.
const LIMIT: Duration = Duration::from_secs(60);

/// Time limit for an agent to end, which includes killing processes and unmounting a volume.
const END_LIMIT: Duration = Duration::from_secs(120);

/// Agent of a host or of this machine. Dropping this value ends the processes that the agent
/// started, unless the agent is kept.
#[derive(Debug)]
pub struct Agent {
    link: Link,
    /// Folder of the files that the agent may access. `None` for the agent of a switch.
    folder: Option<PathBuf>,
    /// Processes of the agent that have ended, with their exit status.
    ended: Mutex<HashMap<Identity, ExitStatus>>,
    kept: AtomicBool,
}

/// The way in which a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    Status(ExitStatus),
    /// The process ended together with its agent, for this reason.
    WithItsAgent(String),
    /// The machine of the process is unreachable, for this reason. The agent on that machine ends
    /// the process when its lease expires without contact to the controller.
    OutOfReach(String),
}

impl Agent {
    /// Starts the agent of this machine, for processes without a simulated host. The agent creates
    /// the cluster's `folder`, and removes it with its contents when it ends.
    ///
    /// # Errors
    /// The agent cannot be started, or the folder cannot be created.
    pub fn start_on_machine(cluster: &str, folder: &Path) -> Result<Agent> {
        Agent::begin(cluster, MACHINE, folder)
    }

    /// Starts the agent of the switch between simulated hosts, in a separate network namespace. The
    /// agent treats `folder` as in [`Agent::start_on_machine`].
    ///
    /// # Errors
    /// The errors of [`Agent::start_on_machine`], or this machine does not permit a network
    /// namespace.
    pub fn start_switch(cluster: &str, folder: &Path) -> Result<Agent> {
        // cassay makes this call before the command starts a second process. Otherwise all
        // processes of the command would have to move to the new control group.
        cgroup::step_aside()?;
        Agent::begin(cluster, SWITCH, folder)
    }

    /// Starts an agent on another machine or in a pod. The agent creates a folder there, and
    /// removes the folder when it ends.
    ///
    /// # Errors
    /// The errors of [`Link::to`].
    pub fn to(wanted: &Destination) -> Result<Agent, Refusal> {
        let begin = begin_there(wanted);
        let link = Link::to(wanted, &begin)?;
        Ok(Agent::new(link, begin, false))
    }

    /// Starts agents on several machines or in several pods. Returns each agent, or the reason why
    /// it could not be started, in the order of the destinations.
    pub fn to_each(wanted: &[Destination]) -> Vec<Result<Agent, Refusal>> {
        let wanted: Vec<_> = wanted.iter().map(|one| (one.clone(), begin_there(one))).collect();
        let links = Link::to_each(&wanted);
        let begun = links.into_iter().zip(wanted);
        begun.map(|(link, (_, begin))| Ok(Agent::new(link?, begin, false))).collect()
    }

    /// Starts agents on several machines or in several pods. Returns the agents in the order of the
    /// destinations.
    ///
    /// # Errors
    /// The errors of [`Link::to_all`].
    pub fn to_all(wanted: &[Destination]) -> Result<Vec<Agent>, UnreachedMachines> {
        let wanted: Vec<_> = wanted.iter().map(|one| (one.clone(), begin_there(one))).collect();
        let links = Link::to_all(&wanted, OtherAgents::End)?;
        let begins = wanted.into_iter().map(|(_, begin)| begin);
        Ok(links
            .into_iter()
            .zip(begins)
            .map(|(link, begin)| Agent::new(link, begin, false))
            .collect())
    }

    /// Starts the agents of machines that are hosts of `cluster`, and returns the agents in order.
    /// Each agent manages the cluster's files below the folder of its machine, and the jars in that
    /// folder.
    ///
    /// # Errors
    /// The errors of [`Link::to_all`].
    pub(crate) fn start_hosts(cluster: &str, machines: &[RemoteHost]) -> Result<Vec<Agent>> {
        Agent::all(hosts_there(Role::Host, cluster, machines)?, false)
    }

    /// Connects to the kept agents of machines that are hosts of `cluster`.
    ///
    /// # Errors
    /// The errors of [`Agent::start_hosts`], or an agent has ended, or comes from another build of
    /// cassay.
    pub(crate) fn connect_kept_hosts(cluster: &str, machines: &[RemoteHost]) -> Result<Vec<Agent>> {
        let agents = Agent::all(hosts_there(Role::Relay, cluster, machines)?, true)?;
        for agent in &agents {
            agent.learn_ended()?;
        }
        Ok(agents)
    }

    fn all(wanted: Vec<(Destination, Begin)>, is_kept: bool) -> Result<Vec<Agent>> {
        let others = if is_kept {
            OtherAgents::Leave
        } else {
            OtherAgents::End
        };
        let links = Link::to_all(&wanted, others)?;
        let begins = wanted.into_iter().map(|(_, begin)| begin);
        let agents = links.into_iter().zip(begins);
        Ok(agents.map(|(link, begin)| Agent::new(link, begin, is_kept)).collect())
    }

    /// Returns the address at which this machine reached the sshd of the agent's machine, as that
    /// machine sees the address. Returns `None` for the agent of this machine.
    pub fn address(&self) -> Option<IpAddr> {
        self.link.address()
    }

    /// Returns the capabilities of the agent's machine.
    ///
    /// # Errors
    /// The agent has ended.
    pub fn capabilities(&self) -> Result<Vec<CapabilityStatus>> {
        self.call(&Capabilities)
    }

    /// Returns the capabilities of the agent's machine for volume faults.
    ///
    /// # Errors
    /// The agent has ended.
    pub fn volume_capabilities(&self) -> Result<Vec<CapabilityStatus>> {
        self.call(&VolumeCapabilities)
    }

    /// Returns the capabilities of the agent's machine for faults of the machine's own network.
    ///
    /// # Errors
    /// The agent has ended.
    pub fn machine_capabilities(&self) -> Result<Vec<CapabilityStatus>> {
        self.call(&MachineCapabilities)
    }

    /// Connects to the agent of this machine that an earlier command left running.
    ///
    /// # Errors
    /// The errors of [`Agent::reach`].
    pub fn reach_machine(folder: &Path) -> Result<Agent> {
        Agent::reach(MACHINE, folder)
    }

    /// Starts the agent of the host `name` for `cluster`. The agent of a simulated host manages
    /// only the folder of its host. Any other agent removes the folder of the cluster when it ends.
    pub(crate) fn begin(cluster: &str, name: &str, folder: &Path) -> Result<Agent> {
        let begin = begin(name, folder);
        let link = Link::open(name, &begin, (MARK, cluster))?;
        Ok(Agent::new(link, begin, false))
    }

    fn new(link: Link, mut begin: Begin, is_kept: bool) -> Agent {
        Agent {
            link,
            folder: begin.files.pop(),
            ended: Mutex::default(),
            kept: AtomicBool::new(is_kept),
        }
    }

    /// Connects to the kept agent of the host `name`.
    ///
    /// # Errors
    /// The agent has ended, or comes from another build of cassay.
    pub(crate) fn reach(name: &str, folder: &Path) -> Result<Agent> {
        let begin = begin(name, folder);
        let link = with_short_path(&begin.folder, |socket| Link::connect(name, socket))?;
        let agent = Agent::new(link, begin, true);
        agent.learn_ended()?;
        Ok(agent)
    }

    /// Fetches the processes that ended while no controller was connected.
    fn learn_ended(&self) -> Result<()> {
        let ended = self
            .call(&Processes)?
            .into_iter()
            .filter_map(|(one, status)| Some((one, ExitStatus::from_raw(status?))));
        self.ended().extend(ended);
        Ok(())
    }

    /// Makes a call with the default time limit.
    pub(crate) fn call<C: Call>(&self, call: &C) -> Result<C::Answer> {
        self.link.call(call, LIMIT)
    }

    pub(crate) fn call_for<C: Call>(&self, call: &C, limit: Duration) -> Result<C::Answer> {
        self.link.call(call, limit)
    }

    /// Makes one exchange with the agent to measure the offset of its clock, and adds the result to
    /// `theirs`.
    pub(crate) fn ask_clock(&self, theirs: &mut ClockOffset) -> Result<()> {
        theirs.ask(&self.link, LIMIT)
    }

    /// Returns the name of the agent's host, such as `host1` or `machine`.
    pub fn name(&self) -> &str {
        self.link.name()
    }

    /// Returns the identity of the agent's process.
    pub fn process(&self) -> Identity {
        self.link.hello().process
    }

    /// Returns the folder of the files that the agent may access, as a path on its host. Returns
    /// `None` for the agent of a switch.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Starts `command` on the host. The process writes its output to the file `output`, which the
    /// agent must be permitted to access. The process ends with the agent.
    ///
    /// # Errors
    /// The program cannot be executed, or the agent has ended.
    pub fn start(&self, command: &Command, output: &Path) -> Result<Identity> {
        self.call(&StartProcess::from_command(command, output)?)
    }

    /// Starts a process by its start command.
    ///
    /// # Errors
    /// The errors of [`Agent::start`].
    pub fn start_by(&self, start: &Start) -> Result<Identity> {
        self.call(&start.0)
    }

    /// Returns how a process that the agent started has ended. Returns `None` while the process
    /// runs. This function does not call the agent, because the agent reports the end of each
    /// process by itself.
    pub fn how_ended(&self, process: Identity) -> Option<ProcessEnd> {
        let mut ended = self.ended();
        for Note::Ended(process, status) in self.link.notes() {
            ended.insert(process, ExitStatus::from_raw(status));
        }
        match ended.get(&process) {
            Some(status) => Some(ProcessEnd::Status(*status)),
            None if self.link.address().is_some() => self.link.lost().map(ProcessEnd::OutOfReach),
            None => self.link.lost().map(ProcessEnd::WithItsAgent),
        }
    }

    /// Returns the reason why the agent cannot be reached. Returns `None` while the agent can be
    /// reached.
    pub fn lost(&self) -> Option<String> {
        self.link.lost()
    }

    /// Tells a process to end, kills it after `grace`, and waits until it has ended. Returns true
    /// if the process ended before it was killed.
    ///
    /// # Errors
    /// The process still exists.
    pub fn end_process(&self, process: Identity, grace: Duration) -> Result<bool> {
        if self.how_ended(process).is_some() {
            return Ok(true);
        }
        let grace_ms = grace.as_millis() as u64;
        let call = EndProcess { process, grace_ms };
        self.link.call(&call, grace + LIMIT)
    }

    /// Lets the agent and all processes that it started outlive this process. Another command can
    /// then connect to the agent.
    ///
    /// # Errors
    /// The agent cannot listen for another command.
    pub fn keep(&self) -> Result<()> {
        self.call(&Keep)?;
        self.kept.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Ends the agent and all processes that it started, whether the agent is kept or not.
    ///
    /// # Errors
    /// The agent has not ended in time.
    pub fn end(&self) -> Result<()> {
        self.link.end(END_LIMIT)
    }

    fn ended(&self) -> std::sync::MutexGuard<'_, HashMap<Identity, ExitStatus>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if self.kept.load(Ordering::Relaxed) {
            return self.link.leave();
        }
        // The result is ignored, because a destructor cannot return an error. The next command
        // removes the leftovers.
        let _ = self.end();
    }
}

/// Returns the destinations of the agents on machines that are hosts of `cluster`. Each destination
/// comes with the first message to its agent.
fn hosts_there(
    role: Role,
    cluster: &str,
    machines: &[RemoteHost],
) -> Result<Vec<(Destination, Begin)>> {
    let wanted = |(machine, number): (&RemoteHost, usize)| {
        let (name, folder) = (format!("host{number}"), folder_there(machine)?);
        let tree = folder.join(cluster);
        let begin = Begin {
            role,
            folder: folder_of(&tree, &name),
            files: vec![supply_folder(&folder), tree.join(&name)],
            // A relay only connects to the kept agent, so the relay must not remove files.
            tree: (role == Role::Host).then_some(tree),
            lease_s: LEASE_S,
        };
        Ok((
            destination(machine)?.for_agent(&name_there(&name, cluster)),
            begin,
        ))
    };
    machines.iter().zip(1..).map(wanted).collect()
}

fn folder_there(machine: &RemoteHost) -> Result<PathBuf> {
    let folder = machine.folder.clone();
    folder.with_context(|| {
        format!(
            "{}: the study does not set the `folder` of nodes on this machine",
            machine.ssh
        )
    })
}

/// Returns the first message to the agent of another machine. The agent's folder is unique on that
/// machine, even if other controllers use the machine too.
fn begin_there(wanted: &Destination) -> Begin {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let number = clock::unix_ns() ^ u64::from(Identity::own().pid).rotate_left(40);
    let above = Path::new(wanted.folder().unwrap_or("/tmp"));
    begin(MACHINE, &above.join(format!("cassay-{number:x}-{count}")))
}

/// Returns the first message to the agent `name`, for the cluster's `folder`.
fn begin(name: &str, folder: &Path) -> Begin {
    let all = || folder.to_owned();
    let (role, files, tree) = match name {
        MACHINE => (Role::Machine, vec![all()], Some(all())),
        SWITCH => (Role::Switch, Vec::new(), Some(all())),
        _ => (Role::StandIn, vec![folder.join(name)], None),
    };
    Begin {
        role,
        folder: folder_of(folder, name),
        tree,
        files,
        lease_s: LEASE_S,
    }
}

/// Name of the agent of the machine itself.
pub const MACHINE: &str = "machine";

/// Name of the agent in the network namespace of the switch.
pub(crate) const SWITCH: &str = "switch";

/// Returns the folder for the agent's own files, which is below the folder of the cluster.
pub fn folder_of(cluster: &Path, name: &str) -> PathBuf {
    cluster.join("agents").join(name)
}

/// Creates the socket of a kept agent in `folder`, which is the folder for the agent's own files.
///
/// # Errors
/// Another process listens in the folder, or the kernel does not permit listening there.
pub fn listen(folder: &Path) -> Result<UnixListener> {
    with_short_path(folder, |socket| {
        UnixListener::bind(socket).context("listen for another command")
    })
}

/// Connects to the kept agent that listens in `folder`, which is the folder for the agent's own
/// files.
///
/// # Errors
/// No process listens in the folder.
pub fn knock(folder: &Path) -> Result<UnixStream> {
    with_short_path(folder, |socket| {
        UnixStream::connect(socket).context("connect")
    })
}

/// Calls `run` with a path for the socket in `folder`. The path is within the kernel's limit of 108
/// bytes, even if the path of the folder is longer.
fn with_short_path<T>(folder: &Path, run: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    use std::os::fd::AsRawFd;
    let open = foreign::folder(folder).with_context(|| format!("open {}", folder.display()))?;
    let socket = format!("/proc/self/fd/{}/socket", open.as_raw_fd());
    run(Path::new(&socket)).with_context(|| folder.display().to_string())
}

/// Kills the remaining agents of a cluster and their guards, without asking them to end. The caller
/// must undo the changes of these agents. This function may be called only when the owner of the
/// agents has ended.
///
/// # Errors
/// An agent does not end.
pub fn end_agents(cluster: &str) -> Result<()> {
    let marks = [MARK, MARK_BEFORE].map(|name| format!("{name}={cluster}"));
    let is_marked = |pid: u32| {
        std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(|bytes| {
            let mut variables = bytes.split(|&byte| byte == 0);
            variables.any(|one| marks.iter().any(|mark| one == mark.as_bytes()))
        })
    };
    end_those(is_marked)
}

/// Ends the agent of one host on a machine, as [`end_agents`] does. cassay starts such an agent by
/// ssh, and gives it a name that contains the id of the cluster.
///
/// # Errors
/// An agent does not end.
pub fn end_agent_of(host: &str, cluster: &str) -> Result<()> {
    end_those(|pid| is_agent_of(pid, host, cluster))
}

/// Returns true if a process is the agent of this host of the cluster, or the guard of that agent.
pub fn is_agent_of(pid: u32, host: &str, cluster: &str) -> bool {
    let line = process::command_line(pid).unwrap_or_default();
    let name = name_there(host, cluster);
    matches!(&line[..], [_, agent, own, ..] if agent == remote::ARGUMENT && *own == name)
}

/// Returns the name of the agent for a host on a machine.
fn name_there(host: &str, cluster: &str) -> String {
    format!("{host}-{cluster}")
}

fn end_those(is_one: impl Fn(u32) -> bool) -> Result<()> {
    // This function reads the identity of each process before it checks the process. If the process
    // id is reused later, the start time in the identity differs, so the new process gets no
    // signal.
    let all = process::all_pids().into_iter().filter_map(Identity::read);
    let agents: Vec<Identity> = all.filter(|one| is_one(one.pid)).collect();
    for agent in &agents {
        agent.signal(rustix::process::Signal::KILL);
    }
    agents.iter().try_for_each(|agent| agent.end(Duration::ZERO).map(drop))
}
