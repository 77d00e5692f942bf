//! The rows of the table. They contain every key that a study may have.
//!
//! Long because it is one table.

pub use row::LOCAL_NODES_MAX;

use crate::format::field::{Field, Type};
use crate::settings::draft::Series;
use crate::settings::{
    Capacity, ClientMachine, KEYS_MAX, Load, PageCache, Priority, Profile, ProfileEvent,
    ProfileEvery, ProfiledTrials, ROWS_UNLOADED, Reset, RestoreMethod, SAMPLED_NTH, Sample, Settle,
    Split, Tune, Why,
};
use cql::Compression;
use imports::Tool;
use row::{
    DAY, LEVELS, PERIOD_MAX, PERIOD_MIN, RATE_MAX, READS, ROWS_MAX, S, SECTION, SERIAL,
    THREADS_MAX, optional, required, with,
};
use std::time::Duration;

/// Makes the type of a choice between words. Each word sets a value.
macro_rules! choice {
    (|$d:ident| $key:expr; $($word:literal => $value:expr),+) => {
        Type::Choice(&[$(($word, |$d| $key = $value)),+])
    };
}

/// Makes the type of a key that has either one value for all kinds of operations, or one value for
/// each kind.
macro_rules! of_kinds {
    ($one:expr) => {
        Type::Either(&$one, &Type::Map(&$one))
    };
}

/// Makes the type of a probe. The value is the period of the probe, or a boolean that states
/// whether the probe runs. `true` means the period in `probes.period`.
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

const STUDY: &[Field] = &[
    required(
        "study",
        Type::Name(|d, text| d.name = text.into()),
        "Name of the study. The folder of the study's runs has the same name.",
    ),
    required(
        "question",
        Type::Text(|d, text| d.question = text.into()),
        "Question that the report answers first, in words.",
    ),
    optional(
        "published",
        Type::Text(|d, text| d.published = Some(text.into())),
        "File with published figures, in the study's folder or a subfolder. The report shows the \
         published figures next to the measured figures. studies/README.md describes the format of \
         the file.",
    ),
    with(
        "seed",
        Type::Count(0, u64::MAX, |d, n| d.seed = n),
        "1",
        "Seed of all random values: keys, values, arrivals, and the order of trials.",
    ),
    optional(
        "why",
        Type::WordOr(&[("confirm", |d| d.why = Some(Why::default()))], &SECTION),
        "`confirm`: after the trials, cassay tests by an experiment which resource limited the \
         load, beginning with a resource that was full. It changes one setting of that resource \
         and compares both values in blocks. If this resource was not the limit, cassay tests the \
         next resource.",
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
        "Maximum expected duration of all experiments together, in minutes. Default: 10 minutes.",
    ),
];

/// Rows for the keyspace, the workload, the data, the phases and the variants.
const SECTIONS: &[Field] = &[
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
        "Number of replicas, or a mapping with a number of replicas for each datacenter.",
    ),
    optional(
        "keyspace.durable_writes",
        Type::Bool(|d, on| d.keyspace.durable_writes = Some(on)),
        "Append writes to the commit log, as Cassandra's `durable_writes` does. Default: the \
         workload's setting, otherwise `true`.",
    ),
    optional(
        "keyspace.compaction",
        Type::Map(&Type::Any(|d, tree| {
            d.keyspace.compaction.push((d.key.clone(), tree.to_word()))
        })),
        "Compaction of the workload's tables, such as `{class: LeveledCompactionStrategy}`. \
         Default: the workload's setting.",
    ),
    optional(
        "keyspace.compression",
        Type::Map(&Type::Any(|d, tree| {
            d.keyspace.compression.push((d.key.clone(), tree.to_word()))
        })),
        "Compression of the workload's SSTables, such as `{class: LZ4Compressor, \
         chunk_length_in_kb: 4}` or `{enabled: false}`. Default: the workload's setting.",
    ),
    optional(
        "keyspace.options",
        Type::Map(&Type::Any(|d, tree| {
            d.keyspace.options.push((d.key.clone(), tree.to_json()))
        })),
        "Other options of the workload's tables, as in `ALTER TABLE … WITH`. For example, \
         `{gc_grace_seconds: 60}`.",
    ),
    required("workload", SECTION, "Operations to run against the target."),
    optional(
        "workload.use",
        Type::Name(|d, text| d.workload.name = text.into()),
        "Name of a built-in workload. `cassay workload list` lists the built-in workloads.",
    ),
    optional(
        "workload.file",
        Type::Text(|d, text| {
            d.workload.name = text.into();
            d.workload.file = Some(text.into());
        }),
        "Workload file in the study's folder or a subfolder. docs/workload-file.md describes the \
         format of the file.",
    ),
    optional(
        "workload.table",
        Type::Text(|d, text| {
            d.workload.name = text.into();
            d.own_table().name = text.into();
        }),
        "Existing table of the attached cluster, as `keyspace.table`. cassay only reads it. The \
         columns come from the schema of the table, and the keys from the table itself \
         (`workload.keys`). Kinds of operations: `row` (by the whole primary key), `partition`, \
         and `page` (the first 100 rows of a partition). `workload.mix` sets the weights of the \
         kinds. Default: `{row: 1}`.",
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
        "Number of partitions to sample from the ring. A small table may yield fewer partitions. \
         The run stores the sampled keys. Default: 10k.",
    ),
    optional(
        "workload.keys.rate",
        Type::Count(1, 1_000_000, |d, n| d.own_table().keys_per_s = n),
        "Maximum number of partitions to sample per second. The sample reads at most the first 4 \
         rows of each partition. Default: 1k.",
    ),
    optional(
        "workload.keys.file",
        Type::Text(|d, text| d.own_table().file = Some(text.into())),
        "CSV file with the keys, in the study's folder or a subfolder. The first line contains the \
         column names, and each further record contains one key. If the file has no clustering \
         columns, operations of the kind `row` are not available.",
    ),
    optional(
        "workload.keys.columns",
        Type::Map(&Type::Text(|d, text| {
            let column = d.key.clone();
            d.own_table().columns.push((column, text.into()));
        })),
        "Names of the key columns in the CSV file, such as `{id: user_id}`. Default: the names of \
         the table's columns.",
    ),
    optional(
        "workload.stress",
        Type::List(&Type::Text(|d, text| d.import(Tool::Stress, text))),
        "Command line of cassandra-stress, without the name of the program: `write n=1M -rate \
         threads=50`. The command line determines the operations, the load and the duration, so \
         `procedure` and `window` do not apply. In a list, each command line is a variant, and the \
         variants run one after the other. The same rules apply to all imported tools.",
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
        "Command line of YCSB: `run -P workloads/workloada -threads 32`, or the command lines of \
         both phases: `[load -P w, run -P w]`.",
    ),
    optional(
        "workload.easy",
        Type::List(&Type::Text(|d, text| d.import(Tool::Easy, text))),
        "Command line of cassandra-easy-stress: `KeyValue -d 5m --rate 10k -r 0.5 -p 1m`. If the \
         command line requests a population phase, this phase is a separate variant.",
    ),
    optional(
        "workload.mix",
        Type::Map(&Type::Number(0.0, 1e9, |d, n| {
            d.workload.mix.push((d.key.clone(), n))
        })),
        "Weight of each kind of operation, such as `{write: 9, read: 1}`. Default: the weights of \
         the workload.",
    ),
    optional(
        "workload.consistency",
        of_kinds!(Type::Level(&LEVELS, |d, level| d.tune(|t| t.consistency = Some(level)))),
        "Consistency level, for all kinds of operations or for each kind. Default: the consistency \
         levels of the workload.",
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
        "Number of retries, for all kinds of operations or for each kind. cassay counts the \
         retries, and latency includes the time of retries. Default: 0, so that each error counts.",
    ),
    optional(
        "workload.speculate_after",
        of_kinds!(Type::Duration(1_000, DAY, |d, ns| d
            .tune(|t| t.speculate_after = Some(Duration::from_nanos(ns))))),
        "Delay before a speculative attempt, for all kinds of operations or for each kind. After \
         this delay, cassay sends an unanswered idempotent operation a second time, to another \
         node or over another connection. Default: no speculative attempts.",
    ),
    optional(
        "workload.idempotent",
        of_kinds!(Type::Bool(|d, on| d.tune(|t| t.idempotent = Some(on)))),
        "Declare that operations may run twice, for all kinds of operations or for each kind. Only \
         then does cassay send operations speculatively, or retry operations after an attempt that \
         may have taken effect. Default: derived from the statements.",
    ),
    optional(
        "workload.page_size",
        of_kinds!(Type::Count(0, 1_000_000, |d, n| d
            .tune(|t| t.page_size = Some(n as u32)))),
        "Number of rows per page, for all kinds of operations or for each kind. 0 turns paging \
         off. cassay counts pages and rows. Default: the page sizes of the workload.",
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
    with(
        "data",
        SECTION,
        "{}",
        "State of the data before the measurement of a trial.",
    ),
    optional(
        "data.load",
        Type::Section(|d| d.data.load = Load::Operations(ROWS_UNLOADED)),
        "Write rows before the measurement.",
    ),
    optional(
        "data.load.operations",
        Type::Count(1, ROWS_MAX, |d, n| d.data.load = Load::Operations(n)),
        "Number of rows to write. The measured operations use these rows.",
    ),
    optional(
        "data.load.bytes_per_node",
        Type::Bytes(1 << 20, 256 << 40, |d, n| {
            d.data.load = Load::BytesPerNode(n)
        }),
        "Write rows until each node has this much data on disk after a flush, on average. The \
         measured operations use the written rows.",
    ),
    optional(
        "data.load.fraction",
        Type::Number(0.01, 0.95, |d, n| d.data.load = Load::Fraction(n)),
        "Write rows until the data volumes are filled to this share, on average. For example, 0.3 \
         means 30 % full. Requires `target.local.host.volume`.",
    ),
    optional(
        "data.present",
        Type::Count(1, ROWS_MAX, |d, n| d.present = n),
        "Number of rows that the tables already contain. Use this key instead of `load`.",
    ),
    with(
        "data.settle",
        choice!(|d| d.data.settle;
            "auto" => Settle::Auto, "compactions" => Settle::Compactions, "none" => Settle::None
        ),
        "auto",
        "Wait after loading. With `compactions`, cassay waits for a flush and all compactions. \
         With `none`, cassay does not wait. `auto` means `compactions` if the target can report \
         the end of compactions, and otherwise `none`.",
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
         `offline`: stop the nodes, replace the files, and start the nodes. `auto` means `online`.",
    ),
    with(
        "data.page_cache",
        choice!(|d| d.data.page_cache; "keep" => PageCache::Keep, "drop" => PageCache::Drop),
        "keep",
        "State of the page cache before the warm-up of a trial. With `drop`, the first reads come \
         from the disk.",
    ),
    optional(
        "phases",
        SECTION,
        "Settings that apply only in one phase. Between phases, the nodes restart and keep their \
         data. The nodes restart one after the other, or all together if `data.reset: snapshot` \
         restores the data anyway. A phase may set `heap`, `gc`, `jvm`, `yaml` and `host` of \
         `target.local`, and table options of `keyspace`.",
    ),
    optional(
        "phases.load",
        Type::Phase,
        "Settings while cassay loads the data and waits for it to settle, such as `{target: \
         {local: {yaml: {commitlog_sync: periodic}}}}`.",
    ),
    optional(
        "phases.measure",
        Type::Phase,
        "Settings while a trial warms up, measures and verifies.",
    ),
    optional(
        "variants",
        Type::Variants,
        "Variants to compare, by name. Each variant consists of the settings that it changes. The \
         first variant is the baseline.",
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
         it changes: `{heap: {small: {}, large: {target: {local: {heap: 8GiB}}}}}`. Effects are \
         easier to detect if the two values are far apart.",
    ),
    with(
        "screen.fold",
        Type::Bool(|d, on| d.fold = on),
        "false",
        "Run the design again with all values swapped. This doubles the number of runs, and \
         separates the effect of each setting from interactions of two settings.",
    ),
    optional(
        "tune",
        Type::Section(|d| d.tune = Some(Tune::default())),
        "Tuning after a `screen`. cassay tests the better value of each setting against the best \
         settings so far, most promising setting first, and then a pair of settings. It keeps the \
         values that are better. At the end, it compares the kept settings with the study as \
         written, and with `cassandra_latest.yaml`.",
    ),
    with(
        "tune.minutes",
        Type::Count(1, 10_080, |d, n| d.tune.get_or_insert_default().minutes = n),
        "60",
        "Maximum expected duration of all tests together, in minutes.",
    ),
    optional(
        "tune.p99_ms",
        Type::Number(0.001, 3_600_000.0, |d, n| {
            d.tune.get_or_insert_default().p99_ms = Some(n);
        }),
        "Upper limit of p99, in ms. cassay does not keep a setting whose p99 exceeds it.",
    ),
];

/// Rows for the warm-up, the measured window, the price and the capacity.
const WINDOW: &[Field] = &[
    with("window", SECTION, "{}", "Warm-up and measured window."),
    with(
        "window.warmup",
        Type::WordOr(
            &[("auto", |d| d.warmup_ns = None)],
            &Type::Duration(0, DAY, |d, ns| d.warmup_ns = Some(ns)),
        ),
        "auto",
        "Time before the measured window, in whole seconds. With `auto`, the warm-up ends when \
         throughput and latency are steady. On the null target, which needs no warm-up, the \
         warm-up ends after 1 s.",
    ),
    with(
        "window.warmup_max",
        Type::Duration(S, DAY, |d, ns| d.warmup_max_ns = ns),
        "60s",
        "Maximum length of an `auto` warm-up, in whole seconds. With less than 11 s, cassay cannot \
         detect a steady state.",
    ),
    with(
        "window.first_warmup",
        Type::WordOr(
            &[("same", |d| d.first_warmup_ns = None)],
            &Type::Duration(0, DAY, |d, ns| d.first_warmup_ns = Some(ns)),
        ),
        "same",
        "Time before the first measured window on freshly started node processes, in whole \
         seconds. The JVMs of these processes still compile code. `same` means the time in \
         `warmup`. The null target ignores this key.",
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
        "End of the window. With `measured`, the window ends after the time in `measure`. With \
         `faults`, the window ends earlier if the last fault has ended, its target has recovered, \
         and the time in `after_faults` has passed since then.",
    ),
    with(
        "window.after_faults",
        Type::Duration(0, DAY, |d, ns| d.after_faults_ns = ns),
        "30s",
        "Time that a window with `until: faults` continues after the last fault, in whole seconds. \
         The report considers a recovery complete after 30 s of normal load.",
    ),
    optional(
        "price_per_hour",
        Type::Either(
            &Type::Number(1e-6, 1e9, |d, n| d.price().per_hour = n),
            &SECTION,
        ),
        "Price of the target per hour, for the study or for each variant. Write a number such as \
         `1.23`, or a number with a currency such as `{amount: 1.23, currency: USD}`. The answer \
         then also states the number of operations per unit of currency.",
    ),
    required(
        "price_per_hour.amount",
        Type::Number(1e-6, 1e9, |d, n| d.price().per_hour = n),
        "Price of the target per hour, as a number.",
    ),
    optional(
        "price_per_hour.currency",
        Type::Name(|d, text| d.price().currency = Some(text.into())),
        "Currency of the price. cassay does not compare prices in different currencies.",
    ),
    optional(
        "capacity",
        Type::Section(|d| d.capacity = Some(Capacity::default())),
        "Compute the number of nodes for a demand, from the highest sustained rate. Requires rates \
         as points. The answer states the assumptions of the computation.",
    ),
    required(
        "capacity.ops_per_s",
        Type::Count(1, RATE_MAX, |d, n| d.capacity().ops_per_s = n as f64),
        "Throughput that the cluster must handle, in op/s.",
    ),
    required(
        "capacity.p99_ms",
        Type::Number(0.001, 3_600_000.0, |d, n| d.capacity().p99_ms = n),
        "Upper limit of p99 latency, in ms.",
    ),
    with(
        "capacity.failures",
        Type::Count(0, 1000, |d, n| d.capacity().failures = n),
        "1",
        "Number of nodes that may fail together while the remaining nodes still meet the demand. A \
         failed rack counts as all nodes of the rack.",
    ),
    with(
        "capacity.growth",
        Type::Number(0.0, 100.0, |d, n| d.capacity().growth = n),
        "0",
        "Additional throughput for growth, as a share of the demand: 0.2 is 20 %.",
    ),
    with(
        "capacity.skew",
        Type::Number(1.0, 100.0, |d, n| d.capacity().skew = n),
        "1",
        "Load of the busiest node in the planned cluster, divided by the mean load per node.",
    ),
];

/// Rows for the client, the verification, the probes and the scales.
const INSTRUMENT: &[Field] = &[
    with("client", SECTION, "{}", "The load generator."),
    optional(
        "client.machines",
        Type::List(&Type::Either(
            &Type::Choice(&[("here", |d| d.client.machines.push(ClientMachine::default()))]),
            &Type::Section(|d| d.client.machines.push(ClientMachine::default())),
        )),
        "Machines that apply the load together, with one client each. `here` is this machine. \
         `{ssh: HOST}` starts this program on HOST over ssh, which requires `--trust` in a study. \
         The workers of all clients share one sequence of operations, one schedule and one \
         in-flight limit, as if they belonged to one client. Default: only this process.",
    ),
    optional(
        "client.machines.ssh",
        Type::Text(|d, text| d.machine().ssh = Some(text.into())),
        "Destination for ssh: HOST, USER@HOST, ssh://USER@HOST:PORT, or a name in your \
         `~/.ssh/config`. Default: this machine.",
    ),
    optional(
        "client.machines.folder",
        Type::Text(|d, text| d.machine().folder = Some(text.into())),
        "With `ssh`: folder on the machine to which cassay copies this program, and from which the \
         program runs. Default: the user's cache on the machine.",
    ),
    optional(
        "client.machines.workers",
        Type::Count(1, 256, |d, n| d.machine().workers = Some(n as usize)),
        "Number of event loops on the machine. Default: `client.workers`. If `client.workers` is \
         `auto`: half of the CPUs of the machine.",
    ),
    optional(
        "client.machines.cpus",
        Type::List(&Type::Count(0, 4095, |d, n| {
            d.machine().cpus.push(n as usize)
        })),
        "Numbers of the CPUs of the machine to which cassay pins the workers, one after the other. \
         Default: cassay does not pin the workers.",
    ),
    with(
        "client.split",
        choice!(|d| d.client.split; "stride" => Split::Stride, "range" => Split::Range),
        "stride",
        "Division of imported sequences among `client.machines`. Such sequences are the seeds of \
         cassandra-stress's `-pop seq=`, the cycles of NoSQLBench, and the records of a YCSB load. \
         With `stride`, all clients share one sequence. With `range`, each client processes a \
         separate range, like separate clients of the tool. `range` requires `workers` for every \
         machine.",
    ),
    with(
        "client.workers",
        Type::WordOr(
            &[("auto", |d| d.client.workers = None)],
            &Type::Count(1, 256, |d, n| d.client.workers = Some(n as usize)),
        ),
        "auto",
        "Number of event loops. `auto`: half of the CPUs of the machine, but at least one event \
         loop. With `client.machines`, this value is the default for each machine.",
    ),
    optional(
        "client.cpus",
        Type::List(&Type::Count(0, 4095, |d, n| d.client.cpus.push(n as usize))),
        "Numbers of the CPUs to which cassay pins the workers, one after the other. Default: \
         cassay does not pin the workers.",
    ),
    optional(
        "client.priority",
        choice!(|d| d.client.priority; "auto" => Priority::Auto, "normal" => Priority::Normal,
                "realtime" => Priority::Realtime),
        "Priority of the workers over other programs on their CPUs, if the system permits it. With \
         `normal`, the workers have no priority. With `realtime`, they always have priority. With \
         `auto` (default), they have priority only if nodes run on the same machine. Without \
         priority, the threads of these nodes would delay answers by tens of milliseconds.",
    ),
    with(
        "client.connections_per_node",
        Type::Count(1, 1024, |d, n| d.client.connections_per_node = n as usize),
        "2",
        "Number of connections from each worker to each node.",
    ),
    with(
        "client.timeout",
        Type::Duration(1_000_000, 3_600 * S, |d, ns| d.client.timeout_ns = ns),
        "10s",
        "Timeout of an attempt, measured from the send, for kinds of operations without \
         `workload.timeout`.",
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
        "Length of the periods into which the client divides its schedule at a fixed rate. The \
         client sends all operations that are due in one period together. A longer period reduces \
         the CPU time of the client, but increases the release lag by up to the same time.",
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
    with(
        "verify",
        SECTION,
        "{}",
        "Verification of answers. The null target stores no data, so cassay does not verify \
         answers of the null target.",
    ),
    with(
        "verify.reads",
        choice!(|d| d.verify.every_nth;
            "none" => None, "sampled" => Some(SAMPLED_NTH), "all" => Some(1)
        ),
        "sampled",
        "Reads of the measured window to verify. cassay compares the rows of these reads with the \
         expected rows. `sampled`: every 16th read.",
    ),
    with(
        "verify.sample",
        Type::WordOr(
            &[("all", |d| d.verify.sample = Sample::All)],
            &Type::Count(0, ROWS_MAX, |d, n| d.verify.sample = Sample::Rows(n)),
        ),
        "1000",
        "Number of rows to read back and compare after each trial. `all`: every written row, so \
         that cassay finds every lost write. With `all`, the client needs 8 bytes of memory per \
         write of the main stage, at most 512 MiB.",
    ),
    optional(
        "verify.consistency",
        Type::Level(&READS, |d, level| d.verify.consistency = Some(level)),
        "Consistency level for reading rows back. Default: the level of the workload's reads. With \
         `verify.sample: all`, the weakest level that returns every acknowledged write.",
    ),
    optional(
        "probes",
        Type::WordOr(
            &[("none", |d| d.probed = Some(false))],
            &Type::Section(|d| d.probed = Some(true)),
        ),
        "Measurements of hosts and nodes during a trial. `none` turns all probes off. Default: all \
         probes. The null target has no probes. The value of each probe is `true`, `false`, or the \
         period of the probe.",
    ),
    with(
        "probes.period",
        Type::Duration(PERIOD_MIN, PERIOD_MAX, |d, ns| d.period_ns = ns),
        "1s",
        "Period of each probe whose value is `true`.",
    ),
    with(
        "probes.hosts",
        probe!(hosts_ns),
        "true",
        "CPU, memory, disks, network and hardware counters of the hosts.",
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
        "Heap use and garbage collections of the nodes' JVMs.",
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
        "probes.profile",
        Type::Section(|d| d.probes.profile = Some(Profile::default())),
        "Flame graphs of the nodes, by async-profiler. After the trials, cassay repeats each \
         variant with and without the profiler, in blocks. The report shows the CPU time per \
         operation of each method, the difference of this time between two variants, and the \
         profiler's cost.",
    ),
    with(
        "probes.profile.event",
        choice!(|d| d.profile().event;
            "ctimer" => ProfileEvent::Ctimer, "cpu" => ProfileEvent::Cpu,
            "alloc" => ProfileEvent::Alloc, "lock" => ProfileEvent::Lock,
            "wall" => ProfileEvent::Wall
        ),
        "ctimer",
        "Event that the profiler samples. `ctimer`: CPU time. `cpu`: CPU time with the kernel's \
         stacks, if the kernel permits it. `alloc`: allocated bytes. `lock`: waits for locks. \
         `wall`: elapsed time.",
    ),
    with(
        "probes.profile.every",
        choice!(|d| d.profile().every;
            "variant" => ProfileEvery::Variant, "trial" => ProfileEvery::Trial
        ),
        "variant",
        "Number of profiles of a variant. `variant` means one profile for each of six blocks. \
         `trial` means one profile for each block of the study.",
    ),
    with(
        "probes.profile.trials",
        choice!(|d| d.profile().trials;
            "extra" => ProfiledTrials::Extra, "measured" => ProfiledTrials::Measured,
            "none" => ProfiledTrials::None
        ),
        "extra",
        "Trials to profile: `extra` trials after the trials of the study, or the `measured` trials \
         themselves. `none`: the nodes load the profiler, but it does not sample.",
    ),
    optional(
        "probes.import",
        Type::List(&Type::Section(|d| d.series.push(Series::default()))),
        "List of time series of other tools, to add to the time axis of the run. Each entry has \
         the key `esxtop` or `prometheus`.",
    ),
    optional(
        "probes.import.esxtop",
        Type::Text(|d, text| d.series().esxtop = Some(text.into())),
        "CSV file of `esxtop -b`, in the study's folder or a subfolder. cassay reads the file when \
         the run ends.",
    ),
    optional(
        "probes.import.columns",
        Type::List(&Type::Text(|d, text| d.series().columns.push(text.into()))),
        "With `esxtop`: import only columns whose names contain one of these texts. Default: \
         columns about CPU, memory, disk and network.",
    ),
    optional(
        "probes.import.prometheus",
        Type::Text(|d, text| d.series().prometheus = Some(text.into())),
        "File in Prometheus's text format, in the study's folder or a subfolder. cassay reads the \
         file when the run ends. Or the `http://…` address of an endpoint, which cassay scrapes \
         during the run.",
    ),
    optional(
        "probes.import.period",
        Type::Duration(PERIOD_MIN, PERIOD_MAX, |d, ns| {
            d.series().period_ns = Some(ns)
        }),
        "Scrape interval of an endpoint. Default: `probes.period`.",
    ),
    optional(
        "scales",
        Type::Scales,
        "Other sizes of the study, by name, for `--scale`. Each scale consists of dotted keys with \
         values. The value `none` removes a variant, or an axis or value of a matrix: \
         `matrix.size.large: none`.",
    ),
];
