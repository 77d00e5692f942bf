//! The rows of `guard`: limits that end the load to protect a cluster that others use.

use super::row::{S, optional, with};
use crate::format::field::{Field, Type};
use crate::settings::Guarded;

/// Maximum length of a rise, ns: a rise of an hour is a study of its own.
const RISE_MAX: u64 = 3600 * S;

/// The rows.
pub const FIELDS: &[Field] = &[
    optional(
        "guard",
        Type::WordOr(
            &[
                ("auto", |d| d.guard.when = Guarded::Auto),
                ("off", |d| d.guard.when = Guarded::Never),
            ],
            &Type::Section(|d| d.guard.when = Guarded::Always),
        ),
        "When the load is ended because it is too much for its target, and the run with it: at the \
         end of the first second that is beyond a limit. The load then also begins slowly. `auto`, \
         the default: with the limits below, on a cluster that cassay did not start and that other \
         clients have connections to. Keys: everywhere. `off`: nowhere.",
    ),
    with(
        "guard.p99_ms",
        Type::Number(0.001, 3_600_000.0, |d, n| d.guard.limits.p99_ms = n),
        "500",
        "Most p99 of a second, from the send to the answer, ms; more than one operation has to be \
         slower. Also beyond it: more operations are awaited than the target has answered in so \
         much time.",
    ),
    with(
        "guard.error_rate",
        Type::Share(0.0, 1.0, |d, n| d.guard.limits.error_rate = n),
        "1%",
        "Most operations of a second that fail, as a share; more than one has to.",
    ),
    with(
        "guard.rise",
        Type::Duration(0, RISE_MAX, |d, ns| d.guard.rise_ns = ns),
        "10s",
        "How long the load takes to rise from nothing to all of it: a rate to its value, a closed \
         loop to all of its operations in flight. It is part of the warm-up, which is made as long \
         if it is shorter. An imported command line without a warm-up has none.",
    ),
];
