//! The axes of a figure, with their titles, ranges and ticks.

use super::escaped;
use crate::escape::escape;
use crate::number;
use crate::page::{Axis, Chart, Panel, Scale};
use serde_json::{Value, json};

fn titled(title: &str) -> Value {
    json!({ "title": { "text": escape(title) } })
}

/// Returns the horizontal axis, which all panels of a figure share.
pub fn x_axis(chart: &Chart) -> Value {
    let mut axis = titled(&chart.x.title);
    if chart.panels.len() > 1 && chart.unified_hover {
        // If the reader points at a time in one panel, all panels mark this time.
        axis["showspikes"] = true.into();
        axis["spikemode"] = "across".into();
        axis["spikethickness"] = 1.into();
        axis["spikedash"] = "dot".into();
        axis["spikecolor"] = "@muted".into();
    }
    match chart.x.scale {
        Scale::Linear => axis["rangemode"] = "tozero".into(),
        Scale::Names => {
            axis["type"] = "category".into();
            axis["categoryorder"] = "array".into();
            axis["categoryarray"] = json!(escaped(&chart.x.names));
        }
        Scale::Log => axis["type"] = "log".into(),
        Scale::Percentile => {
            // The ticks are the percentiles 90 %, 99 % and so on. The last tick is one in ten
            // billion, which is far beyond any run.
            let (mut values, mut texts) = (vec![1.0, 2.0, 10.0], vec!["0 %", "50 %", "90 %"]);
            let names = [
                "99 %",
                "99.9 %",
                "99.99 %",
                "99.999 %",
                "99.9999 %",
                "99.99999 %",
            ];
            for (index, name) in names.into_iter().enumerate() {
                values.push(10f64.powi(index as i32 + 2));
                texts.push(name);
            }
            axis["type"] = "log".into();
            axis["tickvals"] = json!(values);
            axis["ticktext"] = json!(texts);
            axis["tickangle"] = 0.0.into();
        }
    }
    axis
}

/// Returns a vertical axis that fits its series.
pub fn y_axis(axis: &Axis, panel: &Panel, right: bool) -> Value {
    let mut made = titled(&axis.title);
    made["automargin"] = true.into();
    if axis.scale == Scale::Names {
        // The axis counts from the top, so the first name is at 1.
        let count = axis.names.len();
        made["tickvals"] = json!((1..=count).collect::<Vec<usize>>());
        made["ticktext"] = json!(escaped(&axis.names));
        made["range"] = json!([count as f64 + 0.6, 0.4]);
        return made;
    }
    let of_axis = || panel.series.iter().filter(move |s| s.on_right == right);
    let values = of_axis().flat_map(|s| s.y.iter().flatten().copied());
    if axis.scale != Scale::Log {
        made["rangemode"] = "tozero".into();
        // This format displays `48k`, but it would display small numbers as `500m`. So only axes
        // with large values use it.
        if values.fold(0.0, f64::max) >= 1000.0 {
            made["tickformat"] = "~s".into();
        }
        return made;
    }
    let (low, high) =
        values.filter(|v| *v > 0.0).fold((f64::INFINITY, 0.0f64), |(low, high), v| {
            (low.min(v), high.max(v))
        });
    made["type"] = "log".into();
    if high == 0.0 {
        return made;
    }
    let ticks = log_ticks(low, high);
    let texts: Vec<String> = ticks.iter().map(|v| plain(*v)).collect();
    // The range includes a small space, so that marks at the ends are complete, and a larger space
    // for the words next to them.
    let labelled = of_axis().any(|s| !s.labels.is_empty());
    let room = ((high / low).log10() * if labelled { 0.12 } else { 0.06 }).max(0.03);
    made["tickvals"] = json!(ticks);
    made["ticktext"] = json!(texts);
    made["range"] = json!([low.log10() - room, high.log10() + room]);
    made
}

/// Returns ticks at 1, 2 and 5 times every power of ten in the range. If these ticks are too many,
/// returns only the powers of ten. If the range contains too few of them, returns ticks at equal
/// distances.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let (from, to) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let steps: &[f64] = if to - from > 3 {
        &[1.0]
    } else {
        &[1.0, 2.0, 5.0]
    };
    let power = |exponent: i32| steps.iter().map(move |s| s * 10f64.powi(exponent));
    let ticks: Vec<f64> = (from..=to).flat_map(power).map(|v| number::round(v, 2)).collect();
    let is_shown = |tick: &&f64| (low..=high).contains(*tick);
    match ticks.iter().filter(is_shown).count() {
        0 | 1 => even_ticks(low, high),
        _ => ticks,
    }
}

/// Returns ticks at distances of 1, 2 or 5 times a power of ten. The range contains about four
/// ticks, and one more tick follows beyond each end.
fn even_ticks(low: f64, high: f64) -> Vec<f64> {
    // A range with a single value is widened, so that it extends about 5 % below and above the
    // value.
    let (low, high) = (low.min(high * 0.95), high.max(low * 1.05));
    let wanted = (high - low) / 4.0;
    let power = 10f64.powi(wanted.log10().floor() as i32);
    let step = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    let step = step.into_iter().find(|step| *step * 1.001 >= wanted).unwrap_or(wanted);
    let (from, to) = ((low / step).floor() as i64, (high / step).ceil() as i64);
    let ticks = (from.max(1)..=to).map(|count| count as f64 * step);
    ticks.map(|v| number::round(v, 3)).collect()
}

/// Formats a round number without trailing zeros.
fn plain(value: f64) -> String {
    if value >= 1.0 && value.fract() == 0.0 {
        number::count(value as u64)
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_a_logarithmic_axis_cover_its_range() {
        assert_eq!(
            log_ticks(0.3, 4.0),
            [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0]
        );
        assert_eq!(
            log_ticks(0.01, 900.0),
            [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]
        );
    }

    /// In an earlier version, an axis of p99.9 from 120 ms to 184 ms had no ticks.
    #[test]
    fn a_short_logarithmic_axis_has_ticks() {
        assert_eq!(log_ticks(120.0, 184.0), [120.0, 140.0, 160.0, 180.0, 200.0]);
        assert_eq!(log_ticks(2.1, 2.9), [2.0, 2.2, 2.4, 2.6, 2.8, 3.0]);
        let one = log_ticks(300.0, 300.0);
        assert!(one.len() > 1 && one.contains(&300.0), "{one:?}");
    }
}
