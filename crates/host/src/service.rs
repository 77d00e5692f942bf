//! A server on a host that cassay did not start, in the form that controller and agent share.

use crate::process::Identity;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use target_spec::ProcessControl;

/// A server that cassay did not start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// Address on which the server accepts connections.
    pub serves: SocketAddr,
    /// Commands that stop and start the server. `None` if they are unknown.
    pub control: Option<ProcessControl>,
}

/// Kinds of faults of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ServiceBreak {
    /// Stops the process of the server (SIGSTOP). Healing continues the process.
    Pause,
    /// Stops the server by its own stop command. Healing starts the server.
    Stop,
    /// Kills the process of the server. Healing starts the server.
    Kill,
}

/// A fault of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceFault {
    /// Server that has the fault.
    pub service: Service,
    /// Process of the server.
    pub process: Identity,
    pub how: ServiceBreak,
}
