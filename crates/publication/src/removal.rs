//! A private string, with its replacement.

use crate::private_string::PrivateKind;

/// A private string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    pub kind: PrivateKind,
    pub original: String,
    /// `None` if the user keeps the string.
    pub replacement: Option<String>,
    /// Number of times that the pages contain the string.
    pub times: usize,
    /// Number of the thing that the string names. Strings for one thing share a replacement.
    pub group: usize,
}
