//! Texts as a terminal may have them: nothing in them commands it.

use std::borrow::Cow;

/// A text as a terminal may have it: control characters but line breaks and tabs, and those that
/// change the direction of writing, are spelled out.
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
pub(super) fn is_command(c: char) -> bool {
    let turns = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    (c.is_control() && !matches!(c, '\n' | '\t')) || turns
}
