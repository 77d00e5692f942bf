//! Speaking: data to stdout, conversation to stderr. A closed pipe is not an error.
//!
//! What is said holds names, questions and servers' words, which may come from anybody: nothing in
//! them may move the cursor, set a title or turn the order of the text round. So every text goes
//! through [`shown`] here, and nothing else in the program writes to the terminal.

use crate::exit::Exit;
use indicatif::{ProgressBar, ProgressStyle};
use std::borrow::Cow;
use std::io::{IsTerminal, Write};

/// A text as a terminal may have it: control characters but line breaks and tabs, and those that
/// change the direction of writing, are spelled out.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(is_command) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_command(c) {
            true => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// A character as a terminal may have it, in as many bytes: for texts whose places are counted in
/// bytes. Those of one byte have a picture in the renderer of such texts, and stay.
pub fn shown_in_place(c: char) -> char {
    match (is_command(c), c.len_utf8()) {
        // A middle dot, and the replacement character.
        (true, 2) => '\u{b7}',
        (true, 3) => '\u{fffd}',
        _ => c,
    }
}

/// Whether a terminal obeys a character instead of showing it.
fn is_command(c: char) -> bool {
    let turns = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    (c.is_control() && !matches!(c, '\n' | '\t')) || turns
}

/// Writes data. What cannot be written (the reader has gone) is dropped: it was meant for it.
pub fn data(text: &str) {
    let text = shown(text);
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = out.write_all(b"\n");
    }
    let _ = out.flush();
}

/// Writes a JSON value.
pub fn json(value: &serde_json::Value) {
    data(&json_text(value));
}

/// The JSON of a value. Characters that [`shown`] would spell out stand in strings only, and are
/// spelled as JSON spells them.
fn json_text(value: &serde_json::Value) -> String {
    let mut out = String::new();
    for c in format!("{value:#}").chars() {
        match is_command(c) {
            // All of them are below U+10000.
            true => out += &format!("\\u{:04x}", u32::from(c)),
            false => out.push(c),
        }
    }
    out
}

/// Writes a line of conversation.
pub fn say(text: &str) {
    styled(&shown(text));
}

/// Writes a line of conversation as it is: it has colours of our own, and whoever made it has put
/// all else through [`shown`].
pub fn styled(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// A line that moves: shown to whoever looks, and rewritten in place.
pub struct Moving(ProgressBar);

impl Moving {
    /// None where nobody looks.
    pub fn new() -> Option<Moving> {
        has_reader().then(|| {
            let bar = ProgressBar::new_spinner();
            let style = ProgressStyle::with_template("{spinner} {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            Moving(bar)
        })
    }

    /// Shows another text.
    pub fn show(&self, text: &str) {
        self.0.set_message(shown(text).into_owned());
        self.0.tick();
    }

    /// Writes a line of conversation above it.
    pub fn say(&self, text: &str) {
        self.0.suspend(|| say(text));
    }

    /// Takes it away.
    pub fn end(self) {
        self.0.finish_and_clear();
    }
}

/// Lines of a table: columns as wide as their widest cell, two spaces apart, numbers to the right
/// where `is_right` says so. A row has as many cells as there are columns.
pub fn table(rows: &[Vec<String>], is_right: &[bool]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..is_right.len()).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for ((cell, width), right) in row.iter().zip(&widths).zip(is_right) {
            match right {
                true => line += &format!("  {cell:>width$}"),
                false => line += &format!("  {cell:<width$}"),
            }
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// Whether a person looks at stderr.
pub fn has_reader() -> bool {
    std::io::stderr().is_terminal()
}

/// Whether stderr shows colours: a terminal that does not forbid them.
pub fn has_colour() -> bool {
    has_reader() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Says an error, whole, once.
pub fn error(error: &anyhow::Error) -> Exit {
    say(&format!("error: {error:#}"));
    Exit::Error
}

/// Says what clap has to say: help is data, mistakes are conversation.
pub fn usage(usage: &clap::Error) -> Exit {
    let _ = usage.print();
    if usage.use_stderr() {
        Exit::Usage
    } else {
        Exit::Done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_said_commands_the_terminal() {
        for (text, expected) in [
            ("a\tb\nµ→…", "a\tb\nµ→…"),
            ("\x1b]0;owned\x07", "\\u{1b}]0;owned\\u{7}"),
            ("\u{9b}2J\r\x7f\0", "\\u{9b}2J\\u{d}\\u{7f}\\u{0}"),
            ("a\u{202e}b\u{2066}c", "a\\u{202e}b\\u{2066}c"),
        ] {
            assert_eq!(shown(text), expected, "{text:?}");
        }
    }

    #[test]
    fn json_is_the_same_value_and_commands_nothing() {
        let value = serde_json::json!({"a\u{9b}": ["\x1b[2J", "\u{202e}", "\x7f", "µ"]});
        let text = json_text(&value);
        assert!(!text.contains(is_command), "{text:?}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            value
        );
    }

    #[test]
    fn columns_of_a_table_are_as_wide_as_their_widest_cell() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [row(["Node", "Löad", "Rack"]), row(["n1", "1.5 MiB", ""])];
        let text = table(&rows, &[false, true, false]);
        assert_eq!(text, "  Node     Löad  Rack\n  n1    1.5 MiB\n");
    }
}
