//! Tests clients of one load behind real sshds. The clients together do the same as one client. If
//! a client or its connection fails, the verdict names the client and the time, and no process
//! remains on its machine.

use super::sshd::{Machines, TestMachine, missing};
use crate::null_target::fleet::{at_a_rate, counts, lines, signal};
use crate::null_target::{POINT, rule};
use crate::program::{ProgramOutput, Started, skip, wait_until};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;

const CLIENTS: [&str; 2] = ["load1", "load2"];

/// Starts two machines for clients, and writes the study.
fn machines() -> Machines {
    let mut machines = Machines::new();
    for name in CLIENTS {
        machines.start(&TestMachine::new(name));
    }
    machines.lab.write("study.yaml", POINT);
    machines
}

/// Returns the arguments that run the study with two clients on these machines. Each client has two
/// workers.
fn arguments(settings: &[String]) -> Vec<String> {
    let words = ["run", "study.yaml", "--json", "--trust", "--set"].map(str::to_owned);
    let both = CLIENTS.map(|name| format!("{{ssh: {name}, workers: 2}}"));
    let clients = format!("client.machines=[{}]", both.join(", "));
    [&words[..], &[clients], settings].concat()
}

fn texts(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

/// The number of operations that are due in a window follows from the schedule. The window begins a
/// second after the load. For Poisson arrivals, each worker has a separate schedule.
#[test]
fn clients_over_ssh_do_what_one_client_with_their_workers_does() {
    if let Some(why) = missing() {
        return skip(&why);
    }
    let machines = machines();
    let lab = &machines.lab;
    let sets = [
        "procedure={fixed: {rate: 600}, arrival: poisson}",
        "window={warmup: 1s, measure: 2s}",
    ];
    let sets: Vec<String> =
        sets.iter().flat_map(|set| ["--set".to_owned(), (*set).to_owned()]).collect();
    let far = arguments(&sets);
    let said = ProgramOutput::from_output(
        machines.command(&texts(&far)).output().expect("the program runs"),
    );
    let together = said.measured(lab).json()["trials"][0].clone();
    for name in CLIENTS {
        machines.wait_until_left(name);
    }
    let near = ["run", "study.yaml", "--json", "--set", "client.workers=4"].map(str::to_owned);
    let near = [&near[..], &sets].concat();
    let said = lab.cassay(&texts(&near)).measured(lab);
    let alone = said.json()["trials"][0].clone();

    assert_eq!(counts(&together), counts(&alone), "{together:#}");
    assert_ne!(
        together["all"]["latency_ms"]["count"], 1200,
        "Poisson's times are not even ones"
    );
    for id in ["V2", "V6", "V7"] {
        assert_eq!(rule(&together, id)["result"], "pass", "{together:#}");
    }
    assert_ne!(rule(&together, "V5")["result"], "fail", "{together:#}");
    // The merged histogram must contain the operations of each client once.
    let clients = together["clients"].as_array().expect("clients");
    let places: Vec<&str> = clients.iter().filter_map(|one| one["place"].as_str()).collect();
    assert_eq!(places, CLIENTS);
    let count = |one: &Value| one["latency_ms"]["count"].as_u64().unwrap_or(0);
    let each: Vec<u64> = clients.iter().map(count).collect();
    assert!(each.iter().all(|count| *count > 0), "{each:?}");
    assert_eq!(
        Some(each.iter().sum()),
        together["all"]["latency_ms"]["count"].as_u64()
    );
    assert_eq!(
        together["all"]["latency_ms"]["count"],
        alone["all"]["latency_ms"]["count"]
    );
}

/// Starts a run, and returns it after it has measured for some seconds.
fn begun(machines: &Machines) -> Started {
    let arguments = arguments(&at_a_rate(60));
    let mut started = Started::new(machines.command(&texts(&arguments)));
    let is_second = |one: &Value| one["t_s"].as_f64() > Some(0.0) && one["draining"].is_null();
    started.wait_until("it measures", || {
        let seconds = lines(&machines.lab, "clients.ndjson");
        seconds.iter().filter(|one| is_second(one)).count() >= 6
    });
    started
}

/// Returns the time of the last message from a client, in seconds since the load at a rate began.
/// Before that, a closed loop fills the tables. A closed loop has no lag.
fn heard_until_s(machines: &Machines, client: &str) -> f64 {
    let seconds = lines(&machines.lab, "clients.ndjson").into_iter();
    let own: Vec<[f64; 2]> = seconds
        .filter(|one| one["client"] == client && one["lag_p99_us"].as_f64() > Some(0.0))
        .filter_map(|one| Some([one["t_s"].as_f64()?, one["seconds"].as_f64()?]))
        .collect();
    let began_s = own.iter().map(|[t_s, _]| *t_s).fold(f64::INFINITY, f64::min);
    let end_s = own.iter().map(|[t_s, seconds]| t_s + seconds).fold(0.0, f64::max);
    assert!(end_s > began_s, "{client} was not heard of at its rate");
    end_s - began_s
}

/// Checks that the run ends as invalid, and that the reason contains these words about the client
/// and the time. The client was still connected at `before_s`.
#[track_caller]
fn assert_lost(said: &ProgramOutput, words: &str, before_s: f64) {
    let trial = said.json()["trials"][0].clone();
    assert_eq!(trial["verdict"], "invalid", "{trial:#}");
    let judged = rule(&trial, "V4");
    assert_eq!(judged["result"], "fail", "{trial:#}");
    let detail = judged["detail"].as_str().unwrap_or_default();
    assert!(detail.starts_with(words), "{detail}");
    // All times of a trial count from the start of its window, once the window has begun.
    let at_s: Option<f64> = detail.split_once(" s after the ").and_then(|(head, tail)| {
        let since_s: f64 = head.rsplit(' ').next()?.parse().ok()?;
        let warmup_s = trial["warmup"]["seconds"].as_f64()?;
        Some(
            since_s
                + if tail.starts_with("window") {
                    warmup_s
                } else {
                    0.0
                },
        )
    });
    assert!(
        at_s.is_some_and(|at_s| at_s >= before_s - 0.1),
        "{before_s} s: {detail}"
    );
    // The run keeps the intervals up to the failure of the client.
    assert!(trial["ops_total"].as_u64() > Some(0), "{trial:#}");
}

/// Returns the id of the process with this program, parent and word of its command line.
fn process(program: &str, parent: u32, word: &str) -> u32 {
    let all = fs::read_dir("/proc").expect("processes").flatten();
    let mut pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let found = pids.find(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let has_word = line.split(|byte| *byte == 0).any(|one| one == word.as_bytes());
        name.trim() == program && has_word && parent_of(*pid) == Some(parent)
    });
    found.unwrap_or_else(|| panic!("{program} of {parent} with {word} does not run"))
}

fn parent_of(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}

#[test]
fn a_client_whose_ssh_is_killed_ends_and_is_named_with_the_time() {
    if let Some(why) = missing() {
        return skip(&why);
    }
    let machines = machines();
    let started = begun(&machines);
    let before_s = heard_until_s(&machines, "client2");
    signal(process("ssh", started.id(), "load2"), Signal::KILL);
    let said = started.end().ended_with(3);
    assert_lost(&said, "client2 (load2) has ended", before_s);
    for name in CLIENTS {
        machines.wait_until_left(name);
    }
}

#[test]
fn a_client_whose_ssh_stalls_is_missed_and_leaves_nothing() {
    if let Some(why) = missing() {
        return skip(&why);
    }
    let machines = machines();
    let started = begun(&machines);
    let before_s = heard_until_s(&machines, "client1");
    let ssh = process("ssh", started.id(), "load1");
    signal(ssh, Signal::STOP);
    let said = started.end().ended_with(3);
    assert_lost(&said, "client1 (load1) has sent no message for", before_s);
    let is_gone = || !fs::exists(format!("/proc/{ssh}")).unwrap_or(true);
    wait_until("the ssh that stood still has ended", is_gone);
    for name in CLIENTS {
        machines.wait_until_left(name);
    }
}

/// A stopped process. Dropping this value continues the process, however the test ends.
struct Stopped(u32);

impl Stopped {
    fn stop(pid: u32) -> Stopped {
        signal(pid, Signal::STOP);
        Stopped(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        if let Some(pid) = rustix::process::Pid::from_raw(self.0.cast_signed()) {
            let _ = rustix::process::kill_process(pid, Signal::CONT);
        }
    }
}

/// The connection remains open, so neither end notices the failure. The agent ends only because its
/// lease expires.
#[test]
fn a_client_on_a_silent_link_ends_by_its_lease_and_is_named() {
    if let Some(why) = missing() {
        return skip(&why);
    }
    let machines = machines();
    let started = begun(&machines);
    let [client] = machines.running("load2")[..] else {
        panic!("one client on load2: {:?}", machines.running("load2"));
    };
    let before_s = heard_until_s(&machines, "client2");
    let session = parent_of(client).expect("a client has a session of sshd");
    let stopped = Stopped::stop(session);
    // The client has ended by itself. The test process is still running, and the stopped session
    // has not closed the connection.
    machines.wait_until_left("load2");
    let said = started.end().ended_with(3);
    assert_lost(&said, "client2 (load2) has sent no message for", before_s);
    machines.wait_until_left("load1");
    drop(stopped);
    let is_gone = || !fs::exists(format!("/proc/{session}")).unwrap_or(true);
    wait_until("the session has ended", is_gone);
}
