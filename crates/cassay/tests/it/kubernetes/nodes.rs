//! Tests local nodes in pods.

use super::{NODES, assert_gone_of_each, java_image, kubectl, left, make};
use crate::null_target::fleet::lines;
use crate::null_target::rule;
use crate::program::{Lab, command, wait_until};
use serde_json::json;

/// A storage class with two volumes, and a label for a type of machine.
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
            let (image, folder_text) = (lab.path().join(number), folder.to_string_lossy());
            let image = image.to_string_lossy();
            // The volume has a separate disk, so that a test can fill the disk.
            for words in [
                &["truncate", "-s", "3G", &image][..],
                &["mkfs.ext4", "-q", &image],
                &["mount", "-o", "loop", &image, &folder_text],
            ] {
                let made = command(words[0]).args(&words[1..]).status().expect(words[0]);
                assert!(made.success(), "{words:?}");
            }
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

    /// Returns true if the folder of the volume `number` is not empty.
    fn is_used(&self, number: usize) -> bool {
        let folder = self.0.path().join(format!("volume-{number}"));
        let entries = std::fs::read_dir(folder).expect("a volume").flatten();
        entries.filter(|entry| entry.file_name() != "lost+found").count() > 0
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
        for number in [1, 2] {
            let folder = self.0.path().join(format!("volume-{number}"));
            // The unmount is lazy, because processes may use the folder until their pod ends.
            let _ = command("umount").arg("-l").arg(folder).status();
        }
    }
}

/// Two local nodes run in pods, with claimed volumes and on machines of a certain type. cassay
/// starts, loads, snapshots, restores, pauses and isolates these nodes, and fills up their disks.
/// At the end, it removes the nodes with their claims.
#[test]
#[ignore = "needs a Kubernetes: cargo xtask kubernetes"]
fn nodes_of_ours_run_in_pods_and_are_restored() {
    let lab = Lab::new();
    let image = java_image();
    let study = NODES.replace("IMAGE", &image);
    lab.write("study.yaml", &study);
    let storage = Storage::new(&lab);
    let ended = lab.cassay(&[
        "run",
        "study.yaml",
        "--json",
        "--trust",
        "--set=target.local.pods.volume=2GiB",
        &format!("--set=target.local.pods.storage_class={CLASS}"),
        &format!("--set=target.local.pods.machine_type={MACHINE}"),
        "--set=window.measure=15s",
        "--set=faults=[{at: 1s, kind: node-pause, where: {node: 2}, for: 2s}, \
         {at: 5s, kind: net-policy, where: {node: 1}, for: 3s}, \
         {at: 10s, kind: disk-full, where: {node: 2}, leave: 256MiB, for: 3s}]",
    ]);
    let said = ended.measured(&lab);
    assert!(
        storage.is_used(1) && storage.is_used(2),
        "the volumes are claimed"
    );
    let findings = said.json();
    let trials = findings["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 2, "{findings:#}");
    let faults = findings["faults"].as_array().expect("faults");
    let confirmed = faults.iter().filter(|fault| fault["verdict"] == "confirmed").count();
    assert_eq!((faults.len(), confirmed), (6, 6), "{findings:#}");
    for trial in trials {
        for id in ["V2", "V6", "V13", "V14"] {
            assert_ne!(rule(trial, id)["result"], "fail", "{trial:#}");
        }
    }
    wait_until("nothing of ours is left there", || {
        left().is_empty() && kubectl(&["get", "persistentvolumeclaims", "-o", "name"]).is_empty()
    });
}

/// If a command is killed in any phase, the nodes of the command disappear in the same way as
/// clients.
#[test]
#[ignore = "needs a Kubernetes: cargo xtask kubernetes"]
fn nothing_stays_of_nodes_whose_command_was_killed() {
    let image = java_image();
    let start = || {
        let lab = Lab::with(&NODES.replace("IMAGE", &image));
        let sets = [
            "--set=target.local.hosts=1",
            "--set=keyspace.replication={dc1: 1}",
            "--set=window.measure=60s",
        ];
        let arguments = [&["run", "study.yaml", "--json", "--trust"], &sets[..]].concat();
        let started = lab.start(&arguments);
        (lab, started)
    };
    for lab in assert_gone_of_each(start, |lab| !lines(lab, "intervals.ndjson").is_empty()) {
        // The next command has nothing to clean up, and prints no error.
        let said = lab.cassay(&["target", "status"]).ended_with(0);
        assert!(!said.stderr.contains("error"), "{}", said.stderr);
    }
}
