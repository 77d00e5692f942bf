//! Blocks on the data with which the trials began, and on the cost of the probes.

use crate::merged_points::trial_table;
use crate::number;
use crate::page::{Block, Cell, Table, Tone};
use crate::run_view::RunView;
use std::collections::{BTreeMap, BTreeSet};
use store::record::{DataRecord, ProbeRecord, TrialFinding};

/// Share of one core above which the table highlights the CPU time of a probe. It equals the limit
/// of rule V17 for all probes together.
const CPU_SHARE_WARN: f64 = 0.05;
/// Number of characters of a fingerprint in the table, which suffice to distinguish two
/// fingerprints.
const FINGERPRINT_CHARS: usize = 16;

pub fn data(view: &RunView) -> Vec<Block> {
    let restored = |t: &'_ TrialFinding| t.data.is_some();
    if !view.findings.trials.iter().any(restored) {
        return Vec::new();
    }
    let by_snapshot = fingerprints(view);
    let mut blocks = vec![
        Block::Text(equality(&by_snapshot)),
        Block::Table(table(view)),
    ];
    let each = by_snapshot.iter().flat_map(|(snapshot, nodes)| {
        nodes.iter().map(move |(node, found)| (*snapshot, *node, found))
    });
    let prints = Table::from_records("", each)
        .text("Snapshot", |(snapshot, ..)| snapshot)
        .text("Node", |(_, node, _)| node)
        .text("Fingerprint", |(.., found)| {
            found.keys().copied().collect::<Vec<_>>().join(" | ")
        })
        .unless_empty();
    blocks.extend(prints.map(|table| {
        Block::Details(
            "Fingerprints of the SSTables".into(),
            vec![Block::Table(table)],
        )
    }));
    blocks
}

/// Indexes of trials by snapshot, node and fingerprint of the SSTables.
type Fingerprints<'a> = BTreeMap<&'a str, BTreeMap<&'a str, BTreeMap<&'a str, Vec<usize>>>>;

fn fingerprints(view: &RunView) -> Fingerprints<'_> {
    let mut all: Fingerprints<'_> = BTreeMap::new();
    for trial in &view.findings.trials {
        let Some(data) = &trial.data else { continue };
        let nodes = all.entry(&data.snapshot).or_default();
        for (node, fingerprint) in &data.fingerprints {
            let trials = nodes.entry(node).or_default().entry(fingerprint).or_default();
            trials.push(trial.index);
        }
    }
    all
}

fn equality(all: &Fingerprints<'_>) -> String {
    let differs = |(snapshot, nodes): (&&str, &BTreeMap<&str, BTreeMap<&str, Vec<usize>>>)| {
        let mine = nodes.iter().filter(|(_, found)| found.len() > 1);
        let names: Vec<&str> = mine.map(|(node, _)| *node).collect();
        (!names.is_empty()).then(|| format!("{snapshot} on {}", names.join(", ")))
    };
    let different: Vec<String> = all.iter().filter_map(differs).collect();
    if all.values().all(BTreeMap::is_empty) {
        "Trials began with a restored snapshot, but the run did not record its fingerprints.".into()
    } else if different.is_empty() {
        "Trials with one snapshot began with the same SSTables: their fingerprints are equal on \
         every node."
            .into()
    } else {
        format!(
            "The SSTables were not the same in all trials with one snapshot: {}.",
            different.join("; ")
        )
    }
}

fn table(view: &RunView) -> Table {
    let trials = view.findings.trials.iter();
    let restored = trials.filter_map(|trial| Some((trial, trial.data.as_ref()?)));
    let caption = "The state of the data that trials began with";
    trial_table(view, caption, restored)
        .text("Snapshot", |(_, data)| &data.snapshot)
        .text("Restored", |(_, data)| data.how.as_str())
        .number("Took", "", |(_, data)| number::duration(data.seconds))
        .number("SSTables", "", |(_, data)| number::count(data.sstables))
        .number("Size", "", |(_, data)| number::bytes(data.bytes))
        .wide_text("Fingerprint", |(_, data)| fingerprint(data))
        .text("Page cache", |(_, data)| data.page_cache.as_str())
        .foot(
            "Took: the time to restore all nodes. Online: truncate and import while the nodes run. \
             Offline: swap files while the nodes are stopped.",
        )
        .build()
}

/// Formats the fingerprint of the first node. The detail states this node's name and the number of
/// further nodes.
fn fingerprint(data: &DataRecord) -> Cell {
    let Some((node, text)) = data.fingerprints.first_key_value() else {
        return Cell::absent();
    };
    let shown: String = text.chars().take(FINGERPRINT_CHARS).collect();
    let more = data.fingerprints.len() - 1;
    let detail = if more > 0 {
        format!("{node}, {more} more")
    } else {
        node.clone()
    };
    Cell::new(shown).detail(detail)
}

/// Returns the table of the cost of each probe over all trials, and the list of problems. Returns
/// an empty list if no probe ran except `others`.
pub fn probes(view: &RunView) -> Vec<Block> {
    let trials = view.findings.trials.iter();
    let all: Vec<(usize, &ProbeRecord)> =
        trials.flat_map(|t| t.probes.iter().map(|p| (t.index, p))).collect();
    let names: BTreeSet<&str> = all.iter().map(|(_, p)| p.probe.as_str()).collect();
    // Every trial runs the probe `others`, and its cost is part of rule V17. So the page has no
    // table if no other probe ran.
    if names.iter().all(|name| *name == "others") {
        return Vec::new();
    }
    let each = names.iter().map(|name| {
        let mine = all.iter().filter(|(_, probe)| probe.probe == *name);
        (*name, mine.copied().collect())
    });
    let by_name: Vec<(&str, Vec<(usize, &ProbeRecord)>)> = each.collect();
    let mut blocks = vec![Block::Table(costs(&by_name))];
    let problems = problems(&all);
    if !problems.is_empty() {
        blocks.push(Block::List(
            "Values that probes could not read".into(),
            problems,
        ));
    }
    blocks
}

fn costs(by_name: &[(&str, Vec<(usize, &ProbeRecord)>)]) -> Table {
    type Probes<'a> = [(usize, &'a ProbeRecord)];
    let sum = |all: &Probes<'_>, part: fn(&ProbeRecord) -> u64| -> u64 {
        all.iter().map(|(_, probe)| part(probe)).sum()
    };
    let most = |all: &Probes<'_>, part: fn(&ProbeRecord) -> f64| {
        all.iter().map(|(_, probe)| part(probe)).fold(0.0, f64::max)
    };
    Table::from_records("Cost of the probes", by_name)
        .text("Probe", |(name, _)| *name)
        .number("Places", "", |(_, all)| {
            let places: BTreeSet<&str> = all.iter().map(|(_, p)| p.place.as_str()).collect();
            number::count(places.len() as u64)
        })
        // Imported files have no sampling interval.
        .number("Every", "", |(_, all)| {
            Some(most(all, |p| p.period_s)).filter(|s| *s > 0.0).map(number::duration)
        })
        .number("Looks", "", |(_, all)| number::count(sum(all, |p| p.looks)))
        .number("Missed", "", |(_, all)| {
            Cell::zero_expected(sum(all, |p| p.missed), Tone::Warn)
        })
        .number("Values", "", |(_, all)| {
            number::count(sum(all, |p| p.values))
        })
        .number("CPU", "share of a core, at most", |(_, all)| {
            let share = cpu_share(all);
            let is_much = share.is_some_and(|share| share > CPU_SHARE_WARN);
            Cell::from(share.map(number::percent)).tone(if is_much {
                Tone::Warn
            } else {
                Tone::Plain
            })
        })
        .number("Longest reading", "", |(_, all)| {
            format!("{} ms", number::ms(most(all, |p| p.longest_s) * 1e3))
        })
        .number("Problems", "", |(_, all)| {
            let problems: BTreeSet<&String> = all.iter().flat_map(|(_, p)| &p.problems).collect();
            Cell::zero_expected(problems.len() as u64, Tone::Warn)
        })
        .foot(format!(
            "CPU: CPU time of cassay while the probe ran, in the trial with the highest value. \
             Above {}, the probe itself is a significant load.",
            number::percent(CPU_SHARE_WARN)
        ))
        .build()
}

/// Returns the largest share of a core that a probe used in one trial, as the sum over its places.
/// Returns `None` if the probe has no sampling interval.
fn cpu_share(all: &[(usize, &ProbeRecord)]) -> Option<f64> {
    let mut shares: BTreeMap<usize, f64> = BTreeMap::new();
    for (trial, probe) in all {
        let ran_s = (probe.looks + probe.missed) as f64 * probe.period_s;
        if ran_s > 0.0 {
            *shares.entry(*trial).or_default() += probe.cpu_s / ran_s;
        }
    }
    shares.into_values().max_by(f64::total_cmp)
}

type Where<'a> = (BTreeSet<&'a str>, BTreeSet<usize>);

/// Formats each distinct problem once, with its probe, its places and the numbers of its trials.
fn problems(all: &[(usize, &ProbeRecord)]) -> Vec<String> {
    let mut known: BTreeMap<[&str; 2], Where<'_>> = BTreeMap::new();
    for (trial, probe) in all {
        for problem in &probe.problems {
            let (places, trials) = known.entry([&probe.probe, problem]).or_default();
            places.insert(&probe.place);
            trials.insert(*trial);
        }
    }
    let sentence = |([probe, problem], (places, trials)): ([&str; 2], Where<'_>)| {
        let places: Vec<&str> = places.into_iter().filter(|p| !p.is_empty()).collect();
        let at = if places.is_empty() {
            String::new()
        } else {
            format!(" of {}", places.join(", "))
        };
        format!("{probe}{at}, in {} trials: {problem}", trials.len())
    };
    known.into_iter().map(sentence).collect()
}
