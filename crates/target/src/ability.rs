//! What a plan may need of a target, and what a fault may need of a host.

use serde::{Deserialize, Serialize};

measure::word_enum! {
    /// Something that a plan may need from a target.
    #[derive(PartialOrd, Ord)]
    pub enum Ability {
        /// Start with other settings: `cassandra.yaml`, heap, JVM options, number of nodes.
        Provision = "provision",
        /// Restart the nodes in turn with another configuration, the data staying.
        Restart = "restart",
        /// See the server's own operation counts.
        OperationCounts = "operation-counts",
        /// Flush memtables and see pending compactions.
        Settle = "settle",
        /// Keep the data by hard links, and bring it back while the nodes run.
        Snapshot = "snapshot",
        /// Bring data back by swapping files while a node is stopped.
        OfflineRestore = "offline-restore",
        /// Empty the page cache of the data's files.
        DropPageCache = "drop-page-cache",
        /// Read and call the MBeans of every node.
        Mbeans = "mbeans",
        /// Read memory, threads and collections of each node's JVM.
        JvmMetrics = "jvm-metrics",
        /// Read each pause from the collector's log.
        GcLog = "gc-log",
        /// Read each node's `/proc`: CPU, memory, disk of the process.
        ProcessStatistics = "process-statistics",
        /// Read CPU, memory, disk and network of the machine and hosts that nodes live on.
        HostMetrics = "host-metrics",
        /// Read the nodes' log files.
        Logs = "logs",
        /// Read all of the nodes' effective settings.
        Settings = "settings",
        /// Stop and kill the processes of nodes by signals.
        NodeSignals = "node-signals",
        /// Stop nodes in order, and start them.
        NodeControl = "node-control",
        /// Delete and evict the pods of nodes, which somebody else makes again.
        PodControl = "pod-control",
        /// Have a network policy cut the pods of nodes.
        NetworkPolicy = "network-policy",
        /// Give each host a network of its own.
        Hosts = "hosts",
        /// Add one node more to those of a host.
        AnotherNode = "another-node",
        /// Keep each host to CPUs of its own.
        CpuSet = "cpu-set",
        /// Limit the CPU time of each host.
        CpuLimit = "cpu-limit",
        /// Limit the memory of each host, page cache included.
        MemoryLimit = "memory-limit",
        /// Give each host a data volume of stated size.
        Volume = "volume",
        /// Limit what each host's volume does in a second.
        DiskLimit = "disk-limit",
        /// Limit the rate of each host's link.
        LinkRate = "link-rate",
        /// Delay what goes through each host's link.
        LinkDelay = "link-delay",
        /// Cut a host off from everybody.
        HostCut = "host-cut",
        /// Lose what goes from one host to another, or to a client.
        PacketFilter = "packet-filter",
        /// Lose a share of it.
        PacketLoss = "packet-loss",
        /// Reset connections.
        Reset = "connection-reset",
        /// Take a volume away, with what was not synced.
        VolumeOff = "volume-off",
        /// Make a volume read-only.
        VolumeReadOnly = "volume-read-only",
        /// Let every write to a volume wait.
        VolumeStalled = "volume-stalled",
        /// Change what stands on a volume.
        VolumeCorrupt = "volume-corrupt",
        /// Let a part of a volume fail.
        VolumeErrors = "volume-errors",
    }
}

impl Ability {
    /// What can be done with volumes of hosts, where they have some.
    pub const OF_VOLUMES: [Ability; 5] = [
        Ability::VolumeOff,
        Ability::VolumeReadOnly,
        Ability::VolumeStalled,
        Ability::VolumeCorrupt,
        Ability::VolumeErrors,
    ];

    /// Whether hosts need volumes of their own for it.
    pub fn is_of_volumes(self) -> bool {
        self == Ability::Volume || Ability::OF_VOLUMES.contains(&self)
    }
}

/// One ability of one target, or of a machine for its hosts: there, or not there with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capability {
    /// The ability.
    pub ability: Ability,
    /// Whether it is there.
    pub present: bool,
    /// How it is done, or why it is not there and what would bring it.
    pub detail: String,
}

impl Capability {
    /// One that is there, with how it is done, or not there, with why.
    pub fn of(ability: Ability, answer: Result<String, String>) -> Capability {
        Capability {
            ability,
            present: answer.is_ok(),
            detail: answer.unwrap_or_else(|why| why),
        }
    }

    /// How it is done, or why it is not there.
    pub fn answer(&self) -> Result<String, String> {
        let detail = self.detail.clone();
        if self.present {
            Ok(detail)
        } else {
            Err(detail)
        }
    }
}
