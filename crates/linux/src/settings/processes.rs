//! Limits of a process, and those of its arguments that cassay may report.

use super::kernel::is_number;
use super::root::Root;
use super::{FactResult, Question};
use crate::cgroup;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A limit. `None` means unlimited.
pub type Limit = Option<u64>;

/// Names of the limits of a process: the name in `limits.conf`, and the name in the kernel.
const LIMITS: &[(&str, &str)] = &[
    ("nofile", "Max open files"),
    ("nproc", "Max processes"),
    ("memlock", "Max locked memory"),
    ("as", "Max address space"),
];

/// Maximum number of processes to search and read. More processes on one host are probably an error
/// of the caller.
const COUNT_MAX: usize = 256;

/// Maximum length of an argument's value that is reported as a number, in characters.
const NUMBER_CHARS_MAX: usize = 24;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessSettings {
    /// Name from the query. The name is empty for the process that reads the settings. For a
    /// process that was found by its argument, it is `pid` and the process id.
    pub name: String,
    /// Process id.
    pub pid: u32,
    /// Soft limits of the process: `nofile`, `nproc`, `memlock` and `as`. Limits of memory are in
    /// bytes.
    pub limits: FactResult<BTreeMap<String, Limit>>,
    /// The CPUs that the process may use, such as `0-3,8`.
    pub cpus: FactResult<String>,
    /// The NUMA nodes whose memory the process may use.
    pub memory_nodes: FactResult<String>,
    /// Memory limit of the process's control groups, in bytes. `None` without a limit.
    pub memory_limit_bytes: Limit,
    /// Directory of the group that has the memory limit. All processes in the group share this
    /// memory.
    pub memory_group: Option<String>,
    /// CPU quota of the process's control groups, in CPUs. `None` without a limit.
    pub cpu_quota: Option<f64>,
    /// The requested arguments, verbatim and in their order on the command line.
    pub arguments: FactResult<Vec<String>>,
    /// True if the process has loaded the requested library.
    pub has_library: FactResult<bool>,
}

/// Returns all requested processes. Also returns folders of open files of the processes with the
/// requested argument. The names of these files have one of the pairs of a prefix and a suffix.
pub(super) fn all(
    root: &Root,
    question: &Question,
    unseen: &mut Vec<String>,
) -> (Vec<ProcessSettings>, Vec<PathBuf>) {
    let mut all = Vec::new();
    for (name, pid) in question.processes.iter().take(COUNT_MAX) {
        match look(root, name, *pid, question) {
            Some(found) => all.push(found),
            None => unseen.push(format!("{name}: its process {pid} has ended")),
        }
    }
    let mut folders = Vec::new();
    if let Some(argument) = &question.with_argument {
        for pid in with_argument(root, argument) {
            all.extend(look(root, &format!("pid {pid}"), pid, question));
            match open_folders(root, pid, &question.files) {
                Ok(found) => folders.extend(found),
                Err(why) => unseen.push(format!("data folders of pid {pid}: {why}")),
            }
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    (all, folders)
}

/// Returns the processes that have an argument. The rest of their command lines is discarded at
/// once.
fn with_argument(root: &Root, argument: &str) -> Vec<u32> {
    let names = root.names("/proc").unwrap_or_default();
    let pids = names.iter().filter(|name| is_number(name));
    let has = |pid: &u32| {
        let line = root.text(&format!("/proc/{pid}/cmdline"));
        line.is_ok_and(|line| line.split('\0').any(|one| one == argument))
    };
    let pids = pids.filter_map(|name| name.parse().ok());
    pids.filter(has).take(COUNT_MAX).collect()
}

/// Reads one process. Returns `None` if it does not exist.
pub(super) fn look(
    root: &Root,
    name: &str,
    pid: u32,
    question: &Question,
) -> Option<ProcessSettings> {
    let file = |name: &str| format!("/proc/{pid}/{name}");
    if !root.has(&format!("/proc/{pid}")) {
        return None;
    }
    let status = root.text(&file("status"));
    let of_status = |name: &str| {
        let text = status.as_ref().map_err(Clone::clone)?;
        let mut lines = text.lines();
        let rest = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let rest = rest.map(|rest| rest.trim().to_owned());
        rest.ok_or_else(|| format!("{} has no {name}", file("status")))
    };
    let groups = Groups::read(root, pid);
    let memory = groups.memory_limit();
    let arguments = root.text(&file("cmdline"));
    let has_library = || {
        let maps = root.text(&file("maps"))?;
        let name = |line: &str| line.rsplit('/').next().unwrap_or_default().to_owned();
        let mut names = maps.lines().filter(|line| line.contains('/')).map(name);
        Ok(names.any(|name| name.contains(&question.library)))
    };
    Some(ProcessSettings {
        name: name.to_owned(),
        pid,
        limits: root.text(&file("limits")).map(|text| limits(&text)),
        cpus: of_status("Cpus_allowed_list"),
        memory_nodes: of_status("Mems_allowed_list"),
        memory_limit_bytes: memory.as_ref().map(|(bytes, _)| *bytes),
        memory_group: memory.map(|(_, group)| group),
        cpu_quota: groups.cpu_quota(),
        arguments: arguments.map(|line| chosen(&line, &question.arguments)),
        has_library: has_library(),
    })
}

/// Parses the soft limits of `/proc/PID/limits`. A malformed line is omitted.
fn limits(text: &str) -> BTreeMap<String, Limit> {
    let of = |(name, title): &(&str, &str)| {
        let rest = text.lines().find_map(|line| line.strip_prefix(title))?;
        let limit = match rest.split_ascii_whitespace().next()? {
            "unlimited" => None,
            number => Some(number.parse().ok()?),
        };
        Some(((*name).to_owned(), limit))
    };
    LIMITS.iter().filter_map(of).collect()
}

/// Returns those arguments of a command line that cassay may report.
fn chosen(line: &str, wanted: &[String]) -> Vec<String> {
    let may = |argument: &&str| {
        let mut rests = wanted.iter().filter_map(|one| argument.strip_prefix(one.as_str()));
        rests.any(|rest| rest.is_empty() || is_amount(rest))
    };
    line.split('\0').filter(may).map(str::to_owned).collect()
}

/// Returns true if a text is a number, possibly with a letter for its unit.
fn is_amount(text: &str) -> bool {
    let number = text.strip_suffix(|c: char| "kKmMgGtT".contains(c)).unwrap_or(text);
    let is_digit = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    let has_digit = number.starts_with(|c: char| c.is_ascii_digit());
    has_digit && text.len() <= NUMBER_CHARS_MAX && number.bytes().all(is_digit)
}

/// Returns the folders of open files whose names have one of these pairs of a prefix and a suffix.
fn open_folders(
    root: &Root,
    pid: u32,
    files: &[(String, String)],
) -> FactResult<BTreeSet<PathBuf>> {
    let folder = format!("/proc/{pid}/fd");
    let of = |number: &String| {
        let path = root.link(&format!("{folder}/{number}")).ok()?;
        let name = path.file_name()?.to_str()?;
        let mut wanted = files.iter();
        let is_wanted = wanted.any(|(from, to)| name.starts_with(from) && name.ends_with(to));
        is_wanted.then(|| path.parent().map(Path::to_owned))?
    };
    Ok(root.names(&folder)?.iter().filter_map(of).collect())
}

/// The control groups of a process, from its own group upwards.
struct Groups<'a> {
    root: &'a Root,
    /// Directory of each group. The flag is true for version 2.
    places: Vec<(PathBuf, bool)>,
}

impl Groups<'_> {
    fn read(root: &Root, pid: u32) -> Groups<'_> {
        let mounts = root.text("/proc/self/mountinfo").unwrap_or_default();
        let own = root.text(&format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let mut places = Vec::new();
        for (own, top, is_unified) in cgroup::places_of(&mounts, &own) {
            let up = own.ancestors().take_while(|dir| dir.starts_with(&top));
            places.extend(up.map(|dir| (dir.to_owned(), is_unified)));
        }
        Groups { root, places }
    }

    fn values<'a>(&'a self, files: [&'a str; 2]) -> impl Iterator<Item = (String, &'a Path, bool)> {
        self.places.iter().filter_map(move |(dir, is_unified)| {
            let file = dir.join(files[usize::from(*is_unified)]);
            let value = self.root.word(file.to_str()?).ok()?;
            Some((value, dir.as_path(), *is_unified))
        })
    }

    /// Returns the lowest memory limit among the groups, in bytes, and the group that has this
    /// limit.
    fn memory_limit(&self) -> Option<(u64, String)> {
        // A limit above this value means that the group has no limit. For such a group, version 1
        // reports the largest possible number of whole pages.
        const NO_LIMIT: u64 = 1 << 62;
        let values = self.values(["memory.limit_in_bytes", "memory.max"]);
        let limits = values.filter_map(|(value, dir, _)| Some((value.parse().ok()?, dir)));
        let least = limits.filter(|(bytes, _)| *bytes < NO_LIMIT).min_by_key(|(bytes, _)| *bytes);
        least.map(|(bytes, dir): (u64, &Path)| (bytes, dir.display().to_string()))
    }

    /// Returns the lowest CPU quota among the groups, in CPUs.
    fn cpu_quota(&self) -> Option<f64> {
        let cpus = |(value, dir, is_unified): (String, &Path, bool)| {
            let period = if is_unified {
                value.split_once(' ')?.1.to_owned()
            } else {
                self.root.word(dir.join("cpu.cfs_period_us").to_str()?).ok()?
            };
            let quota: f64 = value.split(' ').next()?.parse().ok()?;
            let period: f64 = period.parse().ok()?;
            Some(quota / period).filter(|cpus| cpus.is_finite() && *cpus > 0.0)
        };
        let values = self.values(["cpu.cfs_quota_us", "cpu.max"]);
        values.filter_map(cpus).min_by(f64::total_cmp)
    }
}
