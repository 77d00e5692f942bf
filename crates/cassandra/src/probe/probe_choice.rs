//! Chooses the probes of a node by cassay's access to the node.

use super::ProbeSpec;
use super::cassandra::Cassandra;
use super::gc_log::GcLog;
use super::jvm::Jvm;
use super::virtual_tables::VirtualTables;
use crate::metrics::Metrics;
use crate::node::Node;
use anyhow::Result;
use host::probe::{Out, SampledSource, Sampler, Task};

/// Values that MBeans provide, but the tables of `system_views` do not.
pub const ONLY_BY_MBEANS: &str = "pending compactions and bytes compacted, SSTables and SSTables \
    per read, dropped messages, timeouts, unavailables and failures of client requests, waits for \
    the commit log and for memtables";

/// Values that MBeans provide, but neither metrics tables nor virtual tables do.
/// virtual tables.
pub const NO_METRICS: &str = "the nodes that each node considers unreachable";

pub const BY_AGENT: &str =
    "Jolokia agents in the JVMs (`attach: {jolokia: {port: 8778}}`) would provide this data";

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
    /// Returns the sampler of the node's probes. A node has a separate sampler, so that a hanging
    /// node does not delay other nodes. `log` is the garbage collector log, if cassay can read the
    /// log.
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
