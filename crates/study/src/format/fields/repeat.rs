//! The rows of repetitions, and of the primary comparison.

use super::row::{RATE_MAX, SECTION, optional, with};
use crate::format::field::{Field, Type};
use crate::settings::PrimaryMetric;
use analysis::sequential::{BLOCKS_LEAST, BLOCKS_MOST};

/// Minimum number of blocks of a study that ends when it is answered.
const LEAST: u64 = BLOCKS_LEAST as u64;
const MOST: u64 = BLOCKS_MOST as u64;

pub(super) const FIELDS: &[Field] = &[
    with("repeat", SECTION, "{}", "Repetitions, for error bars."),
    with(
        "repeat.blocks",
        Type::Count(1, 1000, |d, n| d.repeat.blocks = n as usize),
        "1",
        "How often every point of every variant is measured.",
    ),
    with(
        "repeat.until",
        choice!(|d| d.answered; "blocks" => false, "answered" => true),
        "blocks",
        "`answered`: blocks are added, from `min` on, until the primary comparison says faster, \
         slower or equivalent, and at most `max`. What is stated before the first block keeps the \
         error; `blocks` says how many there are.",
    ),
    with(
        "repeat.min",
        Type::Count(LEAST, MOST, |d, n| d.blocks_min = n as usize),
        "4",
        "Blocks before the first look, with `until: answered`.",
    ),
    with(
        "repeat.max",
        Type::Count(LEAST, MOST, |d, n| d.blocks_max = n as usize),
        "12",
        "Blocks at most, with `until: answered`.",
    ),
    optional(
        "repeat.primary",
        choice!(|d| d.repeat_primary;
            "ops_per_s" => Some(PrimaryMetric::Named("ops_per_s")),
            "p50" => Some(PrimaryMetric::Named("latency_ms.p50")),
            "p99" => Some(PrimaryMetric::Named("latency_ms.p99"))
        ),
        "What has to be answered: the same as `primary.metric`.",
    ),
    optional(
        "repeat.detect",
        Type::Share(0.001, 1.0, |d, share| d.repeat.detect = Some(share)),
        "The difference that matters, such as `5%`: the plan says how many blocks will find it, \
         from the noise of the study's last run.",
    ),
    with(
        "repeat.order",
        choice!(|d| d.repeat.interleaved; "interleaved" => true, "sequential" => false),
        "interleaved",
        "Interleaved: variants take turns in every block, in a counterbalanced order. Sequential: \
         one variant after the other; what differs then only looks different, since the machine \
         may have changed meanwhile. Steps of another tool's words run in the order of the words \
         in every block, whatever this says.",
    ),
    with(
        "repeat.without_faults",
        Type::Bool(|d, on| d.repeat.without_faults = on),
        "false",
        "What has `faults` is measured without them too, in the same blocks: each stretch of a \
         trial, while something is broken and after that, is compared with the same stretch of the \
         same trial in which nothing is. A variant that is the same but for its faults serves; \
         where there is none, it is added.",
    ),
    // The primary comparison.
    with(
        "primary",
        SECTION,
        "{}",
        "The one comparison that answers the question. All others are adjusted for their number.",
    ),
    with(
        "primary.metric",
        choice!(|d| d.primary.metric;
            "auto" => PrimaryMetric::Auto, "throughput" => PrimaryMetric::Named("ops_per_s"),
            "p50" => PrimaryMetric::Named("latency_ms.p50"),
            "p99" => PrimaryMetric::Named("latency_ms.p99")
        ),
        "auto",
        "`auto`: throughput for threads, p99 for a rate.",
    ),
    optional(
        "primary.point",
        Type::Count(1, RATE_MAX, |d, n| d.primary.point = Some(n as f64)),
        "Threads or rate of the point. Default: where all variants together did most; the highest \
         rate that all kept up with.",
    ),
];
