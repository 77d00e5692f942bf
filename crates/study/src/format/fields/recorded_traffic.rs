//! Study keys of `workload.recorded`, as rows of the table of keys.

use super::row::{DAY, optional, required, with};
use crate::format::field::{Field, Type};
use query_log::Only;

pub(super) const FIELDS: &[Field] = &[
    optional(
        "workload.recorded",
        Type::Section(|d| {
            d.recorded();
        }),
        "Replay traffic from Cassandra's full query log or audit log, with the same statements and \
         values in the same order. docs/how-to/recorded-traffic.md describes how to record \
         traffic.",
    ),
    required(
        "workload.recorded.files",
        Type::List(&Type::Text(|d, text| d.recorded().files.push(text.into()))),
        "Folders or log files in the study's folder or a subfolder, one per node. cassay merges \
         them by time. A folder of folders contains the logs of several nodes.",
    ),
    optional(
        "workload.recorded.speed",
        Type::Number(0.001, 1000.0, |d, n| d.recorded().speed = Some(n)),
        "Speed of the replay. With 1, cassay sends each operation at its recorded time. With 2, it \
         sends the operations twice as fast. cassay measures the whole recording, so `procedure` \
         and `window` do not apply. Without `speed`, `procedure` sets the load, and the log \
         determines only the order and the shares of the operations.",
    ),
    with(
        "workload.recorded.only",
        choice!(|d| d.recorded().only; "all" => Only::All, "reads" => Only::Reads,
                "writes" => Only::Writes),
        "all",
        "Operations to replay. Because writes change data, `--allow` must permit them on a cluster \
         that cassay did not start.",
    ),
    optional(
        "workload.recorded.keyspaces",
        Type::List(&Type::Text(|d, text| {
            d.recorded().keyspaces.push(text.into())
        })),
        "Replay only operations on these keyspaces. Default: all keyspaces except the server's \
         own. Writes to more than one keyspace require `--trust`.",
    ),
    with(
        "workload.recorded.from",
        Type::Duration(0, 365 * DAY, |d, ns| d.recorded().from_ns = ns),
        "0s",
        "Start of the part of the recording to replay, counted from the first record.",
    ),
    optional(
        "workload.recorded.for",
        Type::Duration(1_000_000, 365 * DAY, |d, ns| d.recorded().for_ns = Some(ns)),
        "Length of the part of the recording to replay. Default: the whole recording.",
    ),
    with(
        "workload.recorded.memory",
        Type::Bytes(1 << 20, 1 << 40, |d, bytes| {
            d.recorded().memory_bytes = bytes
        }),
        "2GiB",
        "Maximum memory of the client for the recorded operations and values. cassay omits \
         operations at the end that do not fit, and counts these operations.",
    ),
    optional(
        "workload.recorded.schema",
        Type::Text(|d, text| d.recorded().schema = Some(text.into())),
        "File with the statements that create the keyspace and tables, as printed by cqlsh's \
         DESCRIBE KEYSPACE. The file is in the study's folder or a subfolder. Default: the \
         keyspace and tables already exist.",
    ),
];
