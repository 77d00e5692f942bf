//! Rules about comments. A comment must refer only to existing types, and not to types that were
//! renamed or removed. The comment of an item must have more than one word. A comment must name its
//! subject and its actors.

use super::Violation;
use crate::tree::Tree;
use std::collections::BTreeSet;

/// Names that comments may use although no code contains them. These names come from Cassandra, its
/// tools, the JVM and Linux.
const OF_OTHERS: [&str; 8] = [
    "CodeHeap_non",
    "DatabaseDescriptor",
    "FasterRandom",
    "FindBoundaries",
    "FindPeakPerformanceBinarySearch",
    "LockSupport",
    "TableMetrics",
    "TxRx",
];

/// Checks every camel-case name between backticks in a comment. Such a name must be a word of the
/// code, or an external name.
pub fn names(tree: &Tree) -> Vec<Violation> {
    let mut in_code: BTreeSet<&str> = OF_OTHERS.into_iter().collect();
    for file in tree.with_extension("rs") {
        let lines = file.text().lines().filter(|line| comment(line).is_none());
        in_code.extend(lines.flat_map(words));
    }
    let mut found = Vec::new();
    for file in tree.with_extension("rs") {
        for (number, line) in file.text().lines().enumerate() {
            let named = comment(line).into_iter().flat_map(quoted).flat_map(words);
            for name in named.filter(|name| is_camel(name) && !in_code.contains(name)) {
                let what =
                    format!("`{name}` is not a word of any code: was it renamed or removed?");
                found.push(Violation::on_line(&file.path, number + 1, what));
            }
        }
    }
    found
}

/// Checks that no comment of an item is a single word, unless it is a word of code (`` `QUORUM`
/// ``).
pub fn sentences(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.with_extension("rs") {
        let of_item = |line: &'_ str| line.trim_start().strip_prefix("/// ").map(str::to_owned);
        let lines: Vec<Option<String>> = file.text().lines().map(of_item).collect();
        for (number, line) in lines.iter().enumerate() {
            let Some(word) = line.as_deref().filter(|said| is_word(said)) else {
                continue;
            };
            let before = number.checked_sub(1).and_then(|before| lines[before].as_ref());
            let is_alone = before.is_none() && lines.get(number + 1).is_none_or(Option::is_none);
            if is_alone {
                let what = format!("`{word}` is one word: describe the item in a sentence");
                found.push(Violation::on_line(&file.path, number + 1, what));
            }
        }
    }
    found
}

/// First words of a comment that leave its subject open.
const OPENINGS: [&str; 3] = ["What ", "Whether ", "Who "];

/// Words that replace an actor or a number that the comment does not name.
const UNNAMED: [&str; 7] = [
    "; none", "nobody", "somebody", "whoever", " whom ", " of ours", "so many",
];

/// Checks that comments name their subject and their actors.
pub fn plain(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.with_extension("rs") {
        for (number, line) in file.text().lines().enumerate() {
            let Some(text) = comment(line).filter(|text| is_private(text)) else {
                continue;
            };
            let text = text.trim_start_matches(['/', '!']).trim();
            let what = format!("`{text}` names no subject or no actor");
            found.push(Violation::on_line(&file.path, number + 1, what));
        }
    }
    found
}

fn is_private(text: &str) -> bool {
    let words = text.trim_start_matches(['/', '!']).trim_start();
    OPENINGS.iter().any(|opening| words.starts_with(opening))
        || UNNAMED.iter().any(|word| words.contains(word))
}

/// Returns true if a comment is one word that is not code.
fn is_word(said: &str) -> bool {
    !said.contains([' ', '`'])
}

/// Returns the text of a line that contains only a comment. Returns `None` for other lines.
fn comment(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("//")
}

/// Returns the texts between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| !c.is_alphanumeric() && c != '_';
    text.split(is_between).filter(|word| !word.is_empty())
}

/// Returns true if the name consists of two or more capitalised words. A single word may be any
/// noun.
fn is_camel(word: &str) -> bool {
    let mut letters = word.chars();
    let begins = letters.next().is_some_and(|c| c.is_ascii_uppercase());
    let rest = letters.as_str();
    let low = rest.find(|c: char| c.is_ascii_lowercase());
    begins && low == Some(0) && rest.chars().any(|c| c.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_that_is_gone_is_found_where_a_comment_names_it() {
        let tree = Tree::from_texts(&[
            (
                "a.rs",
                "//! See `OldName::new` and [`NewName`].\nstruct NewName;\n",
            ),
            (
                "b.rs",
                "/// Not `DatabaseDescriptor`, `lower`, `HTTP` or OldName.\nfn b() {}\n",
            ),
        ]);
        let said: Vec<String> = names(&tree).iter().map(ToString::to_string).collect();
        let what = "a.rs:1: `OldName` is not a word of any code: was it renamed or removed?";
        assert_eq!(said, [what]);
    }

    #[test]
    fn a_comment_of_one_word_is_found() {
        let text =
            "/// Which.\nstruct A;\n/// `QUORUM`.\nstruct B;\n/// Long\n/// enough.\nstruct C;\n";
        let tree = Tree::from_texts(&[("a.rs", text)]);
        let said: Vec<String> = sentences(&tree).iter().map(ToString::to_string).collect();
        let what = "a.rs:1: `Which.` is one word: describe the item in a sentence";
        assert_eq!(said, [what]);
    }

    #[test]
    fn a_comment_without_a_subject_or_an_actor_is_found() {
        let text = "/// What it has.\nstruct A;\n/// The width, mm.\nstruct B;\n// As nobody is.\n";
        let said = plain(&Tree::from_texts(&[("crates/a/src/lib.rs", text)]));
        let said: Vec<String> = said.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "crates/a/src/lib.rs:1: `What it has.` names no subject or no actor",
                "crates/a/src/lib.rs:5: `As nobody is.` names no subject or no actor",
            ]
        );
    }
}
