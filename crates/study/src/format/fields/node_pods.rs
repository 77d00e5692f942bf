//! Study keys for the pods in which local hosts run, as rows of the table of keys.

use super::row::{optional, required, with};
use crate::format::field::{Field, Type};

pub(super) const FIELDS: &[Field] = &[
    optional(
        "target.local.pods",
        Type::Section(|d| {
            d.node_pods();
        }),
        "Run the hosts as pods of a Kubernetes cluster, one per host. Your own `kubectl` creates a \
         StatefulSet and deletes it with the nodes. The containers of the StatefulSet wait for \
         this program, which then starts Cassandra in them. Requires `--trust` in a study, and the \
         role that `cassay kubernetes rbac --for nodes` prints.",
    ),
    optional(
        "target.local.pods.context",
        Type::Text(|d, text| d.node_pods().context = Some(text.into())),
        "Context of the kubectl configuration. Default: the current context.",
    ),
    optional(
        "target.local.pods.namespace",
        Type::Text(|d, text| d.node_pods().namespace = Some(text.into())),
        "Existing namespace for the pods. Default: the namespace of the context.",
    ),
    required(
        "target.local.pods.image",
        Type::Text(|d, text| d.node_pods().image = text.into()),
        "Image of the pods. The image must contain `sh`, `head`, `chmod` and a Java that Cassandra \
         supports, as Cassandra's own image does.",
    ),
    with(
        "target.local.pods.cpus",
        Type::Number(0.1, 1024.0, |d, n| {
            d.node_pods().millicpus = (n * 1000.0).round() as u32
        }),
        "2",
        "Number of CPUs of each pod. cassay sets this number as request and limit, so that the QoS \
         class of the pod is Guaranteed.",
    ),
    with(
        "target.local.pods.memory",
        Type::Bytes(256 << 20, 16 << 40, |d, n| d.node_pods().memory_bytes = n),
        "4GiB",
        "Memory of each pod, as request and limit. The heap, off-heap memory, and the page cache \
         of the node's files share this memory.",
    ),
    optional(
        "target.local.pods.volume",
        Type::Bytes(1 << 30, 1 << 50, |d, n| {
            d.node_pods().volume_bytes = Some(n)
        }),
        "Size of each pod's volume, claimed from a storage class. Default: a folder on the disk of \
         the pod's Kubernetes node, which Kubernetes deletes with the pod.",
    ),
    optional(
        "target.local.pods.storage_class",
        Type::Text(|d, text| d.node_pods().storage_class = Some(text.into())),
        "Storage class of the volumes, which determines local or remote storage. Default: the \
         default storage class of the Kubernetes cluster.",
    ),
    with(
        "target.local.pods.one_per_node",
        Type::Bool(|d, is| d.node_pods().one_per_node = is),
        "true",
        "Run at most one pod on each Kubernetes node.",
    ),
    optional(
        "target.local.pods.machine_type",
        Type::Text(|d, text| d.node_pods().machine_type = Some(text.into())),
        "Machine type of the Kubernetes nodes to run on, by the provider's name (the label \
         `node.kubernetes.io/instance-type`). Default: any machine type.",
    ),
];
