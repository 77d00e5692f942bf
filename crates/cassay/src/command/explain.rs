//! `cassay explain`: explains a word of a study, a report or `findings.json`.
//!
//! This module contains no explanations. The texts come from the program's own tables, from its
//! records, and from the pages that define the numbers.

mod meaning;
mod pages;
mod tables;

use crate::args::{Common, ExplainArgs};
use crate::exit::Exit;
use crate::terminal;
use anyhow::{Result, bail};
use meaning::{About, Meaning, indented};
use yaml::near_name;

/// Maximum number of matches that `explain` shows in full. If more names match, `explain` lists
/// only the names.
const SHOWN_MAX: usize = 16;

/// Explains the requested word, or lists all words.
pub fn run(args: &ExplainArgs, common: &Common) -> Result<Exit> {
    let all = all()?;
    if args.what.is_empty() {
        list(&all, common);
        return Ok(Exit::Done);
    }
    let wanted = args.what.join(" ");
    let found = find(&all, &wanted);
    let found = if common.json {
        found
    } else {
        for_people(found)
    };
    if found.is_empty() {
        let known = all.iter().flat_map(names).filter(|name| name.len() > 1);
        let near = near_name(&wanted, known);
        let hint = near.unwrap_or_else(|| "`cassay explain` lists all keys and terms".to_owned());
        bail!("`{wanted}` is unknown\nhint: {hint}");
    }
    if common.json {
        terminal::json(&found.iter().map(|meaning| meaning.to_json()).collect());
    } else if found.len() > SHOWN_MAX {
        let lines = found.iter().map(|one| format!("{} ({})\n", one.name, one.about));
        terminal::data(&lines.collect::<String>());
        terminal::say(&format!(
            "the name is ambiguous: {} names match; use a full name",
            found.len()
        ));
    } else {
        let texts: Vec<String> = found.iter().map(|meaning| meaning.lines()).collect();
        terminal::data(&texts.join("\n"));
    }
    Ok(Exit::Done)
}

fn all() -> Result<Vec<Meaning>> {
    let mut all = pages::rules();
    all.extend(pages::limits());
    all.extend(tables::keys());
    all.extend(tables::figures()?);
    all.extend(pages::figures());
    all.extend(pages::words());
    all.extend(pages::terms());
    all.extend(tables::faults());
    all.extend(tables::exits());
    all.sort_by_key(|meaning| meaning.about);
    Ok(all)
}

fn names(meaning: &Meaning) -> impl Iterator<Item = &str> {
    std::iter::once(meaning.name.as_str()).chain(meaning.also.iter().map(String::as_str))
}

/// Returns the meanings of a name. Compares the whole name first, then the last part of each name.
fn find<'a>(all: &'a [Meaning], wanted: &str) -> Vec<&'a Meaning> {
    let wanted = wanted.trim().trim_matches('`');
    // The code `3` may be written as `exit code 3` or as `exit 3`.
    let wanted = wanted.rsplit_once("exit ").map_or(wanted, |(_, code)| match code {
        "code" => wanted,
        code => code.trim_start_matches("code "),
    });
    let plain = without_separators(wanted);
    let is_whole =
        |meaning: &&Meaning| names(meaning).any(|name| without_separators(name) == plain);
    let mut found: Vec<_> = all.iter().filter(is_whole).collect();
    let last = format!(".{plain}");
    let is_last = |meaning: &&Meaning| without_separators(&meaning.name).ends_with(&last);
    let by_last: Vec<_> = all.iter().filter(is_last).collect();
    // `explain` adds matches of the last part only if few names match. Otherwise a word such as
    // `window` would match every key that ends with `.window`.
    if found.is_empty() || found.len() + by_last.len() <= SHOWN_MAX {
        found.extend(by_last);
    }
    if found.is_empty() {
        found = find_words(all, wanted);
    }
    found
}

/// Returns the meanings with the longest name that occurs in `wanted`: `in flight` for `operations
/// in flight`. If there are none, returns the meanings whose names contain `wanted`: `short window`
/// for `short`.
fn find_words<'a>(all: &'a [Meaning], wanted: &str) -> Vec<&'a Meaning> {
    let wanted = words(wanted);
    let contains = |long: &[String], short: &[String]| {
        !short.is_empty() && long.windows(short.len()).any(|part| part == short)
    };
    let named = |meaning: &Meaning| names(meaning).map(words).collect::<Vec<_>>();
    let within = |meaning: &Meaning| {
        // A short name such as `no` says nothing about a longer phrase.
        let is_most = |name: &Vec<String>| name.len() * 2 >= wanted.len();
        named(meaning)
            .into_iter()
            .filter(|name| is_most(name) && contains(&wanted, name))
            .map(|name| name.len())
            .max()
    };
    if let Some(longest) = all.iter().filter_map(within).max() {
        return all.iter().filter(|meaning| within(meaning) == Some(longest)).collect();
    }
    let has_wanted = |meaning: &&Meaning| named(meaning).iter().any(|name| contains(name, &wanted));
    all.iter().filter(has_wanted).collect()
}

/// Splits a name into words in lower case, without the `s` of a plural.
fn words(name: &str) -> Vec<String> {
    let words = name.split([' ', '_', '-']).filter(|word| !word.is_empty());
    words.map(|word| word.to_lowercase().trim_end_matches('s').to_owned()).collect()
}

/// Returns the name in lower case, without spaces, `_` and `-`. So users may write a name as on a
/// screen (`short window`) or as in a file (`short_window`).
fn without_separators(name: &str) -> String {
    name.to_lowercase().replace([' ', '_', '-'], "")
}

/// Returns the meanings that a user probably intends. Omits fields of files and definitions of
/// terms, unless no other meaning exists.
fn for_people(found: Vec<&Meaning>) -> Vec<&Meaning> {
    let is_detail = |one: &&Meaning| matches!(one.about, About::Figure | About::Term);
    let (details, first): (Vec<_>, Vec<_>) = found.into_iter().partition(is_detail);
    if first.is_empty() { details } else { first }
}

fn list(all: &[Meaning], common: &Common) {
    if common.json {
        terminal::json(&all.iter().map(Meaning::to_json).collect());
        return;
    }
    let mut text = String::new();
    for alike in all.chunk_by(|one, next| one.about == next.about) {
        let mut names: Vec<&str> = alike.iter().map(|meaning| meaning.name.as_str()).collect();
        names.dedup();
        text += &format!("{}:\n{}", alike[0].about, indented(&names.join(", "), 2));
    }
    terminal::data(&text);
}

#[cfg(test)]
mod tests;
