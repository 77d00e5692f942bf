//! Visits every text of a page, for programs that replace names before they publish the page.
//!
//! Each function destructures its type, so a new field does not compile until this file treats it.
//! Identifiers in the program's own words, such as the anchors of sections, are not texts.

use super::{
    Axis, Band, Block, BoxGroup, Card, Cell, Chart, Column, CurvePlot, Figure, Fold, Headline,
    Icicle, IcicleFrame, LeadFigure, LeadMark, Leaf, Mark, NextStep, Page, Panel, Part, Picture,
    Plot, PlotAxis, Row, RowsPlot, Section, Series, Table, ValueRow, XValues,
};
use serde_json::{Map, Value};

/// A function that may change a text.
pub type Change<'a> = &'a mut dyn FnMut(&mut String);

impl Page {
    /// Applies a function to every text of the page, of its figures and of its data.
    pub fn change_texts(&mut self, change: Change<'_>) {
        let Page {
            title,
            headline,
            folds,
            data,
        } = self;
        change(title);
        change_headline(headline, change);
        for Fold {
            id: _,
            title,
            is_open: _,
            sections,
        } in folds
        {
            change(title);
            sections.iter_mut().for_each(|section| change_section(section, change));
        }
        change_json(data, change);
    }

    /// Removes the links to files outside the page.
    pub fn remove_links(&mut self) {
        let sections = self.folds.iter_mut().flat_map(|fold| &mut fold.sections);
        sections.for_each(|section| unlink(&mut section.blocks));
    }
}

fn unlink(blocks: &mut [Block]) {
    for block in blocks {
        match block {
            Block::Table(table) => {
                let cells = table.rows.iter_mut().flat_map(|row| &mut row.cells);
                cells.for_each(|cell| cell.link.clear());
            }
            Block::Details(_, blocks) => unlink(blocks),
            Block::Card(card) => unlink(&mut card.blocks),
            _ => {}
        }
    }
}

fn change_all(texts: &mut [String], change: Change<'_>) {
    texts.iter_mut().for_each(change);
}

fn change_pairs(pairs: &mut [(String, String)], change: Change<'_>) {
    for (name, value) in pairs {
        change(name);
        change(value);
    }
}

fn change_headline(headline: &mut Headline, change: Change<'_>) {
    let Headline {
        study,
        facts,
        question,
        lead,
        alarms,
        answer,
        verdict: _,
        is_missed: _,
        meaning,
        short_reasons,
        reasons,
        figures,
        next,
    } = headline;
    [study, question, meaning].into_iter().for_each(&mut *change);
    change_pairs(facts, change);
    for texts in [alarms, answer, short_reasons, reasons] {
        change_all(texts, change);
    }
    lead.iter_mut().for_each(|figure| change_lead_figure(figure, change));
    for Figure {
        label,
        value,
        unit,
        detail,
        variant: _,
    } in figures
    {
        [label, value, unit, detail].into_iter().for_each(&mut *change);
    }
    if let Some(NextStep { says, command }) = next {
        [says, command].into_iter().for_each(change);
    }
}

fn change_section(section: &mut Section, change: Change<'_>) {
    let Section {
        id: _,
        title,
        lead,
        blocks,
    } = section;
    [title, lead].into_iter().for_each(&mut *change);
    blocks.iter_mut().for_each(|block| change_block(block, change));
}

fn change_block(block: &mut Block, change: Change<'_>) {
    match block {
        Block::Text(text) | Block::Note(_, text) | Block::Code(text) => change(text),
        Block::Table(table) => change_table(table, change),
        Block::Chart(chart) => change_chart(chart, change),
        Block::Picture(picture) => change_picture(picture, change),
        Block::Icicle(icicle) => change_icicle(icicle, change),
        Block::Figure(_, figure) => change_lead_figure(figure, change),
        Block::Choice(label, charts) => {
            change(label);
            for (name, chart) in charts {
                change(name);
                change_chart(chart, change);
            }
        }
        Block::List(heading, items) => {
            change(heading);
            change_all(items, change);
        }
        Block::Facts(facts) => change_pairs(facts, change),
        Block::Marks(marks) => {
            for Mark {
                label,
                result: _,
                tone: _,
                detail,
            } in marks
            {
                [label, detail].into_iter().for_each(&mut *change);
            }
        }
        Block::Details(summary, blocks) => {
            change(summary);
            blocks.iter_mut().for_each(|block| change_block(block, change));
        }
        Block::Card(Card {
            title,
            detail,
            verdict,
            tone: _,
            blocks,
        }) => {
            [title, detail, verdict].into_iter().for_each(&mut *change);
            blocks.iter_mut().for_each(|block| change_block(block, change));
        }
    }
}

fn change_table(table: &mut Table, change: Change<'_>) {
    let Table {
        caption,
        columns,
        rows,
        foot,
    } = table;
    [caption, foot].into_iter().for_each(&mut *change);
    for Column {
        title,
        unit,
        align: _,
        wide_only: _,
    } in columns
    {
        [title, unit].into_iter().for_each(&mut *change);
    }
    for Row { cells, tone: _ } in rows {
        for Cell {
            text,
            detail,
            tone: _,
            hint,
            variant: _,
            link,
        } in cells
        {
            [text, detail, hint, link].into_iter().for_each(&mut *change);
        }
    }
}

fn change_chart(chart: &mut Chart, change: Change<'_>) {
    let Chart {
        title,
        what,
        height_px: _,
        x,
        panels,
        gap_px: _,
        views,
        bands,
        unified_hover: _,
    } = chart;
    [title, what].into_iter().for_each(&mut *change);
    change_axis(x, change);
    for Panel {
        title,
        note,
        share: _,
        fit: _,
        left,
        right,
        series,
    } in panels
    {
        [title, note].into_iter().for_each(&mut *change);
        change_axis(left, change);
        right.iter_mut().for_each(|axis| change_axis(axis, change));
        series.iter_mut().for_each(|one| change_series(one, change));
    }
    views.iter_mut().for_each(|(name, _)| change(name));
    for Band {
        from: _,
        to: _,
        label,
        tone: _,
    } in bands
    {
        change(label);
    }
}

fn change_axis(axis: &mut Axis, change: Change<'_>) {
    let Axis {
        title,
        scale: _,
        names,
    } = axis;
    change(title);
    change_all(names, change);
}

fn change_series(series: &mut Series, change: Change<'_>) {
    let Series {
        name,
        group,
        in_legend: _,
        shape: _,
        color: _,
        dash: _,
        on_right: _,
        x,
        y: _,
        y_ci: _,
        x_ci: _,
        labels,
        unit,
    } = series;
    [name, group, unit].into_iter().for_each(&mut *change);
    if let XValues::Names(names) = x {
        change_all(names, change);
    }
    change_all(labels, change);
}

fn change_picture(picture: &mut Picture, change: Change<'_>) {
    let Picture {
        id,
        title,
        what,
        nests,
        legend,
    } = picture;
    [id, title, what].into_iter().for_each(&mut *change);
    nests.iter_mut().for_each(|group| change_box(group, change));
    legend.iter_mut().for_each(|(_, meaning)| change(meaning));
}

fn change_box(group: &mut BoxGroup, change: Change<'_>) {
    let BoxGroup {
        label,
        details,
        nests,
        tiles,
    } = group;
    change(label);
    change_all(details, change);
    nests.iter_mut().for_each(|below| change_box(below, change));
    for Leaf { label, parts } in tiles {
        change(label);
        for Part {
            label,
            hint,
            looks: _,
        } in parts
        {
            [label, hint].into_iter().for_each(&mut *change);
        }
    }
}

fn change_icicle(icicle: &mut Icicle, change: Change<'_>) {
    let Icicle {
        id,
        title,
        what,
        unit,
        total: _,
        frames,
    } = icicle;
    [id, title, what, unit].into_iter().for_each(&mut *change);
    for IcicleFrame {
        row: _,
        name,
        callers,
        cost: _,
        kind: _,
        is_named: _,
    } in frames
    {
        change(name);
        change_all(callers, change);
    }
}

fn change_lead_figure(figure: &mut LeadFigure, change: Change<'_>) {
    let LeadFigure {
        title,
        what,
        plots,
        legend,
        says,
    } = figure;
    [title, what, says].into_iter().for_each(&mut *change);
    legend.iter_mut().for_each(|(_, label)| change(label));
    for plot in plots {
        match plot {
            Plot::Curve(CurvePlot { x, y, says, marks }) => {
                change(says);
                for PlotAxis {
                    title,
                    scale: _,
                    ticks: _,
                } in [x, y]
                {
                    change(title);
                }
                marks.iter_mut().for_each(|mark| change(label_of(mark)));
            }
            Plot::Rows(RowsPlot {
                title,
                baseline: _,
                is_log: _,
                rows,
            }) => {
                change(title);
                for ValueRow {
                    label,
                    value: _,
                    ci95: _,
                    other: _,
                    text,
                    paint: _,
                } in rows
                {
                    [label, text].into_iter().for_each(&mut *change);
                }
            }
        }
    }
}

fn label_of(mark: &mut LeadMark) -> &mut String {
    match mark {
        LeadMark::Line {
            points: _,
            paint: _,
            is_dashed: _,
            label,
        }
        | LeadMark::Across {
            y: _,
            label,
            paint: _,
        }
        | LeadMark::Upright {
            x: _,
            label,
            paint: _,
        }
        | LeadMark::Band {
            from: _,
            to: _,
            label,
            paint: _,
        } => label,
        LeadMark::Dot {
            x: _,
            y: _,
            ci95: _,
            paint: _,
            hint,
        } => hint,
    }
}

/// Changes the texts of a JSON value, including the keys of its objects. If two keys become equal,
/// the later key gets a number.
fn change_json(value: &mut Value, change: Change<'_>) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| change_json(item, change)),
        Value::Object(map) => {
            let mut changed = Map::with_capacity(map.len());
            for (mut key, mut value) in std::mem::take(map) {
                change(&mut key);
                change_json(&mut value, change);
                let numbered = (2..).map(|number| format!("{key}-{number}"));
                let mut candidates = std::iter::once(key.clone()).chain(numbered);
                let free = candidates.find(|one| !changed.contains_key(one));
                changed.insert(free.expect("numbers do not end"), value);
            }
            *map = changed;
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
