//! Start commands of processes, in the form in which controllers send them to agents.

use crate::calls::StartProcess;
use crate::process::Identity;
use anyhow::Result;
use linux::cpu_affinity::Confinement;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

/// A process that an agent has started, and its start command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Restartable {
    /// Process that runs.
    pub process: Identity,
    /// Command that starts the process again.
    pub start: StartProcess,
}

impl Restartable {
    /// Combines `process` with `command`, which restarts it and appends its output to the file
    /// `output`.
    ///
    /// # Errors
    /// An argument is not Unicode.
    pub fn new(process: Identity, command: &Command, output: &Path) -> Result<Restartable> {
        let start = StartProcess::from_command(command, output)?;
        Ok(Restartable { process, start })
    }

    /// Combines `process` with the start command that restarts it.
    pub fn by(process: Identity, start: Start) -> Restartable {
        let Start(start) = start;
        Restartable { process, start }
    }

    /// Adds environment variables to the start command.
    pub(crate) fn environment<const N: usize>(&mut self, pairs: [(&str, String); N]) {
        let pairs = pairs.map(|(name, value)| (name.to_owned(), Some(value)));
        self.start.environment.extend(pairs);
    }

    /// Returns the same start command, combined with another process.
    #[must_use]
    pub fn for_process(&self, process: Identity) -> Restartable {
        let start = self.start.clone();
        Restartable { process, start }
    }
}

/// Start command of a process that does not run yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Start(pub StartProcess);

impl Start {
    /// Builds the value from `command`. The process will write its output to the file `output`.
    ///
    /// # Errors
    /// An argument is not Unicode.
    pub fn new(command: &Command, output: &Path) -> Result<Start> {
        StartProcess::from_command(command, output).map(Start)
    }

    /// Returns the same start command with a confinement.
    #[must_use]
    pub fn confined(mut self, to: Option<Confinement>) -> Start {
        self.0.confinement = to.map(Box::new);
        self
    }

    /// Returns the same start command for a process that accepts connections at `address` when it
    /// is up.
    /// The agent starts the process again if it does not accept connections after the agent has
    /// healed a fault by itself. From the second repetition on, the agent uses the environment
    /// variables of `forgiving`.
    ///
    /// # Errors
    /// A variable is not Unicode.
    pub fn kept_up(mut self, address: SocketAddr, forgiving: &Command) -> Result<Start> {
        self.0.forgiving = StartProcess::from_command(forgiving, &self.0.output)?.environment;
        self.0.serves = Some(address);
        Ok(self)
    }
}
