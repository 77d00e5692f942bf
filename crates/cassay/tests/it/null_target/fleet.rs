//! Tests a load that several clients share. The clients together do the same as one client, and
//! cassay reports the failure of a client.

use super::{POINT, rule};
use crate::program::{Lab, ProgramOutput, Started, command, skip, wait_until};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Returns the settings of a trial of `seconds` seconds, at a rate that every machine can sustain.
pub(crate) fn at_a_rate(seconds: u64) -> Vec<String> {
    let sets = [
        "procedure.fixed={rate: 600}".to_owned(),
        format!("window.measure={seconds}s"),
    ];
    sets.into_iter().flat_map(|set| ["--set".to_owned(), set]).collect()
}

fn run(lab: &Lab, machines: &str, seconds: u64) -> ProgramOutput {
    let mut arguments = vec![
        "run".to_owned(),
        "study.yaml".to_owned(),
        "--json".to_owned(),
    ];
    arguments.extend(at_a_rate(seconds));
    if !machines.is_empty() {
        arguments.extend(["--set".to_owned(), format!("client.machines={machines}")]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    lab.cassay(&arguments)
}

fn trial(lab: &Lab, machines: &str) -> Value {
    run(lab, machines, 2).measured(lab).json()["trials"][0].clone()
}

/// Returns the number of operations of each kind, regardless of their outcome.
pub(crate) fn counts(trial: &Value) -> Vec<(String, u64)> {
    let kinds = trial["kinds"].as_object().expect("kinds");
    let count = |kind: &Value| {
        let [ok, failed] = ["latency_ms", "error_ms"].map(|clock| kind[clock]["count"].as_u64());
        ok.expect("a count") + failed.unwrap_or(0)
    };
    kinds.iter().map(|(name, kind)| (name.clone(), count(kind))).collect()
}

#[test]
fn two_clients_do_together_what_one_process_does() {
    let lab = Lab::with(POINT);
    let alone = trial(&lab, "");
    assert_eq!(alone.get("clients"), None);
    for (machines, names) in [
        ("[here]", &["client1"][..]),
        ("[here, here]", &["client1", "client2"]),
        ("[{workers: 3}, here]", &["client1", "client2"]),
    ] {
        let together = trial(&lab, machines);
        // The number of operations of each kind follows from the schedule. The server has counted
        // all operations, including the loaded rows.
        assert_eq!(counts(&together), counts(&alone), "{together:#}");
        assert_eq!(
            together["server"]["writes"],
            together["server"]["client_writes"]
        );
        assert_eq!(
            together["server"]["reads"],
            together["server"]["client_reads"]
        );
        for id in ["V2", "V6", "V7"] {
            assert_eq!(rule(&together, id)["result"], "pass", "{together:#}");
        }
        assert_ne!(rule(&together, "V5")["result"], "fail", "{together:#}");
        let clients = together["clients"].as_array().expect("clients");
        let found: Vec<&str> = clients.iter().filter_map(|one| one["name"].as_str()).collect();
        assert_eq!(found, names);
        let latencies = clients.iter().map(|one| one["latency_ms"]["count"].as_u64());
        let all: u64 = latencies.map(Option::unwrap_or_default).sum();
        assert_eq!(Some(all), together["all"]["latency_ms"]["count"].as_u64());
        assert!(clients.iter().all(|one| one["ceilings_ops_per_s"][0].as_f64() > Some(0.0)));
    }
}

/// Returns the lines of a file in the newest run's only trial. Empty if the file does not exist.
pub(crate) fn lines(lab: &Lab, name: &str) -> Vec<Value> {
    let runs = lab.path().join("results/latest/trials");
    let trials = std::fs::read_dir(runs).into_iter().flatten().flatten();
    let texts = trials.filter_map(|trial| std::fs::read_to_string(trial.path().join(name)).ok());
    let lines = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    // The last line may be incomplete, so this code skips lines that it cannot parse.
    lines.filter_map(|line| serde_json::from_str(&line).ok()).collect()
}

/// Before the clients begin, they compare their operations with the operations of the controller.
#[test]
fn clients_with_a_range_each_write_it_once_together() {
    let lab = Lab::with(
        "study: ranges\nquestion: q\ntarget: {null: {}}\n\
         workload: {stress: 'write n=6000 -rate threads=6'}\n\
         client: {machines: [{workers: 2}, {workers: 1}], split: range}\n",
    );
    let said = lab.cassay(&["run", "study.yaml", "--json"]).measured(&lab);
    let trial = &said.json()["trials"][0];
    assert_eq!(trial["ops_total"], 6000, "{trial:#}");
    assert_eq!(trial["server"]["writes"], trial["server"]["client_writes"]);
    let clients = trial["clients"].as_array().expect("clients");
    let counts: Vec<u64> =
        clients.iter().filter_map(|one| one["latency_ms"]["count"].as_u64()).collect();
    assert_eq!(counts, [4000, 2000], "{trial:#}");
}

#[test]
fn two_clients_share_a_closed_loop_of_three_as_two_and_one() {
    // The study loads no rows, because the loading phase would have more operations in flight.
    let lab = Lab::with(&POINT.replace("data: {load: {operations: 1k}}\n", ""));
    let sets = [
        "procedure.fixed={threads: 3}",
        "client.machines=[{workers: 2}, {workers: 4}]",
        "workload.mix={write: 1}",
    ];
    let mut arguments = vec!["run", "study.yaml", "--json"];
    arguments.extend(sets.iter().flat_map(|set| ["--set", set]));
    let said = lab.cassay(&arguments).measured(&lab);
    let trial = &said.json()["trials"][0];
    assert_eq!(trial["client"]["workers"], 3, "{trial:#}");
    for (client, most) in [("client1", 2), ("client2", 1)] {
        let seconds = lines(&lab, "clients.ndjson").into_iter();
        let own = seconds.filter(|one| one["client"] == client);
        let in_flight: Vec<u64> = own.filter_map(|one| one["in_flight"].as_u64()).collect();
        assert_eq!(
            in_flight.iter().max(),
            Some(&most),
            "{client}: {in_flight:?}"
        );
    }
}

/// Starts a run of two clients. Returns the run after it has measured for some seconds, and the
/// process ids of the clients.
fn begun(lab: &Lab) -> (Started, [u32; 2]) {
    let sets = at_a_rate(60);
    let mut arguments = vec![
        "run",
        "study.yaml",
        "--json",
        "--set",
        "client.machines=[here, here]",
    ];
    arguments.extend(sets.iter().map(String::as_str));
    let mut started = lab.start(&arguments);
    let is_second = |one: &Value| one["t_s"].as_f64() > Some(0.0) && one["draining"].is_null();
    started.wait_until("it measures", || {
        lines(lab, "clients.ndjson").iter().filter(|one| is_second(one)).count() >= 6
    });
    let mark = format!("CASSAY_CLIENT={}", started.id());
    let named = |name: &str| {
        let all = std::fs::read_dir("/proc").expect("processes").flatten();
        let mut pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let read =
            |pid: u32, file: &str| std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let has = |pid: u32, file: &str, word: &str| {
            let bytes = read(pid, file);
            bytes.split(|byte| *byte == 0).any(|one| one == word.as_bytes())
        };
        let found = pids.find(|pid| has(*pid, "environ", &mark) && has(*pid, "cmdline", name));
        found.unwrap_or_else(|| panic!("{name} does not run"))
    };
    let pids = ["client1", "client2"].map(named);
    (started, pids)
}

pub(crate) fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.cast_signed()).expect("a process");
    rustix::process::kill_process(pid, signal).expect("it is there");
}

fn wait_until_gone(pids: [u32; 2]) {
    wait_until("the clients have ended", || {
        pids.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists())
    });
}

#[test]
fn a_client_that_is_killed_ends_the_trial_and_is_named() {
    let lab = Lab::with(POINT);
    let (started, clients) = begun(&lab);
    signal(clients[1], Signal::KILL);
    let said = started.end().ended_with(3);
    let trial = said.json()["trials"][0].clone();
    let judged = rule(&trial, "V4");
    assert_eq!(judged["result"], "fail", "{trial:#}");
    let detail = judged["detail"].as_str().unwrap_or_default();
    assert!(detail.starts_with("client2 (here) has ended"), "{detail}");
    assert_eq!(trial["verdict"], "invalid");
    // The run keeps the intervals up to the kill of the client.
    assert!(trial["ops_total"].as_u64() > Some(0), "{trial:#}");
    wait_until_gone(clients);
}

#[test]
fn a_client_that_is_frozen_is_missed_and_named() {
    let lab = Lab::with(POINT);
    let (started, clients) = begun(&lab);
    signal(clients[0], Signal::STOP);
    let said = started.end().ended_with(3);
    let trial = said.json()["trials"][0].clone();
    let detail = rule(&trial, "V4")["detail"].as_str().unwrap_or_default().to_owned();
    assert!(
        detail.starts_with("client1 (here) has sent no message for"),
        "{detail}"
    );
    wait_until_gone(clients);
}

#[test]
fn clients_end_with_a_controller_that_is_killed() {
    let lab = Lab::with(POINT);
    let (started, clients) = begun(&lab);
    started.kill();
    wait_until_gone(clients);
}

/// A replacement for `ssh` that runs its command on this machine, in a separate time namespace.
const ELSEWHEN: &str = "#!/bin/sh\nfor last; do :; done\n\
    exec unshare --time --monotonic 1000 --boottime 1000 --fork --kill-child sh -c \"$last\"\n";

#[test]
fn a_client_clock_1000_s_ahead_is_aligned_within_the_bound() {
    let try_it = command("unshare")
        .args(["--time", "--monotonic", "1000", "--fork", "true"])
        .output();
    if !try_it.is_ok_and(|output| output.status.success()) {
        return skip(
            "this system has no time namespaces for us (root, kernel 5.6, util-linux 2.36)",
        );
    }
    let lab = Lab::with(POINT);
    let ssh = lab.write("bin/ssh", ELSEWHEN);
    std::fs::set_permissions(&ssh, std::fs::Permissions::from_mode(0o755)).expect("a script");
    let mut arguments = vec!["run", "study.yaml", "--json", "--trust"];
    let sets = at_a_rate(2);
    arguments.extend(sets.iter().map(String::as_str));
    arguments.extend([
        "--set",
        "client.machines=[here, {ssh: elsewhen, workers: 1}]",
    ]);
    let mut started = lab.command(&arguments);
    let path = format!(
        "{}:{}",
        lab.path().join("bin").display(),
        std::env::var("PATH").expect("a path")
    );
    started.env("PATH", path).env("XDG_CACHE_HOME", lab.path().join("cache"));
    let said =
        ProgramOutput::from_output(started.output().expect("the program runs")).measured(&lab);
    let trial = said.json()["trials"][0].clone();
    let clocks = lines(&lab, "clocks.ndjson");
    let theirs: Vec<&Value> = clocks.iter().filter(|one| one["client"] == "client2").collect();
    assert!(!theirs.is_empty(), "{clocks:?}");
    for clock in theirs {
        let ahead_ns = clock["ahead_ns"].as_i64().expect("an offset");
        let bound_ns = clock["bound_ns"].as_u64().expect("a bound");
        assert!(ahead_ns.abs_diff(1_000_000_000_000) <= bound_ns, "{clock}");
    }
    assert_ne!(rule(&trial, "V5")["result"], "fail", "{trial:#}");
    assert_eq!(counts(&trial), counts(&self::trial(&lab, "")), "{trial:#}");
}
