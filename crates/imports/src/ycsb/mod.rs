//! Imports YCSB's core workload with its Cassandra binding. This module converts a command line and
//! property files to a step.
//!
//! Keys, request distributions and the mix are those of YCSB. YCSB makes some random choices per
//! thread. In cassay, these choices are a function of the seed and the operation's number. So every
//! read can be verified, and every run can be repeated.

mod command;
mod histogram;
mod key_distribution;
mod operations;
mod properties;
mod statements;
mod table;
mod timeseries;

use std::sync::Arc;

use command::{Command, Phase};
use operations::{INSERT, KINDS, SCAN, Table};
use properties::Properties;
use statements::Shape;

use crate::import_result::{Connection, Import, ImportStep, Offer, ReadFile, Secret, StepLimit};
use core::time::Duration;
use cql::Consistency;
use workload::{Kind, Program, Schema, Stage, Statement};
use yaml::Diagnostics;

/// Maximum number of records. A key with 19 digits can number these records and all later inserts.
const RECORDS_MAX: u64 = 1 << 62;
const FIELDS_MAX: u64 = 1000;

const RETRIES: &str = "core_workload_insertion_retry_limit";
/// Maximum number of retries, which is the maximum that the engine can count. After such a number
/// of failures, further retries would not help.
const RETRIES_MAX: u64 = u8::MAX as u64;

/// Names of the properties that have an effect in cassay.
const KNOWN: &[&str] = &[
    "cassandra.coreconnections",
    "cassandra.keyspace",
    "cassandra.maxconnections",
    "cassandra.password",
    "cassandra.readconsistencylevel",
    "cassandra.readtimeoutmillis",
    "cassandra.username",
    "cassandra.useSSL",
    "cassandra.writeconsistencylevel",
    RETRIES,
    "dataintegrity",
    "exponential.frac",
    "exponential.percentile",
    "fieldcount",
    "fieldlength",
    "fieldlengthdistribution",
    "fieldlengthhistogram",
    "fieldnameprefix",
    "hosts",
    "hotspotdatafraction",
    "hotspotopnfraction",
    "insertcount",
    "insertorder",
    "insertproportion",
    "insertstart",
    "maxexecutiontime",
    "maxscanlength",
    "minfieldlength",
    "minscanlength",
    "operationcount",
    "port",
    "readallfields",
    "readallfieldsbyname",
    "readmodifywriteproportion",
    "readproportion",
    "recordcount",
    "requestdistribution",
    "scanlengthdistribution",
    "scanproportion",
    "table",
    "target",
    "threadcount",
    "updateproportion",
    "workload",
    "writeallfields",
    "zeropadding",
];
/// Names of the properties of YCSB's own output. This module only checks some of them. The code
/// that writes this output uses them.
const OUTPUT: &[&str] = &[
    "exporter",
    "exportfile",
    "hdrhistogram.fileoutput",
    "hdrhistogram.output.path",
    "hdrhistogram.percentiles",
    "histogram.buckets",
    "measurement.histogram.verbose",
    "measurement.interval",
    "measurement.raw.no_summary",
    "measurement.raw.output_file",
    "measurementtype",
    "timeseries.granularity",
    "timeseries.percentiles",
];
/// Properties without effect in cassay. An entry may also be a prefix that ends with a dot. A note
/// names each of these properties.
const WITHOUT_EFFECT: &[&str] = &[
    "basicdb.",
    "cassandra.connecttimeoutmillis",
    "cassandra.tracing",
    "columnfamily",
    "core_workload_insertion_retry_interval",
    "db",
    "debug",
    "discardscannedrecord",
    "dotransactions",
    "htrace.",
    "insertion_keep_going_on_error",
    "label",
    "latencytrackederrors",
    "maxscanrate",
    "measurement.trackjvm",
    "reportlatencyforeacherror",
    "scanoptimelimit",
    "status",
    "status.interval",
];

/// Imports a command line of YCSB. Every random choice is a function of `seed`.
///
/// # Errors
/// Every mistake in the words and files, with its position.
pub(crate) fn import(words: &[String], seed: u64, read: ReadFile) -> Result<Import, Diagnostics> {
    let (command, mut properties) = command::parse(words, read)?;
    if !is_core_workload(&mut properties) {
        return Err(properties.out);
    }
    let mut notes = unknown(&mut properties);
    let settings = Settings::read(&command, &mut properties, (seed, read));
    let connection = connection(&mut properties);
    let step = step(&command, &settings, &mut properties);
    properties.out.into_result()?;
    notes.extend(settings.notes());
    notes.extend(command.notes);
    Ok(Import {
        steps: vec![step],
        notes,
        connection,
    })
}

/// Returns a property of a command line and its files, for code that prints YCSB's output. Returns
/// `None` if the import finds a mistake.
pub fn property(words: &[String], name: &str, read: ReadFile) -> Option<String> {
    let (_, properties) = command::parse(words, read).ok()?;
    properties.text(name).map(str::to_owned)
}

/// Returns true if the workload is CoreWorkload. In any other workload, properties may have another
/// meaning.
fn is_core_workload(properties: &mut Properties) -> bool {
    let Some(workload) = properties.text("workload").map(str::to_owned) else {
        return true;
    };
    let class = workload.rsplit('.').next().unwrap_or_default();
    if class == "TimeSeriesWorkload" {
        timeseries::refuse(properties);
        return false;
    }
    let is_core = class == "CoreWorkload";
    if !is_core {
        let message = format!(
            "workload {workload} is unknown: cassay supports only YCSB's CoreWorkload, which is \
             also the only workload that its Cassandra binding can run"
        );
        let hint = "site.ycsb.workloads.CoreWorkload, or your own workload file";
        properties.wrong("workload", message, Some(hint.to_owned()));
    }
    is_core
}

fn unknown(properties: &mut Properties) -> Vec<String> {
    properties.word("measurement.interval", &["op", "intended", "both"]);
    let types = [
        "hdrhistogram",
        "histogram",
        "hdrhistogram+histogram",
        "hdrhistogram+raw",
        "timeseries",
        "raw",
    ];
    let kind = properties.word("measurementtype", &types);
    properties.count("histogram.buckets", 1000, 1..=10_000_000);
    properties.count("timeseries.granularity", 1000, 1..=86_400_000);
    let mut notes = Vec::new();
    if kind.ends_with("raw") {
        notes.push(
            "measurementtype raw: cassay does not record the millisecond of an operation, only its \
             one-second interval and its latency to three digits. --compat writes these values"
                .to_owned(),
        );
    }
    if let Some(order) = properties.text("insertorder")
        && !matches!(order, "hashed" | "ordered")
    {
        notes.push(format!(
            "insertorder is `{order}`: as in YCSB, every order except hashed is ordered"
        ));
    }
    if properties.text("hosts").is_none() {
        notes.push(
            "`hosts` is missing: cassay uses localhost, unless --target sets another host"
                .to_owned(),
        );
    }
    let retries = properties.count(RETRIES, 0, 0..=i32::MAX as u64);
    if retries > RETRIES_MAX {
        notes.push(format!(
            "{RETRIES} is {retries}, but cassay retries an insert at most {RETRIES_MAX} times"
        ));
    }
    let known = [KNOWN, OUTPUT].concat();
    let others = properties.unknown(&known, WITHOUT_EFFECT);
    if !others.is_empty() {
        let names = others.join(", ");
        notes.push(format!(
            "these properties have no effect in cassay: {names}"
        ));
    }
    let said = |name: &&&str| properties.text(name).is_some();
    let output: Vec<&str> = OUTPUT.iter().filter(said).copied().collect();
    if !output.is_empty() {
        let names = output.join(", ");
        notes.push(format!(
            "these properties have an effect only with --compat: {names}"
        ));
    }
    notes
}

struct Settings {
    keyspace: String,
    table: String,
    fields: Vec<String>,
    source: Table,
    statements: Vec<Statement>,
    scans: bool,
}

impl Settings {
    fn read(
        command: &Command,
        properties: &mut Properties,
        (seed, read): (u64, ReadFile),
    ) -> Settings {
        let count = properties.count("fieldcount", 10, 1..=FIELDS_MAX) as usize;
        let prefix = name(properties, "fieldnameprefix", "field");
        // YCSB's statements do not quote names, so Cassandra converts them to lower case.
        let keyspace = name(properties, "cassandra.keyspace", "ycsb").to_lowercase();
        let table = name(properties, "table", "usertable").to_lowercase();
        let mut source = table::table(command, properties, count, &prefix, (seed, read));
        let fields: Vec<String> = (0..count).map(|field| format!("{prefix}{field}")).collect();
        let shape = Shape {
            table: format!("\"{keyspace}\".\"{table}\""),
            fields: fields.clone(),
            read_level: level(properties, "cassandra.readconsistencylevel"),
            write_level: level(properties, "cassandra.writeconsistencylevel"),
            read_all: properties.flag("readallfields", true),
            write_all: properties.flag("writeallfields", false),
            by_name: source.integrity.is_some() || properties.flag("readallfieldsbyname", false),
            verifies: source.verifies(),
        };
        let made = shape.make();
        (source.statements, source.binds) = (made.by_kind, made.binds);
        Settings {
            scans: command.phase == Phase::Run && source.mix.per_window(SCAN) > 0,
            keyspace,
            table,
            fields,
            source,
            statements: made.statements,
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!(
            "cassay creates keyspace {} (one replica) and table {} if they do not exist; in YCSB, \
             you create them yourself",
            self.keyspace, self.table
        )];
        if self.source.integrity.is_none() {
            notes.push(
                "values are functions of the seed, record, field and writing operation, so that \
                 cassay can verify reads; YCSB's values are random"
                    .to_owned(),
            );
        }
        if let Some(draws) = self.source.draws_per_key().filter(|draws| *draws > 100) {
            notes.push(format!(
                "zipfian draws about {draws} times for each operation until it finds an existing \
                 record, like YCSB: operationcount and insertproportion imply far more records \
                 than exist"
            ));
        }
        if self.scans {
            notes.push(
                "scans read rows in token order, from the token of the drawn key, like YCSB's \
                 Cassandra binding. Cassandra orders rows by token and not by key, so this is not \
                 the range of neighbouring records that the workload expects"
                    .to_owned(),
            );
        }
        notes
    }

    fn schema(&self) -> Schema {
        let table = format!("\"{}\".\"{}\"", self.keyspace, self.table);
        let fields: Vec<String> = self.fields.iter().map(|f| format!("{f} varchar")).collect();
        Schema {
            create_keyspace: format!(
                "CREATE KEYSPACE IF NOT EXISTS \"{}\" WITH replication = {{'class': \
                 'SimpleStrategy', 'replication_factor': '1'}}",
                self.keyspace
            ),
            is_replication_stated: false,
            create_tables: vec![format!(
                "CREATE TABLE IF NOT EXISTS {table} (y_id varchar PRIMARY KEY, {})",
                fields.join(", ")
            )],
            truncate: vec![format!("TRUNCATE {table}")],
            drop_keyspace: format!("DROP KEYSPACE IF EXISTS \"{}\"", self.keyspace),
        }
    }
}

fn name(properties: &mut Properties, key: &str, default: &str) -> String {
    let name = properties.text(key).unwrap_or(default).to_owned();
    if !workload::is_identifier(&name) {
        let message = format!("{key} is `{name}`, which is not a CQL name");
        properties.wrong(key, message, None);
    }
    name
}

fn level(properties: &mut Properties, key: &str) -> Consistency {
    let text = properties.text(key).unwrap_or("QUORUM").to_owned();
    text.parse().unwrap_or_else(|_| {
        properties.wrong(
            key,
            format!("{key} is `{text}`, which is not a consistency level"),
            None,
        );
        Consistency::Quorum
    })
}

fn step(command: &Command, settings: &Settings, properties: &mut Properties) -> ImportStep {
    let schema = settings.schema();
    let before = [
        vec![schema.create_keyspace.clone()],
        schema.create_tables.clone(),
    ]
    .concat();
    let (name, stage) = match command.phase {
        Phase::Load => ("load", Stage::Load),
        Phase::Run => ("run", Stage::Main),
    };
    let source = &settings.source;
    let operations = match command.phase {
        Phase::Load => source.loaded,
        Phase::Run => properties.count("operationcount", 0, 0..=RECORDS_MAX),
    };
    let seconds = properties.count("maxexecutiontime", 0, 0..=u64::MAX / 1_000_000_000);
    if operations == 0 && seconds == 0 {
        let message = "operationcount is missing, so the run would not end".to_owned();
        let hint = "-p operationcount=1000000, or -p maxexecutiontime=60 (seconds)".to_owned();
        properties.wrong("operationcount", message, Some(hint));
    }
    let threads = properties.count("threadcount", 1, 1..=32_768) as u32;
    let target = properties.number("target", 0.0, 0.0..=1e9);
    let program = Program::from_source(
        kinds(command, properties),
        settings.statements.clone(),
        Arc::new(source.clone()),
    )
    .with_tables(
        "ycsb",
        (settings.keyspace.clone(), vec![settings.table.clone()]),
        schema,
        source.loaded,
    );
    ImportStep {
        name: name.to_owned(),
        program: Arc::new(program),
        stage,
        before,
        first_operation: 0,
        limit: match (operations, seconds) {
            (0, seconds) => StepLimit::Duration(Duration::from_secs(seconds)),
            (operations, 0) => StepLimit::Operations(operations),
            (operations, seconds) => StepLimit::Either(operations, Duration::from_secs(seconds)),
        },
        offer: if target > 0.0 {
            Offer::Rate {
                per_second: target,
                threads,
                hides_wait: false,
            }
        } else {
            Offer::Threads(threads)
        },
        warmup_operations: 0,
        truncate: Vec::new(),
        truncates_always: false,
    }
}

fn kinds(command: &Command, properties: &mut Properties) -> Vec<Kind> {
    let timeout = properties.count("cassandra.readtimeoutmillis", 0, 0..=i32::MAX as u64);
    let retries = properties.count(RETRIES, 0, 0..=i32::MAX as u64).min(RETRIES_MAX) as u8;
    let mut kinds: Vec<Kind> = [
        ("read", false),
        ("update", true),
        ("insert", true),
        ("scan", false),
        ("read-modify-write", true),
        ("rmw-read", false),
        ("rmw-update", true),
    ]
    .into_iter()
    .map(|(name, is_write)| Kind::new(name, is_write))
    .collect();
    for kind in &mut kinds {
        kind.policy.timeout = (timeout > 0).then(|| Duration::from_millis(timeout));
    }
    // YCSB retries only the inserts of the load phase.
    if command.phase == Phase::Load {
        kinds[INSERT].policy.retries = retries;
    }
    kinds[KINDS..].iter_mut().for_each(|kind| kind.part = true);
    kinds
}

fn connection(properties: &mut Properties) -> Connection {
    let hosts = properties.text("hosts").unwrap_or("localhost").to_owned();
    let said = |text: &&str| !text.is_empty();
    let username = properties.text("cassandra.username").filter(said).map(str::to_owned);
    let password = properties.text("cassandra.password").filter(said).map(Secret::new);
    if username.is_some() != password.is_some() {
        let message = "cassandra.username and cassandra.password belong together: set both, or \
                       neither"
            .to_owned();
        properties.wrong_secret("cassandra.password", message);
    }
    Connection {
        nodes: hosts.split(',').map(|host| host.trim().to_owned()).collect(),
        port: Some(properties.count("port", 9042, 1..=65_535) as u16),
        username,
        password,
        tls: properties.flag("cassandra.useSSL", false).then_some(true),
        connections_per_node: connections(properties),
        ..Connection::default()
    }
}

/// Returns the size of the connection pool. YCSB's driver first opens the core connections, and
/// later opens more connections up to the maximum.
fn connections(properties: &mut Properties) -> Option<u32> {
    let keys = ["cassandra.coreconnections", "cassandra.maxconnections"];
    let counts = keys.map(|key| properties.count(key, 0, 0..=1024) as u32);
    counts.into_iter().max().filter(|count| *count > 0)
}

#[cfg(test)]
mod tests;
