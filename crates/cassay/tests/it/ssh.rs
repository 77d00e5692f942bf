//! Tests machines that cassay reaches by `ssh`. cassay copies itself to the machine, runs there and
//! leaves no process behind. If a machine cannot be reached, cassay reports this in one sentence,
//! with a hint.

mod attached;
mod clients;
pub(crate) mod sshd;

use crate::program::{ProgramOutput, Started, skip, wait_until};
use rustix::process::Signal;
use sshd::{Machines, TestMachine, keygen, missing, script};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Skips the test with a message if this machine lacks a program or a right that the test needs.
macro_rules! needs_sshd {
    () => {
        if let Some(why) = missing() {
            return skip(&why);
        }
    };
}

/// Returns the files in a folder with their inode numbers. A file that was written again has
/// another inode number.
fn programs(folder: &Path) -> Vec<(PathBuf, u64)> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<_> =
        files.map(|file| (file.path(), file.metadata().unwrap().ino())).collect();
    files.sort();
    files
}

#[test]
fn the_program_is_put_there_once_and_again_when_it_is_damaged() {
    needs_sshd!();
    let machines = Machines::with(&TestMachine::bare("db1"));
    let hosts = machines.show(&["--target", "ssh:db1"]).ended_with(0).json();
    assert_eq!(hosts[0]["host"], "db1");
    let first = programs(&machines.cache("db1"));
    let [(file, _)] = &first[..] else {
        panic!("{first:?}");
    };
    assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o700);
    machines.show(&["--target", "ssh:db1"]).ended_with(0);
    assert_eq!(
        programs(&machines.cache("db1")),
        first,
        "it was there already"
    );
    // The changed file has the same length, and differs in one bit.
    let whole = fs::read(file).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    fs::write(file, damaged).unwrap();
    machines.show(&["--target", "ssh:db1"]).ended_with(0);
    assert!(fs::read(file).unwrap() == whole, "it was put there again");
    machines.wait_until_left("db1");
}

/// Creates a file in a cache, as if another run had created it `age_s` seconds ago.
fn leave(machines: &Machines, file: &str, age_s: u64) {
    let file = format!(".cache/cassay/agents/{file}");
    machines.write("db1", &file, b"x");
    let written = fs::File::options().write(true).open(machines.home("db1").join(&file));
    let now = UNIX_EPOCH + Duration::from_nanos(measure::clock::unix_ns());
    written.unwrap().set_modified(now - Duration::from_secs(age_s)).unwrap();
}

#[test]
fn the_last_two_programs_stay_and_nothing_else_is_touched() {
    needs_sshd!();
    let machines = Machines::with(&TestMachine::bare("db1"));
    machines.show(&["--target", "ssh:db1"]).ended_with(0);
    let own = programs(&machines.cache("db1")).remove(0).0;
    let old = |digit: &str, more: &str| format!("agent-{}{more}", digit.repeat(64));
    let stays = [
        (old("1", ""), 100),
        (old("5", ".db1.7.part"), 100),
        ("agent-mine".to_owned(), 400),
        ("notes.part".to_owned(), 100_000),
    ];
    let goes = [
        (old("2", ""), 300),
        (old("3", ""), 200),
        (old("4", ".db1.7.part"), 100_000),
    ];
    for (file, age_s) in stays.iter().chain(&goes) {
        leave(&machines, file, *age_s);
    }
    machines.show(&["--target", "ssh:db1"]).ended_with(0);
    let mut expected: Vec<PathBuf> =
        stays.iter().map(|(file, _)| machines.cache("db1").join(file)).collect();
    expected.push(own);
    expected.sort();
    let left: Vec<PathBuf> =
        programs(&machines.cache("db1")).into_iter().map(|(file, _)| file).collect();
    assert_eq!(left, expected);
}

#[test]
fn a_program_that_is_installed_is_used_if_it_is_ours() {
    needs_sshd!();
    let machines = Machines::with(&TestMachine::new("db1"));
    machines.show(&["--target", "ssh:db1"]).ended_with(0);
    assert!(!machines.cache("db1").exists(), "nothing was put there");
    fs::remove_file(machines.folder("db1").join("bin/cassay")).unwrap();
    machines.install("db1", "cassay", "echo another one");
    // If the user names a folder, this folder must contain everything that cassay writes on the
    // machine.
    let folder = machines.home("db1").join("of-cassay");
    let named = folder.to_str().unwrap();
    machines.show(&["--target", "ssh:db1", "--folder", named]).ended_with(0);
    assert_eq!(
        programs(&folder).len(),
        1,
        "the program, and nothing of the agent's"
    );
    assert!(!machines.cache("db1").exists());
    machines.wait_until_left("db1");
    let said = machines.show(&["--target", "ssh:db1", "--folder", "here"]).ended_with(1);
    said.says(&[
        "\"here\" is not a folder for the program on db1",
        "absolute path",
    ]);
    let said = machines.show(&["--target", "local", "--folder", named]).ended_with(1);
    said.says(&["--target ssh:HOST"]);
}

#[test]
fn a_refused_login_is_reported_with_its_reason_and_remedy() {
    needs_sshd!();
    let machines = Machines::with(&TestMachine::new("db1"));
    let said =
        |name: &str| machines.show(&["--target", &format!("ssh:{name}")]).ended_with(1).stderr;
    let told = |name: &str, parts: &[&str]| {
        let said = said(name);
        assert!(said.starts_with(&format!("error: {name}: ")), "{said}");
        for part in parts {
            assert!(said.contains(part), "{part:?} is not said in {said}");
        }
    };
    let known = fs::read_to_string(machines.near("known")).unwrap();
    fs::write(machines.near("known"), "").unwrap();
    told(
        "db1",
        &[
            "this machine's known_hosts does not contain the host key of the machine",
            "run `ssh db1` once",
        ],
    );
    keygen(&machines.folder("db1").join("other"));
    machines.know("db1", "other.pub");
    let forget = format!(
        "`ssh-keygen -f {} -R 'db1'`",
        machines.near("known").display()
    );
    told(
        "db1",
        &[
            "differs from the key in this machine's known_hosts",
            &forget,
        ],
    );
    fs::write(machines.near("known"), known).unwrap();
    told("stranger@db1", &["no such user (stranger@", "USER@HOST"]);
    fs::remove_file(machines.near("key")).unwrap();
    keygen(&machines.near("key"));
    told(
        "db1",
        &["the machine accepts none of your keys", "`ssh-add -l`"],
    );
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    machines.name("off", nobody);
    told(
        "off",
        &[
            "no sshd listens at that address and port",
            &format!("port {nobody}"),
            "check the address",
        ],
    );
    told(
        "ssh://nowhere.invalid:22",
        &[
            "name resolution does not find the name of the machine",
            "HostName",
        ],
    );
}

#[test]
fn a_folder_where_nothing_can_be_started_or_written_is_named() {
    needs_sshd!();
    let machines = Machines::with(&TestMachine {
        before: "mkdir $HOME/noexec $HOME/full; \
                 mount -t tmpfs -o noexec,mode=0777 none $HOME/noexec; \
                 mount -t tmpfs -o size=64k,mode=0777 none $HOME/full",
        ..TestMachine::bare("db1")
    });
    let home = machines.home("db1");
    let told = |folder: &str, parts: &[&str]| {
        let folder = home.join(folder);
        let arguments = ["--target", "ssh:db1", "--folder", folder.to_str().unwrap()];
        let said = machines.show(&arguments).ended_with(1);
        said.says(&[folder.to_str().unwrap(), "hint: ", "another folder"]).says(parts);
    };
    told("noexec", &["which is mounted with noexec"]);
    told(
        "full",
        &["cassay cannot write", "No space left on device", "df -h"],
    );
    machines.write("db1", "file", b"x");
    told("file/below", &["cassay cannot create", "Not a directory"]);
    machines.wait_until_left("db1");
}

#[test]
fn sudo_is_used_if_requested_and_reported_if_it_fails() {
    needs_sshd!();
    let machines = Machines::with(&TestMachine::new("db1"));
    let as_root = ["--target", "ssh:db1", "--sudo"];
    let said = machines.show(&as_root).ended_with(1);
    said.says(&["db1: the machine has no sudo", "root@HOST"]);
    machines.install(
        "db1",
        "sudo",
        "echo 'sudo: a password is required' >&2; exit 1",
    );
    let said = machines.show(&as_root).ended_with(1);
    said.says(&["cassay does not enter", "NOPASSWD"]);
    let sudo = "printf '%s\\n' \"$1\" > $HOME/asked; shift; exec \"$@\"";
    machines.install("db1", "sudo", sudo);
    machines.show(&as_root).ended_with(0);
    let asked = fs::read_to_string(machines.home("db1").join("asked")).unwrap();
    assert_eq!(asked, "-n\n", "sudo never asks for a password");
    fs::remove_file(machines.home("db1").join("asked")).unwrap();
    machines.show(&["--target", "ssh:db1"]).ended_with(0);
    assert!(!machines.home("db1").join("asked").exists());
    machines.wait_until_left("db1");
}

/// A shell that accepts only one command, as fish would parse it, and no `sh` syntax.
const STRICT: &str = r#"
[ $# = 2 ] && [ "$1" = -c ] || exit 7
inner=${2#"exec sh -c '"}
[ "$inner" != "$2" ] || exit 8
inner=${inner%"'"}
case $inner in *"'"*) exit 9 ;; esac
exec sh -c "$inner""#;

#[test]
fn any_login_shell_will_do_that_starts_another_one() {
    needs_sshd!();
    let strict = Machines::new();
    let shell = strict.lab.path().join("strict");
    script(&shell, STRICT);
    let shells = [
        "/bin/bash",
        "/usr/bin/fish",
        "/bin/csh",
        "/bin/tcsh",
        "/bin/zsh",
    ];
    let installed = shells.map(Path::new).into_iter().filter(|shell| shell.exists());
    for shell in installed.chain([shell.as_path()]) {
        let machines = Machines::with(&TestMachine {
            shell: shell.to_str().unwrap(),
            ..TestMachine::new("db1")
        });
        machines.show(&["--target", "ssh:db1"]).ended_with(0);
    }
    let machines = Machines::with(&TestMachine {
        shell: "/bin/false",
        ..TestMachine::new("db1")
    });
    let said = machines.show(&["--target", "ssh:db1"]).ended_with(1);
    said.says(&[
        "the login shell ended with status 1",
        "`ssh db1 true` must succeed",
    ]);
}

#[test]
fn output_of_start_files_and_banners_is_skipped_up_to_a_limit() {
    needs_sshd!();
    let folder = Machines::new();
    let banner = folder.lab.write("banner", &"You are watched.\n".repeat(12_000));
    let machines = Machines::with(&TestMachine {
        sshd: &format!("Banner {}", banner.display()),
        ..TestMachine::new("db1")
    });
    let says = |text: &str| {
        machines.write("db1", ".ssh/rc", text.as_bytes());
        machines.show(&["--target", "ssh:db1"])
    };
    says("head -c 60000 /dev/zero | tr '\\0' x; echo").ended_with(0);
    // The capacity of a pipe is 64 KiB. A reader that does not read stderr at the same time would
    // wait forever.
    says("head -c 1000000 /dev/zero | tr '\\0' x >&2").ended_with(0);
    let said = says("head -c 100000 /dev/zero | tr '\\0' x").ended_with(1);
    said.says(&["startup files", "more than 64 KiB", "[ -t 1 ]"]);
    assert!(said.stderr.len() < 1000, "{said}");
    machines.wait_until_left("db1");
}

#[test]
fn unreachable_machines_are_named_and_the_others_left_alone() {
    needs_sshd!();
    let mut machines = Machines::new();
    for name in ["db1", "db3", "db5"] {
        machines.start(&TestMachine::new(name));
    }
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    machines.name("db2", nobody);
    let said = machines
        .show(&["--target", "ssh:db1,db2,db3,nowhere.invalid,db5"])
        .ended_with(1);
    said.says(&[
        "cassay did not reach 2 of 5 machines",
        "db2: no sshd listens at that address and port",
        "nowhere.invalid: name resolution does not find the name of the machine",
    ]);
    assert_eq!(said.stderr.matches("hint: ").count(), 2, "{said}");
    for name in ["db1", "db3", "db5"] {
        machines.wait_until_left(name);
    }
    let all = machines.show(&["--target", "ssh:db5,db1,db3"]).ended_with(0).json();
    let names: Vec<_> = all.as_array().unwrap().iter().map(|one| &one["host"]).collect();
    assert_eq!(names, ["db5", "db1", "db3"]);
}

#[test]
fn nothing_runs_there_after_the_near_side_was_killed() {
    needs_sshd!();
    let mut machines = Machines::with(&TestMachine::new("db1"));
    // One machine accepts the login and sends nothing. So cassay waits for this machine while its
    // agent on `db1` is running.
    machines.start(&TestMachine {
        sshd: "ForceCommand cat > /dev/null",
        ..TestMachine::new("silent")
    });
    for signal in [Signal::KILL, Signal::INT] {
        let near = Started::new(machines.command(&["doctor", "--target", "ssh:silent,db1"]));
        wait_until("an agent and its guard", || {
            machines.running("db1").len() >= 2
        });
        near.signal(signal);
        machines.wait_until_left("db1");
    }
}

#[test]
fn a_machine_that_accepts_and_stays_silent_times_out() {
    needs_sshd!();
    let machines = Machines::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    machines.name("silent", silent.local_addr().unwrap().port());
    let said = machines.show(&["--target", "ssh:silent"]).ended_with(1);
    said.says(&["silent: the machine does not answer", "timed out", "hint: "]);
}

#[test]
fn another_processor_gets_the_program_that_lies_at_hand_for_it() {
    needs_sshd!();
    let machines = Machines::with(&TestMachine::new("db1"));
    let (theirs, ours) = match std::env::consts::ARCH {
        "aarch64" => ("x86_64", "aarch64"),
        ours => ("aarch64", ours),
    };
    fs::remove_file(machines.folder("db1").join("bin/uname")).unwrap();
    let uname = format!("case $1 in -m) echo {theirs};; -s) echo Linux;; *) echo db1;; esac");
    machines.install("db1", "uname", &uname);
    let file = machines.near("cache").join(format!("cassay-{theirs}"));
    let show = || machines.show(&["--target", "ssh:db1"]);
    let said = show().ended_with(1);
    said.says(&[
        &format!("the processor of the machine is {theirs}, but this program is for {ours}"),
        file.to_str().unwrap(),
        &format!("cargo xtask dist --only {theirs}"),
    ]);
    fs::create_dir_all(machines.near("cache")).unwrap();
    fs::copy(machines.near("bin/cassay"), &file).unwrap();
    show()
        .ended_with(1)
        .says(&[&format!("is a program for {ours}, not for {theirs}")]);
    // A program of another build announces its build in the first message. cassay must refuse this
    // build.
    let hello = "{\"Hello\":{\"build\":\"x\",\"process\":{\"pid\":1,\"start_ticks\":1}}}";
    let length = format!("\\{:o}\\0\\0\\0", hello.len());
    script(&file, &format!("printf '{length}%s' '{hello}'; exec cat"));
    show().ended_with(1).says(&[file.to_str().unwrap(), "is from another build"]);
    let real = machines.near("bin/cassay");
    script(&file, &format!("exec {} \"$@\"", real.display()));
    show().ended_with(0);
    machines.wait_until_left("db1");
}

/// Writes `lab.yaml` with these machines. Each machine has a folder in its home.
fn file_of(machines: &Machines, names: &[&str]) {
    let mut text = "machines:\n".to_owned();
    for name in names {
        let folder = machines.home(name).join("nodes");
        text += &format!("- {{ssh: {name}, folder: {}}}\n", folder.display());
    }
    machines.lab.write("lab.yaml", &text);
}

#[test]
fn machines_are_looked_at_and_what_nobody_has_is_cleaned_away() {
    needs_sshd!();
    let machines = Machines::with(&TestMachine::new("db1"));
    file_of(&machines, &["db1"]);
    // The folder contains leftovers of a cluster whose agent has ended, and files of other
    // programs.
    machines.write("db1", "nodes/1a2b-3c/agents/host1/agent.log", b"");
    machines.write("db1", "nodes/1a2b-3c/host1/node1/data/x", b"x");
    machines.write("db1", "nodes/notes.txt", b"mine");
    let cassay = |arguments: &[&str]| {
        ProgramOutput::from_output(machines.command(arguments).output().unwrap())
    };
    let seen = cassay(&["hosts", "check", "lab.yaml", "--json"]).json();
    let left = serde_json::json!([{"cluster": "1a2b-3c", "host": "host1", "running": false}]);
    assert_eq!(seen[0]["clusters"], left, "{seen:#}");
    assert_eq!(seen[0]["root"], false);
    assert!(seen[0]["clock_bound_ns"].as_u64() > Some(0), "{seen:#}");
    let said = cassay(&["hosts", "check", "lab.yaml"]).to_string();
    assert!(
        said.contains("left files on the machine (host host1)"),
        "{said}"
    );
    cassay(&["hosts", "clean", "lab.yaml"])
        .ended_with(0)
        .says(&["cassay removed the cluster 1a2b-3c"]);
    let names = || {
        let entries = fs::read_dir(machines.home("db1").join("nodes")).unwrap().flatten();
        entries
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(), ["notes.txt"]);
    let speed = cassay(&["hosts", "bench", "lab.yaml", "--json"]).ended_with(0).json();
    assert!(
        speed["disks"][0]["write_bytes_per_s"].as_f64() > Some(0.0),
        "{speed:#}"
    );
}

#[test]
fn a_run_names_all_unreachable_machines_before_it_starts() {
    needs_sshd!();
    let machines = Machines::with(&TestMachine::new("db1"));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for name in ["db2", "db3"] {
        machines.name(name, port);
    }
    file_of(&machines, &["db1", "db2", "db3"]);
    let study = "study: s\nquestion: q\ntarget: {local: {hosts: 3}}\nworkload: {use: kv, mix: \
                 {write: 1}}\nprocedure: {fixed: {threads: 1}}\n";
    machines.lab.write("study.yaml", study);
    let run = ["run", "study.yaml", "--machines", "lab.yaml"];
    let said = ProgramOutput::from_output(machines.command(&run).output().unwrap()).ended_with(1);
    said.says(&["db2: ", "db3: "]);
    // The command still checks the machines that it can reach.
    let check = machines.command(&["hosts", "check", "lab.yaml"]).output().unwrap();
    let rows = ProgramOutput::from_output(check).ended_with(1).to_string();
    for what in [
        "error: db2: ",
        "error: db3: ",
        "2 of 3 machines cannot run nodes",
    ] {
        assert!(rows.contains(what), "{rows}");
    }
    assert!(
        rows.lines().any(|line| line.trim_start().starts_with("db1 ")),
        "{rows}"
    );
    let clean = machines.command(&["hosts", "clean", "lab.yaml"]).output().unwrap();
    ProgramOutput::from_output(clean)
        .ended_with(1)
        .says(&["nothing to remove", "cassay did not reach 2 of 3 machines"]);
    assert!(!machines.lab.path().join("results/s").exists(), "{said}");
    // If another person wrote the study, its machines need trust.
    let text = fs::read_to_string(machines.lab.path().join("lab.yaml")).unwrap();
    machines.lab.write("beside.yaml", &text);
    let study = study.replace("hosts: 3", "machines: beside.yaml");
    machines.lab.write("study.yaml", &study);
    let said =
        ProgramOutput::from_output(machines.command(&["plan", "study.yaml"]).output().unwrap());
    said.ended_with(2).says(&["runs this program on db1", "--trust"]);
    let plan = ["plan", "study.yaml", "--trust"];
    let said = ProgramOutput::from_output(machines.command(&plan).output().unwrap())
        .ended_with(0)
        .to_string();
    assert!(said.contains("on the machines db1 db2 db3"), "{said}");
}
