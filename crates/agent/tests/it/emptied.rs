//! Tests of processes that lose their data or leave the cluster, and are restarted without data,
//! even if other processes are killed meanwhile.

use crate::endings::{agents_of_cluster, kill};
use crate::hosts::{LIMIT, id, wait_until};
use crate::outlive::{another, part};
use host::process::{self, Identity};
use host::{Agent, FileStep, Injection, Restartable, Start};
use measure::clock;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Short enough for a test to wait for its end.
const SOON: Duration = Duration::from_millis(200);

/// Returns a command that prints `how`, and then sleeps.
fn sleep(how: &str) -> Command {
    let mut command = process::command(Path::new("/bin/sh"));
    command.args(["-c", "echo $0; exec sleep 600", how]);
    command
}

/// Agent with a process, and the process's data in the folders of a cluster.
struct AgentWithData {
    agent: Agent,
    process: Identity,
    folder: PathBuf,
}

impl AgentWithData {
    fn new(id: &str, folder: &Path) -> AgentWithData {
        let agent = Agent::start_on_machine(id, folder).unwrap();
        let process = agent.start(&sleep("first"), &folder.join("output"));
        let kept = AgentWithData {
            process: process.unwrap(),
            agent,
            folder: folder.to_owned(),
        };
        kept.fill();
        wait_until("it has begun", || kept.lines() == ["first"]);
        kept
    }

    fn fill(&self) {
        let files = ["data/table/1-Data.db", "hints/1.hints", "conf/settings"];
        for file in files.map(|file| self.folder.join(file)) {
            let text = "something".to_owned();
            let folder = FileStep::Folder(file.parent().unwrap().to_owned());
            self.agent.change(vec![folder, FileStep::write(file, text)]).unwrap();
        }
    }

    fn folders(&self) -> Vec<PathBuf> {
        ["data", "hints", "never-made"].map(|name| self.folder.join(name)).to_vec()
    }

    /// Returns true if the data folders are empty. The configuration must still exist.
    fn is_empty(&self) -> bool {
        let entries = |name: &str| self.agent.list(&self.folder.join(name), None).unwrap();
        assert_eq!(entries("conf").unwrap().len(), 1, "that is nobody's data");
        let (data, hints) = (entries("data").unwrap(), entries("hints").unwrap());
        data.is_empty() && hints.is_empty()
    }

    fn anew(&self, process: Identity) -> Restartable {
        Restartable::new(process, &sleep("anew"), &self.folder.join("output")).unwrap()
    }

    fn wipe(&self) -> Injection {
        Injection::Wipe {
            process: self.anew(self.process),
            folders: self.folders(),
        }
    }

    fn lines(&self) -> Vec<String> {
        let said = std::fs::read_to_string(self.folder.join("output")).unwrap_or_default();
        said.lines().map(str::to_owned).collect()
    }
}

#[test]
fn a_process_without_data_restarts_on_command_or_timeout() {
    for within in [LIMIT, SOON] {
        let root = tempfile::tempdir().unwrap();
        let kept = AgentWithData::new(&id("wipe"), &root.path().join("cluster"));
        assert!(!kept.is_empty());
        let broken = kept.agent.inject(kept.wipe(), within).unwrap();
        assert!(!kept.process.alive() && kept.is_empty());
        if within == SOON {
            wait_until("it has begun anew", || kept.lines() == ["first", "anew"]);
        }
        let healed = kept.agent.heal(broken).unwrap();
        assert_eq!(healed.by_itself, within == SOON);
        let second = healed.processes[0];
        assert!(second.alive() && second != kept.process);
        wait_until("it has begun anew", || kept.lines() == ["first", "anew"]);

        // A second healing must not remove new data.
        kept.fill();
        assert_eq!(kept.agent.heal(broken).unwrap().processes, [second]);
        assert!(!kept.is_empty());
        kept.agent.end().unwrap();
        assert!(!second.alive());
    }
}

#[test]
fn nothing_is_emptied_of_who_is_a_stranger_or_lives_elsewhere() {
    let root = tempfile::tempdir().unwrap();
    let kept = AgentWithData::new(&id("wipe-none"), &root.path().join("cluster"));
    let outside = root.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let of = |process: Identity, folder: &Path| Injection::Wipe {
        process: kept.anew(process),
        folders: [kept.folders(), vec![folder.to_owned()]].concat(),
    };
    for what in [
        of(Identity::own(), &kept.folder.join("data")),
        of(kept.process, &outside),
    ] {
        kept.agent.inject(what, LIMIT).unwrap_err();
        assert!(kept.process.alive() && !kept.is_empty());
    }
    assert_eq!(kept.lines(), ["first"], "and nothing was started");
    kept.agent.end().unwrap();
}

/// While a leaving process accepts connections, it is a member of the cluster, and its data may be
/// the only copy.
#[test]
fn a_leaving_node_is_emptied_only_after_it_has_left() {
    let root = tempfile::tempdir().unwrap();
    let kept = AgentWithData::new(&id("leave"), &root.path().join("cluster"));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let leave = || Injection::Leave {
        process: kept.anew(kept.process),
        folders: kept.folders(),
        address,
    };
    let broken = kept.agent.inject(leave(), LIMIT).unwrap();
    assert!(
        kept.process.alive() && !kept.is_empty(),
        "it leaves by itself"
    );
    let healed = kept.agent.heal(broken).unwrap();
    assert_eq!(healed.processes, [kept.process]);
    let became = healed.became.unwrap();
    assert_eq!(
        became,
        "the node had not left the ring, so cassay did not change the node"
    );
    assert!(kept.process.alive() && !kept.is_empty());

    let broken = kept.agent.inject(leave(), LIMIT).unwrap();
    drop(listener);
    let healed = kept.agent.heal(broken).unwrap();
    assert_eq!(healed.became, None);
    assert!(healed.processes[0].alive() && !kept.process.alive());
    assert!(kept.is_empty());
    wait_until("it has begun anew", || kept.lines() == ["first", "anew"]);
    kept.agent.end().unwrap();
}

/// Without a controller, the agent itself waits until the process has left the cluster.
#[test]
fn an_agent_that_is_alone_waits_until_who_leaves_has_left() {
    let root = tempfile::tempdir().unwrap();
    let kept = AgentWithData::new(&id("left"), &root.path().join("cluster"));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let leave = Injection::Leave {
        process: kept.anew(kept.process),
        folders: kept.folders(),
        address: listener.local_addr().unwrap(),
    };
    let broken = kept.agent.inject(leave, SOON).unwrap();
    clock::sleep(SOON * 10);
    assert!(kept.process.alive() && !kept.is_empty(), "it is a member");
    drop(listener);
    wait_until("it has begun anew", || kept.lines() == ["first", "anew"]);
    let healed = kept.agent.heal(broken).unwrap();
    assert!(healed.by_itself && healed.became.is_none(), "{healed:?}");
    assert!(kept.is_empty());
    kept.agent.end().unwrap();
}

#[test]
fn a_process_without_data_ends_or_restarts_after_a_kill() {
    if let Some(folder) = part() {
        let kept = AgentWithData::new(&id("wiped"), &folder.join("cluster"));
        let within = if folder.join("kept").exists() {
            SOON * 10
        } else {
            LIMIT
        };
        if within != LIMIT {
            kept.agent.keep().unwrap();
        }
        kept.agent.inject(kept.wipe(), within).unwrap();
        std::fs::write(folder.join("broken"), "").unwrap();
        // The test kills this child process while it sleeps.
        clock::sleep(Duration::from_secs(600));
        return;
    }
    let test = "emptied::a_process_without_data_ends_or_restarts_after_a_kill";
    for (is_kept, kills_agent) in [(true, false), (false, false), (false, true)] {
        let root = tempfile::tempdir().unwrap();
        let (cluster, broken) = (root.path().join("cluster"), root.path().join("broken"));
        if is_kept {
            std::fs::write(root.path().join("kept"), "").unwrap();
        }
        let mut child = another(test, root.path());
        wait_until("it is broken", || broken.exists());
        let id = format!("test-wiped-{}", child.id());
        if kills_agent {
            kill(&agents_of_cluster(&id, "machine", false))
        } else {
            child.kill().unwrap()
        }
        if is_kept {
            let said = || std::fs::read_to_string(cluster.join("output")).unwrap_or_default();
            wait_until("it has begun anew", || said() == "first\nanew\n");
            Agent::reach_machine(&cluster).unwrap().end().unwrap();
            std::fs::remove_dir_all(&cluster).unwrap_or_default();
        }
        wait_until("nothing of it runs", || {
            agents_of_cluster(&id, "machine", false).is_empty()
                && agents_of_cluster(&id, "machine", true).is_empty()
        });
        assert!(!cluster.exists(), "and nothing is left");
        let _ = child.kill();
        child.wait().unwrap();
    }
}

/// A node may end repeatedly because its disk has lost data. If the command was killed, the agent
/// must restart the node.
#[test]
fn a_healed_process_that_keeps_ending_starts_more_tolerantly() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("cluster");
    let agent = Agent::start_on_machine(&id("keep"), &folder).unwrap();
    let output = folder.join("output");
    let shell = |forgives: &str| {
        let mut command = process::command(Path::new("/bin/sh"));
        let script = "echo $FORGIVES; [ $FORGIVES = yes ] && exec sleep 600";
        command.args(["-c", script]).env("FORGIVES", forgives);
        command
    };
    let started = agent.start(&shell("yes"), &output).unwrap();
    // The test listens on the port in place of the process.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let start = Start::new(&shell("no"), &output)
        .unwrap()
        .kept_up(address, &shell("yes"))
        .unwrap();
    let said = || {
        let said = std::fs::read_to_string(&output).unwrap_or_default();
        said.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    wait_until("it has begun", || said() == ["yes"]);
    let kill = Injection::Kill(Restartable::by(started, start.clone()));
    agent.inject(kill, SOON).unwrap();
    wait_until("it lives on", || said() == ["yes", "no", "no", "yes"]);

    // A controller that requests the healing watches the process, so the agent does not.
    let again = agent.start_by(&start).unwrap();
    wait_until("it has begun again", || said().len() == 5);
    let kill = Injection::Kill(Restartable::by(again, start));
    let broken = agent.inject(kill, LIMIT).unwrap();
    agent.heal(broken).unwrap();
    clock::sleep(Duration::from_secs(3));
    assert_eq!(said()[4..], ["no", "no"]);
}
