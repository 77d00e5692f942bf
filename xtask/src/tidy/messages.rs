//! Rules about the texts in the program itself, such as messages, hints, answers and labels. The
//! rules are the same as for documents.

use super::Violation;
use super::sentences::broken_sentences;
use crate::test_items::without_tests;
use crate::tree::Tree;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Minimum number of words of a message. A text with fewer words is usually a key or a fragment of
/// a command.
const WORDS_MIN: usize = 4;

/// Checks each sentence in the string literals of the crates, except in tests.
pub fn messages(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.with_extension("rs").filter(|file| holds_messages(&file.path)) {
        let mut texts = Vec::new();
        collect(without_tests(file.text()), &mut texts);
        for (line, text) in texts {
            let broken = text.lines().filter(|line| is_prose(line)).flat_map(broken_sentences);
            found.extend(broken.map(|what| Violation::on_line(&file.path, line, what)));
        }
    }
    found
}

fn holds_messages(path: &str) -> bool {
    let in_sources = path.starts_with("crates/") && path.contains("/src/");
    in_sources && !path.contains("/tests/") && !path.ends_with("/tests.rs")
}

/// Collects the string literals with several words, each with its line. A placeholder counts as one
/// word.
fn collect(tokens: TokenStream, texts: &mut Vec<(usize, String)>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) if is_comment(&group) => {}
            TokenTree::Group(group) => collect(group.stream(), texts),
            TokenTree::Literal(literal) => {
                if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                    let text = without_placeholders(&text.value());
                    if text.split_whitespace().count() >= WORDS_MIN {
                        texts.push((literal.span().start().line, text));
                    }
                }
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

/// Returns true for the attribute `[doc = "…"]`, to which the doc comment of an item is converted.
fn is_comment(group: &proc_macro2::Group) -> bool {
    let first = group.stream().into_iter().next();
    group.delimiter() == Delimiter::Bracket
        && matches!(first, Some(TokenTree::Ident(name)) if name == "doc")
}

/// Returns true if a line is prose. Lines of lists, statements and columns, and lines of other
/// programs' files, are not prose.
fn is_prose(line: &str) -> bool {
    let is_list = || !line.split_whitespace().any(|word| word.starts_with(char::is_lowercase));
    let line = line.trim_start();
    !line.starts_with("CREATE ")
        && !line.contains(" text; ")
        && !line.starts_with('<')
        && !is_list()
}

fn without_placeholders(text: &str) -> String {
    let mut out = String::new();
    let mut depth = 0;
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => {
                depth -= 1;
                out.push_str("VALUE");
            }
            _ if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_judged_and_comments_and_tests_are_not() {
        let source = "//! Nobody reads this.\n/// Nobody reads this here.\nfn a() {\n    \
            bail!(\"the file {path:?} is read by nobody else\");\n}\n#[cfg(test)]\nmod tests {\n  \
            const A: &str = \"this is read by nobody at all\";\n}\n";
        let found = messages(&Tree::from_texts(&[("crates/a/src/b.rs", source)]));
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/a/src/b.rs:4: \"nobody\""));
    }
}
