//! Asking: a line of conversation that waits for a line.

use super::{has_reader, say, stage};
use std::io::{BufRead, IsTerminal};

/// Whether somebody can be asked: reads what is said and writes the answer.
pub fn has_asker() -> bool {
    has_reader() && std::io::stdin().is_terminal()
}

/// Asks one thing; no answer, and the end of all answers, is the default.
pub fn ask(asks: &str, default: &str) -> String {
    say(&format!("{asks} [{default}]"));
    stage::end_moving();
    let mut line = String::new();
    // Who cannot be read has no answer.
    let _ = std::io::stdin().lock().read_line(&mut line);
    match line.trim() {
        "" => default.to_owned(),
        answer => answer.to_owned(),
    }
}
