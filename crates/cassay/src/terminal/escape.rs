//! Escapes texts so that they cannot control the terminal.

use std::borrow::Cow;

/// Escapes a text for a terminal. Escaped characters are control characters except line breaks and
/// tabs, and characters that change the direction of writing.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(is_command) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_command(c) {
            out.extend(c.escape_unicode())
        } else {
            out.push(c)
        }
    }
    Cow::Owned(out)
}

/// Replaces a character that could control the terminal with a harmless character of the same
/// number of bytes. This function is for texts with byte positions. The renderer of these texts
/// replaces one-byte characters itself, so this function leaves one-byte characters unchanged.
pub fn shown_in_place(c: char) -> char {
    match (is_command(c), c.len_utf8()) {
        // The two replacements are the middle dot and U+FFFD, the replacement character.
        (true, 2) => '\u{b7}',
        (true, 3) => '\u{fffd}',
        _ => c,
    }
}

/// Returns true if a terminal interprets a character instead of showing it.
pub(super) fn is_command(c: char) -> bool {
    let turns = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    (c.is_control() && !matches!(c, '\n' | '\t')) || turns
}
