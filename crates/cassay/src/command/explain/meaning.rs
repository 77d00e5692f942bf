//! One meaning of a name, and the formats in which it is printed.

use crate::terminal;
use serde_json::{Value, json};

measure::word_enum! {
    #[derive(PartialOrd, Ord)]
    pub(super) enum About {
        /// A word in reports and on the terminal.
        Word = "word",
        /// A rule by which cassay judges a trial.
        Rule = "rule",
        /// A resource that may limit a load.
        Limit = "resource",
        Exit = "exit code",
        Fault = "fault",
        /// A key of a study.
        Key = "key",
        /// A term that docs/measurement.md defines.
        Term = "term",
        /// A number in files and reports.
        Figure = "figure",
    }
}

/// One meaning of a name. A name may have several meanings.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Meaning {
    pub(super) about: About,
    /// The name in its usual spelling.
    pub(super) name: String,
    /// Other names by which users find the meaning.
    pub(super) also: Vec<String>,
    pub(super) text: String,
    /// Additional texts, each with a label.
    pub(super) more: Vec<(String, String)>,
}

impl Meaning {
    pub(super) fn new(about: About, name: impl Into<String>, text: impl Into<String>) -> Meaning {
        Meaning {
            about,
            name: name.into(),
            also: Vec::new(),
            text: text.into(),
            more: Vec::new(),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let more = self.more.iter().map(|(what, text)| (what.clone(), json!(text)));
        json!({
            "about": self.about.name(),
            "name": self.name,
            "text": self.text,
            "more": more.collect::<serde_json::Map<_, _>>(),
        })
    }

    pub(super) fn lines(&self) -> String {
        let mut lines = format!("{} ({})\n", self.name, self.about);
        lines += &indented(&self.text, 2);
        for (what, text) in &self.more {
            lines += &indented(&format!("{what}: {text}"), 2);
        }
        lines
    }
}

pub(super) fn indented(text: &str, columns: usize) -> String {
    // The width has a limit, because longer lines are hard to read even on a wide terminal.
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
