//! Groups trials with equal machines and placements, and creates the table of each group.

use super::machine_records::machine_of;
use crate::number;
use crate::page::{Cell, Table, Tone};
use crate::probe_series::natural;
use crate::run_view::RunView;
use std::collections::{BTreeMap, BTreeSet};
use store::record::{NodesRecord, PlacementRecord};

/// Trials with the same machines and placements, in the order of the run. `trials` is never empty.
pub struct Group<'a> {
    pub trials: Vec<(usize, &'a NodesRecord)>,
}

/// Returns the trials, grouped by machines and placements.
pub fn groups(view: &RunView) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for trial in &view.trials {
        let Some(nodes) = &trial.nodes else { continue };
        if nodes.machines.is_empty() && nodes.placements.is_empty() {
            continue;
        }
        match groups.iter_mut().find(|group| alike(group.first(), nodes)) {
            Some(group) => group.trials.push((trial.index, nodes)),
            None => groups.push(Group {
                trials: vec![(trial.index, nodes)],
            }),
        }
    }
    groups
}

/// Returns true if two trials have the same isolation, machines and placements. Ignores threads,
/// resident memory and notes, which may differ from trial to trial.
fn alike(a: &NodesRecord, b: &NodesRecord) -> bool {
    let places = |of: &NodesRecord| -> Vec<[String; 5]> {
        let place = |one: &PlacementRecord| {
            [&one.who, &one.host, &one.cpus, &one.mems, &one.topology].map(String::clone)
        };
        let mut places: Vec<[String; 5]> = of.placements.iter().map(place).collect();
        places.sort();
        places
    };
    a.isolation == b.isolation && a.machines == b.machines && places(a) == places(b)
}

impl<'a> Group<'a> {
    pub fn first(&self) -> &'a NodesRecord {
        self.trials[0].1
    }

    /// Returns the placements in the first trial of the group. Nodes come first, ordered by name,
    /// and then the client.
    pub fn placements(&self) -> Vec<&'a PlacementRecord> {
        let mut all: Vec<&PlacementRecord> = self.first().placements.iter().collect();
        all.sort_by(|a, b| {
            let order = a.is_client().cmp(&b.is_client());
            order.then_with(|| natural(&a.who, &b.who))
        });
        all
    }

    /// Returns the placement of the same process in each trial of the group.
    pub fn everywhere(&self, one: &PlacementRecord) -> Vec<&'a PlacementRecord> {
        let is_it = |other: &&PlacementRecord| other.who == one.who && other.host == one.host;
        let trials = self.trials.iter();
        trials.filter_map(|(_, nodes)| nodes.placements.iter().find(is_it)).collect()
    }

    /// Returns the notes on the placements in all trials, without duplicates.
    pub fn notes(&self) -> Vec<String> {
        let all = self.trials.iter().flat_map(|(_, nodes)| &nodes.placements);
        let notes = all.flat_map(|one| &one.notes);
        let mut once: Vec<String> = Vec::new();
        for note in notes {
            if !once.contains(note) {
                once.push(note.clone());
            }
        }
        once
    }
}

pub fn range<T: Ord + Copy>(numbers: impl Iterator<Item = T> + Clone) -> Option<[T; 2]> {
    Some([numbers.clone().min()?, numbers.max()?])
}

/// Returns the smallest and the largest number of resident bytes over the trials, for each NUMA
/// node.
pub fn resident(all: &[&PlacementRecord]) -> BTreeMap<u32, [u64; 2]> {
    let nodes: BTreeSet<u32> =
        all.iter().flat_map(|one| one.resident_bytes.keys()).copied().collect();
    let told = || all.iter().filter(|one| !one.resident_bytes.is_empty());
    let of = |node: u32| {
        let bytes = told().map(|one| one.resident_bytes.get(&node).copied().unwrap_or(0));
        Some((node, range(bytes)?))
    };
    nodes.into_iter().filter_map(of).collect()
}

fn text_or_absent(text: &str) -> Cell {
    match text {
        "" => Cell::new("unknown").tone(Tone::Muted),
        text => Cell::new(text),
    }
}

fn written([low, high]: [String; 2]) -> String {
    if low == high {
        low
    } else {
        format!("{low} to {high}")
    }
}

/// Returns the table of the placements in a group. `of` is the end of the caption.
pub fn table(of: &str, group: &Group<'_>) -> Table {
    let caption = format!("Where nodes and client ran{of}");
    Table::from_records(caption, group.placements())
        .text("Who", |one| Cell::new(&one.who).tone(Tone::Strong))
        .text("Host", |one| {
            let is_known = machine_of(one, group.first()).is_some();
            let why = "The run has no description of this machine.";
            Cell::new(&one.host).hint(if is_known { "" } else { why })
        })
        .text("CPUs", |one| text_or_absent(&one.cpus))
        .text("Memory from", |one| text_or_absent(&one.mems))
        .number("Threads", "", |one| {
            let threads = range(group.everywhere(one).iter().map(|one| one.threads));
            written(threads.unwrap_or_default().map(|count| number::count(count as u64)))
        })
        .text("Resident, by NUMA node", |one| {
            // The table omits a NUMA node on which no trial had resident memory.
            let resident = resident(&group.everywhere(one))
                .into_iter()
                .filter(|(_, [_, high])| *high > 0)
                .map(|(node, bytes)| format!("{node}: {}", written(bytes.map(number::bytes))))
                .collect::<Vec<_>>();
            text_or_absent(&resident.join(", "))
        })
        .wide_text("Topology", |one| one.topology.as_str())
        .build()
}
