//! The rows of the table: every key that a study may have.
//!
//! Long because it is one table.

pub use row::LOCAL_NODES_MAX;

use crate::format::field::{Field, Type};
use crate::settings::draft::Series;
use crate::settings::{
    Capacity, ClientMachine, KEYS_MAX, Load, PageCache, Priority, ROWS_UNLOADED, Reset,
    RestoreMethod, SAMPLED_NTH, Sample, Settle, Split, Why,
};
use cql::Compression;
use imports::Tool;
use row::{
    DAY, LEVELS, PERIOD_MAX, PERIOD_MIN, RATE_MAX, READS, ROWS_MAX, S, SECTION, SERIAL,
    THREADS_MAX, optional, required, with,
};
use std::time::Duration;

/// Makes the type of a choice between words. Each word has the value that it sets.
macro_rules! choice {
    (|$d:ident| $key:expr; $($word:literal => $value:expr),+) => {
        Type::Choice(&[$(($word, |$d| $key = $value)),+])
    };
}

/// Makes the rows of a key that has one value for all kinds of operations, or one for each kind.
macro_rules! of_kinds {
    ($one:expr) => {
        Type::Either(&$one, &Type::Map(&$one))
    };
}

/// Makes the row of a probe. Its value is the period of the probe, or a boolean that states whether
/// the probe runs. `true` means `probes.period`.
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
mod recorded_traffic;
mod repeat;
mod require;
mod row;
mod target;
mod topology;

/// All rows of the format.
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
    recorded_traffic::FIELDS,
    procedure::FIELDS,
    WINDOW,
    repeat::FIELDS,
    require::FIELDS,
    guard::FIELDS,
    INSTRUMENT,
    client_pods::FIELDS,
    faults::FIELDS,
];

/// Rows for the study itself.
const STUDY: &[Field] = &[
    required(
        "study",
        Type::Name(|d, text| d.name = text.into()),
        "Name of the study, which is also the folder of its runs.",
    ),
    required(
        "question",
        Type::Text(|d, text| d.question = text.into()),
        "Question of the study, in words. The report answers it first.",
    ),
    optional(
        "published",
        Type::Text(|d, text| d.published = Some(text.into())),
        "File in the study's folder, or below it, with published figures, which the report shows \
         next to the measured figures. studies/README.md describes its format.",
    ),
    with(
        "seed",
        Type::Count(0, u64::MAX, |d, n| d.seed = n),
        "1",
        "Seed of all random values: keys, values, arrivals, order of trials.",
    ),
    optional(
        "why",
        Type::WordOr(&[("confirm", |d| d.why = Some(Why::default()))], &SECTION),
        "`confirm`: after the trials, cassay tests the resource that was full at the limit of the \
         load. It changes one setting of that resource and compares both settings in blocks. If \
         the experiment refutes the resource, cassay tests the next one.",
    ),
    optional(
        "why.confirm",
        Type::Section(|d| d.why = Some(Why::default())),
        "Settings of `why: confirm`.",
    ),
    optional(
        "why.confirm.minutes",
        Type::Count(1, 1440, |d, n| {
            d.why.get_or_insert_default().minutes = n;
        }),
        "Maximum expected length of all experiments together, in minutes. Default: 10.",
    ),
];

/// Rows for the question, the data and the variants of a study.
const SECTIONS: &[Field] = &[
    // Rows for keyspace and workload.
    with(
        "keyspace",
        SECTION,
        "{}",
        "Keyspace of the workload's tables.",
    ),
    optional(
        "keyspace.name",
        Type::CqlName(|d, text| d.keyspace.name = Some(text.into())),
        "Name of the keyspace. Default: the keyspace of the workload.",
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
        "Number of replicas, or a number for each datacenter.",
    ),
    optional(
        "keyspace.durable_writes",
        Type::Bool(|d, on| d.keyspace.durable_writes = Some(on)),
        "Write to the commit log too. Default: the workload's setting, else `true`.",
    ),
    optional(
        "keyspace.compaction",
        Type::Map(&Type::Any(|d, tree| {
            d.keyspace.compaction.push((d.key.clone(), tree.to_word()))
        })),
        "Compaction of the workload's tables: `{class: LeveledCompactionStrategy}`. Default: the \
         workload's setting.",
    ),
    optional(
        "keyspace.compression",
        Type::Map(&Type::Any(|d, tree| {
            d.keyspace.compression.push((d.key.clone(), tree.to_word()))
        })),
        "Compression of the workload's SSTables: `{class: LZ4Compressor, chunk_length_in_kb: 4}`, \
         or `{enabled: false}`. Default: the workload's setting.",
    ),
    optional(
        "keyspace.options",
        Type::Map(&Type::Any(|d, tree| {
            d.keyspace.options.push((d.key.clone(), tree.to_json()))
        })),
        "Other options of the workload's tables, as in `ALTER TABLE … WITH`: `{gc_grace_seconds: \
         60}`.",
    ),
    required("workload", SECTION, "Operations to run against the target."),
    optional(
        "workload.use",
        Type::Name(|d, text| d.workload.name = text.into()),
        "Name of a built-in workload; `cassay workload list` lists them.",
    ),
    optional(
        "workload.file",
        Type::Text(|d, text| {
            d.workload.name = text.into();
            d.workload.file = Some(text.into());
        }),
        "Workload file in the study's folder or a subfolder. docs/workload-file.md describes its \
         format.",
    ),
    optional(
        "workload.table",
        Type::Text(|d, text| {
            d.workload.name = text.into();
            d.own_table().name = text.into();
        }),
        "Existing table of the attached cluster, as `keyspace.table`. cassay only reads it. The \
         columns come from its schema, and the keys from the table (`workload.keys`). Kinds of \
         operations: `row` (by the whole primary key), `partition`, and `page` (the first 100 \
         rows of a partition). `mix` weighs them; default `{row: 1}`.",
    ),
    optional(
        "workload.keys",
        SECTION,
        "Source of the keys of `workload.table`. Default: partitions at random positions of the \
         token ring, with one row of each partition.",
    ),
    optional(
        "workload.keys.count",
        Type::Count(1, KEYS_MAX, |d, n| d.own_table().keys = n),
        "Number of partitions to sample from the ring; a small table may yield fewer. The run \
         stores the sampled keys. Default: 10k.",
    ),
    optional(
        "workload.keys.rate",
        Type::Count(1, 1_000_000, |d, n| d.own_table().keys_per_s = n),
        "Upper limit of partitions sampled per second. The sample reads at most the first 4 rows \
         of each partition. Default: 1k.",
    ),
    optional(
        "workload.keys.file",
        Type::Text(|d, text| d.own_table().file = Some(text.into())),
        "CSV file in the study's folder, or below it, with the keys, one per record, and column \
         names in the first line. Without clustering columns, `row` is not available.",
    ),
    optional(
        "workload.keys.columns",
        Type::Map(&Type::Text(|d, text| {
            let column = d.key.clone();
            d.own_table().columns.push((column, text.into()));
        })),
        "Names of the key columns in the CSV: `{id: user_id}`. Default: the same names.",
    ),
    optional(
        "workload.stress",
        Type::List(&Type::Text(|d, text| d.import(Tool::Stress, text))),
        "Command line of cassandra-stress, without its first word: `write n=1M -rate threads=50`. \
         It determines the operations, the load and the duration; `procedure` and `window` do not \
         apply. In a list, each command line is a variant, and they run one after the other. This \
         applies to all imported tools.",
    ),
    optional(
        "workload.nb",
        Type::List(&Type::Text(|d, text| d.import(Tool::Nb, text))),
        "Command line of NoSQLBench: `cql-iot.yaml default rampup-cycles=1M`. Each line of the \
         scenario is a variant.",
    ),
    optional(
        "workload.ycsb",
        Type::List(&Type::Text(|d, text| d.import(Tool::Ycsb, text))),
        "Command line of YCSB: `run -P workloads/workloada -threads 32`, or both of its phases: \
         `[load -P w, run -P w]`.",
    ),
    optional(
        "workload.easy",
        Type::List(&Type::Text(|d, text| d.import(Tool::Easy, text))),
        "Command line of cassandra-easy-stress: `KeyValue -d 5m --rate 10k -r 0.5 -p 1m`. Its \
         population phase, if requested, is a separate variant.",
    ),
    optional(
        "workload.mix",
        Type::Map(&Type::Number(0.0, 1e9, |d, n| {
            d.workload.mix.push((d.key.clone(), n))
        })),
        "Weight of each kind of operation: `{write: 9, read: 1}`. Default: the weights of the \
         workload.",
    ),
    optional(
        "workload.consistency",
        of_kinds!(Type::Level(&LEVELS, |d, level| d.tune(|t| t.consistency = Some(level)))),
        "Consistency level, for all kinds of operations or for each kind. Default: the levels of \
         the workload.",
    ),
    optional(
        "workload.serial_consistency",
        of_kinds!(Type::Level(&SERIAL, |d, level| d
            .tune(|t| t.serial_consistency = Some(level)))),
        "Serial consistency level of conditional statements, for all kinds of operations or for \
         each kind.",
    ),
    optional(
        "workload.timeout",
        of_kinds!(Type::Duration(1_000, DAY, |d, ns| d
            .tune(|t| t.timeout = Some(Duration::from_nanos(ns))))),
        "Timeout of an attempt, measured from the send, for all kinds of operations or for each \
         kind. Default: `client.timeout`.",
    ),
    optional(
        "workload.retries",
        of_kinds!(Type::Count(0, 100, |d, n| d.tune(|t| t.retries = Some(n as u8)))),
        "Number of retries, for all kinds of operations or for each kind. cassay counts retries, \
         and latency includes their time. Default: 0, so that each error counts.",
    ),
    optional(
        "workload.speculate_after",
        of_kinds!(Type::Duration(1_000, DAY, |d, ns| d
            .tune(|t| t.speculate_after = Some(Duration::from_nanos(ns))))),
        "Delay after which cassay also sends an unanswered idempotent operation to another node, \
         or over another connection. For all kinds of operations or for each kind. Default: never.",
    ),
    optional(
        "workload.idempotent",
        of_kinds!(Type::Bool(|d, on| d.tune(|t| t.idempotent = Some(on)))),
        "Declare that operations may run twice, for all kinds of operations or for each kind. Only \
         then does cassay send them speculatively, or retry them after an attempt that may have \
         taken effect. Default: derived from the statements.",
    ),
    optional(
        "workload.page_size",
        of_kinds!(Type::Count(0, 1_000_000, |d, n| d
            .tune(|t| t.page_size = Some(n as u32)))),
        "Rows per page, for all kinds of operations or for each kind; 0 turns paging off. cassay \
         counts pages and rows. Default: the page sizes of the workload.",
    ),
    optional(
        "workload.timestamps",
        of_kinds!(Type::Choice(&[
            ("server", |d| d.tune(|t| t.client_timestamp = Some(false))),
            ("client", |d| d.tune(|t| t.client_timestamp = Some(true))),
        ])),
        "Source of write timestamps, for all kinds of operations or for each kind. Default: \
         `server`.",
    ),
    optional(
        "workload.params",
        Type::Map(&Type::Any(|d, tree| {
            d.workload.params.push((d.key.clone(), tree.clone()))
        })),
        "Parameters of the workload.",
    ),
    // Rows for the data.
    with(
        "data",
        SECTION,
        "{}",
        "State of the data before a trial measures.",
    ),
    optional(
        "data.load",
        Type::Section(|d| d.data.load = Load::Operations(ROWS_UNLOADED)),
        "Write rows before measuring.",
    ),
    optional(
        "data.load.operations",
        Type::Count(1, ROWS_MAX, |d, n| d.data.load = Load::Operations(n)),
        "Number of rows to write. Operations choose among these rows.",
    ),
    optional(
        "data.load.bytes_per_node",
        Type::Bytes(1 << 20, 256 << 40, |d, n| {
            d.data.load = Load::BytesPerNode(n)
        }),
        "Write rows until each node has this much data on disk after a flush, on average. \
         Operations choose among the written rows.",
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
        "Number of rows that the tables already contain, instead of `load`.",
    ),
    with(
        "data.settle",
        choice!(|d| d.data.settle;
            "auto" => Settle::Auto, "compactions" => Settle::Compactions, "none" => Settle::None
        ),
        "auto",
        "Wait after loading. `compactions`: for a flush and all compactions. `none`: no wait. \
         `auto`: `compactions` if the target can report their end.",
    ),
    with(
        "data.settle_limit",
        Type::Duration(S, DAY, |d, ns| d.data.settle_limit_ns = ns),
        "10m",
        "Time limit for the wait after loading.",
    ),
    with(
        "data.reset",
        choice!(|d| d.data.reset;
            "none" => Reset::None, "truncate" => Reset::Truncate, "snapshot" => Reset::Snapshot
        ),
        "none",
        "Reset before each trial. `none`: keep the data. `truncate`: empty the tables and load \
         again. `snapshot`: restore a snapshot that cassay created once, after loading and \
         settling.",
    ),
    with(
        "data.restore",
        choice!(|d| d.data.restore;
            "auto" => RestoreMethod::Online,
            "online" => RestoreMethod::Online,
            "offline" => RestoreMethod::Offline
        ),
        "auto",
        "Method of restoring a snapshot. `online`: empty the tables and import the files. \
         `offline`: stop the nodes, replace the files, start the nodes. `auto` is `online`.",
    ),
    with(
        "data.page_cache",
        choice!(|d| d.data.page_cache; "keep" => PageCache::Keep, "drop" => PageCache::Drop),
        "keep",
        "State of the page cache before the warm-up of a trial. With `drop`, the first reads come \
         from the disk.",
    ),
    // Rows for phases.
    optional(
        "phases",
        SECTION,
        "Settings that apply only in one phase. Between phases, the nodes restart and keep their \
         data. They restart one after the other, or all together if `data.reset: snapshot` \
         restores the data anyway. A phase may set `heap`, `gc`, `jvm`, `yaml` and `host` of \
         `target.local`, and table options of `keyspace`.",
    ),
    optional(
        "phases.load",
        Type::Phase,
        "Settings while the data is loaded and settled: `{target: {local: {yaml: {commitlog_sync: \
         periodic}}}}`.",
    ),
    optional(
        "phases.measure",
        Type::Phase,
        "Settings while a trial warms up, measures and verifies.",
    ),
    // Rows for variants.
    optional(
        "variants",
        Type::Variants,
        "Sides of a comparison, by name, each with the settings that it changes. The first side is \
         the baseline.",
    ),
    optional(
        "matrix",
        Type::Matrix,
        "Axes of a comparison, by name, instead of `variants`. Each axis has values by name, and \
         each value has the settings that it changes. Every combination of values is a variant, \
         named after the values: `{heap: {1g: {…}, 2g: {…}}, sync: {batch: {…}, periodic: {…}}}` \
         creates `1g-batch`, `1g-periodic` and so on.",
    ),
    optional(
        "screen",
        SECTION,
        "Instead of `variants`: find which of 4 to 11 settings have an effect, in 8 to 24 runs. \
         The variants are `default` (the study as written) and the runs of a design in which every \
         setting has one of two values. The answer names the settings to confirm with `cassay \
         confirm`.",
    ),
    required(
        "screen.settings",
        Type::Matrix,
        "Settings by name. Each setting has two values by name, and each value has the keys that \
         it changes: `{heap: {small: {}, large: {target: {local: {heap: 8GiB}}}}}`. The further \
         apart the values, the easier the effect is to detect.",
    ),
    with(
        "screen.fold",
        Type::Bool(|d, on| d.fold = on),
        "false",
        "Run the design again with all values swapped. This doubles the runs, and separates each \
         effect from the interaction of two settings.",
    ),
];

/// Rows for the measured window.
const WINDOW: &[Field] = &[
    // Rows for warm-up and window.
    with("window", SECTION, "{}", "Warm-up and measured window."),
    with(
        "window.warmup",
        Type::WordOr(
            &[("auto", |d| d.warmup_ns = None)],
            &Type::Duration(0, DAY, |d, ns| d.warmup_ns = Some(ns)),
        ),
        "auto",
        "Time before the measured window, in whole seconds. `auto` ends when throughput and \
         latency are steady; on the null target, which needs no warm-up, after 1 s.",
    ),
    with(
        "window.warmup_max",
        Type::Duration(S, DAY, |d, ns| d.warmup_max_ns = ns),
        "60s",
        "Limit of an `auto` warm-up, in whole seconds. Below 11 s, cassay cannot detect a steady \
         state.",
    ),
    with(
        "window.first_warmup",
        Type::WordOr(
            &[("same", |d| d.first_warmup_ns = None)],
            &Type::Duration(0, DAY, |d, ns| d.first_warmup_ns = Some(ns)),
        ),
        "same",
        "Time before the first measured window on freshly started node processes, whose JVMs still \
         compile. Whole seconds. `same`: as long as `warmup`. The null target ignores this key.",
    ),
    with(
        "window.measure",
        Type::Duration(S, 30 * DAY, |d, ns| d.measure_ns = ns),
        "60s",
        "Length of the measured window, in whole seconds.",
    ),
    with(
        "window.until",
        choice!(|d| d.until_faults; "measured" => false, "faults" => true),
        "measured",
        "End of the window. `measured`: after the length of the window. `faults`: `after_faults` \
         after the last fault ended and its target recovered, but at the latest after the length \
         of the window.",
    ),
    with(
        "window.after_faults",
        Type::Duration(0, DAY, |d, ns| d.after_faults_ns = ns),
        "30s",
        "Time that a window with `until: faults` continues after its last fault, in whole seconds. \
         The report considers a recovery complete after 30 s without a difference.",
    ),
    // Rows for the price.
    optional(
        "price_per_hour",
        Type::Either(
            &Type::Number(1e-6, 1e9, |d, n| d.price().per_hour = n),
            &SECTION,
        ),
        "Price of the target per hour, for the study or for each variant: `1.23`, or with a \
         currency `{amount: 1.23, currency: USD}`. The answer then states operations per price.",
    ),
    required(
        "price_per_hour.amount",
        Type::Number(1e-6, 1e9, |d, n| d.price().per_hour = n),
        "Amount.",
    ),
    optional(
        "price_per_hour.currency",
        Type::Name(|d, text| d.price().currency = Some(text.into())),
        "Currency. cassay does not compare prices in different currencies.",
    ),
    optional(
        "capacity",
        Type::Section(|d| d.capacity = Some(Capacity::default())),
        "Number of nodes for a demand, computed from the highest sustained rate. Requires rates as \
         points. The answer states its assumptions.",
    ),
    required(
        "capacity.ops_per_s",
        Type::Count(1, RATE_MAX, |d, n| d.capacity().ops_per_s = n as f64),
        "Demand, op/s.",
    ),
    required(
        "capacity.p99_ms",
        Type::Number(0.001, 3_600_000.0, |d, n| d.capacity().p99_ms = n),
        "Upper limit of p99 latency, ms.",
    ),
    with(
        "capacity.failures",
        Type::Count(0, 1000, |d, n| d.capacity().failures = n),
        "1",
        "Number of nodes that may fail together while the rest still meets the demand. A failed \
         rack counts as all of its nodes.",
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
        "Load of the busiest node ÷ mean load per node, in the planned cluster.",
    ),
];

/// Rows for the load generator, and for probes and actions during the measurement.
const INSTRUMENT: &[Field] = &[
    // Rows for the client.
    with("client", SECTION, "{}", "The load generator."),
    optional(
        "client.machines",
        Type::List(&Type::Either(
            &Type::Choice(&[("here", |d| d.client.machines.push(ClientMachine::default()))]),
            &Type::Section(|d| d.client.machines.push(ClientMachine::default())),
        )),
        "Machines that apply the load together, with one client each: `here`, or `{ssh: HOST}`, \
         which starts this program on HOST over ssh and requires `--trust` in a study. Their \
         workers share one sequence of operations, one schedule and one in-flight limit, as if \
         they belonged to one client. Default: only this process.",
    ),
    optional(
        "client.machines.ssh",
        Type::Text(|d, text| d.machine().ssh = Some(text.into())),
        "HOST, USER@HOST, ssh://USER@HOST:PORT, or a name in your `~/.ssh/config`. Default: this \
         machine.",
    ),
    optional(
        "client.machines.folder",
        Type::Text(|d, text| d.machine().folder = Some(text.into())),
        "With `ssh`: folder on that machine to which cassay copies this program, and from which \
         the program runs. Default: the user's cache on that machine.",
    ),
    optional(
        "client.machines.workers",
        Type::Count(1, 256, |d, n| d.machine().workers = Some(n as usize)),
        "Number of event loops on that machine. Default: `client.workers`. With `auto`: half of \
         the CPUs of the machine.",
    ),
    optional(
        "client.machines.cpus",
        Type::List(&Type::Count(0, 4095, |d, n| {
            d.machine().cpus.push(n as usize)
        })),
        "Numbers of the CPUs of that machine to which cassay pins the workers, one after the \
         other. Default: not pinned.",
    ),
    with(
        "client.split",
        choice!(|d| d.client.split; "stride" => Split::Stride, "range" => Split::Range),
        "stride",
        "Division of imported sequences among `client.machines`: seeds of cassandra-stress's `-pop \
         seq=`, cycles of NoSQLBench, records of a YCSB load. With `stride`, all clients share one \
         sequence. With `range`, each client has its own range, like separate clients of the tool; \
         this requires `workers` for every machine.",
    ),
    with(
        "client.workers",
        Type::WordOr(
            &[("auto", |d| d.client.workers = None)],
            &Type::Count(1, 256, |d, n| d.client.workers = Some(n as usize)),
        ),
        "auto",
        "Number of event loops. `auto`: half of the CPUs, at least one. With `client.machines`, \
         this value is the default for each machine.",
    ),
    optional(
        "client.cpus",
        Type::List(&Type::Count(0, 4095, |d, n| d.client.cpus.push(n as usize))),
        "Numbers of the CPUs to which cassay pins the workers, one after the other. Default: not \
         pinned.",
    ),
    optional(
        "client.priority",
        choice!(|d| d.client.priority; "auto" => Priority::Auto, "normal" => Priority::Normal,
                "realtime" => Priority::Realtime),
        "Priority of the workers over other programs on their CPUs, if the system permits it. With \
         `normal`: no priority. With `realtime`: always. With `auto` (default): only if nodes run \
         on the same machine, because their threads would delay answers by tens of milliseconds.",
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
        "Timeout of an operation, measured from its send.",
    ),
    with(
        "client.in_flight_max",
        Type::Count(1, THREADS_MAX, |d, n| d.client.in_flight_max = n as u32),
        "128",
        "Maximum number of operations in flight at a fixed rate. Further operations wait in the \
         client, and latency includes the wait.",
    ),
    with(
        "client.release_quantum",
        Type::Duration(0, 10_000_000, |d, ns| d.client.release_quantum_ns = ns),
        "50us",
        "Period, at a fixed rate: the client sends all operations that are due in the period \
         together. A longer period reduces the CPU time of the client and adds as much release \
         lag.",
    ),
    with(
        "client.compression",
        choice!(|d| d.client.compression;
            "none" => None, "lz4" => Some(Compression::Lz4),
            "snappy" => Some(Compression::Snappy)
        ),
        "none",
        "Compression of CQL frames.",
    ),
    // Rows for verification.
    with(
        "verify",
        SECTION,
        "{}",
        "Verification of answers. The null target stores no data, so cassay does not verify its \
         answers.",
    ),
    with(
        "verify.reads",
        choice!(|d| d.verify.every_nth;
            "none" => None, "sampled" => Some(SAMPLED_NTH), "all" => Some(1)
        ),
        "sampled",
        "Reads of the measured window whose rows cassay compares with the expected rows. \
         `sampled`: every 16th read.",
    ),
    with(
        "verify.sample",
        Type::WordOr(
            &[("all", |d| d.verify.sample = Sample::All)],
            &Type::Count(0, ROWS_MAX, |d, n| d.verify.sample = Sample::Rows(n)),
        ),
        "1000",
        "Number of rows to read back and compare after each trial. `all`: every written row, so \
         that cassay finds every lost write. `all` takes 8 bytes of memory per write of the main \
         stage, at most 512 MiB.",
    ),
    optional(
        "verify.consistency",
        Type::Level(&READS, |d, level| d.verify.consistency = Some(level)),
        "Consistency level for reading rows back. Default: the level of the workload's reads; for \
         `all`, the weakest level that returns every acknowledged write.",
    ),
    // Rows for probes.
    optional(
        "probes",
        Type::WordOr(
            &[("none", |d| d.probed = Some(false))],
            &Type::Section(|d| d.probed = Some(true)),
        ),
        "Measurements of hosts and nodes during a trial; `none` turns all probes off. Default: \
         all. The null target has no probes. Each probe is `true`, `false` or its period.",
    ),
    with(
        "probes.period",
        Type::Duration(PERIOD_MIN, PERIOD_MAX, |d, ns| d.period_ns = ns),
        "1s",
        "Period of probes without their own period.",
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
        "CPU, threads, context switches, page faults and NUMA placement of the node processes.",
    ),
    with(
        "probes.jvm",
        probe!(jvm_ns),
        "true",
        "Heap and garbage collections of the nodes' JVMs.",
    ),
    with(
        "probes.cassandra",
        probe!(cassandra_ns),
        "true",
        "Cassandra's own metrics: thread pools, compactions, caches, hints, dropped messages, \
         requests, and waits for the commit log.",
    ),
    with(
        "probes.gc_log",
        probe!(gc_log_ns),
        "true",
        "Every pause in the nodes' garbage collection logs.",
    ),
    optional(
        "probes.import",
        Type::List(&Type::Section(|d| d.series.push(Series::default()))),
        "Time series of other tools on the same time axis: a list, each `esxtop` or `prometheus`.",
    ),
    optional(
        "probes.import.esxtop",
        Type::Text(|d, text| d.series().esxtop = Some(text.into())),
        "CSV file of `esxtop -b`, in the study's folder or below it. cassay reads the file when \
         the run ends.",
    ),
    optional(
        "probes.import.columns",
        Type::List(&Type::Text(|d, text| d.series().columns.push(text.into()))),
        "With `esxtop`: columns whose names contain one of these texts. Default: columns about \
         CPU, memory, disk and network.",
    ),
    optional(
        "probes.import.prometheus",
        Type::Text(|d, text| d.series().prometheus = Some(text.into())),
        "File in Prometheus's text format, in the study's folder or below it, which cassay reads \
         when the run ends. Or the `http://…` address of an endpoint, which cassay scrapes during \
         the run.",
    ),
    optional(
        "probes.import.period",
        Type::Duration(PERIOD_MIN, PERIOD_MAX, |d, ns| {
            d.series().period_ns = Some(ns)
        }),
        "Scrape interval of an endpoint. Default: `probes.period`.",
    ),
    // Rows for scales.
    optional(
        "scales",
        Type::Scales,
        "Other sizes of the same question, by name, for `--scale`: dotted keys with values. `none` \
         removes a variant, or an axis or value of a matrix: `matrix.size.large: none`.",
    ),
];
