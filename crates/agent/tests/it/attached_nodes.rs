//! Tests of a server that cassay did not start. The agent stops, kills and pauses it, and it must
//! serve again afterwards, even if one of the processes is killed.

use crate::endings::{agents_of_cluster, kill};
use crate::hosts::{LIMIT, id, wait_until};
use host::process::{self, Identity};
use host::{Agent, Injection, Service, ServiceBreak, ServiceFault};
use measure::clock;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use target_spec::ProcessControl;

/// Environment variable with the address at which a child process serves.
const SERVES: &str = "CASSAY_TEST_SERVES";

/// Longer than any test.
const LONG: Duration = Duration::from_secs(600);

/// Runs the server if this process has the environment variable [`SERVES`]. The server ends when
/// its folder is removed.
fn serve() {
    let Ok(address) = std::env::var(SERVES) else {
        return;
    };
    let listener = TcpListener::bind(address).unwrap();
    std::fs::write("pid", std::process::id().to_string()).unwrap();
    while Path::new("pid").exists() {
        clock::sleep(Duration::from_millis(20));
    }
    drop(listener);
}

/// Server with its stop and start commands. Dropping this value ends the server.
struct Server {
    folder: tempfile::TempDir,
    service: Service,
}

impl Server {
    fn start() -> Server {
        let folder = tempfile::tempdir().unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let program = std::env::current_exe().unwrap();
        let begin = format!(
            "cd {}; echo x >> starts; {SERVES}={free} setsid {} --exact attached_nodes::{TEST} \
             </dev/null >/dev/null 2>&1 &",
            folder.path().display(),
            program.display()
        );
        let stop = script(folder.path(), "stop", "cd ${0%/*} && kill $(cat pid)");
        let start = script(folder.path(), "start", &begin);
        let server = Server {
            service: service(free, &stop, &start),
            folder,
        };
        let started = process::command(&start).status().unwrap();
        assert!(started.success());
        wait_until("it serves", || server.process().is_some());
        server
    }

    fn process(&self) -> Option<Identity> {
        self.service.process().unwrap()
    }

    fn starts(&self) -> usize {
        std::fs::read_to_string(self.folder.path().join("starts"))
            .unwrap()
            .lines()
            .count()
    }

    /// Injects a fault. Returns the earlier process of the server, and the fault.
    fn broken(&self, agent: &Agent, how: ServiceBreak) -> (Identity, host::Broken) {
        let process = self.process().unwrap();
        let what = Injection::Service(ServiceFault {
            service: self.service.clone(),
            process,
            how,
        });
        (process, agent.inject(what, LONG).unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.folder.path().join("pid"));
    }
}

fn service(serves: SocketAddr, stop: &Path, start: &Path) -> Service {
    let words = |program: &Path| vec![program.display().to_string()];
    Service {
        serves,
        control: Some(ProcessControl::Command {
            stop: words(stop),
            start: words(start),
        }),
    }
}

fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
    let file = folder.join(name);
    std::fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    file
}

/// Returns an agent with an undo list below `folder`.
fn agent(cluster: &str, folder: &Path) -> Agent {
    let agent = Agent::start_on_machine(cluster, &folder.join("cluster")).unwrap();
    assert_eq!(agent.mend(Some(folder)).unwrap(), [""; 0]);
    agent
}

/// Test whose child process is the server.
const TEST: &str = "a_stop_or_kill_changes_the_process_and_a_pause_does_not";

#[test]
fn a_stop_or_kill_changes_the_process_and_a_pause_does_not() {
    if std::env::var_os(SERVES).is_some() {
        return serve();
    }
    let (server, root) = (Server::start(), tempfile::tempdir().unwrap());
    let agent = agent(&id("others"), root.path());
    for how in [ServiceBreak::Stop, ServiceBreak::Kill] {
        let (before, broken) = server.broken(&agent, how);
        assert!(!before.alive() && server.process().is_none(), "{how:?}");
        let healed = agent.heal(broken).unwrap();
        assert_eq!(
            healed.processes,
            Vec::from_iter(server.process()),
            "{how:?}"
        );
        assert_ne!(healed.processes, [before], "{how:?}");
        agent.heal(broken).unwrap();
    }
    assert_eq!(server.starts(), 3, "healing twice starts it once");
    let (before, broken) = server.broken(&agent, ServiceBreak::Pause);
    assert_eq!(process::state(before), Some('T'));
    agent.heal(broken).unwrap();
    wait_until("it goes on", || process::state(before) != Some('T'));
    assert_eq!(server.process(), Some(before));
    let stale = Injection::Service(ServiceFault {
        service: server.service.clone(),
        process: Identity::own(),
        how: ServiceBreak::Kill,
    });
    let said = format!("{:#}", agent.inject(stale, LONG).unwrap_err());
    assert!(said.contains("no longer serves"), "{said}");
    std::fs::remove_file(server.folder.path().join("pid")).unwrap();
    wait_until("its owner has stopped it", || server.process().is_none());
    let gone = Injection::Service(ServiceFault {
        service: server.service.clone(),
        process: before,
        how: ServiceBreak::Stop,
    });
    assert!(agent.inject(gone, LONG).is_err());
    assert_eq!(server.starts(), 3, "what its owner has stopped stays so");
    drop(agent);
    assert!(server.process().is_none() && server.starts() == 3);
    assert!(
        !root.path().join("undo").exists(),
        "nothing stays written down"
    );
}

#[test]
fn it_serves_again_when_its_agent_ends_or_is_killed() {
    let (server, root) = (Server::start(), tempfile::tempdir().unwrap());
    let cluster = id("others-end");
    let first = agent(&cluster, root.path());
    server.broken(&first, ServiceBreak::Stop);
    drop(first);
    wait_until("its agent has started it", || server.process().is_some());
    let second = agent(&cluster, root.path());
    let (before, _) = server.broken(&second, ServiceBreak::Pause);
    kill(&[second.process()]);
    wait_until("its guard lets it go on", || {
        process::state(before) != Some('T')
    });
    let third = agent(&cluster, root.path());
    server.broken(&third, ServiceBreak::Kill);
    kill(&[third.process()]);
    wait_until("its guard has started it", || server.process().is_some());
    wait_until("its guard has ended", || {
        agents_of_cluster(&cluster, "machine", true).is_empty()
    });
    assert_eq!(server.starts(), 3);
}

#[test]
fn a_service_runs_again_after_agent_and_guard_were_killed() {
    let (server, root) = (Server::start(), tempfile::tempdir().unwrap());
    let cluster = id("others-both");
    let first = agent(&cluster, root.path());
    server.broken(&first, ServiceBreak::Kill);
    // A running agent would replace a killed guard.
    first.process().signal(rustix::process::Signal::STOP);
    let guards = agents_of_cluster(&cluster, "machine", true);
    assert_eq!(guards.len(), 1);
    kill(&guards);
    kill(&[first.process()]);
    assert!(first.process().wait_gone(LIMIT));
    assert!(server.process().is_none());
    let second = Agent::start_on_machine(&cluster, &root.path().join("other")).unwrap();
    let said = second.mend(Some(root.path())).unwrap();
    let started = format!("cassay started the server of {}", server.service.serves);
    assert!(said.contains(&started), "{said:?}");
    wait_until("it serves", || server.process().is_some());
    assert_eq!(second.mend(Some(root.path())).unwrap(), [""; 0], "once");
    assert!(!root.path().join("undo").exists());
    assert_eq!(server.starts(), 2);
}

#[test]
fn files_of_others_are_read_and_not_written() {
    let root = tempfile::tempdir().unwrap();
    let logs = root.path().join("logs");
    std::fs::create_dir(&logs).unwrap();
    std::fs::write(logs.join("system.log"), "one\n").unwrap();
    let agent = agent(&id("others-files"), root.path());
    let file = logs.join("system.log");
    assert!(agent.read(&file).is_err(), "nobody has lent it");
    agent.lend(&logs).unwrap();
    assert_eq!(agent.read(&file).unwrap(), b"one\n");
    let write = host::FileStep::write(file.clone(), "two\n");
    let said = format!("{:#}", agent.change(vec![write]).unwrap_err());
    assert!(said.contains("only read"), "{said}");
    assert!(agent.lend(&root.path().join("none")).is_err());
    let addresses = ["127.0.0.1", "192.0.2.1"].map(|text| text.parse().unwrap());
    assert_eq!(agent.own_addresses(&addresses).unwrap(), addresses[..1]);
    assert!(
        agent.wall_clock().unwrap().0.abs() < 60_000_000_000,
        "it has our clock"
    );
}
