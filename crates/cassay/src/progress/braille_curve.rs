//! Draws a curve of the last seconds in braille. Each character shows two seconds and four steps.
//! The axis has numbers and starts at 0.

use super::run_state::Second;
use crate::terminal::{Line, Size, Tone};
use measure::number::{count, short};
use std::collections::VecDeque;

/// Number of columns of the axis labels, including the space after them.
const AXIS: usize = 8;
/// Dots of a braille character. The first list is the left column and the second list the right
/// column, each from the bottom to the top.
const DOTS: [[u32; 4]; 2] = [[0x40, 0x04, 0x02, 0x01], [0x80, 0x20, 0x10, 0x08]];
/// The braille character without dots.
const EMPTY: u32 = 0x2800;

/// A quantity to draw.
pub struct Curve {
    /// Title, with the unit.
    pub title: &'static str,
    /// Function that returns the value of the quantity in a second.
    pub value: fn(&Second) -> f64,
    /// Function that formats a value of the quantity.
    pub written: fn(f64) -> String,
}

/// Returns lines of the given width: a title, `size.rows` lines of the curve, and the time axis.
pub fn course(curve: &Curve, seconds: &VecDeque<Second>, size: Size) -> Vec<Line> {
    let Size {
        columns,
        rows: height,
    } = size;
    let cells = columns.saturating_sub(AXIS + 1);
    let shown = (cells * 2).min(seconds.len());
    let values: Vec<f64> = seconds.iter().skip(seconds.len() - shown).map(curve.value).collect();
    let in_sight = seconds.iter().skip(seconds.len() - shown);
    let top = round_up(most(curve, in_sight));
    let now = values.last().map_or(String::new(), |value| {
        format!("  {} now", (curve.written)(*value))
    });
    let title = Line::default().with(Tone::Strong, curve.title).with(Tone::Plain, &now);
    let mut lines = vec![title.fitted(columns)];
    let steps: Vec<usize> = values
        .iter()
        .map(|value| ((value / top * (height * 4) as f64).ceil() as usize).min(height * 4))
        .collect();
    for row in (0..height).rev() {
        let label = match row {
            _ if values.is_empty() => String::new(),
            row if row + 1 == height => figure(top),
            0 => "0".to_owned(),
            _ => String::new(),
        };
        let line = Line::default()
            .with(Tone::Faint, &format!("{label:>width$} ", width = AXIS - 1))
            .with(Tone::Curve, &cells_of(&steps, cells, row));
        lines.push(line.fitted(columns));
    }
    lines.push(time_axis(cells, columns));
    lines
}

/// Returns the maximum of the axis. During a measurement, only measured seconds count, because
/// loading and reading back rows is much faster. The curve cuts off higher values at the top.
fn most<'s>(curve: &Curve, seconds: impl DoubleEndedIterator<Item = &'s Second> + Clone) -> f64 {
    let of_now = seconds.clone().next_back().is_some_and(|newest| newest.is_measured);
    let same = seconds.filter(|second| second.is_measured || !of_now);
    same.map(curve.value).fold(0.0, f64::max)
}

/// Returns one line of the curve. The newest second is at the right end.
fn cells_of(steps: &[usize], cells: usize, row: usize) -> String {
    let empty = (cells * 2).saturating_sub(steps.len());
    let step_at = |dot: usize| dot.checked_sub(empty).map_or(0, |index| steps[index]);
    let cell = |cell: usize| {
        let mut bits = EMPTY;
        for (side, dots) in DOTS.iter().enumerate() {
            let filled = step_at(cell * 2 + side).saturating_sub(row * 4).min(4);
            bits |= dots[..filled].iter().sum::<u32>();
        }
        char::from_u32(bits).unwrap_or(' ')
    };
    (0..cells).map(cell).collect()
}

fn time_axis(cells: usize, columns: usize) -> Line {
    let from = format!("-{} s", cells * 2);
    let gap = cells.saturating_sub(from.len() + "now".len());
    let text = format!("{}{from}{}now", " ".repeat(AXIS), " ".repeat(gap));
    Line::default().with(Tone::Faint, &text).fitted(columns)
}

/// Rounds up to the next number of the series 1, 2, 5, 10, …. Returns 1 for 0.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let step = steps.into_iter().find(|step| step * power >= value * 0.999_999);
    step.unwrap_or(10.0) * power
}

fn figure(value: f64) -> String {
    if value >= 100.0 {
        count(value.round() as u64)
    } else {
        short(value, 3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_ends_with_a_round_number_that_holds_all() {
        for (value, top) in [
            (0.0, 1.0),
            (0.7, 1.0),
            (1.0, 1.0),
            (33_608.0, 50_000.0),
            (5.1, 10.0),
        ] {
            assert_eq!(round_up(value), top, "{value}");
        }
    }

    /// In this test, the loading phase reaches 5,000 operations per second, but the measurement
    /// only 300. On an axis for both phases, a fault during the measurement would be invisible.
    #[test]
    fn the_axis_is_that_of_what_is_measured() {
        let second = |ops_per_s: f64, is_measured: bool| Second {
            ops_per_s,
            p99_ms: 1.0,
            has_errors: false,
            is_measured,
        };
        let curve = Curve {
            title: "op/s",
            value: |second| second.ops_per_s,
            written: |value| value.to_string(),
        };
        let mut seconds: VecDeque<Second> = [second(5000.0, false); 3].into();
        let top = |seconds: &VecDeque<Second>| most(&curve, seconds.iter());
        assert_eq!(top(&seconds), 5000.0);
        seconds.extend([second(300.0, true), second(20.0, true)]);
        assert_eq!(top(&seconds), 300.0);
        let lines = course(
            &curve,
            &seconds,
            Size {
                columns: 40,
                rows: 4,
            },
        );
        assert!(format!("{:?}", lines[1]).contains("500"), "{:?}", lines[1]);
        seconds.push_back(second(4000.0, false));
        assert_eq!(top(&seconds), 5000.0, "rows are read back");
    }

    #[test]
    fn the_newest_second_is_rightmost_and_fills_from_below() {
        let [empty, right, both] = ['\u{2800}', '\u{28b8}', '\u{28ff}'];
        assert_eq!(cells_of(&[4], 2, 0), format!("{empty}{right}"));
        assert_eq!(cells_of(&[8, 8], 2, 1), format!("{empty}{both}"));
    }
}
