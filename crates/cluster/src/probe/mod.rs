//! Probes: what the machine, the hosts, the processes and the database say of themselves while
//! work goes on. Those of machine, hosts and processes are [`host::probe`]'s, as are the threads
//! that look; here are those of the database, and what runs for a cluster.

mod beans;
mod cassandra;
mod gc_log;
mod jvm;
mod node;
mod virtual_tables;

pub use host::probe::{ProbeCost, Probes, Reading};

use crate::cluster::{Cluster, NodeInfo};
use crate::local::Nodes;
use anyhow::Result;
use host::probe::Sampler;
use host::{Host, Hosts};
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

/// See [`Cluster::probe`].
pub(crate) fn start(
    cluster: &Cluster,
    spec: &ProbeSpec,
    keyspace: &str,
    tables: &[&str],
) -> Result<Probes> {
    let nodes = cluster.nodes().iter();
    let processes: Vec<(&str, u32)> = nodes
        .filter_map(|node| Some((node.name.as_str(), node.pid?)))
        .collect();
    let hosts = cluster.local().and_then(Nodes::hosts);
    let mut samplers = vec![os(spec, &processes, hosts.map_or(&[], Hosts::all))?];
    samplers.extend(node::samplers(cluster, spec, keyspace, tables));
    Probes::start(samplers)
}

/// See [`Cluster::unseen`].
pub(crate) fn unseen(cluster: &Cluster, spec: &ProbeSpec) -> Vec<String> {
    let mut unseen = unseen_by_os(spec, cluster.nodes());
    unseen.extend(node::unseen(cluster, spec));
    unseen
}

/// The looks at this machine and the stand-in hosts on it, at this process and at others by their
/// places and process ids.
fn os(spec: &ProbeSpec, others: &[(&str, u32)], hosts: &[Host]) -> Result<Sampler> {
    let mut sampler = Sampler::new("probe-os");
    if let Some(period) = spec.hosts {
        sampler.add_hosts(period, hosts)?;
    }
    if let Some(period) = spec.processes {
        let own = ("client", std::process::id());
        let watched: Vec<_> = others.iter().copied().chain([own]).collect();
        sampler.add_processes(period, &watched)?;
    }
    Ok(sampler)
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
