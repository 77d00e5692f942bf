//! The rows for the pods in which clients run.

use super::row::{optional, required, with};
use crate::format::field::{Field, Type};

/// Maximum number of pods of one Job: a `kubectl` process of some 50 MB stays open for each.
const CLIENTS_MAX: u64 = 1000;

pub(super) const FIELDS: &[Field] = &[
    optional(
        "client.kubernetes",
        Type::Section(|d| {
            d.pods();
        }),
        "Clients in pods of a Kubernetes cluster, one in each, which offer the load together as \
         `client.machines` do: an Indexed Job, made by your own `kubectl` when the run begins and \
         gone when it ends. Needs `--trust` in a study, and the role that `cassay kubernetes rbac` \
         prints.",
    ),
    optional(
        "client.kubernetes.context",
        Type::Text(|d, text| d.pods().context = Some(text.into())),
        "The context of kubectl's configuration. Default: the current one.",
    ),
    optional(
        "client.kubernetes.namespace",
        Type::Text(|d, text| d.pods().namespace = Some(text.into())),
        "The namespace, which has to be there. Default: that of the context.",
    ),
    required(
        "client.kubernetes.clients",
        Type::Count(1, CLIENTS_MAX, |d, n| d.pods().clients = n as usize),
        "How many pods.",
    ),
    with(
        "client.kubernetes.cpus",
        Type::Number(0.1, 256.0, |d, n| {
            d.pods().millicpus = (n * 1000.0).round() as u32
        }),
        "2",
        "CPUs of each pod, requested and not exceeded, so that its class is Guaranteed; a worker \
         on each whole one. Only whole ones can be a pod's own, where the kubelet's CPU manager is \
         static.",
    ),
    with(
        "client.kubernetes.memory",
        Type::Bytes(64 << 20, 1 << 40, |d, n| d.pods().memory_bytes = n),
        "1GiB",
        "Memory of each pod, requested and not exceeded.",
    ),
    required(
        "client.kubernetes.image",
        Type::Text(|d, text| d.pods().image = text.into()),
        "The image of the pods, which has `sh`, `head` and `chmod`: this program is put into it. \
         That of the cluster's own Cassandra is on its nodes already.",
    ),
    with(
        "client.kubernetes.one_per_node",
        Type::Bool(|d, is| d.pods().one_per_node = is),
        "true",
        "Whether no two clients may be on one node.",
    ),
    optional(
        "client.kubernetes.machine_type",
        Type::Text(|d, text| d.pods().machine_type = Some(text.into())),
        "The machine type of the nodes of Kubernetes that they are put on, as its provider calls \
         it (the label `node.kubernetes.io/instance-type`). Default: any.",
    ),
];
