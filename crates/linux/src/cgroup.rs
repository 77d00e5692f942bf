//! The control groups of one host. They limit the host's CPUs, CPU time, memory and disk use.
//!
//! Both versions of control groups are supported, also side by side. Version 1 has a hierarchy per
//! controller. Version 2 has one hierarchy for all controllers. Even without a controller, version
//! 2 can kill a whole group at once. Invariants: [`places`] returns a group's directory before the
//! directory exists, so that the caller can record the path first. The directories of a host
//! outlive this process. A directory is removed only after the last process in it has ended. This
//! program has started every process in the directory.

mod disk;
mod empty;
mod files;
mod hierarchy;
mod process_group;
mod weight;

pub use hierarchy::{Hierarchy, hierarchies, places, places_of, step_aside};
pub use process_group::Pending;

use anyhow::{Context, Result};
use files::{CPUS, MEMS, effective, inherited, read, write};
use measure::clock::{self, Deadline};
use process_group::Confinements;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;
use target_spec::HostSpec;

/// Period of a CPU quota in µs, which is the kernel's own default. With a shorter period,
/// throttling would be more frequent and shorter than on an ordinary system.
const PERIOD_US: u64 = 100_000;

/// Smallest quota that the kernel accepts, in µs of CPU time per period.
const QUOTA_US_MIN: u64 = 1000;

/// Time limit for the processes of a group to end after SIGKILL. It is long because the kernel must
/// free their memory.
const END_LIMIT: Duration = Duration::from_secs(20);

/// Interval between two checks of whether a group has ended.
const POLL: Duration = Duration::from_millis(5);

/// Returns the list of CPUs that the processes of a group may use. `dir` is the directory of the
/// controller `cpuset`.
///
/// # Errors
/// The kernel reports no such list.
pub fn effective_cpus(dir: &Path) -> Result<String> {
    effective(dir, CPUS)
}

/// Directory of a control group in one hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupDir {
    /// Path of the directory.
    pub dir: PathBuf,
    /// True if the directory belongs to version 2.
    pub unified: bool,
    /// Controllers of this directory, such as `cpu`, `cpuset`, `memory`, `blkio` and `io`.
    pub controllers: Vec<String>,
}

/// The control groups of one host.
#[derive(Debug)]
pub struct Group {
    places: Vec<CgroupDir>,
    /// The lock is held while a process enters its group, and while limits change that inner groups
    /// copy from the host's group.
    confined: Mutex<Confinements>,
}

impl Group {
    /// Returns the control group in these directories, which must already exist.
    pub fn existing(places: Vec<CgroupDir>) -> Group {
        Group {
            places,
            confined: Mutex::default(),
        }
    }

    /// Creates the directories. In version 1, also sets the CPUs and the NUMA nodes of a `cpuset`,
    /// since a `cpuset` without them cannot contain processes.
    ///
    /// # Errors
    /// The kernel does not permit the creation, or a directory already exists.
    pub fn make(places: Vec<CgroupDir>) -> Result<Group> {
        let group = Group::existing(places);
        for place in &group.places {
            if place.unified {
                hand_down(place)?;
            }
            std::fs::create_dir(&place.dir)
                .with_context(|| format!("create the control group {}", place.dir.display()))?;
            if !place.unified && place.has("cpuset") {
                for key in [CPUS, MEMS] {
                    write(&place.dir.join(key), &inherited(&place.dir, key)?)?;
                }
            }
            group.make_leaf(place)?;
        }
        Ok(group)
    }

    /// Checks that the directories are control groups. The paths were read from a file, and cassay
    /// kills every process in the `cgroup.procs` of these directories. The paths cannot be derived
    /// from the cluster's id, since the groups of another login are below another group.
    ///
    /// # Errors
    /// A directory exists, and is not on the kernel's file system for control groups.
    pub fn check(&self) -> Result<()> {
        self.places.iter().try_for_each(|place| is_group(&place.dir))
    }

    /// Returns the directory of a controller, if this machine has the controller.
    pub fn place(&self, controller: &str) -> Option<&CgroupDir> {
        self.places.iter().find(|place| place.has(controller))
    }

    /// Limits CPUs, their share, memory and the use of the block device `device` (such as `7:0`).
    /// Sets the weight of the group relative to other groups. An absent value sets no limit.
    ///
    /// # Errors
    /// The machine lacks a requested controller, or the kernel refuses a value.
    pub fn limit(&self, spec: &HostSpec, device: Option<&str>) -> Result<()> {
        self.weigh(spec)?;
        self.limit_disk(&spec.disk, device)?;
        self.limit_cpus(spec.cpus.as_deref())?;
        self.limit_quota(spec.cpu_quota)?;
        self.limit_memory(spec.memory_bytes)
    }

    fn limit_cpus(&self, cpus: Option<&[usize]>) -> Result<()> {
        let Some(place) = self.wanted("cpuset", cpus.is_some())? else {
            return Ok(());
        };
        let value = match cpus {
            Some(cpus) => {
                anyhow::ensure!(!cpus.is_empty(), "a host needs at least one CPU");
                let words: Vec<String> = cpus.iter().map(usize::to_string).collect();
                words.join(",")
            }
            None => inherited(&place.dir, CPUS)?,
        };
        self.move_cpus(place, &value).with_context(|| {
            let have = inherited(&place.dir, CPUS).unwrap_or_default();
            format!("use the CPUs {value} of this machine, which permits only the CPUs {have}")
        })
    }

    /// Limits the group's share of the CPUs, in cores. `None` removes the limit.
    ///
    /// # Errors
    /// The errors of [`Group::limit`].
    pub fn limit_quota(&self, cores: Option<f64>) -> Result<()> {
        let Some(place) = self.wanted("cpu", cores.is_some())? else {
            return Ok(());
        };
        let quota_us = match cores {
            Some(cores) => {
                let quota_us = (cores * PERIOD_US as f64).round();
                anyhow::ensure!(
                    quota_us >= QUOTA_US_MIN as f64 && quota_us <= 1e12,
                    "the CPU quota of {cores} cores is too small: the kernel accepts at least {} \
                     cores",
                    QUOTA_US_MIN as f64 / PERIOD_US as f64
                );
                Some(quota_us as u64)
            }
            None => None,
        };
        if place.unified {
            let quota = quota_us.map_or("max".to_string(), |quota| quota.to_string());
            write(&place.dir.join("cpu.max"), &format!("{quota} {PERIOD_US}"))?;
            return self.mirror("cpu");
        }
        write(&place.dir.join("cpu.cfs_period_us"), &PERIOD_US.to_string())?;
        let quota = quota_us.map_or("-1".to_string(), |quota| quota.to_string());
        write(&place.dir.join("cpu.cfs_quota_us"), &quota)
    }

    /// Sets the memory limit. The limit includes swap if the kernel accounts for swap. A host that
    /// swaps instead of dropping its page cache would differ from the requested machine.
    fn limit_memory(&self, bytes: Option<u64>) -> Result<()> {
        let Some(place) = self.wanted("memory", bytes.is_some())? else {
            return Ok(());
        };
        if place.unified {
            let swap = place.dir.join("memory.swap.max");
            if swap.exists() {
                write(&swap, if bytes.is_some() { "0" } else { "max" })?;
            }
            let value = bytes.map_or("max".to_string(), |bytes| bytes.to_string());
            write(&place.dir.join("memory.max"), &value)?;
            return self.mirror("memory");
        }
        let value = bytes.map_or("-1".to_string(), |bytes| bytes.to_string());
        // The kernel requires that the limit of memory and swap is never below the limit of memory.
        let with_swap = place.dir.join("memory.memsw.limit_in_bytes");
        if with_swap.exists() {
            write(&with_swap, "-1")?;
        }
        write(&place.dir.join("memory.limit_in_bytes"), &value)?;
        if with_swap.exists() {
            write(&with_swap, &value)?;
        }
        Ok(())
    }

    fn wanted(&self, controller: &str, wanted: bool) -> Result<Option<&CgroupDir>> {
        let place = self.place(controller);
        anyhow::ensure!(
            place.is_some() || !wanted,
            "this machine has no control group for {controller}; mount the controller or omit the \
             limit"
        );
        Ok(place)
    }

    /// Reads the limits back from the kernel. The limits are `cpus` as a list, `cpu_quota` in
    /// cores, `cpu_weight` in busy threads and `memory` in bytes. Adds the limits of
    /// [`crate::DiskSpec::each`] for the block device `device`. A value without a limit is absent,
    /// except for `cpus` and the weight.
    ///
    /// # Errors
    /// A group cannot be read.
    pub fn limits(&self, device: Option<&str>) -> Result<BTreeMap<String, String>> {
        let mut limits = self.disk_limits(device)?;
        if let Some(place) = self.place("cpuset") {
            let value = effective(&place.dir, CPUS)?;
            limits.insert("cpus".to_string(), value);
        }
        if let Some(place) = self.place("cpu") {
            let (quota, period) = if place.unified {
                let text = read(&place.dir.join("cpu.max"))?;
                let (quota, period) = text.split_once(' ').unwrap_or((&text, "100000"));
                (quota.to_string(), period.to_string())
            } else {
                let quota = read(&place.dir.join("cpu.cfs_quota_us"))?;
                (quota, read(&place.dir.join("cpu.cfs_period_us"))?)
            };
            if let (Ok(quota), Ok(period)) = (quota.parse::<u64>(), period.parse::<u64>()) {
                let cores = quota as f64 / period.max(1) as f64;
                limits.insert("cpu_quota".to_string(), cores.to_string());
            }
        }
        if let Some(threads) = self.weight() {
            limits.insert("cpu_weight".to_string(), threads.to_string());
        }
        if let Some(place) = self.place("memory") {
            let value = read(&place.dir.join(memory_limit_file(place)))?;
            // Version 1 reports "no limit" as a number that exceeds the memory of any machine.
            let limited = value.parse::<u64>().is_ok_and(|bytes| bytes < 1 << 60);
            if limited {
                limits.insert("memory".to_string(), value);
            }
        }
        Ok(limits)
    }

    /// Returns the CPU time that the group's processes have used since the group was created.
    ///
    /// # Errors
    /// No group of the host counts CPU time, or the CPU time cannot be read.
    pub fn used(&self) -> Result<Duration> {
        if let Some(place) = self.place("cpuacct") {
            let text = read(&place.dir.join("cpuacct.usage"))?;
            return Ok(Duration::from_nanos(text.parse()?));
        }
        let unified = self.places.iter().find(|place| place.unified);
        let place = unified.context("no control group of this machine measures CPU time")?;
        let text = read(&place.dir.join("cpu.stat"))?;
        let mut lines = text.lines();
        let used = lines.find_map(|line| line.strip_prefix("usage_usec ")?.parse().ok());
        used.map(Duration::from_micros)
            .with_context(|| format!("find usage_usec in {}", place.dir.display()))
    }

    /// Drops the page cache that is charged to this group, while its processes continue.
    ///
    /// # Errors
    /// The host has no memory group, or the kernel cannot drop the cache.
    pub fn drop_cache(&self) -> Result<()> {
        let place = self.wanted("memory", true)?.context("no memory group")?;
        if !place.unified {
            return write(&place.dir.join("memory.force_empty"), "0");
        }
        let stat = read(&place.dir.join("memory.stat"))?;
        let cached = stat
            .lines()
            .find_map(|line| line.strip_prefix("file ")?.parse::<u64>().ok())
            .unwrap_or(0);
        let path = place.dir.join("memory.reclaim");
        match std::fs::OpenOptions::new().write(true).open(&path).and_then(|mut file| {
            std::io::Write::write_all(&mut file, cached.to_string().as_bytes())
        }) {
            // The kernel reclaimed less than requested, because mapped pages that are in use remain
            // in memory.
            Err(error) if is(&error, Errno::AGAIN) => Ok(()),
            done => done.with_context(|| format!("reclaim memory with {}", path.display())),
        }
    }

    /// Kills the processes of the group and removes the group. Does nothing if the group does not
    /// exist.
    ///
    /// # Errors
    /// A process does not end, a directory is not a control group, or a directory cannot be
    /// removed.
    pub fn end(&self) -> Result<()> {
        self.check()?;
        let deadline = Deadline::after(END_LIMIT);
        let mut left: Vec<&CgroupDir> = self.places.iter().collect();
        // Groups that can be killed as a whole come first, because no process in them can escape by
        // a fork.
        left.sort_by_key(|place| !place.unified);
        loop {
            for place in &left {
                kill(&place.dir);
            }
            let mut problem = None;
            left.retain(|place| match remove(&place.dir) {
                Ok(()) => false,
                Err(error) if error.kind() == ErrorKind::NotFound => false,
                Err(error) => {
                    problem = Some((place.dir.clone(), error));
                    true
                }
            });
            let Some((dir, error)) = problem else {
                return Ok(());
            };
            if !is(&error, Errno::BUSY) || deadline.passed() {
                let pids = all_pids(&dir);
                return Err(error).with_context(|| {
                    format!(
                        "remove the control group {} (processes in it: {pids:?})",
                        dir.display()
                    )
                });
            }
            clock::sleep(POLL);
        }
    }
}

impl CgroupDir {
    pub(crate) fn has(&self, controller: &str) -> bool {
        self.controllers.iter().any(|name| name == controller)
    }
}

/// In version 2, enables the controllers for `place` and its siblings. The controllers remain
/// enabled, because other groups may have begun to use them. An enabled controller has no effect by
/// itself.
fn hand_down(place: &CgroupDir) -> Result<()> {
    let top = place.dir.parent().context("find the parent of the control group")?;
    switch_on(top, &place.controllers).context(
        "cassay cannot use the control group of a container: run cassay outside of the container",
    )
}

fn switch_on(dir: &Path, controllers: &[String]) -> Result<()> {
    let file = dir.join("cgroup.subtree_control");
    let on = std::fs::read_to_string(&file).unwrap_or_default();
    for name in controllers {
        if !on.split_ascii_whitespace().any(|other| other == name) {
            write(&file, &format!("+{name}"))
                .with_context(|| format!("delegate the controller {name}"))?;
        }
    }
    Ok(())
}

fn memory_limit_file(place: &CgroupDir) -> &'static str {
    if place.unified {
        "memory.max"
    } else {
        "memory.limit_in_bytes"
    }
}

fn is_group(dir: &Path) -> Result<()> {
    /// File system types of control groups in `statfs`, for version 1 and version 2. They are
    /// defined in `linux/magic.h`.
    const CONTROL_GROUPS: [u64; 2] = [0x0027_e0eb, 0x6367_7270];
    let kind = match rustix::fs::statfs(dir) {
        Err(Errno::NOENT) => return Ok(()),
        found => found.with_context(|| format!("look at {}", dir.display()))?.f_type as u64,
    };
    anyhow::ensure!(
        CONTROL_GROUPS.contains(&kind),
        "{} is not a control group, so cassay neither kills processes in it nor removes it\nhint: \
         another program changed state.json of the cluster. If you have no running cluster, remove \
         the folder of that file",
        dir.display()
    );
    Ok(())
}

/// Kills the processes of a group. Callers repeat this until the group has no process, so they
/// detect a process that cannot be killed.
fn kill(dir: &Path) {
    if write(&dir.join("cgroup.kill"), "1").is_ok() {
        return;
    }
    for pid in all_pids(dir) {
        if let Some(pid) = Pid::from_raw(pid) {
            // Sending the signal fails if the process has already ended, so the result is ignored.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Returns the process ids in a group. The list omits 0, which stands for a process of another
/// namespace.
fn pids(dir: &Path) -> Vec<i32> {
    let text = std::fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.parse().ok())
        .filter(|&pid: &i32| pid > 0)
        .collect()
}

fn all_pids(dir: &Path) -> Vec<i32> {
    let below = process_group::groups_in(dir);
    let of_each = below.iter().map(PathBuf::as_path).chain([dir]);
    of_each.flat_map(pids).collect()
}

fn remove(dir: &Path) -> std::io::Result<()> {
    for below in process_group::groups_in(dir) {
        std::fs::remove_dir(below)?;
    }
    match std::fs::remove_dir(dir) {
        // On a read-only hierarchy, as in a container, a missing directory also causes this error.
        Err(error) if is(&error, Errno::ROFS) && !dir.exists() => Err(ErrorKind::NotFound.into()),
        removed => removed,
    }
}

fn is(error: &std::io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}

#[cfg(test)]
mod tests;
