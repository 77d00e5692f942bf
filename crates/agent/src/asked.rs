//! What an agent is asked that takes few words: of processes, of the machine, of what it watches.

use crate::here::Here;
use anyhow::Result;
use host::calls::{Abilities, EndProcess, Keep, Processes, StartProcess, VolumeAbilities};
use host::machine::{FindProcess, ReadMachine, ReadSettings};
use host::process::Identity;
use host::settings::HostSettings;
use host::sights::Receive;
use host::watch::{BeginWatch, TakeReadings, Taken};
use host::{Able, Whereabouts};
use kernel::{able, tcp};
use reach::Serve;
use std::path::{Path, PathBuf};
use std::time::Duration;
use topology::Machine;

impl Serve<Here> for StartProcess {
    fn serve(self, here: &Here) -> Result<Identity> {
        here.start(&self)
    }
}

impl Serve<Here> for EndProcess {
    fn serve(self, here: &Here) -> Result<bool> {
        let grace = Duration::from_millis(self.grace_ms);
        here.children.end(self.process, grace)
    }
}

impl Serve<Here> for Abilities {
    fn serve(self, _: &Here) -> Result<Vec<Able>> {
        Ok(able::abilities().to_vec())
    }
}

impl Serve<Here> for VolumeAbilities {
    fn serve(self, _: &Here) -> Result<Vec<Able>> {
        Ok(able::volume_abilities().to_vec())
    }
}

impl Serve<Here> for Processes {
    fn serve(self, here: &Here) -> Result<Vec<(Identity, Option<i32>)>> {
        Ok(here.children.all())
    }
}

impl Serve<Here> for Keep {
    fn serve(self, here: &Here) -> Result<()> {
        let door = host::listen(&here.folder)?;
        let _ = here.door.set(door);
        Ok(())
    }
}

impl Serve<Here> for BeginWatch {
    fn serve(self, here: &Here) -> Result<u64> {
        here.watching.begin(self.0)
    }
}

impl Serve<Here> for TakeReadings {
    fn serve(self, here: &Here) -> Result<Taken> {
        here.watching.take(&self)
    }
}

impl Serve<Here> for ReadMachine {
    fn serve(self, _: &Here) -> Result<Machine> {
        Ok(Machine::read(Path::new("/"))?)
    }
}

impl Serve<Here> for ReadSettings {
    fn serve(self, _: &Here) -> Result<HostSettings> {
        Ok(HostSettings::read(Path::new("/"), &self.question))
    }
}

impl Serve<Here> for FindProcess {
    fn serve(self, _: &Here) -> Result<Whereabouts> {
        let found = Whereabouts::read(&PathBuf::from(format!("/proc/{}", self.0.pid)));
        anyhow::ensure!(self.0.alive(), "process {} has ended", self.0.pid);
        found
    }
}

impl Serve<Here> for Receive {
    fn serve(self, _: &Here) -> Result<u16> {
        tcp::begin_to_receive(Duration::from_millis(self.limit_ms))
    }
}
