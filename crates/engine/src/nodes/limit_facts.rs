//! Facts about nodes with which the analysis judges how near a resource is to its limit. The facts
//! are the number of CPUs, and the limits of compaction, network link and disk.

use crate::running_target::Running;
use analysis::limits::NodeFacts;
use cassandra::settings::compare_settings::quantity;
use std::collections::BTreeMap;
use store::record::{NodesRecord, PlacementRecord, numbers_of};
use target_spec::HostSpec;

/// Names of the setting for the compaction throughput: from Cassandra 4.1 on, and in older
/// versions.
const COMPACTION: &str = "compaction_throughput";
const COMPACTION_MIB: &str = "compaction_throughput_mb_per_sec";

/// Returns the facts about each node with which the analysis judges the readings of its resources.
pub fn limit_facts(running: &Running, record: &NodesRecord) -> Vec<NodeFacts> {
    let local = running.settings.local();
    let hosts = local.and_then(|local| local.hosts.as_ref());
    let limits = hosts.filter(|hosts| !hosts.are_machines()).map(|hosts| &hosts.host);
    let of = |name: &str, host: &str, settings: &BTreeMap<String, String>| {
        let place = record.placements.iter().find(|place| place.who == name);
        facts_of_node(name, host, settings, place, limits)
    };
    record
        .nodes
        .iter()
        .map(|node| of(&node.name, &node.host, &node.settings))
        .collect()
}

fn facts_of_node(
    name: &str,
    host: &str,
    settings: &BTreeMap<String, String>,
    place: Option<&PlacementRecord>,
    limits: Option<&HostSpec>,
) -> NodeFacts {
    let number = |key: &str| settings.get(key)?.parse::<f64>().ok();
    let numbers = place.map(|place| numbers_of(&place.cpus)).unwrap_or_default();
    let count = (!numbers.is_empty()).then_some(numbers.len() as f64);
    let quota = limits.and_then(|limits| limits.cpu_quota);
    let mib_per_s = || number(COMPACTION_MIB).map(|mib| mib * 1024.0 * 1024.0);
    let disk = limits.map(|limits| limits.disk).unwrap_or_default();
    NodeFacts {
        name: name.to_owned(),
        host: host.to_owned(),
        cpus: count.into_iter().chain(quota).reduce(f64::min),
        cpu_numbers: numbers.into_iter().map(|cpu| cpu as usize).collect(),
        has_quota: quota.is_some(),
        compaction_bytes_per_s: settings
            .get(COMPACTION)
            .and_then(|text| bytes_per_s(text))
            .or_else(mib_per_s),
        compactors: number("concurrent_compactors"),
        link_bytes_per_s: limits
            .and_then(|limits| limits.link.rate_bits_per_s)
            .map(|bits| bits as f64 / 8.0),
        disk: disk.each().map(|(_, limit)| limit.map(|limit| limit as f64)),
    }
}

/// Parses a rate in the form that Cassandra shows: `64MiB/s`. Returns `None` if the text is not a
/// rate.
fn bytes_per_s(text: &str) -> Option<f64> {
    let (dimension, value) = quantity(text)?;
    (dimension == "rate").then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_come_from_settings_placement_and_limits() {
        let settings = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
            all.iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect()
        };
        let place = PlacementRecord {
            cpus: "0-1,4".to_owned(),
            ..PlacementRecord::default()
        };
        let limits = HostSpec {
            cpu_quota: Some(1.5),
            ..HostSpec::default()
        };
        let new = settings(&[(COMPACTION, "64MiB/s"), ("concurrent_compactors", "2")]);
        let facts = facts_of_node("node1", "host1", &new, Some(&place), Some(&limits));
        assert_eq!(facts.cpus, Some(1.5));
        assert_eq!(facts.cpu_numbers, [0, 1, 4]);
        assert_eq!(facts.compaction_bytes_per_s, Some(67_108_864.0));
        assert_eq!(facts.compactors, Some(2.0));
        assert!(facts.has_quota);
        let old = settings(&[(COMPACTION_MIB, "16")]);
        let facts = facts_of_node("node1", "host1", &old, Some(&place), None);
        assert_eq!(facts.compaction_bytes_per_s, Some(16_777_216.0));
        assert_eq!(facts.cpus, Some(3.0));
    }
}
