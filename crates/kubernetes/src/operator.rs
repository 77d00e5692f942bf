//! Restarts all nodes of a cluster: by a task of an operator, or by a rollout of plain
//! StatefulSets.

use crate::job;
use crate::kubectl::Kubectl;
use crate::node_pod::NodePod;
use anyhow::{Context, Result, bail, ensure};
use measure::clock;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Time for which a finished task remains readable, in seconds.
const TASK_KEPT_S: u64 = 600;

/// Annotation with which `kubectl rollout restart` changes a template.
const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";

/// Operator or StatefulSets that control the pods of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    kubectl: Kubectl,
    /// Names of the CassandraDatacenters. Empty without a known operator.
    datacenters: Vec<String>,
}

impl Operator {
    /// Returns the operator of these CassandraDatacenters. Without names, a restart uses the
    /// StatefulSets of the pods.
    pub fn find(kubectl: &Kubectl, datacenters: &[String]) -> Operator {
        Operator {
            kubectl: kubectl.clone(),
            datacenters: datacenters.to_vec(),
        }
    }

    /// Begins a restart of the nodes in `pods`, without waiting for its end. Returns a description
    /// of the restart.
    ///
    /// # Errors
    /// The cluster refuses the restart, or the pods have no known controller.
    pub fn restart(&self, pods: &[&NodePod]) -> Result<String> {
        if self.datacenters.is_empty() {
            return self.roll_out(pods);
        }
        let namespace = self.kubectl.namespace_or_default()?;
        let mut made = Vec::new();
        for datacenter in &self.datacenters {
            let name = job::new_name("restart");
            let task = task(&name, datacenter, &namespace);
            let said =
                || format!("tell cass-operator to restart the CassandraDatacenter {datacenter}");
            self.kubectl.create(&task).with_context(said)?;
            made.push(format!("the CassandraTask {name} restarts {datacenter}"));
        }
        Ok(made.join(", "))
    }

    /// Sets a new time in the templates of the pods' StatefulSets. Each StatefulSet then recreates
    /// its pods, the last one first, and each further one when the previous one is ready.
    fn roll_out(&self, pods: &[&NodePod]) -> Result<String> {
        let mut sets = BTreeSet::new();
        for pod in pods {
            sets.insert(pod.set()?);
        }
        ensure!(!sets.is_empty(), "the cluster has no pod to restart");
        let at = format!("cassay-{}", clock::unix_ns());
        let fields =
            json!({"spec": {"template": {"metadata": {"annotations": {RESTARTED_AT: at}}}}});
        for set in &sets {
            let kept = self.kubectl.get("statefulset", set)?;
            rolls(&kept)?;
            self.kubectl.patch("statefulset", set, &fields)?;
        }
        let sets: Vec<String> = sets.into_iter().collect();
        Ok(format!(
            "a rollout of the StatefulSet {}",
            sets.join(" and ")
        ))
    }
}

fn task(name: &str, datacenter: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "control.k8ssandra.io/v1alpha1",
        "kind": "CassandraTask",
        "metadata": {"name": name, "labels": job::labels(name, "task")},
        "spec": {
            "datacenter": {"name": datacenter, "namespace": namespace},
            "jobs": [{"name": name, "command": "restart"}],
            "ttlSecondsAfterFinished": TASK_KEPT_S,
        },
    })
}

/// Checks that a StatefulSet recreates its pods when its template changes.
fn rolls(set: &Value) -> Result<()> {
    let strategy = &set["spec"]["updateStrategy"];
    let name = set["metadata"]["name"].as_str().unwrap_or_default();
    if strategy["type"] == "OnDelete" {
        bail!("the StatefulSet {name} replaces a pod only after its deletion (OnDelete)");
    }
    let partition = strategy["rollingUpdate"]["partition"].as_u64().unwrap_or(0);
    ensure!(
        partition == 0,
        "the StatefulSet {name} does not update pods below number {partition} (partition)"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_names_its_data_center_and_goes_by_itself() {
        let task = task("cassay-restart-1", "dc1", "db");
        assert_eq!(
            task["spec"]["datacenter"],
            json!({"name": "dc1", "namespace": "db"})
        );
        assert_eq!(task["spec"]["jobs"][0]["command"], "restart");
        assert_eq!(task["spec"]["ttlSecondsAfterFinished"], 600);
    }

    #[test]
    fn a_set_that_would_not_roll_is_let_be() {
        let set = |strategy: Value| {
            json!({
                "metadata": {"name": "db"}, "spec": {"updateStrategy": strategy},
            })
        };
        rolls(&set(
            json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}),
        ))
        .unwrap();
        let said = |strategy| rolls(&set(strategy)).unwrap_err().to_string();
        assert!(
            said(json!({"type": "OnDelete"})).contains("db replaces a pod only after its deletion")
        );
        let half = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}});
        assert!(said(half).contains("below number 2"));
    }
}
