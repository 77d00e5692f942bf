//! Pods of clients, which belong to an Indexed Job.
//!
//! Invariant: if this program is killed at any time, the Job disappears within 70 s. Until all
//! clients are connected, the program extends the Job's deadline. Later, each pod ends with its
//! client, and a client ends when it gets no more messages from its controller. The cluster deletes
//! a finished Job with its pods.
//! each pod ends when its client ends, and a client ends when it gets no more messages from its
//! controller. The cluster deletes a finished Job with its pods.

use crate::kubectl::{Kubectl, Selector};
use crate::pods::{self, PodSeen, Pods, PodsSeen};
use anyhow::{Context, Result, anyhow, bail};
use measure::clock::{self, Deadline};
use measure::number::counted;
use remote::process::Identity;
use remote::{Destination, Pod};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Container in which a client runs.
pub const CONTAINER: &str = "client";

/// Folder of the program in the container, in memory or on the pod's disk.
pub const FOLDER: &str = "/cassay";

/// Label with the name of the application, which all objects of cassay have.
const NAME_LABEL: &str = "app.kubernetes.io/name";
/// Label with the name of the set to which an object belongs.
pub(crate) const SET_LABEL: &str = "cassay/set";

/// Command of a node's container. The pod runs until the command ends.
pub(crate) const STAY: &str = "trap 'exit 0' TERM INT; while :; do sleep 1; done";

const WAIT: &str = include_str!("wait.sh");

/// Time for which a container waits for its agent, in seconds. cassay starts the agent as soon as
/// the container runs.
const WAIT_S: u64 = 40;

/// Lifetime of a Job without all its clients after its last extension, in seconds.
pub(crate) const DEADLINE_S: u64 = 50;
/// Interval between two extensions of the deadline.
const PUT_OFF_EVERY: Duration = Duration::from_secs(15);

/// Time for which a finished Job remains readable, in seconds.
pub(crate) const TTL_S: u64 = 10;

/// Time limit for all pods to run. Kubernetes may have to pull an image or add a node.
const READY_LIMIT: Duration = Duration::from_secs(600);

/// Grace period of a pod, in seconds.
pub(crate) const GRACE_S: u64 = 5;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientPods {
    /// Number of pods. Each pod runs one client.
    pub clients: usize,
    /// CPUs of each pod in thousandths, as request and limit.
    pub millicpus: u32,
    /// Memory of each pod in bytes, as request and limit.
    pub memory_bytes: u64,
    /// Image of the container, which must contain `sh`, `head` and `chmod`.
    pub image: String,
    /// True if two pods must not run on the same Kubernetes node.
    pub one_per_node: bool,
    /// Machine type of the pods' Kubernetes nodes. `None` means any type.
    pub machine_type: Option<String>,
}

/// Pod in which an agent can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyPod {
    /// Number of the pod, counted from 0.
    pub index: usize,
    pub destination: Destination,
}

/// Pods of a run's clients. Dropping this value removes them.
#[derive(Debug)]
pub struct ClientJob {
    kubectl: Kubectl,
    name: String,
    namespace: String,
    count: usize,
    pods: Pods,
    deadline: Deadline,
    taken: BTreeSet<usize>,
    /// Last reported reason why some pods do not run yet.
    told: String,
    put_off: Option<PutOff>,
}

/// Thread that extends a Job's deadline until this value is dropped.
#[derive(Debug)]
pub(crate) struct PutOff {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for PutOff {
    fn drop(&mut self) {
        drop(self.stop.take());
        // The thread returns no value.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl ClientJob {
    /// Creates the Job without waiting for its pods.
    ///
    /// # Errors
    /// The cluster cannot be reached, or refuses the Job. The message contains the cluster's text.
    pub fn begin(kubectl: &Kubectl, wanted: &ClientPods) -> Result<ClientJob> {
        let name = new_name("clients");
        let made = kubectl.create(&manifest(&name, wanted)).context("create a Job for clients")?;
        let namespace = made["metadata"]["namespace"].as_str().unwrap_or("default").to_owned();
        let kubectl = kubectl.within(&namespace)?;
        let begun = watch_set(&kubectl, &name)
            .and_then(|pods| Ok((pods, put_off(kubectl.clone(), name.clone())?)));
        let (pods, put_off) = begun.inspect_err(|_| {
            // If the deletion fails, the Job expires by itself.
            let _ = kubectl.delete("job", &name);
        })?;
        Ok(ClientJob {
            kubectl,
            name,
            namespace,
            count: wanted.clients,
            pods,
            deadline: Deadline::after(READY_LIMIT),
            taken: BTreeSet::new(),
            told: String::new(),
            put_off: Some(put_off),
        })
    }

    /// Waits until another pod of the Job runs.
    ///
    /// # Errors
    /// A pod will never run, the pods take too long, or the user pressed Ctrl-C. The error contains
    /// the reason.
    pub fn next_ready(&mut self, say: &mut dyn FnMut(&str)) -> Result<ReadyPod> {
        let taken = &self.taken;
        let (index, pod) = self.pods.until_told(
            self.deadline,
            (&mut self.told, say),
            |pods| {
                let new = |pod: &&PodSeen| pod.index.is_some_and(|index| !taken.contains(&index));
                for pod in pods.values().filter(new) {
                    if let Some(why) = pod.stuck.as_ref().or(pod.fate.as_ref()) {
                        bail!("the pod {} is not running: {why}", pod.name);
                    }
                }
                let ready = pods.values().filter(new).find(|pod| pod.is_running);
                Ok(ready.and_then(|pod| Some((pod.index?, pod.clone()))))
            },
            |pods| too_late(pods, self.count, &self.kubectl),
        )?;
        self.taken.insert(index);
        let there = Pod {
            context: self.kubectl.context().map(str::to_owned),
            namespace: self.namespace.clone(),
            name: pod.name.clone(),
            container: CONTAINER.to_owned(),
            node: pod.node,
            address: pod.address,
        };
        Ok(ReadyPod {
            index,
            destination: Destination::from_pod(there, FOLDER)?
                .by_program(self.kubectl.program())
                .with_fate(self.pods.fate_of(&pod.name)),
        })
    }

    /// Removes the deadline, because all clients are connected. The pods then live as long as their
    /// clients.
    ///
    /// # Errors
    /// The cluster refuses the change.
    pub fn all_there(&mut self) -> Result<()> {
        drop(self.put_off.take());
        let none = json!({"spec": {"activeDeadlineSeconds": null}});
        let taken_off = self.kubectl.patch("job", &self.name, &none);
        taken_off.context("remove the deadline of the clients' Job")
    }
}

impl Drop for ClientJob {
    fn drop(&mut self) {
        drop(self.put_off.take());
        // If the cluster cannot be reached, the Job expires by itself.
        let _ = self.kubectl.delete("job", &self.name);
    }
}

/// Returns the error for pods that do not run in time, with the reasons.
fn too_late(pods: &PodsSeen, count: usize, kubectl: &Kubectl) -> anyhow::Error {
    let running = pods.values().filter(|pod| pod.is_running).count();
    let waits = pods::waits(pods);
    let why = if waits.is_empty() {
        format!(
            "Kubernetes has sent no reports on the other pods; see `{} get events`",
            kubectl.words()
        )
    } else {
        waits
    };
    anyhow!(
        "after {} s, only {running} of {} pods are running: {why}\nhint: request fewer or smaller \
         pods (`client.kubernetes`), or add Kubernetes nodes",
        READY_LIMIT.as_secs(),
        counted(count, "pod"),
    )
}

pub(crate) fn put_off(kubectl: Kubectl, name: String) -> Result<PutOff> {
    let (stop, stopped) = channel();
    let begin_ns = clock::now_ns();
    let named = std::thread::Builder::new().name("extend the deadline".to_owned());
    let thread = named.spawn(move || {
        while stopped.recv_timeout(PUT_OFF_EVERY) == Err(RecvTimeoutError::Timeout) {
            let gone_s = (clock::now_ns() - begin_ns) / clock::SECOND_NS;
            let later = json!({"spec": {"activeDeadlineSeconds": gone_s + DEADLINE_S}});
            // The next attempt may succeed.
            let _ = kubectl.patch("job", &name, &later);
        }
    })?;
    Ok(PutOff {
        stop: Some(stop),
        thread: Some(thread),
    })
}

/// Formats a number of CPUs as Kubernetes does, such as `2` or `500m`.
pub(crate) fn cpus(milli: u32) -> String {
    if milli.is_multiple_of(1000) {
        (milli / 1000).to_string()
    } else {
        format!("{milli}m")
    }
}

/// Returns a unique name that begins with `cassay-`, `of` and `-`.
pub(crate) fn new_name(of: &str) -> String {
    let number = clock::unix_ns() ^ u64::from(Identity::own().pid).rotate_left(40);
    format!("cassay-{of}-{number:016x}")
}

/// Begins to watch all pods of a set.
pub(crate) fn watch_set(kubectl: &Kubectl, name: &str) -> Result<Pods> {
    Pods::watch(
        kubectl.clone(),
        Selector::Labels(format!("{SET_LABEL}={name}")),
    )
}

pub(crate) fn labels(name: &str, component: &str) -> Value {
    json!({
        NAME_LABEL: "cassay", "app.kubernetes.io/component": component, SET_LABEL: name,
    })
}

pub(crate) fn owned_by(name: &str, owner: &Value) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": name,
        "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": false,
    })
}

/// Returns the affinity that keeps the pods of a set on different Kubernetes nodes.
pub(crate) fn apart(name: &str) -> Value {
    json!({"podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": {SET_LABEL: name}},
        }],
    }})
}

/// Restricts a pod to Kubernetes nodes of a machine type, if given.
pub(crate) fn on_machines(pod: &mut Value, machine_type: Option<&str>) {
    if let Some(machine_type) = machine_type {
        pod["nodeSelector"] = json!({"node.kubernetes.io/instance-type": machine_type});
    }
}

pub(crate) fn security() -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    })
}

/// Returns a Job without pods, which only owns objects. It exists for `deadline_s` seconds after
/// its creation or last extension.
pub(crate) fn owner(name: &str, deadline_s: u64) -> Value {
    let labels = json!({NAME_LABEL: "cassay", "app.kubernetes.io/component": "owner"});
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "parallelism": 0,
            "activeDeadlineSeconds": deadline_s,
            "ttlSecondsAfterFinished": TTL_S,
            "template": {"spec": {
                "restartPolicy": "Never",
                // Kubernetes never pulls this image.
                "containers": [{"name": "none", "image": "none"}],
            }},
        },
    })
}

/// Returns the Job that runs the pods of clients.
pub(crate) fn manifest(name: &str, wanted: &ClientPods) -> Value {
    let labels = labels(name, "client");
    let amounts = json!({
        "cpu": cpus(wanted.millicpus), "memory": wanted.memory_bytes.to_string(),
    });
    let mut pod = json!({
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": GRACE_S,
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "containers": [{
            "name": CONTAINER,
            "image": wanted.image,
            "imagePullPolicy": "IfNotPresent",
            "command": ["sh", "-c", WAIT],
            "env": [
                {"name": "CASSAY_WAITS", "value": format!("{FOLDER}/agent")},
                {"name": "CASSAY_WAIT_S", "value": WAIT_S.to_string()},
            ],
            "resources": {"requests": amounts, "limits": amounts},
            "securityContext": security(),
            "volumeMounts": [{"name": "work", "mountPath": FOLDER}],
        }],
        "volumes": [{"name": "work", "emptyDir": {}}],
    });
    on_machines(&mut pod, wanted.machine_type.as_deref());
    if wanted.one_per_node {
        pod["affinity"] = apart(name);
    }
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "completionMode": "Indexed",
            "completions": wanted.clients,
            "parallelism": wanted.clients,
            "backoffLimit": 0,
            "podReplacementPolicy": "Failed",
            "activeDeadlineSeconds": DEADLINE_S,
            "ttlSecondsAfterFinished": TTL_S,
            "template": {
                "metadata": {
                    "labels": labels,
                    "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
                },
                "spec": pod,
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(clients: usize) -> ClientPods {
        ClientPods {
            clients,
            millicpus: 2000,
            memory_bytes: 1 << 30,
            image: "cassandra:5.0".into(),
            one_per_node: true,
            machine_type: Some("m7i.2xlarge".into()),
        }
    }

    #[test]
    fn the_pods_are_guaranteed_what_they_ask_for_and_apart() {
        let job = manifest("cassay-clients-1", &wanted(8));
        let pod = &job["spec"]["template"]["spec"];
        let resources = &pod["containers"][0]["resources"];
        assert_eq!(resources["requests"], resources["limits"]);
        assert_eq!(resources["limits"]["cpu"], "2");
        assert_eq!(job["spec"]["completions"], 8);
        let rule = &pod["affinity"]["podAntiAffinity"];
        let rule = &rule["requiredDuringSchedulingIgnoredDuringExecution"][0];
        assert_eq!(
            rule["labelSelector"]["matchLabels"][SET_LABEL],
            job["spec"]["template"]["metadata"]["labels"][SET_LABEL]
        );
        assert_eq!(pod["automountServiceAccountToken"], false);
    }

    #[test]
    fn a_job_that_nobody_comes_back_to_is_over_in_time() {
        // The cluster also needs time to detect the deadline, and to end and delete the pods.
        let seconds = DEADLINE_S + GRACE_S + TTL_S;
        assert!(seconds < 70, "{seconds}");
        assert!(PUT_OFF_EVERY.as_secs() * 2 < DEADLINE_S);
        const { assert!(WAIT_S < DEADLINE_S) }
    }

    #[test]
    fn the_script_of_a_container_is_one_that_sh_reads() {
        let mut command = remote::process::command(std::path::Path::new("sh"));
        command.args(["-n", "-c", WAIT]);
        let child = remote::process::spawn(command, remote::process::Life::Ours);
        assert!(child.unwrap().wait().unwrap().success());
    }
}
