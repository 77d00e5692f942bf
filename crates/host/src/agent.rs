//! The near side of a host's agent.

use crate::Start;
use crate::calls::{
    Abilities, Begin, EndProcess, Keep, MachineAbilities, Note, Processes, Role, StartProcess,
    VolumeAbilities,
};
use crate::place::destination;
use crate::process::{self, Identity};
use crate::remote::supply_folder;
use anyhow::{Context, Result};
use kernel::cgroup;
use measure::clock;
use reach::{Call, Destination, Link, OtherAgents, Refusal, TheirClock, Unreached};
use std::collections::HashMap;
use std::net::IpAddr;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use target::{Capability, RemoteHost};

/// The variable that marks an agent and its guard; its value is the cluster's id.
pub const MARK: &str = "CASSAY_AGENT";

/// The mark of what held kept hosts before there were agents: such clusters can still be ended.
const MARK_BEFORE: &str = "CASSAY_HOLDS";

/// How long a controller may be silent. Nodes that it started end then.
pub const LEASE_S: u64 = 60;

/// How long a call may take that only asks the kernel: much, on a machine that is overloaded.
const LIMIT: Duration = Duration::from_secs(60);

/// How long an agent may take to end what it began: processes are killed, a volume unmounted.
const END_LIMIT: Duration = Duration::from_secs(120);

/// The agent of one host, or of this machine. Dropping it ends what it began, unless it is kept.
#[derive(Debug)]
pub struct Agent {
    link: Link,
    /// The folder below which its files are.
    folder: Option<PathBuf>,
    /// The processes of which we know that they have ended.
    ended: Mutex<HashMap<Identity, ExitStatus>>,
    kept: AtomicBool,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With its status.
    Status(ExitStatus),
    /// With its agent, of which this is known.
    WithItsAgent(String),
    /// Nobody leads to its machine any more, and this is known of why. With nobody to serve, its
    /// agent there ends it within a lease.
    OutOfReach(String),
}

impl Agent {
    /// That of this machine, for what runs on it without a stand-in. It makes `folder`, which is
    /// the cluster's, and removes it when it ends, with all that is in it then.
    ///
    /// # Errors
    /// It cannot be started, or the folder cannot be made.
    pub fn of_machine(cluster: &str, folder: &Path) -> Result<Agent> {
        Agent::begin(cluster, MACHINE, folder)
    }

    /// That of the switch between the stand-ins to be, in a network of its own. With the folder it
    /// is as [`Agent::of_machine`].
    ///
    /// # Errors
    /// As there; or this machine does not permit it.
    pub fn of_switch(cluster: &str, folder: &Path) -> Result<Agent> {
        // Before there is a second process of ours: all would have to move.
        cgroup::step_aside()?;
        Agent::begin(cluster, SWITCH, folder)
    }

    /// That of another machine or of a pod, in a folder of its own there that goes with it.
    ///
    /// # Errors
    /// As [`Link::to`].
    pub fn to(wanted: &Destination) -> Result<Agent, Refusal> {
        let begin = begin_there(wanted);
        let link = Link::to(wanted, &begin)?;
        Ok(Agent::of(link, begin, false))
    }

    /// Those of several such places, in their order, or why one is not there.
    pub fn to_each(wanted: &[Destination]) -> Vec<Result<Agent, Refusal>> {
        let wanted: Vec<_> = wanted.iter().map(|one| (one.clone(), begin_there(one))).collect();
        let links = Link::to_each(&wanted);
        let begun = links.into_iter().zip(wanted);
        begun.map(|(link, (_, begin))| Ok(Agent::of(link?, begin, false))).collect()
    }

    /// Those of several such places, in their order.
    ///
    /// # Errors
    /// As [`Link::to_all`].
    pub fn to_all(wanted: &[Destination]) -> Result<Vec<Agent>, Unreached> {
        let wanted: Vec<_> = wanted.iter().map(|one| (one.clone(), begin_there(one))).collect();
        let links = Link::to_all(&wanted, OtherAgents::End)?;
        let begins = wanted.into_iter().map(|(_, begin)| begin);
        Ok(links
            .into_iter()
            .zip(begins)
            .map(|(link, begin)| Agent::of(link, begin, false))
            .collect())
    }

    /// Those of the machines that are hosts of `cluster`, in their order: each has what is of the
    /// cluster below the machine's folder, and the jars there.
    ///
    /// # Errors
    /// As [`Link::to_all`].
    pub(crate) fn of_hosts(cluster: &str, machines: &[RemoteHost]) -> Result<Vec<Agent>> {
        Agent::all(hosts_there(Role::Host, cluster, machines)?, false)
    }

    /// The kept agents of such machines.
    ///
    /// # Errors
    /// As there; or one has ended, or is of another build.
    pub(crate) fn of_kept_hosts(cluster: &str, machines: &[RemoteHost]) -> Result<Vec<Agent>> {
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
        Ok(agents.map(|(link, begin)| Agent::of(link, begin, is_kept)).collect())
    }

    /// The address at which the sshd of its machine was reached, as that machine has it; none of
    /// this machine.
    pub fn address(&self) -> Option<IpAddr> {
        self.link.address()
    }

    /// What its machine permits; asked there.
    ///
    /// # Errors
    /// The agent is gone.
    pub fn abilities(&self) -> Result<Vec<Capability>> {
        self.call(&Abilities)
    }

    /// What its machine permits to be broken of a volume; asked there.
    ///
    /// # Errors
    /// The agent is gone.
    pub fn volume_abilities(&self) -> Result<Vec<Capability>> {
        self.call(&VolumeAbilities)
    }

    /// What its machine permits to be broken of the machine's own network; asked there.
    ///
    /// # Errors
    /// The agent is gone.
    pub fn machine_abilities(&self) -> Result<Vec<Capability>> {
        self.call(&MachineAbilities)
    }

    /// That of this machine, kept by an earlier command.
    ///
    /// # Errors
    /// As [`Agent::reach`].
    pub fn reach_machine(folder: &Path) -> Result<Agent> {
        Agent::reach(MACHINE, folder)
    }

    /// Starts the agent of the host `name` for what belongs to `cluster`. That of a stand-in has
    /// what is in the folder of its host; the folder of all goes with the others.
    pub(crate) fn begin(cluster: &str, name: &str, folder: &Path) -> Result<Agent> {
        let begin = begin(name, folder);
        let link = Link::open(name, &begin, (MARK, cluster))?;
        Ok(Agent::of(link, begin, false))
    }

    fn of(link: Link, mut begin: Begin, is_kept: bool) -> Agent {
        Agent {
            link,
            folder: begin.files.pop(),
            ended: Mutex::default(),
            kept: AtomicBool::new(is_kept),
        }
    }

    /// Takes up the conversation with the kept agent of the host `name`.
    ///
    /// # Errors
    /// It has ended, or is of another build.
    pub(crate) fn reach(name: &str, folder: &Path) -> Result<Agent> {
        let begin = begin(name, folder);
        let link = with_short_path(&begin.folder, |socket| Link::connect(name, socket))?;
        let agent = Agent::of(link, begin, true);
        agent.learn_ended()?;
        Ok(agent)
    }

    /// Takes note of the processes that have ended while nobody listened.
    fn learn_ended(&self) -> Result<()> {
        let ended = self
            .call(&Processes)?
            .into_iter()
            .filter_map(|(one, status)| Some((one, ExitStatus::from_raw(status?))));
        self.ended().extend(ended);
        Ok(())
    }

    /// Asks for what takes little time.
    pub(crate) fn call<C: Call>(&self, call: &C) -> Result<C::Answer> {
        self.link.call(call, LIMIT)
    }

    /// Asks for what may take as long as `limit`.
    pub(crate) fn call_for<C: Call>(&self, call: &C, limit: Duration) -> Result<C::Answer> {
        self.link.call(call, limit)
    }

    /// Asks for its clock once.
    pub(crate) fn ask_clock(&self, theirs: &mut TheirClock) -> Result<()> {
        theirs.ask(&self.link, LIMIT)
    }

    /// The name of its host: `host1`, `machine`.
    pub fn name(&self) -> &str {
        self.link.name()
    }

    /// Its process.
    pub fn process(&self) -> Identity {
        self.link.hello().process
    }

    /// The folder below which are the files that it may touch, as its host has it; none of the
    /// agent of a switch.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Starts what `command` says on the host, with its output to the file `output`, which is one
    /// of those that the agent may touch. It ends with the agent.
    ///
    /// # Errors
    /// The program cannot be executed, or the agent is gone.
    pub fn start(&self, command: &Command, output: &Path) -> Result<Identity> {
        self.call(&StartProcess::of(command, output)?)
    }

    /// The same.
    ///
    /// # Errors
    /// As [`Agent::start`].
    pub fn start_by(&self, start: &Start) -> Result<Identity> {
        self.call(&start.0)
    }

    /// How a process ended that was started here; `None` while it runs. Asks nobody: the agent
    /// says it by itself.
    pub fn how_ended(&self, process: Identity) -> Option<Ended> {
        let mut ended = self.ended();
        for Note::Ended(process, status) in self.link.notes() {
            ended.insert(process, ExitStatus::from_raw(status));
        }
        match ended.get(&process) {
            Some(status) => Some(Ended::Status(*status)),
            None if self.link.address().is_some() => self.link.lost().map(Ended::OutOfReach),
            None => self.link.lost().map(Ended::WithItsAgent),
        }
    }

    /// Why nothing more will be heard of it; none as long as it is there.
    pub fn lost(&self) -> Option<String> {
        self.link.lost()
    }

    /// Asks a process to end, kills it after `grace`, and waits until it is gone. True if it went
    /// by itself.
    ///
    /// # Errors
    /// It is still there.
    pub fn end_process(&self, process: Identity, grace: Duration) -> Result<bool> {
        if self.how_ended(process).is_some() {
            return Ok(true);
        }
        let grace_ms = grace.as_millis() as u64;
        let call = EndProcess { process, grace_ms };
        self.link.call(&call, grace + LIMIT)
    }

    /// Lets it go on when we end, with all that it began; another command may reach it.
    ///
    /// # Errors
    /// It cannot listen for another command.
    pub fn keep(&self) -> Result<()> {
        self.call(&Keep)?;
        self.kept.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Ends it, with all that it began, whether it is kept or not.
    ///
    /// # Errors
    /// It is not gone in time.
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
        // Nobody is left to hear of it; the next command clears what has stayed.
        let _ = self.end();
    }
}

/// How the agents of machines that are hosts of `cluster` are reached, and what each hears first.
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
            // Who leads to another one ends nothing.
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
    folder.with_context(|| format!("{}: no folder is named for nodes there", machine.ssh))
}

/// What the agent of another machine hears first. Its folder is nobody else's there, whoever else
/// comes from wherever.
fn begin_there(wanted: &Destination) -> Begin {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let number = clock::unix_ns() ^ u64::from(Identity::own().pid).rotate_left(40);
    let above = Path::new(wanted.folder().unwrap_or("/tmp"));
    begin(MACHINE, &above.join(format!("cassay-{number:x}-{count}")))
}

/// What the agent `name` hears first, in the `folder` of all.
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

/// The name of the agent that stands for the machine itself.
pub const MACHINE: &str = "machine";

/// The name of the agent that is in the network of the switch.
pub(crate) const SWITCH: &str = "switch";

/// The own folder of the agent `name`, below the cluster's.
pub fn folder_of(cluster: &Path, name: &str) -> PathBuf {
    cluster.join("agents").join(name)
}

/// Where a kept agent listens, in its own folder.
///
/// # Errors
/// Somebody listens there, or it is not permitted.
pub fn listen(folder: &Path) -> Result<UnixListener> {
    with_short_path(folder, |socket| {
        UnixListener::bind(socket).context("listen for another command")
    })
}

/// A connection to the kept agent that listens in its own `folder`.
///
/// # Errors
/// Nobody listens there.
pub fn knock(folder: &Path) -> Result<UnixStream> {
    with_short_path(folder, |socket| {
        UnixStream::connect(socket).context("connect")
    })
}

/// The socket in `folder` by a path that fits the kernel's 108 bytes, however deep the folder is.
fn with_short_path<T>(folder: &Path, run: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    use std::os::fd::AsRawFd;
    let open = foreign::folder(folder).with_context(|| format!("open {}", folder.display()))?;
    let socket = format!("/proc/self/fd/{}/socket", open.as_raw_fd());
    run(Path::new(&socket)).with_context(|| folder.display().to_string())
}

/// Kills what is left of the agents of a cluster and of their guards, without a word: what they
/// began is then ours to undo. Only to be called when their owner has ended.
///
/// # Errors
/// One does not go.
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

/// The same of the agent of one host of a machine, which was started by ssh and carries the cluster
/// in its name.
///
/// # Errors
/// One does not go.
pub fn end_agent_of(host: &str, cluster: &str) -> Result<()> {
    end_those(|pid| is_agent_of(pid, host, cluster))
}

/// Whether a process is the agent of such a host, or its guard.
pub fn is_agent_of(pid: u32, host: &str, cluster: &str) -> bool {
    let line = process::command_line(pid).unwrap_or_default();
    let name = name_there(host, cluster);
    matches!(&line[..], [_, agent, own, ..] if agent == reach::ARGUMENT && *own == name)
}

/// What the agent of a host of a machine is called there.
fn name_there(host: &str, cluster: &str) -> String {
    format!("{host}-{cluster}")
}

fn end_those(is_one: impl Fn(u32) -> bool) -> Result<()> {
    // The identity is read first: if the id changes hands later, the start time will differ.
    let all = process::all_pids().into_iter().filter_map(Identity::of);
    let agents: Vec<Identity> = all.filter(|one| is_one(one.pid)).collect();
    for agent in &agents {
        agent.signal(rustix::process::Signal::KILL);
    }
    agents.iter().try_for_each(|agent| agent.end(Duration::ZERO).map(drop))
}
