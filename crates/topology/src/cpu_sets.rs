//! Builds a [`Machine`] from sets of CPUs that belong together, which every source provides. This
//! module contains the rules for missing or contradictory data, so that all readers use the same
//! rules.

use std::collections::BTreeMap;

use crate::cpuset::{CPU_NUMBERS_MAX, CpuSet};
use crate::error::{ReadError, one_line};
use crate::machine::{
    Core, CoreKind, Device, Die, Distances, HugePages, L3, Machine, Node, Package, Pu,
};

/// Maximum number of nodes. It is also the limit of the kernel.
pub(crate) const NODES_MAX: usize = 1024;
/// Maximum number of devices. The reader omits further devices, and adds a note.
pub(crate) const DEVICES_MAX: usize = 4096;

/// The data of a source, in the form of sets. All fields except `online` may be empty or `None`.
#[derive(Default)]
pub(crate) struct Raw {
    pub source: String,
    pub online: CpuSet,
    pub offline: CpuSet,
    /// CPUs that may be used. `None` means all CPUs.
    pub allowed: Option<CpuSet>,
    /// Nodes whose memory may be used, by OS number. `None` means all nodes.
    pub allowed_nodes: Option<CpuSet>,
    pub packages: Vec<(Option<u32>, CpuSet)>,
    pub dies: Vec<CpuSet>,
    pub l3: Vec<RawCache>,
    pub l2: Vec<RawCache>,
    pub cores: Vec<CpuSet>,
    pub nodes: Vec<RawNode>,
    /// Node numbers, and a row of distances for each node.
    pub distances: Option<(Vec<u32>, Vec<Vec<u32>>)>,
    /// CPUs of each kind of core, with the speed of the kind. Only the order of the speeds matters.
    pub kinds: Vec<(CpuSet, u64)>,
    pub devices: Vec<Device>,
    pub notes: Vec<String>,
}

#[derive(Clone)]
pub(crate) struct RawCache {
    pub cpus: CpuSet,
    pub size_bytes: Option<u64>,
}

#[derive(Default, Clone)]
pub(crate) struct RawNode {
    pub os: u32,
    pub cpus: CpuSet,
    pub memory_bytes: Option<u64>,
    pub hugepages: Vec<HugePages>,
    pub side_caches_bytes: Vec<u64>,
    pub kind: Option<String>,
}

/// Position of a core in the machine, as indices in [`Raw`]. The pairs of the die and of the L3
/// cache begin with their lowest CPUs, so that cores are sorted by these CPUs.
struct CorePosition {
    package: usize,
    node: usize,
    die: (u32, usize),
    l3: (u32, L3Key),
    cpus: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum L3Key {
    Real(usize),
    NodeOfPackage(usize, usize),
}

impl Raw {
    /// Replaces line breaks in names. Otherwise the content of a file could forge lines of output.
    fn put_on_one_line(&mut self) {
        let kinds = self.nodes.iter_mut().filter_map(|node| node.kind.as_mut());
        let names = self.devices.iter_mut().map(|device| &mut device.name);
        let all = kinds.chain(names).chain(&mut self.notes);
        for text in all.chain([&mut self.source]) {
            *text = one_line(text);
        }
    }

    /// Builds the machine from the data. It adds missing data, finds the position of each core,
    /// sorts the cores and numbers them.
    pub fn build(mut self) -> Result<Machine, ReadError> {
        self.put_on_one_line();
        self.check()?;
        self.complete();
        let mut seats = self.seats();
        seats.sort_by_key(|seat| {
            let package = self.packages[seat.package].0.unwrap_or(u32::MAX);
            let node = self.nodes[seat.node].os;
            (package, seat.package, node, seat.die, seat.l3, seat.cpus[0])
        });
        let machine = self.numbered(&seats);
        Ok(machine)
    }

    fn check(&self) -> Result<(), ReadError> {
        let refuse = |what: String, hint: &str| Err(ReadError::new(&self.source, what, hint));
        if self.online.is_empty() {
            return refuse(
                "the description contains no online CPU".to_owned(),
                "name the root of a machine's files, which contains sys/devices/system/cpu",
            );
        }
        if self.nodes.len() > NODES_MAX {
            return refuse(
                format!(
                    "the description has {} NUMA nodes; cassay reads at most {NODES_MAX}",
                    self.nodes.len()
                ),
                "the kernel supports at most 1024 NUMA nodes; the description is damaged",
            );
        }
        let mut numbers: Vec<u32> = self.nodes.iter().map(|node| node.os).collect();
        numbers.sort_unstable();
        if let Some(twice) = numbers.windows(2).find(|pair| pair[0] == pair[1]) {
            return refuse(
                format!("two NUMA nodes have the number {}", twice[0]),
                "each NUMA node needs a unique number; repair the description",
            );
        }
        Ok(())
    }

    /// Adds data that the source omits, with a note for each assumption.
    fn complete(&mut self) {
        self.offline = self.offline.difference(&self.online);
        if self.nodes.iter().all(|node| node.cpus.is_disjoint(&self.online)) {
            self.adopt_all();
        }
        let mut seen = CpuSet::default();
        for node in &mut self.nodes {
            let twice = node.cpus.intersection(&seen);
            if !twice.is_empty() {
                self.notes.push(format!(
                    "NUMA node {} lists CPUs {twice}, which another NUMA node also lists. These \
                     CPUs count as CPUs of the other node, and the memory of this node counts as \
                     memory without CPUs",
                    node.os
                ));
            }
            node.cpus = node.cpus.difference(&seen);
            seen.extend(node.cpus.iter());
        }
        let homeless = self.online.difference(&seen);
        if !homeless.is_empty() {
            let home = self.nodes.iter_mut().find(|node| !node.cpus.is_empty());
            if let Some(node) = home {
                let os = node.os;
                self.notes.push(format!(
                    "no NUMA node lists CPUs {homeless}; cassay assigns them to node {os}"
                ));
                node.cpus.extend(homeless.iter());
            }
        }
        let packaged: CpuSet = self.packages.iter().flat_map(|(_, set)| set.iter()).collect();
        let rest = self.online.difference(&packaged);
        if !rest.is_empty() {
            self.notes.push(if packaged.is_empty() {
                "the description has no packages; all CPUs count as one package".to_owned()
            } else {
                format!("no package contains CPUs {rest}; these CPUs count as a separate package")
            });
            self.packages.push((None, rest));
        }
    }

    /// Assigns all online CPUs to the first node, or to a new node if the machine has no node. The
    /// caller has checked that no node has an online CPU.
    fn adopt_all(&mut self) {
        if self.nodes.is_empty() {
            let note = "the description has no NUMA nodes; the whole machine counts as node 0";
            self.notes.push(note.to_owned());
            self.nodes.push(RawNode::default());
        } else {
            let os = self.nodes[0].os;
            self.notes.push(format!(
                "no NUMA node lists a CPU; all CPUs count as CPUs of node {os}"
            ));
        }
        self.nodes[0].cpus = self.online.clone();
    }

    /// Returns the position of each core, which is the position of its first CPU.
    fn seats(&mut self) -> Vec<CorePosition> {
        let packages = owners(self.packages.iter().map(|(_, set)| set));
        let nodes = owners(self.nodes.iter().map(|node| &node.cpus));
        let dies = owners(self.dies.iter());
        let caches = owners(self.l3.iter().map(|cache| &cache.cpus));
        let cores = owners(self.cores.iter());
        let mut members: BTreeMap<(bool, usize), Vec<u32>> = BTreeMap::new();
        for cpu in self.online.iter() {
            let key = match cores[cpu as usize] {
                Some(core) => (true, core),
                None => (false, cpu as usize),
            };
            members.entry(key).or_default().push(cpu);
        }
        let mut torn = CpuSet::default();
        let place = |cpu: u32| {
            let at = cpu as usize;
            let (package, node) = (packages[at].unwrap_or(0), nodes[at].unwrap_or(0));
            let l3 = caches[at].map_or(L3Key::NodeOfPackage(node, package), L3Key::Real);
            (package, node, dies[at].map_or(usize::MAX, |die| die), l3)
        };
        let first_of = |set: &CpuSet| set.first().unwrap_or(u32::MAX);
        let seats: Vec<CorePosition> = members
            .into_values()
            .map(|cpus| {
                let (package, node, die, l3) = place(cpus[0]);
                if cpus.iter().any(|&cpu| place(cpu) != (package, node, die, l3)) {
                    torn.extend(cpus.iter().copied());
                }
                let die_first = self.dies.get(die).map_or(u32::MAX, first_of);
                let l3_first = match l3 {
                    L3Key::Real(index) => first_of(&self.l3[index].cpus),
                    L3Key::NodeOfPackage(..) => u32::MAX,
                };
                let (die, l3) = ((die_first, die), (l3_first, l3));
                CorePosition {
                    package,
                    node,
                    die,
                    l3,
                    cpus,
                }
            })
            .collect();
        if !torn.is_empty() {
            self.notes.push(format!(
                "the description assigns threads of one core (CPUs {torn}) to different packages, \
                 NUMA nodes or caches. cassay assumes that each core belongs to those of its first \
                 CPU"
            ));
        }
        seats
    }

    fn numbered(mut self, seats: &[CorePosition]) -> Machine {
        let mut machine = Machine {
            source: std::mem::take(&mut self.source),
            packages: Vec::new(),
            dies: Vec::new(),
            nodes: Vec::new(),
            l3: Vec::new(),
            cores: Vec::new(),
            pus: Vec::new(),
            offline: std::mem::take(&mut self.offline),
            distances: None,
            devices: Vec::new(),
            notes: Vec::new(),
        };
        let (kinds, l2) = (
            self.kinds_of_cpus(),
            owners(self.l2.iter().map(|c| &c.cpus)),
        );
        let (mut packages, mut nodes) = (BTreeMap::new(), BTreeMap::new());
        let (mut dies, mut l3s) = (BTreeMap::new(), BTreeMap::new());
        for (index, seat) in seats.iter().enumerate() {
            let package = number(&mut packages, seat.package, &mut machine.packages, || {
                Package {
                    os: self.packages[seat.package].0,
                    cores: Vec::new(),
                }
            });
            let node = number(&mut nodes, seat.node, &mut machine.nodes, || {
                self.node(&self.nodes[seat.node])
            });
            let die = number(
                &mut dies,
                (seat.die, seat.package),
                &mut machine.dies,
                || Die {
                    package,
                    cores: Vec::new(),
                },
            );
            let l3 = number(&mut l3s, seat.l3.1, &mut machine.l3, || {
                self.l3_of(seat.l3.1)
            });
            machine.packages[package].cores.push(index);
            machine.dies[die].cores.push(index);
            machine.l3[l3].cores.push(index);
            machine.nodes[node].cores.push(index);
            if !machine.nodes[node].packages.contains(&package) {
                machine.nodes[node].packages.push(package);
            }
            let first = machine.pus.len();
            for (thread, &os) in seat.cpus.iter().enumerate() {
                machine.pus.push(Pu {
                    os,
                    core: index,
                    thread: thread as u32,
                    allowed: self.allowed.as_ref().is_none_or(|set| set.contains(os)),
                });
            }
            machine.cores.push(Core {
                package,
                die,
                node,
                l3,
                pus: (first..machine.pus.len()).collect(),
                l2_bytes: l2[seat.cpus[0] as usize].and_then(|cache| self.l2[cache].size_bytes),
                kind: kinds[seat.cpus[0] as usize],
            });
        }
        self.finish(machine)
    }

    /// Adds nodes without cores, distances, devices and notes to the machine.
    fn finish(mut self, mut machine: Machine) -> Machine {
        let mut others: Vec<Node> = self
            .nodes
            .iter()
            .filter(|raw| machine.nodes.iter().all(|node| node.os != raw.os))
            .map(|raw| self.node(raw))
            .collect();
        others.sort_by_key(|node| node.os);
        machine.nodes.extend(others);
        machine.distances = self
            .distances
            .take()
            .and_then(|(numbers, rows)| ordered_distances(&machine.nodes, &numbers, &rows));
        self.devices.sort();
        self.devices.dedup();
        if self.devices.len() > DEVICES_MAX {
            let count = self.devices.len();
            self.notes.push(format!(
                "the description has {count} devices; cassay keeps only the first {DEVICES_MAX}"
            ));
            self.devices.truncate(DEVICES_MAX);
        }
        machine.devices = self.devices;
        if machine.l3.iter().any(|l3| !l3.is_real) {
            self.notes.push(
                "the description has no L3 cache for some cores. cassay assumes that the cores of \
                 a NUMA node in one package share an L3 cache"
                    .to_owned(),
            );
        }
        machine.notes = self.notes;
        machine
    }

    fn node(&self, raw: &RawNode) -> Node {
        Node {
            os: raw.os,
            cores: Vec::new(),
            packages: Vec::new(),
            memory_bytes: raw.memory_bytes,
            hugepages: raw.hugepages.clone(),
            side_caches_bytes: raw.side_caches_bytes.clone(),
            kind: raw.kind.clone(),
            allowed: self.allowed_nodes.as_ref().is_none_or(|set| set.contains(raw.os)),
        }
    }

    fn l3_of(&self, key: L3Key) -> L3 {
        let real = match key {
            L3Key::Real(index) => Some(&self.l3[index]),
            L3Key::NodeOfPackage(..) => None,
        };
        L3 {
            size_bytes: real.and_then(|cache| cache.size_bytes),
            is_real: real.is_some(),
            cores: Vec::new(),
        }
    }

    fn kinds_of_cpus(&self) -> Vec<CoreKind> {
        let online = |(set, _): &&(CpuSet, u64)| !set.is_disjoint(&self.online);
        let kinds: Vec<&(CpuSet, u64)> = self.kinds.iter().filter(online).collect();
        let fastest = kinds.iter().map(|(_, speed)| *speed).max();
        let slowest = kinds.iter().map(|(_, speed)| *speed).min();
        let mut of_cpus = vec![CoreKind::Uniform; CPU_NUMBERS_MAX as usize];
        if fastest == slowest {
            return of_cpus;
        }
        for (set, speed) in kinds {
            let kind = if Some(*speed) == fastest {
                CoreKind::Performance
            } else {
                CoreKind::Efficiency
            };
            set.iter().for_each(|cpu| of_cpus[cpu as usize] = kind);
        }
        of_cpus
    }
}

/// Returns, for each CPU number, the index of the first set that contains the number.
fn owners<'a>(sets: impl Iterator<Item = &'a CpuSet>) -> Vec<Option<usize>> {
    let mut owners = vec![None; CPU_NUMBERS_MAX as usize];
    for (index, set) in sets.enumerate() {
        for cpu in set.iter() {
            owners[cpu as usize].get_or_insert(index);
        }
    }
    owners
}

/// Returns the index in `list` of the element for `key`. If `seen` does not contain the key, the
/// function first appends the result of `make` to the list.
fn number<K: Ord, T>(
    seen: &mut BTreeMap<K, usize>,
    key: K,
    list: &mut Vec<T>,
    make: impl FnOnce() -> T,
) -> usize {
    *seen.entry(key).or_insert_with(|| {
        list.push(make());
        list.len() - 1
    })
}

/// Returns the distances in the order of the nodes. Returns `None` if the table does not contain
/// any distance between these nodes.
fn ordered_distances(nodes: &[Node], numbers: &[u32], rows: &[Vec<u32>]) -> Option<Distances> {
    let place = |os: u32| numbers.iter().position(|&number| number == os);
    let places: Vec<Option<usize>> = nodes.iter().map(|node| place(node.os)).collect();
    let at = |from: Option<usize>, to: Option<usize>| -> u32 {
        let row = from.and_then(|from| rows.get(from));
        let cell = row.and_then(|row| row.get(to?));
        cell.copied().unwrap_or(0)
    };
    let rows: Vec<Vec<u32>> = places
        .iter()
        .map(|&from| places.iter().map(|&to| at(from, to)).collect())
        .collect();
    rows.iter().flatten().any(|&cell| cell > 0).then_some(Distances { rows })
}
