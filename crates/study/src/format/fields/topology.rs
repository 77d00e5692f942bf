//! The rows of the placement of local nodes on their machine.

use super::row::optional;
use super::row::with;
use crate::format::field::{Field, Type};
use target_spec::Placing;
use topology::{Smt, Units};

/// Default for a part of which only one half is given so far; the rules require both.
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
        "Where on the machine the nodes run. Default, and `none`: where the kernel puts them. \
         `one-socket-per-vcpu`: as in a guest that is shown a socket for each vCPU: threads run \
         anywhere, memory is interleaved over all NUMA nodes, the JVM counts its CPUs. `auto`: \
         each has the NUMA nodes that the planner gives it as its home, with its memory, and \
         shares their CPUs. `pinned`: each has CPUs of its own there, and nobody else has. With \
         the last two the client gets the rest, under an L3 of its own where that can be had. \
         What came of it is proved thread by thread.",
    ),
    with(
        "target.local.topology.placing",
        choice!(|d| d.local.topology.placing;
            "none" => Placing::None, "one-socket-per-vcpu" => Placing::OneSocketPerVcpu,
            "auto" => Placing::Auto, "pinned" => Placing::Pinned
        ),
        "pinned",
        "By which of these rules.",
    ),
    optional(
        "target.local.topology.cpus",
        Type::Count(1, 4096, |d, n| d.local.topology.cpus = Some(n as u32)),
        "CPUs of each node. Default: an equal share of what nodes may have, in whole cores where \
         there is one for each.",
    ),
    optional(
        "target.local.topology.units",
        choice!(|d| d.local.topology.part.get_or_insert(PART).0;
            "cores" => Units::Cores, "l3" => Units::L3,
            "numa" => Units::Numa, "sockets" => Units::Sockets
        ),
        "What the part of the machine that all nodes together may have is counted in: cores, \
         groups of cores under one L3, NUMA nodes or sockets, all of one socket before those of \
         the next. Needs `count`.",
    ),
    optional(
        "target.local.topology.count",
        Type::Count(1, 4096, |d, n| {
            d.local.topology.part.get_or_insert(PART).1 = n as u32
        }),
        "How many of them. Default: all of the machine.",
    ),
    optional(
        "target.local.topology.smt",
        choice!(|d| d.local.topology.smt;
            "pack" => Some(Smt::Pack), "one-per-core" => Some(Smt::OnePerCore)
        ),
        "Whether a pinned node gets whole cores, or one thread of each. Default: `pack`.",
    ),
    with(
        "target.local.topology.housekeeping",
        Type::Count(0, 64, |d, n| d.local.topology.housekeeping = n as u32),
        "0",
        "Cores of each NUMA node that no node gets: for interrupts and the system. With `auto` \
         and `pinned`.",
    ),
    optional(
        "target.local.topology.client",
        Type::Count(1, 4096, |d, n| d.local.topology.client = Some(n as u32)),
        "CPUs that are kept for the client, in whole cores, before nodes are placed: those that \
         run anywhere keep off them, too. Default: with `cpus` or `count`, what these leave; else \
         an L3 group where the machine has four, or a quarter of its cores; nothing with `none` \
         and `one-socket-per-vcpu`.",
    ),
];
