//! What a host's machine looks like, as the processes on it see it.

use crate::Agent;
use crate::here::Here;
use anyhow::Result;
use reach::{Call, Serve};
use serde::{Deserialize, Serialize};
use std::path::Path;
use topology::Machine;

/// Asks an agent for its machine.
#[derive(Serialize, Deserialize)]
pub(crate) struct ReadMachine;

impl Call for ReadMachine {
    const NAME: &'static str = "read-its-machine";
    type Answer = Machine;
}

impl Serve<Here> for ReadMachine {
    fn serve(self, _: &Here) -> Result<Machine> {
        Ok(Machine::read(Path::new("/"))?)
    }
}

impl Agent {
    /// The machine of its host: packages, NUMA nodes, caches, cores, and which of its CPUs the host
    /// may use.
    ///
    /// # Errors
    /// The agent is gone, or its kernel does not say what the machine looks like.
    pub fn machine(&self) -> Result<Machine> {
        self.call(&ReadMachine)
    }
}
