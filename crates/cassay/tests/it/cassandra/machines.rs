//! Tests nodes on machines behind real sshds. Unprivileged agents start, load, measure and observe
//! the nodes on these machines. A run must leave only jars behind, however it ends.

use super::{POINT, only_trial};
use crate::program::{ProgramOutput, Started, skip, wait_until};
use crate::ssh::sshd::{Machines, TestMachine, missing};
use serde_json::Value;
use std::fs;

/// Starts emulated machines with separate addresses. All of them share the ports of the machine
/// that runs the test.
fn machines(names: &[&str], block: u8) -> Machines {
    let mut all = Machines::new();
    let mut file = "machines:\n".to_owned();
    for (name, number) in names.iter().zip(1..) {
        all.start(&TestMachine::new(name));
        let folder = all.home(name).join("nodes");
        file += &format!(
            "- {{ssh: {name}, folder: {}, address: 127.66.{block}.{number}}}\n",
            folder.display()
        );
    }
    all.lab.write("lab.yaml", &file);
    all
}

/// Returns the processes on a machine, and the content of cassay's folder on the machine.
fn left(machines: &Machines, name: &str) -> (Vec<u32>, Vec<String>) {
    let entries = fs::read_dir(machines.home(name).join("nodes")).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let folder = machines.home(name).join("nodes");
    let runs_there = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&folder.display().to_string())
    };
    let all = fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let running = pids.filter(runs_there).chain(machines.running(name)).collect();
    (running, names.collect())
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn a_cluster_on_a_machine_is_kept_found_broken_and_removed() {
    if let Some(why) = missing() {
        return skip(&why);
    }
    let machines = machines(&["db1"], 2);
    let cassay = |arguments: &[&str]| {
        ProgramOutput::from_output(machines.command(arguments).output().unwrap())
    };
    cassay(&["target", "up", "--machines", "lab.yaml", "--heap", "512MiB"]).ended_with(0);
    let status = cassay(&["target", "status", "--json"]).ended_with(0).json();
    assert_eq!(status[0]["nodes"][0]["state"], "UN", "{status:#}");
    let found = cassay(&["hosts", "check", "lab.yaml", "--json"]).ended_with(0).json();
    assert_eq!(found[0]["clusters"][0]["running"], true, "{found:#}");
    let broken = cassay(&["fault", "test", "node-kill", "--json"]).ended_with(0);
    assert!(broken.to_string().contains("confirmed"), "{broken}");
    // The command must not affect running nodes.
    cassay(&["hosts", "clean", "lab.yaml"])
        .ended_with(0)
        .says(&["cassay keeps the running cluster"]);
    cassay(&["target", "down"]).ended_with(0);
    assert_eq!(left(&machines, "db1"), (vec![], vec!["supply".to_owned()]));

    machines.lab.write("study.yaml", &POINT.replace("nodes: 1, ", "hosts: 1, "));
    let run = ["run", "study.yaml", "--machines", "lab.yaml"];
    let loads = ["--set", "target.local.class_sharing=false"];
    let mut run = Started::new(machines.command(&[&run[..], &loads].concat()));
    run.wait_for("starts Cassandra");
    run.kill();
    wait_until("nothing is left there", || {
        left(&machines, "db1") == (vec![], vec!["supply".to_owned()])
    });
}

/// Tests that are too long for the gate.
mod long {
    use super::*;

    #[test]
    #[ignore = "starts a real Cassandra: cargo xtask cassandra"]
    fn nodes_on_machines_are_measured_and_leave_only_jars() {
        if let Some(why) = missing() {
            return skip(&why);
        }
        let machines = machines(&["db1", "db2"], 1);
        let study = POINT
            .replace("nodes: 1, ", "hosts: 2, ")
            .replace("class_sharing: true,", "racks: per-host,")
            .replace("settle: none", "settle: none, reset: snapshot");
        machines.lab.write("study.yaml", &study);
        let run = ["run", "study.yaml", "--machines", "lab.yaml", "--json"];
        let said = ProgramOutput::from_output(machines.command(&run).output().unwrap())
            .measured(&machines.lab);
        let trial = only_trial(&said);
        assert_eq!(trial["server"]["writes"], trial["server"]["client_writes"]);
        assert_eq!(trial["server"]["reads"], trial["server"]["client_reads"]);
        assert_eq!(trial["verify"]["missing"], 0, "{trial:#}");

        let run = machines.lab.run();
        let folder = run.trial(0).unwrap().expect("the trial").logs_dir();
        for node in ["node1", "node2"] {
            let log = fs::read_to_string(folder.join(node).join("system.log")).unwrap();
            assert!(log.contains("Starting listening for CQL clients"), "{node}");
        }
        let trial = folder.parent().unwrap();
        let text = fs::read_to_string(trial.join("nodes.json")).unwrap();
        let nodes: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(nodes["isolation"], "machines");
        assert_eq!(nodes["hosts"][1]["address"], "127.66.1.2");
        let proofs = nodes["proofs"].as_array().unwrap().iter();
        let failed: Vec<_> = proofs.filter(|one| one["effect"] == "other").collect();
        assert!(failed.is_empty(), "{failed:#?}");
        let readings = fs::read_to_string(trial.join("probes/hosts.ndjson")).unwrap();
        for host in ["host1", "host2", "machine"] {
            assert!(readings.contains(&format!("\"{host}\"")), "{host}");
        }
        for name in ["db1", "db2"] {
            assert_eq!(left(&machines, name), (vec![], vec!["supply".to_owned()]));
        }
    }

    /// A study has the same plan, steps and findings on remote machines and on emulated hosts. The
    /// test prints the latencies, because they depend on the hosts.
    #[test]
    #[ignore = "starts a real Cassandra, twice: cargo xtask audit"]
    fn audit_a_study_comes_to_the_same_on_machines_as_on_stand_ins() {
        if let Some(why) = missing() {
            return skip(&why);
        }
        let machines = machines(&["db1", "db2", "db3"], 3);
        let study = POINT
            .replace("nodes: 1, ", "hosts: 3, ")
            .replace("class_sharing: true,", "racks: per-host,")
            .replace("LOCAL_ONE", "LOCAL_QUORUM")
            .replace("settle: none", "settle: compactions, reset: snapshot")
            .replace("{fixed: {threads: 16}}", "{fixed: {rate: 150}}")
            + "keyspace: {replication: {dc1: 3}}\nrepeat: {blocks: 2}\n";
        machines.lab.write("study.yaml", &study);
        let measured = |more: &[&str]| {
            let run = [&["run", "study.yaml", "--json"], more].concat();
            let said = ProgramOutput::from_output(machines.command(&run).output().unwrap())
                .measured(&machines.lab);
            let findings = said.json();
            let trials = findings["trials"].as_array().unwrap();
            let told = |trial: &Value| {
                eprintln!("{more:?}: p50 {}", trial["all"]["latency_ms"]["p50"]);
                // cassay cannot judge a read that races with a write. The number of such reads is
                // random, so the test does not compare the number of checked rows.
                let rows = &trial["verify"];
                assert!(rows["checked"].as_u64() > Some(2000), "{rows}");
                let lost = ["missing", "stale", "wrong"].map(|key| rows[key].clone());
                (trial["server"].clone(), lost)
            };
            trials.iter().map(told).collect::<Vec<_>>()
        };
        let there = measured(&["--machines", "lab.yaml"]);
        let here = measured(&[]);
        assert_eq!(there.len(), 2);
        assert_eq!(there, here);
        for (server, lost) in here {
            assert_eq!(server["writes"], server["client_writes"]);
            assert_eq!(lost, [0, 0, 0]);
        }
    }
}
