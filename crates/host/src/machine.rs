//! What a host's machine looks like, as the processes on it see it; its settings; where a process
//! is.

use crate::Agent;
use crate::Whereabouts;
use crate::process::Identity;
use crate::settings::{HostSettings, Question};
use anyhow::Result;
use reach::Call;
use serde::{Deserialize, Serialize};
use topology::Machine;

/// Asks an agent for its machine.
#[derive(Serialize, Deserialize)]
pub struct ReadMachine;

impl Call for ReadMachine {
    const NAME: &'static str = "read-its-machine";
    type Answer = Machine;
}

/// Asks an agent for the settings of its host.
#[derive(Serialize, Deserialize)]
pub struct ReadSettings {
    /// What is asked.
    pub question: Question,
}

impl Call for ReadSettings {
    const NAME: &'static str = "read-its-settings";
    type Answer = HostSettings;
}

/// Asks an agent where a process runs.
#[derive(Serialize, Deserialize)]
pub struct FindProcess(pub Identity);

impl Call for FindProcess {
    const NAME: &'static str = "say-where-a-process-runs";
    type Answer = Whereabouts;
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
    /// The settings of its host.
    ///
    /// # Errors
    /// The agent is gone.
    pub fn settings(&self, question: &Question) -> Result<HostSettings> {
        let question = question.clone();
        self.call(&ReadSettings { question })
    }

    /// Where a process of its host runs, and where its memory is.
    ///
    /// # Errors
    /// It has ended, or the agent is gone.
    pub fn whereabouts(&self, process: Identity) -> Result<Whereabouts> {
        self.call(&FindProcess(process))
    }
}
