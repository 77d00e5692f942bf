//! Confines a process with all its threads to CPUs and to memory of NUMA nodes, and reads back the
//! effective confinement.
//!
//! On a simulated host, the confinement is a group below the host's group (`cpuset` of either
//! version). No thread can leave this group. The process sets the parts of the confinement that a
//! group does not set, before its first instruction. All its threads inherit these settings.

mod effective_affinity;

pub use effective_affinity::EffectiveAffinity;

use crate::cgroup::{Group, Pending};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::os::unix::process::CommandExt;
use std::process::Command;
use topology::CpuSet;

/// CPUs and memory to which a process is confined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Name of the group below the host's group. It is the name of the Cassandra node.
    pub name: String,
    /// CPUs, by the numbers of the machine. `None` means all CPUs of the host.
    pub cpus: Option<CpuSet>,
    pub memory: Memory,
}

/// NUMA nodes that provide the memory of a process, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    /// The kernel's default. Each page comes from the NUMA node of the CPU that touches it first.
    Anywhere,
    /// Memory only from these NUMA nodes.
    Bound(CpuSet),
    /// Memory from these NUMA nodes in turn, page by page.
    Interleaved(CpuSet),
}

impl Memory {
    /// Returns the NUMA nodes from which the memory may come. `None` means any.
    pub fn nodes(&self) -> Option<&CpuSet> {
        match self {
            Memory::Anywhere => None,
            Memory::Bound(nodes) | Memory::Interleaved(nodes) => Some(nodes),
        }
    }
}

/// Confines the process that `command` starts, from its first instruction on. With `None`, the
/// process is not confined, even if an earlier process with the same name was. The caller keeps the
/// returned value until the process has started.
///
/// # Errors
/// The kernel does not have these CPUs or nodes, or the host may not use them.
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

/// Prepares `command` so that its process sets the parts of the confinement that a group does not
/// set. All threads of the process inherit these settings.
fn confine_itself(command: &mut Command, to: &Confinement, is_grouped: bool) {
    let affinity = to.cpus.as_ref().filter(|_| !is_grouped).map(Mask::from_set);
    let policy = match &to.memory {
        Memory::Anywhere => None,
        Memory::Bound(_) if is_grouped => None,
        Memory::Bound(nodes) => Some((libc::MPOL_BIND, Mask::from_set(nodes))),
        Memory::Interleaved(nodes) => Some((libc::MPOL_INTERLEAVE, Mask::from_set(nodes))),
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
    // SAFETY: between fork and exec, the child makes only system calls. It does not allocate or
    // lock.
    unsafe { command.pre_exec(set) };
}

/// A set of numbers as a bit mask for system calls. The first word contains the lowest bits.
struct Mask(Vec<libc::c_ulong>);

impl Mask {
    fn from_set(set: &CpuSet) -> Mask {
        const BITS: u32 = libc::c_ulong::BITS;
        let last = set.iter().last().unwrap_or(0);
        let mut words = vec![0; (last / BITS + 1) as usize];
        for number in set.iter() {
            words[(number / BITS) as usize] |= 1 << (number % BITS);
        }
        Mask(words)
    }

    /// Confines the calling thread to these CPUs.
    fn affine(&self) -> std::io::Result<()> {
        // SAFETY: the kernel reads as many bytes as the words have, and the words outlive the call.
        let done =
            unsafe { libc::sched_setaffinity(0, size_of_val(&self.0[..]), self.0.as_ptr().cast()) };
        match done {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    }

    /// Sets the memory policy of the calling thread to these NUMA nodes.
    fn govern(&self, mode: libc::c_int) -> std::io::Result<()> {
        // According to its manual, the kernel reads one bit less than this number.
        let bits = size_of_val(&self.0[..]) * 8 + 1;
        // SAFETY: the kernel reads at most as many bits as the words have, and the words outlive
        // the call.
        let done = unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, self.0.as_ptr(), bits) };
        match done {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    }
}

/// Resets the memory policy with which the calling thread was started. A user who starts cassay by
/// `numactl` does not intend to bind the nodes that cassay starts. If the kernel has no policies
/// (ENOSYS), or a container forbids setting one (EPERM), no policy can be in effect, and the reset
/// succeeds.
fn govern_by_default() -> std::io::Result<()> {
    let (mode, nodes) = (libc::MPOL_DEFAULT, std::ptr::null::<libc::c_ulong>());
    // SAFETY: with a null pointer and a length of 0, the kernel does not read memory.
    let done = unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, nodes, 0_usize) };
    let error = std::io::Error::last_os_error();
    match (done, error.raw_os_error()) {
        (0, _) | (_, Some(libc::EPERM | libc::ENOSYS)) => Ok(()),
        _ => Err(error),
    }
}

/// Refuses a name that, as part of a path, would lead to another directory.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_name = !name.is_empty() && name.chars().all(is_plain);
    is_name
        .then_some(())
        .with_context(|| format!("{name:?} is not a valid control group name"))
}

#[cfg(test)]
mod tests;
