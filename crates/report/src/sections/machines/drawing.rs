//! Draws a machine as a picture of nested boxes. The boxes represent packages, the NUMA nodes in
//! each package, and the L3 caches in each NUMA node. The box of an L3 cache contains cores with
//! their threads. A core has the colours of the Cassandra nodes that may run on it.
//!
//! On small machines, each core is one tile. On large machines, equal neighbouring cores form one
//! tile. If a picture would still have too many tiles, a whole L3 cache forms one tile.

use super::machine_records::{Cpus, MachineView, PlacedProcess, describe_cpus, list};
use crate::number;
use crate::page::{BoxGroup, Leaf, Part, Picture, Style};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use store::record::{L3Record, NumaNodeRecord, numbers_of};

/// Maximum number of CPUs for which each core is one tile.
const CPUS_MAX: usize = 128;
/// Number of colours for Cassandra nodes. With more nodes, colours repeat, so each tile must name
/// its nodes. A tile of one core has no space for names, so equal neighbouring cores form one tile.
const COLORS: usize = 8;
const TILES_MAX: usize = 256;
/// Maximum length in characters of the list of CPUs in a tile.
const LIST_MAX: usize = 14;
/// Maximum number of names in a box.
const NAMES_MAX: usize = 3;

#[derive(Clone, PartialEq, Eq)]
struct State {
    owners: Vec<usize>,
    is_client: bool,
    is_closed: bool,
}

/// CPUs that one tile represents: a core, equal neighbouring cores, or a whole L3 cache.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Core,
    Alike,
    Group,
}

/// Location of a core: the indexes of its package, NUMA node and L3 cache in the record.
type CorePlace = (usize, usize, usize);

struct Drawing<'a> {
    seen: &'a MachineView<'a>,
    placed: &'a [PlacedProcess<'a>],
    colors: &'a BTreeMap<&'a str, usize>,
    l3: Vec<(&'a L3Record, Cpus)>,
    states: HashMap<u32, State>,
}

pub struct PictureName {
    /// Id of the picture, which is unique in the page.
    pub id: String,
    pub title: String,
}

/// Returns the picture of a machine. Returns `None` if the record contains no parts of the machine,
/// or if the picture would have more than [`TILES_MAX`] tiles.
pub fn picture(
    name: PictureName,
    seen: &MachineView<'_>,
    placed: &[PlacedProcess<'_>],
    colors: &BTreeMap<&str, usize>,
) -> Option<Picture> {
    let l3 = seen.record.l3.iter().map(|one| (one, numbers_of(&one.cpus)));
    let mut drawing = Drawing {
        seen,
        placed,
        colors,
        l3: l3.collect(),
        states: HashMap::new(),
    };
    let all: Cpus = seen.cores.iter().flatten().copied().collect();
    drawing.states = all.iter().map(|cpu| (*cpu, drawing.state(*cpu))).collect();
    let places = drawing.places();
    let is_small = all.len() <= CPUS_MAX && colors.len() <= COLORS;
    let smallest = if is_small {
        Detail::Core
    } else {
        Detail::Alike
    };
    let fits = |detail: &Detail| {
        let tiles = places.values().map(|cores| drawing.tiles(cores, *detail).len());
        tiles.sum::<usize>() <= TILES_MAX
    };
    let detail = [smallest, Detail::Group].into_iter().find(fits)?;
    let mut nests = drawing.packages(&places, detail);
    let without_cpus = seen
        .record
        .numa_nodes
        .iter()
        .zip(&seen.numa_nodes)
        .filter(|(_, cpus)| cpus.is_empty())
        .take(TILES_MAX);
    nests.extend(without_cpus.map(|(node, _)| BoxGroup {
        label: format!("NUMA node {} without CPUs", node.os),
        details: drawing.about_numa(node),
        ..BoxGroup::default()
    }));
    (!nests.is_empty()).then(|| Picture {
        id: name.id,
        title: name.title,
        what: drawing.in_words(),
        legend: drawing.legend(&nests),
        nests,
    })
}

impl Drawing<'_> {
    fn state(&self, cpu: u32) -> State {
        let here = || self.placed.iter().filter(|one| one.cpus.contains(&cpu));
        let nodes = here().filter(|one| !one.record.is_client());
        let owners = nodes.filter_map(|one| self.colors.get(one.record.who.as_str()).copied());
        State {
            owners: owners.collect(),
            is_client: here().any(|one| one.record.is_client()),
            is_closed: !self.seen.allowed.contains(&cpu),
        }
    }

    /// Returns the cores of each innermost box, in the order of the record.
    fn places(&self) -> BTreeMap<CorePlace, Vec<&Cpus>> {
        let at = |groups: &mut dyn Iterator<Item = &Cpus>| {
            let pairs =
                groups.enumerate().flat_map(|(at, cpus)| cpus.iter().map(move |c| (*c, at)));
            pairs.collect::<HashMap<u32, usize>>()
        };
        let packages = at(&mut self.seen.packages.iter());
        let numa = at(&mut self.seen.numa_nodes.iter());
        let l3 = at(&mut self.l3.iter().map(|(_, cpus)| cpus));
        let mut places: BTreeMap<CorePlace, Vec<&Cpus>> = BTreeMap::new();
        for core in &self.seen.cores {
            let Some(cpu) = core.first() else { continue };
            let of = |groups: &HashMap<u32, usize>| groups.get(cpu).copied().unwrap_or(usize::MAX);
            places.entry((of(&packages), of(&numa), of(&l3))).or_default().push(core);
        }
        places
    }

    fn packages(&self, places: &BTreeMap<CorePlace, Vec<&Cpus>>, detail: Detail) -> Vec<BoxGroup> {
        let mut packages: Vec<(usize, BoxGroup)> = Vec::new();
        let mut numa: Vec<(usize, usize)> = Vec::new();
        for ((package, node, l3), cores) in places {
            if packages.last().is_none_or(|(known, _)| known != package) {
                packages.push((*package, self.package(*package)));
            }
            let outer = packages.last_mut().map(|(_, nest)| nest);
            let Some(outer) = outer else { continue };
            if numa.last() != Some(&(*package, *node)) {
                numa.push((*package, *node));
                outer.nests.push(self.numa_node(*node, *package));
            }
            if let Some(inner) = outer.nests.last_mut() {
                inner.nests.push(self.l3_group(*l3, cores, detail));
            }
        }
        packages.into_iter().map(|(_, nest)| nest).collect()
    }

    fn package(&self, at: usize) -> BoxGroup {
        let os = self.seen.record.packages.get(at).map(|one| one.os);
        let label = match os {
            Some(os) => format!("Package {}", os.unwrap_or(at as u32)),
            None => "Package unknown".to_owned(),
        };
        BoxGroup {
            label,
            ..BoxGroup::default()
        }
    }

    fn numa_node(&self, at: usize, package: usize) -> BoxGroup {
        let Some(node) = self.seen.record.numa_nodes.get(at) else {
            return BoxGroup {
                label: "NUMA node unknown".into(),
                ..BoxGroup::default()
            };
        };
        let package = self.seen.packages.get(package);
        let is_part = package.is_some_and(|package| !self.seen.numa_nodes[at].is_subset(package));
        BoxGroup {
            label: format!(
                "NUMA node {}{}",
                node.os,
                if is_part { ", a part" } else { "" }
            ),
            details: self.about_numa(node),
            ..BoxGroup::default()
        }
    }

    /// Describes the memory of a NUMA node, the processes that may use this memory, and nearby
    /// devices.
    fn about_numa(&self, node: &NumaNodeRecord) -> Vec<String> {
        let mut details = Vec::new();
        let memory = node
            .memory_bytes
            .map(number::bytes)
            .map(|bytes| format!("{bytes} {}", node.kind).trim().to_owned());
        details.extend(memory);
        let takes = |one: &&PlacedProcess<'_>| numbers_of(&one.record.mems).contains(&node.os);
        let users: Vec<&str> =
            self.placed.iter().filter(takes).map(|one| one.record.who.as_str()).collect();
        if !users.is_empty() {
            details.push(format!("memory of {}", few(&users)));
        }
        let devices = self.seen.record.devices.iter();
        let near: Vec<&str> = devices
            .filter(|device| device.numa_node == Some(node.os))
            .map(|device| device.name.as_str())
            .collect();
        if !near.is_empty() {
            details.push(few(&near));
        }
        details
    }

    fn l3_group(&self, at: usize, cores: &[&Cpus], detail: Detail) -> BoxGroup {
        let count = match cores.len() {
            1 => "1 core".to_owned(),
            count => format!("{count} cores"),
        };
        let label = match self.l3.get(at) {
            Some((l3, cpus)) if l3.is_real => {
                let here: Cpus = cores.iter().copied().flatten().copied().collect();
                let is_part = !cpus.is_subset(&here);
                let size = l3.size_bytes.map(number::bytes).unwrap_or_default();
                format!("{} {size}", if is_part { "part of L3" } else { "L3" })
            }
            _ => "L3 unknown".to_owned(),
        };
        BoxGroup {
            label: label.trim().to_owned(),
            details: vec![count],
            nests: Vec::new(),
            tiles: self.tiles(cores, detail),
        }
    }

    fn tiles(&self, cores: &[&Cpus], detail: Detail) -> Vec<Leaf> {
        if detail == Detail::Group {
            return vec![self.tile(cores, detail)];
        }
        let states = |core: &Cpus| -> Vec<&State> {
            core.iter().filter_map(|cpu| self.states.get(cpu)).collect()
        };
        let is_alike = |a: &&Cpus, b: &&Cpus| {
            let is_one_kind = self.kind(a) == self.kind(b);
            detail == Detail::Alike && is_one_kind && states(a) == states(b)
        };
        cores.chunk_by(is_alike).map(|alike| self.tile(alike, detail)).collect()
    }

    /// Draws cores as one tile. The n-th part of the tile represents the n-th threads of all these
    /// cores.
    fn tile(&self, cores: &[&Cpus], detail: Detail) -> Leaf {
        let threads = cores.iter().map(|core| core.len()).max().unwrap_or(0);
        let of_thread = |rank: usize| -> Cpus {
            cores.iter().filter_map(|core| core.iter().nth(rank).copied()).collect()
        };
        let kind = match self.kind(cores[0]) {
            Some("efficiency") => Some("slow"),
            Some(_) => Some("fast"),
            None => None,
        };
        // Colours can repeat, so a tile that may contain several cores names their users.
        let all: Cpus = cores.iter().copied().flatten().copied().collect();
        let users = self.users(&all).filter(|_| detail != Detail::Core);
        let label: Vec<&str> = users.as_deref().into_iter().chain(kind).collect();
        Leaf {
            label: label.join(", "),
            parts: (0..threads).map(|rank| self.part(&of_thread(rank))).collect(),
        }
    }

    fn part(&self, cpus: &Cpus) -> Part {
        let states = || cpus.iter().filter_map(|cpu| self.states.get(cpu));
        let owners: BTreeSet<usize> = states().flat_map(|one| &one.owners).copied().collect();
        let mut looks: Vec<Style> = owners.into_iter().map(Style::Owner).collect();
        if looks.is_empty() && states().all(|one| one.is_closed) {
            looks.push(Style::Closed);
        }
        if states().any(|one| one.is_client) {
            looks.push(Style::Marked);
        }
        let all = list(cpus);
        let label = match all.char_indices().nth(LIST_MAX) {
            Some((end, _)) => format!("{}…", &all[..end]),
            None => all.clone(),
        };
        let users = self.users(cpus).map(|who| format!(": {who}"));
        Part {
            hint: format!("CPU {all}{}", users.unwrap_or_default()),
            label,
            looks,
        }
    }

    /// Returns the names of the processes that may run on some of these CPUs. Without such a
    /// process, returns `closed` if no host may use the CPUs, and otherwise `free`. Returns `None`
    /// if a host may use the CPUs, but the run recorded no placement on the machine.
    fn users(&self, cpus: &Cpus) -> Option<String> {
        let mine = self.placed.iter().filter(|one| !one.cpus.is_disjoint(cpus));
        let users: Vec<&str> = mine.map(|one| one.record.who.as_str()).collect();
        if !users.is_empty() {
            return Some(few(&users));
        }
        if cpus.is_disjoint(&self.seen.allowed) {
            return Some("closed".to_owned());
        }
        (!self.placed.is_empty()).then(|| "free".to_owned())
    }

    fn kind(&self, core: &Cpus) -> Option<&str> {
        let mut kinds = self.seen.record.kinds.iter();
        let first = *core.first()?;
        let of_core = kinds.find(|(_, cpus)| numbers_of(cpus).contains(&first));
        of_core.map(|(kind, _)| kind.as_str())
    }

    fn legend(&self, nests: &[BoxGroup]) -> Vec<(Style, String)> {
        let mut legend = Vec::new();
        for one in self.placed {
            let cpus = format!("{}: {}", one.record.who, describe_cpus(&one.cpus));
            let color = self.colors.get(one.record.who.as_str());
            match (one.record.is_client(), color) {
                _ if one.cpus.is_empty() => {}
                (true, _) => legend.push((Style::Marked, cpus)),
                (false, Some(color)) => legend.push((Style::Owner(*color), cpus)),
                (false, None) => {}
            }
        }
        let parts = parts(nests);
        let looks = || parts.iter().map(|part| &part.looks);
        if looks().any(|looks| owners(looks) > 3) {
            legend.push((Style::Many, "more than three nodes".into()));
        }
        if looks().any(Vec::is_empty) && !self.placed.is_empty() {
            legend.push((Style::Free, "free".into()));
        }
        if looks().any(|looks| looks.contains(&Style::Closed)) {
            legend.push((Style::Closed, "closed".into()));
        }
        legend
    }

    fn in_words(&self) -> String {
        let mut words = vec![summary(self.seen)];
        for one in self.placed.iter().filter(|one| !one.cpus.is_empty()) {
            let who = if one.record.is_client() {
                "The client"
            } else {
                one.record.who.as_str()
            };
            words.push(format!("{who} may run on {}.", describe_cpus(&one.cpus)));
        }
        words.join(" ")
    }
}

fn parts(nests: &[BoxGroup]) -> Vec<&Part> {
    let mut all = Vec::new();
    for nest in nests {
        all.extend(nest.tiles.iter().flat_map(|tile| &tile.parts));
        all.extend(parts(&nest.nests));
    }
    all
}

fn owners(looks: &[Style]) -> usize {
    let is_owner = |look: &&Style| matches!(look, Style::Owner(_));
    looks.iter().filter(is_owner).count()
}

fn few(names: &[&str]) -> String {
    let shown = names[..names.len().min(NAMES_MAX)].join(", ");
    match names.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Returns a sentence on the machine's packages, NUMA nodes, L3 caches, cores, CPUs and memory. The
/// sentence states the number of dies only if a package has several.
pub fn summary(seen: &MachineView<'_>) -> String {
    let record = seen.record;
    let of = |count: usize, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{} {many}", number::count(count as u64)),
    };
    let cpus: usize = seen.cores.iter().map(Cpus::len).sum();
    let mut parts = vec![of(record.packages.len(), "package", "packages")];
    if record.dies.len() > record.packages.len() {
        parts.push(of(record.dies.len(), "die", "dies"));
    }
    parts.push(of(record.numa_nodes.len(), "NUMA node", "NUMA nodes"));
    parts.push(match seen.l3.len() {
        0 => "no known L3 cache".to_owned(),
        count => of(count, "L3 cache", "L3 caches"),
    });
    parts.push(of(seen.cores.len(), "core", "cores"));
    parts.push(of(cpus, "CPU", "CPUs"));
    let memory: Vec<u64> = record.numa_nodes.iter().filter_map(|one| one.memory_bytes).collect();
    if !memory.is_empty() {
        let all = memory.iter().fold(0, |sum: u64, one| sum.saturating_add(*one));
        parts.push(format!("{} of memory", number::bytes(all)));
    }
    format!("{}.", parts.join(", "))
}
