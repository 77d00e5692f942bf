//! Secrets, and the sources of their values.

use std::fmt;
use std::path::PathBuf;

/// A text that is never printed. Its `Debug` output is `***`, and it does not implement `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps `text` so that code cannot print it by accident.
    pub fn new(text: String) -> Secret {
        Secret(text)
    }

    /// Returns the text of the secret. Callers use it only to send the secret.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// The secret is the first line of a file.
    File(PathBuf),
    /// The secret is the value of an environment variable.
    Env(String),
    /// The secret has this name, and its source is not known yet.
    Named(String),
    /// The secret is a value in memory.
    Held(Secret),
}
