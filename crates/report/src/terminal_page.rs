//! Renders the page for a terminal as plain lines without colours, for a width of [`WIDTH`]
//! columns.
//!
//! The terminal page omits charts, pictures and details, and optional columns of tables that do not
//! fit. The HTML report contains all of them. An asterisk replaces the detail of a cell that is
//! grey on the HTML page.

use crate::page::{Align, Block, Card, Cell, Column, Headline, Mark, Page, Section, Table, Tone};
use store::record::RuleOutcome;

/// Maximum width of lines, in columns.
const WIDTH: usize = 100;
/// Width below which a column of text does not shrink.
const TEXT_COLUMN_MIN: usize = 16;

impl Headline {
    /// Returns the reasons why a run is not `valid`. Prefers the short reasons, if they exist.
    pub fn main_reasons(&self) -> &[String] {
        if self.short_reasons.is_empty() {
            &self.reasons
        } else {
            &self.short_reasons
        }
    }
}

/// Renders a page as text for a terminal.
pub fn text(page: &Page) -> String {
    let mut out = String::new();
    headline(&mut out, &page.headline);
    for part in page.sections() {
        section(&mut out, part);
    }
    out
}

fn line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

/// Replaces control characters by `?`, because control characters in the text of a study could move
/// the cursor.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// Breaks text at spaces into lines of at most `limit` columns. A longer word continues on the next
/// line. Replaces control characters by `?`.
pub(crate) fn wrap(text: &str, limit: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut current = String::new();
    for word in clean(text).split(' ').filter(|w| !w.is_empty()) {
        if !current.is_empty() && width(&current) + 1 + width(word) > limit {
            lines.push(std::mem::take(&mut current));
        }
        if !current.is_empty() {
            current.push(' ');
        }
        for c in word.chars() {
            if width(&current) == limit {
                lines.push(std::mem::take(&mut current));
            }
            current.push(c);
        }
    }
    lines.push(current);
    lines
}

fn paragraph(out: &mut String, text: &str, indent: &str) {
    hanging(out, text, indent, indent);
}

/// Writes a paragraph. Its first line begins with `first`, and every other line with `rest`.
fn hanging(out: &mut String, text: &str, first: &str, rest: &str) {
    let longer = width(first).max(width(rest));
    for (index, part) in wrap(text, WIDTH - longer).iter().enumerate() {
        let indent = if index == 0 { first } else { rest };
        line(out, &format!("{indent}{part}"));
    }
}

fn headline(out: &mut String, headline: &Headline) {
    line(out, &clean(&headline.study));
    paragraph(out, &headline.question, "");
    out.push('\n');
    for sentence in &headline.answer {
        paragraph(out, sentence, "  ");
    }
    out.push('\n');
    let missed = if headline.is_missed {
        ", requirements missed"
    } else {
        ""
    };
    let verdict = format!(
        "verdict: {}{missed}. {}",
        headline.verdict.name(),
        headline.meaning
    );
    paragraph(out, &verdict, "");
    for reason in headline.main_reasons() {
        hanging(out, reason, "  - ", "    ");
    }
    if let Some(next) = &headline.next {
        paragraph(out, &format!("next: {}", next.says), "");
        line(out, &format!("  {}", clean(&next.command)));
    }
    let facts: Vec<String> = headline
        .facts
        .iter()
        .map(|(name, value)| format!("{}: {}", name.to_lowercase(), value))
        .collect();
    paragraph(out, &facts.join(" · "), "");
}

fn section(out: &mut String, section: &Section) {
    let mut body = String::new();
    section.blocks.iter().for_each(|b| block(&mut body, b));
    // The terminal omits the explanation of terms, which is only for readers of the HTML page.
    if body.trim().is_empty() || section.id == "words" {
        return;
    }
    out.push('\n');
    line(out, &section.title.to_uppercase());
    out.push_str(&body);
}

fn block(out: &mut String, what: &Block) {
    match what {
        Block::Text(text) | Block::Note(_, text) => paragraph(out, text, ""),
        Block::Table(what) => table(out, what),
        Block::Chart(_)
        | Block::Picture(_)
        | Block::Icicle(_)
        | Block::Figure(..)
        | Block::Choice(..)
        | Block::Details(..) => {}
        Block::List(heading, items) => {
            line(out, &clean(heading));
            for item in items {
                hanging(out, item, "  - ", "    ");
            }
        }
        Block::Facts(facts) => {
            if !out.is_empty() {
                out.push('\n');
            }
            let longest = facts.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
            for (name, value) in facts {
                let pad = " ".repeat(longest - width(name) + 2);
                line(out, &format!("  {}{pad}{}", clean(name), clean(value)));
            }
        }
        Block::Marks(all) => marks(out, all),
        Block::Card(what) => card(out, what),
        Block::Code(text) => text.lines().for_each(|l| line(out, &format!("  {}", clean(l)))),
    }
}

/// Writes the name, the verdict and the facts of a card. Omits other blocks, because they need more
/// space.
fn card(out: &mut String, card: &Card) {
    out.push('\n');
    line(out, &clean(&format!("{}: {}", card.title, card.verdict)));
    let facts = card.blocks.iter().filter_map(|block| match block {
        Block::Facts(facts) => Some(facts),
        _ => None,
    });
    for (name, value) in facts.flatten() {
        let name = format!("  {name}: ");
        hanging(out, &format!("{name}{value}"), "", "    ");
    }
}

/// Writes the results of the rules. Rules that failed or warned have their details, because readers
/// look for them. For unknown and passed rules, writes only the names.
fn marks(out: &mut String, marks: &[Mark]) {
    let with =
        |result: RuleOutcome| marks.iter().filter(move |m| m.result == result).collect::<Vec<_>>();
    for result in [RuleOutcome::Fail, RuleOutcome::Warn] {
        for mark in with(result) {
            let text = format!("{result} {} {}", mark.label, mark.detail);
            hanging(out, &text, "  ", "          ");
        }
    }
    for result in [RuleOutcome::Unknown, RuleOutcome::Pass] {
        let names: Vec<&str> = with(result).iter().map(|m| m.label.as_str()).collect();
        if !names.is_empty() {
            hanging(
                out,
                &format!("{result} {}", names.join(" ")),
                "  ",
                "        ",
            );
        }
    }
}

fn cell_text(cell: &Cell) -> String {
    let text = clean(&cell.text);
    match (cell.tone, cell.detail.is_empty()) {
        (_, true) => text,
        (Tone::Muted, false) => format!("{text}*"),
        (_, false) => format!("{text} {}", clean(&cell.detail)),
    }
}

fn title(column: &Column) -> String {
    if column.unit.is_empty() {
        clean(&column.title)
    } else {
        format!("{}, {}", clean(&column.title), clean(&column.unit))
    }
}

fn table(out: &mut String, table: &Table) {
    let shown = shown_columns(table);
    let widths = fit(table, &shown);
    if !table.caption.is_empty() {
        out.push('\n');
        line(out, &clean(&table.caption));
    }
    let heads: Vec<Vec<String>> = shown
        .iter()
        .zip(&widths)
        .map(|(i, width)| wrap(&title(&table.columns[*i]), *width))
        .collect();
    lines_of_row(out, table, &shown, &widths, heads);
    let rule: Vec<String> = widths.iter().map(|w| "-".repeat(*w)).collect();
    line(out, &format!("  {}", rule.join("  ")));
    for row in &table.rows {
        let cells = shown.iter().zip(&widths).map(|(i, width)| {
            let text = row.cells.get(*i).map(cell_text).unwrap_or_default();
            wrap(&text, *width)
        });
        lines_of_row(out, table, &shown, &widths, cells.collect());
    }
    if !table.foot.is_empty() {
        paragraph(out, &table.foot, "  ");
    }
}

/// Returns the indexes of the columns that fit. If not all columns fit, omits optional columns,
/// beginning with the last one.
fn shown_columns(table: &Table) -> Vec<usize> {
    let mut shown: Vec<usize> = (0..table.columns.len()).collect();
    while natural_widths(table, &shown).iter().map(|w| w + 2).sum::<usize>() > WIDTH {
        let Some(last) = shown.iter().rposition(|i| table.columns[*i].wide_only) else {
            break;
        };
        shown.remove(last);
    }
    shown
}

/// Returns the width of each column at which no cell wraps. Headings may wrap at spaces, so a
/// column only needs the width of the longest word in its heading.
fn natural_widths(table: &Table, shown: &[usize]) -> Vec<usize> {
    let of = |i: &usize| {
        let head = title(&table.columns[*i]);
        let word = head.split(' ').map(width).max().unwrap_or(0);
        let cells = table.rows.iter().filter_map(|r| r.cells.get(*i));
        cells.map(|c| width(&cell_text(c))).max().unwrap_or(0).max(word).max(1)
    };
    shown.iter().map(of).collect()
}

/// Returns the widths of the columns. If the table is wider than [`WIDTH`], the widest columns of
/// text shrink to at least [`TEXT_COLUMN_MIN`]. The table may still be too wide.
fn fit(table: &Table, shown: &[usize]) -> Vec<usize> {
    let mut widths = natural_widths(table, shown);
    loop {
        let total: usize = widths.iter().map(|w| w + 2).sum();
        if total <= WIDTH {
            return widths;
        }
        let widest = (0..widths.len())
            .filter(|at| table.columns[shown[*at]].align == Align::Left)
            .filter(|at| widths[*at] > TEXT_COLUMN_MIN)
            .max_by_key(|at| widths[*at]);
        let Some(widest) = widest else {
            return widths;
        };
        widths[widest] -= (total - WIDTH).min(widths[widest] - TEXT_COLUMN_MIN);
    }
}

fn lines_of_row(
    out: &mut String,
    table: &Table,
    shown: &[usize],
    widths: &[usize],
    cells: Vec<Vec<String>>,
) {
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    for at in 0..height {
        let mut parts = Vec::with_capacity(cells.len());
        for ((lines, column), wide) in cells.iter().zip(shown).zip(widths) {
            let text = lines.get(at).map_or("", String::as_str);
            let pad = " ".repeat(wide.saturating_sub(width(text)));
            parts.push(match table.columns[*column].align {
                Align::Left => format!("{text}{pad}"),
                Align::Right => format!("{pad}{text}"),
            });
        }
        line(out, &format!("  {}", parts.join("  ")));
    }
}
