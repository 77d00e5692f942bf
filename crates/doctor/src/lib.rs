//! The only crate that judges how a host is set up for Cassandra: each setting with its value,
//! reason, source and command.
//!
//! The crate does not change settings. Facts come from [`host::settings`], which the agent of each
//! host reads. [`rules::judge`] is a pure function that judges these facts.

mod finding;
mod jvm;
mod rules;

pub use finding::{Finding, Severity};

use anyhow::{Context, Result};
use cassandra::{NodeConfiguration, NodeInfo};
use host::Agent;
use host::settings::{HostSettings, Question};
use std::net::{IpAddr, UdpSocket};
use std::path::{Path, PathBuf};

/// An examined host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostExamination {
    pub host: String,
    /// Description of the host: its CPUs, its memory and its programs.
    pub about: Vec<String>,
    /// True if the examination ran inside a container. The kernel settings are then those of the
    /// machine.
    pub is_contained: bool,
    /// Findings for all settings. The most severe findings come first.
    pub findings: Vec<Finding>,
    /// Sentences about everything that cassay could not examine.
    pub unseen: Vec<String>,
}

/// Argument by which cassay recognizes a JVM that runs Cassandra.
const MAIN_CLASS: &str = "org.apache.cassandra.service.CassandraDaemon";

/// Data folder of Cassandra's packages. If the nodes of a host are not known in advance, cassay
/// examines this folder in addition to the folders of the nodes' open files.
const USUAL_FOLDER: &str = "/var/lib/cassandra";

/// Examines the machine that runs cassay, with all nodes on it.
pub fn here() -> HostExamination {
    let settings = HostSettings::read(Path::new("/"), &about_all());
    examine("this machine", &settings, &[])
}

/// Examines the machine of an agent, with all nodes that run on it.
///
/// # Errors
/// The agent has ended.
pub fn there(agent: &Agent, name: &str) -> Result<HostExamination> {
    let settings = agent
        .settings(&about_all())
        .with_context(|| format!("read the settings of {name}"))?;
    Ok(examine(name, &settings, &[]))
}

/// Examines the hosts of a cluster by their answers to [`question`]. `told` contains the nodes'
/// reports on their JVMs. If `hosts` is `None`, cassay is attached to the cluster and examines only
/// the machine that runs cassay.
///
/// # Errors
/// `hosts` is `None`, and none of the nodes runs on the machine that runs cassay.
pub fn examine_cluster(
    nodes: &[NodeInfo],
    hosts: Option<&[(String, HostSettings)]>,
    told: &[NodeConfiguration],
) -> Result<Vec<HostExamination>> {
    let Some(hosts) = hosts else {
        // A program can bind an address only on the machine to which the address belongs.
        let is_own = |ip: IpAddr| ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok();
        let mut all = nodes.iter();
        anyhow::ensure!(
            all.any(|node| is_own(node.address.ip())),
            "cassay reaches the machines of an attached cluster only if `attach: {{hosts: …}}` \
             names them. Without --target, `cassay doctor` checks this machine; with --target \
             ssh:HOST, it checks another machine"
        );
        return Ok(vec![here()]);
    };
    let hosts = hosts.iter();
    Ok(hosts.map(|(name, settings)| examine(name, settings, told)).collect())
}

/// Returns the query that cassay sends to every host.
pub fn question() -> Question {
    Question {
        arguments: jvm::ARGUMENTS.iter().map(|one| (*one).to_owned()).collect(),
        library: "jemalloc".to_owned(),
        ..Question::default()
    }
}

/// Returns the query for a host whose nodes are not known in advance.
fn about_all() -> Question {
    let file = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    Question {
        with_argument: Some(MAIN_CLASS.to_owned()),
        files: vec![file("", "-Data.db"), file("CommitLog-", ".log")],
        folders: vec![PathBuf::from(USUAL_FOLDER)],
        ..question()
    }
}

fn examine(name: &str, settings: &HostSettings, told: &[NodeConfiguration]) -> HostExamination {
    let mut findings = rules::judge(settings, told);
    findings.sort_by_key(|one| one.level);
    HostExamination {
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
