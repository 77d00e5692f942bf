//! What somebody must be permitted in a namespace, and whether he is. One list for what is asked of
//! the cluster before anything is made and for the role that a cluster's keeper is handed.

use crate::kubectl::Kubectl;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt;

/// What is to be done in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Clients offer load from pods.
    Clients,
    /// Nodes of ours run in pods.
    Nodes,
    /// A run goes on within the cluster.
    Inside,
    /// Agents are started in pods of others.
    Agents,
    /// A cluster behind a service is attached to.
    Service,
    /// A data center of cass-operator is.
    CassOperator,
    /// A cluster of k8ssandra-operator is.
    K8ssandra,
}

/// Verbs on a kind of objects.
struct Rule {
    /// The API group; empty: the core's.
    group: &'static str,
    /// `pods`, or `pods/exec`.
    resource: &'static str,
    verbs: &'static [&'static str],
}

/// What owns pods of ours, and goes by itself.
const JOBS: Rule = Rule {
    group: "batch",
    resource: "jobs",
    verbs: &["create", "get", "patch", "delete"],
};

const SETS: Rule = Rule {
    group: "apps",
    resource: "statefulsets",
    verbs: &["create"],
};

const PODS: Rule = Rule {
    group: "",
    resource: "pods",
    verbs: &["get", "list", "watch"],
};

const CONFIG_MAPS: Rule = Rule {
    group: "",
    resource: "configmaps",
    verbs: &["create"],
};

const LOGS: Rule = Rule {
    group: "",
    resource: "pods/log",
    verbs: &["get"],
};

const POD: Rule = Rule {
    group: "",
    resource: "pods",
    verbs: &["get"],
};

/// A websocket is opened by GET, and has to be permitted as `create` from Kubernetes 1.35 on.
const EXEC: Rule = Rule {
    group: "",
    resource: "pods/exec",
    verbs: &["get", "create"],
};

/// For a service: where its end points are.
const SERVICE: Rule = Rule {
    group: "discovery.k8s.io",
    resource: "endpointslices",
    verbs: &["list"],
};

const SERVICES: Rule = Rule {
    group: "",
    resource: "services",
    verbs: &["list"],
};

const CASS_OPERATOR: &[Rule] = &[
    Rule {
        group: "cassandra.datastax.com",
        resource: "cassandradatacenters",
        verbs: &["get"],
    },
    SERVICES,
    SERVICE,
];

const K8SSANDRA: &[Rule] = &[
    Rule {
        group: "k8ssandra.io",
        resource: "k8ssandraclusters",
        verbs: &["get"],
    },
    Rule {
        group: "cassandra.datastax.com",
        resource: "cassandradatacenters",
        verbs: &["list"],
    },
    SERVICES,
    SERVICE,
];

impl Purpose {
    /// All of them, with the word of each.
    pub const ALL: [(&'static str, Purpose); 7] = [
        ("clients", Purpose::Clients),
        ("nodes", Purpose::Nodes),
        ("inside", Purpose::Inside),
        ("agents", Purpose::Agents),
        ("service", Purpose::Service),
        ("cass_operator", Purpose::CassOperator),
        ("k8ssandra", Purpose::K8ssandra),
    ];

    /// Its word.
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
            Purpose::CassOperator => CASS_OPERATOR,
            Purpose::K8ssandra => K8SSANDRA,
        }
    }
}

/// What somebody may not do with a kind of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// `create`, ….
    pub verbs: Vec<String>,
    /// `jobs.batch`, `pods/exec`.
    pub resource: String,
    /// In which namespace.
    pub namespace: String,
    /// Why, in the cluster's words; empty where it has none.
    pub why: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Missing {
            verbs,
            resource,
            namespace,
            why,
        } = self;
        let verbs = verbs.join(", ");
        write!(f, "may not {verbs} {resource} in the namespace {namespace}")?;
        if why.is_empty() {
            return Ok(());
        }
        write!(f, " ({why})")
    }
}

/// What of that the user of a context may not do, asked of the cluster all at once.
///
/// # Errors
/// The cluster is not reached, or does not say it.
pub fn missing(kubectl: &Kubectl, purposes: &[Purpose]) -> Result<Vec<Missing>> {
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
        .context("read what one may do in the cluster")?;
    anyhow::ensure!(
        answers.len() == asked.len(),
        "the cluster answered {} of {} questions about what one may do",
        answers.len(),
        asked.len()
    );
    let mut all: Vec<Missing> = Vec::new();
    for ((rule, verb), said) in asked.into_iter().zip(answers) {
        if said["status"]["allowed"] == true {
            continue;
        }
        let resource = rule.words();
        match all.iter_mut().find(|one| one.resource == resource) {
            Some(one) => one.verbs.push(verb.to_owned()),
            None => all.push(Missing {
                verbs: vec![verb.to_owned()],
                resource,
                namespace: namespace.clone(),
                why: said["status"]["reason"].as_str().unwrap_or_default().to_owned(),
            }),
        }
    }
    Ok(all)
}

impl Rule {
    /// As `kubectl auth can-i` takes it.
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

/// Who is to be permitted it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A user by name.
    User(String),
    /// A service account of the namespace, which is made with its role.
    Account(String),
}

/// The role and its binding as a file for `kubectl apply -f -`; of secrets those alone that are
/// named.
pub fn manifests(
    purposes: &[Purpose],
    secrets: &[String],
    namespace: &str,
    subject: &Subject,
) -> String {
    let rules: BTreeSet<String> =
        purposes.iter().flat_map(|one| one.rules()).map(Rule::yaml).collect();
    let mut rules: String = rules.into_iter().collect();
    if !secrets.is_empty() {
        rules += &format!(
            "  - apiGroups: [\"\"]\n    resources: [secrets]\n    resourceNames: [{}]\n    verbs: \
             [get]\n",
            secrets.join(", ")
        );
    }
    let (account, bound) = match subject {
        Subject::User(name) => (
            String::new(),
            format!("  - {{kind: User, name: {name:?}, apiGroup: rbac.authorization.k8s.io}}\n"),
        ),
        Subject::Account(name) => (
            format!(
                "apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {name}, namespace: \
                 {namespace}}}\n---\n"
            ),
            format!("  - {{kind: ServiceAccount, name: {name}, namespace: {namespace}}}\n"),
        ),
    };
    let role = format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {{name: cassay, \
         namespace: {namespace}}}\nrules:\n{rules}"
    );
    let binding = format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {{name: cassay, \
         namespace: {namespace}}}\nroleRef: {{kind: Role, name: cassay, apiGroup: \
         rbac.authorization.k8s.io}}\nsubjects:\n{bound}"
    );
    format!("{account}{role}---\n{binding}")
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
    }

    #[test]
    fn what_is_missing_is_a_verb_on_a_resource() {
        let missing = Missing {
            verbs: vec!["create".into(), "delete".into()],
            resource: JOBS.words(),
            namespace: "load".into(),
            why: String::new(),
        };
        assert_eq!(
            missing.to_string(),
            "may not create, delete jobs.batch in the namespace load"
        );
    }
}
