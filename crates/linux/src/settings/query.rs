//! Query to a host about its settings.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Facts that are requested of a host in addition to its kernel's settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Requested processes: the name to report and the pid.
    pub processes: Vec<(String, u32)>,
    /// Argument whose processes are all requested, if any.
    pub with_argument: Option<String>,
    /// Arguments that may be reported: a complete word, or a prefix followed by a number.
    pub arguments: Vec<String>,
    /// Part of the name of a library to look for in the processes.
    pub library: String,
    /// Folders whose file systems and devices are reported.
    pub folders: Vec<PathBuf>,
    /// Beginnings and ends of file names: If the processes with the argument have files of this
    /// kind open, the files' folders are reported in the same way.
    pub files: Vec<(String, String)>,
}
