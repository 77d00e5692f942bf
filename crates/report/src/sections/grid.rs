//! Shows the results for every combination of a matrix or a grid. Rows and columns of a table are
//! two axes. Each combination of the other axes has a separate table.

use crate::merged_points::axis_value;
use crate::number;
use crate::page::{Block, Cell, Section, Table, Tone};
use crate::run_view::RunView;
use analysis::procedure;
use store::record::{AxisRecord, CombinationsRecord, PointRecord, Verdict};

/// Maximum number of tables in the section.
const TABLES_MAX: usize = 24;

/// Returns the section on all combinations. Returns `None` if the study has no matrix or grid, or
/// if fewer than two axes have several values. The load counts as an axis.
pub fn section(view: &RunView) -> Option<Section> {
    let combinations = view.plan.resolved.combinations.as_ref()?;
    let axes = axes(view, combinations);
    let [rows, columns, rest @ ..] = axes.as_slice() else {
        return None;
    };
    let tables = each(rest).into_iter().take(TABLES_MAX).map(|held| {
        let table = table(view, &GridAxes { rows, columns }, &held);
        Block::Table(table)
    });
    Some(Section {
        id: "combinations",
        title: "Every combination".into(),
        lead: "Throughput, with p99 latency below, each with its 95 % interval. The effects show \
             each axis separately."
            .into(),
        blocks: tables.collect(),
    })
}

/// An axis of the tables, with its name and its values. Each value has a name and a meaning.
struct AxisLabels {
    name: String,
    values: Vec<(String, Value)>,
}

struct GridAxes<'a> {
    rows: &'a AxisLabels,
    columns: &'a AxisLabels,
}

/// Meaning of a value on an axis of the tables.
#[derive(Clone)]
enum Value {
    /// Index of a matrix axis and index of a value on this axis.
    Level(usize, usize),
    /// A point of the procedure on the load axis.
    Place(procedure::Point),
}

/// Returns the axes that have several values. The load comes first, and then the axes of the
/// matrix.
fn axes(view: &RunView, combinations: &CombinationsRecord) -> Vec<AxisLabels> {
    let mut places: Vec<procedure::Point> = Vec::new();
    let measured = view.findings.usable_points().filter_map(|point| point.point);
    let planned = view.plan.trials.iter().filter_map(|trial| trial.point);
    for place in measured.chain(planned) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places.sort_by(|a, b| crate::merged_points::compare_places(Some(*a), Some(*b)));
    let name = places.first().map(|place| place.axis());
    let load = AxisLabels {
        name: name.unwrap_or_default().to_owned(),
        values: places
            .into_iter()
            .map(|place| (axis_value(place.value()), Value::Place(place)))
            .collect(),
    };
    let of_matrix = |(at, axis): (usize, &AxisRecord)| AxisLabels {
        name: axis.name.clone(),
        values: axis
            .values
            .iter()
            .enumerate()
            .map(|(level, name)| (name.clone(), Value::Level(at, level)))
            .collect(),
    };
    let matrix = combinations.axes.iter().enumerate().map(of_matrix);
    let all = [load].into_iter().chain(matrix);
    all.filter(|axis| axis.values.len() > 1).collect()
}

/// Returns every combination of the values of the axes. Without axes, returns one empty
/// combination.
fn each(axes: &[AxisLabels]) -> Vec<Vec<(String, Value)>> {
    let mut all = vec![Vec::new()];
    for axis in axes {
        let longer = all.iter().flat_map(|held: &Vec<(String, Value)>| {
            axis.values.iter().map(move |(name, value)| {
                let mut held = held.clone();
                held.push((format!("{} {name}", axis.name), value.clone()));
                held
            })
        });
        all = longer.collect();
    }
    all
}

fn table(view: &RunView, axes: &GridAxes<'_>, held: &[(String, Value)]) -> Table {
    let GridAxes { rows, columns } = axes;
    let names: Vec<&str> = held.iter().map(|(name, _)| name.as_str()).collect();
    let with = if names.is_empty() {
        String::new()
    } else {
        format!(" with {}", names.join(", "))
    };
    let caption = format!("{} by {}{with}", rows.name, columns.name);
    Table::from_records(caption, &rows.values)
        .text(&rows.name, |(name, _)| name)
        .each(&columns.values, |table, (name, column)| {
            table.number(&format!("{} {name}", columns.name), "op/s", |(_, value)| {
                let held = held.iter().map(|(_, value)| value);
                let wanted: Vec<&Value> = held.chain([value, column]).collect();
                cell(find(view, &wanted))
            })
        })
        .build()
}

fn find<'v>(view: &'v RunView, wanted: &[&Value]) -> Option<&'v PointRecord> {
    let cells = &view.plan.resolved.combinations.as_ref()?.cells;
    view.findings.usable_points().find(|point| {
        let cell = cells.get(&point.variant);
        wanted.iter().all(|value| match value {
            Value::Level(axis, level) => cell.and_then(|cell| cell.get(*axis)) == Some(level),
            Value::Place(place) => point.point == Some(*place),
        })
    })
}

fn cell(point: Option<&PointRecord>) -> Cell {
    let Some(point) = point else {
        return Cell::absent();
    };
    let p99 = &point.latency_ms.p99;
    let ci95 = point.latency_ms.ci95.get("p99").map_or(String::new(), |[low, high]| {
        format!(" ({} to {})", number::ms(*low), number::ms(*high))
    });
    let error = number::relative_error(point.ops_per_s, point.ops_per_s_ci95);
    let error = if error.is_empty() {
        error
    } else {
        format!("{error}; ")
    };
    Cell::new(number::rate(point.ops_per_s))
        .detail(format!("{error}p99 {} ms{ci95}", number::known_ms(*p99)))
        .tone(if point.verdict == Verdict::Valid {
            Tone::Plain
        } else {
            Tone::Warn
        })
}
