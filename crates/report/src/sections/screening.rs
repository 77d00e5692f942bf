//! The settings of a screening that have an effect, with a table, a half-normal plot, and the way
//! to confirm the settings.

use crate::merged_points::place;
use crate::number;
use crate::page::{Block, Section, Table, Tone};
use crate::run_view::RunView;
use crate::sections::half_normal::half_normal_chart;
use crate::sections::results::metric_name;
use analysis::screening::Activity;
use store::record::{ScreenRecord, ScreenedRecord};

/// Returns the section on screenings. `None` for a study without a screening.
pub fn section(view: &RunView) -> Option<Section> {
    let screens = &view.findings.screens;
    if screens.is_empty() {
        return None;
    }
    Some(Section {
        id: "screen",
        title: "Which settings matter".into(),
        lead:
            "Every run has one of two values of every setting, so each effect uses all runs. The \
             screening repeats no run: the small effects show the size of chance (Lenth's method). \
             A screening selects factors to confirm, and proves no effect."
                .into(),
        blocks: screens.iter().flat_map(|screen| blocks(screen, &view.name)).collect(),
    })
}

fn blocks(screen: &ScreenRecord, run: &str) -> Vec<Block> {
    if let Some(why) = &screen.refused {
        return vec![Block::Note(Tone::Warn, format!("No answer: {why}."))];
    }
    let mut blocks = vec![Block::Table(table(screen))];
    let sizes = screen.effects.iter().enumerate().map(|(at, e)| (name(e, at), e.ln_ratio.abs()));
    let chart = half_normal_chart(&sizes.collect::<Vec<_>>(), "size of the effect, |ln ratio|");
    blocks.extend(chart.map(Block::Chart));
    if screen.confirm.is_empty() {
        blocks.push(Block::Text(
            "The screening selected no settings to confirm.".into(),
        ))
    } else {
        let text = format!(
            "`cassay confirm {run}` measures every combination of these settings, in blocks. It \
             runs the same study with this text instead of `screen` and `repeat`."
        );
        blocks.push(Block::Text(text));
        blocks.push(Block::Code(screen.matrix.clone()));
    }
    blocks
}

fn name(effect: &ScreenedRecord, at: usize) -> String {
    if effect.setting.is_empty() {
        format!("contrast {} (no setting's)", at + 1)
    } else {
        effect.setting.clone()
    }
}

fn activity_words(activity: Activity) -> &'static str {
    match activity {
        Activity::Active | Activity::Possible => activity.name(),
        Activity::Silent => "no visible effect",
    }
}

fn table(screen: &ScreenRecord) -> Table {
    let change = |ln: f64| measure::number::change(ln.exp());
    let written = screen.default_ratio.map_or_else(String::new, |ratio| {
        format!(
            " The study without changes reaches {} of the mean of the runs.",
            number::significant(ratio, 3)
        )
    });
    let caption = format!(
        "Effects on {} at {}: {}, {} runs",
        metric_name(&screen.metric),
        place(screen.point),
        screen.design,
        screen.runs
    );
    Table::from_records(caption, screen.effects.iter().enumerate())
        .text("Setting", |(at, effect)| name(effect, at))
        .text("Values", |(_, effect)| {
            let is_setting = !effect.setting.is_empty();
            is_setting.then(|| format!("{} ÷ {}", effect.value, effect.against))
        })
        .number("Change", "", |(_, effect)| change(effect.ln_ratio))
        .text("Says", |(_, effect)| activity_words(effect.activity))
        .tone(
            |(_, effect)| match (effect.activity, effect.setting.is_empty()) {
                (Activity::Active, false) => Tone::Strong,
                (Activity::Possible, false) => Tone::Plain,
                _ => Tone::Muted,
            },
        )
        .foot(format!(
            "Active: beyond ±{}, which any zero effect exceeds in 5 % of screenings. Possible: \
             beyond ±{}, which a single zero effect exceeds in 5 % of cases. In this design, \
             {}.{written}",
            change(screen.sme).trim_start_matches('+'),
            change(screen.me).trim_start_matches('+'),
            screen.mixed
        ))
        .build()
}
