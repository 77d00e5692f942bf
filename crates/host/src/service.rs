//! A server on a host that cassay did not start, as both sides know it.

use crate::process::Identity;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use target_spec::ProcessControl;

/// A server that cassay did not start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// Address on which it accepts connections.
    pub serves: SocketAddr,
    /// Commands that stop and start it. `None` if unknown.
    pub control: Option<ProcessControl>,
}

/// Way in which a server is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ServiceBreak {
    /// Stops its process (SIGSTOP), and continues it for healing.
    Pause,
    /// Stops it by its own control, and starts it for healing.
    Stop,
    /// Kills its process, and starts it for healing.
    Kill,
}

/// A fault of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceFault {
    /// Server to break.
    pub service: Service,
    /// Process of the server.
    pub process: Identity,
    /// Way in which the server is broken.
    pub how: ServiceBreak,
}
