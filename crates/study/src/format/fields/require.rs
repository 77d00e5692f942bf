//! The rows of `require`: requirements of a variant.

use super::row::{RATE_MAX, SECTION, optional, with};
use crate::format::field::{Field, Type};
use crate::settings::{Untold, Where};

/// Range of latencies, ms: up to an hour.
const MS: (f64, f64) = (0.001, 3_600_000.0);

/// The rows.
pub const FIELDS: &[Field] = &[
    optional(
        "require",
        SECTION,
        "What is required, of all variants or in a variant of that one. Each is judged by its 95 % \
         interval: missed (the run ends with exit code 4), met, or not to be told.",
    ),
    optional(
        "require.p50_ms",
        Type::Number(MS.0, MS.1, |d, n| d.require.p50_ms = Some(n)),
        "Most median latency of all operations, ms.",
    ),
    optional(
        "require.p95_ms",
        Type::Number(MS.0, MS.1, |d, n| d.require.p95_ms = Some(n)),
        "Most p95 latency.",
    ),
    optional(
        "require.p99_ms",
        Type::Number(MS.0, MS.1, |d, n| d.require.p99_ms = Some(n)),
        "Most p99 latency.",
    ),
    optional(
        "require.p999_ms",
        Type::Number(MS.0, MS.1, |d, n| d.require.p999_ms = Some(n)),
        "Most p99.9 latency.",
    ),
    optional(
        "require.error_rate",
        Type::Share(0.0, 1.0, |d, n| d.require.error_rate = Some(n)),
        "Most failed operations, as a share of all: `0.1%`. `0`: none may fail.",
    ),
    optional(
        "require.ops_per_s",
        Type::Number(1.0, RATE_MAX as f64, |d, n| {
            d.require.ops_per_s = Some(n);
        }),
        "Least operations per second: `20k`.",
    ),
    optional(
        "require.ratio",
        Type::Share(0.01, 100.0, |d, n| d.require.ratio = Some(n)),
        "How good each contender is at least beside the baseline, in the primary comparison: \
         `0.97` is at most 3 % worse. Of throughput it is contender ÷ baseline, of latency \
         baseline ÷ contender.",
    ),
    optional(
        "require.not_worse_than",
        Type::Text(|d, text| d.require.not_worse_than = Some(text.into())),
        "An earlier run that this one may not be worse than: `latest` (the last run of this study \
         that may be believed and met its requirements; where there is none, nothing is \
         compared), a tag (`cassay tag`), or `study/stamp`. Of each point that both have: \
         throughput where it was not offered as a rate, p99 where the rate was kept up with or \
         none was offered.",
    ),
    optional(
        "require.worse_by",
        Type::Share(0.0, 0.9, |d, n| d.require.worse_by = n),
        "By how much it may be worse than `require.not_worse_than`. Default: `5%`.",
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
        "At which points: `every`, `best` (the one that the answer names), or values of the axis. \
         Default: `every` where all points are known beforehand, else `best`. Not of `ratio`.",
    ),
    with(
        "require.untold",
        Type::Choice(&[
            ("estimate", |d| d.require.untold = Untold::Estimate),
            ("pass", |d| d.require.untold = Untold::Pass),
            ("miss", |d| d.require.untold = Untold::Miss),
        ]),
        "estimate",
        "What happens where the interval holds the limit, or there is none: `pass` with a warning, \
         `miss`, or by the `estimate`: missed where the number itself is beyond the limit, and \
         else passed with a warning.",
    ),
];
