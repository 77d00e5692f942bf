//! Programs of somebody else's that a study names.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A program with its arguments, which no shell sees.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invocation {
    /// The program and its arguments: at least the program, which is looked for where programs are
    /// unless it is a path.
    pub words: Vec<String>,
    /// Where it runs, and where a path begins that is not absolute.
    pub folder: PathBuf,
}

impl std::fmt::Display for Invocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.words.join(" "))
    }
}
