//! Calls to an agent on the machine of an attached node, which is a node that cassay did not start.

use crate::Agent;
use crate::calls::calls;
use crate::process::Identity;
use crate::service::Service;
use anyhow::Result;
use measure::clock;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time limit for undoing the leftovers of an earlier agent. Undoing may include the start of a
/// server.
const MEND_LIMIT: Duration = Duration::from_secs(180);

calls! {
    OwnAddresses = "say-which-addresses-are-its-own" -> Vec<IpAddr>;
    GrantReadOnly = "read-what-is-below-a-folder" -> ();
    FindService = "find-the-process-of-a-server" -> Option<Identity>;
    StartService = "start-a-server" -> Option<Identity>;
    ReadWallClock = "read-its-wall-clock" -> u64;
    UndoLeftovers = "undo-what-was-left" -> Vec<String>;
}

/// Requests those of the given addresses that belong to the host.
#[derive(Serialize, Deserialize)]
pub struct OwnAddresses(pub Vec<IpAddr>);

/// Lets the agent read files below a folder, but not write them.
#[derive(Serialize, Deserialize)]
pub struct GrantReadOnly(pub PathBuf);

/// Requests the current process of a server.
#[derive(Serialize, Deserialize)]
pub struct FindService(pub Service);

/// Starts a server unless it is running. The answer is the server's process, if the process appears
/// soon.
#[derive(Serialize, Deserialize)]
pub struct StartService(pub Service);

/// Requests the time of the wall clock, in nanoseconds since 1970.
#[derive(Serialize, Deserialize)]
pub struct ReadWallClock;

/// Undoes the changes that earlier agents left behind because they and their guards were killed, or
/// because the machine lost power. From now on, this agent also writes its undo list to the same
/// folder.
#[derive(Serialize, Deserialize)]
pub struct UndoLeftovers {
    /// Folder of all cassay files. `None` means a folder in the user's home directory.
    pub folder: Option<PathBuf>,
}

impl Agent {
    /// Returns those of the given addresses that belong to the host of the agent. Only that host
    /// can bind them.
    ///
    /// # Errors
    /// The agent has ended.
    pub fn own_addresses(&self, of: &[IpAddr]) -> Result<Vec<IpAddr>> {
        self.call(&OwnAddresses(of.to_vec()))
    }

    /// Lets the agent read files below `folder`, but not write them.
    ///
    /// # Errors
    /// The folder does not exist, or the agent's user may not list it.
    pub fn lend(&self, folder: &Path) -> Result<()> {
        self.call(&GrantReadOnly(folder.to_owned()))
    }

    /// Returns the process of a server on its host. Returns `None` if the server is not running.
    ///
    /// # Errors
    /// The errors of [`Service::process`], or the agent has ended.
    pub fn find(&self, service: &Service) -> Result<Option<Identity>> {
        self.call(&FindService(service.clone()))
    }

    /// Starts a server on its host unless it is running. Returns the server's process, if the
    /// process appears soon.
    ///
    /// # Errors
    /// The start fails, or the agent has ended.
    pub fn start_service(&self, service: &Service) -> Result<Option<Identity>> {
        self.call_for(&StartService(service.clone()), MEND_LIMIT)
    }

    /// Returns the offset of the agent's wall clock from the wall clock of this machine, in ns. The
    /// offset is positive if the agent's clock is ahead. Also returns the bound on the error in ns,
    /// which is half the duration of the call.
    ///
    /// # Errors
    /// The agent has ended.
    pub fn wall_clock(&self) -> Result<(i64, u64)> {
        let before_ns = clock::unix_ns();
        let theirs_ns = self.call(&ReadWallClock)?;
        let after_ns = clock::unix_ns();
        let bound_ns = after_ns.saturating_sub(before_ns) / 2;
        Ok((
            theirs_ns.wrapping_sub(before_ns + bound_ns) as i64,
            bound_ns,
        ))
    }

    /// Makes the agent write its undo list to disk from now on, and undo the changes that earlier
    /// agents left on the machine. Returns one sentence for each change that was undone.
    ///
    /// # Errors
    /// A change cannot be undone, or the agent cannot write the list.
    pub fn mend(&self, folder: Option<&Path>) -> Result<Vec<String>> {
        let folder = folder.map(Path::to_owned);
        self.call_for(&UndoLeftovers { folder }, MEND_LIMIT)
    }
}
