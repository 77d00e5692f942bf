//! Verifies the limits of a host: CPUs and memory by the JVM's report, and disk, link and volume by
//! the kernel's report.

use crate::local::node_process::LocalNode;
use anyhow::Result;
use cassandra::settings::compare_settings;
use cassandra::settings::node_report::{CONTAINER, NO_AGENT, NodeReport};
use cassandra::{Effect, Proof};
use host::{CpuSet, Host};
use std::collections::BTreeMap;
use std::time::Duration;
use target_spec::{DiskSpec, HostSpec, Limit};

const LINK: &str = "rtnetlink";
const DISK: &str = "control group";
const DEVICE: &str = "/sys/dev/block";

/// Verifies the link and disk limits of a node's host, and the size of its volume.
///
/// # Errors
/// The kernel does not report the limits or the volume's device.
pub(super) fn proofs(limits: &HostSpec, host: &Host, node: &LocalNode) -> Result<Vec<Proof>> {
    let name = &node.layout.name;
    let has_link = limits.link.rate_bits_per_s.is_some() || limits.link.delay.is_some();
    let mut proofs = Vec::new();
    if has_link || limits.disk.limits() {
        let found = host.limits()?;
        proofs.extend(link_proofs(limits, &found, name));
        proofs.extend(disk_proofs(&limits.disk, &found, name));
    }
    if let Some(bytes) = limits.volume_bytes {
        proofs.push(Proof {
            node: name.clone(),
            key: "volume".to_string(),
            wanted: Limit::Bytes(bytes).to_string(),
            effect: volume(bytes, node.host.device_bytes(&node.layout.folder)?),
            source: DEVICE,
        });
    }
    Ok(proofs)
}

/// Compares a requested limit with the kernel's value, if any.
fn limit_proof(
    (node, source): (&str, &'static str),
    key: &str,
    wanted: Limit,
    found: &BTreeMap<String, String>,
) -> Proof {
    let (shown, holds) = match found.get(key) {
        None => ("no limit".to_string(), false),
        Some(text) => {
            let number = text.parse().ok();
            let limit = number.and_then(|number| Limit::from_number(key, number));
            let shown = limit.map_or_else(|| text.clone(), |limit| limit.to_string());
            (shown, limit == Some(wanted))
        }
    };
    Proof {
        node: node.to_string(),
        key: key.to_string(),
        wanted: wanted.to_string(),
        effect: Effect::from_comparison(Some((shown, holds)), ""),
        source,
    }
}

fn disk_proofs(disk: &DiskSpec, found: &BTreeMap<String, String>, node: &str) -> Vec<Proof> {
    let each = disk.each().into_iter();
    let wanted = each.filter_map(|(key, value)| Some((key, Limit::from_number(key, value?)?)));
    wanted
        .map(|(key, limit)| limit_proof((node, DISK), key, limit, found))
        .collect()
}

fn link_proofs(limits: &HostSpec, found: &BTreeMap<String, String>, node: &str) -> Vec<Proof> {
    let rate = limits.link.rate_bits_per_s.map(Limit::BitsPerSecond);
    let delay = limits.link.delay.filter(|delay| *delay > Duration::ZERO).map(Limit::Delay);
    [("link_rate", rate), ("link_delay", delay)]
        .into_iter()
        .filter_map(|(key, limit)| Some(limit_proof((node, LINK), key, limit?, found)))
        .collect()
}

fn volume(wanted: u64, found: Option<u64>) -> Effect {
    // The image of a volume consists of whole sectors.
    let holds = |found: u64| found == wanted / 512 * 512;
    let judged = found.map(|found| (Limit::Bytes(found).to_string(), holds(found)));
    Effect::from_comparison(judged, "the folder of the node is not on a block device")
}

/// Verifies the JVM's view of the host's limits. `own` contains the CPUs of the node's cgroup,
/// which the JVM reports instead of the host's CPUs.
pub(super) fn host_proofs(
    report: &NodeReport,
    host: &HostSpec,
    own: Option<&CpuSet>,
    node: &str,
) -> Vec<Proof> {
    let facts = report.jvm.as_ref().map(|jvm| &jvm.facts);
    let fact = |name: &str| facts.and_then(|facts| facts.get(name)).cloned();
    let why = facts.map_or(NO_AGENT, |_| "VM.info does not contain this value");
    let proof = |key: &str, wanted: String, found: Option<String>, holds: bool| Proof {
        node: node.to_string(),
        key: key.to_string(),
        wanted,
        source: CONTAINER,
        effect: Effect::from_comparison(found.map(|found| (found, holds)), why),
    };
    let mut proofs = Vec::new();
    if let Some(cpus) = &host.cpus {
        let found = fact("cpu_cpuset_cpus");
        let hosts = || cpus.iter().map(|cpu| *cpu as u32).collect();
        let all: CpuSet = own.cloned().unwrap_or_else(hosts);
        let wanted: Vec<String> = match own {
            Some(own) => vec![own.to_string()],
            None => cpus.iter().map(usize::to_string).collect(),
        };
        let shown = found.as_deref().map(CpuSet::parse_list);
        let holds = shown == Some(Ok(all));
        proofs.push(proof("cpus", wanted.join(","), found, holds));
    }
    if let Some(quota) = host.cpu_quota {
        let number = |name: &str| fact(name)?.parse::<f64>().ok();
        let cores = number("cpu_quota")
            .zip(number("cpu_period"))
            .map(|(quota, period)| quota / period);
        // The kernel stores the quota in whole microseconds per period of 100 ms.
        let holds = cores.is_some_and(|cores| (cores - quota).abs() < 1e-4);
        // Without a quota, the JVM reports a text instead of a number.
        let found = cores.map(|cores| cores.to_string()).or_else(|| fact("cpu_quota"));
        proofs.push(proof("cpu_quota", quota.to_string(), found, holds));
    }
    if let Some(bytes) = host.memory_bytes {
        let found = fact("memory_limit_in_bytes");
        let shown = found.as_deref().and_then(compare_settings::container_bytes);
        // The kernel rounds the limit down to pages, and the JVM reports it in KiB.
        let holds = shown.is_some_and(|shown| shown.abs_diff(bytes) < 65_536);
        let found = found.map(|text| text.replace(" k", " KiB"));
        proofs.push(proof(
            "memory",
            format!("{} KiB", bytes / 1024),
            found,
            holds,
        ));
    }
    proofs
}

#[cfg(test)]
mod tests {
    use super::super::report_of_test::{brief, report};
    use super::*;
    use target_spec::LinkSpec;

    #[test]
    fn limits_of_a_host_are_what_the_jvm_counts_by() {
        let host = HostSpec {
            cpus: Some(vec![1, 0]),
            cpu_quota: Some(1.5),
            memory_bytes: Some(3 << 30),
            ..HostSpec::default()
        };
        let limited = report(&[
            ("cpu_cpuset_cpus", "0-1"),
            ("cpu_quota", "150000"),
            ("cpu_period", "100000"),
            ("memory_limit_in_bytes", "3145728 k"),
        ]);
        let proofs = host_proofs(&limited, &host, None, "node1");
        let expected = [
            "cpus: 0-1 yes",
            "cpu_quota: 1.5 yes",
            "memory: 3145728 KiB yes",
        ];
        assert_eq!(brief(&proofs), expected);
        let free = report(&[
            ("cpu_cpuset_cpus", "0-3"),
            ("cpu_quota", "no quota"),
            ("memory_limit_in_bytes", "unlimited"),
        ]);
        let expected = [
            "cpus: 0-3 no",
            "cpu_quota: no quota no",
            "memory: unlimited no",
        ];
        assert_eq!(brief(&host_proofs(&free, &host, None, "node1")), expected);
    }

    #[test]
    fn a_placed_node_counts_the_cpus_of_its_own_group() {
        let host = HostSpec {
            cpus: Some((0..8).collect()),
            ..HostSpec::default()
        };
        let own = CpuSet::parse_list("0-1").unwrap();
        let of = |shown: &str| {
            let seen = report(&[("cpu_cpuset_cpus", shown)]);
            brief(&host_proofs(&seen, &host, Some(&own), "node1"))
        };
        assert_eq!(of("0-1"), ["cpus: 0-1 yes"]);
        assert_eq!(of("0-7"), ["cpus: 0-7 no"]);
    }

    #[test]
    fn a_limit_of_the_disk_is_compared_as_a_number() {
        let disk = DiskSpec {
            read_iops: Some(500),
            write_bytes_per_s: Some(1000),
            ..DiskSpec::default()
        };
        let found = |iops: &str, rate: &str| {
            let limits = [("disk_read_iops", iops), ("disk_write_rate", rate)];
            BTreeMap::from(limits.map(|(key, value)| (key.to_string(), value.to_string())))
        };
        let brief = |iops, rate| brief(&disk_proofs(&disk, &found(iops, rate), "node1"));
        let expected = [
            "disk_read_iops: 500 per second yes",
            "disk_write_rate: 1000 bytes/s yes",
        ];
        assert_eq!(brief("500", "1000"), expected);
        let expected = [
            "disk_read_iops: 50 per second no",
            "disk_write_rate: many no",
        ];
        assert_eq!(brief("50", "many"), expected);
    }

    #[test]
    fn a_link_and_a_volume_are_what_the_kernel_has() {
        let host = HostSpec {
            link: LinkSpec {
                rate_bits_per_s: Some(1000),
                delay: Some(Duration::from_millis(1)),
            },
            ..HostSpec::default()
        };
        let found = BTreeMap::from([("link_rate".to_string(), "10000".to_string())]);
        let proofs = link_proofs(&host, &found, "node1");
        assert_eq!(
            brief(&proofs),
            ["link_rate: 10000 bit/s no", "link_delay: no limit no"]
        );
        let found = BTreeMap::from(
            [("link_rate", "1000"), ("link_delay", "1000000")]
                .map(|(key, value)| (key.to_string(), value.to_string())),
        );
        let proofs = link_proofs(&host, &found, "node1");
        assert!(
            proofs.iter().all(|one| one.effect.is_proved()),
            "{proofs:#?}"
        );
        assert!(volume(1 << 30, Some(1 << 30)).is_proved());
        assert_eq!(volume(1 << 30, Some(7)).shown(), Some("7 bytes"));
        assert!(matches!(volume(1 << 30, None), Effect::NotShown(_)));
    }
}
