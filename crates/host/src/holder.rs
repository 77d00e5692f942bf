//! The process that holds the hosts of a kept cluster when no command runs.
//!
//! It sleeps in the switch's network namespace and in the mount namespace of the cluster, and has
//! the hosts' network namespaces open. It is found again by its identity or by a variable of its
//! environment, which no other process has; so one whose starter was killed before it could write
//! the identity down is found as well.

use super::net::Namespace;
use super::state::{HostState, HostsState};
use crate::process::{self, Identity, Life};
use anyhow::{Context, Result};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::FdFlags;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// The variable that marks a holder; its value is the cluster's id.
const MARK: &str = "CASSAY_HOLDS";

/// A holder that has been started.
pub(super) struct Started {
    pub identity: Identity,
    /// Its descriptors of the hosts' namespaces, in their order.
    pub fds: Vec<i32>,
}

/// Starts the holder of a cluster.
///
/// # Errors
/// `sleep` cannot be started.
pub(super) fn start(id: &str, switch: &Namespace, hosts: &[&Namespace]) -> Result<Started> {
    let mut command = process::command(Path::new("sleep"));
    command
        .arg("infinity")
        .env_clear()
        .env(MARK, id)
        .current_dir("/")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    let fds: Vec<i32> = hosts.iter().map(|host| host.as_fd().as_raw_fd()).collect();
    let (switch, open) = (switch.as_fd().as_raw_fd(), fds.clone());
    let prepare = move || {
        // SAFETY: the child has a copy of all of our descriptors, and `spawn` below returns only
        // when it has passed this, so none of them has been closed.
        let borrow = |fd| unsafe { BorrowedFd::borrow_raw(fd) };
        for &fd in &open {
            rustix::io::fcntl_setfd(borrow(fd), FdFlags::empty())?;
        }
        move_into_link_name_space(borrow(switch), Some(LinkNameSpaceType::Network))?;
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made: no allocation, no lock.
    unsafe { command.pre_exec(prepare) };
    let child = process::spawn(command, Life::Detached).context("start the holder of the hosts")?;
    let identity = Identity::of(child.id()).context("the holder of the hosts ended at once")?;
    Ok(Started { identity, fds })
}

/// Kills the holders of a cluster.
///
/// # Errors
/// One does not go.
pub(super) fn end(id: &str) -> Result<()> {
    for holder in process::all_pids().into_iter().filter_map(Identity::of) {
        if is_holder(holder.pid, id) {
            holder.end(Duration::ZERO)?;
        }
    }
    Ok(())
}

fn is_holder(pid: u32, id: &str) -> bool {
    let mark = format!("{MARK}={id}");
    std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(|bytes| {
        bytes
            .split(|&byte| byte == 0)
            .any(|one| one == mark.as_bytes())
    })
}

/// A holder that runs, seen by another command.
pub(super) struct Held {
    pid: u32,
}

impl Held {
    /// # Errors
    /// It runs no more.
    pub fn find(state: &HostsState) -> Result<Held> {
        let holder = state.holder.context("these hosts are not kept")?;
        anyhow::ensure!(
            holder.alive() && is_holder(holder.pid, &state.id),
            "process {}, which held the hosts of cluster {}, has ended, and their network with it: \
             take the cluster down",
            holder.pid,
            state.id
        );
        Ok(Held { pid: holder.pid })
    }

    pub fn switch(&self) -> Result<Namespace> {
        Namespace::open(&format!("/proc/{}/ns/net", self.pid))
    }

    pub fn host(&self, host: &HostState) -> Result<Namespace> {
        let fd = host
            .namespace_fd
            .with_context(|| format!("no network is noted for {}", host.name))?;
        Namespace::open(&format!("/proc/{}/fd/{fd}", self.pid))
    }

    pub fn mounts(&self) -> Result<OwnedFd> {
        let path = format!("/proc/{}/ns/mnt", self.pid);
        rustix::fs::open(&path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .with_context(|| format!("open {path}"))
    }

    /// A path of the hosts as we see it.
    pub fn path(&self, inside: &Path) -> PathBuf {
        let below = inside.strip_prefix("/").unwrap_or(inside);
        Path::new(&format!("/proc/{}/root", self.pid)).join(below)
    }
}
