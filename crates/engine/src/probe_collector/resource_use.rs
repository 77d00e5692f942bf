//! Computes the resources that the nodes used in a window, from the probes' readings.

use super::readings_buffer::{
    CPU, CPU_EVENTS, DISK_READS, DISK_WRITES, InWindow, MEMORY, PROCESS_EVENTS, RECEIVED, SENT,
    is_passed_on, is_pause,
};
use cassandra::NodeInfo;
use cluster::Cluster;
use measure::Bin;
use std::collections::{BTreeMap, BTreeSet};
use store::record::{CostKind, Costs};
use target_spec::HostKind;

/// Place names that the probes use for this machine and for its loopback interface.
const MACHINE: &str = "machine";
const LOOPBACK: &str = "machine/lo";

/// Average resource use of all nodes together. A value is absent unless it was read for every node.
#[derive(Debug, Default, PartialEq)]
pub struct ResourceUse {
    /// Number of CPUs that the processes of the nodes kept busy.
    pub cpus: Option<f64>,
    /// Resident memory of the processes of the nodes, in bytes.
    pub memory_bytes: Option<f64>,
    /// Share of time in which a garbage collection stopped a node.
    pub collections_share: Option<f64>,
    /// Number of bytes per second that the nodes received and sent.
    pub network_bytes_per_s: Option<f64>,
    /// Number of reads per second of the nodes' disks.
    pub disk_reads_per_s: Option<f64>,
    /// Number of writes per second of the nodes' disks.
    pub disk_writes_per_s: Option<f64>,
    /// Numbers of events per second of the nodes' processes and CPUs, by their kind of cost. A kind
    /// is absent if it was not counted everywhere.
    pub events_per_s: Costs,
}

impl ResourceUse {
    /// Returns the resource use of a cluster. The resource use is unknown for nodes that cassay did
    /// not start.
    pub fn for_cluster(kept: &[InWindow<'_>], cluster: &Cluster) -> ResourceUse {
        match cluster.hosts_are() {
            HostKind::Others => ResourceUse::default(),
            hosts => ResourceUse::in_window(kept, cluster.nodes(), hosts.are_apart()),
        }
    }

    /// Computes the resource use from the readings in a window. `has_hosts` is true if the nodes
    /// are on simulated hosts or remote machines, which have a separate network and usually a
    /// separate disk.
    pub fn in_window(kept: &[InWindow<'_>], nodes: &[NodeInfo], has_hosts: bool) -> ResourceUse {
        let count = nodes.len() as f64;
        // Returns the sum of the matching series over all nodes. Returns `None` if a node has no
        // matching series.
        let of_nodes = |fits: &dyn Fn(&str) -> bool| -> Option<f64> {
            let of = |node: &NodeInfo| {
                sum(kept.iter().filter(|one| one.place == node.name && fits(one.name)))
            };
            nodes.iter().map(of).sum()
        };
        let named = |name: &'static str| move |other: &str| other == name;
        let devices = |name: &'static str| kept.iter().filter(move |one| one.name == name);
        let of_hosts =
            |one: &&InWindow<'_>| nodes.iter().any(|node| device_of(one, &node.host).is_some());
        let of_machine = |one: &&InWindow<'_>| {
            let device = device_of(one, MACHINE);
            device.is_some_and(|device| !is_passed_on(device))
        };
        let is_loopback = |one: &&InWindow<'_>| one.place == LOOPBACK;
        let kilobytes = if has_hosts {
            let ends = kept.iter().filter(|one| matches!(one.name, RECEIVED | SENT));
            sum(ends.filter(of_hosts).filter(|one| !one.place.ends_with("/lo")))
        } else {
            // On the loopback interface, the machine receives every byte that it sends, so only one
            // direction counts.
            sum(devices(SENT).filter(is_loopback))
        };
        let disk = |name: &'static str| {
            // A simulated host without a volume uses the machine's disk.
            let own = if has_hosts {
                sum(devices(name).filter(of_hosts))
            } else {
                None
            };
            own.or_else(|| sum(devices(name).filter(of_machine)))
        };
        ResourceUse {
            cpus: of_nodes(&named(CPU)).map(|percent| percent / 100.0),
            memory_bytes: of_nodes(&named(MEMORY)).map(|kib| kib * 1024.0),
            collections_share: of_nodes(&is_pause).map(|ms_per_s| ms_per_s / 1e3 / count),
            network_bytes_per_s: kilobytes.map(|kib| kib * 1024.0),
            disk_reads_per_s: disk(DISK_READS),
            disk_writes_per_s: disk(DISK_WRITES),
            events_per_s: events_per_s(kept, nodes, has_hosts),
        }
    }
}

/// Returns the events per second of the processes of all nodes, and of the CPUs of their hosts.
/// Without separate hosts, the CPUs also execute other programs, so the events of the CPUs are
/// absent.
fn events_per_s(kept: &[InWindow<'_>], nodes: &[NodeInfo], has_hosts: bool) -> Costs {
    let names: BTreeSet<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let hosts: BTreeSet<&str> = nodes.iter().map(|node| node.host.as_str()).collect();
    let at_all = |places: &BTreeSet<&str>, name: &str| -> Option<f64> {
        let at =
            |place: &&str| sum(kept.iter().filter(|one| one.place == *place && one.name == name));
        places.iter().map(at).sum()
    };
    let of_processes = PROCESS_EVENTS.iter().map(|event| (event, &names));
    let of_cpus = CPU_EVENTS.iter().map(|event| (event, &hosts)).filter(|_| has_hosts);
    let mut events: BTreeMap<CostKind, Option<f64>> = BTreeMap::new();
    for ((name, cost), places) in of_processes.chain(of_cpus) {
        let sum = events.entry(*cost).or_insert(Some(0.0));
        *sum = sum.and_then(|before| Some(before + at_all(places, name)?));
    }
    events.into_iter().filter_map(|(cost, sum)| Some((cost, sum?))).collect()
}

/// Returns the device of a host to which a series belongs. Returns `None` if the series does not
/// belong to a device of the host.
fn device_of<'a>(series: &InWindow<'a>, host: &str) -> Option<&'a str> {
    series.place.strip_prefix(host)?.strip_prefix('/')
}

/// Returns the sum of the means of series. Returns `None` if `series` is empty.
fn sum<'a>(series: impl Iterator<Item = &'a InWindow<'a>>) -> Option<f64> {
    series.map(mean).reduce(|sum, mean| sum + mean)
}

/// Returns the mean of the readings in the window. Returns 0 if the series has no readings.
fn mean(series: &InWindow<'_>) -> f64 {
    let bins = || series.stretches.iter().map(|(_, bin): &(usize, Bin)| bin);
    let count: u64 = bins().map(|bin| bin.count).sum();
    bins().map(|bin| bin.sum).sum::<f64>() / count.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Bins;
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

    fn series<'a>(name: &'a str, place: &'a str, values: &[f64]) -> InWindow<'a> {
        let mut bins = Bins::new(16);
        for (second, value) in values.iter().enumerate() {
            bins.push(second as f64, *value);
        }
        InWindow {
            probe: "test",
            name,
            place,
            stretches: bins.numbered().map(|(at, bin)| (at, *bin)).collect(),
        }
    }

    #[test]
    fn processes_and_collections_are_those_of_all_nodes() {
        let nodes = [node("node1", "host1"), node("node2", "host2")];
        let mut kept = vec![
            series(CPU, "node1", &[100.0, 50.0]),
            series(CPU, "node2", &[25.0]),
            series(CPU, "client", &[90.0]),
            series("jvm.gc.G1_Young_Generation.paused_ms/s", "node1", &[20.0]),
            series("jvm.gc.G1_Old_Generation.paused_ms/s", "node1", &[10.0]),
            series("jvm.gc.G1_Young_Generation.paused_ms/s", "node2", &[50.0]),
            series("jvm.gc.ZGC_Cycles.cycling_ms/s", "node2", &[500.0]),
            series(MEMORY, "node1", &[1024.0]),
        ];
        let seen = ResourceUse::in_window(&kept, &nodes, false);
        assert_eq!(seen.cpus, Some(1.0));
        assert_eq!(seen.collections_share, Some(0.04));
        assert_eq!(seen.memory_bytes, None, "of one node of two");
        kept.push(series(MEMORY, "node2", &[2048.0]));
        assert_eq!(
            ResourceUse::in_window(&kept, &nodes, false).memory_bytes,
            Some(3.0 * 1024.0 * 1024.0)
        );
        assert_eq!(
            ResourceUse::in_window(&[], &nodes, false),
            ResourceUse::default()
        );
    }

    #[test]
    fn events_are_counted_on_all_nodes_and_their_hosts() {
        let nodes = [node("node1", "host1"), node("node2", "host2")];
        let mut kept = vec![
            series("pidstat.cswch/s", "node1", &[100.0]),
            series("pidstat.nvcswch/s", "node1", &[10.0]),
            series("pidstat.cswch/s", "node2", &[50.0]),
            series("pidstat.nvcswch/s", "node2", &[1.0]),
            series("pidstat.minflt/s", "node1", &[7.0]),
            series("perf.cycles", "host1", &[2e9, 4e9]),
            series("perf.cycles", "host2", &[1e9]),
            series("perf.cycles", "machine", &[9e9]),
            series("perf.instructions", "host1", &[1e9]),
        ];
        let seen = ResourceUse::in_window(&kept, &nodes, true).events_per_s;
        let expected = [(CostKind::ContextSwitches, 161.0), (CostKind::Cycles, 4e9)];
        assert_eq!(seen, Costs::from(expected), "host2 has no instructions");
        let together = ResourceUse::in_window(&kept, &nodes, false).events_per_s;
        assert_eq!(
            together.get(&CostKind::Cycles),
            None,
            "the client is included"
        );
        kept.push(series("perf.instructions", "host2", &[1e9]));
        let seen = ResourceUse::in_window(&kept, &nodes, true).events_per_s;
        assert_eq!(seen.get(&CostKind::Instructions), Some(&2e9));
    }

    #[test]
    fn network_traffic_is_counted_where_the_nodes_are() {
        let nodes = [node("node1", "host1"), node("node2", "host2")];
        let kept = [
            series(SENT, "machine/lo", &[8.0]),
            series(RECEIVED, "machine/lo", &[8.0]),
            series(SENT, "machine/eth0", &[100.0]),
            series(SENT, "host1/eth0", &[3.0]),
            series(RECEIVED, "host1/eth0", &[1.0]),
            series(SENT, "host1/lo", &[50.0]),
            series(SENT, "host10/eth0", &[70.0]),
            series(DISK_WRITES, "machine/vda", &[6.0]),
            series(DISK_WRITES, "machine/dm-0", &[6.0]),
            series(DISK_READS, "machine/vda", &[0.0]),
            series(DISK_WRITES, "host1/loop3", &[2.0]),
        ];
        let seen = ResourceUse::in_window(&kept, &nodes, false);
        assert_eq!(seen.network_bytes_per_s, Some(8.0 * 1024.0));
        assert_eq!(
            (seen.disk_reads_per_s, seen.disk_writes_per_s),
            (Some(0.0), Some(6.0))
        );
        let apart = ResourceUse::in_window(&kept, &nodes, true);
        assert_eq!(apart.network_bytes_per_s, Some(4.0 * 1024.0));
        assert_eq!(
            apart.disk_writes_per_s,
            Some(2.0),
            "a volume is a loop device"
        );
    }
}
