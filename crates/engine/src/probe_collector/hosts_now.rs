//! Current resource use of the nodes' hosts for the progress display, from the latest readings of
//! the hosts' probes.

use super::readings_buffer::is_passed_on;
use crate::event::{HostCpu, HostNow};
use cassandra::NodeInfo;
use cassandra::probe::Reading;
use cluster::Cluster;
use std::collections::BTreeMap;
use target_spec::HostKind;

/// Series of the idle share of a machine's CPUs.
const IDLE: &str = "mpstat.%idle";
/// Series of the number of cores that a control group uses.
const CORES: &str = "cgroup.cpu_used";
const READ: &str = "iostat.rkB/s";
const WRITTEN: &str = "iostat.wkB/s";
const BUSY: &str = "iostat.%util";

/// Latest readings of the hosts.
#[derive(Default)]
pub struct HostReadings {
    cpu: BTreeMap<String, HostCpu>,
    /// Latest readings of disks, by host, device and name of the series.
    disks: BTreeMap<(String, String, &'static str), f64>,
}

impl HostReadings {
    /// Takes a reading, if it belongs to a host.
    pub fn push(&mut self, reading: &Reading) {
        let value = reading.value;
        let name = match &*reading.name {
            IDLE | CORES if reading.place.contains('/') => return,
            IDLE => return self.used(reading, HostCpu::OfMachine(100.0 - value)),
            CORES => return self.used(reading, HostCpu::Cores(value)),
            READ => READ,
            WRITTEN => WRITTEN,
            BUSY => BUSY,
            _ => return,
        };
        if let Some((host, device)) = reading.place.split_once('/') {
            self.disks.insert((host.to_owned(), device.to_owned(), name), value);
        }
    }

    fn used(&mut self, reading: &Reading, cpu: HostCpu) {
        self.cpu.insert(reading.place.to_string(), cpu);
    }

    /// Returns the hosts of a cluster's nodes. Returns an empty list if all nodes run directly on
    /// this machine, because the CPU shares of this machine then include the nodes.
    pub fn now(&self, cluster: &Cluster) -> Vec<HostNow> {
        match cluster.hosts_are() {
            HostKind::Addresses => Vec::new(),
            HostKind::StandIns | HostKind::Machines | HostKind::Others => {
                self.hosts(cluster.nodes())
            }
        }
    }

    fn hosts(&self, nodes: &[NodeInfo]) -> Vec<HostNow> {
        let mut hosts: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for node in nodes {
            hosts.entry(&node.host).or_default().push(node.name.clone());
        }
        let host = |(name, nodes): (&str, Vec<String>)| {
            let kilobytes = self.disks_of(name).filter(|(what, _)| *what != BUSY);
            let busy = self.disks_of(name).filter(|(what, _)| *what == BUSY);
            HostNow {
                name: name.to_owned(),
                nodes,
                cpu: self.cpu.get(name).copied(),
                disk_bytes_per_s: kilobytes
                    .map(|(_, value)| value * 1024.0)
                    .reduce(|sum, value| sum + value),
                disk_busy: busy.map(|(_, value)| value).reduce(f64::max),
            }
        };
        let all = hosts.into_iter().map(host);
        all.filter(|host| host.cpu.is_some() || host.disk_bytes_per_s.is_some())
            .collect()
    }

    /// Returns the readings of a host's disks. Omits devices that pass requests on to other
    /// devices, because their requests would count twice. Includes such devices if the host has no
    /// other device, as with the volume of a simulated host.
    fn disks_of(&self, host: &str) -> impl Iterator<Item = (&'static str, f64)> {
        let own = self.disks.iter().filter(move |((of, ..), _)| of == host);
        let has_disk = own.clone().any(|((_, device, _), _)| !is_passed_on(device));
        let counts = own.filter(move |((_, device, _), _)| !has_disk || !is_passed_on(device));
        counts.map(|((.., name), value)| (*name, *value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    fn node(name: &str, host: &str) -> NodeInfo {
        NodeInfo {
            name: name.to_owned(),
            host: host.to_owned(),
            address: SocketAddr::from(([127, 0, 0, 1], 9042)),
            datacenter: String::new(),
            rack: String::new(),
            tokens: Vec::new(),
            pid: None,
            version: String::new(),
        }
    }

    #[test]
    fn the_last_readings_of_each_host_of_a_node_are_told() {
        let mut readings = HostReadings::default();
        for (name, place, value) in [
            (IDLE, "db1", 90.0),
            (IDLE, "db1", 25.0),
            (IDLE, "db1/cpu0", 99.0),
            (CORES, "host2", 1.5),
            (READ, "db1/sda", 100.0),
            (WRITTEN, "db1/sda", 900.0),
            (WRITTEN, "db1/sdb", 24.0),
            (WRITTEN, "db1/dm-0", 924.0),
            (BUSY, "db1/sda", 30.0),
            (BUSY, "db1/sdb", 80.0),
            (WRITTEN, "host2/loop7", 3.0),
            (IDLE, "elsewhere", 1.0),
        ] {
            readings.push(&Reading {
                probe: "hosts".into(),
                at_ns: 0,
                name: name.into(),
                place: place.into(),
                unit: "".into(),
                value,
            });
        }
        let nodes = [
            node("n1", "db1"),
            node("n2", "host2"),
            node("n3", "db1"),
            node("n4", "db9"),
        ];
        let seen = readings.hosts(&nodes);
        let expected = [
            HostNow {
                name: "db1".to_owned(),
                nodes: vec!["n1".to_owned(), "n3".to_owned()],
                cpu: Some(HostCpu::OfMachine(75.0)),
                disk_bytes_per_s: Some(1024.0 * 1024.0),
                disk_busy: Some(80.0),
            },
            HostNow {
                name: "host2".to_owned(),
                nodes: vec!["n2".to_owned()],
                cpu: Some(HostCpu::Cores(1.5)),
                disk_bytes_per_s: Some(3072.0),
                disk_busy: None,
            },
        ];
        assert_eq!(seen, expected);
    }
}
