//! Where cassay may write for a target.

use std::path::PathBuf;

/// The two folders that cassay may write to for a target.
#[derive(Clone, Debug)]
pub struct Dirs {
    /// Jars and unpacked files that survive runs.
    pub cache: PathBuf,
    /// Data, logs and state of clusters that run now.
    pub data: PathBuf,
}
