//! `cassay explain`: what a word in a study, a report or `findings.json` means.
//!
//! What must hold: nothing is described here. Texts are those of the tables that the program works
//! by, of its records, and of the pages that define the numbers.

mod meaning;
mod pages;
mod tables;

use crate::args::{Common, ExplainArgs};
use crate::exit::Exit;
use crate::terminal;
use anyhow::{Result, bail};
use meaning::{Meaning, indented};
use yaml::did_you_mean;

/// More than these are listed by name: one of them was meant.
const SHOWN_MAX: usize = 14;

/// Explains one thing, or lists all.
pub fn run(args: &ExplainArgs, common: &Common) -> Result<Exit> {
    let all = all()?;
    if args.what.is_empty() {
        list(&all, common);
        return Ok(Exit::Done);
    }
    let wanted = args.what.join(" ");
    let found = find(&all, &wanted);
    if found.is_empty() {
        let known = all.iter().flat_map(names).filter(|name| name.len() > 1);
        let near = did_you_mean(&wanted, known).filter(|hint| hint.starts_with("did"));
        let hint = near.unwrap_or_else(|| "`cassay explain` lists all that there is".to_owned());
        bail!("nothing is called `{wanted}`\nhint: {hint}");
    }
    if common.json {
        terminal::json(&found.iter().map(|meaning| meaning.to_json()).collect());
    } else if found.len() > SHOWN_MAX {
        let lines = found.iter().map(|one| format!("{} ({})\n", one.name, one.about));
        terminal::data(&lines.collect::<String>());
        terminal::say(&format!(
            "{} things are called so: name one of them whole",
            found.len()
        ));
    } else {
        let texts: Vec<String> = found.iter().map(|meaning| meaning.lines()).collect();
        terminal::data(&texts.join("\n"));
    }
    Ok(Exit::Done)
}

/// All meanings, those of one kind together.
fn all() -> Result<Vec<Meaning>> {
    let mut all = pages::rules();
    all.extend(tables::keys());
    all.extend(tables::figures()?);
    all.extend(pages::figures());
    all.extend(pages::words());
    all.extend(tables::faults());
    all.extend(tables::exits());
    all.sort_by_key(|meaning| meaning.about);
    Ok(all)
}

fn names(meaning: &Meaning) -> impl Iterator<Item = &str> {
    std::iter::once(meaning.name.as_str()).chain(meaning.also.iter().map(String::as_str))
}

/// What is meant by a name: whole, then by its last part.
fn find<'a>(all: &'a [Meaning], wanted: &str) -> Vec<&'a Meaning> {
    let wanted = wanted.trim().trim_matches('`');
    let is_whole =
        |meaning: &&Meaning| names(meaning).any(|name| name.eq_ignore_ascii_case(wanted));
    let mut found: Vec<_> = all.iter().filter(is_whole).collect();
    let last = format!(".{wanted}");
    let is_last = |meaning: &&Meaning| meaning.name.ends_with(&last);
    let by_last: Vec<_> = all.iter().filter(is_last).collect();
    // A word such as `window` is not every key that ends so.
    if found.is_empty() || found.len() + by_last.len() <= SHOWN_MAX {
        found.extend(by_last);
    }
    found
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
