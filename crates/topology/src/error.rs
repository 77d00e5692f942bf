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
            what: what.into(),
            place: place.into(),
            hint: hint.into(),
        }
    }
}
