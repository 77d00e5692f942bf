//! All kinds of faults, as data: effect and target of each, its requirements and options, and the
//! data that nodes may lose by it.

use super::kind::Kind;
use super::options::Knob;
use super::properties::{DataLoss, Length, Place};
use crate::capability::Ability;
use std::time::Duration;

/// Time limit of a node's start, on a busy machine with a commit log to replay.
pub const STARTED_WITHIN: Duration = Duration::from_secs(180);

/// Time limit for a pod to come back with its node: it ends in order, is scheduled, its volume is
/// attached and its node starts.
pub const POD_BACK_WITHIN: Duration = Duration::from_secs(600);

/// Time limit for a node to enter a ring without streaming: it waits for 25 s, starts on a busy
/// machine, and may have to be started again.
pub const ENTERED_WITHIN: Duration = Duration::from_secs(300);

/// Required options of an upgrade.
const UPGRADE_MUST: &[Knob] = &[Knob::To];

/// All options of an upgrade.
const UPGRADE_TAKES: &[Knob] = &[
    Knob::To,
    Knob::Drain,
    Knob::UpgradeSstables,
    Knob::Nodes,
    Knob::Back,
    Knob::Yaml,
];

/// Defines the rows of [`KINDS`], and an enum of their names.
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
        pub const KINDS: &[Kind] = &[
            $(
                Kind::new(FaultName::$name, Place::$place, $what, &[$(Ability::$need),*])
                    $(. $with($($value),*))*
            ),+
        ];
    };
}

kinds! {
    NodePause = "node-pause", Node,
        "the node's process is stopped, and goes on where it was",
        [NodeSignals];
    NodeStutter = "node-stutter", Node,
        "the node's process is stopped for 300 ms of every second, as by long collections",
        [Provision];
    NodeKill = "node-kill", Node,
        "the node's process is killed, and started again",
        [NodeSignals, NodeControl]
            .taking_away()
            .losing(DataLoss::Memory)
            .whole_within(STARTED_WITHIN);
    NodeStop = "node-stop", Node,
        "the node drains and ends, and is started again",
        [NodeControl].taking_away().whole_within(STARTED_WITHIN);
    NodeRestart = "node-restart", Node,
        "the node drains and ends, and is started again at once",
        [NodeControl].lasting(Length::Moment).taking_away().whole_within(STARTED_WITHIN);
    PodDelete = "pod-delete", Node,
        "the node's pod is deleted with the time to end that it has, and its set makes another",
        [PodControl]
            .lasting(Length::Moment)
            .taking_away()
            .losing(DataLoss::Memory)
            .whole_within(POD_BACK_WITHIN);
    PodKill = "pod-kill", Node,
        "the node's pod is deleted without time to end, and its set makes another",
        [PodControl]
            .lasting(Length::Moment)
            .taking_away()
            .losing(DataLoss::Memory)
            .whole_within(POD_BACK_WITHIN);
    PodEvict = "pod-evict", Node,
        "the machine of the node's pod is cordoned and the pod evicted, as a drain does it, and \
         uncordoned",
        [PodControl]
            .taking_away()
            .losing(DataLoss::Memory)
            .whole_within(POD_BACK_WITHIN);
    NodeSlow = "node-slow", Node,
        "the node's host has little CPU time",
        [Hosts, CpuLimit].taking(&[Knob::Cpus]);
    // Cassandra stops itself for good when it cannot open a file.
    NodeDescriptors = "node-descriptors", Node,
        "the node may open no file or connection more",
        [Provision].taking_away().losing(DataLoss::Memory).whole_within(STARTED_WITHIN);
    NodeClockAhead = "node-clock-ahead", Node,
        "the node is restarted with a wall clock that is ahead, and then with its own",
        [Provision, Mbeans]
            .demanding(&[Knob::By])
            .lasting(Length::Staged)
            .taking_away()
            .losing(DataLoss::Order)
            .whole_within(STARTED_WITHIN);
    NodeClockBehind = "node-clock-behind", Node,
        "the node is restarted with a wall clock that is behind, and then with its own",
        [Provision, Mbeans]
            .demanding(&[Knob::By])
            .lasting(Length::Staged)
            .taking_away()
            .losing(DataLoss::Order)
            .whole_within(STARTED_WITHIN);
    NodeRepair = "node-repair", Node,
        "a full repair of all keyspaces of clients, begun by the node",
        [Provision, Mbeans].lasting(Length::Task);
    NodeCompact = "node-compact", Node,
        "a major compaction of all keyspaces of clients on the node, flushed before",
        [Provision, Mbeans].lasting(Length::Task);
    NodeSnapshot = "node-snapshot", Node,
        "a snapshot is made of all keyspaces of clients on the node, and removed",
        [Provision, Mbeans].lasting(Length::Staged);
    RollingRestart = "rolling-restart", Cluster,
        "every node, one after the other, drains, ends, is started, and is up before \
         the next",
        [NodeControl, Mbeans].lasting(Length::Task).taking_away().whole_within(STARTED_WITHIN);
    RollingChange = "rolling-change", Cluster,
        "every node, one after the other, is restarted with other settings, and then \
         with those that it had",
        [Provision, Mbeans, Settings]
            .demanding(&[Knob::Yaml])
            .lasting(Length::Staged)
            .taking_away()
            .whole_within(STARTED_WITHIN);
    RollingUpgrade = "rolling-upgrade", Cluster,
        "every node, one after the other, ends and is started as another release, which it stays \
         unless `back` says otherwise",
        [Provision, Mbeans]
            .demanding_of(UPGRADE_MUST, UPGRADE_TAKES)
            .lasting(Length::Task)
            .taking_away()
            .whole_within(STARTED_WITHIN);
    OperatorRestart = "operator-restart", Cluster,
        "the operator of the cluster in Kubernetes restarts every node in its way: cass-operator \
         by a task, a StatefulSet by a rollout",
        [PodControl].lasting(Length::Task).taking_away().whole_within(POD_BACK_WITHIN);
    HostPowerOff = "host-power-off", Host,
        "the host loses its power, with what was not synced",
        [Hosts, HostCut, VolumeOff]
            .taking(&[Knob::Ha])
            .taking_away()
            .losing(DataLoss::Unsynced)
            .whole_within(STARTED_WITHIN);
    DiskSlow = "disk-slow", Host,
        "the host's volume does little in a second",
        [Hosts, Volume, DiskLimit].demanding(&[Knob::Disk]);
    DiskStalled = "disk-stalled", Host,
        "every write to the host's volume waits",
        [Hosts, VolumeStalled].whole_within(STARTED_WITHIN);
    // A node that cannot write its commit log may end itself.
    DiskFull = "disk-full", Host,
        "the host's volume has no room left",
        [Hosts, Volume]
            .taking(&[Knob::Leave])
            .taking_away()
            .losing(DataLoss::Memory)
            .whole_within(STARTED_WITHIN);
    DiskReadOnly = "disk-read-only", Host,
        "the host's volume can only be read",
        [Hosts, VolumeReadOnly]
            .taking_away()
            .losing(DataLoss::Unsynced)
            .whole_within(STARTED_WITHIN);
    DiskRemoved = "disk-removed", Host,
        "the host's volume is pulled out, and put back",
        [Hosts, VolumeOff].taking_away().losing(DataLoss::Unsynced).whole_within(STARTED_WITHIN);
    DiskErrors = "disk-errors", Node,
        "a part of the host's volume, with half of a file of data, cannot be read",
        [Hosts, VolumeErrors].taking_away().losing(DataLoss::Unsynced).whole_within(STARTED_WITHIN);
    DataCorrupt = "data-corrupt", Node,
        "a block of a file of data is another than was written",
        [Hosts, VolumeCorrupt].taking_away().losing(DataLoss::Memory).whole_within(STARTED_WITHIN);
    DataLost = "data-lost", Node,
        "the node's data is gone, and streamed from the others",
        [Provision, Mbeans].taking_away().losing(DataLoss::Copy).whole_within(ENTERED_WITHIN);
    NodeAdd = "node-add", Host,
        "a new node joins the ring on the host, and leaves it again",
        [Provision, Mbeans, AnotherNode].lasting(Length::Staged).whole_within(ENTERED_WITHIN);
    NodeDecommission = "node-decommission", Node,
        "the node leaves the ring, and joins it again with nothing",
        [Provision, Mbeans]
            .lasting(Length::Staged)
            .taking_away()
            .losing(DataLoss::HandedOver)
            .whole_within(ENTERED_WITHIN);
    NodeRemove = "node-remove", Node,
        "the node is lost and taken out of the ring, and a new one joins",
        [Provision, Mbeans]
            .lasting(Length::Staged)
            .taking_away()
            .losing(DataLoss::Copy)
            .whole_within(ENTERED_WITHIN);
    NetPartition = "net-partition", Split,
        "hosts are cut from others, in both directions; clients reach all",
        [Hosts, PacketFilter];
    NetOneWay = "net-one-way", Split,
        "what hosts send to others is lost, and not what they are sent; clients reach all",
        [Hosts, PacketFilter];
    NetClientCut = "net-client-cut", Host,
        "clients do not reach the nodes of a host, which other hosts do",
        [Hosts, PacketFilter];
    NetDown = "net-down", Host,
        "the host is cut off from everybody, as by a cable that is pulled out",
        [Hosts, HostCut];
    NetLoss = "net-loss", Host,
        "a share of the packets to and from a host is lost",
        [Hosts, PacketFilter, PacketLoss].demanding(&[Knob::Loss]);
    NetSlow = "net-slow", Host,
        "the host's link carries little",
        [Hosts, LinkRate].demanding(&[Knob::Rate]);
    NetDelay = "net-delay", Host,
        "packets to and from a host arrive later",
        [Hosts, LinkDelay].demanding(&[Knob::Delay]);
    NetPolicy = "net-policy", Host,
        "a network policy lets no connection through to and from the node's pod; what stood before \
         may go on",
        [Hosts, NetworkPolicy];
    NetReset = "net-reset", Node,
        "all connections of clients to a node are reset",
        [Hosts, Reset].lasting(Length::Moment);
}

impl Kind {
    /// Returns the kind of this name.
    pub fn of(name: &str) -> Option<Kind> {
        KINDS.iter().find(|kind| kind.name == name).cloned()
    }
}
