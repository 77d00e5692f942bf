//! Study keys for faults, as rows of the table of keys.

use super::row::{DAY, LOCAL_NODES_MAX, S, SECTION, optional, required, with};
use crate::format::field::{Field, Type};
use crate::settings::{FaultDraft, FaultWhere};
use std::time::Duration;
use target_spec::fault::Rollback;

const MS: u64 = S / 1000;

const ROLES: Type = choice!(|d| d.fault().on;
    "any" => FaultWhere::Any,
    "seed" => FaultWhere::Seed,
    "not-contact-point" => FaultWhere::NotContactPoint,
    "replica-of-hottest-partition" => FaultWhere::HottestReplica
);

/// Converts the number of a node or host, which a study counts from 1, to an index.
fn index<I: From<usize>>(number: u64) -> I {
    I::from((number as usize).saturating_sub(1))
}

pub(super) const FIELDS: &[Field] = &[
    optional(
        "faults",
        Type::List(&Type::Section(|d| d.faults.push(FaultDraft::default()))),
        "List of faults to inject while cassay measures the load. An independent observer must see \
         each fault and its end, or the trial is not valid. On nodes that cassay did not start, \
         the programs of `target.attach.faults` inject faults. On machines of \
         `target.attach.hosts`, cassay can also stop, kill and pause nodes. The command `cassay \
         fault list` shows which faults a target supports.",
    ),
    required(
        "faults.kind",
        Type::List(&Type::Fault(|d, kind| d.fault().kinds.push(kind))),
        "Kind of the fault. With several kinds, cassay chooses one at random each time. For nodes \
         that cassay did not start, the kind can also be a name in `target.attach.faults`.",
    ),
    with(
        "faults.where",
        SECTION,
        "{}",
        "Target of the fault. Default: a random node, or a random host for kinds that affect \
         hosts. Kinds that affect all nodes one after the other have no target.",
    ),
    optional(
        "faults.where.node",
        Type::Count(1, LOCAL_NODES_MAX, |d, n| {
            d.fault().on = FaultWhere::Node(index(n))
        }),
        "Number of the node, from 1. For kinds that affect hosts, the target is the host of the \
         node. For nodes that cassay did not start, the numbers follow the order of the contact \
         points.",
    ),
    optional(
        "faults.where.host",
        Type::Count(1, LOCAL_NODES_MAX, |d, n| {
            d.fault().on = FaultWhere::Host(index(n))
        }),
        "Number of the host, from 1. For kinds that affect nodes, the target is the first node of \
         the host.",
    ),
    optional(
        "faults.where.hosts",
        Type::List(&Type::Count(1, LOCAL_NODES_MAX, |d, n| {
            d.fault().host(index(n))
        })),
        "Numbers of hosts. Kinds that cut hosts off from other hosts cut off all hosts of this \
         list. Other kinds affect a random host of this list.",
    ),
    optional(
        "faults.where.from",
        Type::List(&Type::Count(1, LOCAL_NODES_MAX, |d, n| {
            d.fault().from.push(index(n));
        })),
        "Numbers of the hosts from which the fault cuts off the hosts of `hosts`. Default: all \
         other hosts.",
    ),
    optional(
        "faults.where.role",
        ROLES,
        "Role of the node. With `any`: any node. With `seed`: the first node, which is also the \
         client's contact point. With `not-contact-point`: any other node. With \
         `replica-of-hottest-partition`: the first replica of the most requested partition, if the \
         workload's distribution has one.",
    ),
    required(
        "faults.at",
        Type::Duration(0, 30 * DAY, |d, ns| d.fault().at_ns = ns),
        "Start of the fault, counted from the start of the window.",
    ),
    optional(
        "faults.for",
        Type::Duration(S, 30 * DAY, |d, ns| d.fault().for_ns = Some(ns)),
        "Duration, after which cassay heals the fault. Instantaneous kinds have no duration. For \
         kinds that perform a task, this value is a time limit, and cassay stops a task that takes \
         longer. Some kinds take time to inject: a rolling change, a snapshot, a change of the \
         clock, a new node, and an upgrade with a rollback. The duration of these kinds begins \
         when the fault is in effect.",
    ),
    optional(
        "faults.until",
        choice!(|d| d.fault().for_ns; "end" => None),
        "With `end`, the fault lasts until the window ends. Use this key instead of `for`.",
    ),
    optional(
        "faults.every",
        Type::Duration(S, 30 * DAY, |d, ns| d.fault().every_ns = Some(ns)),
        "Repeat the fault at this interval, counted from `at`, until the window ends. Each \
         repetition starts after the previous repetition has ended. Default: the fault occurs \
         once.",
    ),
    optional(
        "faults.seed",
        Type::Count(0, u64::MAX, |d, n| d.fault().seed = Some(n)),
        "Seed of the fault's random choices. Default: the study's seed.",
    ),
    optional(
        "faults.cpus",
        Type::Number(0.01, 1024.0, |d, n| d.fault().options.cpus = Some(n)),
        "CPU time that remains for the host of a slow node, in cores. Default: 0.1.",
    ),
    optional("faults.disk", SECTION, "Limits per second of a slow disk."),
    optional(
        "faults.disk.read_iops",
        Type::Count(1, 100_000_000, |d, n| {
            d.fault().options.disk.read_iops = Some(n)
        }),
        "Maximum number of reads per second from the slow disk.",
    ),
    optional(
        "faults.disk.write_iops",
        Type::Count(1, 100_000_000, |d, n| {
            d.fault().options.disk.write_iops = Some(n)
        }),
        "Maximum number of writes per second to the slow disk.",
    ),
    optional(
        "faults.disk.read_rate",
        Type::Bytes(4 << 10, 1 << 40, |d, n| {
            d.fault().options.disk.read_bytes_per_s = Some(n);
        }),
        "Maximum number of bytes read per second from the slow disk.",
    ),
    optional(
        "faults.disk.write_rate",
        Type::Bytes(4 << 10, 1 << 40, |d, n| {
            d.fault().options.disk.write_bytes_per_s = Some(n);
        }),
        "Maximum number of bytes written per second to the slow disk.",
    ),
    optional(
        "faults.leave",
        Type::Bytes(0, 1 << 50, |d, n| d.fault().options.leave_bytes = Some(n)),
        "Free space to leave on a full disk. Default: no free space.",
    ),
    optional(
        "faults.loss",
        Type::Share(0.001, 1.0, |d, n| d.fault().options.loss = Some(n)),
        "Share of packets to drop, such as `10%`.",
    ),
    optional(
        "faults.rate",
        Type::BitRate(8_000, 1_000_000_000_000, |d, n| {
            d.fault().options.rate_bits_per_s = Some(n);
        }),
        "Bandwidth of a slow link.",
    ),
    optional(
        "faults.delay",
        Type::Duration(MS / 10, 10 * S, |d, ns| {
            d.fault().options.delay = Some(Duration::from_nanos(ns));
        }),
        "One-way delay that the fault adds to packets.",
    ),
    optional(
        "faults.by",
        Type::Duration(100 * MS, 30 * DAY, |d, ns| {
            d.fault().options.by = Some(Duration::from_nanos(ns));
        }),
        "Time by which the fault moves the clock.",
    ),
    optional(
        "faults.yaml",
        Type::Map(&Type::Any(|d, tree| {
            let key = d.key.clone();
            d.fault().options.yaml.insert(key, tree.to_json());
        })),
        "Settings of cassandra.yaml that differ from the settings of the target, such as \
         `{storage_compatibility_mode: UPGRADING}`. They apply during a rolling change, or on \
         nodes that a rolling upgrade has upgraded to the release in `to`.",
    ),
    optional(
        "faults.to",
        Type::Release(|d, release| d.fault().options.to = Some(release.clone())),
        "Release that a rolling upgrade installs, such as `5.0.9`, or a line such as `5.0`.",
    ),
    with(
        "faults.drain",
        Type::Bool(|d, on| d.fault().options.drain = Some(on)),
        "true",
        "Flush each node's memtables before it stops (`nodetool drain`), so that the node replays \
         no commit log at its next start.",
    ),
    with(
        "faults.upgrade_sstables",
        choice!(|d| d.fault().options.upgrade_sstables; "never" => false, "after" => true),
        "never",
        "Rewrite SSTables of older formats when all nodes are upgraded (`nodetool \
         upgradesstables`). By default, 5.0 writes the format of 4.0 and 4.1, so it has no files \
         to rewrite unless the study sets `storage_compatibility_mode`.",
    ),
    optional(
        "faults.nodes",
        Type::List(&Type::Count(1, LOCAL_NODES_MAX, |d, n| {
            d.fault().options.nodes.push(index(n))
        })),
        "Numbers of the nodes to upgrade, in this order. A single node is a canary. Default: all \
         nodes.",
    ),
    with(
        "faults.back",
        choice!(|d| d.fault().options.back;
            "never" => Rollback::Never, "snapshot" => Rollback::Snapshot),
        "never",
        "Rollback of an upgrade. `never`: no rollback. `snapshot`: cassay restores the earlier \
         files of each node, which it saved as hard links after the node drained and stopped. \
         After the upgrade, cassay waits for the time `for`. Then each node drains and stops, \
         cassay restores its files, and the node starts as its old release. The last upgraded node \
         goes first. Afterwards, cassay repairs all client keyspaces on each node, because the \
         restored files lack the writes since the upgrade. cassay refuses a rollback if the number \
         of nodes that go back is at least the number of replicas that acknowledge a write.",
    ),
    optional(
        "faults.ha",
        SECTION,
        "Start the nodes of a stopped host on another host, with the volumes of the nodes. Not \
         available for remote machines (`target.local.machines`), because each machine has its own \
         disks.",
    ),
    optional(
        "faults.ha.restart_on",
        Type::WordOr(
            &[("other-host", |d| d.fault().options.ha_on = None)],
            &Type::Count(1, LOCAL_NODES_MAX, |d, n| {
                d.fault().options.ha_on = Some(index(n));
            }),
        ),
        "Number of the host on which the nodes start, from 1. Default: `other-host`, which means \
         the next host.",
    ),
    required(
        "faults.ha.after",
        Type::Duration(S, DAY, |d, ns| {
            d.fault().options.ha_after = Some(Duration::from_nanos(ns));
        }),
        "Delay until the nodes start on the other host.",
    ),
];
