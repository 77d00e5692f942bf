//! Writes the configuration of a node's kubelet, and a Guaranteed pod for each instance.
//!
//! A pod cannot name CPUs. Its annotations contain the CPUs of the plan, and `kubelet_order`
//! predicts the CPUs that the kubelet would assign to the pod. The configuration meets the
//! kubelet's conditions. The reserved memory of the nodes adds up to the reserves plus the eviction
//! threshold. The numbers of CPUs are integers and equal the limits. If the kubelet allocates only
//! whole cores, the pods have whole cores.

use std::collections::BTreeMap;

use yaml::{Diagnostics, Limits, SourceText};

use super::escapes::{self, json, wrong};
use super::placement::housekeeping;
use super::{ExportError, Placement, Source, cells, environment, header};
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

/// Returns the first document of a file for which `is_wanted` returns true. A file of kubeadm or of
/// a manifest contains several documents, with lines `---` between them. If no document fits,
/// returns the error of the first wrong one, or `missing`.
fn document(
    text: &str,
    is_wanted: impl Fn(&yaml::Node) -> bool,
    missing: &str,
) -> Result<yaml::Node, ReadError> {
    let mut documents = vec![String::new()];
    for line in text.split_inclusive('\n') {
        let end = line.trim_end();
        if end == "---" || line.starts_with("--- ") {
            documents.push(String::new());
        } else if let Some(document) = documents.last_mut() {
            document.push_str(line);
        }
    }
    let is_said = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let said = documents.iter().filter(|one| one.lines().any(is_said));
    let mut first_error = None;
    for document in said {
        match parse(document) {
            Ok(root) if is_wanted(&root) => return Ok(root),
            Ok(_) => {}
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.unwrap_or_else(|| wrong("YAML", missing)))
}

pub fn read_kubelet(text: &str) -> Result<Placement, ReadError> {
    let missing = "the file sets no reservedSystemCPUs";
    let root = document(
        text,
        |root| root.find("reservedSystemCPUs").is_some(),
        missing,
    )?;
    let reserved = root
        .find("reservedSystemCPUs")
        .and_then(|node| node.text())
        .ok_or_else(|| wrong("YAML", missing))?;
    let mut placement = Placement {
        reserved: Some(set(reserved)?),
        ..Placement::default()
    };
    for section in [
        "kubeReserved",
        "systemReserved",
        "evictionHard",
        "evictionSoft",
    ] {
        let resources = root.find(section).and_then(yaml::Node::entries).unwrap_or_default();
        for resource in resources {
            let name = resource.key.as_str();
            if name == "cpu" || name.starts_with("memory") {
                let value = resource.value.text().unwrap_or_default();
                placement.ignore(format!("{section}.{name}: {value}"));
            }
        }
    }
    if let Some(yaml::Raw::List(nodes)) = root.find("reservedMemory").map(|node| &node.raw) {
        for node in nodes {
            let text = |path: &str| node.find(path).and_then(|node| node.text()).unwrap_or("?");
            let (number, bytes) = (text("numaNode"), text("limits.memory"));
            placement.ignore(format!("reservedMemory of NUMA node {number}: {bytes}"));
        }
    }
    Ok(placement)
}

/// Paths from the root of a document to a pod, or to the template of the pods of a controller.
const PODS: [&str; 3] = [
    "spec",
    "spec.template.spec",
    "spec.jobTemplate.spec.template.spec",
];

/// Returns the containers of a document, with the path to the pod. Returns `None` if the document
/// has no containers.
fn containers(root: &yaml::Node) -> Option<(&'static str, &[yaml::Node])> {
    PODS.into_iter().find_map(
        |path| match &root.find(&format!("{path}.containers"))?.raw {
            yaml::Raw::List(containers) if !containers.is_empty() => {
                Some((path, containers.as_slice()))
            }
            _ => None,
        },
    )
}

pub fn read_pod(text: &str) -> Result<Placement, ReadError> {
    let missing = "no pod and no template of pods in the file has a container";
    let root = document(text, |root| containers(root).is_some(), missing)?;
    let (path, containers) = containers(&root).ok_or_else(|| wrong("YAML", missing))?;
    let above = path.strip_suffix("spec").unwrap_or_default();
    let annotation = |name: &str| root.find(&format!("{above}metadata.annotations.{name}"))?.text();
    let cpus = annotation("cassay-cpus")
        .map(|list| {
            let cpus = list.split(',').map(|cpu| cpu.parse::<u32>());
            cpus.collect::<Result<Vec<u32>, _>>()
        })
        .transpose()
        .map_err(|_| wrong("YAML", "the annotation cassay-cpus is not a list of CPUs"))?;
    let name =
        |node: &yaml::Node| node.find("name").and_then(|name| name.text()).map(str::to_owned);
    let is_cassandra = |node: &&yaml::Node| name(node).as_deref() == Some("cassandra");
    let container = containers.iter().find(is_cassandra).unwrap_or(&containers[0]);
    let amount = |path: &str| thousandths(container.find(&format!("resources.{path}"))?.text()?);
    let bytes = |path: &str| {
        let bytes = amount(path)?.div_ceil(1000);
        u64::try_from(bytes).ok()
    };
    let memory_bytes = bytes("limits.memory");
    let is_guaranteed = |cpus: &Vec<u32>| {
        amount("limits.cpu") == Some(cpus.len() as u128 * 1000)
            && amount("requests.cpu") == amount("limits.cpu")
            && bytes("requests.memory") == memory_bytes
    };
    // The kubelet chooses the CPUs of an ordinary pod.
    if !cpus.as_ref().is_none_or(is_guaranteed) {
        return Err(wrong(
            "YAML",
            "the pod is not Guaranteed, or its size differs from that of the plan",
        ));
    }
    let mut placement = Placement {
        memory_nodes: annotation("cassay-nodes").map(set).transpose()?,
        rack: annotation("cassay-rack").map(str::to_owned),
        cpus,
        memory_bytes,
        ..Placement::default()
    };
    environment::add(&environment_of(container), &mut placement);
    ignore_resources(container, "", &mut placement);
    for other in containers.iter().filter(|other| !std::ptr::eq(*other, container)) {
        let of = format!(" of container {}", name(other).unwrap_or_default());
        ignore_resources(other, &of, &mut placement);
    }
    Ok(placement)
}

/// Adds to the ignored settings the resources that a placement does not contain. `of` is empty for
/// the container of Cassandra, and a suffix for another container.
fn ignore_resources(container: &yaml::Node, of: &str, placement: &mut Placement) {
    let has_cpus = placement.cpus.is_some() && of.is_empty();
    let bytes = placement.memory_bytes.filter(|_| of.is_empty()).map(u128::from);
    for section in ["limits", "requests"] {
        let path = format!("resources.{section}");
        let resources = container.find(&path).and_then(yaml::Node::entries).unwrap_or_default();
        for resource in resources {
            let name = resource.key.as_str();
            let value = resource.value.text().unwrap_or_default();
            let is_used = match name {
                "cpu" => has_cpus,
                "memory" => {
                    let said = thousandths(value).map(|amount| amount.div_ceil(1000));
                    said.is_some() && said == bytes
                }
                name => !name.starts_with("hugepages"),
            };
            if !is_used {
                placement.ignore(format!("{path}.{name}: {value}{of}"));
            }
        }
    }
}

/// Converts an amount in the format of Kubernetes (`4000m`, `8.5Gi`, `512M`, `1e3`) to thousandths.
/// Rounds up as Kubernetes does. Returns `None` for any other text.
fn thousandths(text: &str) -> Option<u128> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let units = [
        ("m", 1),
        ("", 1000),
        ("k", 1_000_000),
        ("M", 1_000_000_000),
        ("G", 1_000_000_000_000),
        ("T", 1_000_000_000_000_000),
        ("P", 1_000_000_000_000_000_000),
        ("Ki", 1000 << 10),
        ("Mi", 1000 << 20),
        ("Gi", 1000 << 30),
        ("Ti", 1000 << 40),
        ("Pi", 1000 << 50),
    ];
    let scale: u128 = match units.into_iter().find(|(name, _)| *name == unit) {
        Some((_, scale)) => scale,
        None => {
            let power = unit.strip_prefix(['e', 'E'])?.parse::<u32>().ok()?;
            10u128.checked_pow(power)?.checked_mul(1000)?
        }
    };
    // No cluster has 10^18 bytes or CPUs, and no amount needs more than nine decimal places.
    let is_number = whole.len() + fraction.len() > 0 && whole.len() <= 18 && fraction.len() <= 9;
    let digits = format!("{whole}{fraction}");
    let number: u128 = digits.parse().ok().filter(|_| is_number)?;
    let parts = 10u128.pow(fraction.len() as u32);
    Some(number.checked_mul(scale)?.div_ceil(parts))
}

/// Returns the variables in the container's environment. Kubernetes replaces `$$` by `$`.
fn environment_of(container: &yaml::Node) -> BTreeMap<String, String> {
    let variables = match container.find("env").map(|node| &node.raw) {
        Some(yaml::Raw::List(variables)) => variables.as_slice(),
        _ => &[],
    };
    let text = |node: &yaml::Node, key: &str| Some(node.find(key)?.text()?.to_owned());
    let pairs = variables
        .iter()
        .filter_map(|one| Some((text(one, "name")?, text(one, "value")?)));
    pairs.map(|(name, value)| (name, value.replace("$$", "$"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_every_form_of_kubernetes() {
        for (text, thousandth) in [
            ("4", 4000),
            ("4000m", 4000),
            ("0.5", 500),
            ("8.5Gi", 8704 * (1000 << 20)),
            ("1e3", 1_000_000),
            ("1.5k", 1_500_000),
            ("0.0001", 1),
        ] {
            assert_eq!(thousandths(text), Some(thousandth), "{text}");
        }
        for text in [
            "",
            ".",
            "Gi",
            "-1",
            "1x",
            "1e",
            "1.2.3",
            "9999999999999999999",
            "1e99",
        ] {
            assert_eq!(thousandths(text), None, "{text}");
        }
    }

    #[test]
    fn a_kubelet_file_of_several_documents_is_read() {
        let text = "# of kubeadm\n---\nkind: ClusterConfiguration\n---\n\
                    kind: KubeletConfiguration\nreservedSystemCPUs: 0-3\n\
                    kubeReserved: {cpu: 500m, memory: 1Gi, pid: '100'}\n";
        let placed = read_kubelet(text).unwrap();
        assert_eq!(placed.reserved, CpuSet::parse_list("0-3").ok());
        assert_eq!(
            placed.ignored,
            ["kubeReserved.cpu: 500m", "kubeReserved.memory: 1Gi"]
        );
        for text in ["", "---\n---\n", "a: 1\n---\n{", "a: 1"] {
            assert!(read_kubelet(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_pods_of_a_controller_are_read() {
        let text = "\
kind: Service
---
kind: StatefulSet
spec:
  template:
    metadata: {annotations: {cassay-cpus: '2,3'}}
    spec:
      containers:
      - {name: sidecar, resources: {limits: {cpu: 100m}}}
      - name: cassandra
        env: [{name: MAX_HEAP_SIZE, value: 4G}, {name: X, valueFrom: {}}]
        resources:
          limits: {cpu: 2000m, memory: 8.5Gi}
          requests: {cpu: '2', memory: 8704Mi, hugepages-2Mi: 1Gi}
";
        let placed = read_pod(text).unwrap();
        assert_eq!(placed.cpus, Some(vec![2, 3]));
        let bytes = (placed.memory_bytes, placed.heap_bytes);
        assert_eq!(bytes, (Some(8704 << 20), Some(4 << 30)));
        assert_eq!(
            placed.ignored,
            [
                "resources.requests.hugepages-2Mi: 1Gi",
                "resources.limits.cpu: 100m of container sidecar"
            ]
        );
    }
}
