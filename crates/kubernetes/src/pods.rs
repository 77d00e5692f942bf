//! Pods, as a watch reports them: Kubernetes node, state, and reason of the end of each pod.
//!
//! One `kubectl` process reports all pods. Invariant: the module keeps the state of a pod that no
//! longer exists, so that callers can explain its end.

use crate::kubectl::{self, Kubectl, Selector};
use anyhow::{Result, anyhow, bail};
use measure::clock::{self, Deadline};
use remote::{Fate, process};
use serde_json::{Deserializer, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::BufReader;
use std::net::IpAddr;
use std::process::Child;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Pause before a watch is restarted. API servers end each watch after some minutes.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Duration of one wait, after which the module checks for an interrupt by the user.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Minimum interval between two reports of the reason why pods do not run yet. An unchanged reason
/// is not reported again.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// Time limit for the report of a pod's end after contact with the pod was lost.
const FATE_LIMIT: Duration = Duration::from_secs(3);

/// Label with the number of a pod of an Indexed Job.
const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// Last known state of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodSeen {
    pub name: String,
    /// Distinguishes the pod from earlier and later pods with the same name.
    pub uid: String,
    /// Kubernetes node of the pod. Empty until the pod is scheduled.
    pub node: String,
    /// Address in the pod network, if known.
    pub address: Option<IpAddr>,
    /// Number of the pod in an Indexed Job. `None` for other pods.
    pub index: Option<usize>,
    /// True if the pod's first container runs.
    pub is_running: bool,
    /// True if the pod is ready according to its probes.
    pub is_ready: bool,
    /// Reason why the pod will never run, for example because its image cannot be pulled or it has
    /// ended.
    pub stuck: Option<String>,
    /// Reason why the pod does not run yet, such as a lack of resources on the Kubernetes nodes.
    pub waits_for: Option<String>,
    /// Reason of the pod's end, if it has ended or is ending.
    pub fate: Option<String>,
}

pub type PodsSeen = BTreeMap<String, PodSeen>;

/// Reasons in a waiting container's status that mean that the container will never run.
const STUCK: [&str; 8] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "ErrImageNeverPull",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
    "CrashLoopBackOff",
];

impl PodSeen {
    /// Parses a pod in the form of the API.
    pub(crate) fn parse(pod: &Value) -> PodSeen {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (meta, status) = (&pod["metadata"], &pod["status"]);
        let state = &status["containerStatuses"][0]["state"];
        let phase = status["phase"].as_str().unwrap_or_default();
        let waiting = &state["waiting"];
        let is_stuck = waiting["reason"].as_str().is_some_and(|why| STUCK.contains(&why));
        let stuck = if is_stuck {
            Some(describe(waiting))
        } else if ["Failed", "Succeeded"].contains(&phase) {
            Some(format!("it ended{}", because(&ended(status))))
        } else {
            None
        };
        let conditions = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let unmet = conditions
            .iter()
            .find(|one| one["type"] == "PodScheduled" && one["status"] == "False");
        let waits_for = match unmet {
            Some(unmet) => Some(describe(unmet)),
            None => (!waiting.is_null()).then(|| describe(waiting)),
        };
        let disrupted = conditions
            .iter()
            .find(|one| one["type"] == "DisruptionTarget" && one["status"] == "True");
        let node = text(&pod["spec"]["nodeName"]);
        let fate = if let Some(disrupted) = disrupted {
            Some(format!(
                "Kubernetes removed the pod from the node {node}: {}",
                describe(disrupted)
            ))
        } else if !meta["deletionTimestamp"].is_null() {
            Some(format!("Kubernetes deletes the pod on the node {node}"))
        } else {
            stuck.is_some().then(|| {
                format!(
                    "the pod ended on the node {node}{}",
                    because(&ended(status))
                )
            })
        };
        let is_ready =
            conditions.iter().any(|one| one["type"] == "Ready" && one["status"] == "True");
        PodSeen {
            name: text(&meta["name"]),
            uid: text(&meta["uid"]),
            is_ready: is_ready && fate.is_none(),
            address: status["podIP"].as_str().and_then(|ip| ip.parse().ok()),
            index: meta["labels"][INDEX].as_str().and_then(|index| index.parse().ok()),
            is_running: phase == "Running" && !state["running"].is_null() && fate.is_none(),
            node,
            stuck,
            waits_for,
            fate,
        }
    }
}

/// Returns the reason and the message of a status or condition.
fn describe(of: &Value) -> String {
    let texts = [&of["reason"], &of["message"]].into_iter().filter_map(Value::as_str);
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(": ")
}

/// Returns the reason of a pod's end: that of the pod, or else that of its container.
fn ended(status: &Value) -> String {
    let own = describe(status);
    if !own.is_empty() {
        return own;
    }
    let terminated = &status["containerStatuses"][0]["state"]["terminated"];
    match (
        terminated["reason"].as_str(),
        terminated["exitCode"].as_i64(),
    ) {
        (Some(reason), Some(code)) => format!("{reason}, status {code}"),
        (Some(reason), None) => reason.to_owned(),
        _ => String::new(),
    }
}

fn because(why: &str) -> String {
    if why.is_empty() {
        String::new()
    } else {
        format!(" ({why})")
    }
}

#[derive(Debug, Default)]
struct KnownPods {
    pods: PodsSeen,
    watch: Option<Child>,
    is_over: bool,
}

#[derive(Debug, Default)]
struct Shared {
    known: Mutex<KnownPods>,
    news: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, KnownPods> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `found` returns a result for the states of all pods, or an error.
    ///
    /// # Errors
    /// `found` returns an error, the user pressed Ctrl-C, or `deadline` passes. In the last case,
    /// the error is that of `late` for the last state.
    fn until<T>(
        &self,
        deadline: Deadline,
        mut found: impl FnMut(&PodsSeen) -> Result<Option<T>>,
        late: impl Fn(&PodsSeen) -> anyhow::Error,
    ) -> Result<T> {
        let mut known = self.lock();
        loop {
            if let Some(found) = found(&known.pods)? {
                return Ok(found);
            }
            if deadline.passed() {
                return Err(late(&known.pods));
            }
            if process::is_interrupted() {
                bail!("interrupted");
            }
            let wait = deadline.left().min(LOOK_EVERY);
            let waited = self.news.wait_timeout(known, wait);
            (known, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Error that ends one period of a longer wait, with the reasons why pods do not run yet.
#[derive(Debug)]
struct Waiting(String);

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Waiting {}

/// Returns the distinct reasons why pods do not run yet.
pub(crate) fn waits(pods: &PodsSeen) -> String {
    let reasons: BTreeSet<&str> =
        pods.values().filter_map(|pod| pod.waits_for.as_deref()).collect();
    reasons.into_iter().collect::<Vec<_>>().join("; ")
}

/// Selected pods. The watch runs as long as this value exists.
#[derive(Debug)]
pub struct Pods {
    shared: Arc<Shared>,
}

impl Pods {
    /// Begins to watch the selected pods.
    ///
    /// # Errors
    /// `kubectl` cannot be started.
    pub fn watch(kubectl: Kubectl, selector: Selector) -> Result<Pods> {
        let shared = Arc::new(Shared::default());
        let first = kubectl.watch("pods", &selector)?;
        let told = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("watch pods".to_owned());
        thread.spawn(move || follow(first, &kubectl, &selector, &told))?;
        Ok(Pods { shared })
    }

    /// Returns the last known state of each pod, sorted by name.
    pub fn all(&self) -> Vec<PodSeen> {
        self.shared.lock().pods.values().cloned().collect()
    }

    /// # Errors
    /// The errors of [`Shared::until`].
    pub fn until<T>(
        &self,
        deadline: Deadline,
        found: impl FnMut(&PodsSeen) -> Result<Option<T>>,
        late: impl Fn(&PodsSeen) -> anyhow::Error,
    ) -> Result<T> {
        self.shared.until(deadline, found, late)
    }

    /// Waits like [`Pods::until`]. Reports the reason for the wait when it differs from `told`, the
    /// last reported reason.
    ///
    /// # Errors
    /// The errors of [`Pods::until`].
    pub fn until_told<T>(
        &self,
        deadline: Deadline,
        (told, say): (&mut String, &mut dyn FnMut(&str)),
        mut found: impl FnMut(&PodsSeen) -> Result<Option<T>>,
        late: impl Fn(&PodsSeen) -> anyhow::Error,
    ) -> Result<T> {
        loop {
            let slice = Deadline::after(deadline.left().min(TELL_EVERY));
            let waited = self.shared.until(slice, &mut found, |pods| anyhow!(Waiting(waits(pods))));
            let waiting = match waited {
                Ok(found) => return Ok(found),
                Err(error) => error.downcast::<Waiting>()?,
            };
            if deadline.passed() {
                return Err(late(&self.shared.lock().pods));
            }
            if !waiting.0.is_empty() && waiting.0 != *told {
                say(&format!("these pods are not running yet: {waiting}"));
                *told = waiting.0;
            }
        }
    }

    /// Returns a function that determines the reason of a pod's end, for a caller that has lost
    /// contact with the pod.
    pub fn fate_of(&self, name: &str) -> Fate {
        let (shared, name) = (Arc::downgrade(&self.shared), name.to_owned());
        Fate::new(move || {
            let fate = shared.upgrade()?.until(
                Deadline::after(FATE_LIMIT),
                |pods| Ok(pods.get(&name).and_then(|pod| pod.fate.clone())),
                |_| anyhow!("no message"),
            );
            fate.ok()
        })
    }
}

impl Drop for Pods {
    fn drop(&mut self) {
        let mut known = self.shared.lock();
        known.is_over = true;
        known.watch.iter_mut().for_each(kubectl::end);
        self.shared.news.notify_all();
    }
}

/// Records the reports of a watch, and restarts the watch when it ends.
fn follow(mut watch: Child, kubectl: &Kubectl, selector: &Selector, shared: &Shared) {
    loop {
        let told = watch.stdout.take();
        let mut known = shared.lock();
        if known.is_over {
            return kubectl::end(&mut watch);
        }
        known.watch = Some(watch);
        drop(known);
        let told = told.map(|told| Deserializer::from_reader(BufReader::new(told)));
        for event in told.into_iter().flat_map(|told| told.into_iter::<Value>()) {
            // A line that is not an event means that the watch was interrupted.
            let Ok(event) = event else { break };
            take(&event, shared);
        }
        watch = loop {
            let mut known = shared.lock();
            known.watch.take().iter_mut().for_each(kubectl::end);
            if known.is_over {
                return;
            }
            drop(known);
            clock::sleep(AGAIN_AFTER);
            if let Ok(watch) = kubectl.watch("pods", selector) {
                break watch;
            }
        };
    }
}

fn take(event: &Value, shared: &Shared) {
    let mut pod = PodSeen::parse(&event["object"]);
    if pod.name.is_empty() {
        return;
    }
    if event["type"] == "DELETED" {
        (pod.is_running, pod.is_ready) = (false, false);
        pod.fate
            .get_or_insert_with(|| format!("the pod no longer exists on the node {}", pod.node));
    }
    shared.lock().pods.insert(pod.name.clone(), pod);
    shared.news.notify_all();
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(status: Value) -> Value {
        json!({
            "metadata": {"name": "load-0-x", "labels": {INDEX: "0"}},
            "spec": {"nodeName": "n1"},
            "status": status,
        })
    }

    #[test]
    fn a_pod_runs_when_its_container_does() {
        let seen = PodSeen::parse(&pod(json!({
            "phase": "Running", "podIP": "10.88.0.7",
            "containerStatuses": [{"state": {"running": {"startedAt": "x"}}}],
        })));
        assert!(seen.is_running);
        assert_eq!((seen.index, seen.node.as_str()), (Some(0), "n1"));
        assert_eq!(seen.address, Some("10.88.0.7".parse().unwrap()));
        assert_eq!((seen.stuck, seen.fate), (None, None));
    }

    #[test]
    fn the_reason_for_which_a_pod_waits_is_reported() {
        let seen = PodSeen::parse(&pod(json!({
            "phase": "Pending",
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                            "message": "0/1 nodes are available: 1 Insufficient cpu."}],
        })));
        assert!(!seen.is_running && seen.stuck.is_none());
        let waits_for = seen.waits_for.unwrap();
        assert_eq!(
            waits_for,
            "Unschedulable: 0/1 nodes are available: 1 Insufficient cpu."
        );
        let seen = PodSeen::parse(&pod(json!({
            "phase": "Pending",
            "containerStatuses": [{"state": {"waiting": {"reason": "ErrImageNeverPull",
                "message": "Container image \"x\" is not present"}}}],
        })));
        assert!(seen.stuck.unwrap().starts_with("ErrImageNeverPull: Container image"));
    }

    #[test]
    fn the_fate_of_a_pod_is_told() {
        let fate = |status| PodSeen::parse(&pod(status)).fate.unwrap();
        let evicted = fate(json!({
            "phase": "Failed", "reason": "Evicted", "message": "The node was low on memory.",
        }));
        assert_eq!(
            evicted,
            "the pod ended on the node n1 (Evicted: The node was low on memory.)"
        );
        let killed = fate(json!({
            "phase": "Failed",
            "containerStatuses": [{"state": {
                "terminated": {"reason": "OOMKilled", "exitCode": 137},
            }}],
        }));
        assert_eq!(
            killed,
            "the pod ended on the node n1 (OOMKilled, status 137)"
        );
        let drained = fate(json!({
            "phase": "Running",
            "conditions": [{"type": "DisruptionTarget", "status": "True",
                "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting"}],
        }));
        assert!(
            drained
                .starts_with("Kubernetes removed the pod from the node n1: EvictionByEvictionAPI")
        );
    }
}
