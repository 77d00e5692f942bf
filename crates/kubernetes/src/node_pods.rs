//! Pods of managed nodes: a StatefulSet whose containers wait, with a volume for each pod, and a
//! Job that owns the StatefulSet.
//!
//! Agents start Cassandra in the pods as on any machine. Invariant: if this program is killed at
//! any time, all of these objects disappear. The program extends the Job's deadline. At the
//! deadline, the cluster deletes all objects that the Job owns, including volumes.

use crate::job::{self, PutOff};
use crate::kubectl::Kubectl;
use crate::pods::{PodSeen, Pods, PodsSeen};
use anyhow::{Context, Result, anyhow, bail};
use measure::clock::Deadline;
use measure::number::counted;
use serde_json::{Value, json};
use std::net::IpAddr;
use std::time::Duration;
use target_spec::{NODE_FOLDER, NodePods, PodPlace, RemoteHost};

/// Container in which a node runs.
const CONTAINER: &str = "cassandra";

/// Time limit for all pods to run. Kubernetes may have to create a volume or pull an image.
const READY_LIMIT: Duration = Duration::from_secs(600);

/// Pods of a managed cluster. Dropping this value removes them.
#[derive(Debug)]
pub struct PodSet {
    kubectl: Kubectl,
    name: String,
    namespace: String,
    wanted: NodePods,
    count: usize,
    pods: Pods,
    put_off: Option<PutOff>,
}

impl PodSet {
    /// Creates `count` pods, and waits until they run.
    ///
    /// # Errors
    /// The cluster cannot be reached or refuses an object, a pod does not run, or the user pressed
    /// Ctrl-C. The error contains the reason.
    pub fn make(wanted: &NodePods, count: usize, say: &mut dyn FnMut(&str)) -> Result<PodSet> {
        let kubectl = Kubectl::new(wanted.context.as_deref(), wanted.namespace.as_deref())?;
        let name = job::new_name("nodes");
        let owner = kubectl
            .create(&job::owner(&name, job::DEADLINE_S))
            .context("create a Job that owns the pods of nodes")?;
        let namespace = owner["metadata"]["namespace"].as_str().unwrap_or("default").to_owned();
        let kubectl = kubectl.within(&namespace)?;
        let set = job::watch_set(&kubectl, &name).and_then(|pods| {
            Ok(PodSet {
                put_off: Some(job::put_off(kubectl.clone(), name.clone())?),
                kubectl,
                name: name.clone(),
                namespace,
                wanted: wanted.clone(),
                count,
                pods,
            })
        })?;
        let made = set.kubectl.create(&manifest(&name, wanted, count, &owner));
        made.context("create a StatefulSet for nodes")?;
        say(&format!(
            "cassay waits for {} of Kubernetes ({name})",
            counted(count, "pod")
        ));
        set.wait()?;
        Ok(set)
    }

    /// Returns the pods as machines that host nodes, in the order of the pods' numbers.
    ///
    /// # Errors
    /// A pod no longer exists.
    pub fn machines(&self) -> Result<Vec<RemoteHost>> {
        let all = self.pods.all();
        let numbered = self.wanted.numbered(self.count).into_iter().enumerate();
        let one = |(index, machine): (usize, RemoteHost)| {
            let name = self.pod(index);
            let is_it = |pod: &&PodSeen| pod.name == name && pod.is_running;
            let gone = || format!("the pod {name} is no longer running");
            let seen = all.iter().find(is_it).with_context(gone)?;
            let address = match seen.address {
                Some(IpAddr::V4(address)) => Some(address),
                other => bail!("the pod {name} has no IPv4 address, but {other:?}"),
            };
            Ok(RemoteHost {
                ssh: name.clone(),
                address,
                pod: Some(PodPlace {
                    context: self.wanted.context.clone(),
                    namespace: self.namespace.clone(),
                    name,
                    container: CONTAINER.to_owned(),
                    node: seen.node.clone(),
                }),
                ..machine
            })
        };
        numbered.map(one).collect()
    }

    fn pod(&self, index: usize) -> String {
        format!("{}-{index}", self.name)
    }

    fn wait(&self) -> Result<()> {
        let names: Vec<String> = (0..self.count).map(|index| self.pod(index)).collect();
        self.pods.until(
            Deadline::after(READY_LIMIT),
            |pods| {
                if let Some((pod, why)) =
                    pods.values().find_map(|pod| Some((pod, pod.stuck.as_ref()?)))
                {
                    bail!("the pod {} is not running: {why}", pod.name);
                }
                let is_on = |name: &String| pods.get(name).is_some_and(|pod| pod.is_running);
                Ok(names.iter().all(is_on).then_some(()))
            },
            |pods| late(pods, &names),
        )
    }
}

/// Returns the error for pods that do not run in time, with the reasons.
fn late(pods: &PodsSeen, names: &[String]) -> anyhow::Error {
    let of = |name: &String| match pods.get(name) {
        Some(pod) if pod.is_running => format!("{name} runs"),
        Some(pod) => {
            let why = pod
                .waits_for
                .as_deref()
                .unwrap_or("Kubernetes reports no reason why the pod is not running");
            format!("{name}: {why}")
        }
        None => format!("Kubernetes did not create {name}"),
    };
    let waits: Vec<String> = names.iter().map(of).collect();
    anyhow!(
        "after {} s, not all pods are running: {}\nhint: request fewer resources \
         (`target.local.pods`), or add Kubernetes nodes or volumes",
        READY_LIMIT.as_secs(),
        waits.join("; ")
    )
}

impl Drop for PodSet {
    fn drop(&mut self) {
        drop(self.put_off.take());
        // If the cluster cannot be reached, the pods disappear by themselves.
        let _ = self.kubectl.delete("job", &self.name);
    }
}

/// Removes the pods that a killed command has left behind, by deleting their owner if it exists.
///
/// # Errors
/// The cluster cannot be reached, or refuses the deletion.
pub fn remove_pods(pod: &PodPlace) -> Result<()> {
    let kubectl = Kubectl::new(pod.context.as_deref(), Some(&pod.namespace))?;
    let (owner, _) = pod.name.rsplit_once('-').context("a pod of a set has a number")?;
    kubectl.delete("job", owner)
}

/// Returns the StatefulSet for the pods of nodes, which disappears together with its owner.
fn manifest(name: &str, wanted: &NodePods, count: usize, owner: &Value) -> Value {
    let labels = job::labels(name, "node");
    let amounts = json!({
        "cpu": job::cpus(wanted.millicpus), "memory": wanted.memory_bytes.to_string(),
    });
    let mut pod = json!({
        "terminationGracePeriodSeconds": job::GRACE_S,
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "securityContext": {"fsGroup": 999},
        "containers": [{
            "name": CONTAINER,
            "image": wanted.image,
            "imagePullPolicy": "IfNotPresent",
            "command": ["sh", "-c", job::STAY],
            "resources": {"requests": amounts, "limits": amounts},
            "securityContext": job::security(),
            "volumeMounts": [{"name": "data", "mountPath": NODE_FOLDER}],
        }],
    });
    job::on_machines(&mut pod, wanted.machine_type.as_deref());
    if wanted.one_per_node {
        pod["affinity"] = job::apart(name);
    }
    let mut spec = json!({
        "replicas": count,
        "serviceName": name,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": {job::SET_LABEL: name}},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    });
    match &wanted.volume_bytes {
        Some(bytes) => {
            let mut claim = json!({
                "metadata": {"name": "data"},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": bytes.to_string()}},
                },
            });
            if let Some(class) = &wanted.storage_class {
                claim["spec"]["storageClassName"] = class.as_str().into();
            }
            spec["volumeClaimTemplates"] = json!([claim]);
            spec["persistentVolumeClaimRetentionPolicy"] =
                json!({"whenDeleted": "Delete", "whenScaled": "Retain"});
        }
        None => spec["template"]["spec"]["volumes"] = json!([{"name": "data", "emptyDir": {}}]),
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            "name": name,
            "labels": labels,
            "ownerReferences": [job::owned_by(name, owner)],
        },
        "spec": spec,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> NodePods {
        NodePods {
            image: "cassandra:5.0".into(),
            ..NodePods::default()
        }
    }

    #[test]
    fn the_set_goes_with_its_owner_and_its_volumes_with_it() {
        let owner = json!({"metadata": {"uid": "u-1"}});
        let with_class = NodePods {
            storage_class: Some("local".into()),
            volume_bytes: Some(20 << 30),
            ..wanted()
        };
        let set = manifest("cassay-nodes-1", &with_class, 3, &owner);
        assert_eq!(set["metadata"]["ownerReferences"][0]["uid"], "u-1");
        assert_eq!(set["spec"]["replicas"], 3);
        assert_eq!(
            set["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"],
            "Delete"
        );
        let claim = &set["spec"]["volumeClaimTemplates"][0]["spec"];
        assert_eq!(claim["storageClassName"], "local");
        assert_eq!(
            claim["resources"]["requests"]["storage"],
            (20_u64 << 30).to_string()
        );
        assert!(set["spec"]["template"]["spec"]["volumes"].is_null());
    }

    #[test]
    fn without_a_size_the_data_is_on_the_disk_of_the_node() {
        let set = manifest("cassay-nodes-1", &wanted(), 1, &json!({}));
        let volume = &set["spec"]["template"]["spec"]["volumes"][0];
        assert_eq!(volume["emptyDir"], json!({}));
        assert!(set["spec"]["volumeClaimTemplates"].is_null());
    }
}
