//! The pods that clients run in: an Indexed Job, which is Kubernetes' own way to spread work.
//!
//! What must hold: whoever is killed, and whenever, the Job goes by itself within 70 s. Until all
//! clients are there it has a deadline that is put off again and again; then each pod ends with its
//! client, which ends when it hears nothing of its controller; and a Job that has ended is deleted
//! by the cluster, with its pods.

use crate::kubectl::{Kubectl, Selector};
use crate::pods::{self, PodSeen, Pods, PodsSeen};
use anyhow::{Context, Result, anyhow, bail};
use measure::clock::{self, Deadline};
use measure::number::counted;
use reach::process::Identity;
use reach::{Destination, Pod};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The container that a client runs in.
pub const CONTAINER: &str = "client";

/// Where the program is put there: memory or disk of the pod's own.
pub const FOLDER: &str = "/cassay";

/// What a pod of ours says of itself.
const NAME_LABEL: &str = "app.kubernetes.io/name";
pub(crate) const SET_LABEL: &str = "cassay/set";

/// What the container of a node does: nothing, until it is told to end.
pub(crate) const STAY: &str = "trap 'exit 0' TERM INT; while :; do sleep 1; done";

/// What the container of a client does.
const WAIT: &str = include_str!("wait.sh");

/// How long a container waits for its agent, in seconds: it is asked for as soon as it runs.
const WAIT_S: u64 = 40;

/// How long a Job lasts that has not all of its clients, from when that was last put off, and how
/// often it is, in seconds.
pub(crate) const DEADLINE_S: u64 = 50;
const PUT_OFF_EVERY: Duration = Duration::from_secs(15);

/// How long a Job that has ended can still be looked at, in seconds.
pub(crate) const TTL_S: u64 = 10;

/// How long all pods may take to run: an image may have to be pulled, a node be added.
const READY_LIMIT: Duration = Duration::from_secs(600);

/// How long a pod has to end when it is told to, in seconds.
pub(crate) const GRACE_S: u64 = 5;

/// Which pods are wanted for clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientPods {
    /// How many, one client in each.
    pub clients: usize,
    /// CPUs of each, requested and not exceeded, in thousandths.
    pub millicpus: u32,
    /// Memory of each, requested and not exceeded, in bytes.
    pub memory_bytes: u64,
    /// What they are made of: it has `sh`, `head` and `chmod`.
    pub image: String,
    /// Whether no two may be on one node.
    pub one_per_node: bool,
    /// The machine type of the nodes that they are put on; none: any.
    pub machine_type: Option<String>,
}

/// A pod that an agent can be started in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyPod {
    /// Its number, from 0.
    pub index: usize,
    /// How one gets there.
    pub destination: Destination,
}

/// The pods of a run's clients, as long as this is held.
#[derive(Debug)]
pub struct ClientJob {
    kubectl: Kubectl,
    name: String,
    namespace: String,
    count: usize,
    pods: Pods,
    deadline: Deadline,
    taken: BTreeSet<usize>,
    /// What was said last of why they do not run yet.
    told: String,
    put_off: Option<PutOff>,
}

/// What puts the deadline of a Job off, as long as it is held.
#[derive(Debug)]
pub(crate) struct PutOff {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for PutOff {
    fn drop(&mut self) {
        drop(self.stop.take());
        // It has nothing to say.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl ClientJob {
    /// Has them made; none of them is waited for.
    ///
    /// # Errors
    /// The cluster is not reached, or refuses them, in its words.
    pub fn begin(kubectl: &Kubectl, wanted: &ClientPods) -> Result<ClientJob> {
        let name = new_name("clients");
        let made = kubectl.create(&manifest(&name, wanted)).context("make a Job for clients")?;
        let namespace = made["metadata"]["namespace"].as_str().unwrap_or("default").to_owned();
        let kubectl = kubectl.within(&namespace)?;
        let begun = watch_set(&kubectl, &name)
            .and_then(|pods| Ok((pods, put_off(kubectl.clone(), name.clone())?)));
        let (pods, put_off) = begun.inspect_err(|_| {
            // It goes by itself as well.
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

    /// Waits for one more of its pods.
    ///
    /// # Errors
    /// One will not run, with why; or they take too long, with what they wait for; Ctrl-C.
    pub fn next_ready(&mut self, say: &mut dyn FnMut(&str)) -> Result<ReadyPod> {
        let taken = &self.taken;
        let (index, pod) = self.pods.until_told(
            self.deadline,
            (&mut self.told, say),
            |pods| {
                let new = |pod: &&PodSeen| pod.index.is_some_and(|index| !taken.contains(&index));
                for pod in pods.values().filter(new) {
                    if let Some(why) = pod.stuck.as_ref().or(pod.fate.as_ref()) {
                        bail!("the pod {} does not run: {why}", pod.name);
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
            destination: Destination::of_pod(there, FOLDER)?
                .by_program(self.kubectl.program())
                .with_fate(self.pods.fate_of(&pod.name)),
        })
    }

    /// Says that a client is in each of them: from now on they are there as long as these.
    ///
    /// # Errors
    /// The cluster refuses it.
    pub fn all_there(&mut self) -> Result<()> {
        drop(self.put_off.take());
        let none = json!({"spec": {"activeDeadlineSeconds": null}});
        let taken_off = self.kubectl.patch("job", &self.name, &none);
        taken_off.context("take the deadline off the Job of the clients")
    }
}

impl Drop for ClientJob {
    fn drop(&mut self) {
        drop(self.put_off.take());
        // If it cannot be asked to, it goes by itself.
        let _ = self.kubectl.delete("job", &self.name);
    }
}

/// What they still wait for.
fn too_late(pods: &PodsSeen, count: usize, kubectl: &Kubectl) -> anyhow::Error {
    let running = pods.values().filter(|pod| pod.is_running).count();
    let waits = pods::waits(pods);
    let why = if waits.is_empty() {
        format!(
            "nothing was told of the others; see `{} get events`",
            kubectl.words()
        )
    } else {
        waits
    };
    anyhow!(
        "after {} s {running} of {} run: {why}\n\
         hint: ask for fewer or smaller ones (`client.kubernetes`), or add nodes",
        READY_LIMIT.as_secs(),
        counted(count, "pod"),
    )
}

/// A thread that puts the deadline of a Job off, until its sender is gone.
pub(crate) fn put_off(kubectl: Kubectl, name: String) -> Result<PutOff> {
    let (stop, stopped) = channel();
    let begin_ns = clock::now_ns();
    let named = std::thread::Builder::new().name("put a deadline off".to_owned());
    let thread = named.spawn(move || {
        while stopped.recv_timeout(PUT_OFF_EVERY) == Err(RecvTimeoutError::Timeout) {
            let gone_s = (clock::now_ns() - begin_ns) / clock::SECOND_NS;
            let later = json!({"spec": {"activeDeadlineSeconds": gone_s + DEADLINE_S}});
            // Where it does not go once it may the next time.
            let _ = kubectl.patch("job", &name, &later);
        }
    })?;
    Ok(PutOff {
        stop: Some(stop),
        thread: Some(thread),
    })
}

/// CPUs as Kubernetes writes them: `2`, `500m`.
pub(crate) fn cpus(milli: u32) -> String {
    if milli.is_multiple_of(1000) {
        (milli / 1000).to_string()
    } else {
        format!("{milli}m")
    }
}

/// A name that nobody else has: `cassay-clients-` and a number.
pub(crate) fn new_name(of: &str) -> String {
    let number = clock::unix_ns() ^ u64::from(Identity::own().pid).rotate_left(40);
    format!("cassay-{of}-{number:016x}")
}

/// Begins to watch the pods of ours of that name.
pub(crate) fn watch_set(kubectl: &Kubectl, name: &str) -> Result<Pods> {
    Pods::watch(
        kubectl.clone(),
        Selector::Labels(format!("{SET_LABEL}={name}")),
    )
}

/// What everything of ours of that name has.
pub(crate) fn labels(name: &str, component: &str) -> Value {
    json!({
        NAME_LABEL: "cassay", "app.kubernetes.io/component": component, SET_LABEL: name,
    })
}

/// That something goes with the Job of that name.
pub(crate) fn owned_by(name: &str, owner: &Value) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": name,
        "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": false,
    })
}

/// That no two pods of that name are on one node.
pub(crate) fn apart(name: &str) -> Value {
    json!({"podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": {SET_LABEL: name}},
        }],
    }})
}

/// Has a pod be put on machines of that type alone, if one is said.
pub(crate) fn on_machines(pod: &mut Value, machine_type: Option<&str>) {
    if let Some(machine_type) = machine_type {
        pod["nodeSelector"] = json!({"node.kubernetes.io/instance-type": machine_type});
    }
}

/// What a container of ours may not do.
pub(crate) fn security() -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    })
}

/// A Job of that name that only owns: it makes no pod, and lasts `deadline_s` from when it was
/// made, or as long as that is put off.
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
                // Nobody asks for it.
                "containers": [{"name": "none", "image": "none"}],
            }},
        },
    })
}

/// The Job of that name.
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
        // What the cluster itself needs to see it, to end its pods and to delete it.
        let seconds = DEADLINE_S + GRACE_S + TTL_S;
        assert!(seconds < 70, "{seconds}");
        assert!(PUT_OFF_EVERY.as_secs() * 2 < DEADLINE_S);
        const { assert!(WAIT_S < DEADLINE_S) }
    }

    #[test]
    fn the_script_of_a_container_is_one_that_sh_reads() {
        let mut command = reach::process::command(std::path::Path::new("sh"));
        command.args(["-n", "-c", WAIT]);
        let child = reach::process::spawn(command, reach::process::Life::Ours);
        assert!(child.unwrap().wait().unwrap().success());
    }
}
