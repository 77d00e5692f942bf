//! Which CPUs and whose memory a process may use, with all its threads; and what the kernel says of
//! that.
//!
//! On a stand-in that is a group below the host's own (`cpuset` of either version), which none of
//! its threads can leave. Where a host has no groups, the process starts with its affinity and its
//! memory policy set, which all its threads inherit.

mod effective_affinity;

pub use effective_affinity::Whereabouts;

use crate::cgroup::{Group, Pending};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::os::unix::process::CommandExt;
use std::process::Command;
use topology::CpuSet;

/// What a process is confined to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// What its group is called, below that of its host: the node's name.
    pub name: String,
    /// Its CPUs, by the numbers of the machine; none: all that the host has.
    pub cpus: Option<CpuSet>,
    /// Its memory.
    pub memory: Memory,
}

/// On which NUMA nodes a process gets its memory, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    /// On the node of the CPU that asks first, as the kernel does by itself.
    Anywhere,
    /// On these alone.
    Bound(CpuSet),
    /// Page by page on one after the other of these.
    Interleaved(CpuSet),
}

impl Memory {
    /// The nodes that it may come from; none: any.
    pub fn nodes(&self) -> Option<&CpuSet> {
        match self {
            Memory::Anywhere => None,
            Memory::Bound(nodes) | Memory::Interleaved(nodes) => Some(nodes),
        }
    }
}

/// Sees to it that what `command` starts is confined, from its first instruction on; none: that it
/// is not, whatever process of that name was there before. Hold what is returned until it was
/// started.
///
/// # Errors
/// The kernel has no such CPUs or nodes, or the host may not use them.
pub fn admit<'a>(
    command: &mut Command,
    group: Option<&'a Group>,
    to: Option<&Confinement>,
) -> Result<Option<Pending<'a>>> {
    let pending = match (group, to) {
        (Some(group), Some(to)) => Some(group.admit(command, to)?),
        (Some(group), None) => {
            group.let_in(command)?;
            None
        }
        (None, _) => None,
    };
    if let Some(to) = to {
        confine_itself(command, to, group.is_some_and(Group::confines));
    }
    Ok(pending)
}

/// Has what `command` starts confine itself by what all its threads inherit, as far as a group
/// does not.
fn confine_itself(command: &mut Command, to: &Confinement, is_grouped: bool) {
    let affinity = to.cpus.as_ref().filter(|_| !is_grouped).map(Mask::of);
    let policy = match &to.memory {
        Memory::Anywhere => None,
        Memory::Bound(_) if is_grouped => None,
        Memory::Bound(nodes) => Some((libc::MPOL_BIND, Mask::of(nodes))),
        Memory::Interleaved(nodes) => Some((libc::MPOL_INTERLEAVE, Mask::of(nodes))),
    };
    let set = move || {
        if let Some(cpus) = &affinity {
            cpus.affine()?;
        }
        match &policy {
            Some((mode, nodes)) => nodes.govern(*mode),
            None => govern_by_default(),
        }
    };
    // SAFETY: between fork and exec only system calls are made: no allocation, no lock.
    unsafe { command.pre_exec(set) };
}

/// A set as system calls take it: bits in words, the lowest first.
struct Mask(Vec<libc::c_ulong>);

impl Mask {
    fn of(set: &CpuSet) -> Mask {
        const BITS: u32 = libc::c_ulong::BITS;
        let last = set.iter().last().unwrap_or(0);
        let mut words = vec![0; (last / BITS + 1) as usize];
        for number in set.iter() {
            words[(number / BITS) as usize] |= 1 << (number % BITS);
        }
        Mask(words)
    }

    /// Lets the calling thread run on these CPUs alone.
    fn affine(&self) -> std::io::Result<()> {
        // SAFETY: the kernel reads so many bytes of words that outlive the call.
        let done =
            unsafe { libc::sched_setaffinity(0, size_of_val(&self.0[..]), self.0.as_ptr().cast()) };
        match done {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    }

    /// Has the memory that the calling thread asks for come from these nodes.
    fn govern(&self, mode: libc::c_int) -> std::io::Result<()> {
        // By its own manual the kernel reads one bit less than it is told.
        let bits = size_of_val(&self.0[..]) * 8 + 1;
        // SAFETY: the kernel reads so many bits of words that outlive the call.
        let done = unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, self.0.as_ptr(), bits) };
        match done {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    }
}

/// Takes back the memory policy that the calling thread was started with: `numactl` before our own
/// program is no wish of who described its nodes. Where the kernel has no policies (ENOSYS), or a
/// container lets nobody set one (EPERM), there is none that could be meant, and nothing fails.
fn govern_by_default() -> std::io::Result<()> {
    let (mode, nodes) = (libc::MPOL_DEFAULT, std::ptr::null::<libc::c_ulong>());
    // SAFETY: the kernel reads no bit of no words.
    let done = unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, nodes, 0_usize) };
    let error = std::io::Error::last_os_error();
    match (done, error.raw_os_error()) {
        (0, _) | (_, Some(libc::EPERM | libc::ENOSYS)) => Ok(()),
        _ => Err(error),
    }
}

/// Refuses a name that would be another folder.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_name = !name.is_empty() && name.chars().all(is_plain);
    is_name
        .then_some(())
        .with_context(|| format!("{name:?} is no name for a control group"))
}

#[cfg(test)]
mod tests;
