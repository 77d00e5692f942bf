//! Tests of the machine's own agent, which need no privileges.

use crate::hosts::{LIMIT, id, wait_until};
use host::process::{self, Identity};
use host::{Agent, ProcessEnd};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

fn sh(line: &str) -> Command {
    let mut command = process::command(Path::new("/bin/sh"));
    command.args(["-c", line]);
    command
}

#[test]
fn processes_are_started_watched_and_ended() {
    let root = tempfile::tempdir().unwrap();
    let cluster = root.path().join("cluster");
    let agent = Agent::start_on_machine(&id("machine"), &cluster).unwrap();
    let output = cluster.join("output");

    let mut command = sh("echo $A-$CASSAY_AGENT-$(pwd); exit 7");
    command.env("A", "set").current_dir("/usr");
    let process = agent.start(&command, &output).unwrap();
    wait_until("it ended", || agent.how_ended(process).is_some());
    let Some(ProcessEnd::Status(status)) = agent.how_ended(process) else {
        panic!("the agent is there")
    };
    assert_eq!(status.code(), Some(7));
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "set--/usr\n");
    assert!(agent.end_process(process, LIMIT).unwrap(), "it went before");

    let gentle = agent.start(&sh("exec sleep 600"), &output).unwrap();
    assert_eq!(agent.how_ended(gentle), None);
    assert!(agent.end_process(gentle, LIMIT).unwrap());
    let deaf = agent
        .start(
            &sh("trap '' TERM; echo deaf; while :; do sleep 1; done"),
            &output,
        )
        .unwrap();
    wait_until("it is deaf", || {
        std::fs::read_to_string(&output).unwrap().contains("deaf")
    });
    assert!(!agent.end_process(deaf, Duration::from_millis(10)).unwrap());

    let missing = process::command(Path::new("/nonexistent/java"));
    let said = format!("{:#}", agent.start(&missing, &output).unwrap_err());
    assert!(said.contains("/nonexistent/java"), "{said}");
    let outside = agent.start(&sh("true"), &root.path().join("output"));
    let said = format!("{:#}", outside.unwrap_err());
    assert!(said.contains("is not a file of this agent"), "{said}");
    let stranger = Identity::own();
    let said = format!("{:#}", agent.end_process(stranger, LIMIT).unwrap_err());
    assert!(said.contains("did not start process"), "{said}");

    let last = agent.start(&sh("exec sleep 600"), &output).unwrap();
    agent.end().unwrap();
    assert!(!last.alive() && !cluster.exists());
    let Some(ProcessEnd::Status(status)) = agent.how_ended(last) else {
        panic!("its end was told before the agent's")
    };
    assert_eq!(status.signal(), Some(9));
}

#[test]
fn a_kept_agent_is_found_with_what_has_ended_meanwhile() {
    let root = tempfile::tempdir().unwrap();
    let cluster = root.path().join("cluster");
    let agent = Agent::start_on_machine(&id("kept-machine"), &cluster).unwrap();
    let output = cluster.join("output");
    // Ends immediately, because its input file does not exist.
    let ends = agent.start(&sh("read line < go"), &output).unwrap();
    let stays = agent.start(&sh("exec sleep 600"), &output).unwrap();
    agent.keep().unwrap();
    drop(agent);
    wait_until("it ended", || !ends.alive());

    let agent = Agent::reach_machine(&cluster).unwrap();
    wait_until("its end is told", || agent.how_ended(ends).is_some());
    assert_eq!(agent.how_ended(stays), None);
    drop(agent);
    assert!(stays.alive(), "a kept agent stays");

    let agent = Agent::reach_machine(&cluster).unwrap();
    agent.end().unwrap();
    assert!(!stays.alive() && !cluster.exists());
}
