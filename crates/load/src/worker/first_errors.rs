//! Keeps the message of the first error of each kind. A report quotes these messages.
//!
//! The module allocates all memory before the start line, because errors often come together with
//! other problems. The message of one node must not delay the responses of the other nodes.

use measure::Outcome;
use measure::outcome::OUTCOMES_COUNT;
use std::fmt::{self, Display, Write};

/// Maximum length of a message in bytes. Longer messages are truncated.
const MESSAGE_BYTES_MAX: usize = 1024;

#[derive(Debug, Default)]
pub(crate) struct FirstErrors {
    seen: Vec<ErrorPlace>,
    texts: String,
}

/// Position of a message in the texts, and the node of the message.
#[derive(Clone, Copy, Debug)]
struct ErrorPlace {
    outcome: Outcome,
    node: usize,
    start: usize,
}

impl FirstErrors {
    pub fn with_room() -> FirstErrors {
        FirstErrors {
            seen: Vec::with_capacity(OUTCOMES_COUNT),
            texts: String::with_capacity(OUTCOMES_COUNT * MESSAGE_BYTES_MAX),
        }
    }

    /// Records a message about node number `node` if it is the first message of its kind. The
    /// message is from the node or from the client.
    pub fn note(&mut self, outcome: Outcome, node: usize, message: &impl Display) {
        if self.seen.iter().any(|seen| seen.outcome == outcome) {
            return;
        }
        let start = self.texts.len();
        self.seen.push(ErrorPlace {
            outcome,
            node,
            start,
        });
        let mut cut = TruncatingWriter {
            texts: &mut self.texts,
            left: MESSAGE_BYTES_MAX,
        };
        // Writing fails if the writer truncates the text. This is intended.
        let _ = write!(cut, "{message}");
    }

    /// Returns the outcome, node number and message of each error, in the order of arrival.
    pub fn iter(&self) -> impl Iterator<Item = (Outcome, usize, &str)> {
        let ends = self.seen.iter().skip(1).map(|seen| seen.start).chain([self.texts.len()]);
        let seen = self.seen.iter().zip(ends);
        seen.map(|(seen, end)| (seen.outcome, seen.node, &self.texts[seen.start..end]))
    }
}

/// Writer that accepts text up to a maximum length.
struct TruncatingWriter<'a> {
    texts: &'a mut String,
    left: usize,
}

impl Write for TruncatingWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let taken = text.floor_char_boundary(self.left);
        self.texts.push_str(&text[..taken]);
        self.left -= taken;
        if taken == text.len() {
            Ok(())
        } else {
            Err(fmt::Error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_of_each_kind_is_kept_cut_without_allocation() {
        let mut errors = FirstErrors::with_room();
        let room = errors.texts.capacity();
        let long = "é".repeat(MESSAGE_BYTES_MAX);
        errors.note(Outcome::Overloaded, 1, &"one");
        errors.note(Outcome::Overloaded, 2, &"two");
        errors.note(Outcome::Invalid, 2, &format_args!("{}{long}", 7));
        errors.note(Outcome::BadAnswer, 0, &"");
        let seen: Vec<_> = errors.iter().collect();
        assert_eq!(seen[0], (Outcome::Overloaded, 1, "one"));
        assert_eq!(seen[2], (Outcome::BadAnswer, 0, ""));
        assert_eq!(seen.len(), 3);
        let (outcome, node, text) = seen[1];
        assert_eq!((outcome, node), (Outcome::Invalid, 2));
        assert!(text.starts_with("7éé") && text.len() == MESSAGE_BYTES_MAX - 1);
        assert_eq!(errors.texts.capacity(), room);
    }
}
