//! Whether hosts are set up as Cassandra wants them: each setting with what was found, what is
//! wanted and why, and what would set it so. Nothing is changed.
//!
//! Facts come from [`host::settings`], read by the agent of each host; [`rules`] judges them, and
//! is a pure function of them.

mod jvm;
mod rules;

use crate::cluster::Cluster;
use crate::local::NodeConfiguration;
use anyhow::{Context, Result};
use host::Agent;
use host::settings::{HostSettings, Question};
use std::net::{IpAddr, UdpSocket};
use std::path::{Path, PathBuf};
use topology::Machine;

measure::word_enum! {
    /// How a setting is to be taken.
    #[derive(PartialOrd, Ord)]
    pub enum Level {
        /// It costs performance or stability, or loses something.
        Warning = "warning",
        /// Another value is recommended; it matters for some.
        Advice = "advice",
        /// It could not be seen.
        NotTold = "not told",
        /// As it should be.
        Ok = "ok",
    }
}

/// One setting of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its name: `vm.max_map_count`, `limit.nofile`, `heap.size`.
    pub setting: &'static str,
    /// What of the host has it: a node, a device; empty for the host itself.
    pub on: String,
    /// What was found; why nothing was, if it is not told.
    pub value: String,
    /// What is wanted.
    pub wanted: String,
    /// How that is to be taken.
    pub level: Level,
    /// Why it is wanted.
    pub why: String,
    /// The command that sets it so, or what is to be done.
    pub fix: String,
    /// Who wants it so.
    pub source: &'static str,
    /// What Cassandra itself checks of it when it starts; empty for nothing.
    pub start_check: &'static str,
}

/// A host that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// Its name.
    pub host: String,
    /// What it is, in words: CPUs, memory, what runs there.
    pub about: Vec<String>,
    /// Whether it was looked at from inside a container, where the kernel is the machine's.
    pub is_contained: bool,
    /// All settings, the worst first.
    pub findings: Vec<Finding>,
    /// What could not be looked at, a sentence each.
    pub unseen: Vec<String>,
}

/// The argument by which a Java machine runs Cassandra.
const MAIN_CLASS: &str = "org.apache.cassandra.service.CassandraDaemon";

/// Where packages of Cassandra keep its data: looked at where no node says where.
const USUAL_FOLDER: &str = "/var/lib/cassandra";

/// This machine, with all nodes that run on it.
pub fn here() -> Examined {
    let settings = HostSettings::read(Path::new("/"), &of_all());
    examine("this machine", &settings, &[])
}

/// The machine of an agent, with all nodes that run on it.
///
/// # Errors
/// The agent is gone.
pub fn there(agent: &Agent, name: &str) -> Result<Examined> {
    let settings = agent.settings(&of_all());
    let settings = settings.with_context(|| format!("read the settings of {name}"))?;
    Ok(examine(name, &settings, &[]))
}

impl Cluster {
    /// The machines of its hosts, by their names, as processes on them see them.
    ///
    /// # Errors
    /// As [`Cluster::doctor`]; or a kernel does not say what its machine looks like.
    pub fn machines(&self) -> Result<Vec<(String, Machine)>> {
        let nodes = self.local();
        let nodes = nodes.context(
            "the machines of an attached cluster cannot be reached; --target ssh:HOST asks one of \
             them",
        )?;
        let of_host = |(agent, host): (&std::sync::Arc<Agent>, Option<&host::Host>)| {
            let name = host.map_or("this machine", host::Host::name);
            let machine = agent.machine();
            let machine = machine.with_context(|| format!("read what {name} looks like"))?;
            Ok((name.to_owned(), machine))
        };
        nodes.agents().into_iter().map(of_host).collect()
    }

    /// Its hosts, as their agents see them; `told` is what its nodes say of their JVMs. Of a
    /// cluster that is not ours nobody reaches the hosts, unless it is this machine.
    ///
    /// # Errors
    /// An agent is gone, or no host can be reached.
    pub fn doctor(&self, told: &[NodeConfiguration]) -> Result<Vec<Examined>> {
        let Some(nodes) = self.local() else {
            // An address can be bound where it belongs, and nowhere else.
            let is_own = |ip: IpAddr| ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok();
            let mut all = self.nodes().iter();
            anyhow::ensure!(
                all.any(|node| is_own(node.address.ip())),
                "the machines of an attached cluster cannot be reached; `cassay doctor` looks at \
                 the machine that it runs on, and at others with --target ssh:HOST"
            );
            return Ok(vec![here()]);
        };
        let of_host = |(agent, host): (&_, Option<&host::Host>)| {
            let name = host.map_or("this machine", host::Host::name);
            let processes = nodes.processes_of(agent);
            let processes: Vec<_> = processes
                .map(|(name, pid)| (name.to_owned(), pid))
                .collect();
            let is_here = |name: &str| processes.iter().any(|(one, _)| one == name);
            let folders = nodes.data_folders().filter(|(name, _)| is_here(name));
            let question = Question {
                folders: folders.map(|(_, folder)| folder).collect(),
                processes: processes.clone(),
                ..question()
            };
            let settings = agent.settings(&question);
            let settings = settings.with_context(|| format!("read the settings of {name}"))?;
            Ok(examine(name, &settings, told))
        };
        nodes.agents().into_iter().map(of_host).collect()
    }
}

/// What every host is asked.
fn question() -> Question {
    Question {
        arguments: jvm::ARGUMENTS.iter().map(|one| (*one).to_owned()).collect(),
        library: "jemalloc".to_owned(),
        ..Question::default()
    }
}

/// What a host is asked whose nodes nobody names.
fn of_all() -> Question {
    let file = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    Question {
        with_argument: Some(MAIN_CLASS.to_owned()),
        files: vec![file("", "-Data.db"), file("CommitLog-", ".log")],
        folders: vec![PathBuf::from(USUAL_FOLDER)],
        ..question()
    }
}

fn examine(name: &str, settings: &HostSettings, told: &[NodeConfiguration]) -> Examined {
    let mut findings = rules::judge(settings, told);
    findings.sort_by_key(|one| one.level);
    Examined {
        host: name.to_owned(),
        about: about(settings),
        is_contained: settings.container.is_some(),
        findings,
        unseen: settings.unseen.clone(),
    }
}

fn about(settings: &HostSettings) -> Vec<String> {
    let mut about = Vec::new();
    about.extend(jvm::list(&settings.cpus).map(|cpus| match cpus.len() {
        1 => "1 CPU".to_owned(),
        count => format!("{count} CPUs"),
    }));
    let memory = settings.memory_bytes.as_ref().ok();
    about.extend(memory.map(|bytes| format!("{} of memory", rules::bytes(*bytes))));
    if settings.is_virtual {
        about.push("a virtual machine".to_owned());
    }
    about.extend(
        settings
            .container
            .as_ref()
            .map(|kind| format!("inside a container ({kind})")),
    );
    about.push(match settings.processes.len() {
        0 => "no Cassandra runs".to_owned(),
        _ => {
            let names = settings.processes.iter().map(|one| one.name.as_str());
            format!("Cassandra: {}", names.collect::<Vec<_>>().join(", "))
        }
    });
    about
}

#[cfg(test)]
mod tests;
