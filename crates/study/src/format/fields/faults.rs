//! The rows of faults.

use super::row::{DAY, LOCAL_NODES_MAX, S, SECTION, optional, required, with};
use crate::format::field::{Field, Type};
use crate::settings::{FaultDraft, FaultWhere};
use std::time::Duration;
use target_spec::fault::{Back, Hit};
use versions::Release;

const MS: u64 = S / 1000;

/// Roles of nodes.
const ROLES: Type = choice!(|d| d.fault().on;
    "any" => FaultWhere::Any,
    "seed" => FaultWhere::Seed,
    "not-contact-point" => FaultWhere::NotContactPoint,
    "replica-of-hottest-partition" => FaultWhere::HottestReplica
);

/// Converts the number of a node or host, which a study counts from 1, to an index.
fn index(number: u64) -> usize {
    (number as usize).saturating_sub(1)
}

/// The rows.
pub(super) const FIELDS: &[Field] = &[
    optional(
        "faults",
        Type::List(&Type::Section(|d| d.faults.push(FaultDraft::default()))),
        "What is broken on purpose while load is measured: a list. Each is seen to break and to be \
         whole again by who has not done it, or the trial is not believed. Nodes that are not ours \
         are broken by the programs of `target.attach.faults`, and stopped, killed and paused on \
         the machines of `target.attach.hosts`. `cassay fault list` says what there is, and what a \
         target can do.",
    ),
    required(
        "faults.kind",
        Type::List(&Type::Fault(|d, kind| d.fault().kinds.push(kind))),
        "How it is broken; of several kinds one at random each time. Of nodes that are not ours, \
         by a name of `target.attach.faults`.",
    ),
    with(
        "faults.where",
        SECTION,
        "{}",
        "What is broken. Default: any node, or any host where the kind breaks hosts, at random. \
         Kinds that take all nodes in turn have none.",
    ),
    optional(
        "faults.where.node",
        Type::Count(1, LOCAL_NODES_MAX, |d, n| {
            d.fault().on = FaultWhere::Named(Hit::Node(index(n)))
        }),
        "Number of the node, from 1; its host where the kind breaks hosts. Nodes that are not ours \
         are counted by their contact points.",
    ),
    optional(
        "faults.where.host",
        Type::Count(1, LOCAL_NODES_MAX, |d, n| {
            d.fault().on = FaultWhere::Named(Hit::Host(index(n)))
        }),
        "Number of the host, from 1; its first node where the kind breaks nodes.",
    ),
    optional(
        "faults.where.hosts",
        Type::List(&Type::Count(1, LOCAL_NODES_MAX, |d, n| {
            d.fault().host(index(n))
        })),
        "Numbers of hosts, for kinds that cut some hosts from others; one of them at random for \
         other kinds.",
    ),
    optional(
        "faults.where.from",
        Type::List(&Type::Count(1, LOCAL_NODES_MAX, |d, n| {
            d.fault().from.push(index(n));
        })),
        "The hosts from which they are cut. Default: all others.",
    ),
    optional(
        "faults.where.role",
        ROLES,
        "What it is: any, the seed (the first node, which is also the client's contact point), any \
         but that, or the first replica of the partition that the workload asks for most, if its \
         choice of rows has one.",
    ),
    required(
        "faults.at",
        Type::Duration(0, 30 * DAY, |d, ns| d.fault().at_ns = ns),
        "When, after the begin of the measured window.",
    ),
    optional(
        "faults.for",
        Type::Duration(S, 30 * DAY, |d, ns| d.fault().for_ns = Some(ns)),
        "For how long, from when what it hits was whole; then it is healed. Kinds that are over \
         at once have none. Those that do something are over when it is done: then it is the most \
         that they may take, and what is not over in time is stopped. What it takes a while to \
         bring about (a rolling change, a snapshot, a clock, a new node, an upgrade that goes \
         back) holds for so long from then on.",
    ),
    optional(
        "faults.until",
        choice!(|d| d.fault().for_ns; "end" => None),
        "Instead of `for`: until the window ends.",
    ),
    optional(
        "faults.every",
        Type::Duration(S, 30 * DAY, |d, ns| d.fault().every_ns = Some(ns)),
        "Again and again, counted from `at`, as long as the window lasts; each when the one before \
         is over. Default: once.",
    ),
    optional(
        "faults.seed",
        Type::Count(0, u64::MAX, |d, n| d.fault().seed = Some(n)),
        "What is chosen at random follows from it. Default: the study's seed.",
    ),
    optional(
        "faults.cpus",
        Type::Number(0.01, 1024.0, |d, n| d.fault().options.cpus = Some(n)),
        "CPU time that is left to the host of a slow node, in cores. Default: 0.1.",
    ),
    optional("faults.disk", SECTION, "What a slow disk does in a second."),
    optional(
        "faults.disk.read_iops",
        Type::Count(1, 100_000_000, |d, n| {
            d.fault().options.disk.read_iops = Some(n)
        }),
        "Reads per second.",
    ),
    optional(
        "faults.disk.write_iops",
        Type::Count(1, 100_000_000, |d, n| {
            d.fault().options.disk.write_iops = Some(n)
        }),
        "Writes per second.",
    ),
    optional(
        "faults.disk.read_rate",
        Type::Bytes(4 << 10, 1 << 40, |d, n| {
            d.fault().options.disk.read_bytes_per_s = Some(n);
        }),
        "Bytes per second that are read.",
    ),
    optional(
        "faults.disk.write_rate",
        Type::Bytes(4 << 10, 1 << 40, |d, n| {
            d.fault().options.disk.write_bytes_per_s = Some(n);
        }),
        "Bytes per second that are written.",
    ),
    optional(
        "faults.leave",
        Type::Bytes(0, 1 << 50, |d, n| d.fault().options.leave_bytes = Some(n)),
        "What is left free of a full disk. Default: nothing.",
    ),
    optional(
        "faults.loss",
        Type::Share(0.001, 1.0, |d, n| d.fault().options.loss = Some(n)),
        "The share of packets that is lost.",
    ),
    optional(
        "faults.rate",
        Type::BitRate(8_000, 1_000_000_000_000, |d, n| {
            d.fault().options.rate_bits_per_s = Some(n);
        }),
        "What a slow link carries.",
    ),
    optional(
        "faults.delay",
        Type::Duration(MS / 10, 10 * S, |d, ns| {
            d.fault().options.delay = Some(Duration::from_nanos(ns));
        }),
        "How much later packets arrive, one way.",
    ),
    optional(
        "faults.by",
        Type::Duration(100 * MS, 30 * DAY, |d, ns| {
            d.fault().options.by = Some(Duration::from_nanos(ns));
        }),
        "How far a clock is off.",
    ),
    optional(
        "faults.yaml",
        Type::Map(&Type::Any(|d, tree| {
            let key = d.key.clone();
            d.fault().options.yaml.insert(key, tree.to_json());
        })),
        "Settings of cassandra.yaml that differ from those of the target: while a rolling change \
         holds, or on the nodes that a rolling upgrade has brought to `to`, as \
         `{storage_compatibility_mode: UPGRADING}`.",
    ),
    optional(
        "faults.to",
        Type::Name(|d, text| {
            let release = Release::of(text).ok();
            d.fault().options.to = release;
        }),
        "The release that a rolling upgrade brings nodes to: `5.0.9`, or a line, as `5.0`.",
    ),
    with(
        "faults.drain",
        Type::Bool(|d, on| d.fault().options.drain = Some(on)),
        "true",
        "Whether each node writes what it has in memory to files before it ends (`nodetool \
         drain`), so that the next one replays nothing.",
    ),
    with(
        "faults.upgrade_sstables",
        choice!(|d| d.fault().options.upgrade_sstables; "never" => false, "after" => true),
        "never",
        "Whether files of older formats are rewritten in the one that a node writes (`nodetool \
         upgradesstables`), when all nodes are upgraded. 5.0 writes the format of 4.0 and 4.1, and \
         has nothing to rewrite, until `storage_compatibility_mode` says otherwise.",
    ),
    optional(
        "faults.nodes",
        Type::List(&Type::Count(1, LOCAL_NODES_MAX, |d, n| {
            d.fault().options.nodes.push(index(n))
        })),
        "Numbers of the nodes that are upgraded, in this order; one is a canary. Default: all.",
    ),
    with(
        "faults.back",
        choice!(|d| d.fault().options.back; "never" => Back::Never, "snapshot" => Back::Snapshot),
        "never",
        "What brings nodes back that were upgraded: nothing, or the files that each had before, \
         kept by hard links when it had drained and ended. With these, the upgrade holds for `for` \
         from when it is done; then each node drains, ends, gets its files, and is started as the \
         release that it was, the last one first. When all are back, each is repaired (all \
         keyspaces of clients), since what was written meanwhile is not in its files. Refused \
         where as many nodes go back as acknowledge a write.",
    ),
    optional(
        "faults.ha",
        SECTION,
        "The nodes of a host that is off are started elsewhere, with their volumes. Not of \
         machines of their own (`target.local.machines`), each of which has its own disks.",
    ),
    optional(
        "faults.ha.restart_on",
        Type::WordOr(
            &[("other-host", |d| d.fault().options.ha_on = None)],
            &Type::Count(1, LOCAL_NODES_MAX, |d, n| {
                d.fault().options.ha_on = Some(index(n));
            }),
        ),
        "Where: on this host, by its number from 1. Default: `other-host`, the next one.",
    ),
    required(
        "faults.ha.after",
        Type::Duration(S, DAY, |d, ns| {
            d.fault().options.ha_after = Some(Duration::from_nanos(ns));
        }),
        "After how long.",
    ),
];
