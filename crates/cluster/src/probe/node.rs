//! Which looks a node gets, and what stays out of sight: all of them where its JVM has an agent and
//! its folder is ours, virtual tables where there is nothing but CQL.

use super::ProbeSpec;
use super::cassandra::Cassandra;
use super::gc_log::GcLog;
use super::jvm::Jvm;
use super::virtual_tables::VirtualTables;
use crate::cluster::Cluster;
use crate::local::LocalNode;
use crate::node::NodeInfo;
use host::probe::{Look, Sampler, Task};
use std::collections::BTreeMap;
use target::Ability;

/// What the MBeans show and virtual tables do not.
const ONLY_BY_MBEANS: &str = "pending compactions and bytes compacted, SSTables and SSTables per \
    read, dropped messages, time-outs, unavailables and failures of client requests, waits for the \
    commit log and for memtables";

/// What would bring the MBeans into sight.
const BY_AGENT: &str = "Jolokia agents in the JVMs, named by `attach: {jolokia: {port: 8778}}`, \
    would show it";

/// One sampler per node, so that a node that hangs holds up no other.
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
            let look: Box<dyn Look> = match agent {
                Some(agent) => Box::new(Cassandra::new(agent, name, keyspace, tables)),
                None => {
                    let access = cluster.access();
                    let tables = VirtualTables::new(node.address, access, name, keyspace, tables);
                    Box::new(tables)
                }
            };
            sampler.add(Task::new("cassandra", name, period, look));
        }
        samplers.push(sampler);
    }
    samplers
}

/// The log of a node's collector, where it is in sight.
fn gc_log(cluster: &Cluster, index: usize, name: &str) -> Option<GcLog> {
    if let Some(local) = cluster.local() {
        let LocalNode { host, layout, .. } = local.node(index);
        return Some(GcLog::new(host, &layout.logs(), name));
    }
    let hosts = cluster.attached_hosts()?;
    let (folder, _) = hosts.logs(index)?.ok()?;
    Some(GcLog::new(&hosts.of(index)?.agent, folder, name).elsewhere())
}

/// What the looks at the nodes cannot see: each with the nodes, the reason and what would bring it.
pub(super) fn unseen(cluster: &Cluster, spec: &ProbeSpec) -> Vec<String> {
    let mut without: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for NodeInfo { name, .. } in cluster.nodes() {
        if let Err(reason) = cluster.agent(name) {
            without.entry(reason).or_default().push(name);
        }
    }
    let mut unseen = Vec::new();
    for (reason, nodes) in &without {
        let nodes = nodes.join(", ");
        if spec.jvm.is_some() {
            unseen.push(format!(
                "jvm: heap, collections, threads and CPU of {nodes}: {reason}; {BY_AGENT}"
            ));
        }
        if spec.cassandra.is_some() {
            unseen.push(format!(
                "cassandra: {ONLY_BY_MBEANS} of {nodes}: {reason}; {BY_AGENT}"
            ));
        }
    }
    if spec.gc_log.is_some() && cluster.local().is_none() {
        let without = Ability::GcLog;
        let why = cluster.capabilities().iter().find(|one| one.ability == without && !one.present);
        unseen.extend(why.map(|one| format!("gc_log: pauses and safepoints: {}", one.detail)));
    }
    unseen
}
