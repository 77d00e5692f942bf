//! Checks of the house style. Each rule of STYLE.md that a program can check is a function of this
//! module.
//!
//! A rule reads the tracked files and returns the violations, without changing files. Each rule is
//! a test of this crate and also a part of `cargo xtask tidy`, so that it is always checked. Each
//! rule also has a test in which it must find a violation.

mod chains;
mod changes;
mod circles;
mod code;
mod comments;
mod counts;
mod defects_of_others;
mod function_names;
mod identifiers;
mod limits;
mod manifests;
mod messages;
mod opening;
mod parse_errors;
mod sentences;
mod text;
mod type_names;

use crate::tree::Tree;
use anyhow::{Result, anyhow, bail};
use std::fmt;

/// A violation of a rule, with its location.
#[derive(Debug, PartialEq, Eq)]
pub struct Violation {
    path: String,
    /// Line of the violation, counted from 1. A value of 0 means the whole file.
    line: usize,
    what: String,
}

impl Violation {
    fn on_line(path: &str, line: usize, what: impl Into<String>) -> Violation {
        Violation {
            path: path.to_owned(),
            line,
            what: what.into(),
        }
    }

    fn in_file(path: &str, what: impl Into<String>) -> Violation {
        Violation::on_line(path, 0, what)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

type Rule = fn(&Tree) -> Vec<Violation>;

const RULES: [(&str, Rule); 38] = [
    (
        "crates and dependencies are those of ARCHITECTURE.md",
        manifests::dependencies,
    ),
    (
        "each crate says its secret in the words of ARCHITECTURE.md",
        manifests::sentences,
    ),
    (
        "each dependency line says why it is there",
        manifests::reasons,
    ),
    ("each source file opens with a header", code::headers),
    ("functions fit on a screen", code::function_lengths),
    ("unsafe says why it is sound", code::safety),
    ("an error says its cause once", code::causes),
    (
        "the hot loop has no dyn, lock, hash map or async",
        code::hot_loop,
    ),
    ("pure crates do no I/O", code::pure_crates),
    (
        "files of others are opened by crate foreign",
        opening::files,
    ),
    ("programs are listened to with limits", opening::programs),
    (
        "errors of a parse are not dropped",
        parse_errors::parse_errors,
    ),
    ("imports of files form no large cycle", circles::circles),
    ("calls that follow each other are a chain", chains::chains),
    (
        "the name of a type describes the type",
        type_names::type_names,
    ),
    (
        "the name of a file describes its content",
        type_names::file_names,
    ),
    (
        "the name of a function describes its work",
        function_names::function_names,
    ),
    ("names of tests are short", function_names::test_names),
    ("comments name only existing items", comments::names),
    (
        "the comment of an item has more than one word",
        comments::sentences,
    ),
    ("comments name their subject", comments::plain),
    ("documents are in plain English", sentences::sentences),
    ("messages are in plain English", messages::messages),
    ("lines fit", text::line_lengths),
    ("files fit", text::file_lengths),
    ("the tree has no leftovers", text::leftovers),
    ("files are small", text::file_sizes),
    ("changes have the form of a changelog", changes::changes),
    ("links between documents resolve", text::links),
    ("commands and files that documents name exist", text::names),
    (
        "developers' documents name only items of the code",
        identifiers::identifiers,
    ),
    (
        "cargo commands name packages and examples that exist",
        identifiers::commands,
    ),
    ("crates are sorted by their layers", manifests::layers),
    (
        "docs/measurement.md states the limits of the code",
        limits::limits,
    ),
    (
        "docs/defects-of-other-load-generators.md names only existing tests",
        defects_of_others::tests_exist,
    ),
    ("documents count right", counts::numbers),
    ("HACKING.md names every command of xtask", counts::commands),
    (
        "ARCHITECTURE.md names the large crates",
        counts::large_crates,
    ),
];

/// Implements `cargo xtask tidy`, which checks every rule on the working copy.
pub fn run() -> Result<()> {
    let tree = Tree::read()?;
    let mut violations_count = 0;
    // The rules run in parallel, because each rule reads all files, which takes seconds.
    let found: Vec<_> = std::thread::scope(|scope| {
        let all = &tree;
        let rules = RULES.map(|(name, rule)| (name, scope.spawn(move || rule(all))));
        rules.into_iter().map(|(name, rule)| (name, rule.join())).collect()
    });
    for (name, violations) in found {
        for violation in violations.map_err(|_| anyhow!("the rule “{name}” panicked"))? {
            eprintln!("{violation}  [{name}]");
            violations_count += 1;
        }
    }
    if violations_count > 0 {
        bail!("tidy: {violations_count} violations; STYLE.md states the reason for each rule");
    }
    println!("tidy: {} rules, {} files", RULES.len(), tree.files.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(rules: &[(&str, Rule)]) {
        let tree = Tree::read().unwrap();
        assert!(tree.file("Cargo.toml").is_some(), "the tree was read");
        let mut found = Vec::new();
        for (name, rule) in rules {
            found.extend(rule(&tree).iter().map(|violation| format!("{violation}  [{name}]")));
        }
        assert!(found.is_empty(), "\n{}\n", found.join("\n"));
    }

    #[test]
    fn the_crates_are_what_the_architecture_says() {
        hold(&RULES[..3]);
    }

    #[test]
    fn the_code_keeps_the_house_style() {
        hold(&RULES[3..18]);
    }

    #[test]
    fn the_texts_keep_the_house_style() {
        hold(&RULES[18..]);
    }
}
