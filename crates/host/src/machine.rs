//! Queries about the hardware of a host, its settings, and the placement of processes. The agent
//! describes the hardware that the processes of the host can see.

use crate::Agent;
use crate::EffectiveAffinity;
use crate::process::Identity;
use crate::settings::{HostSettings, Question};
use anyhow::Result;
use remote::Call;
use serde::{Deserialize, Serialize};
use topology::Machine;

/// Reads the hardware of an agent's machine.
#[derive(Serialize, Deserialize)]
pub struct ReadMachine;

impl Call for ReadMachine {
    const NAME: &'static str = "read-its-machine";
    type Answer = Machine;
}

/// Reads the settings of an agent's host.
#[derive(Serialize, Deserialize)]
pub struct ReadSettings {
    pub question: Question,
}

impl Call for ReadSettings {
    const NAME: &'static str = "read-its-settings";
    type Answer = HostSettings;
}

/// Reads the CPUs on which a process may run, and the NUMA nodes of its memory.
#[derive(Serialize, Deserialize)]
pub struct FindProcess(pub Identity);

impl Call for FindProcess {
    const NAME: &'static str = "say-where-a-process-runs";
    type Answer = EffectiveAffinity;
}

impl Agent {
    /// Returns the hardware of the agent's host: packages, NUMA nodes, caches, cores, and the CPUs
    /// that the host may use.
    ///
    /// # Errors
    /// The agent has ended, or its kernel does not describe the machine.
    pub fn machine(&self) -> Result<Machine> {
        self.call(&ReadMachine)
    }
    /// Returns the settings of the agent's host.
    ///
    /// # Errors
    /// The agent has ended.
    pub fn settings(&self, question: &Question) -> Result<HostSettings> {
        let question = question.clone();
        self.call(&ReadSettings { question })
    }

    /// Returns the CPUs of a process on the agent's host, and the location of its memory.
    ///
    /// # Errors
    /// The process has ended, or the agent has ended.
    pub fn whereabouts(&self, process: Identity) -> Result<EffectiveAffinity> {
        self.call(&FindProcess(process))
    }
}
