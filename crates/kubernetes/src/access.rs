//! Permissions that cassay requires in a namespace. cassay asks the cluster for missing permissions
//! before a run creates objects. An administrator can apply the same list as a role.

use crate::kubectl::Kubectl;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Clients that generate load in pods.
    Clients,
    /// Managed nodes that run in pods.
    Nodes,
    /// A whole run in a pod of the cluster.
    Inside,
    /// Agents in pods of an attached cluster.
    Agents,
    /// Attaching to a Cassandra cluster behind a service.
    Service,
    /// Attaching to a data center of cass-operator.
    CassOperator,
    /// Attaching to a cluster of k8ssandra-operator.
    K8ssandra,
    /// Faults that delete or evict the pods of nodes.
    PodFaults,
    /// Faults that evict pods and cordon their Kubernetes nodes.
    Cordons,
    /// Faults that isolate the pods of nodes by network policies.
    Policies,
    /// Faults in which StatefulSets recreate all pods.
    Rollouts,
    /// Faults in which cass-operator restarts data centers.
    Tasks,
}

/// Verbs that cassay needs for a resource.
struct Rule {
    /// API group. Empty for the core group.
    group: &'static str,
    /// Resource, such as `pods` or `pods/exec`.
    resource: &'static str,
    verbs: &'static [&'static str],
    is_cluster_wide: bool,
}

impl Rule {
    const fn on(
        group: &'static str,
        resource: &'static str,
        verbs: &'static [&'static str],
    ) -> Rule {
        Rule {
            group,
            resource,
            verbs,
            is_cluster_wide: false,
        }
    }
}

/// For the Job that owns all objects of cassay, and expires by itself.
const JOBS: Rule = Rule::on("batch", "jobs", &["create", "get", "patch", "delete"]);

const SETS: Rule = Rule::on("apps", "statefulsets", &["create"]);

const PODS: Rule = Rule::on("", "pods", &["get", "list", "watch"]);

const CONFIG_MAPS: Rule = Rule::on("", "configmaps", &["create"]);

const LOGS: Rule = Rule::on("", "pods/log", &["get"]);

const POD: Rule = Rule::on("", "pods", &["get"]);

/// For running commands in pods. A GET request opens a websocket, which since Kubernetes 1.35 also
/// requires `create`.
const EXEC: Rule = Rule::on("", "pods/exec", &["get", "create"]);

const SERVICE: Rule = Rule::on("discovery.k8s.io", "endpointslices", &["list"]);

const SERVICES: Rule = Rule::on("", "services", &["list"]);

const DATACENTER: Rule = Rule::on("cassandra.datastax.com", "cassandradatacenters", &["get"]);

const DATACENTERS: Rule = Rule::on("cassandra.datastax.com", "cassandradatacenters", &["list"]);

const CLUSTER: Rule = Rule::on("k8ssandra.io", "k8ssandraclusters", &["get"]);

const DELETE_PODS: Rule = Rule::on("", "pods", &["delete"]);

const EVICTIONS: Rule = Rule::on("", "pods/eviction", &["create"]);

const POLICIES: Rule = Rule::on(
    "networking.k8s.io",
    "networkpolicies",
    &["create", "delete"],
);

const ROLLOUTS: Rule = Rule::on("apps", "statefulsets", &["get", "patch"]);

const TASKS: Rule = Rule::on("control.k8ssandra.io", "cassandratasks", &["create"]);

const MACHINES: Rule = Rule {
    is_cluster_wide: true,
    ..Rule::on("", "nodes", &["get", "patch"])
};

impl Purpose {
    pub const ALL: [(&'static str, Purpose); 12] = [
        ("clients", Purpose::Clients),
        ("nodes", Purpose::Nodes),
        ("inside", Purpose::Inside),
        ("agents", Purpose::Agents),
        ("service", Purpose::Service),
        ("cass_operator", Purpose::CassOperator),
        ("k8ssandra", Purpose::K8ssandra),
        ("pod_faults", Purpose::PodFaults),
        ("cordons", Purpose::Cordons),
        ("policies", Purpose::Policies),
        ("rollouts", Purpose::Rollouts),
        ("tasks", Purpose::Tasks),
    ];

    pub fn name(self) -> &'static str {
        let found = Purpose::ALL.into_iter().find(|(_, one)| *one == self);
        found.map_or("clients", |(word, _)| word)
    }

    fn rules(self) -> &'static [Rule] {
        match self {
            Purpose::Clients => &[JOBS, PODS, EXEC],
            Purpose::Nodes => &[JOBS, SETS, PODS, EXEC],
            Purpose::Inside => &[JOBS, CONFIG_MAPS, PODS, EXEC, LOGS],
            Purpose::Agents => &[POD, EXEC],
            Purpose::Service => &[SERVICE],
            Purpose::CassOperator => &[DATACENTER, SERVICES, SERVICE],
            Purpose::K8ssandra => &[CLUSTER, DATACENTERS, SERVICES, SERVICE],
            Purpose::PodFaults => &[PODS, DELETE_PODS, EVICTIONS],
            Purpose::Cordons => &[MACHINES],
            Purpose::Policies => &[JOBS, PODS, POLICIES],
            Purpose::Rollouts => &[PODS, ROLLOUTS],
            Purpose::Tasks => &[PODS, TASKS],
        }
    }
}

/// Verbs that the user may not use on a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingVerbs {
    /// Such as `create`.
    pub verbs: Vec<String>,
    /// Such as `jobs.batch` or `pods/exec`.
    pub resource: String,
    /// `None` means the whole cluster.
    pub namespace: Option<String>,
    /// Reason that the cluster gives. May be empty.
    pub why: String,
}

impl fmt::Display for MissingVerbs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MissingVerbs {
            verbs,
            resource,
            namespace,
            why,
        } = self;
        let verbs = verbs.join(", ");
        match namespace {
            Some(namespace) => {
                write!(f, "may not {verbs} {resource} in the namespace {namespace}")?
            }
            None => write!(f, "may not {verbs} {resource} of the cluster")?,
        }
        if why.is_empty() {
            return Ok(());
        }
        write!(f, " ({why})")
    }
}

/// Returns the permissions that the user of a context lacks. Queries all permissions in parallel.
///
/// # Errors
/// The cluster cannot be reached, or does not answer.
pub fn missing(kubectl: &Kubectl, purposes: &[Purpose]) -> Result<Vec<MissingVerbs>> {
    let namespace = kubectl.namespace_or_default()?;
    let asked: Vec<(&Rule, &str)> = purposes
        .iter()
        .flat_map(|purpose| purpose.rules())
        .flat_map(|rule| rule.verbs.iter().map(move |verb| (rule, *verb)))
        .collect();
    let reviews: Vec<Value> = asked
        .iter()
        .map(|(rule, verb)| {
            let (resource, part) = rule.resource.split_once('/').unwrap_or((rule.resource, ""));
            let namespace = if rule.is_cluster_wide { "" } else { &namespace };
            json!({
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SelfSubjectAccessReview",
                "spec": {"resourceAttributes": {
                    "namespace": namespace, "verb": verb, "group": rule.group,
                    "resource": resource, "subresource": part,
                }},
            })
        })
        .collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": reviews});
    let said = kubectl.ask(&["create", "-f", "-", "-o", "json"], Some(&list))?;
    let answers: Vec<Value> = serde_json::Deserializer::from_str(&said)
        .into_iter()
        .collect::<Result<_, _>>()
        .context("read the permissions in the cluster")?;
    anyhow::ensure!(
        answers.len() == asked.len(),
        "the cluster answered {} of {} permission queries",
        answers.len(),
        asked.len()
    );
    let mut all: Vec<MissingVerbs> = Vec::new();
    for ((rule, verb), said) in asked.into_iter().zip(answers) {
        if said["status"]["allowed"] == true {
            continue;
        }
        let resource = rule.words();
        match all.iter_mut().find(|one| one.resource == resource) {
            Some(one) => one.verbs.push(verb.to_owned()),
            None => all.push(MissingVerbs {
                verbs: vec![verb.to_owned()],
                resource,
                namespace: (!rule.is_cluster_wide).then(|| namespace.clone()),
                why: said["status"]["reason"].as_str().unwrap_or_default().to_owned(),
            }),
        }
    }
    Ok(all)
}

impl Rule {
    /// Returns the resource with its API group, such as `jobs.batch`.
    fn words(&self) -> String {
        if self.group.is_empty() {
            self.resource.to_owned()
        } else {
            format!("{}.{}", self.resource, self.group)
        }
    }

    fn yaml(&self) -> String {
        format!(
            "  - apiGroups: [\"{}\"]\n    resources: [{}]\n    verbs: [{}]\n",
            self.group,
            self.resource,
            self.verbs.join(", ")
        )
    }
}

/// User or account that receives the permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    User(String),
    /// Service account of the namespace. It is created together with its role.
    Account(String),
}

/// Returns the roles and their bindings as a file for `kubectl apply -f -`. The role may read only
/// the named secrets. A cluster role contains the permissions for cluster-scoped objects.
pub fn manifests(
    purposes: &[Purpose],
    secrets: &[String],
    namespace: &str,
    subject: &Subject,
) -> String {
    let rules = |is_cluster_wide: bool| -> String {
        let all = purposes.iter().flat_map(|one| one.rules());
        let wanted = all.filter(|rule| rule.is_cluster_wide == is_cluster_wide);
        wanted.map(Rule::yaml).collect::<BTreeSet<String>>().into_iter().collect()
    };
    let mut own = rules(false);
    if !secrets.is_empty() {
        own += &format!(
            "  - apiGroups: [\"\"]\n    resources: [secrets]\n    resourceNames: [{}]\n    verbs: \
             [get]\n",
            secrets.join(", ")
        );
    }
    let mut parts = Vec::new();
    if let Subject::Account(name) = subject {
        parts.push(format!(
            "apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {name}, namespace: \
             {namespace}}}\n"
        ));
    }
    let place = format!("{{name: cassay, namespace: {namespace}}}");
    parts.extend(role("Role", &place, &own, subject, namespace));
    parts.extend(role(
        "ClusterRole",
        "{name: cassay}",
        &rules(true),
        subject,
        namespace,
    ));
    parts.join("---\n")
}

/// Returns a role and its binding. Returns an empty list without `rules`.
fn role(
    kind: &str,
    metadata: &str,
    rules: &str,
    subject: &Subject,
    namespace: &str,
) -> Vec<String> {
    const GROUP: &str = "rbac.authorization.k8s.io";
    if rules.is_empty() {
        return Vec::new();
    }
    let bound = match subject {
        Subject::User(name) => format!("{{kind: User, name: {name:?}, apiGroup: {GROUP}}}"),
        Subject::Account(name) => {
            format!("{{kind: ServiceAccount, name: {name}, namespace: {namespace}}}")
        }
    };
    let head = |kind: &str| format!("apiVersion: {GROUP}/v1\nkind: {kind}\nmetadata: {metadata}\n");
    vec![
        format!("{}rules:\n{rules}", head(kind)),
        format!(
            "{}roleRef: {{kind: {kind}, name: cassay, apiGroup: {GROUP}}}\nsubjects:\n  - \
             {bound}\n",
            head(&format!("{kind}Binding"))
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_has_each_verb_that_is_asked_for_and_no_star() {
        let text = manifests(
            &[Purpose::Clients],
            &[],
            "load",
            &Subject::Account("cassay".into()),
        );
        assert!(
            text.contains("resources: [pods/exec]\n    verbs: [get, create]"),
            "{text}"
        );
        assert!(
            text.contains("apiGroups: [\"batch\"]\n    resources: [jobs]"),
            "{text}"
        );
        assert!(!text.contains('*'), "{text}");
        assert_eq!(text.matches("\n---\n").count(), 2, "{text}");
        let text = manifests(
            &[Purpose::K8ssandra],
            &["demo-superuser".into()],
            "load",
            &Subject::User("ann@x".into()),
        );
        assert!(text.contains("kind: User, name: \"ann@x\""), "{text}");
        assert!(
            text.contains("resourceNames: [demo-superuser]\n    verbs: [get]"),
            "{text}"
        );
        assert!(!text.contains("ClusterRole"), "{text}");
    }

    #[test]
    fn a_resource_outside_namespaces_has_a_role_of_the_cluster() {
        let ann = Subject::User("ann".into());
        let text = manifests(&[Purpose::PodFaults, Purpose::Cordons], &[], "db", &ann);
        let (own, whole) = text.split_once("kind: ClusterRole\n").expect("both");
        assert!(
            own.contains("resources: [pods/eviction]") && !own.contains("nodes"),
            "{text}"
        );
        assert!(
            whole.contains("resources: [nodes]\n    verbs: [get, patch]"),
            "{text}"
        );
        assert!(
            whole.contains("kind: ClusterRoleBinding\nmetadata: {name: cassay}"),
            "{text}"
        );
    }

    #[test]
    fn missing_access_is_described_as_verbs_on_a_resource() {
        let missing = MissingVerbs {
            verbs: vec!["create".into(), "delete".into()],
            resource: JOBS.words(),
            namespace: Some("load".into()),
            why: String::new(),
        };
        assert_eq!(
            missing.to_string(),
            "may not create, delete jobs.batch in the namespace load"
        );
    }
}
