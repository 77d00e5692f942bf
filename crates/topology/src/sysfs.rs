//! Reads a machine from the files of Linux. These are mainly /sys/devices/system/{cpu,node}, and
//! also /sys/class for devices, and /sys/fs/cgroup and /proc/self for the allowed CPUs and nodes.
//! Old kernels have only the hexadecimal maps. Containers have only some of the files, and an
//! offline CPU often has none.

mod devices;
mod limits;
mod nodes;

use std::collections::{BTreeMap, HashMap};

use crate::core_kinds;
use crate::cpu_sets::{Raw, RawCache};
use crate::cpuset::{CPU_NUMBERS_MAX, CpuSet};
use crate::error::ReadError;
use crate::machine::Machine;
use crate::machine_files::Tree;

/// A tree, with the paths of its sys and proc folders.
pub(crate) struct Files<'a> {
    tree: &'a Tree,
    sys: String,
    proc: String,
}

/// Reads the machine from the files of the tree. The sys folder may be at the root, or one or two
/// folders below it. The root may also be the sys folder itself.
pub(crate) fn read(tree: &Tree, source: &str) -> Result<Machine, ReadError> {
    let files = Files::find(tree).ok_or_else(|| {
        ReadError::new(
            source,
            "the folder contains no files of a machine: no sys/devices/system/cpu and no \
             proc/cpuinfo",
            "name the folder that contains sys/ (and proc/), or the sys folder itself",
        )
    })?;
    let mut raw = Raw {
        source: source.to_owned(),
        ..Raw::default()
    };
    files.read_cpus(&mut raw)?;
    nodes::read(&files, &mut raw)?;
    limits::read(&files, &mut raw)?;
    devices::read(&files, &mut raw);
    raw.build()
}

impl<'a> Files<'a> {
    fn find(tree: &'a Tree) -> Option<Files<'a>> {
        let mut roots = vec![String::new()];
        for first in tree.list("").into_iter().take(64) {
            let below = tree.list(&first);
            roots.push(format!("{first}/"));
            roots.extend(below.into_iter().take(64).map(|name| format!("{first}/{name}/")));
        }
        let has = |path: String| tree.has_folder(&path);
        let as_root = |root: &String| has(format!("{root}sys/devices/system/cpu"));
        let as_sys = |root: &String| has(format!("{root}devices/system/cpu"));
        let as_proc = |root: &String| tree.read(&format!("{root}proc/cpuinfo")).is_some();
        let found = roots
            .iter()
            .find(|root| as_root(root))
            .or_else(|| roots.iter().find(|root| as_proc(root)));
        if let Some(root) = found {
            let (sys, proc) = (format!("{root}sys"), format!("{root}proc"));
            return Some(Files { tree, sys, proc });
        }
        let root = roots.iter().find(|root| as_sys(root))?;
        let sys = root.trim_end_matches('/');
        let beside = match sys.rsplit_once('/') {
            Some((above, _)) => format!("{above}/proc"),
            None => "proc".to_owned(),
        };
        Some(Files {
            tree,
            sys: sys.to_owned(),
            proc: beside,
        })
    }

    fn sys(&self, path: &str) -> String {
        if self.sys.is_empty() {
            path.to_owned()
        } else {
            format!("{}/{path}", self.sys)
        }
    }

    /// Returns the text of a file of /sys without the surrounding white space. Returns `None` if
    /// the file is absent or empty.
    fn read_sys(&self, path: &str) -> Option<String> {
        let whole = self.tree.read_short(&self.sys(path))?;
        let text = whole.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn read_proc(&self, path: &str) -> Option<String> {
        self.tree.read(&format!("{}/{path}", self.proc))
    }

    fn number(&self, path: &str) -> Option<u64> {
        self.read_sys(path)?.parse().ok()
    }

    /// Returns the set in a file of /sys. Returns `None` if the file is absent or empty.
    fn list(&self, path: &str) -> Result<Option<CpuSet>, ReadError> {
        let Some(text) = self.read_sys(path) else {
            return Ok(None);
        };
        CpuSet::parse_list(&text).map(Some).map_err(|what| self.bad(path, what))
    }

    fn bad(&self, path: &str, what: String) -> ReadError {
        ReadError::new(
            self.sys(path),
            what,
            "the file is damaged or from another system; a Linux kernel wrote 0-3,8-11 here",
        )
    }

    /// Returns the number N of each folder called `nameN` in a folder of /sys.
    fn numbered(&self, folder: &str, name: &str) -> CpuSet {
        let names = self.tree.list(&self.sys(folder));
        let numbers = names.iter().filter_map(|entry| entry.strip_prefix(name)?.parse().ok());
        numbers.filter(|&number: &u32| number < CPU_NUMBERS_MAX).collect()
    }

    fn read_cpus(&self, raw: &mut Raw) -> Result<(), ReadError> {
        const CPU: &str = "devices/system/cpu";
        let folders = self.numbered(CPU, "cpu");
        let present = self.list("devices/system/cpu/present")?.unwrap_or_default();
        raw.online = match self.list("devices/system/cpu/online")? {
            Some(online) => online,
            None => folders
                .iter()
                .filter(|cpu| self.number(&format!("{CPU}/cpu{cpu}/online")) != Some(0))
                .collect(),
        };
        if raw.online.is_empty() {
            raw.online = self.processors();
        }
        raw.offline = folders.iter().chain(present.iter()).collect();
        let mut sets = Sets::new(self);
        for cpu in raw.online.iter() {
            sets.read_topology(cpu)?;
            sets.read_caches(cpu)?;
        }
        sets.into(raw);
        self.read_kinds(raw)
    }

    /// Returns the processors of /proc/cpuinfo, for trees whose /sys does not list processors.
    fn processors(&self) -> CpuSet {
        let text = self.read_proc("cpuinfo").unwrap_or_default();
        let values = text.lines().filter_map(|line| {
            let rest = line.trim().strip_prefix("processor")?;
            rest.split([':', ' ', '\t']).find(|part| !part.is_empty())
        });
        let numbers = values.filter_map(|value| value.parse().ok());
        numbers.filter(|&number: &u32| number < CPU_NUMBERS_MAX).collect()
    }

    /// Reads the kinds of cores. The sources are the lists of Intel's drivers, if they exist.
    /// Otherwise they are the scheduler's capacities or the maximum frequencies.
    fn read_kinds(&self, raw: &mut Raw) -> Result<(), ReadError> {
        for (path, speed) in [
            ("devices/cpu_lowpower/cpus", 1),
            ("devices/cpu_atom/cpus", 2),
            ("devices/cpu_core/cpus", 3),
        ] {
            raw.kinds.extend(self.list(path)?.map(|set| (set, speed)));
        }
        for name in self.tree.list(&self.sys("devices/system/cpu/types")) {
            let path = format!("devices/system/cpu/types/{name}/cpulist");
            let speed = if name.contains("core") { 3 } else { 2 };
            raw.kinds.extend(self.list(&path)?.map(|set| (set, speed)));
        }
        if !raw.kinds.is_empty() {
            return Ok(());
        }
        for file in ["cpu_capacity", "cpufreq/cpuinfo_max_freq"] {
            let speed = |cpu| self.number(&format!("devices/system/cpu/cpu{cpu}/{file}"));
            let speeds = raw.online.iter().filter_map(|cpu| Some((cpu, speed(cpu)?)));
            raw.kinds = core_kinds::by_speed(speeds, &raw.online);
            if !raw.kinds.is_empty() {
                break;
            }
        }
        Ok(())
    }
}

/// The sets of CPUs in the folders of the CPUs, without duplicates. Each text is parsed only once,
/// because all CPUs of a package have the same text.
struct Sets<'a> {
    files: &'a Files<'a>,
    parsed: HashMap<(bool, String), CpuSet>,
    packages: BTreeMap<CpuSet, Option<u32>>,
    packages_by_id: BTreeMap<u32, CpuSet>,
    dies: BTreeMap<CpuSet, ()>,
    cores: BTreeMap<CpuSet, ()>,
    caches: BTreeMap<(u64, CpuSet), Option<u64>>,
    without_topology: CpuSet,
}

impl<'a> Sets<'a> {
    fn new(files: &'a Files<'a>) -> Sets<'a> {
        Sets {
            files,
            parsed: HashMap::new(),
            packages: BTreeMap::new(),
            packages_by_id: BTreeMap::new(),
            dies: BTreeMap::new(),
            cores: BTreeMap::new(),
            caches: BTreeMap::new(),
            without_topology: CpuSet::default(),
        }
    }

    /// Returns the set in the first of these files that exists. A file whose name ends in `list`
    /// contains a list, and any other file contains a map. A set that does not contain the CPU
    /// itself is ignored.
    fn set(&mut self, cpu: u32, folder: &str, names: &[&str]) -> Result<Option<CpuSet>, ReadError> {
        for name in names {
            let path = format!("{folder}/{name}");
            let Some(text) = self.files.read_sys(&path) else {
                continue;
            };
            let key = (name.ends_with("list"), text);
            if !self.parsed.contains_key(&key) {
                let parsed = if key.0 {
                    CpuSet::parse_list(&key.1)
                } else {
                    CpuSet::parse_map(&key.1)
                };
                let set = parsed.map_err(|what| self.files.bad(&path, what))?;
                self.parsed.insert(key.clone(), set);
            }
            let set = &self.parsed[&key];
            if set.contains(cpu) {
                return Ok(Some(set.clone()));
            }
        }
        Ok(None)
    }

    fn read_topology(&mut self, cpu: u32) -> Result<(), ReadError> {
        let folder = format!("devices/system/cpu/cpu{cpu}/topology");
        let id = self.files.number(&format!("{folder}/physical_package_id"));
        let id = id.and_then(|id| u32::try_from(id).ok());
        let package = [
            "package_cpus_list",
            "package_cpus",
            "core_siblings_list",
            "core_siblings",
        ];
        let package = self.set(cpu, &folder, &package)?;
        let core = [
            "core_cpus_list",
            "core_cpus",
            "thread_siblings_list",
            "thread_siblings",
        ];
        let core = self.set(cpu, &folder, &core)?;
        if package.is_none() && core.is_none() && id.is_none() {
            self.without_topology.insert(cpu);
        }
        match (package, id) {
            (Some(set), id) => _ = self.packages.entry(set).or_insert(id),
            (None, Some(id)) => _ = self.packages_by_id.entry(id).or_default().insert(cpu),
            (None, None) => {}
        }
        self.cores.extend(core.map(|set| (set, ())));
        // On a machine without dies, the kernel reports -1 as the id, and a die that contains only
        // this CPU. Such a die is ignored.
        let stated = self.files.read_sys(&format!("{folder}/die_id"));
        if stated.is_some_and(|id| id.starts_with('-')) {
            return Ok(());
        }
        let die = self.set(cpu, &folder, &["die_cpus_list", "die_cpus"])?;
        self.dies.extend(die.map(|set| (set, ())));
        Ok(())
    }

    fn read_caches(&mut self, cpu: u32) -> Result<(), ReadError> {
        let folder = format!("devices/system/cpu/cpu{cpu}/cache");
        for index in self.files.numbered(&folder, "index").iter().take(32) {
            let folder = format!("{folder}/index{index}");
            let level = self.files.number(&format!("{folder}/level"));
            let kind = self.files.read_sys(&format!("{folder}/type"));
            let (Some(level @ 2..=3), false) = (level, kind.as_deref() == Some("Instruction"))
            else {
                continue;
            };
            let set = self.set(cpu, &folder, &["shared_cpu_list", "shared_cpu_map"])?;
            let size =
                self.files.read_sys(&format!("{folder}/size")).and_then(|text| bytes_of(&text));
            if let Some(set) = set {
                self.caches.entry((level, set)).or_insert(size);
            }
        }
        Ok(())
    }

    fn into(self, raw: &mut Raw) {
        raw.packages = self.packages.into_iter().map(|(set, id)| (id, set)).collect();
        let by_id = self.packages_by_id.into_iter().map(|(id, set)| (Some(id), set));
        raw.packages.extend(by_id);
        raw.dies = self.dies.into_keys().collect();
        raw.cores = self.cores.into_keys().collect();
        for ((level, cpus), size_bytes) in self.caches {
            let caches = if level == 3 { &mut raw.l3 } else { &mut raw.l2 };
            caches.push(RawCache { cpus, size_bytes });
        }
        if !self.without_topology.is_empty() {
            raw.notes.push(format!(
                "CPUs {} have no topology files; each counts as a separate core",
                self.without_topology
            ));
        }
    }
}

/// Parses the size of a cache in the kernel's format, such as `43008K` or `32M`, or a plain number
/// of bytes. Returns `None` for other texts.
fn bytes_of(text: &str) -> Option<u64> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        b'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}
