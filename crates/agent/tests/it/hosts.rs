//! Tests of simulated hosts, through their agents.

use host::probe::{Probes, Reading};
use host::process::{self, Identity};
use host::{Agent, Bytes, FileStep, Host, Hosts, HostsState, ProcessEnd, Watch, capabilities};
use measure::clock::{self, Deadline};
use rustix::fs::{Mode, OFlags};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use target_spec::{Capability, CapabilityStatus, HostIndex, HostSpec, HostsSpec, Isolation, Seat};

/// Long enough for a loaded machine. A test that reaches it fails.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Returns true if this machine has the capabilities of a test. Otherwise reports that the test is
/// omitted.
pub fn able(needs: &[Capability]) -> bool {
    let missing: Vec<&CapabilityStatus> = capabilities()
        .iter()
        .filter(|able| needs.contains(&able.capability) && !able.present)
        .collect();
    if missing.is_empty() {
        return true;
    }
    crate::skipped::unable(&format!("{missing:?}"));
    false
}

pub fn spec(count: usize, host: HostSpec) -> HostsSpec {
    HostsSpec {
        count,
        isolation: Isolation::Hosts,
        host,
        ..HostsSpec::default()
    }
}

pub fn id(name: &str) -> String {
    format!("test-{name}-{}", Identity::own().pid)
}

pub fn make(name: &str, spec: &HostsSpec, folder: &Path) -> Hosts {
    try_make(name, spec, folder).unwrap()
}

pub fn try_make(name: &str, spec: &HostsSpec, folder: &Path) -> anyhow::Result<Hosts> {
    let switch = Agent::start_switch(&id(name), folder)?;
    Hosts::make(&id(name), spec, folder, switch, &mut |_| ())
}

pub struct Output {
    pub status: ExitStatus,
    pub text: String,
}

pub fn shell(host: &Host, line: &str) -> Output {
    let (process, output) = start(host, line);
    wait_until("the shell has ended", || {
        host.agent().how_ended(process).is_some()
    });
    let Some(ProcessEnd::Status(status)) = host.agent().how_ended(process) else {
        panic!("its agent ended")
    };
    let text = String::from_utf8(host.agent().read(&output).unwrap()).unwrap();
    Output {
        status,
        text: text.trim().to_string(),
    }
}

/// Starts a shell command on a host. Returns the process and its output file.
pub fn start(host: &Host, line: &str) -> (Identity, PathBuf) {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let output = host.folder().join(format!("shell-{number}.out"));
    let mut command = process::command(Path::new("/bin/sh"));
    command.args(["-c", line]).current_dir("/");
    (host.agent().start(&command, &output).unwrap(), output)
}

/// Runs a function in a host's network namespace, on a separate thread.
pub fn inside<T: Send>(host: &Host, run: impl FnOnce() -> T + Send) -> T {
    let path = format!("/proc/{}/ns/net", host.agent().process().pid);
    let open = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    std::thread::scope(|scope| {
        let enter = || {
            move_into_link_name_space(open.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            run()
        };
        scope.spawn(enter).join().unwrap()
    })
}

pub fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Deadline::after(LIMIT);
    while !done() {
        assert!(!deadline.passed(), "still not after {LIMIT:?}: {what}");
        clock::sleep(Duration::from_millis(5));
    }
}

/// Returns true if a connection that `connect` makes to `listener` transfers a byte.
fn carries(listener: &TcpListener, connect: impl FnOnce(SocketAddr) -> TcpStream) -> bool {
    let mut client = connect(listener.local_addr().unwrap());
    let (mut server, _) = listener.accept().unwrap();
    server.write_all(b"x").unwrap();
    let mut byte = [0];
    client.read_exact(&mut byte).is_ok() && byte == *b"x"
}

fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect_timeout(&address, LIMIT).unwrap()
}

fn listener(host: &Host) -> TcpListener {
    let bind = || TcpListener::bind((host.address(), 0)).unwrap();
    inside(host, bind)
}

/// Returns the interface index of the hosts' link on this machine, which no later link has.
pub fn link_of(state: &HostsState) -> Option<String> {
    let [_, range, part, _] = state.network.unwrap().octets();
    std::fs::read_to_string(format!("/sys/class/net/cassay{range}-{part}/ifindex")).ok()
}

/// Asserts that no objects of the hosts remain on the machine. `before` is the index of their link.
pub fn assert_gone(state: &HostsState, before: Option<String>) {
    assert!(before.is_some());
    // The kernel removes a namespace some time after the end of its last user.
    wait_until("the link has gone", || link_of(state) != before);
    for host in &state.hosts {
        for place in &host.places {
            wait_until("its control group has gone", || !place.dir.exists());
        }
        let image = host.folder.with_extension("img");
        wait_until("its image has gone", || !image.exists());
        if let Some(device) = &host.device {
            let backing = format!("/sys/block/{device}/loop/backing_file");
            let image = image.display().to_string();
            wait_until("the loop device is free", || {
                // Another test may already use the loop device with another image.
                !std::fs::read_to_string(&backing).is_ok_and(|text| text.contains(&image))
            });
        }
        wait_until("its folder has gone", || !host.folder.exists());
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let folder = state.hosts[0].folder.parent().unwrap();
    assert!(!mounts.contains(&folder.display().to_string()), "{mounts}");
}

#[test]
fn hosts_reach_each_other_and_the_machine_and_nothing_else() {
    if !able(&[Capability::Hosts, Capability::CpuSet]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let hosts = make("reach", &spec(2, HostSpec::default()), folder.path());
    let state = hosts.state();
    let before = link_of(&state);
    let [one, two] = hosts.all() else {
        panic!("two were asked for")
    };
    assert_eq!((one.name(), two.name()), ("host1", "host2"));
    assert_ne!(one.address(), two.address());
    let from = |host: &Host, address| inside(host, || connect(address));
    for host in [one, two] {
        let listener = listener(host);
        assert!(carries(&listener, connect), "from the machine");
        assert!(carries(&listener, |to| from(one, to)), "from host1");
        assert!(carries(&listener, |to| from(two, to)), "from host2");
    }
    let [a, b, c, _] = one.address().octets();
    let machine = TcpListener::bind((Ipv4Addr::new(a, b, c, 254), 0)).unwrap();
    assert!(carries(&machine, |to| from(one, to)), "to the machine");
    // This documentation address has no route from a host.
    let outside = || TcpStream::connect("192.0.2.2:9").unwrap_err().kind();
    let refusal = inside(one, outside);
    assert_eq!(refusal, ErrorKind::NetworkUnreachable);

    let seat = |slot: usize| Seat {
        host: HostIndex(0),
        slot,
    };
    let second = hosts.address(seat(1)).unwrap();
    assert_eq!(hosts.address(seat(0)).unwrap(), one.address());
    assert_ne!(second, two.address());
    assert_eq!(hosts.address(seat(1)).unwrap(), second, "asked again");
    let bind = || TcpListener::bind((second, 0)).unwrap();
    let further = inside(one, bind);
    assert!(carries(&further, |to| from(two, to)), "a second node of it");

    assert!(shell(one, "cat /proc/net/dev").text.contains("eth0:"));
    hosts.end().unwrap();
    assert_gone(&state, before);
    hosts.end().unwrap();
}

#[test]
fn a_volume_has_its_size_and_is_full_at_its_end() {
    if !able(&[Capability::Hosts, Capability::Volume]) {
        return;
    }
    const BYTES: u64 = 128 << 20;
    let folder = tempfile::tempdir().unwrap();
    let host = HostSpec {
        volume_bytes: Some(BYTES),
        ..HostSpec::default()
    };
    let hosts = make("volume", &spec(2, host), folder.path());
    let (state, link_before) = (hosts.state(), link_of(&hosts.state()));
    let host = &hosts.all()[0];
    assert_eq!(host.folder(), folder.path().join("host1"));
    let before = host.usage().unwrap();
    assert!(before.total_bytes > BYTES / 10 * 8 && before.total_bytes < BYTES);
    let image = host.folder().with_extension("img");
    assert!(!image.exists(), "it has no name");

    let file = host.folder().join("file");
    let agent = host.agent();
    agent.change(vec![FileStep::write(file.clone(), "")]).unwrap();
    let append = FileStep::Append {
        path: file.clone(),
        bytes: Bytes(vec![7; 512 << 10]),
    };
    let refusal = (0..BYTES >> 19).find_map(|_| agent.change(vec![append.clone()]).err());
    let refusal = format!("{:#}", refusal.expect("it must be full by now"));
    assert!(refusal.contains("No space left on device"), "{refusal}");
    assert!(host.usage().unwrap().used_bytes > before.used_bytes + before.available_bytes / 2);
    let beside = hosts.all()[1].usage().unwrap();
    assert_eq!(beside.used_bytes, before.used_bytes, "host2 has its own");
    assert_eq!(agent.device_bytes(host.folder()).unwrap(), Some(BYTES));
    // Neither another host's agent nor the machine has access to the file.
    let refused = hosts.all()[1].agent().read(&file).unwrap_err();
    let refused = format!("{refused:#}");
    assert!(refused.contains("is not a file of this agent"), "{refused}");
    assert!(!file.exists());
    // Dropping `hosts` also ends the hosts, and removes the volume's file.
    drop(hosts);
    assert_gone(&state, link_before);
}

#[test]
fn volumes_that_the_disk_cannot_hold_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let host = HostSpec {
        volume_bytes: Some(1 << 60),
        ..HostSpec::default()
    };
    let made = try_make("x", &spec(2, host), &folder.path().join("cluster"));
    let error = format!("{:#}", made.unwrap_err());
    assert!(
        error.contains("smaller volumes, or choose another data folder"),
        "{error}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn two_clusters_of_hosts_live_side_by_side() {
    if !able(&[Capability::Hosts]) {
        return;
    }
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let made: Vec<Hosts> = std::thread::scope(|scope| {
        let threads: Vec<_> = folders
            .iter()
            .enumerate()
            .map(|(number, folder)| {
                let name = format!("side{number}");
                scope.spawn(move || make(&name, &spec(1, HostSpec::default()), folder.path()))
            })
            .collect();
        threads.into_iter().map(|one| one.join().unwrap()).collect()
    });
    for (at, hosts) in made.iter().enumerate() {
        let host = &hosts.all()[0];
        let networks: Vec<_> = made[..at].iter().map(|one| one.state().network).collect();
        assert!(!networks.contains(&hosts.state().network));
        assert!(carries(&listener(host), connect));
    }
}

#[test]
fn a_stand_in_has_its_own_figures() {
    let needs = [
        Capability::Hosts,
        Capability::CpuLimit,
        Capability::MemoryLimit,
        Capability::Volume,
    ];
    if !able(&needs) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let limits = HostSpec {
        cpu_quota: Some(0.5),
        memory_bytes: Some(64 << 20),
        volume_bytes: Some(128 << 20),
        ..HostSpec::default()
    };
    let hosts = make("figures", &spec(1, limits), folder.path());
    let host = &hosts.all()[0];
    let period = Duration::from_millis(20);
    let (mut watch, mut ours) = (Watch::default(), Watch::default());
    watch.stand_in(period, host).unwrap();
    ours.machine(period, hosts.all());
    let samplers = [watch.by(host.agent()), ours.ours("probe-test")];
    let probes = Probes::start(samplers.map(Result::unwrap).into()).unwrap();
    let mut readings: Vec<Reading> = Vec::new();
    // The first reading of a rate is that of the second sample.
    wait_until("there are figures of both", || {
        readings.extend(probes.take());
        let has = |name: &str| readings.iter().any(|one| &*one.name == name);
        has("cgroup.cpu_used") && has("vmstat.cs")
    });
    drop(probes);
    let device = hosts.state().hosts[0].device.clone().unwrap();
    let ends_so = |one: &&Reading| one.place.ends_with(&format!("/{device}"));
    let mut of_device = readings.iter().filter(ends_so).peekable();
    assert!(of_device.peek().is_some(), "no figures of its volume");
    assert!(of_device.all(|one| one.place.starts_with("host1/")));
    let of = |name: &str| {
        let own = |one: &&Reading| &*one.name == name && one.place.starts_with("host1");
        let found = readings.iter().find(own);
        found.unwrap_or_else(|| panic!("{name} is missing")).value
    };
    // The host has no running process.
    assert_eq!(of("cgroup.cpu_used"), 0.0);
    assert!(of("cgroup.memory_used") < 1e6);
    assert_eq!(of("netstat.established"), 0.0);
    assert!(of("volume.available") > 1e6 && of("volume.used_share") < 100.0);
}
