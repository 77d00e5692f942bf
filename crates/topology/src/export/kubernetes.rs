//! Writes the configuration of a node's kubelet, and a Guaranteed pod for each instance.
//!
//! A pod cannot name CPUs. Its annotations contain the CPUs of the plan, and `kubelet_order`
//! predicts the CPUs that the kubelet would assign to it. The configuration meets the kubelet's
//! conditions. The reserved memory of the nodes adds up to the reserves plus the eviction
//! threshold. The numbers of CPUs are integers and equal the limits. If the kubelet allocates only
//! whole cores, the pods have whole cores.

use yaml::{Diagnostics, Limits, SourceText};

use super::escapes::{self, json, wrong};
use super::placement::housekeeping;
use super::{ExportError, Placement, Source, cells, header, systemd};
use crate::cpuset::CpuSet;
use crate::error::ReadError;
use crate::plan::Instance;

/// Amount of free memory below which the kubelet evicts pods by default, in bytes.
const EVICTION_BYTES: u64 = 100 << 20;

/// Largest number of NUMA nodes that the kubelet accepts without an option.
const NODES_DEFAULT_MAX: usize = 8;

const LIMITS: Limits = Limits {
    what: "Kubernetes file",
    example: None,
    text_bytes_max: 1 << 20,
    aliases: false,
    last_wins: false,
};

pub fn write_kubelet(source: &Source) -> Result<String, ExportError> {
    let reserved = housekeeping(source.plan);
    if reserved.is_empty() {
        return Err(ExportError::new(
            "every CPU belongs to an instance, but a kubelet with static CPUs needs at least one \
             CPU for itself",
            "plan with housekeeping, or with fewer vCPUs",
        ));
    }
    let nodes = &source.machine.nodes;
    let policy = if source.plan.instances.iter().all(|one| cells::memory_nodes(one).len() <= 1) {
        "single-numa-node"
    } else {
        "restricted"
    };
    let mut out = format!("# {}\n", header(source, None));
    out += "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
    out += "# a change needs a drained node and the removal of cpu_manager_state\n";
    out += "cpuManagerPolicy: static\ncpuManagerPolicyOptions:\n";
    if has_whole_cores(source) {
        out += "  full-pcpus-only: \"true\"\n";
    }
    out += "  prefer-align-cpus-by-uncorecache: \"true\"\n  strict-cpu-reservation: \"true\"\n";
    out += &format!("topologyManagerPolicy: {policy}\ntopologyManagerScope: pod\n");
    out += "topologyManagerPolicyOptions:\n  prefer-closest-numa-nodes: \"true\"\n";
    if nodes.len() > NODES_DEFAULT_MAX {
        out += &format!("  max-allowable-numa-nodes: \"{}\"\n", nodes.len());
    }
    out += &format!("reservedSystemCPUs: \"{reserved}\"\n");
    out += &memory(source);
    Ok(out)
}

/// Returns true if every instance has all threads of each of its cores.
pub fn has_whole_cores(source: &Source) -> bool {
    let threads = source.machine.threads_per_core().max(1) as usize;
    let is_whole = |instance: &Instance| {
        let cpus = cells::cpus(instance);
        let own = source.machine.cpus_of(&instance.cores);
        own == cpus && cpus.len().is_multiple_of(threads)
    };
    source.plan.instances.iter().all(is_whole)
}

/// Writes the settings of the memory manager. The reserved memory of the nodes is the sum of the
/// reserves for the kubelet and the system, plus the eviction threshold.
fn memory(source: &Source) -> String {
    let has_memory = |bytes: Option<u64>| bytes.is_some_and(|bytes| bytes > 0);
    let nodes = source.machine.nodes.iter().filter(|node| has_memory(node.memory_bytes));
    let mut nodes: Vec<u32> = nodes.map(|node| node.os).collect();
    if nodes.is_empty() {
        nodes.extend(source.machine.nodes.iter().map(|node| node.os).take(1));
    }
    let each = source.options.reserved_memory_bytes.max(2 * EVICTION_BYTES);
    let all = each.saturating_mul(nodes.len() as u64);
    let (system, kube) = (
        (all - EVICTION_BYTES) / 2,
        (all - EVICTION_BYTES).div_ceil(2),
    );
    let mut out = "memoryManagerPolicy: Static\n".to_owned();
    out += "# reservedMemory is the sum of the two reserves and of memory.available\n";
    out += &format!("kubeReserved:\n  memory: \"{kube}\"\n");
    out += &format!("systemReserved:\n  memory: \"{system}\"\n");
    out += &format!("evictionHard:\n  memory.available: \"{EVICTION_BYTES}\"\n");
    out +=
        "  nodefs.available: \"10%\"\n  nodefs.inodesFree: \"5%\"\n  imagefs.available: \"15%\"\n";
    out += "reservedMemory:\n";
    for node in nodes {
        out += &format!("- numaNode: {node}\n  limits:\n    memory: \"{each}\"\n");
    }
    out
}

pub fn write_pod(source: &Source, instance: &Instance) -> Result<String, ExportError> {
    let Some(bytes) = instance.memory_bytes.filter(|&bytes| bytes > 0) else {
        return Err(ExportError::new(
            format!(
                "instance {} has no memory size, but a Guaranteed pod requires one",
                instance.index
            ),
            "plan with a memory size",
        ));
    };
    let host = escapes::dns_name(&source.plan.wish.host);
    let node = json(&escapes::file_name(
        &source.plan.wish.host.to_ascii_lowercase(),
    ));
    let in_order: Vec<String> = instance.cpus.iter().map(u32::to_string).collect();
    let nodes = cells::memory_nodes(instance);
    // Kubernetes would expand `$(NAME)` to the value of another variable, and it replaces `$$` by a
    // dollar sign.
    let options = escapes::options(instance).join(" ").replace('$', "$$");
    let size = format!(
        "cpu: \"{}\"\n        memory: \"{bytes}\"\n",
        instance.cpus.len()
    );
    let mut out = format!("# {}\n", header(source, Some(instance)));
    out += "# the kubelet chooses its CPUs; the annotations come from the plan\n";
    out += &format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {host}-{}\n",
        instance.index
    );
    out += "  annotations:\n";
    out += &format!("    cassay-cpus: \"{}\"\n", in_order.join(","));
    out += &format!("    cassay-nodes: \"{nodes}\"\n");
    out += &format!("    cassay-rack: {}\n", json(&source.plan.rack));
    out += &format!("spec:\n  nodeSelector:\n    kubernetes.io/hostname: {node}\n");
    out += "  containers:\n  - name: cassandra\n";
    out += &format!("    image: {}\n", json(&source.options.image));
    out += "    env:\n    - name: JVM_EXTRA_OPTS\n";
    out += &format!("      value: {}\n", json(&options));
    out += &format!("    resources:\n      requests:\n        {size}      limits:\n        {size}");
    Ok(out)
}

fn parse(text: &str) -> Result<yaml::Node, ReadError> {
    let source = SourceText {
        name: "YAML".to_owned(),
        text: text.to_owned(),
    };
    let mut diagnostics = Diagnostics::new(vec![source]);
    let root = yaml::parse(0, text, LIMITS, &mut diagnostics);
    let first = diagnostics.list.first();
    match (root, first) {
        (Some(root), None) => Ok(root),
        (_, Some(mistake)) => Err(wrong("YAML", mistake.message.clone())),
        (None, None) => Err(wrong("YAML", "the file is empty")),
    }
}

fn set(text: &str) -> Result<CpuSet, ReadError> {
    CpuSet::parse_list(text).map_err(|what| wrong("YAML", what))
}

pub fn read_kubelet(text: &str) -> Result<Placement, ReadError> {
    let root = parse(text)?;
    let reserved = root
        .find("reservedSystemCPUs")
        .and_then(|node| node.text())
        .ok_or_else(|| wrong("YAML", "the file sets no reservedSystemCPUs"))?;
    Ok(Placement {
        reserved: Some(set(reserved)?),
        ..Placement::default()
    })
}

pub fn read_pod(text: &str) -> Result<Placement, ReadError> {
    let root = parse(text)?;
    let annotation = |name: &str| root.find(&format!("metadata.annotations.{name}"))?.text();
    let cpus = annotation("cassay-cpus")
        .map(|list| {
            let cpus = list.split(',').map(|cpu| cpu.parse::<u32>());
            cpus.collect::<Result<Vec<u32>, _>>()
        })
        .transpose()
        .map_err(|_| wrong("YAML", "the annotation cassay-cpus is not a list of CPUs"))?;
    let container = match root.find("spec.containers").map(|node| &node.raw) {
        Some(yaml::Raw::List(containers)) => containers.first(),
        _ => None,
    };
    let container = container.ok_or_else(|| wrong("YAML", "the pod has no container"))?;
    let number = |path: &str| container.find(path)?.text()?.parse::<u64>().ok();
    let memory_bytes = container
        .find("resources.limits.memory")
        .and_then(|node| quantity(node.text()?));
    let is_guaranteed = |cpus: &Vec<u32>| {
        number("resources.limits.cpu") == Some(cpus.len() as u64)
            && number("resources.requests.cpu") == number("resources.limits.cpu")
            && number("resources.requests.memory") == memory_bytes
    };
    // The kubelet chooses the CPUs of an ordinary pod.
    if !cpus.as_ref().is_none_or(is_guaranteed) {
        return Err(wrong(
            "YAML",
            "the pod is not Guaranteed, or its size differs from that of the plan",
        ));
    }
    Ok(Placement {
        memory_nodes: annotation("cassay-nodes").map(set).transpose()?,
        rack: annotation("cassay-rack").map(str::to_owned),
        jvm: options_of(container),
        cpus,
        memory_bytes,
        ..Placement::default()
    })
}

/// Converts an amount of memory in the format of Kubernetes (`8Gi`, `512M`, `1073741824`) to bytes.
fn quantity(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let units = [
        ("", 1),
        ("k", 1000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
        ("T", 1_000_000_000_000),
        ("Ki", 1 << 10),
        ("Mi", 1 << 20),
        ("Gi", 1 << 30),
        ("Ti", 1 << 40),
    ];
    let (_, scale) = units.into_iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(scale)
}

/// Returns the JVM options in the container's environment.
fn options_of(container: &yaml::Node) -> Option<Vec<String>> {
    let yaml::Raw::List(variables) = &container.find("env")?.raw else {
        return None;
    };
    let is_ours = |node: &&yaml::Node| {
        node.find("name").and_then(|name| name.text()) == Some("JVM_EXTRA_OPTS")
    };
    let value = variables.iter().find(is_ours)?.find("value")?.text()?;
    Some(systemd::words_of(&value.replace("$$", "$")))
}
