//! Nodes of ours in pods.

use super::{NODES, assert_gone_in_time, java_image, kubectl, left, make, running};
use crate::null_target::fleet::lines;
use crate::null_target::rule;
use crate::program::{Lab, wait_until};
use serde_json::json;

/// A class of volumes with two that can be claimed, and a machine type.
struct Storage<'a>(&'a Lab);

const CLASS: &str = "folders";
const MACHINE: &str = "small";

impl Storage<'_> {
    fn new(lab: &Lab) -> Storage<'_> {
        let class = json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
            "metadata": {"name": CLASS}, "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer",
        });
        make(lab, &class);
        for number in ["1", "2"] {
            let folder = lab.path().join(format!("volume-{number}"));
            std::fs::create_dir_all(&folder).expect("a folder for a volume");
            let volume = json!({
                "apiVersion": "v1", "kind": "PersistentVolume",
                "metadata": {"name": format!("folder-{number}")},
                "spec": {
                    "capacity": {"storage": "3Gi"}, "accessModes": ["ReadWriteOnce"],
                    "storageClassName": CLASS, "hostPath": {"path": folder},
                },
            });
            make(lab, &volume);
        }
        let label = format!("node.kubernetes.io/instance-type={MACHINE}");
        kubectl(&["label", "node", "--all", "--overwrite", &label]);
        Storage(lab)
    }

    /// Whether a folder of a volume has something in it.
    fn is_used(&self, number: usize) -> bool {
        let folder = self.0.path().join(format!("volume-{number}"));
        std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
    }
}

impl Drop for Storage<'_> {
    fn drop(&mut self) {
        kubectl(&[
            "delete",
            "persistentvolume/folder-1",
            "persistentvolume/folder-2",
        ]);
        kubectl(&["delete", "storageclass", CLASS]);
    }
}

/// Two nodes of ours in pods, with claimed volumes and on machines of a type: started, loaded,
/// snapshotted and restored, paused and cut off, and gone with their claims.
#[test]
#[ignore = "needs a Kubernetes: cargo xtask kubernetes"]
fn nodes_of_ours_run_in_pods_and_are_restored() {
    let lab = Lab::new();
    let image = java_image();
    let study = NODES.replace("IMAGE", &image);
    lab.write("study.yaml", &study);
    let storage = Storage::new(&lab);
    let said = lab.cassay(&[
        "run",
        "study.yaml",
        "--json",
        "--trust",
        "--set=target.local.pods.volume=2GiB",
        &format!("--set=target.local.pods.storage_class={CLASS}"),
        &format!("--set=target.local.pods.machine_type={MACHINE}"),
        "--set=window.measure=11s",
        "--set=faults=[{at: 1s, kind: node-pause, where: {node: 2}, for: 2s}, \
         {at: 5s, kind: net-policy, where: {node: 1}, for: 3s}]",
    ]);
    let said = said.measured(&lab);
    assert!(
        storage.is_used(1) && storage.is_used(2),
        "the volumes are claimed"
    );
    let findings = said.json();
    let trials = findings["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 2, "{findings:#}");
    let faults = findings["faults"].as_array().expect("faults");
    let confirmed = faults.iter().filter(|fault| fault["verdict"] == "confirmed").count();
    assert_eq!((faults.len(), confirmed), (4, 4), "{findings:#}");
    for trial in trials {
        for id in ["V2", "V6", "V13", "V14"] {
            assert_ne!(rule(trial, id)["result"], "fail", "{trial:#}");
        }
    }
    wait_until("nothing of ours is left there", || {
        left().is_empty() && kubectl(&["get", "persistentvolumeclaims", "-o", "name"]).is_empty()
    });
}

/// Nodes go like clients, however far they have come.
#[test]
#[ignore = "needs a Kubernetes: cargo xtask kubernetes"]
fn nothing_stays_of_nodes_whose_command_was_killed() {
    let image = java_image();
    for when in ["made", "running", "measuring"] {
        let lab = Lab::with(&NODES.replace("IMAGE", &image));
        let sets = [
            "--set=target.local.hosts=1",
            "--set=keyspace.replication={dc1: 1}",
            "--set=window.measure=60s",
        ];
        let arguments = [&["run", "study.yaml", "--json", "--trust"], &sets[..]].concat();
        let mut started = lab.start(&arguments);
        let is_on = || match when {
            "made" => !left().is_empty(),
            "running" => running().len() == 1,
            _ => !lines(&lab, "intervals.ndjson").is_empty(),
        };
        started.wait_until(when, is_on);
        started.kill();
        assert_gone_in_time(when);
        // The next command finds nothing that it would have to clear, and says nothing of it.
        let said = lab.cassay(&["target", "status"]).ended_with(0);
        assert!(!said.stderr.contains("error"), "{}", said.stderr);
    }
}
