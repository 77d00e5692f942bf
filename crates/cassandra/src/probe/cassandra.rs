//! Probe of Cassandra's own metrics. The series `client_request.*` covers requests to all keyspaces
//! that the node coordinated.
//!
//! Some metrics are omitted on purpose. Any reader resets the values `Recent…`, so another reader
//! would miss events. Request metrics by consistency level (`Read-ONE`) and old message names
//! (`MUTATION`) count the same events again. Percentiles are the server's own, from a sample that
//! decays over minutes. Means and rates are exact for the time between two samples.
//! `client_request.*` covers the requests that this node coordinated, in all keyspaces.

use super::beans::{BeanAttribute, Beans, Conversion, Series};
use crate::mbeans::METRICS;
use crate::metrics::Metrics;
use anyhow::Result;
use host::probe::{Out, SampledSource};

const COMPACTIONS: &str = "org.apache.cassandra.db:type=CompactionManager";
const STORAGE: &str = "org.apache.cassandra.db:type=StorageService";
const HINTS: &str = "org.apache.cassandra.hints:type=HintsService";

/// Thread pools, each with the `path` property of its MBeans. Cassandra registers some pools only
/// at their first use.
pub(super) const POOLS: [(&str, &str); 17] = [
    ("request", "MutationStage"),
    ("request", "ReadStage"),
    ("request", "RequestResponseStage"),
    ("request", "CounterMutationStage"),
    ("request", "ViewMutationStage"),
    ("transport", "Native-Transport-Requests"),
    ("internal", "CompactionExecutor"),
    ("internal", "MemtableFlushWriter"),
    ("internal", "MemtablePostFlush"),
    ("internal", "MemtableReclaimMemory"),
    ("internal", "HintsDispatcher"),
    ("internal", "GossipStage"),
    ("internal", "MigrationStage"),
    ("internal", "AntiEntropyStage"),
    ("internal", "ValidationExecutor"),
    ("internal", "SecondaryIndexManagement"),
    ("internal", "ViewBuildExecutor"),
];

/// Caches, each with its name in the virtual table and the name of its MBean. The chunk cache may
/// be disabled.
const CACHES: [(&str, &str); 4] = [
    ("keys", "KeyCache"),
    ("rows", "RowCache"),
    ("counters", "CounterCache"),
    ("chunks", "ChunkCache"),
];

/// Messages that an overloaded node may drop. The messages of dropped responses have separate
/// names.
const MESSAGES: [&str; 14] = [
    "MUTATION_REQ",
    "READ_REQ",
    "RANGE_REQ",
    "READ_REPAIR_REQ",
    "HINT_REQ",
    "COUNTER_MUTATION_REQ",
    "BATCH_STORE_REQ",
    "PAXOS_PREPARE_REQ",
    "PAXOS_PROPOSE_REQ",
    "PAXOS_COMMIT_REQ",
    "MUTATION_RSP",
    "READ_RSP",
    "RANGE_RSP",
    "REQUEST_RSP",
];

const REQUESTS: [&str; 5] = ["Read", "Write", "RangeSlice", "CASRead", "CASWrite"];

/// Factor from the microseconds of Cassandra's timers to the milliseconds of the series.
const MS_PER_US: f64 = 1e-3;

pub(super) struct Cassandra(Beans);

impl Cassandra {
    /// Creates a probe for the node `place`. The tables belong to `keyspace`.
    pub(super) fn new(metrics: Metrics, place: &str, keyspace: &str, tables: &[&str]) -> Cassandra {
        Cassandra(Beans::new(metrics, place, series(keyspace, tables), false))
    }
}

impl SampledSource for Cassandra {
    fn look(&mut self, _now_ns: u64, out: &mut Out) -> Result<()> {
        self.0.look(out)
    }
}

#[derive(Default)]
struct List(Vec<Series>);

impl List {
    fn add(&mut self, name: String, unit: &'static str, kind: Conversion) {
        self.0.push(Series { name, unit, kind });
    }

    fn level(&mut self, name: String, unit: &'static str, mbean: &str, attribute: &'static str) {
        let source = BeanAttribute::new(format!("{METRICS}:{mbean}"), attribute);
        self.add(name, unit, Conversion::Level(source, 1.0));
    }

    /// Adds the rate of a count, per second.
    fn rate(&mut self, name: String, unit: &'static str, mbean: &str, attribute: &'static str) {
        let source = BeanAttribute::new(format!("{METRICS}:{mbean}"), attribute);
        self.add(name, unit, Conversion::Rate(source, 1.0));
    }

    /// Adds a statistic of a timer or histogram. The series has values only while the count of
    /// `counted` increases.
    fn statistic(
        &mut self,
        name: String,
        unit: &'static str,
        (mbean, attribute): (&str, &'static str),
        counted: &str,
        factor: f64,
    ) {
        let source =
            |mbean: &str, attribute| BeanAttribute::new(format!("{METRICS}:{mbean}"), attribute);
        let kind = Conversion::While(source(mbean, attribute), source(counted, "Count"), factor);
        self.add(name, unit, kind);
    }

    fn p99(&mut self, name: String, mbean: &str) {
        self.statistic(name, "ms", (mbean, "99thPercentile"), mbean, MS_PER_US);
    }

    fn share(&mut self, name: String, unit: &'static str, first: &str, second: &str, factor: f64) {
        let source = |mbean: &str| BeanAttribute::new(format!("{METRICS}:{mbean}"), "Count");
        self.add(
            name,
            unit,
            Conversion::Share(source(first), source(second), factor),
        );
    }
}

fn series(keyspace: &str, tables: &[&str]) -> Vec<Series> {
    let mut list = List::default();
    pools(&mut list);
    compactions(&mut list);
    requests(&mut list);
    caches_and_buffers(&mut list);
    messages(&mut list);
    others(&mut list);
    commit_log(&mut list);
    list_keyspace(&mut list, keyspace);
    for table in tables {
        list_table(&mut list, keyspace, table);
    }
    list.0
}

fn pools(list: &mut List) {
    for (path, pool) in POOLS {
        let mbean = |name: &str| format!("type=ThreadPools,path={path},scope={pool},name={name}");
        let name = |what: &str| format!("thread_pools.{pool}.{what}");
        list.level(name("active"), "count", &mbean("ActiveTasks"), "Value");
        list.level(name("pending"), "count", &mbean("PendingTasks"), "Value");
        list.level(
            name("blocked"),
            "count",
            &mbean("CurrentlyBlockedTasks"),
            "Count",
        );
        list.rate(
            name("blocked/s"),
            "/s",
            &mbean("TotalBlockedTasks"),
            "Count",
        );
        list.rate(name("completed/s"), "/s", &mbean("CompletedTasks"), "Value");
    }
}

fn compactions(list: &mut List) {
    let mbean = |name: &str| format!("type=Compaction,name={name}");
    let name = |what: &str| format!("compactions.{what}");
    list.level(name("pending"), "count", &mbean("PendingTasks"), "Value");
    let running = BeanAttribute::new(COMPACTIONS, "Compactions");
    list.add(name("running"), "count", Conversion::Level(running, 1.0));
    let done = BeanAttribute::part(COMPACTIONS, "Compactions", "completed");
    list.add(name("running_done"), "bytes", Conversion::Level(done, 1.0));
    // The server adds the bytes of a compaction only at its end, so a long compaction appears as
    // one peak.
    list.rate(
        name("bytes/s"),
        "bytes/s",
        &mbean("BytesCompacted"),
        "Count",
    );
    list.rate(
        name("completed/s"),
        "/s",
        &mbean("TotalCompactionsCompleted"),
        "Count",
    );
    list.rate(
        name("aborted/s"),
        "/s",
        &mbean("CompactionsAborted"),
        "Count",
    );
}

fn requests(list: &mut List) {
    for kind in REQUESTS {
        let mbean = |name: &str| format!("type=ClientRequest,scope={kind},name={name}");
        let name = |what: &str| format!("client_request.{kind}.{what}");
        list.rate(name("ops/s"), "/s", &mbean("Latency"), "Count");
        list.rate(name("timeouts/s"), "/s", &mbean("Timeouts"), "Count");
        list.rate(
            name("unavailables/s"),
            "/s",
            &mbean("Unavailables"),
            "Count",
        );
        list.rate(name("failures/s"), "/s", &mbean("Failures"), "Count");
        let (total, count) = (mbean("TotalLatency"), mbean("Latency"));
        list.share(name("mean"), "ms", &total, &count, MS_PER_US);
        list.p99(name("p99"), &mbean("Latency"));
    }
    let repaired = "type=ReadRepair,name=RepairedBlocking";
    list.rate("read_repair.blocking/s".into(), "/s", repaired, "Count");
    let client = |name: &str| format!("type=Client,name={name}");
    list.level(
        "clients.connected".into(),
        "count",
        &client("ConnectedNativeClients"),
        "Value",
    );
    list.rate(
        "clients.discarded/s".into(),
        "/s",
        &client("RequestDiscarded"),
        "Count",
    );
    let late = client("TimedOutBeforeProcessing");
    list.rate("clients.timed_out_in_queue/s".into(), "/s", &late, "Count");
    for (name, metric) in [
        ("cql.prepared/s", "PreparedStatementsExecuted"),
        ("cql.regular/s", "RegularStatementsExecuted"),
        ("cql.evicted/s", "PreparedStatementsEvicted"),
    ] {
        list.rate(
            name.into(),
            "/s",
            &format!("type=CQL,name={metric}"),
            "Count",
        );
    }
}

fn caches_and_buffers(list: &mut List) {
    for (cache, scope) in CACHES {
        let mbean = |name: &str| format!("type=Cache,scope={scope},name={name}");
        let name = |what: &str| format!("cache.{cache}.{what}");
        list.share(
            name("hit_ratio"),
            "ratio",
            &mbean("Hits"),
            &mbean("Requests"),
            1.0,
        );
        list.rate(name("requests/s"), "/s", &mbean("Requests"), "Count");
        list.level(name("size"), "bytes", &mbean("Size"), "Value");
        list.level(name("entries"), "count", &mbean("Entries"), "Value");
        list.level(name("capacity"), "bytes", &mbean("Capacity"), "Value");
    }
    for pool in ["chunk-cache", "networking"] {
        let mbean = |name: &str| format!("type=BufferPool,scope={pool},name={name}");
        let name = |what: &str| format!("buffer_pool.{pool}.{what}");
        list.level(name("used"), "bytes", &mbean("UsedSize"), "Value");
        list.level(name("size"), "bytes", &mbean("Size"), "Value");
        list.level(name("overflow"), "bytes", &mbean("OverflowSize"), "Value");
        list.rate(name("misses/s"), "/s", &mbean("Misses"), "Count");
    }
}

fn messages(list: &mut List) {
    for message in MESSAGES {
        let mbean = format!("type=DroppedMessage,scope={message},name=Dropped");
        list.rate(format!("dropped.{message}/s"), "/s", &mbean, "Count");
    }
    let storage = |name: &str| format!("type=Storage,name={name}");
    list.rate(
        "hints.total/s".into(),
        "/s",
        &storage("TotalHints"),
        "Count",
    );
    list.level(
        "hints.in_progress".into(),
        "count",
        &storage("TotalHintsInProgress"),
        "Count",
    );
    for (name, metric) in [
        ("hints.delivered/s", "HintsSucceeded"),
        ("hints.failed/s", "HintsFailed"),
        ("hints.timed_out/s", "HintsTimedOut"),
    ] {
        list.rate(
            name.into(),
            "/s",
            &format!("type=HintsService,name={metric}"),
            "Count",
        );
    }
    list.level("storage.load".into(), "bytes", &storage("Load"), "Count");
    list.rate(
        "storage.exceptions/s".into(),
        "/s",
        &storage("Exceptions"),
        "Count",
    );
}

fn others(list: &mut List) {
    for (name, mbean, attribute) in [
        ("gossip.unreachable", STORAGE, "UnreachableNodesWithPort"),
        // The map has one entry per node with pending hints.
        ("hints.pending", HINTS, "PendingHints"),
    ] {
        let source = BeanAttribute::new(mbean, attribute);
        list.add(name.into(), "count", Conversion::Level(source, 1.0));
    }
    list.rate(
        "streams.received_bytes/s".into(),
        "bytes/s",
        "type=Streaming,name=TotalIncomingBytes",
        "Count",
    );
}

fn commit_log(list: &mut List) {
    let mbean = |name: &str| format!("type=CommitLog,name={name}");
    let name = |what: &str| format!("commit_log.{what}");
    list.level(name("pending"), "count", &mbean("PendingTasks"), "Value");
    list.rate(name("completed/s"), "/s", &mbean("CompletedTasks"), "Value");
    list.level(name("size"), "bytes", &mbean("TotalCommitLogSize"), "Value");
    for (what, metric) in [
        ("waiting_on_commit", "WaitingOnCommit"),
        ("waiting_on_segment", "WaitingOnSegmentAllocation"),
        ("waiting_on_flush", "WaitingOnFlush"),
    ] {
        list.rate(name(&format!("{what}/s")), "/s", &mbean(metric), "Count");
        list.p99(name(&format!("{what}.p99")), &mbean(metric));
    }
    let pool = |name: &str| format!("type=MemtablePool,name={name}");
    list.rate(
        "memtable_pool.blocked/s".into(),
        "/s",
        &pool("BlockedOnAllocation"),
        "Count",
    );
    list.level(
        "memtable_pool.pending_flushes".into(),
        "count",
        &pool("PendingFlushTasks"),
        "Value",
    );
}

fn list_keyspace(list: &mut List, keyspace: &str) {
    let mbean = |name: &str| format!("type=Keyspace,keyspace={keyspace},name={name}");
    // The metrics tables lack the count of the histogram, so the count of reads replaces it.
    let (histogram, reads) = (mbean("SSTablesPerReadHistogram"), mbean("ReadLatency"));
    for (name, attribute) in [
        ("sstables_per_read.p50", "50thPercentile"),
        ("sstables_per_read.p99", "99thPercentile"),
        ("sstables_per_read.max", "Max"),
    ] {
        list.statistic(name.into(), "count", (&histogram, attribute), &reads, 1.0);
    }
    let scanned = mbean("TombstoneScannedHistogram");
    let p99 = (scanned.as_str(), "99thPercentile");
    list.statistic("tombstones_per_read.p99".into(), "count", p99, &reads, 1.0);
}

fn list_table(list: &mut List, keyspace: &str, table: &str) {
    let mbean = |name: &str| format!("type=Table,keyspace={keyspace},scope={table},name={name}");
    let name = |what: &str| format!("table.{table}.{what}");
    for (what, unit, metric, attribute) in [
        ("live_sstables", "count", "LiveSSTableCount", "Value"),
        (
            "pending_compactions",
            "count",
            "PendingCompactions",
            "Value",
        ),
        ("pending_flushes", "count", "PendingFlushes", "Count"),
        ("live_disk_space", "bytes", "LiveDiskSpaceUsed", "Count"),
        ("total_disk_space", "bytes", "TotalDiskSpaceUsed", "Count"),
        // Ratio of compressed to uncompressed size. The server reports a negative ratio if no
        // SSTable is compressed.
        ("compression_ratio", "ratio", "CompressionRatio", "Value"),
        (
            "memtable_live_data",
            "bytes",
            "MemtableLiveDataSize",
            "Value",
        ),
    ] {
        list.level(name(what), unit, &mbean(metric), attribute);
    }
    for (what, unit, metric) in [
        ("flushed_bytes/s", "bytes/s", "BytesFlushed"),
        ("compacted_bytes/s", "bytes/s", "CompactionBytesWritten"),
        ("local_read.ops/s", "/s", "ReadLatency"),
        ("local_write.ops/s", "/s", "WriteLatency"),
        ("local_scan.ops/s", "/s", "RangeLatency"),
    ] {
        list.rate(name(what), unit, &mbean(metric), "Count");
    }
    for (what, total, count) in [
        ("local_read.mean", "ReadTotalLatency", "ReadLatency"),
        ("local_write.mean", "WriteTotalLatency", "WriteLatency"),
    ] {
        list.share(name(what), "ms", &mbean(total), &mbean(count), MS_PER_US);
    }
    let (histogram, reads) = (mbean("SSTablesPerReadHistogram"), mbean("ReadLatency"));
    list.statistic(
        name("sstables_per_read.p99"),
        "count",
        (&histogram, "99thPercentile"),
        &reads,
        1.0,
    );
}
