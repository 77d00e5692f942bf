//! Folders that cassay writes to for a target.

use std::path::PathBuf;

/// The two folders that cassay may write to for a target.
#[derive(Clone, Debug)]
pub struct Dirs {
    /// Folder for jars and unpacked files, which are kept across runs.
    pub cache: PathBuf,
    /// Folder for the data, logs and state of running clusters.
    pub data: PathBuf,
}
