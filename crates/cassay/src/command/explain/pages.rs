//! Meanings from the pages that define them.
//!
//! Their tables and the begins of their paragraphs are read, so that the page stays the one place
//! where a number is defined.

use super::meaning::{About, Meaning};
use store::record::{rule_names, rule_title};

/// What every number means.
const NUMBERS: &str = include_str!("../../../../../docs/measurement.md");

/// Where the vocabulary stands.
const VOCABULARY: &str = include_str!("../../../../../AGENTS.md");

/// Where it is told at length.
const PAGE: &str = "docs/measurement.md";

/// The rules of validity.
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

/// The figures that the tables of the page define.
pub(super) fn figures() -> Vec<Meaning> {
    let mut found = Vec::new();
    for row in NUMBERS.lines().filter_map(cells) {
        let Some((first, rest)) = row.split_first() else {
            continue;
        };
        let names: Vec<&str> = first.split(", ").filter_map(ticked).collect();
        let text: Vec<String> =
            rest.iter().filter(|cell| !cell.is_empty()).map(|c| plain(c)).collect();
        for name in names.iter().filter(|name| !name.starts_with('-')) {
            let mut meaning = Meaning::new(About::Figure, *name, text.join("; "));
            // "release lag: sent − intended" is what `lag_us` is called.
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

/// The words of the vocabulary, and those that the page defines where they stand first.
pub(super) fn words() -> Vec<Meaning> {
    let mut found = Vec::new();
    let from_there = VOCABULARY.split("## Vocabulary").nth(1).unwrap_or_default();
    let table = from_there.split("\n## ").next().unwrap_or_default();
    for row in table.lines().filter_map(cells) {
        if let [word, meaning] = row[..]
            && word != "word"
        {
            found.push(Meaning::new(About::Word, word, plain(meaning)));
        }
    }
    for (bold, text) in begins() {
        let is_rule = rule_names().any(|rule| bold.split(", ").any(|name| name == rule));
        if !is_rule {
            let mut meaning = Meaning::new(About::Word, bold, text);
            meaning.more.push(("defined in".to_owned(), PAGE.to_owned()));
            found.push(meaning);
        }
    }
    found
}

/// Paragraphs and items that begin with bold words: those, and the whole text.
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

/// The cells of a row of a table.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line
        .strip_prefix("| ")?
        .strip_suffix(" |")
        .or(line.strip_prefix("| ")?.strip_suffix(" | |"))?;
    let cells: Vec<&str> = inner.split(" | ").map(str::trim).collect();
    (!cells[0].starts_with("---")).then_some(cells)
}

/// The name between backticks.
fn ticked(cell: &str) -> Option<&str> {
    let name = cell.strip_prefix('`')?.strip_suffix('`')?;
    (!name.contains('`')).then_some(name)
}

/// A text without what only a page shows: bold words, and where links lead.
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
