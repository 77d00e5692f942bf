//! The sides of a comparison, which are the variants of a study or all combinations of its matrix.

use crate::check;
use crate::format::sections;
use crate::screening;
use crate::settings::Axis;
use analysis::VariantName;
use std::collections::BTreeSet;
use yaml::{Diagnostics, Node};

/// Maximum number of variants. A larger number is probably a typing error, because one block takes
/// more than an hour at one minute for each trial.
pub const VARIANTS_MAX: usize = 64;

/// A side of a comparison before it is resolved.
#[derive(Debug, Default)]
pub struct Side<'n> {
    /// Name of the side. Empty if the study has only one side.
    pub name: VariantName,
    /// Partial studies that are merged into the study, in this order.
    pub overs: Vec<&'n Node>,
    /// Index of the side's value on each axis of the matrix. Empty if the study has no matrix.
    pub cell: Vec<usize>,
}

/// Returns the axes of a study's matrix, or the settings of its screening. Empty for other studies.
pub fn axes(base: &Node) -> Vec<Axis> {
    let path = match base.find("matrix") {
        Some(_) => "matrix",
        None => screening::PATH,
    };
    let axes = base.find(path).and_then(Node::entries);
    let axis = |axis: &yaml::Entry| Axis {
        name: axis.key.clone(),
        values: axis
            .value
            .entries()
            .unwrap_or_default()
            .iter()
            .map(|value| value.key.clone())
            .collect(),
        text: screening::flow_entry(axis),
        settings: axis
            .value
            .entries()
            .unwrap_or_default()
            .iter()
            .map(|value| check::any(&value.value).to_json())
            .collect(),
    };
    axes.unwrap_or_default().iter().map(axis).collect()
}

/// Returns the sides of a study. Every study has at least one side. Reports mistakes that concern
/// the whole matrix.
pub fn sides<'n>(base: &'n Node, out: &mut Diagnostics) -> Vec<Side<'n>> {
    if let Some(sides) = screening::sides(base, out) {
        return sides;
    }
    let entries = |node: Option<&'n Node>| node.and_then(Node::entries).unwrap_or_default();
    let variants = entries(base.find("variants"));
    if !variants.is_empty() {
        let side = |entry: &'n yaml::Entry| Side {
            name: entry.key.as_str().into(),
            overs: vec![&entry.value],
            ..Side::default()
        };
        return variants.iter().map(side).collect();
    }
    let axes = entries(base.find("matrix"));
    // The check of the study reports an axis without values, so such an axis is skipped here.
    let axes: Vec<_> = axes.iter().filter(|axis| !entries(Some(&axis.value)).is_empty()).collect();
    if axes.is_empty() {
        return vec![Side::default()];
    }
    overlaps(&axes, "axes", out);
    let count = axes.iter().fold(1usize, |count, axis| {
        count.saturating_mul(entries(Some(&axis.value)).len())
    });
    if count > VARIANTS_MAX {
        let place = &base.nearest("matrix").place;
        let message = format!("the matrix has {count} combinations; the maximum is {VARIANTS_MAX}");
        let hint = "remove an axis, or split the study into two".to_owned();
        out.add(place, message, Some(hint));
        // The combinations are not checked here, but each value is checked once.
        let values = axes.iter().flat_map(|axis| entries(Some(&axis.value)));
        let side = |value: &'n yaml::Entry| Side {
            name: value.key.as_str().into(),
            overs: vec![&value.value],
            ..Side::default()
        };
        return values.map(side).collect();
    }
    let sides = product(&axes);
    names(base, &sides, out);
    sides
}

/// Returns all combinations of values. The last axis varies fastest.
fn product<'n>(axes: &[&'n yaml::Entry]) -> Vec<Side<'n>> {
    let mut sides = vec![Side::default()];
    for axis in axes {
        let values = axis.value.entries().unwrap_or_default();
        let with = |side: &Side<'_>, value: &yaml::Entry| match side.name.name() {
            None => VariantName::from(value.key.as_str()),
            Some(name) => format!("{name}-{}", value.key).into(),
        };
        let mut longer = Vec::with_capacity(sides.len() * values.len());
        for side in &sides {
            for (number, value) in values.iter().enumerate() {
                longer.push(Side {
                    name: with(side, value),
                    overs: [side.overs.as_slice(), &[&value.value]].concat(),
                    cell: [side.cell.as_slice(), &[number]].concat(),
                });
            }
        }
        sides = longer;
    }
    sides
}

/// Checks that the name of each combination is a valid folder name, and that the names are unique.
fn names(base: &Node, sides: &[Side<'_>], out: &mut Diagnostics) {
    let place = &base.nearest("matrix").place;
    let mut seen = BTreeSet::new();
    for side in sides {
        if let Err(why) = check::name(side.name.as_str()) {
            let message = format!("the combination `{}` is not a valid name: {why}", side.name);
            out.add(
                place,
                message,
                Some("shorten the names of the values".to_owned()),
            );
            return;
        }
        if !seen.insert(&side.name) {
            let message = format!("two combinations are named `{}`", side.name);
            out.add(place, message, Some("rename a value".to_owned()));
            return;
        }
    }
}

/// Reports two axes (or settings of a screening) that set the same key, or of which one removes a
/// key that the other sets. In both cases, one of them would have no effect, and the results would
/// not show that.
pub fn overlaps(axes: &[&yaml::Entry], what: &str, out: &mut Diagnostics) {
    let mut earlier: Vec<(&str, BTreeSet<String>)> = Vec::new();
    for axis in axes {
        let mut mine = BTreeSet::new();
        for value in axis.value.entries().unwrap_or_default() {
            leaves(&value.value, "", &mut mine);
        }
        for (other, theirs) in &earlier {
            if let Some(path) = mine.iter().find(|path| theirs.iter().any(|p| clash(p, path))) {
                let message = format!("the {what} `{other}` and `{}` both set `{path}`", axis.key);
                let hint =
                    "set this key only once: the other setting would have no effect".to_owned();
                out.add(&axis.place, message, Some(hint));
            } else if let Some((path, gone)) = removes(&mine, theirs) {
                let message = format!(
                    "the {what} `{other}` and `{}` set `{gone}` and `{path}`, which exclude each \
                     other",
                    axis.key
                );
                let hint = "set both keys in the same value, or remove one of the keys".to_owned();
                out.add(&axis.place, message, Some(hint));
            }
        }
        earlier.push((&axis.key, mine));
    }
}

/// Returns a path of `mine` that removes a path of `theirs` when the partial studies are merged.
/// Also returns the removed path.
fn removes<'p>(
    mine: &'p BTreeSet<String>,
    theirs: &'p BTreeSet<String>,
) -> Option<(&'p String, &'p String)> {
    let key_of = |path: &str, group: &sections::Exclusive| {
        let rest = match group.path {
            "" => Some(path),
            above => path.strip_prefix(above).and_then(|rest| rest.strip_prefix('.')),
        };
        let key = rest.map(|rest| rest.split('.').next().unwrap_or(rest).to_owned());
        key.filter(|key| group.keys.contains(&key.as_str()))
    };
    let pairs = mine.iter().flat_map(|one| theirs.iter().map(move |other| (one, other)));
    let mut excluding = pairs.filter(|(one, other)| {
        sections::EXCLUSIVE.iter().any(|group| {
            let keys = [key_of(one, group), key_of(other, group)];
            matches!(keys, [Some(a), Some(b)] if a != b)
        })
    });
    excluding.next()
}

/// Returns true if setting the path `a` affects the path `b`. This is the case if the paths are
/// equal, or if one contains the other.
fn clash(a: &str, b: &str) -> bool {
    let inside = |inner: &str, outer: &str| {
        let rest = inner.strip_prefix(outer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    inside(a, b) || inside(b, a)
}

/// Collects the paths of all keys that a partial study sets. A mapping that an override replaces as
/// a whole counts as one key.
fn leaves(node: &Node, path: &str, out: &mut BTreeSet<String>) {
    let whole = sections::REPLACED_WHOLE.contains(&sections::outside_phases(path));
    let entries = node.entries().unwrap_or_default();
    if whole || entries.is_empty() {
        if !path.is_empty() {
            out.insert(path.to_owned());
        }
        return;
    }
    for entry in entries {
        let path = match path {
            "" => entry.key.clone(),
            path => format!("{path}.{}", entry.key),
        };
        leaves(&entry.value, &path, out);
    }
}
