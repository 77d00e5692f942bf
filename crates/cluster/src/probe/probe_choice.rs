//! Chooses the probes of a node, and lists the series that they cannot read. A managed node with an
//! agent gets all probes. A node with only CQL gets those of virtual tables.

use super::ProbeSpec;
use super::cassandra::Cassandra;
use super::gc_log::GcLog;
use super::jvm::Jvm;
use super::virtual_tables::VirtualTables;
use crate::cluster::Cluster;
use crate::local::LocalNode;
use anyhow::Result;
use cassandra::{Metrics, NodeInfo};
use host::probe::{Out, SampledSource, Sampler, Task};
use std::collections::BTreeMap;
use target_spec::Capability;

/// Values that only MBeans show, but not the tables of `system_views`.
const ONLY_BY_MBEANS: &str = "pending compactions and bytes compacted, SSTables and SSTables per \
    read, dropped messages, timeouts, unavailables and failures of client requests, waits for the \
    commit log and for memtables";

/// Values that only MBeans show, but neither metrics tables nor virtual tables.
const NO_METRICS: &str = "the nodes that each node considers unreachable";

/// Hint that enables the MBeans.
const BY_AGENT: &str = "Jolokia agents in the JVMs, named by `attach: {jolokia: {port: 8778}}`, \
    would show it";

/// Probes of a node that shows its metrics in tables.
struct ByTables {
    metrics: Cassandra,
    others: VirtualTables,
}

impl SampledSource for ByTables {
    fn look(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
        let metrics = self.metrics.look(now_ns, out);
        metrics.and(self.others.look(now_ns, out))
    }
}

/// Builds one sampler per node, so that a hanging node does not delay the others.
pub(super) fn samplers(
    cluster: &Cluster,
    spec: &ProbeSpec,
    keyspace: &str,
    tables: &[&str],
) -> Vec<Sampler> {
    let mut samplers = Vec::new();
    for (index, node) in cluster.nodes().iter().enumerate() {
        let name = node.name.as_str();
        let agent = cluster.agent(name).ok();
        let mut sampler = Sampler::new(&format!("probe-{name}"));
        if let (Some(period), Some(look)) = (spec.gc_log, gc_log(cluster, index, name)) {
            sampler.add(Task::new("gc_log", name, period, Box::new(look)));
        }
        if let (Some(period), Some(agent)) = (spec.jvm, agent) {
            let look = Jvm::new(agent, name);
            sampler.add(Task::new("jvm", name, period, Box::new(look)));
        }
        if let Some(period) = spec.cassandra {
            let metrics = cluster.node(node).metrics().ok();
            let views = |all| VirtualTables::new(node.address, cluster.access(), name, all);
            let of = |metrics| Cassandra::new(metrics, name, keyspace, tables);
            let look: Box<dyn SampledSource> = match metrics {
                Some(metrics @ Metrics::ByAgent(_)) => Box::new(of(metrics)),
                Some(metrics) => Box::new(ByTables {
                    metrics: of(metrics),
                    others: views(None),
                }),
                None => Box::new(views(Some((keyspace, tables)))),
            };
            sampler.add(Task::new("cassandra", name, period, look));
        }
        samplers.push(sampler);
    }
    samplers
}

/// Returns the probe of a node's collector log, if it is accessible.
fn gc_log(cluster: &Cluster, index: usize, name: &str) -> Option<GcLog> {
    if let Some(local) = cluster.local() {
        let LocalNode { host, layout, .. } = local.node(index);
        return Some(GcLog::new(host, &layout.logs(), name));
    }
    let hosts = cluster.attached_hosts()?;
    let (folder, _) = hosts.logs(index)?.ok()?;
    Some(GcLog::new(&hosts.for_node(index)?.agent, folder, name).elsewhere())
}

/// Returns the series that the probes of the nodes cannot read: the nodes, the reason and the way
/// to enable them. Also names the nodes whose metrics come from tables.
pub(super) fn unseen(cluster: &Cluster, spec: &ProbeSpec) -> Vec<String> {
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
                "jvm: heap, collections, threads and CPU of {}: {reason}; {BY_AGENT}",
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
                "cassandra: the metrics of {} are read over CQL, from system_metrics and \
                 system_views; {NO_METRICS}: {reason}; {BY_AGENT}",
                names(&tabled)
            ));
        }
        if !hidden.is_empty() {
            unseen.push(format!(
                "cassandra: {ONLY_BY_MBEANS} of {}: {reason}; {BY_AGENT}",
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
        unseen.extend(why.map(|one| format!("gc_log: pauses and safepoints: {}", one.detail)));
    }
    unseen
}
