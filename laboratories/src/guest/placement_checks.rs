//! Checks plans that cassay has made in a guest. All functions are pure.

use super::facts::{numbers, objects};
use super::shape::{Numbers, Shape, Wish, Within, list};
use anyhow::{Result, ensure};
use serde_json::Value;

/// Returns the arguments with which `cassay topology` plans a request.
pub fn arguments(wish: &Wish) -> String {
    let (instances, vcpus, memory) = (wish.instances, wish.vcpus, wish.memory_mib);
    format!("plan --json --instances {instances} --vcpus {vcpus} --memory {memory}MiB")
}

/// Returns the CPUs of each instance, in the order of its vCPUs.
pub fn cpus(said: &Value) -> Result<Vec<Vec<u32>>> {
    let instances = objects(&said["plan"], "instances")?.iter();
    instances.map(|instance| numbers(instance, "cpus")).collect()
}

/// Returns the faults of the plan for a request, as sentences.
pub fn faults(shape: &Shape, wish: &Wish, said: &Value) -> Result<Vec<String>> {
    let plan = &said["plan"];
    let instances = objects(plan, "instances")?;
    let mut faults = Vec::new();
    let mut given = Numbers::new();
    if instances.len() != wish.instances as usize {
        faults.push(format!(
            "{} instances instead of {}",
            instances.len(),
            wish.instances
        ));
    }
    let cores = shape.parts(shape.cores_possible());
    for (index, instance) in instances.iter().enumerate() {
        let cpus: Numbers = numbers(instance, "cpus")?.into_iter().collect();
        let mut fault = |what: String| {
            faults.push(format!(
                "instance {index} with CPUs {}: {what}",
                list(&cpus)
            ));
        };
        if cpus.len() != wish.vcpus as usize {
            fault(format!("it should have {} CPUs", wish.vcpus));
        }
        let shared =
            cores.iter().find(|core| !core.is_disjoint(&cpus) && !core.is_disjoint(&given));
        if let Some(core) = shared {
            fault(format!(
                "another instance has a part of its core with CPUs {}",
                list(core)
            ));
        }
        given.extend(&cpus);
        let homes = homes(shape, wish.within);
        let Some((nodes, _)) = homes.iter().find(|(_, home)| cpus.is_subset(home)) else {
            fault(format!("it should be within one {:?}", wish.within));
            continue;
        };
        if let Some(fault_of_memory) = memory_fault(shape, instance, nodes)? {
            fault(fault_of_memory);
        }
    }
    Ok(faults)
}

/// Divides the machine into parts of this kind. Returns the online CPUs and the nodes of each part.
fn homes(shape: &Shape, within: Within) -> Vec<(Numbers, Numbers)> {
    let parts = match within {
        Within::Node => shape.nodes_online().map(|node| shape.node_cpus(node)).collect(),
        Within::L3 => shape.parts(shape.sockets * shape.dies),
        Within::Package => shape.parts(shape.sockets),
    };
    let nodes = |cpus: &Numbers| {
        let nodes = shape.nodes_online();
        nodes.filter(|&node| !shape.node_cpus(node).is_disjoint(cpus)).collect()
    };
    parts.into_iter().map(|cpus| (nodes(&cpus), cpus)).collect()
}

/// Checks that the memory comes from the nodes of the part, unless these nodes have no memory.
fn memory_fault(shape: &Shape, instance: &Value, nodes: &Numbers) -> Result<Option<String>> {
    let own: Numbers = numbers(instance, "nodes")?.into_iter().collect();
    if !own.is_subset(nodes) {
        return Ok(Some(format!("the plan states nodes {}", list(&own))));
    }
    let mut from = Numbers::new();
    for part in objects(instance, "memory")? {
        let bytes = part["bytes"].as_u64().unwrap_or(0);
        from.extend((bytes > 0).then(|| super::facts::number(part, "node")).transpose()?);
    }
    let has_memory = |&node: &u32| shape.nodes[node as usize].memory_mib > 0;
    ensure!(!from.is_empty(), "an instance has no memory");
    let is_far = !from.is_subset(nodes) && nodes.iter().any(has_memory);
    Ok(is_far.then(|| format!("its memory is from nodes {}", list(&from))))
}

#[cfg(test)]
mod tests {
    use super::super::shape::SHAPES;
    use super::*;
    use serde_json::json;

    fn faults_of(instances: &[(&[u32], u32)]) -> Vec<String> {
        let shape = SHAPES.iter().find(|shape| shape.name == "offline").unwrap();
        let wish = Wish {
            instances: 2,
            vcpus: 2,
            memory_mib: 64,
            within: Within::Node,
        };
        let one = |&(cpus, node): &(&[u32], u32)| {
            let memory = [json!({"node": node, "bytes": 1})];
            json!({"cpus": cpus, "nodes": [node], "memory": memory})
        };
        let instances: Vec<Value> = instances.iter().map(one).collect();
        faults(shape, &wish, &json!({"plan": {"instances": instances}})).unwrap()
    }

    #[test]
    fn a_plan_may_do_nothing_that_the_guest_has_not() {
        assert!(faults_of(&[(&[0, 1], 0), (&[8, 9], 1)]).is_empty());
        for (instances, told) in [
            (&[(&[0, 1][..], 0)][..], "1 instances instead of 2"),
            (
                &[(&[0, 1], 0), (&[0, 1], 0)],
                "another instance has a part of its core with CPUs 0-1",
            ),
            (
                &[(&[8, 10], 1), (&[9, 11], 1)],
                "another instance has a part of its core with CPUs 8-9",
            ),
            (
                &[(&[0, 1], 0), (&[6, 7], 0)],
                "it should be within one Node",
            ),
            (
                &[(&[0, 1], 0), (&[2, 8], 0)],
                "it should be within one Node",
            ),
            (
                &[(&[0, 1], 0), (&[8, 9, 10, 11], 1)],
                "it should have 2 CPUs",
            ),
            (&[(&[0, 1], 0), (&[8, 9], 0)], "the plan states nodes 0"),
        ] {
            let faults = faults_of(instances);
            assert!(
                faults.iter().any(|fault| fault.contains(told)),
                "{told}: {faults:?}"
            );
        }
    }
}
