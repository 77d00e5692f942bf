//! Chooses the probes of a node. A node with a Jolokia agent gets all probes whose data are
//! accessible. A node with only CQL access gets the probes of virtual tables.

use super::ProbeSpec;
use super::cassandra::Cassandra;
use super::gc_log::GcLog;
use super::jvm::Jvm;
use super::virtual_tables::VirtualTables;
use crate::metrics::Metrics;
use crate::node::Node;
use anyhow::Result;
use host::probe::{Out, SampledSource, Sampler, Task};

/// Describes the values that are available from MBeans, but not from the tables of `system_views`.
pub const ONLY_BY_MBEANS: &str = "pending compactions and bytes compacted, SSTables and SSTables \
    per read, dropped messages, timeouts, unavailables and failures of client requests, waits for \
    the commit log and for memtables";

/// Describes the values that are available from MBeans, but neither from metrics tables nor from
/// virtual tables.
pub const NO_METRICS: &str = "the nodes that each node considers unreachable";

/// Hint on how to make the MBeans accessible.
pub const BY_AGENT: &str =
    "Jolokia agents in the JVMs (`attach: {jolokia: {port: 8778}}`) would provide this data";

/// Probes of a node that provides its metrics in tables.
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

impl Node<'_> {
    /// Returns the sampler of the node's probes, including the metrics of `tables` in `keyspace`.
    /// Each node has a separate sampler, so that a hanging node does not delay the other nodes.
    /// `log` is the garbage collector log of the node, if it is accessible.
    pub fn sampler(
        &self,
        spec: &ProbeSpec,
        log: Option<GcLog>,
        keyspace: &str,
        tables: &[&str],
    ) -> Sampler {
        let name = self.name();
        let mut sampler = Sampler::new(&format!("probe-{name}"));
        if let (Some(period), Some(look)) = (spec.gc_log, log) {
            sampler.add(Task::new("gc_log", name, period, Box::new(look)));
        }
        if let (Some(period), Ok(agent)) = (spec.jvm, &self.mbeans) {
            let look = Jvm::new(agent, name);
            sampler.add(Task::new("jvm", name, period, Box::new(look)));
        }
        if let Some(period) = spec.cassandra {
            let look = self.metrics_source(keyspace, tables);
            sampler.add(Task::new("cassandra", name, period, look));
        }
        sampler
    }

    /// Returns the source of Cassandra's own metrics.
    fn metrics_source(&self, keyspace: &str, tables: &[&str]) -> Box<dyn SampledSource> {
        let name = self.name();
        let views = |all| VirtualTables::new(self.info.address, self.access, name, all);
        let of = |metrics| Cassandra::new(metrics, name, keyspace, tables);
        match self.metrics().ok() {
            Some(metrics @ Metrics::ByAgent(_)) => Box::new(of(metrics)),
            Some(metrics) => Box::new(ByTables {
                metrics: of(metrics),
                others: views(None),
            }),
            None => Box::new(views(Some((keyspace, tables)))),
        }
    }
}
