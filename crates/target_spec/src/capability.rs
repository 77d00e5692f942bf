//! Capabilities of a target that a plan may need, and capabilities of a host that a fault may need.

use serde::{Deserialize, Serialize};

measure::word_enum! {
    /// A capability that a plan may need from a target.
    #[derive(PartialOrd, Ord)]
    pub enum Capability {
        /// Start nodes with other settings: `cassandra.yaml`, heap, JVM options, number of nodes.
        Provision = "provision",
        /// Restart the nodes in turn with another configuration and the same data.
        Restart = "restart",
        /// Read the server's own operation counts.
        OperationCounts = "operation-counts",
        /// Flush memtables and read the number of pending compactions.
        Settle = "settle",
        /// Keep the data by hard links, and restore it while the nodes run.
        Snapshot = "snapshot",
        /// Restore data by swapping files while a node is stopped.
        OfflineRestore = "offline-restore",
        /// Empty the page cache of the data's files.
        DropPageCache = "drop-page-cache",
        /// Read and call the MBeans of every node.
        Mbeans = "mbeans",
        /// Read memory, threads and collections of each node's JVM.
        JvmMetrics = "jvm-metrics",
        /// Read each pause from the log of the garbage collector.
        GcLog = "gc-log",
        /// Read `/proc` of each node's process: CPU, memory, disk.
        ProcessStatistics = "process-statistics",
        /// Read CPU, memory, disk and network of the machine, and of the hosts on which nodes run.
        HostMetrics = "host-metrics",
        /// Read the nodes' log files.
        Logs = "logs",
        /// Read all settings that are in effect on the nodes.
        Settings = "settings",
        /// Stop and kill the processes of nodes with signals.
        NodeSignals = "node-signals",
        /// Stop nodes properly, and start them.
        NodeControl = "node-control",
        /// Delete and evict the pods of nodes, which a controller then recreates.
        PodControl = "pod-control",
        /// Isolate the pods of nodes by a network policy.
        NetworkPolicy = "network-policy",
        /// Give each host its own network.
        Hosts = "hosts",
        /// Add another node to a host.
        AnotherNode = "another-node",
        /// Confine each host to its own CPUs.
        CpuSet = "cpu-set",
        /// Limit the CPU time of each host.
        CpuLimit = "cpu-limit",
        /// Limit the memory of each host, including the page cache.
        MemoryLimit = "memory-limit",
        /// Give each host a data volume of the stated size.
        Volume = "volume",
        /// Limit the operations and bytes per second of each host's volume.
        DiskLimit = "disk-limit",
        /// Limit the rate of each host's link.
        LinkRate = "link-rate",
        /// Delay packets on each host's link.
        LinkDelay = "link-delay",
        /// Cut a host off from all other hosts.
        HostCut = "host-cut",
        /// Drop packets from one host to another, or to a client.
        PacketFilter = "packet-filter",
        /// Drop a share of the packets from one host to another, or to a client.
        PacketLoss = "packet-loss",
        /// Reset the connections of a node.
        Reset = "connection-reset",
        /// Remove a volume together with its unsynced data.
        VolumeOff = "volume-off",
        /// Make a volume read-only.
        VolumeReadOnly = "volume-read-only",
        /// Stall every write to a volume.
        VolumeStalled = "volume-stalled",
        /// Corrupt data on a volume.
        VolumeCorrupt = "volume-corrupt",
        /// Make a part of a volume fail.
        VolumeErrors = "volume-errors",
    }
}

impl Capability {
    /// The capabilities for faults of volumes. Only hosts with volumes have them.
    pub const OF_VOLUMES: [Capability; 5] = [
        Capability::VolumeOff,
        Capability::VolumeReadOnly,
        Capability::VolumeStalled,
        Capability::VolumeCorrupt,
        Capability::VolumeErrors,
    ];

    /// Returns true if hosts need separate volumes for the capability.
    pub fn is_of_volumes(self) -> bool {
        self == Capability::Volume || Capability::OF_VOLUMES.contains(&self)
    }
}

/// Status of one capability of a target, or of a machine for its hosts: present, or absent with
/// the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapabilityStatus {
    /// Capability whose status this is.
    #[serde(rename = "ability")]
    pub capability: Capability,
    /// True if the capability is present.
    pub present: bool,
    /// Method by which the capability works. If it is absent, the reason and the remedy.
    pub detail: String,
}

impl CapabilityStatus {
    /// Creates a status: present with its method, or absent with the reason.
    pub fn from_answer(capability: Capability, answer: Result<String, String>) -> CapabilityStatus {
        CapabilityStatus {
            capability,
            present: answer.is_ok(),
            detail: answer.unwrap_or_else(|why| why),
        }
    }

    /// Returns the method of the capability. If the capability is absent, returns the reason as an
    /// error.
    pub fn answer(&self) -> Result<String, String> {
        let detail = self.detail.clone();
        if self.present {
            Ok(detail)
        } else {
            Err(detail)
        }
    }
}
