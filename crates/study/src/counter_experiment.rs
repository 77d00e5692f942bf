//! Builds the study of a counter-experiment. The experiment changes one setting of a resource that
//! was full at a limit. It compares the old and the new value at one load in blocks.
//!
//! If the resource limits the load, a larger resource increases throughput, and a smaller resource
//! reduces it. If throughput does not change, the resource is not the limit.

use crate::checked_tree::Tree;
use crate::child_study::{self, ChildStudy, merge};
use crate::settings::{Client, Study, Variant};
use analysis::limits::LimitKind;
use analysis::procedure::Point;
use serde_json::{Map, Value, json};

/// Factor by which an experiment enlarges a setting.
const MORE: f64 = 1.25;
/// Factor by which an experiment reduces a delay, or a setting that cannot be enlarged.
const LESS: f64 = 0.75;
/// Name of the variant with the settings of the run.
pub const AS_IT_WAS: &str = "as-it-was";
/// Name of the variant with the changed setting.
pub const CHANGED: &str = "changed";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedSetting {
    /// Dotted path of the setting.
    pub setting: String,
    /// Value in the run, as in a study.
    pub from: String,
    /// Value in the experiment, as in a study.
    pub to: String,
}

/// A change of the settings of one resource.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingChange {
    /// Changed settings, at least one.
    pub settings: Vec<ChangedSetting>,
    /// True if the change enlarges the resource. In this case, results must improve if the resource
    /// is the limit.
    pub enlarges: bool,
    /// Partial study that sets the new values.
    overlay: Value,
}

/// Number of CPUs of the measured machines.
#[derive(Clone, Copy, Debug)]
pub struct MachineCpus {
    /// CPUs that a node may use, if known.
    pub node: Option<f64>,
    /// CPUs of the machine on which the client runs.
    pub client: usize,
}

/// Returns the change that tests a resource, for a variant with the settings in `tree`.
///
/// # Errors
/// cassay cannot change a setting that affects the resource. The error is the reason.
pub fn change(kind: LimitKind, tree: &Tree, cpus: MachineCpus) -> Result<SettingChange, String> {
    const HOST: &str = "target.local.host";
    if kind == LimitKind::Client {
        return client_workers(tree, cpus.client);
    }
    if tree.find("target.local").is_none() {
        return Err("cassay did not start the nodes, so it cannot change them".to_owned());
    }
    let yaml = |key: &str, default: &str, factor: f64| {
        let path = format!("target.local.yaml.{key}");
        let written = tree.find("target.local.yaml").and_then(|yaml| yaml.get(key));
        let now = written.map_or_else(|| default.to_owned(), Tree::to_word);
        let to = scaled_text(key, &now, factor)?;
        Ok(SettingChange::one(&path, now, to, true))
    };
    match kind {
        LimitKind::CpuQuota => scaled(tree, &format!("{HOST}.cpu_quota"), MORE, true),
        LimitKind::Cpu => {
            let quota = format!("{HOST}.cpu_quota");
            if tree.find(&quota).is_some() {
                return scaled(tree, &quota, MORE, true);
            }
            if tree.find(HOST).is_none() {
                return Err(format!(
                    "the nodes have no isolated hosts (`{HOST}`), so cassay cannot limit their CPUs"
                ));
            }
            let cpus = cpus.node.ok_or("cassay does not know the number of CPUs of a node")?;
            let to = json!(measure::number::round(cpus * LESS, 3));
            let from = measure::number::short(cpus, 3);
            Ok(SettingChange::one(&quota, from, to, false))
        }
        LimitKind::GarbageCollection | LimitKind::Pause => {
            scaled(tree, "target.local.heap", MORE, true)
        }
        LimitKind::DiskRate | LimitKind::DiskQueue => {
            let keys = ["read_iops", "write_iops", "read_rate", "write_rate"];
            let paths = keys.map(|key| format!("{HOST}.disk.{key}"));
            let set = paths.iter().filter(|path| tree.find(path).is_some());
            let changes: Result<Vec<_>, String> =
                set.map(|path| scaled(tree, path, MORE, true)).collect();
            SettingChange::joined(changes?)
                .ok_or_else(|| format!("the study sets no limit for the disk (`{HOST}.disk`)"))
        }
        LimitKind::Network => scaled(tree, &format!("{HOST}.link.rate"), MORE, true),
        LimitKind::BetweenNodes | LimitKind::ClientLink => {
            scaled(tree, &format!("{HOST}.link.delay"), LESS, true)
        }
        LimitKind::CompactionThroughput => yaml("compaction_throughput", "64MiB/s", MORE),
        LimitKind::CommitLogSync => commit_log_sync(tree),
        LimitKind::CommitLogSegments => yaml("commitlog_total_space", "8192MiB", MORE),
        LimitKind::FlushWriters => yaml("memtable_flush_writers", "2", MORE),
        LimitKind::Compactors => yaml("concurrent_compactors", "2", MORE),
        LimitKind::TransportQueue => yaml("native_transport_max_threads", "128", MORE),
        LimitKind::Stage => {
            let keys = ["concurrent_reads", "concurrent_writes"];
            let both: Result<Vec<_>, String> =
                keys.into_iter().map(|key| yaml(key, "32", MORE)).collect();
            SettingChange::joined(both?).ok_or_else(String::new)
        }
        LimitKind::MemtableSpace => {
            let heap = tree.find("target.local.heap").and_then(Tree::bytes).unwrap_or_default();
            yaml("memtable_heap_space", &format!("{}MiB", heap >> 22), MORE)
        }
        LimitKind::Client
        | LimitKind::OtherPrograms
        | LimitKind::Thread
        | LimitKind::Safepoints
        | LimitKind::PacketLoss
        | LimitKind::ReadRepair
        | LimitKind::SstablesPerRead
        | LimitKind::Tombstones
        | LimitKind::Caches
        | LimitKind::Shedding => Err("no single setting changes this resource".to_owned()),
    }
}

/// Returns the change of the client's share of the machine: one event loop more for every four.
fn client_workers(tree: &Tree, cpus: usize) -> Result<SettingChange, String> {
    const PATH: &str = "client.workers";
    if tree.find("client.machines").is_some() || tree.find("client.kubernetes").is_some() {
        return Err(
            "several machines apply the load, so cassay cannot enlarge one client".to_owned(),
        );
    }
    let workers = match tree.find(PATH) {
        Some(Tree::Count(count)) => *count,
        _ => Client::workers_auto(cpus) as u64,
    };
    if workers >= cpus as u64 {
        return Err(format!(
            "the client already has {workers} workers on {cpus} CPUs, so only another machine can \
             enlarge it (`client.machines`)"
        ));
    }
    let more = changed_number(PATH, workers, MORE)?.min(cpus as u64);
    Ok(SettingChange::one(
        PATH,
        workers.to_string(),
        json!(more),
        true,
    ))
}

/// Returns the change of the commit log's sync: a shorter window if the sync is `group`, and
/// `periodic` if it is `batch`.
fn commit_log_sync(tree: &Tree) -> Result<SettingChange, String> {
    let yaml = tree.find("target.local.yaml");
    let text = |key: &str| yaml.and_then(|yaml| yaml.get(key)).map(Tree::to_word);
    match text("commitlog_sync").as_deref() {
        Some("group") => {
            let key = "commitlog_sync_group_window";
            let now = text(key).unwrap_or_else(|| "15ms".to_owned());
            let to = scaled_text(key, &now, LESS)?;
            let path = format!("target.local.yaml.{key}");
            Ok(SettingChange::one(&path, now, to, true))
        }
        Some("batch") => {
            let path = "target.local.yaml.commitlog_sync";
            let sync = SettingChange::one(path, "batch".to_owned(), json!("periodic"), true);
            let path = "target.local.yaml.commitlog_sync_period";
            let period = SettingChange::one(path, "none".to_owned(), json!("10000ms"), true);
            let mut overlay = sync.overlay.clone();
            // Cassandra requires a period for this kind of sync, so the period is not a change.
            merge(&mut overlay, &period.overlay);
            Ok(SettingChange { overlay, ..sync })
        }
        _ => Err(
            "the commit log already syncs periodically, so no setting makes writes wait less for \
             the disk"
                .to_owned(),
        ),
    }
}

fn scaled(tree: &Tree, path: &str, factor: f64, enlarges: bool) -> Result<SettingChange, String> {
    let now = tree.find(path).ok_or_else(|| format!("the study does not set `{path}`"))?;
    let of = |number: u64| (number as f64 * factor).round() as u64;
    let to = match now {
        Tree::Count(count) => Tree::Count(changed_number(path, *count, factor)?),
        Tree::Number(number) => Tree::Number(measure::number::round(number * factor, 4)),
        // The size is rounded down to whole mebibytes or kibibytes, because sizes in a study have
        // no fractions.
        Tree::Bytes(bytes) if *bytes >= 64 << 20 => Tree::Bytes(of(*bytes) >> 20 << 20),
        Tree::Bytes(bytes) => Tree::Bytes(of(*bytes) >> 10 << 10),
        Tree::BitRate(rate) => Tree::BitRate(of(*rate) / 1000 * 1000),
        Tree::DurationNs(ns) => Tree::DurationNs(of(*ns) / 1000 * 1000),
        _ => {
            return Err(format!(
                "`{path}` is {}, which is not a quantity",
                now.to_word()
            ));
        }
    };
    let word = |tree: &Tree| tree.to_json().as_str().map_or_else(|| tree.to_word(), str::to_owned);
    let mut change = SettingChange::one(path, word(now), to.to_json(), enlarges);
    for setting in &mut change.settings {
        setting.to = word(&to);
    }
    Ok(change)
}

/// Returns the value of a key of cassandra.yaml, such as `64MiB/s` or `32`, with its number
/// multiplied by `factor`.
///
/// # Errors
/// The value does not begin with a number.
fn scaled_text(key: &str, text: &str, factor: f64) -> Result<Value, String> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let parsed: u64 = number
        .parse()
        .map_err(|_| format!("{key} is {text}, which is not a quantity"))?;
    let number = changed_number(key, parsed, factor)?;
    Ok(match unit {
        "" => json!(number),
        _ => json!(format!("{number}{unit}")),
    })
}

/// Multiplies a whole number by `factor`, and changes it by at least 1. The result is at least 1.
///
/// # Errors
/// The number cannot become smaller.
fn changed_number(key: &str, number: u64, factor: f64) -> Result<u64, String> {
    let scaled = (number as f64 * factor).round() as u64;
    match scaled {
        scaled if scaled != number && scaled > 0 => Ok(scaled),
        _ if factor > 1.0 => Ok(number + 1),
        _ if number > 1 => Ok(number - 1),
        _ => Err(format!("{key} is {number}, which cannot become smaller")),
    }
}

impl SettingChange {
    fn one(path: &str, from: String, to: Value, enlarges: bool) -> SettingChange {
        let text = to.as_str().map_or_else(|| to.to_string(), str::to_owned);
        let mut overlay = to;
        for key in path.rsplit('.') {
            overlay = Value::Object(Map::from_iter([(key.to_owned(), overlay)]));
        }
        let setting = path.to_owned();
        SettingChange {
            settings: vec![ChangedSetting {
                setting,
                from,
                to: text,
            }],
            enlarges,
            overlay,
        }
    }

    /// Joins several changes of one resource into one change. `None` if the list is empty.
    fn joined(all: Vec<SettingChange>) -> Option<SettingChange> {
        all.into_iter().reduce(|mut sum, one| {
            merge(&mut sum.overlay, &one.overlay);
            sum.settings.extend(one.settings);
            sum
        })
    }
}

/// Returns the text of the experiment's study. It has the settings of `variant` at `point` without
/// faults, in two variants: with the original value and with the changed value.
pub fn text(
    study: &Study,
    variant: &Variant,
    point: Point,
    change: &SettingChange,
    blocks: usize,
) -> String {
    let phrase =
        |one: &ChangedSetting| format!("{} {} instead of {}", one.setting, one.to, one.from);
    let phrases: Vec<String> = change.settings.iter().map(phrase).collect();
    let child = ChildStudy {
        suffix: "why",
        question: &format!("Does the load change with {}?", phrases.join(" and ")),
        point,
        repeat: json!({ "blocks": blocks }),
        shared: child_study::settings_of(&variant.tree),
        variants: [(AS_IT_WAS, json!({})), (CHANGED, change.overlay.clone())]
            .map(|(name, settings)| (name.to_owned(), settings))
            .into_iter()
            .collect(),
    };
    child.text(study)
}

/// Returns a number of operations in flight that keeps a target busy. The target reached
/// `ops_per_s` with a median latency of `p50_ms`. The result is twice the number that was in flight
/// then, by Little's law.
pub fn threads_for(ops_per_s: f64, p50_ms: f64) -> u32 {
    let in_flight = ops_per_s * p50_ms / 1000.0;
    ((2.0 * in_flight).ceil() as u32).clamp(8, 4096)
}

#[cfg(test)]
mod tests;
