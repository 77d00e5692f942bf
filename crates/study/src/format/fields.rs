//! The rows of the table: every key that a study may have.
//!
//! Long because it is one table.

pub use row::LOCAL_NODES_MAX;

use crate::format::field::{Field, Type};
use crate::settings::draft::Series;
use crate::settings::{
    Capacity, KEYS_MAX, Load, Machine, PageCache, Priority, ROWS_UNLOADED, Reset, RestoreMethod,
    SAMPLED_NTH, Sample, Settle, Split,
};
use cql::Compression;
use imports::Tool;
use row::{
    DAY, LEVELS, PERIOD_MAX, PERIOD_MIN, RATE_MAX, READS, ROWS_MAX, S, SECTION, SERIAL,
    THREADS_MAX, optional, required, with,
};
use std::time::Duration;

/// A choice of words, each with the value that it sets.
macro_rules! choice {
    (|$d:ident| $key:expr; $($word:literal => $value:expr),+) => {
        Type::Choice(&[$(($word, |$d| $key = $value)),+])
    };
}

/// One value for all kinds of operations, or one for each kind.
macro_rules! of_kinds {
    ($one:expr) => {
        Type::Either(&$one, &Type::Map(&$one))
    };
}

/// A probe's period, or whether it runs at all; `true` means `probes.period`.
macro_rules! probe {
    ($key:ident) => {
        Type::WordOr(
            &[
                ("true", |d| d.probes.$key = Some(d.period_ns)),
                ("false", |d| d.probes.$key = None),
            ],
            &Type::Duration(PERIOD_MIN, PERIOD_MAX, |d, ns| d.probes.$key = Some(ns)),
        )
    };
}

mod attached;
mod cassandra;
mod client_pods;
mod faults;
mod guard;
mod kubernetes;
mod machines;
mod node_pods;
mod procedure;
mod recorded;
mod repeat;
mod require;
mod row;
mod target;
mod topology;

/// The format.
pub const FIELDS: [&[Field]; 21] = [
    STUDY,
    target::FIELDS,
    cassandra::FIELDS,
    machines::FIELDS,
    node_pods::FIELDS,
    kubernetes::FIELDS,
    attached::ADDRESSES,
    attached::HEAD,
    attached::EACH,
    attached::ALL,
    topology::FIELDS,
    SECTIONS,
    recorded::FIELDS,
    procedure::FIELDS,
    WINDOW,
    repeat::FIELDS,
    require::FIELDS,
    guard::FIELDS,
    INSTRUMENT,
    client_pods::FIELDS,
    faults::FIELDS,
];

/// Rows of the study itself.
const STUDY: &[Field] = &[
    required(
        "study",
        Type::Name(|d, text| d.name = text.into()),
        "Name of the study; the folder of its runs.",
    ),
    required(
        "question",
        Type::Text(|d, text| d.question = text.into()),
        "The question, in words. The report answers it first.",
    ),
    optional(
        "published",
        Type::Text(|d, text| d.published = Some(text.into())),
        "A file beside or below the study with figures that others have published, which the \
         report shows beside ours: studies/README.md says what is in it.",
    ),
    with(
        "seed",
        Type::Count(0, u64::MAX, |d, n| d.seed = n),
        "1",
        "Seed of all that is random: keys, values, arrivals, order of trials.",
    ),
];

/// Rows of the question, its data and its variants.
const SECTIONS: &[Field] = &[
    // Keyspace and workload.
    with(
        "keyspace",
        SECTION,
        "{}",
        "The keyspace that the workload's tables are created in.",
    ),
    optional(
        "keyspace.name",
        Type::CqlName(|d, text| d.keyspace.name = Some(text.into())),
        "Name. Default: the workload's own.",
    ),
    with(
        "keyspace.replication",
        Type::Either(
            &Type::Count(1, 100, |d, n| d.keyspace.replicate(n as u32)),
            &Type::Map(&Type::Count(1, 100, |d, n| {
                let datacenter = d.key.clone();
                d.keyspace.replicate_in(&datacenter, n as u32)
            })),
        ),
        "1",
        "Replicas; a number, or a number for each datacenter.",
    ),
    optional(
        "keyspace.durable_writes",
        Type::Bool(|d, on| d.keyspace.durable_writes = Some(on)),
        "Whether writes go to the commit log as well. Default: as the workload says, which is yes.",
    ),
    optional(
        "keyspace.compaction",
        Type::Map(&Type::Any(|d, tree| {
            d.keyspace.compaction.push((d.key.clone(), tree.to_word()))
        })),
        "How the workload's tables are compacted: `{class: LeveledCompactionStrategy}`. Default: \
         as the workload says.",
    ),
    optional(
        "keyspace.compression",
        Type::Map(&Type::Any(|d, tree| {
            d.keyspace.compression.push((d.key.clone(), tree.to_word()))
        })),
        "How their SSTables are compressed: `{class: LZ4Compressor, chunk_length_in_kb: 4}`, \
         `{enabled: false}`. Default: as the workload says.",
    ),
    optional(
        "keyspace.options",
        Type::Map(&Type::Any(|d, tree| {
            d.keyspace.options.push((d.key.clone(), tree.to_json()))
        })),
        "Other options of the workload's tables, as `ALTER TABLE … WITH` takes them: \
         `{gc_grace_seconds: 60}`.",
    ),
    required("workload", SECTION, "What is asked of the target."),
    optional(
        "workload.use",
        Type::Name(|d, text| d.workload.name = text.into()),
        "Name of the workload; `cassay workload list` lists them.",
    ),
    optional(
        "workload.file",
        Type::Text(|d, text| {
            d.workload.name = text.into();
            d.workload.file = Some(text.into());
        }),
        "A workload file of your own, beside or below the study; docs/workload-file.md says what \
         is in it.",
    ),
    optional(
        "workload.table",
        Type::Text(|d, text| {
            d.workload.name = text.into();
            d.own_table().name = text.into();
        }),
        "A table that the attached cluster has, as `keyspace.table`: it is read as it is and \
         nothing of it is changed. Its columns come from its schema, its keys from itself \
         (`workload.keys`). Kinds of operations: `row` (by the whole primary key), `partition`, \
         `page` (the first 100 rows of a partition); `mix` weighs them, and is `{row: 1}` by \
         default.",
    ),
    optional(
        "workload.keys",
        SECTION,
        "Where the keys of `workload.table` come from. Without it: partitions after random places \
         of the token ring, each with one of its rows.",
    ),
    optional(
        "workload.keys.count",
        Type::Count(1, KEYS_MAX, |d, n| d.own_table().keys = n),
        "Partitions that are taken from the ring; of small tables fewer are found. They are kept \
         with the run. Default: 10k.",
    ),
    optional(
        "workload.keys.rate",
        Type::Count(1, 1_000_000, |d, n| d.own_table().keys_per_s = n),
        "Partitions that are asked for in a second meanwhile, at most; of each the first rows, at \
         most 4, are read. Default: 1k.",
    ),
    optional(
        "workload.keys.file",
        Type::Text(|d, text| d.own_table().file = Some(text.into())),
        "A CSV beside or below the study that has the keys, one record for each, with the names of \
         the columns in its first line. Without the clustering columns there is no `row`.",
    ),
    optional(
        "workload.keys.columns",
        Type::Map(&Type::Text(|d, text| {
            let column = d.key.clone();
            d.own_table().columns.push((column, text.into()));
        })),
        "Which column of the CSV has which column of the key: `{id: user_id}`. Default: the one of \
         the same name.",
    ),
    optional(
        "workload.stress",
        Type::List(&Type::Text(|d, text| d.import(Tool::Stress, text))),
        "A command line of cassandra-stress, without its first word: `write n=1M -rate \
         threads=50`. It says what is asked, how much and for how long; `procedure` and `window` \
         do not apply. Of several in a list each is a variant, and they run one after the other; \
         so of the other tools.",
    ),
    optional(
        "workload.nb",
        Type::List(&Type::Text(|d, text| d.import(Tool::Nb, text))),
        "A command line of NoSQLBench: `cql-iot.yaml default rampup-cycles=1M`. Each line of the \
         scenario is a variant.",
    ),
    optional(
        "workload.ycsb",
        Type::List(&Type::Text(|d, text| d.import(Tool::Ycsb, text))),
        "A command line of YCSB, `run -P workloads/workloada -threads 32`, or its two: `[load -P \
         w, run -P w]`.",
    ),
    optional(
        "workload.easy",
        Type::List(&Type::Text(|d, text| d.import(Tool::Easy, text))),
        "A command line of cassandra-easy-stress: `KeyValue -d 5m --rate 10k -r 0.5 -p 1m`. \
         Populating, if it asks for that, is a variant of its own.",
    ),
    optional(
        "workload.mix",
        Type::Map(&Type::Number(0.0, 1e9, |d, n| {
            d.workload.mix.push((d.key.clone(), n))
        })),
        "Weight of each kind of operation: `{write: 9, read: 1}`. Default: the workload's own.",
    ),
    optional(
        "workload.consistency",
        of_kinds!(Type::Level(&LEVELS, |d, level| d.tune(|t| t.consistency = Some(level)))),
        "Consistency level, one or one for each kind. Default: the workload's own.",
    ),
    optional(
        "workload.serial_consistency",
        of_kinds!(Type::Level(&SERIAL, |d, level| d
            .tune(|t| t.serial_consistency = Some(level)))),
        "Serial consistency of conditional statements, one or one for each kind.",
    ),
    optional(
        "workload.timeout",
        of_kinds!(Type::Duration(1_000, DAY, |d, ns| d
            .tune(|t| t.timeout = Some(Duration::from_nanos(ns))))),
        "Time from the send after which a try has failed, one or one for each kind. Default: \
         `client.timeout`.",
    ),
    optional(
        "workload.retries",
        of_kinds!(Type::Count(0, 100, |d, n| d.tune(|t| t.retries = Some(n as u8)))),
        "Tries after the first one, one or one for each kind; they are counted, and their time is \
         in the latency. Default: 0, an error is an error.",
    ),
    optional(
        "workload.speculate_after",
        of_kinds!(Type::Duration(1_000, DAY, |d, ns| d
            .tune(|t| t.speculate_after = Some(Duration::from_nanos(ns))))),
        "Send an idempotent operation to another node too, or else over another connection, when \
         there is no answer after this time, one or one for each kind. Default: never.",
    ),
    optional(
        "workload.idempotent",
        of_kinds!(Type::Bool(|d, on| d.tune(|t| t.idempotent = Some(on)))),
        "Whether operations may be executed twice, one or one for each kind: only such are retried \
         when they may have been done, or speculated. Default: as the workload's statements are.",
    ),
    optional(
        "workload.page_size",
        of_kinds!(Type::Count(0, 1_000_000, |d, n| d
            .tune(|t| t.page_size = Some(n as u32)))),
        "Rows per page, one or one for each kind; 0: no paging. Pages and rows are counted. \
         Default: the workload's own.",
    ),
    optional(
        "workload.timestamps",
        of_kinds!(Type::Choice(&[
            ("server", |d| d.tune(|t| t.client_timestamp = Some(false))),
            ("client", |d| d.tune(|t| t.client_timestamp = Some(true))),
        ])),
        "Who states the time of a write, one or one for each kind. Default: the server.",
    ),
    optional(
        "workload.params",
        Type::Map(&Type::Any(|d, tree| {
            d.workload.params.push((d.key.clone(), tree.clone()))
        })),
        "Parameters of the workload.",
    ),
    // Data.
    with(
        "data",
        SECTION,
        "{}",
        "The state of the data before a trial measures.",
    ),
    optional(
        "data.load",
        Type::Section(|d| d.data.load = Load::Operations(ROWS_UNLOADED)),
        "Write rows before measuring.",
    ),
    optional(
        "data.load.operations",
        Type::Count(1, ROWS_MAX, |d, n| d.data.load = Load::Operations(n)),
        "Rows to write; operations choose among them.",
    ),
    optional(
        "data.load.bytes_per_node",
        Type::Bytes(1 << 20, 256 << 40, |d, n| {
            d.data.load = Load::BytesPerNode(n)
        }),
        "Write rows until the data of each node has this size on disk, on average, after a flush; \
         operations choose among the rows that were written.",
    ),
    optional(
        "data.load.fraction",
        Type::Number(0.01, 0.95, |d, n| d.data.load = Load::Fraction(n)),
        "Write rows until this share of the data volumes is used, on average: 0.3 is 30 % full. \
         Needs `target.local.host.volume`.",
    ),
    optional(
        "data.present",
        Type::Count(1, ROWS_MAX, |d, n| d.present = n),
        "Rows that are in the tables already, instead of `load`.",
    ),
    with(
        "data.settle",
        choice!(|d| d.data.settle;
            "auto" => Settle::Auto, "compactions" => Settle::Compactions, "none" => Settle::None
        ),
        "auto",
        "What to wait for after loading: flush and all compactions, or nothing; `auto`: \
         compactions where the target can tell when they are done.",
    ),
    with(
        "data.settle_limit",
        Type::Duration(S, DAY, |d, ns| d.data.settle_limit_ns = ns),
        "10m",
        "How long settling may take.",
    ),
    with(
        "data.reset",
        choice!(|d| d.data.reset;
            "none" => Reset::None, "truncate" => Reset::Truncate, "snapshot" => Reset::Snapshot
        ),
        "none",
        "Before each trial: keep the data; empty the tables and load again; or restore a snapshot \
         that was made once, after loading and settling.",
    ),
    with(
        "data.restore",
        choice!(|d| d.data.restore;
            "auto" => RestoreMethod::Online,
            "online" => RestoreMethod::Online,
            "offline" => RestoreMethod::Offline
        ),
        "auto",
        "How a snapshot is restored. `online`: the tables are emptied and the files imported. \
         `offline`: the nodes are stopped, the files put in place, the nodes started. `auto` is \
         `online`.",
    ),
    with(
        "data.page_cache",
        choice!(|d| d.data.page_cache; "keep" => PageCache::Keep, "drop" => PageCache::Drop),
        "keep",
        "What becomes of the page cache before a trial warms up; `drop`: the first reads come \
         from the disk.",
    ),
    // Phases.
    optional(
        "phases",
        SECTION,
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
    optional(
        "screen",
        SECTION,
        "Instead of `variants`: which of 4 to 11 settings matter at all, in 8 to 24 runs. Its \
         variants are `default`, the study as it is written, and the runs of a design in which \
         every setting has one of its two values. The answer names those to confirm, which \
         `cassay confirm` does.",
    ),
    required(
        "screen.settings",
        Type::Matrix,
        "Settings by name, each with two values by name, each of which changes some settings: \
         `{heap: {small: {}, large: {target: {local: {heap: 8GiB}}}}}`. The further apart, the \
         better they are seen.",
    ),
    with(
        "screen.fold",
        Type::Bool(|d, on| d.fold = on),
        "false",
        "Whether the design is run again with all values turned: twice the runs, and no effect is \
         mixed with what two settings do together.",
    ),
];

/// Rows of the measured window.
const WINDOW: &[Field] = &[
    // Window.
    with("window", SECTION, "{}", "How long is measured."),
    with(
        "window.warmup",
        Type::WordOr(
            &[("auto", |d| d.warmup_ns = None)],
            &Type::Duration(0, DAY, |d, ns| d.warmup_ns = Some(ns)),
        ),
        "auto",
        "Time before the measured window; `auto` ends when throughput and latency are steady \
         (on the null target after 1 s: nothing warms up there). Whole seconds.",
    ),
    with(
        "window.warmup_max",
        Type::Duration(S, DAY, |d, ns| d.warmup_max_ns = ns),
        "60s",
        "Limit of an `auto` warm-up. Whole seconds. Under 11 s no steady state can be seen.",
    ),
    with(
        "window.first_warmup",
        Type::WordOr(
            &[("same", |d| d.first_warmup_ns = None)],
            &Type::Duration(0, DAY, |d, ns| d.first_warmup_ns = Some(ns)),
        ),
        "same",
        "Time before the first measured window on node processes that have just started, whose \
         JVMs still compile; `same`: as long as `warmup`. Whole seconds. None on the null target.",
    ),
    with(
        "window.measure",
        Type::Duration(S, 30 * DAY, |d, ns| d.measure_ns = ns),
        "60s",
        "Length of the measured window. Whole seconds.",
    ),
    with(
        "window.until",
        choice!(|d| d.until_faults; "measured" => false, "faults" => true),
        "measured",
        "What ends the window. `measured`: its length. `faults`: `after_faults` after the last \
         fault has ended and its target is whole, and its length at the latest.",
    ),
    with(
        "window.after_faults",
        Type::Duration(0, DAY, |d, ns| d.after_faults_ns = ns),
        "30s",
        "How long a window with `until: faults` goes on after its last fault. Whole seconds. The \
         report calls a recovery seen after 30 s without a difference.",
    ),
    // Price.
    optional(
        "price_per_hour",
        Type::Either(
            &Type::Number(1e-6, 1e9, |d, n| d.price().per_hour = n),
            &SECTION,
        ),
        "What an hour of the target costs, for the study or for each variant: `1.23`, or with its \
         currency `{amount: 1.23, currency: USD}`. Operations for it stand in the answer.",
    ),
    required(
        "price_per_hour.amount",
        Type::Number(1e-6, 1e9, |d, n| d.price().per_hour = n),
        "How much.",
    ),
    optional(
        "price_per_hour.currency",
        Type::Name(|d, text| d.price().currency = Some(text.into())),
        "Of what. Prices in different currencies are not compared.",
    ),
    optional(
        "capacity",
        Type::Section(|d| d.capacity = Some(Capacity::default())),
        "How many nodes a demand takes, from the highest rate that was held: needs rates as \
         points. What is assumed stands beside the answer.",
    ),
    required(
        "capacity.ops_per_s",
        Type::Count(1, RATE_MAX, |d, n| d.capacity().ops_per_s = n as f64),
        "The demand.",
    ),
    required(
        "capacity.p99_ms",
        Type::Number(0.001, 3_600_000.0, |d, n| d.capacity().p99_ms = n),
        "The p99 of latency that it may have at most, in milliseconds.",
    ),
    with(
        "capacity.failures",
        Type::Count(0, 1000, |d, n| d.capacity().failures = n),
        "1",
        "Nodes that may be lost together and still leave enough: of a rack, all of its nodes.",
    ),
    with(
        "capacity.growth",
        Type::Number(0.0, 100.0, |d, n| d.capacity().growth = n),
        "0",
        "Growth on top of the demand, as a share: 0.2 is 20 %.",
    ),
    with(
        "capacity.skew",
        Type::Number(1.0, 100.0, |d, n| d.capacity().skew = n),
        "1",
        "Load of the busiest node ÷ mean load of a node, in the cluster that is planned.",
    ),
];

/// Rows of the instrument, and of probes and actions during the measurement.
const INSTRUMENT: &[Field] = &[
    // Client.
    with("client", SECTION, "{}", "The instrument itself."),
    optional(
        "client.machines",
        Type::List(&Type::Either(
            &Type::Choice(&[("here", |d| d.client.machines.push(Machine::default()))]),
            &Type::Section(|d| d.client.machines.push(Machine::default())),
        )),
        "Machines that offer the load together, a client on each: `here`, or `{ssh: HOST}`, which \
         runs this program there by your own `ssh` and needs `--trust` in a study. Operations, \
         their times and those in flight are shared by all their workers, as if they were one \
         client's. Default: this process alone.",
    ),
    optional(
        "client.machines.ssh",
        Type::Text(|d, text| d.machine().ssh = Some(text.into())),
        "HOST, USER@HOST or ssh://USER@HOST:PORT, or a name of your `~/.ssh/config`. Default: this \
         machine.",
    ),
    optional(
        "client.machines.folder",
        Type::Text(|d, text| d.machine().folder = Some(text.into())),
        "With `ssh`: the folder there into which this program is put, and run from. Default: the \
         user's cache there.",
    ),
    optional(
        "client.machines.workers",
        Type::Count(1, 256, |d, n| d.machine().workers = Some(n as usize)),
        "Event loops there. Default: `client.workers`, and half of its CPUs with `auto`.",
    ),
    optional(
        "client.machines.cpus",
        Type::List(&Type::Count(0, 4095, |d, n| {
            d.machine().cpus.push(n as usize)
        })),
        "CPUs there that its workers are pinned to, in turn. Default: not pinned.",
    ),
    with(
        "client.split",
        choice!(|d| d.client.split; "stride" => Split::Stride, "range" => Split::Range),
        "stride",
        "How `client.machines` share what an imported command walks through: the seeds of \
         cassandra-stress's `-pop seq=`, NoSQLBench's cycles, the records of a YCSB load. \
         `stride`: all go through it together. `range`: each goes through a part of its own, as \
         the tool's own clients do with a range each; needs the `workers` of every machine.",
    ),
    with(
        "client.workers",
        Type::WordOr(
            &[("auto", |d| d.client.workers = None)],
            &Type::Count(1, 256, |d, n| d.client.workers = Some(n as usize)),
        ),
        "auto",
        "Event loops; `auto`: half of the CPUs, at least one. With `client.machines`: on each of \
         them that does not say it itself.",
    ),
    optional(
        "client.cpus",
        Type::List(&Type::Count(0, 4095, |d, n| d.client.cpus.push(n as usize))),
        "CPUs that the workers are pinned to, in turn. Default: not pinned.",
    ),
    optional(
        "client.priority",
        choice!(|d| d.client.priority; "auto" => Priority::Auto, "normal" => Priority::Normal,
                "realtime" => Priority::Realtime),
        "Whether the workers go before other programs that want their CPUs, where the system \
         allows it: `normal` like any program, `realtime` always, `auto` where nodes run on the \
         same machine, whose threads would keep answers waiting for tens of milliseconds. Default: \
         `auto`.",
    ),
    with(
        "client.connections_per_node",
        Type::Count(1, 1024, |d, n| d.client.connections_per_node = n as usize),
        "2",
        "Connections from each worker to each node.",
    ),
    with(
        "client.timeout",
        Type::Duration(1_000_000, 3_600 * S, |d, ns| d.client.timeout_ns = ns),
        "10s",
        "Time after which an operation without an answer has failed.",
    ),
    with(
        "client.in_flight_max",
        Type::Count(1, THREADS_MAX, |d, n| d.client.in_flight_max = n as u32),
        "128",
        "Limit of operations in flight when a rate is offered; what is due beyond it waits on the \
         clock, and its waiting counts as latency.",
    ),
    with(
        "client.release_quantum",
        Type::Duration(0, 10_000_000, |d, ns| d.client.release_quantum_ns = ns),
        "50us",
        "At a rate, what becomes due within this is sent together: larger is cheaper for the \
         client and adds as much release lag.",
    ),
    with(
        "client.compression",
        choice!(|d| d.client.compression;
            "none" => None, "lz4" => Some(Compression::Lz4),
            "snappy" => Some(Compression::Snappy)
        ),
        "none",
        "Compression of frames.",
    ),
    // Verification.
    with(
        "verify",
        SECTION,
        "{}",
        "Whether answers are right. The null target stores nothing, so nothing is verified there.",
    ),
    with(
        "verify.reads",
        choice!(|d| d.verify.every_nth;
            "none" => None, "sampled" => Some(SAMPLED_NTH), "all" => Some(1)
        ),
        "sampled",
        "Which reads of the measured window are compared with what must be there; sampled: \
         every 16th.",
    ),
    with(
        "verify.sample",
        Type::WordOr(
            &[("all", |d| d.verify.sample = Sample::All)],
            &Type::Count(0, ROWS_MAX, |d, n| d.verify.sample = Sample::Rows(n)),
        ),
        "1000",
        "Rows that are read back and compared after each trial; `all`: every row that was written, \
         and what became of every acknowledged write is accounted for. That takes eight bytes of \
         memory for each write of the main stage, at most 512 MiB.",
    ),
    optional(
        "verify.consistency",
        Type::Level(&READS, |d, level| d.verify.consistency = Some(level)),
        "Consistency level of reading rows back. Default: for a sample that of the workload's \
         reads, for `all` the weakest that must see what was acknowledged.",
    ),
    // Probes.
    optional(
        "probes",
        Type::WordOr(
            &[("none", |d| d.probed = Some(false))],
            &Type::Section(|d| d.probed = Some(true)),
        ),
        "What else is read while a trial runs; `none`: nothing. Default: all of it, but for the \
         null target, which has nothing to read. Each probe is `true`, `false` or its period.",
    ),
    with(
        "probes.period",
        Type::Duration(PERIOD_MIN, PERIOD_MAX, |d, ns| d.period_ns = ns),
        "1s",
        "Period of the probes that have none of their own.",
    ),
    with(
        "probes.hosts",
        probe!(hosts_ns),
        "true",
        "CPU, memory, disks and network of the hosts.",
    ),
    with(
        "probes.processes",
        probe!(processes_ns),
        "true",
        "CPU, threads, context switches, page faults and NUMA placement of the nodes' processes.",
    ),
    with(
        "probes.jvm",
        probe!(jvm_ns),
        "true",
        "Heap and collections of the nodes' JVMs.",
    ),
    with(
        "probes.cassandra",
        probe!(cassandra_ns),
        "true",
        "Thread pools, compactions, caches, hints, dropped messages, requests and waits for the \
         commit log, as Cassandra counts them.",
    ),
    with(
        "probes.gc_log",
        probe!(gc_log_ns),
        "true",
        "Every pause in the nodes' logs of garbage collection.",
    ),
    optional(
        "probes.import",
        Type::List(&Type::Section(|d| d.series.push(Series::default()))),
        "Series of others, laid on the same time axis: a list, each `esxtop` or `prometheus`.",
    ),
    optional(
        "probes.import.esxtop",
        Type::Text(|d, text| d.series().esxtop = Some(text.into())),
        "CSV file of `esxtop -b`, beside or below the study; read when the run ends.",
    ),
    optional(
        "probes.import.columns",
        Type::List(&Type::Text(|d, text| d.series().columns.push(text.into()))),
        "With `esxtop`: columns whose names contain one of these. Default: those that are about \
         CPU, memory, disk and network.",
    ),
    optional(
        "probes.import.prometheus",
        Type::Text(|d, text| d.series().prometheus = Some(text.into())),
        "File in Prometheus's text format, beside or below the study and read when the run ends; \
         or the `http://…` address of an end point, asked while it runs.",
    ),
    optional(
        "probes.import.period",
        Type::Duration(PERIOD_MIN, PERIOD_MAX, |d, ns| {
            d.series().period_ns = Some(ns)
        }),
        "With the address of an end point: how often it is asked. Default: `probes.period`.",
    ),
    // Scales.
    optional(
        "scales",
        Type::Scales,
        "Other sizes of the same question, by name, for `--scale`: dotted keys with values. `none` \
         leaves a variant, an axis of a matrix or a value of one out: `matrix.size.large: none`.",
    ),
];
