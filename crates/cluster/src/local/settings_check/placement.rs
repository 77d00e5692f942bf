//! Verifies the placement of nodes by the kernel's report on the CPUs of every thread and the NUMA
//! nodes of the memory, and by the CPU count of the JVM.

use crate::local::Nodes;
use crate::local::node_process::LocalNode;
use crate::local::placement::Placement;
use anyhow::{Context, Result};
use cassandra::settings::node_report::{JVM, NO_AGENT, NodeReport};
use cassandra::{Effect, Proof};
use host::{EffectiveAffinity, Memory};
use std::collections::BTreeMap;
use topology::CpuSet;

const STATUS: &str = "/proc/PID/task/*/status";
const MAPS: &str = "/proc/PID/numa_maps";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePlace {
    pub node: String,
    pub host: String,
    /// The kernel's report.
    pub found: EffectiveAffinity,
}

impl Nodes {
    pub(in crate::local) fn places(&self) -> Result<Vec<NodePlace>> {
        let running = self.all().iter().filter(|node| node.process.is_some());
        running.map(place).collect()
    }
}

/// Returns the CPUs and memory location of a node from the kernel.
///
/// # Errors
/// The node does not run, or its kernel cannot be queried.
pub(super) fn place(node: &LocalNode) -> Result<NodePlace> {
    let name = &node.layout.name;
    let process = node.process.with_context(|| format!("{name} is not running"))?;
    let found = node.host.whereabouts(process);
    Ok(NodePlace {
        node: name.clone(),
        host: node.layout.host.clone(),
        found: found.with_context(|| format!("get the placement of {name}"))?,
    })
}

/// Compares the requested placement with the kernel's report.
pub(super) fn proofs(placement: &Placement, place: &NodePlace) -> Vec<Proof> {
    placement_proofs(placement, &place.found, &place.node)
}

fn placement_proofs(placement: &Placement, found: &EffectiveAffinity, node: &str) -> Vec<Proof> {
    let proof = |key: &str, wanted: String, effect: Effect, source| Proof {
        node: node.to_owned(),
        key: key.to_owned(),
        wanted,
        effect,
        source,
    };
    let mut proofs = Vec::new();
    if let Some(cpus) = &placement.confinement.cpus {
        let judged = judged(&found.cpus, cpus);
        let effect = Effect::from_comparison(Some(judged), "");
        proofs.push(proof("topology cpus", cpus.to_string(), effect, STATUS));
    }
    match &placement.confinement.memory {
        Memory::Anywhere if placement.reaches.is_empty() => {}
        Memory::Anywhere => {
            let wanted = format!("nodes {}", placement.reaches);
            let judged = reached(&found.memory_nodes, &placement.reaches);
            let effect = Effect::from_comparison(
                judged,
                "the kernel does not report the NUMA nodes of threads",
            );
            proofs.push(proof("topology memory", wanted, effect, STATUS));
        }
        Memory::Bound(nodes) => {
            let why = "the control group of the node does not set the NUMA nodes, and this kernel \
                       has no numa_maps to show a policy";
            let effect = Effect::from_comparison(bound(found, nodes), why);
            proofs.push(proof(
                "topology memory",
                format!("nodes {nodes}"),
                effect,
                STATUS,
            ));
        }
        Memory::Interleaved(nodes) => {
            let wanted = format!("interleave:{nodes}");
            let told = !found.policy_bytes.is_empty();
            let bytes = found.policy_bytes.get(&wanted).copied().unwrap_or(0);
            let all: u64 = found.policy_bytes.values().sum();
            // Mapped files keep the memory policy of the file, so more than half of the memory
            // suffices.
            let shown = format!("{wanted} for {} of {} MiB", bytes >> 20, all >> 20);
            let judged = told.then_some((shown, bytes * 2 > all));
            let effect = Effect::from_comparison(
                judged,
                "this kernel has no numa_maps to show the memory policy",
            );
            proofs.push(proof("topology memory", wanted, effect, MAPS));
        }
    }
    proofs
}

/// Describes the NUMA nodes that the threads may use. The flag is true if every thread may use all
/// `wanted` NUMA nodes. The kernel may report more NUMA nodes than the machine has.
fn reached(found: &BTreeMap<CpuSet, usize>, wanted: &CpuSet) -> Option<(String, bool)> {
    let (shown, _) = judged(found, wanted);
    let holds = found.keys().all(|nodes| wanted.is_subset(nodes));
    (!found.is_empty()).then_some((shown, holds))
}

/// Describes the CPUs or NUMA nodes of all threads. The flag is true if each thread has exactly
/// `wanted`.
fn judged(found: &BTreeMap<CpuSet, usize>, wanted: &CpuSet) -> (String, bool) {
    let counted = |(cpus, threads): (&CpuSet, &usize)| match threads {
        1 => format!("{cpus} for 1 thread"),
        _ => format!("{cpus} for {threads} threads"),
    };
    let words: Vec<String> = found.iter().map(counted).collect();
    (words.join(", "), found.keys().eq([wanted]))
}

/// Checks that the cgroup or the memory policy restricts new memory to `nodes`, and that at most a
/// fifth of the memory is elsewhere. Returns `None` if neither restriction is visible.
fn bound(found: &EffectiveAffinity, nodes: &CpuSet) -> Option<(String, bool)> {
    let (mut shown, by_group) = judged(&found.memory_nodes, nodes);
    if !by_group && found.policy_bytes.is_empty() {
        return None;
    }
    let policy = format!("bind:{nodes}");
    let by_policy = found.policy_bytes.contains_key(&policy);
    if by_policy {
        shown = format!("{shown}; {policy}");
    }
    let beyond: u64 = found
        .resident_bytes
        .iter()
        .filter(|(node, _)| !nodes.contains(**node))
        .map(|(_, bytes)| bytes)
        .sum();
    let all: u64 = found.resident_bytes.values().sum();
    if beyond > 0 {
        // Pages of shared files remain on the NUMA node of the process that read them first.
        shown = format!(
            "{shown}; {} of {} MiB are on other NUMA nodes",
            beyond >> 20,
            all >> 20
        );
    }
    Some((shown, (by_group || by_policy) && beyond * 5 <= all))
}

pub(super) fn placed_proofs(
    report: &NodeReport,
    placement: &Placement,
    options: &[String],
    node: &str,
) -> Vec<Proof> {
    let facts = report.jvm.as_ref().map(|jvm| &jvm.facts);
    let counted = facts.and_then(|facts| facts.get("processors")).cloned();
    let is_set = |option: &String| option.starts_with("-XX:ActiveProcessorCount=");
    let wanted = placement.processors.to_string();
    let mut proofs = Vec::new();
    // The study's own option takes precedence over the derived value.
    if !options.iter().any(is_set) {
        let holds = counted.as_ref() == Some(&wanted);
        let why = facts.map_or(NO_AGENT, |_| "the JVM does not report this number");
        proofs.push(Proof {
            node: node.to_owned(),
            key: "topology processors".to_owned(),
            effect: Effect::from_comparison(counted.map(|counted| (counted, holds)), why),
            wanted,
            source: JVM,
        });
    }
    let key = |option: &str| report.option(option, node).key;
    let is_own = |option: &&String| {
        let mut all = options.iter();
        all.any(|other| key(other) == key(option))
    };
    let ours = placement.options.iter().filter(|option| !is_own(option));
    proofs.extend(ours.map(|option| report.option(option, node)));
    proofs
}

#[cfg(test)]
mod tests {
    use super::super::report_of_test::{brief, report};
    use super::*;
    use host::Confinement;

    fn set(list: &str) -> CpuSet {
        CpuSet::parse_list(list).unwrap()
    }

    fn placement(cpus: &str, memory: Memory) -> Placement {
        Placement {
            confinement: Confinement {
                name: "node1".to_owned(),
                cpus: Some(set(cpus)),
                memory,
            },
            options: vec!["-ea".to_owned()],
            reaches: CpuSet::default(),
            processors: set(cpus).len() as u32,
        }
    }

    #[test]
    fn one_thread_that_may_run_elsewhere_is_seen() {
        let wanted = placement("0-1", Memory::Anywhere);
        let mut found = EffectiveAffinity {
            threads: 40,
            cpus: [(set("0-1"), 40)].into(),
            memory_nodes: [(set("0"), 40)].into(),
            ..EffectiveAffinity::default()
        };
        assert_eq!(
            brief(&placement_proofs(&wanted, &found, "node1")),
            ["topology cpus: 0-1 for 40 threads yes"]
        );
        found.cpus.insert(set("0-3"), 1);
        assert_eq!(
            brief(&placement_proofs(&wanted, &found, "node1")),
            ["topology cpus: 0-1 for 40 threads, 0-3 for 1 thread no"]
        );
    }

    #[test]
    fn memory_is_bound_by_a_cgroup_or_policy_and_by_real_pages() {
        let wanted = placement("0", Memory::Bound(set("1")));
        let found = |nodes: &str, policy: &str, elsewhere: u64| EffectiveAffinity {
            threads: 1,
            cpus: [(set("0"), 1)].into(),
            memory_nodes: [(set(nodes), 1)].into(),
            resident_bytes: [(1, 900 << 20), (0, elsewhere << 20)].into(),
            policy_bytes: [(policy.to_owned(), 900 << 20)].into(),
        };
        let last = |found: &EffectiveAffinity| {
            brief(&placement_proofs(&wanted, found, "node1")).pop().unwrap()
        };
        assert!(last(&found("1", "default", 0)).ends_with("yes"));
        assert!(
            last(&found("0-1", "bind:1", 30))
                .ends_with("30 of 930 MiB are on other NUMA nodes yes")
        );
        assert!(last(&found("0-1", "default", 0)).ends_with("no"));
        assert!(last(&found("1", "default", 400)).ends_with("no"));
        let unknown = |nodes: &str| EffectiveAffinity {
            policy_bytes: BTreeMap::new(),
            ..found(nodes, "", 0)
        };
        assert!(
            last(&unknown("1")).ends_with("yes"),
            "the control group sets the NUMA nodes"
        );
        assert!(
            last(&unknown("0-1")).ends_with('?'),
            "the position is unknown"
        );
        let wanted = placement("0", Memory::Interleaved(set("0-1")));
        let last = |found: &EffectiveAffinity| {
            brief(&placement_proofs(&wanted, found, "node1")).pop().unwrap()
        };
        assert!(last(&found("0-1", "interleave:0-1", 0)).ends_with("yes"));
        assert!(last(&found("0-1", "default", 0)).ends_with("no"));
        assert!(last(&EffectiveAffinity::default()).ends_with('?'));
    }

    /// A cgroup could still be bound from an earlier start.
    #[test]
    fn a_node_with_memory_anywhere_must_reach_all_numa_nodes() {
        let mut wanted = placement("0", Memory::Anywhere);
        wanted.reaches = set("0-1");
        let last = |nodes: &str| {
            let found = EffectiveAffinity {
                cpus: [(set("0"), 1)].into(),
                memory_nodes: [(set(nodes), 1)].into(),
                ..EffectiveAffinity::default()
            };
            brief(&placement_proofs(&wanted, &found, "node1")).pop().unwrap()
        };
        assert_eq!(last("0-1"), "topology memory: 0-1 for 1 thread yes");
        assert!(last("0-7").ends_with("yes"));
        assert!(last("1").ends_with("no"));
    }

    #[test]
    fn the_jvm_counts_its_cpus_unless_the_study_gives_a_number() {
        let wanted = placement("0", Memory::Anywhere);
        let one = report(&[("processors", "1")]);
        let brief_of = |seen: &NodeReport, options: &[String]| {
            brief(&placed_proofs(seen, &wanted, options, "node1"))
        };
        assert_eq!(
            brief_of(&one, &[]),
            ["topology processors: 1 yes", "-ea: given yes"]
        );
        let two = report(&[("processors", "2")]);
        assert_eq!(brief_of(&two, &[])[0], "topology processors: 2 no");
        let own = ["-XX:ActiveProcessorCount=2", "-ea"].map(str::to_owned);
        assert_eq!(brief_of(&two, &own), Vec::<String>::new());
    }
}
