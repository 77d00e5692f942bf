//! The transport `ssh`, with a script for the program: it says what a login shell says, and runs
//! what it is told to on this machine.

use crate::hosts::{LIMIT, wait_until};
use host::{Agent, process};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Programs in `folder/bin`, of which `ssh` is one.
fn program(folder: &Path, name: &str, text: &str) -> PathBuf {
    let file = folder.join("bin").join(name);
    fs::create_dir_all(folder.join("bin")).unwrap();
    fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
    file
}

/// One that lets everybody in, with a cache of its own.
fn open_ssh(folder: &Path) -> PathBuf {
    let text = format!(
        "for last; do :; done; echo Welcome; export XDG_CACHE_HOME={0}/cache; \
         export PATH={0}/bin:$PATH; exec sh -c \"$last\"",
        folder.display()
    );
    program(folder, "ssh", &text)
}

#[test]
fn this_program_is_put_there_once_and_becomes_an_agent() {
    let root = tempfile::tempdir().unwrap();
    let ssh = open_ssh(root.path());
    let inodes = |_| {
        let agent = Agent::over_ssh(&ssh, "db1").unwrap();
        assert_eq!(agent.abilities().unwrap(), host::abilities());
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
fn who_is_not_let_in_hears_why() {
    let root = tempfile::tempdir().unwrap();
    let refused = |text: &str| {
        let ssh = program(root.path(), "ssh", text);
        format!("{:#}", Agent::over_ssh(&ssh, "me@db1").unwrap_err())
    };
    let said = refused("echo 'me@db1: Permission denied (publickey).' >&2; exit 255");
    assert!(said.starts_with("me@db1: "), "{said}");
    assert!(said.contains("Permission denied (publickey)."), "{said}");
    assert!(said.contains("hint: no key of yours opens it"), "{said}");
    let said = refused("echo cassay-agent: riscv64 0; sleep 600");
    assert!(said.contains("that machine is riscv64"), "{said}");
    let said = refused("echo cassay-agent: $(uname -m) 1; echo 'exec format' >&2");
    assert!(said.contains("exec format"), "{said}");
}
