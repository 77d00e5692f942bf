//! Compares the configuration of QEMU with the machine that cassay's reader saw. For this, it
//! describes both in the same terms. All functions are pure.

use super::shape::{Numbers, Shape, list};
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// Memory in MiB that may be missing on a node, because the kernel, its tables and the initramfs
/// use it.
const KERNEL_MIB: u64 = 96;

const MIB: u64 = 1 << 20;

/// Description of a machine by OS numbers. Sets of CPUs are ordered by their first CPU.
#[derive(PartialEq, Debug)]
pub struct Facts {
    packages: Vec<Numbers>,
    dies: Vec<Numbers>,
    l3: Vec<Numbers>,
    cores: Vec<Numbers>,
    nodes: BTreeMap<u32, Numbers>,
    side_caches_bytes: BTreeMap<u32, Vec<u64>>,
    distances: BTreeMap<(u32, u32), u32>,
    offline: Numbers,
    allowed: Numbers,
    allowed_nodes: Numbers,
}

impl Facts {
    /// Returns the facts that a reader should find. `confined_to` is the node to which the reader
    /// is confined, if any.
    pub fn expected(shape: &Shape, confined_to: Option<u32>) -> Facts {
        let dies = shape.parts(shape.sockets * shape.dies);
        let packages = shape.parts(shape.sockets);
        let nodes: Vec<u32> = shape.nodes_online().collect();
        let between = nodes.iter().flat_map(|&from| nodes.iter().map(move |&to| (from, to)));
        let distance = |&(from, to): &(u32, u32)| {
            if shape.distances.is_empty() {
                10
            } else {
                shape.distances[from as usize][to as usize]
            }
        };
        let all = shape.online_of(0..shape.cores_present());
        let with_memory = |node: &&u32| shape.nodes[**node as usize].memory_mib > 0;
        let side_caches = |&node: &u32| match shape.nodes[node as usize].side_cache_mib {
            0 => (node, Vec::new()),
            size => (node, vec![size * MIB]),
        };
        Facts {
            l3: dies.clone(),
            dies,
            packages,
            cores: shape.parts(shape.cores_possible()),
            nodes: nodes.iter().map(|&node| (node, shape.node_cpus(node))).collect(),
            side_caches_bytes: nodes.iter().map(side_caches).collect(),
            distances: between.map(|pair| (pair, distance(&pair))).collect(),
            offline: shape.offline.iter().copied().collect(),
            allowed: confined_to.map_or(all, |node| shape.node_cpus(node)),
            allowed_nodes: match confined_to {
                Some(node) => Numbers::from([node]),
                None => nodes.iter().filter(with_memory).copied().collect(),
            },
        }
    }

    /// Returns the same facts, but with the allowed nodes of `other`.
    pub fn with_nodes_of(self, other: &Facts) -> Facts {
        Facts {
            allowed_nodes: other.allowed_nodes.clone(),
            ..self
        }
    }

    /// Parses the JSON of `cassay topology show`.
    pub fn parse(said: &Value) -> Result<Facts> {
        let machine = &said[0]["machine"];
        let pus = objects(machine, "pus")?;
        let os: Vec<u32> = pus.iter().map(|pu| number(pu, "os")).collect::<Result<_>>()?;
        let of_core = |core: &Value| -> Result<Numbers> {
            let pus = numbers(core, "pus")?;
            Ok(pus.iter().filter_map(|&pu| os.get(pu as usize).copied()).collect())
        };
        let cores: Vec<Numbers> =
            objects(machine, "cores")?.iter().map(of_core).collect::<Result<_>>()?;
        let cpus = |part: &Value| -> Result<Numbers> {
            let own = numbers(part, "cores")?;
            let own = own.iter().filter_map(|&core| cores.get(core as usize));
            Ok(own.flatten().copied().collect())
        };
        let parts = |name: &str| -> Result<Vec<Numbers>> {
            let parts = objects(machine, name)?.iter().map(cpus);
            let mut parts: Vec<Numbers> = parts.collect::<Result<_>>()?;
            parts.sort();
            Ok(parts)
        };
        let allowed = pus.iter().zip(&os).filter(|(pu, _)| pu["allowed"] == true);
        let mut facts = Facts {
            packages: parts("packages")?,
            dies: parts("dies")?,
            l3: parts("l3")?,
            nodes: BTreeMap::new(),
            side_caches_bytes: BTreeMap::new(),
            distances: BTreeMap::new(),
            offline: parse_list(
                machine["offline"]
                    .as_str()
                    .context("the guest does not report its offline CPUs")?,
            )?,
            allowed: allowed.map(|(_, &os)| os).collect(),
            allowed_nodes: Numbers::new(),
            cores: cores.clone(),
        };
        facts.cores.sort();
        facts.add_nodes(machine, &cpus)?;
        Ok(facts)
    }

    fn add_nodes(
        &mut self,
        machine: &Value,
        cpus: &impl Fn(&Value) -> Result<Numbers>,
    ) -> Result<()> {
        let nodes = objects(machine, "nodes")?;
        let ids: Vec<u32> = nodes.iter().map(|node| number(node, "os")).collect::<Result<_>>()?;
        let rows = objects(&machine["distances"], "rows")?;
        for ((&from, node), row) in ids.iter().zip(nodes).zip(rows) {
            self.nodes.insert(from, cpus(node)?);
            let caches =
                objects(node, "side_caches_bytes")?.iter().filter_map(Value::as_u64).collect();
            self.side_caches_bytes.insert(from, caches);
            let allowed = (node["allowed"] == true).then_some(from);
            self.allowed_nodes.extend(allowed);
            for (&to, distance) in ids.iter().zip(row.as_array().into_iter().flatten()) {
                let distance = distance.as_u64().context("a distance is not a number")?;
                self.distances.insert((from, to), u32::try_from(distance)?);
            }
        }
        Ok(())
    }

    /// Returns the differences between these expected facts and `seen`, as sentences.
    pub fn differences(&self, seen: &Facts) -> Vec<String> {
        let mut all = Vec::new();
        let mut compare = |what: &str, asked: String, seen: String| {
            if asked != seen {
                all.push(format!(
                    "{what}: the test requested {asked} from QEMU, but cassay read {seen}"
                ));
            }
        };
        let sets = |sets: &[Numbers]| sets.iter().map(list).collect::<Vec<_>>().join(" | ");
        compare("packages", sets(&self.packages), sets(&seen.packages));
        compare("dies", sets(&self.dies), sets(&seen.dies));
        compare("L3 caches", sets(&self.l3), sets(&seen.l3));
        compare("cores", sets(&self.cores), sets(&seen.cores));
        let nodes = |facts: &Facts| {
            let nodes = facts.nodes.iter().map(|(node, cpus)| format!("{node}: {}", list(cpus)));
            nodes.collect::<Vec<_>>().join(" | ")
        };
        compare("nodes", nodes(self), nodes(seen));
        let text = |part: &dyn Debug| format!("{part:?}");
        let (asked, read) = (&self.side_caches_bytes, &seen.side_caches_bytes);
        compare("memory-side caches", text(asked), text(read));
        compare("distances", text(&self.distances), text(&seen.distances));
        compare("offline CPUs", list(&self.offline), list(&seen.offline));
        compare("allowed CPUs", list(&self.allowed), list(&seen.allowed));
        compare(
            "allowed nodes",
            list(&self.allowed_nodes),
            list(&seen.allowed_nodes),
        );
        all
    }
}

/// Returns the differences in the memory of nodes, as sentences. Small differences are tolerated,
/// because the kernel uses some of the memory itself.
pub fn memory_differences(shape: &Shape, said: &Value) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for node in objects(&said[0]["machine"], "nodes")? {
        let (id, bytes) = (number(node, "os")?, node["memory_bytes"].as_u64());
        let asked = shape.nodes.get(id as usize).map_or(0, |node| node.memory_mib);
        let least = asked.saturating_sub(KERNEL_MIB) * MIB;
        if !bytes.is_some_and(|bytes| (least..=asked * MIB).contains(&bytes)) {
            all.push(format!(
                "memory of node {id}: the test requested {asked} MiB from QEMU, but cassay read \
                 {bytes:?} bytes"
            ));
        }
    }
    Ok(all)
}

/// Parses a list in the kernel's format.
pub fn parse_list(text: &str) -> Result<Numbers> {
    let mut all = Numbers::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        all.extend(first.parse::<u32>()?..=last.parse::<u32>()?);
    }
    Ok(all)
}

pub fn objects<'a>(value: &'a Value, name: &str) -> Result<&'a Vec<Value>> {
    value[name]
        .as_array()
        .with_context(|| format!("the guest does not report the list `{name}`"))
}

pub fn number(value: &Value, name: &str) -> Result<u32> {
    let number = value[name]
        .as_u64()
        .with_context(|| format!("the guest does not report the number `{name}`"))?;
    Ok(u32::try_from(number)?)
}

pub fn numbers(value: &Value, name: &str) -> Result<Vec<u32>> {
    let all = objects(value, name)?.iter().map(|one| {
        Ok(u32::try_from(
            one.as_u64().context("the guest does not report a number")?,
        )?)
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::super::shape::SHAPES;
    use super::*;
    use serde_json::json;

    fn shape(name: &str) -> &'static Shape {
        SHAPES.iter().find(|shape| shape.name == name).unwrap()
    }

    fn sets(sets: &[Numbers]) -> String {
        sets.iter().map(list).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn expected_facts_leave_out_offline_and_absent_parts() {
        let offline = Facts::expected(shape("offline"), None);
        assert_eq!(sets(&offline.packages), "0-2,4-5 | 8-15");
        assert_eq!(
            sets(&offline.cores),
            "0-1 | 2 | 4-5 | 8-9 | 10-11 | 12-13 | 14-15"
        );
        assert_eq!(list(&offline.nodes[&2]), "");
        assert_eq!(list(&offline.allowed_nodes), "0-3");
        let gaps = Facts::expected(shape("gaps"), Some(3));
        assert_eq!(sets(&gaps.packages), "0-3 | 6-7 | 8-11");
        assert_eq!(
            gaps.nodes.keys().copied().collect::<Vec<_>>(),
            [0, 1, 2, 3, 5]
        );
        assert_eq!(gaps.distances[&(5, 2)], 64);
        assert_eq!(
            (list(&gaps.allowed), list(&gaps.allowed_nodes)),
            ("8-11".into(), "3".into())
        );
        let eight = Facts::expected(shape("eight"), None);
        assert_eq!(eight.l3.len(), 16);
        assert_eq!(
            (eight.dies.len(), sets(&eight.packages)),
            (16, "0-15 | 16-31".into())
        );
        let interleaved = Facts::expected(shape("interleaved"), None);
        assert_eq!(list(&interleaved.nodes[&1]), "2-3,6-7");
    }

    /// Returns the output of `cassay topology show` for a machine with two cores, each in a
    /// separate node.
    fn output() -> Value {
        json!([{"host": "this machine", "machine": {
            "packages": [{"os": 0, "cores": [0, 1]}],
            "dies": [{"package": 0, "cores": [0, 1]}],
            "nodes": [
                {"os": 0, "cores": [0], "side_caches_bytes": [], "allowed": true},
                {"os": 2, "cores": [1], "side_caches_bytes": [7], "allowed": false},
            ],
            "l3": [{"cores": [0]}, {"cores": [1]}],
            "cores": [{"pus": [0]}, {"pus": [1, 2]}],
            "pus": [{"os": 4, "allowed": true}, {"os": 0, "allowed": true},
                    {"os": 1, "allowed": false}],
            "offline": "2-3",
            "distances": {"rows": [[10, 20], [21, 10]]},
        }}])
    }

    #[test]
    fn facts_are_read_in_numbers_of_the_os() {
        let seen = Facts::parse(&output()).unwrap();
        assert_eq!(sets(&seen.cores), "0-1 | 4");
        assert_eq!(list(&seen.nodes[&2]), "0-1");
        assert_eq!(seen.distances[&(2, 0)], 21);
        assert_eq!(
            (list(&seen.allowed), list(&seen.allowed_nodes)),
            ("0,4".into(), "0".into())
        );
        assert_eq!(list(&seen.offline), "2-3");
    }

    #[test]
    fn a_difference_is_said_with_both_sides() {
        let mut other = output();
        other[0]["machine"]["nodes"][1]["cores"] = json!([]);
        let (one, other) = (
            Facts::parse(&output()).unwrap(),
            Facts::parse(&other).unwrap(),
        );
        let told = "nodes: the test requested 0: 4 | 2: 0-1 from QEMU, but cassay read 0: 4 | 2: ";
        assert_eq!(one.differences(&other), [told]);
        assert!(one.differences(&one).is_empty());
    }
}
