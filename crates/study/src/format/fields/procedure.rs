//! The rows of the procedures.

use super::row::{DAY, LEVELS, RATE_MAX, S, SECTION, THREADS_MAX, optional, required, with};
use crate::checked_tree::Tree;
use crate::format::field::{Field, Type};
use crate::settings::Load;
use crate::settings::draft::{Draft, Range};
use analysis::procedure::{Percentile, Point, Until};
use topology::Units;

/// Range of latencies that may be given, ms: up to an hour.
const MS_MIN: f64 = 0.001;
const MS_MAX: f64 = 3_600_000.0;

/// Minimum length of an endurance run: twenty blocks of a second show a trend.
const ENDURANCE_MIN: u64 = 20 * S;

const THREADS: Type =
    Type::Section(|d| d.range = Some(Range::new(THREADS_MAX, |n| Point::Threads(n as u32))));
const RATES: Type = Type::Section(|d| d.range = Some(Range::new(RATE_MAX, Point::Rate)));
const EXPECTED: Type = Type::Number(0.01, 1.0, |d, n| d.expected = Some(n));

pub(super) const FIELDS: &[Field] = &[
    optional(
        "procedure",
        SECTION,
        "Which points are measured: one of `sweep`, `peak`, `band`, `latency_target`, \
         `endurance`, `grid`, `fixed`. Needed, but for an imported command line, which says so \
         itself.",
    ),
    optional(
        "procedure.sweep",
        Type::Section(|d| d.procedure = Some(Draft::sweep)),
        "Several points, one after the other: either `threads` or `rate`.",
    ),
    optional(
        "procedure.sweep.threads",
        Type::Either(
            &Type::List(&Type::Count(1, THREADS_MAX, |d, n| {
                d.points.push(Point::Threads(n as u32))
            })),
            &Type::Section(|d| {
                d.range = Some(Range::new(THREADS_MAX, |n| Point::Threads(n as u32)))
            }),
        ),
        "Operations in flight, closed loop: a list, or a range.",
    ),
    required(
        "procedure.sweep.threads.from",
        Type::Count(1, THREADS_MAX, |d, n| d.range().from = Some(n)),
        "First point.",
    ),
    optional(
        "procedure.sweep.threads.step",
        Type::Count(1, THREADS_MAX, |d, n| d.range().step = Some(n)),
        "Distance of the points; this or `factor`.",
    ),
    optional(
        "procedure.sweep.threads.factor",
        Type::Number(1.01, 1000.0, |d, n| d.range().factor = Some(n)),
        "Ratio of the points; this or `step`.",
    ),
    optional(
        "procedure.sweep.threads.to",
        Type::Count(1, THREADS_MAX, |d, n| d.range().to = Some(n)),
        "Last point, of at most 32; may be left out with `until`.",
    ),
    optional(
        "procedure.sweep.rate",
        Type::Either(
            &Type::List(&Type::Count(1, RATE_MAX, |d, n| {
                d.points.push(Point::Rate(n))
            })),
            &Type::Section(|d| d.range = Some(Range::new(RATE_MAX, Point::Rate))),
        ),
        "Operations per second, open loop: a list, or a range.",
    ),
    required(
        "procedure.sweep.rate.from",
        Type::Count(1, RATE_MAX, |d, n| d.range().from = Some(n)),
        "First point.",
    ),
    optional(
        "procedure.sweep.rate.step",
        Type::Count(1, RATE_MAX, |d, n| d.range().step = Some(n)),
        "Distance of the points; this or `factor`.",
    ),
    optional(
        "procedure.sweep.rate.factor",
        Type::Number(1.01, 1000.0, |d, n| d.range().factor = Some(n)),
        "Ratio of the points; this or `step`.",
    ),
    optional(
        "procedure.sweep.rate.to",
        Type::Count(1, RATE_MAX, |d, n| d.range().to = Some(n)),
        "Last point, of at most 32; may be left out with `until`.",
    ),
    optional(
        "procedure.sweep.until",
        Type::Either(
            &choice!(|d| d.until;
                "timeout" => Some(Until::Timeout), "plateau" => Some(Until::Plateau),
                "saturation" => Some(Until::Saturation)),
            &SECTION,
        ),
        "Ends the ladder of points after the trial in which this happens: a request times out; \
         throughput no longer grows beyond its noise, for two points beyond the knee; less is done \
         than a rate offers.",
    ),
    required(
        "procedure.sweep.until.p99_ms",
        Type::Number(MS_MIN, MS_MAX, |d, n| d.until = Some(Until::P99Ms(n))),
        "The p99 of latency exceeds this many milliseconds, or a request times out.",
    ),
    optional(
        "procedure.band",
        Type::Section(|d| d.procedure = Some(Draft::band)),
        "Goes up or down in steps, then by halves, until the p99 of latency is in a band: for each \
         variant, in each block.",
    ),
    required(
        "procedure.band.threads",
        THREADS,
        "Operations in flight, closed loop.",
    ),
    required(
        "procedure.band.threads.from",
        Type::Count(1, THREADS_MAX, |d, n| d.range().from = Some(n)),
        "First point.",
    ),
    required(
        "procedure.band.threads.step",
        Type::Count(1, THREADS_MAX, |d, n| d.range().step = Some(n)),
        "By how many it goes up or down.",
    ),
    required(
        "procedure.band.threads.to",
        Type::Count(1, THREADS_MAX, |d, n| d.range().to = Some(n)),
        "The most.",
    ),
    required(
        "procedure.band.p99_ms",
        Type::List(&Type::Number(MS_MIN, MS_MAX, |d, n| d.band_ms.push(n))),
        "The band: the p99 of latency that is wanted at least and at most, in milliseconds, such \
         as `[50, 100]`.",
    ),
    optional(
        "procedure.band.expected",
        EXPECTED,
        "Then measures at this share of what was found, such as 0.7: the load to expect.",
    ),
    optional(
        "procedure.peak",
        Type::Section(|d| d.procedure = Some(Draft::peak)),
        "Searches for the most load within a latency, for each variant, in each block: doubles it \
         until that is exceeded, bisects to 2 %, then holds what was found twice, with a window \
         three times as long, and lowers it by 3 % where it does not hold. A trial is too much as \
         well if it is invalid, did less than 99 % of what was offered, or if pending compactions \
         grew. Either `rate` or `threads`.",
    ),
    optional(
        "procedure.peak.rate",
        RATES,
        "Operations per second, open loop.",
    ),
    required(
        "procedure.peak.rate.from",
        Type::Count(1, RATE_MAX, |d, n| d.range().from = Some(n)),
        "First point; halved up to five times if it is too much.",
    ),
    required(
        "procedure.peak.rate.to",
        Type::Count(1, RATE_MAX, |d, n| d.range().to = Some(n)),
        "The most that is tried.",
    ),
    optional(
        "procedure.peak.threads",
        THREADS,
        "Operations in flight, closed loop.",
    ),
    required(
        "procedure.peak.threads.from",
        Type::Count(1, THREADS_MAX, |d, n| d.range().from = Some(n)),
        "First point; halved up to five times if it is too much.",
    ),
    required(
        "procedure.peak.threads.to",
        Type::Count(1, THREADS_MAX, |d, n| d.range().to = Some(n)),
        "The most that is tried.",
    ),
    optional(
        "procedure.peak.p50_ms",
        Type::Number(MS_MIN, MS_MAX, |d, n| d.bound(Percentile::P50, n)),
        "The median of latency may be so many milliseconds; this or another percentile.",
    ),
    optional(
        "procedure.peak.p95_ms",
        Type::Number(MS_MIN, MS_MAX, |d, n| d.bound(Percentile::P95, n)),
        "The 95th percentile of latency may be so many milliseconds; this or another percentile.",
    ),
    optional(
        "procedure.peak.p99_ms",
        Type::Number(MS_MIN, MS_MAX, |d, n| d.bound(Percentile::P99, n)),
        "The 99th percentile of latency may be so many milliseconds; this or another percentile.",
    ),
    optional(
        "procedure.peak.p999_ms",
        Type::Number(MS_MIN, MS_MAX, |d, n| d.bound(Percentile::P999, n)),
        "The 99.9th percentile of latency may be so many milliseconds; this or another percentile.",
    ),
    with(
        "procedure.peak.errors",
        Type::Number(0.0, 0.01, |d, n| d.bound.errors = n),
        "0.001",
        "The share of the operations that may fail. Over 0.01 a trial is invalid anyway.",
    ),
    optional(
        "procedure.peak.expected",
        EXPECTED,
        "Then measures at this share of what was found, such as 0.7: the load to expect.",
    ),
    optional(
        "procedure.latency_target",
        Type::Section(|d| d.procedure = Some(Draft::latency_target)),
        "Searches for the most threads within a latency, for each variant, in each block: doubles \
         or halves them, then bisects, to the thread or to 2 %. Nothing is held.",
    ),
    required(
        "procedure.latency_target.threads",
        THREADS,
        "Operations in flight, closed loop.",
    ),
    required(
        "procedure.latency_target.threads.from",
        Type::Count(1, THREADS_MAX, |d, n| d.range().from = Some(n)),
        "First point; halved down to 1 if it is too much.",
    ),
    required(
        "procedure.latency_target.threads.to",
        Type::Count(1, THREADS_MAX, |d, n| d.range().to = Some(n)),
        "The most that are tried.",
    ),
    optional(
        "procedure.latency_target.p50_ms",
        Type::Number(MS_MIN, MS_MAX, |d, n| d.bound(Percentile::P50, n)),
        "The median of latency may be so many milliseconds; this or another percentile.",
    ),
    optional(
        "procedure.latency_target.p95_ms",
        Type::Number(MS_MIN, MS_MAX, |d, n| d.bound(Percentile::P95, n)),
        "The 95th percentile of latency may be so many milliseconds; this or another percentile.",
    ),
    optional(
        "procedure.latency_target.p99_ms",
        Type::Number(MS_MIN, MS_MAX, |d, n| d.bound(Percentile::P99, n)),
        "The 99th percentile of latency may be so many milliseconds; this or another percentile.",
    ),
    optional(
        "procedure.latency_target.p999_ms",
        Type::Number(MS_MIN, MS_MAX, |d, n| d.bound(Percentile::P999, n)),
        "The 99.9th percentile of latency may be so many milliseconds; this or another percentile.",
    ),
    optional(
        "procedure.latency_target.pending_compactions",
        Type::Count(0, 1_000_000, |d, n| d.bound.pending = Some(n)),
        "How many compactions may be pending at the end of a trial, on all nodes together. Without \
         it their number may not grow.",
    ),
    with(
        "procedure.latency_target.errors",
        Type::Number(0.0, 0.01, |d, n| d.bound.errors = n),
        "0.001",
        "The share of the operations that may fail. Over 0.01 a trial is invalid anyway.",
    ),
    optional(
        "procedure.latency_target.expected",
        EXPECTED,
        "Then measures at this share of what was found, such as 0.7: the load to expect.",
    ),
    optional(
        "procedure.endurance",
        Type::Section(|d| d.procedure = Some(Draft::endurance)),
        "One load for hours, for each variant, in each block: whether throughput and latency \
         drift, where they change, what compaction repeats, what grows towards its limit, and \
         whether shorter windows of the same load did the same. Either `threads` or `rate`.",
    ),
    optional(
        "procedure.endurance.threads",
        Type::Count(1, THREADS_MAX, |d, n| {
            d.points = vec![Point::Threads(n as u32)]
        }),
        "Operations in flight, closed loop.",
    ),
    optional(
        "procedure.endurance.rate",
        Type::Count(1, RATE_MAX, |d, n| d.points = vec![Point::Rate(n)]),
        "Operations per second, open loop.",
    ),
    required(
        "procedure.endurance.for",
        Type::Duration(ENDURANCE_MIN, 30 * DAY, |d, ns| d.for_ns = ns),
        "Length of the long window, which is measured last. Whole seconds; less than 20 tell no \
         course. Takes the place of `window.measure`.",
    ),
    optional(
        "procedure.endurance.beside",
        Type::List(&Type::Duration(S, 30 * DAY, |d, ns| d.beside_ns.push(ns))),
        "Lengths of up to eight shorter windows, such as `[1h, 1h]`: trials of their own, measured \
         before the long one in this order.",
    ),
    with(
        "procedure.endurance.within",
        Type::Share(0.001, 0.5, |d, share| d.within = share),
        "4%",
        "Within which share throughput is the same: from the begin to the end of the long window, \
         and of all windows of the load. Latency may drift by 10 % at least.",
    ),
    optional(
        "procedure.scale_up",
        Type::Section(|d| {
            d.scale_up();
        }),
        "The same load on more and more of the machine: a variant for each number of units, with \
         the `sweep`, `peak` or other procedure beside it. The report has the efficiency within a \
         socket, of the system and across sockets, and the curves. Combined with the `variants` \
         or the `matrix` of the study, whose topologies are then arms. Of local nodes.",
    ),
    required(
        "procedure.scale_up.units",
        choice!(|d| d.scale_up().units;
            "cores" => Some(Units::Cores), "l3" => Some(Units::L3),
            "numa" => Some(Units::Numa), "sockets" => Some(Units::Sockets)
        ),
        "What the machine is cut into; all of one socket come before those of the next. Those in \
         use are `target.local.topology.units` and `count`.",
    ),
    required(
        "procedure.scale_up.counts",
        Type::List(&Type::Count(1, 4096, |d, n| {
            d.scale_up().counts.push(n as u32)
        })),
        "How many of them: `[1, 2, 4, 8]`. The first is what the others are compared with.",
    ),
    with(
        "procedure.scale_up.instances",
        choice!(|d| d.scale_up().per_unit;
            "one" => false, "one-per-core" => true, "one-per-l3" => true,
            "one-per-numa" => true, "one-per-socket" => true
        ),
        "one",
        "`one`: the nodes of the study have all units in use together. The others: a node for each \
         unit, on one host.",
    ),
    optional(
        "procedure.scale_up.p99_ms",
        Type::Number(MS_MIN, MS_MAX, |d, n| d.scale_up().p99_bound_ms = Some(n)),
        "Of a sweep only points within this p99 count, in milliseconds. A `peak` has bounds of its \
         own.",
    ),
    optional(
        "procedure.grid",
        Type::Section(|d| d.procedure = Some(Draft::sweep)),
        "Every combination of the values of declared axes. `threads` or `rate` are the points of \
         each; every other axis is one of a `matrix`, whose values have the names of what they \
         set. Combined with the `matrix` or the `variants` of the study, if there are any.",
    ),
    optional(
        "procedure.grid.threads",
        Type::List(&Type::Count(1, THREADS_MAX, |d, n| {
            d.points.push(Point::Threads(n as u32))
        })),
        "Operations in flight, closed loop.",
    ),
    optional(
        "procedure.grid.rate",
        Type::List(&Type::Count(1, RATE_MAX, |d, n| {
            d.points.push(Point::Rate(n))
        })),
        "Operations per second, open loop.",
    ),
    optional(
        "procedure.grid.consistency",
        Type::List(&Type::Level(&LEVELS, |d, level| {
            d.tune(|t| t.consistency = Some(level))
        })),
        "Consistency levels, of all kinds: `workload.consistency`.",
    ),
    optional(
        "procedure.grid.density",
        Type::List(&Type::Bytes(1 << 20, 256 << 40, |d, n| {
            d.data.load = Load::BytesPerNode(n)
        })),
        "Sizes of the data of each node: `data.load.bytes_per_node`.",
    ),
    optional(
        "procedure.grid.heap",
        Type::List(&Type::Bytes(256 << 20, 256 << 30, |d, n| {
            d.local.heap_bytes = n
        })),
        "Heaps: `target.local.heap`.",
    ),
    optional(
        "procedure.grid.replication",
        Type::List(&Type::Count(1, 100, |d, n| d.keyspace.replicate(n as u32))),
        "Replicas: `keyspace.replication`.",
    ),
    optional(
        "procedure.grid.payload",
        Type::List(&Type::Bytes(1, 1 << 30, |d, n| {
            let payload = ("payload".to_owned(), Tree::Bytes(n));
            d.workload.params.push(payload)
        })),
        "Bytes of a row's columns together, of a workload that has a parameter for it: `kv`, \
         `standard1`.",
    ),
    optional(
        "procedure.grid.version",
        Type::List(&Type::Name(|d, text| d.release = Some(text.into()))),
        "Versions of Apache Cassandra: `target.local.cassandra`.",
    ),
    optional(
        "procedure.fixed",
        Type::Section(|d| d.procedure = Some(Draft::fixed)),
        "One point: either `threads` or `rate`.",
    ),
    optional(
        "procedure.fixed.threads",
        Type::Count(1, THREADS_MAX, |d, n| {
            d.points = vec![Point::Threads(n as u32)]
        }),
        "Operations in flight, closed loop.",
    ),
    optional(
        "procedure.fixed.rate",
        Type::Count(1, RATE_MAX, |d, n| d.points = vec![Point::Rate(n)]),
        "Operations per second, open loop.",
    ),
    with(
        "procedure.arrival",
        choice!(|d| d.poisson; "fixed" => false, "poisson" => true),
        "fixed",
        "How arrivals of a rate are spaced.",
    ),
];
