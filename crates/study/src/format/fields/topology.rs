//! Study keys for the placement of local nodes on their machine, as rows of the table of keys.

use super::row::optional;
use super::row::with;
use crate::format::field::{Field, Type};
use target_spec::Placing;
use topology::{Smt, Units};

/// Default for the part of the machine if a study sets only the unit or only the number. The rules
/// require both keys.
const PART: (Units, u32) = (Units::Cores, 1);

pub(super) const FIELDS: &[Field] = &[
    optional(
        "target.local.topology",
        Type::WordOr(
            &[
                ("none", |d| d.local.topology.placing = Placing::None),
                ("one-socket-per-vcpu", |d| {
                    d.local.topology.placing = Placing::OneSocketPerVcpu
                }),
                ("auto", |d| d.local.topology.placing = Placing::Auto),
                ("pinned", |d| d.local.topology.placing = Placing::Pinned),
            ],
            &Type::Section(|d| d.local.topology.placing = Placing::Pinned),
        ),
        "Placement of the nodes on the machine. With `none` (default), the kernel decides. With \
         `one-socket-per-vcpu`, nodes run as in a guest with one socket per vCPU. Threads then run \
         anywhere, memory is interleaved over all NUMA nodes, and the JVM counts its assigned \
         CPUs. With `auto`, each node runs on the NUMA nodes that the planner assigns, with local \
         memory and shared CPUs. With `pinned`, each node has exclusive CPUs on these NUMA nodes. \
         With `auto` and `pinned`, the client gets the remaining CPUs, in a separate L3 cache if \
         possible. cassay verifies the placement of every thread.",
    ),
    with(
        "target.local.topology.placing",
        choice!(|d| d.local.topology.placing;
            "none" => Placing::None, "one-socket-per-vcpu" => Placing::OneSocketPerVcpu,
            "auto" => Placing::Auto, "pinned" => Placing::Pinned
        ),
        "pinned",
        "Placement of the nodes, as described for `target.local.topology`.",
    ),
    optional(
        "target.local.topology.cpus",
        Type::Count(1, 4096, |d, n| d.local.topology.cpus = Some(n as u32)),
        "Number of CPUs of each node. Default: an equal share of the CPUs for nodes, in whole \
         cores if each node gets at least one core.",
    ),
    optional(
        "target.local.topology.units",
        choice!(|d| d.local.topology.part.get_or_insert(PART).0;
            "cores" => Units::Cores, "l3" => Units::L3,
            "numa" => Units::Numa, "sockets" => Units::Sockets
        ),
        "Unit of the part of the machine that all nodes together may use: cores, groups of cores \
         under one L3 cache, NUMA nodes or sockets. cassay uses all units of one socket before the \
         next socket. Needs `count`.",
    ),
    optional(
        "target.local.topology.count",
        Type::Count(1, 4096, |d, n| {
            d.local.topology.part.get_or_insert(PART).1 = n as u32
        }),
        "Number of `units` that all nodes together may use. Default: the whole machine.",
    ),
    optional(
        "target.local.topology.smt",
        choice!(|d| d.local.topology.smt;
            "pack" => Some(Smt::Pack), "one-per-core" => Some(Smt::OnePerCore)
        ),
        "CPUs of a pinned node. With `pack` (default): whole cores. With `one-per-core`: one \
         thread of each core.",
    ),
    with(
        "target.local.topology.housekeeping",
        Type::Count(0, 64, |d, n| d.local.topology.housekeeping = n as u32),
        "0",
        "Number of cores in each NUMA node to leave free of nodes, for interrupts and the system. \
         Applies with `auto` and `pinned`.",
    ),
    optional(
        "target.local.topology.client",
        Type::Count(1, 4096, |d, n| d.local.topology.client = Some(n as u32)),
        "Number of CPUs to reserve for the client, in whole cores, before cassay places nodes. \
         Nodes without a placement do not use these CPUs either. Default: with `cpus` or `count`, \
         the remaining CPUs. Otherwise an L3 cache if the machine has four, or a quarter of its \
         cores. With `none` and `one-socket-per-vcpu`, cassay reserves no CPUs.",
    ),
];
