//! A run within the cluster: a Job whose pod gets the study from a ConfigMap. The Job continues if
//! the command that began it ends. After the run, the command fetches the results and deletes the
//! Job.

use crate::job;
use crate::kubectl::{self, Kubectl};
use anyhow::{Context, Result, anyhow, bail, ensure};
use measure::clock::{self, Deadline};
use remote::{Destination, Pod, process};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

/// Script of the pod's container.
const SCRIPT: &str = include_str!("inside.sh");

const CONTAINER: &str = "run";

/// Folder of the program in the container.
const FOLDER: &str = "/cassay";

/// Prefix of the output line with the exit status of the run.
const ENDED: &str = "cassay-inside: ";

/// Time limit for the pod to begin to run.
const READY_LIMIT: Duration = Duration::from_secs(600);

/// Pause before the output is requested again after an interruption.
const AGAIN_AFTER: Duration = Duration::from_secs(2);

/// Maximum size of a ConfigMap's content, in bytes.
const FILES_BYTES_MAX: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsideRun {
    /// Files of the study, by name. The study itself is `study.yaml`.
    pub files: BTreeMap<String, String>,
    /// Additional arguments of `cassay run`.
    pub arguments: Vec<String>,
    /// Image of the container, which must contain `sh`, `head`, `chmod` and `tar`.
    pub image: String,
    /// CPUs of the pod in thousandths, as request and limit.
    pub millicpus: u32,
    /// Memory of the pod in bytes, as request and limit.
    pub memory_bytes: u64,
    /// Service account of the pod. `None` if the run does not access the API server.
    pub account: Option<String>,
    /// Volume claim for the results. With `None`, only the pod contains the results until they are
    /// fetched.
    pub claim: Option<String>,
}

#[derive(Debug)]
pub struct BegunRun {
    kubectl: Kubectl,
    name: String,
    pod: String,
    destination: Destination,
}

#[derive(Clone, Copy)]
struct JobPlace<'a> {
    name: &'a str,
    namespace: &'a str,
}

impl InsideRun {
    /// Creates the objects, and waits until the pod runs. The pod then waits for the program.
    ///
    /// # Errors
    /// The cluster cannot be reached or refuses an object, the pod does not run, or the user
    /// pressed Ctrl-C. The error contains the reason.
    pub fn begin(&self, kubectl: &Kubectl, say: &mut dyn FnMut(&str)) -> Result<BegunRun> {
        let bytes: usize = self.files.values().map(String::len).sum();
        ensure!(
            bytes < FILES_BYTES_MAX,
            "the study's files have {bytes} bytes, but a ConfigMap contains at most \
             {FILES_BYTES_MAX} bytes: use fewer or smaller files"
        );
        let name = job::new_name("run");
        let made = kubectl.create(&self.job(&name)).context("create a Job for the run")?;
        let namespace = made["metadata"]["namespace"].as_str().unwrap_or("default").to_owned();
        let kubectl = kubectl.within(&namespace)?;
        let begun = self.begun(
            &kubectl,
            JobPlace {
                name: &name,
                namespace: &namespace,
            },
            &made,
            say,
        );
        begun.inspect_err(|_| {
            let _ = kubectl.delete("job", &name);
        })
    }

    fn begun(
        &self,
        kubectl: &Kubectl,
        JobPlace { name, namespace }: JobPlace<'_>,
        owner: &Value,
        say: &mut dyn FnMut(&str),
    ) -> Result<BegunRun> {
        kubectl
            .create(&self.config_map(name, owner))
            .context("create a ConfigMap of the study")?;
        say(&format!("cassay waits for the pod of {name}"));
        let pods = job::watch_set(kubectl, name)?;
        let mut told = String::new();
        let pod = pods.until_told(
            Deadline::after(READY_LIMIT),
            (&mut told, say),
            |pods| {
                let Some(pod) = pods.values().next() else {
                    return Ok(None);
                };
                if let Some(why) = pod.stuck.as_ref().or(pod.fate.as_ref()) {
                    bail!("the pod {} is not running: {why}", pod.name);
                }
                Ok(pod.is_running.then(|| pod.clone()))
            },
            |_| {
                anyhow!(
                    "the pod of the run was not running after {} s",
                    READY_LIMIT.as_secs()
                )
            },
        )?;
        let there = Pod {
            context: kubectl.context().map(str::to_owned),
            namespace: namespace.to_owned(),
            name: pod.name.clone(),
            container: CONTAINER.to_owned(),
            node: pod.node,
            address: pod.address,
        };
        Ok(BegunRun {
            destination: Destination::from_pod(there, FOLDER)?.by_program(kubectl.program()),
            kubectl: kubectl.clone(),
            name: name.to_owned(),
            pod: pod.name,
        })
    }

    fn config_map(&self, name: &str, owner: &Value) -> Value {
        let numbered = self.files.values().enumerate();
        let data: BTreeMap<String, &String> =
            numbered.map(|(number, text)| (format!("file-{number}"), text)).collect();
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name,
                "labels": job::labels(name, "run"),
                "ownerReferences": [job::owned_by(name, owner)],
            },
            "data": data,
        })
    }

    fn job(&self, name: &str) -> Value {
        let labels = job::labels(name, "run");
        let amounts = json!({
            "cpu": job::cpus(self.millicpus), "memory": self.memory_bytes.to_string(),
        });
        let command = ["sh", "-c", SCRIPT, "cassay"].map(str::to_owned);
        let command: Vec<&String> = command.iter().chain(&self.arguments).collect();
        let numbered = self.files.keys().enumerate();
        let items =
            numbered.map(|(number, path)| json!({"key": format!("file-{number}"), "path": path}));
        let results = match &self.claim {
            Some(claim) => {
                json!({"name": "results", "persistentVolumeClaim": {"claimName": claim}})
            }
            None => json!({"name": "results", "emptyDir": {}}),
        };
        let mut pod = json!({
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 60,
            "automountServiceAccountToken": self.account.is_some(),
            "enableServiceLinks": false,
            "containers": [{
                "name": CONTAINER,
                "image": self.image,
                "imagePullPolicy": "IfNotPresent",
                "command": command,
                "resources": {"requests": amounts, "limits": amounts},
                "securityContext": job::security(),
                "volumeMounts": [
                    {"name": "work", "mountPath": FOLDER},
                    {"name": "study", "mountPath": "/cassay/study"},
                    {"name": "results", "mountPath": "/results"},
                ],
            }],
            "volumes": [
                {"name": "work", "emptyDir": {}},
                {"name": "study", "configMap": {"name": name, "items": items.collect::<Vec<_>>()}},
                results,
            ],
        });
        if let Some(account) = &self.account {
            pod["serviceAccountName"] = account.as_str().into();
        }
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "labels": labels},
            "spec": {
                "backoffLimit": 0,
                "ttlSecondsAfterFinished": job::TTL_S,
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        })
    }
}

impl BegunRun {
    /// Returns the name of the run's objects in the cluster.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the destination to which the caller must send the program. The pod waits for it.
    pub fn destination(&self) -> &Destination {
        &self.destination
    }

    /// Makes the pod continue after the program has arrived.
    ///
    /// # Errors
    /// The pod no longer exists.
    pub fn go(&self) -> Result<()> {
        self.exec(&["touch", "/cassay/go"]).map(drop)
    }

    /// Passes the output lines of the run to `line` until the run has ended. Returns its exit
    /// status.
    ///
    /// # Errors
    /// The pod no longer exists, or the user pressed Ctrl-C. The run continues after Ctrl-C.
    pub fn follow(&self, mut line: impl FnMut(&str)) -> Result<i32> {
        let mut seen = 0;
        loop {
            let mut logs = self.kubectl.follow_logs(&self.pod)?;
            let stdout = logs.stdout.take().context("kubectl has no pipes")?;
            let mut unread = NewLines::after(seen, BufReader::new(stdout));
            while let Some(text) = unread.next_line() {
                if let Some(code) = text.strip_prefix(ENDED) {
                    kubectl::end(&mut logs);
                    return code.parse().context("read the exit status of the run");
                }
                line(&text);
            }
            seen = seen.max(unread.number);
            kubectl::end(&mut logs);
            ensure!(
                !process::is_interrupted(),
                "interrupted: {} continues",
                self.name
            );
            // Fails if the pod no longer exists. After a mere interruption of the connection, the
            // output continues at the same line.
            self.exec(&["true"])?;
            clock::sleep(AGAIN_AFTER);
        }
    }

    /// Passes the results of the run to `take` as a tar archive.
    ///
    /// # Errors
    /// The image has no tar, the pod no longer exists, or `take` fails.
    pub fn take_results(&self, take: impl FnOnce(&mut dyn Read) -> Result<()>) -> Result<()> {
        let words = [
            "exec", &self.pod, "-c", CONTAINER, "--", "tar", "-C", "/results", "-cf", "-", ".",
        ];
        let mut child = self.kubectl.read_from(&words)?;
        let mut stdout = child.stdout.take().context("kubectl has no pipes")?;
        if let Err(error) = take(&mut stdout) {
            kubectl::end(&mut child);
            return Err(error);
        }
        // `kubectl` fails unless the bytes after the end of the archive are also read.
        let rest = std::io::copy(&mut stdout, &mut std::io::sink());
        let status = child.wait().context("wait for kubectl")?;
        rest.context("read the output of kubectl")?;
        ensure!(
            status.success(),
            "cassay could not copy all results of the run ({status}): the image of the pod needs \
             `tar`"
        );
        Ok(())
    }

    /// Deletes the Job, with all objects that cassay created for the run.
    ///
    /// # Errors
    /// The cluster cannot be reached.
    pub fn end(&self) -> Result<()> {
        self.kubectl.delete("job", &self.name)
    }

    fn exec(&self, words: &[&str]) -> Result<String> {
        let exec = ["exec", &self.pod, "-c", CONTAINER, "--"];
        self.kubectl.ask(&[&exec[..], words].concat(), None)
    }
}

/// Reader of the output lines that earlier connections have not read.
struct NewLines<R> {
    output: R,
    seen: usize,
    /// Number of complete lines that this connection has read.
    number: usize,
}

impl<R: BufRead> NewLines<R> {
    fn after(seen: usize, output: R) -> NewLines<R> {
        NewLines {
            output,
            seen,
            number: 0,
        }
    }

    /// Returns the next new line. Returns `None` at the end of the output, or at an incomplete
    /// line, which the next connection reads again.
    fn next_line(&mut self) -> Option<String> {
        loop {
            let mut bytes = Vec::new();
            let read = self.output.read_until(b'\n', &mut bytes);
            if read.is_err() || bytes.pop() != Some(b'\n') {
                return None;
            }
            self.number += 1;
            if self.number > self.seen {
                return Some(String::from_utf8_lossy(&bytes).into_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> InsideRun {
        InsideRun {
            files: [("study.yaml", "study: s"), ("data/keys.csv", "k")]
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
                .into(),
            arguments: vec!["--allow".into(), "create=ks".into()],
            image: "cassandra:5.0".into(),
            millicpus: 2000,
            memory_bytes: 1 << 30,
            account: None,
            claim: Some("results".into()),
        }
    }

    #[test]
    fn files_keep_their_names_and_arguments_are_no_words_of_a_shell() {
        let job = run().job("cassay-run-1");
        let pod = &job["spec"]["template"]["spec"];
        let items = &pod["volumes"][1]["configMap"]["items"];
        assert_eq!(items[0], json!({"key": "file-0", "path": "data/keys.csv"}));
        assert_eq!(items[1], json!({"key": "file-1", "path": "study.yaml"}));
        let command = pod["containers"][0]["command"].as_array().unwrap();
        assert_eq!(command[4..], ["--allow", "create=ks"]);
        assert_eq!(
            pod["volumes"][2]["persistentVolumeClaim"]["claimName"],
            "results"
        );
        assert_eq!(pod["automountServiceAccountToken"], false);
        let map = run().config_map("cassay-run-1", &json!({"metadata": {"uid": "u"}}));
        assert_eq!(map["data"]["file-1"], "study: s");
        assert_eq!(map["metadata"]["ownerReferences"][0]["uid"], "u");
    }

    #[test]
    fn a_line_that_a_connection_cut_off_is_read_from_the_next() {
        let mut cut = NewLines::after(0, &b"one\ntwo\nthr"[..]);
        assert_eq!(cut.next_line().as_deref(), Some("one"));
        assert_eq!(cut.next_line().as_deref(), Some("two"));
        assert_eq!(cut.next_line(), None);
        let mut next = NewLines::after(cut.number, &b"one\ntwo\nthree\n"[..]);
        assert_eq!(next.next_line().as_deref(), Some("three"));
        assert_eq!(next.next_line(), None);
    }

    #[test]
    fn the_script_is_one_that_sh_reads() {
        let mut command = process::command(std::path::Path::new("sh"));
        command.args(["-n", "-c", SCRIPT]);
        let child = process::spawn(command, process::Life::Ours);
        assert!(child.unwrap().wait().unwrap().success());
    }
}
