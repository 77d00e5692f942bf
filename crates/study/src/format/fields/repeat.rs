//! Study keys for repetitions and the primary comparison, as rows of the table of keys.

use super::row::{RATE_MAX, SECTION, optional, with};
use crate::format::field::{Field, Type};
use crate::settings::PrimaryMetric;
use analysis::sequential::{BLOCKS_LEAST, BLOCKS_MOST};

/// Minimum number of blocks of a study that ends when its question is answered.
const LEAST: u64 = BLOCKS_LEAST as u64;
const MOST: u64 = BLOCKS_MOST as u64;

pub(super) const FIELDS: &[Field] = &[
    with(
        "repeat",
        SECTION,
        "{}",
        "Repetitions of the measurement, for confidence intervals.",
    ),
    with(
        "repeat.blocks",
        Type::Count(1, 1000, |d, n| d.repeat.blocks = n as usize),
        "1",
        "Number of blocks. Each block measures every point of every variant once.",
    ),
    with(
        "repeat.until",
        choice!(|d| d.answered; "blocks" => false, "answered" => true),
        "blocks",
        "`answered`: add blocks, from `min` to at most `max`, until the verdict of the primary \
         comparison is faster, slower or equivalent. The error level is fixed before the first \
         block, and applies to all looks together. `blocks`: measure `repeat.blocks` blocks.",
    ),
    with(
        "repeat.min",
        Type::Count(LEAST, MOST, |d, n| d.blocks_min = n as usize),
        "4",
        "Number of blocks before the first look, with `until: answered`.",
    ),
    with(
        "repeat.max",
        Type::Count(LEAST, MOST, |d, n| d.blocks_max = n as usize),
        "12",
        "Maximum number of blocks, with `until: answered`.",
    ),
    optional(
        "repeat.primary",
        choice!(|d| d.repeat_primary;
            "ops_per_s" => Some(PrimaryMetric::Named("ops_per_s")),
            "p50" => Some(PrimaryMetric::Named("latency_ms.p50")),
            "p99" => Some(PrimaryMetric::Named("latency_ms.p99"))
        ),
        "Metric of the primary comparison. This key is an abbreviation of `primary.metric`.",
    ),
    optional(
        "repeat.detect",
        Type::Share(0.001, 1.0, |d, share| d.repeat.detect = Some(share)),
        "Smallest relevant difference, such as `5%`. From the noise of the study's last run, the \
         plan estimates how many blocks detect this difference.",
    ),
    with(
        "repeat.order",
        choice!(|d| d.repeat.interleaved; "interleaved" => true, "sequential" => false),
        "interleaved",
        "`interleaved`: every block measures all variants, in a counterbalanced order. \
         `sequential`: one variant after the other, so a change of the machine over time can look \
         like a difference between variants. Steps of an imported command line always run in their \
         own order in every block.",
    ),
    with(
        "repeat.without_faults",
        Type::Bool(|d, on| d.repeat.without_faults = on),
        "false",
        "Also measure each variant with `faults` without its faults, in the same blocks. cassay \
         compares each part of a trial, during and after a fault, with the same part of the trial \
         without faults. cassay uses an existing variant that differs only in its faults, or adds \
         such a variant.",
    ),
    with(
        "primary",
        SECTION,
        "{}",
        "The comparison that answers the question. cassay corrects all other comparisons for \
         multiple testing.",
    ),
    with(
        "primary.metric",
        choice!(|d| d.primary.metric;
            "auto" => PrimaryMetric::Auto, "throughput" => PrimaryMetric::Named("ops_per_s"),
            "p50" => PrimaryMetric::Named("latency_ms.p50"),
            "p99" => PrimaryMetric::Named("latency_ms.p99")
        ),
        "auto",
        "Metric of the primary comparison. `auto` means throughput if the points are threads, and \
         p99 if the points are rates.",
    ),
    optional(
        "primary.point",
        Type::Count(1, RATE_MAX, |d, n| d.primary.point = Some(n as f64)),
        "Number of threads or rate of the point to compare. Default: for threads, the point with \
         the highest total throughput of all variants. For rates, the highest rate that all \
         variants sustained.",
    ),
];
