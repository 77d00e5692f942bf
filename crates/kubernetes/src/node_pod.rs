//! Faults of the pod of a node: it is deleted, evicted, or cut off by a network policy. Also reads
//! the cluster's reports on it meanwhile.
//!
//! Invariants: no pod is removed that no controller recreates, or whose data would go with it. A
//! policy that cuts one off goes by itself within a minute when its creator is gone.

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
const TOLD_WITHIN: Duration = Duration::from_secs(10);

/// Label that a StatefulSet gives each of its pods. It is the only one by which a policy can select
/// a single pod.
const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";

/// Volumes that outlive their pod: the others are part of it.
const LASTING: [&str; 2] = ["persistentVolumeClaim", "hostPath"];

/// Way to delete a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// With its grace period.
    InOrder,
    /// Without a grace period.
    AtOnce,
    /// By eviction, as a drain does it, so that disruption budgets are kept.
    Eviction,
}

/// The pod of a node.
pub struct NodePod {
    kubectl: Kubectl,
    name: String,
    /// Reports on it, from the first question on.
    told: Mutex<Option<Pods>>,
}

impl fmt::Debug for NodePod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodePod").field("name", &self.name).finish_non_exhaustive()
    }
}

impl NodePod {
    /// Opens the existing pod.
    ///
    /// # Errors
    /// Its place has no names.
    pub fn open(place: &PodPlace) -> Result<NodePod> {
        let kubectl = Kubectl::new(place.context.as_deref(), Some(&place.namespace))?;
        Ok(NodePod {
            kubectl,
            name: place.name.clone(),
            told: Mutex::default(),
        })
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the cluster's last report on it, or on the last pod of its name.
    ///
    /// # Errors
    /// The cluster sends no report.
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
            Deadline::after(TOLD_WITHIN),
            |pods| Ok(pods.get(&self.name).cloned()),
            |_| {
                let (name, seconds) = (&self.name, TOLD_WITHIN.as_secs());
                anyhow!("the cluster has not told of the pod {name} for {seconds} s")
            },
        )
    }

    /// Returns true if pods may be scheduled on a node of its cluster.
    ///
    /// # Errors
    /// It does not exist, or may not be read.
    pub fn is_schedulable(&self, node: &str) -> Result<bool> {
        let node = self.kubectl.get("node", node)?;
        Ok(node["spec"]["unschedulable"] != true)
    }

    /// Returns the StatefulSet that creates it.
    ///
    /// # Errors
    /// It belongs to none.
    pub(crate) fn set(&self) -> Result<String> {
        let pod = self.kubectl.get("pod", &self.name)?;
        let owners = pod["metadata"]["ownerReferences"].as_array();
        let is_set = |owner: &&Value| owner["kind"] == "StatefulSet";
        let set = owners.into_iter().flatten().find(is_set).and_then(|set| set["name"].as_str());
        let none = || format!("the pod {} is of no StatefulSet", self.name);
        set.map(str::to_owned).with_context(none)
    }

    /// Deletes it without waiting for that.
    ///
    /// # Errors
    /// No controller would recreate it, or its data would go with it; the cluster refuses it.
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

    /// Returns the commands that keep pods off its node of Kubernetes, and that allow them again.
    ///
    /// # Errors
    /// The cluster does not report its node.
    pub fn cordon(&self) -> Result<[Vec<String>; 2]> {
        let node = self.status()?.node;
        ensure!(!node.is_empty(), "the pod {} is on no node yet", self.name);
        Ok(["cordon", "uncordon"].map(|what| self.kubectl.program_words(&[what, &node])))
    }

    /// Blocks all traffic to and from it by a network policy, as long as the returned value is
    /// held. It blocks new connections. Existing ones go on if the network plugin allows it, as
    /// most do.
    ///
    /// # Errors
    /// It belongs to no StatefulSet, so that no label selects it alone; the cluster refuses it.
    pub fn isolate(&self) -> Result<Isolation> {
        let pod = self.kubectl.get("pod", &self.name)?;
        let unlabelled = || {
            format!(
                "the pod {} has no label {POD_NAME}, by which a network policy would tell it from \
                 others: only pods of StatefulSets have",
                self.name
            )
        };
        let label = pod["metadata"]["labels"][POD_NAME].as_str().with_context(unlabelled)?;
        let name = job::new_name("policy");
        let owner = self
            .kubectl
            .create(&job::owner(&name, job::DEADLINE_S))
            .context("make a Job that owns a network policy")?;
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
        self.kubectl.create(&policy).context("make a network policy")?;
        Ok(isolation)
    }
}

/// A pod that is cut off.
#[derive(Debug)]
pub struct Isolation {
    kubectl: Kubectl,
    name: String,
    put_off: Option<PutOff>,
}

impl Isolation {
    /// Removes the policy.
    ///
    /// # Errors
    /// The cluster refuses it. It goes by itself within a minute.
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
        // If the cluster cannot be reached, it goes by itself.
        let _ = self.remove();
    }
}

/// Checks that a controller recreates a pod when it is gone, and that its data is still there then.
fn may_go(pod: &Value) -> Result<()> {
    let name = pod["metadata"]["name"].as_str().unwrap_or_default();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let owners = list(&pod["metadata"]["ownerReferences"]);
    if !owners.iter().any(|owner| owner["controller"] == true) {
        bail!(
            "no controller would make the pod {name} again: it does not belong to a StatefulSet \
             or the like"
        );
    }
    let volumes = list(&pod["spec"]["volumes"]);
    let lasts = |volume: &Value| LASTING.iter().any(|kind| !volume[*kind].is_null());
    ensure!(
        volumes.iter().any(lasts),
        "the data of the pod {name} would go with it: none of its volumes is a claim, or a folder \
         of its machine"
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
            said(pod(json!([]), claim())).contains("no controller would make the pod db-0 again")
        );
        let ours = json!([{"name": "data", "emptyDir": {}}, {"name": "c", "configMap": {}}]);
        assert!(said(pod(set(), ours)).contains("the data of the pod db-0 would go"));
    }
}
