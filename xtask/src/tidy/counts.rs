//! Checks the numbers of rules, points and commands in documents. Also checks the list of large
//! crates.

use super::Violation;
use crate::modules::Modules;
use crate::tree::Tree;

/// Number of lines without tests above which ARCHITECTURE.md must name a crate and the reason why
/// it is not divided.
const CRATE_LINES_LARGE: usize = 15_000;

/// Beginning of the sentence of ARCHITECTURE.md that names the large crates.
const LARGE_CRATES: &str = "These crates have more than 15,000 lines without tests: ";

const ONES: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 10] = [
    "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
];

/// Checks the numbers in words before "rules" and "points" in documents.
pub fn numbers(tree: &Tree) -> Vec<Violation> {
    let rows = |path: &str, start: &str| {
        let text = tree.file(path).map_or("", |file| file.text());
        text.lines().filter(|line| line.starts_with(start)).count()
    };
    let counted = [
        (
            "rules",
            vec![rows("docs/measurement.md", "| V"), super::RULES.len()],
        ),
        ("points", vec![rows("STYLE.md", "**")]),
    ];
    let mut found = Vec::new();
    // The changelog is not checked, because its numbers were right when they were written.
    for file in tree.with_extension("md").filter(|file| file.path != "CHANGELOG.md") {
        for (number, line) in file.text().lines().enumerate() {
            let words: Vec<String> = line.split_whitespace().map(str::to_lowercase).collect();
            for pair in words.windows(2) {
                let thing = pair[1].trim_end_matches(|c: char| !c.is_alphanumeric());
                let known = counted.iter().find(|(name, _)| *name == thing);
                let (Some((_, counts)), Some(said)) = (known, value(&pair[0])) else {
                    continue;
                };
                // Small numbers are ignored, because they count other items, such as two rules of a
                // section.
                if said >= 15 && !counts.contains(&said) {
                    let what = format!("states {} {thing}, but the code has {counts:?}", pair[0]);
                    found.push(Violation::on_line(&file.path, number + 1, what));
                }
            }
        }
    }
    found
}

/// Returns the value of a number in words. Returns `None` for other words.
fn value(word: &str) -> Option<usize> {
    let (tens, ones) = word.split_once('-').unwrap_or((word, ""));
    let of = |names: &[&str], word: &str| names.iter().position(|name| *name == word);
    match of(&TENS[2..], tens) {
        Some(ten) if ones.is_empty() => Some((ten + 2) * 10),
        Some(ten) => of(&ONES, ones).map(|one| (ten + 2) * 10 + one),
        None => of(&ONES, word),
    }
}

/// Checks that HACKING.md names every command of `cargo xtask`.
pub fn commands(tree: &Tree) -> Vec<Violation> {
    let text = tree.file("HACKING.md").map_or("", |file| file.text());
    let missing = crate::commands::command_names().into_iter().filter(|name| {
        let command = format!("cargo xtask {name}");
        !text.contains(&command) && name != "ci"
    });
    missing
        .map(|name| Violation::in_file("HACKING.md", format!("does not name `cargo xtask {name}`")))
        .collect()
}

/// Checks that ARCHITECTURE.md names all large crates, and no other crates.
pub fn large_crates(tree: &Tree) -> Vec<Violation> {
    const PATH: &str = "ARCHITECTURE.md";
    let lines = |name: &String| Modules::read(tree, name).lines_count();
    let large: Vec<String> = tree
        .crates()
        .into_iter()
        .filter(|name| lines(name) > CRATE_LINES_LARGE)
        .collect();
    let text = tree.file(PATH).map_or("", |file| file.text());
    let said = text
        .split_once(LARGE_CRATES)
        .map_or("", |(_, rest)| rest)
        .split_once('.')
        .map_or("", |(names, _)| names);
    let named: Vec<&str> = said.split('`').skip(1).step_by(2).collect();
    if named == large {
        return Vec::new();
    }
    let what = format!("names {named:?} as large crates, but they are {large:?}");
    vec![Violation::in_file(PATH, what)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(violations: &[Violation]) -> Vec<String> {
        violations.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_count_in_words_that_is_not_that_of_the_code_is_found() {
        let text = "Twenty-six points.\nNineteen rules.\nTwo rules.\n";
        let tree = Tree::from_texts(&[("STYLE.md", text)]);
        let found = messages(&numbers(&tree));
        assert!(
            found[0].contains("STYLE.md:1: states twenty-six points"),
            "{found:?}"
        );
        assert!(
            found[1].contains("STYLE.md:2: states nineteen rules"),
            "{found:?}"
        );
        assert_eq!(found.len(), 2, "{found:?}");
    }

    #[test]
    fn an_unnamed_command_and_a_small_named_crate_are_found() {
        let architecture = format!("{LARGE_CRATES}`measure`.");
        let tree = Tree::from_texts(&[
            ("HACKING.md", "`cargo xtask tidy`"),
            ("ARCHITECTURE.md", &architecture),
            ("crates/measure/src/lib.rs", "//! Small.\n"),
        ]);
        let missing = messages(&commands(&tree));
        assert!(
            missing.iter().any(|what| what.ends_with("`cargo xtask docs`")),
            "{missing:?}"
        );
        assert!(
            !missing.iter().any(|what| what.ends_with("`cargo xtask tidy`")),
            "{missing:?}"
        );
        assert_eq!(large_crates(&tree).len(), 1);
    }
}
