//! Folders to which cassay writes files for a target.

use std::path::PathBuf;

/// The two folders to which cassay may write files for a target.
#[derive(Clone, Debug)]
pub struct Dirs {
    /// Folder for jars and unpacked files. cassay keeps these files between runs.
    pub cache: PathBuf,
    /// Folder for the data, logs and state of running clusters.
    pub data: PathBuf,
}
