//! Reads meanings from the pages that define them.
//!
//! It reads tables and the beginnings of paragraphs, so the definition of each number exists only
//! on one page.

use super::meaning::{About, Meaning};
use analysis::limits::LimitKind;
use store::record::{rule_names, rule_title};

/// The page that defines the numbers in reports.
const NUMBERS: &str = include_str!("../../../../../docs/measurement.md");

const VOCABULARY: &str = include_str!("../../../../../AGENTS.md");

const GLOSSARY: &str = include_str!("../../../../../docs/glossary.md");

/// Path of the page in [`NUMBERS`].
const PAGE: &str = "docs/measurement.md";

pub(super) fn rules() -> Vec<Meaning> {
    let rows: Vec<Vec<&str>> = NUMBERS.lines().filter_map(cells).collect();
    let of = |rule: &'static str| {
        let title = rule_title(rule).unwrap_or_default();
        let mut meaning = Meaning::new(About::Rule, rule, title);
        meaning.also.push(title.to_owned());
        let row = rows.iter().find(|row| row.first() == Some(&rule));
        let heads = ["asks", "warns", "fails", "unknown"];
        for (head, cell) in heads.iter().zip(row.into_iter().flatten().skip(1)) {
            if *cell != "–" {
                meaning.more.push(((*head).to_owned(), plain(cell)));
            }
        }
        for (bold, text) in begins() {
            if bold.split(", ").any(|name| name == rule) {
                meaning.more.push(("note".to_owned(), text));
            }
        }
        meaning
    };
    rule_names().map(of).collect()
}

pub(super) fn limits() -> Vec<Meaning> {
    let row = |line: &'static str| match cells(line)?[..] {
        [name, value, full_from] => {
            let name = ticked(name)?;
            let kind = LimitKind::from_name(name)?;
            let mut meaning = Meaning::new(About::Limit, name, plain(value));
            meaning.more = vec![
                ("full from".to_owned(), plain(full_from)),
                ("confidence".to_owned(), kind.row().confidence.to_string()),
                ("defined in".to_owned(), PAGE.to_owned()),
            ];
            Some(meaning)
        }
        _ => None,
    };
    NUMBERS.lines().filter_map(row).collect()
}

pub(super) fn figures() -> Vec<Meaning> {
    let mut found = Vec::new();
    for row in NUMBERS.lines().filter_map(cells) {
        let Some((first, rest)) = row.split_first() else {
            continue;
        };
        let names: Vec<&str> = first.split(", ").filter_map(ticked).collect();
        let text: Vec<String> =
            rest.iter().filter(|cell| !cell.is_empty()).map(|c| plain(c)).collect();
        let is_figure =
            |name: &&&str| !name.starts_with('-') && LimitKind::from_name(name).is_none();
        for name in names.iter().filter(is_figure) {
            let mut meaning = Meaning::new(About::Figure, *name, text.join("; "));
            // A text such as "release lag: sent − intended" begins with the name of the figure. In
            // this example, "release lag" is the name of `lag_us`.
            let called = text.first().and_then(|text| text.split_once(": "));
            let is_name = |word: &&str| word.len() < 24 && !word.contains('`');
            meaning
                .also
                .extend(called.map(|(word, _)| word).filter(is_name).map(str::to_owned));
            meaning.more.push(("defined in".to_owned(), PAGE.to_owned()));
            found.push(meaning);
        }
    }
    found
}

pub(super) fn words() -> Vec<Meaning> {
    let from_there = VOCABULARY.split("## Vocabulary").nth(1).unwrap_or_default();
    let table = from_there.split("\n## ").next().unwrap_or_default();
    let mut found: Vec<Meaning> = Vec::new();
    for row in GLOSSARY.lines().chain(table.lines()).filter_map(cells) {
        // This code skips the header row of each table.
        if let [word, text] = row[..]
            && word != "word"
            && found.iter().all(|one| !one.name.eq_ignore_ascii_case(word))
        {
            found.push(Meaning::new(About::Word, word, plain(text)));
        }
    }
    found
}

pub(super) fn terms() -> Vec<Meaning> {
    let is_rule = |bold: &str| rule_names().any(|rule| bold.split(", ").any(|name| name == rule));
    let all = begins().into_iter().filter(|(bold, _)| !is_rule(bold));
    let of = |(bold, text)| {
        let mut meaning = Meaning::new(About::Term, bold, text);
        meaning.more.push(("defined in".to_owned(), PAGE.to_owned()));
        meaning
    };
    all.map(of).collect()
}

/// Returns paragraphs and items that begin with bold words. Each is a pair of the bold words and
/// the whole text.
fn begins() -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut is_open = false;
    for line in NUMBERS.lines() {
        let bold = line.strip_prefix("- ").unwrap_or(line).strip_prefix("**");
        if let Some((bold, _)) = bold.and_then(|rest| rest.split_once("**")) {
            let name = bold.trim_end_matches(['.', ':', ',']).to_owned();
            found.push((name, plain(line.trim_start_matches("- "))));
            is_open = true;
        } else if line.trim().is_empty() || line.starts_with(['-', '|', '#']) {
            is_open = false;
        } else if let Some((_, text)) = found.last_mut().filter(|_| is_open) {
            text.push(' ');
            *text += &plain(line.trim());
        }
    }
    found
}

/// Returns the cells of a table row. `None` for the row of dashes, and for a line outside of
/// tables.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line
        .strip_prefix("| ")?
        .strip_suffix(" |")
        .or(line.strip_prefix("| ")?.strip_suffix(" | |"))?;
    let cells: Vec<&str> = inner.split(" | ").map(str::trim).collect();
    (!cells[0].starts_with("---")).then_some(cells)
}

/// Returns the name between the backticks of a cell. `None` if the cell contains other text.
fn ticked(cell: &str) -> Option<&str> {
    let name = cell.strip_prefix('`')?.strip_suffix('`')?;
    (!name.contains('`')).then_some(name)
}

/// Removes Markdown from a text: bold markers, and targets of links.
fn plain(text: &str) -> String {
    let text = text.replace("**", "");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some((before, link)) = rest.split_once("](") {
        let Some((_, after)) = link.split_once(')') else {
            break;
        };
        out += &before.replacen('[', "", 1);
        rest = after;
    }
    out + rest
}
