//! A process that is started to join others, and what has it leave them again.

use super::Start;
use crate::files::Step;
use serde::{Deserialize, Serialize};
use std::net::SocketAddrV4;
use std::path::PathBuf;
use target::Invocation;

/// How a process joins others, and leaves them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Join {
    /// What starts it.
    pub start: Start,
    /// What makes its files before that.
    pub files: Vec<Step>,
    /// Everything of it is in here.
    pub folder: PathBuf,
    /// Where others reach it: at an address that its host takes before, and gives up again.
    pub address: SocketAddrV4,
    /// What has it leave, and ends with 0 when it has.
    pub leave: Invocation,
}
