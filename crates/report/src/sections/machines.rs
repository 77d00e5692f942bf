//! Section with pictures of the machines, which show where the nodes and the client ran.
//!
//! Trials with the same machines and placement share pictures and a table.

mod drawing;
mod machine_records;
mod sentences;
mod trial_groups;

use super::cluster::name_trials;
use crate::page::{Block, Cell, Section, Table, Tone};
use crate::run_view::RunView;
use drawing::PictureName;
use machine_records::MachineView;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use store::record::{MachineTopologyRecord, NodesRecord, PlacementRecord};
use trial_groups::Group;

/// Maximum number of pictures in the section.
const PICTURES_MAX: usize = 12;
const DISTANCES_MAX: usize = 24;

pub fn section(view: &RunView) -> Option<Section> {
    let groups = trial_groups::groups(view);
    if groups.is_empty() {
        return None;
    }
    let machines = different(&groups);
    let mut blocks: Vec<Block> = machines
        .iter()
        .map(|machine| Block::Text(format!("{}: {}", name(machine), summary(machine))))
        .collect();
    let colors = colors(&groups);
    let mut pictures = 0;
    for (at, group) in groups.iter().enumerate() {
        let of = match groups.len() {
            1 => String::new(),
            _ => name_trials(view, group.trials.iter().map(|(index, _)| *index)),
        };
        for (number, machine) in group.first().machines.iter().enumerate() {
            let title = format!("{}{of}", name(machine));
            blocks.push(if pictures < PICTURES_MAX {
                drawn(
                    PictureName {
                        id: format!("machine-{at}-{number}"),
                        title,
                    },
                    machine,
                    group,
                    &colors,
                )
            } else {
                Block::Note(
                    Tone::Muted,
                    format!(
                        "{title}: not drawn, because this page already has {PICTURES_MAX} \
                         pictures."
                    ),
                )
            });
            pictures += 1;
        }
        if !group.first().placements.is_empty() {
            blocks.push(Block::Table(trial_groups::table(&of, group)));
        }
        let said = says(group);
        if !said.is_empty() {
            blocks.push(Block::List("Meaning".into(), said));
        }
    }
    blocks.extend(cannot_show(&machines));
    blocks.extend(machines.iter().map(|machine| about(machine)));
    Some(Section {
        id: "machines",
        title: "Machines, nodes and client".into(),
        lead: "The machines as they appear to processes on the hosts, with the CPUs on which \
               threads of nodes and client may run. Boxes are not to scale."
            .into(),
        blocks,
    })
}

/// Returns the picture of a machine with its processes.
fn drawn<'a>(
    name: PictureName,
    machine: &'a MachineTopologyRecord,
    group: &Group<'a>,
    colors: &BTreeMap<&str, usize>,
) -> Block {
    let seen = MachineView::new(machine);
    let title = name.title.clone();
    match drawing::picture(name, &seen, &in_order(&seen, group), colors) {
        Some(picture) => Block::Picture(picture),
        None => Block::Note(
            Tone::Muted,
            format!("{title}: not drawn, because it has too many parts or no known parts."),
        ),
    }
}

/// Returns the content of the section as a JSON list with one entry for each group of trials.
pub fn json(view: &RunView) -> Option<Value> {
    let one = |group: &Group<'_>| {
        let placements = group.placements().into_iter().map(|one| {
            let all = group.everywhere(one);
            json!({
                "who": one.who, "host": one.host, "cpus": one.cpus, "mems": one.mems,
                "topology": one.topology,
                "threads": trial_groups::range(all.iter().map(|one| one.threads)),
                "resident_bytes": trial_groups::resident(&all),
            })
        });
        json!({
            "trials": group.trials.iter().map(|(index, _)| index).collect::<Vec<_>>(),
            "machines": group.first().machines,
            "placements": placements.collect::<Vec<_>>(),
            "notes": group.notes(),
            "says": says(group),
        })
    };
    let groups = trial_groups::groups(view);
    (!groups.is_empty()).then(|| groups.iter().map(one).collect())
}

/// Returns the processes on a machine, in the order of the table of placements.
fn in_order<'a>(
    seen: &MachineView<'a>,
    group: &Group<'a>,
) -> Vec<machine_records::PlacedProcess<'a>> {
    let order = group.placements();
    let mut placed = seen.placed(group.first());
    placed.sort_by_key(|one| order.iter().position(|other| std::ptr::eq(*other, one.record)));
    placed
}

fn different<'a>(groups: &[Group<'a>]) -> Vec<&'a MachineTopologyRecord> {
    let mut all: Vec<&MachineTopologyRecord> = Vec::new();
    for machine in groups.iter().flat_map(|group| &group.first().machines) {
        if !all.contains(&machine) {
            all.push(machine);
        }
    }
    all
}

/// Returns the index of each node's colour, which is the same in all pictures.
fn colors<'a>(groups: &[Group<'a>]) -> BTreeMap<&'a str, usize> {
    let mut colors = BTreeMap::new();
    for one in groups.iter().flat_map(Group::placements) {
        let next = colors.len();
        if !one.is_client() {
            colors.entry(one.who.as_str()).or_insert(next);
        }
    }
    colors
}

fn name(machine: &MachineTopologyRecord) -> String {
    let names: Vec<&str> = machine.hosts.iter().map(|host| host.name.as_str()).collect();
    match &names[..] {
        [] => "A machine".to_owned(),
        [one] => (*one).to_owned(),
        [first, .., last] if names.len() > 4 => {
            format!("{first} to {last}, {} hosts of one machine", names.len())
        }
        several => format!("{}, hosts of one machine", measure::number::listed(several)),
    }
}

fn summary(machine: &MachineTopologyRecord) -> String {
    drawing::summary(&MachineView::new(machine))
}

/// Returns sentences that explain the placement in a group of trials, followed by the notes.
fn says(group: &Group<'_>) -> Vec<String> {
    let record = group.first();
    let mut said = Vec::new();
    for machine in &record.machines {
        let seen = MachineView::new(machine);
        said.extend(sentences::about_client(&seen, &in_order(&seen, group)));
    }
    if said.is_empty() && is_client_elsewhere(record) {
        said.push("The client ran on another machine than the nodes.".to_owned());
    }
    said.extend(group.notes());
    said
}

/// Returns true only if the client's machine is known to differ from the machine of every node.
fn is_client_elsewhere(record: &NodesRecord) -> bool {
    let (client, nodes): (Vec<_>, Vec<_>) =
        record.placements.iter().partition(|one| one.is_client());
    let machine =
        |one: &PlacementRecord| machine_records::machine_of(one, record).map(std::ptr::from_ref);
    let Some(own) = client.first().and_then(|one| machine(one)) else {
        return false;
    };
    let is_other = |one: &PlacementRecord| machine(one).is_some_and(|machine| machine != own);
    !nodes.is_empty() && nodes.into_iter().all(is_other)
}

/// Describes the effects that machines of this size cannot show. Machines with the same limit share
/// a sentence.
fn cannot_show(machines: &[&MachineTopologyRecord]) -> Option<Block> {
    let mut by_sentence: Vec<(String, Vec<String>)> = Vec::new();
    for machine in machines {
        for sentence in sentences::about_size(&MachineView::new(machine)) {
            match by_sentence.iter_mut().find(|(known, _)| *known == sentence) {
                Some((_, names)) => names.push(name(machine)),
                None => by_sentence.push((sentence, vec![name(machine)])),
            }
        }
    }
    let sentence = |(sentence, names): (String, Vec<String>)| match machines.len() {
        1 => sentence,
        _ => format!("{}: {sentence}", names.join("; ")),
    };
    let heading = match machines.len() {
        1 => "Limits of this machine",
        _ => "Limits of these machines",
    };
    let said: Vec<String> = by_sentence.into_iter().map(sentence).collect();
    (!said.is_empty()).then(|| Block::List(heading.into(), said))
}

fn about(machine: &MachineTopologyRecord) -> Block {
    let mut facts = vec![("Source".to_owned(), machine.source.clone())];
    facts.extend(may_use(machine));
    if !machine.offline.is_empty() {
        facts.push(("CPUs offline".to_owned(), machine.offline.clone()));
    }
    let devices: BTreeSet<String> = machine
        .devices
        .iter()
        .map(|device| match device.numa_node {
            Some(node) => format!("{} near NUMA node {node}", device.name),
            None => format!("{}, at an unknown location", device.name),
        })
        .collect();
    if !devices.is_empty() {
        let devices: Vec<String> = devices.into_iter().collect();
        facts.push(("Devices".to_owned(), devices.join("; ")));
    }
    facts.extend(machine.notes.iter().map(|note| ("Note".to_owned(), note.clone())));
    let mut blocks = vec![Block::Facts(facts)];
    blocks.extend(distances(machine).map(Block::Table));
    Block::Details(format!("More about {}", name(machine)), blocks)
}

/// Describes the CPUs and NUMA nodes that the hosts of a machine may use. Hosts with the same CPUs
/// and NUMA nodes share an entry.
fn may_use(machine: &MachineTopologyRecord) -> Vec<(String, String)> {
    let mut by_parts: Vec<(String, Vec<&str>)> = Vec::new();
    for host in &machine.hosts {
        let may = format!("CPUs {}, memory of NUMA nodes {}", host.cpus, host.mems);
        match by_parts.iter_mut().find(|(known, _)| *known == may) {
            Some((_, names)) => names.push(&host.name),
            None => by_parts.push((may, vec![&host.name])),
        }
    }
    let fact = |(may, names): (String, Vec<&str>)| (format!("{} may use", names.join(", ")), may);
    by_parts.into_iter().map(fact).collect()
}

fn distances(machine: &MachineTopologyRecord) -> Option<Table> {
    let rows = &machine.distances;
    if !(2..=DISTANCES_MAX).contains(&rows.len()) {
        return None;
    }
    let nodes = &machine.numa_nodes;
    let caption = "Distances between NUMA nodes, as the firmware states them";
    let table = Table::from_records(caption, nodes.iter().zip(rows))
        .text("From node", |(node, _)| node.os.to_string())
        .each(nodes.iter().enumerate(), |table, (at, node)| {
            table.number(&node.os.to_string(), "", |(_, row)| match row.get(at) {
                Some(0) => Cell::absent(),
                distance => distance.map(u32::to_string).into(),
            })
        });
    Some(table.build())
}
