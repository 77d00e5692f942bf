//! Reads the summary of `lscpu -J`. The summary has the numbers of cores and caches, but not their
//! CPUs. So this module assumes the most common numbering. Within a node, the first threads of all
//! cores come first, and related CPUs have neighbouring numbers.

use std::collections::BTreeMap;

use serde_json::Value;

use super::plain;
use crate::cpu_sets::{Raw, RawCache, RawNode};
use crate::cpuset::CpuSet;

/// Maximum nesting depth of fields. The output of lscpu has a lower depth.
const DEPTH_MAX: usize = 8;

pub(super) fn raw(fields: &[Value], place: &str) -> Result<Raw, String> {
    let mut known = BTreeMap::new();
    flatten(fields, 0, &mut known);
    let online = known.get("On-line CPU(s) list").ok_or_else(|| {
        let first = fields.first().and_then(|field| field.get("field")).and_then(plain);
        format!(
            "the summary of lscpu has no `On-line CPU(s) list`, and begins with {:?}: it is in \
             another language, or truncated",
            first.unwrap_or_default()
        )
    })?;
    let mut raw = Raw {
        source: format!("{place} (summary of lscpu)"),
        online: CpuSet::parse_list(online)?,
        ..Raw::default()
    };
    if let Some(offline) = known.get("Off-line CPU(s) list") {
        raw.offline = CpuSet::parse_list(offline)?;
    }
    for (name, list) in &known {
        let os = name.strip_prefix("NUMA node").and_then(|rest| rest.strip_suffix(" CPU(s)"));
        if let Some(os) = os.and_then(|digits| digits.parse().ok()) {
            let cpus = CpuSet::parse_list(list)?;
            raw.nodes.push(RawNode {
                os,
                cpus,
                ..RawNode::default()
            });
        }
    }
    raw.nodes.sort_by_key(|node| node.os);
    if raw.nodes.is_empty() {
        let cpus = raw.online.clone();
        raw.nodes.push(RawNode {
            cpus,
            ..RawNode::default()
        });
        raw.notes
            .push("the summary of lscpu lists no NUMA nodes; cassay assumes one".to_owned());
    }
    conclude(&known, &mut raw);
    Ok(raw)
}

fn flatten(fields: &[Value], depth: usize, known: &mut BTreeMap<String, String>) {
    for field in fields {
        let name = field.get("field").and_then(plain);
        let data = field.get("data").and_then(plain);
        if let (Some(name), Some(data)) = (name, data) {
            known.insert(name.trim_end_matches(':').to_owned(), data);
        }
        let children = field.get("children").and_then(Value::as_array);
        if let Some(children) = children.filter(|_| depth < DEPTH_MAX) {
            flatten(children, depth + 1, known);
        }
    }
}

/// Infers cores, packages and L3 caches from the most common numbering, and adds notes about these
/// assumptions.
fn conclude(known: &BTreeMap<String, String>, raw: &mut Raw) {
    let count = |name: &str| known.get(name).and_then(|text| text.parse::<usize>().ok());
    let at_most = |count: usize| count.clamp(1, raw.online.len().max(1));
    let threads = at_most(count("Thread(s) per core").unwrap_or(1));
    let sockets = at_most(count("Socket(s)").unwrap_or(1));
    // Cores of each node, in order.
    let mut cores: Vec<Vec<CpuSet>> = Vec::new();
    for node in raw.nodes.iter().filter(|node| !node.cpus.is_empty()) {
        let cpus: Vec<u32> = node.cpus.iter().collect();
        let count = cpus.len() / threads;
        let is_whole = count * threads == cpus.len();
        let stride = if is_whole { count } else { cpus.len() };
        let core = |first: usize| cpus.iter().skip(first).step_by(stride).copied().collect();
        cores.push((0..stride).map(core).collect());
    }
    let l3 = known.get("L3 cache").or_else(|| known.get("L3"));
    let (size, instances) = l3.map_or((None, None), |text| cache(text));
    let all: Vec<CpuSet> = cores.iter().flatten().cloned().collect();
    raw.packages = parts(&all, sockets).into_iter().map(|set| (None, set)).collect();
    if let Some(instances) = instances {
        let size_bytes = size.map(|size| size / instances as u64);
        let sets = parts(&all, at_most(instances));
        raw.l3 = sets.into_iter().map(|cpus| RawCache { cpus, size_bytes }).collect();
    }
    raw.cores = all;
    raw.notes.push(format!(
        "the summary of lscpu does not report which CPUs share a core ({threads} threads each), an \
         L3 cache or a package. cassay assumes the usual numbering. `lscpu -J -e` reports it"
    ));
    raw.notes.push(super::UNREPORTED.to_owned());
}

/// Splits the cores, in order, into `count` parts whose sizes are as equal as possible.
fn parts(cores: &[CpuSet], count: usize) -> Vec<CpuSet> {
    let at = |part: usize| part * cores.len() / count;
    let sets = (0..count).map(|part| &cores[at(part)..at(part + 1)]);
    sets.map(|part| part.iter().flat_map(CpuSet::iter).collect()).collect()
}

/// Parses a size such as `84 MiB (2 instances)`, which is the size of all caches together. If the
/// number of caches is missing, the size of each cache is unknown.
fn cache(text: &str) -> (Option<u64>, Option<usize>) {
    let mut words = text.split_whitespace();
    let number = words.next().and_then(|word| word.parse::<f64>().ok());
    let unit = match words.next() {
        Some("KiB") => 10,
        Some("MiB") => 20,
        Some("GiB") => 30,
        _ => return (None, None),
    };
    let instances = words.next().and_then(|word| word.trim_start_matches('(').parse().ok());
    let size = number.map(|number| (number * f64::from(1u32 << unit)) as u64);
    (size, instances.filter(|&instances: &usize| instances > 0))
}
