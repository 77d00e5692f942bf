//! Checks the sentences of documents, and of the descriptions in schemas, because users read them.
//! A sentence must have at most 30 words and name its actors. It must not begin with "What", or
//! contain "is no" before a noun.

use super::Violation;
use crate::tree::Tree;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Words that replace the name of an actor or a number.
const UNNAMED: [&str; 6] = [
    "nobody", "somebody", "whoever", "whom", "of ours", "so many",
];

/// `tidy` permits these words after `is no`, because they form a comparison, as in `is no longer`.
const COMPARISON_WORDS: [&str; 13] = [
    "better",
    "different",
    "earlier",
    "faster",
    "higher",
    "larger",
    "later",
    "less",
    "longer",
    "lower",
    "more",
    "other",
    "slower",
];

const WORDS_MAX: usize = 30;

/// Maximum number of words of a label, such as "What you see". A label may begin with "What".
const LABEL_WORDS: usize = 4;

/// Checks each sentence of the documents, and each description of the schemas.
pub fn sentences(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.with_extension("md").filter(|file| is_for_users(&file.path)) {
        found.extend(judged(&file.path, &prose(file.text())));
    }
    for file in tree.with_extension("json").filter(|file| file.path.starts_with("docs/schema/")) {
        let mut texts = Vec::new();
        let value: serde_json::Value = serde_json::from_str(file.text()).unwrap_or_default();
        descriptions(&value, &mut texts);
        found.extend(judged(&file.path, &texts));
    }
    found
}

/// Returns true for documents that must be in plain English. Decisions are excluded, because they
/// keep their original text.
fn is_for_users(path: &str) -> bool {
    !path.starts_with("docs/decisions/")
}

fn judged(path: &str, texts: &[String]) -> Vec<Violation> {
    let all = texts.iter().flat_map(|text| broken_sentences(text));
    all.map(|what| Violation::on_line(path, 1, what)).collect()
}

/// Describes each sentence of a text that breaks a rule.
pub(super) fn broken_sentences(text: &str) -> Vec<String> {
    let said = |sentence: String| {
        let why = broken_rule(&sentence)?;
        let begin: String = sentence.chars().take(70).collect();
        Some(format!("{why}: `{begin}`"))
    };
    split(text).into_iter().filter_map(said).collect()
}

/// Returns the rule that a sentence breaks. Returns `None` if it breaks no rule.
fn broken_rule(sentence: &str) -> Option<String> {
    let lower = without_code(&sentence.to_lowercase());
    let words: Vec<&str> = lower.split_whitespace().collect();
    let has = |phrase: &str| format!(" {lower} ").contains(&format!(" {phrase} "));
    let is_no = words.windows(4).any(|four| {
        let next = four[3].trim_matches(|c: char| !c.is_alphanumeric());
        four[0] != "there" && four[1..3] == ["is", "no"] && !COMPARISON_WORDS.contains(&next)
    });
    if words.len() > WORDS_MAX {
        Some(format!(
            "a sentence of {} words, of at most {WORDS_MAX}",
            words.len()
        ))
    } else if let Some(word) = UNNAMED.iter().find(|word| has(word)) {
        Some(format!("\"{word}\" names no actor or number"))
    } else if is_no {
        Some("\"is not an …\": write \"is not a …\"".to_owned())
    } else if sentence.starts_with("What ") && !sentence.ends_with('?') && words.len() > LABEL_WORDS
    {
        Some("a sentence that begins with \"What\"".to_owned())
    } else {
        None
    }
}

fn without_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(index, part)| if index % 2 == 1 { "code" } else { part }).collect()
}

/// Returns the text of the paragraphs, list items, headings and table cells of a document. Code
/// blocks are omitted.
fn prose(text: &str) -> Vec<String> {
    let mut texts = vec![String::new()];
    let mut is_code = false;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        let piece = match event {
            Event::Start(Tag::CodeBlock(_)) => {
                is_code = true;
                continue;
            }
            Event::End(TagEnd::CodeBlock) => {
                is_code = false;
                continue;
            }
            Event::Start(Tag::Paragraph | Tag::Item | Tag::TableCell | Tag::Heading { .. }) => {
                texts.push(String::new());
                continue;
            }
            Event::Text(text) if !is_code => text,
            Event::Code(text) => format!("`{text}`").into(),
            Event::SoftBreak | Event::HardBreak => " ".into(),
            _ => continue,
        };
        if let Some(last) = texts.last_mut() {
            last.push_str(&piece);
        }
    }
    texts
}

/// Splits a text into sentences, after each punctuation mark that is followed by a space and a
/// capital letter or code.
fn split(text: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        if let Some(last) = sentences.last_mut() {
            last.push_str(word);
            let ends = word
                .trim_end_matches([')', '*', '_', '"', '`'])
                .ends_with(['.', '!', '?', ':', ';']);
            let begins = |next: &&str| {
                *next == "cassay"
                    || next.starts_with(|c: char| c.is_uppercase() || "`[*\"(".contains(c))
            };
            if ends && words.peek().is_some_and(begins) {
                sentences.push(String::new());
            } else if words.peek().is_some() {
                last.push(' ');
            }
        }
    }
    sentences
}

fn descriptions(value: &serde_json::Value, texts: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, inner) in map {
                match inner.as_str() {
                    Some(text) if key == "description" => texts.push(text.to_owned()),
                    _ => descriptions(inner, texts),
                }
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|one| descriptions(one, texts)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        sentences(&Tree::from_texts(&[(path, text)]))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn sentences_of_documents_are_split_and_judged() {
        let long = format!("It has {}words.", "many ".repeat(30));
        let text = format!(
            "# What it is\n\nShort one. {long}\n\n| a | Nothing that nobody knows. |\n\n- What it \
             has is this.\n- What is it?\n\n```\nWhat nobody reads\n```\nIt is no number. It is \
             no longer here. See `a b`. `c` is code, and no sentence has more than thirty words.\n"
        );
        let found = messages("docs/a.md", &text);
        assert_eq!(found.len(), 4, "{found:#?}");
        for (one, part) in found.iter().zip(["of 33 words", "nobody", "begins with", "is not a"]) {
            assert!(one.contains(part), "{one}");
        }
        assert_eq!(messages("docs/decisions/001.md", &text), [""; 0]);
    }

    #[test]
    fn descriptions_of_schemas_are_judged() {
        let schema = r#"{"properties": {"a": {"description": "So many of them. It is ms."}}}"#;
        assert_eq!(messages("docs/schema/a.json", schema).len(), 1);
    }
}
