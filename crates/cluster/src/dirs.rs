//! Folders to which cassay writes files for a target.

use std::path::PathBuf;

#[derive(Clone, Debug)]
pub struct Dirs {
    /// Folder for jars and unpacked files, which cassay keeps between runs.
    pub cache: PathBuf,
    /// Folder for the data, logs and state of running clusters.
    pub data: PathBuf,
}
