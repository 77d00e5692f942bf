//! What is asked of a host.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What is asked of a host beside its kernel's settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// These processes, by the names that they are to have.
    pub processes: Vec<(String, u32)>,
    /// All processes with this argument, if it is given.
    pub with_argument: Option<String>,
    /// Arguments that may be told: a word as it is, or what a number follows.
    pub arguments: Vec<String>,
    /// A part of the name of a library: is one loaded?
    pub library: String,
    /// What is below these folders: their file systems and devices.
    pub folders: Vec<PathBuf>,
    /// The same of the folders of files that the processes with that argument have open, if their
    /// names begin and end so.
    pub files: Vec<(String, String)>,
}
