//! Plots throughput by units in use, with the measurements, N times the throughput of one unit, and
//! the best curve.

use super::{under, units_name};
use crate::page::{Axis, Chart, Color, Dash, Panel, Scale, Series, Shape, XValues};
use analysis::scale_up::models::Model;
use store::record::{ScaleFitRecord, ScalePointRecord, ScaleUpRecord};

const PLACES: usize = 60;

/// Returns a chart of all arms. Returns `None` if the arms have no measurements.
pub fn chart(arms: &[&ScaleUpRecord]) -> Option<Chart> {
    let of = |(index, arm): (usize, &&ScaleUpRecord)| arm_series(index, arm);
    let series: Vec<Series> = arms.iter().enumerate().flat_map(of).collect();
    let unit = units_name(&arms.first()?.unit);
    (!series.is_empty()).then(|| Chart {
        title: format!("Throughput by {unit} in use{}", under(arms)),
        what: "Marks: measured points, with 95 % intervals. Dotted: N times one unit. Lines: the \
               curve with the best fit for its number of coefficients, or, if no curve is clearly \
               best, the curve that predicts omitted points best."
            .into(),
        height_px: 380,
        x: Axis::new(format!("{unit} in use"), Scale::Linear),
        panels: vec![Panel {
            share: 1.0,
            left: Axis::new("op/s", Scale::Linear),
            series,
            ..Panel::default()
        }],
        ..Chart::default()
    })
}

fn arm_series(index: usize, arm: &ScaleUpRecord) -> Vec<Series> {
    let mut measured: Vec<&ScalePointRecord> = arm.points.iter().collect();
    measured.retain(|point| point.ops_per_s.is_some());
    measured.sort_by_key(|point| (point.units, point.sockets));
    let Some(last) = measured.last().map(|point| f64::from(point.units)) else {
        return Vec::new();
    };
    let line = |name: String, dash: Dash, places: Vec<(f64, Option<f64>)>| Series {
        name,
        group: arm.arm.clone().unwrap_or_default(),
        in_legend: true,
        color: Color::Category(index),
        dash,
        x: XValues::Numbers(places.iter().map(|(units, _)| *units).collect()),
        y: places.into_iter().map(|(_, ops)| ops).collect(),
        unit: "op/s".into(),
        ..Series::default()
    };
    let mut series = vec![marks(index, arm, &measured)];
    let best = drawn(arm);
    if let Some(x1) = x1(&measured, best) {
        let ends = [1.0, last].map(|units| (units, Some(units * x1)));
        let name = label(arm, "N times one unit");
        series.push(line(name, Dash::Dot, ends.into()));
    }
    for (what, places) in best.map_or_else(Vec::new, |fit| curves(fit, &measured)) {
        series.push(line(label(arm, &what), Dash::Solid, places));
    }
    series
}

fn label(arm: &ScaleUpRecord, what: &str) -> String {
    match &arm.arm {
        None => what.to_owned(),
        Some(name) => format!("{name}, {what}"),
    }
}

fn marks(index: usize, arm: &ScaleUpRecord, measured: &[&ScalePointRecord]) -> Series {
    Series {
        name: arm.arm.as_deref().unwrap_or("measured").to_owned(),
        group: arm.arm.clone().unwrap_or_default(),
        in_legend: true,
        shape: Shape::Marks,
        color: Color::Category(index),
        x: XValues::Numbers(measured.iter().map(|point| f64::from(point.units)).collect()),
        y: measured.iter().map(|point| point.ops_per_s).collect(),
        y_ci: measured.iter().map(|point| point.ops_per_s_ci95).collect(),
        unit: "op/s".into(),
        ..Series::default()
    }
}

/// Returns the throughput of one unit, in operations per second. If cassay did not measure one
/// unit, returns the value of the fitted curve.
fn x1(measured: &[&ScalePointRecord], fit: Option<&ScaleFitRecord>) -> Option<f64> {
    let unit = measured.iter().find(|point| point.units == 1);
    unit.and_then(|point| point.ops_per_s).or_else(|| fit.and_then(|fit| fit.x1))
}

/// Returns the best curve of an arm. If no curve is best, returns the curve that predicts omitted
/// points best. Without predictions, returns the only fitted curve.
fn drawn(arm: &ScaleUpRecord) -> Option<&ScaleFitRecord> {
    let by_prediction = || {
        let fits = arm.fits.iter().filter(|fit| fit.left_out_off.is_some());
        fits.min_by(|a, b| {
            let off = |fit: &ScaleFitRecord| fit.left_out_off.unwrap_or(f64::INFINITY);
            off(a).total_cmp(&off(b))
        })
    };
    let only = || {
        let mut fitted = arm.fits.iter().filter(|fit| fit.refused.is_none());
        fitted.next().filter(|_| fitted.next().is_none())
    };
    let best = arm.fits.iter().find(|fit| fit.best);
    best.or_else(by_prediction).or_else(only)
}

type Places = Vec<(f64, Option<f64>)>;

/// Returns the lines of a curve, with their names. The two-level model has a line for each number
/// of sockets, and every other model has one line. A line goes from the first to the last measured
/// point. A single point has no line.
fn curves(fit: &ScaleFitRecord, measured: &[&ScalePointRecord]) -> Vec<(String, Places)> {
    let (model, Some(x1)) = (fit.model, fit.x1) else {
        return Vec::new();
    };
    let values: Vec<f64> = fit.coefficients.iter().map(|of| of.value).collect();
    let at = |split: &[f64]| (split.iter().sum(), model.ops_per_s(x1, &values, split));
    let between = |units: &mut dyn Iterator<Item = f64>| {
        let ends = units
            .fold(None, |ends: Option<[f64; 2]>, units| {
                let [least, most] = ends.unwrap_or([units; 2]);
                Some([least.min(units), most.max(units)])
            })
            .filter(|[least, most]| least < most);
        let step = |[least, most]: [f64; 2], place: usize| {
            least + (most - least) * place as f64 / PLACES as f64
        };
        let places = ends.map(|ends| (0..=PLACES).map(move |place| step(ends, place)));
        places.into_iter().flatten()
    };
    if model != Model::TwoLevel {
        let units = &mut measured.iter().map(|point| f64::from(point.units));
        let places: Places = between(units).map(|units| at(&[units])).collect();
        return vec![(model.title().to_owned(), places)];
    }
    let splits: Vec<&Vec<u32>> = measured.iter().filter_map(|p| p.split.as_ref()).collect();
    let mut sockets: Vec<usize> = splits.iter().map(|split| split.len()).collect();
    sockets.sort_unstable();
    sockets.dedup();
    let of_sockets = |count: usize| {
        let own = splits.iter().filter(|split| split.len() == count);
        let is_even = |split: &&&Vec<u32>| split.iter().all(|units| *units == split[0]);
        let places: Places = if own.clone().all(|split| is_even(&split)) {
            let units = &mut own.map(|split| f64::from(split[0]));
            let even = between(units).map(|units| at(&vec![units; count]));
            even.collect()
        } else {
            // If sockets fill one after the other, uneven splits occur. The line then connects only
            // the measured splits, because the model gives other throughputs for even splits.
            own.map(|split| at(&split.iter().copied().map(f64::from).collect::<Vec<_>>()))
                .collect()
        };
        let name = match count {
            1 => "the two-level model, one socket".to_owned(),
            count => format!("the two-level model, {count} sockets"),
        };
        (name, places)
    };
    sockets.retain(|count| *count > 0);
    let lines = sockets.into_iter().map(of_sockets);
    lines.filter(|(_, places)| places.len() > 1).collect()
}
