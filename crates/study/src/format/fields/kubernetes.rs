//! Study keys for an attached cluster that Kubernetes describes, as rows of the table of keys.

use super::row::{SECTION, optional};
use crate::format::field::{Field, Type};
use target_spec::{KubernetesOwner, PodAgents};

pub(super) const FIELDS: &[Field] = &[
    optional(
        "target.attach.kubernetes",
        SECTION,
        "Cluster in Kubernetes. Your own `kubectl` reads the nodes, data center and login of the \
         cluster from its operator, which requires `--trust` in a study. Set one of `k8ssandra`, \
         `cass_operator` and `service`.",
    ),
    optional(
        "target.attach.kubernetes.context",
        Type::Text(|d, text| d.attached_kubernetes.context = Some(text.into())),
        "Context of the kubectl configuration. Default: the current context.",
    ),
    optional(
        "target.attach.kubernetes.namespace",
        Type::Text(|d, text| d.attached_kubernetes.namespace = Some(text.into())),
        "Namespace of the cluster. Default: the namespace of the context.",
    ),
    optional(
        "target.attach.kubernetes.k8ssandra",
        Type::Text(|d, text| d.in_kubernetes(KubernetesOwner::K8ssandra(text.into()))),
        "Name of a K8ssandraCluster. The target consists of all of its data centers in the \
         namespace.",
    ),
    optional(
        "target.attach.kubernetes.cass_operator",
        Type::Text(|d, text| d.in_kubernetes(KubernetesOwner::CassOperator(text.into()))),
        "Name of a CassandraDatacenter of cass-operator.",
    ),
    optional(
        "target.attach.kubernetes.service",
        Type::Text(|d, text| d.in_kubernetes(KubernetesOwner::Service(text.into()))),
        "Name of a service whose ready endpoints are nodes, such as the service of a StatefulSet \
         or of another operator.",
    ),
    optional(
        "target.attach.kubernetes.secret",
        Type::Text(|d, text| d.attached_kubernetes.secret = Some(text.into())),
        "Secret with `username` and `password`. Default: the operator's superuser secret, or with \
         `service`, no login.",
    ),
    optional(
        "target.attach.kubernetes.metrics",
        Type::List(&Type::Text(|d, text| {
            d.attached_kubernetes.metrics.push(text.into());
        })),
        "Scrape each pod's metrics endpoint during a run, if the service names a port `metrics` or \
         `prometheus`. cassay keeps only series whose names match one of these patterns, in which \
         `*` matches any text. Default: no scraping.",
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
        "Start this program in the nodes' containers with `exec`. The program reads processes, \
         container usage and garbage collection logs, and pauses nodes if `--allow signal` permits \
         it. The program ends with the run. Default: cassay starts no program in the containers, \
         and uses only CQL.",
    ),
    optional(
        "target.attach.kubernetes.agents.container",
        Type::Name(|d, text| d.pod_agents().container = Some(text.into())),
        "Container of the node. Default: the pod's default container.",
    ),
    optional(
        "target.attach.kubernetes.agents.folder",
        Type::Text(|d, text| d.pod_agents().folder = Some(text.into())),
        "Folder in the container to which cassay copies this program, and from which it starts the \
         program. Default: /tmp/cassay.",
    ),
    optional(
        "target.attach.kubernetes.agents.logs",
        Type::Text(|d, text| d.pod_agents().logs = Some(text.into())),
        "Folder in the container with the node's logs. cassay only reads this folder.",
    ),
    optional(
        "target.attach.kubernetes.agents.data",
        Type::Text(|d, text| d.pod_agents().data = Some(text.into())),
        "Folder in the container with the node's data. cassay reads the settings of the disk of \
         this folder.",
    ),
];
