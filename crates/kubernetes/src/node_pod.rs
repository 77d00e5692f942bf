//! Faults of a node's pod, which is deleted, evicted, or isolated by a network policy, and the
//! cluster's reports on the pod.
//!
//! Invariants: cassay removes a pod only if a controller recreates the pod and its data survives. A
//! policy that isolates a pod disappears within a minute after its creator has ended.

use crate::job::{self, PutOff};
use crate::kubectl::{Kubectl, Selector};
use crate::pods::{PodSeen, Pods};
use anyhow::{Context, Result, anyhow, bail, ensure};
use measure::clock::Deadline;
use serde_json::{Value, json};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use target_spec::PodPlace;

/// Time limit for the cluster's first report on a pod.
const REPORT_LIMIT: Duration = Duration::from_secs(10);

/// Label that a StatefulSet adds to each of its pods, and by which a policy can select a single
/// pod.
const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";

/// Types of volumes that outlive their pod.
const LASTING: [&str; 2] = ["persistentVolumeClaim", "hostPath"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// Deletes the pod after its grace period.
    InOrder,
    /// Deletes the pod without a grace period.
    AtOnce,
    /// Evicts the pod as a drain does, so that disruption budgets are respected.
    Eviction,
}

pub struct NodePod {
    kubectl: Kubectl,
    name: String,
    /// Reports on the pod. `None` before the first query, which starts the watch.
    told: Mutex<Option<Pods>>,
}

impl fmt::Debug for NodePod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodePod").field("name", &self.name).finish_non_exhaustive()
    }
}

impl NodePod {
    /// # Errors
    /// The location does not contain valid names.
    pub fn open(place: &PodPlace) -> Result<NodePod> {
        let kubectl = Kubectl::new(place.context.as_deref(), Some(&place.namespace))?;
        Ok(NodePod {
            kubectl,
            name: place.name.clone(),
            told: Mutex::default(),
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the cluster's last report on the pod, or on the last pod with the same name.
    ///
    /// # Errors
    /// The cluster does not send a report.
    pub fn status(&self) -> Result<PodSeen> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let pods = match &mut *told {
            Some(pods) => pods,
            none => {
                let name = Selector::Name(self.name.clone());
                none.insert(Pods::watch(self.kubectl.clone(), name)?)
            }
        };
        pods.until(
            Deadline::after(REPORT_LIMIT),
            |pods| Ok(pods.get(&self.name).cloned()),
            |_| {
                let (name, seconds) = (&self.name, REPORT_LIMIT.as_secs());
                anyhow!("Kubernetes sent no report on the pod {name} for {seconds} s")
            },
        )
    }

    /// Returns true if pods may be scheduled on the Kubernetes node `node`.
    ///
    /// # Errors
    /// The Kubernetes node does not exist, or the user may not read it.
    pub fn is_schedulable(&self, node: &str) -> Result<bool> {
        let node = self.kubectl.get("node", node)?;
        Ok(node["spec"]["unschedulable"] != true)
    }

    /// Returns the StatefulSet that creates the pod.
    ///
    /// # Errors
    /// The pod does not belong to a StatefulSet.
    pub(crate) fn set(&self) -> Result<String> {
        let pod = self.kubectl.get("pod", &self.name)?;
        let owners = pod["metadata"]["ownerReferences"].as_array();
        let is_set = |owner: &&Value| owner["kind"] == "StatefulSet";
        let set = owners.into_iter().flatten().find(is_set).and_then(|set| set["name"].as_str());
        let none = || format!("the pod {} belongs to no StatefulSet", self.name);
        set.map(str::to_owned).with_context(none)
    }

    /// Deletes the pod without waiting for its end.
    ///
    /// # Errors
    /// The pod has no controller that would recreate it, its data would be lost, or the cluster
    /// refuses the deletion.
    pub fn delete(&self, how: Deletion) -> Result<()> {
        let pod = self.kubectl.get("pod", &self.name)?;
        may_go(&pod)?;
        let delete = ["delete", "pod", self.name.as_str(), "--wait=false"];
        match how {
            Deletion::InOrder => self.kubectl.ask(&delete, None),
            Deletion::AtOnce => {
                let at_once = ["--grace-period=0", "--force"];
                self.kubectl.ask(&[&delete[..], &at_once].concat(), None)
            }
            Deletion::Eviction => {
                let namespace = pod["metadata"]["namespace"].as_str().unwrap_or("default");
                let at = format!("/api/v1/namespaces/{namespace}/pods/{}/eviction", self.name);
                let eviction = json!({
                    "apiVersion": "policy/v1",
                    "kind": "Eviction",
                    "metadata": {"name": self.name, "namespace": namespace},
                });
                self.kubectl.ask(&["create", "--raw", &at, "-f", "-"], Some(&eviction))
            }
        }
        .map(drop)
    }

    /// Returns the commands that cordon and uncordon the pod's Kubernetes node.
    ///
    /// # Errors
    /// The cluster does not report the pod's Kubernetes node.
    pub fn cordon(&self) -> Result<[Vec<String>; 2]> {
        let node = self.status()?.node;
        ensure!(
            !node.is_empty(),
            "Kubernetes has not yet scheduled the pod {} to a node",
            self.name
        );
        Ok(["cordon", "uncordon"].map(|what| self.kubectl.program_words(&[what, &node])))
    }

    /// Blocks new connections to and from the pod by a network policy, until the returned value is
    /// dropped. With most network plugins, existing connections continue.
    ///
    /// # Errors
    /// The pod does not belong to a StatefulSet, so it has no label that selects only this pod, or
    /// the cluster refuses the policy.
    pub fn isolate(&self) -> Result<Isolation> {
        let pod = self.kubectl.get("pod", &self.name)?;
        let unlabelled = || {
            format!(
                "the pod {} has no label {POD_NAME}, which a network policy needs to select the \
                 pod: only pods of StatefulSets have this label",
                self.name
            )
        };
        let label = pod["metadata"]["labels"][POD_NAME].as_str().with_context(unlabelled)?;
        let name = job::new_name("policy");
        let owner = self
            .kubectl
            .create(&job::owner(&name, job::DEADLINE_S))
            .context("create a Job that owns a network policy")?;
        let isolation = Isolation {
            put_off: Some(job::put_off(self.kubectl.clone(), name.clone())?),
            kubectl: self.kubectl.clone(),
            name: name.clone(),
        };
        let policy = json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {
                "name": name,
                "labels": job::labels(&name, "policy"),
                "ownerReferences": [job::owned_by(&name, &owner)],
            },
            "spec": {
                "podSelector": {"matchLabels": {POD_NAME: label}},
                "policyTypes": ["Ingress", "Egress"],
            },
        });
        self.kubectl.create(&policy).context("create a network policy")?;
        Ok(isolation)
    }
}

/// Pod that a policy isolates.
#[derive(Debug)]
pub struct Isolation {
    kubectl: Kubectl,
    name: String,
    put_off: Option<PutOff>,
}

impl Isolation {
    /// Removes the policy that isolates the pod.
    ///
    /// # Errors
    /// The cluster refuses the removal. The policy then disappears within a minute.
    pub fn end(mut self) -> Result<()> {
        self.remove()
    }

    fn remove(&mut self) -> Result<()> {
        if self.put_off.take().is_none() {
            return Ok(());
        }
        let policy = self.kubectl.delete("networkpolicy", &self.name);
        policy.and(self.kubectl.delete("job", &self.name))
    }
}

impl Drop for Isolation {
    fn drop(&mut self) {
        // If the cluster cannot be reached, the policy disappears by itself.
        let _ = self.remove();
    }
}

/// Checks that a controller will recreate a pod, and that the pod's data will survive.
fn may_go(pod: &Value) -> Result<()> {
    let name = pod["metadata"]["name"].as_str().unwrap_or_default();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let owners = list(&pod["metadata"]["ownerReferences"]);
    if !owners.iter().any(|owner| owner["controller"] == true) {
        bail!(
            "no controller would create the pod {name} again, because it does not belong to a \
             StatefulSet or a similar controller"
        );
    }
    let volumes = list(&pod["spec"]["volumes"]);
    let lasts = |volume: &Value| LASTING.iter().any(|kind| !volume[*kind].is_null());
    ensure!(
        volumes.iter().any(lasts),
        "the deletion of the pod {name} would delete its data: none of the pod's volumes is a \
         claim, or a folder of the machine"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_without_controller_or_lasting_data_is_not_deleted() {
        let pod = |owners: Value, volumes: Value| {
            json!({
                "metadata": {"name": "db-0", "ownerReferences": owners},
                "spec": {"volumes": volumes},
            })
        };
        let set = || json!([{"kind": "StatefulSet", "name": "db", "controller": true}]);
        let claim =
            || json!([{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}]);
        may_go(&pod(set(), claim())).unwrap();
        let said = |pod: Value| may_go(&pod).unwrap_err().to_string();
        assert!(
            said(pod(json!([]), claim())).contains("no controller would create the pod db-0 again")
        );
        let ours = json!([{"name": "data", "emptyDir": {}}, {"name": "c", "configMap": {}}]);
        let said = said(pod(set(), ours));
        assert!(said.contains("the deletion of the pod db-0 would delete its data"));
    }
}
