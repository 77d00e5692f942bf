//! Descriptions of the hosts of a running target, with the limits that the kernel enforces.

use anyhow::Result;
use cassandra::NodeInfo;
use host::{Host, Hosts};
use measure::number::bytes;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostInfo {
    /// Name such as `host1`. For an attached node, its address.
    pub name: String,
    /// Address of the host. For a host that is only an address, the address of its first node.
    pub address: String,
    /// Machine's name for ssh, and its machine type if known. `None` for a simulated host.
    pub machine: Option<String>,
    /// Limits as text, as the kernel reports them: `cpus`, `cpu_quota` (cores), `cpu_weight`
    /// (equivalent number of busy threads), `memory`, `disk_read_iops`, `disk_write_iops`,
    /// `disk_read_rate`, `disk_write_rate`, `link_rate`, `link_delay`. An absent name means no
    /// limit.
    pub limits: BTreeMap<String, String>,
    /// Size in bytes, as the file system reports it. `None` without a volume.
    pub volume_bytes: Option<u64>,
    pub volume_used_bytes: Option<u64>,
}

impl HostInfo {
    /// Describes hosts that are only addresses of nodes, without duplicates.
    pub(crate) fn from_addresses(nodes: &[NodeInfo]) -> Vec<HostInfo> {
        let mut seen = BTreeSet::new();
        let first = nodes.iter().filter(|node| seen.insert(&node.host));
        let info = first.map(|node| HostInfo {
            name: node.host.clone(),
            address: node.address.ip().to_string(),
            ..HostInfo::default()
        });
        info.collect()
    }

    /// Describes isolated hosts from the kernel's current state.
    ///
    /// # Errors
    /// The kernel does not report a host's limits.
    pub(super) fn from_hosts(hosts: &Hosts) -> Result<Vec<HostInfo>> {
        let mut names = hosts.state().machine_names().into_iter();
        let of_host = |host: &Host| {
            Ok(HostInfo {
                machine: names.next(),
                ..describe(host)?
            })
        };
        hosts.all().iter().map(of_host).collect()
    }
}

fn describe(host: &Host) -> Result<HostInfo> {
    let limits = host.limits()?;
    let in_words = |(name, value): (String, String)| {
        let words = in_words(&name, &value).unwrap_or(value);
        (name, words)
    };
    let limits: BTreeMap<String, String> = limits.into_iter().map(in_words).collect();
    let usage = host.has_volume().then(|| host.usage()).transpose()?;
    Ok(HostInfo {
        name: host.name().to_string(),
        address: host.address().to_string(),
        limits,
        machine: None,
        volume_bytes: usage.as_ref().map(|usage| usage.total_bytes),
        volume_used_bytes: usage.as_ref().map(|usage| usage.used_bytes),
    })
}

/// Returns a limit with its unit. Returns `None` if the name or the number is unknown.
fn in_words(name: &str, value: &str) -> Option<String> {
    let number = value.parse::<u64>().ok();
    match name {
        "cpu_quota" => Some(format!("{value} cores")),
        "cpu_weight" => Some(format!("{value} busy threads")),
        "memory" => number.map(bytes),
        "disk_read_iops" | "disk_write_iops" => Some(format!("{value} per second")),
        "disk_read_rate" | "disk_write_rate" => number.map(|rate| format!("{}/s", bytes(rate))),
        "link_rate" => number.map(|bits| {
            let unit = [
                (1_000_000_000, "Gbit/s"),
                (1_000_000, "Mbit/s"),
                (1, "bit/s"),
            ];
            let (factor, unit) = unit.into_iter().find(|one| bits % one.0 == 0).unwrap_or((1, ""));
            format!("{} {unit}", bits / factor)
        }),
        "link_delay" => number.map(|ns| format!("{} ms", ns as f64 / 1e6)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_said_in_words() {
        assert_eq!(in_words("memory", "3221225472").as_deref(), Some("3 GiB"));
        let words = in_words("disk_read_rate", "209715200");
        assert_eq!(words.as_deref(), Some("200 MiB/s"));
        assert_eq!(in_words("cpu_quota", "1.5").as_deref(), Some("1.5 cores"));
        assert_eq!(
            in_words("link_rate", "1000000000").as_deref(),
            Some("1 Gbit/s")
        );
        assert_eq!(
            in_words("link_rate", "1500000").as_deref(),
            Some("1500000 bit/s")
        );
        assert_eq!(in_words("link_delay", "1500000").as_deref(), Some("1.5 ms"));
        assert_eq!(in_words("cpus", "0-1"), None);
    }
}
