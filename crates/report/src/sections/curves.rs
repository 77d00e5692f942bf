//! The curve through the points of each variant, with its coefficients.

use crate::merged_points::{Point, variant_name, variants};
use crate::number;
use crate::page::{
    Axis, Block, Cell, Chart, Color, Panel, Scale, Section, Series, Shape, Table, Verdict, XValues,
};
use crate::run_view::RunView;
use analysis::curves::Coefficients;
use analysis::procedure;
use store::record::{CurveRecord, WithoutPeak};

const PLACES: usize = 80;
/// Multiple of the last load up to which a curve is drawn.
const BEYOND: f64 = 1.25;

pub fn section(view: &RunView, points: &[Point<'_>]) -> Option<Section> {
    let curves = &view.findings.curves;
    if curves.is_empty() {
        return None;
    }
    let mut blocks: Vec<Block> = chart(view, points).map(Block::Chart).into_iter().collect();
    blocks.push(Block::Table(table(view)));
    Some(Section {
        id: "curves",
        title: "How it scales".into(),
        lead: "The Universal Scalability Law, fitted to the points. λ is the throughput with one \
               operation in flight. The share σ of the work is serial. The cost κ of coordination \
               lowers throughput at high loads. The fit omits loads at which the client was the \
               limit."
            .into(),
        blocks,
    })
}

fn coefficients(curve: &CurveRecord) -> Option<Coefficients> {
    Some(Coefficients {
        lambda: curve.lambda?,
        sigma: curve.sigma?,
        kappa: curve.kappa?,
    })
}

fn chart(view: &RunView, points: &[Point<'_>]) -> Option<Chart> {
    let mut series = Vec::new();
    for (index, variant) in variants(view).into_iter().enumerate() {
        let curve = view.findings.curves.iter().find(|c| c.variant == *variant);
        let Some(law) = curve.and_then(coefficients) else {
            continue;
        };
        let of: Vec<&Point<'_>> = points
            .iter()
            .filter(|p| p.variant_index == index)
            .filter(|p| p.verdict <= Verdict::Suspect)
            .collect();
        let threads = |p: &&Point<'_>| match p.at {
            Some(procedure::Point::Threads(threads)) => f64::from(threads),
            Some(procedure::Point::Rate(_)) | None => 0.0,
        };
        let last = of.iter().map(threads).fold(1.0, f64::max) * BEYOND;
        let places: Vec<f64> =
            (0..=PLACES).map(|at| 1.0 + (last - 1.0) * at as f64 / PLACES as f64).collect();
        let name = variant_name(variant, view);
        series.push(Series {
            name: name.into(),
            group: variant.to_string(),
            in_legend: true,
            shape: Shape::Marks,
            color: Color::Category(index),
            x: XValues::Numbers(of.iter().map(threads).collect()),
            y: of.iter().map(|p| Some(p.ops_per_s())).collect(),
            y_ci: of.iter().map(|p| p.ops_per_s_ci95()).collect(),
            unit: "op/s".into(),
            ..Series::default()
        });
        series.push(Series {
            name: format!("{name}, curve"),
            group: variant.to_string(),
            color: Color::Category(index),
            y: places.iter().map(|n| Some(law.throughput_at(*n))).collect(),
            x: XValues::Numbers(places),
            unit: "op/s".into(),
            ..Series::default()
        });
    }
    (!series.is_empty()).then(|| Chart {
        title: "Throughput by operations in flight, with its curve".into(),
        what: "Marks: measured points, with 95 % intervals. Lines: the curve.".into(),
        height_px: 360,
        x: Axis::new("operations in flight", Scale::Linear),
        panels: vec![Panel {
            share: 1.0,
            left: Axis::new("op/s", Scale::Linear),
            series,
            ..Panel::default()
        }],
        ..Chart::default()
    })
}

fn table(view: &RunView) -> Table {
    let between = |value: Option<f64>, ci: Option<[Option<f64>; 2]>| {
        let ci = ci.map(number::small_ends);
        value.map(|value| Cell::new(number::small(value)).detail(ci.unwrap_or_default()))
    };
    let caption = "Coefficients, with their 95 % intervals";
    Table::from_records(caption, &view.findings.curves)
        .text("Variant", |curve| variant_name(&curve.variant, view))
        .number("λ", "op/s", |curve| curve.lambda.map(number::rate))
        .number("σ", "", |curve| {
            between(curve.sigma, curve.sigma_ci95.map(|ends| ends.map(Some)))
        })
        .number("κ", "", |curve| between(curve.kappa, curve.kappa_ci95))
        .number("Off the curve", "%", |curve| {
            curve.off.map(|off| number::small(off * 100.0))
        })
        .text("Peak", |curve| match (&curve.peak, curve.without_peak) {
            (Some(peak), _) => {
                let end = |end: Option<f64>| end.map_or("∞".into(), |n| number::count(n as u64));
                let [low, high] = peak.threads_ci95.map(end);
                let at = number::count(peak.threads.round() as u64);
                let ops = number::rate(peak.ops_per_s);
                format!("{ops} op/s at {at} ({low} to {high})")
            }
            (None, Some(WithoutPeak::Inconclusive)) => {
                "none predicted: κ does not differ significantly from 0".into()
            }
            (None, Some(WithoutPeak::First)) => "falls from the first load on".into(),
            (None, Some(WithoutPeak::Beyond)) => "beyond twice the last load".into(),
            _ => curve.refused.clone().unwrap_or_default(),
        })
        .foot(
            "From five blocks on, the intervals come from resampled blocks (bootstrap). With fewer \
             blocks they come from the residuals of the fit, and are too narrow.",
        )
        .build()
}
