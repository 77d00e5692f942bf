//! Tests an attached cluster whose node runs on a machine behind sshd. The node is the null target,
//! which a script of the machine's user starts and stops.

use super::sshd::{Machines, TestMachine, USER, missing, script};
use crate::program::{ProgramOutput, Started, skip, wait_until};
use host::process::Identity;
use measure::clock;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;

/// The faults run in order. Each fault begins after the previous fault has ended. A request to a
/// node that is away fails before the node is back.
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
client: {timeout: 1s}
window: {warmup: 0s, measure: MEASURE}
verify: {reads: none, sample: 0}
probes: {period: 1s}
faults: FAULTS
";

const ALL: &str = "[{at: 2s, kind: node-pause, for: 3s}, {at: 8s, kind: node-kill, for: 3s}, \
                   {at: 16s, kind: node-stop, for: 3s}, {at: 28s, kind: node-restart}]";

/// Message that the node writes to its log when it is stopped.
const MEMORY: &str = "java.lang.OutOfMemoryError";

/// The node and its machine. Dropping this value ends the process.
struct ForeignCluster {
    machines: Machines,
    address: SocketAddr,
}

impl ForeignCluster {
    /// Starts a node, and writes a study with these faults.
    fn start(faults: &str) -> ForeignCluster {
        ForeignCluster::start_as(USER, faults)
    }

    /// Starts a node of the user with this ID, and writes a study with these faults.
    fn start_as(user: u32, faults: &str) -> ForeignCluster {
        let machines = Machines::with(&TestMachine::new("db1"));
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
        // The script that stops the node receives the node's address as its argument.
        let stop = format!(
            "test \"$1\" = 127.0.0.1 || exit 3\necho {MEMORY} >> {0}/logs/system.log\n\
             cd {0}/node && read pid < pid && kill $pid\n\
             while kill -0 $pid 2>/dev/null; do sleep 0.1; done",
            home.display()
        );
        script(&home.join("node/start"), &start);
        script(&home.join("node/stop"), &stop);
        let study = STUDY
            .replace("ADDRESS", &address.to_string())
            .replace("HOME", &home.display().to_string())
            .replace("MEASURE", if faults == ALL { "40s" } else { "15s" })
            .replace("FAULTS", faults);
        machines.lab.write("study.yaml", &study);
        let theirs = ForeignCluster { machines, address };
        let mut begin = crate::program::command(home.join("node/start"));
        let began = begin.uid(user).gid(user).status().unwrap();
        assert!(began.success());
        wait_until("it serves", || theirs.serves());
        theirs
    }

    fn serves(&self) -> bool {
        TcpStream::connect(self.address).is_ok()
    }

    fn cassay(&self, arguments: &[&str]) -> ProgramOutput {
        let mut command = self.machines.command(arguments);
        ProgramOutput::from_output(command.env("CASSAY_SHARED_MACHINE", "1").output().unwrap())
    }

    fn started(&self, arguments: &[&str]) -> Started {
        let mut command = self.machines.command(arguments);
        command.env("CASSAY_SHARED_MACHINE", "1");
        Started::new(command)
    }

    fn node(&self, file: &str) -> String {
        fs::read_to_string(self.machines.home("db1").join("node").join(file)).unwrap_or_default()
    }

    fn starts(&self) -> usize {
        self.node("starts").lines().count()
    }

    fn process(&self) -> Option<Identity> {
        Identity::read(self.node("pid").trim().parse().ok()?)
    }

    fn trial(&self) -> PathBuf {
        let trials = self.machines.lab.path().join("results/latest/trials");
        let mut all = fs::read_dir(trials).unwrap().flatten();
        all.next().unwrap().path()
    }

    fn json(&self, file: &str) -> Value {
        let text = fs::read_to_string(self.trial().join(file)).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// Waits until only cassay's program is left on the machine.
    fn wait_until_left(&self) {
        self.machines.wait_until_left("db1");
        let state = self.machines.home("db1").join(".local/state/cassay");
        wait_until("nothing is written down", || !state.exists());
    }
}

impl Drop for ForeignCluster {
    fn drop(&mut self) {
        if let Some(process) = self.process() {
            process.signal(Signal::KILL);
        }
    }
}

/// Skips the test with a message if this machine lacks a program or a right that the test needs.
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
    let theirs = ForeignCluster::start(ALL);
    theirs.cassay(&["plan", "study.yaml"]).ended_with(2).says(&[
        "`target.attach.hosts.ssh` runs this program on db1 as your user",
        "`target.attach.hosts.control.command` runs programs on the nodes' machines",
        "pass --trust",
    ]);
    let makes = "--allow=create=keyspace1";
    let run = theirs.cassay(&["run", "study.yaml", "--trust", makes]).ended_with(2);
    run.says(&[
        "node-restart: cassay did not start the cluster, and does not stop or start the node",
        "add --allow restart",
        "node-pause: cassay did not start the cluster, and sends no signals to the node",
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
        .says(&[
            "cassay would stop 127.0.0.1 with `",
            "/node/stop 127.0.0.1` and start it with `",
        ]);
    assert_eq!(theirs.starts(), 1);
    theirs.wait_until_left();
}

#[test]
fn an_attached_node_is_observed_logged_and_always_comes_back() {
    needs_sshd!();
    let theirs = ForeignCluster::start(ALL);
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
    let restarted = format!("{MEMORY}\nstarted\n");
    let expected = format!("started\n{}", restarted.repeat(2));
    assert_eq!(fs::read_to_string(log).unwrap(), expected);
    run.says(&[&format!(
        "127.0.0.1: the node ran out of memory (log of the node: {MEMORY})"
    )]);
    theirs.wait_until_left();
}

/// Returns the result of V11 if the host's readings are missing: unknown, or a warning if a
/// hypervisor stole 2 % of the CPU time.
fn unseen_or_stolen(detail: &str) -> &'static str {
    let stole = detail.split_once("the hypervisor stole ").map_or("", |(_, after)| after);
    let before = stole.split_once(" % of the CPU time").map_or("", |(before, _)| before);
    let stolen: f64 = before.rsplit(' ').next().unwrap_or("").parse().unwrap_or(0.0);
    if stolen >= 2.0 { "warn" } else { "unknown" }
}

#[test]
fn a_lost_machine_is_a_named_gap_and_earlier_data_is_kept() {
    needs_sshd!();
    let theirs = ForeignCluster::start("[]");
    let lab = &theirs.machines.lab;
    let study = fs::read_to_string(lab.path().join("study.yaml"))
        .unwrap()
        .replace("measure: 15s", "measure: 6s")
        .replace("faults: []\n", "");
    lab.write("study.yaml", &(study + "repeat: {blocks: 2}\n"));
    let journaled = |event: &str, trial: usize| {
        let file = lab.path().join("results/latest/journal.ndjson");
        let text = fs::read_to_string(file).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut fits = lines.filter(|line| line["event"] == event && line["trial"] == trial);
        fits.next().is_some()
    };
    let log = |text: &str| {
        let path = theirs.machines.home("db1").join("logs/system.log");
        let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    };
    let allow = "--allow=create=keyspace1";
    let mut run = theirs.started(&["run", "study.yaml", "--trust", allow, "--json"]);
    run.wait_until("it is attached", || journaled("target_ready", 0));
    log("of the first\nand half a line");
    run.wait_until("the first is done", || journaled("trial_finished", 0));
    log(", which is whole now\n");
    run.wait_until("the second measures", || journaled("trial_started", 1));
    clock::sleep(std::time::Duration::from_secs(2));
    theirs.kill(Killed::AgentAndGuard);
    let said = run.end();
    let trials = said.json()["trials"].as_array().unwrap().clone();
    let gaps = |trial: usize| trials[trial]["gaps"].as_array().cloned().unwrap_or_default();
    let words = |gap: &Value| {
        let text = |key: &str| gap[key].as_str().unwrap().to_owned();
        [text("what"), text("node"), text("host")].join(" ")
    };
    assert_eq!(gaps(0), [Value::Null; 0], "{said}");
    let expected = ["logs 127.0.0.1 db1", "readings 127.0.0.1 db1"];
    assert_eq!(
        Vec::from_iter(gaps(1).iter().map(words)),
        expected,
        "{said}"
    );
    let rule = |trial: usize, id: &str| {
        let rules = trials[trial]["rules"].as_array().unwrap();
        rules.iter().find(|rule| rule["rule"] == id).unwrap().clone()
    };
    let same = rule(1, "V11");
    let detail = same["detail"].to_string();
    let unseen = "not judged: the readings of 127.0.0.1 on db1 are lost";
    assert!(detail.contains(unseen), "{said}");
    assert_eq!(same["result"], unseen_or_stolen(&detail), "{said}");
    let lost = "the logs of 127.0.0.1 on db1 are lost";
    let tells = [0, 1].map(|trial| rule(trial, "V15")["detail"].to_string().contains(lost));
    assert_eq!(tells, [false, true], "{said}");
    let folders = fs::read_dir(lab.path().join("results/latest/trials")).unwrap();
    let mut folders: Vec<PathBuf> = folders.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    let kept = |trial: usize| {
        let path = folders[trial].join("logs/127.0.0.1/system.log");
        fs::read_to_string(path).unwrap_or_default()
    };
    assert_eq!(
        [kept(0), kept(1)],
        ["of the first\n".to_owned(), String::new()],
        "{said}"
    );
    lab.cassay(&["list"]).ended_with(0);
}

/// Process that the test kills while the node is stopped.
#[derive(Clone, Copy, Debug)]
enum Killed {
    Command,
    Ssh,
    Agent,
    AgentAndGuard,
}

impl ForeignCluster {
    /// Returns the processes whose command lines contain `part` and do not contain `but`.
    fn with_words(part: &str, but: &str) -> Vec<Identity> {
        let fits = |process: &Identity| {
            let words = host::process::command_line(process.pid).unwrap_or_default().join(" ");
            words.contains(part) && !words.contains(but)
        };
        let all = host::process::all_pids().into_iter().filter_map(Identity::read);
        all.filter(fits).collect()
    }

    fn agents(&self) -> (Vec<Identity>, Vec<Identity>) {
        let all = self.machines.running("db1").into_iter().filter_map(Identity::read);
        let is_guard = |process: &Identity| {
            let words = host::process::command_line(process.pid).unwrap_or_default();
            words.last().is_some_and(|word| word == "guard")
        };
        let (guards, agents) = all.partition(is_guard);
        (agents, guards)
    }

    fn kill(&self, who: Killed) {
        let kill = |all: Vec<Identity>| {
            assert!(!all.is_empty(), "{who:?}");
            all.iter().for_each(|one| one.signal(Signal::KILL));
        };
        let (agents, guards) = self.agents();
        match who {
            Killed::Command => {}
            Killed::Ssh => {
                let config = self.machines.near("config");
                kill(ForeignCluster::with_words(
                    &format!("ssh -F {}", config.display()),
                    "exec /usr",
                ));
            }
            Killed::Agent => kill(agents),
            Killed::AgentAndGuard => {
                // The test stops the agents first. Otherwise, an agent would start another guard at
                // once.
                agents.iter().for_each(|agent| agent.signal(Signal::STOP));
                kill(guards);
                kill(agents);
            }
        }
    }
}

/// Lets a run stop the node, and then kills a process. Returns the command's output unless the
/// command itself was killed.
fn stopped_and_killed(theirs: &ForeignCluster, who: Killed) -> Option<ProgramOutput> {
    let before = theirs.process();
    let allow = "--allow=create=keyspace1,restart";
    let mut run = theirs.started(&["run", "study.yaml", "--trust", allow, "--view", "plain"]);
    run.wait_until("the node is stopped", || {
        before.is_some_and(|before| !before.alive())
    });
    theirs.kill(who);
    // If both agent and guard are dead, the command would wait for the node until the start
    // timeout.
    if matches!(who, Killed::Command | Killed::AgentAndGuard) {
        run.kill();
        return None;
    }
    Some(run.end())
}

const STOP: &str = "[{at: 1s, kind: node-stop, for: 12s}]";

#[test]
fn a_stopped_node_restarts_after_a_kill_of_command_ssh_or_agent() {
    needs_sshd!();
    for who in [Killed::Command, Killed::Ssh, Killed::Agent] {
        let theirs = ForeignCluster::start(STOP);
        if let Some(said) = stopped_and_killed(&theirs, who) {
            assert!(said.code != Some(0), "{who:?}: {said}");
        }
        wait_until("it serves", || theirs.serves());
        theirs.wait_until_left();
        assert_eq!(theirs.starts(), 2, "{who:?}: once");
    }
}

#[test]
fn the_next_command_restarts_a_node_after_agent_and_guard_died() {
    needs_sshd!();
    let theirs = ForeignCluster::start(STOP);
    stopped_and_killed(&theirs, Killed::AgentAndGuard);
    assert!(!theirs.serves(), "nobody is left who would start it");
    let allow = "--allow=create=keyspace1,restart";
    theirs.cassay(&["plan", "study.yaml", "--trust", allow]).ended_with(0).says(&[
        "db1: cassay was killed during an earlier command, and now undid its changes: cassay \
         started the server of 127.0.0.1:",
    ]);
    assert!(theirs.serves() && theirs.starts() == 2);
    theirs.wait_until_left();
}

/// Supervisors of the node in the form in which a study names them, each with a program that
/// replaces the supervisor. The program accepts only the supervisor's name for the node. `is_up`
/// ends with 0 if the node runs.
const KEEPERS: [(&str, &str, &str); 2] = [
    (
        "{systemd: 'theirs@{node}'}",
        "systemctl",
        "case \"$*\" in\n\
         'stop theirs@127.0.0.1') exec HOME/node/stop 127.0.0.1;;\n\
         'start theirs@127.0.0.1') exec HOME/node/start;;\n\
         'show --property=MainPID --value theirs@127.0.0.1') \
         if is_up; then echo $pid; else echo 0; fi;;\n\
         *) exit 4;; esac",
    ),
    (
        "{docker: theirs}",
        "docker",
        "case \"$*\" in\n\
         'stop theirs') exec HOME/node/stop 127.0.0.1;;\n\
         'start theirs') exec HOME/node/start;;\n\
         'inspect --format {{.State.Pid}} theirs') \
         if is_up; then echo $pid; else echo 0; fi;;\n\
         *) exit 4;; esac",
    ),
];

#[test]
fn it_is_stopped_started_and_found_by_whatever_looks_after_it() {
    needs_sshd!();
    for (control, program, text) in KEEPERS {
        let theirs = ForeignCluster::start("[{at: 1s, kind: node-restart}]");
        let home = theirs.machines.home("db1").display().to_string();
        let is_up = "is_up() { read pid < HOME/node/pid; kill -0 $pid 2>/dev/null; }\n";
        let text = format!("{is_up}{text}").replace("HOME", &home);
        theirs.machines.install("db1", program, &text);
        let study = theirs.machines.lab.path().join("study.yaml");
        let written = fs::read_to_string(&study).unwrap();
        let (before, behind) = written.split_once("control: ").unwrap();
        let (_, behind) = behind.split_once('\n').unwrap();
        fs::write(&study, format!("{before}control: {control}\n{behind}")).unwrap();
        let allow = "--allow=create=keyspace1,restart";
        let run = theirs.cassay(&["run", "study.yaml", "--trust", allow, "--json"]);
        let findings = run.json();
        assert_eq!(
            findings["faults"][0]["verdict"], "confirmed",
            "{program}: {run}"
        );
        assert_eq!(theirs.starts(), 2, "{program}");
        theirs.wait_until_left();
    }
}

#[test]
fn a_process_of_another_user_is_refused_before_any_change() {
    needs_sshd!();
    let theirs = ForeignCluster::start_as(0, STOP);
    let allow = "--allow=create=keyspace1,restart";
    theirs.cassay(&["run", "study.yaml", "--trust", allow]).ended_with(2).says(&[
        "node-stop is not available: 127.0.0.1: db1: ",
        "the process belongs to another user",
    ]);
    assert!(theirs.serves() && theirs.starts() == 1);
    assert!(!theirs.machines.lab.path().join("results").exists());
}
