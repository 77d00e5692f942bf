//! All built-in kinds of faults, as data. Each kind has its effect, its target, its requirements
//! and options, and the data that nodes may lose.

use super::kind::FaultKind;
use super::options::FaultOption;
use super::properties::{DataLoss, FaultPlace, Length};
use crate::capability::Capability;
use std::time::Duration;

/// Time limit for the start of a node. It is long enough for a busy machine, and for replaying a
/// commit log.
pub const START_LIMIT: Duration = Duration::from_secs(180);

/// Time limit until the node of a replaced pod is up. Within this time, the old pod terminates,
/// Kubernetes schedules the new pod and attaches its volume, and the node starts.
pub const POD_RETURN_LIMIT: Duration = Duration::from_secs(600);

/// Time limit until a node has joined a ring, not counting the time for streaming. The node waits
/// for 25 s, starts on a busy machine, and may need a second start.
pub const RING_JOIN_LIMIT: Duration = Duration::from_secs(300);

const UPGRADE_MUST: &[FaultOption] = &[FaultOption::To];

const UPGRADE_TAKES: &[FaultOption] = &[
    FaultOption::To,
    FaultOption::Drain,
    FaultOption::UpgradeSstables,
    FaultOption::Nodes,
    FaultOption::Back,
    FaultOption::Yaml,
];

/// Defines the rows of [`KINDS`], and an enum with the names of these kinds.
macro_rules! kinds {
    ($(
        $name:ident = $word:literal, $place:ident,
        $what:literal,
        [$($need:ident),*] $(. $with:ident($($value:expr),*))*;
    )+) => {
        measure::word_enum! {
            /// A kind of fault that is built in.
            pub enum FaultName {
                $(#[doc = $what] $name = $word),+
            }
        }

        /// All kinds of faults that are built in.
        pub const KINDS: &[FaultKind] = &[
            $(
                FaultKind::new(
                    FaultName::$name, FaultPlace::$place, $what, &[$(Capability::$need),*]
                )
                    $(. $with($($value),*))*
            ),+
        ];
    };
}

kinds! {
    NodePause = "node-pause", Node,
        "suspends the node's process (SIGSTOP), and resumes it later (SIGCONT)",
        [NodeSignals];
    NodeStutter = "node-stutter", Node,
        "suspends the node's process for 300 ms of every second, as long garbage collections do",
        [Provision];
    NodeKill = "node-kill", Node,
        "kills the node's process (SIGKILL), and starts it again later",
        [NodeSignals, NodeControl]
            .taking_away()
            .losing(DataLoss::Memory)
            .whole_within(START_LIMIT);
    NodeStop = "node-stop", Node,
        "drains and stops the node, and starts it again later",
        [NodeControl].taking_away().whole_within(START_LIMIT);
    NodeRestart = "node-restart", Node,
        "drains and stops the node, and starts it again immediately",
        [NodeControl].lasting(Length::Moment).taking_away().whole_within(START_LIMIT);
    PodDelete = "pod-delete", Node,
        "deletes the node's pod with its grace period; the pod's controller creates another pod",
        [PodControl]
            .lasting(Length::Moment)
            .taking_away()
            .losing(DataLoss::Memory)
            .whole_within(POD_RETURN_LIMIT);
    PodKill = "pod-kill", Node,
        "deletes the node's pod without a grace period; the pod's controller creates another pod",
        [PodControl]
            .lasting(Length::Moment)
            .taking_away()
            .losing(DataLoss::Memory)
            .whole_within(POD_RETURN_LIMIT);
    PodEvict = "pod-evict", Node,
        "cordons the machine of the node's pod and evicts the pod, as a drain does; uncordons the \
         machine later",
        [PodControl]
            .taking_away()
            .losing(DataLoss::Memory)
            .whole_within(POD_RETURN_LIMIT);
    NodeSlow = "node-slow", Node,
        "limits the CPU time of the node's host",
        [Hosts, CpuLimit].taking(&[FaultOption::Cpus]);
    // This fault ends the process, because Cassandra stops itself permanently when it cannot open a
    // file.
    NodeDescriptors = "node-descriptors", Node,
        "occupies all file descriptors of the node, so that it can open no more files or \
         connections",
        [Provision].taking_away().losing(DataLoss::Memory).whole_within(START_LIMIT);
    NodeClockAhead = "node-clock-ahead", Node,
        "restarts the node with a wall clock that is ahead, and later with the correct clock",
        [Provision, Mbeans]
            .demanding(&[FaultOption::By])
            .lasting(Length::Staged)
            .taking_away()
            .losing(DataLoss::Order)
            .whole_within(START_LIMIT);
    NodeClockBehind = "node-clock-behind", Node,
        "restarts the node with a wall clock that is behind, and later with the correct clock",
        [Provision, Mbeans]
            .demanding(&[FaultOption::By])
            .lasting(Length::Staged)
            .taking_away()
            .losing(DataLoss::Order)
            .whole_within(START_LIMIT);
    NodeRepair = "node-repair", Node,
        "starts a full repair of all client keyspaces on the node",
        [Provision, Mbeans].lasting(Length::Task);
    NodeCompact = "node-compact", Node,
        "flushes all client keyspaces of the node, and starts a major compaction of them",
        [Provision, Mbeans].lasting(Length::Task);
    NodeSnapshot = "node-snapshot", Node,
        "creates a snapshot of all client keyspaces on the node, and removes it later",
        [Provision, Mbeans].lasting(Length::Staged);
    RollingRestart = "rolling-restart", Cluster,
        "restarts every node, one after the other: each node drains, stops and starts, and is up \
         before the next node drains",
        [NodeControl, Mbeans].lasting(Length::Task).taking_away().whole_within(START_LIMIT);
    RollingChange = "rolling-change", Cluster,
        "restarts every node, one after the other, with other settings, and later with the earlier \
         settings",
        [Provision, Mbeans, Settings]
            .demanding(&[FaultOption::Yaml])
            .lasting(Length::Staged)
            .taking_away()
            .whole_within(START_LIMIT);
    RollingUpgrade = "rolling-upgrade", Cluster,
        "restarts every node, one after the other, as another release, which the node keeps unless \
         `back` requests a rollback",
        [Provision, Mbeans]
            .demanding_of(UPGRADE_MUST, UPGRADE_TAKES)
            .lasting(Length::Task)
            .taking_away()
            .whole_within(START_LIMIT);
    OperatorRestart = "operator-restart", Cluster,
        "tells the cluster's controller in Kubernetes to restart every node: cass-operator with a \
         task, a StatefulSet with a rollout",
        [PodControl].lasting(Length::Task).taking_away().whole_within(POD_RETURN_LIMIT);
    HostPowerOff = "host-power-off", Host,
        "cuts the power of the host, which loses its unsynced data",
        [Hosts, HostCut, VolumeOff]
            .taking(&[FaultOption::Ha])
            .taking_away()
            .losing(DataLoss::Unsynced)
            .whole_within(START_LIMIT);
    DiskSlow = "disk-slow", Host,
        "limits the operations and bytes per second of the host's volume",
        [Hosts, Volume, DiskLimit].demanding(&[FaultOption::Disk]);
    DiskStalled = "disk-stalled", Host,
        "suspends every write to the host's volume",
        [Hosts, VolumeStalled].whole_within(START_LIMIT);
    // This fault ends processes, because a node that cannot write its commit log may end itself.
    DiskFull = "disk-full", Host,
        "fills the host's volume",
        [Hosts, Volume]
            .taking(&[FaultOption::Leave])
            .taking_away()
            .losing(DataLoss::Memory)
            .whole_within(START_LIMIT);
    DiskReadOnly = "disk-read-only", Host,
        "remounts the host's volume read-only",
        [Hosts, VolumeReadOnly]
            .taking_away()
            .losing(DataLoss::Unsynced)
            .whole_within(START_LIMIT);
    DiskRemoved = "disk-removed", Host,
        "removes the host's volume, with its unsynced data, and attaches it again later",
        [Hosts, VolumeOff].taking_away().losing(DataLoss::Unsynced).whole_within(START_LIMIT);
    DiskErrors = "disk-errors", Node,
        "makes a part of the host's volume fail, which contains half of a data file",
        [Hosts, VolumeErrors].taking_away().losing(DataLoss::Unsynced).whole_within(START_LIMIT);
    DataCorrupt = "data-corrupt", Node,
        "changes a block of a data file, without a disk error",
        [Hosts, VolumeCorrupt].taking_away().losing(DataLoss::Memory).whole_within(START_LIMIT);
    DataLost = "data-lost", Node,
        "kills the node and removes its data, which the other nodes stream to it again",
        [Provision, Mbeans].taking_away().losing(DataLoss::Copy).whole_within(RING_JOIN_LIMIT);
    NodeAdd = "node-add", Host,
        "adds a node to the ring, on the host, and decommissions it later",
        [Provision, Mbeans, AnotherNode].lasting(Length::Staged).whole_within(RING_JOIN_LIMIT);
    NodeDecommission = "node-decommission", Node,
        "decommissions the node, which later joins the ring again without data",
        [Provision, Mbeans]
            .lasting(Length::Staged)
            .taking_away()
            .losing(DataLoss::HandedOver)
            .whole_within(RING_JOIN_LIMIT);
    NodeRemove = "node-remove", Node,
        "kills the node, removes its data, and removes the node from the ring; a new node joins \
         later",
        [Provision, Mbeans]
            .lasting(Length::Staged)
            .taking_away()
            .losing(DataLoss::Copy)
            .whole_within(RING_JOIN_LIMIT);
    NetPartition = "net-partition", Split,
        "drops packets between some hosts and other hosts, in both directions; clients still reach \
         all hosts",
        [Hosts, PacketFilter];
    NetOneWay = "net-one-way", Split,
        "drops packets from some hosts to other hosts, in one direction only; clients still reach \
         all hosts",
        [Hosts, PacketFilter];
    NetClientCut = "net-client-cut", Host,
        "drops packets between clients and the nodes of a host; other hosts still reach these \
         nodes",
        [Hosts, PacketFilter];
    NetDown = "net-down", Host,
        "cuts the host off from all other hosts, like a pulled cable",
        [Hosts, HostCut];
    NetLoss = "net-loss", Host,
        "drops a share of the packets to and from a host",
        [Hosts, PacketFilter, PacketLoss].demanding(&[FaultOption::Loss]);
    NetSlow = "net-slow", Host,
        "limits the bandwidth of the host's link",
        [Hosts, LinkRate].demanding(&[FaultOption::Rate]);
    NetDelay = "net-delay", Host,
        "delays the packets to and from a host",
        [Hosts, LinkDelay].demanding(&[FaultOption::Delay]);
    NetPolicy = "net-policy", Host,
        "blocks new connections to and from the node's pod with a network policy; existing \
         connections may continue",
        [Hosts, NetworkPolicy];
    NetReset = "net-reset", Node,
        "resets all client connections to a node",
        [Hosts, Reset].lasting(Length::Moment);
}

impl FaultKind {
    /// Returns the built-in kind of fault with this name. `None` if the name is unknown.
    pub fn find(name: &str) -> Option<FaultKind> {
        KINDS.iter().find(|kind| kind.name == name).cloned()
    }
}
