//! Study keys of `require` (requirements of a variant), as rows of the table of keys.

use super::row::{RATE_MAX, SECTION, optional, with};
use crate::format::field::{Field, Type};
use crate::settings::{IfInconclusive, Where};

/// Permitted range of latency limits, in ms. The maximum is one hour.
const MS: (f64, f64) = (0.001, 3_600_000.0);

/// The rows for requirements.
pub const FIELDS: &[Field] = &[
    optional(
        "require",
        SECTION,
        "Requirements of all variants. A variant may override these requirements. cassay judges \
         each requirement by the 95 % confidence interval of the value: missed (the command exits \
         with 4), met, or inconclusive if the interval contains the limit.",
    ),
    optional(
        "require.p50_ms",
        Type::Number(MS.0, MS.1, |d, n| d.require.p50_ms = Some(n)),
        "Upper limit of median latency over all operations, in ms.",
    ),
    optional(
        "require.p95_ms",
        Type::Number(MS.0, MS.1, |d, n| d.require.p95_ms = Some(n)),
        "Upper limit of p95 latency, in ms.",
    ),
    optional(
        "require.p99_ms",
        Type::Number(MS.0, MS.1, |d, n| d.require.p99_ms = Some(n)),
        "Upper limit of p99 latency, in ms.",
    ),
    optional(
        "require.p999_ms",
        Type::Number(MS.0, MS.1, |d, n| d.require.p999_ms = Some(n)),
        "Upper limit of p99.9 latency, in ms.",
    ),
    optional(
        "require.error_rate",
        Type::Share(0.0, 1.0, |d, n| d.require.error_rate = Some(n)),
        "Upper limit of failed operations, as a share of all operations: `0.1%`. With `0`, no \
         operation may fail.",
    ),
    optional(
        "require.ops_per_s",
        Type::Number(1.0, RATE_MAX as f64, |d, n| {
            d.require.ops_per_s = Some(n);
        }),
        "Lower limit of throughput, in op/s, such as `20k`.",
    ),
    optional(
        "require.ratio",
        Type::Share(0.01, 100.0, |d, n| d.require.ratio = Some(n)),
        "Lower limit of each contender's performance relative to the baseline, in the primary \
         comparison. With `0.97`, a contender may be at most 3 % worse. The ratio is contender ÷ \
         baseline for throughput, and baseline ÷ contender for latency.",
    ),
    optional(
        "require.not_worse_than",
        Type::Text(|d, text| d.require.not_worse_than = Some(text.into())),
        "Earlier run to compare the new run with. The requirement is that the new run is not \
         worse. Write `latest`, a tag (`cassay tag`), or `study/stamp`. The word `latest` means \
         the last run of this study that was not invalid and met its requirements. Without such a \
         run, cassay compares nothing. Otherwise, cassay compares the points of both runs. It \
         compares throughput unless the study offered a rate. It compares p99 if the study offered \
         no rate, or if the target sustained the rate.",
    ),
    optional(
        "require.worse_by",
        Type::Share(0.0, 0.9, |d, n| d.require.worse_by = n),
        "Maximum loss compared with the run in `require.not_worse_than`, as a share. Default: \
         `5%`.",
    ),
    optional(
        "require.at",
        Type::WordOr(
            &[
                ("every", |d| d.require.at = Where::Every),
                ("best", |d| d.require.at = Where::Best),
            ],
            &Type::List(&Type::Count(1, RATE_MAX, |d, n| d.require.at_value(n))),
        ),
        "Points that the requirements apply to: `every`, `best` (the point in the answer), or \
         values of the axis. Default: `every` if all points are known in advance, otherwise \
         `best`. Does not apply to `ratio`.",
    ),
    with(
        "require.inconclusive",
        Type::Choice(&[
            ("estimate", |d| {
                d.require.inconclusive = IfInconclusive::Estimate
            }),
            ("pass", |d| d.require.inconclusive = IfInconclusive::Pass),
            ("miss", |d| d.require.inconclusive = IfInconclusive::Miss),
        ]),
        "estimate",
        "Treatment of an inconclusive requirement, whose interval contains the limit or is \
         missing. With `pass`, the requirement passes with a warning. With `miss`, the run misses \
         the requirement. With `estimate`, the run misses the requirement if the value itself \
         exceeds the limit; otherwise the requirement passes with a warning. A comparison with an \
         earlier run is missed only if the run is also certainly worse.",
    ),
];
