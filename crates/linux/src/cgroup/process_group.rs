//! Groups within a host's own group. Each process that is confined to some of the host's CPUs or
//! memory has such a group.
//!
//! A group is created when its process starts. It is removed together with the host's group, or
//! when the host gets other CPUs after the process has ended. In version 2, a group that enables
//! controllers for other groups cannot contain processes. So in that version, the unconfined
//! processes of a host are also in a separate group.

use super::files::{CPUS, MEMS, effective, inherited, read, write};
use super::{CgroupDir, Group, switch_on};
use crate::cpu_affinity::{self, Confinement};
use anyhow::{Context, Result};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{MutexGuard, PoisonError};
use topology::CpuSet;

/// Name of the group for unconfined processes in version 2.
const LEAF: &str = "all";

/// Files of version 2 that each group within a host's group copies from the host, with their
/// controllers. Java 17 reads only its own group and no group above it (JDK-8322420 is fixed in
/// later versions). So it would mistake the machine's memory and CPUs for those of its host. The
/// memory limit comes after the swap limit, which is the order for the host's group too.
const MIRRORED: [(&str, &str); 4] = [
    ("cpu", WEIGHT),
    ("cpu", "cpu.max"),
    ("memory", "memory.swap.max"),
    ("memory", "memory.max"),
];

/// File with the weight of a group among its siblings. The groups of a host compete with each
/// other. A JVM gets the host's weight, and the few unconfined threads keep the default weight.
const WEIGHT: &str = "cpu.weight";

/// The groups within a host's group that were created for a process, each with its confinement.
pub(super) type Confinements = BTreeMap<String, Confinement>;

/// A process that is about to enter its group. While this value exists, limits cannot change, so no
/// group is removed before its process has entered it.
#[must_use = "the process enters its group only when it is started"]
pub struct Pending<'a>(#[expect(dead_code, reason = "held")] MutexGuard<'a, Confinements>);

impl Group {
    /// Creates the group [`LEAF`]. This must happen before the host has any process, because a
    /// group with processes cannot enable controllers for groups below it.
    pub(super) fn make_leaf(&self, place: &CgroupDir) -> Result<()> {
        if !place.has_leaves() {
            return Ok(());
        }
        switch_on(&place.dir, &place.controllers).context("delegate the limits of a host")?;
        make_dir(&place.dir.join(LEAF))
    }

    /// Returns true if the group's processes can be confined to some of its CPUs and memory.
    pub fn confines(&self) -> bool {
        self.place("cpuset").is_some()
    }

    /// Prepares `command` so that its child enters the group between fork and exec. The child does
    /// so only by system calls.
    ///
    /// # Errors
    /// The group no longer exists.
    pub fn let_in(&self, command: &mut Command) -> Result<()> {
        self.open_doors(command, None)
    }

    /// Prepares `command` so that its child enters a separate group, if this machine can confine
    /// processes. The caller keeps the returned value until the process has started.
    ///
    /// # Errors
    /// The group no longer exists, or lacks the CPUs or memory of the confinement.
    pub fn admit(&self, command: &mut Command, to: &Confinement) -> Result<Pending<'_>> {
        let mut confined = self.lock();
        if let Some(place) = self.place("cpuset") {
            self.confine(place, to)?;
            confined.insert(to.name.clone(), to.clone());
        }
        self.open_doors(command, Some(to))?;
        Ok(Pending(confined))
    }

    fn open_doors(&self, command: &mut Command, to: Option<&Confinement>) -> Result<()> {
        let open = |place: &CgroupDir| {
            let path = place.door(to).join("cgroup.procs");
            rustix::fs::open(&path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
                .with_context(|| format!("open {}", path.display()))
        };
        let doors: Vec<OwnedFd> = self.places.iter().map(open).collect::<Result<_>>()?;
        let enter = move || {
            for door in &doors {
                // A process that writes "0" to this file moves itself into the group.
                rustix::io::write(door, b"0")?;
            }
            Ok(())
        };
        // SAFETY: between fork and exec, the child makes only system calls. It does not allocate or
        // lock.
        unsafe { command.pre_exec(enter) };
        Ok(())
    }

    /// Creates the group for a process with this confinement, or changes the existing group.
    fn confine(&self, place: &CgroupDir, to: &Confinement) -> Result<()> {
        cpu_affinity::check_name(&to.name)?;
        let dir = place.dir.join(&to.name);
        make_dir(&dir)?;
        for (controller, file) in MIRRORED {
            place.mirror_into(&dir, controller, file)?;
        }
        let cpus = match &to.cpus {
            Some(cpus) => cpus.to_string(),
            None => inherited(&dir, CPUS)?,
        };
        let has = |key| effective(&place.dir, key).unwrap_or_default();
        write(&dir.join(CPUS), &cpus).with_context(|| {
            let (name, has) = (&to.name, has(CPUS));
            format!("confine {name} to the CPUs {cpus} of a host that has the CPUs {has}")
        })?;
        let nodes = match to.memory.nodes() {
            Some(nodes) => nodes.to_string(),
            None => inherited(&dir, MEMS)?,
        };
        write(&dir.join(MEMS), &nodes).with_context(|| {
            let (name, has) = (&to.name, has(MEMS));
            format!(
                "confine {name} to the memory of NUMA nodes {nodes} of a host that has NUMA nodes \
                 {has}"
            )
        })?;
        if let Some(cpus) = &to.cpus {
            place.check_given(&dir, CPUS, cpus)?;
        }
        let nodes = to.memory.nodes();
        nodes.map_or(Ok(()), |nodes| place.check_given(&dir, MEMS, nodes))
    }

    /// In version 2, copies the host's values of a controller to each group within the host's
    /// group.
    pub(super) fn mirror(&self, controller: &str) -> Result<()> {
        let Some(place) = self.place(controller).filter(|place| place.has_leaves()) else {
            return Ok(());
        };
        let _confined = self.lock();
        for dir in groups_in(&place.dir) {
            for (_, file) in MIRRORED.iter().filter(|(of, _)| *of == controller) {
                place.mirror_into(&dir, controller, file)?;
            }
        }
        Ok(())
    }

    /// Assigns other CPUs to the host, and to each group within the host's group that has all of
    /// the host's CPUs.
    ///
    /// # Errors
    /// A process is confined to a CPU that the host would lose, or the kernel refuses the CPUs.
    pub(super) fn move_cpus(&self, place: &CgroupDir, cpus: &str) -> Result<()> {
        let asked = list(cpus)?;
        let mut confined = self.lock();
        forget_ended(place, &mut confined);
        for to in confined.values() {
            let own = to.cpus.as_ref().filter(|own| !own.is_subset(&asked));
            let own = own.map(|own| {
                format!(
                    "{} is confined to the CPUs {own}, which the host would lose",
                    to.name
                )
            });
            anyhow::ensure!(own.is_none(), own.unwrap_or_default());
        }
        let follows = |dir: &PathBuf| {
            let name = dir.file_name().and_then(|name| name.to_str());
            let to = name.and_then(|name| confined.get(name));
            to.map_or(place.has_leaves(), |to| to.cpus.is_none())
        };
        let followers: Vec<PathBuf> = groups_in(&place.dir)
            .into_iter()
            .filter(follows)
            .map(|dir| dir.join(CPUS))
            .collect();
        // In version 1, a group never has more CPUs than its parent. If the host loses CPUs, the
        // groups must therefore change before the host. If the host gains CPUs, the kernel refuses
        // the change at this point, and this function changes the groups after the host.
        for file in followers.iter().filter(|_| !place.unified) {
            let _ = write(file, cpus);
        }
        write(&place.dir.join(CPUS), cpus)?;
        let has = effective(&place.dir, CPUS)?;
        anyhow::ensure!(
            list(&has)? == asked,
            "the group has only the CPUs {has} of these"
        );
        followers.iter().try_for_each(|file| write(file, cpus))
    }

    fn lock(&self) -> MutexGuard<'_, Confinements> {
        self.confined.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CgroupDir {
    /// Returns true if the processes of a host are in groups below the host's group, and never in
    /// the host's group itself.
    fn has_leaves(&self) -> bool {
        self.unified && self.has("cpuset")
    }

    /// Copies a value of the host to a group within the host's group. See [`MIRRORED`].
    fn mirror_into(&self, dir: &Path, controller: &str, file: &str) -> Result<()> {
        let from = self.dir.join(file);
        let is_asked = self.has_leaves() && self.has(controller);
        // Not every kernel accounts for swap, so the file may be missing.
        if !is_asked || !from.exists() || (file == WEIGHT && dir.ends_with(LEAF)) {
            return Ok(());
        }
        write(&dir.join(file), &read(&from)?)
    }

    /// Checks that a group within the host's group has exactly the requested set. Version 2 accepts
    /// numbers that the host does not have, and ignores them. If no number remains, the group gets
    /// all CPUs or nodes of the host.
    fn check_given(&self, dir: &Path, key: &str, asked: &CpuSet) -> Result<()> {
        let given = effective(dir, key)?;
        if list(&given)? == *asked {
            return Ok(());
        }
        let name = dir.file_name().unwrap_or_default().display();
        let what = match key {
            MEMS => "the memory of NUMA nodes",
            _ => "the CPUs",
        };
        let has = effective(&self.dir, key)?;
        anyhow::bail!("{name} should be confined to {what} {asked}, but its host has {has}")
    }

    /// Returns the directory of the group that a process with this confinement must enter.
    fn door(&self, to: Option<&Confinement>) -> PathBuf {
        match (self.has("cpuset"), to) {
            (true, Some(to)) => self.dir.join(&to.name),
            (true, None) if self.unified => self.dir.join(LEAF),
            _ => self.dir.clone(),
        }
    }
}

fn list(text: &str) -> Result<CpuSet> {
    CpuSet::parse_list(text).map_err(anyhow::Error::msg)
}

/// Removes the groups of processes that have ended. In version 1, a CPU cannot be removed from a
/// host while a group in the host has that CPU.
fn forget_ended(place: &CgroupDir, confined: &mut Confinements) {
    let groups = groups_in(&place.dir).into_iter();
    for dir in groups.filter(|dir| dir.file_name().is_none_or(|name| name != LEAF)) {
        // The kernel refuses to remove a group with processes, so such a group remains.
        let _ = std::fs::remove_dir(dir);
    }
    confined.retain(|name, _| place.dir.join(name).exists());
}

pub(super) fn groups_in(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

fn make_dir(dir: &Path) -> Result<()> {
    match std::fs::create_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        made => made.with_context(|| format!("create the control group {}", dir.display())),
    }
}

#[cfg(test)]
mod tests;
