//! Query to a host about its settings.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Facts that are requested of a host in addition to its kernel's settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Requested processes, as the name to report and the process id.
    pub processes: Vec<(String, u32)>,
    /// Argument that identifies further processes to report, if any.
    pub with_argument: Option<String>,
    /// Arguments that may be reported: a complete word, or a prefix followed by a number.
    pub arguments: Vec<String>,
    /// Text that the name of a library must contain, to look for it in the processes.
    pub library: String,
    /// Folders whose file systems and devices are reported.
    pub folders: Vec<PathBuf>,
    /// Beginnings and ends of file names. If processes with the argument have matching files open,
    /// the folders of these files are reported like the other folders.
    pub files: Vec<(String, String)>,
}
