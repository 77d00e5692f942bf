//! What Cassandra counts about itself, by its metrics: pools, compactions, caches, hints, dropped
//! messages, client requests, the commit log, memtables, the tables of the workload; and whom it
//! takes for dead.
//!
//! Left out on purpose: values that a reader resets (`Recent…`), for another reader would get the
//! rest; request metrics by consistency level (`Read-ONE`), which count the same requests again;
//! the old names of messages (`MUTATION`), which do so too. Percentiles are the server's own, of a
//! sample that forgets over minutes; means and rates are exact for the time between two looks.
//!
//! `client_request.*` counts what this node coordinated, of all keyspaces.

use super::beans::{BeanAttribute, Beans, Kind, Series};
use crate::mbeans::METRICS;
use crate::metrics::Metrics;
use anyhow::Result;
use host::probe::{Look, Out};

const COMPACTIONS: &str = "org.apache.cassandra.db:type=CompactionManager";
const STORAGE: &str = "org.apache.cassandra.db:type=StorageService";
const HINTS: &str = "org.apache.cassandra.hints:type=HintsService";

/// Thread pools, each with the path of its MBeans. Several come with their first use.
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

/// Caches, as the virtual table calls them and as the MBeans do. The one of chunks is there only
/// when it is switched on.
const CACHES: [(&str, &str); 4] = [
    ("keys", "KeyCache"),
    ("rows", "RowCache"),
    ("counters", "CounterCache"),
    ("chunks", "ChunkCache"),
];

/// Messages that a node drops when it is late; answers are dropped under their own names.
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

/// Cassandra's timers are in microseconds; series are in milliseconds.
const MS_PER_US: f64 = 1e-3;

/// Looks at the database of one node.
pub(super) struct Cassandra(Beans);

impl Cassandra {
    /// Of the node `place`, with the figures of some tables of a keyspace.
    pub(super) fn new(metrics: Metrics, place: &str, keyspace: &str, tables: &[&str]) -> Cassandra {
        Cassandra(Beans::new(metrics, place, series(keyspace, tables), false))
    }
}

impl Look for Cassandra {
    fn look(&mut self, _now_ns: u64, out: &mut Out) -> Result<()> {
        self.0.look(out)
    }
}

/// A list of series under construction.
#[derive(Default)]
struct List(Vec<Series>);

impl List {
    fn add(&mut self, name: String, unit: &'static str, kind: Kind) {
        self.0.push(Series { name, unit, kind });
    }

    fn level(&mut self, name: String, unit: &'static str, mbean: &str, attribute: &'static str) {
        let source = BeanAttribute::new(format!("{METRICS}:{mbean}"), attribute);
        self.add(name, unit, Kind::Level(source, 1.0));
    }

    /// A count; the name says per second of what.
    fn rate(&mut self, name: String, unit: &'static str, mbean: &str, attribute: &'static str) {
        let source = BeanAttribute::new(format!("{METRICS}:{mbean}"), attribute);
        self.add(name, unit, Kind::Rate(source, 1.0));
    }

    /// A statistic of a timer or histogram, while what it is of is `counted`.
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
        let kind = Kind::While(source(mbean, attribute), source(counted, "Count"), factor);
        self.add(name, unit, kind);
    }

    /// The 99th percentile of a timer.
    fn p99(&mut self, name: String, mbean: &str) {
        self.statistic(name, "ms", (mbean, "99thPercentile"), mbean, MS_PER_US);
    }

    /// The increase of one count per increase of another.
    fn share(&mut self, name: String, unit: &'static str, first: &str, second: &str, factor: f64) {
        let source = |mbean: &str| BeanAttribute::new(format!("{METRICS}:{mbean}"), "Count");
        self.add(
            name,
            unit,
            Kind::Share(source(first), source(second), factor),
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
    of_keyspace(&mut list, keyspace);
    for table in tables {
        of_table(&mut list, keyspace, table);
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
    list.add(name("running"), "count", Kind::Level(running, 1.0));
    // Moves when a compaction ends, so that a long one shows as a peak at its end.
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

/// What a node makes of the others: whom it cannot reach, for whom it keeps hints, what it is sent.
fn others(list: &mut List) {
    for (name, mbean, attribute) in [
        ("gossip.unreachable", STORAGE, "UnreachableNodesWithPort"),
        // An entry for each node that has some.
        ("hints.pending", HINTS, "PendingHints"),
    ] {
        let source = BeanAttribute::new(mbean, attribute);
        list.add(name.into(), "count", Kind::Level(source, 1.0));
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

fn of_keyspace(list: &mut List, keyspace: &str) {
    let mbean = |name: &str| format!("type=Keyspace,keyspace={keyspace},name={name}");
    // The count of the histogram itself is in no table of metrics.
    let (histogram, reads) = (mbean("SSTablesPerReadHistogram"), mbean("ReadLatency"));
    for (name, attribute) in [
        ("sstables_per_read.p50", "50thPercentile"),
        ("sstables_per_read.p99", "99thPercentile"),
        ("sstables_per_read.max", "Max"),
    ] {
        list.statistic(name.into(), "count", (&histogram, attribute), &reads, 1.0);
    }
}

fn of_table(list: &mut List, keyspace: &str, table: &str) {
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
        // Compressed ÷ uncompressed, as the server has it; below 0 where nothing is compressed.
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
