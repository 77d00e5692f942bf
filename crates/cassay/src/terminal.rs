//! Speaking: data to stdout, conversation to stderr. A closed pipe is not an error.

use crate::exit::Exit;
use std::io::{IsTerminal, Write};

/// Writes data. What cannot be written (the reader has gone) is dropped: it was meant for it.
pub fn data(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = out.write_all(b"\n");
    }
    let _ = out.flush();
}

/// Writes a JSON value.
pub fn json(value: &serde_json::Value) {
    data(&format!("{value:#}"));
}

/// Writes a line of conversation.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
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
