//! Tests of volume faults. Every process that uses the volume is affected, until the fault is
//! healed.

use crate::hosts::{LIMIT, able, assert_gone, link_of, make, shell, spec, start, wait_until};
use host::process;
use host::{
    Agent, Attempt, Broken, Bytes, DiskWork, FileStep, Host, Hosts, Injection, MountedFileSystem,
    Query, QueryAnswer, Restartable, volume_capabilities,
};
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use std::time::Duration;
use target_spec::{Capability, CapabilityStatus, DiskSpec, HostSpec};
use tempfile::TempDir;

/// Time limit after which the result of an attempt counts as missing.
pub const SHORT: Duration = Duration::from_millis(500);

const VOLUME_BYTES: u64 = 128 << 20;

/// Creates hosts with volumes. Returns `None` if the machine does not permit that.
pub fn hosts(name: &str, count: usize) -> Option<(TempDir, Hosts)> {
    let missing: Vec<&CapabilityStatus> =
        volume_capabilities().iter().filter(|one| !one.present).collect();
    if !missing.is_empty() {
        crate::skipped::unable(&format!("{missing:?}"));
        return None;
    }
    if !able(&[Capability::Hosts, Capability::Volume]) {
        return None;
    }
    let root = tempfile::tempdir().unwrap();
    let host = HostSpec {
        volume_bytes: Some(VOLUME_BYTES),
        ..HostSpec::default()
    };
    let hosts = make(name, &spec(count, host), &root.path().join("cluster"));
    Some((root, hosts))
}

/// Returns the result of a disk test with one block.
pub fn tried(host: &Host, limit: Duration) -> (Attempt, Attempt) {
    tried_with(host, DiskWork::default(), limit)
}

fn tried_with(host: &Host, work: DiskWork, limit: Duration) -> (Attempt, Attempt) {
    let folder = host.folder().to_owned();
    let sight = Query::TryDisk {
        folder,
        work,
        limit,
    };
    let QueryAnswer::Disk { write, read } = host.agent().see(sight).unwrap() else {
        panic!("another answer")
    };
    (write, read)
}

pub fn is_whole(host: &Host) -> bool {
    matches!(tried(host, LIMIT), (Attempt::Took(_), Attempt::Took(_)))
}

pub fn mounted(host: &Host) -> Option<MountedFileSystem> {
    let folder = host.folder().to_owned();
    match host.agent().see(Query::Mount { folder }).unwrap() {
        QueryAnswer::Mount(mounted) => mounted,
        other => panic!("{other:?}"),
    }
}

/// Writes a file to the host's disk.
pub fn put(host: &Host, name: &str, bytes: &[u8]) -> PathBuf {
    let path = host.folder().join(name);
    let mut steps = vec![FileStep::write(path.clone(), "")];
    // Each piece fits into one message.
    steps.extend(bytes.chunks(500_000).map(|piece| FileStep::Append {
        path: path.clone(),
        bytes: Bytes(piece.to_vec()),
    }));
    for step in steps {
        host.agent().change(vec![step]).unwrap();
    }
    let synced = shell(host, &format!("sync {}", path.display()));
    assert!(synced.status.success(), "{}", synced.text);
    path
}

/// Starts a process with an open file on a host's volume. Returns the process, with the command
/// that restarts it.
pub fn run(host: &Host, line: &str) -> Restartable {
    let (process, output) = start(host, line);
    let mut again = process::command(Path::new("/bin/sh"));
    let folder = host.folder().display();
    again.args([
        "-c",
        &format!("cd {folder}; echo again >> again; exec sleep 600"),
    ]);
    Restartable::new(process, &again, &output).unwrap()
}

pub fn works(host: &Host) -> Restartable {
    run(
        host,
        &format!("cd {}; exec sleep 600 > open", host.folder().display()),
    )
}

fn refused(errno: Errno) -> Attempt {
    Attempt::Refused(errno.raw_os_error())
}

pub fn breaks(host: &Host, what: Injection) -> Broken {
    host.agent().inject(what, LIMIT).unwrap()
}

/// Asserts that the process survives the fault, heals the fault, and asserts that the process is
/// restarted. Returns the new process.
fn healed(host: &Host, one: &Restartable, broken: Broken) -> Restartable {
    assert!(one.process.alive(), "it goes on with it");
    let healed = host.agent().heal(broken).unwrap();
    assert!(!one.process.alive() && healed.processes.len() == 1);
    assert!(healed.processes[0].alive() && is_whole(host));
    let mount = mounted(host).unwrap();
    assert!(!mount.is_read_only && !mount.is_shut_down, "{mount:?}");
    let mut other = one.clone();
    other.process = healed.processes[0];
    other
}

#[test]
fn a_disk_that_fails_is_seen_and_whole_when_it_is_healed() {
    let Some((_root, hosts)) = hosts("failing", 1) else {
        return;
    };
    let (state, link) = (hosts.state(), link_of(&hosts.state()));
    let host = &hosts.all()[0];
    let bytes: Vec<u8> = (0..300_000).map(|at| (at % 251) as u8).collect();
    let file = put(host, "file", &bytes);
    assert!(is_whole(host));
    let one = works(host);
    let processes = vec![one.clone()];
    let broken = breaks(host, Injection::DiskRemoved { processes });
    let seen = tried(host, LIMIT);
    assert_eq!(seen, (refused(Errno::IO), refused(Errno::IO)));
    assert!(mounted(host).unwrap().is_shut_down);
    let second = healed(host, &one, broken);

    let processes = vec![second.clone()];
    let broken = breaks(host, Injection::DiskReadOnly { processes });
    let seen = tried(host, LIMIT);
    assert_eq!(seen.0, refused(Errno::ROFS));
    assert!(matches!(seen.1, Attempt::Took(_)), "{seen:?}");
    assert!(mounted(host).unwrap().is_read_only);
    healed(host, &second, broken);
    assert_eq!(host.agent().read(&file).unwrap(), bytes);
    hosts.end().unwrap();
    assert_gone(&state, link);
}

#[test]
fn a_disk_fails_from_some_place_on() {
    let Some((_root, hosts)) = hosts("errors", 1) else {
        return;
    };
    let host = &hosts.all()[0];
    let bytes = vec![7; 8 << 20];
    let (first, last) = (put(host, "first", &bytes), put(host, "last", &bytes));
    let look = |path: &Path, at: u64| {
        let path = path.to_owned();
        let sight = Query::Bytes {
            path,
            at,
            bytes: 100,
        };
        match host.agent().see(sight).unwrap() {
            QueryAnswer::Bytes { on_disk, .. } => on_disk,
            other => panic!("{other:?}"),
        }
    };
    let good = Ok(Bytes(vec![7; 100]));
    assert_eq!(look(&last, 5 << 20), good);
    let broken = breaks(
        host,
        Injection::DiskErrors {
            path: last.clone(),
            at: 4 << 20,
            processes: vec![works(host)],
        },
    );
    assert_eq!(look(&first, 5 << 20), good, "before the place");
    assert_eq!(look(&last, (4 << 20) + 4096), Err(Errno::IO.raw_os_error()));
    assert!(host.agent().read(&last).is_err());
    host.agent().heal(broken).unwrap();
    assert_eq!(look(&last, (4 << 20) + 4096), good);
    assert_eq!(host.agent().read(&last).unwrap(), bytes);
    assert!(is_whole(host));
}

#[test]
fn a_stalled_disk_blocks_writers_and_not_readers() {
    let Some((_root, hosts)) = hosts("stalled", 1) else {
        return;
    };
    let host = &hosts.all()[0];
    let file = put(host, "file", &[1; 10_000]);
    let broken = breaks(host, Injection::DiskStalled);
    let seen = tried(host, Duration::from_secs(2));
    assert!(
        matches!(seen, (Attempt::Silent, Attempt::Took(_))),
        "{seen:?}"
    );
    // More calls than the maximum number of hanging test processes.
    for _ in 0..8 {
        assert_eq!(tried(host, SHORT).0, Attempt::Silent);
    }
    assert_eq!(host.agent().read(&file).unwrap(), [1; 10_000]);
    let folder = host.folder().to_owned();
    let space = host.agent().see(Query::Space { folder }).unwrap();
    assert_eq!(space, QueryAnswer::Space(host.usage().unwrap()));
    let said = format!(
        "{:#}",
        host.agent().change(vec![FileStep::write(file.clone(), "x")]).unwrap_err()
    );
    assert!(said.contains("the volume of this path is frozen"), "{said}");
    let again = host.agent().inject(Injection::DiskStalled, LIMIT).unwrap_err();
    assert!(format!("{again:#}").contains("one at a time"), "{again:#}");
    assert_eq!(
        tried(host, SHORT).0,
        Attempt::Silent,
        "that did not thaw it"
    );
    host.agent().heal(broken).unwrap();
    assert!(is_whole(host));
    host.agent().change(vec![FileStep::write(file, "x")]).unwrap();

    // After the time limit, the agent heals the fault, and a process that waits for the disk
    // continues.
    let broken = host.agent().inject(Injection::DiskStalled, SHORT).unwrap();
    let output = host.folder().join("late");
    let line = format!("echo late > {}", output.display());
    assert!(shell_of(host.agent(), &line, &host.folder().join("shell")));
    assert_eq!(host.agent().read(&output).unwrap(), b"late\n");
    assert!(host.agent().heal(broken).unwrap().by_itself);
}

/// Runs a command whose output file can be created only when the volume accepts writes.
fn shell_of(agent: &Agent, line: &str, output: &Path) -> bool {
    let mut command = process::command(Path::new("/bin/sh"));
    command.args(["-c", line]);
    let mut started = None;
    wait_until("it can be started", || {
        started = agent.start(&command, output).ok();
        started.is_some()
    });
    wait_until("it ended", || agent.how_ended(started.unwrap()).is_some());
    true
}

#[test]
fn a_full_disk_has_as_much_room_as_it_was_left() {
    const LEFT: u64 = 300 << 10;
    const BYTES: usize = 600 << 10;
    let Some((_root, hosts)) = hosts("full", 1) else {
        return;
    };
    let host = &hosts.all()[0];
    let before = host.usage().unwrap().available_bytes;
    let broken = breaks(host, Injection::DiskFull { leave_bytes: LEFT });
    let left = host.usage().unwrap().available_bytes;
    assert!(left.abs_diff(LEFT) < 128 << 10, "{left}");
    let write = |name: &str, bytes: usize| {
        let step = FileStep::write(host.folder().join(name), vec![1; bytes]);
        host.agent().change(vec![step])
    };
    let said = format!("{:#}", write("second", BYTES).unwrap_err());
    assert!(said.contains("No space left on device"), "{said}");
    assert!(write("first", 1000).is_ok());
    host.agent().heal(broken).unwrap();
    write("second", BYTES).unwrap();
    let after = host.usage().unwrap().available_bytes + BYTES as u64;
    assert!(after.abs_diff(before) < 1 << 20, "{before} {after}");

    let most = Injection::DiskFull {
        leave_bytes: u64::MAX,
    };
    assert!(host.agent().inject(most, LIMIT).is_err());
    let broken = host.agent().inject(Injection::DiskFull { leave_bytes: 0 }, SHORT).unwrap();
    wait_until("there is room again", || write("third", BYTES).is_ok());
    assert!(host.agent().heal(broken).unwrap().by_itself);
}

/// The process of a disk test has the limits of its host. An idle disk serves the requests of a
/// tenth of a second immediately, regardless of its limit.
/// limit.
#[test]
fn a_slow_disk_is_seen_to_be_slow() {
    if !able(&[Capability::DiskLimit]) {
        return;
    }
    let Some((_root, hosts)) = hosts("slow", 1) else {
        return;
    };
    let host = &hosts.all()[0];
    put(host, "file", &[1; 2 << 20]);
    let rate = |rate| DiskSpec {
        write_bytes_per_s: Some(rate),
        read_bytes_per_s: Some(rate),
        ..DiskSpec::default()
    };
    let iops = |iops| DiskSpec {
        write_iops: Some(iops),
        read_iops: Some(iops),
        ..DiskSpec::default()
    };
    for slow in [rate(64 << 10), rate(10 << 20), iops(10), iops(200)] {
        let (work, takes) = DiskWork::showing(&slow);
        let took = || match tried_with(host, work, LIMIT) {
            (Attempt::Took(write), Attempt::Took(read)) => (write, read),
            other => panic!("{other:?}"),
        };
        let broken = breaks(host, Injection::Disk(slow));
        for _ in 0..5 {
            let (write, read) = took();
            assert!(
                write > takes / 2 && read > takes / 2,
                "{slow:?} {write:?} {read:?}"
            );
        }
        host.agent().heal(broken).unwrap();
        wait_until("it is as fast as before", || {
            let (write, read) = took();
            write < takes / 2 && read < takes / 2
        });
    }
}
