//! Rules about files as text. The rules concern lengths, marks of unfinished work, and names in
//! documents, which must exist.

use super::Violation;
use crate::changes::is_guide;
use crate::tree::{File, Tree};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::BTreeMap;

/// Maximum number of columns of a line, so that two files fit next to each other on a screen.
const LINE_COLUMNS_MAX: usize = 100;
/// Maximum number of lines of a source file, so that it can be read in one session. A longer file
/// must state the reason in its header.
const FILE_LINES_MAX: usize = 600;
/// Maximum number of lines of a source file that states a reason for its length.
const FILE_LINES_HARD_MAX: usize = 1100;
/// Beginning of the reason in the header of a long file.
const LONG_BECAUSE: &str = "//! Long because ";
/// Maximum size of a file in bytes, so that a clone remains small. Larger files are data. Such data
/// does not belong in the repository, unless the file is in `LARGE_FILES`.
const FILE_BYTES_MAX: usize = 250_000;
/// Files that may be larger. Each file has a reason.
const LARGE_FILES: [(&str, &str); 2] = [
    ("Cargo.lock", "one entry per dependency of a dependency"),
    (
        "crates/report/assets/plotly/plotly-basic.min.js.gz",
        "the library that draws a report's charts; as a dependency, it would take minutes to build",
    ),
];

/// Markers of unfinished work, and forbidden names. They are split, so that this file passes the
/// rule.
const LEFTOVER_WORDS: [&str; 3] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
];
const LEFTOVER_CALLS: [&str; 3] = [
    concat!("dbg", "!("),
    concat!("unimplemented", "!("),
    concat!("to", "do!("),
];
/// Hosts of registries, which files must not name. The configuration of a machine chooses the
/// registry or mirror, not the project.
const HOSTS: [&str; 7] = [
    concat!("crates", ".io"),
    concat!("repo1.maven", ".org"),
    concat!("repo.maven.", "apache.org"),
    concat!("repo.maven", ".org"),
    concat!("registry.npmjs", ".org"),
    concat!("pypi", ".org"),
    concat!("arti", "factory"),
];
/// The only file that may name one of these hosts, because it contains the default address.
const HOSTS_FILE: &str = "crates/supply/src/repository.rs";
/// Folders of a particular machine, which files must not name. The rule matches only paths that
/// begin with such a folder.
const MACHINE_PATHS: [&str; 3] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
];

/// Checks that lines of source fit in [`LINE_COLUMNS_MAX`] columns, unless a URL makes them longer.
pub fn line_lengths(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.with_extension("rs") {
        for (index, line) in file.text().lines().enumerate() {
            let columns = line.chars().count();
            if columns > LINE_COLUMNS_MAX && !line.contains("https://") {
                let what = format!("{columns} columns, limit {LINE_COLUMNS_MAX}");
                found.push(Violation::on_line(&file.path, index + 1, what));
            }
        }
    }
    found
}

/// Checks that source files have at most [`FILE_LINES_MAX`] lines. With a reason in the header, the
/// limit is [`FILE_LINES_HARD_MAX`] lines.
pub fn file_lengths(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.with_extension("rs") {
        let lines = file.text().lines().count();
        let header = file.text().lines().take_while(|line| line.starts_with("//!"));
        let has_reason = header.into_iter().any(|line| line.starts_with(LONG_BECAUSE));
        let limit = if has_reason {
            FILE_LINES_HARD_MAX
        } else {
            FILE_LINES_MAX
        };
        if lines > limit {
            let way_out = if has_reason {
                String::new()
            } else {
                format!("; split the file, or state the reason in the header: `{LONG_BECAUSE}…`")
            };
            let what = format!("{lines} lines, limit {limit}{way_out}");
            found.push(Violation::in_file(&file.path, what));
        }
    }
    found
}

/// Checks for markers of unfinished work, registry hosts and paths of a particular machine.
pub fn leftovers(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    // cargo writes the lock files, which name its registry, so they are not checked.
    for file in tree.files.iter().filter(|file| !file.path.ends_with("Cargo.lock")) {
        for (index, line) in file.text().lines().enumerate() {
            let is_here = |what: &&str| file.path != HOSTS_FILE || !HOSTS.contains(what);
            for what in leftovers_in(line).filter(is_here) {
                found.push(Violation::on_line(
                    &file.path,
                    index + 1,
                    format!("`{what}` is left"),
                ));
            }
        }
    }
    found
}

fn leftovers_in(line: &str) -> impl Iterator<Item = &'static str> + '_ {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let alone = move |word: &&str| {
        line.match_indices(*word).any(|(at, _)| {
            !line[..at].ends_with(is_part) && !line[at + word.len()..].starts_with(is_part)
        })
    };
    let begins = move |path: &&str| {
        let in_path = |c: char| is_part(c) || matches!(c, '.' | '/' | '-' | '}' | '~' | '*');
        line.match_indices(*path).any(|(at, _)| !line[..at].ends_with(in_path))
    };
    let words = LEFTOVER_WORDS.into_iter().filter(alone);
    let calls = LEFTOVER_CALLS.into_iter().chain(HOSTS).filter(|text| line.contains(*text));
    words.chain(calls).chain(MACHINE_PATHS.into_iter().filter(begins))
}

/// Checks that tracked files have at most [`FILE_BYTES_MAX`] bytes, unless they are in
/// [`LARGE_FILES`].
pub fn file_sizes(tree: &Tree) -> Vec<Violation> {
    let is_expected = |file: &&File| !LARGE_FILES.iter().any(|(path, _)| *path == file.path);
    let too_large = tree.files.iter().filter(|file| file.bytes > FILE_BYTES_MAX);
    too_large
        .filter(is_expected)
        .map(|file| {
            let what = format!("{} bytes, limit {FILE_BYTES_MAX}", file.bytes);
            Violation::in_file(&file.path, what)
        })
        .collect()
}

/// Checks that links from one document to another, or to a heading, have a target.
pub fn links(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    let documents: BTreeMap<&str, Document> = tree
        .with_extension("md")
        .map(|file| (file.path.as_str(), document(file)))
        .collect();
    let has_heading = |path: &str, heading: &str| {
        documents
            .get(path)
            .is_some_and(|document| document.headings.iter().any(|s| s == heading))
    };
    for file in tree.with_extension("md") {
        for (line, link) in &documents[file.path.as_str()].links {
            let line = *line;
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let path = if path.is_empty() {
                file.path.clone()
            } else if file.path.starts_with("changes/") && !is_guide(&file.path) {
                // Links in the file of a change start at the root, because a release moves the text
                // into CHANGELOG.md, which is in the root.
                path.to_owned()
            } else {
                resolve(&file.path, path)
            };
            if !tree.exists(&path) {
                let what = format!("link to `{link}`, which does not exist");
                found.push(Violation::on_line(&file.path, line, what));
            } else if !heading.is_empty() && !has_heading(&path, heading) {
                let what = format!("link to `{link}`, but the document has no such heading");
                found.push(Violation::on_line(&file.path, line, what));
            }
        }
    }
    found
}

/// Checks that the commands `make …` and `cargo xtask …`, and the paths, in code spans and code
/// blocks of documents exist.
pub fn names(tree: &Tree) -> Vec<Violation> {
    let makefile = tree.file("Makefile").map(|file| file.text()).unwrap_or_default();
    let commands = crate::commands::command_names();
    let mut found = Vec::new();
    for file in tree.with_extension("md") {
        for (line, code) in document(file).codes {
            let mut say = |what: String| found.push(Violation::on_line(&file.path, line, what));
            for target in words_after(&code, "make ") {
                if !makefile.lines().any(|rule| rule.starts_with(&format!("{target}:"))) {
                    say(format!("`make {target}` is not in the Makefile"));
                }
            }
            for command in words_after(&code, "cargo xtask ") {
                if !commands.contains(&command) {
                    say(format!("`cargo xtask {command}` is not a command"));
                }
            }
            for path in code.split_whitespace().filter(|word| is_our_path(word)) {
                if !tree.exists(path.trim_end_matches('/')) {
                    say(format!("`{path}` does not exist"));
                }
            }
        }
    }
    found
}

/// Returns the word after each occurrence of `prefix` at the beginning of a line of code.
fn words_after(code: &str, prefix: &str) -> Vec<String> {
    let lines = code.lines().filter_map(|line| line.trim().strip_prefix(prefix));
    let words = lines.filter_map(|rest| rest.split_whitespace().next());
    words.filter(|word| !word.starts_with(['…', '<'])).map(str::to_owned).collect()
}

/// Returns true if the word is a complete path in this tree. Words with `…` or patterns are not
/// complete paths.
fn is_our_path(word: &str) -> bool {
    let folders = [
        "crates/",
        "docs/",
        "studies/",
        "xtask/",
        "laboratories/",
        "scripts/",
        ".ci/",
    ];
    folders.iter().any(|folder| word.starts_with(folder))
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
}

/// The elements of a Markdown document that the rules use. Lines are counted from 1.
#[derive(Default)]
pub(super) struct Document {
    links: Vec<(usize, String)>,
    /// Anchors of the headings.
    headings: Vec<String>,
    /// Code spans and code blocks, each with its line.
    codes: Vec<(usize, String)>,
    pub(super) spans: Vec<(usize, String)>,
}

pub(super) fn document(file: &File) -> Document {
    let text = file.text();
    let mut document = Document::default();
    let mut heading: Option<String> = None;
    let mut in_code_block = false;
    let line_starts: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        let line = line_starts.partition_point(|at| *at < range.start) + 1;
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                document.links.push((line, dest_url.into_string()));
            }
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                document.headings.extend(heading.take().map(|title| slug(&title)));
            }
            Event::Start(Tag::CodeBlock(_)) => in_code_block = true,
            Event::End(TagEnd::CodeBlock) => in_code_block = false,
            Event::Text(code) if in_code_block => document.codes.push((line, code.into_string())),
            Event::Code(code) => {
                if let Some(title) = &mut heading {
                    title.push_str(&code);
                }
                document.spans.push((line, code.to_string()));
                document.codes.push((line, code.into_string()));
            }
            Event::Text(part) => {
                if let Some(title) = &mut heading {
                    title.push_str(&part);
                }
            }
            _ => {}
        }
    }
    document
}

/// Returns the anchor of a heading in the format of the common forges.
fn slug(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c })
        .flat_map(char::to_lowercase)
        .collect()
}

/// Converts the relative path of a link in the document `from` to a path from the root.
fn resolve(from: &str, path: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whats(violations: &[Violation]) -> Vec<String> {
        violations.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_long_line_is_found_unless_it_is_a_url() {
        let text = format!(
            "//! {}\n// https://{}\n// {}\n",
            "é".repeat(96),
            "a".repeat(99),
            "b".repeat(98)
        );
        assert_eq!(
            whats(&line_lengths(&Tree::from_texts(&[("a.rs", &text)]))),
            ["a.rs:3: 101 columns, limit 100"]
        );
    }

    #[test]
    fn a_long_file_needs_a_reason_and_has_a_limit_nevertheless() {
        let long = |header: &str, lines: usize| format!("{header}\n{}", "\n".repeat(lines - 1));
        let reason = "//! Long because it is one table.";
        let found = |text: &str| file_lengths(&Tree::from_texts(&[("a.rs", text)])).len();
        assert_eq!(found(&long("//! A", 500)), 0);
        assert_eq!(found(&long("//! A", 601)), 1);
        assert_eq!(found(&long(reason, 1100)), 0);
        assert_eq!(found(&long(reason, 1101)), 1);
    }

    #[test]
    fn leftovers_are_words_not_parts_of_words() {
        let count = |line: &str| leftovers_in(line).count();
        for word in LEFTOVER_WORDS {
            assert_eq!(count(&format!("// {word}: later")), 1, "{word}");
            assert_eq!(count(&format!("mktemp {word}{word}")), 0, "{word}");
        }
        for text in LEFTOVER_CALLS.into_iter().chain(HOSTS).chain(MACHINE_PATHS) {
            assert_eq!(count(&format!("see {text}a")), 1, "{text}");
        }
        assert_eq!(count(concat!("target/wo", "rk/a")), 0);
    }

    #[test]
    fn one_file_may_name_a_registry_and_nothing_else_that_is_left() {
        let text = format!("{} {}", HOSTS[2], MACHINE_PATHS[0]);
        let found = leftovers(&Tree::from_texts(&[(HOSTS_FILE, &text), ("a.rs", &text)]));
        let of = |path: &str| found.iter().filter(|one| one.path == path).count();
        assert_eq!((of(HOSTS_FILE), of("a.rs")), (1, 2));
    }

    #[test]
    fn a_large_file_is_found_unless_it_is_expected() {
        let text = "a".repeat(FILE_BYTES_MAX + 1);
        let found = file_sizes(&Tree::from_texts(&[
            ("a.bin", &text),
            ("Cargo.lock", &text),
        ]));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "a.bin");
    }

    #[test]
    fn a_link_must_lead_to_a_file_and_a_heading() {
        let page = "# Two words: `code`, yes\n[a](../R.md) [b](#two-words-code-yes) [c](#no)\n\
            [d](gone.md)\n[e](https://example.com) `[f](no.md)`\n\n[g](../R.md#r)\n";
        let found = links(&Tree::from_texts(&[("docs/a.md", page), ("R.md", "# R")]));
        assert_eq!(
            whats(&found),
            [
                "docs/a.md:2: link to `#no`, but the document has no such heading",
                "docs/a.md:3: link to `gone.md`, which does not exist",
            ]
        );
    }

    #[test]
    fn commands_and_paths_that_documents_name_must_exist() {
        let page = "`make test` `make tea`\n\n```\ncargo xtask tidy\ncargo xtask dance # why\n```\n\
            `docs/a.md` `docs/b.md` `docs/*.md` `docs/decisions/NNN-…`\n";
        let tree = Tree::from_texts(&[("docs/a.md", page), ("Makefile", "test: needs\n")]);
        assert_eq!(
            whats(&names(&tree)),
            [
                "docs/a.md:1: `make tea` is not in the Makefile",
                "docs/a.md:4: `cargo xtask dance` is not a command",
                "docs/a.md:7: `docs/b.md` does not exist",
            ]
        );
    }
}
