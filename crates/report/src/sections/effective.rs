//! Shows the effective configuration that the nodes reported. The differences come first, and all
//! settings follow behind folds.
//!
//! Every node has a different address, name and host, so a difference in one of these is not a
//! difference in configuration.

use crate::merged_points::{variant_name, variants};
use crate::page::{Block, Cell, Section, Table};
use crate::probe_series::natural;
use crate::run_view::{RunView, TrialView};
use crate::sections::proofs;
use analysis::VariantName;
use std::collections::{BTreeMap, BTreeSet};
use store::record::NodeRecord;

/// Maximum length of a value in a table. Longer values (lists of tokens, class paths) are
/// truncated.
const VALUE_CHARS_MAX: usize = 160;
/// Placeholder that replaces the address or name of a node in one of its values.
const OWN: &str = "‹own›";

/// Group of keys: settings, JVM flags, or facts about the JVM and its container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SettingKind {
    Setting,
    Flag,
    Jvm,
}

impl SettingKind {
    const ALL: [SettingKind; 3] = [SettingKind::Setting, SettingKind::Flag, SettingKind::Jvm];

    fn name(self) -> &'static str {
        match self {
            SettingKind::Setting => "setting",
            SettingKind::Flag => "JVM flag",
            SettingKind::Jvm => "JVM",
        }
    }

    fn title(self) -> &'static str {
        match self {
            SettingKind::Setting => "Cassandra's own settings in effect",
            SettingKind::Flag => "JVM flags that are not the defaults",
            SettingKind::Jvm => "The JVM, and its view of the machine",
        }
    }

    fn settings(self, node: &NodeRecord) -> &BTreeMap<String, String> {
        match self {
            SettingKind::Setting => &node.settings,
            SettingKind::Flag => &node.flags,
            SettingKind::Jvm => &node.jvm,
        }
    }
}

/// Values of one key, by variant and node. A node has several values if the value changed between
/// trials of one variant.
type Values<'a> = BTreeMap<(usize, &'a str), BTreeSet<String>>;

struct Effective<'a> {
    variants: Vec<&'a VariantName>,
    nodes: Vec<&'a str>,
    keys: BTreeMap<(SettingKind, &'a str), Values<'a>>,
}

impl<'a> Effective<'a> {
    fn new(view: &'a RunView) -> Effective<'a> {
        let variants = variants(view);
        let mut keys: BTreeMap<(SettingKind, &str), Values<'_>> = BTreeMap::new();
        let mut nodes: Vec<&str> = Vec::new();
        for trial in &view.trials {
            let variant = variant_of(view, trial, &variants);
            for node in trial.nodes.iter().flat_map(|n| &n.nodes) {
                if !nodes.contains(&node.name.as_str()) {
                    nodes.push(&node.name);
                }
                for kind in SettingKind::ALL {
                    for (key, value) in kind.settings(node) {
                        let values = keys.entry((kind, key)).or_default();
                        let at = (variant, node.name.as_str());
                        values.entry(at).or_default().insert(without_own(value, node));
                    }
                }
            }
        }
        nodes.sort_by(|a, b| natural(a, b));
        Effective {
            variants,
            nodes,
            keys,
        }
    }

    fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    fn variant_values(values: &Values<'_>, variant: usize) -> BTreeSet<String> {
        let mine = values.iter().filter(|((v, _), _)| *v == variant);
        mine.flat_map(|(_, set)| set.clone()).collect()
    }

    /// Returns the values of a variant by node, if they differ. A node that is not part of this
    /// variant has no value, which does not count as a difference.
    fn apart(&self, values: &Values<'_>, variant: usize) -> Option<String> {
        let was_there = |node: &&&str| {
            let told = |v: &Values<'_>| v.contains_key(&(variant, **node));
            self.keys.values().any(told)
        };
        let nodes: Vec<&str> = self.nodes.iter().filter(was_there).copied().collect();
        let of = |node: &&str| values.get(&(variant, *node)).cloned().unwrap_or_default();
        let sets: Vec<BTreeSet<String>> = nodes.iter().map(of).collect();
        let differ = sets.iter().any(|set| *set != sets[0]);
        differ.then(|| by_value(&nodes, &sets))
    }

    fn variants_with_values(&self) -> Vec<usize> {
        let all = self.keys.values().flat_map(BTreeMap::keys);
        let told: BTreeSet<usize> = all.map(|(variant, _)| *variant).collect();
        told.into_iter().collect()
    }
}

fn variant_of(view: &RunView, trial: &TrialView, variants: &[&VariantName]) -> usize {
    let planned = view.plan.trials.iter().find(|t| t.index == trial.index);
    let name = planned.map(|t| &t.variant);
    variants.iter().position(|v| Some(*v) == name).unwrap_or(0)
}

/// Returns the value with a placeholder in place of the node's address, name and host.
fn without_own(value: &str, node: &NodeRecord) -> String {
    let address = node.address.rsplit_once(':').map_or(node.address.as_str(), |(a, _)| a);
    let mut text = value.to_owned();
    for own in [address, &node.name, &node.host] {
        // A name of at most three characters may occur in other words by chance, so it is not
        // replaced.
        if own.len() > 3 {
            text = replace_word(&text, own);
        }
    }
    text
}

/// Replaces a name that neither follows nor precedes a letter or digit. For example, `node1` is not
/// replaced at the beginning of `node10`.
fn replace_word(text: &str, word: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, found) = rest.split_at(at);
        let after = &found[word.len()..];
        let goes_on = after.starts_with(|c: char| c.is_alphanumeric());
        let began = before.ends_with(|c: char| c.is_alphanumeric());
        out.push_str(before);
        out.push_str(if goes_on || began { word } else { OWN });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Returns proofs, differences and all settings. Returns `None` if the run has neither proofs nor
/// recorded settings.
pub fn section(view: &RunView) -> Option<Section> {
    let effective = Effective::new(view);
    let mut blocks = proofs::blocks(view);
    if !effective.is_empty() {
        blocks.extend(between_variants(view, &effective));
        blocks.extend(between_nodes(view, &effective));
        blocks.extend(between_trials(view, &effective));
        blocks.extend(
            SettingKind::ALL
                .into_iter()
                .filter_map(|kind| everything(view, &effective, kind)),
        );
    }
    (!blocks.is_empty()).then(|| Section {
        id: "effective",
        title: "Configuration in effect".into(),
        lead: "The nodes reported this configuration before the measured window.".into(),
        blocks,
    })
}

/// Returns true if the run requested the configuration of its nodes.
pub fn is_known(view: &RunView) -> bool {
    let mut nodes = view.trials.iter().filter_map(|t| t.nodes.as_ref()).flat_map(|n| &n.nodes);
    nodes.any(|node| SettingKind::ALL.into_iter().any(|kind| !kind.settings(node).is_empty()))
}

pub fn cut(value: &str) -> String {
    match value.char_indices().nth(VALUE_CHARS_MAX) {
        Some((at, _)) => format!("{}… ({} bytes)", &value[..at], value.len()),
        None => value.to_owned(),
    }
}

fn value_cell(values: &BTreeSet<String>) -> Cell {
    if values.is_empty() {
        return Cell::absent();
    }
    let values: Vec<String> = values.iter().map(|v| cut(v)).collect();
    Cell::new(values.join(" | "))
}

fn between_variants(view: &RunView, all: &Effective<'_>) -> Option<Block> {
    let told = all.variants_with_values();
    if told.len() < 2 {
        return None;
    }
    let differs = |(_, values): &(&(SettingKind, &str), &Values<'_>)| {
        let sets: Vec<BTreeSet<String>> =
            told.iter().map(|v| Effective::variant_values(values, *v)).collect();
        sets.iter().any(|set| *set != sets[0])
    };
    let differing = all.keys.iter().filter(differs);
    let table = Table::from_records("Differences between the variants", differing)
        .text("Key", |((_, key), _)| *key)
        .text("What", |((kind, _), _)| kind.name())
        .each(&told, |table, variant| {
            let name = variant_name(all.variants[*variant], view);
            table.text(name, |(_, values)| {
                value_cell(&Effective::variant_values(values, *variant))
            })
        })
        .foot("All other settings were the same.")
        .unless_empty();
    let same = "All variants had the same configuration in effect.";
    Some(table.map_or_else(|| Block::Text(same.into()), Block::Table))
}

/// Lists the keys whose values differ between nodes of one variant. Variants with the same values
/// on the same nodes share a row.
fn between_nodes(view: &RunView, all: &Effective<'_>) -> Option<Block> {
    if all.nodes.len() < 2 {
        return None;
    }
    let told = all.variants_with_values();
    let mut rows = Vec::new();
    for ((kind, key), values) in &all.keys {
        let mut alike: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for variant in &told {
            if let Some(text) = all.apart(values, *variant) {
                let name = variant_name(all.variants[*variant], view);
                alike.entry(text).or_default().push(name);
            }
        }
        for (text, variants) in alike {
            let everywhere = variants.len() == told.len();
            let variants = if everywhere {
                "all".into()
            } else {
                variants.join(", ")
            };
            rows.push((*kind, *key, variants, text));
        }
    }
    let same = format!(
        "All nodes had the same value of every setting and flag, except for names and addresses of \
         the node itself ({OWN})."
    );
    let own = rows.iter().any(|(.., text)| text.contains(OWN));
    let foot = own.then(|| format!("{OWN} replaces the address, name or host of the node itself."));
    let table = Table::from_records("Differences between the nodes", &rows)
        .text("Key", |(_, key, ..)| *key)
        .text("What", |(kind, ..)| kind.name())
        .when(told.len() > 1, |table| {
            table.text("Variant", |(_, _, variants, _)| variants)
        })
        .text("Values", |(.., text)| text)
        .foot(foot.unwrap_or_default())
        .unless_empty();
    Some(table.map_or_else(|| Block::Text(same), Block::Table))
}

/// Formats values by node, such as `32: node1, node2 | 64: node3`.
fn by_value(nodes: &[&str], sets: &[BTreeSet<String>]) -> String {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for (node, set) in nodes.iter().zip(sets) {
        let value = value_cell(set).text;
        match groups.iter_mut().find(|(known, _)| *known == value) {
            Some((_, nodes)) => nodes.push(node),
            None => groups.push((value, vec![node])),
        }
    }
    let group = |(value, nodes): &(String, Vec<&str>)| format!("{value}: {}", nodes.join(", "));
    groups.iter().map(group).collect::<Vec<_>>().join(" | ")
}

/// Lists the keys whose values changed between trials of one variant on one node. Such a change
/// must not happen.
fn between_trials(view: &RunView, all: &Effective<'_>) -> Option<Block> {
    let mut changed = Vec::new();
    for ((kind, key), values) in &all.keys {
        for ((variant, node), set) in values {
            if set.len() > 1 {
                let variant = variant_name(all.variants[*variant], view);
                let text = value_cell(set).text;
                changed.push(format!(
                    "{} {key} of {node} in {variant}: {text}",
                    kind.name()
                ));
            }
        }
    }
    (!changed.is_empty())
        .then(|| Block::List("Different between trials of a variant".into(), changed))
}

fn everything(view: &RunView, all: &Effective<'_>, kind: SettingKind) -> Option<Block> {
    let told = all.variants_with_values();
    let of_variant = |values: &Values<'_>, variant: usize| {
        let mine = values.iter().filter(|((v, _), _)| *v == variant);
        let (nodes, sets): (Vec<&str>, Vec<BTreeSet<String>>) =
            mine.map(|((_, node), set)| (*node, set.clone())).unzip();
        let text = by_value(&nodes, &sets);
        match told.len() {
            1 => text,
            _ => format!("{}: {text}", variant_name(all.variants[variant], view)),
        }
    };
    let table = Table::from_records("", all.keys.iter().filter(|((k, _), _)| *k == kind))
        .text("Key", |((_, key), _)| *key)
        .text("Value", |(_, values)| {
            let distinct: BTreeSet<&BTreeSet<String>> = values.values().collect();
            match distinct.len() {
                1 => value_cell(distinct.first().expect("the set has one value")).text,
                _ => {
                    let each = told.iter().map(|variant| of_variant(values, *variant));
                    each.collect::<Vec<_>>().join("; ")
                }
            }
        })
        .unless_empty()?;
    let title = format!("{} ({})", kind.title(), table.rows.len());
    Some(Block::Details(title, vec![Block::Table(table)]))
}

/// Returns settings and flags of a whole run by name, to compare runs. If all nodes and variants
/// agree, a name has one value. Otherwise, a name has values by node and variant.
pub fn summary(view: &RunView) -> BTreeMap<String, String> {
    let all = Effective::new(view);
    let mut summary = BTreeMap::new();
    for ((kind, key), values) in &all.keys {
        let (at, sets): (Vec<(usize, &str)>, Vec<BTreeSet<String>>) =
            values.iter().map(|(at, set)| (*at, set.clone())).unzip();
        let text = if sets.iter().all(|set| *set == sets[0]) {
            value_cell(&sets[0]).text
        } else {
            let name = |(variant, node): &(usize, &str)| match all.variants.len() {
                0 | 1 => (*node).to_owned(),
                _ => format!("{node} in {}", variant_name(all.variants[*variant], view)),
            };
            let names: Vec<String> = at.iter().map(name).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            by_value(&names, &sets)
        };
        summary.insert(format!("{}: {key}", kind.name()), text);
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn per_node_values_are_not_differences() {
        let node = NodeRecord {
            name: "node1".into(),
            host: "host1".into(),
            address: "10.94.1.1:9042".into(),
            ..NodeRecord::default()
        };
        let cases = [
            ("10.94.1.1", "‹own›"),
            ("10.94.1.11", "10.94.1.11"),
            ("/data/host1/node1/commitlog", "/data/‹own›/‹own›/commitlog"),
            ("/data/node10", "/data/node10"),
            ("32", "32"),
        ];
        for (value, expected) in cases {
            assert_eq!(without_own(value, &node), expected);
        }
    }
}
