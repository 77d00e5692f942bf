//! The rows of the table: every key that a study may have.
//!
//! Long because it is one table.

use super::{CONSISTENCIES, Field, Type};

const S: u64 = 1_000_000_000;
const DAY: u64 = 86_400 * S;

/// More threads than this need more stream ids than the connections of one client have.
const THREADS_MAX: u64 = 1_000_000;
const THREADS: Type = Type::Count(1, THREADS_MAX);
const SERIAL: Type = Type::Choice(&["SERIAL", "LOCAL_SERIAL"]);
const TIMEOUT: Type = Type::Duration(1_000, DAY);
const RETRIES: Type = Type::Count(0, 100);
const PAGE: Type = Type::Count(0, 1_000_000);
const TIMESTAMPS: Type = Type::Choice(&["server", "client"]);
/// Above any machine: a typing error rather than a rate.
const RATE: Type = Type::Count(1, 1_000_000_000);
/// The most local nodes: more than this no machine of today carries, at a node's least memory.
pub const LOCAL_NODES_MAX: u64 = 24;
/// Whether and how often a probe looks; `true` means `probes.period`.
const PROBE: Type = Type::WordOr(&["true", "false"], &PERIOD);
/// Shorter than 100 ms the looking itself would show in what is measured.
const PERIOD: Type = Type::Duration(S / 10, 3_600 * S);
/// Rows that fit the 63 bits of a partition key's number.
const ROWS_MAX: u64 = 1 << 62;

const fn required(path: &'static str, typ: Type, what: &'static str) -> Field {
    Field {
        path,
        typ,
        required: true,
        default: None,
        what,
    }
}

const fn optional(path: &'static str, typ: Type, what: &'static str) -> Field {
    Field {
        path,
        typ,
        required: false,
        default: None,
        what,
    }
}

const fn with(path: &'static str, typ: Type, default: &'static str, what: &'static str) -> Field {
    Field {
        path,
        typ,
        required: false,
        default: Some(default),
        what,
    }
}

/// The format.
pub const FIELDS: &[Field] = &[
    required(
        "study",
        Type::Name,
        "Name of the study; the folder of its runs.",
    ),
    required(
        "question",
        Type::Text,
        "The question, in words. The report answers it first.",
    ),
    optional(
        "published",
        Type::Text,
        "Name of the published figures to show beside ours.",
    ),
    with(
        "seed",
        Type::Count(0, u64::MAX),
        "1",
        "Seed of all that is random: keys, values, arrivals, order of trials.",
    ),
    required(
        "target",
        Type::Section,
        "The system under test: exactly one of these.",
    ),
    // A local target.
    optional(
        "target.local",
        Type::Section,
        "Real Cassandra on this machine, started and stopped by cassay.",
    ),
    with(
        "target.local.cassandra",
        Type::Name,
        "5.0.8",
        "Version of Apache Cassandra.",
    ),
    optional(
        "target.local.nodes",
        Type::Count(1, LOCAL_NODES_MAX),
        "Number of nodes, on loopback addresses; with `hosts`, of all of them together. Default: \
         1, or `hosts` times `nodes_per_host`.",
    ),
    optional(
        "target.local.hosts",
        Type::Count(1, LOCAL_NODES_MAX),
        "Number of stand-ins for machines that the nodes live on, each with its own network, \
         limits and data volume. Default: none, the nodes share this machine.",
    ),
    with(
        "target.local.nodes_per_host",
        Type::Count(1, LOCAL_NODES_MAX),
        "1",
        "Number of nodes on each host.",
    ),
    optional(
        "target.local.racks",
        Type::WordOr(&["per-host"], &Type::List(&Type::Name)),
        "Racks: hosts are dealt to them in turn (without hosts, nodes); `per-host`: each host is \
         one, so that replicas are on different hosts. Default: `per-host` with hosts, else \
         `[rack1]`.",
    ),
    with(
        "target.local.isolation",
        Type::Choice(&["auto", "hosts", "loopback"]),
        "auto",
        "How far hosts are kept apart. `hosts`: a network, limits and a volume each, which needs \
         root. `loopback`: only addresses of their own. `auto`: the first where this machine \
         allows it, else the second.",
    ),
    optional(
        "target.local.host",
        Type::Section,
        "What each host has; what is left out is not limited. Needs `hosts`.",
    ),
    optional(
        "target.local.host.cpus",
        Type::List(&Type::Count(0, 4095)),
        "Numbers of the CPUs that it may use.",
    ),
    optional(
        "target.local.host.cpu_quota",
        Type::Number(0.1, 4096.0),
        "CPU time, in cores: 1.5 is 150 ms in each 100 ms.",
    ),
    optional(
        "target.local.host.memory",
        Type::Bytes(512 << 20, 64 << 40),
        "Memory of its processes and their page cache together.",
    ),
    optional(
        "target.local.host.volume",
        Type::Bytes(256 << 20, 256 << 40),
        "Size of its data volume, a file system of its own; it takes room on this machine's disk \
         as it fills. Default: the data is on this machine's file system.",
    ),
    optional(
        "target.local.host.link",
        Type::Section,
        "Its link to the other hosts and to the client, alike in both directions.",
    ),
    optional(
        "target.local.host.link.rate",
        Type::BitRate(64_000, 1_000_000_000_000),
        "Rate. Default: what the machine does.",
    ),
    optional(
        "target.local.host.link.delay",
        Type::Duration(1_000, 10 * S),
        "Delay, one way.",
    ),
    with(
        "target.local.datacenter",
        Type::Name,
        "dc1",
        "Name of the datacenter.",
    ),
    with(
        "target.local.heap",
        Type::Bytes(256 << 20, 256 << 30),
        "1GiB",
        "Heap of each node's JVM.",
    ),
    optional(
        "target.local.gc",
        Type::Choice(&["g1", "zgc", "shenandoah", "parallel"]),
        "Garbage collector of each node's JVM. Default: as Cassandra's own options say, `g1`.",
    ),
    optional(
        "target.local.yaml",
        Type::Map(&Type::Any),
        "Settings of cassandra.yaml that differ from its defaults.",
    ),
    optional(
        "target.local.jvm",
        Type::List(&Type::Text),
        "JVM options, added after cassandra's own.",
    ),
    with(
        "target.local.class_sharing",
        Type::Bool,
        "false",
        "Whether nodes map the server's classes from an archive, made once for a Java and a set of \
         jars, instead of loading each: a node starts with four fifths of the CPU.",
    ),
    with(
        "target.local.start_timeout",
        Type::Duration(S, 3_600 * S),
        "3m",
        "How long a node may take until it answers CQL.",
    ),
    with(
        "target.local.authentication",
        Type::Choice(&["none", "password"]),
        "none",
        "Who may connect. `none`: every user of this machine, without a password. `password`: only \
         cassay, and who can read the password that it makes for the cluster; roles and \
         permissions are Cassandra's own (`PasswordAuthenticator`, `CassandraAuthorizer`).",
    ),
    // An attached target.
    optional(
        "target.attach",
        Type::Section,
        "An existing cluster. cassay starts and stops nothing there, and writes only to the \
         keyspace.",
    ),
    required(
        "target.attach.contact_points",
        Type::List(&Type::Text),
        "Addresses, `host` or `host:port`.",
    ),
    optional("target.attach.user", Type::Text, "User name."),
    optional(
        "target.attach.password",
        Type::Secret,
        "Where the password is; it never stands in a study.",
    ),
    optional(
        "target.attach.tls",
        Type::Either(&Type::Bool, &Type::Section),
        "Encrypt the connections; `true`: with the defaults.",
    ),
    optional(
        "target.attach.tls.ca",
        Type::Text,
        "PEM file of the authority. Default: the system's trust store.",
    ),
    with(
        "target.attach.tls.verify",
        Type::Bool,
        "true",
        "Whether the server must prove who it is.",
    ),
    optional(
        "target.attach.tls.server_name",
        Type::Text,
        "Name in the server's certificate. Default: the host's name.",
    ),
    optional(
        "target.attach.datacenter",
        Type::Name,
        "Only nodes of this datacenter are asked.",
    ),
    optional(
        "target.attach.jolokia",
        Type::Section,
        "The nodes' Jolokia agents: JVMs and MBeans are read through them. Default: only what CQL \
         tells.",
    ),
    with(
        "target.attach.jolokia.port",
        Type::Count(1, 65_535),
        "8778",
        "Port of the agent, the same at every node.",
    ),
    optional("target.attach.jolokia.user", Type::Text, "User name."),
    optional(
        "target.attach.jolokia.password",
        Type::Secret,
        "Where the password is; it never stands in a study.",
    ),
    optional(
        "target.attach.jolokia.tls",
        Type::Either(&Type::Bool, &Type::Section),
        "Whether the agents speak HTTPS; `true`: with the defaults.",
    ),
    optional(
        "target.attach.jolokia.tls.ca",
        Type::Text,
        "PEM file of the authority. Default: the system's trust store.",
    ),
    with(
        "target.attach.jolokia.tls.verify",
        Type::Bool,
        "true",
        "Whether the agent must prove who it is.",
    ),
    optional(
        "target.attach.jolokia.tls.server_name",
        Type::Text,
        "Name in the agent's certificate. Default: the node's address.",
    ),
    // The null target.
    optional(
        "target.null",
        Type::Section,
        "A server inside cassay that answers at once: measures the instrument itself.",
    ),
    optional(
        "target.null.latency",
        Type::Either(&Type::Duration(0, 60 * S), &Type::Section),
        "Known latency of every answer; a duration is fixed.",
    ),
    optional(
        "target.null.latency.fixed",
        Type::Duration(0, 60 * S),
        "The same for every answer.",
    ),
    optional(
        "target.null.latency.exponential",
        Type::Duration(0, 60 * S),
        "Exponential with this mean.",
    ),
    optional(
        "target.null.latency.uniform",
        Type::Section,
        "Uniform between two limits.",
    ),
    required(
        "target.null.latency.uniform.from",
        Type::Duration(0, 60 * S),
        "Lower limit.",
    ),
    required(
        "target.null.latency.uniform.to",
        Type::Duration(0, 60 * S),
        "Upper limit.",
    ),
    optional(
        "target.null.stall",
        Type::Section,
        "A pause of the whole server, again and again.",
    ),
    required(
        "target.null.stall.every",
        Type::Duration(1_000_000, 3_600 * S),
        "From begin to begin.",
    ),
    required(
        "target.null.stall.length",
        Type::Duration(1_000_000, 3_600 * S),
        "How long nothing is answered.",
    ),
    optional(
        "target.null.errors",
        Type::Map(&Type::Number(0.0, 1.0)),
        "Share of the answers that are this error: `{overloaded: 0.01}`.",
    ),
    optional(
        "target.null.cpu",
        Type::Count(0, 4095),
        "Number of the CPU that the server is pinned to.",
    ),
    // Keyspace and workload.
    with(
        "keyspace",
        Type::Section,
        "{}",
        "The keyspace that the workload's tables are created in.",
    ),
    optional(
        "keyspace.name",
        Type::CqlName,
        "Name. Default: the workload's own.",
    ),
    with(
        "keyspace.replication",
        Type::Either(&Type::Count(1, 100), &Type::Map(&Type::Count(1, 100))),
        "1",
        "Replicas; a number, or a number for each datacenter.",
    ),
    optional(
        "keyspace.compaction",
        Type::Map(&Type::Any),
        "How the workload's tables are compacted: `{class: LeveledCompactionStrategy}`. Default: \
         as the workload says.",
    ),
    optional(
        "keyspace.compression",
        Type::Map(&Type::Any),
        "How their SSTables are compressed: `{class: LZ4Compressor, chunk_length_in_kb: 4}`, \
         `{enabled: false}`. Default: as the workload says.",
    ),
    optional(
        "keyspace.options",
        Type::Map(&Type::Any),
        "Other options of the workload's tables, as `ALTER TABLE … WITH` takes them: \
         `{gc_grace_seconds: 60}`.",
    ),
    required("workload", Type::Section, "What is asked of the target."),
    optional(
        "workload.use",
        Type::Name,
        "Name of the workload; `cassay workload list` lists them.",
    ),
    optional(
        "workload.file",
        Type::Text,
        "A workload file of your own, beside or below the study; docs/workload-file.md says what \
         is in it.",
    ),
    optional(
        "workload.stress",
        Type::Text,
        "A command line of cassandra-stress, without its first word: `write n=1M -rate \
         threads=50`. It says what is asked, how much and for how long; `procedure` and `window` \
         do not apply.",
    ),
    optional(
        "workload.nb",
        Type::Text,
        "A command line of NoSQLBench: `cql-iot.yaml default rampup-cycles=1M`. Each line of the \
         scenario is a variant.",
    ),
    optional(
        "workload.ycsb",
        Type::Text,
        "A command line of YCSB: `run -P workloads/workloada -threads 32`.",
    ),
    optional(
        "workload.mix",
        Type::Map(&Type::Number(0.0, 1e9)),
        "Weight of each kind of operation: `{write: 9, read: 1}`. Default: the workload's own.",
    ),
    optional(
        "workload.consistency",
        Type::Either(
            &Type::Choice(CONSISTENCIES),
            &Type::Map(&Type::Choice(CONSISTENCIES)),
        ),
        "Consistency level, one or one for each kind. Default: the workload's own.",
    ),
    optional(
        "workload.serial_consistency",
        Type::Either(&SERIAL, &Type::Map(&SERIAL)),
        "Serial consistency of conditional statements, one or one for each kind.",
    ),
    optional(
        "workload.timeout",
        Type::Either(&TIMEOUT, &Type::Map(&TIMEOUT)),
        "Time from the send after which a try has failed, one or one for each kind. Default: \
         `client.timeout`.",
    ),
    optional(
        "workload.retries",
        Type::Either(&RETRIES, &Type::Map(&RETRIES)),
        "Tries after the first one, one or one for each kind; they are counted, and their time is \
         in the latency. Default: 0, an error is an error.",
    ),
    optional(
        "workload.speculate_after",
        Type::Either(&TIMEOUT, &Type::Map(&TIMEOUT)),
        "Send an idempotent operation to another node too, or else over another connection, when \
         there is no answer after this time, one or one for each kind. Default: never.",
    ),
    optional(
        "workload.idempotent",
        Type::Either(&Type::Bool, &Type::Map(&Type::Bool)),
        "Whether operations may be executed twice, one or one for each kind: only such are retried \
         when they may have been done, or speculated. Default: as the workload's statements are.",
    ),
    optional(
        "workload.page_size",
        Type::Either(&PAGE, &Type::Map(&PAGE)),
        "Rows per page, one or one for each kind; 0: no paging. Pages and rows are counted. \
         Default: the workload's own.",
    ),
    optional(
        "workload.timestamps",
        Type::Either(&TIMESTAMPS, &Type::Map(&TIMESTAMPS)),
        "Who states the time of a write, one or one for each kind. Default: the server.",
    ),
    optional(
        "workload.params",
        Type::Map(&Type::Any),
        "Parameters of the workload.",
    ),
    // Data.
    with(
        "data",
        Type::Section,
        "{}",
        "The state of the data before a trial measures.",
    ),
    optional("data.load", Type::Section, "Write rows before measuring."),
    optional(
        "data.load.operations",
        Type::Count(1, ROWS_MAX),
        "Rows to write; operations choose among them.",
    ),
    optional(
        "data.load.bytes_per_node",
        Type::Bytes(1 << 20, 256 << 40),
        "Write rows until the data of each node has this size on disk, on average, after a flush; \
         operations choose among the rows that were written.",
    ),
    optional(
        "data.load.fraction",
        Type::Number(0.01, 0.95),
        "Write rows until this share of the data volumes is used, on average: 0.3 is 30 % full. \
         Needs `target.local.host.volume`.",
    ),
    optional(
        "data.present",
        Type::Count(1, ROWS_MAX),
        "Rows that are in the tables already, instead of `load`.",
    ),
    with(
        "data.settle",
        Type::Choice(&["auto", "compactions", "none"]),
        "auto",
        "What to wait for after loading: flush and all compactions, or nothing; `auto`: \
         compactions where the target can tell when they are done.",
    ),
    with(
        "data.settle_limit",
        Type::Duration(S, DAY),
        "10m",
        "How long settling may take.",
    ),
    with(
        "data.reset",
        Type::Choice(&["none", "truncate", "snapshot"]),
        "none",
        "Before each trial: keep the data; empty the tables and load again; or restore a snapshot \
         that was made once, after loading and settling.",
    ),
    with(
        "data.restore",
        Type::Choice(&["auto", "online", "offline"]),
        "auto",
        "How a snapshot is restored. `online`: the tables are emptied and the files imported. \
         `offline`: the nodes are stopped, the files put in place, the nodes started. `auto` is \
         `online`.",
    ),
    with(
        "data.page_cache",
        Type::Choice(&["keep", "drop"]),
        "keep",
        "What becomes of the page cache before a trial warms up; `drop`: the first reads come \
         from the disk.",
    ),
    // Phases.
    optional(
        "phases",
        Type::Section,
        "What is different in one phase: the nodes restart in between with their data, one after \
         the other, or together where `data.reset: snapshot` restores it anyway. Of \
         `target.local` `heap`, `gc`, `jvm`, `yaml` and `host`, of `keyspace` the options of its \
         tables.",
    ),
    optional(
        "phases.load",
        Type::Phase,
        "While the data is loaded and settled: \
         `{target: {local: {yaml: {commitlog_sync: periodic}}}}`.",
    ),
    optional(
        "phases.measure",
        Type::Phase,
        "While a trial warms up, measures and verifies.",
    ),
    // Variants.
    optional(
        "variants",
        Type::Variants,
        "The sides of a comparison, by name; each changes some settings. The first is the \
         baseline.",
    ),
    optional(
        "matrix",
        Type::Matrix,
        "Instead of `variants`: axes by name, each with its values by name, each of which changes \
         some settings. Every combination is a variant, named after its values: \
         `{heap: {1g: {…}, 2g: {…}}, sync: {batch: {…}, periodic: {…}}}` makes `1g-batch`, \
         `1g-periodic` and so on.",
    ),
    // Procedure.
    optional(
        "procedure",
        Type::Section,
        "Which points are measured: either `sweep` or `fixed`. Needed, but for an imported command \
         line, which says so itself.",
    ),
    optional(
        "procedure.sweep",
        Type::Section,
        "Several points, one after the other: either `threads` or `rate`.",
    ),
    optional(
        "procedure.sweep.threads",
        Type::Either(&Type::List(&THREADS), &Type::Section),
        "Operations in flight, closed loop: a list, or a range.",
    ),
    required("procedure.sweep.threads.from", THREADS, "First point."),
    optional(
        "procedure.sweep.threads.step",
        THREADS,
        "Distance of the points; this or `factor`.",
    ),
    optional(
        "procedure.sweep.threads.factor",
        Type::Number(1.01, 1000.0),
        "Ratio of the points; this or `step`.",
    ),
    optional(
        "procedure.sweep.threads.to",
        THREADS,
        "Last point, of at most 32; may be left out with `until`.",
    ),
    optional(
        "procedure.sweep.rate",
        Type::Either(&Type::List(&RATE), &Type::Section),
        "Operations per second, open loop: a list, or a range.",
    ),
    required("procedure.sweep.rate.from", RATE, "First point."),
    optional(
        "procedure.sweep.rate.step",
        RATE,
        "Distance of the points; this or `factor`.",
    ),
    optional(
        "procedure.sweep.rate.factor",
        Type::Number(1.01, 1000.0),
        "Ratio of the points; this or `step`.",
    ),
    optional(
        "procedure.sweep.rate.to",
        RATE,
        "Last point, of at most 32; may be left out with `until`.",
    ),
    optional(
        "procedure.sweep.until",
        Type::Either(&Type::Choice(&["timeout"]), &Type::Section),
        "Ends the ladder of points after the trial in which this happens.",
    ),
    required(
        "procedure.sweep.until.p99_ms",
        Type::Number(0.001, 3_600_000.0),
        "The p99 of latency exceeds this many milliseconds, or a request times out.",
    ),
    optional(
        "procedure.fixed",
        Type::Section,
        "One point: either `threads` or `rate`.",
    ),
    optional(
        "procedure.fixed.threads",
        THREADS,
        "Operations in flight, closed loop.",
    ),
    optional(
        "procedure.fixed.rate",
        RATE,
        "Operations per second, open loop.",
    ),
    with(
        "procedure.arrival",
        Type::Choice(&["fixed", "poisson"]),
        "fixed",
        "How arrivals of a rate are spaced.",
    ),
    // Window.
    with("window", Type::Section, "{}", "How long is measured."),
    with(
        "window.warmup",
        Type::WordOr(&["auto"], &Type::Duration(0, DAY)),
        "auto",
        "Time before the measured window; `auto` ends when throughput and latency are steady \
         (on the null target after 1 s: nothing warms up there). Whole seconds.",
    ),
    with(
        "window.warmup_max",
        Type::Duration(S, DAY),
        "60s",
        "Limit of an `auto` warm-up. Whole seconds. Under 11 s no steady state can be seen.",
    ),
    with(
        "window.measure",
        Type::Duration(S, 30 * DAY),
        "60s",
        "Length of the measured window. Whole seconds.",
    ),
    // Repetition.
    with(
        "repeat",
        Type::Section,
        "{}",
        "Repetitions, for error bars.",
    ),
    with(
        "repeat.blocks",
        Type::Count(1, 1000),
        "1",
        "How often every point of every variant is measured.",
    ),
    with(
        "repeat.order",
        Type::Choice(&["interleaved", "sequential"]),
        "interleaved",
        "Interleaved: variants take turns in every block, in a counterbalanced order. Sequential: \
         one variant after the other; what differs then only looks different, since the machine \
         may have changed meanwhile.",
    ),
    // What the question is about.
    with(
        "primary",
        Type::Section,
        "{}",
        "The one comparison that answers the question. All others are adjusted for their number.",
    ),
    with(
        "primary.metric",
        Type::Choice(&["auto", "throughput", "p50", "p99"]),
        "auto",
        "`auto`: throughput for threads, p99 for a rate.",
    ),
    optional(
        "primary.point",
        RATE,
        "Threads or rate of the point. Default: where all variants together did most; the highest \
         rate that all kept up with.",
    ),
    // Client.
    with("client", Type::Section, "{}", "The instrument itself."),
    with(
        "client.workers",
        Type::WordOr(&["auto"], &Type::Count(1, 256)),
        "auto",
        "Event loops; `auto`: half of the CPUs, at least one.",
    ),
    optional(
        "client.cpus",
        Type::List(&Type::Count(0, 4095)),
        "CPUs that the workers are pinned to, in turn. Default: not pinned.",
    ),
    with(
        "client.connections_per_node",
        Type::Count(1, 1024),
        "2",
        "Connections from each worker to each node.",
    ),
    with(
        "client.timeout",
        Type::Duration(1_000_000, 3_600 * S),
        "10s",
        "Time after which an operation without an answer has failed.",
    ),
    with(
        "client.in_flight_max",
        Type::Count(1, THREADS_MAX),
        "128",
        "Limit of operations in flight when a rate is offered; what is due beyond it waits on the \
         clock, and its waiting counts as latency.",
    ),
    with(
        "client.release_quantum",
        Type::Duration(0, 10_000_000),
        "50us",
        "At a rate, what becomes due within this is sent together: larger is cheaper for the \
         client and adds as much release lag.",
    ),
    with(
        "client.compression",
        Type::Choice(&["none", "lz4", "snappy"]),
        "none",
        "Compression of frames.",
    ),
    // Verification.
    with(
        "verify",
        Type::Section,
        "{}",
        "Whether answers are right. The null target stores nothing, so nothing is verified there.",
    ),
    with(
        "verify.reads",
        Type::Choice(&["none", "sampled", "all"]),
        "sampled",
        "Which reads of the measured window are compared with what must be there; sampled: \
         every 16th.",
    ),
    with(
        "verify.sample",
        Type::Count(0, ROWS_MAX),
        "1000",
        "Rows that are read back and compared after each trial.",
    ),
    // Probes.
    optional(
        "probes",
        Type::WordOr(&["none"], &Type::Section),
        "What else is read while a trial runs; `none`: nothing. Default: all of it, but for the \
         null target, which has nothing to read. Each probe is `true`, `false` or its period.",
    ),
    with(
        "probes.period",
        PERIOD,
        "1s",
        "Period of the probes that have none of their own.",
    ),
    with(
        "probes.hosts",
        PROBE,
        "true",
        "CPU, memory, disks and network of the hosts.",
    ),
    with(
        "probes.processes",
        PROBE,
        "true",
        "CPU, threads, context switches, page faults and NUMA placement of the nodes' processes.",
    ),
    with(
        "probes.jvm",
        PROBE,
        "true",
        "Heap and collections of the nodes' JVMs.",
    ),
    with(
        "probes.cassandra",
        PROBE,
        "true",
        "Thread pools, compactions, caches, hints, dropped messages, requests and waits for the \
         commit log, as Cassandra counts them.",
    ),
    with(
        "probes.gc_log",
        PROBE,
        "true",
        "Every pause in the nodes' logs of garbage collection.",
    ),
    optional(
        "probes.import",
        Type::List(&Type::Section),
        "Series of others, laid on the same time axis: a list, each `esxtop` or `prometheus`.",
    ),
    optional(
        "probes.import.esxtop",
        Type::Text,
        "CSV file of `esxtop -b`, beside or below the study; read when the run ends.",
    ),
    optional(
        "probes.import.columns",
        Type::List(&Type::Text),
        "With `esxtop`: columns whose names contain one of these. Default: those that are about \
         CPU, memory, disk and network.",
    ),
    optional(
        "probes.import.prometheus",
        Type::Text,
        "File in Prometheus's text format, beside or below the study and read when the run ends; \
         or the `http://…` address of an end point, asked while it runs.",
    ),
    optional(
        "probes.import.period",
        PERIOD,
        "With the address of an end point: how often it is asked. Default: `probes.period`.",
    ),
    // Scales.
    optional(
        "scales",
        Type::Scales,
        "Other sizes of the same question, by name, for `--scale`: dotted keys with values.",
    ),
];
