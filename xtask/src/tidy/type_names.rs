//! Checks the names of types and files. A name must describe the type or the file. Pronouns,
//! adverbs and bare participles do not describe them.

use super::Violation;
use crate::tree::Tree;

/// Words that do not describe a type or the content of a file.
const NO_NAMES: [&str; 53] = [
    "Above",
    "All",
    "Asked",
    "Back",
    "Begun",
    "Chosen",
    "Cut",
    "Described",
    "Done",
    "Ended",
    "Expected",
    "Found",
    "Gathered",
    "Given",
    "Happened",
    "Healed",
    "Held",
    "Here",
    "How",
    "It",
    "Joined",
    "Judged",
    "Kept",
    "Known",
    "Left",
    "Look",
    "Looked",
    "Made",
    "Meant",
    "Mine",
    "Missing",
    "Named",
    "Off",
    "Offered",
    "One",
    "Other",
    "Others",
    "Placed",
    "Recorded",
    "Said",
    "Seen",
    "Settled",
    "Shown",
    "Such",
    "Taken",
    "This",
    "Together",
    "Told",
    "Untold",
    "Wanted",
    "Watched",
    "What",
    "Written",
];

/// Permitted names that end like a participle. They are not participles, except the common name for
/// state that threads share.
const NO_PARTICIPLES: [&str; 5] = ["Feed", "Need", "Seed", "Shared", "Speed"];

/// Existing exceptions to the rules. New exceptions are not permitted.
const STILL_THERE: [(&str, &str); 2] = [
    ("crates/linux/src/probe/sampled_source.rs", "Look"),
    ("crates/measure/src/lower_bound.rs", "Known"),
];

const DEFINING: [&str; 5] = ["struct", "enum", "trait", "type", "union"];

/// Checks that the whole name of a new type is not one of the words of [`NO_NAMES`] or a
/// participle.
pub fn type_names(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.with_extension("rs") {
        if !file.path.starts_with("crates/") || file.path.contains("/tests/") {
            continue;
        }
        for (number, line) in file.text().lines().enumerate() {
            let Some(name) = defined(line) else { continue };
            let is_there = STILL_THERE.contains(&(file.path.as_str(), name));
            if (NO_NAMES.contains(&name) || is_participle(name)) && !is_there {
                let what = format!("`{name}` does not say what the type is");
                found.push(Violation::on_line(&file.path, number + 1, what));
            }
        }
    }
    found
}

/// Returns true for a name that is one word and ends like a participle. For example, this function
/// detects `Opened`. `Kept` is in [`NO_NAMES`].
fn is_participle(name: &str) -> bool {
    let is_one_word = name.chars().filter(|c| c.is_uppercase()).count() == 1;
    is_one_word && name.ends_with("ed") && !NO_PARTICIPLES.contains(&name)
}

/// Checks that no source file has one of the words of [`NO_NAMES`] as its whole name.
pub fn file_names(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.with_extension("rs") {
        let stem = file.path.rsplit('/').next().and_then(|name| name.strip_suffix(".rs"));
        let is_one = |stem: &str| NO_NAMES.iter().any(|word| word.eq_ignore_ascii_case(stem));
        if let Some(stem) = stem.filter(|stem| is_one(stem)) {
            let what = format!("`{stem}` does not say what the file contains");
            found.push(Violation::on_line(&file.path, 1, what));
        }
    }
    found
}

/// Returns the name of the type, if its definition begins on this line.
fn defined(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let mut word = words.next()?;
    if word.starts_with("pub") {
        word = words.next()?;
    }
    let name = DEFINING.contains(&word).then(|| words.next())??;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
    Some(&name[..end.unwrap_or(name.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pronoun_is_no_name_of_a_type_and_a_longer_name_may_hold_it() {
        let text = "pub struct Kept<'a> {\nenum SeenTrial {\n    Told,\n}\ntype Look = u8;\n\
            struct OpenedFile;\nstruct Opened;\nenum Seed {}\n";
        let tree = Tree::from_texts(&[("crates/a/src/lib.rs", text)]);
        let said: Vec<String> = type_names(&tree).iter().map(ToString::to_string).collect();
        for (one, part) in said.iter().zip(["lib.rs:1", "`Look`", "`Opened`"]) {
            assert!(one.contains(part), "{said:?}");
        }
        assert_eq!(said.len(), 3, "{said:?}");
    }

    #[test]
    fn a_participle_is_no_name_of_a_file() {
        let names = ["crates/a/src/kept.rs", "crates/a/src/kept_cluster.rs"];
        let tree = Tree::from_texts(&names.map(|name| (name, "//! A.\n")));
        let said: Vec<String> = file_names(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            ["crates/a/src/kept.rs:1: `kept` does not say what the file contains"]
        );
    }
}
