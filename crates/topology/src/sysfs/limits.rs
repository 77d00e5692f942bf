//! Reads the allowed CPUs and nodes. The sources are the cpuset of the reader's control group (v2,
//! v1 or the older cpuset file system) and the affinity of the reader.

use super::Files;
use crate::cpu_sets::Raw;
use crate::cpuset::CpuSet;
use crate::error::ReadError;

pub(super) fn read(files: &Files<'_>, raw: &mut Raw) -> Result<(), ReadError> {
    let mut cpus = files.affinity("Cpus_allowed_list:");
    let mut nodes = files.affinity("Mems_allowed_list:");
    for folder in files.group_folders() {
        let of_cpus = [
            "cpuset.cpus.effective",
            "cpuset.effective_cpus",
            "cpuset.cpus",
            "cpus",
        ];
        let of_nodes = [
            "cpuset.mems.effective",
            "cpuset.effective_mems",
            "cpuset.mems",
            "mems",
        ];
        let (group_cpus, group_nodes) = (
            files.first(&folder, &of_cpus)?,
            files.first(&folder, &of_nodes)?,
        );
        if group_cpus.is_none() && group_nodes.is_none() {
            continue;
        }
        cpus = narrower(cpus, group_cpus);
        nodes = narrower(nodes, group_nodes);
        break;
    }
    // A set whose members do not exist on this machine comes from another machine, so it is
    // ignored.
    raw.allowed = cpus.filter(|set| !set.is_disjoint(&raw.online));
    let numbers: CpuSet = raw.nodes.iter().map(|node| node.os).collect();
    raw.allowed_nodes = nodes.filter(|set| !set.is_disjoint(&numbers));
    if let Some(allowed) = &raw.allowed
        && !raw.online.is_subset(allowed)
    {
        let closed = raw.online.difference(allowed);
        raw.notes.push(format!(
            "this process may not use the CPUs {closed} (control group or affinity)"
        ));
    }
    Ok(())
}

fn narrower(one: Option<CpuSet>, other: Option<CpuSet>) -> Option<CpuSet> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.intersection(&other)),
        (one, other) => one.or(other),
    }
}

impl Files<'_> {
    fn affinity(&self, field: &str) -> Option<CpuSet> {
        let text = self.read_proc("self/status")?;
        let value = text.lines().find_map(|line| line.strip_prefix(field))?;
        CpuSet::parse_list(value).ok()
    }

    /// Returns the possible folders of the reader's control group, relative to the tree. The most
    /// probable folder comes first.
    fn group_folders(&self) -> Vec<String> {
        let root = self.proc.strip_suffix("proc").unwrap_or("");
        let mut paths = Vec::new();
        let groups = self.read_proc("self/cgroup").unwrap_or_default();
        for line in groups.lines().take(64) {
            let mut fields = line.splitn(3, ':').skip(1);
            let (Some(kinds), Some(path)) = (fields.next(), fields.next()) else {
                continue;
            };
            if kinds.is_empty() || kinds.split(',').any(|kind| kind == "cpuset") {
                paths.push(path.trim_matches('/').to_owned());
            }
        }
        let cpuset = self.read_proc("self/cpuset").unwrap_or_default();
        paths.push(cpuset.trim().trim_matches('/').to_owned());
        // In a container, the path may be that of the host, although only the container's files are
        // visible. So the root of the hierarchy is also a candidate.
        paths.push(String::new());
        let mut mounts = Vec::new();
        let table = self.read_proc("mounts").or_else(|| self.read_proc("self/mounts"));
        for line in table.unwrap_or_default().lines().take(4096) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, place, kind, options, ..] = fields[..] else {
                continue;
            };
            let is_cpuset = options.split(',').any(|option| option == "cpuset");
            if kind == "cpuset" || kind == "cgroup2" || kind == "cgroup" && is_cpuset {
                mounts.push(format!("{root}{}", place.trim_matches('/')));
            }
        }
        mounts.push(self.sys("fs/cgroup"));
        mounts.push(self.sys("fs/cgroup/cpuset"));
        let both = paths.iter().flat_map(|path| mounts.iter().map(move |mount| (mount, path)));
        both.map(|(mount, path)| format!("{mount}/{path}").trim_end_matches('/').to_owned())
            .collect()
    }

    fn first(&self, folder: &str, names: &[&str]) -> Result<Option<CpuSet>, ReadError> {
        for name in names {
            let path = format!("{folder}/{name}");
            let text = self.tree.read(&path).unwrap_or_default();
            if text.trim().is_empty() {
                continue;
            }
            let set = CpuSet::parse_list(&text);
            return set.map(Some).map_err(|what| {
                let hint = "the file is damaged; the kernel writes a list such as 0-3,8-11 here";
                ReadError::new(path, what, hint)
            });
        }
        Ok(None)
    }
}
