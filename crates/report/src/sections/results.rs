//! Shows the results with one row per point, as charts, by kind of operation, and trial by trial.

use crate::merged_points::{ALL, Point, axis_value, compared_value, trial_table, variant_name};
use crate::number;
use crate::page::{Block, Cell, Section, Table, Tone, Verdict};
use crate::run_view::RunView;
use crate::sections::sweep::{throughput_chart, tradeoff_chart};
use analysis::autocorrelation::{FEW_INCIDENTS, SHORT_WINDOW_S};
use store::record::{QuantilesRecord, TrialFinding};

/// Returns tables and charts of all points. `None` before the first trial has finished.
pub fn section(view: &RunView, points: &[Point<'_>]) -> Option<Section> {
    if points.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Table(points_table(view, points))];
    blocks.extend(throughput_chart(view, points).map(Block::Chart));
    blocks.extend(tradeoff_chart(view, points).map(Block::Chart));
    blocks.extend(
        kinds_table(view, points)
            .map(|table| Block::Details("By kind of operation".into(), vec![Block::Table(table)])),
    );
    blocks.extend(
        blocks_table(view).map(|table| {
            Block::Details("Every trial separately".into(), vec![Block::Table(table)])
        }),
    );
    if points.iter().any(did_more_than_offered) {
        let why = "Throughput may exceed the offered rate, because some operations were due before \
                   the window, but ended in the window.";
        blocks.push(Block::Text(why.to_owned()));
    }
    Some(Section {
        id: "results",
        title: "Results".into(),
        lead: "Latency counts from the moment an operation was due, service time from its send. \
             Both cover all operations that were due in the measured window. ≥ marks a lower \
             bound: the client never sent some operations, or abandoned them. Latencies exclude \
             answers with an error, which the report counts separately."
            .into(),
        blocks,
    })
}

/// Ratio of throughput to offered rate above which the ends of a window cannot explain the
/// difference.
const MORE_THAN_OFFERED: f64 = 1.01;

fn did_more_than_offered(point: &Point<'_>) -> bool {
    match point.at {
        Some(analysis::procedure::Point::Rate(rate)) => {
            point.ops_per_s() > rate as f64 * MORE_THAN_OFFERED
        }
        _ => false,
    }
}

/// Returns the cell of a quantile. If too few values are above the quantile, the cell is grey and
/// contains the number of these values.
pub fn quantile_cell(quantiles: Option<&QuantilesRecord>, name: &str) -> Cell {
    let Some(record) = quantiles.filter(|q| q.count > 0) else {
        return Cell::absent();
    };
    let q = match name {
        "p50" => Some(0.5),
        "p95" => Some(0.95),
        "p99" => Some(0.99),
        "p999" => Some(0.999),
        _ => None,
    };
    let (Some(value), Some(q)) = (record.figure(name), q) else {
        return Cell::new(number::known_ms(record.max));
    };
    let above = number::count_above(record.count, q);
    let mut hint = format!("{} values above", number::count(above.round() as u64));
    if let Some([low, high]) = record.ci95.get(name) {
        let few = if record.few_incidents.iter().any(|few| few == name) {
            " (of few incidents)"
        } else {
            ""
        };
        hint = format!(
            "95 % interval {} to {} ms{few}; {hint}",
            number::ms(*low),
            number::ms(*high)
        );
    }
    if value.is_at_least() {
        let censored = number::count(record.censored);
        hint = format!("{censored} operations have no known end; {hint}");
    }
    let cell = Cell::new(number::known_ms(value)).hint(hint);
    // The limit is lower by half a value, so that binary rounding does not reject 100 of 10,000
    // values.
    if above + 0.5 < number::COUNT_ABOVE_MIN {
        let above = number::count(above.round() as u64);
        return cell.tone(Tone::Muted).detail(format!("{above} above"));
    }
    cell
}

/// Returns the cell of errors, with the number of errors. The tooltip contains the kinds of errors.
fn errors_cell<'a>(errors: impl Iterator<Item = (&'a str, u64)>) -> Cell {
    let errors: Vec<(&str, u64)> = errors.filter(|e| e.1 > 0).collect();
    let total: u64 = errors.iter().map(|e| e.1).sum();
    if total == 0 {
        return Cell::new("0");
    }
    let parts: Vec<String> = errors
        .iter()
        .map(|(name, count)| format!("{name} {}", number::count(*count)))
        .collect();
    Cell::new(number::count(total)).tone(Tone::Bad).hint(parts.join(", "))
}

fn axes(points: &[Point<'_>]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for name in points.iter().filter_map(|p| Some(p.at?.axis())) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn verdict_cell(point: &Point<'_>) -> Cell {
    let verdict = if point.saturated {
        format!("{}, saturated", point.verdict.name())
    } else {
        point.verdict.name().to_owned()
    };
    let cell = Cell::new(verdict).tone(point.verdict.tone()).hint(point.reasons().join("; "));
    let left_out = point.trials.len() - point.used.len();
    if left_out > 0 {
        cell.detail(format!("{left_out} of {} omitted", point.trials.len()))
    } else {
        cell
    }
}

fn variant_cell(view: &RunView, point: &Point<'_>) -> Cell {
    Cell {
        variant: Some(point.variant_index),
        ..Cell::new(variant_name(point.variant, view))
    }
}

fn axis_cell(point: &Point<'_>, axis: &str) -> Cell {
    let at = point.at.filter(|at| at.axis() == axis);
    at.map_or_else(Cell::absent, |at| axis_value(at.value()).into())
}

fn points_table(view: &RunView, points: &[Point<'_>]) -> Table {
    let quantile = |point: &Point<'_>, name| quantile_cell(point.latency(view, ALL), name);
    let held_back = |count: u64| Cell::zero_expected(count, Tone::Warn);
    Table::from_records("Every point, all kinds of operation together", points)
        .text("Variant", |point| variant_cell(view, point))
        .each(axes(points), |table, axis| {
            table.number(axis, "", |point| axis_cell(point, axis))
        })
        .number("Throughput", "op/s", throughput_cell)
        .number("p50", "ms", |point| quantile(point, "p50"))
        .wide_number("p95", "ms", |point| quantile(point, "p95"))
        .number("p99", "ms", |point| quantile(point, "p99"))
        .number("p99.9", "ms", |point| quantile(point, "p999"))
        .number("Max", "ms", |point| quantile(point, "max"))
        .number("Service p99", "ms", |point| {
            quantile_cell(point.service(view, ALL), "p99")
        })
        .wide_number("Operations", "", |point| {
            number::count(point.sum(|t| t.ops_total))
        })
        .number("Errors", "", |point| {
            errors_cell(point.errors().into_iter())
        })
        .wide_number("Sent after", "", |point| {
            held_back(point.sum(|t| t.sent_in_drain))
        })
        .wide_number("Never sent", "", |point| {
            held_back(point.sum(|t| t.due_never_sent))
        })
        .wide_number("Client CPU", "µs/op", |point| {
            number::small(point.cpu_us_per_op())
        })
        .text("Verdict", verdict_cell)
        .tone(|point| row_tone(point.verdict))
        .foot(format!(
            "± is half a 95 % confidence interval. Throughput of several blocks is their mean. A \
             percentile covers all their operations. A percentile in grey (or with *) has fewer \
             than {} values above it, so its error may be large. Sent after, never sent: \
             operations that were due in the window, but waited beyond its end.{}{}",
            number::COUNT_ABOVE_MIN,
            other_means(view, points),
            labels(points)
        ))
        .build()
}

/// Explains why other parts of the report show other values for the same points. The text is empty
/// if no value differs.
fn other_means(view: &RunView, points: &[Point<'_>]) -> &'static str {
    let metrics = ["ops_per_s", "latency_ms.p50", "latency_ms.p99"];
    let differs = |point: &Point<'_>| {
        let is_compared = |metric: &&str| compared_value(view, point, metric).is_some();
        point.used.len() > 1 && metrics.iter().any(is_compared)
    };
    if points.iter().any(differs) {
        " The answer, its cards and its figure show geometric means of the blocks instead, because \
         their quotient is the ratio of the comparison."
    } else {
        ""
    }
}

/// Explains the labels of intervals, if any interval has a label.
fn labels(points: &[Point<'_>]) -> String {
    let has = |label: &str| points.iter().any(|p| p.interval_labels().contains(&label));
    let mut text = String::new();
    if has("short") {
        text += &format!(
            " “Short”: a window under {SHORT_WINDOW_S} s. Such a window contains rare events (a \
             pause, a flush) too often or not at all. The interval of such a window covers the \
             truth in fewer than 95 % of cases: 60 to 90 % for an event every ten seconds."
        );
    }
    if has("few incidents") {
        text += &format!(
            " “Few incidents”: fewer than {FEW_INCIDENTS} periods of seconds differ clearly from \
             the rest. So their frequency is known to a factor of two at best. Measure a longer \
             window."
        );
    }
    text
}

fn throughput_cell(point: &Point<'_>) -> Cell {
    let mut error = number::relative_error(point.ops_per_s(), point.ops_per_s_ci95());
    let has_interval = !error.is_empty();
    for label in point.interval_labels().iter().filter(|_| has_interval) {
        error += &format!(", {label}");
    }
    Cell::new(number::rate(point.ops_per_s())).detail(error).tone(Tone::Strong)
}

fn row_tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Invalid => Tone::Muted,
        _ => Tone::Plain,
    }
}

/// Returns one row per point and kind. `None` if the run has only one kind.
fn kinds_table(view: &RunView, points: &[Point<'_>]) -> Option<Table> {
    let mut rows: Vec<(&Point<'_>, &String)> = Vec::new();
    for point in points {
        let kinds = point.used.first()?.kinds.keys();
        if kinds.len() > 1 {
            rows.extend(kinds.map(|kind| (point, kind)));
        }
    }
    let rate = |point: &Point<'_>, kind: &String| {
        let of = |t: &&TrialFinding| t.kinds.get(kind).map_or(0.0, |s| s.ops_per_s);
        point.used.iter().map(of).sum::<f64>() / point.used.len() as f64
    };
    let quantile =
        |point: &Point<'_>, kind: &str, name| quantile_cell(point.latency(view, kind), name);
    Table::from_records("", rows)
        .text("Variant", |(point, _)| variant_cell(view, point))
        .each(axes(points), |table, axis| {
            table.number(axis, "", |(point, _)| axis_cell(point, axis))
        })
        .text("Kind", |(_, kind)| kind)
        .number("Throughput", "op/s", |(point, kind)| {
            number::rate(rate(point, kind))
        })
        .number("p50", "ms", |(point, kind)| quantile(point, kind, "p50"))
        .number("p95", "ms", |(point, kind)| quantile(point, kind, "p95"))
        .number("p99", "ms", |(point, kind)| quantile(point, kind, "p99"))
        .number("p99.9", "ms", |(point, kind)| quantile(point, kind, "p999"))
        .number("Max", "ms", |(point, kind)| quantile(point, kind, "max"))
        .number("Service p99", "ms", |(point, kind)| {
            quantile_cell(point.service(view, kind), "p99")
        })
        .tone(|(point, _)| row_tone(point.verdict))
        .unless_empty()
}

/// Returns one row per trial. `None` if every point was measured once.
fn blocks_table(view: &RunView) -> Option<Table> {
    if view.findings.trials.iter().all(|t| t.block == 0) {
        return None;
    }
    let trials = view.findings.trials.iter().map(|trial| (trial, &trial.all));
    let verdict = |trial: &TrialFinding| Verdict::from_record(Some(trial.verdict));
    let table = trial_table(view, "", trials)
        .number("Block", "", |(trial, _)| (trial.block + 1).to_string())
        .number("Throughput", "op/s", |(_, all)| {
            let error = number::relative_error(all.ops_per_s, all.ops_per_s_ci95);
            Cell::new(number::rate(all.ops_per_s)).detail(error)
        })
        .number("p50", "ms", |(_, all)| {
            quantile_cell(Some(&all.latency_ms), "p50")
        })
        .number("p99", "ms", |(_, all)| {
            quantile_cell(Some(&all.latency_ms), "p99")
        })
        .number("p99.9", "ms", |(_, all)| {
            quantile_cell(Some(&all.latency_ms), "p999")
        })
        .number("Errors", "", |(trial, _)| {
            errors_cell(trial.errors.iter().map(|(name, count)| (name.as_str(), *count)))
        })
        .text("Verdict", |(trial, _)| {
            let verdict = verdict(trial);
            Cell::new(verdict.name()).tone(verdict.tone()).hint(trial.reasons.join("; "))
        })
        .tone(|(trial, _)| row_tone(verdict(trial)));
    Some(table.build())
}

/// Returns the name of a metric without its unit, because a ratio has no unit. For example,
/// `latency_ms.p999` becomes `latency p99.9`.
pub fn metric_name(metric: &str) -> String {
    let (series, quantile) = metric.split_once('.').unwrap_or((metric, ""));
    let quantile = match quantile {
        "p999" => "p99.9",
        other => other,
    };
    match series {
        "ops_per_s" => "throughput".into(),
        "latency_ms" => format!("latency {quantile}"),
        "service_ms" => format!("service time {quantile}"),
        _ => metric.into(),
    }
}

/// Returns the name of a metric with its unit, for an axis. For example, `latency_ms.p999` becomes
/// `latency p99.9, ms`.
pub fn metric_with_unit(metric: &str) -> String {
    let unit = match metric.split_once('.').map_or(metric, |(series, _)| series) {
        "ops_per_s" => ", op/s",
        "latency_ms" | "service_ms" => ", ms",
        _ => "",
    };
    format!("{}{unit}", metric_name(metric))
}
