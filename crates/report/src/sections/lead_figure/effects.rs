//! Plots the effects of settings as a forest plot. Effects of a matrix have intervals, and effects
//! of a screening have limits.

use crate::merged_points::place;
use crate::page::{ColorRole, LeadFigure, Plot, RowsPlot, ValueRow};
use crate::run_view::RunView;
use crate::sections::results::metric_name;
use analysis::screening::Activity;
use store::record::{EffectKind, EffectRecord, EffectVerdict, Finding};

/// Maximum number of effects on the first screen.
const ROWS_MAX: usize = 12;

pub(super) fn matrix_figure(view: &RunView) -> Option<LeadFigure> {
    let effects = view.findings.effects.iter().find(|effects| effects.primary)?;
    let mains: Vec<&EffectRecord> = effects
        .effects
        .iter()
        .filter(|effect| effect.kind == EffectKind::Main)
        .collect();
    let row = |effect: &&EffectRecord| {
        let change = |ratio: f64| (ratio - 1.0) * 100.0;
        ValueRow {
            label: format!(
                "{}: {} ÷ {}",
                effect.of.axis, effect.of.value, effect.of.against
            ),
            value: Some(change(effect.ratio)),
            ci95: effect.ci95.map(|ends| ends.map(change)),
            other: None,
            text: measure::number::change(effect.ratio),
            paint: match effect.verdict {
                EffectVerdict::Ratio(Finding::Faster) => ColorRole::Good,
                EffectVerdict::Ratio(Finding::Slower) => ColorRole::Bad,
                _ => ColorRole::Text,
            },
        }
    };
    let rows: Vec<ValueRow> = mains.iter().map(row).collect();
    let of = format!(
        "{} at {}",
        metric_name(&effects.metric),
        place(effects.point)
    );
    let note = RowsPlot::intervals_note(&rows);
    forest(&of, note, rows)
}

pub(super) fn screening_figure(view: &RunView) -> Option<LeadFigure> {
    let screen = view.findings.screens.first().filter(|screen| screen.refused.is_none())?;
    let change = |ln: f64| ln.exp_m1() * 100.0;
    let settings = screen.effects.iter().filter(|effect| !effect.setting.is_empty());
    let row = |effect: &store::record::ScreenedRecord| ValueRow {
        label: format!("{}: {} ÷ {}", effect.setting, effect.value, effect.against),
        value: Some(change(effect.ln_ratio)),
        // This range is not an interval: 95 % of the estimated effects of settings without effect
        // are within this range.
        ci95: None,
        other: Some([change(-screen.sme), change(screen.sme)]),
        text: measure::number::change(effect.ln_ratio.exp()),
        paint: if effect.activity == Activity::Active {
            ColorRole::Category(1)
        } else {
            ColorRole::Text
        },
    };
    // A screening has no intervals. The title explains the bars instead.
    let note = "bars: 95 % of screenings without effects";
    forest(
        &metric_name(&screen.metric),
        note,
        settings.map(row).collect(),
    )
}

/// Returns a forest plot of the effects of settings. `note` describes the intervals or bars.
fn forest(of: &str, note: &str, mut rows: Vec<ValueRow>) -> Option<LeadFigure> {
    if rows.is_empty() {
        return None;
    }
    let size = |row: &ValueRow| row.value.unwrap_or(0.0).abs();
    rows.sort_by(|a, b| size(b).total_cmp(&size(a)));
    rows.truncate(ROWS_MAX);
    let in_words = rows.iter().map(|row| format!("{} {}", row.label, row.text));
    let what = in_words.collect::<Vec<_>>().join("; ");
    Some(LeadFigure {
        title: format!("Effect of each setting: {of}"),
        what,
        plots: vec![Plot::Rows(RowsPlot {
            title: format!("change of {of}, % ({note})"),
            baseline: Some(0.0),
            is_log: false,
            rows,
        })],
        ..LeadFigure::default()
    })
}
