//! Reads the NUMA nodes of a /sys tree: their CPUs, memory, huge pages, memory-side caches and
//! distances.

use super::{Files, bytes_of};
use crate::cpu_sets::{Raw, RawNode};
use crate::cpuset::CpuSet;
use crate::error::ReadError;
use crate::machine::HugePages;

const NODE: &str = "devices/system/node";

pub(super) fn read(files: &Files<'_>, raw: &mut Raw) -> Result<(), ReadError> {
    let mut numbers = files.numbered(NODE, "node");
    if let Some(online) = files.list(&format!("{NODE}/online"))? {
        numbers = numbers.intersection(&online);
    }
    let mut rows = Vec::new();
    for os in numbers.iter() {
        raw.nodes.push(node(files, os)?);
        let text = files.read_sys(&format!("{NODE}/node{os}/distance"));
        let row: Option<Vec<u32>> = text
            .map(|text| text.split_whitespace().map(|cell| cell.parse().unwrap_or(0)).collect());
        rows.extend(row);
    }
    if rows.len() == numbers.len() && rows.iter().all(|row| row.len() == numbers.len()) {
        raw.distances = Some((numbers.iter().collect(), rows));
    } else if !rows.is_empty() {
        raw.notes.push(
            "the node distances do not form a square table, so cassay ignores them".to_owned(),
        );
    }
    if raw.nodes.is_empty() {
        let memory_bytes = files.read_proc("meminfo").and_then(|text| total(&text));
        let note = "no NUMA nodes are listed; the whole machine counts as node 0";
        raw.notes.push(note.to_owned());
        raw.nodes.push(RawNode {
            cpus: raw.online.clone(),
            memory_bytes,
            ..RawNode::default()
        });
    } else if let [node] = raw.nodes.as_mut_slice()
        && node.memory_bytes.is_none()
    {
        node.memory_bytes = files.read_proc("meminfo").and_then(|text| total(&text));
    }
    Ok(())
}

fn node(files: &Files<'_>, os: u32) -> Result<RawNode, ReadError> {
    let folder = format!("{NODE}/node{os}");
    let map = format!("{folder}/cpumap");
    let cpus = match (
        files.list(&format!("{folder}/cpulist"))?,
        files.read_sys(&map),
    ) {
        (Some(list), _) => list,
        (None, Some(text)) => CpuSet::parse_map(&text).map_err(|what| files.bad(&map, what))?,
        (None, None) => files.numbered(&folder, "cpu"),
    };
    let meminfo = files.read_sys(&format!("{folder}/meminfo"));
    let folders = files.tree.list(&files.sys(&format!("{folder}/hugepages")));
    let hugepages = folders.iter().filter_map(|name| {
        let size = name.strip_prefix("hugepages-")?.strip_suffix("kB")?;
        let count = |what| files.number(&format!("{folder}/hugepages/{name}/{what}_hugepages"));
        Some(HugePages {
            page_bytes: size.parse::<u64>().ok()?.checked_mul(1024)?,
            count: count("nr")?,
            free: count("free"),
        })
    });
    let mut hugepages: Vec<HugePages> = hugepages.collect();
    hugepages.sort_by_key(|pages| pages.page_bytes);
    let caches = format!("{folder}/memory_side_cache");
    let indexes: Vec<u32> = files.numbered(&caches, "index").iter().take(16).collect();
    let sizes = indexes
        .iter()
        .rev()
        .filter_map(|index| bytes_of(&files.read_sys(&format!("{caches}/index{index}/size"))?));
    Ok(RawNode {
        os,
        cpus,
        memory_bytes: meminfo.and_then(|text| total(&text)),
        hugepages,
        side_caches_bytes: sizes.collect(),
        kind: None,
    })
}

/// Returns `MemTotal` from the meminfo of a node or the machine, in bytes. The file is in kB of
/// 1024 bytes. Returns `None` if the file lacks this value.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.contains("MemTotal:"))?;
    let value = line.split("MemTotal:").nth(1)?.split_whitespace().next()?;
    value.parse::<u64>().ok()?.checked_mul(1024)
}
