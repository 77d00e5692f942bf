//! Rules about names in documents and comments. These names must exist in the code.

use super::Violation;
use super::text::document;
use crate::tree::{File, Tree};
use std::collections::HashSet;

/// Documents about the current code. Decisions and the changelog are not in the list, because they
/// may also name earlier code.
const DOCUMENTS: [&str; 4] = ["AGENTS.md", "ARCHITECTURE.md", "HACKING.md", "STYLE.md"];

/// Checks that each identifier in a code span is a word in another file, and that each source file
/// that a document names exists.
pub fn identifiers(tree: &Tree) -> Vec<Violation> {
    let sources = || tree.files.iter().filter(|file| !file.path.ends_with(".md"));
    let words: HashSet<&str> = sources().flat_map(|file| words(file.text())).collect();
    let files: HashSet<&str> = sources().filter_map(|file| file.path.rsplit('/').next()).collect();
    let documents = DOCUMENTS.iter().filter_map(|path| tree.file(path));
    documents.flat_map(|file| missing(file, &words, &files)).collect()
}

/// Checks that each package and each example in a cargo command exists. Decisions and changes are
/// skipped, because they may name removed packages. The code of tidy is also skipped, because its
/// tests name invented packages.
pub fn commands(tree: &Tree) -> Vec<Violation> {
    let manifests = tree.files.iter().filter(|file| file.path.ends_with("Cargo.toml"));
    let packages: HashSet<&str> = manifests.filter_map(|file| package(file.text())).collect();
    let examples: HashSet<&str> = tree
        .files
        .iter()
        .filter_map(|file| file.path.split_once("/examples/")?.1.strip_suffix(".rs"))
        .collect();
    let is_of_today = |file: &&File| {
        let others = ["docs/decisions/", "changes/", "xtask/src/tidy/"];
        !others.iter().any(|folder| file.path.starts_with(folder))
    };
    let mut found = Vec::new();
    for file in tree.files.iter().filter(is_of_today) {
        for (index, line) in file.text().lines().enumerate() {
            for (option, known) in [("-p", &packages), ("--example", &examples)] {
                let name = cargo_option(line, option).filter(|name| !known.contains(name));
                found.extend(name.map(|name| {
                    Violation::on_line(
                        &file.path,
                        index + 1,
                        format!("`{option} {name}` does not exist"),
                    )
                }));
            }
        }
    }
    found
}

/// Returns the name of the package that a manifest describes. Returns `None` if it describes no
/// package.
fn package(manifest: &str) -> Option<&str> {
    let (_, after) = manifest.split_once("[package]")?;
    let value = after.split_once("name = \"")?.1;
    Some(value.split_once('"')?.0)
}

/// Returns the name that follows an option of a cargo command in a line. Returns `None` for a
/// placeholder.
fn cargo_option<'a>(line: &'a str, option: &str) -> Option<&'a str> {
    let command = line.split_once("cargo ")?.1;
    let command = command.split_once(" -- ").map_or(command, |(cargo, _)| cargo);
    let mut rest = command.split_whitespace().skip_while(|word| *word != option);
    let name = words(rest.nth(1)?).next()?;
    name.contains(|c: char| c.is_ascii_lowercase()).then_some(name)
}

fn missing(file: &File, words: &HashSet<&str>, files: &HashSet<&str>) -> Vec<Violation> {
    let mut found = Vec::new();
    for (line, code) in document(file).spans {
        let exists = if code.ends_with(".rs") && !code.contains('/') {
            files.contains(code.as_str())
        } else {
            let parts = identifier_parts(&code);
            // A word of a record is accepted if its camel-case form is the name of a variant.
            parts
                .iter()
                .all(|part| words.contains(part) || words.contains(camel(part).as_str()))
        };
        if !exists {
            found.push(Violation::on_line(
                &file.path,
                line,
                format!("`{code}` is not in the code"),
            ));
        }
    }
    found
}

/// Returns the segments of a code span that is a path of identifiers, such as `Turn::trial_for`.
/// The list is empty for any other span.
fn identifier_parts(code: &str) -> Vec<&str> {
    let path = code.trim_end_matches("()");
    let parts: Vec<&str> = path.split("::").collect();
    let is_identifier = |part: &&str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if parts.iter().all(is_identifier) {
        parts
    } else {
        Vec::new()
    }
}

/// Converts a word of a record to the name of the enum variant, such as `trial_failed` to
/// `TrialFailed`.
fn camel(word: &str) -> String {
    let capital = |part: &str| {
        let mut chars = part.chars();
        chars.next().map_or(String::new(), |first| {
            first.to_ascii_uppercase().to_string() + chars.as_str()
        })
    };
    word.split('_').map(capital).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renamed_package_and_example_in_a_command_are_found() {
        let tree = Tree::from_texts(&[
            ("crates/a/Cargo.toml", "[package]\nname = \"new\"\n"),
            (
                "crates/a/examples/cost.rs",
                "//! cargo run -p old --example cost -- -p x\n",
            ),
            (
                "docs/a.md",
                "`cargo run -p new --example price`, `cargo test -p CRATE`\n",
            ),
            ("docs/decisions/001-a.md", "`cargo test -p old`\n"),
        ]);
        let found: Vec<String> = commands(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "crates/a/examples/cost.rs:1: `-p old` does not exist",
                "docs/a.md:1: `--example price` does not exist",
            ]
        );
    }

    #[test]
    fn a_renamed_type_and_a_moved_file_are_found() {
        let tree = Tree::from_texts(&[
            (
                "HACKING.md",
                "`Old`, `New`, `New::start()`, `New::stop`, `old.rs`, `new.rs`, `--any x`, \
                 `trial_failed`.\n",
            ),
            ("docs/decisions/001-x.md", "`Old`\n"),
            (
                "crates/a/src/new.rs",
                "struct New; enum E { TrialFailed } fn start() {}\n",
            ),
        ]);
        let found: Vec<String> = identifiers(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "HACKING.md:1: `Old` is not in the code",
                "HACKING.md:1: `New::stop` is not in the code",
                "HACKING.md:1: `old.rs` is not in the code",
            ]
        );
    }
}
