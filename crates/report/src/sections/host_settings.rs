//! Section on those settings of the hosts that affect Cassandra. Deviations come first.
//!
//! Trials and hosts with the same setting share a row, even if a value differs from trial to trial,
//! such as the CPUs of interrupts. The row then shows the last value.

use crate::number;
use crate::page::{Block, Cell, Section, Table, Tone};
use crate::probe_series::natural;
use crate::run_view::RunView;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use store::record::HostSettingRecord;
use store::record::SettingVerdict;

/// A setting, with its values on all hosts that share one row.
struct Shared<'a> {
    found: &'a HostSettingRecord,
    /// Last value of the setting for each host and node or device.
    values: BTreeMap<(&'a str, &'a str), &'a str>,
    trials: BTreeSet<usize>,
}

pub fn section(view: &RunView) -> Option<Section> {
    let all = shared(view);
    if all.is_empty() {
        return None;
    }
    let of = |verdict: SettingVerdict| {
        all.iter().filter(|one| one.found.verdict == verdict).count() as u64
    };
    let (warnings, advice, not_told) = (
        of(SettingVerdict::Warning),
        of(SettingVerdict::Advice),
        of(SettingVerdict::Unknown),
    );
    let deviating = || all.iter().filter(|one| deviates(one));
    let mut blocks = Vec::new();
    let text = format!(
        "{} to fix, {} to consider, {} unknown, {} correct.",
        number::count(warnings),
        number::count(advice),
        number::count(not_told),
        number::count(all.len() as u64 - warnings - advice - not_told),
    );
    let tone = match (warnings, advice) {
        (0, 0) => Tone::Good,
        (0, _) => Tone::Plain,
        _ => Tone::Warn,
    };
    blocks.push(Block::Note(tone, text));
    if deviating().next().is_some() {
        blocks.push(Block::Table(table("Settings that deviate", deviating())));
        blocks.push(Block::Details(
            "Reasons, and commands that set them".into(),
            vec![Block::Table(mending(deviating()))],
        ));
    }
    let title = format!("All settings ({})", number::count(all.len() as u64));
    let whole = table("Settings of the hosts", all.iter());
    blocks.push(Block::Details(title, vec![Block::Table(whole)]));
    Some(Section {
        id: "host-settings",
        title: "Settings of the hosts".into(),
        lead:
            "Settings of kernel, devices and JVMs that Cassandra depends on, as cassay found them \
             before the measured window. cassay changed none of them."
                .into(),
        blocks,
    })
}

fn deviates(one: &Shared<'_>) -> bool {
    matches!(
        one.found.verdict,
        SettingVerdict::Warning | SettingVerdict::Advice
    )
}

/// Returns the settings as a JSON list, without duplicates.
pub fn json(view: &RunView) -> Option<Value> {
    let one = |one: &Shared<'_>| {
        let found = one.found;
        json!({
            "setting": found.setting, "on": on(one), "value": values(one).join("; "),
            "wanted": found.wanted, "verdict": found.verdict, "why": found.why, "fix": found.fix,
            "source": found.source, "start_check": found.start_check.as_deref().unwrap_or_default(),
            "hosts": hosts(one), "trials": one.trials,
        })
    };
    let all = shared(view);
    (!all.is_empty()).then(|| all.iter().map(one).collect())
}

/// Returns the key by which settings share a row: verdict, name, wanted value and remedy.
fn key(one: &HostSettingRecord) -> (SettingVerdict, [&str; 3]) {
    let words = [&one.setting, &one.wanted, &one.fix].map(String::as_str);
    (one.verdict, words)
}

fn shared(view: &RunView) -> Vec<Shared<'_>> {
    let mut all: Vec<Shared<'_>> = Vec::new();
    for trial in &view.trials {
        for found in trial.nodes.iter().flat_map(|nodes| &nodes.host_settings) {
            let known = all.iter_mut().find(|one| key(one.found) == key(found));
            let place = (found.host.as_str(), found.on.as_str());
            match known {
                Some(known) => {
                    known.values.insert(place, &found.value);
                    known.trials.insert(trial.index);
                }
                None => all.push(Shared {
                    found,
                    values: [(place, found.value.as_str())].into(),
                    trials: [trial.index].into(),
                }),
            }
        }
    }
    all.sort_by_key(|one| one.found.verdict);
    all
}

fn hosts<'a>(one: &Shared<'a>) -> Vec<&'a str> {
    in_order(one.values.keys().map(|(host, _)| *host))
}

/// Returns the nodes or devices that have the setting. Returns an empty list if the setting belongs
/// to the host itself.
fn on<'a>(one: &Shared<'a>) -> Vec<&'a str> {
    in_order(one.values.keys().map(|(_, on)| *on).filter(|on| !on.is_empty()))
}

fn values<'a>(one: &Shared<'a>) -> Vec<&'a str> {
    in_order(one.values.values().copied())
}

fn in_order<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let words: BTreeSet<&str> = words.collect();
    let mut words: Vec<&str> = words.into_iter().collect();
    words.sort_by(|a, b| natural(a, b));
    words
}

fn tone(verdict: SettingVerdict) -> Tone {
    match verdict {
        SettingVerdict::Warning => Tone::Bad,
        SettingVerdict::Advice => Tone::Warn,
        SettingVerdict::Unknown => Tone::Muted,
        SettingVerdict::Ok => Tone::Good,
    }
}

fn table<'a>(caption: &str, rows: impl Iterator<Item = &'a Shared<'a>>) -> Table {
    Table::from_records(caption, rows)
        .text("Verdict", |one| {
            let verdict = one.found.verdict;
            Cell::new(verdict.name()).tone(tone(verdict))
        })
        .text("Setting", |one| {
            Cell::new(&one.found.setting).hint(&one.found.why)
        })
        .text("On", |one| on(one).join(", "))
        .text("Value", |one| values(one).join("; "))
        .text("Wanted", |one| &one.found.wanted)
        .wide_text("Hosts", |one| hosts(one).join(", "))
        .wide_number("Trials", "", |one| number::count(one.trials.len() as u64))
        .build()
}

fn mending<'a>(rows: impl Iterator<Item = &'a Shared<'a>>) -> Table {
    Table::from_records("", rows)
        .text("Setting", |one| &one.found.setting)
        .text("On", |one| on(one).join(", "))
        .text("Why", |one| match &one.found.start_check {
            None => one.found.why.clone(),
            Some(check) => format!("{} Cassandra's own check at start: {check}.", one.found.why),
        })
        .text("Source of the value", |one| &one.found.fix)
        .text("Recommended by", |one| &one.found.source)
        .build()
}
