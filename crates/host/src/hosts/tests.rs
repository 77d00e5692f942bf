//! Tests that make real hosts. Where this machine does not permit it they say so on stderr, past
//! the test harness, and are skipped.
//!
//! The whole test program has a mount namespace of its own, made before any thread is started. A
//! command that is killed, or that leaves kept hosts, is this program again as a child.

mod outlive;

use super::*;
use crate::net::Netlink;
use crate::process::{self, Identity, Life};
use crate::{Able, HostAbility, Isolation, LinkSpec, abilities, cgroup, separate_mounts};
use measure::clock::{self, Deadline};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::Ipv4Addr;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::Duration;

/// Long enough for a loaded machine; reaching it is a failure.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs before `main`, as the binary does it in its first line.
#[used]
// SAFETY: a pointer to a C function is what this section holds.
#[unsafe(link_section = ".init_array")]
static SEPARATE_MOUNTS: extern "C" fn() = {
    extern "C" fn separate() {
        separate_mounts();
    }
    separate
};

/// Whether this machine has what a test needs; otherwise says so.
fn able(needs: &[HostAbility]) -> bool {
    let missing: Vec<&Able> = abilities()
        .iter()
        .filter(|able| needs.contains(&able.what) && !able.present)
        .collect();
    if missing.is_empty() {
        return true;
    }
    let name = std::thread::current().name().unwrap_or("?").to_string();
    let _ = writeln!(std::io::stderr(), "SKIPPED {name}: {missing:?}");
    false
}

fn spec(count: usize, host: HostSpec) -> HostsSpec {
    HostsSpec {
        count,
        isolation: Isolation::Hosts,
        host,
    }
}

fn id(name: &str) -> String {
    format!("test-{name}-{}", Identity::own().pid)
}

fn make(name: &str, spec: &HostsSpec, folder: &Path) -> Hosts {
    Hosts::make(&id(name), spec, folder, &mut |_| ()).unwrap()
}

/// Runs a line of shell on a host.
fn shell(host: &Host, line: &str) -> Output {
    start(host, line, Stdio::piped())
        .wait_with_output()
        .unwrap()
}

fn start(host: &Host, line: &str, out: Stdio) -> std::process::Child {
    let mut command = process::command(Path::new("/bin/sh"));
    command.args(["-c", line]).current_dir("/").stdout(out);
    command.stderr(Stdio::null());
    host.enter(&mut command).unwrap();
    process::spawn(command, Life::Ours).unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_string()
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Deadline::after(LIMIT);
    while !done() {
        assert!(!deadline.passed(), "still not after {LIMIT:?}: {what}");
        clock::sleep(Duration::from_millis(5));
    }
}

/// Whether a connection made by `connect` to `listener` carries a byte.
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

/// A listener on a host.
fn listener(host: &Host) -> TcpListener {
    let bind = || TcpListener::bind((host.address(), 0)).unwrap();
    host.namespace().inside(bind).unwrap()
}

/// The number of the hosts' link on this machine, which no later link will have again.
fn link_of(state: &HostsState) -> Option<i32> {
    let name = switch::name(state.network.unwrap());
    Netlink::open().unwrap().index(&name).ok()
}

/// Asserts that nothing of the hosts of `state`, whose link was `before`, is left on the machine.
fn assert_gone(state: &HostsState, before: Option<i32>) {
    assert!(before.is_some());
    // The kernel takes namespaces down some time after their last user.
    wait_until("the link has gone", || link_of(state) != before);
    for host in &state.hosts {
        for place in &host.places {
            assert!(!place.dir.exists(), "{} is left", place.dir.display());
        }
        assert!(!volume::image(&host.folder).exists());
        if let Some(device) = &host.device {
            let backing = format!("/sys/block/{device}/loop/backing_file");
            let image = volume::image(&host.folder).display().to_string();
            wait_until("the loop device is free", || {
                // Another test may have taken it.
                !std::fs::read_to_string(&backing).is_ok_and(|text| text.contains(&image))
            });
            assert!(!host.folder.exists(), "{} is left", host.folder.display());
        }
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let folder = state.hosts[0].folder.parent().unwrap();
    assert!(!mounts.contains(&folder.display().to_string()), "{mounts}");
}

#[test]
fn the_machine_is_asked_once_what_it_can_do() {
    abilities();
    let made = net::MADE.get();
    for _ in 0..3 {
        // Refused where hosts cannot be made: that is known by now, too.
        let _ = able::require(&HostSpec::default());
        abilities();
    }
    assert_eq!(net::MADE.get(), made);
    if !able(&[HostAbility::Network, HostAbility::CpuQuota]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let spec = spec(1, HostSpec::default());
    let mut hosts = Hosts::make(&id("asked"), &spec, folder.path(), &mut |_| ()).unwrap();
    let made = net::MADE.get();
    for quota in [0.5, 1.0] {
        let limits = HostSpec {
            cpu_quota: Some(quota),
            ..HostSpec::default()
        };
        hosts.all_mut()[0].set_limits(&limits).unwrap();
    }
    assert_eq!(net::MADE.get(), made, "a change of limits makes none");
}

#[test]
fn abilities_are_told_each_once_and_leave_nothing() {
    let told = abilities();
    assert_eq!(told.len(), 8);
    for (at, able) in told.iter().enumerate() {
        assert!(!able.detail.is_empty(), "{able:?}");
        assert!(!told[..at].iter().any(|other| other.what == able.what));
    }
    // Those of other tests are there for a moment, too.
    let trial = format!("cassay-trial-{}-", Identity::own().pid);
    let places = cgroup::places(&cgroup::hierarchies().unwrap(), "x");
    wait_until("no trial group is left", || {
        let entries = places
            .iter()
            .filter_map(|place| std::fs::read_dir(place.dir.parent()?).ok())
            .flatten()
            .flatten();
        let mut names = entries.map(|entry| entry.file_name());
        !names.any(|name| name.to_string_lossy().starts_with(&trial))
    });
}

#[test]
fn hosts_reach_each_other_and_the_machine_and_nothing_else() {
    if !able(&[HostAbility::Network, HostAbility::Cpus]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut hosts = make("reach", &spec(2, HostSpec::default()), folder.path());
    let state = hosts.state();
    let before = link_of(&state);
    let [one, two] = hosts.all() else {
        panic!("two were asked for")
    };
    assert_eq!((one.name(), two.name()), ("host1", "host2"));
    assert_ne!(one.address(), two.address());
    let from = |host: &Host, address| host.namespace().inside(|| connect(address)).unwrap();
    for host in [one, two] {
        let listener = listener(host);
        assert!(carries(&listener, connect), "from the machine");
        assert!(carries(&listener, |to| from(one, to)), "from host1");
        assert!(carries(&listener, |to| from(two, to)), "from host2");
    }
    let [a, b, c, _] = one.address().octets();
    let machine = TcpListener::bind((Ipv4Addr::new(a, b, c, 254), 0)).unwrap();
    assert!(carries(&machine, |to| from(one, to)), "to the machine");
    // An address of documentation, which a host has no way to.
    let outside = || TcpStream::connect("192.0.2.2:9").unwrap_err().kind();
    let refusal = one.namespace().inside(outside).unwrap();
    assert_eq!(refusal, ErrorKind::NetworkUnreachable);

    let second = hosts.address(0, 1).unwrap();
    assert_eq!(hosts.address(0, 0).unwrap(), one.address());
    assert_ne!(second, two.address());
    assert_eq!(hosts.address(0, 1).unwrap(), second, "asked again");
    let bind = || TcpListener::bind((second, 0)).unwrap();
    let further = one.namespace().inside(bind).unwrap();
    assert!(carries(&further, |to| from(two, to)), "a second node of it");

    let dev = |host: &Host| {
        let mut text = String::new();
        let mut file = host.sources().proc_net("dev").unwrap();
        file.read_to_string(&mut text).unwrap();
        text
    };
    assert!(dev(one).contains("eth0:"), "the host's own links");
    assert!(text(&shell(one, "cat /proc/net/dev")).contains("eth0:"));
    hosts.end().unwrap();
    assert_gone(&state, before);
    hosts.end().unwrap();
}

fn words(limits: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pairs = limits.iter();
    pairs
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect()
}

/// With CPU 0 and 64 MiB.
fn assert_cpus_and_memory_obeyed(host: &Host) {
    let cpus = shell(host, "grep Cpus_allowed_list /proc/self/status");
    assert!(text(&cpus).ends_with("\t0"), "{}", text(&cpus));
    // `tail` keeps all of it in memory, which is more than there is.
    let eater = shell(host, "head -c 200000000 /dev/zero | tail -c 200000000");
    assert!(eater.stdout.is_empty(), "it was killed before it could");
    let memory = host.sources().group("memory").unwrap().to_path_buf();
    let kills = ["memory.oom_control", "memory.events"]
        .iter()
        .find_map(|name| std::fs::read_to_string(memory.join(name)).ok())
        .unwrap();
    assert!(kills.contains("oom_kill 1"), "{kills}");
}

#[test]
fn limits_are_set_obeyed_and_changed_while_a_host_runs() {
    let needs = [
        HostAbility::Network,
        HostAbility::Cpus,
        HostAbility::CpuQuota,
        HostAbility::Memory,
        HostAbility::LinkRate,
    ];
    if !able(&needs) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let link = LinkSpec {
        rate_bits_per_s: Some(100_000_000),
        delay: None,
    };
    let limits = HostSpec {
        cpus: Some(vec![0]),
        cpu_quota: Some(0.2),
        memory_bytes: Some(64 << 20),
        volume_bytes: None,
        link,
    };
    let mut hosts = make("limits", &spec(1, limits.clone()), folder.path());
    let state = hosts.state();
    let before = link_of(&state);
    let read = |host: &Host| host.limits().unwrap();
    let host = &mut hosts.all_mut()[0];
    let expected = [
        ("cpu_quota", "0.2"),
        ("cpu_weight", "4"),
        ("cpus", "0"),
        ("link_rate", "100000000"),
        ("memory", "67108864"),
    ];
    assert_eq!(read(host), words(&expected));
    assert_cpus_and_memory_obeyed(host);

    let mut spinner = start(host, "while :; do :; done", Stdio::null());
    let stat = host.sources().group("cpu").unwrap().join("cpu.stat");
    wait_until("the quota has throttled it", || {
        let text = std::fs::read_to_string(&stat).unwrap();
        !text.contains("nr_throttled 0\n")
    });
    let mut other = limits.clone();
    (other.cpu_quota, other.link) = (None, LinkSpec::default());
    other.memory_bytes = Some(256 << 20);
    host.set_limits(&other).unwrap();
    assert!(spinner.try_wait().unwrap().is_none(), "it runs on");
    let expected = [("cpu_weight", "4"), ("cpus", "0"), ("memory", "268435456")];
    assert_eq!(read(host), words(&expected));
    host.set_limits(&limits).unwrap();
    assert_eq!(read(host)["link_rate"], "100000000");
    host.set_limits(&HostSpec::default()).unwrap();
    assert!(read(host).into_keys().eq(["cpu_weight", "cpus"]));

    let volume = HostSpec {
        volume_bytes: Some(1 << 30),
        ..HostSpec::default()
    };
    let error = format!("{:#}", host.set_limits(&volume).unwrap_err());
    assert!(error.contains("size of a volume is fixed"), "{error}");
    // The spinner is killed with its host, and its zombie is no obstacle.
    hosts.end().unwrap();
    assert_eq!(spinner.wait().unwrap().signal(), Some(9));
    assert_gone(&state, before);
}

#[test]
fn a_volume_has_its_size_and_is_full_at_its_end() {
    if !able(&[HostAbility::Network, HostAbility::Volume]) {
        return;
    }
    const BYTES: u64 = 128 << 20;
    let folder = tempfile::tempdir().unwrap();
    let host = HostSpec {
        volume_bytes: Some(BYTES),
        ..HostSpec::default()
    };
    let hosts = make("volume", &spec(2, host), folder.path());
    let (state, link_before) = (hosts.state(), link_of(&hosts.state));
    let host = &hosts.all()[0];
    assert_eq!(host.folder(), folder.path().join("host1"));
    let before = host.usage().unwrap();
    assert!(before.total_bytes > BYTES / 10 * 8 && before.total_bytes < BYTES);
    assert!(!volume::image(host.folder()).exists(), "it has no name");
    assert!(host.volume().unwrap().is_direct());

    let file = host.folder().join("file");
    let mut full = std::fs::File::create(&file).unwrap();
    let chunk = vec![7; 1 << 20];
    let refusal = (0..BYTES >> 20).find_map(|_| full.write_all(&chunk).err());
    let refusal = refusal.expect("it must be full by now");
    assert_eq!(refusal.kind(), ErrorKind::StorageFull);
    assert!(host.usage().unwrap().used_bytes > before.used_bytes + before.available_bytes / 2);
    let beside = hosts.all()[1].usage().unwrap();
    assert_eq!(beside.used_bytes, before.used_bytes, "host2 has its own");
    drop(full);
    // A drop ends them, too, with the file in it.
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
    let made = Hosts::make("x", &spec(2, host), folder.path(), &mut |_| ());
    let error = format!("{:#}", made.unwrap_err());
    assert!(
        error.contains("smaller or choose another data folder"),
        "{error}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_delay_is_set_or_refused_with_the_kernel_option() {
    if !able(&[HostAbility::Network]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let host = HostSpec {
        link: LinkSpec {
            rate_bits_per_s: None,
            delay: Some(Duration::from_millis(1)),
        },
        ..HostSpec::default()
    };
    let made = Hosts::make(&id("delay"), &spec(1, host), folder.path(), &mut |_| ());
    let present = abilities()
        .iter()
        .any(|able| able.what == HostAbility::LinkDelay && able.present);
    match made {
        Ok(hosts) => {
            assert!(present);
            assert_eq!(hosts.all()[0].limits().unwrap()["link_delay"], "1000000");
        }
        Err(error) => {
            let error = format!("{error:#}");
            assert!(
                !present && error.contains("CONFIG_NET_SCH_NETEM"),
                "{error}"
            );
        }
    }
}

#[test]
fn the_page_cache_of_one_host_is_dropped_alone() {
    let needs = [
        HostAbility::Network,
        HostAbility::Volume,
        HostAbility::PageCache,
    ];
    if !able(&needs) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let host = HostSpec {
        volume_bytes: Some(128 << 20),
        ..HostSpec::default()
    };
    let hosts = make("cache", &spec(2, host), folder.path());
    let cached = |host: &Host| -> u64 {
        let group = host.sources().group("memory").unwrap().join("memory.stat");
        let text = std::fs::read_to_string(group).unwrap();
        let mut lines = text.lines();
        let value = lines.find_map(|line| {
            let words = line.split_once(' ')?;
            ["cache", "file"].contains(&words.0).then_some(words.1)
        });
        value.unwrap().parse().unwrap()
    };
    for host in hosts.all() {
        let file = host.folder().join("file").display().to_string();
        let line = format!("head -c 20000000 /dev/zero > {file}");
        assert!(shell(host, &line).status.success());
        assert!(cached(host) >= 20_000_000, "{}", cached(host));
    }
    let [one, two] = hosts.all() else {
        panic!("two were asked for")
    };
    one.drop_page_cache().unwrap();
    assert!(cached(one) < 2_000_000, "{}", cached(one));
    assert!(cached(two) >= 20_000_000, "{}", cached(two));
}

#[test]
fn two_clusters_of_hosts_live_side_by_side() {
    if !able(&[HostAbility::Network]) {
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
        let networks: Vec<_> = made[..at].iter().map(|one| one.state.network).collect();
        assert!(!networks.contains(&hosts.state.network));
        assert!(carries(&listener(host), connect));
    }
}
