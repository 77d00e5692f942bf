//! The rows of the decision table.

measure::word_enum! {
    /// A row of the decision table. Rows that are otherwise equal rank in the order of the
    /// variants. Resources come first. Waits, which a full resource may cause, come next. Queues,
    /// which do not indicate a cause, come last.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum LimitKind {
        /// Use of the client: the CPU use, or the throughput relative to the ceiling on the null
        /// target.
        Client = "client",
        /// CPU time, on a full host, of programs other than the nodes and cassay.
        OtherPrograms = "other_programs",
        /// CPU time that a quota denied to a host.
        CpuQuota = "cpu_quota",
        /// Time in which garbage collections stopped a node.
        GarbageCollection = "garbage_collection",
        /// Operations and bytes of a disk, relative to its known limits.
        DiskRate = "disk_rate",
        /// Number of requests in the queue of a disk.
        DiskQueue = "disk_queue",
        /// Bytes on a link, relative to the rate of the link.
        Network = "network",
        /// Compaction that runs at its configured throughput limit.
        CompactionThroughput = "compaction_throughput",
        /// One thread that uses a whole CPU while the host has idle CPUs.
        Thread = "thread",
        /// Used CPU time of a host.
        Cpu = "cpu",
        /// Writes that waited for the sync of the commit log.
        CommitLogSync = "commit_log_sync",
        /// Writes that waited for a free segment of the commit log.
        CommitLogSegments = "commit_log_segments",
        /// Writes that waited for space in memtables.
        MemtableSpace = "memtable_space",
        /// Flushes that waited for a flush writer.
        FlushWriters = "flush_writers",
        /// Compactors that were all busy while compactions waited.
        Compactors = "compactors",
        /// Threads of a node that were slow to reach a safepoint.
        Safepoints = "safepoints",
        /// Longest pause of a node, relative to the p99.9 of the trial.
        Pause = "pause",
        /// TCP segments that the network lost.
        PacketLoss = "packet_loss",
        /// Time that requests spent between the coordinator and the replicas.
        BetweenNodes = "between_nodes",
        /// Time that requests spent between the client and the coordinator.
        ClientLink = "client_link",
        /// Reads that waited for a read repair.
        ReadRepair = "read_repair",
        /// Number of SSTables that one read touched.
        SstablesPerRead = "sstables_per_read",
        /// Number of tombstones that one read scanned.
        Tombstones = "tombstones",
        /// Requests that the caches could not answer.
        Caches = "caches",
        /// Requests that waited for a thread of a read or write stage.
        Stage = "stage",
        /// Requests that waited for a thread of a coordinator.
        TransportQueue = "transport_queue",
        /// Requests that a node dropped because they were too old.
        Shedding = "shedding",
    }
}

measure::word_enum! {
    /// Strength with which the signal alone supports the statement that the resource was the limit.
    #[derive(PartialOrd, Ord)]
    pub enum Confidence {
        /// The signal has few other explanations.
        High = "high",
        /// Another resource may explain the signal.
        Medium = "medium",
        /// The signal is common even without a limit.
        Low = "low",
    }
}

/// Properties of a row of the decision table.
#[derive(Clone, Copy, Debug)]
pub struct LimitRow {
    /// Smallest value at which the resource counts as full, in the unit of the row.
    pub limit: f64,
    /// Unit of the value and of the limit: `ratio`, `count` or `/s`.
    pub unit: &'static str,
    /// Confidence that the row alone provides.
    pub confidence: Confidence,
    /// Series that the row needs. A name that ends with `*` stands for all series with this prefix.
    pub series: &'static [&'static str],
}

const ROWS: [(LimitKind, LimitRow); 27] = [
    (LimitKind::Client, row(0.9, "ratio", Confidence::High, &[])),
    (
        LimitKind::OtherPrograms,
        row(0.1, "ratio", Confidence::High, &["cpu.others"]),
    ),
    (
        LimitKind::Cpu,
        row(
            0.9,
            "ratio",
            Confidence::High,
            &["mpstat.%idle", "mpstat.%iowait", "psi.cpu.some"],
        ),
    ),
    (
        LimitKind::CpuQuota,
        row(0.05, "ratio", Confidence::High, &["cgroup.throttled"]),
    ),
    (
        LimitKind::Thread,
        row(0.9, "ratio", Confidence::Medium, &["threads.%CPU"]),
    ),
    (
        LimitKind::GarbageCollection,
        row(0.05, "ratio", Confidence::High, &["gc.pause.*", "jvm.gc.*"]),
    ),
    (
        LimitKind::Pause,
        row(0.5, "ratio", Confidence::High, &["gc.pause.*"]),
    ),
    (
        LimitKind::Safepoints,
        row(
            0.1,
            "ratio",
            Confidence::Medium,
            &["safepoint.reach", "safepoint.stopped"],
        ),
    ),
    (
        LimitKind::Stage,
        row(
            0.5,
            "ratio",
            Confidence::Low,
            &[
                "thread_pools.ReadStage.pending",
                "thread_pools.MutationStage.pending",
            ],
        ),
    ),
    (
        LimitKind::TransportQueue,
        row(
            0.5,
            "ratio",
            Confidence::Low,
            &["thread_pools.Native-Transport-Requests.pending"],
        ),
    ),
    (
        LimitKind::MemtableSpace,
        row(1.0, "/s", Confidence::High, &["memtable_pool.blocked/s"]),
    ),
    (
        LimitKind::FlushWriters,
        row(
            0.5,
            "ratio",
            Confidence::Medium,
            &[
                "thread_pools.MemtableFlushWriter.pending",
                "memtable_pool.pending_flushes",
            ],
        ),
    ),
    (
        LimitKind::CommitLogSegments,
        row(
            1.0,
            "/s",
            Confidence::High,
            &["commit_log.waiting_on_segment/s"],
        ),
    ),
    (
        LimitKind::CommitLogSync,
        row(
            0.5,
            "ratio",
            Confidence::High,
            &[
                "commit_log.waiting_on_commit.p99",
                "commit_log.waiting_on_commit/s",
                "client_request.Write.p99",
            ],
        ),
    ),
    (
        LimitKind::CompactionThroughput,
        row(
            0.9,
            "ratio",
            Confidence::Medium,
            &[
                "compactions.bytes/s",
                "compactions.pending",
                "compactions.running_done",
            ],
        ),
    ),
    (
        LimitKind::Compactors,
        row(
            0.9,
            "ratio",
            Confidence::Medium,
            &["compactions.running", "compactions.pending"],
        ),
    ),
    (
        LimitKind::DiskQueue,
        row(4.0, "count", Confidence::Medium, &["iostat.aqu-sz"]),
    ),
    (
        LimitKind::DiskRate,
        row(
            0.9,
            "ratio",
            Confidence::High,
            &[
                "iostat.aqu-sz",
                "iostat.r/s",
                "iostat.w/s",
                "iostat.rkB/s",
                "iostat.wkB/s",
            ],
        ),
    ),
    (
        LimitKind::Network,
        row(
            0.9,
            "ratio",
            Confidence::Medium,
            &["sar.rxkB/s", "sar.txkB/s"],
        ),
    ),
    (
        LimitKind::PacketLoss,
        row(
            0.001,
            "ratio",
            Confidence::Medium,
            &["netstat.retransmitted", "netstat.segments_sent"],
        ),
    ),
    (
        LimitKind::BetweenNodes,
        row(
            0.5,
            "ratio",
            Confidence::Medium,
            &["client_request.Read.*", "client_request.Write.*", "table.*"],
        ),
    ),
    (
        LimitKind::ClientLink,
        row(
            0.5,
            "ratio",
            Confidence::Low,
            &["client_request.Read.*", "client_request.Write.*"],
        ),
    ),
    (
        LimitKind::ReadRepair,
        row(
            0.001,
            "ratio",
            Confidence::High,
            &["read_repair.blocking/s"],
        ),
    ),
    (
        LimitKind::SstablesPerRead,
        row(4.0, "count", Confidence::Medium, &["sstables_per_read.p99"]),
    ),
    (
        LimitKind::Tombstones,
        row(
            1000.0,
            "count",
            Confidence::High,
            &["tombstones_per_read.p99"],
        ),
    ),
    (
        LimitKind::Caches,
        row(
            0.5,
            "ratio",
            Confidence::Low,
            &["cache.keys.hit_ratio", "cache.chunks.hit_ratio"],
        ),
    ),
    (
        LimitKind::Shedding,
        row(
            1.0,
            "/s",
            Confidence::Low,
            &[
                "dropped.*",
                "clients.timed_out_in_queue/s",
                "clients.discarded/s",
            ],
        ),
    ),
];

const fn row(
    limit: f64,
    unit: &'static str,
    confidence: Confidence,
    series: &'static [&'static str],
) -> LimitRow {
    LimitRow {
        limit,
        unit,
        confidence,
        series,
    }
}

impl LimitKind {
    /// Returns the properties of the row.
    pub fn row(self) -> LimitRow {
        let of = ROWS.iter().find(|(kind, _)| *kind == self);
        of.expect("the table has a row for each kind").1
    }

    /// Returns true if the value does not itself depend on the load. Such a row explains a limit of
    /// the load only if its value has risen with the load.
    pub(super) fn must_rise(self) -> bool {
        matches!(
            self,
            LimitKind::PacketLoss
                | LimitKind::BetweenNodes
                | LimitKind::ClientLink
                | LimitKind::ReadRepair
                | LimitKind::SstablesPerRead
                | LimitKind::Tombstones
                | LimitKind::Caches
        )
    }

    /// Returns the role of the row in an explanation.
    pub fn role(self) -> LimitRole {
        match self {
            LimitKind::Client | LimitKind::OtherPrograms => LimitRole::Outside,
            LimitKind::CpuQuota
            | LimitKind::GarbageCollection
            | LimitKind::DiskRate
            | LimitKind::DiskQueue
            | LimitKind::Network
            | LimitKind::CompactionThroughput
            | LimitKind::Thread
            | LimitKind::Cpu => LimitRole::Resource,
            LimitKind::Stage | LimitKind::TransportQueue | LimitKind::Shedding => LimitRole::Queue,
            _ => LimitRole::Wait,
        }
    }
}

/// Role of a row in an explanation, in the order of the ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimitRole {
    /// The client or other programs, which are not part of the cluster.
    Outside,
    /// A resource that can be used up.
    Resource,
    /// A wait or additional work, which a full resource may cause.
    Wait,
    /// A queue or rejected requests, which do not indicate a cause.
    Queue,
}

/// Returns true if at least one row, or the CPU use of the nodes, needs the series `name`.
pub fn is_needed(name: &str) -> bool {
    let fits = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == *pattern,
    };
    name == "pidstat.%CPU" || ROWS.iter().any(|(_, row)| row.series.iter().any(fits))
}
