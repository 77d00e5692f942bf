//! A server that somebody else has started on a host, as both sides of the conversation know it.

use crate::process::Identity;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use target::ProcessControl;

/// A server that somebody else has started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// Where it accepts connections.
    pub serves: SocketAddr,
    /// What stops and starts it; none: nothing that is known here.
    pub control: Option<ProcessControl>,
}

/// How a server is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ServiceBreak {
    /// Its process is stopped (SIGSTOP), and goes on.
    Pause,
    /// It is stopped by its control, and started again.
    Stop,
    /// Its process is killed, and it is started again.
    Kill,
}

/// A server, and what is done to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceFault {
    /// The server.
    pub service: Service,
    /// Its process.
    pub process: Identity,
    /// What is done to it.
    pub how: ServiceBreak,
}
