//! Tests of connections by `ssh`, with a script in its place that prints the lines of a login shell
//! and runs the command on this machine.

use crate::hosts::{LIMIT, wait_until};
use host::{Agent, Destination, process};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Creates a program in `folder/bin`, such as `ssh`.
pub fn program(folder: &Path, name: &str, text: &str) -> PathBuf {
    let file = folder.join("bin").join(name);
    fs::create_dir_all(folder.join("bin")).unwrap();
    fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
    file
}

/// Creates an `ssh` that accepts every login. The simulated machine has a separate cache folder.
pub fn open_ssh(folder: &Path, name: &str) -> PathBuf {
    let text = format!(
        "for last; do :; done; echo Welcome; export XDG_CACHE_HOME={0}/cache; \
         export PATH={0}/bin:$PATH; exec sh -c \"$last\"",
        folder.display()
    );
    program(folder, name, &text)
}

fn destination(program: &Path, ssh: &str) -> Destination {
    Destination::new(ssh, false, None).unwrap().by_program(program)
}

#[test]
fn this_program_is_put_there_once_and_becomes_an_agent() {
    let root = tempfile::tempdir().unwrap();
    let ssh = open_ssh(root.path(), "ssh");
    let inodes = |_| {
        let agent = Agent::to(&destination(&ssh, "db1")).unwrap();
        assert_eq!(agent.capabilities().unwrap(), host::capabilities());
        let mut command = process::command(Path::new("/bin/sleep"));
        command.arg("600");
        let folder = agent.folder().unwrap().to_owned();
        let sleep = agent.start(&command, &folder.join("out")).unwrap();
        let there = agent.process();
        assert!(there.alive() && sleep.alive());
        assert_eq!(agent.read(&folder.join("out")).unwrap(), b"");
        drop(agent);
        assert!(there.wait_gone(LIMIT));
        wait_until("what it began has ended", || !sleep.alive());
        assert!(!folder.exists());
        let agents = fs::read_dir(root.path().join("cache/cassay/agents")).unwrap();
        let files = agents.map(|file| file.unwrap().metadata().unwrap());
        files.map(|file| (file.ino(), file.mode() & 0o777)).collect::<Vec<_>>()
    };
    let [first, second] = [1, 2].map(inodes);
    assert_eq!(first.len(), 1, "no half of a file stays");
    assert_eq!(first[0].1, 0o700);
    assert_eq!(first, second, "it was there already");
}

#[test]
fn a_refused_connection_reports_its_reason() {
    let root = tempfile::tempdir().unwrap();
    let refused = |text: &str| {
        let ssh = program(root.path(), "ssh", text);
        Agent::to(&destination(&ssh, "me@db1")).unwrap_err().to_string()
    };
    let said = refused("echo 'me@db1: Permission denied (publickey).' >&2; exit 255");
    assert!(
        said.starts_with("me@db1: the machine accepts none of your keys"),
        "{said}"
    );
    assert!(said.contains("Permission denied (publickey)"), "{said}");
    let said = refused("echo cassay-agent: is Linux riscv64 gzip -; sleep 600");
    assert!(
        said.contains("the processor of the machine is riscv64"),
        "{said}"
    );
    let said = refused("echo cassay-agent: is Darwin arm64 gzip -; sleep 600");
    assert!(said.contains("the machine runs Darwin"), "{said}");
    let run = "echo cassay-agent: is Linux $(uname -m) gzip -; echo cassay-agent: run";
    let said = refused(&format!(
        "{run}; echo 'exec: Exec format error' >&2; exit 126"
    ));
    assert!(
        said.contains("the kernel of the machine does not run the program"),
        "{said}"
    );
    let said = refused(&format!("{run}; echo 'error: no memory' >&2; exit 2"));
    let ended = "me@db1: the program ended immediately after its start on that machine, with \
                 status 2: error: no memory";
    assert_eq!(said, ended);
}

/// Creates an `ssh` that closes the first `count` connections before the login.
fn hung_up_on(folder: &Path, count: u32) -> PathBuf {
    let text = format!(
        "echo x >> {0}/tried; [ $(wc -l < {0}/tried) -gt {count} ] || {{ echo \
         'kex_exchange_identification: Connection closed by remote host' >&2; exit 255; }}; \
         exec {1} \"$@\"",
        folder.display(),
        open_ssh(folder, "let-in").display()
    );
    program(folder, "ssh", &text)
}

#[test]
fn the_client_retries_a_few_times_if_ssh_hangs_up_before_login() {
    let root = tempfile::tempdir().unwrap();
    let tried = || fs::read_to_string(root.path().join("tried")).unwrap().lines().count();
    let ssh = hung_up_on(root.path(), 1);
    drop(Agent::to(&destination(&ssh, "db1")).unwrap());
    assert_eq!(tried(), 2);
    fs::remove_file(root.path().join("tried")).unwrap();
    let ssh = hung_up_on(root.path(), 100);
    let said = Agent::to(&destination(&ssh, "db1")).unwrap_err().to_string();
    assert!(
        said.contains("closed the connection before the login"),
        "{said}"
    );
    assert!(said.contains("4 times in a row"), "{said}");
    assert_eq!(tried(), 4);
}

/// Programs that the remote script requires, without gzip and sha256sum.
const FEW: [&str; 13] = [
    "sh", "head", "wc", "ls", "expr", "find", "uname", "mkdir", "touch", "chmod", "mv", "rm", "id",
];

#[test]
fn eight_machines_connect_at_a_time_and_all_or_none_are_kept() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().display();
    fs::create_dir(root.path().join("few")).unwrap();
    for tool in FEW {
        let places = ["/bin", "/usr/bin"].map(|bin| Path::new(bin).join(tool));
        let place = places.iter().find(|place| place.exists()).unwrap();
        std::os::unix::fs::symlink(place, root.path().join("few").join(tool)).unwrap();
    }
    let let_in = open_ssh(root.path(), "let-in");
    // Counts concurrent logins, and refuses the machines `bad` and `worse`.
    let text = format!(
        "touch {folder}/on-the-way.$$; ls {folder} | grep -c on-the-way >> {folder}/counts; \
         sleep 0.2; rm {folder}/on-the-way.$$; case $* in *' bad '*|*' worse '*) echo nobody here \
         >&2; exit 255;; esac; PATH={folder}/few exec {} \"$@\"",
        let_in.display()
    );
    let ssh = program(root.path(), "ssh", &text);
    let wanted =
        |names: &[String]| names.iter().map(|name| destination(&ssh, name)).collect::<Vec<_>>();
    let all = |count: u32| {
        let names: Vec<String> = (1..=count).map(|number| format!("db{number}")).collect();
        let agents = Agent::to_all(&wanted(&names)).unwrap();
        let had: Vec<&str> = agents.iter().map(Agent::name).collect();
        assert_eq!(had, names);
        let there: Vec<_> = agents.iter().map(Agent::process).collect();
        drop(agents);
        assert!(there.iter().all(|one| one.wait_gone(LIMIT)));
    };
    // cassay uploads the program to two machines at the same time.
    all(2);
    let programs = fs::read_dir(root.path().join("cache/cassay/agents")).unwrap();
    assert_eq!(programs.count(), 1);
    all(12);
    let counts = fs::read_to_string(root.path().join("counts")).unwrap();
    let most = counts.lines().map(|count| count.parse::<u32>().unwrap()).max();
    assert!(most <= Some(8), "{counts}");
    let names = ["db1", "bad", "db2", "worse"].map(str::to_owned);
    let unreached = Agent::to_all(&wanted(&names)).unwrap_err();
    let who: Vec<&str> = unreached.refusals.iter().map(|one| one.destination.as_str()).collect();
    assert_eq!(who, ["bad", "worse"]);
    let said = unreached.to_string();
    assert!(
        said.starts_with("cassay did not reach 2 of 4 machines\nbad: "),
        "{said}"
    );
}
