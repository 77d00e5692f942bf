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
    /// Profiles of the nodes. `None` if no node is profiled.
    pub profile: Option<Profile>,
}

/// Settings with which cassay profiles the nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Event that the profiler samples.
    pub event: ProfileEvent,
    /// Number of profiles of a variant.
    pub every: ProfileEvery,
    /// Trials in which the profiler samples.
    pub trials: ProfiledTrials,
}

measure::word_enum! {
    /// Events of async-profiler.
    #[derive(Default)]
    pub enum ProfileEvent {
        /// CPU time of the threads, with the kernel's stacks. The kernel must permit it.
        Cpu = "cpu",
        /// CPU time of the threads, by a timer for each thread.
        #[default]
        Ctimer = "ctimer",
        /// Allocated bytes.
        Alloc = "alloc",
        /// Time of waiting for contended locks.
        Lock = "lock",
        /// Elapsed time of all threads, running or not.
        Wall = "wall",
    }
}

measure::word_enum! {
    /// Number of profiles of a variant.
    #[derive(Default)]
    pub enum ProfileEvery {
        /// One profile for each of six blocks.
        #[default]
        Variant = "variant",
        /// One profile for each block of the study, at least six.
        Trial = "trial",
    }
}

measure::word_enum! {
    /// Trials in which the profiler samples.
    #[derive(Default)]
    pub enum ProfiledTrials {
        /// Extra trials after those of the study.
        #[default]
        Extra = "extra",
        /// The trials of the study.
        Measured = "measured",
        /// No trial: the nodes load the profiler, which samples nothing. Such trials are the
        /// baseline for the cost of sampling.
        None = "none",
    }
}

/// Number of blocks of extra trials, unless the study has more blocks and requests a profile of
/// each trial. Few samples per block scatter too much. With four blocks, cassay did not find a
/// method that used 50 µs of 1 ms on a node with 1,700 operations per second.
const PROFILE_BLOCKS: usize = 6;

impl Profile {
    /// Returns the number of blocks of the extra trials, for a study with `blocks` blocks.
    pub fn blocks(self, blocks: usize) -> usize {
        match self.every {
            ProfileEvery::Variant => PROFILE_BLOCKS,
            ProfileEvery::Trial => blocks.max(PROFILE_BLOCKS),
        }
    }
}

impl ProfileEvent {
    /// Returns the time between two samples in ns, or the allocated bytes between two samples.
    pub fn interval(self) -> u64 {
        match self {
            ProfileEvent::Cpu | ProfileEvent::Ctimer => 10_000_000,
            ProfileEvent::Wall => 20_000_000,
            ProfileEvent::Alloc => 512 << 10,
            // The profiler counts locks that a thread waits for longer than this.
            ProfileEvent::Lock => 10_000,
        }
    }

    /// Returns true if the weight of a stack is a number of bytes or ns instead of samples.
    pub fn is_total(self) -> bool {
        matches!(self, ProfileEvent::Alloc | ProfileEvent::Lock)
    }

    /// Returns the options with which async-profiler starts.
    pub fn options(self) -> String {
        let interval = self.interval();
        match self {
            ProfileEvent::Cpu | ProfileEvent::Ctimer | ProfileEvent::Wall => {
                format!("event={},interval={interval}", self.name())
            }
            ProfileEvent::Alloc => format!("event=alloc,alloc={interval}"),
            ProfileEvent::Lock => format!("event=lock,lock={interval}"),
        }
    }
}

/// Default period of a probe, in ns.
pub const PERIOD_NS: u64 = SECOND_NS;

impl Default for Probes {
    fn default() -> Probes {
        Probes {
            hosts_ns: Some(PERIOD_NS),
            processes_ns: Some(PERIOD_NS),
            jvm_ns: Some(PERIOD_NS),
            cassandra_ns: Some(PERIOD_NS),
            gc_log_ns: Some(PERIOD_NS),
            import: Vec::new(),
            profile: None,
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
            profile: None,
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
