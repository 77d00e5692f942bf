//! Checks the names of functions. The name of a function is a verb or a clear constructor. The name
//! of a test is a short proposition.

use super::Violation;
use crate::tree::Tree;

/// Maximum length of a test's name, in characters. A longer name would fill a whole line in a list
/// of results, and would be too long to quote in a sentence.
const TEST_NAME_MAX: usize = 60;
/// Prepositions and participles. As the name of a function, such a word describes neither its
/// action nor its result.
const NO_NAMES: [&str; 7] = ["asked", "known", "named", "of", "said", "seen", "told"];
const MODIFIERS: [&str; 5] = ["async", "const", "default", "extern", "unsafe"];

/// Checks that no function has one of the words of [`NO_NAMES`] as its whole name.
pub fn function_names(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.with_extension("rs") {
        for (number, line) in file.text().lines().enumerate() {
            if let Some(name) = defined(line).filter(|name| NO_NAMES.contains(name)) {
                let what = format!("`{name}` does not say what the function does");
                found.push(Violation::on_line(&file.path, number + 1, what));
            }
        }
    }
    found
}

/// Checks that the name of each test has at most [`TEST_NAME_MAX`] characters.
pub fn test_names(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.with_extension("rs") {
        let mut is_test = false;
        for (number, line) in file.text().lines().enumerate() {
            is_test |= line.trim() == "#[test]";
            let Some(name) = defined(line) else { continue };
            if is_test && name.len() > TEST_NAME_MAX {
                let what = format!(
                    "`{name}` has {} characters, limit {TEST_NAME_MAX}",
                    name.len()
                );
                found.push(Violation::on_line(&file.path, number + 1, what));
            }
            is_test = false;
        }
    }
    found
}

/// Returns the name of the function, if its definition begins on this line.
fn defined(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("fn ")?;
    let is_modifier = |word: &str| {
        MODIFIERS.contains(&word) || word.starts_with("pub") || word.ends_with(['"', ')'])
    };
    if !before.split_whitespace().all(is_modifier) {
        return None;
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    Some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preposition_or_a_participle_does_not_name_a_function() {
        // The definitions are in a text, because this file must not define functions with such
        // names itself.
        let text = "\
impl A {
    pub(in crate::a) const FN of<T>(x: T) -> A {}
    unsafe extern \"C\" FN seen() {}
    FN seen_by(&self, f: FN (u8)) {}
    // FN told() is a comment.
}
"
        .replace("FN", "fn");
        let tree = Tree::from_texts(&[("crates/a/src/lib.rs", &text)]);
        let messages: Vec<String> = function_names(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            messages,
            [
                "crates/a/src/lib.rs:2: `of` does not say what the function does",
                "crates/a/src/lib.rs:3: `seen` does not say what the function does",
            ]
        );
    }

    #[test]
    fn a_long_name_is_found_for_tests_only() {
        let long = "a".repeat(TEST_NAME_MAX + 1);
        let fits = "b".repeat(TEST_NAME_MAX);
        let text = format!(
            "#[test]\n#[ignore]\nfn {long}() {{}}\nfn {long}() {{}}\n#[test]\nfn {fits}() {{}}\n"
        );
        let tree = Tree::from_texts(&[("crates/a/src/lib.rs", &text)]);
        let messages: Vec<String> = test_names(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(messages.len(), 1, "{messages:?}");
        let expected = format!("lib.rs:3: `{long}` has 61 characters, limit 60");
        assert!(messages[0].ends_with(&expected), "{messages:?}");
    }
}
