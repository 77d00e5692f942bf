//! Probes that run during a trial, and their periods.

use measure::clock::SECOND_NS;

/// Probes that run during a trial, with their periods in ns. A probe that is off has the period
/// `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct Probes {
    /// Period of the probe for CPU, memory, disk and network of the hosts, in ns.
    pub hosts_ns: Option<u64>,
    /// Period of the probe for CPU, threads, context switches and page faults of the nodes'
    /// processes, in ns.
    pub processes_ns: Option<u64>,
    /// Period of the probe for heap, collections and safepoints of the nodes' JVMs, in ns.
    pub jvm_ns: Option<u64>,
    /// Period of the probe for thread pools, compactions, caches and requests, as Cassandra counts
    /// them, in ns.
    pub cassandra_ns: Option<u64>,
    /// Period of the probe for pauses in the garbage collection logs of the nodes, in ns.
    pub gc_log_ns: Option<u64>,
    /// Series of other programs. At the end of the run, cassay aligns them with the time axis of
    /// the run.
    pub import: Vec<Import>,
}

/// Default period of a probe, in ns.
pub const PERIOD_NS: u64 = SECOND_NS;

impl Default for Probes {
    /// Returns all probes with a period of one second.
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
    /// Returns the probes by their keys in a study, with their periods in ns. A probe that is off
    /// has the period `None`.
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
    /// Returns only the imported series. Callers use this for a target that no probe can read.
    /// `None` if the study imports no series.
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

/// Source of another program's series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Import {
    /// A CSV file of `esxtop -b`. cassay reads the file at the end of the run.
    Esxtop {
        /// Name of the file, as written in the study. [`crate::inputs::located`] returns its path.
        file: String,
        /// Texts that select columns. cassay reads a column if its name contains one of these
        /// texts. If the list is empty, it reads all columns that it knows.
        columns: Vec<String>,
    },
    /// A file in the text format of Prometheus. cassay reads the file at the end of the run.
    PrometheusFile {
        /// Name of the file, as written in the study. [`crate::inputs::located`] returns its path.
        file: String,
    },
    /// An endpoint with the text format of Prometheus. cassay reads the endpoint during the run.
    PrometheusUrl {
        /// URL of the endpoint: `http://…` or `https://…`
        url: String,
        /// Period with which cassay reads the endpoint, in ns.
        period_ns: u64,
    },
}
