//! What can be wrong with a description of a machine.

/// A description that cannot be read, said whole: what, where, and what to do about it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{place}: {what}\nhint: {hint}")]
pub struct ReadError {
    /// What is wrong, with the value and the limit.
    pub what: String,
    /// Where: a file, a file and line, or a piece of the text.
    pub place: String,
    /// What to do next.
    pub hint: String,
}

impl ReadError {
    pub(crate) fn new(
        place: impl Into<String>,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> ReadError {
        ReadError {
            what: one_line(&what.into()),
            place: one_line(&place.into()),
            hint: one_line(&hint.into()),
        }
    }
}

/// Text out of a file, in which nothing breaks a line or speaks to a terminal: what is shown of a
/// file would else say what the file likes.
pub(crate) fn one_line(text: &str) -> String {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    text.replace(breaks, " ")
}
