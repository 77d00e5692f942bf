//! A cluster that cassay did not start, and the machine of its node behind sshd: the null target,
//! which a script of the machine's user starts and stops.

use super::sshd::{Machine, Machines, USER, missing, script};
use crate::program::{Said, Started, skip, wait_until};
use host::process::Identity;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;

/// Its faults come in their order, each when the one before it is over.
const STUDY: &str = "\
study: theirs
question: What is seen of a node that is not ours, and does it come back?
target:
  attach:
    contact_points: ['ADDRESS']
    hosts:
      ssh: db1
      logs: HOME/logs
      data: HOME
      control: {command: {stop: [HOME/node/stop, '{node}'], start: [HOME/node/start]}}
workload: {use: standard1, mix: {write: 1}}
data: {load: {operations: 1k}}
procedure: {fixed: {rate: 300}}
window: {warmup: 0s, measure: 40s}
verify: {reads: none, sample: 0}
probes: {period: 1s}
faults: FAULTS
";

const ALL: &str = "[{at: 2s, kind: node-pause, for: 3s}, {at: 8s, kind: node-kill, for: 3s}, \
                   {at: 16s, kind: node-stop, for: 3s}, {at: 28s, kind: node-restart}]";

/// The node, and the machine that it is on. Dropping it ends it.
struct Theirs {
    machines: Machines,
    address: SocketAddr,
}

impl Theirs {
    /// One that runs, and a study with such faults.
    fn start(faults: &str) -> Theirs {
        let machines = Machines::with(&Machine::new("db1"));
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let home = machines.home("db1");
        machines.write("db1", "logs/system.log", b"of old\n");
        machines.write("db1", "node/pid", b"");
        let program = machines.near("bin/cassay");
        let start = format!(
            "cd {0}/node && echo x >> starts && echo started >> {0}/logs/system.log\n\
             {1} null --port {2} </dev/null >/dev/null 2>&1 &\necho $! > pid",
            home.display(),
            program.display(),
            address.port()
        );
        // It is told which node is meant.
        let stop = format!(
            "test \"$1\" = 127.0.0.1 || exit 3\ncd {}/node && read pid < pid && kill $pid\n\
             while kill -0 $pid 2>/dev/null; do sleep 0.1; done",
            home.display()
        );
        script(&home.join("node/start"), &start);
        script(&home.join("node/stop"), &stop);
        let study = STUDY
            .replace("ADDRESS", &address.to_string())
            .replace("HOME", &home.display().to_string())
            .replace("FAULTS", faults);
        machines.lab.write("study.yaml", &study);
        let theirs = Theirs { machines, address };
        let mut begin = crate::program::command(home.join("node/start"));
        let began = begin.uid(USER).gid(USER).status().unwrap();
        assert!(began.success());
        wait_until("it serves", || theirs.serves());
        theirs
    }

    fn serves(&self) -> bool {
        TcpStream::connect(self.address).is_ok()
    }

    fn cassay(&self, arguments: &[&str]) -> Said {
        let mut command = self.machines.command(arguments);
        Said::of(command.env("CASSAY_SHARED_MACHINE", "1").output().unwrap())
    }

    fn started(&self, arguments: &[&str]) -> Started {
        let mut command = self.machines.command(arguments);
        command.env("CASSAY_SHARED_MACHINE", "1");
        Started::new(command)
    }

    fn node(&self, file: &str) -> String {
        fs::read_to_string(self.machines.home("db1").join("node").join(file)).unwrap_or_default()
    }

    /// How often it was started.
    fn starts(&self) -> usize {
        self.node("starts").lines().count()
    }

    fn process(&self) -> Option<Identity> {
        Identity::of(self.node("pid").trim().parse().ok()?)
    }

    /// The folder of the only trial.
    fn trial(&self) -> PathBuf {
        let trials = self.machines.lab.path().join("results/latest/trials");
        let mut all = fs::read_dir(trials).unwrap().flatten();
        all.next().unwrap().path()
    }

    fn json(&self, file: &str) -> Value {
        let text = fs::read_to_string(self.trial().join(file)).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// Waits until nothing of ours is on the machine but the program.
    fn wait_until_left(&self) {
        self.machines.wait_until_left("db1");
        let state = self.machines.home("db1").join(".local/state/cassay");
        wait_until("nothing is written down", || !state.exists());
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        if let Some(process) = self.process() {
            process.signal(Signal::KILL);
        }
    }
}

/// Where this machine cannot do what a test needs, that is said and the test ends.
macro_rules! needs_sshd {
    () => {
        if let Some(why) = missing() {
            return skip(&why);
        }
    };
}

#[test]
fn nothing_is_done_there_that_the_command_line_does_not_say() {
    needs_sshd!();
    let theirs = Theirs::start(ALL);
    theirs.cassay(&["plan", "study.yaml"]).ended_with(2).says(&[
        "`target.attach.hosts.ssh` has this program run on db1 as your user there",
        "`target.attach.hosts.control.command` has programs run on the nodes' machines",
        "say --trust",
    ]);
    let makes = "--allow=create=keyspace1";
    let run = theirs.cassay(&["run", "study.yaml", "--trust", makes]).ended_with(2);
    run.says(&[
        "node-restart: the cluster was not started by cassay, and is not stopped and started",
        "add --allow restart",
        "node-pause: the cluster was not started by cassay, and is not told by signals",
        "add --allow signal",
    ]);
    assert!(!theirs.machines.lab.path().join("results").exists());
    theirs
        .cassay(&[
            "plan",
            "study.yaml",
            "--trust",
            makes,
            "--allow=restart,signal",
        ])
        .ended_with(0)
        .says(&["/node/stop 127.0.0.1` and `"]);
    assert_eq!(theirs.starts(), 1);
    theirs.wait_until_left();
}

#[test]
fn its_machine_and_process_are_seen_its_logs_are_kept_and_it_comes_back_each_time() {
    needs_sshd!();
    let theirs = Theirs::start(ALL);
    let before = theirs.process();
    let allow = "--allow=create=keyspace1,restart,signal";
    let run = theirs.cassay(&["run", "study.yaml", "--trust", allow, "--json"]);
    let findings = run.json();
    let faults = findings["faults"].as_array().unwrap();
    let verdicts = faults.iter().map(|fault| {
        let text = |key: &str| fault[key].as_str().unwrap().to_owned();
        (text("kind"), text("verdict"))
    });
    let expected = ["node-pause", "node-kill", "node-stop", "node-restart"]
        .map(|kind| (kind.to_owned(), "confirmed".to_owned()));
    assert_eq!(Vec::from_iter(verdicts), expected, "{run}");
    assert_eq!(theirs.starts(), 4, "a pause starts nothing");
    assert!(theirs.serves() && theirs.process() != before);
    let probed = |file: &str| {
        let path = theirs.trial().join("probes").join(file);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let hosts = probed("hosts.ndjson");
    for name in ["mpstat.%usr", "vmstat.free", "sar.rxpck/s"] {
        let is_there = |line: &str| line.contains(name) && line.contains("\"db1");
        assert!(hosts.lines().any(is_there), "{name} of db1");
    }
    assert!(probed("processes.ndjson").contains("\"127.0.0.1\""));
    let nodes = theirs.json("nodes.json");
    assert_eq!(nodes["nodes"][0]["host"], "db1");
    assert_eq!(nodes["machines"][0]["hosts"][0]["name"], "db1", "{nodes}");
    let settings = nodes["host_settings"].as_array().unwrap();
    assert!(!settings.is_empty() && settings.iter().all(|one| one["host"] == "db1"));
    let unseen = nodes["unseen"].to_string();
    assert!(
        unseen.contains("jvm: heap") && !unseen.contains("processes:"),
        "{unseen}"
    );
    let log = theirs.trial().join("logs/127.0.0.1/system.log");
    assert_eq!(fs::read_to_string(log).unwrap(), "started\n".repeat(3));
    theirs.wait_until_left();
}

#[test]
fn it_runs_again_when_the_command_was_killed_that_had_stopped_it() {
    needs_sshd!();
    let theirs = Theirs::start("[{at: 1s, kind: node-stop, for: 35s}]");
    let before = theirs.process();
    let allow = "--allow=create=keyspace1,restart";
    let mut run = theirs.started(&["run", "study.yaml", "--trust", allow, "--view", "plain"]);
    run.wait_until("the node is stopped", || {
        before.is_some_and(|before| !before.alive())
    });
    run.kill();
    wait_until("it serves", || theirs.serves());
    assert_eq!(theirs.starts(), 2);
    theirs.wait_until_left();
    assert_eq!(theirs.starts(), 2, "once");
}
