//! Shows how the interval of each primary comparison changed with each look at the data. The
//! section is for studies that end as soon as the answer is known, and for studies to which blocks
//! were added.

use crate::merged_points::{place, variant_name};
use crate::number;
use crate::page::{
    Axis, Block, Cell, Chart, Color, Panel, Scale, Section, Series, Shape, Table, XValues,
};
use crate::run_view::RunView;
use crate::sections::comparisons::verdict_words;
use crate::sections::results::metric_name;
use store::record::{ComparisonRecord, LooksHow, LooksRecord};

/// Returns a chart and a table for each primary comparison with recorded looks. Returns `None` if
/// no such comparison exists.
pub fn section(view: &RunView) -> Option<Section> {
    let comparisons = view.findings.comparisons.iter();
    let looked: Vec<(&ComparisonRecord, &LooksRecord)> = comparisons
        .filter_map(|one| Some((one, one.looks.as_ref().filter(|_| one.primary)?)))
        .collect();
    let (_, first) = looked.first()?;
    let mut blocks = vec![Block::Text(how(first))];
    for (comparison, looks) in &looked {
        let title = title(view, comparison);
        blocks.push(Block::Text(format!(
            "{title}: {}.",
            ended(comparison, looks)
        )));
        if !looks.grew.is_empty() {
            blocks.push(Block::Chart(chart(&title, looks)));
            blocks.push(Block::Table(table(looks)));
        }
    }
    Some(Section {
        id: "growth",
        title: "How the evidence grew".into(),
        lead: "The run measured blocks until the question had an answer, or a later command added \
             blocks. The table shows the interval after each look."
            .into(),
        blocks,
    })
}

fn how(looks: &LooksRecord) -> String {
    if looks.how == LooksHow::Anytime {
        return format!(
            "{} added after the end of the run. If a person decides after a look whether to add \
             blocks, an ordinary interval covers the truth less often than it states. So these \
             intervals are wider: they have a confidence level of 95 % at all numbers of blocks \
             together (anytime-valid). The report judges all other comparisons of this run in the \
             same way.",
            match looks.added {
                1 => "1 block was".to_owned(),
                added => format!("{added} blocks were"),
            }
        );
    }
    let level = looks.level.map_or_else(String::new, |level| {
        let each = number::significant((1.0 - level) * 100.0, 4);
        format!(
            " Each interval has a confidence level of {each} %, so that all intervals together \
             have a confidence level of 95 %."
        )
    });
    let shared = match looks.among {
        0 | 1 => String::new(),
        among => format!(" {among} comparisons share this level."),
    };
    format!(
        "From block {} on, the run judged the primary comparison after each block. It ended at the \
         first result of faster, slower or equivalent, or after {} blocks.{level}{shared} All \
         other comparisons are secondary: they show the state at that moment.",
        looks.min, looks.max
    )
}

fn title(view: &RunView, comparison: &ComparisonRecord) -> String {
    format!(
        "{} against {}, {} at {}",
        variant_name(&comparison.contender, view),
        variant_name(&comparison.baseline, view),
        metric_name(&comparison.metric),
        place(comparison.point)
    )
}

fn ended(comparison: &ComparisonRecord, looks: &LooksRecord) -> String {
    let times = if looks.count == 1 { "look" } else { "looks" };
    format!(
        "{}, {}, {} {times}",
        verdict_words(comparison.verdict),
        looks.ended,
        looks.count
    )
}

fn percent(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}

fn chart(title: &str, looks: &LooksRecord) -> Chart {
    let interval = |ends: [f64; 2]| ends.map(percent);
    Chart {
        title: title.into(),
        what: "The difference from the baseline after each block, with the interval of that look. \
               The question has an answer if the interval does not contain 0, or if all of it is \
               within the margin."
            .into(),
        height_px: 280,
        x: Axis::new("block", Scale::Linear),
        panels: vec![Panel {
            share: 1.0,
            left: Axis::new("difference, %", Scale::Linear),
            series: vec![Series {
                name: "difference".into(),
                shape: Shape::Points,
                color: Color::Category(1),
                x: XValues::Numbers(looks.grew.iter().map(|look| look.block as f64).collect()),
                y: looks.grew.iter().map(|look| Some(percent(look.ratio))).collect(),
                y_ci: looks.grew.iter().map(|l| l.ci95.map(interval)).collect(),
                unit: "%".into(),
                ..Series::default()
            }],
            ..Panel::default()
        }],
        ..Chart::default()
    }
}

fn table(looks: &LooksRecord) -> Table {
    let signed = |ratio: f64| format!("{:+.1} %", percent(ratio));
    Table::from_records("Look by look", &looks.grew)
        .number("After block", "", |look| look.block.to_string())
        .number("Pairs", "", |look| look.pairs.to_string())
        .number("Difference", "", |look| signed(look.ratio))
        .number("Interval of this look", "", |look| match look.ci95 {
            Some([low, high]) => Cell::new(format!("{} to {}", signed(low), signed(high))),
            None => Cell::absent(),
        })
        .build()
}
