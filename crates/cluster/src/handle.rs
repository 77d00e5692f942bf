//! One node of ours as somebody holds it who breaks and heals it, on a thread of his own: by its
//! host's agent, and as a client sees it.

use crate::access::Access;
use crate::session::Session;
use anyhow::Result;
use host::process::Identity;
use host::{Agent, Broken};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// A node of ours.
#[derive(Debug)]
pub struct NodeHandle {
    /// Its name.
    pub name: String,
    /// That of its host.
    pub agent: Arc<Agent>,
    /// Its process.
    pub process: Identity,
    /// What starts it, and the file that gets what it says.
    pub start: (Command, PathBuf),
    /// Where it answers CQL.
    pub address: SocketAddr,
    /// How a client gets in.
    pub access: Access,
}

impl NodeHandle {
    /// Asks it over CQL, on a new connection: nothing, if it has answered.
    ///
    /// # Errors
    /// It has not, within `limit`; why.
    pub fn ask(&self, limit: Duration) -> Result<()> {
        let mut session = Session::open(self.address, &self.access, limit)?;
        session.query("SELECT key FROM system.local").map(drop)
    }

    /// Stops its process. If nobody heals it, its agent does so after `within`.
    ///
    /// # Errors
    /// See [`Agent::pause`].
    pub fn pause(&self, within: Duration) -> Result<Broken> {
        self.agent.pause(self.process, within)
    }

    /// Kills its process; healing starts it again. If nobody does, its agent does so after
    /// `within`.
    ///
    /// # Errors
    /// See [`Agent::kill`].
    pub fn kill(&self, within: Duration) -> Result<Broken> {
        let (command, output) = &self.start;
        self.agent.kill(self.process, (command, output), within)
    }
}
