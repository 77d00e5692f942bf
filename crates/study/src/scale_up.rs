//! Expands `procedure.scale_up`, which applies the same load to an increasing part of a machine.
//! The key becomes an additional axis of a matrix, with a value for each number of units. Another
//! procedure defines the load.
//!
//! Like a grid, `scale_up` is expanded before other code examines the study. So every number is
//! checked by the rules of the key that it sets. Trials, blocks and comparisons are those of a
//! matrix.

use crate::grid::{beside, entry, entry_of, laid};
use crate::merge::merge;
use crate::units::parse_count;
use topology::Units;
use yaml::{Diagnostics, Entry, Node, Place, Raw};

/// Path of the key that requests a scale-up.
pub const PATH: &str = "procedure.scale_up";

pub const AXIS: &str = "units";

const LOCAL: &str = "target.local";
const TOPOLOGY: &str = "target.local.topology";
const COUNT_MAX: usize = 32;
/// Procedures that search for a load within a bound. Each of them defines its own bound.
const SEARCHES: [&str; 3] = ["peak", "band", "latency_target"];

/// Words that request one node on each unit of a kind, each with the kind of unit.
const PER_UNIT: [(&str, Units); 4] = [
    ("one-per-core", Units::Cores),
    ("one-per-l3", Units::L3),
    ("one-per-numa", Units::Numa),
    ("one-per-socket", Units::Sockets),
];

/// Adds the axis of a scale-up to the matrix of a study. Reports wrong parts and omits them.
pub fn expand(base: &mut Node, target_replaced: bool, out: &mut Diagnostics) {
    let Some(asked) = base.find(PATH).cloned() else {
        return;
    };
    if base.find(LOCAL).is_none() {
        if !target_replaced {
            let message = format!("`{PATH}` only applies to nodes that the study starts");
            let hint = "use `target: {local: …}`, or remove this key".to_owned();
            out.add(&asked.place, message, Some(hint));
        }
        return;
    }
    let text = |key: &str| asked.find(key).and_then(Node::text);
    // An unknown word has no unit here. The check of the study refuses such a word, and texts that
    // are not numbers.
    let units = text("units").and_then(Units::from_name);
    let counts = asked.find("counts").map(|node| &node.raw);
    let (Some(units), Some(Raw::List(counts))) = (units, counts) else {
        return;
    };
    let per_unit = match text("instances") {
        None | Some("one") => false,
        Some(word) => is_of(units, word, &asked, out),
    };
    if counts.len() > COUNT_MAX {
        let message = format!(
            "`{PATH}.counts` has {} numbers; the maximum is {COUNT_MAX}",
            counts.len()
        );
        out.add(&asked.place, message, None);
        return;
    }
    if per_unit {
        one_host(base, &asked.place, out);
    }
    one_bound(base, &asked, out);
    not_in_sides(base, out);
    spell_out(base);
    let numbers = counts.iter().map(|count| parse_count(count.text().unwrap_or_default()));
    // The check of the study reports texts that are not numbers. In that case no axis is added. If
    // only this number were omitted, the following names would belong to the wrong numbers.
    let Ok(numbers) = numbers.collect::<Result<Vec<u64>, _>>() else {
        return;
    };
    let levels: Vec<Entry> = counts
        .iter()
        .zip(numbers)
        .map(|(count, number)| {
            let over = level(base, (units, count), per_unit);
            entry(&name(units, number), &count.place, over)
        })
        .collect();
    if levels.is_empty() {
        return;
    }
    let place = asked.place.clone();
    let raw = Raw::Map(levels);
    let axis = entry(
        AXIS,
        &place,
        Node {
            raw,
            place: place.clone(),
        },
    );
    beside(base, &asked, (PATH, vec![axis]), out);
}

/// Returns the name of a value of the axis, such as `1-core` or `4-numa`.
fn name(units: Units, count: u64) -> String {
    let one = match units {
        Units::Cores if count == 1 => "core",
        Units::Sockets if count == 1 => "socket",
        _ => units.name(),
    };
    format!("{count}-{one}")
}

/// Returns true if `word` requests one node on each of these units.
fn is_of(units: Units, word: &str, asked: &Node, out: &mut Diagnostics) -> bool {
    match PER_UNIT.iter().find(|(known, _)| *known == word) {
        // The check of the study refuses an unknown word.
        None => false,
        Some((_, of)) if *of == units => true,
        Some((_, of)) => {
            let message = format!(
                "`{PATH}` divides the machine into {}, but `instances: {word}` requires other \
                 units",
                units.name()
            );
            let hint = format!(
                "write `units: {}`, so that each unit has one node",
                of.name()
            );
            let place = asked.find("instances").map_or(&asked.place, |node| &node.place);
            out.add(place, message, Some(hint));
            false
        }
    }
}

/// Checks a study with one node on each unit. Such a study must have one host, and must not state
/// another number of nodes.
fn one_host(base: &Node, place: &Place, out: &mut Diagnostics) {
    let hint = "remove `nodes` and `nodes_per_host`, because cassay starts one node per unit";
    for key in ["nodes", "nodes_per_host"] {
        if base.find(&format!("{LOCAL}.{key}")).is_some() {
            let message = format!("`{PATH}` and `{LOCAL}.{key}` both set the number of nodes");
            out.add(place, message, Some(hint.to_owned()));
        }
    }
    let hosts = base.find(&format!("{LOCAL}.hosts")).and_then(Node::text);
    if let Some(hosts) = hosts.filter(|hosts| *hosts != "1") {
        let message = format!("`{PATH}` needs a single machine, but `{LOCAL}.hosts` is {hosts}");
        out.add(place, message, Some("write `hosts: 1`".to_owned()));
    }
}

/// Checks that a search has only the bound that it defines itself.
fn one_bound(base: &Node, asked: &Node, out: &mut Diagnostics) {
    let search = SEARCHES.iter().find(|key| base.find(&format!("procedure.{key}")).is_some());
    if let (Some(search), Some(bound)) = (search, asked.find("p99_ms")) {
        let message = format!("`{PATH}.p99_ms` and `procedure.{search}` both set a latency limit");
        let hint = format!("remove `p99_ms`, because the limit of `{search}` already applies");
        out.add(&bound.place, message, Some(hint));
    }
}

/// Checks that no side sets `procedure.scale_up`. The axis belongs to the whole study, so it would
/// also apply to the other sides.
fn not_in_sides(base: &Node, out: &mut Diagnostics) {
    let sides = |key: &str| match base.find(key).map(|node| &node.raw) {
        Some(Raw::Map(sides)) => sides.iter().map(|side| side.value.clone()).collect(),
        _ => Vec::new(),
    };
    let values = sides("matrix").into_iter().flat_map(|axis| match axis.raw {
        Raw::Map(values) => values.into_iter().map(|value| value.value).collect(),
        _ => Vec::new(),
    });
    for side in sides("variants").into_iter().chain(values) {
        if let Some(own) = side.find(PATH) {
            let message =
                format!("`{PATH}` applies to all variants of the study, but a variant sets it");
            let hint = "set it once, in `procedure` of the study".to_owned();
            out.add(&own.place, message, Some(hint));
        }
    }
}

fn level(base: &Node, (units, count): (Units, &Node), per_unit: bool) -> Node {
    let word = Node::plain(units.name(), count.place.clone());
    let mut over = laid(&format!("{TOPOLOGY}.units"), word);
    merge(
        &mut over,
        &laid(&format!("{TOPOLOGY}.count"), count.clone()),
        "",
    );
    if per_unit {
        let key = match base.find(&format!("{LOCAL}.hosts")) {
            Some(_) => "nodes_per_host",
            None => "nodes",
        };
        merge(
            &mut over,
            &laid(&format!("{LOCAL}.{key}"), count.clone()),
            "",
        );
    }
    over
}

/// Replaces a topology that is a single word by a mapping that contains this word, in the study and
/// in its variants. A number of units can then be merged into the mapping.
fn spell_out(base: &mut Node) {
    let topology = ["target", "local", "topology"];
    spell(base, &topology);
    for key in ["variants", "matrix"] {
        let Some(sides) = entry_of(base, key) else {
            continue;
        };
        let Raw::Map(sides) = &mut sides.value.raw else {
            continue;
        };
        for side in sides {
            match (&mut side.value.raw, key) {
                (Raw::Map(values), "matrix") => {
                    values.iter_mut().for_each(|value| spell(&mut value.value, &topology));
                }
                _ => spell(&mut side.value, &topology),
            }
        }
    }
}

fn spell(node: &mut Node, path: &[&str]) {
    match path {
        [] => {
            if node.text().is_some() {
                let word = node.clone();
                *node = laid("placing", word);
            }
        }
        [key, rest @ ..] => {
            if let Some(entry) = entry_of(node, key) {
                spell(&mut entry.value, rest);
            }
        }
    }
}

#[cfg(test)]
mod tests;
