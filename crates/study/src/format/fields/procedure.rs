//! The rows of the procedures.

use super::{RATE_MAX, SECTION, THREADS_MAX, optional, required, with};
use crate::format::{Field, Type};
use crate::settings::draft::{Draft, Range};
use analysis::procedure::{Percentile, Point, Until};

/// Latencies that may be asked for, ms: up to an hour.
const MS_MIN: f64 = 0.001;
const MS_MAX: f64 = 3_600_000.0;

const THREADS: Type =
    Type::Section(|d| d.range = Some(Range::new(THREADS_MAX, |n| Point::Threads(n as u32))));
const RATES: Type = Type::Section(|d| d.range = Some(Range::new(RATE_MAX, Point::Rate)));
const EXPECTED: Type = Type::Number(0.01, 1.0, |d, n| d.expected = Some(n));

pub(super) const FIELDS: &[Field] = &[
    optional(
        "procedure",
        SECTION,
        "Which points are measured: one of `sweep`, `peak`, `band`, `latency_target`, `fixed`. \
         Needed, but for an imported command line, which says so itself.",
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
