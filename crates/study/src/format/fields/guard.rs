//! Study keys of `guard`, as rows of the table of keys. The limits of `guard` end the load, in
//! order to protect a cluster that other users share.

use super::row::{S, optional, with};
use crate::format::field::{Field, Type};
use crate::settings::GuardedClusters;

/// Maximum length of the ramp, in ns. A ramp of more than an hour would be a separate study.
const RISE_MAX: u64 = 3600 * S;

/// The rows for `guard`.
pub const FIELDS: &[Field] = &[
    optional(
        "guard",
        Type::WordOr(
            &[
                ("auto", |d| d.guard.when = GuardedClusters::Auto),
                ("off", |d| d.guard.when = GuardedClusters::Never),
            ],
            &Type::Section(|d| d.guard.when = GuardedClusters::Always),
        ),
        "Limits that end the load, and the run, if the load is too high for the target. The load \
         starts with a ramp, and ends after the first second that exceeds a limit. With `auto` \
         (default), the limits apply on a cluster that cassay did not start and that has \
         connections from other clients. With keys, they apply on every target. With `off`, they \
         apply nowhere.",
    ),
    with(
        "guard.p99_ms",
        Type::Number(0.001, 3_600_000.0, |d, n| d.guard.limits.p99_ms = n),
        "500",
        "Upper limit of p99 service time in each second, in ms. At least two operations must \
         exceed this limit. The load also ends if more operations are in flight than the target \
         answered within this time.",
    ),
    with(
        "guard.error_rate",
        Type::Share(0.0, 1.0, |d, n| d.guard.limits.error_rate = n),
        "1%",
        "Upper limit of failed operations in each second, as a share. At least two operations must \
         fail.",
    ),
    with(
        "guard.rise",
        Type::Duration(0, RISE_MAX, |d, ns| d.guard.rise_ns = ns),
        "10s",
        "Time of the ramp from no load to full load. Full load is the full rate, or in a closed \
         loop all operations in flight. The ramp is part of the warm-up. cassay extends a warm-up \
         that is shorter than the ramp. An imported command line without a warm-up has no ramp.",
    ),
];
