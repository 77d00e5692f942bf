//! Programs that belong to the user and that a study names.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A program with its arguments. It runs without a shell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invocation {
    /// The program, followed by its arguments. A program that is not a path is looked up in the
    /// search path.
    pub words: Vec<String>,
    /// Working directory of the program. Relative paths are resolved against it.
    pub folder: PathBuf,
}

impl std::fmt::Display for Invocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.words.join(" "))
    }
}
