//! Study keys for the procedures, as rows of the table of keys.

use super::row::{DAY, LEVELS, RATE_MAX, S, SECTION, THREADS_MAX, optional, required, with};
use crate::checked_tree::Tree;
use crate::format::field::{Field, Type};
use crate::settings::Load;
use crate::settings::draft::{Draft, Range};
use analysis::procedure::{Percentile, Point, Until};
use topology::Units;

/// Permitted range of latency limits, in ms. The maximum is one hour.
const MS_MIN: f64 = 0.001;
const MS_MAX: f64 = 3_600_000.0;

/// Minimum length of an endurance run, in ns. A trend is visible in twenty blocks of one second.
const ENDURANCE_MIN: u64 = 20 * S;

const THREADS: Type =
    Type::Section(|d| d.range = Some(Range::new(THREADS_MAX, |n| Point::Threads(n as u32))));
const RATES: Type = Type::Section(|d| d.range = Some(Range::new(RATE_MAX, Point::Rate)));
const EXPECTED: Type = Type::Number(0.01, 1.0, |d, n| d.expected = Some(n));

pub(super) const FIELDS: &[Field] = &[
    optional(
        "procedure",
        SECTION,
        "Points to measure: one of `sweep`, `peak`, `band`, `latency_target`, `endurance`, `grid` \
         and `fixed`. Required, except with an imported command line, which sets its own points.",
    ),
    optional(
        "procedure.sweep",
        Type::Section(|d| d.procedure = Some(Draft::sweep)),
        "Measures several points, one after the other. Requires either `threads` or `rate`.",
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
        "Numbers of operations in flight, in a closed loop: a list or a range.",
    ),
    required(
        "procedure.sweep.threads.from",
        Type::Count(1, THREADS_MAX, |d, n| d.range().from = Some(n)),
        "First point.",
    ),
    optional(
        "procedure.sweep.threads.step",
        Type::Count(1, THREADS_MAX, |d, n| d.range().step = Some(n)),
        "Difference between consecutive points. Set either this key or `factor`.",
    ),
    optional(
        "procedure.sweep.threads.factor",
        Type::Number(1.01, 1000.0, |d, n| d.range().factor = Some(n)),
        "Ratio between consecutive points. Set either this key or `step`.",
    ),
    optional(
        "procedure.sweep.threads.to",
        Type::Count(1, THREADS_MAX, |d, n| d.range().to = Some(n)),
        "Last point of the range, which may have at most 32 points. Optional with `until`.",
    ),
    optional(
        "procedure.sweep.rate",
        Type::Either(
            &Type::List(&Type::Count(1, RATE_MAX, |d, n| {
                d.points.push(Point::Rate(n))
            })),
            &Type::Section(|d| d.range = Some(Range::new(RATE_MAX, Point::Rate))),
        ),
        "Rates in operations per second, in an open loop: a list or a range.",
    ),
    required(
        "procedure.sweep.rate.from",
        Type::Count(1, RATE_MAX, |d, n| d.range().from = Some(n)),
        "First point.",
    ),
    optional(
        "procedure.sweep.rate.step",
        Type::Count(1, RATE_MAX, |d, n| d.range().step = Some(n)),
        "Difference between consecutive points. Set either this key or `factor`.",
    ),
    optional(
        "procedure.sweep.rate.factor",
        Type::Number(1.01, 1000.0, |d, n| d.range().factor = Some(n)),
        "Ratio between consecutive points. Set either this key or `step`.",
    ),
    optional(
        "procedure.sweep.rate.to",
        Type::Count(1, RATE_MAX, |d, n| d.range().to = Some(n)),
        "Last point of the range, which may have at most 32 points. Optional with `until`.",
    ),
    optional(
        "procedure.sweep.until",
        Type::Either(
            &choice!(|d| d.until;
                "timeout" => Some(Until::Timeout), "plateau" => Some(Until::Plateau),
                "saturation" => Some(Until::Saturation)),
            &SECTION,
        ),
        "Condition that ends the sweep after a trial. `timeout`: an operation timed out. \
         `plateau`: throughput did not grow by more than its noise at two points after the knee. \
         `saturation`: throughput is below the offered rate.",
    ),
    required(
        "procedure.sweep.until.p99_ms",
        Type::Number(MS_MIN, MS_MAX, |d, n| d.until = Some(Until::P99Ms(n))),
        "End the sweep if p99 latency exceeds this limit, in ms, or if an operation times out.",
    ),
    optional(
        "procedure.band",
        Type::Section(|d| d.procedure = Some(Draft::band)),
        "Changes the number of threads in steps, then by bisection, until p99 latency is within a \
         band. Each variant has such a search in each block.",
    ),
    required(
        "procedure.band.threads",
        THREADS,
        "Number of operations in flight, in a closed loop.",
    ),
    required(
        "procedure.band.threads.from",
        Type::Count(1, THREADS_MAX, |d, n| d.range().from = Some(n)),
        "First point.",
    ),
    required(
        "procedure.band.threads.step",
        Type::Count(1, THREADS_MAX, |d, n| d.range().step = Some(n)),
        "Number of threads to add or remove in a step.",
    ),
    required(
        "procedure.band.threads.to",
        Type::Count(1, THREADS_MAX, |d, n| d.range().to = Some(n)),
        "Maximum number of operations in flight.",
    ),
    required(
        "procedure.band.p99_ms",
        Type::List(&Type::Number(MS_MIN, MS_MAX, |d, n| d.band_ms.push(n))),
        "Band of p99 latency: the lower and the upper limit, in ms, such as `[50, 100]`.",
    ),
    optional(
        "procedure.band.expected",
        EXPECTED,
        "After the search, also measure at this share of the result, such as 0.7. This point is \
         the expected load.",
    ),
    optional(
        "procedure.peak",
        Type::Section(|d| d.procedure = Some(Draft::peak)),
        "Searches for the highest load within a latency limit, for each variant, in each block. \
         Doubles the load until the latency exceeds the limit, then bisects to 2 %. Then verifies \
         the result twice with a window three times as long, and lowers the result by 3 % if the \
         verification fails. A load is also too high if its trial is invalid, achieves less than \
         99 % of the offered rate, or increases pending compactions. Requires either `rate` or \
         `threads`.",
    ),
    optional(
        "procedure.peak.rate",
        RATES,
        "Operations per second, in an open loop.",
    ),
    required(
        "procedure.peak.rate.from",
        Type::Count(1, RATE_MAX, |d, n| d.range().from = Some(n)),
        "First point. If this load is too high, the search halves it up to five times.",
    ),
    required(
        "procedure.peak.rate.to",
        Type::Count(1, RATE_MAX, |d, n| d.range().to = Some(n)),
        "Maximum load of the search.",
    ),
    optional(
        "procedure.peak.threads",
        THREADS,
        "Number of operations in flight, in a closed loop.",
    ),
    required(
        "procedure.peak.threads.from",
        Type::Count(1, THREADS_MAX, |d, n| d.range().from = Some(n)),
        "First point. If this load is too high, the search halves it up to five times.",
    ),
    required(
        "procedure.peak.threads.to",
        Type::Count(1, THREADS_MAX, |d, n| d.range().to = Some(n)),
        "Maximum load of the search.",
    ),
    optional(
        "procedure.peak.p50_ms",
        Type::Number(MS_MIN, MS_MAX, |d, n| d.bound(Percentile::P50, n)),
        "Upper limit of median latency, in ms. Set exactly one percentile.",
    ),
    optional(
        "procedure.peak.p95_ms",
        Type::Number(MS_MIN, MS_MAX, |d, n| d.bound(Percentile::P95, n)),
        "Upper limit of p95 latency, in ms. Set exactly one percentile.",
    ),
    optional(
        "procedure.peak.p99_ms",
        Type::Number(MS_MIN, MS_MAX, |d, n| d.bound(Percentile::P99, n)),
        "Upper limit of p99 latency, in ms. Set exactly one percentile.",
    ),
    optional(
        "procedure.peak.p999_ms",
        Type::Number(MS_MIN, MS_MAX, |d, n| d.bound(Percentile::P999, n)),
        "Upper limit of p99.9 latency, in ms. Set exactly one percentile.",
    ),
    with(
        "procedure.peak.errors",
        Type::Number(0.0, 0.01, |d, n| d.bound.errors = n),
        "0.001",
        "Upper limit of failed operations, as a share. A trial with a share above 0.01 is always \
         invalid.",
    ),
    optional(
        "procedure.peak.expected",
        EXPECTED,
        "After the search, also measure at this share of the result, such as 0.7. This point is \
         the expected load.",
    ),
    optional(
        "procedure.latency_target",
        Type::Section(|d| d.procedure = Some(Draft::latency_target)),
        "Searches for the most threads within a latency limit, for each variant, in each block. \
         Doubles or halves the number of threads, then bisects to one thread or 2 %. Does not \
         verify the result.",
    ),
    required(
        "procedure.latency_target.threads",
        THREADS,
        "Number of operations in flight, in a closed loop.",
    ),
    required(
        "procedure.latency_target.threads.from",
        Type::Count(1, THREADS_MAX, |d, n| d.range().from = Some(n)),
        "First point. If this load is too high, the search halves it, down to 1.",
    ),
    required(
        "procedure.latency_target.threads.to",
        Type::Count(1, THREADS_MAX, |d, n| d.range().to = Some(n)),
        "Maximum load of the search.",
    ),
    optional(
        "procedure.latency_target.p50_ms",
        Type::Number(MS_MIN, MS_MAX, |d, n| d.bound(Percentile::P50, n)),
        "Upper limit of median latency, in ms. Set exactly one percentile.",
    ),
    optional(
        "procedure.latency_target.p95_ms",
        Type::Number(MS_MIN, MS_MAX, |d, n| d.bound(Percentile::P95, n)),
        "Upper limit of p95 latency, in ms. Set exactly one percentile.",
    ),
    optional(
        "procedure.latency_target.p99_ms",
        Type::Number(MS_MIN, MS_MAX, |d, n| d.bound(Percentile::P99, n)),
        "Upper limit of p99 latency, in ms. Set exactly one percentile.",
    ),
    optional(
        "procedure.latency_target.p999_ms",
        Type::Number(MS_MIN, MS_MAX, |d, n| d.bound(Percentile::P999, n)),
        "Upper limit of p99.9 latency, in ms. Set exactly one percentile.",
    ),
    optional(
        "procedure.latency_target.pending_compactions",
        Type::Count(0, 1_000_000, |d, n| d.bound.pending = Some(n)),
        "Upper limit of pending compactions at the end of a trial, on all nodes together. Without \
         this key, the number of pending compactions must not grow.",
    ),
    with(
        "procedure.latency_target.errors",
        Type::Number(0.0, 0.01, |d, n| d.bound.errors = n),
        "0.001",
        "Upper limit of failed operations, as a share. A trial with a share above 0.01 is always \
         invalid.",
    ),
    optional(
        "procedure.latency_target.expected",
        EXPECTED,
        "After the search, also measure at this share of the result, such as 0.7. This point is \
         the expected load.",
    ),
    optional(
        "procedure.endurance",
        Type::Section(|d| d.procedure = Some(Draft::endurance)),
        "Measures one load for hours, for each variant, in each block. Shows drift and changes of \
         throughput and latency, periodic effects of compaction, and resources that grow towards a \
         limit. Also shows whether shorter windows of the same load have the same results. \
         Requires either `threads` or `rate`.",
    ),
    optional(
        "procedure.endurance.threads",
        Type::Count(1, THREADS_MAX, |d, n| {
            d.points = vec![Point::Threads(n as u32)]
        }),
        "Number of operations in flight, in a closed loop.",
    ),
    optional(
        "procedure.endurance.rate",
        Type::Count(1, RATE_MAX, |d, n| d.points = vec![Point::Rate(n)]),
        "Operations per second, in an open loop.",
    ),
    required(
        "procedure.endurance.for",
        Type::Duration(ENDURANCE_MIN, 30 * DAY, |d, ns| d.for_ns = ns),
        "Length of the long window, which is measured last, in whole seconds. The minimum is 20 s, \
         so that a trend is visible. Replaces `window.measure`.",
    ),
    optional(
        "procedure.endurance.beside",
        Type::List(&Type::Duration(S, 30 * DAY, |d, ns| d.beside_ns.push(ns))),
        "Lengths of up to eight shorter windows, such as `[1h, 1h]`. Each window is a separate \
         trial. cassay measures these trials before the long window, in this order.",
    ),
    with(
        "procedure.endurance.within",
        Type::Share(0.001, 0.5, |d, share| d.within = share),
        "4%",
        "Maximum difference of throughput that cassay ignores, as a share. This limit applies to \
         the change from the start to the end of the long window. It also applies to the \
         differences between the windows of the load. For latency, the ignored difference is at \
         least 10 %.",
    ),
    optional(
        "procedure.scale_up",
        Type::Section(|d| {
            d.scale_up();
        }),
        "Measures the same load on an increasing part of the machine, with a variant for each \
         number of units. Also requires another procedure, such as `sweep` or `peak`. The report \
         shows the efficiency within a socket, across sockets and of the system, with scaling \
         curves. If the study has `variants` or a `matrix`, each of their topologies is an arm. \
         Available only for local nodes.",
    ),
    required(
        "procedure.scale_up.units",
        choice!(|d| d.scale_up().units;
            "cores" => Some(Units::Cores), "l3" => Some(Units::L3),
            "numa" => Some(Units::Numa), "sockets" => Some(Units::Sockets)
        ),
        "Unit that divides the machine. cassay uses all units of one socket before the next \
         socket. This key sets `target.local.topology.units` and `count`.",
    ),
    required(
        "procedure.scale_up.counts",
        Type::List(&Type::Count(1, 4096, |d, n| {
            d.scale_up().counts.push(n as u32)
        })),
        "Numbers of units to measure, such as `[1, 2, 4, 8]`. The first number is the baseline.",
    ),
    with(
        "procedure.scale_up.instances",
        choice!(|d| d.scale_up().per_unit;
            "one" => false, "one-per-core" => true, "one-per-l3" => true,
            "one-per-numa" => true, "one-per-socket" => true
        ),
        "one",
        "`one`: the nodes of the study share all used units. Other values: one node per unit, on \
         one host.",
    ),
    optional(
        "procedure.scale_up.p99_ms",
        Type::Number(MS_MIN, MS_MAX, |d, n| d.scale_up().p99_bound_ms = Some(n)),
        "Upper limit of p99 latency for a sweep, in ms. Points above this limit do not count. A \
         `peak` has its own limits.",
    ),
    optional(
        "procedure.grid",
        Type::Section(|d| d.procedure = Some(Draft::sweep)),
        "Measures every combination of the values of several axes. The values of `threads` or \
         `rate` are the points of each combination. Every other axis becomes an axis of a \
         `matrix`, whose values are named after their settings. Combines with the study's `matrix` \
         or `variants`, if any.",
    ),
    optional(
        "procedure.grid.threads",
        Type::List(&Type::Count(1, THREADS_MAX, |d, n| {
            d.points.push(Point::Threads(n as u32))
        })),
        "Number of operations in flight, in a closed loop.",
    ),
    optional(
        "procedure.grid.rate",
        Type::List(&Type::Count(1, RATE_MAX, |d, n| {
            d.points.push(Point::Rate(n))
        })),
        "Operations per second, in an open loop.",
    ),
    optional(
        "procedure.grid.consistency",
        Type::List(&Type::Level(&LEVELS, |d, level| {
            d.tune(|t| t.consistency = Some(level))
        })),
        "Consistency levels of all kinds of operations (`workload.consistency`).",
    ),
    optional(
        "procedure.grid.density",
        Type::List(&Type::Bytes(1 << 20, 256 << 40, |d, n| {
            d.data.load = Load::BytesPerNode(n)
        })),
        "Amounts of data per node (`data.load.bytes_per_node`).",
    ),
    optional(
        "procedure.grid.heap",
        Type::List(&Type::Bytes(256 << 20, 256 << 30, |d, n| {
            d.local.heap_bytes = n
        })),
        "Heap sizes of the nodes (`target.local.heap`).",
    ),
    optional(
        "procedure.grid.replication",
        Type::List(&Type::Count(1, 100, |d, n| d.keyspace.replicate(n as u32))),
        "Numbers of replicas (`keyspace.replication`).",
    ),
    optional(
        "procedure.grid.payload",
        Type::List(&Type::Bytes(1, 1 << 30, |d, n| {
            let payload = ("payload".to_owned(), Tree::Bytes(n));
            d.workload.params.push(payload)
        })),
        "Total sizes of a row's columns, in bytes, for workloads with a parameter for this size: \
         `kv` and `standard1`.",
    ),
    optional(
        "procedure.grid.version",
        Type::List(&Type::Release(|d, release| {
            d.release = Some(release.clone())
        })),
        "Versions of Apache Cassandra (`target.local.cassandra`).",
    ),
    optional(
        "procedure.fixed",
        Type::Section(|d| d.procedure = Some(Draft::fixed)),
        "Measures one point. Requires either `threads` or `rate`.",
    ),
    optional(
        "procedure.fixed.threads",
        Type::Count(1, THREADS_MAX, |d, n| {
            d.points = vec![Point::Threads(n as u32)]
        }),
        "Number of operations in flight, in a closed loop.",
    ),
    optional(
        "procedure.fixed.rate",
        Type::Count(1, RATE_MAX, |d, n| d.points = vec![Point::Rate(n)]),
        "Operations per second, in an open loop.",
    ),
    with(
        "procedure.arrival",
        choice!(|d| d.poisson; "fixed" => false, "poisson" => true),
        "fixed",
        "Intervals between arrivals at a rate: `fixed`, or `poisson` (exponentially distributed).",
    ),
];
