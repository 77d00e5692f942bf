//! One meaning of one name, and how it is shown.

use crate::terminal;
use serde_json::{Value, json};

measure::word_enum! {
    /// What it is that has a meaning.
    #[derive(PartialOrd, Ord)]
    pub(super) enum About {
        /// A rule by which a trial is judged.
        Rule = "rule",
        /// A key of a study.
        Key = "key",
        /// A figure in files and reports.
        Figure = "figure",
        /// A word that is used throughout.
        Word = "word",
        /// A kind of fault.
        Fault = "fault",
        /// How a command ended.
        Exit = "exit code",
    }
}

/// One meaning of one name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Meaning {
    pub(super) about: About,
    /// As it is written where it stands.
    pub(super) name: String,
    /// What else finds it.
    pub(super) also: Vec<String>,
    /// What it means.
    pub(super) text: String,
    /// More of it, each with what it is.
    pub(super) more: Vec<(String, String)>,
}

impl Meaning {
    /// One that has no more to it.
    pub(super) fn new(about: About, name: impl Into<String>, text: impl Into<String>) -> Meaning {
        Meaning {
            about,
            name: name.into(),
            also: Vec::new(),
            text: text.into(),
            more: Vec::new(),
        }
    }

    /// For programs.
    pub(super) fn to_json(&self) -> Value {
        let more = self.more.iter().map(|(what, text)| (what.clone(), json!(text)));
        json!({
            "about": self.about.name(),
            "name": self.name,
            "text": self.text,
            "more": more.collect::<serde_json::Map<_, _>>(),
        })
    }

    /// For people.
    pub(super) fn lines(&self) -> String {
        let mut lines = format!("{} ({})\n", self.name, self.about);
        lines += &indented(&self.text, 2);
        for (what, text) in &self.more {
            lines += &indented(&format!("{what}: {text}"), 2);
        }
        lines
    }
}

/// A text in lines that fit the terminal, each so far in.
pub(super) fn indented(text: &str, columns: usize) -> String {
    // Longer lines are hard to read, however wide the terminal.
    let width = terminal::columns().clamp(40, 100);
    let (mut lines, mut line) = (String::new(), String::new());
    for word in text.split_whitespace() {
        let is_full = columns + line.chars().count() + 1 + word.chars().count() > width;
        if is_full && !line.is_empty() {
            lines += &format!("{:columns$}{line}\n", "");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    lines + &format!("{:columns$}{line}\n", "")
}
