//! A process that joins a cluster, and the program that removes it from the cluster.

use super::Start;
use crate::files::FileStep;
use serde::{Deserialize, Serialize};
use std::net::SocketAddrV4;
use std::path::PathBuf;
use target_spec::Invocation;

/// A process that joins a cluster and later leaves the cluster.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Join {
    /// Start command of the process.
    pub start: Start,
    /// Steps that create the files of the process, which the agent performs before the start.
    pub files: Vec<FileStep>,
    /// Folder that contains all files of the process.
    pub folder: PathBuf,
    /// Internode address of the process. The host adds the address before the start, and removes it
    /// afterwards.
    pub address: SocketAddrV4,
    /// Program that removes the process from its cluster. The program exits with 0 when the process
    /// has left the cluster.
    pub leave: Invocation,
}
