//! What is read while a trial runs, and how often.

use measure::clock::SECOND_NS;

/// What is read while a trial runs: the period of each probe in ns; none: it is off.
#[derive(Clone, Debug, PartialEq)]
pub struct Probes {
    /// CPU, memory, disk and network of the hosts.
    pub hosts_ns: Option<u64>,
    /// CPU, threads, context switches and page faults of the nodes' processes.
    pub processes_ns: Option<u64>,
    /// Heap, collections and safepoints of the nodes' JVMs.
    pub jvm_ns: Option<u64>,
    /// Thread pools, compactions, caches and requests as Cassandra counts them.
    pub cassandra_ns: Option<u64>,
    /// The pauses in the nodes' logs of garbage collection.
    pub gc_log_ns: Option<u64>,
    /// Series of others, laid on the run's time axis when it ends.
    pub import: Vec<Import>,
}

/// Period of a probe that a study says nothing of.
pub const PERIOD_NS: u64 = SECOND_NS;

impl Default for Probes {
    /// All of them, every second.
    fn default() -> Probes {
        Probes {
            hosts_ns: Some(PERIOD_NS),
            processes_ns: Some(PERIOD_NS),
            jvm_ns: Some(PERIOD_NS),
            cassandra_ns: Some(PERIOD_NS),
            gc_log_ns: Some(PERIOD_NS),
            import: Vec::new(),
        }
    }
}

impl Probes {
    /// The probes by their keys in a study, with their periods in ns; none: off.
    pub fn periods(&self) -> [(&'static str, Option<u64>); 5] {
        [
            ("hosts", self.hosts_ns),
            ("processes", self.processes_ns),
            ("jvm", self.jvm_ns),
            ("cassandra", self.cassandra_ns),
            ("gc_log", self.gc_log_ns),
        ]
    }
}

impl Probes {
    /// Only the series of others: what is left on a target that has nothing to read. None: nothing
    /// is.
    pub fn imports_only(self) -> Option<Probes> {
        let import = self.import;
        (!import.is_empty()).then_some(Probes {
            hosts_ns: None,
            processes_ns: None,
            jvm_ns: None,
            cassandra_ns: None,
            gc_log_ns: None,
            import,
        })
    }
}

/// Series of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Import {
    /// A CSV file of `esxtop -b`, read when the run ends.
    Esxtop {
        /// The file as the study names it; [`crate::inputs::located`] finds it.
        file: String,
        /// Columns whose names contain one of these; empty: all that are known.
        columns: Vec<String>,
    },
    /// A file in Prometheus's text format, read when the run ends.
    PrometheusFile {
        /// The file as the study names it; [`crate::inputs::located`] finds it.
        file: String,
    },
    /// An end point in Prometheus's text format, asked while the run goes on.
    PrometheusUrl {
        /// `http://…` or `https://…`
        url: String,
        /// Period, ns.
        period_ns: u64,
    },
}
