//! Tests a real node that cassay did not start, on a machine behind sshd. cassay probes the node,
//! keeps its logs, and restarts it under load. If the command that stopped the node is killed, the
//! node still starts again.
//!
//! `target up` creates the node in another folder. Afterwards, a script stops and starts the node,
//! as a systemd unit of its owner would, with the command line that the kernel reports.

use super::{KeptClusterGuard, jvms, up};
use crate::program::{Lab, ProgramOutput, Started, skip, wait_until};
use crate::ssh::sshd::{Machines, TestMachine, missing, script};
use host::process::Identity;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

const STUDY: &str = "\
study: theirs
question: Is a node that is not ours restarted, and seen?
target:
  attach:
    contact_points: ['ADDRESS']
    jolokia: {port: JOLOKIA, user: USER, password: {file: jolokia}}
    hosts:
      ssh: db1
      logs: FOLDER/logs
      data: FOLDER/data
      control: {command: {stop: [SCRIPTS/stop], start: [SCRIPTS/start]}}
workload: {use: standard1, mix: {write: 1}, consistency: LOCAL_ONE}
data: {load: {operations: 1k}, settle: none}
client: {timeout: 60s}
procedure: {fixed: {rate: 50}}
window: {warmup: 2s, measure: 90s}
verify: {reads: none, sample: 0}
probes: {period: 1s}
faults: FAULTS
";

/// The node and its machine. Dropping this value kills the node.
struct ForeignCluster<'a> {
    lab: &'a Lab,
    machines: Machines,
    node: Value,
    /// Claim on the address of the node. Without the claim, a cluster of another test could use
    /// this address while the node is stopped.
    _place: UnixListener,
    _kept: KeptClusterGuard<'a>,
}

impl<'a> ForeignCluster<'a> {
    fn start(lab: &'a Lab, faults: &str) -> ForeignCluster<'a> {
        let up = up(lab, &[]);
        let kept = KeptClusterGuard(lab);
        let machines = Machines::with(&TestMachine::root("db1"));
        let theirs = ForeignCluster {
            lab,
            machines,
            node: up[0]["nodes"][0].clone(),
            _place: place(&up[0]["nodes"][0]),
            _kept: kept,
        };
        theirs.write_scripts();
        theirs.write_study(faults);
        theirs
    }

    fn folder(&self) -> PathBuf {
        let clusters = fs::read_dir(self.lab.clusters()).unwrap();
        let mut folders = clusters.flatten().map(|entry| entry.path().join("node1"));
        folders.find(|folder| folder.join("conf").is_dir()).unwrap()
    }

    fn scripts(&self) -> PathBuf {
        self.machines.folder("db1")
    }

    fn write_scripts(&self) {
        let pid = self.jvm().unwrap().pid;
        let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap();
        let words = |bytes: Vec<u8>| -> Vec<String> {
            let all = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
            all.map(|word| yaml::shell_word(&String::from_utf8_lossy(word))).collect()
        };
        let folder = fs::read_link(format!("/proc/{pid}/cwd")).unwrap();
        // The cleanup after agents kills processes that have a mark of an agent, so the test
        // removes the mark here.
        let is_theirs = |one: &String| !one.starts_with("'CASSAY_");
        let environment: Vec<String> =
            words(read("environ")).into_iter().filter(is_theirs).collect();
        let start = format!(
            "cd {} || exit 1\nenv -i {} {} </dev/null >>{scripts}/output 2>&1 &\n\
             echo $! > {scripts}/pid",
            yaml::shell_word(&folder.display().to_string()),
            environment.join(" "),
            words(read("cmdline")).join(" "),
            scripts = self.scripts().display()
        );
        fs::write(self.scripts().join("pid"), format!("{pid}\n")).unwrap();
        script(&self.scripts().join("start"), &start);
        let stop = format!(
            "read pid < {}/pid && kill $pid\nwhile kill -0 $pid 2>/dev/null; do sleep 0.2; done",
            self.scripts().display()
        );
        script(&self.scripts().join("stop"), &stop);
    }

    fn write_study(&self, faults: &str) {
        let text = fs::read_to_string(self.folder().join("conf/jolokia.properties")).unwrap();
        let of = |name: &str| {
            let lines = text.lines().filter_map(|line| line.split_once('='));
            let mut found = lines.filter(|(key, _)| *key == name);
            found.next().unwrap().1.to_owned()
        };
        self.machines.lab.write("jolokia", &of("password"));
        let study = STUDY
            .replace("ADDRESS", self.node["address"].as_str().unwrap())
            .replace("JOLOKIA", &of("port"))
            .replace("USER", &of("user"))
            .replace("FOLDER", &self.folder().display().to_string())
            .replace("SCRIPTS", &self.scripts().display().to_string())
            .replace("FAULTS", faults);
        self.machines.lab.write("study.yaml", &study);
    }

    fn jvm(&self) -> Option<Identity> {
        jvms(self.lab).first().and_then(|pid| Identity::read(*pid as u32))
    }

    fn run(&self) -> Started {
        let allow = "--allow=create=keyspace1,restart";
        let mut command = self.machines.command(&["run", "study.yaml", "--trust", allow, "--json"]);
        command.env("CASSAY_SHARED_MACHINE", "1");
        Started::new(command)
    }

    fn serves(&self) -> bool {
        let address: std::net::SocketAddr = self.node["address"].as_str().unwrap().parse().unwrap();
        std::net::TcpStream::connect(address).is_ok()
    }

    fn trial(&self) -> PathBuf {
        let trials = self.machines.lab.path().join("results/latest/trials");
        let mut all = fs::read_dir(trials).unwrap().flatten();
        all.next().unwrap().path()
    }
}

impl Drop for ForeignCluster<'_> {
    fn drop(&mut self) {
        // The machine's agent ends only the processes that it started itself. This code kills the
        // processes that a script started later.
        for pid in jvms(self.lab) {
            if let Some(process) = Identity::read(pid as u32) {
                process.signal(Signal::KILL);
                process.wait_gone(std::time::Duration::from_secs(60));
            }
        }
    }
}

/// Claims the address of a node, as cassay does when it starts nodes.
fn place(node: &Value) -> UnixListener {
    let name = format!("cassay-place-{}", node["address"].as_str().unwrap());
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(name).unwrap()).unwrap()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn a_node_is_observed_and_restarted_by_its_owners_command() {
    if let Some(why) = missing() {
        return skip(&why);
    }
    let lab = Lab::new();
    let theirs = ForeignCluster::start(&lab, "[{at: 8s, kind: rolling-restart, for: 70s}]");
    let before = theirs.jvm();
    let run: ProgramOutput = theirs.run().end();
    let findings = run.json();
    let fault = &findings["faults"][0];
    assert_eq!(fault["verdict"], "confirmed", "{run}");
    let now = theirs.jvm();
    assert!(theirs.serves() && now.is_some() && now != before, "{now:?}");
    let probed = |file: &str| read(&theirs.trial().join("probes").join(file));
    assert!(probed("hosts.ndjson").contains("\"db1\""));
    for (file, name) in [
        ("processes.ndjson", "pidstat.%CPU"),
        ("gc_log.ndjson", "gc.pause.young"),
        ("jvm.ndjson", "jvm.heap_used"),
        ("cassandra.ndjson", "compactions.pending"),
    ] {
        assert!(probed(file).contains(name), "{name} in {file}");
    }
    let nodes: Value = serde_json::from_str(&read(&theirs.trial().join("nodes.json"))).unwrap();
    assert_eq!(nodes["machines"][0]["hosts"][0]["name"], "db1");
    let on = nodes["host_settings"].to_string();
    assert!(
        on.contains(nodes["nodes"][0]["name"].as_str().unwrap()),
        "settings of the process"
    );
    // The log of the trial must contain the second start of the node, and not the first start.
    let name = nodes["nodes"][0]["name"].as_str().unwrap();
    let log = read(&theirs.trial().join("logs").join(name).join("system.log"));
    assert_eq!(log.matches("Startup complete").count(), 1, "{log}");
    theirs.machines.wait_until_left("db1");
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn it_runs_again_when_the_command_that_has_stopped_it_is_killed() {
    if let Some(why) = missing() {
        return skip(&why);
    }
    let lab = Lab::new();
    let theirs = ForeignCluster::start(&lab, "[{at: 2s, kind: node-stop, for: 60s}]");
    let before = theirs.jvm();
    let mut run = theirs.run();
    run.wait_until("it is stopped", || {
        before.is_some_and(|before| !before.alive())
    });
    run.kill();
    wait_until("it serves", || theirs.serves());
    assert!(theirs.jvm() != before);
    theirs.machines.wait_until_left("db1");
    assert_eq!(jvms(&lab).len(), 1, "it was started once");
}
