//! A rule about documents for developers: code spans name what exists.

use super::Violation;
use super::text::document;
use crate::tree::{File, Tree};
use std::collections::HashSet;

/// Documents about the code as it is. Decisions and the changelog also name earlier things.
const DOCUMENTS: [&str; 4] = ["AGENTS.md", "ARCHITECTURE.md", "HACKING.md", "STYLE.md"];

/// Checks that each identifier in a code span is a word of some other file, and that each name of a
/// source file is one.
pub fn identifiers(tree: &Tree) -> Vec<Violation> {
    let sources = || tree.files.iter().filter(|file| !file.path.ends_with(".md"));
    let words: HashSet<&str> = sources().flat_map(|file| words(file.text())).collect();
    let files: HashSet<&str> = sources().filter_map(|file| file.path.rsplit('/').next()).collect();
    let documents = DOCUMENTS.iter().filter_map(|path| tree.file(path));
    documents.flat_map(|file| missing(file, &words, &files)).collect()
}

fn missing(file: &File, words: &HashSet<&str>, files: &HashSet<&str>) -> Vec<Violation> {
    let mut found = Vec::new();
    for (line, code) in document(file).spans {
        let exists = if code.ends_with(".rs") && !code.contains('/') {
            files.contains(code.as_str())
        } else {
            let parts = identifier_parts(&code);
            // The words of a record are those of an enum, in another case.
            parts
                .iter()
                .all(|part| words.contains(part) || words.contains(camel(part).as_str()))
        };
        if !exists {
            found.push(Violation::at(
                &file.path,
                line,
                format!("`{code}` is not in the code"),
            ));
        }
    }
    found
}

/// Returns the segments of a code span that is a path of identifiers, such as `Turn::at`. Empty for
/// any other span.
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

/// Returns a word of a record as the name of its variant: `TrialFailed` for `trial_failed`.
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
