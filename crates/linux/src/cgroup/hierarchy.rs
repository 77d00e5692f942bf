//! Finds the mounted hierarchies of control groups, and the directory in each for this program's
//! groups.

use super::{CgroupDir, pids, write};
use anyhow::{Context, Result};
use std::path::{Component, Path, PathBuf};

/// Names in version 1 of the controllers that a host needs.
const CONTROLLERS: [&str; 5] = ["cpu", "cpuacct", "cpuset", "memory", "blkio"];

/// Controllers of version 2 that must be enabled for a group.
const SWITCHED: [&str; 4] = ["cpuset", "cpu", "memory", "io"];

/// A mounted hierarchy, and the directory in it for this program's groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    pub(super) parent: PathBuf,
    pub(super) top: PathBuf,
    pub(super) unified: bool,
    /// Controllers of the hierarchy in version 1. In version 2, the kernel lists them.
    pub(super) controllers: Vec<String>,
}

/// Returns the hierarchies of this machine that a host can use.
///
/// # Errors
/// `/proc` cannot be read.
pub fn hierarchies() -> Result<Vec<Hierarchy>> {
    let read = |path: &str| std::fs::read_to_string(path).with_context(|| format!("read {path}"));
    let mut found = parse(&read("/proc/self/mountinfo")?, &read("/proc/self/cgroup")?);
    for hierarchy in found.iter_mut().filter(|hierarchy| hierarchy.unified) {
        hierarchy.parent = handing_down(&hierarchy.parent, &hierarchy.top, is_delegated);
        let file = hierarchy.parent.join("cgroup.controllers");
        let controllers = std::fs::read_to_string(file).unwrap_or_default();
        hierarchy.controllers = controllers
            .split_ascii_whitespace()
            .filter(|name| SWITCHED.contains(name))
            .map(str::to_string)
            .collect();
    }
    Ok(found)
}

/// Parses the hierarchies from `mountinfo` and `cgroup` of `/proc/self`.
///
/// New groups are created below the process's own group, so that the process's own group still
/// accounts for their usage. In version 2, the search only begins at that group. See
/// [`handing_down`].
pub(super) fn parse(mountinfo: &str, own: &str) -> Vec<Hierarchy> {
    let mut found: Vec<Hierarchy> = Vec::new();
    for line in mountinfo.lines() {
        let Some((front, back)) = line.split_once(" - ") else {
            continue;
        };
        let front: Vec<&str> = front.split(' ').collect();
        let back: Vec<&str> = back.split(' ').collect();
        let (&[_, _, _, root, mount, ..], &[kind, _, options]) = (&front[..], &back[..]) else {
            continue;
        };
        let hierarchy = match kind {
            "cgroup2" => {
                let path = own.lines().find_map(|line| line.strip_prefix("0::"));
                Hierarchy {
                    parent: below(mount, root, path.unwrap_or("/")),
                    top: PathBuf::from(mount),
                    unified: true,
                    controllers: Vec::new(),
                }
            }
            "cgroup" => {
                let controllers: Vec<String> = options
                    .split(',')
                    .filter(|name| CONTROLLERS.contains(name))
                    .map(str::to_string)
                    .collect();
                let Some(first) = controllers.first() else {
                    continue;
                };
                let path = own_path(own, first).unwrap_or("/");
                Hierarchy {
                    parent: below(mount, root, path),
                    top: PathBuf::from(mount),
                    unified: false,
                    controllers,
                }
            }
            _ => continue,
        };
        let same = |other: &Hierarchy| {
            other.unified == hierarchy.unified && other.controllers == hierarchy.controllers
        };
        // The same hierarchy may be mounted in several directories, and only the first is used.
        if !found.iter().any(same) {
            found.push(hierarchy);
        }
    }
    found
}

/// Returns the directory of a group, or the mount point if the group is not visible below it.
fn below(mount: &str, root: &str, path: &str) -> PathBuf {
    let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
    let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
    if is_plain {
        Path::new(mount).join(below)
    } else {
        // The path begins with `/..`. The kernel reports such a path for a group outside of the
        // process's namespace.
        PathBuf::from(mount)
    }
}

/// Returns the group of version 2 below which new groups are created. The search goes up from the
/// process's own group. A group with processes cannot enable controllers for groups below it. The
/// process's own group can do so if it was delegated and contains no other process, because this
/// process can then move out. Otherwise the result is the nearest ancestor without processes. If
/// every ancestor has processes, the result is the root, which may have both processes and groups
/// with controllers.
pub(super) fn handing_down(
    own: &Path,
    top: &Path,
    is_delegated: impl Fn(&Path) -> bool,
) -> PathBuf {
    let ours = rustix::process::getpid().as_raw_nonzero().get();
    let is_fit = |dir: &&Path| {
        let pids = pids(dir);
        pids.is_empty() || (*dir == own && pids == [ours] && is_delegated(dir))
    };
    let up = own.ancestors().take_while(|dir| *dir != top && dir.starts_with(top));
    let found = up.filter(|dir| dir.is_dir()).find(is_fit);
    found.unwrap_or(top).to_path_buf()
}

/// Returns true if the service manager has delegated a group together with all groups below it. For
/// a unit with `Delegate=yes`, systemd marks the directory of the group.
fn is_delegated(dir: &Path) -> bool {
    let mark = |name: &str| {
        let mut value = [0u8; 8];
        let bytes = rustix::fs::getxattr(dir, name, &mut value);
        bytes.is_ok_and(|bytes| value[..bytes] == *b"1")
    };
    mark("user.delegate") || mark("trusted.delegate")
}

/// Makes it possible for a delegated group to enable controllers. This process moves into a new
/// group within it. Processes that it starts from now on are also in the new group. Other processes
/// do not move. A cleanup is not necessary, because the service manager removes the delegated group
/// with all groups in it when the unit ends.
///
/// # Errors
/// The kernel refuses to create the new group, or to move this process into it.
pub fn step_aside() -> Result<()> {
    let ours = rustix::process::getpid().as_raw_nonzero().get();
    for top in hierarchies()?.into_iter().filter(|one| one.unified) {
        let top = top.parent;
        if pids(&top) != [ours] || !is_delegated(&top) {
            continue;
        }
        let aside = top.join("cassay-itself");
        if !aside.is_dir() {
            std::fs::create_dir(&aside)
                .with_context(|| format!("create the control group {}", aside.display()))?;
        }
        write(&aside.join("cgroup.procs"), "0")?;
    }
    Ok(())
}

/// Returns the process's own group in the hierarchy of a controller of version 1.
fn own_path<'a>(own: &'a str, controller: &str) -> Option<&'a str> {
    own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next()?;
        let path = fields.next()?;
        controllers.split(',').any(|name| name == controller).then_some(path)
    })
}

/// Returns the directories of the group with this name, one for each hierarchy.
pub fn places(hierarchies: &[Hierarchy], name: &str) -> Vec<CgroupDir> {
    let place = |hierarchy: &Hierarchy| CgroupDir {
        dir: hierarchy.parent.join(name),
        unified: hierarchy.unified,
        controllers: hierarchy.controllers.clone(),
    };
    hierarchies.iter().map(place).collect()
}

/// Returns the groups of a process in the mounted hierarchies, from the `cgroup` file of the
/// process. Each result has the path of the group, the mount point of its hierarchy, and true for
/// version 2.
pub fn places_of(mountinfo: &str, own: &str) -> Vec<(PathBuf, PathBuf, bool)> {
    let place = |one: Hierarchy| (one.parent, one.top, one.unified);
    parse(mountinfo, own).into_iter().map(place).collect()
}
