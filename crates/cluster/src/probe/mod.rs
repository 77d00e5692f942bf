//! Probes: what the machine, the hosts, the processes and the database say of themselves while
//! work goes on. Those of machine, hosts and processes are [`host::probe`]'s, as are the threads
//! that look, and run in the host's agent; here are those of the database, which are asked over the
//! network, and what runs where for a cluster.

mod beans;
mod cassandra;
mod gc_log;
mod jvm;
mod node;
mod virtual_tables;

pub use host::probe::{ProbeCost, Probes, Reading};

use crate::cluster::Cluster;
use crate::local::Nodes;
use crate::node::NodeInfo;
use anyhow::Result;
use host::probe::Sampler;
use host::{Hosts, Watch};
use std::time::Duration;

/// Which probes run, each with the time between two looks; `None`: it does not run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeSpec {
    /// The machine and the stand-in hosts: CPUs, memory, devices, network, pressure.
    pub hosts: Option<Duration>,
    /// The nodes' processes and this one.
    pub processes: Option<Duration>,
    /// The nodes' Java machines.
    pub jvm: Option<Duration>,
    /// The database's own figures.
    pub cassandra: Option<Duration>,
    /// Pauses, from the collector's log.
    pub gc_log: Option<Duration>,
}

impl Cluster {
    /// Starts the probes of `spec`; `tables` of `keyspace` are those whose own figures are read.
    ///
    /// # Errors
    /// A probe cannot start at all: the message says which and why. What some probe cannot see is
    /// no error, see [`Cluster::unseen`].
    pub fn probe(&self, spec: &ProbeSpec, keyspace: &str, tables: &[&str]) -> Result<Probes> {
        let mut samplers = os(self, spec)?;
        samplers.extend(node::samplers(self, spec, keyspace, tables));
        Probes::start(samplers)
    }

    /// What the probes of `spec` cannot see, each with the reason and what would bring it.
    pub fn unseen(&self, spec: &ProbeSpec) -> Vec<String> {
        let mut unseen = unseen_by_os(spec, self.nodes());
        unseen.extend(node::unseen(self, spec));
        unseen
    }
}

/// The looks at machines, stand-ins and processes: by the agent of each host. We ourselves look at
/// this process, and at this machine where no agent stands for it: stand-ins are made of it, and of
/// attached nodes it is all that we see.
fn os(cluster: &Cluster, spec: &ProbeSpec) -> Result<Vec<Sampler>> {
    let mut samplers = Vec::new();
    let mut ours = Watch::default();
    let nodes = cluster.local();
    for (agent, host) in nodes.iter().flat_map(|nodes| nodes.agents()) {
        let mut watch = Watch::default();
        match (spec.hosts, host) {
            (Some(period), Some(host)) if host.is_machine() => watch.host_machine(period, host),
            (Some(period), Some(host)) => watch.stand_in(period, host)?,
            (Some(period), None) => watch.machine(period, &[]),
            (None, _) => {}
        }
        if let Some(period) = spec.processes {
            let there = nodes.iter().flat_map(|nodes| nodes.processes_of(agent));
            there.for_each(|(name, pid)| watch.process(period, name, pid));
        }
        samplers.push(watch.by(agent)?);
    }
    let hosts = nodes.and_then(Nodes::hosts);
    if let Some(period) = spec.hosts.filter(|_| nodes.is_none() || hosts.is_some()) {
        ours.machine(period, hosts.map_or(&[], Hosts::all));
    }
    if let Some(period) = spec.processes {
        ours.process(period, "client", std::process::id());
    }
    samplers.push(ours.ours("probe-os")?);
    Ok(samplers)
}

/// What the looks at this machine cannot see.
fn unseen_by_os(spec: &ProbeSpec, nodes: &[NodeInfo]) -> Vec<String> {
    let mut unseen = Vec::new();
    let elsewhere: Vec<&str> = nodes
        .iter()
        .filter(|node| node.pid.is_none())
        .map(|node| node.name.as_str())
        .collect();
    if spec.hosts.is_some() && !elsewhere.is_empty() {
        unseen.push(format!(
            "hosts: only this machine is watched, not those of {} (import what their own tools \
             have written)",
            elsewhere.join(", ")
        ));
    }
    if spec.processes.is_some() && !elsewhere.is_empty() {
        unseen.push(format!(
            "processes: {} were not started by cassay, so only cassay itself is watched",
            elsewhere.join(", ")
        ));
    }
    if spec.hosts.is_some() {
        unseen.extend(host::probe::unseen().map(|what| format!("hosts: {what}")));
    }
    unseen
}
