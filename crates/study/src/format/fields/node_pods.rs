//! The rows of the pods that local hosts run in.

use super::row::{optional, required, with};
use crate::format::field::{Field, Type};

pub(super) const FIELDS: &[Field] = &[
    optional(
        "target.local.pods",
        Type::Section(|d| {
            d.node_pods();
        }),
        "The hosts are pods of a Kubernetes cluster, as many as `hosts`, made by your own \
         `kubectl` and gone with the nodes: a StatefulSet whose containers wait for this program, \
         which starts Cassandra in them. Needs `--trust` in a study, and the role that `cassay \
         kubernetes rbac --for nodes` prints.",
    ),
    optional(
        "target.local.pods.context",
        Type::Text(|d, text| d.node_pods().context = Some(text.into())),
        "The context of kubectl's configuration. Default: the current one.",
    ),
    optional(
        "target.local.pods.namespace",
        Type::Text(|d, text| d.node_pods().namespace = Some(text.into())),
        "The namespace, which has to be there. Default: that of the context.",
    ),
    required(
        "target.local.pods.image",
        Type::Text(|d, text| d.node_pods().image = text.into()),
        "The image of the pods, with `sh`, `head`, `chmod` and a Java that Cassandra runs on: its \
         own image has them.",
    ),
    with(
        "target.local.pods.cpus",
        Type::Number(0.1, 1024.0, |d, n| {
            d.node_pods().millicpus = (n * 1000.0).round() as u32
        }),
        "2",
        "CPUs of each pod, requested and not exceeded, so that its class is Guaranteed.",
    ),
    with(
        "target.local.pods.memory",
        Type::Bytes(256 << 20, 16 << 40, |d, n| d.node_pods().memory_bytes = n),
        "4GiB",
        "Memory of each pod, requested and not exceeded: heap, what is beside it, and the page \
         cache of its files.",
    ),
    optional(
        "target.local.pods.volume",
        Type::Bytes(1 << 30, 1 << 50, |d, n| {
            d.node_pods().volume_bytes = Some(n)
        }),
        "Size of the volume of each pod, claimed of a storage class. Default: a folder on the disk \
         of its node, which goes with the pod.",
    ),
    optional(
        "target.local.pods.storage_class",
        Type::Text(|d, text| d.node_pods().storage_class = Some(text.into())),
        "The class of the volumes: local or remote storage. Default: that of the cluster.",
    ),
    with(
        "target.local.pods.one_per_node",
        Type::Bool(|d, is| d.node_pods().one_per_node = is),
        "true",
        "Whether no two may be on one node of Kubernetes.",
    ),
    optional(
        "target.local.pods.machine_type",
        Type::Text(|d, text| d.node_pods().machine_type = Some(text.into())),
        "The machine type of the nodes of Kubernetes that they are put on, as its provider calls \
         it (the label `node.kubernetes.io/instance-type`). Default: any.",
    ),
];
