//! The rows of an attached cluster that Kubernetes describes.

use super::row::{SECTION, optional};
use crate::format::field::{Field, Type};
use target_spec::{KubernetesOwner, PodAgents};

pub(super) const FIELDS: &[Field] = &[
    optional(
        "target.attach.kubernetes",
        SECTION,
        "A cluster in Kubernetes: its nodes, its data center and how to log in are what its \
         operator says, read by your own `kubectl`, which needs `--trust` in a study. Name one of \
         `k8ssandra`, `cass_operator` and `service`.",
    ),
    optional(
        "target.attach.kubernetes.context",
        Type::Text(|d, text| d.attached_kubernetes.context = Some(text.into())),
        "The context of kubectl's configuration. Default: the current one.",
    ),
    optional(
        "target.attach.kubernetes.namespace",
        Type::Text(|d, text| d.attached_kubernetes.namespace = Some(text.into())),
        "The namespace. Default: that of the context.",
    ),
    optional(
        "target.attach.kubernetes.k8ssandra",
        Type::Text(|d, text| d.in_kubernetes(KubernetesOwner::K8ssandra(text.into()))),
        "The name of a K8ssandraCluster: all of its data centers in that namespace.",
    ),
    optional(
        "target.attach.kubernetes.cass_operator",
        Type::Text(|d, text| d.in_kubernetes(KubernetesOwner::CassOperator(text.into()))),
        "The name of a CassandraDatacenter of cass-operator.",
    ),
    optional(
        "target.attach.kubernetes.service",
        Type::Text(|d, text| d.in_kubernetes(KubernetesOwner::Service(text.into()))),
        "The name of a service whose ready end points are nodes: of a StatefulSet, or of another \
         operator.",
    ),
    optional(
        "target.attach.kubernetes.secret",
        Type::Text(|d, text| d.attached_kubernetes.secret = Some(text.into())),
        "The secret with `username` and `password`. Default: the superuser's of the operator; with \
         `service` none.",
    ),
    optional(
        "target.attach.kubernetes.metrics",
        Type::List(&Type::Text(|d, text| {
            d.attached_kubernetes.metrics.push(text.into());
        })),
        "Ask each pod's metrics end point while a run goes on, where the service names a port \
         `metrics` or `prometheus`: for series whose names fit one of these, with `*` for \
         anything. Default: it is not asked.",
    ),
    optional(
        "target.attach.kubernetes.agents",
        Type::Either(
            &Type::Bool(|d, is| {
                d.attached_kubernetes.agents = is.then(PodAgents::default);
            }),
            &Type::Section(|d| {
                d.pod_agents();
            }),
        ),
        "Start this program in the nodes' containers, by `exec`: then processes, what containers \
         use and collectors' logs are in sight, and nodes can be paused where `--allow signal` \
         says so. It ends with the run. Default: nothing is started there, and only CQL is \
         spoken.",
    ),
    optional(
        "target.attach.kubernetes.agents.container",
        Type::Name(|d, text| d.pod_agents().container = Some(text.into())),
        "The container that the node runs in. Default: the pod's default one.",
    ),
    optional(
        "target.attach.kubernetes.agents.folder",
        Type::Text(|d, text| d.pod_agents().folder = Some(text.into())),
        "A folder there that programs can be put into and started from. Default: /tmp/cassay.",
    ),
    optional(
        "target.attach.kubernetes.agents.logs",
        Type::Text(|d, text| d.pod_agents().logs = Some(text.into())),
        "The folder with the node's logs, which is only read.",
    ),
    optional(
        "target.attach.kubernetes.agents.data",
        Type::Text(|d, text| d.pod_agents().data = Some(text.into())),
        "The folder with its data, of whose disk the settings are looked at.",
    ),
];
