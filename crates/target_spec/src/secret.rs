//! Secrets, and their sources.

use std::fmt;
use std::path::PathBuf;

/// Text that is never printed: its `Debug` is `***` and it has no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Protects `text` from being shown.
    pub fn new(text: String) -> Secret {
        Secret(text)
    }

    /// Returns the text itself, for the wire only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Source of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// The first line of a file.
    File(PathBuf),
    /// The value of an environment variable.
    Env(String),
    /// A name whose source is not known yet.
    Named(String),
    /// A value in memory.
    Held(Secret),
}
