//! Errors in descriptions of machines.

/// A description that cannot be read, with the mistake, its position and advice.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{place}: {what}\nhint: {hint}")]
pub struct ReadError {
    /// Description of the mistake, with the wrong value and the limit.
    pub what: String,
    /// Position of the mistake: a file, a file and line, or a part of the text.
    pub place: String,
    /// Advice on the next step.
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

/// Replaces line breaks and control characters with spaces. Otherwise the content of a file could
/// forge lines of output or send commands to the terminal.
pub(crate) fn one_line(text: &str) -> String {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    text.replace(breaks, " ")
}
