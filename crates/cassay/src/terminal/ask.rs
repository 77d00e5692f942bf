//! Prompts for a line of input.

use super::{has_reader, output, say};
use std::io::{BufRead, IsTerminal};

/// Returns true if a user can read a prompt and answer it.
pub fn has_asker() -> bool {
    has_reader() && std::io::stdin().is_terminal()
}

/// Asks one question. An empty answer or the end of input means the default.
pub fn ask(asks: &str, default: &str) -> String {
    say(&format!("{asks} [{default}]"));
    output::end_moving();
    let mut line = String::new();
    // Unreadable input does not count as an answer.
    let _ = std::io::stdin().lock().read_line(&mut line);
    match line.trim() {
        "" => default.to_owned(),
        answer => answer.to_owned(),
    }
}
