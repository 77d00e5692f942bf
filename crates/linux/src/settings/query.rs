//! A query about the settings of a host.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Facts that cassay requests from a host in addition to the settings of its kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Requested processes, as the name to report and the process id.
    pub processes: Vec<(String, u32)>,
    /// Argument that identifies further processes to report, if any.
    pub with_argument: Option<String>,
    /// Arguments that the host may report. Each is a complete word, or a prefix that is followed by
    /// a number on the command line.
    pub arguments: Vec<String>,
    /// Part of the name of a library. The host reports whether each process has loaded such a
    /// library.
    pub library: String,
    /// Folders whose file systems and devices the host reports.
    pub folders: Vec<PathBuf>,
    /// Beginnings and ends of file names. If processes with the argument have matching files open,
    /// the host reports the folders of these files in the same way as `folders`.
    pub files: Vec<(String, String)>,
}
