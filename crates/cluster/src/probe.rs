//! Assigns probes to the nodes and hosts of a cluster. [`host::probe`] contains the probes of
//! machines, hosts and processes, which agents run, and the sampling threads. [`cassandra::probe`]
//! contains the probes of a node.

use crate::cluster::Cluster;
use crate::local::Nodes;
use anyhow::Result;
use cassandra::NodeInfo;
use cassandra::probe::{BY_AGENT, NO_METRICS, ONLY_BY_MBEANS, ProbeSpec};
use host::probe::{Probes, Sampler};
use host::{Hosts, Watch};
use std::collections::BTreeMap;
use target_spec::{Capability, NodeIndex};

impl Cluster {
    /// Starts the probes of `spec`. `tables` in `keyspace` are the tables of the workload.
    ///
    /// # Errors
    /// A probe cannot be started. Missing values of a probe are not an error, see
    /// [`Cluster::unseen`].
    pub fn probe(&self, spec: &ProbeSpec, keyspace: &str, tables: &[&str]) -> Result<Probes> {
        let mut samplers = os(self, spec)?;
        for (index, node) in self.nodes().iter().enumerate() {
            let log = self.control().gc_log(NodeIndex(index), &node.name);
            samplers.push(self.node(node).sampler(spec, log, keyspace, tables));
        }
        Probes::start(samplers)
    }

    /// Returns one sentence for each group of series that the probes of `spec` cannot read, with
    /// the reason and a hint.
    pub fn unseen(&self, spec: &ProbeSpec) -> Vec<String> {
        let mut unseen = unseen_by_os(spec, self);
        unseen.extend(unseen_by_nodes(self, spec));
        unseen
    }
}

/// Builds the samplers of machines, simulated hosts and processes. Agents on hosts run most of
/// them. The cassay process samples itself, and its machine unless an agent does.
fn os(cluster: &Cluster, spec: &ProbeSpec) -> Result<Vec<Sampler>> {
    let mut samplers = Vec::new();
    let mut ours = Watch::default();
    let nodes = cluster.local();
    for (agent, host) in nodes.iter().flat_map(|nodes| nodes.agents()) {
        let mut watch = Watch::default();
        match (spec.hosts, host) {
            (Some(period), Some(host)) if host.is_machine() => {
                watch.other_machine(period, host.name())
            }
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
    samplers.extend(elsewhere(cluster, spec)?);
    Ok(samplers)
}

/// Builds the samplers of the reachable machines of attached nodes.
fn elsewhere(cluster: &Cluster, spec: &ProbeSpec) -> Result<Vec<Sampler>> {
    let mut samplers = Vec::new();
    let Some(hosts) = cluster.attached_hosts() else {
        return Ok(samplers);
    };
    for host in &hosts.all {
        let mut watch = Watch::default();
        if let Some(period) = spec.hosts {
            watch.other_machine(period, &host.name);
        }
        if let Some(period) = spec.processes {
            for index in hosts.nodes_of(host) {
                let node = &cluster.nodes()[index];
                // [`unseen_by_os`] reports missing processes.
                if let Ok(process) = hosts.process(index, node.address) {
                    watch.process(period, &node.name, process.pid);
                }
            }
        }
        samplers.push(watch.by(&host.agent)?);
    }
    Ok(samplers)
}

/// Returns sentences about the series that the probes of machines and processes cannot read.
fn unseen_by_os(spec: &ProbeSpec, cluster: &Cluster) -> Vec<String> {
    let mut unseen = Vec::new();
    let hosts = cluster.attached_hosts();
    let nodes = cluster.nodes().iter().enumerate();
    let elsewhere: Vec<&str> = nodes
        .filter(|(index, node)| {
            let is_reached = hosts.is_some_and(|hosts| hosts.for_node(*index).is_some());
            node.pid.is_none() && !is_reached
        })
        .map(|(_, node)| node.name.as_str())
        .collect();
    if spec.hosts.is_some() && !elsewhere.is_empty() {
        unseen.push(format!(
            "hosts: cassay does not monitor the machines of {}: add them to `attach: {{hosts: \
             …}}`, or import files of the monitoring tools on these machines",
            elsewhere.join(", ")
        ));
    }
    if spec.processes.is_some() && !elsewhere.is_empty() {
        unseen.push(format!(
            "processes: cassay did not start {} and has no access to the machines, so it observes \
             only the client's process",
            elsewhere.join(", ")
        ));
    }
    if let (Some(hosts), Some(_)) = (hosts, spec.processes) {
        let found = hosts.processes(cluster.nodes()).into_iter().zip(cluster.nodes());
        unseen.extend(found.filter_map(|(found, node)| {
            Some(format!(
                "processes: cassay cannot observe the process of {}: {}",
                node.name,
                found?.err()?
            ))
        }));
    }
    if spec.hosts.is_some() {
        unseen.extend(host::probe::unseen().iter().map(|what| format!("hosts: {what}")));
    }
    unseen
}

/// Returns sentences about the series that the probes of nodes cannot read, each with the nodes,
/// the reason and a hint. Further sentences list the nodes whose metrics come from tables.
fn unseen_by_nodes(cluster: &Cluster, spec: &ProbeSpec) -> Vec<String> {
    let mut without: BTreeMap<String, Vec<&NodeInfo>> = BTreeMap::new();
    for node in cluster.nodes() {
        if let Err(reason) = cluster.agent(&node.name) {
            without.entry(reason).or_default().push(node);
        }
    }
    let mut unseen = Vec::new();
    for (reason, nodes) in &without {
        let names = |nodes: &[&NodeInfo]| {
            let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
            names.join(", ")
        };
        if spec.jvm.is_some() {
            unseen.push(format!(
                "jvm: heap, collections, threads and CPU of {} are not available: {reason}; \
                 {BY_AGENT}",
                names(nodes)
            ));
        }
        if spec.cassandra.is_none() {
            continue;
        }
        let by_tables = |node: &&NodeInfo| cluster.node(node).metrics().is_ok();
        let (tabled, hidden): (Vec<_>, Vec<_>) = nodes.iter().copied().partition(by_tables);
        if !tabled.is_empty() {
            unseen.push(format!(
                "cassandra: cassay reads the metrics of {} over CQL, from system_metrics and \
                 system_views, but cannot read {NO_METRICS}: {reason}; {BY_AGENT}",
                names(&tabled)
            ));
        }
        if !hidden.is_empty() {
            unseen.push(format!(
                "cassandra: cassay cannot read {ONLY_BY_MBEANS} of {}: {reason}; {BY_AGENT}",
                names(&hidden)
            ));
        }
    }
    if spec.gc_log.is_some() && cluster.local().is_none() {
        let without = Capability::GcLog;
        let why = cluster
            .capabilities()
            .iter()
            .find(|one| one.capability == without && !one.present);
        unseen.extend(why.map(|one| {
            format!(
                "gc_log: pauses and safepoints are not available: {}",
                one.detail
            )
        }));
    }
    unseen
}
