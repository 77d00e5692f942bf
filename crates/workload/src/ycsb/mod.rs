//! YCSB's core workload as its Cassandra binding runs it: command line and property files in, a
//! step to run out.
//!
//! Keys, request distributions and the mix are YCSB's. What YCSB draws from random numbers of its
//! threads is here a function of the seed and the operation's number, so that every read can be
//! judged and every run repeated.

mod choose;
mod command;
mod properties;
mod source;

use std::sync::Arc;

use choose::{Chooser, Zipfian};
use command::{Command, Phase};
use properties::Properties;
use source::{Binds, INSERT, KINDS, Length, MODIFY, READ, SCAN, Statements, Table, UPDATE};

use crate::import::{Connection, Import, Offer, ReadFile, Secret, Step, StepLimit};
use crate::mix::Mix;
use crate::program::{Kind, Program, Schema, Stage, Statement};
use crate::random::lane;
use core::time::Duration;
use cql::Consistency;
use yaml::Diagnostics;

/// The lane of the seed that draws the mix.
const MIX: u64 = 31;
/// As many records as a key of 19 digits can number, and an insert behind each still can.
const RECORDS_MAX: u64 = 1 << 62;
const FIELDS_MAX: u64 = 1000;
/// Below what Cassandra's commit log takes with its default segment size.
const ROW_BYTES_MAX: u64 = 16_000_000;
const SCAN_ROWS_MAX: u64 = i32::MAX as u64;

/// Properties that have an effect here.
const KNOWN: &[&str] = &[
    "cassandra.keyspace",
    "cassandra.password",
    "cassandra.readconsistencylevel",
    "cassandra.username",
    "cassandra.useSSL",
    "cassandra.writeconsistencylevel",
    "exponential.frac",
    "exponential.percentile",
    "fieldcount",
    "fieldlength",
    "fieldlengthdistribution",
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
    // How results are written: read by whoever writes them.
    "hdrhistogram.percentiles",
    "measurement.interval",
    "status.interval",
];
/// Properties that mean nothing here; they are told in a note.
const WITHOUT_EFFECT: &[&str] = &[
    "basicdb.",
    "cassandra.",
    "core_workload_insertion_retry",
    "dataintegrity",
    "db",
    "dotransactions",
    "exporter",
    "exportfile",
    "hdrhistogram.",
    "histogram.",
    "insertion_keep_going_on_error",
    "label",
    "measurement",
    "timeseries.",
];

/// What a command line of YCSB asks for. All that is drawn is a function of `seed`.
///
/// # Errors
/// Every mistake in the words and files, with its place.
pub(crate) fn import(words: &[String], seed: u64, read: ReadFile) -> Result<Import, Diagnostics> {
    let (command, mut properties) = command::parse(words, read)?;
    let mut notes = unknown(&mut properties);
    let settings = Settings::read(&command, &mut properties, seed);
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

fn unknown(properties: &mut Properties) -> Vec<String> {
    if let Some(workload) = properties.text("workload").map(str::to_owned)
        && !workload.ends_with(".CoreWorkload")
    {
        let message = format!("workload {workload} is not understood; CoreWorkload is");
        properties.wrong("workload", message, None);
    }
    let others = properties.unknown(KNOWN, WITHOUT_EFFECT);
    if others.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "properties without effect here: {}",
        others.join(", ")
    )]
}

/// The properties that make the table and its operations.
struct Settings {
    keyspace: String,
    table: String,
    prefix: String,
    read_level: Consistency,
    write_level: Consistency,
    read_all: bool,
    write_all: bool,
    fields: usize,
    source: Table,
    statements: Vec<Statement>,
    scans: bool,
}

impl Settings {
    fn read(command: &Command, properties: &mut Properties, seed: u64) -> Settings {
        let fields = properties.count("fieldcount", 10, (1, FIELDS_MAX)) as usize;
        let name = |properties: &mut Properties, key: &str, default: &str| {
            let name = properties.text(key).unwrap_or(default).to_owned();
            if !crate::compile::is_identifier(&name) {
                let message = format!("{key} is `{name}`, which is no name in CQL");
                properties.wrong(key, message, None);
            }
            name
        };
        let prefix = name(properties, "fieldnameprefix", "field");
        let mut binds = Vec::new();
        let mut settings = Settings {
            keyspace: name(properties, "cassandra.keyspace", "ycsb"),
            table: name(properties, "table", "usertable"),
            read_level: level(properties, "cassandra.readconsistencylevel"),
            write_level: level(properties, "cassandra.writeconsistencylevel"),
            read_all: properties.flag("readallfields", true),
            write_all: properties.flag("writeallfields", false),
            fields,
            scans: false,
            statements: Vec::new(),
            source: table(command, properties, fields, &prefix, seed),
            prefix,
        };
        settings.source.statements = settings.statements(&mut binds);
        settings.source.binds = binds;
        settings.scans = command.phase == Phase::Run && settings.source.mix.per_window(SCAN) > 0;
        settings
    }

    /// What is done otherwise than YCSB does it.
    fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            format!(
                "keyspace {} (one replica) and table {} are created if they are not there; YCSB \
                 wants them made by hand",
                self.keyspace, self.table
            ),
            "values are functions of the seed, record, field and writing operation, so that reads \
             can be judged; YCSB's are random"
                .to_owned(),
        ];
        if self.scans {
            notes.push(
                "scans read rows in the order of their tokens, from the token of the drawn key on, \
                 as YCSB's Cassandra binding does: Cassandra has no order of hashed keys, so this \
                 is not the range of neighbouring records that the workload was made for"
                    .to_owned(),
            );
        }
        notes
    }

    /// Fills in `self.statements`; returns which do what.
    fn statements(&mut self, binds: &mut Vec<Binds>) -> Statements {
        let table = format!("\"{}\".\"{}\"", self.keyspace, self.table);
        let fields: Vec<String> = (0..self.fields)
            .map(|field| format!("{}{field}", self.prefix))
            .collect();
        let (read, write) = (self.read_level, self.write_level);
        let mut add = |cql: String, kind: usize, level, what: Binds| {
            let count = cql.matches('?').count() as u16;
            let reads = matches!(what, Binds::Read(_) | Binds::Scan);
            self.statements.push(Statement {
                idempotent: true,
                returns_rows: reads,
                verifies: matches!(what, Binds::Read(_)) && self.source.verifies(),
                ..Statement::new(cql, kind as u8, count, level)
            });
            binds.push(what);
            (self.statements.len() - 1) as u16
        };
        let marks = vec!["?"; fields.len() + 1].join(", ");
        let names = fields.join(", ");
        let insert = format!("INSERT INTO {table} (y_id, {names}) VALUES ({marks})");
        let insert = add(insert, INSERT, write, Binds::Insert);
        let reads: Vec<Option<usize>> = match self.read_all {
            true => vec![None],
            false => (0..fields.len()).map(Some).collect(),
        };
        let select = |what: &Option<usize>| {
            let columns = what.map_or("*", |field| fields[field].as_str());
            format!("SELECT {columns} FROM {table} WHERE y_id = ? LIMIT 1")
        };
        let updates: Vec<Option<usize>> = match self.write_all {
            true => vec![None],
            false => (0..fields.len()).map(Some).collect(),
        };
        let set = |what: &Option<usize>| {
            let sets = match what {
                Some(field) => format!("{} = ?", fields[*field]),
                None => format!("{} = ?", fields.join(" = ?, ")),
            };
            format!("UPDATE {table} SET {sets} WHERE y_id = ?")
        };
        let one_read = |what: &Option<usize>| (select(what), Binds::Read(*what));
        let mut read_ids = Vec::new();
        for what in &reads {
            let (cql, bind) = one_read(what);
            read_ids.push(add(cql, READ, read, bind));
        }
        let update_ids: Vec<u16> = updates
            .iter()
            .map(|what| add(set(what), UPDATE, write, Binds::Update(*what)))
            .collect();
        let scan_columns = reads
            .iter()
            .map(|what| what.map_or("*", |field| &fields[field]));
        let scans: Vec<String> = scan_columns
            .map(|columns| {
                format!("SELECT {columns} FROM {table} WHERE token(y_id) >= token(?) LIMIT ?")
            })
            .collect();
        let scan_ids = scans
            .into_iter()
            .map(|cql| add(cql, SCAN, read, Binds::Scan))
            .collect();
        // One read and update of read-modify-write for each field that it may write.
        let mut modify_ids = Vec::new();
        for (number, what) in updates.iter().enumerate() {
            let (cql, bind) = one_read(&reads[number % reads.len()]);
            let first = add(cql, MODIFY, read, bind);
            let second = add(set(what), MODIFY, write, Binds::Update(*what));
            modify_ids.push((first, second));
        }
        for (first, second) in &modify_ids {
            let statement = &mut self.statements[usize::from(*first)];
            (statement.then, statement.part) = (Some(*second), Some(KINDS as u8));
            self.statements[usize::from(*second)].part = Some(KINDS as u8 + 1);
        }
        Statements {
            insert,
            read: read_ids,
            update: update_ids,
            scan: scan_ids,
            modify: modify_ids.into_iter().map(|(first, _)| first).collect(),
        }
    }

    fn schema(&self) -> Schema {
        let table = format!("\"{}\".\"{}\"", self.keyspace, self.table);
        let fields: Vec<String> = (0..self.fields)
            .map(|field| format!("{}{field} varchar", self.prefix))
            .collect();
        Schema {
            create_keyspace: format!(
                "CREATE KEYSPACE IF NOT EXISTS \"{}\" WITH replication = {{'class': \
                 'SimpleStrategy', 'replication_factor': '1'}}",
                self.keyspace
            ),
            create_tables: vec![format!(
                "CREATE TABLE IF NOT EXISTS {table} (y_id varchar PRIMARY KEY, {})",
                fields.join(", ")
            )],
            truncate: vec![format!("TRUNCATE {table}")],
            drop_keyspace: format!("DROP KEYSPACE IF EXISTS \"{}\"", self.keyspace),
        }
    }
}

fn level(properties: &mut Properties, key: &str) -> Consistency {
    let text = properties.text(key).unwrap_or("QUORUM").to_owned();
    text.parse().unwrap_or_else(|_| {
        properties.wrong(key, format!("{key} is `{text}`, which is no level"), None);
        Consistency::Quorum
    })
}

/// The table, with its statements still to be filled in.
fn table(
    command: &Command,
    properties: &mut Properties,
    fields: usize,
    prefix: &str,
    seed: u64,
) -> Table {
    let records = properties.count("recordcount", 0, (0, RECORDS_MAX));
    let first = properties.count("insertstart", 0, (0, RECORDS_MAX));
    let loaded = properties.count(
        "insertcount",
        records.saturating_sub(first),
        (1, RECORDS_MAX),
    );
    if loaded == 0 || (command.phase == Phase::Run && records < first + loaded) {
        let message = format!(
            "recordcount is {records}, but insertstart is {first} and insertcount {loaded}: there \
             must be a record, and none behind recordcount"
        );
        properties.wrong("recordcount", message, None);
    }
    let operations = properties.count("operationcount", 1000, (0, RECORDS_MAX));
    let weights = weights(properties);
    let length = properties.count("fieldlength", 100, (1, ROW_BYTES_MAX / fields as u64));
    let least = properties.count("minfieldlength", 1, (1, length));
    let field_length = match properties.word(
        "fieldlengthdistribution",
        &["constant", "uniform", "zipfian"],
    ) {
        "constant" => Length::Constant,
        "uniform" => Length::Uniform,
        _ => Length::Zipfian(Zipfian::new(length - least + 1)),
    };
    let scan_most = properties.count("maxscanlength", 1000, (1, SCAN_ROWS_MAX));
    let scan_least = properties.count("minscanlength", 1, (1, scan_most));
    let scan_length = match properties.word("scanlengthdistribution", &["uniform", "zipfian"]) {
        "uniform" => Length::Uniform,
        _ => Length::Zipfian(Zipfian::new(scan_most - scan_least + 1)),
    };
    let loaded = loaded.max(1);
    let chooser = chooser(
        properties,
        (first, loaded, records),
        operations,
        weights[INSERT],
    );
    let mut by_name: Vec<usize> = (0..fields).collect();
    by_name.sort_by_key(|field| format!("{prefix}{field}").to_lowercase());
    Table {
        seed,
        hashed: properties.word("insertorder", &["hashed", "ordered"]) == "hashed",
        padding: properties.count("zeropadding", 1, (0, 1000)) as usize,
        fields,
        field_lengths: match field_length {
            Length::Constant => (length, length),
            _ => (least, length),
        },
        field_length,
        scan_lengths: (scan_least, scan_most),
        scan_length,
        first,
        loaded,
        records: records.max(first + loaded),
        mix: Mix::new(&weights, lane(seed, MIX)),
        chooser,
        statements: Statements {
            insert: 0,
            read: Vec::new(),
            update: Vec::new(),
            scan: Vec::new(),
            modify: Vec::new(),
        },
        binds: Vec::new(),
        by_name,
    }
}

fn weights(properties: &mut Properties) -> [f64; KINDS] {
    let mut weights = [0.0; KINDS];
    for (kind, key, default) in [
        (READ, "readproportion", 0.95),
        (UPDATE, "updateproportion", 0.05),
        (INSERT, "insertproportion", 0.0),
        (SCAN, "scanproportion", 0.0),
        (MODIFY, "readmodifywriteproportion", 0.0),
    ] {
        weights[kind] = properties.number(key, default, (0.0, 1e9));
    }
    if weights.iter().sum::<f64>() <= 0.0 {
        let message = "no kind of operation has a proportion above 0".to_owned();
        properties.wrong("readproportion", message, None);
        weights[READ] = 1.0;
    }
    weights
}

fn chooser(
    properties: &mut Properties,
    (first, loaded, records): (u64, u64, u64),
    operations: u64,
    insert: f64,
) -> Chooser {
    let words = [
        "uniform",
        "zipfian",
        "latest",
        "sequential",
        "exponential",
        "hotspot",
    ];
    match properties.word("requestdistribution", &words) {
        "uniform" => Chooser::Uniform,
        "sequential" => Chooser::Sequential,
        "latest" => Chooser::Latest(Zipfian::new(records.max(first + loaded) - 1)),
        "zipfian" => {
            let added = (operations as f64 * insert * 2.0) as u64;
            Chooser::scrambled(loaded.saturating_add(added).saturating_add(1))
        }
        "exponential" => {
            let percentile = properties.number("exponential.percentile", 95.0, (0.001, 99.999));
            let share = properties.number("exponential.frac", 0.857_142_857_1, (1e-9, 1.0));
            let gamma = -libm::log(1.0 - percentile / 100.0) / (loaded as f64 * share);
            Chooser::Exponential { gamma }
        }
        _ => Chooser::Hotspot {
            records: (loaded as f64 * properties.number("hotspotdatafraction", 0.2, (0.0, 1.0)))
                as u64,
            share: properties.number("hotspotopnfraction", 0.8, (0.0, 1.0)),
        },
    }
}

fn step(command: &Command, settings: &Settings, properties: &mut Properties) -> Step {
    let schema = settings.schema();
    let before = [
        vec![schema.create_keyspace.clone()],
        schema.create_tables.clone(),
    ]
    .concat();
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
    kinds[KINDS..].iter_mut().for_each(|kind| kind.part = true);
    let (name, stage) = match command.phase {
        Phase::Load => ("load", Stage::Load),
        Phase::Run => ("run", Stage::Main),
    };
    let source = &settings.source;
    let operations = match command.phase {
        Phase::Load => source.loaded,
        Phase::Run => properties.count("operationcount", 0, (0, RECORDS_MAX)),
    };
    let seconds = properties.count("maxexecutiontime", 0, (0, u64::MAX / 1_000_000_000));
    if operations == 0 && seconds == 0 {
        let message = "operationcount is missing: there is nothing to end the run".to_owned();
        let hint = "-p operationcount=1000000, or -p maxexecutiontime=60 (seconds)".to_owned();
        properties.wrong("operationcount", message, Some(hint));
    }
    let threads = properties.count("threadcount", 1, (1, 32_768)) as u32;
    let target = properties.number("target", 0.0, (0.0, 1e9));
    let program = Program {
        name: "ycsb".to_owned(),
        keyspace: settings.keyspace.clone(),
        tables: vec![settings.table.clone()],
        schema,
        kinds,
        statements: settings.statements.clone(),
        rows: source.loaded,
        source: Arc::new(source.clone()),
    };
    Step {
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
        offer: match target > 0.0 {
            true => Offer::Rate {
                per_second: target,
                threads,
                hides_wait: false,
            },
            false => Offer::Threads(threads),
        },
        warmup_operations: 0,
        truncate: Vec::new(),
        truncates_always: false,
    }
}

fn connection(properties: &mut Properties) -> Connection {
    let hosts = properties.text("hosts").unwrap_or("localhost").to_owned();
    let username = properties.text("cassandra.username").map(str::to_owned);
    let password = properties.text("cassandra.password").map(Secret::new);
    if username.is_some() != password.is_some() {
        let message = "cassandra.username and cassandra.password belong together".to_owned();
        properties.wrong_secret("cassandra.password", message);
    }
    Connection {
        nodes: hosts
            .split(',')
            .map(|host| host.trim().to_owned())
            .collect(),
        port: Some(properties.count("port", 9042, (1, 65_535)) as u16),
        username,
        password,
        tls: properties.flag("cassandra.useSSL", false).then_some(true),
        ..Connection::default()
    }
}

#[cfg(test)]
mod tests;
