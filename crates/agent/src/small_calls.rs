//! Implements short calls to an agent about processes, the machine and probes.

use crate::host_state::AgentState;
use anyhow::Result;
use host::EffectiveAffinity;
use host::calls::{
    Capabilities, EndProcess, Keep, MachineCapabilities, Processes, StartProcess,
    VolumeCapabilities,
};
use host::machine::{FindProcess, ReadMachine, ReadSettings};
use host::process::Identity;
use host::queries::Receive;
use host::settings::HostSettings;
use host::watch::{BeginWatch, ReadingsBatch, TakeReadings};
use linux::{capability, tcp};
use remote::Serve;
use std::path::{Path, PathBuf};
use std::time::Duration;
use target_spec::CapabilityStatus;
use topology::Machine;

impl Serve<AgentState> for StartProcess {
    fn serve(self, here: &AgentState) -> Result<Identity> {
        here.start(&self)
    }
}

impl Serve<AgentState> for EndProcess {
    fn serve(self, here: &AgentState) -> Result<bool> {
        let grace = Duration::from_millis(self.grace_ms);
        here.children.end(self.process, grace)
    }
}

impl Serve<AgentState> for Capabilities {
    fn serve(self, _: &AgentState) -> Result<Vec<CapabilityStatus>> {
        Ok(capability::capabilities().to_vec())
    }
}

impl Serve<AgentState> for VolumeCapabilities {
    fn serve(self, _: &AgentState) -> Result<Vec<CapabilityStatus>> {
        Ok(capability::volume_capabilities().to_vec())
    }
}

impl Serve<AgentState> for MachineCapabilities {
    fn serve(self, _: &AgentState) -> Result<Vec<CapabilityStatus>> {
        Ok(capability::machine_capabilities().to_vec())
    }
}

impl Serve<AgentState> for Processes {
    fn serve(self, here: &AgentState) -> Result<Vec<(Identity, Option<i32>)>> {
        Ok(here.children.all())
    }
}

impl Serve<AgentState> for Keep {
    fn serve(self, here: &AgentState) -> Result<()> {
        let door = host::listen(&here.folder)?;
        let _ = here.door.set(door);
        Ok(())
    }
}

impl Serve<AgentState> for BeginWatch {
    fn serve(self, here: &AgentState) -> Result<u64> {
        here.watching.begin(self.0)
    }
}

impl Serve<AgentState> for TakeReadings {
    fn serve(self, here: &AgentState) -> Result<ReadingsBatch> {
        here.watching.take(&self)
    }
}

impl Serve<AgentState> for ReadMachine {
    fn serve(self, _: &AgentState) -> Result<Machine> {
        Ok(Machine::read(Path::new("/"))?)
    }
}

impl Serve<AgentState> for ReadSettings {
    fn serve(self, _: &AgentState) -> Result<HostSettings> {
        Ok(HostSettings::read(Path::new("/"), &self.question))
    }
}

impl Serve<AgentState> for FindProcess {
    fn serve(self, _: &AgentState) -> Result<EffectiveAffinity> {
        let found = EffectiveAffinity::read(&PathBuf::from(format!("/proc/{}", self.0.pid)));
        anyhow::ensure!(self.0.alive(), "process {} has ended", self.0.pid);
        found
    }
}

impl Serve<AgentState> for Receive {
    fn serve(self, _: &AgentState) -> Result<u16> {
        tcp::begin_to_receive(Duration::from_millis(self.limit_ms))
    }
}
