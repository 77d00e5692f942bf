//! Tests that disturbances of the client during a measurement appear in the verdict.

use super::{POINT, rule};
use crate::program::{Lab, Started, wait_until};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

/// Time for which the client is stopped, in a window of ten seconds. It is a sixth more than the
/// limit of V4 for windows of half a minute.
const STOPPED: Duration = Duration::from_millis(1500);

/// Returns the number of intervals on disk that belong to the newest run's window.
fn intervals_measured(lab: &Lab) -> usize {
    let results = lab.path().join("results");
    let trial = store::find(&results, "latest").and_then(|run| run.trial(0));
    let Ok(Some(trial)) = trial else { return 0 };
    let Ok(intervals) = trial.intervals() else {
        return 0;
    };
    let measured = intervals.flatten().filter(|one| one.phase == "measure");
    measured.filter(|one| one.client.is_some()).count()
}

/// A client in a closed loop was once stopped for 1.5 s of 10 s. It reported 15 % too little
/// throughput, and the trial counted as valid. No operation was late, because in a closed loop an
/// operation is due only when another operation has ended.
#[test]
fn a_client_stopped_within_its_window_invalidates_the_trial() {
    let lab = Lab::with(POINT);
    let mut command = lab.command(&["run", "study.yaml", "--json", "--set", "window.measure=10s"]);
    // If the machine is declared as shared, cassay only warns.
    command.env_remove("CASSAY_SHARED_MACHINE");
    let run = Started::new(command);
    wait_until("within the window", || intervals_measured(&lab) > 0);
    run.pause(STOPPED);
    let said = run.end().ended_with(3);
    // cassay reports the last interval of a phase as part of this phase, and not of the next phase.
    let told = |phase: &str| said.stderr.contains(&format!("· {phase} "));
    assert!(told("measure") && !told("drain"), "{}", said.stderr);
    let findings = said.json();
    let trial = &findings["trials"][0];
    let judged = rule(trial, "V4");
    assert_eq!(judged["result"], "fail", "{trial:#}");
    let longest_ms = trial["client"]["stall_ms_longest"].as_f64();
    // The value is exact within the three significant digits of a histogram, so the limit is
    // slightly lower than the stop.
    assert!(longest_ms >= Some(1490.0), "{trial:#}");
    assert!(
        trial["client"]["stalled_share"].as_f64() >= Some(0.14),
        "{trial:#}"
    );
    // While the client was stopped, it received no answers. V19 must pass, because the target was
    // not the cause.
    assert_eq!(rule(trial, "V19")["result"], "pass", "{trial:#}");
}

/// An earlier version of the plan accepted an endpoint, but the run then never queried the
/// endpoint.
#[test]
fn on_the_null_target_the_series_of_others_are_still_read() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nup 1\n");
        }
    });
    let import = format!("probes: {{import: [{{prometheus: 'http://{address}/metrics'}}]}}\n");
    let lab = Lab::with(&format!("{POINT}{import}"));
    let findings = lab.cassay(&["run", "study.yaml", "--json"]).measured(&lab);
    let probes = findings.json()["trials"][0]["probes"].clone();
    let read = |one: &Value| one["probe"] == "prometheus" && one["values"].as_u64() > Some(0);
    assert!(probes.as_array().unwrap().iter().any(read), "{probes:#}");
}
