//! What a host's agent is asked where what runs there is somebody else's.

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

/// How long it may take to undo what an earlier agent has left: a server is started.
const MEND_LIMIT: Duration = Duration::from_secs(180);

calls! {
    OwnAddresses = "say-which-addresses-are-its-own" -> Vec<IpAddr>;
    Lend = "read-what-is-below-a-folder" -> ();
    FindService = "find-the-process-of-a-server" -> Option<Identity>;
    StartService = "start-a-server" -> Option<Identity>;
    ReadWallClock = "read-its-wall-clock" -> u64;
    Mend = "undo-what-was-left" -> Vec<String>;
}

/// Which of these addresses are those of the host.
#[derive(Serialize, Deserialize)]
pub struct OwnAddresses(pub Vec<IpAddr>);

/// From now on the agent reads what is below a folder, and writes nothing there.
#[derive(Serialize, Deserialize)]
pub struct Lend(pub PathBuf);

/// The process of a server as it is now.
#[derive(Serialize, Deserialize)]
pub struct FindService(pub Service);

/// Starts a server unless it runs; its process, if that shows soon.
#[derive(Serialize, Deserialize)]
pub struct StartService(pub Service);

/// Nanoseconds since 1970.
#[derive(Serialize, Deserialize)]
pub struct ReadWallClock;

/// Undoes what earlier agents have left whose guards were killed too, or whose machine lost its
/// power; from now on what this one has to undo is written down in the same place.
#[derive(Serialize, Deserialize)]
pub struct Mend {
    /// The folder that all of ours is below; none: one of the user's.
    pub folder: Option<PathBuf>,
}

impl Agent {
    /// Which of these addresses are those of its host: they can be bound there, and nowhere else.
    ///
    /// # Errors
    /// The agent is gone.
    pub fn own_addresses(&self, of: &[IpAddr]) -> Result<Vec<IpAddr>> {
        self.call(&OwnAddresses(of.to_vec()))
    }

    /// From now on it reads files below `folder`, and writes none there.
    ///
    /// # Errors
    /// There is no such folder, or its user may not list it.
    pub fn lend(&self, folder: &Path) -> Result<()> {
        self.call(&Lend(folder.to_owned()))
    }

    /// The process of a server on its host; none if it does not run.
    ///
    /// # Errors
    /// As [`Service::process`]; or the agent is gone.
    pub fn find(&self, service: &Service) -> Result<Option<Identity>> {
        self.call(&FindService(service.clone()))
    }

    /// Starts a server on its host unless it runs; its process, if that shows soon.
    ///
    /// # Errors
    /// What starts it fails; or the agent is gone.
    pub fn start_service(&self, service: &Service) -> Result<Option<Identity>> {
        self.call_for(&StartService(service.clone()), MEND_LIMIT)
    }

    /// How far its wall clock is ahead of ours, and how far off that may be: half of what asking
    /// takes; ns.
    ///
    /// # Errors
    /// The agent is gone.
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

    /// Has it write down what it has to undo, and undo what was left there; what was undone, a
    /// sentence each.
    ///
    /// # Errors
    /// Something cannot be undone, or nothing can be written down there.
    pub fn mend(&self, folder: Option<&Path>) -> Result<Vec<String>> {
        let folder = folder.map(Path::to_owned);
        self.call_for(&Mend { folder }, MEND_LIMIT)
    }
}
