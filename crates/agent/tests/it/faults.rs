//! Tests of process faults. If a process is killed or silent, the agent or the guard restores the
//! target in time, or removes it.

use crate::endings::{agents_of_cluster, kill};
use crate::hosts::{LIMIT, id, wait_until};
use crate::outlive::{another, part};
use host::process::{self, Identity};
use host::{Agent, Bytes, FileStep, Injection, ProcessEnd, Query, QueryAnswer, Restartable};
use measure::clock;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use target_spec::Invocation;

/// Short enough for a test to wait for its end.
const SOON: Duration = Duration::from_millis(200);

fn sleep() -> Command {
    let mut command = process::command(Path::new("/bin/sh"));
    command.args(["-c", "echo started; exec sleep 600"]);
    command
}

fn start(agent: &Agent, folder: &Path) -> Identity {
    agent.start(&sleep(), &folder.join("cluster/output")).unwrap()
}

fn state(agent: &Agent, process: Identity) -> Option<char> {
    match agent.see(Query::Process(process)).unwrap() {
        QueryAnswer::Process(state) => state,
        other => panic!("another answer: {other:?}"),
    }
}

fn is_stopped(process: Identity) -> bool {
    process::state(process) == Some('T')
}

#[test]
fn a_paused_process_continues_on_command_or_timeout() {
    let root = tempfile::tempdir().unwrap();
    let cluster = id("pause");
    let agent = Agent::start_on_machine(&cluster, &root.path().join("cluster")).unwrap();
    let (one, other) = (start(&agent, root.path()), start(&agent, root.path()));

    let broken = agent.inject(Injection::Pause(one), LIMIT).unwrap();
    wait_until("it is stopped", || state(&agent, one) == Some('T'));
    assert!(!is_stopped(other) && other.alive(), "and no other");
    // The new guard must also receive the undo list.
    let guards = agents_of_cluster(&cluster, "machine", true);
    kill(&guards);
    wait_until("there is another", || {
        let now = agents_of_cluster(&cluster, "machine", true);
        now.len() == 1 && now != guards
    });
    assert!(is_stopped(one));
    let healed = agent.heal(broken).unwrap();
    assert_eq!(
        (&healed.processes[..], healed.by_itself),
        (&[one][..], false)
    );
    wait_until("it goes on", || !is_stopped(one));
    assert!(agent.heal(broken).unwrap().by_itself, "it was whole before");

    let broken = agent.inject(Injection::Pause(one), SOON).unwrap();
    wait_until("it goes on", || !is_stopped(one));
    assert!(agent.heal(broken).unwrap().by_itself);

    let stranger = Injection::Pause(Identity::own());
    let said = format!("{:#}", agent.inject(stranger, SOON).unwrap_err());
    assert!(said.contains("did not start process"), "{said}");

    agent.inject(Injection::Pause(other), LIMIT).unwrap();
    agent.end().unwrap();
    assert!(!one.alive() && !other.alive());
}

#[test]
fn a_process_has_another_wall_clock_until_it_has_its_own_again() {
    let root = tempfile::tempdir().unwrap();
    let agent = Agent::start_on_machine(&id("clock"), &root.path().join("cluster")).unwrap();
    let output = root.path().join("cluster/output");
    let library = root.path().join("cluster/clock.so");
    let mut tell = process::command(Path::new("/bin/sh"));
    tell.args(["-c", "date +%s; exec sleep 600"]);
    let first = agent.start(&tell, &output).unwrap();
    let times = |count: usize| -> Vec<i64> {
        wait_until("it has told the time", || {
            std::fs::read_to_string(&output).unwrap().lines().count() == count
        });
        let text = std::fs::read_to_string(&output).unwrap();
        text.lines().map(|line| line.parse().unwrap()).collect()
    };
    times(1);

    let process = Restartable::new(first, &tell, &output).unwrap();
    let (instead, forth) = process.clone().shifted(-3_600_000, &library).unwrap();
    let what = Injection::Instead {
        process,
        instead,
        forth: vec![forth],
        back: vec![FileStep::Remove(library.clone())],
    };
    let broken = agent.inject(what, LIMIT).unwrap();
    let told = times(2);
    // The remaining time is an hour minus the duration of the test.
    assert!((3000..=3600).contains(&(told[0] - told[1])), "{told:?}");
    agent.heal(broken).unwrap();
    let told = times(3);
    assert!((0..600).contains(&(told[2] - told[0])), "{told:?}");
    assert!(!first.alive() && !library.exists());
    agent.end().unwrap();
}

#[test]
fn a_file_is_changed_for_one_start_and_changed_back() {
    let root = tempfile::tempdir().unwrap();
    let agent = Agent::start_on_machine(&id("files"), &root.path().join("cluster")).unwrap();
    let (file, output) = (
        root.path().join("cluster/file"),
        root.path().join("cluster/output"),
    );
    let write = |text: &str| FileStep::Write {
        path: file.clone(),
        bytes: Bytes(text.as_bytes().to_vec()),
        is_private: false,
    };
    let mut read = process::command(Path::new("/bin/sh"));
    read.args(["-c", "cat \"$0\"; exec sleep 600"]).arg(&file);
    agent.change(vec![write("old\n")]).unwrap();
    let first = agent.start(&read, &output).unwrap();
    let says = |lines: &str| {
        wait_until("it says what it has read", || {
            std::fs::read_to_string(&output).unwrap() == lines
        });
    };
    let changed = |process: Identity| Injection::Files {
        reader: Some(Restartable::new(process, &read, &output).unwrap()),
        forth: vec![write("new\n")],
        back: vec![write("old\n")],
    };

    says("old\n");
    let broken = agent.inject(changed(first), LIMIT).unwrap();
    let second = agent.started(broken).unwrap()[0];
    says("old\nnew\n");
    assert!(!first.alive() && second.alive());
    let third = agent.heal(broken).unwrap().processes[0];
    says("old\nnew\nold\n");
    assert!(!second.alive() && third.alive());

    // The agent heals the fault when its time limit expires.
    let broken = agent.inject(changed(third), SOON).unwrap();
    says("old\nnew\nold\nnew\nold\n");
    let healed = agent.heal(broken).unwrap();
    assert!(healed.by_itself && healed.processes[0].alive());

    // If a step fails, the agent undoes the earlier steps, even if it cannot undo the failed one.
    let last = healed.processes[0];
    let astray = Injection::Files {
        reader: Some(Restartable::new(last, &read, &output).unwrap()),
        forth: vec![write("new\n"), FileStep::Remove("/etc/passwd".into())],
        back: vec![FileStep::Remove("/etc/passwd".into()), write("old\n")],
    };
    agent.inject(astray, LIMIT).unwrap_err();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "old\n");
    says("old\nnew\nold\nnew\nold\nold\n");
    agent.end().unwrap();
}

#[test]
fn a_killed_process_restarts_on_command_or_timeout() {
    let root = tempfile::tempdir().unwrap();
    let agent = Agent::start_on_machine(&id("kill"), &root.path().join("cluster")).unwrap();
    let output = root.path().join("cluster/output");
    let first = start(&agent, root.path());
    let again = |process: Identity| {
        let one = Restartable::new(process, &sleep(), &output).unwrap();
        Injection::Kill(one)
    };

    let begun = |count: usize| {
        wait_until("it has begun", || {
            std::fs::read_to_string(&output).unwrap().lines().count() == count
        });
    };
    begun(1);
    let broken = agent.inject(again(first), LIMIT).unwrap();
    wait_until("its end is told", || agent.how_ended(first).is_some());
    assert_eq!(state(&agent, first), None);
    let healed = agent.heal(broken).unwrap();
    let second = healed.processes[0];
    assert!(second.alive() && second != first && !healed.by_itself);
    assert_eq!(
        agent.heal(broken).unwrap().processes,
        [second],
        "not a third"
    );

    begun(2);
    let broken = agent.inject(again(second), SOON).unwrap();
    begun(3);
    let healed = agent.heal(broken).unwrap();
    let third = healed.processes[0];
    assert!(third.alive() && third != second && healed.by_itself);

    agent.inject(again(third), LIMIT).unwrap();
    agent.end().unwrap();
    assert!(!third.alive(), "and no fourth");
    assert!(matches!(
        agent.how_ended(third),
        Some(ProcessEnd::Status(_))
    ));
}

/// Returns a fault during which a file exists.
fn commands(folder: &Path) -> Injection {
    let program = |program: &str| Invocation {
        words: [program, "./broken"].map(str::to_owned).to_vec(),
        folder: folder.to_owned(),
    };
    Injection::Command {
        inject: program("touch"),
        heal: program("rm"),
    }
}

#[test]
fn a_programs_fault_is_healed_by_another_after_any_kill() {
    let root = tempfile::tempdir().unwrap();
    let broken = root.path().join("broken");
    let cluster = id("commands");
    let agent = Agent::start_on_machine(&cluster, &root.path().join("cluster")).unwrap();
    let what = agent.inject(commands(root.path()), LIMIT).unwrap();
    assert!(broken.exists());
    agent.heal(what).unwrap();
    assert!(!broken.exists());
    agent.inject(commands(root.path()), SOON).unwrap();
    wait_until("it heals by itself", || !broken.exists());
    // A failed injecting program may have injected a part of the fault.
    let nowhere = Injection::Command {
        inject: Invocation {
            words: vec!["false".to_owned()],
            folder: root.path().to_owned(),
        },
        heal: Invocation {
            words: ["touch", "healed"].map(str::to_owned).to_vec(),
            folder: root.path().to_owned(),
        },
    };
    let error = agent.inject(nowhere, LIMIT).unwrap_err();
    let said = format!("{error:#}");
    assert!(said.contains("false ended with 1"), "{said}");
    assert!(root.path().join("healed").exists());

    agent.inject(commands(root.path()), LIMIT).unwrap();
    kill(&agents_of_cluster(&cluster, "machine", false));
    wait_until("its guard heals", || !broken.exists());
}

#[test]
fn a_kept_agent_heals_when_its_controller_has_gone() {
    let root = tempfile::tempdir().unwrap();
    let cluster = root.path().join("cluster");
    let agent = Agent::start_on_machine(&id("kept-pause"), &cluster).unwrap();
    let process = start(&agent, root.path());
    agent.keep().unwrap();
    agent.inject(Injection::Pause(process), SOON).unwrap();
    drop(agent);
    wait_until("it goes on", || process.alive() && !is_stopped(process));
    Agent::reach_machine(&cluster).unwrap().end().unwrap();
    assert!(!process.alive());
}

#[test]
fn a_fault_ends_when_its_controller_or_agent_is_killed() {
    if let Some(folder) = part() {
        let cluster = folder.join("cluster");
        let agent = Agent::start_on_machine(&id("broken"), &cluster).unwrap();
        let process = start(&agent, &folder);
        agent.inject(Injection::Pause(process), LIMIT).unwrap();
        let text = format!("{} {}", process.pid, process.start_ticks);
        std::fs::write(folder.join("part"), text).unwrap();
        std::fs::rename(folder.join("part"), folder.join("broken")).unwrap();
        // The test kills this child process while it sleeps.
        clock::sleep(Duration::from_secs(600));
        return;
    }
    let test = "faults::a_fault_ends_when_its_controller_or_agent_is_killed";
    for kills_agent in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let broken = folder.path().join("broken");
        let mut child = another(test, folder.path());
        wait_until("it is broken", || broken.exists());
        let text = std::fs::read_to_string(&broken).unwrap();
        let (pid, start_ticks) = text.split_once(' ').unwrap();
        let process = Identity {
            pid: pid.parse().unwrap(),
            start_ticks: start_ticks.parse().unwrap(),
        };
        wait_until("it is stopped", || is_stopped(process));
        let agents = agents_of_cluster(&format!("test-broken-{}", child.id()), "machine", false);
        assert_eq!(agents.len(), 1);
        if kills_agent {
            kill(&agents)
        } else {
            child.kill().unwrap()
        }
        wait_until("it has gone", || !process.alive());
        wait_until("the folder has gone", || {
            !folder.path().join("cluster").exists()
        });
        // The test may already have killed this child process.
        let _ = child.kill();
        child.wait().unwrap();
    }
}
