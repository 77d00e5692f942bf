//! Groups in a host's own: one for each process that is confined to a part of its CPUs or memory.
//!
//! They are made when such a process starts and go with the host's, so no list has to know them.
//! In version 2 a group that hands controllers down has no processes itself. So there all processes
//! of a host that are not confined are in a group of their own, too.

use super::files::{CPUS, MEMS, effective, inherited, write};
use super::{CgroupDir, Group};
use crate::confine::{self, Confinement};
use anyhow::{Context, Result};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use topology::CpuSet;

/// Where processes go that are not confined, in version 2.
const LEAF: &str = "all";

impl Group {
    /// See [`LEAF`].
    pub(super) fn make_leaf(&self, place: &CgroupDir) -> Result<()> {
        match place.unified && place.has("cpuset") {
            true => make_dir(&place.dir.join(LEAF)),
            false => Ok(()),
        }
    }

    /// Lets the child of `command` go in between its fork and its program, by system calls alone;
    /// into a group of its own if it is confined. Whether it then is.
    ///
    /// # Errors
    /// The group is gone, or has not what it is to be confined to.
    pub fn admit(&self, command: &mut Command, to: Option<&Confinement>) -> Result<bool> {
        let cpuset = self.place("cpuset");
        if let (Some(to), Some(place)) = (to, cpuset) {
            self.confine(place, to)?;
        }
        let open = |place: &CgroupDir| {
            let path = place.door(to).join("cgroup.procs");
            rustix::fs::open(&path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
                .with_context(|| format!("open {}", path.display()))
        };
        let doors: Vec<OwnedFd> = self.places.iter().map(open).collect::<Result<_>>()?;
        let enter = move || {
            for door in &doors {
                // To the kernel, "0" is the process that writes it.
                rustix::io::write(door, b"0")?;
            }
            Ok(())
        };
        // SAFETY: between fork and exec only system calls are made: no allocation, no lock.
        unsafe { command.pre_exec(enter) };
        Ok(cpuset.is_some())
    }

    /// Makes the group of a process that is to be confined, or changes the one that is there.
    fn confine(&self, place: &CgroupDir, to: &Confinement) -> Result<()> {
        confine::check_name(&to.name)?;
        let dir = place.dir.join(&to.name);
        if place.unified {
            let file = place.dir.join("cgroup.subtree_control");
            write(&file, "+cpuset").context("hand CPUs down to a part of a host")?;
        }
        make_dir(&dir)?;
        let cpus = match &to.cpus {
            Some(cpus) => cpus.to_string(),
            None => inherited(&dir, CPUS)?,
        };
        let file = dir.join(CPUS);
        write(&file, &cpus).with_context(|| {
            let have = effective(&place.dir, CPUS).unwrap_or_default();
            format!(
                "confine {} to the CPUs {cpus} of a host that has {have}",
                to.name
            )
        })?;
        let nodes = match to.memory.nodes() {
            Some(nodes) => nodes.to_string(),
            None => inherited(&dir, MEMS)?,
        };
        write(&dir.join(MEMS), &nodes)
            .with_context(|| format!("confine {} to the memory of nodes {nodes}", to.name))?;
        // Version 2 takes what the host has not, and leaves it out.
        if let Some(cpus) = to.cpus.as_ref().filter(|_| place.unified) {
            let has = CpuSet::parse_list(&effective(&dir, CPUS)?).map_err(anyhow::Error::msg)?;
            anyhow::ensure!(
                has == *cpus,
                "{} is to be confined to the CPUs {cpus}, of which its host has {has}",
                to.name
            );
        }
        Ok(())
    }
}

impl CgroupDir {
    /// Where a process goes in.
    fn door(&self, to: Option<&Confinement>) -> PathBuf {
        match (self.has("cpuset"), to) {
            (true, Some(to)) => self.dir.join(&to.name),
            (true, None) if self.unified => self.dir.join(LEAF),
            _ => self.dir.clone(),
        }
    }
}

/// Removes the groups of processes that have ended: version 1 takes no CPU from a host that a group
/// in it has.
pub(super) fn forget_ended(place: &CgroupDir) {
    let groups = groups_in(&place.dir).into_iter();
    for dir in groups.filter(|dir| dir.file_name().is_none_or(|name| name != LEAF)) {
        // One that has processes stays.
        let _ = std::fs::remove_dir(dir);
    }
}

/// The groups in a group.
pub(super) fn groups_in(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

fn make_dir(dir: &Path) -> Result<()> {
    match std::fs::create_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        made => made.with_context(|| format!("make the control group {}", dir.display())),
    }
}

#[cfg(test)]
mod tests;
