//! The sides of a comparison: the variants of a study, or every combination of its matrix.

use crate::check;
use crate::format;
use std::collections::BTreeSet;
use yaml::{Diagnostics, Node};

/// More variants than this are a typing error rather than a question: at a minute each, a block of
/// them takes more than an hour.
pub const VARIANTS_MAX: usize = 64;

/// One side before it is resolved.
#[derive(Debug)]
pub struct Side<'n> {
    /// Its name; `-` if the study has only one.
    pub name: String,
    /// What it lays over the study, in order.
    pub overs: Vec<&'n Node>,
}

/// The sides of a study, at least one. What is wrong with a matrix as a whole is said.
pub fn sides<'n>(base: &'n Node, out: &mut Diagnostics) -> Vec<Side<'n>> {
    let entries = |node: Option<&'n Node>| node.and_then(Node::entries).unwrap_or_default();
    let variants = entries(base.at("variants"));
    if !variants.is_empty() {
        let side = |entry: &'n yaml::Entry| Side {
            name: entry.key.clone(),
            overs: vec![&entry.value],
        };
        return variants.iter().map(side).collect();
    }
    let axes = entries(base.at("matrix"));
    // An axis without values is refused where it is checked; the others are looked at all the same.
    let axes: Vec<_> = axes
        .iter()
        .filter(|axis| !entries(Some(&axis.value)).is_empty())
        .collect();
    if axes.is_empty() {
        return vec![Side {
            name: "-".to_owned(),
            overs: Vec::new(),
        }];
    }
    overlaps(&axes, out);
    let count = axes.iter().fold(1usize, |count, axis| {
        count.saturating_mul(entries(Some(&axis.value)).len())
    });
    if count > VARIANTS_MAX {
        let place = &base.nearest("matrix").place;
        let message = format!("the matrix has {count} combinations; the most is {VARIANTS_MAX}");
        let hint = "leave out an axis, or make two studies of it".to_owned();
        out.add(place, message, Some(hint));
        // The values are still checked, each once.
        let values = axes.iter().flat_map(|axis| entries(Some(&axis.value)));
        let side = |value: &'n yaml::Entry| Side {
            name: value.key.clone(),
            overs: vec![&value.value],
        };
        return values.map(side).collect();
    }
    let sides = product(&axes);
    names(base, &sides, out);
    sides
}

/// Every combination, the last axis the fastest.
fn product<'n>(axes: &[&'n yaml::Entry]) -> Vec<Side<'n>> {
    let mut sides = vec![Side {
        name: String::new(),
        overs: Vec::new(),
    }];
    for axis in axes {
        let values = axis.value.entries().unwrap_or_default();
        let with = |side: &Side<'_>, value: &yaml::Entry| match side.name.as_str() {
            "" => value.key.clone(),
            name => format!("{name}-{}", value.key),
        };
        let mut longer = Vec::with_capacity(sides.len() * values.len());
        for side in &sides {
            for value in values {
                let mut overs = side.overs.clone();
                overs.push(&value.value);
                let name = with(side, value);
                longer.push(Side { name, overs });
            }
        }
        sides = longer;
    }
    sides
}

/// A combination's name is a folder, and tells it from the others.
fn names(base: &Node, sides: &[Side<'_>], out: &mut Diagnostics) {
    let place = &base.nearest("matrix").place;
    let mut seen = BTreeSet::new();
    for side in sides {
        if let Err(why) = check::name(&side.name) {
            let message = format!("the combination `{}` is not a name: {why}", side.name);
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

/// Two axes that set the same: one of them would have no effect, whatever the report says.
fn overlaps(axes: &[&yaml::Entry], out: &mut Diagnostics) {
    let mut earlier: Vec<(&str, BTreeSet<String>)> = Vec::new();
    for axis in axes {
        let mut mine = BTreeSet::new();
        for value in axis.value.entries().unwrap_or_default() {
            leaves(&value.value, "", &mut mine);
        }
        for (other, theirs) in &earlier {
            if let Some(path) = mine
                .iter()
                .find(|path| theirs.iter().any(|p| clash(p, path)))
            {
                let message = format!("the axes `{other}` and `{}` both set `{path}`", axis.key);
                let hint = "put it into one of them: the other would have no effect".to_owned();
                out.add(&axis.place, message, Some(hint));
            }
        }
        earlier.push((&axis.key, mine));
    }
}

/// Whether setting one path touches what another sets: they are equal, or one contains the other.
fn clash(a: &str, b: &str) -> bool {
    let inside = |inner: &str, outer: &str| {
        let rest = inner.strip_prefix(outer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    inside(a, b) || inside(b, a)
}

/// The paths of all that a partial study sets; a mapping that is replaced whole is one.
fn leaves(node: &Node, path: &str, out: &mut BTreeSet<String>) {
    let whole = format::REPLACED_WHOLE.contains(&format::outside_phases(path));
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
