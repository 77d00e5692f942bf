//! Study keys for the pods in which clients run, as rows of the table of keys.

use super::row::{optional, required, with};
use crate::format::field::{Field, Type};

/// Maximum number of pods of one Job. For each pod, cassay runs a `kubectl` process of about 50 MB.
const CLIENTS_MAX: u64 = 1000;

pub(super) const FIELDS: &[Field] = &[
    optional(
        "client.kubernetes",
        Type::Section(|d| {
            d.pods();
        }),
        "Clients in pods of a Kubernetes cluster, one per pod. The clients apply the load \
         together, like `client.machines`. Your own `kubectl` creates an Indexed Job at the start \
         of the run and deletes it at the end. Needs `--trust` in a study, and the role that \
         `cassay kubernetes rbac` prints.",
    ),
    optional(
        "client.kubernetes.context",
        Type::Text(|d, text| d.pods().context = Some(text.into())),
        "Context of the kubectl configuration. Default: the current context.",
    ),
    optional(
        "client.kubernetes.namespace",
        Type::Text(|d, text| d.pods().namespace = Some(text.into())),
        "Existing namespace for the pods. Default: the namespace of the context.",
    ),
    required(
        "client.kubernetes.clients",
        Type::Count(1, CLIENTS_MAX, |d, n| d.pods().clients = n as usize),
        "Number of pods. Each pod runs one client.",
    ),
    with(
        "client.kubernetes.cpus",
        Type::Number(0.1, 256.0, |d, n| {
            d.pods().millicpus = (n * 1000.0).round() as u32
        }),
        "2",
        "Number of CPUs of each pod. cassay sets this number as request and limit, so that the QoS \
         class of the pod is Guaranteed. Each pod has one worker per whole CPU. With the kubelet's \
         static CPU manager, a pod can have exclusive CPUs only if the number is whole.",
    ),
    with(
        "client.kubernetes.memory",
        Type::Bytes(64 << 20, 1 << 40, |d, n| d.pods().memory_bytes = n),
        "1GiB",
        "Memory of each pod, as request and limit.",
    ),
    required(
        "client.kubernetes.image",
        Type::Text(|d, text| d.pods().image = text.into()),
        "Image of the pods. The image must contain `sh`, `head` and `chmod`, because cassay copies \
         itself into the pods. If Cassandra runs in the same Kubernetes cluster, the Kubernetes \
         nodes already have Cassandra's image.",
    ),
    with(
        "client.kubernetes.one_per_node",
        Type::Bool(|d, is| d.pods().one_per_node = is),
        "true",
        "Run at most one client on each Kubernetes node.",
    ),
    optional(
        "client.kubernetes.machine_type",
        Type::Text(|d, text| d.pods().machine_type = Some(text.into())),
        "Machine type of the Kubernetes nodes to run on, by the provider's name (the label \
         `node.kubernetes.io/instance-type`). Default: any machine type.",
    ),
];
