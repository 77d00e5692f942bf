//! The rows of `workload.recorded`.

use super::row::{DAY, optional, required, with};
use crate::format::field::{Field, Type};
use query_log::Only;

pub(super) const FIELDS: &[Field] = &[
    optional(
        "workload.recorded",
        Type::Section(|d| {
            d.recorded();
        }),
        "Traffic that Cassandra has recorded in its full query log, or in an audit log: the same \
         statements with the same values, in the same order. docs/how-to/recorded-traffic.md says \
         how it is recorded.",
    ),
    required(
        "workload.recorded.files",
        Type::List(&Type::Text(|d, text| d.recorded().files.push(text.into()))),
        "Folders or files of logs beside or below the study, one for each node: they are merged by \
         their times. A folder of folders has the logs of several nodes.",
    ),
    optional(
        "workload.recorded.speed",
        Type::Number(0.001, 1000.0, |d, n| d.recorded().speed = Some(n)),
        "Operations come when they came then, so many times as fast: 1 is the recorded course of \
         the rate. The whole recording is measured, and `procedure` and `window` do not apply. \
         Without it `procedure` says how much is asked, and only order and shares are those of the \
         log.",
    ),
    with(
        "workload.recorded.only",
        choice!(|d| d.recorded().only; "all" => Only::All, "reads" => Only::Reads,
                "writes" => Only::Writes),
        "all",
        "Which operations are offered. What is written is written: on a cluster that cassay did \
         not start, `--allow` has to name it.",
    ),
    optional(
        "workload.recorded.keyspaces",
        Type::List(&Type::Text(|d, text| {
            d.recorded().keyspaces.push(text.into())
        })),
        "Only operations on these keyspaces. Default: all but the server's own; writes to more \
         than one need `--trust`.",
    ),
    with(
        "workload.recorded.from",
        Type::Duration(0, 365 * DAY, |d, ns| d.recorded().from_ns = ns),
        "0s",
        "From how long after the first record on.",
    ),
    optional(
        "workload.recorded.for",
        Type::Duration(1_000_000, 365 * DAY, |d, ns| d.recorded().for_ns = Some(ns)),
        "How much of the recording. Default: all of it.",
    ),
    with(
        "workload.recorded.memory",
        Type::Bytes(1 << 20, 1 << 40, |d, bytes| {
            d.recorded().memory_bytes = bytes
        }),
        "2GiB",
        "Memory for operations and values. What has no room is left out from the end, and counted.",
    ),
    optional(
        "workload.recorded.schema",
        Type::Text(|d, text| d.recorded().schema = Some(text.into())),
        "A file beside or below the study with the statements that make keyspace and tables, as \
         cqlsh's DESCRIBE KEYSPACE says them. Default: they are there.",
    ),
];
