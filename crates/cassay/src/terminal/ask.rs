//! Prompts for a line of input.

use super::{has_reader, output, say};
use std::io::{BufRead, IsTerminal};

/// Returns true if a user can read a prompt and answer it.
pub fn has_asker() -> bool {
    has_reader() && std::io::stdin().is_terminal()
}

/// Returns true if the user confirms, with `--yes` or at the prompt. Otherwise prints `refused`. If
/// no prompt is possible, the message also has the hint to add `--yes`.
pub fn is_confirmed(yes: bool, asks: &str, refused: &str, hint: &str) -> bool {
    if yes {
        return true;
    }
    if !has_asker() {
        say(&format!("{refused}\nhint: add --yes to {hint}"));
        return false;
    }
    let is_yes = ask(&format!("{asks} yes or no"), "no").eq_ignore_ascii_case("yes");
    if !is_yes {
        say(refused);
    }
    is_yes
}

/// Asks one question. An empty answer or the end of input selects the default.
pub fn ask(asks: &str, default: &str) -> String {
    say(&format!("{asks} [{default}]"));
    output::end_moving();
    let mut line = String::new();
    // Unreadable input does not count as an answer, so this code ignores the error.
    let _ = std::io::stdin().lock().read_line(&mut line);
    match line.trim() {
        "" => default.to_owned(),
        answer => answer.to_owned(),
    }
}
