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
        /// Snapshot the data by hard links, and restore it while the nodes run.
        Snapshot = "snapshot",
        /// Restore data by swapping files while a node is stopped.
        OfflineRestore = "offline-restore",
        /// Drop the pages of the data files from the page cache.
        DropPageCache = "drop-page-cache",
        /// Read and call the MBeans of every node.
        Mbeans = "mbeans",
        /// Read memory, threads and collections of each node's JVM.
        JvmMetrics = "jvm-metrics",
        /// Read each pause from the garbage collection log.
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
        /// Give each host a separate network.
        Hosts = "hosts",
        /// Add another node to a host.
        AnotherNode = "another-node",
        /// Restrict each host to separate CPUs.
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
        /// Make reads and writes of a part of a volume fail.
        VolumeErrors = "volume-errors",
    }
}

impl Capability {
    /// The capabilities for faults of volumes. Only hosts with separate volumes have these
    /// capabilities.
    pub const OF_VOLUMES: [Capability; 5] = [
        Capability::VolumeOff,
        Capability::VolumeReadOnly,
        Capability::VolumeStalled,
        Capability::VolumeCorrupt,
        Capability::VolumeErrors,
    ];

    /// Returns true if the capability requires that hosts have separate volumes.
    pub fn is_of_volumes(self) -> bool {
        self == Capability::Volume || Capability::OF_VOLUMES.contains(&self)
    }
}

/// Status of one capability of a target, or of the hosts on a machine. The capability is either
/// present, or absent for a reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapabilityStatus {
    /// The capability that the status is about.
    #[serde(rename = "ability")]
    pub capability: Capability,
    /// True if the capability is present.
    pub present: bool,
    /// Method that provides the capability. If the capability is absent, the reason and the remedy.
    pub detail: String,
}

impl CapabilityStatus {
    /// Creates the status of a capability. `answer` is the method if the capability is present, and
    /// the reason as an error if it is absent.
    pub fn from_answer(capability: Capability, answer: Result<String, String>) -> CapabilityStatus {
        CapabilityStatus {
            capability,
            present: answer.is_ok(),
            detail: answer.unwrap_or_else(|why| why),
        }
    }

    /// Returns the method that provides the capability. If the capability is absent, returns the
    /// reason as an error.
    pub fn answer(&self) -> Result<String, String> {
        let detail = self.detail.clone();
        if self.present {
            Ok(detail)
        } else {
            Err(detail)
        }
    }
}
