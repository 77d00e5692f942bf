//! Machines of any layout for tests, as files of Linux and as files of hwloc. This repository does
//! not contain files of real machines, but only their layouts.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::cpuset::CpuSet;
use crate::error::ReadError;
use crate::machine::Machine;
use crate::machine_files::Tree;
use crate::sysfs;

/// A CPU of an invented machine. The numbers of its core and its L3 are used only within the
/// fixture. They are not OS numbers.
#[derive(Clone, Debug)]
pub struct Cpu {
    /// OS number of the CPU.
    pub os: u32,
    /// Id of the CPU's package.
    pub package: u32,
    /// OS number of the node.
    pub node: u32,
    /// Number of the L3. `None` if the machine does not have an L3.
    pub l3: Option<u32>,
    /// Number of the core, which is unique in the machine.
    pub core: u32,
    /// True if the CPU is online. An offline CPU has a folder without a topology.
    pub online: bool,
    /// Value of `cpu_capacity`, for machines with several kinds of cores.
    pub capacity: Option<u32>,
    /// Value of `cpufreq/cpuinfo_max_freq`.
    pub max_khz: Option<u64>,
}

/// An invented machine, from which tests generate files.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    pub cpus: Vec<Cpu>,
    /// Memory of each node in GiB, by OS number. Nodes without CPUs are included.
    pub memory_gib: BTreeMap<u32, u64>,
    /// Distances between the nodes, in the order of the nodes' numbers.
    pub distances: Option<Vec<Vec<u32>>>,
    /// Size of each L3 in KiB.
    pub l3_kib: u64,
    /// CPUs that the control group of the reader allows. `None` if the group has no limit.
    pub allowed: Option<CpuSet>,
    /// Size of the memory-side cache of each node, in GiB.
    pub side_cache_gib: Option<u64>,
    /// Network cards, each with its name and the number of its node.
    pub network: Vec<(String, i64)>,
}

/// Sizes of a regular machine: packages, nodes per package, L3 caches per node, cores per L3 cache,
/// and threads per core.
#[derive(Clone, Copy, Debug)]
pub struct Counts(pub u32, pub u32, pub u32, pub u32, pub u32);

/// Order in which the OS numbers the CPUs.
#[derive(Clone, Copy, Debug)]
pub enum Numbering {
    /// The first threads of all cores come first, in the order of the cores, and then the second
    /// threads.
    Block,
    /// The first threads of all cores come first, and then the second threads, as in `Block`. But
    /// neighbouring numbers are in different packages.
    RoundRobin,
    /// The threads of a core have neighbouring numbers.
    Adjacent,
    /// CPUs with neighbouring numbers, and nodes with neighbouring numbers, alternate between
    /// packages, and within a package between the nodes of the package. For example, nodes 0 and 2
    /// are in one package. Sub-NUMA clusters on some Xeons have this order.
    RoundNodes,
}

impl Shape {
    /// Returns a machine of equal parts with this memory in each node.
    pub fn regular(counts: Counts, numbering: Numbering, memory_gib: u64) -> Shape {
        let Counts(packages, nodes, l3s, cores, threads) = counts;
        let mut shape = Shape {
            l3_kib: 32768,
            ..Shape::default()
        };
        let in_node = l3s * cores;
        let all = packages * nodes * in_node;
        for index in 0..all * threads {
            let (thread, core) = (index % threads, index / threads);
            let (node, inner) = (core / in_node, core % in_node);
            let (package, inner_node) = (node / nodes, node % nodes);
            let in_package = core % (nodes * in_node);
            let node_os = match numbering {
                Numbering::RoundNodes => inner_node * packages + package,
                _ => node,
            };
            let place = match numbering {
                Numbering::Block => core,
                Numbering::RoundRobin => in_package * packages + package,
                Numbering::RoundNodes => inner * packages * nodes + node_os,
                Numbering::Adjacent => 0,
            };
            let os = match numbering {
                Numbering::Adjacent => index,
                _ => thread * all + place,
            };
            let l3 = Some(core / cores);
            let online = true;
            shape.cpus.push(Cpu {
                os,
                package,
                node: node_os,
                l3,
                core,
                online,
                capacity: None,
                max_khz: None,
            });
            shape.memory_gib.insert(node_os, memory_gib);
        }
        let tables = |from: u32, to: u32| {
            let package = |os: u32| match numbering {
                Numbering::RoundNodes => os % packages,
                _ => os / nodes,
            };
            match (from == to, package(from) == package(to)) {
                (true, _) => 10,
                (_, true) => 16,
                _ => 32,
            }
        };
        let count = packages * nodes;
        let row = |from| (0..count).map(|to| tables(from, to)).collect();
        shape.distances = Some((0..count).map(row).collect());
        shape
    }

    /// Returns a machine with two packages of 28 cores with two threads each, that is 112 CPUs.
    pub fn xeon_2x28(numbering: Numbering) -> Shape {
        Shape::regular(Counts(2, 1, 1, 28, 2), numbering, 256)
    }

    /// Returns an EPYC 7601: 2 × 32 cores, 8 nodes, and 16 L3 caches of 4 cores.
    pub fn epyc_7601() -> Shape {
        Shape::regular(Counts(2, 4, 2, 4, 2), Numbering::Block, 64)
    }

    /// Returns an EPYC 9654: 2 × 96 cores, L3 caches of 8 cores, and 1, 4 or 12 nodes per package
    /// (12 is one per L3).
    pub fn epyc_9654(nodes: u32) -> Shape {
        Shape::regular(
            Counts(2, nodes, 12 / nodes, 8, 2),
            Numbering::Block,
            768 / u64::from(nodes),
        )
    }

    /// Returns the same machine with other OS numbers. CPU n becomes `rename(n)`.
    pub fn renumbered(mut self, rename: impl Fn(u32) -> u32) -> Shape {
        self.cpus.iter_mut().for_each(|cpu| cpu.os = rename(cpu.os));
        self
    }

    /// Reads the machine from the files of this fixture.
    pub fn machine(&self) -> Result<Machine, ReadError> {
        let files = self.files().into_iter().map(|(name, text)| (name, text.into_bytes()));
        sysfs::read(&Tree::from_files(files), "fixture")
    }

    fn set(&self, is_in: impl Fn(&Cpu) -> bool) -> CpuSet {
        let online = self.cpus.iter().filter(|cpu| cpu.online);
        online.filter(|cpu| is_in(cpu)).map(|cpu| cpu.os).collect()
    }

    /// Returns the files of /sys and /proc, by path.
    pub fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        let mut put = |path: String, text: String| _ = files.insert(path, text + "\n");
        let system = "sys/devices/system";
        put(
            format!("{system}/cpu/online"),
            self.set(|_| true).to_string(),
        );
        let present: CpuSet = self.cpus.iter().map(|cpu| cpu.os).collect();
        put(format!("{system}/cpu/present"), present.to_string());
        for cpu in &self.cpus {
            self.cpu_files(cpu, &mut put);
        }
        let nodes: CpuSet = self.memory_gib.keys().copied().collect();
        put(format!("{system}/node/online"), nodes.to_string());
        for (index, (os, gib)) in self.memory_gib.iter().enumerate() {
            let folder = format!("{system}/node/node{os}");
            let cpus = self.set(|cpu| cpu.node == *os);
            put(format!("{folder}/cpumap"), map(&cpus, ""));
            put(format!("{folder}/cpulist"), cpus.to_string());
            put(
                format!("{folder}/meminfo"),
                format!("Node {os} MemTotal: {} kB", gib << 20),
            );
            if let Some(rows) = &self.distances {
                let row: Vec<String> = rows[index].iter().map(u32::to_string).collect();
                put(format!("{folder}/distance"), row.join(" "));
            }
            if let Some(gib) = self.side_cache_gib {
                put(
                    format!("{folder}/memory_side_cache/index1/size"),
                    (gib << 30).to_string(),
                );
            }
        }
        for (name, node) in &self.network {
            put(
                format!("sys/class/net/{name}/device/numa_node"),
                node.to_string(),
            );
        }
        if let Some(allowed) = &self.allowed {
            put(
                "sys/fs/cgroup/cpuset.cpus.effective".to_owned(),
                allowed.to_string(),
            );
        }
        files
    }

    fn cpu_files(&self, cpu: &Cpu, put: &mut impl FnMut(String, String)) {
        let folder = format!("sys/devices/system/cpu/cpu{}", cpu.os);
        put(format!("{folder}/online"), u8::from(cpu.online).to_string());
        if !cpu.online {
            return;
        }
        let siblings = self.set(|other| other.core == cpu.core);
        let package = self.set(|other| other.package == cpu.package);
        put(
            format!("{folder}/topology/physical_package_id"),
            cpu.package.to_string(),
        );
        put(
            format!("{folder}/topology/core_id"),
            (cpu.core % 64).to_string(),
        );
        put_set(
            put,
            &format!("{folder}/topology/thread_siblings"),
            &siblings,
        );
        put_set(put, &format!("{folder}/topology/core_siblings"), &package);
        if let Some(capacity) = cpu.capacity {
            put(format!("{folder}/cpu_capacity"), capacity.to_string());
        }
        if let Some(khz) = cpu.max_khz {
            put(
                format!("{folder}/cpufreq/cpuinfo_max_freq"),
                khz.to_string(),
            );
        }
        if let Some(l3) = cpu.l3 {
            let cache = format!("{folder}/cache/index3");
            put(format!("{cache}/level"), "3".to_owned());
            put(format!("{cache}/type"), "Unified".to_owned());
            put(format!("{cache}/size"), format!("{}K", self.l3_kib));
            let shared = self.set(|other| other.l3 == Some(l3));
            put(format!("{cache}/shared_cpu_list"), shared.to_string());
        }
    }

    /// Returns the same machine as hwloc's XML, version 2.
    pub fn xml(&self) -> String {
        let all = map(&self.set(|_| true), "0x");
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        text += "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">\n";
        let _ = writeln!(
            text,
            "<object type=\"Machine\" os_index=\"0\" cpuset=\"{all}\">"
        );
        let mut object = |kind: &str, os: u32, set: CpuSet, rest: &str| {
            let set = map(&set, "0x");
            let _ = writeln!(
                text,
                "<object type=\"{kind}\" os_index=\"{os}\" cpuset=\"{set}\"{rest}/>"
            );
        };
        let distinct = |place: fn(&Cpu) -> Option<u32>| -> CpuSet {
            self.cpus.iter().filter(|cpu| cpu.online).filter_map(place).collect()
        };
        for id in distinct(|cpu| Some(cpu.package)).iter() {
            object("Package", id, self.set(|cpu| cpu.package == id), "");
        }
        for (&os, gib) in &self.memory_gib {
            let memory = format!(" local_memory=\"{}\"", gib << 30);
            object("NUMANode", os, self.set(|cpu| cpu.node == os), &memory);
        }
        for id in distinct(|cpu| cpu.l3).iter() {
            let rest = format!(" cache_size=\"{}\" depth=\"3\"", self.l3_kib << 10);
            object("L3Cache", id, self.set(|cpu| cpu.l3 == Some(id)), &rest);
        }
        for id in distinct(|cpu| Some(cpu.core)).iter() {
            object("Core", id, self.set(|cpu| cpu.core == id), "");
        }
        for cpu in self.cpus.iter().filter(|cpu| cpu.online) {
            object("PU", cpu.os, [cpu.os].into_iter().collect(), "");
        }
        text += "</object>\n";
        if let Some(rows) = &self.distances {
            let count = rows.len();
            let numbers: Vec<String> = self.memory_gib.keys().map(u32::to_string).collect();
            let values: Vec<String> = rows.iter().flatten().map(u32::to_string).collect();
            let _ = writeln!(
                text,
                "<distances2 type=\"NUMANode\" nbobjs=\"{count}\" kind=\"5\" indexing=\"os\">\
                 <indexes>{}</indexes><u64values>{}</u64values></distances2>",
                numbers.join(" "),
                values.join(" ")
            );
        }
        text + "</topology>\n"
    }
}

/// Returns the hexadecimal map of a set, in words of 32 bits, each after `prefix`.
fn map(set: &CpuSet, prefix: &str) -> String {
    let words = set.iter().last().map_or(0, |last| last / 32);
    let word = |at: u32| {
        let bits = (0..32).filter(|bit| set.contains(at * 32 + bit));
        format!(
            "{prefix}{:08x}",
            bits.fold(0u32, |word, bit| word | (1 << bit))
        )
    };
    (0..=words).rev().map(word).collect::<Vec<_>>().join(",")
}

/// Writes a set as two files, like the kernel: the map, and the list next to it.
fn put_set(put: &mut impl FnMut(String, String), name: &str, set: &CpuSet) {
    put(name.to_owned(), map(set, ""));
    put(format!("{name}_list"), set.to_string());
}
