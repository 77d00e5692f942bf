//! A process that joins a cluster, and the program that removes it from the cluster.

use super::Start;
use crate::files::FileStep;
use serde::{Deserialize, Serialize};
use std::net::SocketAddrV4;
use std::path::PathBuf;
use target_spec::Invocation;

/// Steps by which a process joins a cluster and leaves it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Join {
    /// Start command of the process.
    pub start: Start,
    /// Steps that create the files of the process before the start.
    pub files: Vec<FileStep>,
    /// Folder of all files of the process.
    pub folder: PathBuf,
    /// Internode address of the process. The host adds the address before the start, and removes it
    /// afterwards.
    pub address: SocketAddrV4,
    /// Program that removes the process from its cluster. It exits with 0 when the process has
    /// left.
    pub leave: Invocation,
}
