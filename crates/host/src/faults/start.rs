//! What agents start, said by their controllers.

use crate::calls::StartProcess;
use crate::process::Identity;
use anyhow::Result;
use kernel::confine::Confinement;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

/// A process that an agent has started, and what starts it again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Restartable {
    /// The process that was started.
    pub process: Identity,
    /// What starts it again.
    pub start: StartProcess,
}

impl Restartable {
    /// `process`, which `command` starts again, with its output to the file `output`.
    ///
    /// # Errors
    /// An argument is no Unicode.
    pub fn new(process: Identity, command: &Command, output: &Path) -> Result<Restartable> {
        let start = StartProcess::of(command, output)?;
        Ok(Restartable { process, start })
    }

    /// `process`, and what starts it again.
    pub fn by(process: Identity, start: Start) -> Restartable {
        let Start(start) = start;
        Restartable { process, start }
    }

    /// Has it started with these variables.
    pub(crate) fn environment<const N: usize>(&mut self, pairs: [(&str, String); N]) {
        let pairs = pairs.map(|(name, value)| (name.to_owned(), Some(value)));
        self.start.environment.extend(pairs);
    }

    /// Another process, which is started again as this one would be.
    #[must_use]
    pub fn of(&self, process: Identity) -> Restartable {
        let start = self.start.clone();
        Restartable { process, start }
    }
}

/// What starts a process that there was none of before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Start(pub StartProcess);

impl Start {
    /// `command`, with its output to the file `output`.
    ///
    /// # Errors
    /// An argument is no Unicode.
    pub fn new(command: &Command, output: &Path) -> Result<Start> {
        StartProcess::of(command, output).map(Start)
    }

    /// The same, confined so.
    #[must_use]
    pub fn confined(mut self, to: Option<Confinement>) -> Start {
        self.0.confinement = to.map(Box::new);
        self
    }

    /// The same of something that accepts connections at `address` when it is up. Should it not,
    /// when its agent has healed by itself, it is started again; the second time with the variables
    /// of `forgiving`.
    ///
    /// # Errors
    /// One is no Unicode.
    pub fn kept_up(mut self, address: SocketAddr, forgiving: &Command) -> Result<Start> {
        self.0.forgiving = StartProcess::of(forgiving, &self.0.output)?.environment;
        self.0.serves = Some(address);
        Ok(self)
    }
}
