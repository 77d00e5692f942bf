//! Expands `procedure.grid`, which declares axes, into existing keys. The axis of threads or rates
//! becomes a sweep. Each other axis becomes an axis of a matrix.
//!
//! The grid is expanded in its written form, before other code examines the study. So every value
//! is checked at its place in the grid, by the rules of the key that it sets. Later steps need no
//! code for grids. The names of levels are made from their values. The axes of the grid are
//! combined with a matrix or variants of the study.

use crate::units;
use yaml::{Diagnostics, Entry, Node, Place, Raw, did_you_mean};

pub const PATH: &str = "procedure.grid";

/// An axis of a grid, other than the axis of the load.
struct Axis {
    name: &'static str,
    /// Key that the values of the axis set. `None` if the key depends on the workload.
    sets: Option<&'static str>,
}

const AXES: [Axis; 6] = [
    axis("consistency", "workload.consistency"),
    axis("density", "data.load.bytes_per_node"),
    axis("heap", "target.local.heap"),
    axis("replication", "keyspace.replication"),
    Axis {
        name: "payload",
        sets: None,
    },
    axis("version", "target.local.cassandra"),
];

const fn axis(name: &'static str, sets: &'static str) -> Axis {
    Axis {
        name,
        sets: Some(sets),
    }
}

/// Names of the axes whose values become the points of every combination.
const LOADS: [&str; 2] = ["threads", "rate"];

/// Parameters that set the size of the columns of a row. Each entry has the workload, the name of
/// the parameter, and the default number of columns that share the bytes.
const PAYLOADS: [(&str, &str, Option<u64>); 2] = [
    ("kv", "value_size", None),
    ("standard1", "column_size", Some(5)),
];

/// Replaces the grid of a study by the keys that it represents. Reports wrong parts and omits them.
/// If the command line replaces the target, omits axes that set the study's own target.
pub fn expand(base: &mut Node, target_replaced: bool, out: &mut Diagnostics) {
    let Some(grid) = base.find(PATH).cloned() else {
        return;
    };
    let Some(axes) = grid.entries().filter(|axes| !axes.is_empty()) else {
        let hint = "for example: grid: {consistency: [ONE, QUORUM], threads: [100, 200]}";
        out.add(
            &grid.place,
            format!("`{PATH}` has no axes"),
            Some(hint.to_owned()),
        );
        return;
    };
    let mut points = Vec::new();
    let mut matrix = Vec::new();
    for axis in axes {
        match values(axis, out) {
            None => {}
            Some(_) if LOADS.contains(&axis.key.as_str()) => points.push(axis.clone()),
            Some(_) if !target_replaced && lacks_target(base, axis, out) => {}
            Some(values) => matrix.extend(matrix_axis(base, axis, values, out)),
        }
    }
    load(base, &grid, points, out);
    if matrix.is_empty() {
        return;
    }
    beside(base, &grid, (PATH, matrix), out);
}

/// Returns the values of an axis. `None` if the axis is unknown or has no values.
fn values<'n>(axis: &'n Entry, out: &mut Diagnostics) -> Option<&'n [Node]> {
    let names = || AXES.iter().map(|axis| axis.name).chain(LOADS);
    let key = axis.key.as_str();
    if !names().any(|name| name == key) {
        let hint = did_you_mean(key, names()).unwrap_or_else(|| {
            format!(
                "the axes of a grid are {}",
                names().collect::<Vec<_>>().join(", ")
            )
        });
        out.add(
            &axis.place,
            format!("`{key}` is not an axis of a grid"),
            Some(hint),
        );
        return None;
    }
    match &axis.value.raw {
        Raw::List(items) if !items.is_empty() => Some(items),
        _ => {
            let message = format!(
                "`{PATH}.{key}` is {}; it must be a list of values",
                axis.value.describe()
            );
            let hint = format!("write `{key}: [{}]`", axis.value.text().unwrap_or("…"));
            out.add(&axis.value.place, message, Some(hint));
            None
        }
    }
}

/// Returns true if an axis sets local nodes but the study has no local target. Merging such an axis
/// would add a second target.
fn lacks_target(base: &Node, axis: &Entry, out: &mut Diagnostics) -> bool {
    const LOCAL: &str = "target.local";
    let known = AXES.iter().find(|known| known.name == axis.key);
    let is_local = known.and_then(|known| known.sets).is_some_and(|path| path.starts_with(LOCAL));
    let lacks = is_local && base.find(LOCAL).is_none();
    if lacks {
        let message = format!(
            "`{PATH}.{}` only applies to nodes that the study starts",
            axis.key
        );
        let hint = "use `target: {local: …}`, or remove the axis".to_owned();
        out.add(&axis.place, message, Some(hint));
    }
    lacks
}

fn matrix_axis(base: &Node, axis: &Entry, values: &[Node], out: &mut Diagnostics) -> Option<Entry> {
    let mut levels: Vec<Entry> = Vec::new();
    for value in values {
        let Some(name) = level_name(value) else {
            let message = format!("`{PATH}.{}` has {} as a value", axis.key, value.describe());
            let hint = "write a single value such as 512MiB, or use `matrix` to set several keys"
                .to_owned();
            out.add(&value.place, message, Some(hint));
            continue;
        };
        if levels.iter().any(|level| level.key == name) {
            let message = format!("`{PATH}.{}` has `{name}` twice", axis.key);
            out.add(&value.place, message, Some("remove one of them".to_owned()));
            continue;
        }
        if let Some(over) = sets(base, axis, value, out) {
            levels.push(entry(&name, &value.place, over));
        }
    }
    if levels.is_empty() {
        return None;
    }
    let raw = Raw::Map(levels);
    let place = axis.value.place.clone();
    Some(Entry {
        value: Node { raw, place },
        ..axis.clone()
    })
}

/// Returns the name of the level for a value. The name is the text of the value, with `-` in place
/// of characters that names do not allow.
fn level_name(value: &Node) -> Option<String> {
    let text = value.text()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let name: String = text.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    (!name.is_empty()).then_some(name)
}

fn sets(base: &Node, axis: &Entry, value: &Node, out: &mut Diagnostics) -> Option<Node> {
    let known = AXES.iter().find(|known| known.name == axis.key)?;
    match known.sets {
        Some(path) => Some(laid(path, value.clone())),
        None => payload(base, axis, value, out),
    }
}

/// Returns the partial study that sets the size of a row in bytes, by a parameter of the workload.
fn payload(base: &Node, axis: &Entry, value: &Node, out: &mut Diagnostics) -> Option<Node> {
    let workload = base.find("workload.use").and_then(Node::text).unwrap_or("");
    let known = PAYLOADS.iter().find(|(name, ..)| *name == workload);
    let Some((_, param, columns)) = known else {
        let names: Vec<&str> = PAYLOADS.iter().map(|(name, ..)| *name).collect();
        let message = format!(
            "`{PATH}.payload`: the workload `{workload}` has no parameter for the row size"
        );
        let hint = format!(
            "only {} have such a parameter; for other workloads, use `matrix`",
            names.join(" and ")
        );
        out.add(&axis.place, message, Some(hint));
        return None;
    };
    let written = base.find("workload.params.columns").and_then(Node::text);
    let columns = match (columns, written.map(units::parse_count)) {
        (None, _) => 1,
        (Some(default), None) => *default,
        (Some(_), Some(Ok(number))) => number.max(1),
        // If the number of columns is invalid, the check of the workload reports it.
        (Some(_), Some(Err(_))) => return None,
    };
    let bytes = match units::parse_bytes(value.text().unwrap_or_default()) {
        Ok(bytes) if bytes > 0 && bytes.is_multiple_of(columns) => bytes,
        other => {
            let message = match other {
                Err(why) => format!("`{PATH}.payload`: {why}"),
                Ok(bytes) => format!(
                    "`{PATH}.payload` is {bytes} bytes, which is not divisible by {columns} columns"
                ),
            };
            let shared = 100 * columns;
            let hint = format!("write a size divisible by {columns}: {shared}B");
            out.add(&value.place, message, Some(hint));
            return None;
        }
    };
    let size = Node::plain(&(bytes / columns).to_string(), value.place.clone());
    Some(laid(&format!("workload.params.{param}"), size))
}

/// Replaces the grid in the procedure by a sweep over its points. Reports a grid that does not have
/// exactly one load, and a grid beside another procedure.
fn load(base: &mut Node, grid: &Node, mut points: Vec<Entry>, out: &mut Diagnostics) {
    let beside = base.find("procedure").and_then(Node::entries).unwrap_or_default();
    let others = beside
        .iter()
        .filter(|entry| !matches!(entry.key.as_str(), "grid" | "arrival" | "scale_up"));
    for other in others {
        let message = format!("the procedure has a grid and `{}`", other.key);
        let hint =
            "the grid already measures all values of its `threads` or `rate`: remove one of the \
             two procedures"
                .to_owned();
        out.add(&other.place, message, Some(hint));
    }
    if points.len() != 1 {
        let message = match points.len() {
            0 => format!("`{PATH}` has no load"),
            _ => format!("`{PATH}` has both threads and rate"),
        };
        let hint = "add either `threads` or `rate`: a list of at least one value".to_owned();
        out.add(&grid.place, message, Some(hint));
    }
    if points.is_empty() {
        return;
    }
    let place = grid.place.clone();
    points.truncate(1);
    let raw = Raw::Map(points);
    let sweep = Node { raw, place };
    if let Some(procedure) = entry_of(base, "procedure")
        && let Raw::Map(entries) = &mut procedure.value.raw
    {
        for entry in entries.iter_mut().filter(|entry| entry.key == "grid") {
            entry.key = "sweep".to_owned();
            entry.value = sweep.clone();
        }
    }
}

/// Combines the axes at a path with the matrix or variants of the study.
pub fn beside(
    base: &mut Node,
    grid: &Node,
    (path, axes): (&str, Vec<Entry>),
    out: &mut Diagnostics,
) {
    if base.find("screen").is_some() {
        let message = format!(
            "the study has both `{path}` and `screen`, but `screen` itself chooses the combinations"
        );
        let hint = "move one of the two keys to another study".to_owned();
        out.add(&grid.place, message, Some(hint));
        return;
    }
    // If the study has variants as well as a matrix, the check of the study reports this.
    let has_matrix = base.find("matrix").is_some();
    if let Some(variants) = entry_of(base, "variants").filter(|_| !has_matrix) {
        // The existing variants become an axis that comes before the new axes.
        let sides = variants.value.clone();
        let place = variants.place.clone();
        let raw = Raw::Map(vec![entry("variant", &place, sides)]);
        variants.key = "matrix".to_owned();
        variants.value.raw = raw;
    }
    if base.find("matrix").is_none()
        && let Raw::Map(entries) = &mut base.raw
    {
        let raw = Raw::Map(Vec::new());
        let place = grid.place.clone();
        entries.push(entry("matrix", &grid.place, Node { raw, place }));
    }
    let Some(matrix) = entry_of(base, "matrix") else {
        return;
    };
    let Raw::Map(known) = &mut matrix.value.raw else {
        return;
    };
    for axis in axes {
        if known.iter().any(|other| other.key == axis.key) {
            let message = format!("`matrix` and `{path}` both have an axis `{}`", axis.key);
            let hint = "rename the axis of the matrix, or remove one of the two axes".to_owned();
            out.add(&axis.place, message, Some(hint));
            continue;
        }
        known.push(axis);
    }
}

/// Returns the entry of a key. `None` if the node has no such key.
pub fn entry_of<'n>(base: &'n mut Node, key: &str) -> Option<&'n mut Entry> {
    match &mut base.raw {
        Raw::Map(entries) => entries.iter_mut().find(|entry| entry.key == key),
        _ => None,
    }
}

pub fn entry(key: &str, place: &Place, value: Node) -> Entry {
    Entry {
        key: key.to_owned(),
        place: place.clone(),
        value,
        earlier: None,
    }
}

/// Makes a mapping with a value at a dotted path. Every key on the path has the place of the value.
pub fn laid(path: &str, value: Node) -> Node {
    let place = value.place.clone();
    path.rsplit('.').fold(value, |value, key| Node {
        raw: Raw::Map(vec![entry(key, &place, value)]),
        place: place.clone(),
    })
}

#[cfg(test)]
mod tests {
    use crate::resolve::resolve;
    use crate::settings::{Overrides, Study};
    use target_spec::Target;

    fn study(rest: &str) -> Result<Study, String> {
        let text = format!("study: s\nquestion: q\n{rest}\n");
        resolve("s", &text, &Overrides::default()).map_err(|out| out.to_string())
    }

    const LOCAL: &str =
        "target: {local: {nodes: 1}}\nworkload: {use: standard1, mix: {write: 1}}\n";

    #[test]
    fn a_grid_is_the_matrix_and_the_sweep_that_it_stands_for() {
        let grid = study(&format!(
            "{LOCAL}procedure: {{grid: {{consistency: [ONE, QUORUM], heap: [512MiB, 1GiB], \
             payload: [170B, 340B], threads: [2, 4]}}}}"
        ))
        .unwrap();
        let axes = "matrix:
  consistency:
    ONE: {workload: {consistency: ONE}}
    QUORUM: {workload: {consistency: QUORUM}}
  heap: {512MiB: {target: {local: {heap: 512MiB}}}, 1GiB: {target: {local: {heap: 1GiB}}}}
  payload:
    170B: {workload: {params: {column_size: 34}}}
    340B: {workload: {params: {column_size: 68}}}";
        let written = study(&format!(
            "{LOCAL}procedure: {{sweep: {{threads: [2, 4]}}}}\n{axes}"
        ))
        .unwrap();
        assert_eq!(grid.names(), written.names());
        assert_eq!(
            (grid.variants.len(), grid.names()[7].as_str()),
            (8, "QUORUM-1GiB-340B")
        );
        for (one, other) in grid.variants.iter().zip(&written.variants) {
            assert_eq!(
                format!("{:?}", one.settings),
                format!("{:?}", other.settings)
            );
            assert_eq!(one.cell, other.cell);
        }
        let axes: Vec<&str> = grid.axes.iter().map(|axis| axis.name.as_str()).collect();
        assert_eq!(axes, ["consistency", "heap", "payload"]);
        let slugs = |study: &Study| -> Vec<String> {
            let plan = crate::plan::plan(study).unwrap();
            plan.trials.iter().map(|turn| turn.slug.clone()).collect()
        };
        assert_eq!(slugs(&grid), slugs(&written));
    }

    #[test]
    fn variants_and_a_matrix_are_combined_with_it() {
        let grid = "procedure: {grid: {consistency: [ONE, TWO], rate: [100]}}";
        let sides = study(&format!(
            "{LOCAL}{grid}\nvariants: {{small: {{}}, large: {{target: {{local: {{heap: 2GiB}}}}}}}}"
        ))
        .unwrap();
        let axes: Vec<&str> = sides.axes.iter().map(|axis| axis.name.as_str()).collect();
        assert_eq!(axes, ["variant", "consistency"]);
        let last = &sides.variants[3];
        assert_eq!(last.name.as_str(), "large-TWO");
        let Target::Local(local) = &last.settings.target else {
            panic!("{last:?}");
        };
        assert_eq!(local.heap_bytes, 2 << 30);
        let matrix = study(&format!(
            "{LOCAL}{grid}\nmatrix: {{sync: {{a: {{}}, b: {{target: {{local: {{yaml: \
             {{commitlog_sync: batch}}}}}}}}}}}}"
        ))
        .unwrap();
        assert_eq!(matrix.variants.len(), 4);
        // A grid with only threads becomes a sweep.
        let alone = study(&format!("{LOCAL}procedure: {{grid: {{threads: [1, 2]}}}}")).unwrap();
        assert_eq!((alone.variants.len(), alone.axes.len()), (1, 0));
    }

    #[test]
    fn bad_axes_and_values_are_refused_in_place_with_a_correction() {
        let with = |grid: &str, rest: &str| {
            study(&format!("{LOCAL}procedure: {{grid: {{{grid}}}}}\n{rest}")).unwrap_err()
        };
        for (grid, rest, expected) in [
            (
                "consistancy: [ONE], threads: [1]",
                "",
                "`consistancy` is not an axis of a grid",
            ),
            ("consistancy: [ONE], threads: [1]", "", "consistency"),
            (
                "consistency: ONE, threads: [1]",
                "",
                "must be a list of values",
            ),
            (
                "consistency: [ONE, ONE], threads: [1]",
                "",
                "has `ONE` twice",
            ),
            ("consistency: [SOME], threads: [1]", "", "s:5:34"),
            ("heap: [10B], threads: [1]", "", "the minimum is 256MiB"),
            ("heap: [1GiB]", "", "has no load"),
            ("threads: [1], rate: [1]", "", "both threads and rate"),
            ("threads: [0]", "", "the minimum is 1"),
            (
                "payload: [171B], threads: [1]",
                "",
                "not divisible by 5 columns",
            ),
            ("replication: [{dc1: 3}], threads: [1]", "", "use `matrix`"),
            (
                "heap: [1GiB], threads: [1]",
                "matrix: {heap: {a: {}, b: {client: {timeout: 5s}}}}",
                "both have an axis `heap`",
            ),
            (
                "heap: [1GiB, 2GiB], threads: [1]",
                "matrix: {h: {a: {}, b: {target: {local: {heap: 5GiB}}}}}",
                "both set `target.local.heap`",
            ),
            ("", "", "has no axes"),
        ] {
            let said = with(grid, rest);
            assert!(said.contains(expected), "{grid}: {said}");
        }
        let said = study(&format!(
            "{LOCAL}procedure: {{grid: {{threads: [1]}}, fixed: {{threads: 1}}}}"
        ));
        assert!(said.unwrap_err().contains("a grid and `fixed`"));
        let null = "target: {null: {}}\nworkload: {use: standard1, mix: {write: 1}}\n";
        let heap = "procedure: {grid: {heap: [1GiB, 2GiB], threads: [1]}}";
        let said = study(&format!("{null}{heap}")).unwrap_err();
        assert!(
            said.contains("only applies to nodes that the study starts"),
            "{said}"
        );
        let iot = "target: {local: {nodes: 1}}\nworkload: {use: cql-iot, mix: {write: 1}}\n";
        let said = study(&format!(
            "{iot}procedure: {{grid: {{payload: [100B], threads: [1]}}}}"
        ));
        assert!(said.unwrap_err().contains("no parameter for the row size"));
    }
}
