//! Shows the hosts and nodes, with the limits of each host, each node's share of the tokens, and
//! the values that cassay could not read.
//!
//! If the clusters of trials differ only in sizes, the trials share their tables, which show the
//! sizes as ranges.

use crate::merged_points::variant_name;
use crate::number;
use crate::page::{Block, Cell, Section, Table, Tone};
use crate::probe_series::natural;
use crate::run_view::{RunView, TrialView};
use std::collections::BTreeSet;
use store::record::{HostRecord, NodeRecord, NodesRecord, RemainsRecord};

/// Used share of a volume above which compactions lack space. A size-tiered compaction may need as
/// much free space as its input takes.
const VOLUME_USED_WARN: f64 = 0.5;
const UP_AND_NORMAL: &str = "UN";

struct EqualTrials<'a> {
    trials: Vec<(usize, &'a NodesRecord)>,
}

/// Returns the tables of nodes and hosts for every kind of cluster, and lists of unknown values and
/// of tables that remain on the cluster. Returns `None` if the run has no records of nodes.
pub fn section(view: &RunView) -> Option<Section> {
    let groups = groups(&view.trials);
    if groups.is_empty() {
        return None;
    }
    let mut blocks = Vec::new();
    for group in &groups {
        let caption = if groups.len() > 1 {
            name_trials(view, group.trials.iter().map(|(index, _)| *index))
        } else {
            String::new()
        };
        blocks.push(Block::Table(nodes_table(&caption, group)));
        blocks.extend(hosts_table(&caption, group).map(Block::Table));
    }
    let records = view.trials.iter().filter_map(|t| t.nodes.as_ref());
    let unseen: BTreeSet<&str> = records.flat_map(|n| &n.unseen).map(String::as_str).collect();
    if !unseen.is_empty() {
        let sentences = unseen.into_iter().map(str::to_owned).collect();
        blocks.push(Block::List("Not observed".into(), sentences));
    }
    let remains = &view.findings.remains;
    if !remains.is_empty() {
        let sentences = remains.iter().map(RemainsRecord::words).collect();
        blocks.push(Block::List(
            "Tables and keyspaces left on the cluster after the run".into(),
            sentences,
        ));
    }
    Some(Section {
        id: "cluster",
        title: "Hosts and nodes".into(),
        lead: isolation(&groups[0].trials[0].1.isolation).into(),
        blocks,
    })
}

fn isolation(word: &str) -> &'static str {
    match word {
        "hosts" => {
            "This machine simulates all hosts. Each host has a separate network, resource limits \
             and, if the study requests it, a separate volume."
        }
        "machines" => "Every host is a separate machine, which cassay reaches by ssh.",
        "loopback" => {
            "All nodes share this machine: its CPUs, its memory, its page cache and its disk."
        }
        "attach" => {
            "cassay did not start this cluster, so the report contains only the data that the \
             cluster provides."
        }
        "null" => "The target is the null target, which is not a database.",
        _ => "",
    }
}

fn groups(trials: &[TrialView]) -> Vec<EqualTrials<'_>> {
    let mut groups: Vec<EqualTrials<'_>> = Vec::new();
    for trial in trials {
        let Some(nodes) = &trial.nodes else { continue };
        if nodes.nodes.is_empty() && nodes.hosts.is_empty() {
            continue;
        }
        let known = groups.iter_mut().find(|g| alike(g.trials[0].1, nodes));
        match known {
            Some(group) => group.trials.push((trial.index, nodes)),
            None => groups.push(EqualTrials {
                trials: vec![(trial.index, nodes)],
            }),
        }
    }
    groups
}

fn alike(a: &NodesRecord, b: &NodesRecord) -> bool {
    let host = |h: &HostRecord| (h.name.clone(), h.address.clone(), h.limits.clone());
    let node = |n: &NodeRecord| {
        let place = (
            n.name.clone(),
            n.host.clone(),
            n.rack.clone(),
            n.datacenter.clone(),
        );
        let owned = n.owns.map(|share| (share * 1e3).round() as i64);
        (place, n.version.clone(), n.state.clone(), n.tokens, owned)
    };
    a.isolation == b.isolation
        && a.hosts.iter().map(host).eq(b.hosts.iter().map(host))
        && a.nodes.iter().map(node).eq(b.nodes.iter().map(node))
}

pub fn name_trials(view: &RunView, trials: impl Iterator<Item = usize>) -> String {
    let trials: Vec<usize> = trials.collect();
    let numbers: Vec<String> = trials.iter().map(usize::to_string).collect();
    let planned = view.plan.trials.iter();
    let mine = planned.filter(|t| trials.contains(&t.index));
    let mut variants: Vec<&str> = mine.map(|t| variant_name(&t.variant, view)).collect();
    variants.sort_unstable();
    variants.dedup();
    format!(
        " of {} (trials {})",
        variants.join(", "),
        numbers.join(", ")
    )
}

fn range(values: impl Iterator<Item = Option<u64>>) -> Cell {
    let known: Vec<u64> = values.flatten().collect();
    match (known.iter().min(), known.iter().max()) {
        (Some(low), Some(high)) if number::bytes(*low) == number::bytes(*high) => {
            Cell::new(number::bytes(*low))
        }
        (Some(low), Some(high)) => Cell::new(format!(
            "{} to {}",
            number::bytes(*low),
            number::bytes(*high)
        )),
        _ => Cell::absent(),
    }
}

fn nodes_table(of: &str, group: &EqualTrials<'_>) -> Table {
    let first = group.trials[0].1;
    let mut nodes: Vec<&NodeRecord> = first.nodes.iter().collect();
    nodes.sort_by(|a, b| {
        let rack = a.datacenter.cmp(&b.datacenter).then_with(|| natural(&a.rack, &b.rack));
        rack.then_with(|| natural(&a.host, &b.host))
            .then_with(|| natural(&a.name, &b.name))
    });
    Table::from_records(format!("Nodes and their shares of the data{of}"), nodes)
        .text("Host", |node| &node.host)
        .text("Rack", |node| &node.rack)
        .text("Node", |node| &node.name)
        .text("State", |node| match node.state.as_str() {
            "" => Cell::absent(),
            UP_AND_NORMAL => Cell::new(UP_AND_NORMAL).tone(Tone::Good),
            state => Cell::new(state).tone(Tone::Bad),
        })
        .number("Load", "", |node| {
            range(group.trials.iter().map(|(_, record)| {
                let mine = record.nodes.iter().find(|other| other.name == node.name);
                mine.and_then(|other| other.load_bytes)
            }))
        })
        .number("Tokens", "", |node| number::count(node.tokens as u64))
        .number("Owns", "of the data", |node| node.owns.map(number::percent))
        .wide_text("CQL", |node| &node.address)
        .wide_text("Data center", |node| &node.datacenter)
        .wide_text("Cassandra", |node| &node.version)
        .foot(
            "Owned share: including replicas, so that 100 % is a complete copy of the data. Load: \
             at the start of the measured window.",
        )
        .build()
}

fn hosts_table(of: &str, group: &EqualTrials<'_>) -> Option<Table> {
    let first = group.trials[0].1;
    let mut hosts: Vec<&HostRecord> = first.hosts.iter().collect();
    hosts.sort_by(|a, b| natural(&a.name, &b.name));
    let names: BTreeSet<&str> =
        hosts.iter().flat_map(|h| h.limits.keys()).map(String::as_str).collect();
    let everywhere = hosts.iter().map(|host| {
        let records = group.trials.iter().flat_map(|(_, record)| &record.hosts);
        (
            *host,
            records.filter(|other| other.name == host.name).collect(),
        )
    });
    let rows: Vec<(&HostRecord, Vec<&HostRecord>)> = everywhere.collect();
    Table::from_records(format!("Hosts and their limits{of}"), &rows)
        .text("Host", |(host, _)| &host.name)
        .text("Address", |(host, _)| &host.address)
        .when(
            first.hosts.iter().any(|host| host.machine.is_some()),
            |table| {
                table.text("Machine", |(host, _)| {
                    host.machine.clone().unwrap_or_default()
                })
            },
        )
        .each(names, |table, name| {
            table.text(&name.replace('_', " "), |(host, _)| {
                match host.limits.get(name) {
                    Some(limit) => Cell::new(limit),
                    None => Cell::new("no limit").tone(Tone::Muted),
                }
            })
        })
        .number("Volume", "", |(host, _)| match host.volume_bytes {
            Some(bytes) => Cell::new(number::bytes(bytes)),
            None => Cell::new("the machine's").tone(Tone::Muted),
        })
        .number("In use", "", |(_, everywhere)| {
            range(everywhere.iter().map(|host| host.volume_used_bytes))
        })
        .number("At most", "of the volume", |(_, everywhere)| {
            fullest(everywhere)
        })
        .unless_empty()
}

/// Returns the cell with the largest used share of a volume at the beginning of a window.
fn fullest(hosts: &[&HostRecord]) -> Cell {
    let share = |h: &&HostRecord| {
        let total = h.volume_bytes.filter(|total| *total > 0)?;
        Some(h.volume_used_bytes? as f64 / total as f64)
    };
    match hosts.iter().filter_map(share).max_by(f64::total_cmp) {
        Some(share) if share > VOLUME_USED_WARN => {
            Cell::new(number::percent(share)).tone(Tone::Warn)
        }
        Some(share) => Cell::new(number::percent(share)),
        None => Cell::absent(),
    }
}
