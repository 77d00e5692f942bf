//! Implements the calls to an agent on a machine with attached nodes.

use crate::host_state::AgentState;
use anyhow::{Context, Result};
use host::attached_nodes::{
    FindService, GrantReadOnly, OwnAddresses, ReadWallClock, StartService, UndoLeftovers,
};
use host::process::Identity;
use host::undo_file::{self, UndoFile};
use measure::clock;
use remote::Serve;
use std::net::{IpAddr, UdpSocket};

impl Serve<AgentState> for OwnAddresses {
    fn serve(self, _: &AgentState) -> Result<Vec<IpAddr>> {
        // A socket can be bound only to an address of this host.
        let is_own = |ip: &IpAddr| UdpSocket::bind((*ip, 0)).is_ok();
        Ok(self.0.into_iter().filter(is_own).collect())
    }
}

impl Serve<AgentState> for GrantReadOnly {
    fn serve(self, here: &AgentState) -> Result<()> {
        let folder = self.0;
        anyhow::ensure!(
            folder.is_absolute(),
            "{} is not an absolute path",
            folder.display()
        );
        std::fs::read_dir(&folder).with_context(|| format!("list {}", folder.display()))?;
        here.files.lend(&folder);
        Ok(())
    }
}

impl Serve<AgentState> for FindService {
    fn serve(self, _: &AgentState) -> Result<Option<Identity>> {
        self.0.process()
    }
}

impl Serve<AgentState> for StartService {
    fn serve(self, _: &AgentState) -> Result<Option<Identity>> {
        self.0.start()
    }
}

impl Serve<AgentState> for ReadWallClock {
    fn serve(self, _: &AgentState) -> Result<u64> {
        Ok(clock::unix_ns())
    }
}

impl Serve<AgentState> for UndoLeftovers {
    fn serve(self, here: &AgentState) -> Result<Vec<String>> {
        let folder = self.folder.as_deref();
        here.undo.note(UndoFile::below(folder)?);
        let Identity { pid, start_ticks } = Identity::own();
        let _ = here.machine.set(format!("cassay-{pid}-{start_ticks}"));
        undo_file::mend(folder)
    }
}
