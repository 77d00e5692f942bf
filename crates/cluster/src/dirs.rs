//! Folders that cassay writes to for a target.

use std::path::PathBuf;

/// The two folders that cassay may write to for a target.
#[derive(Clone, Debug)]
pub struct Dirs {
    /// Jars and unpacked files, kept across runs.
    pub cache: PathBuf,
    /// Data, logs and state of running clusters.
    pub data: PathBuf,
}
