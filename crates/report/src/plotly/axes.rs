//! The axes of a figure, with their titles, ranges and ticks.

use super::escaped;
use crate::escape::escape;
use crate::number;
use crate::page::{Axis, Chart, Panel, Scale, Series, XValues};
use serde_json::{Value, json};

fn titled(title: &str) -> Value {
    json!({ "title": { "text": escape(title) } })
}

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
            // The ticks are 0 %, 50 %, 90 %, 99 % and so on. At the last tick, one operation in ten
            // million takes longer.
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

pub fn y_axis(axis: &Axis, panel: &Panel, right: bool) -> Value {
    let mut made = titled(&axis.title);
    made["automargin"] = true.into();
    if axis.scale == Scale::Names {
        let count = axis.names.len();
        made["tickvals"] = json!((1..=count).collect::<Vec<usize>>());
        made["ticktext"] = json!(escaped(&axis.names));
        made["range"] = json!([count as f64 + 0.6, 0.4]);
        return made;
    }
    if axis.scale != Scale::Log {
        made["rangemode"] = "tozero".into();
        let end = linear_end(panel, right);
        if let Some(end) = end {
            made["range"] = json!([0.0, number::round(end, 3)]);
        }
        // This format displays `48k`, but it would display small numbers as `500m`. So only axes
        // with large values use it.
        let values = of_axis(panel, right).flat_map(|s| s.y.iter().flatten().copied());
        if end.unwrap_or_else(|| values.fold(0.0, f64::max)) >= 1000.0 {
            made["tickformat"] = "~s".into();
        }
        return made;
    }
    made["type"] = "log".into();
    let Some(range) = LogRange::from_panel(panel, right) else {
        return made;
    };
    if !axis.title.is_empty() {
        let title = format!("{}<br>({})", escape(&axis.title), range.note());
        made["title"] = json!({ "text": title });
    }
    let ticks = log_ticks(range.low, range.high);
    let texts: Vec<String> = ticks.iter().map(|v| plain(*v)).collect();
    made["tickvals"] = json!(ticks);
    made["ticktext"] = json!(texts);
    made["range"] = json!(range.exponents());
    made
}

fn of_axis(panel: &Panel, right: bool) -> impl Iterator<Item = &Series> {
    panel.series.iter().filter(move |s| s.on_right == right)
}

fn is_labelled(panel: &Panel, right: bool) -> bool {
    of_axis(panel, right).any(|s| s.labels.iter().any(|label| !label.is_empty()))
}

/// Space above the highest value of a linear axis, as a share of this value. Axes with text next to
/// the points use `ROOM_FOR_WORDS` instead.
const ROOM: f64 = 0.06;
const ROOM_FOR_WORDS: f64 = 0.15;

/// Returns the end of a linear axis from zero, if plotly would choose a wrong end. plotly reserves
/// no space for text, and cannot fit an axis to a part of the values.
fn linear_end(panel: &Panel, right: bool) -> Option<f64> {
    let is_fitted = |x: f64| panel.fit.is_none_or(|[from, to]| right || (from..to).contains(&x));
    let (mut inside, mut outside) = (0.0f64, 0.0f64);
    for series in of_axis(panel, right) {
        let ends = series.y_ci.iter().flatten().map(|[_, high]| *high);
        inside = ends.fold(inside, f64::max);
        for (at, value) in series.y.iter().enumerate() {
            let Some(value) = *value else { continue };
            if value < 0.0 {
                return None;
            }
            match &series.x {
                XValues::Numbers(x) if x.get(at).is_some_and(|x| !is_fitted(*x)) => {
                    outside = outside.max(value);
                }
                _ => inside = inside.max(value),
            }
        }
    }
    let is_labelled = is_labelled(panel, right);
    let room = if is_labelled { ROOM_FOR_WORDS } else { ROOM };
    let is_wrong = is_labelled || outside > inside;
    (inside > 0.0 && is_wrong).then_some(inside * (1.0 + room))
}

struct LogRange {
    low: f64,
    high: f64,
    /// Space at each end, as an exponent of ten. The marks at the ends need little space, but text
    /// next to the marks needs more.
    room: f64,
}

impl LogRange {
    /// Returns the range of all values above zero. `None` if the axis has no such value.
    fn from_panel(panel: &Panel, right: bool) -> Option<LogRange> {
        let values = || {
            let all = of_axis(panel, right).flat_map(|s| s.y.iter().flatten().copied());
            all.filter(|value| *value > 0.0)
        };
        let [low, high] = [values().reduce(f64::min)?, values().reduce(f64::max)?];
        let share = if is_labelled(panel, right) {
            0.12
        } else {
            0.06
        };
        Some(LogRange {
            low,
            high,
            room: ((high / low).log10() * share).max(0.03),
        })
    }

    fn exponents(&self) -> [f64; 2] {
        [self.low.log10() - self.room, self.high.log10() + self.room]
    }

    /// Describes the scale and the start of the axis, so that readers do not assume a start at
    /// zero.
    fn note(&self) -> String {
        let start = 10f64.powf(self.exponents()[0]);
        format!("logarithmic, from {}", number::short(start, 2))
    }
}

/// Describes the left axis of a panel if the axis is logarithmic and has no title. Otherwise,
/// returns `None`.
pub fn untitled_log_note(panel: &Panel) -> Option<String> {
    let is_so = panel.left.scale == Scale::Log && panel.left.title.is_empty();
    let range = LogRange::from_panel(panel, false).filter(|_| is_so)?;
    Some(range.note())
}

/// Returns ticks at 1, 2 and 5 times every power of ten in the range. Over more than three powers
/// of ten, returns only the powers of ten. If at most one tick would be in the range, returns ticks
/// at equal distances.
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

/// Returns about four ticks at distances of 1, 2 or 5 times a power of ten. The first tick is at or
/// below the range unless that tick would be zero. The last tick is at or above the range.
fn even_ticks(low: f64, high: f64) -> Vec<f64> {
    // A range with a single value would have no length, so this line extends it by about 5 % at
    // both ends.
    let (low, high) = (low.min(high * 0.95), high.max(low * 1.05));
    let wanted = (high - low) / 4.0;
    let power = 10f64.powi(wanted.log10().floor() as i32);
    let step = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    let step = step.into_iter().find(|step| *step * 1.001 >= wanted).unwrap_or(wanted);
    let (from, to) = ((low / step).floor() as i64, (high / step).ceil() as i64);
    let ticks = (from.max(1)..=to).map(|count| count as f64 * step);
    ticks.map(|v| number::round(v, 3)).collect()
}

/// Formats a number without trailing zeros. Whole numbers have thousands separators.
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

    fn panel(scale: Scale, y: &[f64]) -> Panel {
        let series = Series {
            x: XValues::Numbers((0..y.len()).map(|x| x as f64).collect()),
            y: y.iter().copied().map(Some).collect(),
            ..Series::default()
        };
        Panel {
            left: Axis::new("latency, ms", scale),
            series: vec![series],
            ..Panel::default()
        }
    }

    /// In an earlier version, only the ticks showed that an axis was logarithmic.
    #[test]
    fn a_logarithmic_axis_says_so_and_states_its_start() {
        let mut panel = panel(Scale::Log, &[5.0, 500.0]);
        let axis = y_axis(&panel.left, &panel, false);
        assert_eq!(
            axis["title"]["text"],
            "latency, ms<br>(logarithmic, from 3.8)"
        );
        assert_eq!(untitled_log_note(&panel), None);
        panel.left.title.clear();
        assert_eq!(y_axis(&panel.left, &panel, false)["title"]["text"], "");
        let note = untitled_log_note(&panel);
        assert_eq!(note.as_deref(), Some("logarithmic, from 3.8"));
    }

    /// In an earlier version, a fast load phase made the measured throughput a flat line at zero.
    #[test]
    fn an_axis_fits_the_values_of_its_range() {
        let mut panel = panel(Scale::Linear, &[11_600.0, 200.0, 190.0]);
        let range = |panel: &Panel| y_axis(&panel.left, panel, false)["range"].clone();
        assert_eq!(range(&panel), Value::Null);
        panel.fit = Some([1.0, 3.0]);
        assert_eq!(range(&panel), json!([0.0, 212.0]));
        panel.series[0].labels = vec!["a".into()];
        assert_eq!(range(&panel), json!([0.0, 230.0]));
    }

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
