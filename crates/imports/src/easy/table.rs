//! The KeyValue workload of cassandra-easy-stress with its table and schema. cassay imports no
//! other workload of the tool.

use super::options::{Options, human};
use workload::Schema;
use yaml::did_you_mean;

/// Name of the workload that cassay imports. cassay refuses the tool's other workloads by name.
pub(super) const WORKLOAD: &str = "KeyValue";
const OTHER_WORKLOADS: &str = "AllowFiltering BasicTimeSeries CountersWide CreateDrop DSESearch \
                               LWT Locking Maps MaterializedViews RandomPartitionAccess RangeScan \
                               SAI Sets TxnCounter UdtTimeSeries";
pub(super) const TABLE: &str = "keyvalue";
/// Field of the table for which values are generated.
const FIELD: &str = "keyvalue.value";
/// Default limits of the length of a value in cassandra-easy-stress, in characters: the minimum,
/// and the exclusive maximum.
const LENGTHS: (u64, u64) = (100, 200);
/// Maximum length of a value, in characters. Cassandra's commit log with its default segment size
/// accepts slightly more.
const LENGTH_MAX: u64 = 16_000_000;
const REPLICATION: &str = "{'class': 'SimpleStrategy', 'replication_factor': 3}";

/// The tool's short forms of compaction settings. Each row contains the prefix of the short form,
/// the class, and the names of the options for the numbers in the short form.
const COMPACTIONS: &[(&str, &str, &[&str])] = &[
    ("stcs", "SizeTiered", &[]),
    ("stcs", "SizeTiered", &["min_threshold", "max_threshold"]),
    ("lcs", "Leveled", &[]),
    ("lcs", "Leveled", &["sstable_size_in_mb"]),
    ("lcs", "Leveled", &["sstable_size_in_mb", "fanout_size"]),
    ("twcs", "TimeWindow", &[]),
    (
        "twcs",
        "TimeWindow",
        &["compaction_window_size", "compaction_window_unit"],
    ),
    ("ucs", "Unified", &[]),
];

/// Checks that the words name the imported workload, and that they do not contain options of
/// another workload.
pub(super) fn check_workload(options: &mut Options) {
    let (message, hint) = match options.workload.as_ref().map(|(name, _)| name.as_str()) {
        Some(WORKLOAD) => (String::new(), None),
        None => (
            "the workload is missing".to_owned(),
            Some(format!("cassay easy run {WORKLOAD}")),
        ),
        Some(name) if OTHER_WORKLOADS.split(' ').any(|other| other == name) => (
            format!("cassay imports only the workload {WORKLOAD}, not {name}"),
            Some("define the workload in your own workload file: docs/workload-file.md".to_owned()),
        ),
        Some(name @ ("list" | "info" | "fields" | "server")) => (
            format!("cassay supports only the tool's command `run`, not {name}"),
            Some(format!("cassay easy run {WORKLOAD}")),
        ),
        Some(name) => (
            format!("`{name}` is not a workload of cassandra-easy-stress"),
            did_you_mean(name, OTHER_WORKLOADS.split(' ').chain([WORKLOAD])),
        ),
    };
    if !message.is_empty() {
        let at = options.workload.as_ref().map_or(0, |(_, at)| *at);
        options.wrong(at, message, hint);
    }
    for (parameter, at) in std::mem::take(&mut options.parameters) {
        options.wrong(
            at,
            format!("{WORKLOAD} has no parameter `{parameter}`"),
            None,
        );
    }
}

/// Returns the limits of the number of letters of a value, from `--field.`: the minimum, and the
/// exclusive maximum.
pub(super) fn lengths(options: &mut Options) -> (u64, u64) {
    let mut lengths = LENGTHS;
    for (text, at) in std::mem::take(&mut options.fields) {
        let function = text.strip_prefix(FIELD).and_then(|rest| rest.strip_prefix('='));
        let inner = function.and_then(|text| text.strip_prefix("random(")?.strip_suffix(')'));
        let bounds = inner
            .and_then(|inner| inner.split_once(','))
            .and_then(|(a, b)| Some((human(a.trim())?, human(b.trim())?)));
        match bounds.filter(|(least, bound)| least < bound && *bound <= LENGTH_MAX) {
            Some(bounds) => lengths = bounds,
            None => {
                let message = format!(
                    "cassay does not import `--field.{text}`, but only the number of letters of \
                     {FIELD}: from a minimum to below a maximum of at most {LENGTH_MAX}"
                );
                let hint = format!("--field.{FIELD}='random(100,200)'");
                options.wrong(at, message, Some(hint));
            }
        }
    }
    lengths
}

/// Returns the keyspace's name. The tool does not quote the name, so Cassandra converts it to lower
/// case.
pub(super) fn keyspace(options: &mut Options) -> String {
    let read = |text: &str| workload::is_identifier(text).then(|| text.to_lowercase());
    let default = "cassandra_easy_stress".to_owned();
    options.value("--keyspace", default, ("a CQL name", read))
}

/// Returns the statements for the keyspace and the table, with the options of the command line.
pub(super) fn schema(keyspace: &str, options: &mut Options) -> Schema {
    let a_map = "a CQL map, {'class': …}";
    let is_replication_stated = options.text("--replication").is_some();
    let replication = options.value("--replication", REPLICATION.to_owned(), (a_map, map));
    let short = "stcs; stcs,4,32; lcs,160,10; twcs,1,hours; ucs,T4; or a CQL map";
    let compaction = options.value("--compaction", String::new(), (short, compaction));
    let compression = options.value("--compression", String::new(), (a_map, map));
    let cache = |text: &str| is_word(text).then(|| text.to_owned());
    let [keys, rows] = [("--keycache", "ALL"), ("--rowcache", "NONE")].map(|(name, default)| {
        options.value(name, default.to_owned(), ("ALL, NONE or a number", cache))
    });
    let ttl = options.count("--ttl", 0, 0..=i32::MAX as u64);
    let mut with = vec![
        format!("caching = {{'keys': '{keys}', 'rows_per_partition': '{rows}'}}"),
        format!("default_time_to_live = {ttl}"),
    ];
    let maps = [("compression", compression), ("compaction", compaction)];
    for (name, map) in maps.into_iter().filter(|(_, map)| !map.is_empty()) {
        with.insert(0, format!("{name} = {map}"));
    }
    let table = format!("\"{keyspace}\".{TABLE}");
    Schema {
        create_keyspace: format!(
            "CREATE KEYSPACE IF NOT EXISTS \"{keyspace}\" WITH replication = {replication}"
        ),
        is_replication_stated,
        create_tables: vec![format!(
            "CREATE TABLE IF NOT EXISTS {table} (key text PRIMARY KEY, value text) WITH {}",
            with.join(" AND ")
        )],
        truncate: vec![format!("TRUNCATE {table}")],
        drop_keyspace: format!("DROP KEYSPACE IF EXISTS \"{keyspace}\""),
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Parses a CQL map, in which double quotes may replace single quotes.
fn map(text: &str) -> Option<String> {
    let text = text.trim().replace('"', "'");
    (text.starts_with('{') && text.ends_with('}')).then_some(text)
}

/// Converts a compaction to CQL. The compaction is a map or one of the tool's short forms.
fn compaction(text: &str) -> Option<String> {
    if let Some(map) = map(text) {
        return Some(map);
    }
    let (short, rest) = text.split_once(',').unwrap_or((text, ""));
    let words: Vec<&str> = rest.split(',').filter(|_| !rest.is_empty()).collect();
    // The scaling parameters of a unified compaction are one option, even if they have several
    // words.
    let scales = short == "ucs" && !words.is_empty();
    let count = if scales { 0 } else { words.len() };
    let fits = |(name, _, options): &&(&str, _, &[&str])| *name == short && options.len() == count;
    let (_, class, names) = COMPACTIONS.iter().find(fits)?;
    let mut options = format!("'class': '{class}CompactionStrategy'");
    for (name, word) in names.iter().zip(&words) {
        let unit = word.to_uppercase();
        let is_right = match *name {
            "compaction_window_unit" => matches!(unit.as_str(), "MINUTES" | "HOURS" | "DAYS"),
            _ => word.parse::<i32>().is_ok(),
        };
        options += &format!(", '{name}': '{}'", is_right.then_some(unit)?);
    }
    if scales {
        let all = words.iter().all(|word| is_word(word));
        options += &format!(", 'scaling_parameters': '{}'", all.then_some(rest)?);
    }
    Some(format!("{{{options}}}"))
}
