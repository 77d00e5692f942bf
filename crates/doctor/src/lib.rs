//! The only crate that knows how a host should be set up for Cassandra: each setting with what is
//! wanted, why, who says so and what sets it.
//!
//! Nothing is changed. Facts come from [`host::settings`], read by the agent of each host;
//! [`rules`] judges them, and is a pure function of them.

mod finding;
mod jvm;
mod rules;

pub use finding::{Finding, Level};

use anyhow::{Context, Result};
use cluster::{Cluster, NodeConfiguration};
use host::Agent;
use host::settings::{HostSettings, Question};
use std::net::{IpAddr, UdpSocket};
use std::path::{Path, PathBuf};

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
    let settings = agent
        .settings(&of_all())
        .with_context(|| format!("read the settings of {name}"))?;
    Ok(examine(name, &settings, &[]))
}

/// The hosts of a cluster, as their agents see them; `told` is what its nodes say of their JVMs. Of
/// a cluster that is not ours nobody reaches the hosts, unless it is this machine.
///
/// # Errors
/// An agent is gone, or no host can be reached.
pub fn of_cluster(cluster: &Cluster, told: &[NodeConfiguration]) -> Result<Vec<Examined>> {
    let Some(hosts) = cluster.host_settings(&question())? else {
        // An address can be bound where it belongs, and nowhere else.
        let is_own = |ip: IpAddr| ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok();
        let mut all = cluster.nodes().iter();
        anyhow::ensure!(
            all.any(|node| is_own(node.address.ip())),
            "the machines of an attached cluster cannot be reached unless `attach: {{hosts: …}}` \
             names them; `cassay doctor` looks at the machine that it runs on, and at others with \
             --target ssh:HOST"
        );
        return Ok(vec![here()]);
    };
    let hosts = hosts.iter();
    Ok(hosts.map(|(name, settings)| examine(name, settings, told)).collect())
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
    about.extend(memory.map(|bytes| format!("{} of memory", measure::number::bytes(*bytes))));
    if settings.is_virtual {
        about.push("a virtual machine".to_owned());
    }
    about.extend(settings.container.as_ref().map(|kind| format!("inside a container ({kind})")));
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
